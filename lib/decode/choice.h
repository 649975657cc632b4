/*
 * What the search keeps of a row of logits: its best entries, and the log-sum-exp. The row comes in blocks of columns,
 * while they are in the cache, and is read twice there; it is never whole.
 */
#ifndef TFM_CHOICE_H
#define TFM_CHOICE_H

#include "autograd/ops.h"

typedef struct tfm_pick {
    float logit;
    int32_t token;
} tfm_pick;

typedef struct tfm_choice {
    tfm_pick *picks; /* [most] a heap, the worst on top */
    size_t n, most;
    float max;    /* of the logits so far */
    double total; /* of exp(logit - max)  */
} tfm_choice;

/* picks: room for most > 0. */
void tfm_choice_begin(tfm_choice *choice, tfm_pick *picks, size_t most);

/*
 * Takes in logits of tokens first, first + 1, ..., n of them; first is a multiple of TFM_SUM_BLOCK, and n too unless it
 * is the end of the row. The best ones are kept, of equal ones the lower tokens; never
 * the two of never (-1: none), -inf or what is not a number. All count in the sum.
 */
void tfm_choice_add(tfm_choice *choice, const tfm_kernels *kernels, const float *logits, size_t n, size_t first,
                    const int32_t never[static 2]);

/* The same, but the pick is this token, whatever its logit is. */
void tfm_choice_add_forced(tfm_choice *choice, const tfm_kernels *kernels, const float *logits, size_t n, size_t first,
                           int32_t token);

/*
 * log-sum-exp of all logits; -inf when all are, NaN when any is not a number.
 * error: float lanes within a block, double over blocks.
 */
double tfm_choice_lse(const tfm_choice *choice);

#endif
