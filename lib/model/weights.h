/* Which parameters a configuration has, their names and order, and the layers that point at them. */
#ifndef TFM_WEIGHTS_H
#define TFM_WEIGHTS_H

#include "autograd/ops.h"
#include "model/config.h"

enum { TFM_NAME_SIZE = 64 };

typedef enum tfm_initial { TFM_INITIAL_ZERO, TFM_INITIAL_ONE, TFM_INITIAL_NORMAL, TFM_INITIAL_XAVIER } tfm_initial;

typedef struct tfm_parameter_plan {
    char name[TFM_NAME_SIZE];
    tfm_initial initial;
    uint32_t fan_out; /* Xavier: rows of the matrix it was once a part of (PAPER 1.11) */
    uint32_t rank, shape[2];
    bool multiplied; /* a matrix of products, which inference packs */
    size_t offset, size; /* floats, in the flat block of all parameters */
} tfm_parameter_plan;

typedef struct tfm_attention_layer {
    tfm_linear qkv; /* self-attention: Q|K|V on top of each other       */
    tfm_linear q, kv; /* views of it: rows of Q, rows of K|V (cross)      */
    tfm_linear out; /* W^O                                              */
    tfm_norm norm;
} tfm_attention_layer;

typedef struct tfm_feedforward_layer {
    tfm_linear inner, outer; /* W_1, W_2 of eq. (2) */
    tfm_norm norm;
} tfm_feedforward_layer;

typedef struct tfm_encoder_layer {
    tfm_attention_layer attention;
    tfm_feedforward_layer feedforward;
} tfm_encoder_layer;

typedef struct tfm_decoder_layer {
    tfm_attention_layer attention, cross;
    tfm_feedforward_layer feedforward;
} tfm_decoder_layer;

/* A plan, and after tfm_weights_bind() also pointers. */
typedef struct tfm_weights {
    tfm_model_options options; /* d_k, d_v, source_vocab_size resolved; allocator NULL */
    tfm_allocator allocator;
    tfm_parameter_plan *parameters;
    size_t n_parameters;
    size_t size; /* floats of all parameters */
    tfm_encoder_layer *encoder;
    tfm_decoder_layer *decoder;
    tfm_norm encoder_norm, decoder_norm; /* pre-norm only: gamma NULL otherwise */
    tfm_linear source_embedding, target_embedding, output; /* [V][d]; may be one matrix */
    tfm_linear source_position, target_position;           /* learned; weight NULL otherwise */
    tfm_norm source_norm, target_norm;                     /* embedding_norm; gamma NULL otherwise */
} tfm_weights;

tfm_status tfm_weights_create(tfm_weights *w, const tfm_model_options *options, const tfm_allocator *allocator,
                              tfm_error *error);
/* Points every layer into data (and, for training, gradients; else NULL): flat blocks of w->size floats. */
void tfm_weights_bind(tfm_weights *w, const float *data, float *gradients);
/* The same to data that lacks the matrices of products: all else end to end in plan order. Those have weight NULL. */
void tfm_weights_bind_rest(tfm_weights *w, const float *rest);
/* How many floats that is. */
size_t tfm_weights_rest(const tfm_weights *w);
void tfm_weights_destroy(tfm_weights *w);
/* The first parameter with a value that is below least or not finite, or NULL. */
const tfm_parameter_plan *tfm_weights_odd(const tfm_weights *w, const float *data, float least);
/* Fills data with the random initialisation of w->options (PAPER 1.11). */
void tfm_weights_init(const tfm_weights *w, float *data);

#endif
