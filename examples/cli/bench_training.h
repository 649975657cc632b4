/* One measured training. */
#ifndef CLI_BENCH_TRAINING_H
#define CLI_BENCH_TRAINING_H

#include "options.h"

#include <transformer.h>

typedef struct bench_train_args {
    const char *preset;
    string_list sets;
    uint32_t batch, src_len, tgt_len, vocab, steps, profile;
    float dropout; /* < 0: the preset's */
    tfm_trainer_options trainer;
} bench_train_args;

/* Trains, measures, prints the JSON line; returns the exit code. */
int bench_training_run(bench_train_args *args);

#endif
