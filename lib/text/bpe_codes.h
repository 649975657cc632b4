/* The codes files of subword-nmt, version 0.2: a heading, then a merge a line. */
#ifndef TFM_BPE_CODES_H
#define TFM_BPE_CODES_H

#include "text/tokenizer.h"

/* Whether a file begins with a version, as those of subword-nmt do. */
bool tfm_bpe_codes_is_file(tfm_text file);
/* Adds the merges to a tokenizer of the kind TFM_TOKENIZER_SUBWORD_NMT. */
tfm_status tfm_bpe_codes_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error);
/* Appends the bytes of the file. TFM_E_UNSUPPORTED when a piece has a line break at a place where readers lose it. */
tfm_status tfm_bpe_codes_write(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error);

#endif
