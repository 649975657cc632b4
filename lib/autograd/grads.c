/*
 * Gradient buffers: where they lie while the tape is walked back. They stand on top of the arena, behind the values of
 * the forward pass; one that is given back leaves a gap, and the next one takes the smallest gap that it fits in.
 */
#include "autograd/run.h"

#include <stdint.h>

static size_t bytes_of(const tfm_value *v)
{
    return (v->rows * v->cols * sizeof(float) + TFM_ALIGN - 1) & ~(size_t)(TFM_ALIGN - 1); /* checked when v was made */
}

static uintptr_t top(const tfm_run *run)
{
    return (run->arena.base ? (uintptr_t)run->arena.base : (uintptr_t)TFM_ALIGN) + run->arena.used;
}

static uintptr_t end_of(const tfm_gap *gap)
{
    return (uintptr_t)gap->start + gap->bytes;
}

static void remove_gap(tfm_run *run, size_t i)
{
    memmove(run->gaps + i, run->gaps + i + 1, (--run->n_gaps - i) * sizeof *run->gaps);
}

/* The smallest gap of at least this size, the first of equal ones; n_gaps: none. */
static size_t best_gap(const tfm_run *run, size_t bytes)
{
    size_t best = run->n_gaps;

    for (size_t i = 0; i < run->n_gaps; i++)
        if (run->gaps[i].bytes >= bytes && (best == run->n_gaps || run->gaps[i].bytes < run->gaps[best].bytes))
            best = i;
    return best;
}

float *tfm_grad_take(tfm_run *run, tfm_value *v, bool *fresh)
{
    const size_t bytes = bytes_of(v), i = best_gap(run, bytes);

    *fresh = !v->grad;
    if (v->grad) return v->grad;
    if (i == run->n_gaps) return v->grad = tfm_arena_floats(&run->arena, v->rows, v->cols);
    tfm_gap *gap = &run->gaps[i];
    v->grad = (float *)gap->start;
    gap->start += bytes;
    gap->bytes -= bytes;
    if (!gap->bytes) remove_gap(run, i);
    return v->grad;
}

void tfm_grad_move(tfm_value *to, tfm_value *from)
{
    to->grad = from->grad;
    from->grad = NULL;
}

typedef struct fill_args {
    float *data;
} fill_args;

static void zero_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const fill_args *a = args;
    (void)thread;
    memset(a->data + begin, 0, (end - begin) * sizeof *a->data);
}

float *tfm_grad_zeroed(tfm_run *run, tfm_value *v)
{
    bool fresh;
    float *grad = tfm_grad_take(run, v, &fresh);
    const fill_args args = {grad};

    if (fresh) tfm_run_rows(run, zero_rows, &args, v->rows * v->cols, 1 << 16);
    return grad;
}

/* A gap at the end of the arena is none: what comes next may lie there. */
static void trim(tfm_run *run)
{
    while (run->n_gaps && end_of(&run->gaps[run->n_gaps - 1]) >= top(run)) {
        const uintptr_t start = (uintptr_t)run->gaps[--run->n_gaps].start;
        if (start < top(run)) run->arena.used -= top(run) - start;
    }
}

/* Gaps are kept in the order of their places, and grow together where they touch. */
void tfm_grad_release(tfm_run *run, tfm_value *v)
{
    const tfm_gap gap = {(unsigned char *)v->grad, bytes_of(v)};
    size_t i = run->n_gaps;

    if (!v->grad || !gap.bytes) return;
    v->grad = NULL;
    if (!tfm_grow(&run->allocator, &run->gaps, &run->gap_capacity, run->n_gaps + 1, sizeof *run->gaps)) {
        run->bad = true;
        return;
    }
    while (i && (uintptr_t)run->gaps[i - 1].start > (uintptr_t)gap.start) i--;
    memmove(run->gaps + i + 1, run->gaps + i, (run->n_gaps++ - i) * sizeof *run->gaps);
    run->gaps[i] = gap;
    if (i + 1 < run->n_gaps && end_of(&run->gaps[i]) == (uintptr_t)run->gaps[i + 1].start) {
        run->gaps[i].bytes += run->gaps[i + 1].bytes;
        remove_gap(run, i + 1);
    }
    if (i && end_of(&run->gaps[i - 1]) == (uintptr_t)run->gaps[i].start) {
        run->gaps[i - 1].bytes += run->gaps[i].bytes;
        remove_gap(run, i);
    }
    trim(run);
}

void tfm_grads_cut(tfm_run *run, size_t used)
{
    run->arena.used = used;
    trim(run);
}
