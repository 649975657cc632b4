/* The learning rate: eq. (3), 5.3, and how it may end. */
#ifndef TFM_SCHEDULE_H
#define TFM_SCHEDULE_H

#include <stdint.h>

/* scale * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5); step counts from 1; warmup >= 1. */
double tfm_schedule_rate(uint64_t step, double d_model, uint64_t warmup, double scale);

/* The factor on it in the last `cooldown` steps up to `last`: a straight line from 1 to 1/cooldown; before them 1. */
double tfm_schedule_cooldown(uint64_t step, uint64_t last, uint64_t cooldown);

#endif
