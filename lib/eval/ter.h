/* Translation edit rate (Snover et al. 2006) as tercom and sacreBLEU compute it. */
#ifndef TFM_EVAL_TER_H
#define TFM_EVAL_TER_H

#include "eval/metric.h"
#include "base/rewrite.h"

/* The defaults that the header gives; every field. */
tfm_ter_options tfm_ter_defaults(void);

/* false: no memory. */
bool tfm_ter_open(tfm_metric *metric, const tfm_ter_options *options, const tfm_allocator *a);

/* Makes the line the tokens of raw, separated by white space. */
void tfm_ter_tokenize(tfm_line *line, tfm_text raw, const tfm_ter_options *options);

#endif
