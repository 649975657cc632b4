/* The sub-layers that both stacks are made of. */
#ifndef TFM_LAYERS_H
#define TFM_LAYERS_H

#include "model/forward.h"

/* Where dropout falls, each with masks of its own: one number for each layer, sub-layer and place. */
enum {
    TFM_SITE_ATTENTION_WEIGHTS,
    TFM_SITE_ATTENTION,
    TFM_SITE_CROSS_WEIGHTS,
    TFM_SITE_CROSS,
    TFM_SITE_RELU,
    TFM_SITE_FEEDFORWARD,
    TFM_SITES, /* of a layer */
    TFM_SITE_DECODER = TFM_SITE_TARGET,
    TFM_SITE_SOURCE_EMBEDDING = 2 * TFM_SITE_TARGET,
    TFM_SITE_TARGET_EMBEDDING = TFM_SITE_SOURCE_EMBEDDING + TFM_SITE_TARGET,
};
_Static_assert(256 * TFM_SITES <= TFM_SITE_DECODER && TFM_SITE_DECODER + 256 * TFM_SITES <= TFM_SITE_SOURCE_EMBEDDING,
               "256 layers of both stacks have sites of their own");

/* One layer of a stack: what tfm_run_layer() copies. */
typedef struct tfm_layer {
    const tfm_transformer *t;
    uint32_t index;
    tfm_segments source, target;
    tfm_cache *cache;     /* incremental decoding: else NULL         */
    const tfm_step *step;
    tfm_shown shown;
} tfm_layer;

/* y = concatenated heads times W^O of self-attention over segments; x [rows][d]. */
void tfm_self_attention(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer, const tfm_attention_layer *w,
                        bool decoder);
/* Queries from x, keys and values from memory (or the cache). */
void tfm_cross_attention(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                         const tfm_attention_layer *w);
/* y = f(x W1 + b1) W2 + b2, eq. (2); f: max(0, .), or another activation. */
void tfm_feedforward(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer, const tfm_feedforward_layer *w,
                     bool decoder);

/* y [rows][d] = embedded tokens of a side, with their norm where there is one. */
void tfm_embed_tokens(tfm_run *run, tfm_value *y, const tfm_transformer *t, const tfm_tokens *tokens, bool decoder);

/* Keys and values of the new rows, which stand in qkv from a column on, go to the cache; returns the layer's. */
tfm_value *tfm_cache_append(const tfm_run *run, const tfm_layer *layer, const tfm_value *qkv, size_t column);

/* y = n layers applied to x one after the other, then the final norm of pre-norm stacks (NULL: none). x is lost without
 * a tape. */
void tfm_stack_run(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                   tfm_layer_fn *fn, uint32_t n, const tfm_norm *final);

/* The stacks, applied to embedded rows. */
void tfm_encoder_stack(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer);
void tfm_decoder_stack(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer);

#endif
