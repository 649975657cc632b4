/* The parameters of a configuration: one walk counts them, names them, and points the layers at them. */
#include "model/weights.h"

#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* A place in the walk. With data NULL it only counts; with names it fills the plan. */
typedef struct walk {
    tfm_weights *w;
    size_t n, offset;
    const float *data;
    float *gradients;
    bool names;
    bool rest; /* data lacks the matrices of products */
} walk;

static const float *take(walk *at, float **gradient, const char *owner, const char *name, tfm_initial initial,
                         uint32_t fan_out, uint32_t rank, size_t rows, size_t cols, bool multiplied)
{
    const size_t start = at->offset;

    if (at->names) {
        tfm_parameter_plan *p = &at->w->parameters[at->n];
        snprintf(p->name, sizeof p->name, "%s%s", owner, name);
        p->initial = initial;
        p->fan_out = fan_out;
        p->rank = rank;
        p->multiplied = multiplied;
        p->shape[0] = (uint32_t)rows;
        p->shape[1] = (uint32_t)cols;
        p->offset = start;
        p->size = rows * cols;
    }
    at->n++;
    *gradient = at->gradients ? at->gradients + start : NULL;
    if (at->rest && multiplied) return NULL;
    at->offset += rows * cols;
    return at->data ? at->data + start : NULL;
}

static void matrix(walk *at, tfm_linear *l, const char *owner, const char *name, tfm_initial initial, size_t fan_out,
                   size_t out, size_t in)
{
    *l = (tfm_linear){.out = out, .in = in};
    l->weight = take(at, &l->d_weight, owner, name, initial, (uint32_t)fan_out, 2, out, in, true);
}

static void position(walk *at, tfm_linear *l, const char *name)
{
    *l = (tfm_linear){.out = at->w->options.max_positions, .in = at->w->options.d_model};
    l->weight = take(at, &l->d_weight, "", name, TFM_INITIAL_NORMAL, 0, 2, l->out, l->in, false);
}

static void bias(walk *at, tfm_linear *l, const char *owner, const char *name, bool present)
{
    if (present) l->bias = take(at, &l->d_bias, owner, name, TFM_INITIAL_ZERO, 0, 1, l->out, 1, false);
}

static void norm(walk *at, tfm_norm *n, const char *owner, const char *gamma, const char *beta)
{
    n->d = at->w->options.d_model;
    n->eps = at->w->options.layer_norm_eps;
    n->gamma = take(at, &n->d_gamma, owner, gamma, TFM_INITIAL_ONE, 0, 1, n->d, 1, false);
    n->beta = take(at, &n->d_beta, owner, beta, TFM_INITIAL_ZERO, 0, 1, n->d, 1, false);
}

/* Rows first .. first + out of a stacked projection. */
static tfm_linear part(const tfm_linear *l, size_t first, size_t out)
{
    return (tfm_linear){
        .weight = l->weight ? l->weight + first * l->in : NULL,
        .d_weight = l->d_weight ? l->d_weight + first * l->in : NULL,
        .bias = l->bias ? l->bias + first : NULL,
        .d_bias = l->d_bias ? l->d_bias + first : NULL,
        .out = out,
        .in = l->in,
    };
}

/* W^Q, W^K, W^V lie end to end, so that one product makes all three. */
static void attention(walk *at, tfm_attention_layer *l, const char *owner, bool cross)
{
    const tfm_model_options *o = &at->w->options;
    const size_t d = o->d_model, hk = (size_t)o->n_heads * o->d_k, hv = (size_t)o->n_heads * o->d_v;
    const bool fused = o->init == TFM_INIT_FUSED;
    tfm_linear k, v;

    matrix(at, &l->q, owner, "query.weight", TFM_INITIAL_XAVIER, fused && !cross ? 2 * hk + hv : hk, hk, d);
    matrix(at, &k, owner, "key.weight", TFM_INITIAL_XAVIER, !fused ? hk : cross ? hk + hv : 2 * hk + hv, hk, d);
    matrix(at, &v, owner, "value.weight", TFM_INITIAL_XAVIER, !fused ? hv : cross ? hk + hv : 2 * hk + hv, hv, d);
    bias(at, &l->q, owner, "query.bias", o->attention_bias);
    bias(at, &k, owner, "key.bias", o->attention_bias);
    bias(at, &v, owner, "value.bias", o->attention_bias);
    l->qkv = l->q;
    l->qkv.out = 2 * hk + hv;
    l->kv = part(&l->qkv, hk, hk + hv);
    matrix(at, &l->out, owner, "output.weight", TFM_INITIAL_XAVIER, d, d, hv);
    bias(at, &l->out, owner, "output.bias", o->attention_bias);
    norm(at, &l->norm, owner, "norm.weight", "norm.bias");
}

static void feedforward(walk *at, tfm_feedforward_layer *l, const char *owner)
{
    const tfm_model_options *o = &at->w->options;

    matrix(at, &l->inner, owner, "inner.weight", TFM_INITIAL_XAVIER, o->d_ff, o->d_ff, o->d_model);
    bias(at, &l->inner, owner, "inner.bias", o->ffn_bias);
    matrix(at, &l->outer, owner, "outer.weight", TFM_INITIAL_XAVIER, o->d_model, o->d_model, o->d_ff);
    bias(at, &l->outer, owner, "outer.bias", o->ffn_bias);
    norm(at, &l->norm, owner, "norm.weight", "norm.bias");
}

static void embeddings(walk *at)
{
    tfm_weights *w = at->w;
    const tfm_model_options *o = &w->options;
    const size_t d = o->d_model, V = o->vocab_size;

    if (o->sharing == TFM_SHARE_ALL) {
        matrix(at, &w->target_embedding, "", "embedding.weight", TFM_INITIAL_NORMAL, 0, V, d);
        w->source_embedding = w->target_embedding;
    } else {
        matrix(at, &w->source_embedding, "", "encoder.embedding.weight", TFM_INITIAL_NORMAL, 0, o->source_vocab_size,
               d);
        matrix(at, &w->target_embedding, "", "decoder.embedding.weight", TFM_INITIAL_NORMAL, 0, V, d);
    }
    w->output = w->target_embedding;
    if (o->sharing == TFM_SHARE_NONE) matrix(at, &w->output, "", "output.weight", TFM_INITIAL_NORMAL, 0, V, d);
    bias(at, &w->output, "", "output.bias", o->softmax_bias);
    if (o->positions == TFM_POSITIONS_LEARNED) {
        position(at, &w->source_position, "encoder.position.weight");
        position(at, &w->target_position, "decoder.position.weight");
    }
    if (!o->embedding_norm) return;
    norm(at, &w->source_norm, "encoder.embedding.", "norm.weight", "norm.bias");
    norm(at, &w->target_norm, "decoder.embedding.", "norm.weight", "norm.bias");
}

static void walk_all(walk *at)
{
    tfm_weights *w = at->w;
    const tfm_model_options *o = &w->options;
    char owner[TFM_NAME_SIZE];
    const bool pre = o->norm_order == TFM_PRE_NORM;

    embeddings(at);
    for (uint32_t i = 0; i < o->n_encoder_layers; i++) {
        snprintf(owner, sizeof owner, "encoder.layers.%u.attention.", i);
        attention(at, &w->encoder[i].attention, owner, false);
        snprintf(owner, sizeof owner, "encoder.layers.%u.feedforward.", i);
        feedforward(at, &w->encoder[i].feedforward, owner);
    }
    if (pre) norm(at, &w->encoder_norm, "encoder.", "norm.weight", "norm.bias");
    for (uint32_t i = 0; i < o->n_decoder_layers; i++) {
        snprintf(owner, sizeof owner, "decoder.layers.%u.attention.", i);
        attention(at, &w->decoder[i].attention, owner, false);
        snprintf(owner, sizeof owner, "decoder.layers.%u.cross.", i);
        attention(at, &w->decoder[i].cross, owner, true);
        snprintf(owner, sizeof owner, "decoder.layers.%u.feedforward.", i);
        feedforward(at, &w->decoder[i].feedforward, owner);
    }
    if (pre) norm(at, &w->decoder_norm, "decoder.", "norm.weight", "norm.bias");
}

tfm_status tfm_weights_create(tfm_weights *w, const tfm_model_options *options, const tfm_allocator *allocator,
                              tfm_error *error)
{
    walk count = {.w = w};
    tfm_model_costs costs;

    *w = (tfm_weights){.options = *options, .allocator = *allocator};
    w->options.allocator = NULL;
    const tfm_status status = tfm_config_check(&w->options, error);
    if (status != TFM_OK) return status;
    tfm_config_costs(&costs, &w->options, 1, 1);
    if (costs.parameters > SIZE_MAX / (4 * sizeof(float))) /* training holds four of each */
        return tfm_fail(error, TFM_E_INVALID, "a model of %llu parameters does not fit in memory",
                        (unsigned long long)costs.parameters);
    w->encoder = tfm_alloc(allocator, w->options.n_encoder_layers, sizeof *w->encoder);
    w->decoder = tfm_alloc(allocator, w->options.n_decoder_layers, sizeof *w->decoder);
    if (!w->encoder || !w->decoder) goto nomem;
    walk_all(&count);
    w->size = count.offset;
    w->parameters = tfm_alloc(allocator, count.n, sizeof *w->parameters);
    if (!w->parameters) goto nomem;
    w->n_parameters = count.n;
    walk_all(&(walk){.w = w, .names = true});
    return TFM_OK;

nomem:
    tfm_weights_destroy(w);
    return tfm_fail(error, TFM_E_NOMEM, "plan of the weights: no memory");
}

void tfm_weights_bind(tfm_weights *w, const float *data, float *gradients)
{
    walk_all(&(walk){.w = w, .data = data, .gradients = gradients});
}

void tfm_weights_bind_rest(tfm_weights *w, const float *rest)
{
    walk_all(&(walk){.w = w, .data = rest, .rest = true});
}

size_t tfm_weights_rest(const tfm_weights *w)
{
    size_t floats = 0;

    for (size_t i = 0; i < w->n_parameters; i++)
        if (!w->parameters[i].multiplied) floats += w->parameters[i].size;
    return floats;
}

void tfm_weights_destroy(tfm_weights *w)
{
    if (!w->allocator.resize) return;
    tfm_free(&w->allocator, w->encoder, w->options.n_encoder_layers, sizeof *w->encoder);
    tfm_free(&w->allocator, w->decoder, w->options.n_decoder_layers, sizeof *w->decoder);
    tfm_free(&w->allocator, w->parameters, w->n_parameters, sizeof *w->parameters);
    *w = (tfm_weights){0};
}

static void initialise(const tfm_parameter_plan *p, float *to, uint64_t seed, uint64_t stream, float sd)
{
    const float limit =
        p->initial == TFM_INITIAL_XAVIER ? sqrtf(6.0f / ((float)p->shape[1] + (float)p->fan_out)) : 0.0f;

    switch (p->initial) {
    case TFM_INITIAL_ZERO:
        memset(to, 0, p->size * sizeof *to);
        break;
    case TFM_INITIAL_ONE:
        for (size_t j = 0; j < p->size; j++) to[j] = 1.0f;
        break;
    case TFM_INITIAL_NORMAL:
        tfm_random_normals(to, p->size, seed, stream);
        for (size_t j = 0; j < p->size; j++) to[j] *= sd;
        break;
    case TFM_INITIAL_XAVIER:
        tfm_random_uniforms(to, p->size, seed, stream);
        for (size_t j = 0; j < p->size; j++) to[j] = limit * (2.0f * to[j] - 1.0f);
        break;
    }
}

void tfm_weights_init(const tfm_weights *w, float *data)
{
    const float sd = 1.0f / sqrtf((float)w->options.d_model);

    for (size_t i = 0; i < w->n_parameters; i++)
        initialise(&w->parameters[i], data + w->parameters[i].offset, w->options.seed, i, sd);
}

const tfm_parameter_plan *tfm_weights_odd(const tfm_weights *w, const float *data, float least)
{
    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        size_t odd = 0;
        for (size_t j = 0; j < p->size; j++)
            odd += !(data[p->offset + j] >= least && data[p->offset + j] <= FLT_MAX); /* NaN is */
        if (odd) return p;
    }
    return NULL;
}
