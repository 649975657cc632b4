/* tfm bench train at work: random sentences on random weights, measured in turns with the yardstick. */
#include "bench_training.h"
#include "bench.h"
#include "console.h"
#include "model_args.h"
#include "profile.h"
#include "yardstick.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_UP = 2 }; /* steps before those that count; the first one plans and touches the memory */

typedef struct bench {
    bench_train_args *args;
    tfm_model_options model_options;
    tfm_trainer *trainer;
    int32_t *tokens;    /* of all sentences                   */
    tfm_ids *sentences; /* sources, then targets               */
    size_t n_pairs;
    samples seconds, faults, gemm; /* of a step, of a step, GFLOP/s */
    double first_step, peak_mb;
    profile before; /* what the warm-up took */
    tfm_progress progress;
    tfm_data_report report;
    tfm_error error;
} bench;

static int fail_library(const bench *b)
{
    return console_fail("%s", b->error.message);
}

/* An epoch is the whole run, so that no step begins another. */
static void make_data(bench *b)
{
    const bench_train_args *a = b->args;
    size_t capacity = 0;
    b->n_pairs = (size_t)a->batch * (a->steps + WARM_UP);
    memory_grow(&b->tokens, &capacity, b->n_pairs * (a->src_len + a->tgt_len), sizeof *b->tokens);
    capacity = 0;
    memory_grow(&b->sentences, &capacity, 2 * b->n_pairs, sizeof *b->sentences);
    const uint32_t source_vocab = b->model_options.source_vocab_size;
    int32_t *at =
        fill_sentences(b->sentences, b->n_pairs, a->src_len, source_vocab ? source_vocab : a->vocab, b->tokens);
    fill_sentences(b->sentences + b->n_pairs, b->n_pairs, a->tgt_len, a->vocab, at);
}

static int set_model_options(bench *b)
{
    tfm_model_options_init(&b->model_options, sizeof b->model_options);
    b->model_options.vocab_size = b->args->vocab;
    const int code = model_options_set(&b->model_options, b->args->preset, &b->args->sets);
    b->args->vocab = b->model_options.vocab_size;
    return code;
}

static int start(bench *b)
{
    tfm_trainer_options *o = &b->args->trainer;
    const uint32_t longer = b->args->src_len > b->args->tgt_len ? b->args->src_len : b->args->tgt_len;
    tfm_model *model = NULL;
    int code = EXIT_SUCCESS;
    o->max_length = longer;
    o->batch_tokens = b->args->batch * longer;
    o->log = console_log;
    make_data(b);
    if (tfm_model_create(&model, &b->model_options, NULL, &b->error) ||
        tfm_trainer_create(&b->trainer, model, o, &b->error) ||
        tfm_trainer_set_data_ids(b->trainer, b->sentences, b->sentences + b->n_pairs, b->n_pairs, &b->report,
                                 sizeof b->report, &b->error))
        code = fail_library(b);
    tfm_model_free(model);
    return code;
}

static int step(bench *b)
{
    const uint64_t faults = process_minor_faults();
    const double begin = clock_seconds();
    if (tfm_trainer_step(b->trainer, &b->progress, sizeof b->progress, &b->error)) return fail_library(b);
    samples_add(&b->seconds, clock_seconds() - begin);
    samples_add(&b->faults, (double)(process_minor_faults() - faults));
    return EXIT_SUCCESS;
}

static int warm_up(bench *b)
{
    for (int i = 0; i < WARM_UP; i++) {
        console_status("warming up: step %d of %d", i + 1, (int)WARM_UP);
        const int code = step(b);
        if (code) return code;
        if (i == 0) b->first_step = process_age();
    }
    b->peak_mb = process_peak_mb();
    profile_read(&b->before, b->trainer);
    b->seconds.size = b->faults.size = 0;
    return EXIT_SUCCESS;
}

static void measure_yardstick(bench *b)
{
    const size_t n = YARDSTICK_SIZE;
    samples_add(&b->gemm, yardstick_gflops(n, n, n, b->args->trainer.n_threads, 0));
}

static int measure(bench *b)
{
    measure_yardstick(b);
    for (uint32_t i = 0; i < b->args->steps; i++) {
        console_status("step %u of %u", i + 1, b->args->steps);
        const int code = step(b);
        if (code) return code;
        measure_yardstick(b);
    }
    return EXIT_SUCCESS;
}

/* Floating point operations of a step by the paper's formulas: 2 for each multiply-add, and the backward pass takes
 * twice what the forward pass does. */
static double count_flops(const bench *b)
{
    const bench_train_args *a = b->args;
    tfm_model_costs costs = {0};
    tfm_model_options_costs(&costs, sizeof costs, &b->model_options, a->src_len, a->tgt_len, NULL);
    return 3 * 2 * (double)a->batch * (costs.source_macs * a->src_len + costs.target_macs * a->tgt_len);
}

static void print(bench *b)
{
    const bench_train_args *a = b->args;
    const double seconds = samples_median(&b->seconds), gemm = samples_median(&b->gemm), flops = count_flops(b);
    printf("{\"bench\":\"train\",\"preset\":\"%s\",\"threads\":%u,\"dtype\":\"%s\",\"batch\":%u,\"src_len\":%u,"
           "\"tgt_len\":%u,\"vocab\":%u,\"dropout\":%g,\"recompute\":%u,\"steps\":%u,",
           a->preset, a->trainer.n_threads, a->trainer.dtype ? "bf16" : "f32", a->batch, a->src_len, a->tgt_len,
           a->vocab, (double)a->trainer.dropout, a->trainer.recompute, a->steps);
    printf("\"tokens_per_s\":%.1f,\"sentences_per_s\":%.2f,\"ms\":%.3f,\"p95_ms\":%.3f,\"gflop\":%.6g,",
           (double)b->progress.target_tokens / seconds, a->batch / seconds, 1e3 * seconds,
           1e3 * samples_quantile(&b->seconds, 0.95), 1e-9 * flops);
    printf("\"utilisation\":%.4g,\"gemm_gflops\":%.4g,\"gemm\":\"%s\",", 1e-9 * flops / seconds / gemm, gemm,
           yardstick_name());
    printf("\"rss_mb\":%.1f,\"piece_tokens\":%llu,\"first_step_s\":%.2f,\"minor_faults_per_step\":%.0f}\n", b->peak_mb,
           (unsigned long long)b->report.piece_tokens, b->first_step, samples_median(&b->faults));
}

static void show_profile(const bench *b)
{
    profile p = {0};
    profile_read(&p, b->trainer);
    profile_subtract(&p, &b->before);
    profile_print(&p);
    profile_free(&p);
}

static void bench_free(bench *b)
{
    tfm_trainer_free(b->trainer);
    profile_free(&b->before);
    free(b->tokens);
    free(b->sentences);
    samples_free(&b->seconds);
    samples_free(&b->faults);
    samples_free(&b->gemm);
}

int bench_training_run(bench_train_args *args)
{
    bench b = {.args = args};
    int code = set_model_options(&b);
    if (!code) code = start(&b);
    if (!code) code = warm_up(&b);
    if (!code) code = measure(&b);
    if (!code && args->profile) show_profile(&b);
    if (!code) print(&b);
    bench_free(&b);
    return code;
}
