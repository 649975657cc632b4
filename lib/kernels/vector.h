/*
 * Eight floats side by side, with the compilers' vector extension: one source for every CPU, compiled once for each
 * instruction set. A file that includes this defines its functions as TWIN(name).
 */
#ifndef TFM_VECTOR_H
#define TFM_VECTOR_H

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>
#if defined __AVX__
#include <immintrin.h>
#endif

#define TFM_JOIN_(a, b) a##_##b
#define TFM_JOIN(a, b) TFM_JOIN_(a, b)
#define TWIN(name) TFM_JOIN(name, TFM_TWIN)
#define TFM_TEXT_(a) #a
#define TFM_TEXT(a) TFM_TEXT_(a)

typedef float v8 __attribute__((vector_size(32), may_alias));
typedef int32_t i8 __attribute__((vector_size(32), may_alias));
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));

/* The matrix product's tile: MR rows of two vectors vt. TFM_WIDE builds the AVX-512 shape for any CPU, for tests. */
#if defined(__AVX512F__) || defined(TFM_WIDE)
#define TILE_LANES 16
#define MR 12
#else
#define TILE_LANES 8
#define MR 6
#endif
#define NR (2 * TILE_LANES)
#if defined(__AVX512BF16__) || defined(TFM_WIDE)
#define PAIRS 1 /* bfloat16 operands go in pairs */
#else
#define PAIRS 0
#endif
/* vpdpbusd multiplies unsigned by signed bytes: activations have 128 added, which the sums of the columns undo. */
#if defined(__AVX512VNNI__)
#define I8_OFFSET 128
#else
#define I8_OFFSET 0
#endif

#define INLINE static inline __attribute__((always_inline, unused))

#define LOAD(p) ((v8)*(const v8u *)(p))
#define STORE(p, v) ((void)(*(v8u *)(p) = (v)))

INLINE v8 splat(float x)
{
    return (v8){x, x, x, x, x, x, x, x};
}

/* The first n < 8 floats, zeros after them. */
INLINE void load_part(v8 *out, const float *p, size_t n)
{
    float t[8] = {0};
    for (size_t i = 0; i < n; i++) t[i] = p[i];
    memcpy(out, t, sizeof t);
}

INLINE void store_part(float *p, const v8 *v, size_t n)
{
    float t[8];
    memcpy(t, v, sizeof t);
    for (size_t i = 0; i < n; i++) p[i] = t[i];
}

typedef uint32_t u8v __attribute__((vector_size(32), may_alias));
typedef uint32_t u8vu __attribute__((vector_size(32), aligned(4), may_alias));

/* The bits of eight floats rounded to bfloat16, to nearest even, in the upper halves. A NaN stays one. */
INLINE u8v rounded(u8v x)
{
    const u8v nan = (u8v)((x & 0x7FFFFFFFu) > 0x7F800000u);
    const u8v even = x + 0x7FFFu + (x >> 16 & 1u);

    return (even & 0xFFFF0000u & ~nan) | (0x7FC00000u & nan);
}

#define SELECT(mask, a, b) ((v8)(((i8)(a) & (mask)) | ((i8)(b) & ~(mask))))

/* a > b ? a : b and a < b ? a : b; thus b where either is NaN. */
#if defined __AVX__
#define MAX(a, b) ((v8)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define MIN(a, b) ((v8)_mm256_min_ps((__m256)(a), (__m256)(b)))
#else
#define MAX(a, b) SELECT((a) > (b), a, b)
#define MIN(a, b) SELECT((a) < (b), a, b)
#endif

typedef float v4 __attribute__((vector_size(16), may_alias));

/* Sum and maximum of the lanes, always in the same order: halves, then quarters, then the last two. */
INLINE float lanes_sum(const v8 *v)
{
    const v4 half = __builtin_shufflevector(*v, *v, 0, 1, 2, 3) + __builtin_shufflevector(*v, *v, 4, 5, 6, 7);
    const v4 quarter = half + __builtin_shufflevector(half, half, 2, 3, 0, 1);

    return quarter[0] + quarter[1];
}

INLINE float lanes_max(const v8 *v)
{
    v8 m = MAX(*v, __builtin_shufflevector(*v, *v, 4, 5, 6, 7, 0, 1, 2, 3));

    m = MAX(m, __builtin_shufflevector(m, m, 2, 3, 0, 1, 6, 7, 4, 5));
    m = MAX(m, __builtin_shufflevector(m, m, 1, 0, 3, 2, 5, 4, 7, 6));
    return m[0];
}

/*
 * exp of each lane. error: below 2 ulp for results that are normal floats, below 2^-126 otherwise; exactly 0 below -88,
 * NaN stays NaN. how: x = n ln 2 + r, |r| <= ln 2 / 2; a polynomial of degree 6 for exp r (Cephes' coefficients);
 * scaled by 2^n, or 0 for n = -127. range: callers subtract a maximum first, so that x <= 0 but for rounding; above 88
 * the result saturates.
 */
INLINE void exp_v8(v8 *x)
{
    const v8 lowest = splat(-88.0f), highest = splat(88.0f);
    v8 t = MAX(lowest, *x);
    t = MIN(highest, t);
    const v8 magic =
        splat(12582912.0f + 127.0f); /* 1.5 * 2^23: adding it rounds to an integer; here the exponent of 2^n */
    const v8 exponent = t * splat(1.44269504088896341f) + magic, n = exponent - magic;
    v8 r = t - n * splat(0.693359375f);
    r = r - n * splat(-2.12194440e-4f);
    v8 p = splat(1.9875691500e-4f);
    p = p * r + splat(1.3981999507e-3f);
    p = p * r + splat(8.3334519073e-3f);
    p = p * r + splat(4.1665795894e-2f);
    p = p * r + splat(1.6666665459e-1f);
    p = p * r + splat(5.0000001201e-1f);
    p = p * r * r + r + splat(1.0f);
    *x = p * (v8)((i8)exponent << 23);
}

#endif
