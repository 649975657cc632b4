/* The words of a line: merges never cross their boundaries. */
#ifndef TFM_WORDS_H
#define TFM_WORDS_H

#include "base/utf8.h"

enum { TFM_WORDS_MAX = 255 }; /* characters of a word of the kind bpe */

/* Lives on a caller's stack. */
typedef struct tfm_words {
    uint32_t kind;
    tfm_text rest; /* of the line                                    */
    bool begun;    /* TFM_TOKENIZER_WORDPIECE: a word has been taken */
    bool ahead;    /* a space that is not in the line comes first    */
    char word[4 * (TFM_WORDS_MAX + 1)];
} tfm_words;

/* line: valid UTF-8. */
void tfm_words_begin(tfm_words *words, uint32_t kind, tfm_text line);
/* Lends the next word until the next call; false at the end. */
bool tfm_words_next(tfm_words *words, tfm_text *word);

/* Whether a text begins with a letter or a digit of any script. */
bool tfm_words_is_alphanumeric(tfm_text text);

/* The bytes of white space that subword-nmt leaves alone at both ends of a line; of a line of nothing else, all lead.
 */
void tfm_words_margins(tfm_text line, size_t *leading, size_t *trailing);

#endif
