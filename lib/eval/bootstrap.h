/* Paired bootstrap resampling (Koehn 2004): is one system better than another, or was it luck? */
#ifndef TFM_EVAL_BOOTSTRAP_H
#define TFM_EVAL_BOOTSTRAP_H

#include "eval/metric.h"

/* Every field of result. The corpora differ in their hypotheses. */
tfm_status tfm_bootstrap(tfm_comparison *result, tfm_metric *metric, const tfm_corpus corpora[2], uint32_t n_samples,
                         uint64_t seed, tfm_error *error);

#endif
