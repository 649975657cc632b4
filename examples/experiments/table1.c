/*
 * Table 1 of the paper, measured: one layer of self-attention, of restricted self-attention, recurrent and
 * convolutional, of the same width, for sequences of doubling length. Attention is the library's; the other two are the
 * products of matrices that they consist of, by the library's kernel too, so that all have the same care. Usage: table1
 * [WIDTH [HEADS [NEIGHBOURS [KERNEL [LONGEST [SECONDS]]]]]]     defaults: 512 8 128 3 8192 0.3 Prints a line for each
 * layer and length, fields separated by tabs: layer, n, milliseconds, MB beside input and weights, steps that must come
 * one after the other, the table's operations, and the MB that the formulas of the paper ask for.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <transformer.h>

enum { SHORTEST = 16, MOST_CALLS = 1001 };

struct setting {
    size_t width, heads, neighbours, kernel, longest;
    double seconds; /* to measure each for */
};

struct row {
    double ms, mb, steps, operations, formula_mb;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool fails(tfm_status status, const tfm_error *error)
{
    if (status != TFM_OK) fprintf(stderr, "table1: %s\n", error->message);
    return status != TFM_OK;
}

static double mb(double floats)
{
    return 4e-6 * floats;
}

/* ----------------------------------------------------------------------------------------------- attention ---- */

struct memory {
    size_t held, most;
};

/* An allocator that counts. */
static void *resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    struct memory *m = user;
    void *grown = NULL;

    if (new_size == 0) free(ptr);
    else if (!(grown = realloc(ptr, new_size))) return NULL;
    m->held += new_size - old_size;
    if (m->held > m->most) m->most = m->held;
    return grown;
}

/* The heads one after the other: q, k, v and out [heads][n][width / heads]. */
static bool attend(float *out, const float *qkv, const struct setting *s, size_t n, const tfm_attention_options *o)
{
    const size_t d_k = s->width / s->heads, all = n * s->width;
    tfm_error error;

    for (size_t h = 0; h < s->heads; h++) {
        const float *q = qkv + h * n * d_k;
        if (fails(tfm_attention(out + h * n * d_k, NULL, q, q + all, q + 2 * all, n, n, d_k, d_k, o, &error), &error))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of calls, after one that does not count. */
static bool time_attention(double *ms, float *out, const float *qkv, const struct setting *s, size_t n,
                           const tfm_attention_options *o)
{
    static double times[MOST_CALLS];
    int calls = 0;
    bool good = attend(out, qkv, s, n, o);

    for (const double end = now() + s->seconds; good && calls < MOST_CALLS && (!calls || now() < end); calls++) {
        const double begin = now();
        good = attend(out, qkv, s, n, o);
        times[calls] = now() - begin;
    }
    if (!good) return false;
    qsort(times, (size_t)calls, sizeof *times, compare);
    *ms = 1e3 * times[calls / 2];
    return true;
}

/* neighbours 0: all. Of several heads, the formulas hold one matrix of weights each. */
static bool measure_attention(struct row *row, const struct setting *s, size_t n, size_t neighbours)
{
    const size_t all = n * s->width, keys = neighbours && neighbours < n ? neighbours : n;
    struct memory memory = {0};
    const tfm_allocator allocator = {resize, &memory};
    float *floats = malloc(4 * all * sizeof *floats);
    tfm_attention_options o;

    if (!floats) {
        fprintf(stderr, "table1: no memory for queries, keys, values and results of %zu words\n", n);
        return false;
    }
    for (size_t i = 0; i < 3 * all; i++) floats[i] = (float)(i * 2654435761u % 1000) / 500.0f - 1.0f;
    tfm_attention_options_init(&o, sizeof o);
    o.window = (uint32_t)(neighbours / 2);
    o.allocator = &allocator;
    const bool good = time_attention(&row->ms, floats + 3 * all, floats, s, n, &o);
    row->mb = mb(4.0 * (double)all) + 1e-6 * (double)memory.most;
    row->steps = 1;
    row->operations = (double)n * (double)keys * (double)s->width;
    row->formula_mb = mb(4.0 * (double)all + (double)s->heads * (double)n * (double)keys);
    free(floats);
    return good;
}

/* ------------------------------------------------------------------------------------------------ products ---- */

static bool time_product(double *ms, const struct setting *s, size_t rows, size_t inputs)
{
    tfm_measure_options o;
    tfm_measurement m;
    tfm_error error;

    tfm_measure_options_init(&o, sizeof o);
    o.seconds = s->seconds;
    if (fails(tfm_measure_product(&m, sizeof m, rows, s->width, inputs, &o, &error), &error)) return false;
    *ms = 1e3 * m.seconds;
    return true;
}

/* h_t = tanh(W x_t + U h_(t-1)): all W x at once, then U h step by step. */
static bool measure_recurrent(struct row *row, const struct setting *s, size_t n)
{
    const double d = (double)s->width, length = (double)n;
    double inputs = 0, step = 0;
    const bool good = time_product(&inputs, s, n, s->width) && time_product(&step, s, 1, s->width);

    *row = (struct row){inputs + length * step, mb(length * d), length, length * d * d, mb(length * d)};
    return good;
}

/* Each result is a product with the words under the kernel, which lie side by side. */
static bool measure_convolution(struct row *row, const struct setting *s, size_t n)
{
    const double d = (double)s->width, length = (double)n;
    double ms = 0;
    const bool good = time_product(&ms, s, n, s->kernel * s->width);

    *row = (struct row){ms, mb(length * d), 1, (double)s->kernel * length * d * d, mb(length * d)};
    return good;
}

static void print(const char *layer, size_t n, const struct row *r)
{
    printf("%s\t%zu\t%.5g\t%.5g\t%.0f\t%.5g\t%.5g\n", layer, n, r->ms, r->mb, r->steps, r->operations, r->formula_mb);
    fflush(stdout);
}

static bool measure_length(const struct setting *s, size_t n)
{
    struct row row = {0};

    if (!measure_attention(&row, s, n, 0)) return false;
    print("self-attention", n, &row);
    if (!measure_attention(&row, s, n, s->neighbours)) return false;
    print("restricted self-attention", n, &row);
    if (!measure_recurrent(&row, s, n)) return false;
    print("recurrent", n, &row);
    if (!measure_convolution(&row, s, n)) return false;
    print("convolutional", n, &row);
    return true;
}

static bool read_number(size_t *number, const char *text)
{
    char *end;

    *number = strtoul(text, &end, 10);
    return *text >= '1' && *text <= '9' && !*end && *number <= 1 << 20;
}

int main(int argc, char **argv)
{
    struct setting s = {512, 8, 128, 3, 8192, 0.3};
    size_t *const numbers[] = {&s.width, &s.heads, &s.neighbours, &s.kernel, &s.longest};
    bool good = argc <= 7;

    for (int i = 1; i < argc && i <= 5 && good; i++) good = read_number(numbers[i - 1], argv[i]);
    if (argc > 6) s.seconds = strtod(argv[6], NULL);
    if (!good || s.width % s.heads || s.neighbours < 2 || !(s.seconds >= 0 && s.seconds <= 60)) {
        fprintf(
            stderr,
            "usage: table1 [WIDTH [HEADS [NEIGHBOURS [KERNEL [LONGEST [SECONDS]]]]]]; HEADS divides WIDTH, NEIGHBOURS > 1\n");
        return 2;
    }
    for (size_t n = SHORTEST; n <= s.longest; n *= 2)
        if (!measure_length(&s, n)) return 1;
    return 0;
}
