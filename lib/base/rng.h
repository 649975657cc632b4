/*
 * Random numbers that are functions of a counter (Philox4x32-10, Salmon et al. 2011): the same number for the same
 * place, whoever asks, in whatever order. A dropout mask is thus equal in forward, backward, recomputation, for any
 * number of threads and after a resume.
 */
#ifndef TFM_RNG_H
#define TFM_RNG_H

#include "base/base.h"

/* out[4] = Philox4x32-10(counter[4], key[2]). */
void tfm_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

/* The i-th 32 random bits of stream (seed, stream). */
uint32_t tfm_random_bits(uint64_t seed, uint64_t stream, uint64_t i);

/* Uniform in [0, 1), 24 bits; standard normal (Box-Muller, of numbers 2i and 2i + 1). */
float tfm_random_uniform(uint64_t seed, uint64_t stream, uint64_t i);
float tfm_random_normal(uint64_t seed, uint64_t stream, uint64_t i);

/* Numbers 0 .. n of a stream: each as above, four or two of them from one block. */
void tfm_random_uniforms(float *to, size_t n, uint64_t seed, uint64_t stream);
void tfm_random_normals(float *to, size_t n, uint64_t seed, uint64_t stream);

/* Fisher-Yates: the order of n things, a function of seed and stream. */
void tfm_random_shuffle(uint32_t *items, size_t n, uint64_t seed, uint64_t stream);

#endif
