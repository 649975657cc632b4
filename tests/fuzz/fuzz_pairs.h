/* The training that the seeds of fuzz_checkpoint.c were made of, so that changed ones of them can go on. */
#ifndef TFM_FUZZ_PAIRS_H
#define TFM_FUZZ_PAIRS_H

#include "fuzz.h"

enum { FUZZ_VOCAB = 6, FUZZ_PAIRS = 3 };

static const int32_t fuzz_pair_ids[] = {4, 5, 3, TFM_EOS};
static const tfm_ids fuzz_sources[FUZZ_PAIRS] = {{fuzz_pair_ids, 4}, {fuzz_pair_ids + 1, 3}, {fuzz_pair_ids + 2, 2}};
static const tfm_ids fuzz_targets[FUZZ_PAIRS] = {{fuzz_pair_ids + 1, 3}, {fuzz_pair_ids, 4}, {fuzz_pair_ids + 1, 3}};

static inline tfm_trainer_options fuzz_trainer_options(void)
{
    tfm_trainer_options o;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.batch_tokens = 8;
    return o;
}

#endif
