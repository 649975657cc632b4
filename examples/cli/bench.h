/* What the benchmarks share: samples of a noisy machine, and what the system knows about this process. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <transformer.h>

#include <stddef.h>
#include <stdint.h>

typedef struct samples {
    double *values;
    size_t size, capacity;
} samples;

void samples_add(samples *s, double value);
/* The smallest sample that at least the share q of all does not exceed (nearest rank); 0 when there is none. */
double samples_quantile(samples *s, double q);
static inline double samples_median(samples *s)
{
    return samples_quantile(s, 0.5);
}
void samples_free(samples *s);

/* Values in [-1, 1), always the same. */
void fill_random(float *x, size_t n);
/* n sentences of length tokens below vocab, the last one EOS, whose ids stand from at on; returns where they end. */
int32_t *fill_sentences(tfm_ids *sentences, size_t n, size_t length, uint32_t vocab, int32_t *at);

/* Most memory this process has held so far, in MB of 10^6 bytes. */
double process_peak_mb(void);
/* Page faults so far that needed no disk. */
uint64_t process_minor_faults(void);
/* Seconds since this process was started, to a hundredth. */
double process_age(void);

#endif
