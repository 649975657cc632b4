/* Corpus BLEU (Papineni et al. 2002) in the conventions of sacreBLEU and multi-bleu. */
#ifndef TFM_EVAL_BLEU_H
#define TFM_EVAL_BLEU_H

#include "eval/metric.h"

/* The defaults that the header gives; every field. */
tfm_bleu_options tfm_bleu_defaults(void);

/* TFM_E_INVALID naming the first option out of range. */
tfm_status tfm_bleu_check(const tfm_bleu_options *options, tfm_error *error);

/* Options have been checked. false: no memory. */
bool tfm_bleu_open(tfm_metric *metric, const tfm_bleu_options *options, const tfm_allocator *a);

/* Precisions, brevity and score from result's matches, totals and lengths; all of it in percent but brevity. */
void tfm_bleu_score(tfm_bleu_result *result, const tfm_bleu_options *options);
/* All but the signature, from the sums of a corpus. */
void tfm_bleu_result_of(tfm_bleu_result *result, const tfm_bleu_options *options, const double *stats);

#endif
