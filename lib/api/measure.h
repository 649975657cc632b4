/* What the measuring functions share. */
#ifndef TFM_MEASURE_H
#define TFM_MEASURE_H

#include "base/base.h"

tfm_status tfm_measure_read(tfm_measure_options *o, const tfm_measure_options *options, tfm_error *error);

/* Median seconds of fn(args), called for about that long after one call that does not count. */
typedef void tfm_timed_fn(const void *args);
double tfm_measure_time(tfm_timed_fn *fn, const void *args, double seconds);

/* Values in [-1, 1), always the same: sums of them stay ordinary numbers. */
void tfm_measure_fill(float *x, size_t n);

#endif
