/* The learning rate of eq. (3), 5.3. */
#ifndef TFM_SCHEDULE_H
#define TFM_SCHEDULE_H

#include <stdint.h>

/* scale * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5); step counts from 1; warmup >= 1. */
double tfm_schedule_rate(uint64_t step, double d_model, uint64_t warmup, double scale);

#endif
