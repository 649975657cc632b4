/* tfm bench gemm: the library's matrix product beside BLIS. */
#include "bench.h"
#include "commands.h"
#include "console.h"
#include "yardstick.h"

#include <transformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct gemm_args {
    string_list sizes; /* "M,N,K" */
    uint32_t threads, rounds, dtype;
} gemm_args;

typedef struct gemm_size {
    uint64_t m, n, k;
} gemm_size;

#define ROUND_SECONDS 0.05

enum { MOST = 65536 }; /* of each of m, n and k: a matrix then takes up to 16 GiB, and no product of sizes overflows */

#define AT(field) .offset = offsetof(gemm_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"size", "M,N,K",
     "rows, columns and summed length, each up to 65536; several times for several shapes; default: a cube of 2048 and "
     "the shapes of a training step of tiny and of base",
     OPTION_LIST, AT(sizes)},
    {"threads", "N", "processors to use", OPTION_U32, .low = 1, .high = 1024, AT(threads)},
    {"dtype", "f32|bf16", "type of the library's operands; BLIS multiplies float32", OPTION_CHOICE, AT(dtype)},
    {"rounds", "N", "measurements of each side, taken in turns; the median counts", OPTION_U32, .low = 1, .high = 1000,
     AT(rounds)},
    {.kind = OPTION_END},
};

/* What stands in a step of `tfm bench train`: Q|K|V, output of attention, both halves of the feed-forward network, and
 * logits, of tiny (3,920 rows) and base (1,000 rows); then the gradients of a feed-forward weight. */
static const gemm_size usual[] = {
    {2048, 2048, 2048}, {3920, 384, 128},  {3920, 128, 128},  {3920, 256, 128}, {3920, 128, 256},
    {512, 10000, 128},  {256, 128, 3920},  {1000, 1536, 512}, {1000, 512, 512}, {1000, 2048, 512},
    {1000, 512, 2048},  {250, 37000, 512}, {2048, 512, 1000},
};

static void init(void *place)
{
    gemm_args *args = place;
    args->threads = 1;
    args->rounds = 5;
}

static int parse_size(gemm_size *size, const char *text)
{
    char rest;
    if (strspn(text, "0123456789,") == strlen(text) &&
        sscanf(text, "%5lu,%5lu,%5lu%c", &size->m, &size->n, &size->k, &rest) == 3 && size->m && size->n && size->k &&
        size->m <= MOST && size->n <= MOST && size->k <= MOST)
        return EXIT_SUCCESS;
    return console_usage("--size is '%s', not M,N,K with whole numbers in 1..%d", text, (int)MOST);
}

/* Both sides in turns, so that a change of the machine's speed meets both. */
static void measure(const gemm_args *args, const gemm_size *s)
{
    samples ours = {0}, theirs = {0};
    for (uint32_t i = 0; i < args->rounds; i++) {
        samples_add(&ours, library_gflops(s->m, s->n, s->k, args->threads, args->dtype, ROUND_SECONDS));
        samples_add(&theirs, yardstick_gflops(s->m, s->n, s->k, args->threads, ROUND_SECONDS));
    }
    const double own = samples_median(&ours), reference = samples_median(&theirs);
    printf("{\"bench\":\"gemm\",\"m\":%lu,\"n\":%lu,\"k\":%lu,\"gflops\":%.1f,\"gemm_gflops\":%.1f,\"ratio\":%.3f,"
           "\"gemm\":\"%s\",\"threads\":%u,\"dtype\":\"%s\"}\n",
           s->m, s->n, s->k, own, reference, own / reference, yardstick_name(), args->threads,
           args->dtype == TFM_DTYPE_BF16 ? "bf16" : "f32");
    fflush(stdout);
    samples_free(&ours);
    samples_free(&theirs);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const gemm_args *args = place;
    gemm_size size;
    for (size_t i = 0; i < args->sizes.size; i++)
        if (parse_size(&size, args->sizes.items[i])) return EXIT_USAGE;
    for (size_t i = 0; i < args->sizes.size; i++) {
        parse_size(&size, args->sizes.items[i]);
        measure(args, &size);
    }
    for (size_t i = 0; args->sizes.size == 0 && i < sizeof usual / sizeof *usual; i++) measure(args, &usual[i]);
    return EXIT_SUCCESS;
}

const command command_bench_gemm = {
    .name = "bench gemm",
    .summary = "measures matrix products beside BLIS",
    .usage = "[options]",
    .text =
        "Times c = a b^T, the form of a linear layer, in the library and in BLIS on the same random matrices, and "
        "prints "
        "one JSON line for each shape: gflops is the library's rate, gemm_gflops that of BLIS, ratio the first over "
        "the "
        "second. Where the program was built without BLIS the line says \"gemm\":\"own\", and both are the library's.",
    .examples = "  tfm bench gemm\n"
                "  tfm bench gemm --threads 2 --size 1000,512,512 --size 1,512,512\n",
    .options = rows,
    .args_size = sizeof(gemm_args),
    .init = init,
    .run = run,
};
