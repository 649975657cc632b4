/*
 * One head of scaled dot-product attention, eq. (1), with the softmax taken block by block (Milakov and Gimelshein
 * 2018): memory grows with n, never with m * n, unless the weights are asked for.
 *
 * A row's numbers do not depend on which other queries are there, nor on how many keys it cannot see: blocks of keys
 * begin at fixed places, and hidden keys add exact zeros, whatever they hold.
 */
#include "kernels/attention_few.h"

/* What a block's queries know so far: the largest score, the sum of exponentials, and out, not yet divided by it. */
typedef struct progress {
    float max[QUERIES], sum[QUERIES];
    target out;
} progress;

/* Hides what the row does not see; returns the largest score. cols is a multiple of 8. */
INLINE float mask_row(float *s, const row_mask *m, size_t cols)
{
    v8 max = splat(-INFINITY);

    for (size_t c = 0; c < cols; c += 8) {
        v8 x = LOAD(s + c);
        hide(&x, m, c);
        STORE(s + c, x);
        max = MAX(x, max);
    }
    return lanes_max(&max);
}

/* Row r's maximum and sum take in its scores of a block, which become exponentials. */
INLINE void absorb_row(const work *w, progress *so_far, size_t r, const row_mask *m, size_t cols, bool first)
{
    float *s = w->p + r * w->width, *out = so_far->out.at + r * so_far->out.width;

    absorb_scores(s, cols, mask_row(s, m, cols), first, &so_far->max[r], &so_far->sum[r], out, pad8(w->h->d_v));
}

/* The block's queries take in keys j .. j + n. */
static void absorb(const work *w, progress *so_far, size_t i, size_t rows, size_t j, size_t n, bool first)
{
    const tfm_head *h = w->h;
    const size_t cols = pad8(n), key = j - w->keys.begin;
    const small_product x = {.c = so_far->out.at,
                             .ldc = so_far->out.width,
                             .a = w->p,
                             .a_row = w->width,
                             .a_col = 1,
                             .b = w->v.at + (w->v.index ? 0 : key * w->v.width),
                             .ldb = w->v.width,
                             .index = w->v.index ? w->v.index + key : NULL,
                             .m = rows,
                             .n = pad8(h->d_v),
                             .k = n,
                             .add = !first};

    row_mask m = mask_of(h, i, j);

    block_scores(w, w->p, i, rows, j, cols);
    for (size_t r = 0; r < rows; r++) {
        if (hides(h)) m = mask_of(h, i + r, j);
        absorb_row(w, so_far, r, &m, cols, first);
    }
    if (h->dropout.threshold) drop_block(w, w->p, i, rows, j, cols);
    product(&x, w->sparse);
}

/* weights [rows][n], once the maximum of the whole row and the inverse of its sum are known. */
static void write_weights(const work *w, const progress *done, size_t i, size_t rows, range seen)
{
    const tfm_head *h = w->h;

    zero_rows(h->weights + i * h->n, h->n, rows, h->n);
    for (size_t j = seen.begin; j < seen.end; j += KEYS) {
        const size_t n = at_most(seen.end - j, KEYS);

        block_scores(w, w->p, i, rows, j, pad8(n));
        for (size_t r = 0; r < rows; r++) {
            float *s = w->p + r * w->width, *to = h->weights + (i + r) * h->n + j;
            const row_mask m = mask_of(h, i + r, j);
            mask_row(s, &m, pad8(n));
            exp_row(s, pad8(n), done->max[r]);
            for (size_t c = 0; c < n; c++) to[c] = s[c] == 0.0f ? 0.0f : s[c] * done->sum[r];
        }
    }
}

/* Divides by the sums, which become their inverse (0 where no key was seen), and puts the rows where they belong. */
static void finish(const work *w, progress *so_far, size_t i, size_t rows)
{
    const tfm_head *h = w->h;

    for (size_t r = 0; r < rows; r++) {
        float *row = so_far->out.at + r * so_far->out.width, *out = h->out + (i + r) * h->out_stride;

        if (so_far->sum[r] != 0.0f) so_far->sum[r] = 1.0f / so_far->sum[r]; /* NaN stays NaN */
        scale_row(row, pad8(h->d_v), so_far->sum[r]);
        if (row != out) memcpy(out, row, h->d_v * sizeof *out);
        if (h->stats) h->stats[2 * (i + r)] = so_far->max[r], h->stats[2 * (i + r) + 1] = so_far->sum[r];
    }
}

static void forward_block(const work *w, size_t i, size_t rows)
{
    const tfm_head *h = w->h;
    const range seen = visible_block(h, i, rows);
    progress p = {.out = w->out};

    if (usable(w, h->d_v)) p.out = (target){h->out + i * h->out_stride, h->out_stride};
    if (seen.begin >= seen.end) {
        for (size_t r = 0; r < rows; r++) p.max[r] = -INFINITY, p.sum[r] = 0.0f;
        zero_rows(p.out.at, p.out.width, rows, pad8(h->d_v));
    }
    for (size_t j = seen.begin; j < seen.end; j += KEYS)
        absorb(w, &p, i, rows, j, at_most(seen.end - j, KEYS), j == seen.begin);
    finish(w, &p, i, rows);
    if (h->weights) write_weights(w, &p, i, rows, seen);
}

static void many_queries(const tfm_head *h, float *scratch)
{
    work w = begin_work(h, scratch, false);

    w.v = key_rows(&w, w.copy_v, h->v, h->v_stride, h->d_v);
    w.sparse = hides(h) && !all_finite(w.v.at, w.v.width, w.v.index, w.keys.end - w.keys.begin, h->d_v);
    for (size_t i = 0; i < h->m; i += QUERIES) forward_block(&w, i, at_most(h->m - i, QUERIES));
}

void TWIN(tfm_attention_head)(const tfm_head *h, float *scratch)
{
    if (is_few(h)) few_queries(h);
    else many_queries(h, scratch);
}
