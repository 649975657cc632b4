/*
 * Random translations: each of n_best samples draws its next token from the model's distribution, sharpened or
 * flattened by a temperature and cut to the best tokens. What is drawn is a function of (seed, source, number of the
 * sample, position), so that it is the same in any batch, in any order, with any number of threads.
 */
#ifndef TFM_SAMPLING_H
#define TFM_SAMPLING_H

#include "decode/beam.h"

static inline bool tfm_sampling_asked(const tfm_decoder_options *options)
{
    return options->temperature > 0.0f;
}

/* Entries that the choice of a row needs: top_k, or all. */
size_t tfm_sampling_width(const tfm_decoder_options *options, size_t vocab);

/* The source's own numbers. */
uint64_t tfm_sampling_stream(tfm_ids source);

/* As tfm_beam_advance(), by one token that each live sample draws. weights: room for as many as a row has picks. */
void tfm_sampling_advance(tfm_beam *beam, tfm_choice *rows, const double *lse, uint64_t stream, double *weights);

/* Draws one of the picks, where u is uniform in [0, 1); their order may change. row->n > 0. */
tfm_pick tfm_sampling_draw(tfm_choice *row, const tfm_decoder_options *options, double u, double *weights);

#endif
