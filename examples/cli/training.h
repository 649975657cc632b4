/* One training of the command line. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "options.h"

#include <transformer.h>

enum { MOST_AVERAGED = 256 };
enum { DROPOUT_BOTH, DROPOUT_SOURCE, DROPOUT_TARGET }; /* sides */

typedef struct train_args {
    string_list src, tgt, valid_src, valid_tgt;
    uint32_t replace_invalid;
    const char *model, *checkpoint, *resume, *log;
    uint32_t restart;
    const char *preset, *init;
    string_list sets; /* "key=value" */
    uint32_t tokenizer;
    const char *tokenizer_file, *target_tokenizer_file, *codes;
    uint32_t vocab_size, merges, min_frequency; /* 0: the library's default */
    uint64_t steps, memory;                     /* UINT64_MAX: not given */
    float checkpoint_minutes;
    uint32_t average, uniform_smoothing, profile, samples;
    float bpe_dropout;
    uint32_t bpe_dropout_side; /* DROPOUT_* */
    tfm_trainer_options trainer;
} train_args;

/* Reads, trains, saves; returns the exit code. */
int training_run(const train_args *args);

#endif
