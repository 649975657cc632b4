/*
 * bfloat16 operands on the tiles of AMX, 16 lines of 16 pairs: b in the layout of gemm_bf16.c's pairs, a tile by tile,
 * items padded with zeros to whole tiles. Subnormal operands and sums count as zero. Where the build has no such
 * instructions the same panels are multiplied in C, for tests.
 */
#include "kernels/twins.h"

typedef uint32_t vi __attribute__((vector_size(64), may_alias));
typedef uint32_t viu __attribute__((vector_size(64), aligned(4), may_alias));

enum { SIDE = 16, WIDE = 2 * SIDE }; /* of a tile, and of four, in items */

#if defined(__AMX_BF16__)
#include <immintrin.h>

#define ZERO(t) _tile_zero(t)
#define READ(t, from, stride) _tile_loadd(t, from, 4 * (stride))
#define WRITE(t, to, stride) _tile_stored(t, to, 4 * (stride))
#define DOT(sum, x, y) _tile_dpbf16ps(sum, x, y)
/* Compilers may not know that READ reads memory. */
#define WRITTEN __asm__ volatile("" ::: "memory")

/* All eight tiles as 16 lines of 64 bytes. */
INLINE void tiles_begin(void)
{
    static const struct {
        uint8_t palette, start, zeros[14];
        uint16_t line_bytes[16];
        uint8_t lines[16];
    } whole = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&whole);
}

/* The tiles' contents are no part of a thread's state again: switching to it costs what it did. */
INLINE void tiles_end(void)
{
    _tile_release();
}

/* 32 neighbours as pairs. */
INLINE void pairs_along(vi *out, const float *line)
{
    *out = (vi)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(line + SIDE), _mm512_loadu_ps(line));
}

/* Pairs of an element of one line and that of another. */
INLINE void pairs_across(vi *out, const float *low, const float *high)
{
    const vi pairs = (vi)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(high), _mm512_loadu_ps(low));
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    *out = (vi)_mm512_permutexvar_epi16(order, (__m512i)pairs);
}

#else

static _Thread_local uint32_t state[8][SIDE][SIDE];

#define ZERO(t) memset(state[t], 0, sizeof state[t])
#define READ(t, from, stride) \
    for (size_t line = 0; line < SIDE; line++) memcpy(state[t][line], (from) + line * (stride), 4 * SIDE)
#define WRITE(t, to, stride) \
    for (size_t line = 0; line < SIDE; line++) memcpy((to) + line * (stride), state[t][line], 4 * SIDE)
#define DOT(sum, x, y) dot(state[sum], state[x], state[y])
#define WRITTEN

INLINE float half_of(uint32_t pair, bool high)
{
    float x;

    pair = high ? pair & 0xFFFF0000u : pair << 16;
    memcpy(&x, &pair, sizeof x);
    return x;
}

static void dot(uint32_t sum[SIDE][SIDE], uint32_t x[SIDE][SIDE], uint32_t y[SIDE][SIDE])
{
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            float part[2] = {0.0f, 0.0f}, all;
            for (size_t p = 0; p < SIDE; p++)
                for (int high = 0; high < 2; high++) part[high] += half_of(x[i][p], high) * half_of(y[p][j], high);
            memcpy(&all, &sum[i][j], sizeof all);
            all += part[0] + part[1];
            memcpy(&sum[i][j], &all, sizeof all);
        }
}

INLINE void tiles_begin(void)
{
}

INLINE void tiles_end(void)
{
}

INLINE void pairs_across(vi *out, const float *low, const float *high)
{
    for (size_t i = 0; i < SIDE; i += 8) {
        const u8v pairs = rounded(*(const u8vu *)(low + i)) >> 16 | rounded(*(const u8vu *)(high + i));
        memcpy((uint32_t *)out + i, &pairs, sizeof pairs);
    }
}

INLINE void pairs_along(vi *out, const float *line)
{
    float low[SIDE], high[SIDE];

    for (size_t i = 0; i < SIDE; i++) low[i] = line[2 * i], high[i] = line[2 * i + 1];
    pairs_across(out, low, high);
}

#endif

/* Four tiles of c, of which the lower two count where low, the right two where right. */
INLINE void four_tiles(float *c, size_t ldc, const float *a, const float *b, size_t n_items, bool low, bool right,
                       bool add)
{
    WRITTEN;
    if (add) {
        READ(0, c, ldc);
        if (right) READ(1, c + SIDE, ldc);
        if (low) READ(2, c + SIDE * ldc, ldc);
        if (low && right) READ(3, c + SIDE * ldc + SIDE, ldc);
    } else {
        ZERO(0);
        ZERO(1);
        ZERO(2);
        ZERO(3);
    }
    for (size_t p = 0; p < n_items; p += SIDE, a += SIDE * WIDE, b += SIDE * WIDE) {
        READ(4, a, SIDE);
        READ(6, b, WIDE);
        DOT(0, 4, 6);
        if (right) {
            READ(7, b + SIDE, WIDE);
            DOT(1, 4, 7);
        }
        if (low) {
            READ(5, a + SIDE * SIDE, SIDE);
            DOT(2, 5, 6);
            if (right) DOT(3, 5, 7);
        }
    }
    WRITE(0, c, ldc);
    if (right) WRITE(1, c + SIDE, ldc);
    if (low) WRITE(2, c + SIDE * ldc, ldc);
    if (low && right) WRITE(3, c + SIDE * ldc + SIDE, ldc);
}

/* What is no whole number of tiles goes through one. */
static void part_of_tiles(float *c, size_t ldc, const float *a, const float *b, size_t n_items, size_t rows,
                          size_t cols, bool add)
{
    float whole[WIDE * WIDE];

    for (size_t i = 0; i < rows && add; i++) memcpy(whole + i * WIDE, c + i * ldc, cols * sizeof *c);
    four_tiles(whole, WIDE, a, b, n_items, rows > SIDE, cols > SIDE, add);
    for (size_t i = 0; i < rows; i++) memcpy(c + i * ldc, whole + i * WIDE, cols * sizeof *c);
}

/* Along the rows of c: they may be pages apart, and a panel of b is read from L2 faster than it is multiplied. */
void TWIN(tfm_gemm_block_amx)(BLOCK_ARGS)
{
    (void)a_row;
    tiles_begin();
    for (size_t i = 0; i < rows; i += WIDE)
        for (size_t j = 0; j < cols; j += WIDE) {
            const size_t m = rows - i < WIDE ? rows - i : WIDE, n = cols - j < WIDE ? cols - j : WIDE;
            float *to = c + i * ldc + j;
            if (m % SIDE || n % SIDE) part_of_tiles(to, ldc, a + i * n_items, b + j * n_items, n_items, m, n, add);
            else four_tiles(to, ldc, a + i * n_items, b + j * n_items, n_items, m > SIDE, n > SIDE, add);
        }
    tiles_end();
}

/* Transposes: x[i] and x[i + s] exchange the elements that are s apart. */
#define EXCHANGE(s, FIRST, SECOND)                                   \
    for (size_t i = 0; i < SIDE; i++) {                              \
        const vi first = x[i], second = x[i | (s)];                  \
        if (i & (s)) continue;                                       \
        x[i] = __builtin_shufflevector(first, second, FIRST);        \
        x[i | (s)] = __builtin_shufflevector(first, second, SECOND); \
    }
#define LIST(...) __VA_ARGS__

INLINE void turn(vi x[SIDE])
{
    EXCHANGE(8, LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
             LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    EXCHANGE(4, LIST(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
             LIST(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
    EXCHANGE(2, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
             LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    EXCHANGE(1, LIST(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
             LIST(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
}

/*
 * 16 lines of up to 32 terms, `line` floats apart, their terms `step`, into a tile, whose lines are `to_line` apart; by
 * line: the pairs of a line of `from` are a line of it, else they are a column. Zeros beyond n lines and k terms.
 */
INLINE void pack_tile(float *to, size_t to_line, const float *from, size_t line, size_t step, size_t n, size_t k,
                      const bool by_line)
{
    float part[SIDE][WIDE];
    vi x[SIDE];

    if (line == 1 && n == SIDE && k == WIDE) {
        for (size_t p = 0; p < SIDE; p++) pairs_across(&x[p], from + 2 * p * step, from + (2 * p + 1) * step);
        if (by_line) turn(x);
    } else {
        const bool whole = step == 1 && n == SIDE && k == WIDE;
        if (!whole) memset(part, 0, sizeof part);
        for (size_t i = 0; i < n && !whole; i++)
            for (size_t p = 0; p < k; p++) part[i][p] = from[i * line + p * step];
        for (size_t i = 0; i < SIDE; i++) pairs_along(&x[i], whole ? from + i * line : part[i]);
        if (!by_line) turn(x);
    }
    for (size_t i = 0; i < SIDE; i++) *(viu *)(to + i * to_line) = x[i];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Panels of 32 rows: for each 32 terms two tiles, the upper and the lower one. */
void TWIN(tfm_pack_a_amx)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k)
{
    const size_t n_items = (k + WIDE - 1) / WIDE * SIDE;

    for (size_t i = 0; i < m; i += SIDE)
        for (size_t p = 0; p < k; p += WIDE)
            pack_tile(to + i / WIDE * WIDE * n_items + (p + i / SIDE % 2 * SIDE) * SIDE, SIDE,
                      a + i * a_row + p * a_col, a_row, a_col, least(m - i, SIDE), least(k - p, WIDE), true);
}

/* Panels of 32 columns: for each 32 terms two tiles, side by side. */
void TWIN(tfm_pack_b_amx)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j += WIDE)
        for (size_t p = 0; p < k; p += WIDE, to += SIDE * WIDE)
            for (size_t half = 0; half < WIDE; half += SIDE) {
                const size_t first = least(j + half, n);
                pack_tile(to + half, WIDE, b + p * b_row + first * b_col, b_col, b_row, least(n - first, SIDE),
                          least(k - p, WIDE), false);
            }
}
