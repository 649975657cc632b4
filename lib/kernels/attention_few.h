/*
 * A head with a handful of queries that all see every key, as in a step of decoding: keys are turned in registers and
 * multiplied at once, nothing is copied. The bits are those of the general way: each score is summed over d_k in order,
 * with keys scaled first.
 */
#ifndef TFM_ATTENTION_FEW_H
#define TFM_ATTENTION_FEW_H

#include "kernels/attention_block.h"

enum { FEW = 4 };

INLINE bool is_few(const tfm_head *h)
{
    return h->m <= FEW && h->n && h->n <= KEYS && h->d_k % 4 == 0 && h->d_v % 8 == 0 && !hides(h) && !h->hidden &&
           !h->dropout.threshold && !h->stats && !h->weights;
}

/* Rows of eight keys; beyond the last key it is repeated. */
INLINE void key_pointers(const tfm_head *h, size_t j, const float *row[8])
{
    for (size_t r = 0; r < 8; r++) {
        const size_t at = at_most(j + r, h->n - 1);
        row[r] = h->k + (h->key_rows ? h->key_rows[at] : at) * h->k_stride;
    }
}

/* Scores of rows queries with groups * 8 keys from j on: s[i * KEYS + j]. rows and groups are constants. */
INLINE void few_scores(const tfm_head *h, float *s, size_t j, const int rows, const int groups)
{
    const float *key[2][8];
    v8 acc[FEW][2], turned[2][4];

    UNROLL for (int g = 0; g < groups; g++) key_pointers(h, j + 8 * (size_t)g, key[g]);
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int g = 0; g < groups; g++) acc[r][g] = splat(0.0f);
    for (size_t p = 0; p < h->d_k; p += 4) {
        UNROLL for (int g = 0; g < groups; g++) turn8((float *)turned[g], 8, key[g], p, h->scale);
        UNROLL for (int c = 0; c < 4; c++) UNROLL for (int r = 0; r < rows; r++)
        {
            const v8 left = splat(h->q[(size_t)r * h->q_stride + p + (size_t)c]);
            UNROLL for (int g = 0; g < groups; g++) acc[r][g] += left * turned[g][c];
        }
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int g = 0; g < groups; g++)
        STORE(s + (size_t)r * KEYS + j + 8 * (size_t)g, acc[r][g] + splat(0.0f));
}

INLINE void few_rows(const tfm_head *h, float *s, const int rows)
{
    size_t j = 0;

    for (; j + 8 < h->n && rows <= 2; j += 16) few_scores(h, s, j, rows, 2);
    for (; j < h->n; j += 8) few_scores(h, s, j, rows, 1);
}

/* Scores become exponentials; returns the inverse of their sum. */
INLINE float few_softmax(float *s, size_t n)
{
    v8 most = splat(-INFINITY);

    for (size_t c = n; c < pad8(n); c++) s[c] = -INFINITY;
    for (size_t c = 0; c < n; c += 8) most = MAX(LOAD(s + c), most);
    const float seen = lanes_max(&most), sum = exp_row(s, pad8(n), seen > -INFINITY ? seen : -INFINITY);
    return sum == 0.0f ? sum : 1.0f / sum;
}

static void few_queries(const tfm_head *h)
{
    float s[FEW * KEYS], inverse[FEW];
    const small_product x = {.c = h->out, .ldc = h->out_stride, .a = s, .a_row = KEYS, .a_col = 1, .b = h->v,
                             .ldb = h->v_stride, .index = h->key_rows, .m = h->m, .n = h->d_v, .k = h->n};

    if (h->m == 1) few_rows(h, s, 1);
    else if (h->m == 2) few_rows(h, s, 2);
    else if (h->m == 3) few_rows(h, s, 3);
    else few_rows(h, s, 4);
    for (size_t r = 0; r < h->m; r++) inverse[r] = few_softmax(s + r * KEYS, h->n);
    product(&x, false);
    for (size_t r = 0; r < h->m; r++) scale_row(h->out + r * h->out_stride, h->d_v, inverse[r]);
}

#endif
