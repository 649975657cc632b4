/*
 * libtransformer: trains and runs the encoder-decoder Transformer of "Attention Is All You Need"
 * (Vaswani et al. 2017, arXiv 1706.03762) on CPUs. Section numbers below are those of the paper.
 *
 * Conventions
 * - out first: x_create(&x, ...) gives ownership, x_free(x) takes NULL and never fails, a getter lends: until its owner
 *   ends, or as it says.
 * - options: structs that begin with struct_size. Fill them with their _init function, then change fields. A field added
 *   by a later version means "as before" at zero, so a program built against an older header keeps its behaviour.
 * - status: TFM_E_INVALID is for every argument that breaks what is said here, NULL where it is not allowed among them;
 *   each function names the others that it may return. Objects stay valid after any failure.
 * - error: caller-owned detail of a failure, one line that names the value and the limit; NULL when not wanted; written
 *   only on failure.
 * - text: (pointer, length) in UTF-8; NUL is an ordinary byte; a '\n' inside a line is ordinary too.
 * - threads: each handle states its rule, and its functions follow it; those without a handle may be called from any
 *   thread at any time. The library has no global mutable state but for whether it may use AMX (see TFM_DTYPE_F32),
 *   installs no signal handler, prints nothing, reads no environment variable, and never ends the process.
 * - results: depend on inputs, options and seed alone; not on thread counts, on which sentences share a batch, or on
 *   the host's locale and floating-point state (rounding, subnormals, traps): functions that compute use the default
 *   state, callbacks of theirs run in it, and the host finds its own again afterwards.
 */
#ifndef TRANSFORMER_H
#define TRANSFORMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports. */
#if defined(TFM_API) /* the build of the archive */
#elif defined(__GNUC__)
#define TFM_API __attribute__((visibility("default")))
#else
#define TFM_API
#endif

/* Version of this header; doc/abi.md says what may change with which number. */
#define TFM_VERSION_MAJOR 0 /* old programs may need a rebuild          */
#define TFM_VERSION_MINOR 2 /* new functions and options                */
#define TFM_VERSION_PATCH 0 /* mended faults, the same functions        */

/* Result of every call that can fail. Values never change once released. */
typedef enum tfm_status {
    TFM_OK            = 0,  /* done                                                    */
    TFM_E_INVALID     = -1, /* an argument breaks the documented contract             */
    TFM_E_NOMEM       = -2, /* the allocator returned NULL; the object is unchanged    */
    TFM_E_IO          = -3, /* the operating system refused to read, write or start    */
    TFM_E_FORMAT      = -4, /* a file or text is truncated, corrupt, or of another kind */
    TFM_E_UNSUPPORTED = -5, /* valid, but not known to this version                    */
    TFM_E_CANCELLED   = -6  /* a callback asked to stop; everything is valid           */
} tfm_status;

/* Detail of one failure. Layout is frozen (256 bytes). */
typedef struct tfm_error {
    int32_t status;       /* a tfm_status                                    */
    char    message[252]; /* one English line, no newline, always terminated */
} tfm_error;

/*
 * One function does all three: resize(user, NULL, 0, n) allocates, resize(user, p, n, m) resizes,
 * resize(user, p, n, 0) frees and returns NULL. Called from the thread that made the API call.
 */
typedef struct tfm_allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size); /* as above; aligned like malloc's */
    void *user;                     /* passed to resize                */
} tfm_allocator;

/* A piece of UTF-8 text, not terminated. Layout is frozen. */
typedef struct tfm_text {
    const char *data; /* may be NULL when size is 0 */
    size_t      size; /* bytes                      */
} tfm_text;

/* A sequence of token ids. Layout is frozen. */
typedef struct tfm_ids {
    const int32_t *data; /* may be NULL when size is 0 */
    size_t         size; /* number of ids              */
} tfm_ids;

/* Ids that every vocabulary reserves. */
#define TFM_PAD 0 /* never produced, never fed       */
#define TFM_EOS 1 /* ends every source and target    */
#define TFM_BOS 2 /* first input of the decoder      */
#define TFM_UNK 3 /* what a tokenizer cannot express */

/*
 * Types of the operands of matrix products. Linux lets a process use AMX, where the CPU has it, on request, which the
 * first trainer, decoder or measurement of bfloat16 or int8 makes: from then on Linux refuses signal stacks (sigaltstack)
 * of less than getauxval(AT_MINSIGSTKSZ) bytes, some 12 KiB. Where a thread has such a small one already, AMX is
 * refused, and the process goes on without it, with other last bits of bfloat16. AMX takes subnormals for zero.
 */
#define TFM_DTYPE_F32  0 /* float32                                                                               */
#define TFM_DTYPE_BF16 1 /* rounded to bfloat16, summed in float32; weights, loss, softmax and norms stay float32 */
#define TFM_DTYPE_INT8 2 /* 8-bit integers: weights with a scale for each output, activations for each row; inference only  */

/* Levels of messages. */
#define TFM_LOG_INFO    0 /* nothing to do                                         */
#define TFM_LOG_WARNING 1 /* the result may not be what was meant; the work goes on */

/* A message of TFM_LOG_*, one line; lent for the time of the call. Called from the thread that made the API call. */
typedef void (*tfm_log_fn)(void *user, int32_t level, const char *message);

/* The version of the library that runs, as "0.2.0"; TFM_VERSION_* is that of the header. Static storage. since 0.2 */
TFM_API const char *tfm_version(void);

/* The name of a tfm_status, as "invalid argument"; "unknown status" for any other number. Static storage. since 0.2 */
TFM_API const char *tfm_status_name(int32_t status);

/* ------------------------------------------------------------------------------------------------ tokenizer ---- */

/*
 * Text <-> ids by byte pair encoding (5.1; Sennrich et al. 2016), one vocabulary for both languages, or by a model of
 * SentencePiece (Kudo and Richardson 2018), or by the subwords of tensor2tensor; or two of them, one for each language.
 * Thread safety: immutable after creation; share it between threads freely.
 */
typedef struct tfm_tokenizer tfm_tokenizer;

/* Kinds of tokenizers. */
#define TFM_TOKENIZER_BPE         0 /* raw text; spaces are a symbol, unknown characters become bytes: decode(encode(x)) == x */
#define TFM_TOKENIZER_SUBWORD_NMT 1 /* pre-tokenised text; merges and "@@ " output as subword-nmt 0.3                         */
#define TFM_TOKENIZER_SENTENCEPIECE 2 /* raw text; a model of SentencePiece, read from its own file, never learned here */
#define TFM_TOKENIZER_WORDPIECE 3 /* raw text; the subwords of tensor2tensor, learned or read from its vocabulary files */
#define TFM_TOKENIZER_BERT 4 /* raw text; BERT's word-pieces, read from its vocab.txt; case and accents are lost unless kept */

/* How to learn a tokenizer. Start from tfm_tokenizer_options_init(). */
typedef struct tfm_tokenizer_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows                     */
    uint32_t kind;                  /* TFM_TOKENIZER_*; default BPE                                                   */
    uint32_t vocab_size;            /* BPE: entries wanted, specials and 256 bytes included; 260..2^24, default 8000.
                                       Word-piece: about how many, 3..2^24; a least count of each decides, and
                                       none is longer than 255 bytes */
    uint32_t merges;                /* subword-nmt: merge operations; default 10000. The vocabulary is what they
                                       leave */
    uint32_t min_frequency;         /* a pair seen less often is not merged; >= 1, default 2                          */
    uint32_t replace_invalid;       /* 0: invalid UTF-8 is an error naming the line; 1: U+FFFD replaces it; default 0 */
    uint32_t strict_size;           /* nonzero: a text that does not support vocab_size (or merges) is an error; 0: a
                                       smaller vocabulary and a warning; default 0 */
    uint32_t reserved;              /* 0                                                                              */
    const tfm_allocator *allocator; /* NULL: malloc; must outlive the tokenizer                                       */
    tfm_log_fn log;                 /* NULL: silence                                                                  */
    void      *log_user;            /* passed to log                                                                  */
} tfm_tokenizer_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_tokenizer_options_init(tfm_tokenizer_options *options, size_t struct_size);

/*
 * Learns merges and vocabulary from n_lines lines. The result depends on the multiset of the lines only; ties are
 * broken by a total order.
 * out: owned by the caller, NULL on failure. options and lines: read before the return, never kept.
 * returns TFM_OK, TFM_E_INVALID (no text, an option out of range, strict_size), TFM_E_FORMAT (invalid UTF-8; names
 *         the line), TFM_E_NOMEM, TFM_E_UNSUPPORTED (an option that this version does not know). since 0.2
 */
TFM_API tfm_status tfm_tokenizer_learn(tfm_tokenizer **out, const tfm_tokenizer_options *options,
                                       const tfm_text *lines, size_t n_lines, tfm_error *error);

/*
 * Reads what tfm_tokenizer_save() wrote, a model file of SentencePiece (".model"), a
 * vocabulary file of tensor2tensor (tokens in quotes) or of BERT ("[PAD]" first), or the tokenizer inside a model file
 * or checkpoint; the content tells which. out: owned by the caller, NULL on failure. allocator NULL: malloc; it must
 * outlive the tokenizer.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_IO (cannot be read), TFM_E_FORMAT (no valid tokenizer), TFM_E_UNSUPPORTED (of
 *         a later version), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_load(tfm_tokenizer **out, const char *path, const tfm_allocator *allocator,
                                      tfm_error *error);

/*
 * Reads the codes file of subword-nmt. The vocabulary is made of the tokens that these merges leave in n_lines
 * lines, most frequent first, ties by byte order: give the training text of both languages. out and allocator as
 * tfm_tokenizer_load().
 * returns TFM_OK, TFM_E_INVALID, TFM_E_IO, TFM_E_FORMAT (no codes file, or a line that is not UTF-8),
 *         TFM_E_UNSUPPORTED (of another version), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_import(tfm_tokenizer **out, const char *codes_path, const tfm_text *lines,
                                        size_t n_lines, const tfm_allocator *allocator, tfm_error *error);

/*
 * A copy of a tokenizer of kind TFM_TOKENIZER_SUBWORD_NMT that cuts as the options of the same names of subword-nmt's
 * "apply-bpe" do; its file and the models made with it carry that.
 * vocabulary_path: what "get-vocab" wrote, a token and its count a line. Those seen at least vocabulary_threshold times
 * become the vocabulary, in the file's order; a piece that is not in it is split into the two it was merged from, down
 * to characters. NULL, with a threshold of 0: nothing changes here.
 * glossaries: n_glossaries (in all at most 1024) words without spaces, not patterns, each of which stays whole
 * wherever it occurs; they are cut out of a word in the order given, and a later one also out of an earlier one. They
 * are added to those that the tokenizer has, and all of them to the vocabulary, as word and as "word@@". NULL with 0:
 * none.
 * out: owned by the caller, NULL on failure; nothing else is kept. allocator NULL: malloc; it must outlive *out.
 * returns TFM_OK, TFM_E_INVALID (another kind, a glossary that is empty, has a space or is there twice), TFM_E_IO,
 *         TFM_E_FORMAT (no such file, or no token is left of it, or text that is not UTF-8), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_restrict(tfm_tokenizer **out, const tfm_tokenizer *tokenizer,
                                          const char *vocabulary_path, uint32_t vocabulary_threshold,
                                          const tfm_text *glossaries, size_t n_glossaries,
                                          const tfm_allocator *allocator, tfm_error *error);

/*
 * A copy of a tokenizer of kind TFM_TOKENIZER_BERT for a cased vocabulary: capitals and accents stay, which vocab.txt
 * does not tell ("do_lower_case" of tokenizer_config.json does). Its file and the models made with it carry that.
 * out: owned by the caller, NULL on failure. allocator NULL: malloc; it must outlive *out.
 * returns TFM_OK, TFM_E_INVALID (another kind, or a pair), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_keep_case(tfm_tokenizer **out, const tfm_tokenizer *tokenizer,
                                           const tfm_allocator *allocator, tfm_error *error);

/*
 * Two tokenizers as one, for a model whose languages have each their own. The pair is its source in all but two
 * functions: tfm_tokenizer_decode() takes ids of the target, and tfm_tokenizer_target() lends it. Of a pair given as
 * source or target that side is taken. A model asks that both end a sentence with the same id.
 * out: owned by the caller, NULL on failure; both are copied. allocator NULL: malloc; it must outlive *out.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_pair(tfm_tokenizer **out, const tfm_tokenizer *source, const tfm_tokenizer *target,
                                      const tfm_allocator *allocator, tfm_error *error);

/*
 * What encodes text of the target, as translations to score or terms: the target of a pair, lent by it; any other
 * tokenizer itself, NULL of NULL. since 0.2
 */
TFM_API const tfm_tokenizer *tfm_tokenizer_target(const tfm_tokenizer *tokenizer);

/*
 * A copy of a tokenizer of kind TFM_TOKENIZER_SENTENCEPIECE whose pieces have the ids of a vocabulary file instead of
 * their own: Marian's vocab.yml or Hugging Face's vocab.json, as OPUS-MT has them. It must have </s> and <unk>; pieces
 * that it lacks are unknown. Of its entries ">>fra<<", a language, is one token where a line begins with it.
 * out: owned by the caller, NULL on failure. allocator NULL: malloc; it must outlive *out.
 * returns TFM_OK, TFM_E_INVALID (another kind, or a pair), TFM_E_IO, TFM_E_FORMAT (no such file, a piece or an id twice,
 *         ids that are not 0 up to their number), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_renumber(tfm_tokenizer **out, const tfm_tokenizer *tokenizer,
                                          const char *vocabulary_path, const tfm_allocator *allocator,
                                          tfm_error *error);

/*
 * Writes a file of plain text, a token or a merge a line, or the model file of SentencePiece as it was read, or what
 * holds two of these (doc/format.md), under a temporary name, syncs and renames it: an old file survives any failure.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_save(const tfm_tokenizer *tokenizer, const char *path, tfm_error *error);

/*
 * Writes the merges as a codes file of subword-nmt, or the tokens as a vocabulary file of tensor2tensor, in the same
 * safe way.
 * returns TFM_OK, TFM_E_INVALID (not of kind TFM_TOKENIZER_SUBWORD_NMT or _WORDPIECE), TFM_E_UNSUPPORTED (what such a
 *         file cannot hold), TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_export(const tfm_tokenizer *tokenizer, const char *codes_path, tfm_error *error);

/* Ends a tokenizer, and all that it lent. NULL is ignored. since 0.2 */
TFM_API void tfm_tokenizer_free(tfm_tokenizer *tokenizer);

/* Number of ids, the reserved ones included: ids are 0 up to this, exclusive. 0 for NULL. since 0.2 */
TFM_API uint32_t tfm_tokenizer_vocab_size(const tfm_tokenizer *tokenizer);

/* TFM_TOKENIZER_*. since 0.2 */
TFM_API uint32_t tfm_tokenizer_kind(const tfm_tokenizer *tokenizer);

/* Ids with a meaning of their own; -1: there is none. */
typedef struct tfm_special_ids {
    int32_t pad; /* as TFM_PAD: never produced, never fed       */
    int32_t eos; /* as TFM_EOS: ends a source and a target      */
    int32_t bos; /* as TFM_BOS: what the decoder may read first */
    int32_t unk; /* as TFM_UNK: what cannot be expressed        */
} tfm_special_ids;

/*
 * Writes the special ids of a tokenizer to *ids: TFM_PAD, TFM_EOS, TFM_BOS and TFM_UNK, but those of a SentencePiece
 * model lie where it has them, word-pieces have no BOS and UNK, BERT has [PAD], [SEP],
 * [CLS] and [UNK], and those of NULL are all -1. since 0.2
 */
TFM_API void tfm_tokenizer_special(tfm_special_ids *ids, const tfm_tokenizer *tokenizer);

/*
 * The token of an id as it stands in the vocabulary ("<pad>", "hel@@", "\xE2\x96\x81the"), lent by the tokenizer;
 * size 0 when id is out of range. since 0.2
 */
TFM_API tfm_text tfm_tokenizer_token(const tfm_tokenizer *tokenizer, int32_t id);

/*
 * The id of a token of the vocabulary, or the one of what is unknown (tfm_special_ids.unk; TFM_UNK where tokenizer is
 * NULL). since 0.2
 */
TFM_API int32_t tfm_tokenizer_id(const tfm_tokenizer *tokenizer, tfm_text token);

/*
 * Ids of a line, without EOS. Like snprintf: *n_ids receives how many there are, and at most capacity of them are
 * written; ids may be NULL with capacity 0.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_FORMAT (invalid UTF-8: see tfm_utf8_repair()), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_encode(int32_t *ids, size_t capacity, size_t *n_ids, const tfm_tokenizer *tokenizer,
                                        tfm_text line, tfm_error *error);

/*
 * Text of ids, of a pair those of the target; PAD, BOS and EOS are skipped. Sizes as tfm_tokenizer_encode(), in bytes; no terminator is written.
 * returns TFM_OK, TFM_E_INVALID (an id outside of the vocabulary), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_decode(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                        tfm_ids ids, tfm_error *error);

/*
 * The line cut into tokens and joined by spaces: for subword-nmt what its "apply-bpe" prints. A space inside of a token,
 * as tensor2tensor has them, is spelt "\32;". Sizes as tfm_tokenizer_decode().
 * returns TFM_OK, TFM_E_INVALID, TFM_E_FORMAT (invalid UTF-8), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_segment(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                         tfm_text line, tfm_error *error);

/*
 * Both with merges left out at random (BPE-dropout, Provilkov et al. 2020; subword-nmt's "apply-bpe --dropout"): each
 * time that a merge might be next it is left out with the probability dropout, in [0, 1], and may come later. 0 gives
 * the result of the functions above, 1 single characters (bytes where the vocabulary lacks one). The result depends on
 * the line, dropout, seed and draw alone; draw tells lines apart: give each another number. For training, where
 * tfm_trainer_options.bpe_dropout_source does it, never for translation. Sizes as tfm_tokenizer_encode().
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED (dropout with a tokenizer of another kind than TFM_TOKENIZER_BPE and
 *         TFM_TOKENIZER_SUBWORD_NMT), TFM_E_FORMAT (invalid UTF-8), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_encode_dropout(int32_t *ids, size_t capacity, size_t *n_ids,
                                                const tfm_tokenizer *tokenizer, tfm_text line, float dropout,
                                                uint64_t seed, uint64_t draw, tfm_error *error);
/*
 * The same, cut into tokens and joined by spaces as by tfm_tokenizer_segment().
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED, TFM_E_FORMAT, TFM_E_NOMEM: as the one above. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_segment_dropout(char *text, size_t capacity, size_t *size,
                                                 const tfm_tokenizer *tokenizer, tfm_text line, float dropout,
                                                 uint64_t seed, uint64_t draw, tfm_error *error);

/*
 * The text as the tokenizer's model sees it: for SentencePiece after its rules of normalisation, with U+2581 for spaces
 * and before the text; invalid bytes become U+FFFD. For the other kinds the text itself. Sizes as
 * tfm_tokenizer_decode().
 * returns TFM_OK, TFM_E_INVALID, TFM_E_FORMAT (invalid UTF-8, not of SentencePiece), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_tokenizer_normalize(char *text, size_t capacity, size_t *size, const tfm_tokenizer *tokenizer,
                                           tfm_text line, tfm_error *error);

/*
 * The n most probable ways to cut a line by a unigram model of SentencePiece, best first, at most 1024: their ids one
 * way after the other, as tfm_tokenizer_encode() does for one; ends[i] receives where way i ends in ids, scores[i]
 * its log-probability, and *n how many there are. ends and scores have room for the *n that were asked for.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_FORMAT (invalid UTF-8), TFM_E_NOMEM, TFM_E_UNSUPPORTED (another kind, or
 *         another type of model). since 0.2
 */
TFM_API tfm_status tfm_tokenizer_nbest(int32_t *ids, size_t capacity, size_t *n_ids, size_t *ends, float *scores,
                                       size_t *n, const tfm_tokenizer *tokenizer, tfm_text line, tfm_error *error);

/* Languages with rules of their own for words. */
#define TFM_LANGUAGE_ENGLISH 0 /* en */
#define TFM_LANGUAGE_GERMAN  1 /* de */
#define TFM_LANGUAGE_FRENCH  2 /* fr */

/* How text becomes words. Start from tfm_pretokenize_options_init(). */
typedef struct tfm_pretokenize_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows                  */
    uint32_t language;              /* TFM_LANGUAGE_*; default ENGLISH                                             */
    uint32_t lowercase;             /* nonzero: in lower case, before all else; default 0                          */
    uint32_t normalize;             /* nonzero: quotation marks, dashes and spaces of ASCII, before words; default 0 */
    uint32_t split_hyphens;         /* nonzero: "blue-eyed" becomes "blue @-@ eyed"; default 0                     */
    uint32_t no_escape;             /* nonzero: & | < > ' " [ ] stay; 0: they become "&amp;" and such; default 0   */
    const tfm_allocator *allocator; /* NULL: malloc; for the time of the call                                      */
} tfm_pretokenize_options;

/* Fills the first struct_size bytes with defaults. since 0.2 */
TFM_API void tfm_pretokenize_options_init(tfm_pretokenize_options *options, size_t struct_size);

/*
 * The words of a line with spaces between them, punctuation apart, as Moses' tokenizer.perl makes them, after its
 * lowercase.perl and normalize-punctuation.perl where that is asked for (doc/guide.md names what differs): what
 * TFM_TOKENIZER_SUBWORD_NMT reads. options NULL: defaults. Sizes as tfm_tokenizer_decode(); text must not overlap line.
 * Time and memory are linear in the line. Thread safety: any thread, any time.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_FORMAT (invalid UTF-8: see tfm_utf8_repair()), TFM_E_NOMEM, TFM_E_UNSUPPORTED (a
 *         field that this library does not know is set). since 0.2
 */
TFM_API tfm_status tfm_pretokenize(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                                   tfm_text line, tfm_error *error);

/*
 * Such words as text again, as Moses' detokenizer.perl joins them: escapes are undone and spaces left out where the
 * language has none. Of options only language and allocator count. Sizes and threads as tfm_pretokenize().
 * returns as tfm_pretokenize(). since 0.2
 */
TFM_API tfm_status tfm_detokenize(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                                  tfm_text line, tfm_error *error);

/*
 * Byte offset of the first invalid sequence of UTF-8 (overlong, surrogate, above U+10FFFF, truncated), or SIZE_MAX.
 * since 0.2
 */
TFM_API size_t tfm_utf8_check(tfm_text text);

/*
 * The text with each maximal invalid part replaced by U+FFFD. Sizes as tfm_tokenizer_decode(); out must not overlap
 * text. since 0.2
 */
TFM_API void tfm_utf8_repair(char *out, size_t capacity, size_t *size, tfm_text text);

/* ---------------------------------------------------------------------------------------------------- model ---- */

/*
 * Weights and configuration of one Transformer, and the tokenizer it was trained with.
 * Thread safety: immutable after creation; share it between threads freely.
 */
typedef struct tfm_model tfm_model;

/* Where the norm stands (tfm_model_options.norm_order). */
#define TFM_POST_NORM 0 /* LN(x + Sublayer(x)), 3.1                        */
#define TFM_PRE_NORM  1 /* x + Sublayer(LN(x)), one more LN after each stack */

/* Position encodings (tfm_model_options.positions). */
#define TFM_POSITIONS_PAPER   0 /* 3.5: sine and cosine interleaved                                       */
#define TFM_POSITIONS_HALVES  1 /* tensor2tensor, fairseq, Marian: sines, then cosines, exponent i/(d/2-1) */
#define TFM_POSITIONS_LEARNED 2 /* Table 3, row E: one table per stack                                     */
#define TFM_POSITIONS_SPLIT   3 /* the paper's numbers, all sines, then all cosines (Hugging Face's Marian) */

/* Which embeddings are one matrix (tfm_model_options.sharing). */
#define TFM_SHARE_ALL    0 /* 3.4: one matrix for source, target and output */
#define TFM_SHARE_TARGET 1 /* target embedding and output share one         */
#define TFM_SHARE_NONE   2 /* each has its own                              */

/* What the decoder reads first (tfm_model_options.start). */
#define TFM_START_BOS  0 /* the decoder's first input is the embedding of TFM_BOS     */
#define TFM_START_ZERO 1 /* it is the zero vector (tensor2tensor); position 0 is added */

/* What the feed-forward network applies between its products (tfm_model_options.activation). */
#define TFM_ACTIVATION_RELU      0 /* max(0, x), eq. (2)                                                  */
#define TFM_ACTIVATION_GELU      1 /* x Phi(x), Phi the normal distribution                               */
#define TFM_ACTIVATION_GELU_TANH 2 /* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))                   */
#define TFM_ACTIVATION_SWISH     3 /* x / (1 + exp(-x)), also called SiLU                                 */

/* Limits of the random weights (tfm_model_options.init). */
#define TFM_INIT_FUSED    0 /* Xavier limits of merged Q|K|V matrices, as the 2017 code created them */
#define TFM_INIT_SEPARATE 1 /* Xavier limits of each matrix by itself                                */

/* Sizes and form of a model. Start from tfm_model_options_init() or _preset(). */
typedef struct tfm_model_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows          */
    uint32_t n_encoder_layers;      /* N; 1..256, default 6                                                */
    uint32_t n_decoder_layers;      /* N; 1..256, default 6                                                */
    uint32_t d_model;               /* width of a position; 1..65536, default 512                          */
    uint32_t d_ff;                  /* inner width of eq. (2); 1..1048576, default 2048                    */
    uint32_t n_heads;               /* h; 1..1024, default 8                                               */
    uint32_t d_k;                   /* width of a query and key per head; 0: d_model / n_heads; <= 4096    */
    uint32_t d_v;                   /* width of a value per head; 0: d_model / n_heads; <= 4096            */
    uint32_t vocab_size;            /* target ids; 4..16777216; no default (a tokenizer sets it)           */
    uint32_t source_vocab_size;     /* 0: as vocab_size; must equal it when all embeddings are shared      */
    uint32_t norm_order;            /* TFM_POST_NORM (default) or TFM_PRE_NORM                             */
    uint32_t positions;             /* TFM_POSITIONS_*; default paper                                      */
    uint32_t position_offset;       /* index of the first position; default 0                              */
    uint32_t max_positions;         /* learned positions: rows of the table, longest sequence; default 256 */
    uint32_t sharing;               /* TFM_SHARE_*; default all                                            */
    uint32_t start;                 /* TFM_START_*; default BOS                                            */
    uint32_t attention_bias;        /* biases on Q, K, V, O; default 0                                     */
    uint32_t ffn_bias;              /* b_1, b_2 of eq. (2); default 1                                      */
    uint32_t softmax_bias;          /* bias of the output projection; default 0                            */
    uint32_t init;                  /* TFM_INIT_*; default fused                                           */
    float    layer_norm_eps;        /* inside the root; > 0, default 1e-6                                  */
    uint32_t reserved;              /* 0                                                                   */
    uint64_t seed;                  /* of the random weights; default 1                                    */
    const tfm_allocator *allocator; /* NULL: malloc; must outlive the model; decoders take the memory of packed
                                       weights from it, each in its own thread, one at a time */
    uint32_t activation;            /* TFM_ACTIVATION_*; default ReLU                                      */
    uint32_t embedding_norm;        /* LN of embedding and position, before their dropout; default 0       */
    uint32_t plain_embedding;       /* nonzero: embeddings are not multiplied by sqrt(d_model); default 0  */
    uint32_t own_ids;               /* 0: the reserved ids are TFM_PAD, TFM_EOS, TFM_BOS (default); 1: the next three */
    uint32_t pad_id;                /* never produced                                                      */
    uint32_t eos_id;                /* ends a target, and a source unless plain_source                     */
    uint32_t bos_id;                /* first input of the decoder with TFM_START_BOS; never produced unless it is eos_id */
    uint32_t plain_source;          /* nonzero: nothing is appended to a source text; default 0            */
    uint32_t force_first;           /* nonzero: translations without a prefix have that of the next id; default 0 */
    uint32_t first_id;              /* as a language's token                                               */
} tfm_model_options;

/*
 * Fills *options with the defaults above: the base model of Table 3; pass sizeof *options. NULL is ignored.
 * since 0.2
 */
TFM_API void tfm_model_options_init(tfm_model_options *options, size_t struct_size);

/*
 * Sets the sizes of "tiny" (4+4 layers, d_model 128, d_ff 256, 4 heads), "small" (4+4, 256, 1024, 4), "base" (6+6,
 * 512, 2048, 8) or "big" (6+6, 1024, 4096, 16) and leaves the other fields.
 * returns TFM_OK, TFM_E_INVALID (another name). since 0.2
 */
TFM_API tfm_status tfm_model_options_preset(tfm_model_options *options, const char *name, tfm_error *error);

/*
 * Sets one field by its name above, from text: a number, or for a choice also its name ("pre", "halves", "none",
 * "zero", "separate", "gelu").
 * returns TFM_OK, TFM_E_INVALID (unknown field, or a value out of its range). since 0.2
 */
TFM_API tfm_status tfm_model_options_set(tfm_model_options *options, const char *name, const char *value,
                                         tfm_error *error);

/* Parameter counts (PAPER Table 3's last column counts them) and multiply-add costs of a configuration. */
typedef struct tfm_model_costs {
    uint64_t attention;      /* parameters of one attention sub-layer                                            */
    uint64_t feedforward;    /* of one feed-forward sub-layer                                                    */
    uint64_t encoder;        /* of the encoder stack with its norms                                              */
    uint64_t decoder;        /* of the decoder stack with its norms                                              */
    uint64_t embeddings;     /* embeddings, learned positions, output matrix and bias                            */
    uint64_t parameters;     /* all                                                                              */
    double   source_macs;    /* forward multiply-adds per source token                                           */
    double   target_macs;    /* forward multiply-adds per target token                                           */
    double   training_flops; /* per pair of one source and one target token: 3 * 2 * (source_macs + target_macs) */
} tfm_model_costs;

/*
 * Costs of sentences of n source and m target tokens; struct_size = sizeof *costs. Nothing is allocated.
 * returns TFM_OK, TFM_E_INVALID (a configuration that cannot be), TFM_E_UNSUPPORTED. since 0.2
 */
TFM_API tfm_status tfm_model_options_costs(tfm_model_costs *costs, size_t struct_size, const tfm_model_options *options,
                                           uint32_t n, uint32_t m, tfm_error *error);

/* One weight tensor, lent by its owner: float32, row-major, matrices stored [out][in]. */
typedef struct tfm_parameter {
    const char  *name;     /* "encoder.layers.0.attention.query.weight" */
    const float *data;     /* the product of the shape's numbers        */
    uint32_t     rank;     /* 1 or 2                                    */
    uint32_t     shape[3]; /* unused entries are 1                      */
} tfm_parameter;

/*
 * Creates a model with random weights, which depend on the configuration and seed alone. tokenizer may be NULL, else
 * it is copied; it must not have more tokens than vocab_size, the source of a pair no more than source_vocab_size, and
 * a pair needs embeddings of its own unless both vocabularies are the same. Unless own_ids is set, the model takes the special ids of
 * a tokenizer that has them elsewhere, and starts from the zero vector when that has none for BOS; without one for EOS
 * it is TFM_E_INVALID. out: owned by the caller, NULL on failure.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED (an option that this version does not know), TFM_E_NOMEM.
 *         since 0.2
 */
TFM_API tfm_status tfm_model_create(tfm_model **out, const tfm_model_options *options, const tfm_tokenizer *tokenizer,
                                    tfm_error *error);

/*
 * Creates a model from given weights: one entry for each parameter of the configuration, in any order; copied. Names
 * and shapes are those of tfm_model_parameter_at(). Values are not looked at, here as in tfm_model_load(): training
 * and quantising refuse those that are not finite, tfm_decoder_score() tells. The rest as tfm_model_create().
 * returns TFM_OK, TFM_E_INVALID (a parameter too many, missing, twice, or of another shape), TFM_E_UNSUPPORTED,
 *         TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_model_create_from(tfm_model **out, const tfm_model_options *options, const tfm_tokenizer *tokenizer,
                                         const tfm_parameter *parameters, size_t n_parameters, tfm_error *error);

/* How to load a model. Start from tfm_load_options_init(). */
typedef struct tfm_load_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows */
    uint32_t skip_checksum;         /* nonzero: the weights are believed, not read and compared with their checksum;
                                       default 0 */
    const tfm_allocator *allocator; /* NULL: malloc; must outlive the model                       */
} tfm_load_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_load_options_init(tfm_load_options *options, size_t struct_size);

/*
 * Maps a model file, or the model inside a training checkpoint. The file must stay as it is while the model lives;
 * it may be renamed or deleted. Models of other systems are read and copied: Marian's model.npz or a directory with it
 * and decoder.yml, CTranslate2's model.bin or its directory, or one of Hugging Face with config.json and
 * model.safetensors. Their form and reserved ids become the options above; the tokenizer is a vocab.spm beside Marian's
 * file or, with their vocabularies, source.spm and target.spm as OPUS-MT has them (doc/models.md). out: owned by the
 * caller, NULL on failure. options NULL: defaults.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_IO (cannot be opened), TFM_E_FORMAT (not a whole, valid, undamaged model),
 *         TFM_E_UNSUPPORTED (of a later version, or what another system's model needs and this library lacks, by its
 *         name), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_model_load(tfm_model **out, const char *path, const tfm_load_options *options, tfm_error *error);

/*
 * Writes the model file (doc/format.md) under a temporary name, syncs and renames it: an old file survives any
 * failure. A quantised model is saved quantised.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_model_save(const tfm_model *model, const char *path, tfm_error *error);

/*
 * The same in a type: TFM_DTYPE_F32, or TFM_DTYPE_INT8 for a quantised model of a quarter of the size, which
 * decoders use from the file as it lies there. A quantised model translates, scores and shows attention; it cannot
 * be trained, averaged or saved as float32, and its matrices are no parameters.
 * returns TFM_OK, TFM_E_INVALID (another type, weights that are not finite), TFM_E_UNSUPPORTED (float32 of a
 *         quantised model), TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_model_save_as(const tfm_model *model, const char *path, uint32_t dtype, tfm_error *error);

/* Formats of other systems that models are written in (doc/models.md). */
#define TFM_EXPORT_MARIAN       1 /* a file model.npz                                  */
#define TFM_EXPORT_HUGGING_FACE 2 /* a directory with config.json and model.safetensors */

/*
 * Writes the weights in a format of TFM_EXPORT_*, such that tfm_model_load() of it has the same bits; biases that the
 * other system insists on are zeros. Files are replaced as tfm_model_save() does it; a directory is made if it is not
 * there. The tokenizer is not written.
 * returns TFM_OK, TFM_E_INVALID (a directory has a file that is read before these: model.bin, generation_config.json),
 *         TFM_E_UNSUPPORTED (an option that the other system cannot express, by its name, or a quantised model),
 *         TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_model_export(const tfm_model *model, const char *path, uint32_t format, tfm_error *error);

/* TFM_DTYPE_F32, or TFM_DTYPE_INT8 for a quantised model. since 0.2 */
TFM_API uint32_t tfm_model_dtype(const tfm_model *model);

/*
 * Element-wise mean of the weights of n_models models of one configuration, summed in double precision (6.1).
 * Tokenizer and allocator are those of the first. out: owned by the caller, NULL on failure.
 * returns TFM_OK, TFM_E_INVALID (none, or different configurations), TFM_E_UNSUPPORTED (quantised), TFM_E_NOMEM.
 *         since 0.2
 */
TFM_API tfm_status tfm_model_average(tfm_model **out, const tfm_model *const *models, size_t n_models, tfm_error *error);

/* Ends a model, and all that it lent; not while a decoder uses it. NULL is ignored. since 0.2 */
TFM_API void tfm_model_free(tfm_model *model);

/*
 * Copies the configuration, with d_k, d_v and source_vocab_size resolved, into *options; pass sizeof *options.
 * since 0.2
 */
TFM_API void tfm_model_get_options(tfm_model_options *options, size_t struct_size, const tfm_model *model);

/* The tokenizer inside the model, lent by it; NULL when it has none. since 0.2 */
TFM_API const tfm_tokenizer *tfm_model_tokenizer(const tfm_model *model);

/* Number of parameter tensors; 0 for NULL. since 0.2 */
TFM_API size_t tfm_model_parameter_count(const tfm_model *model);

/*
 * A parameter without copying, by its index in file order, 0 up to the count; *out is lent by the model.
 * returns TFM_OK, TFM_E_INVALID (there is none), TFM_E_UNSUPPORTED (a matrix of a quantised model: *out has its name
 *         and shape, and data NULL). since 0.2
 */
TFM_API tfm_status tfm_model_parameter_at(tfm_parameter *out, const tfm_model *model, size_t index, tfm_error *error);

/*
 * The same by its name.
 * returns as tfm_model_parameter_at(). since 0.2
 */
TFM_API tfm_status tfm_model_parameter_named(tfm_parameter *out, const tfm_model *model, const char *name, tfm_error *error);

/* -------------------------------------------------------------------------------------------------- decoder ---- */

/*
 * A model and the workspace to translate, score and look at attention with it.
 * Thread safety: one thread at a time; any number of decoders share a model, which must outlive them.
 */
typedef struct tfm_decoder tfm_decoder;

/* When a sentence ends (tfm_decoder_options.stop_rule). */
#define TFM_STOP_BEST  0 /* a sentence ends when its best finished hypothesis cannot be beaten; exact for the first answer, and
                            with n_best > 1 when n_best are finished and the worst of them cannot be beaten */
#define TFM_STOP_WORST 1 /* the 2017 rule: its worst finished hypothesis cannot be beaten */

/* What the score of a hypothesis is divided by (tfm_decoder_options.length_norm), of n tokens, EOS counted. */
#define TFM_LENGTH_PAPER   0 /* ((5 + n) / 6)^alpha, Wu et al. 2016 (6.1)    */
#define TFM_LENGTH_MARIAN  1 /* n^alpha: Marian's --normalize                */
#define TFM_LENGTH_FAIRSEQ 2 /* n^alpha: fairseq's --lenpen counts EOS too   */
#define TFM_LENGTH_NONE    3 /* 1: the log-probability itself                */

/* What becomes of a line of more than max_source tokens (tfm_decoder_options.long_source). */
#define TFM_LONG_REFUSE 0 /* an error that names it */
#define TFM_LONG_SPLIT  1 /* it is cut in two where a sentence ends in its middle half, as near to the middle as possible; where
                             none does behind other punctuation, else at white space, else between characters; and so are
                             its halves, until none is too long. Their translations are joined, with a space where there
                             was white space; a prefix is that of the first part, the token of a language with which the line
                             begins (tfm_tokenizer_renumber) that of each; lines with terms are refused */

/* Whether and how tokens are aligned with those of their source (tfm_decoder_options.alignment). */
#define TFM_ALIGNMENT_NONE   0 /* not at all                                                                    */
#define TFM_ALIGNMENT_OUTPUT 1 /* by the attention of the step that predicts the token, as other systems take it */
#define TFM_ALIGNMENT_INPUT  2 /* by that of the step that reads it (Chen et al. 2020): sometimes better, and then in
                                  a middle layer */

/* Called between steps with the sentences done so far, of which a line that was split has several. Nonzero cancels: the call returns TFM_E_CANCELLED. */
typedef int32_t (*tfm_decode_progress_fn)(void *user, size_t done, size_t total);

/* How to search. Start from tfm_decoder_options_init(). */
typedef struct tfm_decoder_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows                 */
    uint32_t beam;                  /* hypotheses kept; 1: greedy; 1..1024, default 4 (6.1)                       */
    float    alpha;                 /* exponent of the length penalty (length_norm); >= 0, default 0.6 (6.1)      */
    uint32_t n_best;                /* hypotheses returned per sentence, 1..beam, or samples, 1..1024; default 1  */
    uint32_t max_extra;             /* longest output = source tokens (EOS counted) + this; default 50 (6.1)      */
    uint32_t max_length;            /* absolute longest output, EOS counted; 0: no other limit; default 0         */
    uint32_t max_source;            /* a longer source (tokens, EOS counted) is too long, as is one of more than the
                                       model's positions: refused, or see long_source; >= 1, default 4096 */
    uint32_t stop_rule;             /* TFM_STOP_*; default best                                                   */
    uint32_t allow_special;         /* nonzero: PAD and BOS may be produced; default 0                            */
    uint32_t replace_invalid;       /* nonzero: invalid UTF-8 becomes U+FFFD instead of an error; default 0       */
    uint32_t batch_tokens;          /* source tokens translated together, times beam; >= 1, default 4096          */
    uint32_t n_threads;             /* 1..1024; 0: all cores; default 1                                           */
    const tfm_allocator *allocator; /* NULL: malloc; must outlive the decoder                                     */
    tfm_decode_progress_fn progress; /* NULL: none                                                                */
    void *progress_user;            /* passed to progress                                                         */
    uint32_t min_length;            /* EOS is not offered before it would be this many tokens, EOS counted: its logit
                                       counts as -infinity; a sentence whose longest output is below ends without it;
                                       at most max_length; default 0 */
    uint32_t dtype;                 /* TFM_DTYPE_* of the matrices and of their products; default float32. A
                                       quantised model has its own: float32, the default, means int8 there, and
                                       bfloat16 is TFM_E_UNSUPPORTED */
    /* Controls of what is produced. Those that change logits do so before their log-softmax, so that the probabilities
     * of what remains sum to 1; where they leave no token, the hypothesis ends. */
    uint32_t length_norm;           /* TFM_LENGTH_*: what scores are divided by; default paper                    */
    uint32_t no_repeat_ngram;       /* no sequence of so many tokens twice in a hypothesis; 0: they may; default 0 */
    float    repetition_penalty;    /* positive logits of tokens already produced are divided by it, negative ones
                                       multiplied (Keskin et al. 2019); 0 and 1: none; > 0, default 0 */
    float    min_ratio;             /* min_length is at least this times the source tokens, EOS counted on both sides,
                                       rounded up; >= 0, default 0 */
    float    max_ratio;             /* the longest output is at most this times the source tokens, rounded up, but 1;
                                       0: no such limit; default 0 */
    uint32_t reserved;              /* 0 */
    const tfm_ids *forbidden;       /* [n_forbidden] sequences of tokens that are never produced, each of at least 1:
                                       alone a token, else its last one where the others stand before it, also where a
                                       longer word goes on behind it; copied */
    size_t n_forbidden;             /* default 0 */
    float    temperature;           /* > 0: n_best random samples instead of a search, beam is not used: logits are
                                       divided by this before they become probabilities; 0: search (default) */
    uint32_t top_k;                 /* samples are drawn from so many of the best tokens; 0: from all (default) */
    float    top_p;                 /* and from the fewest of the best whose probabilities reach this sum, in [0, 1];
                                       0 and 1: from all; default 0 */
    uint32_t reserved2;             /* 0 */
    uint64_t seed;                  /* of samples, which depend on it, the source and their number, not on other
                                       sentences: equal sources have equal samples; default 0 */
    uint32_t long_source;           /* TFM_LONG_*, of lines of text; ids that are too long are refused; default refuse */
    uint32_t alignment;             /* TFM_ALIGNMENT_*: tfm_decoder_alignment() has results; default none         */
    uint32_t alignment_layer;       /* decoder layer, from 1, whose attention on the source is looked at; 0: the last;
                                       default 0 */
    uint32_t alignment_head;        /* its head, from 1; 0: the mean of all; default 0                            */
    float    coverage;              /* beta of the coverage penalty (Wu et al. 2016): a finished hypothesis' score has beta
                                       times the sum over source tokens of log(min(what its tokens' attention on it sums
                                       to, 1)) added, of the attention that predicts them in the layer and head above;
                                       not for samples; 0: none; >= 0, default 0 */
    uint32_t replace_unknown;       /* nonzero: a word of the text that has the unknown token becomes the source word
                                       that it is aligned with; needs alignment; default 0 */
} tfm_decoder_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_decoder_options_init(tfm_decoder_options *options, size_t struct_size);

/*
 * Creates a decoder on a model, which must outlive it. The first one of a type packs the model's matrices for it,
 * with the model's allocator and the decoder's threads; all decoders of that type share them, and the model keeps
 * them. Decoders may be created at the same time: one packs, the others wait. out: owned by the caller, NULL on
 * failure. options: copied.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED (bfloat16 of a quantised model, an option that this version does
 *         not know), TFM_E_IO (a thread could not be started), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_decoder_create(tfm_decoder **out, const tfm_model *model, const tfm_decoder_options *options,
                                      tfm_error *error);

/*
 * As tfm_decoder_create(), on an ensemble of n_models models, 1..64, which must outlive it: at each step a token's
 * probability is the mean of what each model gives it, or, with weights [n_models], which are divided by their sum, the
 * weighted one. Its logarithm takes the place of one model's logit in all that follows: controls, scores and
 * tfm_decoder_logprobs(). The models may differ in size, form and type, but not in their vocabulary sizes, reserved
 * and first ids and, where both have one, tokenizers. The first one's tokenizer, alignments and attention are used; no sequence
 * is longer than the fewest positions allow. Time and memory are those of all of them. models, weights: read before the
 * return, never kept.
 * returns as tfm_decoder_create(); TFM_E_INVALID also for models that do not fit together, naming the first such and
 *         what differs, and for weights that are below 0, not finite or all 0. since 0.2
 */
TFM_API tfm_status tfm_decoder_create_ensemble(tfm_decoder **out, const tfm_model *const *models, const float *weights,
                                               size_t n_models, const tfm_decoder_options *options, tfm_error *error);

/* Ends a decoder, and all that it lent. NULL is ignored. since 0.2 */
TFM_API void tfm_decoder_free(tfm_decoder *decoder);

/*
 * Translates n_lines lines, which are not kept; results stay in the decoder until its next call. An empty or
 * all-blank line gives an empty text with score 0.
 * returns TFM_OK, TFM_E_INVALID (a model without tokenizer, a line of more than max_source tokens that is not split),
 *         TFM_E_FORMAT (invalid UTF-8; names the line), TFM_E_CANCELLED, TFM_E_NOMEM. After a failure there are no
 *         results. since 0.2
 */
TFM_API tfm_status tfm_decoder_translate(tfm_decoder *decoder, const tfm_text *lines, size_t n_lines, tfm_error *error);

/*
 * The same on ids; sources contain EOS if they shall (the paper's do). An empty source gives an empty result.
 * returns TFM_OK, TFM_E_INVALID (an id outside of the vocabulary, a source that is too long), TFM_E_CANCELLED,
 *         TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_decoder_translate_ids(tfm_decoder *decoder, const tfm_ids *sources, size_t n_sources,
                                             tfm_error *error);

/* How the translation of a sentence begins, while it is under way. Lent for the callback. Grows at the end. */
typedef struct tfm_partial {
    size_t sentence; /* its number in the request                                                              */
    tfm_text text;   /* whole characters; empty without a tokenizer                                            */
    tfm_ids ids;     /* of it; bytes of characters that are not yet whole are there already                    */
} tfm_partial;

/* Told between steps, on the thread of the call. Nonzero cancels: the call returns TFM_E_CANCELLED. */
typedef int32_t (*tfm_decode_partial_fn)(void *user, const tfm_partial *partial);
/* The same; the getters of results tell those of this sentence, which they lend until the callback returns. */
typedef int32_t (*tfm_decode_sentence_fn)(void *user, const tfm_decoder *decoder, size_t sentence);

/* Sentences to translate, and what their translations must keep to. Start from tfm_request_init(). */
typedef struct tfm_request {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows             */
    uint32_t reserved;              /* 0                                                                      */
    size_t n;                       /* sentences                                                              */
    const tfm_text *lines;          /* [n] sources as text; NULL: sources has them                            */
    const tfm_ids *sources;         /* [n] sources as ids                                                     */
    const tfm_text *prefix_lines;   /* [n] how each translation begins, as text, which may be empty; NULL: prefixes */
    const tfm_ids *prefixes;        /* [n] the same as ids, without EOS; NULL: translations begin as they like */
    const size_t *n_terms;          /* [n] how many terms each sentence has, up to 64 of up to 256 tokens together; NULL:
                                       none have any */
    const tfm_text *term_lines;     /* words or phrases that must appear, as text: those of the first sentence, then
                                       those of the second, and so on; NULL: terms. A part of a longer word is not one:
                                       "hund" is not in "hunde" */
    const tfm_ids *terms;           /* the same as ids, wherever these stand; used when n_terms is not NULL */
    const size_t *term_times;       /* of each term, how often it must appear, neither more nor less; 0: at least once; NULL:
                                       0 for all */
    const size_t *n_placeholders;   /* [n] how many placeholders each line has; NULL: none have any */
    const tfm_text *placeholders;   /* tags, variables and such that stand in the lines, each named once for its line: those of
                                       the first line, then those of the second, and so on. A translation has them as often
                                       as the line, unchanged, and with white space as there where letters or digits
                                       touch them. They are counted from left to right without overlaps, of several that
                                       begin at a byte the longest: "10" has no "1" when both are placeholders. They count
                                       as terms */
    tfm_decode_partial_fn partial;  /* NULL, or told of each sentence as more of its best result is certain, and last
                                       of all of it */
    tfm_decode_sentence_fn sentence; /* NULL, or told of each sentence when it is done, whatever others do    */
    void *user;                     /* passed to both                                                         */
    const size_t *placeholder_times; /* of each placeholder, how often it must appear at least, where that is less often than
                                       the line has it, as part of longer words too; 0: as often; NULL: 0 for all */
} tfm_request;

/* Fills *request with zeros; pass sizeof *request. NULL is ignored. since 0.2 */
TFM_API void tfm_request_init(tfm_request *request, size_t struct_size);

/*
 * As tfm_decoder_translate(), or of ids as tfm_decoder_translate_ids(). A prefix is part of its translation: scores and
 * lengths count it, its tokens have the model's own probabilities, and masks begin behind it. Behind it the search is
 * that of a fresh beam. A prefix takes a decoding step for each token. The prefix of an empty source is not used.
 * Terms come in any order, and may overlap. Hypotheses without some of them may not end; the beam is shared out among
 * those that have as many tokens of them (Post and Vilar 2018), so it should be wider than their number. A translation
 * that reached the longest output may lack terms, or have some too often; it has no EOS then. Not for samples. What a
 * prefix has of terms counts; one that it has too often comes no more. Terms and placeholders that are text are looked
 * for in the text of a hypothesis, whatever its tokens are: terms as whole words, which end where no letter or digit
 * follows (of scripts that put spaces between words), and placeholders where they stand within no longer word or number
 * than in the line.
 * Callbacks of the request are told as soon as something is sure: in greedy search and for a single sample of each
 * token, in a beam of what all hypotheses that may still become the best have in common. What partial is told of a
 * sentence later begins with what it was told before (but for SentencePiece models with rules for denormalising).
 * In which order sentences come depends on what is translated together; their results do not. Alignments are not there
 * yet, and what changes texts after the search, placeholders and replace_unknown, is TFM_E_UNSUPPORTED. After a callback
 * cancels there are no results, but the sentences that it was told of before were final.
 * returns as those; TFM_E_INVALID also for a prefix as long as the longest output, or with EOS in it, for
 *         terms that are empty, too many, or with EOS, PAD or BOS in them (of these two not with allow_special), and for
 *         terms of samples; for a placeholder that its line has not, or not as often; for a term or a placeholder that
 *         the tokenizer cannot write, which it names. since 0.2
 */
TFM_API tfm_status tfm_decoder_run(tfm_decoder *decoder, const tfm_request *request, tfm_error *error);

/*
 * Number of results of a sentence of the last translation, at most n_best; 0 when sentence is out of range. Results
 * are numbered by rank, 0 being the best, and lent until the decoder's next call. since 0.2
 */
TFM_API size_t tfm_decoder_count(const tfm_decoder *decoder, size_t sentence);

/*
 * The text of a result, followed by a NUL that does not count; empty when it is out of range, or of a model without
 * tokenizer. since 0.2
 */
TFM_API tfm_text tfm_decoder_text(const tfm_decoder *decoder, size_t sentence, size_t rank);

/* The ids of a result, EOS kept when it was produced; empty when it is out of range. since 0.2 */
TFM_API tfm_ids tfm_decoder_ids(const tfm_decoder *decoder, size_t sentence, size_t rank);

/*
 * Log-probability over the length penalty, in nats, and the coverage penalty; without either if no EOS came. NaN when it is out of range, or where
 * weights of the model that are not finite left no token to choose. since 0.2
 */
TFM_API double tfm_decoder_score(const tfm_decoder *decoder, size_t sentence, size_t rank);

/*
 * Log-probability of each token of a result, in nats, as the search saw it, after masks; *n_tokens receives their number.
 * Their sum over the length penalty is the score. Lent; NULL and 0 when it is out of range. since 0.2
 */
TFM_API const float *tfm_decoder_token_scores(const tfm_decoder *decoder, size_t sentence, size_t rank, size_t *n_tokens);

/* What rows and columns of an alignment are. */
#define TFM_ALIGNMENT_TOKENS 0 /* tokens: all of the target, and all of the source, EOS included */
#define TFM_ALIGNMENT_WORDS  1 /* words: what stands between ASCII white space in the lines      */

/*
 * How a result is aligned with its source, by the attention that the options name: weights [*rows][*cols] of target
 * units by source units, lent until the decoder's next call. A row of tokens sums to 1; the last one, which the
 * decoder never reads, always has the attention that predicts it. A row of words is the mean of its tokens, with the
 * sum over the tokens of each source word, so that what EOS holds is missing. Results are aligned after the search, by
 * a pass over all of them. unit: TFM_ALIGNMENT_TOKENS, or _WORDS, which are there when the sources were text.
 * Of a line that was split each part is aligned with itself alone; units are those of the whole line, tokens those of its
 * parts one behind the other. NULL, 0 and 0 when it is out of range, there is none, as of such a line with more than 2^24
 * weights of tokens, or it is empty. since 0.2
 */
TFM_API const float *tfm_decoder_alignment(const tfm_decoder *decoder, size_t sentence, size_t rank, uint32_t unit,
                                           size_t *rows, size_t *cols);

/*
 * The same of a pair of the last tfm_decoder_logprobs(); words are there when it was of text. since 0.2
 */
TFM_API const float *tfm_decoder_pair_alignment(const tfm_decoder *decoder, size_t pair, uint32_t unit, size_t *rows,
                                                size_t *cols);

/*
 * Links of an alignment as text, in Pharaoh's format: "0-0 2-1", source-target from 0, by target and then source.
 * threshold 0: of each row the largest weight, the first of equal ones, none of a row of zeros; above 0: all weights
 * of at least this. Sizes as tfm_tokenizer_decode(). Thread safety: any thread, any time.
 * returns TFM_OK, TFM_E_INVALID. since 0.2
 */
TFM_API tfm_status tfm_alignment_links(char *text, size_t capacity, size_t *size, const float *weights, size_t rows,
                                       size_t cols, float threshold, tfm_error *error);

/* Decoding steps (new target tokens of each hypothesis) that the sentence took; 0 when it is out of range. since 0.2 */
TFM_API uint32_t tfm_decoder_steps(const tfm_decoder *decoder, size_t sentence);

/*
 * 1 when a result came to its end, of each part where it has several; 0 when the longest output cut it off, or it is
 * out of range. since 0.2
 */
TFM_API uint32_t tfm_decoder_finished(const tfm_decoder *decoder, size_t sentence, size_t rank);

/*
 * In how many parts a sentence was translated: 1, or more when TFM_LONG_SPLIT split it; 0 when it is out of range.
 * Result rank of a line that was split consists of result rank of each part: their ids and token scores one behind the
 * other, each part's EOS included; its score and steps are the sums of theirs. since 0.2
 */
TFM_API size_t tfm_decoder_parts(const tfm_decoder *decoder, size_t sentence);

/*
 * Natural-log probability of each target token given its source, EOS included: line i of targets belongs to line i
 * of sources. Text is taken as by tfm_decoder_translate(), but a blank source is [EOS] and not skipped. Results stay in
 * the decoder until its next call.
 * returns as tfm_decoder_translate(). since 0.2
 */
TFM_API tfm_status tfm_decoder_logprobs(tfm_decoder *decoder, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                        tfm_error *error);

/*
 * The same on ids; sources and targets contain EOS if they shall.
 * returns as tfm_decoder_translate_ids(). since 0.2
 */
TFM_API tfm_status tfm_decoder_logprobs_ids(tfm_decoder *decoder, const tfm_ids *sources, const tfm_ids *targets,
                                            size_t n_pairs, tfm_error *error);

/*
 * The values of a pair of the last tfm_decoder_logprobs(), one for each target token, in nats; *n_tokens receives
 * their number. Lent until the decoder's next call; NULL and 0 when pair is out of range. since 0.2
 */
TFM_API const float *tfm_decoder_token_logprobs(const tfm_decoder *decoder, size_t pair, size_t *n_tokens);

/* Their sum; NaN when pair is out of range. since 0.2 */
TFM_API double tfm_decoder_pair_logprob(const tfm_decoder *decoder, size_t pair);

/* Kinds of attention. */
#define TFM_ATTENTION_ENCODER 0 /* encoder self-attention                      */
#define TFM_ATTENTION_DECODER 1 /* masked decoder self-attention               */
#define TFM_ATTENTION_CROSS   2 /* decoder queries on the encoder's output     */

/*
 * Attention weights of one layer and head while the model reads a pair (teacher forcing): rows are queries, columns
 * keys, each row sums to 1. *weights [*rows][*cols] is lent until the decoder's next call. kind: TFM_ATTENTION_*;
 * layer and head count from 0. target is ignored, and may be empty, for TFM_ATTENTION_ENCODER. Query 0 of the
 * decoder reads the start symbol and predicts token 0.
 * returns TFM_OK, TFM_E_INVALID (no such kind, layer or head, an empty sequence, an id outside of the vocabulary),
 *         TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_decoder_attention(const float **weights, size_t *rows, size_t *cols, tfm_decoder *decoder,
                                         tfm_ids source, tfm_ids target, uint32_t kind, uint32_t layer, uint32_t head,
                                         tfm_error *error);

/*
 * The same of every layer and head, by one pass over the pair: *weights [layers][heads][rows][cols], whose four sizes
 * shape [4] receives, is lent until the decoder's next call.
 * returns as tfm_decoder_attention(), with zeros in shape after a failure. since 0.2
 */
TFM_API tfm_status tfm_decoder_attention_all(const float **weights, size_t *shape, tfm_decoder *decoder, tfm_ids source,
                                             tfm_ids target, uint32_t kind, tfm_error *error);

/* -------------------------------------------------------------------------------------------------- trainer ---- */

/*
 * Parameters, optimiser state and data position of one training.
 * Thread safety: one thread at a time.
 */
typedef struct tfm_trainer tfm_trainer;

/* Label smoothing (tfm_trainer_options.smoothing). */
#define TFM_SMOOTHING_PAPER   0 /* 1 - eps on the target, eps / (V - 1) on every other id */
#define TFM_SMOOTHING_UNIFORM 1 /* 1 - eps on the target, plus eps / V on every id          */

/* Events of a training (tfm_progress.event). */
#define TFM_EVENT_STEP       0 /* an update of the weights                                  */
#define TFM_EVENT_EPOCH      1 /* the training data was read once more                      */
#define TFM_EVENT_VALID      2 /* valid_* are new                                           */
#define TFM_EVENT_CHECKPOINT 3 /* path is the file just written                             */
#define TFM_EVENT_DONE       4 /* the last event; message says why the training ended        */

/* What happened. Lent for the time of the callback. Grows at the end. */
typedef struct tfm_progress {
    uint32_t struct_size;      /* bytes that this library fills; a field behind them is not there      */
    uint32_t event;            /* TFM_EVENT_*                                                          */
    uint64_t step;             /* updates so far, those before a resume included                       */
    uint64_t epoch;            /* passes over the data finished                                        */
    uint64_t steps_total;      /* estimate of the last step; 0 when unknown                            */
    uint64_t source_tokens;    /* of this step                                                         */
    uint64_t target_tokens;    /* of this step                                                         */
    double   loss;             /* mean label-smoothed cross-entropy per target token, nats (5.4)       */
    double   nll;              /* mean -log p(target), nats: no smoothing; exp of it is the perplexity */
    double   learning_rate;    /* of this step                                                         */
    double   gradient_norm;    /* Euclidean, before clipping                                           */
    double   tokens_per_s;     /* target tokens a second, mean of the latest steps                     */
    double   seconds;          /* of training, in all runs and steps of this trainer                   */
    double   seconds_left;     /* estimate; < 0 when unknown                                           */
    double   valid_nll;        /* mean -log p per target token of the validation data                  */
    double   valid_perplexity; /* exp(valid_nll)                                                       */
    double   valid_bleu;       /* percent, tokens as the validation target has them (tokenize none); < 0 when not
                                  computed */
    double   best_valid;       /* best valid_nll, or best BLEU when that is the criterion              */
    const char *path;          /* of the checkpoint                                                    */
    const char *message;       /* of the last event                                                    */
    uint64_t skipped;          /* steps so far whose loss or gradient was not finite (max_skipped), those before a
                                  resume included */
} tfm_progress;

/* Nonzero stops the training cleanly: tfm_trainer_run() writes a checkpoint (if it has a path) and returns TFM_E_CANCELLED. The
 * callback may call tfm_trainer_model() with its trainer, and nothing else. */
typedef int32_t (*tfm_progress_fn)(void *user, const tfm_progress *progress);

/*
 * Replaces values by their sum over all ranks; called the same number of times with the same n on each. Nonzero: the step fails with
 * TFM_E_IO and the weights are unchanged. A rank that ends alone leaves the others waiting here: a progress callback
 * stops all ranks at the same step, and after a failure of one the others must be ended, too.
 */
typedef int32_t (*tfm_reduce_fn)(void *user, float *values, size_t n);

/* How to train. Start from tfm_trainer_options_init(). */
typedef struct tfm_trainer_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows                  */
    uint32_t n_threads;             /* 1..1024; 0: all cores (default)                                             */
    uint64_t seed;                  /* order of the data and dropout; default 1                                    */
    float    dropout;               /* P_drop on each sub-layer's output before it is added (5.4); [0, 1), default
                                       0.1 */
    float    dropout_embedding;     /* on the sum of embedding and position; < 0: as dropout; default -1           */
    float    dropout_attention;     /* on attention weights; [0, 1), default 0                                     */
    float    dropout_relu;          /* after the ReLU; [0, 1), default 0                                           */
    float    label_smoothing;       /* eps_ls of 5.4; [0, 1), default 0.1                                          */
    uint32_t smoothing;             /* TFM_SMOOTHING_*; default paper                                              */
    float    adam_beta1;            /* decay of the first moment (5.3); [0, 1), default 0.9                        */
    float    adam_beta2;            /* decay of the second moment; [0, 1), default 0.98                            */
    float    adam_eps;              /* added to the root of the second moment; 1e-30..1, default 1e-9              */
    float    lr_scale;              /* factor on the rate of eq. (3); 0..1e6, default 1                            */
    uint32_t warmup;                /* warmup_steps of eq. (3); 1..1e9, default 4000                               */
    float    clip_norm;             /* larger gradients are scaled down to this norm; 0: no clipping (default)     */
    uint32_t batch_tokens;          /* a batch holds at most this many source and as many target tokens; 1..2^24,
                                       default 4096 */
    uint32_t accumulate;            /* batches per update and rank; 1..2^20, default 1                             */
    uint32_t max_length;            /* pairs with more tokens on a side (EOS counted) are skipped; 1..2^20, default
                                       256 */
    uint32_t recompute;             /* nonzero: keep only each layer's input and compute the rest again: less memory,
                                       more time */
    uint64_t max_steps;             /* 0: no limit; default 100000                                                 */
    uint64_t max_epochs;            /* 0: no limit (default)                                                       */
    double   max_seconds;           /* 0: no limit (default); of all runs of this trainer; with n_ranks 1 alone  */
    uint64_t valid_every;           /* steps between validations; 0: each epoch (default)                          */
    uint32_t valid_bleu;            /* nonzero: translate the validation source too (beam 4, alpha 0.6); default 0 */
    uint32_t patience;              /* validations without a better criterion before the end; 0: never (default). The
                                       criterion is BLEU with valid_bleu, else valid_nll. A validation at the end,
                                       where none is due, does not count */
    const char *checkpoint_path;    /* "x" gives files x-STEP.ckpt; NULL: none. Copied                             */
    uint64_t checkpoint_steps;      /* steps between checkpoints; 0: each epoch (default), or by time alone        */
    double   checkpoint_seconds;    /* and seconds between them (6.1: 600); 0: not by time (default)               */
    uint32_t keep;                  /* how many of the latest checkpoints stay; older ones are deleted; 0: all; at
                                       most 1024, default 5. An end between two of them writes one more, which is
                                       deleted when a resumed run writes its first */
    uint32_t rank;                  /* this trainer among n_ranks that share the work; below n_ranks, default 0    */
    uint32_t n_ranks;               /* 1..65536, default 1: batch i of the epoch goes to rank i mod n_ranks        */
    uint32_t replace_invalid;       /* nonzero: invalid UTF-8 becomes U+FFFD instead of an error; default 0        */
    tfm_reduce_fn reduce;           /* needed when n_ranks > 1                                                     */
    void *reduce_user;              /* passed to reduce                                                            */
    tfm_progress_fn progress;       /* NULL: none                                                                  */
    void *progress_user;            /* passed to progress                                                          */
    tfm_log_fn log;                 /* NULL: silence                                                               */
    void *log_user;                 /* passed to log                                                               */
    const tfm_allocator *allocator; /* NULL: malloc; must outlive the trainer                                      */
    uint64_t memory;                /* bytes that the training may take: a batch that needs more is worked off in
                                       pieces, its gradients are the same but for the rounding of their sums. 0: no
                                       limit, whole batches (default) */
    uint32_t dtype;                 /* TFM_DTYPE_* of the steps (mixed precision); validation is float32; default
                                       float32 */
    uint32_t reserved;              /* 0                                                                           */
    uint64_t max_skipped;           /* a step whose loss or gradient is not finite is skipped: weights and moments stay,
                                       a warning is logged, and the next batch has its turn. So many in a row are an
                                       error; 1: the first one is. 0: 10 (default) */
    float    bpe_dropout_source;    /* chance of each merge to be left out when a source line is cut into tokens, anew
                                       for each epoch (BPE-dropout; see tfm_tokenizer_encode_dropout()); a line that
                                       would get longer than max_length is cut without. The text is kept in memory. For
                                       data given as text and tokenizers with merges; validation is never touched;
                                       [0, 1], 0: off (default) */
    float    bpe_dropout_target;    /* likewise of a target line */
    uint64_t cooldown;              /* the last steps up to max_steps, in which the rate of eq. (3) is taken times
                                       n/cooldown, n from cooldown down to 1: the weights settle, as the mean of
                                       checkpoints does for them at a high rate. 0: none (default); at most max_steps */
} tfm_trainer_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_trainer_options_init(tfm_trainer_options *options, size_t struct_size);

/*
 * Starts from the weights and the tokenizer of a model, which are copied: create or load one first. out: owned by
 * the caller, NULL on failure. options: copied, checkpoint_path too.
 * returns TFM_OK, TFM_E_INVALID (also: a weight that is not finite; names its parameter), TFM_E_UNSUPPORTED (a
 *         quantised model, an option that this version does not know), TFM_E_IO (a thread could not be started),
 *         TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_create(tfm_trainer **out, const tfm_model *model, const tfm_trainer_options *options,
                                      tfm_error *error);

/*
 * Continues a checkpoint: weights, moments, step and data position. With the same options and data the run goes on
 * with the bits of an uninterrupted one; a different seed or other data is refused when the data is set. A batch is
 * cut into the pieces of the checkpoint, whatever memory says now: a warning tells when they need more. keep counts
 * the files that were there before when the checkpoint is one of checkpoint_path; else they stay, as those of another
 * course. out: owned by the caller, NULL on failure.
 * returns TFM_OK, TFM_E_INVALID (also: weights or moments that are not finite), TFM_E_IO, TFM_E_FORMAT (not a whole,
 *         valid checkpoint), TFM_E_UNSUPPORTED (of a later version), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_resume(tfm_trainer **out, const char *checkpoint, const tfm_trainer_options *options,
                                      tfm_error *error);

/* Ends a trainer. NULL is ignored. since 0.2 */
TFM_API void tfm_trainer_free(tfm_trainer *trainer);

/* Counts of what the data gave. */
typedef struct tfm_data_report {
    uint64_t pairs;         /* used                                                         */
    uint64_t blank;         /* skipped: source or target empty                              */
    uint64_t too_long;      /* skipped: more than max_length tokens, or than learned positions */
    uint64_t source_tokens; /* of the used pairs, EOS counted                               */
    uint64_t target_tokens; /* likewise                                                     */
    uint64_t unknown;       /* TFM_UNK among them                                           */
    uint64_t piece_tokens;  /* a batch is worked off in pieces of at most so many source and target tokens:
                               batch_tokens, or fewer for the sake of memory */
    uint64_t memory;        /* bytes that the training needs, with the scratch of 8 threads; but for the search
                               of a validation BLEU */
} tfm_data_report;

/*
 * Training data: line i of sources belongs to line i of targets; encoded and copied. The model needs a tokenizer.
 * report may be NULL, else struct_size = sizeof *report.
 * returns TFM_OK, TFM_E_INVALID (no pair is left, says why; too little memory; after a resume, other data than
 *         before), TFM_E_FORMAT (invalid UTF-8; names side and line), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_set_data(tfm_trainer *trainer, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                        tfm_data_report *report, size_t struct_size, tfm_error *error);

/*
 * The same on ids, EOS included.
 * returns TFM_OK, TFM_E_INVALID (as above, or an id outside of the vocabulary), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_set_data_ids(tfm_trainer *trainer, const tfm_ids *sources, const tfm_ids *targets,
                                            size_t n_pairs, tfm_data_report *report, size_t struct_size, tfm_error *error);

/*
 * Validation data, as tfm_trainer_set_data(); never dropped for its length, which may be up to 4096 tokens a side.
 * returns TFM_OK, TFM_E_INVALID (no pair is left, or a longer one), TFM_E_FORMAT (invalid UTF-8), TFM_E_NOMEM.
 *         since 0.2
 */
TFM_API tfm_status tfm_trainer_set_valid(tfm_trainer *trainer, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                         tfm_error *error);

/*
 * One update. *progress receives what a callback would, with struct_size = sizeof *progress, or is NULL; no callback
 * is made.
 * returns TFM_OK, TFM_E_INVALID (no data; as many gradients in a row that are not finite as max_skipped says: the
 *         weights are those before the first of them), TFM_E_IO (reduce failed: the weights are unchanged), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_step(tfm_trainer *trainer, tfm_progress *progress, size_t struct_size, tfm_error *error);

/*
 * Trains until a limit, patience, or a callback ends it, with validation and checkpoints.
 * returns TFM_OK, TFM_E_CANCELLED (by a callback), or as tfm_trainer_step(); TFM_E_INVALID also for patience or
 *         valid_bleu without validation data; TFM_E_IO also when a checkpoint cannot be written. since 0.2
 */
TFM_API tfm_status tfm_trainer_run(tfm_trainer *trainer, tfm_error *error);

/*
 * Writes a checkpoint under a temporary name, syncs and renames it: an old file survives any failure.
 * returns TFM_OK, TFM_E_INVALID (no data was set), TFM_E_IO, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_save(tfm_trainer *trainer, const char *path, tfm_error *error);

/*
 * A copy of the present weights as a model. out: owned by the caller, NULL on failure.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_trainer_model(tfm_model **out, const tfm_trainer *trainer, tfm_error *error);

/* ------------------------------------------------------------------------------------------------- profiles ---- */

/* Kinds of entries (tfm_profile_entry.kind). */
#define TFM_PROFILE_OPERATION 0 /* of the model, one after another                                                    */
#define TFM_PROFILE_PHASE     1 /* of the work as a whole, likewise: a training step, a translation is made of several */

/* How long one kind of work took since its trainer or decoder was created, on the calling thread. Grows at the end. */
typedef struct tfm_profile_entry {
    uint32_t kind;     /* TFM_PROFILE_*                                                 */
    uint32_t reserved; /* 0                                                             */
    const char *name;  /* "linear", "linear backward", "forward"; static storage        */
    uint64_t calls;    /* how often                                                     */
    double   seconds;  /* in all                                                        */
    double   flops;    /* of its matrix products, 2 for each multiply-add; 0 for phases */
} tfm_profile_entry;

/*
 * Entries of a profile, those without calls included; later versions may have more, or other names. 0 when trainer
 * is NULL. since 0.2
 */
TFM_API size_t tfm_trainer_profile_count(const tfm_trainer *trainer);

/*
 * Entry index of the profile; struct_size = sizeof *out.
 * returns TFM_OK, TFM_E_INVALID (there is no such entry). since 0.2
 */
TFM_API tfm_status tfm_trainer_profile_at(tfm_profile_entry *out, size_t struct_size, const tfm_trainer *trainer, size_t index,
                                          tfm_error *error);

/* The same of translations; scoring and attention weights are not counted. since 0.2 */
TFM_API size_t tfm_decoder_profile_count(const tfm_decoder *decoder);

/*
 * The same of translations.
 * returns as tfm_trainer_profile_at(). since 0.2
 */
TFM_API tfm_status tfm_decoder_profile_at(tfm_profile_entry *out, size_t struct_size, const tfm_decoder *decoder, size_t index,
                                          tfm_error *error);

/* ------------------------------------------------------------------------------------- mathematics, metrics ---- */

/* Scaled dot-product attention, eq. (1), on raw buffers. */
typedef struct tfm_attention_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows            */
    uint32_t causal;                /* nonzero: query i sees keys j <= i + (n_keys - n_queries); default 0   */
    uint32_t window;                /* nonzero: and |i + n_keys - n_queries - j| <= window (restricted, section 4);
                                       default 0 */
    float    scale;                 /* 0: 1 / sqrt(d_k) (default)                                            */
    size_t   key_length;            /* keys from here on are hidden; SIZE_MAX (default): all seen            */
    const float *mask;              /* [n_queries][n_keys], added to the scores; -INFINITY hides; NULL: none */
    uint32_t n_threads;             /* 1..1024; 0: all cores; default 1                                      */
    uint32_t reserved;              /* 0                                                                     */
    const tfm_allocator *allocator; /* NULL: malloc                                                          */
} tfm_attention_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_attention_options_init(tfm_attention_options *options, size_t struct_size);

/*
 * out [n_queries][d_v] = softmax(q k^T * scale + mask) v, with q [n_queries][d_k], k [n_keys][d_k], v [n_keys][d_v],
 * row-major; sizes in 1..2^31. weights: NULL, or [n_queries][n_keys]. options NULL: defaults. A query that sees no
 * key gives zeros; a hidden key may hold anything, NaN too. out and weights must not overlap the inputs.
 * Takes about n_keys * (d_k + d_v) floats of memory per thread, never n_queries * n_keys; with window r, time is O(r
 * n_queries). Thread safety: any number of calls at once.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED (an option that this version does not know), TFM_E_IO (a thread
 *         could not be started), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_attention(float *out, float *weights, const float *q, const float *k, const float *v, size_t n_queries,
                                 size_t n_keys, size_t d_k, size_t d_v, const tfm_attention_options *options,
                                 tfm_error *error);

/* How text becomes tokens (tfm_bleu_options.tokenize). */
#define TFM_BLEU_TOKENIZE_13A  0 /* mteval-v13a, sacreBLEU's default                    */
#define TFM_BLEU_TOKENIZE_NONE 1 /* text is already tokenised: split at white space     */
#define TFM_BLEU_TOKENIZE_INTL 2 /* mteval-v14 --international-tokenization             */
#define TFM_BLEU_TOKENIZE_CHAR 3 /* every character is a token                          */
#define TFM_BLEU_TOKENIZE_ZH   4 /* every Chinese character is a token, the rest as 13a */

/* What orders without a match count (tfm_bleu_options.smooth). */
#define TFM_BLEU_SMOOTH_EXP   0 /* k-th zero precision becomes 100 / (2^k * total): sacreBLEU */
#define TFM_BLEU_SMOOTH_NONE  1 /* any zero precision makes the score 0: multi-bleu.perl       */
#define TFM_BLEU_SMOOTH_FLOOR 2 /* zero counts become smooth_value (default 0.1)               */
#define TFM_BLEU_SMOOTH_ADD_K 3 /* smooth_value (default 1) is added to counts and totals, n > 1 */

/* Which BLEU. Start from tfm_bleu_options_init(). */
typedef struct tfm_bleu_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows */
    uint32_t tokenize;              /* TFM_BLEU_TOKENIZE_*; default 13a                           */
    uint32_t smooth;                /* TFM_BLEU_SMOOTH_*; default exp                             */
    float    smooth_value;          /* < 0: the method's default (default)                        */
    uint32_t lowercase;             /* nonzero: case-insensitive; default 0                       */
    uint32_t compound_split;        /* nonzero: a hyphen between characters of a token becomes " ##AT##-##AT## "
                                       (get_ende_bleu.sh); default 0 */
    uint32_t max_order;             /* longest n-gram; 1..8, default 4                            */
    uint32_t effective_order;       /* nonzero: orders longer than the hypothesis do not count (for sentences);
                                       default 0 */
    const tfm_allocator *allocator; /* NULL: malloc                                               */
} tfm_bleu_options;

/* What tfm_bleu() found. Grows at the end. */
typedef struct tfm_bleu_result {
    double   score;          /* percent                                                                     */
    double   brevity;        /* penalty, 0..1                                                               */
    double   precisions[8];  /* percent, per order                                                          */
    uint64_t matches[8];     /* n-grams of the hypotheses that a reference has, per order                   */
    uint64_t totals[8];      /* n-grams of the hypotheses, per order                                        */
    uint64_t hyp_length;     /* tokens of the hypotheses                                                    */
    uint64_t ref_length;     /* tokens of the references; of several the closest, then shortest, counts     */
    char     signature[160]; /* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:libtransformer-0.2.0" */
} tfm_bleu_result;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_bleu_options_init(tfm_bleu_options *options, size_t struct_size);

/*
 * Corpus BLEU (Papineni et al. 2002) of n_hyps hypotheses against n_refs references of each: refs[r][i] is reference
 * r of hypothesis i. struct_size = sizeof *result; options NULL: defaults. Thread safety: any number of calls at
 * once.
 * returns TFM_OK, TFM_E_INVALID (nothing to judge, an option out of range), TFM_E_UNSUPPORTED (an option that this
 *         version does not know), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_bleu(tfm_bleu_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                            const tfm_text *const *refs, size_t n_refs, const tfm_bleu_options *options,
                            tfm_error *error);

/* How chrF is computed. Start from tfm_chrf_options_init(). */
typedef struct tfm_chrf_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows             */
    uint32_t char_order;            /* longest n-gram of characters; 1..10, default 6                         */
    uint32_t word_order;            /* longest n-gram of words; 0..6, default 0: chrF; 2: chrF++              */
    float    beta;                  /* recall counts beta times as much as precision; up to 1000, default 2   */
    uint32_t lowercase;             /* nonzero: case-insensitive; default 0                                   */
    uint32_t whitespace;            /* nonzero: white space counts as characters; default 0                   */
    uint32_t eps_smoothing;         /* nonzero: all orders count, as in chrF++.py and Moses; default 0: those of which
                                       both sides have n-grams, as in sacreBLEU */
    uint32_t reserved;              /* 0                                                                      */
    const tfm_allocator *allocator; /* NULL: malloc                                                           */
} tfm_chrf_options;

/* How TER is computed. Start from tfm_ter_options_init(). */
typedef struct tfm_ter_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows             */
    uint32_t case_sensitive;        /* nonzero: case counts; default 0                                        */
    uint32_t normalized;            /* nonzero: punctuation is set off first; default 0                       */
    uint32_t no_punctuation;        /* nonzero: punctuation is removed; default 0                             */
    uint32_t asian_support;         /* nonzero: the two above know Chinese and Japanese; default 0            */
    uint32_t reserved;              /* 0                                                                      */
    const tfm_allocator *allocator; /* NULL: malloc                                                           */
} tfm_ter_options;

/* What tfm_chrf() and tfm_ter() found. Grows at the end. */
typedef struct tfm_metric_result {
    double score;        /* percent                                                                           */
    char signature[160]; /* "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:libtransformer-0.2.0"      */
} tfm_metric_result;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_chrf_options_init(tfm_chrf_options *options, size_t struct_size);

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_ter_options_init(tfm_ter_options *options, size_t struct_size);

/*
 * chrF of a corpus (Popovic 2015; with words chrF++, 2017), more being better: F-score of n-grams of characters. Of several
 * references each sentence is judged by the one that gives it the highest score. Arguments as those of tfm_bleu().
 * returns as tfm_bleu(). since 0.2
 */
TFM_API tfm_status tfm_chrf(tfm_metric_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                            const tfm_text *const *refs, size_t n_refs, const tfm_chrf_options *options,
                            tfm_error *error);

/*
 * Translation edit rate of a corpus (Snover et al. 2006), less being better: words to insert, delete, change and shift, as a
 * percentage of the references' words; of several references the fewest edits and the mean length count. Time grows with the
 * words of a sentence, and with the shifts that are tried, at most 1,000. Arguments as those of tfm_bleu().
 * returns as tfm_bleu(). since 0.2
 */
TFM_API tfm_status tfm_ter(tfm_metric_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                           const tfm_text *const *refs, size_t n_refs, const tfm_ter_options *options,
                           tfm_error *error);

/* Which metric tfm_compare() takes. */
#define TFM_METRIC_BLEU 0 /* options: tfm_bleu_options */
#define TFM_METRIC_CHRF 1 /* options: tfm_chrf_options */
#define TFM_METRIC_TER  2 /* options: tfm_ter_options  */

/* What tfm_compare() found; [0]: the baseline, [1]: the other system. Grows at the end. */
typedef struct tfm_comparison {
    double score[2];     /* of the corpus, percent                                               */
    double mean[2];      /* of the samples' scores                                               */
    double interval[2];  /* 95 % of the samples' scores lie within mean +- interval, about       */
    double p_value;      /* how often chance alone makes a difference as large as that of score  */
    char signature[160]; /* "nrefs:1|bs:1000|seed:12345|...", the rest as that of the metric     */
} tfm_comparison;

/*
 * Is a system better than a baseline, or was it luck? Paired bootstrap resampling (Koehn 2004): n_samples (2..1,000,000; 1,000 is
 * usual) times as many sentences as there are, drawn with repetition, are judged for both; p counts how often the difference
 * lies at least as far from the mean difference as the corpus' lies from zero. refs as for tfm_bleu(); both systems translate the same
 * n_hyps sources. metric: TFM_METRIC_*; options: NULL for the defaults, or the metric's. The same seed gives the same samples.
 * returns as tfm_bleu(). since 0.2
 */
TFM_API tfm_status tfm_compare(tfm_comparison *result, size_t struct_size, const tfm_text *baseline, const tfm_text *hyps,
                               size_t n_hyps, const tfm_text *const *refs, size_t n_refs, uint32_t metric,
                               const void *options, uint32_t n_samples, uint64_t seed, tfm_error *error);

/* How parses are compared. Start from tfm_parseval_options_init(). */
typedef struct tfm_parseval_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows             */
    uint32_t reserved;              /* 0                                                                      */
    const char *parameters;         /* text of a parameter file of EVALB, at most 100 lines of a keyword; NULL (default):
                                       COLLINS.prm, by which results are usually reported */
    const tfm_allocator *allocator; /* NULL: malloc                                                           */
} tfm_parseval_options;

/* What became of a parse (tfm_parseval_row.status). */
#define TFM_PARSEVAL_VALID        0 /* it was compared                                                     */
#define TFM_PARSEVAL_NO_WORDS     1 /* skipped: it has no words that count                                 */
#define TFM_PARSEVAL_OTHER_LENGTH 2 /* an error: not as many words that count as the gold tree             */
#define TFM_PARSEVAL_OTHER_WORDS  3 /* an error: other words than those of the gold tree                   */
#define TFM_PARSEVAL_BAD_PARSE    4 /* an error: not a tree                                                */
#define TFM_PARSEVAL_BAD_GOLD     5 /* an error: the gold tree is none                                     */
#define TFM_PARSEVAL_TOO_LARGE    6 /* an error: one of them has more than 4,000 words or constituents     */

/* A parse beside its gold tree; counts are 0 unless it is valid. Never grows. */
typedef struct tfm_parseval_row {
    uint32_t length;   /* words of the gold tree, without those that DELETE_LABEL_FOR_LENGTH names */
    uint32_t status;   /* TFM_PARSEVAL_*                                                           */
    uint32_t matched;  /* constituents that are in both                                            */
    uint32_t gold;     /* constituents of the gold tree                                            */
    uint32_t test;     /* constituents of the parse                                                */
    uint32_t crossing; /* constituents of the parse that cross one of the gold tree                */
    uint32_t words;    /* that count                                                               */
    uint32_t tags;     /* of them with the right tag                                               */
} tfm_parseval_row;

/* What tfm_parseval() found; [0]: of all sentences, [1]: of those of at most cutoff words. Grows at the end. */
typedef struct tfm_parseval_result {
    double   f1[2];             /* of recall and precision, percent; 0 when nothing matches                 */
    double   recall[2];         /* matched_brackets of gold_brackets, percent                               */
    double   precision[2];      /* matched_brackets of test_brackets, percent                               */
    double   complete[2];       /* complete_sentences of the valid ones, percent                            */
    double   crossing[2];       /* crossing_brackets per valid sentence                                     */
    double   uncrossed[2];      /* uncrossed_sentences of the valid ones, percent                           */
    double   little_crossed[2]; /* little_crossed_sentences of the valid ones, percent                      */
    double   tagging[2];        /* tags of words, percent                                                   */
    uint64_t sentences[2];      /* all                                                                      */
    uint64_t errors[2];         /* of them that could not be compared; they count in no score               */
    uint64_t skipped[2];        /* of them that have no words; they count in no score                       */
    uint64_t matched_brackets[2];         /* constituents that are in both                                  */
    uint64_t gold_brackets[2];            /* constituents of the gold trees                                 */
    uint64_t test_brackets[2];            /* constituents of the parses                                     */
    uint64_t crossing_brackets[2];        /* constituents of the parses that cross one of the gold tree     */
    uint64_t words[2];                    /* that count                                                     */
    uint64_t tags[2];                     /* of them with the right tag                                     */
    uint64_t complete_sentences[2];       /* valid ones with the same constituents in both                  */
    uint64_t uncrossed_sentences[2];      /* valid ones without crossing brackets                           */
    uint64_t little_crossed_sentences[2]; /* valid ones with at most two                                    */
    uint32_t cutoff;            /* CUTOFF_LEN                                                               */
    uint32_t reserved;          /* 0                                                                        */
    char     signature[160];    /* "nrefs:1|labels:yes|cutoff:40|prm:(digest)|version:libtransformer-0.2.0" */
} tfm_parseval_result;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_parseval_options_init(tfm_parseval_options *options, size_t struct_size);

/*
 * PARSEVAL (Black et al. 1991) of n parses against one gold tree of each, "(TOP (S (NP (DT this)) ...))", as the program EVALB of
 * Sekine and Collins computes it from the same parameters. Trees are bytes in any encoding that keeps ASCII. rows: NULL, or [n] to
 * fill. struct_size = sizeof *result; options NULL: defaults. Unlike EVALB, which stops there or reads on, a line that is no tree is
 * an error of that sentence alone; a quotation mark among several that QUOTE_LABEL mends is put back once; and a keyword that EVALB
 * does not know is refused. Time grows with the square of a tree's constituents. Thread safety: any number of calls at once.
 * returns TFM_OK, TFM_E_INVALID (nothing to judge; more errors than MAX_ERROR lets pass, with rows filled up to there),
 *         TFM_E_FORMAT (the parameters), TFM_E_UNSUPPORTED (an option that this version does not know), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_parseval(tfm_parseval_result *result, size_t struct_size, tfm_parseval_row *rows, const tfm_text *parses,
                                const tfm_text *gold, size_t n, const tfm_parseval_options *options, tfm_error *error);

/* ------------------------------------------------------------------------------------------------ measuring ---- */

/* How fast a part of the library is on this machine, by itself: for benchmarks and diagnosis. Grows at the end. */
typedef struct tfm_measurement {
    const char *name;  /* what was measured; static storage                                               */
    const char *shape; /* and its sizes; static storage                                                   */
    const char *twin;  /* the instruction set it was compiled for, "ref" being portable C; static storage */
    double seconds;    /* of a call: median                                                               */
    double flops;      /* arithmetic operations of a call                                                 */
    double bytes;      /* that a call must read and write at least, each once                             */
} tfm_measurement;

/* How to measure. Start from tfm_measure_options_init(). */
typedef struct tfm_measure_options {
    uint32_t struct_size;           /* set by the _init function: how many bytes the caller knows */
    uint32_t n_threads;             /* of a product; 0: all cores; default 1                      */
    uint32_t dtype;                 /* of a product: TFM_DTYPE_*, but for int8; default float32   */
    uint32_t reserved;              /* 0                                                          */
    double   seconds;               /* about how long to measure; 0..3600, default 0.1. At least one call, after one
                                       that does not count */
    const tfm_allocator *allocator; /* NULL: malloc                                               */
} tfm_measure_options;

/* Fills *options with the defaults above; pass sizeof *options. NULL is ignored. since 0.2 */
TFM_API void tfm_measure_options_init(tfm_measure_options *options, size_t struct_size);

/* Number of inner loops that can be measured. since 0.2 */
TFM_API size_t tfm_measure_kernel_count(void);

/*
 * Number of instruction sets ("twins") of this CPU that they are compiled for: 0 is portable C, the last one is what
 * the library uses. since 0.2
 */
TFM_API size_t tfm_measure_twin_count(void);

/*
 * Times one inner loop, 0 up to the count, of one twin on operands in the caches, on the calling thread; struct_size
 * = sizeof *result, options NULL: defaults.
 * returns TFM_OK, TFM_E_INVALID (no such kernel or twin, an option out of range), TFM_E_UNSUPPORTED, TFM_E_NOMEM.
 *         since 0.2
 */
TFM_API tfm_status tfm_measure_kernel(tfm_measurement *result, size_t struct_size, size_t kernel, size_t twin,
                                      const tfm_measure_options *options, tfm_error *error);

/*
 * Times the product of a linear layer, c [m][n] = a [m][k] b^T with b [n][k]; sizes in 1..2^31. struct_size = sizeof
 * *result, options NULL: defaults.
 * returns TFM_OK, TFM_E_INVALID, TFM_E_UNSUPPORTED, TFM_E_IO (a thread could not be started), TFM_E_NOMEM. since 0.2
 */
TFM_API tfm_status tfm_measure_product(tfm_measurement *result, size_t struct_size, size_t m, size_t n, size_t k,
                                       const tfm_measure_options *options, tfm_error *error);

#ifdef __cplusplus
}
#endif
#endif
