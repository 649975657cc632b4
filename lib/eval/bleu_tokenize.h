/* The words of a line as BLEU counts them. */
#ifndef TFM_BLEU_TOKENIZE_H
#define TFM_BLEU_TOKENIZE_H

#include "base/rewrite.h"

/*
 * Makes the line the tokens of raw, separated by white space: lower case if asked for, white space cut off at the
 * end, then tokens, then hyphens split. Options have been checked.
 * Invalid UTF-8: each such byte is a character of no class, equal to itself alone.
 */
void tfm_bleu_tokenize(tfm_line *line, tfm_text raw, const tfm_bleu_options *options);

/* The name of TFM_BLEU_TOKENIZE_* in a signature. */
const char *tfm_bleu_tokenize_name(uint32_t tokenize);

#endif
