/*
 * The Transformer's one forward pass: training, scoring, inference and incremental decoding call these functions.
 * Rows are packed: a batch of sequences is their concatenation, described by offsets. Nothing is padded.
 */
#ifndef TFM_FORWARD_H
#define TFM_FORWARD_H

#include "model/weights.h"

/* Everything beside the weights that a pass depends on. */
typedef struct tfm_rates {
    float residual, embedding, attention, relu; /* dropout, used while run->training */
    bool recompute;
} tfm_rates;

typedef struct tfm_transformer {
    const tfm_weights *weights;
    const float *position; /* table [position_rows][d], row 0 = position_offset; sinusoids or NULL when learned */
    size_t position_rows;
    tfm_rates rates;
} tfm_transformer;

/* Packed sequences of ids. */
typedef struct tfm_tokens {
    tfm_segments segments;
    const int32_t *ids;        /* embedding row of each position; -1: zero vector */
    const uint32_t *positions; /* 0-based position of each id in its sequence     */
} tfm_tokens;

#define TFM_EVERY_LAYER UINT32_MAX

/* Attention weights that a pass shows: all heads of one kind (TFM_ATTENTION_*) and of one layer or of TFM_EVERY_LAYER.
 */
typedef struct tfm_shown {
    uint32_t kind, layer;
    size_t size;      /* of each layer, when every one's are shown                           */
    float *to;        /* of each sequence [h][queries][keys]; NULL: nothing is shown         */
    const size_t *at; /* where in to those of a sequence begin; NULL: of one sequence, at 0 */
} tfm_shown;

/* memory [source rows][d] = encoder stack (3.1) of the sources. */
void tfm_forward_encoder(tfm_run *run, tfm_value *memory, const tfm_transformer *t, const tfm_tokens *source);

/* hidden [target rows][d] = decoder stack of target inputs (BOS, then the target without its last) over memory. */
void tfm_forward_decoder(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_value *memory,
                         const tfm_segments *source, const tfm_tokens *target);
/* The same, and the weights of a kind of the decoder. */
void tfm_forward_decoder_shown(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_value *memory,
                               const tfm_segments *source, const tfm_tokens *target, const tfm_shown *shown);

/* logits [rows][vocab] = hidden E^T (+ bias), in strips. */
void tfm_forward_logits(tfm_run *run, const tfm_transformer *t, tfm_value *hidden, tfm_strip_fn *use, const void *args);

/*
 * Keys and values of a batch being decoded, 4.5 of PAPER. Rows never move: each hypothesis lists those of its
 * past, which it may share with others, and those of its source.
 */
typedef struct tfm_cache {
    tfm_value *self;  /* [n_decoder_layers], each [rows][h * d_k + h * d_v] */
    tfm_value *cross; /* the same of source positions                       */
} tfm_cache;

/* Reserves a cache in the run's arena. self, cross: room for n_decoder_layers. */
void tfm_cache_begin(tfm_run *run, tfm_cache *cache, const tfm_transformer *t, size_t self_rows, size_t cross_rows);
/* Row i of memory, the encoder's output, gives keys and values to row rows[i] of cross. */
void tfm_cache_add(tfm_run *run, tfm_cache *cache, const tfm_transformer *t, tfm_value *memory, const uint32_t *rows);

/* One new position of n hypotheses, each at its own step; hypotheses of one sentence stand together. */
typedef struct tfm_step {
    size_t n;                  /* hypotheses = rows                                            */
    const int32_t *ids;        /* [n] input token; -1: zero vector                             */
    const uint32_t *positions; /* [n] 0-based position of the token                            */
    const uint32_t *rows;      /* of each hypothesis the cache rows of positions 0, 1, ..., its own row last */
    tfm_segments queries;      /* n segments of one row each: offsets 0, 1, ..., n             */
    tfm_segments self;         /* n segments: offsets into rows                                */
    tfm_segments groups;       /* hypotheses of each live sentence                             */
    tfm_segments sources;      /* n == groups.n: entries of source_rows of each live sentence  */
    const uint32_t *source_rows; /* row of cross of each source position                      */
    tfm_shown shown;           /* TFM_ATTENTION_CROSS: a sequence is a sentence's hypotheses   */
} tfm_step;

/* hidden [n][d]; fills the hypotheses' own rows of the cache. */
void tfm_forward_step(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_cache *cache,
                      const tfm_step *step);

/* Table of sinusoidal positions of rows offset .. offset + rows (3.5): to [rows][d]. */
void tfm_position_fill(float *to, size_t rows, size_t d, uint32_t form, size_t offset);

/* Attention weights of one kind (TFM_ATTENTION_*) for one pair, all heads: of a layer, to [h][queries][keys], or of
 * every layer, to [layers][h][queries][keys]. target NULL for the encoder's. */
void tfm_forward_attention(tfm_run *run, const tfm_transformer *t, const tfm_tokens *source, const tfm_tokens *target,
                           uint32_t kind, uint32_t layer, float *to);

#endif
