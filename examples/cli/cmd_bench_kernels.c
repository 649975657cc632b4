/* tfm bench kernels: every inner loop of the library by itself, beside what the processor could do at most. */
#include "bench.h"
#include "chart.h"
#include "commands.h"
#include "console.h"
#include "plain_loops.h"
#include "text_file.h"

#include <transformer.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct kernels_args {
    uint32_t all;
    float seconds;
    const char *svg;
} kernels_args;

#define AT(field) .offset = offsetof(kernels_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"all", NULL, "measure the loops of every instruction set that this processor has, not only those in use",
     OPTION_FLAG, AT(all)},
    {"seconds", "S", "of each measurement", OPTION_FLOAT, .low = 0, .high = 60, AT(seconds)},
    {"svg", "FILE", "draw a roofline: rates over operations per byte, under the limits of this processor", OPTION_TEXT,
     AT(svg)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    kernels_args *args = place;
    args->seconds = 0.1f;
}

/* The limits of one thread. */
typedef struct roofs {
    double gflops, l1, l2, memory; /* GFLOP/s, GB/s */
} roofs;

typedef struct bench {
    const kernels_args *args;
    roofs roofs;
    tfm_measurement *results; /* of the twin in use */
    size_t n_results, capacity;
} bench;

static roofs measure_roofs(void)
{
    return (roofs){plain_peak_gflops(), plain_read_gbytes(16 << 10), plain_read_gbytes(256 << 10),
                   plain_read_gbytes(256 << 20)};
}

static double gflops_of(const tfm_measurement *r)
{
    return 1e-9 * r->flops / r->seconds;
}

static void print_result(const tfm_measurement *r)
{
    const double gbytes = 1e-9 * r->bytes / r->seconds;
    printf("{\"bench\":\"kernels\",\"name\":\"%s\",\"shape\":\"%s\",\"twin\":\"%s\",\"ns\":%.1f,\"gflops\":%.2f,"
           "\"gbytes_per_s\":%.2f,\"flops\":%.0f,\"bytes\":%.0f}\n",
           r->name, r->shape, r->twin, 1e9 * r->seconds, gflops_of(r), gbytes, r->flops, r->bytes);
    fflush(stdout);
    console_say("%-20s %-22s %-10s %12.1f %9.2f %9.2f", r->name, r->shape, r->twin, 1e9 * r->seconds, gflops_of(r),
                gbytes);
}

static int measure(bench *b, size_t kernel, size_t twin, bool in_use)
{
    tfm_measure_options o;
    tfm_measurement r;
    tfm_error error;
    tfm_measure_options_init(&o, sizeof o);
    o.seconds = (double)b->args->seconds;
    if (tfm_measure_kernel(&r, sizeof r, kernel, twin, &o, &error)) return console_fail("%s", error.message);
    print_result(&r);
    if (!in_use) return EXIT_SUCCESS;
    memory_grow(&b->results, &b->capacity, b->n_results + 1, sizeof *b->results);
    b->results[b->n_results++] = r;
    return EXIT_SUCCESS;
}

static int measure_all(bench *b)
{
    const size_t twins = tfm_measure_twin_count();
    console_say("%-20s %-22s %-10s %12s %9s %9s", "loop", "size", "twin", "ns", "GFLOP/s", "GB/s");
    for (size_t kernel = 0; kernel < tfm_measure_kernel_count(); kernel++)
        for (size_t twin = b->args->all ? 0 : twins - 1; twin < twins; twin++) {
            const int code = measure(b, kernel, twin, twin == twins - 1);
            if (code) return code;
        }
    return EXIT_SUCCESS;
}

/* A limit of memory: rises with the operations for each byte until the processor itself is the limit. */
static void draw_roof(chart *c, double gbytes, double gflops, const char *anchor, const char *name)
{
    const double low = fmax(c->x.low, c->y.low / gbytes), corner = gflops / gbytes;
    const double x[] = {low, corner}, y[] = {low * gbytes, gflops};
    char text[96];
    snprintf(text, sizeof text, "%s %.0f GB/s", name, gbytes);
    chart_line(c, x, y, 2, "#999", true, NULL);
    chart_note(c, corner, gflops, anchor, text);
}

static void draw_roofs(chart *c, const roofs *r)
{
    const double x[] = {r->gflops / r->l1, c->x.high}, y[] = {r->gflops, r->gflops};
    char text[96];
    draw_roof(c, r->l1, r->gflops, "end", "first cache");
    draw_roof(c, r->l2, r->gflops, "start", "second cache");
    draw_roof(c, r->memory, r->gflops, "start", "memory");
    snprintf(text, sizeof text, "limit of multiply-adds: %.0f GFLOP/s", r->gflops);
    chart_line(c, x, y, 2, "#555", false, text);
}

static const char *color_of(size_t i)
{
    static const char *const colors[] = {"#1b7f5a", "#2461b8", "#b8352a", "#8a5a00", "#6b3fa0", "#00798c"};
    return colors[i % (sizeof colors / sizeof *colors)];
}

static int draw(const bench *b)
{
    const roofs *r = &b->roofs;
    axis x = {"operations for each byte read or written", 0.05, 64, 2}, y = {"GFLOP/s", 1, 2 * r->gflops, 10};
    char title[128], name[96];
    chart c;
    for (size_t i = 0; i < b->n_results; i++) {
        const tfm_measurement *m = &b->results[i];
        if (m->flops <= 0) continue;
        x.low = fmin(x.low, 0.8 * m->flops / m->bytes);
        x.high = fmax(x.high, 1.2 * m->flops / m->bytes);
        y.low = fmin(y.low, 0.8 * gflops_of(m));
        y.high = fmax(y.high, 1.2 * gflops_of(m));
    }
    snprintf(title, sizeof title, "Inner loops (%s) on one thread, operands in the caches",
             b->n_results ? b->results[0].twin : "");
    const int code = chart_open(&c, b->args->svg, title, x, y);
    if (code) return code;
    draw_roofs(&c, r);
    for (size_t i = 0; i < b->n_results; i++) {
        const tfm_measurement *m = &b->results[i];
        if (m->flops <= 0) continue;
        snprintf(name, sizeof name, "%s, %s: %.3g", m->name, m->shape, gflops_of(m));
        chart_point(&c, m->flops / m->bytes, gflops_of(m), color_of(i), name);
    }
    return chart_close(&c);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    bench b = {.args = place};
    if (b.args->svg && !output_path_check(b.args->svg)) return EXIT_FAILURE;
    b.roofs = measure_roofs();
    printf("{\"bench\":\"limits\",\"gflops\":%.1f,\"l1_gbytes_per_s\":%.1f,\"l2_gbytes_per_s\":%.1f,"
           "\"memory_gbytes_per_s\":%.1f}\n",
           b.roofs.gflops, b.roofs.l1, b.roofs.l2, b.roofs.memory);
    int code = measure_all(&b);
    if (!code && b.args->svg) code = draw(&b);
    free(b.results);
    return code;
}

const command command_bench_kernels = {
    .name = "bench kernels",
    .summary = "measures every inner loop by itself",
    .usage = "[options]",
    .text =
        "Prints one JSON line with the limits of a thread (multiply-adds in registers alone; reading blocks of 16 KiB, "
        "256 KiB "
        "and 256 MiB), then one for each inner loop of the library: time of a call, operations and bytes a second. "
        "Operands stay in the caches, so that loops which stream through memory in a training are faster here. A table "
        "follows on standard error.",
    .examples = "  tfm bench kernels --svg roofline.svg\n"
                "  tfm bench kernels --all --seconds 0.5\n",
    .options = rows,
    .args_size = sizeof(kernels_args),
    .init = init,
    .run = run,
};
