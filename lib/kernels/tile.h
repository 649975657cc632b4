/*
 * The register tile of the matrix product: MR rows of two vectors. The including file defines MULTIPLY_ADD(acc, x, b0,
 * b1): acc[0] += x b0 and acc[1] += x b1, where an item is one float or a pair of bfloat16.
 */
#include "kernels/twins.h"

typedef float vt __attribute__((vector_size(4 * TILE_LANES), may_alias));
typedef float vtu __attribute__((vector_size(4 * TILE_LANES), aligned(4), may_alias));

/* Compilers load operands of vdpbf16ps again for each row unless told that they stand in registers. */
#if defined(__AVX512BF16__)
#define IN_REGISTERS(x, y) __asm__("" : "+v"(x), "+v"(y))
#else
#define IN_REGISTERS(x, y)
#endif

/* With so few rows a tile reads b faster than memory hands it over by itself. */
enum { FEW_ROWS = 5 };

INLINE void splat_item(vt *out, float x)
{
#if TILE_LANES == 16
    *out = (vt){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
#else
    *out = (vt){x, x, x, x, x, x, x, x};
#endif
}

/*
 * c[r][0..NR] = or += the sum over the items of a(r, p) b[p][0..NR], in order. rows and packed are constants wherever
 * this is inlined: a packed panel is [n_items][rows], else row r of a stands at a + r * a_row.
 */
INLINE void tile(float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, const size_t rows,
                 const bool packed, bool add)
{
    vt acc[MR][2] = {0};

    _Pragma("GCC unroll 12") for (size_t r = 0; r < rows; r++) __builtin_prefetch(c + r * ldc, 1);
    for (size_t p = 0; p < n_items; p++, b += NR) {
        vt b0 = *(const vtu *)b, b1 = *(const vtu *)(b + TILE_LANES);
        IN_REGISTERS(b0, b1);
        if (rows <= FEW_ROWS) __builtin_prefetch(b + 24 * NR);
        _Pragma("GCC unroll 12") for (size_t r = 0; r < rows; r++)
        {
            vt x;
            splat_item(&x, packed ? a[p * rows + r] : a[r * a_row + p]);
            MULTIPLY_ADD(acc[r], x, b0, b1);
        }
    }
    _Pragma("GCC unroll 12") for (size_t r = 0; r < rows; r++, c += ldc)
    {
        if (add) acc[r][0] += *(vtu *)c, acc[r][1] += *(vtu *)(c + TILE_LANES);
        *(vtu *)c = acc[r][0];
        *(vtu *)(c + TILE_LANES) = acc[r][1];
    }
}

#define TILE(rows)                                                                                              \
    static void tile_##rows(float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, \
                            bool add)                                                                           \
    {                                                                                                           \
        if (a_row) tile(c, ldc, a, a_row, b, n_items, rows, false, add);                                        \
        else tile(c, ldc, a, 0, b, n_items, rows, true, add);                                                   \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#if MR == 12
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#endif

static void tile_of(float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, size_t rows,
                    bool add)
{
    switch (rows) {
    case 1: tile_1(c, ldc, a, a_row, b, n_items, add); break;
    case 2: tile_2(c, ldc, a, a_row, b, n_items, add); break;
    case 3: tile_3(c, ldc, a, a_row, b, n_items, add); break;
    case 4: tile_4(c, ldc, a, a_row, b, n_items, add); break;
    case 5: tile_5(c, ldc, a, a_row, b, n_items, add); break;
    case 6: tile_6(c, ldc, a, a_row, b, n_items, add); break;
#if MR == 12
    case 7: tile_7(c, ldc, a, a_row, b, n_items, add); break;
    case 8: tile_8(c, ldc, a, a_row, b, n_items, add); break;
    case 9: tile_9(c, ldc, a, a_row, b, n_items, add); break;
    case 10: tile_10(c, ldc, a, a_row, b, n_items, add); break;
    case 11: tile_11(c, ldc, a, a_row, b, n_items, add); break;
    case 12: tile_12(c, ldc, a, a_row, b, n_items, add); break;
#endif
    }
}

/* A narrow tile goes through a full one, so that its sums are the same. */
static void any_tile(float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, size_t rows,
                     size_t cols, bool add)
{
    float full[MR * NR];

    if (cols == NR) {
        tile_of(c, ldc, a, a_row, b, n_items, rows, add);
        return;
    }
    tile_of(full, NR, a, a_row, b, n_items, rows, false);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < cols; j++) c[r * ldc + j] = add ? c[r * ldc + j] + full[r * NR + j] : full[r * NR + j];
}

INLINE void block_of_tiles(BLOCK_ARGS)
{
    for (size_t j = 0; j < cols; j += NR)
        for (size_t i = 0; i < rows; i += MR)
            any_tile(c + i * ldc + j, ldc, a + i * (a_row ? a_row : n_items), a_row, b + j * n_items, n_items,
                     rows - i < MR ? rows - i : MR, cols - j < NR ? cols - j : NR, add);
}
