/* Loops to compare with, each compiled for the instruction sets of x86-64 that matter and chosen at run time. */
#include "plain_loops.h"
#include "bench.h"
#include "console.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline))

/* Defines name(...) as its body compiled for AVX-512, for AVX2, or for any processor of this kind. */
#if defined(__x86_64__)
#define FOR_EACH_CPU(type, name, parameters, arguments)                                                               \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))) static type name##_avx512 parameters                \
    {                                                                                                                 \
        return name##_body arguments;                                                                                 \
    }                                                                                                                 \
    __attribute__((target("avx2,fma"))) static type name##_avx2 parameters                                            \
    {                                                                                                                 \
        return name##_body arguments;                                                                                 \
    }                                                                                                                 \
    static type name parameters                                                                                       \
    {                                                                                                                 \
        if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return name##_avx512 arguments; \
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return name##_avx2 arguments;            \
        return name##_body arguments;                                                                                 \
    }
#else
#define FOR_EACH_CPU(type, name, parameters, arguments) \
    static type name parameters                         \
    {                                                   \
        return name##_body arguments;                   \
    }
#endif

/* -------------------------------------------------------------------------------------------------- attention ---- */

/* y [n] = sum of a[p] times row p of b [k][n]. */
INLINE void weighted_rows(float *restrict y, const float *restrict a, const float *restrict b, size_t k, size_t n)
{
    for (size_t j = 0; j < n; j++) y[j] = 0;
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < n; j++) y[j] += a[p] * b[p * n + j];
}

INLINE void scaled_softmax(float *x, size_t n, float scale)
{
    float largest = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++) largest = x[j] > largest ? x[j] : largest;
    for (size_t j = 0; j < n; j++) {
        x[j] = expf(scale * (x[j] - largest));
        sum += x[j];
    }
    for (size_t j = 0; j < n; j++) x[j] /= sum;
}

INLINE int attention_body(float *out, float *weights, float *transposed, const float *q, const float *k, const float *v,
                          size_t n, size_t d)
{
    for (size_t j = 0; j < n; j++)
        for (size_t p = 0; p < d; p++) transposed[p * n + j] = k[j * d + p];
    for (size_t i = 0; i < n; i++) weighted_rows(weights + i * n, q + i * d, transposed, d, n);
    for (size_t i = 0; i < n; i++) scaled_softmax(weights + i * n, n, 1 / sqrtf((float)d));
    for (size_t i = 0; i < n; i++) weighted_rows(out + i * d, weights + i * n, v, n, d);
    return 0;
}

FOR_EACH_CPU(int, attention,
             (float *out, float *weights, float *transposed, const float *q, const float *k, const float *v, size_t n,
              size_t d),
             (out, weights, transposed, q, k, v, n, d))

void plain_attention(float *out, float *weights, float *transposed, const float *q, const float *k, const float *v,
                     size_t n, size_t d)
{
    attention(out, weights, transposed, q, k, v, n, d);
}

/* ------------------------------------------------------------------------------------------------------ roofs ---- */

typedef float v8 __attribute__((vector_size(32), may_alias));
typedef float v16 __attribute__((vector_size(64), may_alias));

enum { CHAINS = 12, TURNS = 1 << 16, READS = 8 };

/* Independent multiply-adds, of different values so that they are not taken for one: as many as hide a latency of four
 * cycles of two units, and as fit into sixteen registers. */
#define PEAK_BODY(vector)                                       \
    vector x[CHAINS];                                           \
    for (int c = 0; c < CHAINS; c++) x[c] = (vector){(float)c}; \
    for (int i = 0; i < TURNS; i++)                             \
        for (int c = 0; c < CHAINS; c++) x[c] = x[c] * a + b;   \
    for (int c = 1; c < CHAINS; c++) x[0] += x[c];              \
    return x[0][0] + x[0][sizeof(vector) / sizeof(float) - 1];

INLINE float peak8_body(float a, float b){PEAK_BODY(v8)}

INLINE float peak16_body(float a, float b){PEAK_BODY(v16)}

FOR_EACH_CPU(float, peak8, (float a, float b), (a, b)) FOR_EACH_CPU(float, peak16, (float a, float b), (a, b))

    INLINE float read_all_body(const float *data, size_t n)
{
    v8 sum[READS] = {0};
    for (size_t i = 0; i + 8 * READS <= n; i += 8 * READS)
        for (size_t c = 0; c < READS; c++) sum[c] += *(const v8 *)(data + i + 8 * c);
    for (size_t c = 1; c < READS; c++) sum[0] += sum[c];
    return sum[0][0] + sum[0][7];
}

FOR_EACH_CPU(float, read_all, (const float *data, size_t n), (data, n))

static volatile float kept; /* so that no loop is left out */

/* Registers of eight or of sixteen: whichever this processor is faster with. */
double plain_peak_gflops(void)
{
    double best = 0;
    for (int round = 0; round < 20; round++) {
        const double begin = clock_seconds();
        kept = peak8(0.999f, 1e-3f);
        const double middle = clock_seconds();
        kept = peak16(0.999f, 1e-3f);
        best = fmax(best, 2e-9 * 8 * CHAINS * TURNS / (middle - begin));
        best = fmax(best, 2e-9 * 16 * CHAINS * TURNS / (clock_seconds() - middle));
    }
    return best;
}

double plain_read_gbytes(size_t bytes)
{
    const size_t n = bytes / sizeof(float), passes = ((size_t)1 << 26) / bytes + 1;
    float *data = aligned_alloc(64, bytes);
    double best = 0;
    if (!data) exit(console_fail("out of memory: a block of %zu bytes is needed", bytes));
    for (size_t i = 0; i < n; i++) data[i] = 1;
    for (int round = 0; round < 7; round++) {
        const double begin = clock_seconds();
        for (size_t p = 0; p < passes; p++) {
            kept = read_all(data, n);
            __asm__ volatile("" ::: "memory"); /* the next pass is not the same reading */
        }
        best = fmax(best, 1e-9 * (double)(n * sizeof(float) * passes) / (clock_seconds() - begin));
    }
    free(data);
    return best;
}
