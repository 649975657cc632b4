/* tfm bench attention: time and memory over the length of a sequence. */
#include "bench.h"
#include "chart.h"
#include "commands.h"
#include "console.h"
#include "plain_loops.h"
#include "text_file.h"

#include <transformer.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct attention_args {
    uint32_t shortest, longest, width, window, threads, naive_longest;
    const char *svg;
} attention_args;

#define AT(field) .offset = offsetof(attention_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"shortest", "N", "length to begin with; it is doubled", OPTION_U32, .low = 1, .high = 1 << 20, AT(shortest)},
    {"longest", "N", "and the last length", OPTION_U32, .low = 1, .high = 1 << 20, AT(longest)},
    {"naive-longest", "N", "last length of the naive form, whose matrix takes 4 n^2 bytes", OPTION_U32, .high = 1 << 16,
     AT(naive_longest)},
    {"width", "D", "of queries, keys and values: one head", OPTION_U32, .low = 1, .high = 4096, AT(width)},
    {"window", "R", "of restricted attention: keys at most this far away", OPTION_U32, .low = 1, AT(window)},
    {"threads", "N", "processors to use; the naive form uses one", OPTION_U32, .low = 1, .high = 1024, AT(threads)},
    {"svg", "FILE", "draw time and memory over the length", OPTION_TEXT, AT(svg)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    attention_args *args = place;
    args->shortest = 256;
    args->longest = args->naive_longest = 8192;
    args->width = 64;
    args->window = 128;
    args->threads = 1;
}

enum { FORM_LIBRARY, FORM_WINDOW, FORM_NAIVE, FORMS };

static const struct {
    const char *name, *color;
} forms[FORMS] = {{"library", "#1b7f5a"}, {"library, window", "#2461b8"}, {"naive", "#b8352a"}};

enum { MOST_LENGTHS = 24 };

typedef struct bench {
    const attention_args *args;
    size_t n; /* the present length */
    float *q, *k, *v, *out, *weights, *transposed;
    size_t held, most_held; /* bytes that the form under way allocated */
    double length[MOST_LENGTHS], ms[FORMS][MOST_LENGTHS], mb[FORMS][MOST_LENGTHS];
    size_t n_lengths, n_naive;
} bench;

static void hold(bench *b, size_t old_size, size_t new_size)
{
    b->held += new_size - old_size;
    if (b->held > b->most_held) b->most_held = b->held;
}

/* The library's allocator: counts. */
static void *resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    if (new_size == 0) {
        free(ptr);
        hold(user, old_size, 0);
        return NULL;
    }
    void *grown = realloc(ptr, new_size);
    if (grown) hold(user, old_size, new_size);
    return grown;
}

static float *take_floats(bench *b, size_t n)
{
    float *x = NULL;
    size_t capacity = 0;
    memory_grow(&x, &capacity, n, sizeof *x);
    hold(b, 0, n * sizeof *x);
    return x;
}

static void run_library(bench *b, uint32_t window)
{
    const tfm_allocator allocator = {resize, b};
    tfm_attention_options o;
    tfm_error error;
    tfm_attention_options_init(&o, sizeof o);
    o.window = window;
    o.n_threads = b->args->threads;
    o.allocator = &allocator;
    if (tfm_attention(b->out, NULL, b->q, b->k, b->v, b->n, b->n, b->args->width, b->args->width, &o, &error))
        exit(console_fail("%s", error.message));
}

static void run_naive(bench *b)
{
    const size_t n = b->n, d = b->args->width;
    b->weights = take_floats(b, n * n);
    b->transposed = take_floats(b, n * d);
    plain_attention(b->out, b->weights, b->transposed, b->q, b->k, b->v, n, d);
    hold(b, (n * n + n * d) * sizeof(float), 0);
    free(b->weights);
    free(b->transposed);
}

static void run_form(bench *b, int form)
{
    if (form == FORM_NAIVE) run_naive(b);
    else run_library(b, form == FORM_WINDOW ? b->args->window : 0);
}

/* Median of a few calls, after one that does not count. */
static void measure(bench *b, int form, size_t at)
{
    samples times = {0};
    b->held = b->most_held = 0;
    run_form(b, form);
    const double end = clock_seconds() + 0.3;
    do {
        const double begin = clock_seconds();
        run_form(b, form);
        samples_add(&times, clock_seconds() - begin);
    } while (clock_seconds() < end);
    b->ms[form][at] = 1e3 * samples_median(&times);
    b->mb[form][at] = 1e-6 * (double)b->most_held;
    samples_free(&times);
}

static void print_length(const bench *b, size_t at)
{
    char naive[64] = "";
    printf("{\"bench\":\"attention\",\"n\":%zu,\"width\":%u,\"threads\":%u,\"dtype\":\"f32\",\"ms\":%.4f,\"mb\":%.3f,"
           "\"window\":%u,\"window_ms\":%.4f,\"window_mb\":%.3f",
           b->n, b->args->width, b->args->threads, b->ms[FORM_LIBRARY][at], b->mb[FORM_LIBRARY][at], b->args->window,
           b->ms[FORM_WINDOW][at], b->mb[FORM_WINDOW][at]);
    if (at < b->n_naive) {
        printf(",\"naive_ms\":%.4f,\"naive_mb\":%.3f", b->ms[FORM_NAIVE][at], b->mb[FORM_NAIVE][at]);
        snprintf(naive, sizeof naive, "%12.3f %10.3f", b->ms[FORM_NAIVE][at], b->mb[FORM_NAIVE][at]);
    }
    printf("}\n");
    fflush(stdout);
    console_say("%8zu %12.3f %10.3f %12.3f %10.3f %s", b->n, b->ms[FORM_LIBRARY][at], b->mb[FORM_LIBRARY][at],
                b->ms[FORM_WINDOW][at], b->mb[FORM_WINDOW][at], naive);
}

static void measure_lengths(bench *b)
{
    const attention_args *a = b->args;
    console_say("%8s %12s %10s %9s %3u %10s %12s %10s", "n", "library ms", "MB", "window", a->window, "MB", "naive ms",
                "MB");
    for (size_t n = a->shortest; n <= a->longest && b->n_lengths < MOST_LENGTHS; n *= 2) {
        const size_t at = b->n_lengths++;
        b->length[at] = (double)n;
        b->n = n;
        if (n <= a->naive_longest) b->n_naive = b->n_lengths;
        for (int form = 0; form < FORMS; form++)
            if (form != FORM_NAIVE || at < b->n_naive) measure(b, form, at);
        print_length(b, at);
    }
}

/* The range of all values, for the axis. */
static void widen(axis *a, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (values[i] < a->low) a->low = values[i];
        if (values[i] > a->high) a->high = values[i];
    }
}

static int draw(const bench *b)
{
    chart c;
    char title[96], name[48];
    axis x = {"length n of the sequence", b->length[0], b->length[b->n_lengths - 1], 2};
    axis y = {"milliseconds (solid), MB of working memory (dashed)", 1, 1, 10};
    if (x.low == x.high) x.high = 2 * x.low;
    for (int form = 0; form < FORMS; form++) {
        widen(&y, b->ms[form], form == FORM_NAIVE ? b->n_naive : b->n_lengths);
        widen(&y, b->mb[form], form == FORM_NAIVE ? b->n_naive : b->n_lengths);
    }
    snprintf(title, sizeof title, "Attention of one head of width %u, forward", b->args->width);
    const int code = chart_open(&c, b->args->svg, title, x, y);
    if (code) return code;
    for (int form = 0; form < FORMS; form++) {
        const size_t n = form == FORM_NAIVE ? b->n_naive : b->n_lengths;
        snprintf(name, sizeof name, "%s: time", forms[form].name);
        chart_line(&c, b->length, b->ms[form], n, forms[form].color, false, name);
        snprintf(name, sizeof name, "%s: memory", forms[form].name);
        chart_line(&c, b->length, b->mb[form], n, forms[form].color, true, name);
    }
    return chart_close(&c);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const attention_args *args = place;
    bench b = {.args = args};
    if (args->longest < args->shortest)
        return console_usage("--longest is %u, less than --shortest %u", args->longest, args->shortest);
    if (args->svg && !output_path_check(args->svg)) return EXIT_FAILURE;
    const size_t n = (size_t)args->longest * args->width;
    b.q = take_floats(&b, n);
    b.k = take_floats(&b, n);
    b.v = take_floats(&b, n);
    b.out = take_floats(&b, n);
    fill_random(b.q, n);
    fill_random(b.k, n);
    fill_random(b.v, n);
    measure_lengths(&b);
    const int code = args->svg ? draw(&b) : EXIT_SUCCESS;
    free(b.q);
    free(b.k);
    free(b.v);
    free(b.out);
    return code;
}

const command command_bench_attention = {
    .name = "bench attention",
    .summary = "measures attention over the length of a sequence",
    .usage = "[options]",
    .text = "Runs tfm_attention() on one head, without a window and with one (restricted attention, section 4 of the "
            "paper), and "
            "a naive form that holds all n x n weights at once, for lengths that double. Time is the median of calls; "
            "memory is what a call allocates beside its inputs and output. One JSON line for each length on standard "
            "output, a "
            "table on standard error.",
    .examples = "  tfm bench attention\n"
                "  tfm bench attention --longest 65536 --window 64 --svg attention.svg\n",
    .options = rows,
    .args_size = sizeof(attention_args),
    .init = init,
    .run = run,
};
