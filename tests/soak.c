/* Endurance: trains and translates with random options, sizes, numbers of threads and cancellations until the time is
 * over. Each round has the bits of the same round on one thread that nothing disturbs; memory, files and threads stay
 * level. Usage: soak MINUTES FOLDER [SEED] */
#include "transformer.h"

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 24, LONGEST = 12, ROUNDS_MOST = 1 << 20, PATH_SIZE = 1024 };

static void need(bool held, const char *what, const tfm_error *error)
{
    if (held) return;
    fprintf(stderr, "soak: %s: %s\n", what, error ? error->message : "not so");
    exit(EXIT_FAILURE);
}

/* ---------------------------------------------------------------------------------------------- random rounds ---- */

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % below);
}

typedef struct round_plan {
    tfm_model_options model;
    tfm_trainer_options trainer;
    tfm_decoder_options decoder;
    int32_t ids[2 * PAIRS][LONGEST];
    tfm_ids sources[PAIRS], targets[PAIRS];
    uint64_t disturbance; /* state of the random numbers that must not matter */
} round_plan;

static tfm_ids draw_ids(int32_t *ids, uint32_t vocab, uint64_t *state)
{
    const uint32_t n = 1 + draw(state, LONGEST);

    for (uint32_t i = 0; i + 1 < n; i++) ids[i] = 4 + (int32_t)draw(state, vocab - 4);
    ids[n - 1] = TFM_EOS;
    return (tfm_ids){ids, n};
}

static void plan_model(tfm_model_options *o, uint64_t *state)
{
    tfm_model_options_init(o, sizeof *o);
    o->n_encoder_layers = 1 + draw(state, 3);
    o->n_decoder_layers = 1 + draw(state, 3);
    o->n_heads = 1u << draw(state, 3);
    o->d_model = 8 * (1 + draw(state, 16));
    o->d_ff = 1 + draw(state, 300);
    o->vocab_size = 5 + draw(state, 500);
    o->norm_order = draw(state, 2);
    o->positions = draw(state, 3);
    o->sharing = draw(state, 3);
    o->attention_bias = draw(state, 2);
    o->softmax_bias = draw(state, 2);
    o->seed = draw(state, 1000);
}

static void plan_trainer(tfm_trainer_options *o, uint64_t *state)
{
    tfm_trainer_options_init(o, sizeof *o);
    o->seed = draw(state, 1000);
    o->warmup = 20;
    o->dropout_attention = 0.1f * (float)draw(state, 2);
    o->dropout_relu = 0.1f * (float)draw(state, 2);
    o->clip_norm = (float)draw(state, 2);
    o->batch_tokens = LONGEST + draw(state, 200);
    o->accumulate = 1 + draw(state, 3);
    o->recompute = draw(state, 2);
    o->dtype = draw(state, 2);
    o->max_steps = 1 + draw(state, 12);
    o->checkpoint_steps = 1 + draw(state, 5);
    o->keep = 1;
}

static void plan_round(round_plan *p, uint64_t seed)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15u;

    plan_model(&p->model, &state);
    plan_trainer(&p->trainer, &state);
    tfm_decoder_options_init(&p->decoder, sizeof p->decoder);
    p->decoder.beam = 1 + draw(&state, 6);
    p->decoder.max_length = 1 + draw(&state, 20);
    p->decoder.dtype = draw(&state, 3);
    for (size_t i = 0; i < PAIRS; i++) {
        p->sources[i] = draw_ids(p->ids[2 * i], p->model.vocab_size, &state);
        p->targets[i] = draw_ids(p->ids[2 * i + 1], p->model.vocab_size, &state);
    }
    p->disturbance = state;
}

/* --------------------------------------------------------------------------------------------------- the work ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (const unsigned char *at = bytes, *end = at + size; at < end; at++) hash = (hash ^ *at) * 0x100000001b3u;
    return hash;
}

typedef struct limit {
    uint64_t left; /* calls until it cancels */
} limit;

static int32_t cancel_training(void *user, const tfm_progress *progress)
{
    (void)progress;
    return ((limit *)user)->left-- == 0;
}

static int32_t cancel_decoding(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return ((limit *)user)->left-- == 0;
}

static uint32_t draw_threads(round_plan *p)
{
    static const uint32_t numbers[] = {1, 2, 3, 4, 7, 16};

    return numbers[draw(&p->disturbance, sizeof numbers / sizeof *numbers)];
}

static void begin_training(tfm_trainer **t, const tfm_model *model, const char *checkpoint, const round_plan *p)
{
    tfm_error error;
    const tfm_status status = checkpoint ? tfm_trainer_resume(t, checkpoint, &p->trainer, &error)
                                         : tfm_trainer_create(t, model, &p->trainer, &error);

    need(status == TFM_OK, "begin", &error);
    need(tfm_trainer_set_data_ids(*t, p->sources, p->targets, PAIRS, NULL, 0, &error) == TFM_OK, "data", &error);
}

/* Cancelled, saved and resumed on another number of threads, until it is done. */
static tfm_model *train(round_plan *p, const tfm_model *model, bool disturbed, const char *folder)
{
    char base[PATH_SIZE], path[PATH_SIZE];
    tfm_trainer *t;
    tfm_model *trained;
    tfm_error error;
    limit stop;

    snprintf(base, sizeof base, "%s/run", folder);
    snprintf(path, sizeof path, "%s/run.ckpt", folder);
    p->trainer.n_threads = disturbed ? draw_threads(p) : 1;
    if (disturbed) {
        p->trainer.checkpoint_path = base;
        p->trainer.progress = cancel_training;
        p->trainer.progress_user = &stop;
    }
    begin_training(&t, model, NULL, p);
    for (;;) {
        stop.left = draw(&p->disturbance, 10);
        const tfm_status status = tfm_trainer_run(t, &error);
        need(status == TFM_OK || (disturbed && status == TFM_E_CANCELLED), "train", &error);
        if (status == TFM_OK) break;
        need(tfm_trainer_save(t, path, &error) == TFM_OK, "save", &error);
        tfm_trainer_free(t);
        p->trainer.n_threads = draw_threads(p);
        begin_training(&t, NULL, path, p);
    }
    need(tfm_trainer_model(&trained, t, &error) == TFM_OK, "model", &error);
    tfm_trainer_free(t);
    return trained;
}

static tfm_model *save_and_load(tfm_model *model, const char *folder)
{
    char path[PATH_SIZE];
    tfm_model *loaded;
    tfm_error error;

    snprintf(path, sizeof path, "%s/model", folder);
    need(tfm_model_save(model, path, &error) == TFM_OK, "save", &error);
    need(tfm_model_load(&loaded, path, NULL, &error) == TFM_OK, "load", &error);
    tfm_model_free(model);
    return loaded;
}

static uint64_t hash_weights(const tfm_model *model)
{
    uint64_t hash = 0xcbf29ce484222325u;
    tfm_parameter parameter;
    tfm_error error;

    for (size_t i = 0; i < tfm_model_parameter_count(model); i++) {
        need(tfm_model_parameter_at(&parameter, model, i, &error) == TFM_OK, "parameter", &error);
        size_t n = sizeof *parameter.data;
        for (uint32_t d = 0; d < parameter.rank; d++) n *= parameter.shape[d];
        hash = mix(hash, parameter.data, n);
    }
    return hash;
}

/* Cancelled a few times; the decoder goes on all the same. */
static uint64_t translate(round_plan *p, const tfm_model *model, bool disturbed, uint64_t hash)
{
    tfm_decoder *d;
    tfm_error error;
    limit stop = {UINT64_MAX};

    p->decoder.n_threads = disturbed ? draw_threads(p) : 1;
    if (disturbed) p->decoder.batch_tokens = 1 + draw(&p->disturbance, 300);
    p->decoder.progress = cancel_decoding;
    p->decoder.progress_user = &stop;
    need(tfm_decoder_create(&d, model, &p->decoder, &error) == TFM_OK, "decoder", &error);
    for (uint32_t n = disturbed ? draw(&p->disturbance, 3) : 0; n; n--) {
        stop.left = draw(&p->disturbance, 6);
        const tfm_status status = tfm_decoder_translate_ids(d, p->sources, PAIRS, &error);
        need(status == TFM_OK || status == TFM_E_CANCELLED, "translate", &error);
    }
    stop.left = UINT64_MAX;
    need(tfm_decoder_translate_ids(d, p->sources, PAIRS, &error) == TFM_OK, "translate", &error);
    for (size_t i = 0; i < PAIRS; i++) {
        const tfm_ids ids = tfm_decoder_ids(d, i, 0);
        const double score = tfm_decoder_score(d, i, 0);
        hash = mix(mix(hash, ids.data, ids.size * sizeof *ids.data), &score, sizeof score);
    }
    need(tfm_decoder_logprobs_ids(d, p->sources, p->targets, PAIRS, &error) == TFM_OK, "score", &error);
    for (size_t i = 0; i < PAIRS; i++) {
        const double logprob = tfm_decoder_pair_logprob(d, i);
        hash = mix(hash, &logprob, sizeof logprob);
    }
    tfm_decoder_free(d);
    return hash;
}

static uint64_t run_round(uint64_t seed, bool disturbed, const char *folder)
{
    static round_plan p; /* too large for a stack */
    tfm_model *model, *trained;
    tfm_error error;

    plan_round(&p, seed);
    need(tfm_model_create(&model, &p.model, NULL, &error) == TFM_OK, "create", &error);
    trained = train(&p, model, disturbed, folder);
    tfm_model_free(model);
    if (disturbed) trained = save_and_load(trained, folder);
    const uint64_t hash = translate(&p, trained, disturbed, hash_weights(trained));
    tfm_model_free(trained);
    return hash;
}

/* ------------------------------------------------------------------------------------------------ what is left ---- */

static size_t entries(const char *folder)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    while (directory && readdir(directory)) n++;
    if (directory) closedir(directory);
    return n;
}

static double resident_kib(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long all, resident = 0;

    malloc_trim(0); /* what is free is not in use */
    if (!file || fscanf(file, "%lu %lu", &all, &resident) != 2) resident = 0;
    if (file) fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* Least squares over the samples after warm-up, the first quarter. KiB a minute. */
static double slope(const double *minutes, const double *kib, size_t n)
{
    double mt = 0, mk = 0, above = 0, below = 0;
    const size_t begin = n / 4, used = n - begin;

    for (size_t i = begin; i < n; i++) mt += minutes[i] / (double)used, mk += kib[i] / (double)used;
    for (size_t i = begin; i < n; i++) {
        above += (minutes[i] - mt) * (kib[i] - mk);
        below += (minutes[i] - mt) * (minutes[i] - mt);
    }
    return below > 0 ? above / below : 0;
}

static double mean(const double *kib, size_t begin, size_t end)
{
    double sum = 0;

    for (size_t i = begin; i < end; i++) sum += kib[i];
    return end > begin ? sum / (double)(end - begin) : 0;
}

static double now_minutes(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return ((double)now.tv_sec + 1e-9 * (double)now.tv_nsec) / 60;
}

int main(int argc, char **argv)
{
    static double minutes[ROUNDS_MOST], kib[ROUNDS_MOST];
    const double length = argc > 2 ? strtod(argv[1], NULL) : 0, began = now_minutes();
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    size_t n = 0;

    if (length <= 0) return fprintf(stderr, "usage: soak MINUTES FOLDER [SEED]\n"), 2;
    const uint64_t first = run_round(seed, false, argv[2]);
    const size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    for (; n < ROUNDS_MOST && (n < 8 || now_minutes() - began < length); n++) {
        if (run_round(seed + n, true, argv[2]) != run_round(seed + n, false, argv[2])) {
            fprintf(stderr, "soak: the bits of round %llu depend on what disturbs it\n",
                    (unsigned long long)(seed + n));
            return EXIT_FAILURE;
        }
        minutes[n] = now_minutes() - began;
        kib[n] = resident_kib();
    }
    need(run_round(seed, false, argv[2]) == first, "the first round at the end", NULL);
    usleep(100000); /* a thread that was joined leaves /proc a moment later */
    const size_t files_now = entries("/proc/self/fd"), threads_now = entries("/proc/self/task");
    const double early = mean(kib, n / 4, n / 2), late = mean(kib, n - n / 4, n);
    printf("%.1f minutes, %zu rounds from seed %llu, each twice with the same bits\n", now_minutes() - began, n,
           (unsigned long long)seed);
    printf("resident: %.0f KiB in the second quarter, %.0f in the last; slope %.1f KiB a minute\n", early, late,
           slope(minutes, kib, n));
    printf("files open: %zu before, %zu after; threads: %zu before, %zu after\n", files - 3, files_now - 3, threads - 2,
           threads_now - 2);
    return files == files_now && threads == threads_now && late < 1.1 * early + 4096 ? EXIT_SUCCESS : EXIT_FAILURE;
}
