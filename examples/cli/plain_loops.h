/*
 * What the library is measured against: loops in plain C that a compiler turns into code for this processor, and that
 * use one thread. They are honest, not clever.
 */
#ifndef CLI_PLAIN_LOOPS_H
#define CLI_PLAIN_LOOPS_H

#include <stddef.h>

/* out [n][d] = softmax(q k^T / sqrt(d)) v by way of the whole matrix, weights [n][n]. transposed: room for k, [d][n].
 */
void plain_attention(float *out, float *weights, float *transposed, const float *q, const float *k, const float *v,
                     size_t n, size_t d);

/* Multiply-adds of float32 in registers alone: GFLOP/s. */
double plain_peak_gflops(void);

/* Reading floats from a block of this many bytes over and over: GB/s. */
double plain_read_gbytes(size_t bytes);

#endif
