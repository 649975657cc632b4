/* The word-pieces of BERT (Devlin et al. 2018): words cut into the longest pieces of a vocabulary, in lower case and
 * without accents unless it is cased. */
#ifndef TFM_BERT_H
#define TFM_BERT_H

#include "text/tokenizer.h"

/* Cuts a line: a word that has no pieces is one token without an id. */
tfm_status tfm_bert_cut(const tfm_tokenizer *tokenizer, tfm_text line, tfm_token_fn take, void *user, tfm_error *error);
/* Appends the text of ids: words with spaces between, pieces that begin with "##" joined to the one before. */
void tfm_bert_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out);
/* Appends the words of a line with a space after each: what the pieces are cut from. */
void tfm_bert_words(tfm_text line, bool cased, tfm_buffer *out);

/* Whether a file begins as BERT's vocab.txt does: with "[PAD]". */
bool tfm_bert_is_file(tfm_text file);
/* Adds the tokens of such a file, one a line. */
tfm_status tfm_bert_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error);
/* Finds the special ids: [PAD], [SEP] as EOS, [CLS] as BOS, and [UNK], which there must be. */
tfm_status tfm_bert_check(tfm_tokenizer *tokenizer, tfm_error *error);

#endif
