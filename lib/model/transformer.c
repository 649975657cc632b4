/* The whole model: encoder, decoder, output, and the cache of incremental decoding. */
#include "model/layers.h"

void tfm_forward_encoder(tfm_run *run, tfm_value *memory, const tfm_transformer *t, const tfm_tokens *source)
{
    const tfm_layer layer = {.t = t, .source = source->segments};
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *x = tfm_value_new(run, memory->rows, memory->cols);

    tfm_embed_tokens(run, x, t, source, false);
    tfm_encoder_stack(run, memory, x, &layer);
    tfm_run_release(run, mark);
}

void tfm_forward_decoder(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_value *memory,
                         const tfm_segments *source, const tfm_tokens *target)
{
    tfm_forward_decoder_shown(run, hidden, t, memory, source, target, &(tfm_shown){.to = NULL});
}

void tfm_forward_decoder_shown(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_value *memory,
                               const tfm_segments *source, const tfm_tokens *target, const tfm_shown *shown)
{
    const tfm_layer layer = {.t = t, .source = *source, .target = target->segments, .shown = *shown};
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *x = tfm_value_new(run, hidden->rows, hidden->cols);

    tfm_embed_tokens(run, x, t, target, true);
    tfm_decoder_stack(run, hidden, x, memory, &layer);
    tfm_run_release(run, mark);
}

void tfm_forward_logits(tfm_run *run, const tfm_transformer *t, tfm_value *hidden, tfm_strip_fn *use, const void *args)
{
    tfm_op_linear_strips(run, hidden, &t->weights->output, use, args);
}

static size_t cache_width(const tfm_model_options *o)
{
    return (size_t)o->n_heads * o->d_k + (size_t)o->n_heads * o->d_v;
}

void tfm_cache_begin(tfm_run *run, tfm_cache *cache, const tfm_transformer *t, size_t self_rows, size_t cross_rows)
{
    const tfm_model_options *o = &t->weights->options;
    const size_t width = cache_width(o);

    for (uint32_t i = 0; i < o->n_decoder_layers; i++) {
        cache->self[i] = (tfm_value){tfm_arena_floats(&run->arena, self_rows, width), NULL, self_rows, width};
        cache->cross[i] = (tfm_value){tfm_arena_floats(&run->arena, cross_rows, width), NULL, cross_rows, width};
    }
}

static void put_row(tfm_value *cache, uint32_t row, const float *from)
{
    memcpy(cache->data + row * cache->cols, from, cache->cols * sizeof *from);
}

void tfm_cache_add(tfm_run *run, tfm_cache *cache, const tfm_transformer *t, tfm_value *memory, const uint32_t *rows)
{
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *kv = tfm_value_new(run, memory->rows, cache_width(&t->weights->options));

    for (uint32_t layer = 0; layer < t->weights->options.n_decoder_layers; layer++) {
        tfm_op_linear(run, kv, memory, &t->weights->decoder[layer].cross.kv, false, 0.0f, 0);
        for (size_t i = 0; !tfm_run_measuring(run) && i < kv->rows; i++)
            put_row(&cache->cross[layer], rows[i], kv->data + i * kv->cols);
    }
    tfm_run_release(run, mark);
}

tfm_value *tfm_cache_append(const tfm_run *run, const tfm_layer *layer, const tfm_value *qkv, size_t column)
{
    const tfm_step *step = layer->step;
    tfm_value *self = &layer->cache->self[layer->index];

    for (size_t i = 0; !tfm_run_measuring(run) && i < qkv->rows; i++)
        put_row(self, step->rows[step->self.offset[i + 1] - 1], qkv->data + i * qkv->cols + column);
    return self;
}

void tfm_forward_step(tfm_run *run, tfm_value *hidden, const tfm_transformer *t, tfm_cache *cache, const tfm_step *step)
{
    const tfm_layer layer = {.t = t, .cache = cache, .step = step, .target = step->queries, .shown = step->shown};
    const tfm_tokens tokens = {.ids = step->ids, .positions = step->positions};
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *x = tfm_value_new(run, hidden->rows, hidden->cols);

    tfm_embed_tokens(run, x, t, &tokens, true);
    tfm_decoder_stack(run, hidden, x, NULL, &layer);
    tfm_run_release(run, mark);
}

void tfm_forward_attention(tfm_run *run, const tfm_transformer *t, const tfm_tokens *source, const tfm_tokens *target,
                           uint32_t kind, uint32_t layer, float *to)
{
    const size_t d = t->weights->options.d_model, n = source->segments.offset[source->segments.n];
    const size_t m = kind == TFM_ATTENTION_ENCODER ? n : target->segments.offset[target->segments.n];
    const size_t cells = m * (kind == TFM_ATTENTION_DECODER ? m : n);
    const tfm_shown shown = {.kind = kind, .layer = layer, .to = to, .size = t->weights->options.n_heads * cells};
    const tfm_layer e = {.t = t, .source = source->segments, .shown = shown};
    tfm_value *x = tfm_value_new(run, n, d), *memory = tfm_value_new(run, n, d), *hidden;

    tfm_embed_tokens(run, x, t, source, false);
    tfm_encoder_stack(run, memory, x, &e);
    if (kind == TFM_ATTENTION_ENCODER) return;
    hidden = tfm_value_new(run, m, d);
    tfm_forward_decoder_shown(run, hidden, t, memory, &source->segments, target, &shown);
}
