/*
 * One head of scaled dot-product attention, eq. (1), and its gradients, with the softmax taken block by block (Milakov
 * and Gimelshein 2018; Dao et al. 2022): memory grows with m + n, never with m * n, unless the weights are asked for.
 *
 * Operands are first copied into scratch with rows padded to a multiple of 16 floats, keys also transposed, so that all six small
 * products are one loop over registers. A row's numbers do not depend on which other queries are there, nor on how many keys it
 * cannot see: blocks of keys begin at fixed places and hidden keys add exact zeros.
 */
#include "kernels/twins.h"

enum { QUERIES = TFM_ATTENTION_QUERIES, KEYS = TFM_ATTENTION_KEYS };

static size_t pad16(size_t n)
{
    return (n + 15) & ~(size_t)15;
}

/* c[i][0..16] (+)= sum_p a[i * row + p * col] * b[p * ldb + 0..16] for up to 4 rows. */
INLINE void rows4(float *c, size_t ldc, const float *a, size_t row, size_t col, const float *b, size_t ldb, size_t k,
                  const int rows, bool add)
{
    v8 acc[4][2] = {0};

    for (size_t p = 0; p < k; p++, b += ldb) {
        const v8 b0 = LOAD(b), b1 = LOAD(b + 8);
        for (int r = 0; r < rows; r++) {
            const v8 x = splat(a[(size_t)r * row + p * col]);
            acc[r][0] += x * b0;
            acc[r][1] += x * b1;
        }
    }
    for (int r = 0; r < rows; r++, c += ldc) {
        if (add) acc[r][0] += LOAD(c), acc[r][1] += LOAD(c + 8);
        STORE(c, acc[r][0]);
        STORE(c + 8, acc[r][1]);
    }
}

/* c [m][n] (+)= a [m][k] b [k][n]; n is a multiple of 16; a element (i, p) at a[i * row + p * col]. */
static void small_product(float *c, size_t ldc, const float *a, size_t row, size_t col, const float *b, size_t ldb,
                          size_t m, size_t n, size_t k, bool add)
{
    for (size_t j = 0; j < n; j += 16) {
        size_t i = 0;
        for (; i + 4 <= m; i += 4) rows4(c + i * ldc + j, ldc, a + i * row, row, col, b + j, ldb, k, 4, add);
        for (; i < m; i++) rows4(c + i * ldc + j, ldc, a + i * row, row, col, b + j, ldb, k, 1, add);
    }
}

static void copy_padded(float *to, const float *from, size_t stride, size_t rows, size_t cols, const uint32_t *index)
{
    const size_t width = pad16(cols);

    for (size_t r = 0; r < rows; r++, to += width) {
        memcpy(to, from + (index ? index[r] : r) * stride, cols * sizeof *to);
        for (size_t c = cols; c < width; c++) to[c] = 0.0f;
    }
}

/* to [cols][pad16(rows)], zero-padded. */
static void copy_transposed(float *to, const float *from, size_t stride, size_t rows, size_t cols, const uint32_t *index)
{
    const size_t width = pad16(rows);

    for (size_t r = 0; r < width; r++) {
        const float *row = r < rows ? from + (index ? index[r] : r) * stride : NULL;
        for (size_t c = 0; c < cols; c++) to[c * width + r] = row ? row[c] : 0.0f;
    }
}

/* Keys that query i sees: [*begin, *end). */
static void visible(const tfm_head *h, size_t i, size_t *begin, size_t *end)
{
    const int64_t at = (int64_t)i + (int64_t)h->n - (int64_t)h->m + h->shift;
    int64_t lo = 0, hi = (int64_t)(h->n - h->hidden);

    if (h->causal && at + 1 < hi) hi = at + 1;
    if (h->window && at - (int64_t)h->window > lo) lo = at - (int64_t)h->window;
    if (h->window && at + (int64_t)h->window + 1 < hi) hi = at + (int64_t)h->window + 1;
    if (hi < lo) hi = lo;
    *begin = (size_t)lo;
    *end = (size_t)hi;
}

/* Keys that any query of a block sees. */
static void visible_block(const tfm_head *h, size_t i, size_t rows, size_t *begin, size_t *end)
{
    size_t last_begin, first_end;

    visible(h, i, begin, &first_end);
    visible(h, i + rows - 1, &last_begin, end);
    *begin -= *begin % KEYS;
}

/* Scaled, masked scores of a block: s [rows][KEYS], hidden ones -inf. */
static void score_block(const tfm_head *h, float *s, const float *q, const float *kt, size_t i, size_t rows, size_t j, size_t cols)
{
    const size_t width = pad16(h->n), padded = pad16(cols);

    small_product(s, KEYS, q + i * pad16(h->d_k), pad16(h->d_k), 1, kt + j, width, rows, padded, h->d_k, false);
    for (size_t r = 0; r < rows; r++, s += KEYS) {
        size_t begin, end;

        visible(h, i + r, &begin, &end);
        for (size_t c = 0; c < padded; c++) s[c] *= h->scale;
        if (h->mask)
            for (size_t c = 0; c < cols; c++) s[c] += h->mask[(i + r) * h->n + j + c];
        for (size_t c = 0; c < padded && j + c < begin; c++) s[c] = -INFINITY;
        for (size_t c = end > j ? end - j : 0; c < padded; c++) s[c] = -INFINITY;
    }
}

/* s = exp(s - shift); returns the sum. cols is a multiple of 16. */
static float exp_row(float *s, size_t cols, float shift)
{
    v8 sum = {0};

    for (size_t c = 0; c < cols; c += 8) {
        v8 x = LOAD(s + c) - splat(shift);
        exp_v8(&x);
        STORE(s + c, x);
        sum += x;
    }
    return lanes_sum(&sum);
}

static float max_row(const float *s, size_t cols)
{
    v8 max = splat(-INFINITY);

    for (size_t c = 0; c < cols; c += 8) max = MAX(LOAD(s + c), max);
    return lanes_max(&max);
}

/* p = p * mask / (1 - P) for the row's keys j .. j + cols. Rows of the mask are padded to a multiple of 8 elements. */
static void drop_row(const tfm_head *h, float *p, size_t i, size_t j, size_t cols)
{
    const uint64_t width = (h->n + 7) & ~(size_t)7;

    if (h->dropout.threshold) TWIN(tfm_dropout)(p, p, cols, &h->dropout, 0, h->first + i * width + j);
}

/* The running maximum, sum and output of the block's rows take in one block of keys. */
static void absorb(const tfm_head *h, float *s, float *out, float *max, float *sum, const float *v, size_t i, size_t rows,
                   size_t j, size_t cols)
{
    const size_t width = pad16(h->d_v), padded = pad16(cols);

    for (size_t r = 0; r < rows; r++) {
        float *row = s + r * KEYS;
        const float old = max[r], seen = max_row(row, padded), now = seen > old ? seen : old;
        const float shift = now == -INFINITY ? 0.0f : now; /* nothing seen yet: exp(-inf) = 0, not NaN */
        const float keep = old == now ? 1.0f : expf(old - shift);

        sum[r] = sum[r] * keep + exp_row(row, padded, shift);
        max[r] = now;
        if (keep != 1.0f)
            for (size_t c = 0; c < width; c++) out[r * width + c] *= keep;
        drop_row(h, row, i + r, j, cols);
    }
    small_product(out, width, s, KEYS, 1, v + j * width, width, rows, width, cols, true);
}

/* weights [rows][n], once the maximum and the sum of the whole row are known. */
static void write_weights(const tfm_head *h, float *s, const float *max, const float *inverse, const float *q, const float *kt,
                          size_t i, size_t rows)
{
    for (size_t j = 0; j < h->n; j += KEYS) {
        const size_t cols = h->n - j < KEYS ? h->n - j : KEYS;

        score_block(h, s, q, kt, i, rows, j, cols);
        for (size_t r = 0; r < rows; r++) {
            exp_row(s + r * KEYS, pad16(cols), max[r] == -INFINITY ? 0.0f : max[r]);
            for (size_t c = 0; c < cols; c++) h->weights[(i + r) * h->n + j + c] = s[r * KEYS + c] * inverse[r];
        }
    }
}

typedef struct operands {
    float *q, *kt, *v, *s;   /* forward */
    float *k, *vt, *d_out, *p, *dq, *dk, *dv; /* backward */
} operands;

static float *take(float **scratch, size_t n)
{
    float *place = *scratch;
    *scratch += n;
    return place;
}

/* Carves the scratch; tfm_attention_scratch() bounds what is taken. */
static void carve(operands *o, float *scratch, const tfm_head *h, bool backward)
{
    const size_t wk = pad16(h->d_k), wv = pad16(h->d_v), wn = pad16(h->n);

    o->q = take(&scratch, h->m * wk);
    o->kt = take(&scratch, h->d_k * wn);
    o->v = take(&scratch, h->n * wv);
    o->s = take(&scratch, QUERIES * KEYS);
    o->p = take(&scratch, QUERIES * (backward ? KEYS : wv)); /* forward: the block's output */
    if (!backward) return;
    o->k = take(&scratch, h->n * wk);
    o->vt = take(&scratch, h->d_v * wn);
    o->d_out = take(&scratch, h->m * wv);
    o->dq = take(&scratch, h->m * wk);
    o->dk = take(&scratch, h->n * wk);
    o->dv = take(&scratch, h->n * wv);
}

void TWIN(tfm_attention_head)(const tfm_head *h, float *scratch)
{
    const size_t width = pad16(h->d_v);
    float max[QUERIES], sum[QUERIES];
    operands o;

    carve(&o, scratch, h, false);
    copy_padded(o.q, h->q, h->q_stride, h->m, h->d_k, NULL);
    copy_transposed(o.kt, h->k, h->k_stride, h->n, h->d_k, h->key_rows);
    copy_padded(o.v, h->v, h->v_stride, h->n, h->d_v, h->key_rows);
    for (size_t i = 0; i < h->m; i += QUERIES) {
        const size_t rows = h->m - i < QUERIES ? h->m - i : QUERIES;
        size_t begin, end;

        memset(o.p, 0, rows * width * sizeof *o.p);
        for (size_t r = 0; r < rows; r++) max[r] = -INFINITY, sum[r] = 0.0f;
        visible_block(h, i, rows, &begin, &end);
        for (size_t j = begin; j < end; j += KEYS) {
            const size_t cols = end - j < KEYS ? end - j : KEYS;
            score_block(h, o.s, o.q, o.kt, i, rows, j, cols);
            absorb(h, o.s, o.p, max, sum, o.v, i, rows, j, cols);
        }
        for (size_t r = 0; r < rows; r++) {
            float *out = h->out + (i + r) * h->out_stride;
            if (h->lse) h->lse[i + r] = sum[r] == 0.0f ? -INFINITY : max[r] + logf(sum[r]);
            sum[r] = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r]; /* no key seen: zeros; NaN stays NaN */
            for (size_t c = 0; c < h->d_v; c++) out[c] = o.p[r * width + c] * sum[r];
        }
        if (h->weights) write_weights(h, o.s, max, sum, o.q, o.kt, i, rows);
    }
}

/* Gradients of one block of scores (PAPER 1.1): s becomes dS, p the dropped weights. */
static void gradient_block(const tfm_head *h, const operands *o, const float *dot, size_t i, size_t rows, size_t j, size_t cols)
{
    const size_t padded = pad16(cols), wv = pad16(h->d_v), wn = pad16(h->n);
    float d_weights[QUERIES * KEYS], ones[KEYS];

    score_block(h, o->s, o->q, o->kt, i, rows, j, cols);
    small_product(d_weights, KEYS, o->d_out + i * wv, wv, 1, o->vt + j, wn, rows, padded, h->d_v, false);
    for (size_t r = 0; r < rows; r++) {
        float *s = o->s + r * KEYS, *p = o->p + r * KEYS;
        const float lse = h->lse[i + r];

        exp_row(s, padded, lse == -INFINITY ? 0.0f : lse);
        for (size_t c = 0; c < padded; c++) ones[c] = 1.0f;
        drop_row(h, ones, i + r, j, cols);
        for (size_t c = 0; c < padded; c++) {
            p[c] = s[c] * ones[c];
            s[c] *= (d_weights[r * KEYS + c] * ones[c] - dot[r]) * h->scale;
        }
    }
}

static void store_rows(float *to, size_t stride, const float *from, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) memcpy(to + r * stride, from + r * pad16(cols), cols * sizeof *to);
}

void TWIN(tfm_attention_head_backward)(const tfm_head *h, float *scratch)
{
    const size_t wk = pad16(h->d_k), wv = pad16(h->d_v);
    float dot[QUERIES];
    operands o;

    carve(&o, scratch, h, true);
    copy_padded(o.q, h->q, h->q_stride, h->m, h->d_k, NULL);
    copy_padded(o.k, h->k, h->k_stride, h->n, h->d_k, NULL);
    copy_transposed(o.kt, h->k, h->k_stride, h->n, h->d_k, NULL);
    copy_transposed(o.vt, h->v, h->v_stride, h->n, h->d_v, NULL);
    copy_padded(o.d_out, h->d_out, h->out_stride, h->m, h->d_v, NULL);
    memset(o.dq, 0, h->m * wk * sizeof *o.dq);
    memset(o.dk, 0, h->n * wk * sizeof *o.dk);
    memset(o.dv, 0, h->n * wv * sizeof *o.dv);
    for (size_t i = 0; i < h->m; i += QUERIES) {
        const size_t rows = h->m - i < QUERIES ? h->m - i : QUERIES;
        size_t begin, end;

        for (size_t r = 0; r < rows; r++) {
            const float *out = h->out + (i + r) * h->out_stride, *d_out = h->d_out + (i + r) * h->out_stride;
            dot[r] = 0.0f;
            for (size_t c = 0; c < h->d_v; c++) dot[r] += out[c] * d_out[c];
        }
        visible_block(h, i, rows, &begin, &end);
        for (size_t j = begin; j < end; j += KEYS) {
            const size_t cols = end - j < KEYS ? end - j : KEYS;
            gradient_block(h, &o, dot, i, rows, j, cols);
            small_product(o.dq + i * wk, wk, o.s, KEYS, 1, o.k + j * wk, wk, rows, wk, cols, true);
            small_product(o.dk + j * wk, wk, o.s, 1, KEYS, o.q + i * wk, wk, cols, wk, rows, true);
            small_product(o.dv + j * wv, wv, o.p, 1, KEYS, o.d_out + i * wv, wv, cols, wv, rows, true);
        }
    }
    store_rows(h->dq, h->q_stride, o.dq, h->m, h->d_k);
    store_rows(h->dk, h->k_stride, o.dk, h->n, h->d_k);
    store_rows(h->dv, h->v_stride, o.dv, h->n, h->d_v);
}
