/* Models of SentencePiece whose pieces have the ids of a vocabulary of their own, as those of OPUS-MT. */
#ifndef TFM_RENUMBERED_H
#define TFM_RENUMBERED_H

#include "text/tokenizer.h"

/* Is it one? Then tokenizer->vocab has the ids. */
static inline bool tfm_is_renumbered(const tfm_tokenizer *tokenizer)
{
    return tokenizer->sentencepiece && tokenizer->vocab.n;
}

/* Gives the pieces of a tokenizer of the kind sentencepiece the ids of a vocabulary file, and checks them. */
tfm_status tfm_renumbered_take(tfm_tokenizer *tokenizer, tfm_text vocabulary, tfm_error *error);
/* Finds the special ids: </s> and <unk>, which there must be, <s> and <pad>. */
tfm_status tfm_renumbered_check(tfm_tokenizer *tokenizer, tfm_error *error);

/* A language, as ">>fra<<", at the beginning of a line: takes it off when it is in the vocabulary. */
bool tfm_renumbered_language(const tfm_tokenizer *tokenizer, tfm_text *line, tfm_token *token);
/* A tfm_token_fn in front of another: the model's tokens get the vocabulary's ids. */
typedef struct tfm_renumbering {
    const tfm_tokenizer *tokenizer;
    tfm_token_fn take;
    void *user;
} tfm_renumbering;
void tfm_renumber(void *renumbering, const tfm_token *token);

tfm_status tfm_renumbered_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user,
                              tfm_error *error);
/* Appends the text of ids: a piece that the model lacks is one like others. */
void tfm_renumbered_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out);

#endif
