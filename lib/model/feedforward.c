/* The position-wise feed-forward network (3.3). */
#include "model/layers.h"

void tfm_feedforward(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_layer *layer, const tfm_feedforward_layer *w,
                     bool decoder)
{
    const uint32_t activation = layer->t->weights->options.activation;
    const bool relu = activation == TFM_ACTIVATION_RELU;
    const float rate = layer->t->rates.relu;
    const uint32_t site = (decoder ? TFM_SITE_DECODER : 0) + layer->index * TFM_SITES + TFM_SITE_RELU;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *inner = tfm_value_new(run, x->rows, w->inner.out), *product = inner;

    if (!relu && run->recording) product = tfm_value_new(run, x->rows, w->inner.out);
    tfm_op_linear(run, product, x, &w->inner, relu, relu ? rate : 0.0f, site);
    if (!relu) tfm_op_activate(run, inner, product, activation, rate, site);
    tfm_op_linear(run, y, inner, &w->outer, false, 0.0f, 0);
    tfm_run_release(run, mark);
}
