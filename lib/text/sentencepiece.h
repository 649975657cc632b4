/*
 * Models of SentencePiece (Kudo and Richardson 2018): unigram, BPE, word and character, read from their own files and
 * applied as SentencePiece 0.1.97 does. why not its library: that is C++, can end the process that calls it, writes to
 * stderr, and takes no allocator; the file format and the rules are small.
 */
#ifndef TFM_SENTENCEPIECE_H
#define TFM_SENTENCEPIECE_H

#include "text/tokenizer.h"

/* trainer_spec.model_type of the file. */
typedef enum tfm_spm_model { TFM_SPM_UNIGRAM = 1, TFM_SPM_BPE, TFM_SPM_WORD, TFM_SPM_CHAR } tfm_spm_model;

/* pieces.type of the file. */
typedef enum tfm_spm_type {
    TFM_SPM_NORMAL = 1,
    TFM_SPM_UNKNOWN,
    TFM_SPM_CONTROL,
    TFM_SPM_USER, /* stays whole wherever it occurs */
    TFM_SPM_UNUSED,
    TFM_SPM_BYTE
} tfm_spm_type;

typedef struct tfm_spm_piece {
    float score;
    uint32_t type; /* tfm_spm_type */
} tfm_spm_piece;

/* Rules of normalisation: longest match first. units: a double array of 32-bit words, little-endian (darts-clone). */
typedef struct tfm_spm_rules {
    tfm_text units;   /* in the file; empty when there are no rules             */
    tfm_text strings; /* what they put in place, each with a NUL at its end     */
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, as_suffix;
} tfm_spm_rules;

typedef struct tfm_sentencepiece {
    tfm_allocator allocator;
    char *file; /* [file_size] as it came: a tokenizer is saved as it was read */
    size_t file_size;
    tfm_vocab pieces;     /* id -> piece           */
    tfm_spm_piece *about; /* [capacity] of each id */
    size_t capacity;
    uint32_t *sorted; /* [n_sorted] ids of the pieces that text is cut into, by their bytes */
    size_t n_sorted;
    float min_score, max_score; /* of the normal pieces; max at least FLT_MIN */
    uint32_t model;             /* tfm_spm_model */
    bool byte_fallback, has_user, has_unused;
    uint32_t unknown, bytes[256];
    tfm_text unknown_surface;
    tfm_spm_rules rules, undo; /* undo: after decoding */
} tfm_sentencepiece;

/* Whether a file begins as a model of SentencePiece does; no other file of ours can. */
bool tfm_sentencepiece_is_file(tfm_text file);
/* Refuses whatever is no model: TFM_E_FORMAT, TFM_E_UNSUPPORTED, TFM_E_NOMEM. special: its ids, -1 for those it has
 * not. */
tfm_status tfm_sentencepiece_parse(tfm_sentencepiece **out, tfm_special_ids *special, tfm_text file,
                                   const tfm_allocator *allocator, tfm_error *error);
void tfm_sentencepiece_free(tfm_sentencepiece *model); /* takes NULL */

/* Appends the text as the model sees it. Any bytes: one that is not UTF-8 becomes U+FFFD. */
void tfm_sentencepiece_normalize(const tfm_spm_rules *rules, const tfm_sentencepiece *model, tfm_text text,
                                 tfm_buffer *out);

/* Cuts valid UTF-8 into tokens: those unknown one after the other are one, with TFM_VOCAB_NONE for an id, or bytes. */
tfm_status tfm_sentencepiece_cut(const tfm_sentencepiece *model, tfm_text line, tfm_token_fn take, void *user,
                                 tfm_error *error);

/* One way to cut a text: ends[i]: where piece i ends in the normalised text; ids [n]. */
typedef struct tfm_spm_path {
    double score; /* log-probability */
    const uint32_t *ids, *ends;
    size_t n;
    tfm_text text; /* normalised */
} tfm_spm_path;
typedef void (*tfm_spm_path_fn)(void *user, const tfm_sentencepiece *model, const tfm_spm_path *path);

/* The n best ways to cut a line, best first. TFM_E_UNSUPPORTED when the model is no unigram model. */
tfm_status tfm_sentencepiece_nbest(const tfm_sentencepiece *model, tfm_text line, size_t n, tfm_spm_path_fn take,
                                   void *user, tfm_error *error);
/* Gives the tokens of a path as tfm_sentencepiece_cut() does. */
void tfm_sentencepiece_take(const tfm_sentencepiece *model, const tfm_spm_path *path, tfm_token_fn take, void *user);

/* Appends the text of ids of the vocabulary. */
void tfm_sentencepiece_join(const tfm_sentencepiece *model, tfm_ids ids, tfm_buffer *out);

/* The same piece by piece, also of those that the model has not. The first ones lose the space that the model put
 * before the text. */
typedef struct tfm_spm_joining {
    const tfm_sentencepiece *model;
    tfm_buffer text, bytes; /* bytes: of pieces that are not yet characters */
    bool begun;             /* that space is gone, or there is text         */
} tfm_spm_joining;
tfm_spm_joining tfm_spm_join_begin(const tfm_sentencepiece *model);
/* type: tfm_spm_type; of a byte the piece is the model's. */
void tfm_spm_join_piece(tfm_spm_joining *joining, uint32_t type, tfm_text piece);
void tfm_spm_join_end(tfm_spm_joining *joining, tfm_buffer *out); /* appends it, and ends joining */

/* ------------------------------------------------------------------------------------- between its own files ---- */

/* Bytes of the character that a text begins with; the text may end in the midst of it. */
size_t tfm_spm_character(tfm_text text);
/* Bytes of the longest user-defined piece that the text begins with, 0 when there is none. */
size_t tfm_spm_user(const tfm_sentencepiece *model, tfm_text text);

/* Pieces that a text begins with, shorter ones first. */
typedef struct tfm_spm_matches {
    const tfm_sentencepiece *model;
    tfm_text text;
    size_t low, high, size; /* sorted[low, high) begin with the first size bytes of text */
} tfm_spm_matches;
tfm_spm_matches tfm_spm_match(const tfm_sentencepiece *model, tfm_text text);
/* *id: the next piece, whose size is matches->size. false: no more. */
bool tfm_spm_next(tfm_spm_matches *matches, uint32_t *id);

/* The id of a piece that text may turn into, or TFM_VOCAB_NONE. */
uint32_t tfm_spm_find(const tfm_sentencepiece *model, tfm_text head, tfm_text tail);

/* Cuts a text by merging its characters, as models of the type BPE do; gives each piece, or TFM_VOCAB_NONE. */
typedef void (*tfm_spm_give_fn)(void *user, uint32_t id, tfm_text text);
tfm_status tfm_spm_merge(const tfm_sentencepiece *model, tfm_text text, tfm_spm_give_fn give, void *user,
                         tfm_error *error);

/*
 * A heap of items, the one of the highest score on top, of equal scores that of the least tie. Of items that are equal
 * in both, the one comes first that would in a std::priority_queue of GNU: so n-best lists are in SentencePiece's
 * order.
 */
typedef struct tfm_spm_ranked {
    float score;
    uint32_t tie, item;
} tfm_spm_ranked;
void tfm_spm_push(tfm_spm_ranked *heap, size_t *n, tfm_spm_ranked item); /* there is room */
tfm_spm_ranked tfm_spm_pop(tfm_spm_ranked *heap, size_t *n);

#endif
