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

/* 16 columns of which each is contiguous in k: the weights [out][in] of y = x W^T. */
static void pack_columns(float *to, const float *b, size_t b_col, size_t k)
{
    for (size_t j = 0; j < TFM_NR; j += 4) {
        const float *b0 = b + j * b_col, *b1 = b0 + b_col, *b2 = b1 + b_col, *b3 = b2 + b_col;
        for (size_t p = 0; p < k; p++) {
            float *row = to + p * TFM_NR + j;
            row[0] = b0[p];
            row[1] = b1[p];
            row[2] = b2[p];
            row[3] = b3[p];
        }
    }
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

void TWIN(tfm_pack_a)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i += TFM_MR) {
        const size_t rows = m - i < TFM_MR ? m - i : TFM_MR;
        const float *from = a + i * a_row;

        if (rows == TFM_MR) {
            for (size_t p = 0; p < k; p++, to += TFM_MR)
                for (size_t r = 0; r < TFM_MR; r++) to[r] = from[r * a_row + p * a_col];
        } else {
            for (size_t p = 0; p < k; p++, to += rows)
                for (size_t r = 0; r < rows; r++) to[r] = from[r * a_row + p * a_col];
        }
    }
}
