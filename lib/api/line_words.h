/* Words of lines, as what stands between white space, and which of them tokens belong to. */
#ifndef TFM_LINE_WORDS_H
#define TFM_LINE_WORDS_H

#include "base/base.h"

#define TFM_NO_WORD UINT32_MAX /* of a token: EOS, or white space behind the last word */

/* Takes the next word off the front of *rest; false: none is left. ASCII white space alone divides words. */
bool tfm_next_word(tfm_text *word, tfm_text *rest);
size_t tfm_count_words(tfm_text text);
/* Words that end before byte number `at`. */
size_t tfm_words_before(tfm_text text, size_t at);

/*
 * words [n] = word of each of the n tokens that the line is cut into.
 * cost: the words are cut once more, one by one; a line whose tokens depend on more than the word is cut up to each.
 */
tfm_status tfm_words_of_line(uint32_t *words, size_t n, const tfm_tokenizer *tokenizer, tfm_text line,
                             tfm_error *error);

/* words [ids.size] = word of each token in shown, the text that the ids, all of the vocabulary, are joined to, whatever
 * white space has come or gone since; the token eos has none. text: room, whose content is lost. */
tfm_status tfm_words_of_ids(uint32_t *words, const tfm_tokenizer *tokenizer, tfm_ids ids, int32_t eos, tfm_text shown,
                            tfm_buffer *text, tfm_error *error);

#endif
