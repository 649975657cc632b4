/* chrF and chrF++ (Popovic 2015, 2017): F-score of character n-grams, and of word n-grams, as sacreBLEU computes them.
 */
#ifndef TFM_EVAL_CHRF_H
#define TFM_EVAL_CHRF_H

#include "eval/metric.h"

/* The defaults that the header gives; every field. */
tfm_chrf_options tfm_chrf_defaults(void);

/* TFM_E_INVALID naming the first option out of range. */
tfm_status tfm_chrf_check(const tfm_chrf_options *options, tfm_error *error);

/* Options have been checked. false: no memory. */
bool tfm_chrf_open(tfm_metric *metric, const tfm_chrf_options *options, const tfm_allocator *a);

#endif
