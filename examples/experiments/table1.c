/*
 * Table 1 of the paper, measured: one layer of self-attention, of restricted self-attention, recurrent and
 * convolutional, of the same width, for sequences of doubling length. Attention and all products of whole sequences are
 * the library's, so that all have the same care; what it has no function for is plain C: the steps of the recurrence,
 * and laying the words under a convolution's kernel side by side.
 *
 * Usage: table1 [WIDTH [HEADS [WINDOW [KERNEL [LONGEST [SECONDS]]]]]], which table1.sh gives names to.
 *
 * Prints a line for each layer and length, fields separated by tabs: layer, n, milliseconds, MB beside input and
 * weights, steps that must come one after the other, the table's operations (of projections too), and the MB that its
 * formulas ask for when they hold every weight of attention.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <transformer.h>

enum { SHORTEST = 16, MOST_CALLS = 1001 };

struct setting {
    size_t width, heads, window, kernel, longest;
    double seconds; /* to measure each for */
};

struct row {
    double ms, mb, steps, operations, formula_mb;
};

/* ----------------------------------------------------------------------------------------- time and memory ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

typedef bool layer_fn(void *layer);

/* Median of calls, after one that does not count. */
static bool time_calls(double *ms, double seconds, layer_fn *run, void *layer)
{
    static double times[MOST_CALLS];
    int calls = 0;
    bool good = run(layer);

    for (const double end = now() + seconds; good && calls < MOST_CALLS && (!calls || now() < end); calls++) {
        const double begin = now();
        good = run(layer);
        times[calls] = now() - begin;
    }
    if (!good) return false;
    qsort(times, (size_t)calls, sizeof *times, compare);
    *ms = 1e3 * times[calls / 2];
    return true;
}

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

static double mb(double floats)
{
    return 4e-6 * floats;
}

/* Numbers in (-scale, scale); NULL, with a message, when there is no memory for them. */
static float *numbers(size_t rows, size_t columns, float scale)
{
    const size_t n = rows * columns;
    float *x = columns <= SIZE_MAX / sizeof *x / rows ? malloc(n * sizeof *x) : NULL;

    if (!x)
        fprintf(stderr, "table1: no memory for %zu rows of %zu numbers: --longest or --width is too large\n", rows,
                columns);
    for (size_t i = 0; x && i < n; i++) x[i] = scale * ((float)((uint32_t)i * 2654435761u >> 8) * 0x1p-23f - 1.0f);
    return x;
}

static bool fails(tfm_status status, const tfm_error *error)
{
    if (status != TFM_OK) fprintf(stderr, "table1: %s\n", error->message);
    return status != TFM_OK;
}

/* Of a sequence with a matrix of weights; most: MB with sequence, weights and results. */
static bool time_product(double *ms, double *most, const struct setting *s, size_t n, size_t outputs, size_t inputs)
{
    struct memory memory = {0};
    const tfm_allocator allocator = {resize, &memory};
    tfm_measure_options o;
    tfm_measurement m;
    tfm_error error;

    tfm_measure_options_init(&o, sizeof o);
    o.seconds = s->seconds;
    o.allocator = &allocator;
    if (fails(tfm_measure_product(&m, sizeof m, n, outputs, inputs, &o, &error), &error)) return false;
    *ms = 1e3 * m.seconds;
    *most = 1e-6 * (double)memory.most;
    return true;
}

/* ----------------------------------------------------------------------------------------------- attention ---- */

struct attention {
    size_t n, heads, d_k;
    float *qkv, *out; /* q, k, v and out [heads][n][d_k] */
    tfm_attention_options options;
};

/* The heads one after the other. */
static bool attend(void *layer)
{
    const struct attention *a = layer;
    const size_t head = a->n * a->d_k, all = a->heads * head;
    tfm_error error;

    for (size_t h = 0; h < a->heads; h++) {
        const float *q = a->qkv + h * head;
        if (fails(tfm_attention(a->out + h * head, NULL, q, q + all, q + 2 * all, a->n, a->n, a->d_k, a->d_k,
                                &a->options, &error),
                  &error))
            return false;
    }
    return true;
}

/* window 0: all. Of several heads, the formulas hold one matrix of weights each. */
static bool measure_attention(struct row *row, const struct setting *s, size_t n, size_t window)
{
    const size_t all = n * s->width, seen = 2 * window + 1, keys = window && seen < n ? seen : n;
    struct memory memory = {0};
    const tfm_allocator allocator = {resize, &memory};
    struct attention a = {.n = n, .heads = s->heads, .d_k = s->width / s->heads, .qkv = numbers(n, 4 * s->width, 1.0f)};

    if (!a.qkv) return false;
    a.out = a.qkv + 3 * all;
    tfm_attention_options_init(&a.options, sizeof a.options);
    a.options.window = (uint32_t)window;
    a.options.allocator = &allocator;
    const bool good = time_calls(&row->ms, s->seconds, attend, &a);
    row->mb = mb(4.0 * (double)all) + 1e-6 * (double)memory.most;
    row->steps = 1;
    row->operations = (double)n * (double)keys * (double)s->width;
    row->formula_mb = mb(4.0 * (double)all + (double)s->heads * (double)n * (double)keys);
    free(a.qkv);
    return good;
}

/* Words to queries, keys and values in one product, as in the library's models, and heads to the result in another. The
 * result takes the place of the queries, and the product its scratch when that of attention is free again. */
static bool add_projections(struct row *row, const struct setting *s, size_t n)
{
    const double d = (double)s->width, all = (double)n * d;
    double in, out, most, scratch;

    if (!time_product(&in, &most, s, n, 3 * s->width, s->width)) return false;
    if (!time_product(&out, &most, s, n, s->width, s->width)) return false;
    scratch = most - mb(2 * all + d * d);
    row->ms += in + out;
    row->mb = mb(4 * all) + fmax(row->mb - mb(4 * all), scratch);
    row->operations += 4 * all * d;
    return true;
}

/* ------------------------------------------------------------------------------ recurrence and convolution ---- */

struct recurrence {
    size_t n, width;
    float *states;        /* [n][width]: W x_t, which h_t replaces                  */
    const float *weights; /* U transposed: a row is what one number of h_(t-1) adds */
};

/* y += U x, four rows at once, so that y is read and written less. */
static void add_product(float *restrict y, const float *restrict u, const float *restrict x, size_t d)
{
    size_t j = 0;

    for (; j + 4 <= d; j += 4) {
        const float *const row = u + j * d;
        for (size_t i = 0; i < d; i++)
            y[i] += x[j] * row[i] + x[j + 1] * row[d + i] + x[j + 2] * row[2 * d + i] + x[j + 3] * row[3 * d + i];
    }
    for (; j < d; j++)
        for (size_t i = 0; i < d; i++) y[i] += x[j] * u[j * d + i];
}

/* h_t = tanh(W x_t + U h_(t-1)). In place: the next call takes these states for its W x_t. */
static bool recur(void *layer)
{
    const struct recurrence *r = layer;

    for (size_t t = 0; t < r->n; t++) {
        float *h = r->states + t * r->width;
        if (t) add_product(h, r->weights, h - r->width, r->width);
        for (size_t i = 0; i < r->width; i++) h[i] = tanhf(h[i]);
    }
    return true;
}

/* W x_t of all words is one product; the states stand where its results were. */
static bool measure_recurrent(struct row *row, const struct setting *s, size_t n)
{
    const double d = (double)s->width, length = (double)n;
    float *states = numbers(n, s->width, 1.0f), *weights = numbers(s->width, s->width, 1.0f / sqrtf((float)s->width));
    struct recurrence r = {n, s->width, states, weights};
    double inputs = 0, steps = 0, most = 0;
    const bool good = states && weights && time_product(&inputs, &most, s, n, s->width, s->width) &&
                      time_calls(&steps, s->seconds, recur, &r);

    *row = (struct row){inputs + steps, most - mb(length * d + d * d), length, length * d * d, mb(length * d)};
    free(states);
    free(weights);
    return good;
}

struct convolution {
    size_t n, width, kernel;
    const float *words; /* [n][width]         */
    float *columns;     /* [n][kernel][width] */
};

/* The words around each side by side, zeros beyond the ends. */
static bool unfold(void *layer)
{
    const struct convolution *c = layer;
    const size_t before = c->kernel / 2;
    float *column = c->columns;

    for (size_t t = 0; t < c->n; t++)
        for (size_t j = t; j < t + c->kernel; j++, column += c->width)
            if (j < before || j - before >= c->n) memset(column, 0, c->width * sizeof *column);
            else memcpy(column, c->words + (j - before) * c->width, c->width * sizeof *column);
    return true;
}

/* Each result is a product with the words under the kernel. */
static bool measure_convolution(struct row *row, const struct setting *s, size_t n)
{
    const double d = (double)s->width, k = (double)s->kernel, length = (double)n;
    float *words = numbers(n, s->width, 1.0f), *columns = numbers(n, s->kernel * s->width, 1.0f);
    struct convolution c = {n, s->width, s->kernel, words, columns};
    double product = 0, copy = 0, most = 0;
    const bool good = words && columns && time_calls(&copy, s->seconds, unfold, &c);

    free(words);
    free(columns);
    if (!good || !time_product(&product, &most, s, n, s->width, s->kernel * s->width)) return false;
    *row = (struct row){copy + product, most - mb(k * d * d), 1, k * length * d * d, mb(length * d)};
    return true;
}

/* ------------------------------------------------------------------------------------------------- program ---- */

static void print(const char *layer, size_t n, const struct row *r)
{
    printf("%s\t%zu\t%.5g\t%.5g\t%.0f\t%.5g\t%.5g\n", layer, n, r->ms, r->mb, r->steps, r->operations, r->formula_mb);
    fflush(stdout);
}

static bool measure_length(const struct setting *s, size_t n)
{
    static const char *const names[][2] = {{"self-attention", "self-attention with projections"},
                                           {"restricted self-attention", "restricted self-attention with projections"}};
    struct row row = {0};

    for (int i = 0; i < 2; i++) {
        if (!measure_attention(&row, s, n, i ? s->window : 0)) return false;
        print(names[i][0], n, &row);
        if (!add_projections(&row, s, n)) return false;
        print(names[i][1], n, &row);
    }
    if (!measure_recurrent(&row, s, n)) return false;
    print("recurrent", n, &row);
    if (!measure_convolution(&row, s, n)) return false;
    print("convolutional", n, &row);
    return true;
}

static bool read_number(size_t *number, const char *name, size_t lowest, const char *text)
{
    const size_t highest = 1 << 20;
    char *end;

    *number = strtoul(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && *number >= lowest && *number <= highest) return true;
    fprintf(stderr, "table1: --%s is '%s', not a number in %zu..%zu\n", name, text, lowest, highest);
    return false;
}

int main(int argc, char **argv)
{
    struct setting s = {512, 8, 64, 3, 8192, 0.3};
    const struct {
        size_t *number;
        const char *name;
        size_t lowest;
    } arguments[] = {{&s.width, "width", 1},
                     {&s.heads, "heads", 1},
                     {&s.window, "window", 1},
                     {&s.kernel, "kernel", 1},
                     {&s.longest, "longest", SHORTEST}};

    for (int i = 1; i < argc && i <= 5; i++)
        if (!read_number(arguments[i - 1].number, arguments[i - 1].name, arguments[i - 1].lowest, argv[i])) return 2;
    if (argc > 6) s.seconds = strtod(argv[6], NULL);
    if (argc > 7 || !(s.seconds >= 0 && s.seconds <= 60)) {
        fputs("usage: table1 [WIDTH [HEADS [WINDOW [KERNEL [LONGEST [SECONDS]]]]]]; up to 60 seconds\n", stderr);
        return 2;
    }
    if (s.width % s.heads) {
        fprintf(stderr, "table1: --width is %zu, which --heads %zu does not divide\n", s.width, s.heads);
        return 2;
    }
    for (size_t n = SHORTEST; n <= s.longest; n *= 2)
        if (!measure_length(&s, n)) return 1;
    return 0;
}
