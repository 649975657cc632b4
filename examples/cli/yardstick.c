/* Rates of matrix products; the only file that knows BLIS. */
#include "yardstick.h"
#include "bench.h"
#include "console.h"

#include <transformer.h>

#include <stdlib.h>

double library_gflops(size_t m, size_t n, size_t k, uint32_t threads, uint32_t dtype, double seconds)
{
    tfm_measure_options o;
    tfm_measurement result;
    tfm_error error;
    tfm_measure_options_init(&o, sizeof o);
    o.n_threads = threads;
    o.dtype = dtype;
    o.seconds = seconds;
    if (tfm_measure_product(&result, sizeof result, m, n, k, &o, &error)) exit(console_fail("%s", error.message));
    return result.flops / result.seconds * 1e-9;
}

#ifdef HAVE_BLIS
#include <blis.h>

const char *yardstick_name(void)
{
    return "blis";
}

static float *random_matrix(size_t rows, size_t cols)
{
    float *x = NULL;
    size_t capacity = 0;
    memory_grow(&x, &capacity, rows * cols, sizeof *x);
    fill_random(x, rows * cols);
    return x;
}

typedef struct product {
    size_t m, n, k;
    float *a, *b, *c;
    rntm_t threads;
} product;

static double time_once(product *p)
{
    float one = 1, zero = 0;
    const double begin = clock_seconds();
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_TRANSPOSE, (dim_t)p->m, (dim_t)p->n, (dim_t)p->k, &one, p->a, (inc_t)p->k, 1,
                 p->b, (inc_t)p->k, 1, &zero, p->c, (inc_t)p->n, 1, NULL, &p->threads);
    return clock_seconds() - begin;
}

double yardstick_gflops(size_t m, size_t n, size_t k, uint32_t threads, double seconds)
{
    product p = {m, n, k, random_matrix(m, k), random_matrix(n, k), random_matrix(m, n), BLIS_RNTM_INITIALIZER};
    samples times = {0};
    bli_rntm_set_num_threads((dim_t)threads, &p.threads);
    time_once(&p);
    const double end = clock_seconds() + seconds;
    do samples_add(&times, time_once(&p));
    while (clock_seconds() < end);
    const double median = samples_median(&times);
    samples_free(&times);
    free(p.a);
    free(p.b);
    free(p.c);
    return 2e-9 * (double)m * (double)n * (double)k / median;
}
#else
const char *yardstick_name(void)
{
    return "own";
}

double yardstick_gflops(size_t m, size_t n, size_t k, uint32_t threads, double seconds)
{
    return library_gflops(m, n, k, threads, TFM_DTYPE_F32, seconds);
}
#endif
