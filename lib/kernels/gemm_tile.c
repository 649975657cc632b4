/* The register tile of the matrix product, and the packing that feeds it. */
#include "kernels/twins.h"

/* acc[r][0..16] = sum over k, in order, of a[k][r] * b[k][0..16]. rows is a constant wherever this is inlined. */
#define TILE(rows)                                                                                                     \
    static void tile_##rows(float *c, size_t ldc, const float *a, const float *b, size_t k, bool add)                  \
    {                                                                                                                  \
        v8 acc[rows][2] = {0};                                                                                         \
        for (size_t p = 0; p < k; p++, a += rows, b += TFM_NR) {                                                       \
            const v8 b0 = LOAD(b), b1 = LOAD(b + 8);                                                                   \
            _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++)                                                     \
            {                                                                                                          \
                const v8 x = splat(a[r]);                                                                              \
                acc[r][0] += x * b0;                                                                                   \
                acc[r][1] += x * b1;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 6") for (int r = 0; r < rows; r++, c += ldc)                                               \
        {                                                                                                              \
            if (add) acc[r][0] += LOAD(c), acc[r][1] += LOAD(c + 8);                                                   \
            STORE(c, acc[r][0]);                                                                                       \
            STORE(c + 8, acc[r][1]);                                                                                   \
        }                                                                                                              \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

static void tile(float *c, size_t ldc, const float *a, const float *b, size_t k, size_t rows, bool add)
{
    switch (rows) {
    case 1: tile_1(c, ldc, a, b, k, add); break;
    case 2: tile_2(c, ldc, a, b, k, add); break;
    case 3: tile_3(c, ldc, a, b, k, add); break;
    case 4: tile_4(c, ldc, a, b, k, add); break;
    case 5: tile_5(c, ldc, a, b, k, add); break;
    default: tile_6(c, ldc, a, b, k, add); break;
    }
}

/* A narrow tile goes through a full one, so that its sums are the same. */
void TWIN(tfm_gemm_tile)(float *c, size_t ldc, const float *a, const float *b, size_t k, size_t rows, size_t cols, bool add)
{
    float full[TFM_MR * TFM_NR];

    if (cols == TFM_NR) {
        tile(c, ldc, a, b, k, rows, add);
        return;
    }
    tile(full, TFM_NR, a, b, k, rows, false);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++)
            c[r * ldc + j] = add ? c[r * ldc + j] + full[r * TFM_NR + j] : full[r * TFM_NR + j];
}

typedef float v4 __attribute__((vector_size(16), may_alias));
typedef float v4u __attribute__((vector_size(16), aligned(4), may_alias));

/* Four floats of each of four rows, turned: to[i * step + r] = row r[i]. */
INLINE void turn4(float *to, size_t step, const float *r0, const float *r1, const float *r2, const float *r3)
{
    const v4 a = *(const v4u *)r0, b = *(const v4u *)r1, c = *(const v4u *)r2, d = *(const v4u *)r3;
    const v4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const v4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    *(v4u *)to = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(v4u *)(to + step) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(v4u *)(to + 2 * step) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(v4u *)(to + 3 * step) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

/* 16 columns of which each is contiguous in k: the weights [out][in] of y = x W^T. */
static void pack_columns(float *to, const float *b, size_t b_col, size_t k)
{
    size_t p = 0;

    for (; p + 4 <= k; p += 4)
        for (size_t j = 0; j < TFM_NR; j += 4) {
            const float *from = b + j * b_col + p;
            turn4(to + p * TFM_NR + j, TFM_NR, from, from + b_col, from + 2 * b_col, from + 3 * b_col);
        }
    for (; p < k; p++)
        for (size_t j = 0; j < TFM_NR; j++) to[p * TFM_NR + j] = b[j * b_col + p];
}

void TWIN(tfm_pack_b)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j += TFM_NR, to += k * TFM_NR) {
        const size_t cols = n - j < TFM_NR ? n - j : TFM_NR;
        const float *from = b + j * b_col;

        if (cols == TFM_NR && b_row == 1) {
            pack_columns(to, from, b_col, k);
        } else if (cols == TFM_NR && b_col == 1) {
            for (size_t p = 0; p < k; p++) {
                STORE(to + p * TFM_NR, LOAD(from + p * b_row));
                STORE(to + p * TFM_NR + 8, LOAD(from + p * b_row + 8));
            }
        } else {
            for (size_t p = 0; p < k; p++)
                for (size_t c = 0; c < TFM_NR; c++)
                    to[p * TFM_NR + c] = c < cols ? from[p * b_row + c * b_col] : 0.0f;
        }
    }
}

/* Six rows of which each is contiguous in k. */
static void pack_rows(float *to, const float *a, size_t a_row, size_t k)
{
    const float *r4 = a + 4 * a_row, *r5 = r4 + a_row;
    size_t p = 0;

    for (; p + 4 <= k; p += 4) {
        float *at = to + p * TFM_MR;
        turn4(at, TFM_MR, a + p, a + a_row + p, a + 2 * a_row + p, a + 3 * a_row + p);
        for (size_t i = 0; i < 4; i++) {
            at[i * TFM_MR + 4] = r4[p + i];
            at[i * TFM_MR + 5] = r5[p + i];
        }
    }
    for (; p < k; p++)
        for (size_t r = 0; r < TFM_MR; r++) to[p * TFM_MR + r] = a[r * a_row + p];
}

/* a stands transposed: all panels of one k are neighbours, so that memory is read in order. */
static void pack_transposed(float *to, const float *a, size_t a_col, size_t m, size_t k)
{
    for (size_t p = 0; p < k; p++, a += a_col)
        for (size_t i = 0; i + TFM_MR <= m; i += TFM_MR) memcpy(to + i * k + p * TFM_MR, a + i, TFM_MR * sizeof *a);
}

void TWIN(tfm_pack_a)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    const size_t whole = m - m % TFM_MR, rest = m - whole;

    if (a_row == 1) pack_transposed(to, a, a_col, m, k);
    for (size_t i = 0; i < whole && a_row != 1; i += TFM_MR) {
        if (a_col == 1) pack_rows(to + i * k, a + i * a_row, a_row, k);
        else
            for (size_t p = 0; p < k; p++)
                for (size_t r = 0; r < TFM_MR; r++) to[i * k + p * TFM_MR + r] = a[(i + r) * a_row + p * a_col];
    }
    for (size_t p = 0; p < k; p++)
        for (size_t r = 0; r < rest; r++) to[whole * k + p * rest + r] = a[(whole + r) * a_row + p * a_col];
}
