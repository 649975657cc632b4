/* The sub-layer connection: residual, dropout and layer normalisation in one pass (3.1, 5.4; PAPER 1.4). */
#include "autograd/ops.h"

enum { PIECE = 32 }; /* rows that a thread takes, and whose gradients of gamma and beta are summed at once */

typedef struct norm_args {
    tfm_value *sum, *y, *x, *s;
    const tfm_norm *norm;
    float *stats; /* [rows][2]: mean, 1 / sqrt(var + eps) */
    tfm_dropout dropout;
} norm_args;

typedef struct pass {
    const norm_args *a;
    const tfm_kernels *kernels;
    float *d_sum;   /* where the gradient of the sum is made: that of x, where it can be        */
    float *dx;      /* what it is added to besides, or NULL                                     */
    float *ds;
    bool add;       /* to what d_sum holds                                                      */
    float *partial; /* [pieces][2][d]: gradients of gamma and beta                              */
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
            p->kernels->layer_norm(a->y->data + r * d, a->stats + 2 * r, sum, a->norm->gamma, a->norm->beta, d,
                                   a->norm->eps);
    }
}

/* d_sum (+)= LN backward of dy; then dx += d_sum and ds = mask d_sum, while the row is at hand. */
static void backward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const norm_args *a = p->a;
    const tfm_kernels *kernels = p->kernels;
    const size_t d = a->x->cols;
    float *d_gamma = a->y ? p->partial + begin / PIECE * 2 * d : NULL;
    (void)thread;

    if (a->y) memset(d_gamma, 0, 2 * d * sizeof *d_gamma);
    for (size_t r = begin; r < end; r++) {
        float *d_sum = p->d_sum + r * d;

        if (a->y)
            kernels->layer_norm_backward(d_sum, p->add, a->y->grad + r * d, a->sum->data + r * d, a->stats + 2 * r,
                                         a->norm->gamma, d, d_gamma, d_gamma + d);
        if (p->dx) kernels->add(p->dx + r * d, d_sum, d);
        if (a->s) kernels->dropout(p->ds + r * d, d_sum, d, &a->dropout, (uint32_t)r, 0);
    }
}

/* Columns begin .. end of d_gamma and d_beta: the sums of the pieces, in order. */
static void parameter_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const tfm_norm *norm = p->a->norm;
    const size_t d = norm->d, pieces = (p->a->y->rows + PIECE - 1) / PIECE;
    (void)thread;

    for (size_t i = 0; i < pieces; i++) {
        const float *partial = p->partial + i * 2 * d;
        p->kernels->add(norm->d_gamma + begin, partial + begin, end - begin);
        p->kernels->add(norm->d_beta + begin, partial + d + begin, end - begin);
    }
}

/*
 * Where the gradient of x + s is made. It is that of x and, masked, of s: it is only copied where x has one from
 * elsewhere already.
 */
static void place_gradients(tfm_run *run, pass *p)
{
    const norm_args *a = p->a;
    bool fresh;

    if (!a->s) {
        p->d_sum = tfm_grad_take(run, a->x, &fresh);
        p->add = !fresh;
        return;
    }
    p->add = a->sum->grad;
    p->dx = a->x->grad;
    p->ds = tfm_grad_take(run, a->s, &fresh); /* its only consumer is here */
    if (p->dx) {
        p->d_sum = p->add ? a->sum->grad : p->ds;
        return;
    }
    if (p->add) tfm_grad_move(a->x, a->sum);
    p->d_sum = tfm_grad_take(run, a->x, &fresh);
}

static void add_norm_backward(tfm_run *run, const void *args)
{
    const norm_args *a = args;
    pass p = {.a = a, .kernels = run->kernels};

    place_gradients(run, &p);
    const size_t used = run->arena.used;
    if (a->y) p.partial = tfm_arena_floats(&run->arena, (a->y->rows + PIECE - 1) / PIECE, 2 * a->norm->d);
    tfm_run_rows(run, backward_rows, &p, a->x->rows, PIECE);
    if (a->y) tfm_run_rows(run, parameter_columns, &p, a->norm->d, 256);
    run->arena.used = used;
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
