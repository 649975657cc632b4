/* The encoder (3.1): N layers of self-attention and feed-forward, each with its residual connection and norm. */
#include "model/layers.h"

/* Post-norm: LN(x + Sublayer(x)). Pre-norm: x + Sublayer(LN(x)). */
static void encoder_layer(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context)
{
    const tfm_layer *layer = context;
    const tfm_transformer *t = layer->t;
    const tfm_encoder_layer *w = &t->weights->encoder[layer->index];
    const size_t rows = x->rows, d = x->cols;
    const uint32_t site = layer->index * TFM_SITES;
    const float rate = t->rates.residual;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *attended = tfm_value_new(run, rows, d), *sum = tfm_value_over(run, attended);
    tfm_value *normed = tfm_value_new(run, rows, d), *fed = tfm_value_new(run, rows, d);
    (void)memory;

    if (t->weights->options.norm_order == TFM_PRE_NORM) {
        tfm_value *first = tfm_value_new(run, rows, d);
        tfm_op_add_norm(run, x, first, x, NULL, &w->attention.norm, 0.0f, 0);
        tfm_self_attention(run, attended, first, layer, &w->attention, false);
        tfm_op_add_norm(run, sum, normed, x, attended, &w->feedforward.norm, rate, site + TFM_SITE_ATTENTION);
        tfm_feedforward(run, fed, normed, layer, &w->feedforward, false);
        tfm_op_add_norm(run, y, NULL, sum, fed, NULL, rate, site + TFM_SITE_FEEDFORWARD);
    } else {
        tfm_value *sum2 = tfm_value_over(run, fed);
        tfm_self_attention(run, attended, x, layer, &w->attention, false);
        tfm_op_add_norm(run, sum, normed, x, attended, &w->attention.norm, rate, site + TFM_SITE_ATTENTION);
        tfm_feedforward(run, fed, normed, layer, &w->feedforward, false);
        tfm_op_add_norm(run, sum2, y, normed, fed, &w->feedforward.norm, rate, site + TFM_SITE_FEEDFORWARD);
    }
    tfm_run_release(run, mark);
}

void tfm_encoder_stack(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer)
{
    const tfm_weights *w = layer->t->weights;
    const tfm_norm *final = w->options.norm_order == TFM_PRE_NORM ? &w->encoder_norm : NULL;

    tfm_stack_run(run, y, x, NULL, layer, encoder_layer, w->options.n_encoder_layers, final);
}
