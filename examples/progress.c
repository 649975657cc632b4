/*
 * Trains a model further, with a bar on standard error. Ctrl-C stops the training after the step at hand and leaves a
 * checkpoint NAME-STEP.ckpt, from which the same command goes on.
 *
 * Usage: progress MODEL|CHECKPOINT SOURCES TARGETS NAME [STEPS]
 */
#include "example.h"

#include <signal.h>

/* A signal handler may do no more than this; the callback sees it between two steps. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void draw_bar(const tfm_progress *p)
{
    enum { WIDTH = 40 };
    const uint64_t total = p->steps_total ? p->steps_total : p->step;
    const int full = (int)(WIDTH * p->step / (total ? total : 1));

    fprintf(stderr, "\r[%.*s%*s] step %llu of %llu, loss %.3f, %.0f s left ", full < WIDTH ? full : WIDTH,
            "########################################", full < WIDTH ? WIDTH - full : 0, "",
            (unsigned long long)p->step, (unsigned long long)total, p->loss, p->seconds_left > 0 ? p->seconds_left : 0);
}

/* Nonzero stops the training. user, here the path of the latest checkpoint, lives as long as the trainer. */
static int32_t on_progress(void *user, const tfm_progress *p)
{
    char *checkpoint = user;

    if (p->event == TFM_EVENT_STEP) draw_bar(p);
    if (p->event == TFM_EVENT_CHECKPOINT) snprintf(checkpoint, FILENAME_MAX, "%s", p->path);
    if (p->event == TFM_EVENT_DONE) fprintf(stderr, "\n%s\n", p->message);
    return interrupted;
}

static bool is_checkpoint(const char *path)
{
    const size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".ckpt") == 0;
}

static tfm_status start(tfm_trainer **out, const char *path, const tfm_trainer_options *options, tfm_error *error)
{
    tfm_model *model = NULL;

    if (is_checkpoint(path)) return tfm_trainer_resume(out, path, options, error);
    tfm_status status = tfm_model_load(&model, path, NULL, error);
    if (!status) status = tfm_trainer_create(out, model, options, error);
    tfm_model_free(model); /* the trainer has its copy */
    return status;
}

static tfm_status train(const char *path, const tfm_trainer_options *options, const struct lines *sources,
                        const struct lines *targets, tfm_error *error)
{
    tfm_trainer *trainer = NULL;

    tfm_status status = start(&trainer, path, options, error);
    if (!status) status = tfm_trainer_set_data(trainer, sources->line, targets->line, sources->count, NULL, 0, error);
    if (!status) status = tfm_trainer_run(trainer, error);
    tfm_trainer_free(trainer);
    return status;
}

/* 0 done, 1 failed, 130 interrupted, as the shell has it. */
static int report(tfm_status status, const char *checkpoint, const tfm_error *error)
{
    if (status && status != TFM_E_CANCELLED) {
        fprintf(stderr, "progress: %s\n", error->message);
        return 1;
    }
    printf("%s\n", checkpoint);
    return status ? 130 : 0;
}

int main(int argc, char **argv)
{
    static char checkpoint[FILENAME_MAX];
    uint32_t steps = 1000;
    tfm_trainer_options options;
    tfm_error error = {0};
    struct lines sources = {0}, targets = {0};
    int code = 1;

    if (argc < 5 || argc > 6 || (argc > 5 && !read_number(&steps, argv[5], 1000000))) {
        fputs("usage: progress MODEL|CHECKPOINT SOURCES TARGETS NAME [STEPS]\n", stderr);
        return 2;
    }
    tfm_trainer_options_init(&options, sizeof options);
    options.max_steps = steps;
    options.checkpoint_path = argv[4];
    options.checkpoint_seconds = 600; /* and when the training ends, for whatever reason */
    options.progress = on_progress;
    options.progress_user = checkpoint;
    signal(SIGINT, on_interrupt); /* the library itself leaves signals alone */

    if (lines_read(&sources, argv[2]) && lines_read(&targets, argv[3])) {
        if (sources.count == targets.count)
            code = report(train(argv[1], &options, &sources, &targets, &error), checkpoint, &error);
        else fprintf(stderr, "progress: %zu lines in %s, %zu in %s\n", sources.count, argv[2], targets.count, argv[3]);
    }
    lines_free(&sources);
    lines_free(&targets);
    return code;
}
