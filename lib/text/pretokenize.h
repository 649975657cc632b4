/* Text to words and back as Moses' scripts do it (Koehn et al. 2007): what many parallel corpora and models are made
 * with. */
#ifndef TFM_PRETOKENIZE_H
#define TFM_PRETOKENIZE_H

#include "base/rewrite.h"
#include "base/utf8.h"

/* Quotation marks, dashes, dots and spaces become those of ASCII, as normalize-punctuation.perl has it. */
void tfm_punctuation_normalize(tfm_line *line, uint32_t language);

/* The words of the line with spaces between them, as tokenizer.perl has them. */
void tfm_pretokenize_line(tfm_line *line, const tfm_pretokenize_options *options);

/* Joins such words to text, as detokenizer.perl does. */
void tfm_detokenize_line(tfm_line *line, uint32_t language);

/* What a full stop after a word says of it. */
enum { TFM_NO_ABBREVIATION, TFM_ABBREVIATION, TFM_ABBREVIATION_BEFORE_DIGIT };
int tfm_abbreviation(uint32_t language, tfm_text word);

/* Letters and numbers as Perl sees them; marks that Unicode counts as alphabetic are none. */
bool tfm_is_letter(int32_t code);
bool tfm_is_number(int32_t code);

#endif
