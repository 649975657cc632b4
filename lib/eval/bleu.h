/* Corpus BLEU (Papineni et al. 2002) in the conventions of sacreBLEU and multi-bleu. */
#ifndef TFM_EVAL_BLEU_H
#define TFM_EVAL_BLEU_H

#include "base/base.h"

/* The defaults that the header gives; every field. */
tfm_bleu_options tfm_bleu_defaults(void);

/* TFM_E_INVALID naming the first option out of range. */
tfm_status tfm_bleu_check(const tfm_bleu_options *options, tfm_error *error);

/* Precisions, brevity and score from result's matches, totals and lengths; all of it in percent but brevity. */
void tfm_bleu_score(tfm_bleu_result *result, const tfm_bleu_options *options);

/*
 * tfm_bleu on checked arguments. As in sacreBLEU an empty reference is one that is missing; unlike there, a sentence
 * that has no other is not an error: its reference has no tokens.
 */
tfm_status tfm_bleu_corpus(tfm_bleu_result *result, const tfm_text *hyps, size_t n_hyps, const tfm_text *const *refs,
                           size_t n_refs, const tfm_bleu_options *options, tfm_error *error);

#endif
