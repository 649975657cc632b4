/*
 * The whole Transformer in double precision, one sentence at a time, written from PAPER 1 and sharing no code with the
 * library. Parameters are found by their names in a plan; only the plan (names, places) comes from the library.
 */
#ifndef ORACLE_MODEL_H
#define ORACLE_MODEL_H

#include "model/layers.h"
#include "oracle.h"

typedef struct oracle_model {
    const tfm_weights *w;
    double *data;          /* as the plan lays it out         */
    const float *position; /* NULL: computed or learned      */
    tfm_rates rates;       /* dropout                         */
    bool training;
    uint64_t seed;         /* of the masks                    */
    uint32_t batch, first_row[2]; /* source, target           */
    double *attention[3];  /* by kind: where the weights of all layers are wanted, [layers][h][m][n]; NULL: nowhere */
} oracle_model;

/* Where a layer's weights go, m queries and n keys; NULL: nowhere. */
static inline double *oracle_weights(const oracle_model *o, uint32_t kind, uint32_t layer, size_t m, size_t n)
{
    return o->attention[kind] ? o->attention[kind] + layer * o->w->options.n_heads * m * n : NULL;
}

/* A parameter by name, NULL when the configuration has none. */
static inline const double *oracle_find(const oracle_model *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline const double *oracle_find(const oracle_model *m, const char *format, ...)
{
    static size_t last; /* a model is walked in the order of its plan */
    char name[128];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (size_t i = 0; i < m->w->n_parameters; i++) {
        const tfm_parameter_plan *p = &m->w->parameters[(last + i) % m->w->n_parameters];
        if (strcmp(p->name, name)) continue;
        last += i;
        return m->data + p->offset;
    }
    return NULL;
}

static inline oracle_mask oracle_site(const oracle_model *m, float rate, uint32_t site)
{
    const uint32_t first_row = m->first_row[site == TFM_SITE_TARGET_EMBEDDING ||
                                            (site >= TFM_SITE_DECODER && site < TFM_SITE_SOURCE_EMBEDDING)];

    return (oracle_mask){m->seed, m->batch, site, m->training ? (double)rate : 0.0, first_row};
}

/* y [m][d] = MultiHead(x, memory, memory), 3.2.2; weights [h][m][n] or NULL. Masks: each head has a site of its own,
 * whose row is the first of the sentence's queries in the batch. */
static inline void oracle_multi_head(const oracle_model *o, double *y, const double *x, size_t m, const double *memory,
                                     size_t n, const char *owner, bool causal, uint32_t site, size_t first,
                                     double *weights)
{
    const tfm_model_options *c = &o->w->options;
    const size_t d = c->d_model, h = c->n_heads, hk = h * c->d_k, hv = h * c->d_v;
    oracle_mask mask = oracle_site(o, o->rates.attention, site);
    double *q = oracle_new(m * hk), *k = oracle_new(n * hk), *v = oracle_new(n * hv), *heads = oracle_new(m * hv);

    oracle_linear(q, x, oracle_find(o, "%squery.weight", owner), oracle_find(o, "%squery.bias", owner), m, d, hk);
    oracle_linear(k, memory, oracle_find(o, "%skey.weight", owner), oracle_find(o, "%skey.bias", owner), n, d, hk);
    oracle_linear(v, memory, oracle_find(o, "%svalue.weight", owner), oracle_find(o, "%svalue.bias", owner), n, d, hv);
    mask.first_row += (uint32_t)first;
    for (size_t i = 0; i < h; i++, mask.site += 1u << 16)
        oracle_attention(&(oracle_head){.q = q + i * c->d_k,
                                        .k = k + i * c->d_k,
                                        .v = v + i * c->d_v,
                                        .q_stride = hk,
                                        .k_stride = hk,
                                        .v_stride = hv,
                                        .out_stride = hv,
                                        .m = m,
                                        .n = n,
                                        .d_k = c->d_k,
                                        .d_v = c->d_v,
                                        .causal = causal,
                                        .drop = &mask,
                                        .out = heads + i * c->d_v,
                                        .weights = weights ? weights + i * m * n : NULL});
    oracle_linear(y, heads, oracle_find(o, "%soutput.weight", owner), oracle_find(o, "%soutput.bias", owner), m, hv, d);
}

/* y = f(x W1 + b1) W2 + b2. */
static inline void oracle_feedforward(const oracle_model *o, double *y, const double *x, size_t m, const char *owner,
                                      uint32_t site, size_t first)
{
    const size_t d = o->w->options.d_model, ff = o->w->options.d_ff;
    const oracle_mask mask = oracle_site(o, o->rates.relu, site);
    double *inner = oracle_new(m * ff);

    oracle_linear(inner, x, oracle_find(o, "%sinner.weight", owner), oracle_find(o, "%sinner.bias", owner), m, d, ff);
    for (size_t i = 0; i < m * ff; i++) inner[i] = oracle_activation(o->w->options.activation, inner[i]);
    oracle_drop(inner, m, ff, &mask, first);
    oracle_linear(y, inner, oracle_find(o, "%souter.weight", owner), oracle_find(o, "%souter.bias", owner), m, ff, d);
}

static inline void oracle_layer_norm(const oracle_model *o, double *y, const double *x, size_t m, const char *owner)
{
    oracle_norm(y, x, oracle_find(o, "%snorm.weight", owner), oracle_find(o, "%snorm.bias", owner), m,
                o->w->options.d_model, (double)o->w->options.layer_norm_eps);
}

/* What a sub-layer reads: x itself, or LN(x) in pre-norm. */
static inline const double *oracle_before(const oracle_model *o, const double *x, size_t m, const char *owner)
{
    double *y = oracle_new(m * o->w->options.d_model);

    if (o->w->options.norm_order == TFM_POST_NORM) return x;
    oracle_layer_norm(o, y, x, m, owner);
    return y;
}

/* x becomes x + dropout(s), and its norm in post-norm. */
static inline void oracle_after(const oracle_model *o, double *x, double *s, size_t m, const char *owner, uint32_t site,
                                size_t first)
{
    const size_t d = o->w->options.d_model;
    const oracle_mask mask = oracle_site(o, o->rates.residual, site);

    oracle_drop(s, m, d, &mask, first);
    for (size_t i = 0; i < m * d; i++) x[i] += s[i];
    if (o->w->options.norm_order == TFM_POST_NORM) oracle_layer_norm(o, x, x, m, owner);
}

/* x [n][d] = dropout(LN(scale E[id] + PE(offset + i))), without LN as a rule. */
static inline void oracle_embed(const oracle_model *o, double *x, const int32_t *ids, size_t n, bool decoder,
                                size_t first)
{
    const tfm_model_options *c = &o->w->options;
    const size_t d = c->d_model, half = d / 2;
    const char *side = decoder ? "decoder" : "encoder";
    const oracle_mask mask =
        oracle_site(o, o->rates.embedding, decoder ? TFM_SITE_TARGET_EMBEDDING : TFM_SITE_SOURCE_EMBEDDING);
    const double *table =
        oracle_find(o, c->sharing == TFM_SHARE_ALL ? "embedding.weight%.0s" : "%s.embedding.weight", side);
    const double *learned = oracle_find(o, "%s.position.weight", side);
    const double scale = c->plain_embedding ? 1.0 : sqrt((double)d);
    char owner[64];

    for (size_t r = 0; r < n; r++)
        for (size_t j = 0; j < d; j++) {
            const size_t pos = c->position_offset + r;
            double pe, *to = &x[r * d + j];
            if (o->position) pe = (double)o->position[r * d + j];
            else if (learned) pe = learned[pos * d + j];
            else if (c->positions == TFM_POSITIONS_PAPER) {
                const double angle = (double)pos / pow(10000.0, (double)(j / 2 * 2) / (double)d);
                pe = j % 2 ? cos(angle) : sin(angle);
            } else if (c->positions == TFM_POSITIONS_SPLIT) {
                const size_t sines = d - half;
                const double angle = (double)pos / pow(10000.0, 2.0 * (double)(j % sines) / (double)d);
                pe = j < sines ? sin(angle) : cos(angle);
            } else {
                const double angle = (double)pos * pow(10000.0, -(double)(j % half) / fmax((double)half - 1.0, 1.0));
                pe = j == 2 * half ? 0.0 : j < half ? sin(angle) : cos(angle);
            }
            *to = pe + (ids[r] >= 0 ? scale * table[(size_t)ids[r] * d + j] : 0.0);
        }
    snprintf(owner, sizeof owner, "%s.embedding.", side);
    if (c->embedding_norm) oracle_layer_norm(o, x, x, n, owner);
    oracle_drop(x, n, d, &mask, first);
}

/* memory [n][d] of one source. */
static inline void oracle_encoder(const oracle_model *o, double *x, const int32_t *ids, size_t n, size_t first)
{
    const size_t d = o->w->options.d_model;
    double *s = oracle_new(n * d);
    char attention[64], feedforward[64];

    oracle_embed(o, x, ids, n, false, first);
    for (uint32_t i = 0; i < o->w->options.n_encoder_layers; i++) {
        const uint32_t site = i * TFM_SITES;
        snprintf(attention, sizeof attention, "encoder.layers.%u.attention.", i);
        snprintf(feedforward, sizeof feedforward, "encoder.layers.%u.feedforward.", i);
        const double *in = oracle_before(o, x, n, attention);
        oracle_multi_head(o, s, in, n, in, n, attention, false, site + TFM_SITE_ATTENTION_WEIGHTS, first,
                          oracle_weights(o, TFM_ATTENTION_ENCODER, i, n, n));
        oracle_after(o, x, s, n, attention, site + TFM_SITE_ATTENTION, first);
        oracle_feedforward(o, s, oracle_before(o, x, n, feedforward), n, feedforward, site + TFM_SITE_RELU,
                           first);
        oracle_after(o, x, s, n, feedforward, site + TFM_SITE_FEEDFORWARD, first);
    }
    if (o->w->options.norm_order == TFM_PRE_NORM) oracle_layer_norm(o, x, x, n, "encoder.");
}

/* hidden [m][d] of one target's inputs over memory [n][d]. */
static inline void oracle_decoder(const oracle_model *o, double *x, const int32_t *ids, size_t m, const double *memory,
                                  size_t n, size_t first)
{
    double *s = oracle_new(m * o->w->options.d_model);
    char owner[3][64];

    oracle_embed(o, x, ids, m, true, first);
    for (uint32_t i = 0; i < o->w->options.n_decoder_layers; i++) {
        const uint32_t site = TFM_SITE_DECODER + i * TFM_SITES;
        snprintf(owner[0], sizeof owner[0], "decoder.layers.%u.attention.", i);
        snprintf(owner[1], sizeof owner[1], "decoder.layers.%u.cross.", i);
        snprintf(owner[2], sizeof owner[2], "decoder.layers.%u.feedforward.", i);
        const double *in = oracle_before(o, x, m, owner[0]);
        oracle_multi_head(o, s, in, m, in, m, owner[0], true, site + TFM_SITE_ATTENTION_WEIGHTS, first,
                          oracle_weights(o, TFM_ATTENTION_DECODER, i, m, m));
        oracle_after(o, x, s, m, owner[0], site + TFM_SITE_ATTENTION, first);
        oracle_multi_head(o, s, oracle_before(o, x, m, owner[1]), m, memory, n, owner[1], false,
                          site + TFM_SITE_CROSS_WEIGHTS, first, oracle_weights(o, TFM_ATTENTION_CROSS, i, m, n));
        oracle_after(o, x, s, m, owner[1], site + TFM_SITE_CROSS, first);
        oracle_feedforward(o, s, oracle_before(o, x, m, owner[2]), m, owner[2], site + TFM_SITE_RELU, first);
        oracle_after(o, x, s, m, owner[2], site + TFM_SITE_FEEDFORWARD, first);
    }
    if (o->w->options.norm_order == TFM_PRE_NORM) oracle_layer_norm(o, x, x, m, "decoder.");
}

static inline void oracle_logits(const oracle_model *o, double *z, const double *hidden, size_t m)
{
    static const char *const output[] = {"embedding.weight", "decoder.embedding.weight", "output.weight"};
    const tfm_model_options *c = &o->w->options;

    oracle_linear(z, hidden, oracle_find(o, "%s", output[c->sharing]), oracle_find(o, "output.bias"), m, c->d_model,
                  c->vocab_size);
}

/* A batch of sentences, packed. */
typedef struct oracle_batch {
    size_t n;
    const size_t *source_offset, *target_offset;
    const int32_t *sources, *inputs, *labels;
} oracle_batch;

/* Sum of the smoothed losses of a batch; memory [sources][d] and logits [targets][V] are written when not NULL. */
static inline double oracle_batch_loss(const oracle_model *o, const oracle_batch *b, double eps, bool uniform,
                                       double *memory_out, double *logits_out)
{
    const size_t used = oracle_used, d = o->w->options.d_model, V = o->w->options.vocab_size;
    double loss = 0.0, nll;

    for (size_t s = 0; s < b->n; s++) {
        const size_t i = b->source_offset[s], j = b->target_offset[s], n = b->source_offset[s + 1] - i;
        const size_t m = b->target_offset[s + 1] - j;
        double *memory = oracle_new(n * d), *hidden = oracle_new(m * d), *z = oracle_new(m * V);
        oracle_encoder(o, memory, b->sources + i, n, i);
        oracle_decoder(o, hidden, b->inputs + j, m, memory, n, j);
        oracle_logits(o, z, hidden, m);
        for (size_t r = 0; r < m; r++) loss += oracle_loss(z + r * V, V, (size_t)b->labels[j + r], eps, uniform, &nll);
        if (memory_out) memcpy(memory_out + i * d, memory, n * d * sizeof *memory);
        if (logits_out) memcpy(logits_out + j * V, z, m * V * sizeof *z);
        oracle_used = used;
    }
    return loss;
}

#endif
