/* Tokenizers from text. */
#ifndef TFM_TOKENIZER_LEARN_H
#define TFM_TOKENIZER_LEARN_H

#include "text/tokenizer.h"

/* options: checked and complete. TFM_E_INVALID when the lines have no word. */
tfm_status tfm_tokenizer_from_lines(tfm_tokenizer **out, const tfm_tokenizer_options *options, const tfm_text *lines,
                                    size_t n_lines, tfm_error *error);
/* The merges of a codes file, and the tokens that they leave in the lines. */
tfm_status tfm_tokenizer_from_codes(tfm_tokenizer **out, tfm_text codes, const tfm_text *lines, size_t n_lines,
                                    const tfm_allocator *allocator, tfm_error *error);

#endif
