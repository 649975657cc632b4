/*
 * Scaled dot-product attention on plain buffers, eq. (1) of the paper: small cases that can be followed by hand, each
 * printed and compared with its numbers. Fails when one differs.
 *
 * Usage: attention
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <transformer.h>

enum { MOST = 16 };

/* One call of tfm_attention(): matrices row by row, and what must come out. */
struct example {
    const char *title;
    size_t n_queries, n_keys, d_k, d_v;
    float q[MOST], k[MOST], v[MOST], mask[MOST];
    uint32_t masked, causal;
    float scale; /* 0: 1 / sqrt(d_k) */
    double weights[MOST], out[MOST];
};

/* clang-format off */
static const struct example examples[] = {
    {.title = "Two words, each looks at itself most",
     .n_queries = 2, .n_keys = 2, .d_k = 2, .d_v = 2,
     .q = {1, 0, 0, 1}, .k = {1, 0, 0, 1}, .v = {2, 0, 0, 4},
     .weights = {0.669761549, 0.330238451, 0.330238451, 0.669761549},
     .out = {1.339523099, 1.320953803, 0.660476901, 2.679046197}},
    {.title = "The same with the decoder's mask: the first word sees itself alone",
     .n_queries = 2, .n_keys = 2, .d_k = 2, .d_v = 2, .causal = 1,
     .q = {1, 0, 0, 1}, .k = {1, 0, 0, 1}, .v = {2, 0, 0, 4},
     .weights = {1, 0, 0.330238451, 0.669761549},
     .out = {2, 0, 0.660476901, 2.679046197}},
    {.title = "The same without 1 / sqrt(d_k): sharper",
     .n_queries = 1, .n_keys = 2, .d_k = 2, .d_v = 2, .scale = 1,
     .q = {1, 0}, .k = {1, 0, 0, 1}, .v = {2, 0, 0, 4},
     .weights = {0.731058579, 0.268941421},
     .out = {1.462117157, 1.075765685}},
    {.title = "One query, three keys: n_queries and n_keys are free of each other",
     .n_queries = 1, .n_keys = 3, .d_k = 2, .d_v = 2,
     .q = {1, 0}, .k = {1, 0, 0, 1, 1, 1}, .v = {2, 0, 0, 2, 2, 2},
     .weights = {0.401112093, 0.197775815, 0.401112093},
     .out = {1.604448371, 1.197775815}},
    {.title = "softmax(1, 2, 3): scores of a query of one number, values that show the mean of the keys",
     .n_queries = 1, .n_keys = 3, .d_k = 1, .d_v = 1, .scale = 1,
     .q = {1}, .k = {1, 2, 3}, .v = {1, 2, 3},
     .weights = {0.090030573, 0.244728471, 0.665240956},
     .out = {2.575210383}},
    {.title = "softmax(10, 20, 30): ten times the scores, nearly a choice",
     .n_queries = 1, .n_keys = 3, .d_k = 1, .d_v = 1, .scale = 10,
     .q = {1}, .k = {1, 2, 3}, .v = {1, 2, 3},
     .weights = {2.061e-9, 4.5397869e-5, 0.999954600},
     .out = {2.999954598}},
    {.title = "softmax(10, 2, 1)",
     .n_queries = 1, .n_keys = 3, .d_k = 1, .d_v = 1, .scale = 1,
     .q = {1}, .k = {10, 2, 1}, .v = {0, 0, 1},
     .weights = {0.999541338, 0.000335309, 0.000123353},
     .out = {0.000123353}},
    {.title = "Equal scores: the mean of the values, whatever their order",
     .n_queries = 1, .n_keys = 4, .d_k = 1, .d_v = 4,
     .q = {0}, .k = {1, 2, 3, 4},
     .v = {0.2f, -0.1f, 0.3f, 0, 0, 0.5f, -0.2f, 0.1f, 0.9f, -0.3f, 0.4f, 0.2f, 0.1f, 0, 0, 0.1f},
     .weights = {0.25, 0.25, 0.25, 0.25},
     .out = {0.3, 0.025, 0.125, 0.1}},
    {.title = "A key is hidden by -INFINITY in the mask",
     .n_queries = 1, .n_keys = 3, .d_k = 1, .d_v = 1, .scale = 1, .masked = 1,
     .q = {1}, .k = {1, 2, 3}, .v = {1, 2, 3}, .mask = {0, 0, -INFINITY},
     .weights = {0.268941421, 0.731058579, 0},
     .out = {1.731058579}},
    {.title = "and not by a score of 0, which still weighs e^0 = 1",
     .n_queries = 1, .n_keys = 3, .d_k = 1, .d_v = 1, .scale = 1,
     .q = {1}, .k = {1, 2, 0}, .v = {1, 2, 3},
     .weights = {0.244728471, 0.665240956, 0.090030573},
     .out = {1.845302102}},
};
/* clang-format on */

static tfm_status attend(float *out, float *weights, const struct example *e, tfm_error *error)
{
    tfm_attention_options options;

    tfm_attention_options_init(&options, sizeof options);
    options.causal = e->causal;
    options.scale = e->scale;
    options.mask = e->masked ? e->mask : NULL;
    return tfm_attention(out, weights, e->q, e->k, e->v, e->n_queries, e->n_keys, e->d_k, e->d_v, &options, error);
}

/* Prints a matrix; the number of its entries that are not as wanted, to the digits that are written above. */
static int show(const char *name, const float *got, const double *wanted, size_t rows, size_t cols)
{
    int wrong = 0;

    for (size_t i = 0; i < rows; i++) {
        printf("  %-8s", i ? "" : name);
        for (size_t j = 0; j < cols; j++) {
            const double g = (double)got[i * cols + j], w = wanted[i * cols + j];
            const int bad = !(fabs(g - w) <= 3e-7 * fmax(1, fabs(w)));
            printf(" %12.9f%s", g, bad ? " (wrong)" : "");
            wrong += bad;
        }
        putchar('\n');
    }
    return wrong;
}

int main(void)
{
    const size_t n = sizeof examples / sizeof *examples;
    int wrong = 0;

    for (size_t i = 0; i < n; i++) {
        const struct example *e = &examples[i];
        float out[MOST], weights[MOST];
        tfm_error error;
        if (attend(out, weights, e, &error)) {
            fprintf(stderr, "attention: %s\n", error.message);
            return 1;
        }
        puts(e->title);
        wrong += show("weights", weights, e->weights, e->n_queries, e->n_keys);
        wrong += show("output", out, e->out, e->n_queries, e->d_v);
    }
    printf("%zu examples, %d numbers wrong\n", n, wrong);
    return wrong != 0;
}
