/* Multi-head attention (3.2.2) in its three uses (3.2.3): encoder, masked decoder, encoder-decoder. */
#include "model/layers.h"

static uint32_t site(const tfm_layer *layer, bool decoder, uint32_t place)
{
    return (decoder ? TFM_SITE_DECODER : 0) + layer->index * TFM_SITES + place;
}

static float *wanted(const tfm_layer *layer, uint32_t kind)
{
    const tfm_shown *s = &layer->shown;

    if (!s->to || s->kind != kind) return NULL;
    if (s->layer == TFM_EVERY_LAYER) return s->to + layer->index * s->size;
    return s->layer == layer->index ? s->to : NULL;
}

void tfm_self_attention(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer, const tfm_attention_layer *w,
                        bool decoder)
{
    const tfm_model_options *o = &layer->t->weights->options;
    const size_t hk = (size_t)o->n_heads * o->d_k, hv = (size_t)o->n_heads * o->d_v;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *qkv = tfm_value_new(run, x->rows, 2 * hk + hv), *heads = tfm_value_new(run, x->rows, hv);
    tfm_attend attend = {
        .q = qkv, .kv = qkv, .k_column = hk, .v_column = 2 * hk,
        .n_heads = o->n_heads, .d_k = o->d_k, .d_v = o->d_v,
        .causal = decoder,
        .rate = layer->t->rates.attention,
        .site = site(layer, decoder, TFM_SITE_ATTENTION_WEIGHTS),
        .weights = wanted(layer, decoder ? TFM_ATTENTION_DECODER : TFM_ATTENTION_ENCODER),
        .weights_at = layer->shown.at,
    };

    attend.queries = attend.keys = decoder ? layer->target : layer->source;
    tfm_op_linear(run, qkv, x, &w->qkv, false, 0.0f, 0);
    if (decoder && layer->cache) {
        attend.kv = tfm_cache_append(run, layer, qkv, hk);
        attend.k_column = 0;
        attend.v_column = hk;
        attend.keys = layer->step->self;
        attend.key_rows = layer->step->rows;
    }
    tfm_op_attention(run, heads, &attend);
    tfm_op_linear(run, y, heads, &w->out, false, 0.0f, 0);
    tfm_run_release(run, mark);
}

void tfm_cross_attention(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                         const tfm_attention_layer *w)
{
    const tfm_model_options *o = &layer->t->weights->options;
    const size_t hk = (size_t)o->n_heads * o->d_k, hv = (size_t)o->n_heads * o->d_v;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *q = tfm_value_new(run, x->rows, hk), *heads = tfm_value_new(run, x->rows, hv), *kv;

    if (layer->cache) {
        kv = &layer->cache->cross[layer->index];
    } else {
        kv = tfm_value_new(run, memory->rows, hk + hv);
        tfm_op_linear(run, kv, memory, &w->kv, false, 0.0f, 0);
    }
    tfm_op_linear(run, q, x, &w->q, false, 0.0f, 0);
    tfm_op_attention(run, heads, &(tfm_attend){
        .q = q, .kv = kv, .v_column = hk,
        .n_heads = o->n_heads, .d_k = o->d_k, .d_v = o->d_v,
        .queries = layer->cache ? layer->step->groups : layer->target,
        .keys = layer->cache ? layer->step->sources : layer->source,
        .key_rows = layer->cache ? layer->step->source_rows : NULL,
        .rate = layer->t->rates.attention,
        .site = site(layer, true, TFM_SITE_CROSS_WEIGHTS),
        .weights = wanted(layer, TFM_ATTENTION_CROSS),
        .weights_at = layer->shown.at,
    });
    tfm_op_linear(run, y, heads, &w->out, false, 0.0f, 0);
    tfm_run_release(run, mark);
}
