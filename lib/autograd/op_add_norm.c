/* The sub-layer connection: residual, dropout and layer normalisation in one pass (3.1, 5.4; PAPER 1.4). */
#include "autograd/ops.h"

enum { PIECE = 32 };

typedef struct norm_args {
    tfm_value *sum, *y, *x, *s;
    const tfm_norm *norm;
    float *stats; /* [rows][2]: mean, 1 / sqrt(var + eps) */
    tfm_dropout dropout;
} norm_args;

typedef struct pass {
    const norm_args *a;
    const tfm_kernels *kernels;
    float *d_sum, *dx, *ds;
    bool x_fresh, sum_fresh;
} pass;

static void forward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const norm_args *a = p->a;
    const size_t d = a->x->cols;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *sum = a->sum->data + r * d;
        if (a->s) p->kernels->add_dropped(sum, a->x->data + r * d, a->s->data + r * d, d, &a->dropout, (uint32_t)r);
        if (a->y)
            p->kernels->layer_norm(a->y->data + r * d, a->stats + 2 * r, sum, a->norm->gamma, a->norm->beta, d, a->norm->eps);
    }
}

/* d_sum (+)= LN backward of dy; then dx (+)= d_sum and ds = mask d_sum. */
static void backward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const norm_args *a = p->a;
    const size_t d = a->x->cols;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *d_sum = p->d_sum + r * d;

        if (a->y) {
            float *dy = a->y->grad + r * d;
            p->kernels->layer_norm_backward(dy, dy, a->sum->data + r * d, a->stats + 2 * r, a->norm->gamma, d);
            if (p->sum_fresh) memcpy(d_sum, dy, d * sizeof *dy);
            else p->kernels->add(d_sum, dy, d);
        }
        if (!a->s) continue;
        if (p->x_fresh) memcpy(p->dx + r * d, d_sum, d * sizeof *d_sum);
        else p->kernels->add(p->dx + r * d, d_sum, d);
        p->kernels->dropout(p->ds + r * d, d_sum, d, &a->dropout, (uint32_t)r, 0);
    }
}

/* d_gamma += sum over rows of dy xhat, d_beta += sum of dy: columns begin .. end, rows in order. */
static void parameter_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const norm_args *a = ((const pass *)args)->a;
    const size_t d = a->norm->d;
    (void)thread;

    for (size_t r = 0; r < a->y->rows; r++) {
        const float *dy = a->y->grad + r * d, *sum = a->sum->data + r * d;
        const float mean = a->stats[2 * r], rstd = a->stats[2 * r + 1];
        for (size_t c = begin; c < end; c++) {
            a->norm->d_gamma[c] += dy[c] * ((sum[c] - mean) * rstd);
            a->norm->d_beta[c] += dy[c];
        }
    }
}

static void add_norm_backward(tfm_run *run, const void *args)
{
    const norm_args *a = args;
    pass p = {.a = a, .kernels = run->kernels};
    bool fresh;

    p.d_sum = tfm_grad_take(run, a->sum, &p.sum_fresh);
    if (a->s) {
        p.dx = tfm_grad_take(run, a->x, &p.x_fresh);
        p.ds = tfm_grad_take(run, a->s, &fresh); /* its only consumer is here */
    }
    if (a->y) tfm_run_rows(run, parameter_columns, &p, a->norm->d, 16);
    tfm_run_rows(run, backward_rows, &p, a->x->rows, PIECE);
    if (a->s) tfm_grad_release(run, a->sum);
    if (a->y) tfm_grad_release(run, a->y);
}

void tfm_op_add_norm(tfm_run *run, tfm_value *sum, tfm_value *y, tfm_value *x, tfm_value *s, const tfm_norm *norm,
                     float rate, uint32_t site)
{
    const norm_args args = {sum, y, x, s, norm, y ? tfm_arena_floats(&run->arena, x->rows, 2) : NULL,
                            tfm_run_dropout(run, rate, site)};
    const pass p = {.a = &args, .kernels = run->kernels};

    tfm_run_enter(run, TFM_WORK_ADD_NORM, 0.0);
    tfm_run_rows(run, forward_rows, &p, x->rows, PIECE);
    tfm_run_record(run, add_norm_backward, &args, sizeof args);
}
