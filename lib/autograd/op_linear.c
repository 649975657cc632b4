/* y = x W^T + b, and with ReLU and dropout the inner half of the feed-forward network (3.3). */
#include "autograd/ops.h"
#include "kernels/gemm.h"

#include <assert.h>

typedef struct linear_args {
    tfm_value *x, *y;
    const tfm_linear *w;
    bool relu;
    float scale; /* of the kept elements */
} linear_args;

typedef struct rows_args {
    const tfm_run *run;
    float *dy;
    const float *y;
    float *db;
    size_t rows, cols;
    float scale;
} rows_args;

static void relu_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const rows_args *a = args;
    (void)thread;
    a->run->kernels->relu_backward(a->dy + begin * a->cols, a->y + begin * a->cols, (end - begin) * a->cols, a->scale);
}

/* Columns begin .. end of db += sum of the rows of dy, from the first row to the last. */
static void bias_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const rows_args *a = args;
    (void)thread;
    a->run->kernels->add_rows(a->db + begin, a->dy + begin, a->cols, a->rows, end - begin);
}

/* dx += dy W, dW += dy^T x, db += column sums of dy. */
static void linear_backward(tfm_run *run, const void *args)
{
    const linear_args *a = args;
    const tfm_linear *w = a->w;
    const size_t rows = a->x->rows;
    bool fresh;
    float *dy = a->y->grad, *dx = tfm_grad_take(run, a->x, &fresh);
    const rows_args r = {run, dy, a->y->data, w->d_bias, rows, w->out, a->scale};

    if (a->relu) tfm_run_rows(run, relu_rows, &r, rows, 64);
    tfm_run_product(run, &(tfm_gemm){
        .m = rows, .n = w->in, .k = w->out,
        .a = dy, .a_row = w->out, .a_col = 1, .b = w->weight, .b_row = w->in, .b_col = 1,
        .c = dx, .c_row = w->in, .add = !fresh,
    });
    tfm_run_product(run, &(tfm_gemm){
        .m = w->out, .n = w->in, .k = rows,
        .a = dy, .a_row = 1, .a_col = w->out, .b = a->x->data, .b_row = w->in, .b_col = 1,
        .c = w->d_weight, .c_row = w->in, .add = true,
    });
    if (w->d_bias) tfm_run_rows(run, bias_columns, &r, w->out, 64);
    tfm_grad_release(run, a->y);
}

/* Rows of activations for an int8 product, each with its scale. */
typedef struct quantised {
    const tfm_kernels *kernels;
    const float *x;
    size_t k, row; /* floats of x, bytes of values */
    int8_t *values;
    float *scale;
} quantised;

static void quantise_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const quantised *q = args;
    (void)thread;
    for (size_t r = begin; r < end; r++)
        q->kernels->i8_quantize(q->values + r * q->row, q->scale + r, q->x + r * q->k, q->k, q->kernels->i8_offset);
}

static void int8_product(tfm_run *run, tfm_gemm *gemm)
{
    const size_t used = run->arena.used, row = (gemm->k + TFM_I8_DEPTH - 1) / TFM_I8_DEPTH * TFM_I8_DEPTH;
    const quantised q = {run->kernels, gemm->a, gemm->k, row, tfm_arena_take(&run->arena, gemm->m, row),
                         tfm_arena_floats(&run->arena, gemm->m, 1)};

    tfm_run_rows(run, quantise_rows, &q, gemm->m, 8);
    gemm->a8 = q.values;
    gemm->a_scale = q.scale;
    tfm_run_product(run, gemm);
    run->arena.used = used;
}

void tfm_linear_product(tfm_run *run, float *y, const float *x, size_t rows, const tfm_linear *w, bool relu,
                        const tfm_dropout *dropout)
{
    tfm_gemm gemm = {
        .m = rows, .n = w->out, .k = w->in,
        .a = x, .a_row = w->in, .a_col = 1, .b = w->weight, .b_row = 1, .b_col = w->in, .panels = w->panels,
        .c = y, .c_row = w->out,
        .bias = w->bias, .relu = relu, .dropout = dropout,
    };

    if (w->panels && w->panels->dtype == TFM_DTYPE_INT8) int8_product(run, &gemm);
    else tfm_run_product(run, &gemm);
}

void tfm_op_linear(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_linear *w, bool relu, float rate, uint32_t site)
{
    tfm_run_enter(run, TFM_WORK_LINEAR, 2.0 * (double)x->rows * (double)w->in * (double)w->out);
    assert(relu || rate == 0.0f); /* the backward pass tells what was dropped by its zeros */
    const tfm_dropout dropout = tfm_run_dropout(run, rate, site);
    const linear_args args = {x, y, w, relu, dropout.scale};

    tfm_linear_product(run, y->data, x->data, x->rows, w, relu, dropout.threshold ? &dropout : NULL);
    tfm_run_record(run, linear_backward, &args, sizeof args);
}
