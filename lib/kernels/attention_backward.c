/*
 * Gradients of one head of attention, PAPER 1.1. The weights are made again from queries, keys and what the forward
 * pass kept of each row (Dao et al. 2022); a short sequence's weights and their gradient stay in L1 for all of their
 * uses.
 */
#include "kernels/attention_block.h"

/* out . d_out of a row, which is also the sum of its weights times their gradients. */
static float dot(const float *x, const float *y, size_t n)
{
    v8 sum = splat(0.0f);
    float rest = 0.0f;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) sum += LOAD(x + i) * LOAD(y + i);
    for (; i < n; i++) rest += x[i] * y[i];
    return lanes_sum(&sum) + rest;
}

/*
 * Scores become the dropped weights p, and d_weights the gradient of the scores: p (d_weights - dot) scale. keep: the
 * row's mask of dropout, or NULL. edge: a hidden key has exact zeros, even where the row, or the key, is NaN.
 */
INLINE void gradient_row(const tfm_head *h, float *p, float *ds, const float *keep, size_t i, const row_mask *m,
                         size_t cols, float out_d_out)
{
    const float max = h->stats[2 * i], inverse = h->stats[2 * i + 1];
    const v8 zero = splat(0.0f), shift = splat(max == -INFINITY ? 0.0f : max);

    for (size_t c = 0; c < cols; c += 8) {
        v8 x = LOAD(p + c), kept = splat(1.0f);
        hide(&x, m, c);
        x -= shift;
        exp_v8(&x);
        const i8 hidden = x == zero;
        x = SELECT(hidden, zero, x * splat(inverse));
        if (keep) kept = LOAD(keep + c);
        STORE(p + c, x * kept);
        STORE(ds + c, SELECT(hidden, zero, x * (LOAD(ds + c) * kept - splat(out_d_out)) * splat(h->scale)));
    }
}

/* p = dropped weights, ds = gradient of the scores of a block. */
static void gradient_block(const work *w, const float *out_d_out, size_t i, size_t rows, size_t j, size_t cols)
{
    const tfm_head *h = w->h;
    const float *keep = h->dropout.threshold ? w->keep : NULL;
    const small_product d_weights = {.c = w->ds,
                                     .ldc = w->width,
                                     .a = h->d_out + i * h->out_stride,
                                     .a_row = h->out_stride,
                                     .a_col = 1,
                                     .b = w->vt + (j - w->keys.begin) * h->d_v,
                                     .ldb = w->width,
                                     .m = rows,
                                     .n = cols,
                                     .k = h->d_v};

    row_mask m = mask_of(h, i, j);

    block_scores(w, w->p, i, rows, j, cols);
    product(&d_weights, false);
    if (keep) {
        for (size_t c = 0; c < rows * w->width; c += 8) STORE(w->keep + c, splat(1.0f));
        drop_block(w, w->keep, i, rows, j, cols);
    }
    for (size_t r = 0, at = 0; r < rows; r++, at += w->width) {
        if (hides(h)) m = mask_of(h, i + r, j);
        gradient_row(h, w->p + at, w->ds + at, keep ? keep + at : NULL, i + r, &m, cols, out_d_out[r]);
    }
}

/* A block of queries: its rows of q and d_out, as they stand or copied, and where its dq is made. */
typedef struct queries {
    size_t i, rows;
    source q, d_out;
    target dq;
    bool sparse_q, sparse_d_out;
    float out_d_out[QUERIES];
} queries;

static source query_rows(const work *w, target copy, const float *from, size_t stride, size_t rows, size_t cols)
{
    if (usable(w, cols)) return (source){from, stride, NULL};
    copy_padded(copy.at, copy.width, from, stride, NULL, rows, cols);
    return (source){copy.at, copy.width, NULL};
}

static void begin_queries(queries *x, const work *w, size_t i, size_t rows)
{
    const tfm_head *h = w->h;
    const float *out = h->out + i * h->out_stride, *d_out = h->d_out + i * h->out_stride;
    const bool check = hides(h);

    x->i = i;
    x->rows = rows;
    x->q = query_rows(w, w->copy_q, h->q + i * h->q_stride, h->q_stride, rows, h->d_k);
    x->d_out = query_rows(w, w->copy_d_out, d_out, h->out_stride, rows, h->d_v);
    x->dq = usable(w, h->d_k) ? (target){h->dq + i * h->q_stride, h->q_stride} : w->dq;
    x->sparse_q = check && !all_finite(x->q.at, x->q.width, NULL, rows, h->d_k);
    x->sparse_d_out = check && !all_finite(x->d_out.at, x->d_out.width, NULL, rows, h->d_v);
    for (size_t r = 0; r < rows; r++) x->out_d_out[r] = dot(out + r * h->out_stride, d_out + r * h->out_stride, h->d_v);
}

/* dq += ds k, dk += ds^T q, dv += p^T d_out for keys j .. j + n; where fresh, what is there is overwritten. */
static void add_gradients(const work *w, const queries *x, size_t j, size_t n, bool fresh_dq, bool fresh_keys)
{
    const size_t key = j - w->keys.begin, wk = pad8(w->h->d_k), wv = pad8(w->h->d_v);
    const small_product dq = {.c = x->dq.at,
                              .ldc = x->dq.width,
                              .a = w->ds,
                              .a_row = w->width,
                              .a_col = 1,
                              .b = w->k.at + key * w->k.width,
                              .ldb = w->k.width,
                              .m = x->rows,
                              .n = wk,
                              .k = n,
                              .add = !fresh_dq};
    const small_product dk = {.c = w->dk.at + key * w->dk.width,
                              .ldc = w->dk.width,
                              .a = w->ds,
                              .a_row = 1,
                              .a_col = w->width,
                              .b = x->q.at,
                              .ldb = x->q.width,
                              .m = n,
                              .n = wk,
                              .k = x->rows,
                              .add = !fresh_keys};
    const small_product dv = {.c = w->dv.at + key * w->dv.width,
                              .ldc = w->dv.width,
                              .a = w->p,
                              .a_row = 1,
                              .a_col = w->width,
                              .b = x->d_out.at,
                              .ldb = x->d_out.width,
                              .m = n,
                              .n = wv,
                              .k = x->rows,
                              .add = !fresh_keys};

    product(&dq, w->sparse);
    product(&dk, x->sparse_q);
    product(&dv, x->sparse_d_out);
}

static void copy_rows(float *to, size_t stride, target from, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) memcpy(to + r * stride, from.at + r * from.width, cols * sizeof *to);
}

/* fresh: dk and dv hold nothing yet, and all keys are seen. */
static void backward_block(const work *w, size_t i, size_t rows, range seen, bool fresh)
{
    const tfm_head *h = w->h;
    queries x;

    begin_queries(&x, w, i, rows);
    if (seen.begin >= seen.end) zero_rows(x.dq.at, x.dq.width, rows, pad8(h->d_k));
    for (size_t j = seen.begin; j < seen.end; j += KEYS) {
        const size_t n = at_most(seen.end - j, KEYS);
        gradient_block(w, x.out_d_out, i, rows, j, pad8(n));
        add_gradients(w, &x, j, n, j == seen.begin, fresh);
    }
    if (!usable(w, h->d_k)) copy_rows(h->dq + i * h->q_stride, h->q_stride, x.dq, rows, h->d_k);
}

/* Where the gradient of keys or values is made. Keys that no query sees get their zeros at once. */
static target gradient_rows(const work *w, target scratch, float *to, size_t stride, size_t cols)
{
    const range keys = w->keys;

    zero_rows(to, stride, keys.begin, cols);
    zero_rows(to + keys.end * stride, stride, w->h->n - keys.end, cols);
    return usable(w, cols) ? (target){to + keys.begin * stride, stride} : scratch;
}

void TWIN(tfm_attention_head_backward)(const tfm_head *h, float *scratch)
{
    work w = begin_work(h, scratch, true);
    const size_t keys = w.keys.end - w.keys.begin;

    turn_keys(&w, w.vt, h->v, h->v_stride, h->d_v, 1.0f);
    w.k = key_rows(&w, w.copy_k, h->k, h->k_stride, h->d_k);
    w.sparse = hides(h) && !all_finite(w.k.at, w.k.width, w.k.index, keys, h->d_k);
    w.dk = gradient_rows(&w, w.dk, h->dk, h->k_stride, h->d_k);
    w.dv = gradient_rows(&w, w.dv, h->dv, h->v_stride, h->d_v);
    for (size_t i = 0; i < h->m; i += QUERIES) {
        const size_t rows = at_most(h->m - i, QUERIES);
        const range seen = visible_block(h, i, rows);
        const bool fresh = !i && seen.begin == w.keys.begin && seen.end == w.keys.end;

        if (!i && !fresh) {
            zero_rows(w.dk.at, w.dk.width, keys, pad8(h->d_k));
            zero_rows(w.dv.at, w.dv.width, keys, pad8(h->d_v));
        }
        backward_block(&w, i, rows, seen, fresh);
    }
    if (!usable(&w, h->d_k)) copy_rows(h->dk + w.keys.begin * h->k_stride, h->k_stride, w.dk, keys, h->d_k);
    if (!usable(&w, h->d_v)) copy_rows(h->dv + w.keys.begin * h->v_stride, h->v_stride, w.dv, keys, h->d_v);
}
