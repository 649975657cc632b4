/*
 * bfloat16 operands for the matrix product (mixed precision): rounded to nearest even while they are packed, summed in
 * float32. Where the CPU multiplies pairs of bfloat16, panels hold pairs; elsewhere they hold the rounded values as
 * floats and the float32 tile runs.
 */
#include "kernels/twins.h"

#if !PAIRS

static void round_panels(float *panels, size_t n)
{
    size_t i = 0;
    u8v last = {0};

    for (; i + 8 <= n; i += 8) *(u8vu *)(panels + i) = rounded(*(const u8vu *)(panels + i));
    memcpy(&last, panels + i, (n - i) * sizeof *panels);
    last = rounded(last);
    memcpy(panels + i, &last, (n - i) * sizeof *panels);
}

void TWIN(tfm_pack_a_bf16)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    TWIN(tfm_pack_a)(to, a, a_row, a_col, m, k);
    round_panels(to, m * k);
}

void TWIN(tfm_pack_b_bf16)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n)
{
    TWIN(tfm_pack_b)(to, b, b_row, b_col, k, n);
    round_panels(to, (n + NR - 1) / NR * NR * k);
}

#else

#if defined(__AVX512BF16__)
#include <immintrin.h>
#define DOT(acc, x, b) ((acc) = (vt)_mm512_dpbf16_ps((__m512)(acc), (__m512bh)(x), (__m512bh)(b)))
#else /* what the instruction does, for tests of the panels on any CPU */
typedef uint32_t ut __attribute__((vector_size(64), may_alias));
#define HIGH(x) ((vt)((ut)(x) & 0xFFFF0000u))
#define LOW(x) ((vt)((ut)(x) << 16))
#define DOT(acc, x, b) ((acc) += HIGH(x) * HIGH(b), (acc) += LOW(x) * LOW(b))
#endif
#define MULTIPLY_ADD(acc, x, b0, b1) (DOT((acc)[0], x, b0), DOT((acc)[1], x, b1))
#include "kernels/tile.h"

void TWIN(tfm_gemm_block_bf16)(BLOCK_ARGS)
{
    block_of_tiles(c, ldc, a, a_row, b, n_items, rows, cols, add);
}

/* Pairs of n elements of two lines, step floats apart: first in the lower halves, second (NULL: zeros) in the upper;
 * then zeros. */
static void pair_lines(float *to, const float *first, const float *second, size_t step, size_t n, size_t width)
{
    float low[NR] = {0}, high[NR] = {0};

    for (size_t i = 0; i < n; i++) low[i] = first[i * step];
    for (size_t i = 0; i < n && second; i++) high[i] = second[i * step];
    for (size_t i = 0; i < NR; i += 8) {
        const u8v pair = rounded(*(const u8vu *)(low + i)) >> 16 | rounded(*(const u8vu *)(high + i));
        *(u8vu *)(low + i) = pair;
    }
    memcpy(to, low, width * sizeof *low);
}

/* Pairs of neighbours: to[i] = line[2 i], line[2 i + 1]. */
static void pair_neighbours(float *to, const float *line, size_t k)
{
    for (size_t p = 0; p < k; p += 16, to += 8) {
        float t[16] = {0}, pairs[8];
        const size_t n = k - p < 16 ? k - p : 16;

        memcpy(t, line + p, n * sizeof *t);
        const u8v x = rounded(*(const u8vu *)t), y = rounded(*(const u8vu *)(t + 8));
        const u8v low = __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14);
        *(u8vu *)pairs = low >> 16 | __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
        memcpy(to, pairs, (n + 1) / 2 * sizeof *to);
    }
}

enum { ROOM = TFM_KC / 2 };

/* A panel of n lines of k; the panel's lines stand `line` apart, their elements `step`. */
static void pack_panel(float *to, const float *from, size_t line, size_t step, size_t n, size_t width, size_t k,
                       bool of_b)
{
    const size_t n_items = (k + 1) / 2;
    float pairs[NR * ROOM];

    if (step != 1) {
        for (size_t p = 0; p < n_items; p++, from += 2 * step)
            pair_lines(to + p * width, from, 2 * p + 1 < k ? from + step : NULL, line, n, width);
        return;
    }
    for (size_t i = 0; i < n; i++) pair_neighbours(pairs + i * ROOM, from + i * line, k);
    if (of_b) TWIN(tfm_pack_b)(to, pairs, 1, ROOM, n_items, n);
    else TWIN(tfm_pack_a)(to, pairs, ROOM, 1, n, n_items);
}

void TWIN(tfm_pack_a_bf16)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    for (size_t i = 0; i < m; i += MR) {
        const size_t rows = m - i < MR ? m - i : MR;
        pack_panel(to + i * ((k + 1) / 2), a + i * a_row, a_row, a_col, rows, rows, k, false);
    }
}

void TWIN(tfm_pack_b_bf16)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j += NR, to += NR * ((k + 1) / 2))
        pack_panel(to, b + j * b_col, b_col, b_row, n - j < NR ? n - j : NR, NR, k, true);
}

#endif
