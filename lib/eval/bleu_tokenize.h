/* The words of a line as BLEU counts them. */
#ifndef TFM_BLEU_TOKENIZE_H
#define TFM_BLEU_TOKENIZE_H

#include "base/base.h"

/* A line on its way to tokens, and room for the next step; kept from line to line. */
typedef struct tfm_bleu_line {
    tfm_buffer text, spare;
} tfm_bleu_line;

void tfm_bleu_line_init(tfm_bleu_line *line, const tfm_allocator *a);
void tfm_bleu_line_free(tfm_bleu_line *line);

/*
 * Makes line->text the tokens of raw, separated by white space: lower case if asked for, white space cut off at the
 * end, then tokens, then hyphens split. Options have been checked. One of the two is bad: no memory.
 * Invalid UTF-8: each such byte is a character of no class, equal to itself alone.
 */
void tfm_bleu_line_set(tfm_bleu_line *line, tfm_text raw, const tfm_bleu_options *options);

/* The name of TFM_BLEU_TOKENIZE_* in a signature. */
const char *tfm_bleu_tokenize_name(uint32_t tokenize);

#endif
