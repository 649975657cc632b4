/*
 * The int8 matrix product of inference: activations quantised row by row as they come, weights column by column
 * beforehand, both symmetric about 0 in -127..127; sums are exact 32-bit integers, so that no order of summation can be
 * told from another.
 */
#include "kernels/twins.h"

enum { COLS = TFM_I8_COLS, DEPTH = TFM_I8_DEPTH };

#if defined(__AVX512VNNI__)

#include <immintrin.h>

enum { ROWS = 12 };
typedef __m512i sums; /* of all columns of a panel */

INLINE void multiply_add(sums *acc, const int8_t *a, const int8_t *b)
{
    int32_t four;

    memcpy(&four, a, sizeof four);
    *acc = _mm512_dpbusd_epi32(*acc, _mm512_set1_epi32(four), _mm512_loadu_si512(b));
}

#elif defined(__AVX2__)

#include <immintrin.h>

enum { ROWS = 4 };
typedef struct sums {
    __m256i half[2];
} sums;

/* |a| times b with the sign of a: two products of at most 127 * 127 fit the 16 bits that vpmaddubsw saturates to. */
INLINE __m256i four_products(__m256i sum, __m256i a, __m256i size, const int8_t *b)
{
    const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(_mm256_loadu_si256((const __m256i *)b), a));

    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE void multiply_add(sums *acc, const int8_t *a, const int8_t *b)
{
    int32_t four;

    memcpy(&four, a, sizeof four);
    const __m256i x = _mm256_set1_epi32(four), size = _mm256_abs_epi8(x);
    acc->half[0] = four_products(acc->half[0], x, size, b);
    acc->half[1] = four_products(acc->half[1], x, size, b + 32);
}

#else

enum { ROWS = 4 };
typedef struct sums {
    int32_t of[COLS];
} sums;

INLINE void multiply_add(sums *acc, const int8_t *a, const int8_t *b)
{
    for (int j = 0; j < COLS; j++)
        for (int i = 0; i < DEPTH; i++) acc->of[j] += a[i] * b[DEPTH * j + i];
}

#endif

/* c = sums * scale of the row * scale of the column. Sums of offset values wrap around, and back. */
INLINE void store(float *c, const sums *acc, float scale, const tfm_i8_panel *b, size_t cols)
{
    float full[COLS];

    for (int j = 0; j < COLS; j += 8) {
        u8v sum, offset;
        memcpy(&sum, (const char *)acc + (size_t)j * sizeof(int32_t), sizeof sum);
        memcpy(&offset, b->sum + j, sizeof offset);
        sum -= I8_OFFSET * offset;
        STORE(full + j, __builtin_convertvector((i8)sum, v8) * (splat(scale) * LOAD(b->scale + j)));
    }
    memcpy(c, full, cols == COLS ? sizeof full : cols * sizeof *c);
}

/* rows is a constant wherever this is inlined. */
INLINE void some_rows(float *c, size_t ldc, const int8_t *a, size_t a_row, const float *scale, const tfm_i8_panel *b,
                      size_t n_items, const size_t rows, size_t cols)
{
    sums acc[ROWS] = {0};

    for (size_t p = 0; p < n_items; p++) {
        const int8_t *at = b->values + COLS * DEPTH * p;
        __builtin_prefetch(at + 1536);
        _Pragma("GCC unroll 12") for (size_t r = 0; r < rows; r++) multiply_add(&acc[r], a + r * a_row + DEPTH * p, at);
    }
    _Pragma("GCC unroll 12") for (size_t r = 0; r < rows; r++) store(c + r * ldc, &acc[r], scale[r], b, cols);
}

#if defined(__AMX_INT8__)

/*
 * Tiles 0 to 2 hold sums of 16 rows, 3 those of the rest of the rows; 4 and 5 operands of 16 and of the rest; 6 is b. A
 * tile is up to 16 lines of 64 bytes.
 */
enum { LINES = 16, LINE = 64, AT_ONCE = 3 * LINES, FEW = 4 };

INLINE void tiles_begin(size_t rest)
{
    struct {
        uint8_t palette, start, zeros[14];
        uint16_t line_bytes[16];
        uint8_t lines[16];
    } shape = {.palette = 1};

    for (int t = 0; t < 7; t++) {
        shape.line_bytes[t] = LINE;
        shape.lines[t] = t == 3 || t == 5 ? (uint8_t)(rest ? rest : LINES) : LINES;
    }
    __asm__ volatile("" : : "r"(&shape) : "memory"); /* compilers may think that a few bytes of it are read */
    _tile_loadconfig(&shape);
}

/* Adds the products of up to 64 terms; lines of a are a_row bytes apart. */
INLINE void add_terms(const int8_t *a, size_t a_row, const int8_t *b, size_t wholes, bool rest)
{
    __asm__ volatile("" ::: "memory"); /* compilers may not know that loads of tiles read memory */
    _tile_loadd(6, b, LINE);
    if (wholes > 0) {
        _tile_loadd(4, a, a_row);
        _tile_dpbusd(0, 4, 6);
    }
    if (wholes > 1) {
        _tile_loadd(4, a + LINES * a_row, a_row);
        _tile_dpbusd(1, 4, 6);
    }
    if (wholes > 2) {
        _tile_loadd(4, a + 2 * LINES * a_row, a_row);
        _tile_dpbusd(2, 4, 6);
    }
    if (rest) {
        _tile_loadd(5, a + wholes * LINES * a_row, a_row);
        _tile_dpbusd(3, 5, 6);
    }
}

/* Up to three tiles of rows, and the rest of them where they are no whole tile. */
static void rows_by_tiles(float *c, size_t ldc, const int8_t *a, size_t a_row, const float *scale,
                          const tfm_i8_panel *b, size_t n_items, size_t rows, size_t cols)
{
    const size_t wholes = rows / LINES, k = n_items * DEPTH, left = k % LINE;
    sums acc[4 * LINES];

    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t p = 0; p + LINE <= k; p += LINE)
        add_terms(a + p, a_row, b->values + p * COLS, wholes, rows % LINES);
    if (left) {
        int8_t last_a[4 * LINES][LINE] = {{0}}, last_b[LINES * LINE] = {0};
        for (size_t r = 0; r < rows; r++) memcpy(last_a[r], a + r * a_row + k - left, left);
        memcpy(last_b, b->values + (k - left) * COLS, left * COLS);
        add_terms(last_a[0], LINE, last_b, wholes, rows % LINES);
    }
    _tile_stored(0, acc, LINE);
    _tile_stored(1, acc + LINES, LINE);
    _tile_stored(2, acc + 2 * LINES, LINE);
    if (rows % LINES) _tile_stored(3, acc + wholes * LINES, LINE);
    for (size_t r = 0; r < rows; r++) store(c + r * ldc, &acc[r], scale[r], b, cols);
}

#endif

void TWIN(tfm_i8_product)(float *c, size_t ldc, const int8_t *a, size_t a_row, const float *scale,
                          const tfm_i8_panel *b, size_t n_items, size_t rows, size_t cols)
{
    size_t r = 0;

#if defined(__AMX_INT8__)
    if (rows > FEW) {
        tiles_begin(rows % LINES);
        for (size_t n; r < rows; r += n) {
            n = rows - r < AT_ONCE + LINES ? rows - r : AT_ONCE;
            rows_by_tiles(c + r * ldc, ldc, a + r * a_row, a_row, scale + r, b, n_items, n, cols);
        }
        _tile_release();
    }
#endif
    for (; r + ROWS <= rows; r += ROWS)
        some_rows(c + r * ldc, ldc, a + r * a_row, a_row, scale + r, b, n_items, ROWS, cols);
    for (; r + 4 <= rows; r += 4) some_rows(c + r * ldc, ldc, a + r * a_row, a_row, scale + r, b, n_items, 4, cols);
    for (; r < rows; r++) some_rows(c + r * ldc, ldc, a + r * a_row, a_row, scale + r, b, n_items, 1, cols);
}

/* The largest |x|; NaN when there is anything that is not finite. */
static float largest(const float *x, size_t n)
{
    v8 most = {0}, odd = {0}, part;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const v8 v = LOAD(x + i);
        most = MAX(v, most);
        most = MAX(-v, most);
        odd += v - v; /* NaN for infinities too */
    }
    load_part(&part, x + i, n - i);
    most = MAX(part, most);
    most = MAX(-part, most);
    odd += part - part;
    return lanes_max(&most) + lanes_sum(&odd);
}

typedef int8_t b8 __attribute__((vector_size(8), may_alias));
typedef int8_t b8u __attribute__((vector_size(8), aligned(1), may_alias));

/* The product is rounded before the sum, with and without FMA: every CPU has the same values. */
#if defined(__FMA__)
#define ROUND_FIRST(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__) /* no register holds all eight */
#define ROUND_FIRST(x) __asm__("" : "+m"(x))
#else
#define ROUND_FIRST(x)
#endif

/* Eight values; adding 1.5 * 2^23 leaves the nearest integer in the lowest bits. */
INLINE void quantize8(b8 *to, const v8 *x, float inverse, int32_t offset)
{
    v8 t = *x * splat(inverse);

    ROUND_FIRST(t);
    t += splat(12582912.0f);
    *to = __builtin_convertvector((i8)t - 0x4B400000 + offset, b8);
}

void TWIN(tfm_i8_quantize)(int8_t *to, float *scale, const float *x, size_t k, int32_t offset)
{
    const float most = largest(x, k), inverse = most > 1e-30f ? 127.0f / most : 0.0f;
    const size_t padded = (k + DEPTH - 1) / DEPTH * DEPTH;
    size_t i = 0;
    v8 part;
    b8 last;

    *scale = most > 1e-30f ? most / 127.0f : most - most; /* 0, or NaN */
    for (; i + 8 <= k; i += 8) {
        part = LOAD(x + i);
        quantize8(&last, &part, inverse, offset);
        *(b8u *)(to + i) = last;
    }
    load_part(&part, x + i, k - i);
    quantize8(&last, &part, inverse, offset);
    memcpy(to + i, &last, padded - i);
}
