/* Embedding and position: sqrt(d) E[id] + PE(pos), then dropout (3.4, 3.5, 5.4). */
#include "autograd/ops.h"

#include <math.h>

enum { PIECE = 32, COLUMNS = 16 };

typedef struct embed_args {
    tfm_embed e;
    tfm_value *y;
    float scale; /* sqrt(d) */
    tfm_dropout dropout;
} embed_args;

typedef struct pass {
    const embed_args *a;
    const tfm_kernels *kernels;
} pass;

static void forward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const embed_args *a = p->a;
    const size_t d = a->e.d;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *y = a->y->data + r * d;
        memcpy(y, a->e.position + a->e.positions[r] * d, d * sizeof *y);
        if (a->e.ids[r] >= 0) p->kernels->axpby(y, a->scale, a->e.table + (size_t)a->e.ids[r] * d, 1.0f, d);
        p->kernels->dropout(y, y, d, &a->dropout, (uint32_t)r, 0);
    }
}

static void unmask_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const size_t d = p->a->e.d;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *dy = p->a->y->grad + r * d;
        p->kernels->dropout(dy, dy, d, &p->a->dropout, (uint32_t)r, 0);
    }
}

/* An id may stand in many rows: each thread owns columns and goes through the rows in order. */
static void scatter_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const embed_args *a = ((const pass *)args)->a;
    const size_t d = a->e.d;
    (void)thread;

    for (size_t r = 0; r < a->y->rows; r++) {
        const float *dy = a->y->grad + r * d;
        if (a->e.ids[r] >= 0) {
            float *to = a->e.d_table + (size_t)a->e.ids[r] * d;
            for (size_t c = begin; c < end; c++) to[c] += a->scale * dy[c];
        }
        if (a->e.d_position) {
            float *to = a->e.d_position + a->e.positions[r] * d;
            for (size_t c = begin; c < end; c++) to[c] += dy[c];
        }
    }
}

static void embed_backward(tfm_run *run, const void *args)
{
    const embed_args *a = args;
    const pass p = {a, run->kernels};

    if (a->dropout.threshold) tfm_run_rows(run, unmask_rows, &p, a->y->rows, PIECE);
    tfm_run_rows(run, scatter_columns, &p, a->e.d, COLUMNS);
    tfm_grad_release(run, a->y);
}

void tfm_op_embed(tfm_run *run, tfm_value *y, const tfm_embed *embed)
{
    const embed_args args = {*embed, y, sqrtf((float)embed->d), tfm_run_dropout(run, embed->rate, embed->site)};
    const pass p = {&args, run->kernels};

    tfm_run_enter(run, TFM_WORK_EMBED, 0.0);
    tfm_run_rows(run, forward_rows, &p, y->rows, PIECE);
    tfm_run_record(run, embed_backward, &args, sizeof args);
}
