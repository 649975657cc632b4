/* The tokenizer behind tfm_tokenizer: all kinds, its file, and what learning needs of it. */
#ifndef TFM_TOKENIZER_H
#define TFM_TOKENIZER_H

#include "text/bpe.h"
#include "text/vocab.h"

enum {
    TFM_TOKENIZER_SPECIALS = 4,         /* <pad> <eos> <bos> <unk>                  */
    TFM_TOKENIZER_BYTES = 260,          /* reversible: specials and <0x00>..<0xFF>  */
    TFM_TOKENIZER_MAX_VOCAB = 16777216, /* entries; what a model may have           */
};

#define TFM_TOKENIZER_SPACE "\xE2\x96\x81" /* U+2581: a space in the tokens of the kind bpe */

struct tfm_sentencepiece;

struct tfm_tokenizer {
    tfm_allocator allocator;
    uint32_t kind;
    bool cased; /* bert: case and accents stay */
    tfm_special_ids special;
    struct tfm_tokenizer *target; /* of a pair, else NULL: what it decodes with; all else here is the source's */
    struct tfm_sentencepiece *sentencepiece; /* of that kind, else NULL; it has the vocabulary, and the fields below are
                                                empty, but for vocab when its pieces have other ids (renumbered.h) */
    tfm_vocab vocab;    /* id -> token */
    size_t longest;     /* bytes of the longest token of the kinds wordpiece and bert */
    tfm_bpe bpe;
    tfm_vocab pieces; /* subword-nmt: strings of the merges' symbols, with "</w>"; wordpiece: characters of tokens that
                         are none by themselves; else symbols are ids */
    tfm_vocab glossaries; /* subword-nmt: what stays whole */
    uint32_t *origins;    /* [pieces.n + 1] the first merge that makes a piece, or TFM_BPE_NONE; NULL unless pieces are
                             restricted to the vocabulary */
};

/* Specials, and bytes of the kind bpe; no merges yet. */
tfm_status tfm_tokenizer_new(tfm_tokenizer **out, uint32_t kind, const tfm_allocator *allocator, tfm_error *error);
void tfm_tokenizer_destroy(tfm_tokenizer *tokenizer); /* takes NULL */
tfm_status tfm_tokenizer_copy(tfm_tokenizer **out, const tfm_tokenizer *tokenizer, const tfm_allocator *allocator,
                              tfm_error *error);

/* The side of a target: of a tokenizer that is no pair itself, of NULL NULL. */
static inline const tfm_tokenizer *tfm_tokenizer_side_of_target(const tfm_tokenizer *tokenizer)
{
    return tokenizer && tokenizer->target ? tokenizer->target : tokenizer;
}

/* What two copies make. */
tfm_status tfm_tokenizer_copy_pair(tfm_tokenizer **out, const tfm_tokenizer *source, const tfm_tokenizer *target,
                                   const tfm_allocator *allocator, tfm_error *error);

/* Takes the memory of that many tokens and merges in all, but for their bytes, at once: a reader knows how many come.
 */
tfm_status tfm_tokenizer_reserve(tfm_tokenizer *tokenizer, uint32_t n_tokens, uint32_t n_merges, tfm_error *error);
/* Appends a token. TFM_E_FORMAT when it may not be one or is there already; word-pieces may be, and are found by their
 * first ids. */
tfm_status tfm_tokenizer_add_token(tfm_tokenizer *tokenizer, tfm_text token, tfm_error *error);
/* Appends a merge. TFM_E_FORMAT when a part of it is neither a character nor the result of an earlier merge (or, in
 * the reversible kind, when a part or the result is not in the vocabulary). */
tfm_status tfm_tokenizer_add_merge(tfm_tokenizer *tokenizer, tfm_text left, tfm_text right, tfm_error *error);
/* id -> token. */
const tfm_vocab *tfm_tokenizer_vocab(const tfm_tokenizer *tokenizer);
/* The strings of the merges' symbols. */
const tfm_vocab *tfm_tokenizer_pieces(const tfm_tokenizer *tokenizer);

/* A token of a line: the string is text then mark; id is TFM_VOCAB_NONE when it is not in the vocabulary. */
typedef struct tfm_token {
    uint32_t id;
    tfm_text text, mark;
} tfm_token;

typedef void (*tfm_token_fn)(void *user, const tfm_token *token);

/* The symbols of the characters of a word, in work->parts; *n receives how many. */
tfm_status tfm_tokenizer_spell(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, size_t *n,
                               tfm_error *error);
/* As in files and messages; kind: a TFM_TOKENIZER_*. */
const char *tfm_tokenizer_kind_name(uint32_t kind);

/* Cuts one word of tfm_words_next(), or a line of valid UTF-8, into tokens. */
tfm_status tfm_tokenizer_cut_word(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, tfm_token_fn take,
                                  void *user, tfm_error *error);
tfm_status tfm_tokenizer_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user,
                             tfm_error *error);
/* TFM_E_UNSUPPORTED unless rate is 0 or the kind has merges. */
tfm_status tfm_tokenizer_allow_dropout(const tfm_tokenizer *tokenizer, float rate, tfm_error *error);
/* The same with merges left out at random, where that is allowed. */
tfm_status tfm_tokenizer_cut_dropout(const tfm_tokenizer *tokenizer, tfm_text line, const tfm_bpe_dropout *dropout,
                                     tfm_token_fn take, void *user, tfm_error *error);
/* Appends the text of ids, which are all in the target's vocabulary, to out: it may be invalid UTF-8 when bytes are
 * among them.
 */
void tfm_tokenizer_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out);

/* The bytes of a tokenizer's file, always the same for the same tokenizer. */
tfm_status tfm_tokenizer_to_text(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error);
/* Refuses whatever does not make a tokenizer: TFM_E_FORMAT, TFM_E_UNSUPPORTED, TFM_E_NOMEM. allocator NULL: malloc. */
tfm_status tfm_tokenizer_from_text(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator,
                                   tfm_error *error);
/* Whether a file begins as such a one does, which no model file can. */
bool tfm_tokenizer_is_text(tfm_text file);

#endif
