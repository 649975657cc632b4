/* The float32 matrix product: its register tile, and the packing that feeds it. */

#define MULTIPLY_ADD(acc, x, b0, b1) ((acc)[0] += (x) * (b0), (acc)[1] += (x) * (b1))
#include "kernels/tile.h"

void TWIN(tfm_gemm_block)(BLOCK_ARGS)
{
    block_of_tiles(c, ldc, a, a_row, b, n_items, rows, cols, add);
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

/* NR columns of which each is contiguous in k: the weights [out][in] of y = x W^T. */
static void pack_columns(float *to, const float *b, size_t b_col, size_t k)
{
    size_t p = 0;

    for (; p + 4 <= k; p += 4)
        for (size_t j = 0; j < NR; j += 4) {
            const float *from = b + j * b_col + p;
            turn4(to + p * NR + j, NR, from, from + b_col, from + 2 * b_col, from + 3 * b_col);
        }
    for (; p < k; p++)
        for (size_t j = 0; j < NR; j++) to[p * NR + j] = b[j * b_col + p];
}

void TWIN(tfm_pack_b)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j += NR, to += k * NR) {
        const size_t cols = n - j < NR ? n - j : NR;
        const float *from = b + j * b_col;

        if (cols == NR && b_row == 1) {
            pack_columns(to, from, b_col, k);
        } else if (cols == NR && b_col == 1) {
            for (size_t p = 0; p < k; p++) memcpy(to + p * NR, from + p * b_row, NR * sizeof *to);
        } else {
            for (size_t p = 0; p < k; p++)
                for (size_t c = 0; c < NR; c++) to[p * NR + c] = c < cols ? from[p * b_row + c * b_col] : 0.0f;
        }
    }
}

/* MR rows of which each is contiguous in k. */
static void pack_rows(float *to, const float *a, size_t a_row, size_t k)
{
    enum { FOURS = MR / 4 * 4 };
    size_t p = 0;

    for (; p + 4 <= k; p += 4) {
        float *at = to + p * MR;
        for (size_t r = 0; r < FOURS; r += 4) {
            const float *from = a + r * a_row + p;
            turn4(at + r, MR, from, from + a_row, from + 2 * a_row, from + 3 * a_row);
        }
        for (size_t r = FOURS; r < MR; r++)
            for (size_t i = 0; i < 4; i++) at[i * MR + r] = a[r * a_row + p + i];
    }
    for (; p < k; p++)
        for (size_t r = 0; r < MR; r++) to[p * MR + r] = a[r * a_row + p];
}

/* a stands transposed: all panels of one k are neighbours, so that memory is read in order. */
static void pack_transposed(float *to, const float *a, size_t a_col, size_t m, size_t k)
{
    for (size_t p = 0; p < k; p++, a += a_col)
        for (size_t i = 0; i + MR <= m; i += MR) memcpy(to + i * k + p * MR, a + i, MR * sizeof *a);
}

void TWIN(tfm_pack_a)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    const size_t whole = m - m % MR, rest = m - whole;

    if (a_row == 1) pack_transposed(to, a, a_col, m, k);
    for (size_t i = 0; i < whole && a_row != 1; i += MR) {
        if (a_col == 1) pack_rows(to + i * k, a + i * a_row, a_row, k);
        else
            for (size_t p = 0; p < k; p++)
                for (size_t r = 0; r < MR; r++) to[i * k + p * MR + r] = a[(i + r) * a_row + p * a_col];
    }
    for (size_t p = 0; p < k; p++)
        for (size_t r = 0; r < rest; r++) to[whole * k + p * rest + r] = a[(whole + r) * a_row + p * a_col];
}
