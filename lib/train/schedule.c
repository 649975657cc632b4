/* The learning rate. */
#include "train/schedule.h"

#include <math.h>

double tfm_schedule_rate(uint64_t step, double d_model, uint64_t warmup, double scale)
{
    const double s = (double)step, w = (double)warmup;

    return scale / sqrt(d_model) * fmin(1.0 / sqrt(s), s / (w * sqrt(w)));
}

double tfm_schedule_cooldown(uint64_t step, uint64_t last, uint64_t cooldown)
{
    const uint64_t left = step < last ? last - step : 0; /* after this one */

    return left < cooldown ? (double)(left + 1) / (double)cooldown : 1.0;
}
