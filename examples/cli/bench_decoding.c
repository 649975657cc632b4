/* tfm bench decode at work: random sentences through a model file, measured in turns with the yardstick. */
#include "bench_decoding.h"
#include "bench.h"
#include "console.h"
#include "model_args.h"
#include "profile.h"
#include "yardstick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURN = 1 }; /* seconds of translation between two measurements of the yardstick */

typedef struct bench {
    bench_decode_args *args;
    tfm_model_options model_options;
    char path[4096]; /* of the random model */
    tfm_model *model;
    tfm_decoder *decoder;
    int32_t *tokens;
    tfm_ids *sentences;
    samples seconds, gemm; /* of a batch, GFLOP/s */
    double load_seconds, peak_mb;
    profile before, spent;
    tfm_error error;
} bench;

static int fail_library(const bench *b)
{
    return console_fail("%s", b->error.message);
}

/* ------------------------------------------------------------------------------------------------- the model ---- */

static int write_model(bench *b)
{
    tfm_model *model = NULL;
    int code = EXIT_SUCCESS;
    if (tfm_model_create(&model, &b->model_options, NULL, &b->error) || tfm_model_save(model, b->path, &b->error))
        code = fail_library(b);
    tfm_model_free(model);
    return code;
}

/* By a child, whose memory shall not count. */
static int make_random_model(bench *b)
{
    const char *folder = getenv("TMPDIR");
    snprintf(b->path, sizeof b->path, "%s/tfm-bench-XXXXXX", folder ? folder : "/tmp");
    const int fd = mkstemp(b->path);
    if (fd < 0) return console_fail("cannot create %s; set TMPDIR", b->path);
    close(fd);
    console_status("writing a random model");
    fflush(NULL);
    const pid_t child = fork();
    int status = -1;
    if (child == 0) _exit(write_model(b));
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return child < 0 || !WIFEXITED(status) ? console_fail("cannot make a random model") : EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static int set_model_options(bench *b)
{
    tfm_model_options_init(&b->model_options, sizeof b->model_options);
    b->model_options.vocab_size = b->args->vocab;
    return model_options_set(&b->model_options, b->args->preset, &b->args->sets);
}

/* Exactly tgt_len tokens: no EOS before, no more after. */
static void set_decoder_options(bench_decode_args *a)
{
    tfm_decoder_options *o = &a->decoder;
    o->min_length = o->max_length = a->tgt_len;
    o->max_extra = a->tgt_len;
    o->max_source = a->src_len;
    o->batch_tokens = a->batch * (a->src_len > a->tgt_len ? a->src_len : a->tgt_len) * o->beam;
}

static void forget_file(bench *b)
{
    if (b->path[0]) unlink(b->path);
    b->path[0] = 0;
}

static int load(bench *b)
{
    const char *path = b->args->model ? b->args->model : b->path;
    const double began = clock_seconds();
    set_decoder_options(b->args);
    if (tfm_model_load(&b->model, path, NULL, &b->error) ||
        tfm_decoder_create(&b->decoder, b->model, &b->args->decoder, &b->error))
        return fail_library(b);
    b->load_seconds = clock_seconds() - began;
    forget_file(b); /* it is mapped, and needs no name */
    tfm_model_get_options(&b->model_options, sizeof b->model_options, b->model);
    b->args->vocab = b->model_options.vocab_size;
    return EXIT_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------- measurement ---- */

static void make_sentences(bench *b)
{
    const bench_decode_args *a = b->args;
    size_t capacity = 0;
    memory_grow(&b->tokens, &capacity, (size_t)a->batch * a->src_len, sizeof *b->tokens);
    capacity = 0;
    memory_grow(&b->sentences, &capacity, a->batch, sizeof *b->sentences);
}

/* Other sentences each time. */
static int translate_batch(bench *b)
{
    const bench_decode_args *a = b->args;
    fill_sentences(b->sentences, a->batch, a->src_len, b->model_options.source_vocab_size, b->tokens);
    const double began = clock_seconds();
    if (tfm_decoder_translate_ids(b->decoder, b->sentences, a->batch, &b->error)) return fail_library(b);
    samples_add(&b->seconds, clock_seconds() - began);
    for (size_t i = 0; i < a->batch; i++)
        if (tfm_decoder_ids(b->decoder, i, 0).size != a->tgt_len)
            return console_fail("a translation has not %u tokens; lower --tgt-len", a->tgt_len);
    return EXIT_SUCCESS;
}

static void measure_yardstick(bench *b)
{
    const size_t n = YARDSTICK_SIZE;
    samples_add(&b->gemm, yardstick_gflops(n, n, n, b->args->decoder.n_threads, 0));
}

/* After one batch that does not count. */
static int measure(bench *b)
{
    const uint32_t batches = (b->args->sentences + b->args->batch - 1) / b->args->batch;
    int code = translate_batch(b);
    if (code) return code;
    b->peak_mb = process_peak_mb();
    b->seconds.size = 0;
    profile_read_decoder(&b->before, b->decoder);
    measure_yardstick(b);
    double turn = clock_seconds();
    for (uint32_t i = 0; !code && i < batches; i++) {
        console_status("batch %u of %u", i + 1, batches);
        code = translate_batch(b);
        if (clock_seconds() - turn < TURN && i + 1 < batches) continue;
        measure_yardstick(b);
        turn = clock_seconds();
    }
    profile_read_decoder(&b->spent, b->decoder);
    profile_subtract(&b->spent, &b->before);
    return code;
}

/* ---------------------------------------------------------------------------------------------------- result ---- */

/* Floating point operations of a sentence by the paper's formulas: 2 for each multiply-add, the decoder's for each of
 * beam hypotheses. */
static double count_flops(const bench *b)
{
    const bench_decode_args *a = b->args;
    tfm_model_costs costs = {0};
    tfm_model_options_costs(&costs, sizeof costs, &b->model_options, a->src_len, a->tgt_len, NULL);
    return 2 * (costs.source_macs * a->src_len + costs.target_macs * a->tgt_len * a->decoder.beam);
}

static void print_spent(const profile *p)
{
    const char *comma = "";
    printf("\"seconds\":{");
    for (size_t i = 0; i < p->size; i++) {
        if (!p->entries[i].calls) continue;
        printf("%s\"%s\":%.4f", comma, p->entries[i].name, p->entries[i].seconds);
        comma = ",";
    }
    printf("}");
}

static void print(bench *b)
{
    static const char *const dtypes[] = {"f32", "bf16", "int8"}; /* TFM_DTYPE_* */
    const bench_decode_args *a = b->args;
    const double sentence = samples_median(&b->seconds) / a->batch, gemm = samples_median(&b->gemm),
                 flops = count_flops(b);
    printf("{\"bench\":\"decode\",\"preset\":\"%s\",\"threads\":%u,\"dtype\":\"%s\",\"batch\":%u,\"beam\":%u,"
           "\"src_len\":%u,\"tgt_len\":%u,\"vocab\":%u,\"sentences\":%zu,",
           a->model ? "" : a->preset, a->decoder.n_threads, dtypes[a->decoder.dtype], a->batch, a->decoder.beam,
           a->src_len, a->tgt_len, a->vocab, b->seconds.size * a->batch);
    printf("\"tokens_per_s\":%.1f,\"sentences_per_s\":%.2f,\"ms\":%.3f,\"p95_ms\":%.3f,\"mflop_per_token\":%.4g,",
           a->tgt_len / sentence, 1 / sentence, 1e3 * sentence, 1e3 * samples_quantile(&b->seconds, 0.95) / a->batch,
           1e-6 * flops / a->tgt_len);
    printf("\"utilisation\":%.4g,\"gemm_gflops\":%.4g,\"gemm\":\"%s\",\"rss_mb\":%.1f,\"load_ms\":%.1f,",
           1e-9 * flops / sentence / gemm, gemm, yardstick_name(), b->peak_mb, 1e3 * b->load_seconds);
    print_spent(&b->spent);
    printf("}\n");
}

static void bench_free(bench *b)
{
    forget_file(b);
    tfm_decoder_free(b->decoder);
    tfm_model_free(b->model);
    profile_free(&b->before);
    profile_free(&b->spent);
    free(b->tokens);
    free(b->sentences);
    samples_free(&b->seconds);
    samples_free(&b->gemm);
}

int bench_decoding_run(bench_decode_args *args)
{
    bench b = {.args = args};
    int code = args->model ? EXIT_SUCCESS : set_model_options(&b);
    if (!code && !args->model) code = make_random_model(&b);
    if (!code) code = load(&b);
    if (!code) make_sentences(&b);
    if (!code) code = measure(&b);
    if (!code && args->profile) profile_print(&b.spent);
    if (!code) print(&b);
    bench_free(&b);
    return code;
}
