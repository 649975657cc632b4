/* The clock of progress and profiles. No result depends on it. */
#ifndef TFM_CLOCK_H
#define TFM_CLOCK_H

/* Seconds on a clock that never goes back, from an arbitrary zero. */
double tfm_now(void);

#endif
