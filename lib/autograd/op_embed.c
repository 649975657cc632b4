/* Embedding and position: scale E[id] + PE(pos), then dropout (3.4, 3.5, 5.4). */
#include "autograd/ops.h"

enum { PIECE = 32, COLUMNS = 64 };

typedef struct embed_args {
    tfm_embed e;
    tfm_value *y;
    tfm_dropout dropout;
} embed_args;

typedef struct pass {
    const embed_args *a;
    const tfm_run *run;
} pass;

static const float *embedding(const pass *p, size_t id, size_t thread)
{
    const tfm_embed *e = &p->a->e;
    float *row = tfm_run_scratch(p->run, thread);

    if (!e->panels) return e->table + id * e->d;
    tfm_panels_row(row, e->panels, p->run->kernels, id);
    return row;
}

static void forward_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const embed_args *a = p->a;
    const size_t d = a->e.d;

    for (size_t r = begin; r < end; r++) {
        float *y = a->y->data + r * d;
        memcpy(y, a->e.position + a->e.positions[r] * d, d * sizeof *y);
        if (a->e.ids[r] >= 0) p->run->kernels->axpby(y, a->e.scale, embedding(p, (size_t)a->e.ids[r], thread), 1.0f, d);
        p->run->kernels->dropout(y, y, d, &a->dropout, (uint32_t)r, 0);
    }
}

/*
 * An id may stand in many rows: each thread owns columns and goes through the rows in order. Columns begin at groups of
 * the masks.
 */
static void scatter_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const embed_args *a = p->a;
    const size_t d = a->e.d, n = end - begin;
    (void)thread;

    for (size_t r = 0; r < a->y->rows; r++) {
        float *dy = a->y->grad + r * d + begin;
        if (a->dropout.threshold) p->run->kernels->dropout(dy, dy, n, &a->dropout, (uint32_t)r, begin);
        if (a->e.ids[r] >= 0)
            p->run->kernels->axpby(a->e.d_table + (size_t)a->e.ids[r] * d + begin, a->e.scale, dy, 1.0f, n);
        if (a->e.d_position) p->run->kernels->add(a->e.d_position + a->e.positions[r] * d + begin, dy, n);
    }
}

static void embed_backward(tfm_run *run, const void *args)
{
    const embed_args *a = args;
    const pass p = {a, run};

    tfm_run_rows(run, scatter_columns, &p, a->e.d, COLUMNS);
    tfm_grad_release(run, a->y);
}

void tfm_op_embed(tfm_run *run, tfm_value *y, const tfm_embed *embed)
{
    const embed_args args = {*embed, y, tfm_run_dropout(run, embed->rate, embed->site)};
    const pass p = {&args, run};

    tfm_run_enter(run, TFM_WORK_EMBED, 0.0);
    tfm_run_rows(run, forward_rows, &p, y->rows, PIECE);
    tfm_run_record(run, embed_backward, &args, sizeof args);
}
