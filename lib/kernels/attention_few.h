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
    return h->m <= FEW && h->n && h->d_k % 4 == 0 && h->d_v % 8 == 0 && !hides(h) && !h->hidden &&
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

/* Scores of rows queries with groups * 8 keys from j on: s[i * KEYS]. rows and groups are constants. */
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
        STORE(s + (size_t)r * KEYS + 8 * (size_t)g, acc[r][g] + splat(0.0f));
}

/* The same of n keys. */
INLINE void few_rows(const tfm_head *h, float *s, size_t j, size_t n, const int rows)
{
    size_t c = 0;

    for (; c + 8 < n && rows <= 2; c += 16) few_scores(h, s + c, j + c, rows, 2);
    for (; c < n; c += 8) few_scores(h, s + c, j + c, rows, 1);
}

static void few_block_scores(const tfm_head *h, float *s, size_t j, size_t n)
{
    if (h->m == 1) few_rows(h, s, j, n, 1);
    else if (h->m == 2) few_rows(h, s, j, n, 2);
    else if (h->m == 3) few_rows(h, s, j, n, 3);
    else few_rows(h, s, j, n, 4);
}

/* The largest of n scores; those up to a multiple of 8 become -inf. */
INLINE float few_largest(float *s, size_t n)
{
    v8 most = splat(-INFINITY);

    for (size_t c = n; c < pad8(n); c++) s[c] = -INFINITY;
    for (size_t c = 0; c < n; c += 8) most = MAX(LOAD(s + c), most);
    return lanes_max(&most);
}

/* The values of a cache lie anywhere in memory: they are on their way while the scores are computed. */
INLINE void fetch_values(const tfm_head *h)
{
    for (size_t j = 0; j < h->n; j++)
        for (size_t d = 0; d < h->d_v; d += 16) __builtin_prefetch(h->v + h->key_rows[j] * h->v_stride + d);
}

static void few_queries(const tfm_head *h)
{
    float s[FEW * KEYS], max[FEW], sum[FEW];

    if (h->key_rows) fetch_values(h);
    for (size_t j = 0; j < h->n; j += KEYS) {
        const size_t n = at_most(h->n - j, KEYS);
        const small_product x = {.c = h->out, .ldc = h->out_stride, .a = s, .a_row = KEYS, .a_col = 1,
                                 .b = h->v + (h->key_rows ? 0 : j * h->v_stride), .ldb = h->v_stride,
                                 .index = h->key_rows ? h->key_rows + j : NULL,
                                 .m = h->m, .n = h->d_v, .k = n, .add = j > 0};

        few_block_scores(h, s, j, n);
        for (size_t r = 0; r < h->m; r++)
            absorb_scores(s + r * KEYS, pad8(n), few_largest(s + r * KEYS, n), !j, &max[r], &sum[r],
                          h->out + r * h->out_stride, h->d_v);
        product(&x, false);
    }
    for (size_t r = 0; r < h->m; r++)
        scale_row(h->out + r * h->out_stride, h->d_v, sum[r] == 0.0f ? sum[r] : 1.0f / sum[r]);
}

#endif
