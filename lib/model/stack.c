/* Layers one after the other, whichever stack they are of (3.1). */
#include "model/layers.h"

/* A layer is done with x before it writes its output: without a tape all but the last work in place. */
void tfm_stack_run(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const tfm_layer *layer,
                   tfm_layer_fn *fn, uint32_t n, const tfm_norm *final)
{
    tfm_layer l = *layer;

    for (uint32_t i = 0; i < n; i++) {
        tfm_value *out = i + 1 == n && !final ? y : run->recording ? tfm_value_new(run, x->rows, x->cols) : x;
        l.index = i;
        tfm_run_layer(run, fn, out, x, memory, &l, sizeof l, layer->t->rates.recompute);
        x = out;
    }
    if (final) tfm_op_add_norm(run, x, y, x, NULL, final, 0.0f, 0);
}
