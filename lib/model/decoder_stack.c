/* The decoder (3.1): N layers of masked self-attention, attention on the encoder's output, and feed-forward. */
#include "model/layers.h"

/* extra: pre-norm LN(x), post-norm the last sum. */
typedef struct buffers {
    tfm_value *attended, *sum, *normed, *crossed, *sum2, *normed2, *fed, *extra;
} buffers;

static void pre_norm(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                     const buffers *b)
{
    const tfm_decoder_layer *w = &layer->t->weights->decoder[layer->index];
    const uint32_t site = TFM_SITE_DECODER + layer->index * TFM_SITES;
    const float rate = layer->t->rates.residual;

    tfm_op_add_norm(run, x, b->extra, x, NULL, &w->attention.norm, 0.0f, 0);
    tfm_self_attention(run, b->attended, b->extra, layer, &w->attention, true);
    tfm_op_add_norm(run, b->sum, b->normed, x, b->attended, &w->cross.norm, rate, site + TFM_SITE_ATTENTION);
    tfm_cross_attention(run, b->crossed, b->normed, memory, layer, &w->cross);
    tfm_op_add_norm(run, b->sum2, b->normed2, b->sum, b->crossed, &w->feedforward.norm, rate, site + TFM_SITE_CROSS);
    tfm_feedforward(run, b->fed, b->normed2, layer, &w->feedforward, true);
    tfm_op_add_norm(run, y, NULL, b->sum2, b->fed, NULL, rate, site + TFM_SITE_FEEDFORWARD);
}

static void post_norm(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                      const buffers *b)
{
    const tfm_decoder_layer *w = &layer->t->weights->decoder[layer->index];
    const uint32_t site = TFM_SITE_DECODER + layer->index * TFM_SITES;
    const float rate = layer->t->rates.residual;

    tfm_self_attention(run, b->attended, x, layer, &w->attention, true);
    tfm_op_add_norm(run, b->sum, b->normed, x, b->attended, &w->attention.norm, rate, site + TFM_SITE_ATTENTION);
    tfm_cross_attention(run, b->crossed, b->normed, memory, layer, &w->cross);
    tfm_op_add_norm(run, b->sum2, b->normed2, b->normed, b->crossed, &w->cross.norm, rate, site + TFM_SITE_CROSS);
    tfm_feedforward(run, b->fed, b->normed2, layer, &w->feedforward, true);
    tfm_op_add_norm(run, b->extra, y, b->normed2, b->fed, &w->feedforward.norm, rate, site + TFM_SITE_FEEDFORWARD);
}

static void decoder_layer(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context)
{
    const tfm_layer *layer = context;
    const tfm_mark mark = tfm_run_mark(run);
    const bool pre = layer->t->weights->options.norm_order == TFM_PRE_NORM;
    tfm_value *v[5];

    for (int i = 0; i < 5; i++) v[i] = tfm_value_new(run, x->rows, x->cols);
    const buffers b = {
        .attended = v[0], .sum = tfm_value_over(run, v[0]), .normed = v[1],
        .crossed = v[2], .sum2 = tfm_value_over(run, v[2]), .normed2 = v[3],
        .fed = v[4], .extra = pre ? tfm_value_new(run, x->rows, x->cols) : tfm_value_over(run, v[4]),
    };
    if (pre) pre_norm(run, y, x, memory, layer, &b);
    else post_norm(run, y, x, memory, layer, &b);
    tfm_run_release(run, mark);
}

void tfm_decoder_stack(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer)
{
    const tfm_weights *w = layer->t->weights;
    const tfm_norm *final = w->options.norm_order == TFM_PRE_NORM ? &w->decoder_norm : NULL;

    tfm_stack_run(run, y, x, memory, layer, decoder_layer, w->options.n_decoder_layers, final);
}
