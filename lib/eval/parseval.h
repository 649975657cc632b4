/* PARSEVAL (Black et al. 1991) as EVALB of Sekine and Collins has it: which constituents of a parse the gold tree has.
 */
#ifndef TFM_EVAL_PARSEVAL_H
#define TFM_EVAL_PARSEVAL_H

#include "eval/parse_tree.h"

/* Two trees at a time, and the rules: large, kept by one allocation. */
typedef struct tfm_parseval_state {
    tfm_parse_rules rules;
    tfm_parse gold, test;
} tfm_parseval_state;

/* The row of a parse; state->rules are read before. */
void tfm_parseval_compare(tfm_parseval_state *state, tfm_parseval_row *row, tfm_text test, tfm_text gold);

/* Adds a row to the sums of result, [0] and, unless it is longer than the cutoff, [1]. */
void tfm_parseval_add(tfm_parseval_result *result, const tfm_parseval_row *row, const tfm_parse_rules *rules);
/* The scores of the sums, and the signature. */
void tfm_parseval_finish(tfm_parseval_result *result, const tfm_parse_rules *rules);

#endif
