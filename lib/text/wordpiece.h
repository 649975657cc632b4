/* The subwords of tensor2tensor (its SubwordTextEncoder): words cut into the longest pieces of a vocabulary. */
#ifndef TFM_WORDPIECE_H
#define TFM_WORDPIECE_H

#include "text/counts.h"
#include "text/tokenizer.h"

/* Tokens to cut words into: those of vocab from the id first on. longest: bytes of the longest. inside: characters of
 * tokens that are none by themselves; NULL while tokens are learned. */
typedef struct tfm_wordpiece {
    const tfm_vocab *vocab, *inside;
    size_t longest;
    uint32_t first;
} tfm_wordpiece;

/* Those of a tokenizer: all but padding and end. */
tfm_wordpiece tfm_wordpiece_of(const tfm_tokenizer *tokenizer);

/*
 * Cuts a word of tfm_words_next(), the longest token first. "_" ends each word; "_" itself is spelt as a
 * backslash and "u", a backslash as two, and a character that is in no token as a backslash, its code and ";"; so is
 * one that only tokens have which do not fit.
 */
tfm_status tfm_wordpiece_cut(const tfm_wordpiece *wordpiece, tfm_text word, tfm_token_fn take, void *user,
                             tfm_error *error);
/* Appends the text of ids. */
void tfm_wordpiece_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out);

/* Checks that every text can be cut: "_", ";", "\\" and digits are tokens. Finds the characters inside of others. */
tfm_status tfm_wordpiece_check(tfm_tokenizer *tokenizer, tfm_error *error);

/* Whether a file begins as the vocabulary files of tensor2tensor do: a token in quotes. */
bool tfm_wordpiece_is_file(tfm_text file);
/* Adds the tokens of such a file. */
tfm_status tfm_wordpiece_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error);
/* Appends the bytes of such a file. TFM_E_UNSUPPORTED when a token has a line break. */
tfm_status tfm_wordpiece_write(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error);

/*
 * Learns tokens from words: those that occur at least so many times, where that number is found by bisection between 1
 * and 1000, so that there are about target of them. As tensor2tensor's build_to_target_size() with four passes each and
 * a max_subtoken_length of 255 bytes. *few: even those that occur once are not about target.
 */
tfm_status tfm_wordpiece_learn(tfm_tokenizer *tokenizer, const tfm_counts *words, uint32_t target, bool *few,
                               tfm_error *error);

#endif
