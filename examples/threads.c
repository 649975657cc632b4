/*
 * Translates standard input with several threads that share one model: a server in small. Each has a decoder of its
 * own and takes the next few lines when it is free; the answers are printed in the order of the lines, the same for any
 * number of threads.
 *
 * Usage: threads MODEL [N_THREADS] < LINES
 */
#include "example.h"

#include <pthread.h>
#include <stdatomic.h>

/* CHUNK: lines that a thread takes at once; a larger batch is faster, a smaller one fairer. */
enum { MOST_THREADS = 256, CHUNK = 8 };

struct shared {
    const tfm_model *model;
    const struct lines *input;
    char **answers;     /* one for each line, NULL until it is there */
    atomic_size_t next; /* first line that nobody has taken          */
};

struct worker {
    pthread_t thread;
    struct shared *shared;
    size_t done;
    tfm_status status;
    tfm_error error;
};

static tfm_status translate_chunk(struct worker *w, tfm_decoder *decoder, size_t begin, size_t end)
{
    const tfm_status status = tfm_decoder_translate(decoder, w->shared->input->line + begin, end - begin, &w->error);

    /* Results are lent until the decoder's next call, so they are copied; nobody else writes these entries. */
    for (size_t i = begin; !status && i < end; i++) {
        const tfm_text text = tfm_decoder_text(decoder, i - begin, 0);
        w->shared->answers[i] = strndup(text.data, text.size);
        w->done++;
    }
    return status;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    const size_t count = w->shared->input->count;
    tfm_decoder_options options;
    tfm_decoder *decoder = NULL;

    tfm_decoder_options_init(&options, sizeof options); /* n_threads 1: one core for each decoder */
    w->status = tfm_decoder_create(&decoder, w->shared->model, &options, &w->error);
    while (!w->status) {
        const size_t begin = atomic_fetch_add(&w->shared->next, CHUNK);
        if (begin >= count) break;
        w->status = translate_chunk(w, decoder, begin, begin + CHUNK < count ? begin + CHUNK : count);
    }
    tfm_decoder_free(decoder);
    return NULL;
}

/* Runs the threads to their end; whether every one of them could do its work. */
static bool run(struct shared *shared, uint32_t n_threads)
{
    static struct worker workers[MOST_THREADS];
    uint32_t started = 0;
    bool done = true;

    for (; started < n_threads; started++) {
        workers[started] = (struct worker){.shared = shared};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started])) break;
    }
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        fprintf(stderr, "thread %u: %zu lines\n", (unsigned)i, workers[i].done);
        if (workers[i].status) fprintf(stderr, "threads: %s\n", workers[i].error.message);
        done = done && !workers[i].status;
    }
    if (!started) fputs("threads: no thread could be started\n", stderr);
    return done && started;
}

static bool translate(const char *model_path, uint32_t n_threads, const struct lines *input)
{
    tfm_model *model;
    tfm_error error;

    if (tfm_model_load(&model, model_path, NULL, &error)) {
        fprintf(stderr, "threads: %s\n", error.message);
        return false;
    }
    struct shared shared = {.model = model, .input = input, .answers = calloc(input->count + 1, sizeof(char *))};
    const bool done = shared.answers && run(&shared, n_threads);
    for (size_t i = 0; shared.answers && i < input->count; i++) {
        if (done && shared.answers[i]) puts(shared.answers[i]);
        free(shared.answers[i]);
    }
    free(shared.answers);
    tfm_model_free(model); /* after the last decoder */
    return done;
}

int main(int argc, char **argv)
{
    uint32_t n_threads = 2;
    struct lines input = {0};

    if (argc < 2 || argc > 3 || (argc > 2 && !read_number(&n_threads, argv[2], MOST_THREADS))) {
        fprintf(stderr, "usage: threads MODEL [N_THREADS] < LINES    N_THREADS <= %d\n", MOST_THREADS);
        return 2;
    }
    const bool done = lines_read(&input, "-") && translate(argv[1], n_threads, &input);
    lines_free(&input);
    return !done;
}
