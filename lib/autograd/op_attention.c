/* Multi-head attention between packed sequences (3.2): every head of every sequence is a piece of work of its own. */
#include "autograd/ops.h"
#include "kernels/gemm.h"

#include <math.h>

typedef struct attend_args {
    tfm_attend t;
    tfm_value *y;
    float *stats; /* [n_heads][rows of q][2] */
    float *scratch;
    size_t scratch_size; /* floats per thread */
    tfm_dropout dropout;
} attend_args;

typedef struct pass {
    const attend_args *a;
    const tfm_kernels *kernels;
    bool backward;
} pass;

/* Each head of a sequence has masks of its own: those of its site at the sequence's first row. */
static tfm_dropout dropout_of(const attend_args *a, size_t first_query, size_t head)
{
    tfm_dropout d = a->dropout;

    d.site |= (uint32_t)head << 16;
    d.first_row += (uint32_t)first_query;
    return d;
}

static tfm_head head_of(const attend_args *a, size_t segment, size_t head)
{
    const tfm_attend *t = &a->t;
    const size_t q0 = t->queries.offset[segment], k0 = t->keys.offset[segment];
    const size_t key_row = t->key_rows ? 0 : k0;
    tfm_head h = {
        .q = t->q->data + q0 * t->q->cols + t->q_column + head * t->d_k,
        .k = t->kv->data + key_row * t->kv->cols + t->k_column + head * t->d_k,
        .v = t->kv->data + key_row * t->kv->cols + t->v_column + head * t->d_v,
        .q_stride = t->q->cols,
        .k_stride = t->kv->cols,
        .v_stride = t->kv->cols,
        .m = t->queries.offset[segment + 1] - q0,
        .n = t->keys.offset[segment + 1] - k0,
        .d_k = t->d_k,
        .d_v = t->d_v,
        .key_rows = t->key_rows ? t->key_rows + k0 : NULL,
        .scale = 1.0f / sqrtf((float)t->d_k),
        .dropout = dropout_of(a, q0, head),
        .out = a->y->data + q0 * a->y->cols + head * t->d_v,
        .out_stride = a->y->cols,
        .stats = a->stats ? a->stats + 2 * (head * a->y->rows + q0) : NULL,
    };
    h.causal = t->causal && h.m > 1; /* the last position sees all */
    if (t->weights) h.weights = t->weights + (t->weights_at ? t->weights_at[segment] : 0) + head * h.m * h.n;
    return h;
}

static void forward_heads(const void *args, size_t begin, size_t end, size_t thread)
{
    const pass *p = args;
    const attend_args *a = p->a;

    for (size_t i = begin; i < end; i++) {
        const size_t segment = i / a->t.n_heads, head = i % a->t.n_heads;
        tfm_head h = head_of(a, segment, head);
        float *scratch = a->scratch + thread * a->scratch_size;

        if (!p->backward) {
            p->kernels->attention(&h, scratch);
            continue;
        }
        h.d_out = a->y->grad + (h.out - a->y->data);
        h.dq = a->t.q->grad + (h.q - a->t.q->data);
        h.dk = a->t.kv->grad + (h.k - a->t.kv->data);
        h.dv = a->t.kv->grad + (h.v - a->t.kv->data);
        p->kernels->attention_backward(&h, scratch);
    }
}

static void reserve_scratch(tfm_run *run, attend_args *a, bool backward)
{
    const tfm_attend *t = &a->t;
    size_t n = 0;

    for (size_t s = 0; s < t->keys.n; s++) {
        const size_t keys = t->keys.offset[s + 1] - t->keys.offset[s];
        if (keys > n) n = keys;
    }
    if (!tfm_attention_scratch(&a->scratch_size, n, t->d_k, t->d_v, backward)) run->arena.bad = true;
    a->scratch = tfm_arena_floats(&run->arena, run->threads, a->scratch_size);
}

/* q and kv have no other consumer: their gradients are written, not added to. Heads cover all of their columns. */
static void attention_backward(tfm_run *run, const void *args)
{
    attend_args a = *(const attend_args *)args;
    const pass p = {&a, run->kernels, true};
    bool fresh;

    tfm_grad_take(run, a.t.q, &fresh);
    if (a.t.kv != a.t.q) tfm_grad_take(run, a.t.kv, &fresh);
    const size_t used = run->arena.used;
    reserve_scratch(run, &a, true);
    tfm_run_rows(run, forward_heads, &p, a.t.queries.n * a.t.n_heads, 1);
    run->arena.used = used;
    tfm_grad_release(run, a.y);
}

/* Scores and weighted values of all heads, hidden keys included (PAPER 3.2). */
static double count_flops(const tfm_attend *t)
{
    double pairs = 0.0;

    for (size_t s = 0; s < t->queries.n; s++)
        pairs += (double)(t->queries.offset[s + 1] - t->queries.offset[s]) *
                 (double)(t->keys.offset[s + 1] - t->keys.offset[s]);
    return 2.0 * pairs * (double)t->n_heads * (double)(t->d_k + t->d_v);
}

void tfm_op_attention(tfm_run *run, tfm_value *y, const tfm_attend *attend)
{
    attend_args args = {.t = *attend, .y = y, .dropout = tfm_run_dropout(run, attend->rate, attend->site)};
    const pass p = {&args, run->kernels, false};

    tfm_run_enter(run, TFM_WORK_ATTENTION, count_flops(attend));
    if (run->recording) args.stats = tfm_arena_floats(&run->arena, 2 * attend->n_heads, y->rows);
    const size_t used = run->arena.used;
    reserve_scratch(run, &args, false);
    tfm_run_rows(run, forward_heads, &p, attend->queries.n * attend->n_heads, 1);
    run->arena.used = used;
    tfm_run_record(run, attention_backward, &args, sizeof args);
}
