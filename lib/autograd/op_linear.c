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

/* a as the int8 product takes it, at the end of the arena. */
static void quantise(tfm_run *run, tfm_gemm *gemm)
{
    const size_t row = (gemm->k + TFM_I8_DEPTH - 1) / TFM_I8_DEPTH * TFM_I8_DEPTH;
    const quantised q = {run->kernels, gemm->a, gemm->k, row, tfm_arena_take(&run->arena, gemm->m, row),
                         tfm_arena_floats(&run->arena, gemm->m, 1)};

    tfm_run_rows(run, quantise_rows, &q, gemm->m, 8);
    gemm->a8 = q.values;
    gemm->a_scale = q.scale;
}

static bool is_int8(const tfm_linear *w)
{
    return w->panels && w->panels->dtype == TFM_DTYPE_INT8;
}

void tfm_linear_product(tfm_run *run, float *y, const float *x, size_t rows, const tfm_linear *w, bool relu,
                        const tfm_dropout *dropout)
{
    const size_t used = run->arena.used;
    tfm_gemm gemm = {
        .m = rows, .n = w->out, .k = w->in,
        .a = x, .a_row = w->in, .a_col = 1, .b = w->weight, .b_row = 1, .b_col = w->in, .panels = w->panels,
        .c = y, .c_row = w->out,
        .bias = w->bias, .relu = relu, .dropout = dropout,
    };

    if (is_int8(w)) quantise(run, &gemm);
    tfm_run_product(run, &gemm);
    run->arena.used = used;
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

/* ---------------------------------------------------------------------------------------------------- strips ---- */

enum { STRIP_FLOATS = 1 << 17, STRIP_ROWS = 128 }; /* half a megabyte: the second cache of a core */

typedef struct strip_job {
    tfm_strip strip;
    tfm_strip_fn *use;
    const void *args;
} strip_job;

static void use_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const strip_job *job = args;
    (void)thread;
    job->use(job->args, &job->strip, begin, end);
}

/* The strip's columns of all rows, a block of rows at a time. */
static void run_strip(tfm_run *run, const tfm_gemm *columns, strip_job *job)
{
    const size_t a8_row = (columns->k + TFM_I8_DEPTH - 1) / TFM_I8_DEPTH * TFM_I8_DEPTH;
    tfm_strip *s = &job->strip;
    tfm_gemm g = *columns;

    for (s->first_row = 0; s->first_row < columns->m; s->first_row += g.m) {
        g.m = columns->m - s->first_row < STRIP_ROWS ? columns->m - s->first_row : STRIP_ROWS;
        g.a = columns->a + s->first_row * columns->a_row;
        if (columns->a8) g.a8 = columns->a8 + s->first_row * a8_row, g.a_scale = columns->a_scale + s->first_row;
        tfm_run_enter(run, TFM_WORK_LINEAR, 2.0 * (double)g.m * (double)g.n * (double)g.k);
        tfm_run_product(run, &g);
        tfm_run_enter(run, TFM_WORK_CHOICE, 0.0);
        tfm_run_rows(run, use_rows, job, g.m, 1 + 8 * TFM_STRIP_UNIT / s->cols);
    }
}

void tfm_op_linear_strips(tfm_run *run, tfm_value *x, const tfm_linear *w, tfm_strip_fn *use, const void *args)
{
    const size_t used = run->arena.used, rows = x->rows < STRIP_ROWS ? x->rows : STRIP_ROWS;
    const size_t fit = STRIP_FLOATS / TFM_STRIP_UNIT / rows * TFM_STRIP_UNIT, most = w->out < fit ? w->out : fit;
    tfm_gemm gemm = {
        .m = x->rows, .k = w->in, .a = x->data, .a_row = w->in, .a_col = 1, .b_row = 1, .b_col = w->in,
        .panels = w->panels, .c = tfm_arena_floats(&run->arena, STRIP_FLOATS, 1),
    };
    strip_job job = {.strip.y = gemm.c, .use = use, .args = args};

    if (is_int8(w)) quantise(run, &gemm);
    for (; gemm.first < w->out; gemm.first += most) {
        gemm.n = gemm.c_row = w->out - gemm.first < most ? w->out - gemm.first : most;
        gemm.b = w->weight ? w->weight + gemm.first * w->in : NULL;
        gemm.bias = w->bias ? w->bias + gemm.first : NULL;
        job.strip.first_col = gemm.first;
        job.strip.cols = gemm.n;
        run_strip(run, &gemm, &job);
    }
    run->arena.used = used;
}
