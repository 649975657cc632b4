/* One measured translation. */
#ifndef CLI_BENCH_DECODING_H
#define CLI_BENCH_DECODING_H

#include "options.h"

#include <transformer.h>

typedef struct bench_decode_args {
    const char *preset, *model; /* model NULL: random weights */
    string_list sets;
    uint32_t batch, src_len, tgt_len, vocab, sentences, profile;
    tfm_decoder_options decoder;
} bench_decode_args;

/* Translates, measures, prints the JSON line; returns the exit code. */
int bench_decoding_run(bench_decode_args *args);

#endif
