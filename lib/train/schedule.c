/* The learning rate of eq. (3). */
#include "train/schedule.h"

#include <math.h>

double tfm_schedule_rate(uint64_t step, double d_model, uint64_t warmup, double scale)
{
    const double s = (double)step, w = (double)warmup;

    return scale / sqrt(d_model) * fmin(1.0 / sqrt(s), s / (w * sqrt(w)));
}
