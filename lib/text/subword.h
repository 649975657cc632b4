/* What subword-nmt does to a word besides merging: glossaries, and the vocabulary that pieces must be of. */
#ifndef TFM_SUBWORD_H
#define TFM_SUBWORD_H

#include "text/tokenizer.h"

enum { TFM_SUBWORD_GLOSSARIES = 1024 }; /* bounds the depth at which they cut a word */

/* Appends a glossary. TFM_E_FORMAT when it may not be one or is there already. */
tfm_status tfm_subword_add_glossary(tfm_tokenizer *tokenizer, tfm_text glossary, tfm_error *error);
/* The same, and both its tokens come into the vocabulary: that of a word, and that of a part of one. */
tfm_status tfm_subword_keep_whole(tfm_tokenizer *tokenizer, tfm_text glossary, tfm_error *error);
/* From now on a piece that is not in the vocabulary is split into the two that were merged. No merges follow. */
tfm_status tfm_subword_restrict(tfm_tokenizer *tokenizer, tfm_error *error);
void tfm_subword_free(tfm_tokenizer *tokenizer);
/* Replaces the vocabulary by the tokens of a file of get-vocab ("token count" a line) seen at least threshold times,
 * in its order, and restricts pieces to it. */
tfm_status tfm_subword_read_vocabulary(tfm_tokenizer *tokenizer, tfm_text file, uint32_t threshold, tfm_error *error);

/* Cuts one word, as tfm_tokenizer_cut_word(). */
tfm_status tfm_subword_cut(const tfm_tokenizer *tokenizer, tfm_text word, tfm_bpe_work *work, tfm_token_fn take,
                           void *user, tfm_error *error);

#endif
