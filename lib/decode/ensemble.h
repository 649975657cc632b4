/*
 * Models that decode together, members of an ensemble: the next token has probability w_1 p_1 + w_2 p_2 + ..., the mean
 * of what each member gives it, as fairseq has it. Its logarithms are handed on as the logits of one model, so that
 * nothing behind them knows how many members there are. A model alone is the only member, and its logits are its own.
 */
#ifndef TFM_ENSEMBLE_H
#define TFM_ENSEMBLE_H

#include "model/forward.h"

typedef struct tfm_member {
    tfm_transformer transformer; /* its position table may be replaced by the longer one below */
    float log_weight;            /* log w_i; the w_i sum to 1 */
    float *position;
    size_t position_size; /* floats */
} tfm_member;

/* As tfm_forward_logits(), of n members with the same vocabulary; hidden: of each. With several, strips are whole rows.
 */
void tfm_ensemble_logits(tfm_run *run, const tfm_member *members, size_t n, tfm_value *const *hidden, tfm_strip_fn *use,
                         const void *args);

/* Log-probabilities of n tokens: y, those of the members before number i > 0, becomes those that x, its own, are among.
 */
void tfm_ensemble_add(const tfm_run *run, const tfm_member *members, size_t i, float *y, const float *x, size_t n);

#endif
