/*
 * Memory and messages of the library in the host's hands: an allocator that counts and keeps a limit, and a log.
 * Learns a tokenizer from standard input, makes a model of random weights and a decoder of it, and says what each
 * takes.
 *
 * Usage: allocator [LIMIT_KIB [VOCAB_SIZE]] < LINES
 */
#include "example.h"

struct budget {
    size_t limit, used, peak; /* bytes */
};

/* The old size comes with every call, so no block needs a header of its own. A NULL is no disaster: the call that
 * needed the memory returns TFM_E_NOMEM and leaves nothing behind. Threads that share a budget would need a lock. */
static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    struct budget *b = user;

    if (!new_size) {
        free(block);
        b->used -= old_size;
        return NULL;
    }
    if (new_size > old_size && new_size - old_size > b->limit - b->used) return NULL;
    void *moved = realloc(block, new_size);
    if (!moved) return NULL;
    b->used = b->used - old_size + new_size;
    if (b->used > b->peak) b->peak = b->used;
    return moved;
}

static void on_log(void *user, int32_t level, const char *message)
{
    fprintf(stderr, "%s: %s: %s\n", (const char *)user, level == TFM_LOG_WARNING ? "warning" : "note", message);
}

static void report(const char *what, const struct budget *b)
{
    printf("%-9s %8zu KiB, %8zu at the peak\n", what, b->used / 1024, b->peak / 1024);
}

static tfm_status learn(tfm_tokenizer **out, const struct lines *input, uint32_t vocab_size,
                        const tfm_allocator *allocator, tfm_error *error)
{
    static char name[] = "tokenizer";
    tfm_tokenizer_options options;

    tfm_tokenizer_options_init(&options, sizeof options);
    options.vocab_size = vocab_size; /* too many for a short text: the log hears of it */
    options.allocator = allocator;
    options.log = on_log;
    options.log_user = name;
    return tfm_tokenizer_learn(out, &options, input->line, input->count, error);
}

static tfm_status create_model(tfm_model **out, const tfm_tokenizer *tokenizer, const tfm_allocator *allocator,
                               tfm_error *error)
{
    tfm_model_options options;

    tfm_model_options_init(&options, sizeof options);
    const tfm_status status = tfm_model_options_preset(&options, "tiny", error);
    options.vocab_size = tfm_tokenizer_vocab_size(tokenizer);
    options.allocator = allocator;
    return status ? status : tfm_model_create(out, &options, tokenizer, error);
}

static tfm_status create_decoder(tfm_decoder **out, const tfm_model *model, const tfm_allocator *allocator,
                                 tfm_error *error)
{
    tfm_decoder_options options;

    tfm_decoder_options_init(&options, sizeof options);
    options.allocator = allocator;
    return tfm_decoder_create(out, model, &options, error);
}

/* The allocator outlives what was made with it: it is called once more when that is freed. */
static tfm_status make_all(const struct lines *input, uint32_t vocab_size, struct budget *budget, tfm_error *error)
{
    const tfm_allocator allocator = {resize, budget};
    tfm_tokenizer *tokenizer = NULL;
    tfm_model *model = NULL;
    tfm_decoder *decoder = NULL;

    tfm_status status = learn(&tokenizer, input, vocab_size, &allocator, error);
    if (!status) {
        report("tokenizer", budget);
        status = create_model(&model, tokenizer, &allocator, error);
    }
    if (!status) {
        report("model", budget);
        status = create_decoder(&decoder, model, &allocator, error);
    }
    /* The first line, so that the decoder takes its workspace. */
    if (!status) status = tfm_decoder_translate(decoder, input->line, input->count > 0, error);
    if (!status) report("decoder", budget);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
    tfm_tokenizer_free(tokenizer);
    return status;
}

int main(int argc, char **argv)
{
    uint32_t limit_kib = 1 << 20, vocab_size = 1000;
    tfm_error error = {0};
    struct lines input = {0};

    if (argc > 3 || (argc > 1 && !read_number(&limit_kib, argv[1], UINT32_MAX)) ||
        (argc > 2 && !read_number(&vocab_size, argv[2], 1 << 24))) {
        fputs("usage: allocator [LIMIT_KIB [VOCAB_SIZE]] < LINES\n", stderr);
        return 2;
    }
    struct budget budget = {.limit = (size_t)limit_kib * 1024};
    bool done = lines_read(&input, "-");
    if (done && make_all(&input, vocab_size, &budget, &error)) {
        fprintf(stderr, "allocator: %s\n", error.message);
        done = false;
    }
    printf("at the end %zu bytes\n", budget.used);
    lines_free(&input);
    return !done;
}
