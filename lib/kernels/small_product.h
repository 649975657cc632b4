/*
 * Products of one head of attention: matrices of a few dozen rows that stand in L1, read where they are, each sum in
 * registers. Element (i, j) is summed over k in order, whatever tile it falls in, so that a row of the product depends
 * on its own row alone.
 */
#ifndef TFM_SMALL_PRODUCT_H
#define TFM_SMALL_PRODUCT_H

#include "kernels/vector.h"

/* c = a b, or c += a b. */
typedef struct small_product {
    float *c;
    size_t ldc;
    const float *a;
    size_t a_row, a_col; /* element (i, p) of a: a[i * a_row + p * a_col] */
    const float *b;      /* row p: b + p * ldb, or b + index[p] * ldb     */
    size_t ldb;
    const uint32_t *index;
    size_t m, n, k; /* n is a multiple of 8 */
    bool add;
} small_product;

#define UNROLL _Pragma("GCC unroll 8")

/* Why + 0: a sum that underflowed to -0 becomes what it is after hidden keys were added to it. */
INLINE void put_tile(float *c, size_t ldc, v8 acc[6][8], const int rows, const int vecs, bool add)
{
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vecs; v++) acc[r][v] +=
        add ? LOAD(c + (size_t)r * ldc + 8 * v) : splat(0.0f);
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vecs; v++)
        STORE(c + (size_t)r * ldc + 8 * v, acc[r][v]);
}

/* rows x vecs vectors of c from (i, j). All but i and j are constants where this is inlined. */
INLINE void product_tile(const small_product *x, size_t i, size_t j, const int rows, const int vecs,
                         const bool gathered)
{
    const size_t a_row = x->a_row, a_col = x->a_col, ldb = x->ldb, k = x->k;
    const float *a = x->a + i * a_row, *b = x->b + j;
    const float *a3 = rows > 3 ? a + 3 * a_row : a; /* x86 addresses three rows from a pointer, without arithmetic */
    v8 acc[6][8];

    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < vecs; v++) acc[r][v] = splat(0.0f);
    for (size_t p = 0; p < k; p++, a += a_col, a3 += a_col) {
        const float *from = b + (gathered ? x->index[p] : p) * ldb;
        v8 right[8];
        UNROLL for (int v = 0; v < vecs; v++) right[v] = LOAD(from + 8 * v);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const v8 left = splat(r < 3 ? a[(size_t)r * a_row] : a3[(size_t)(r - 3) * a_row]);
            UNROLL for (int v = 0; v < vecs; v++) acc[r][v] += left * right[v];
        }
    }
    put_tile(x->c + i * x->ldc + j, x->ldc, acc, rows, vecs, x->add);
}

/* All rows of vecs vectors, at most `most` of them at a time; the last two tiles share what is left evenly. */
INLINE void product_strip(const small_product *x, size_t j, const int most, const int vecs, const bool gathered)
{
    const size_t full = (size_t)most;

    for (size_t i = 0, rows; i < x->m; i += rows) {
        const size_t left = x->m - i;
        rows = left >= 2 * full ? full : left > full ? (left + 1) / 2 : left;
        if (rows == full) product_tile(x, i, j, most, vecs, gathered);
        else if (rows == 1) product_tile(x, i, j, 1, vecs, gathered);
        else if (most > 2 && rows == 2) product_tile(x, i, j, 2, vecs, gathered);
        else if (most > 3 && rows == 3) product_tile(x, i, j, 3, vecs, gathered);
        else if (most > 4 && rows == 4) product_tile(x, i, j, 4, vecs, gathered);
        else if (most > 5) product_tile(x, i, j, 5, vecs, gathered);
    }
}

INLINE void product_strips(const small_product *x, const bool gathered)
{
    size_t j = 0;

    for (; j + 64 <= x->n && x->m == 1; j += 64) product_strip(x, j, 1, 8, gathered);
    for (; j + 32 <= x->n && x->m == 1; j += 32) product_strip(x, j, 1, 4, gathered);
    for (; j + 16 <= x->n; j += 16) product_strip(x, j, 6, 2, gathered);
    for (; j < x->n; j += 8) product_strip(x, j, 6, 1, gathered);
}

/* The same sums without the terms where a is 0. */
static void product_sparse(const small_product *x)
{
    for (size_t i = 0; i < x->m; i++)
        for (size_t j = 0; j < x->n; j += 8) {
            v8 acc = splat(0.0f);
            for (size_t p = 0; p < x->k; p++) {
                const float left = x->a[i * x->a_row + p * x->a_col];
                if (left != 0.0f) acc += splat(left) * LOAD(x->b + (x->index ? x->index[p] : p) * x->ldb + j);
            }
            float *c = x->c + i * x->ldc + j;
            STORE(c, acc + (x->add ? LOAD(c) : splat(0.0f)));
        }
}

/* sparse: b may hold numbers that are not finite, and 0 times them must stay 0. */
static void product(const small_product *x, bool sparse)
{
    if (sparse) product_sparse(x);
    else if (x->index) product_strips(x, true);
    else product_strips(x, false);
}

/* ------------------------------------------------------------------------------------------------ operands ---- */

typedef float v4u __attribute__((vector_size(16), aligned(4), may_alias));

/* Four columns of eight rows, turned and scaled: to[c * width + r] = scale * row[r][c]. */
INLINE void turn8(float *to, size_t width, const float *const row[8], size_t column, float scale)
{
    v8 x[4], t[4];

    UNROLL for (int r = 0; r < 4; r++) x[r] =
        splat(scale) * __builtin_shufflevector(*(const v4u *)(row[r] + column), *(const v4u *)(row[r + 4] + column), 0,
                                               1, 2, 3, 4, 5, 6, 7);
    t[0] = __builtin_shufflevector(x[0], x[1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[1] = __builtin_shufflevector(x[2], x[3], 0, 8, 1, 9, 4, 12, 5, 13);
    t[2] = __builtin_shufflevector(x[0], x[1], 2, 10, 3, 11, 6, 14, 7, 15);
    t[3] = __builtin_shufflevector(x[2], x[3], 2, 10, 3, 11, 6, 14, 7, 15);
    UNROLL for (int h = 0; h < 2; h++)
    {
        STORE(to + (size_t)(2 * h) * width, __builtin_shufflevector(t[2 * h], t[2 * h + 1], 0, 1, 8, 9, 4, 5, 12, 13));
        STORE(to + (size_t)(2 * h + 1) * width,
              __builtin_shufflevector(t[2 * h], t[2 * h + 1], 2, 3, 10, 11, 6, 7, 14, 15));
    }
}

/* Eight rows. Not inlined: the compiler would prepare the odd columns, which hardly ever are, before each group. */
static __attribute__((noinline)) void turn_rows(float *to, size_t width, const float *const row[8], size_t cols,
                                                float scale)
{
    size_t c = 0;

    for (; c + 4 <= cols; c += 4, to += 4 * width) turn8(to, width, row, c, scale);
    for (; c < cols; c++, to += width)
        for (size_t r = 0; r < 8; r++) to[r] = scale * row[r][c];
}

/* to [cols][width] = scale * from^T; columns from rows to the next multiple of 8 repeat the last row. width >= that. */
static void copy_turned(float *to, size_t width, const float *from, size_t stride, const uint32_t *index, size_t rows,
                        size_t cols, float scale)
{
    for (size_t i = 0; i < rows; i += 8) {
        const float *row[8];

        for (size_t r = 0; r < 8; r++) {
            const size_t at = i + r < rows ? i + r : rows - 1;
            row[r] = from + (index ? index[at] : at) * stride;
        }
        turn_rows(to + i, width, row, cols, scale);
    }
}

/* to [rows][width]; columns beyond cols are 0. */
static void copy_padded(float *to, size_t width, const float *from, size_t stride, const uint32_t *index, size_t rows,
                        size_t cols)
{
    for (size_t r = 0; r < rows; r++, to += width) {
        memcpy(to, from + (index ? index[r] : r) * stride, cols * sizeof *to);
        for (size_t c = cols; c < width; c++) to[c] = 0.0f;
    }
}

static void zero_rows(float *to, size_t stride, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) memset(to + r * stride, 0, cols * sizeof *to);
}

/* Is every element finite? */
static bool all_finite(const float *x, size_t stride, const uint32_t *index, size_t rows, size_t cols)
{
    v8 sum = splat(0.0f); /* of x - x: 0, or not a number */
    float rest = 0.0f;

    for (size_t r = 0; r < rows; r++) {
        const float *row = x + (index ? index[r] : r) * stride;
        size_t c = 0;
        for (; c + 8 <= cols; c += 8) sum += LOAD(row + c) - LOAD(row + c);
        for (; c < cols; c++) rest += row[c] - row[c];
    }
    return lanes_sum(&sum) + rest == 0.0f;
}

#endif
