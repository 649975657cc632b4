/* y = dropout(f(x)) for each element: the activations that no product does in passing, and dropout by itself. */
#include "autograd/ops.h"

enum { PIECE = 32 };

typedef struct activate_args {
    tfm_value *x, *y;
    uint32_t activation;
    tfm_dropout dropout;
    const tfm_kernels *kernels;
} activate_args;

static void forward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const activate_args *a = args;
    const size_t n = a->x->cols;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        const float *x = a->x->data + r * n;
        float *y = a->y->data + r * n;
        if (a->activation != TFM_NO_ACTIVATION) {
            a->kernels->activate(y, x, n, a->activation);
            x = y;
        }
        a->kernels->dropout(y, x, n, &a->dropout, (uint32_t)r, 0);
    }
}

static void backward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const activate_args *a = args;
    const size_t n = a->x->cols;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *dx = a->x->grad + r * n;
        a->kernels->dropout(dx, dx, n, &a->dropout, (uint32_t)r, 0);
        if (a->activation != TFM_NO_ACTIVATION) a->kernels->activate_backward(dx, a->x->data + r * n, n, a->activation);
    }
}

static void activate_backward(tfm_run *run, const void *args)
{
    const activate_args *a = args;

    tfm_grad_move(a->x, a->y);
    tfm_run_rows(run, backward_rows, a, a->x->rows, PIECE);
}

void tfm_op_activate(tfm_run *run, tfm_value *y, tfm_value *x, uint32_t activation, float rate, uint32_t site)
{
    const activate_args args = {x, y, activation, tfm_run_dropout(run, rate, site), run->kernels};

    tfm_run_enter(run, TFM_WORK_LINEAR, 0.0);
    tfm_run_rows(run, forward_rows, &args, x->rows, PIECE);
    tfm_run_record(run, activate_backward, &args, sizeof args);
}
