/*
 * Which source tokens the target tokens of a pair come from: cross attention of one layer, the mean of its heads or one
 * of them, as the options say. A token's weights are those of the step that predicts it, or of the step that reads it
 * (Chen et al. 2020), which knows the token.
 */
#ifndef TFM_ALIGNMENT_H
#define TFM_ALIGNMENT_H

#include "base/base.h"

/* The layer, from 0, that the options mean in a decoder of so many. */
uint32_t tfm_alignment_layer(const tfm_decoder_options *options, uint32_t n_layers);

/* to [cols] += a row of heads [n_heads][rows][cols]: of the head that the options mean, or the mean of all. */
void tfm_alignment_add(float *to, const tfm_decoder_options *options, const float *heads, size_t n_heads, size_t rows,
                       size_t cols, size_t row);

/* to [rows][cols]: of each token of a pair whose attention is heads [n_heads][rows][cols]. */
void tfm_alignment_fill(float *to, const tfm_decoder_options *options, const float *heads, size_t n_heads, size_t rows,
                        size_t cols);

/* cp of Wu et al. 2016, eq. 14: options' coverage times the sum of log(min(covered, 1)) over n source tokens; <= 0, and
 * finite where nothing at all fell on one. */
double tfm_coverage_penalty(const tfm_decoder_options *options, const float *covered, size_t n);

#endif
