/* tfm_measure_product, and the clockwork of all measurements. */
#include "api/measure.h"
#include "base/arithmetic.h"
#include "base/clock.h"
#include "kernels/gemm.h"

#include <math.h>
#include <stdlib.h>

#define OPTIONS_SIZE_MIN (offsetof(tfm_measure_options, allocator) + sizeof(void *))

enum { SAMPLES = 1001 }; /* the latest times of a measurement */

void tfm_measure_options_init(tfm_measure_options *options, size_t struct_size)
{
    const tfm_measure_options defaults = {.n_threads = 1, .seconds = 0.1};
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

tfm_status tfm_measure_read(tfm_measure_options *o, const tfm_measure_options *options, tfm_error *error)
{
    tfm_status status = TFM_OK;

    tfm_measure_options_init(o, sizeof *o);
    if (options) status = tfm_options_read(o, sizeof *o, OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK && !(o->seconds >= 0.0 && o->seconds <= 3600.0))
        status = tfm_fail(error, TFM_E_INVALID, "seconds is %g, not in 0..3600", o->seconds);
    if (status == TFM_OK && (o->dtype > TFM_DTYPE_BF16 || o->reserved))
        status = tfm_fail(error, TFM_E_INVALID, "dtype is %u, not in 0..1, or reserved is not 0", o->dtype);
    return status;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of n calls. */
static double time_calls(tfm_timed_fn *fn, const void *args, size_t n)
{
    const double begin = tfm_now();

    for (size_t i = 0; i < n; i++) fn(args);
    return tfm_now() - begin;
}

/* Calls are timed in groups that last long beside the reading of the clock. */
double tfm_measure_time(tfm_timed_fn *fn, const void *args, double seconds)
{
    static const double group_seconds = 2e-5;
    double times[SAMPLES];
    const double end = tfm_now() + seconds, once = time_calls(fn, args, 1);
    const size_t group = once < group_seconds ? (size_t)(group_seconds / fmax(once, 1e-9)) + 1 : 1;
    size_t n = 0;

    do times[n++ % SAMPLES] = time_calls(fn, args, group) / (double)group;
    while (tfm_now() < end);
    if (n > SAMPLES) n = SAMPLES;
    qsort(times, n, sizeof *times, compare);
    return times[n / 2];
}

typedef struct product {
    const tfm_kernels *kernels;
    tfm_pool *pool;
    float *scratch;
    tfm_gemm gemm;
} product;

static void run_product(const void *args)
{
    const product *p = args;

    tfm_gemm_run(p->kernels, p->pool, p->scratch, &p->gemm);
}

void tfm_measure_fill(float *x, size_t n)
{
    uint32_t state = 1;

    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

/* Operands, then the scratch of the threads. */
static void plan(tfm_arena *arena, product *p, size_t m, size_t n, size_t k)
{
    float *a = tfm_arena_floats(arena, m, k), *b = tfm_arena_floats(arena, n, k), *c = tfm_arena_floats(arena, m, n);

    p->gemm = (tfm_gemm){.m = m, .n = n, .k = k, .a = a, .a_row = k, .a_col = 1, .b = b, .b_row = 1, .b_col = k, .c = c,
                         .c_row = n};
    p->scratch = tfm_arena_floats(arena, tfm_pool_threads(p->pool), TFM_GEMM_SCRATCH);
}

static tfm_status time_product(double *seconds, const tfm_kernels *kernels, size_t m, size_t n, size_t k,
                               const tfm_measure_options *o, tfm_error *error)
{
    const tfm_allocator allocator = tfm_allocator_or_default(o->allocator);
    tfm_arena arena = {0};
    tfm_block block = {0};
    product p = {0};
    tfm_status status = tfm_pool_create(&p.pool, o->n_threads, &allocator, error);

    if (status != TFM_OK) return status;
    plan(&arena, &p, m, n, k);
    if (!arena.bad && tfm_block_reserve(&block, &allocator, arena.used, &arena)) {
        plan(&arena, &p, m, n, k);
        p.gemm.bf16 = o->dtype == TFM_DTYPE_BF16;
        p.kernels = kernels;
        tfm_measure_fill(block.memory, block.size / sizeof(float));
        *seconds = tfm_measure_time(run_product, &p, o->seconds);
    } else {
        status = tfm_fail(error, TFM_E_NOMEM, "a product of %zu x %zu x %zu: no memory", m, n, k);
    }
    tfm_block_free(&block, &allocator);
    tfm_pool_free(p.pool);
    return status;
}

tfm_status tfm_measure_product(tfm_measurement *result, size_t struct_size, size_t m, size_t n, size_t k,
                               const tfm_measure_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const size_t most = (size_t)1 << 31;
    tfm_measurement r = {.name = "product", .shape = ""};
    tfm_measure_options o;
    tfm_status status = tfm_measure_read(&o, options, error);

    if (status != TFM_OK) return status;
    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    if (!m || !n || !k || m > most || n > most || k > most)
        return tfm_fail(error, TFM_E_INVALID, "m %zu, n %zu, k %zu: each must be in 1..2147483648", m, n, k);
    const tfm_kernels *kernels = tfm_kernels_for(tfm_cpu_flags(o.dtype == TFM_DTYPE_BF16));
    r.twin = kernels->twin;
    r.flops = 2.0 * (double)m * (double)n * (double)k;
    r.bytes = 4.0 * ((double)m * (double)k + (double)n * (double)k + (double)m * (double)n);
    status = time_product(&r.seconds, kernels, m, n, k, &o, error);
    if (status == TFM_OK) tfm_result_write(result, struct_size, &r, sizeof r);
    return status;
}
