/* A model's configuration on the command line. */
#ifndef CLI_MODEL_ARGS_H
#define CLI_MODEL_ARGS_H

#include "options.h"

#include <transformer.h>

/* Applies --preset (NULL: none) and each "key=value" of --set; returns an exit code. */
int model_options_set(tfm_model_options *o, const char *preset, const string_list *sets);
/* "4+4 layers, width 128, feed-forward 256, 4 heads of 32" */
const char *model_options_describe(const tfm_model_options *o, char out[160]);

/* Help of --skip-checksum, the same wherever a model is read. */
#define SKIP_CHECKSUM_HELP \
    "do not read the whole file at once to compare its weights with their checksum: faster to start"
tfm_status model_load(tfm_model **out, const char *path, uint32_t skip_checksum, tfm_error *error);

/* Models that decode together, with weights that may be left out. */
typedef struct ensemble_args {
    string_list paths;
    const char *weights; /* "0.7,0.3", or NULL */
    uint32_t skip_checksum;
} ensemble_args;

#define ENSEMBLE_ROWS(type, field)                                                                                     \
    {"model", "FILE",                                                                                                  \
     "of 'tfm train' or 'tfm quantize', or a checkpoint; give it several times for several models with one "           \
     "vocabulary, whose probabilities are averaged",                                                                   \
     OPTION_LIST, .required = true, .file = 'r', .offset = offsetof(type, field.paths)},                               \
    {"weights", "W,W,...", "how much each --model counts, in their order; default: all the same", OPTION_TEXT,         \
     .offset = offsetof(type, field.weights)},                                                                         \
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, .offset = offsetof(type, field.skip_checksum)}

typedef struct ensemble {
    tfm_model **models;
    float *weights; /* NULL: all the same */
    size_t n, capacity, weight_capacity;
} ensemble;

/* Loads the models, of which the first must have a tokenizer; reports failures and returns an exit code. */
int ensemble_load(ensemble *e, const ensemble_args *args);
tfm_status ensemble_decoder(tfm_decoder **out, const ensemble *e, const tfm_decoder_options *options, tfm_error *error);
void ensemble_free(ensemble *e);

/* The kinds that are learned, in the order in which --tokenizer and --kind name them; and the library's number of one.
 */
enum { TOKENIZER_BPE, TOKENIZER_SUBWORD_NMT, TOKENIZER_WORDPIECE };
uint32_t tokenizer_kind(uint32_t choice);

/* "bpe", "subword-nmt" and so on. */
const char *tokenizer_kind_name(const tfm_tokenizer *tokenizer);

#endif
