/* Vocabulary files of other systems: which piece has which id, as YAML or JSON. */
#ifndef TFM_VOCABULARY_FILE_H
#define TFM_VOCABULARY_FILE_H

#include "text/tokenizer.h"

/*
 * Adds the pieces of a file to a tokenizer without tokens, in the order of their ids, which are 0 to their number in
 * any order. The file is Marian's vocab.yml, "piece: id" a line, or one object of JSON, {"piece": id, ...}.
 * TFM_E_FORMAT names the line.
 */
tfm_status tfm_vocabulary_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error);

#endif
