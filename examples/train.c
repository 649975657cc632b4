/*
 * Trains a small model on pairs of lines that lie in memory, and saves it.
 *
 * Usage: train SOURCES TARGETS MODEL [STEPS]     line i of TARGETS translates line i of SOURCES
 */
#include "example.h"

#include <math.h>

/* One vocabulary of both languages. */
static tfm_status learn_tokenizer(tfm_tokenizer **out, const struct lines *sources, const struct lines *targets,
                                  tfm_error *error)
{
    tfm_tokenizer_options options;
    const size_t n = sources->count + targets->count;
    tfm_text *both = malloc(n * sizeof *both);

    if (!both) {
        *error = (tfm_error){TFM_E_NOMEM, "no memory for the list of all lines"};
        return TFM_E_NOMEM;
    }
    memcpy(both, sources->line, sources->count * sizeof *both);
    memcpy(both + sources->count, targets->line, targets->count * sizeof *both);
    tfm_tokenizer_options_init(&options, sizeof options);
    options.vocab_size = 2000;
    const tfm_status status = tfm_tokenizer_learn(out, &options, both, n, error);
    free(both);
    return status;
}

static tfm_status create_model(tfm_model **out, const tfm_tokenizer *tokenizer, tfm_error *error)
{
    tfm_model_options options;

    tfm_model_options_init(&options, sizeof options);
    const tfm_status status = tfm_model_options_preset(&options, "tiny", error);
    options.vocab_size = tfm_tokenizer_vocab_size(tokenizer);
    return status ? status : tfm_model_create(out, &options, tokenizer, error);
}

/* The rate rises for a quarter of the training, to 0.002 whatever its length: eq. (3) of the paper with lr_scale. */
static tfm_trainer_options training_options(uint32_t steps)
{
    tfm_trainer_options options;

    tfm_trainer_options_init(&options, sizeof options);
    options.max_steps = steps;
    options.warmup = steps / 4 + 1;
    options.lr_scale = 0.002f * sqrtf(128.0f * (float)options.warmup); /* 128: d_model of "tiny" */
    return options;
}

static tfm_status train(tfm_model **out, const tfm_model *start, uint32_t steps, const struct lines *sources,
                        const struct lines *targets, tfm_error *error)
{
    const tfm_trainer_options options = training_options(steps);
    tfm_data_report report;
    tfm_trainer *trainer = NULL;

    tfm_status status = tfm_trainer_create(&trainer, start, &options, error);
    if (!status)
        status =
            tfm_trainer_set_data(trainer, sources->line, targets->line, sources->count, &report, sizeof report, error);
    if (!status) {
        printf("%llu pairs, %llu blank, %llu too long\n", (unsigned long long)report.pairs,
               (unsigned long long)report.blank, (unsigned long long)report.too_long);
        status = tfm_trainer_run(trainer, error);
    }
    if (!status) status = tfm_trainer_model(out, trainer, error);
    tfm_trainer_free(trainer);
    return status;
}

static tfm_status make(const char *path, uint32_t steps, const struct lines *sources, const struct lines *targets,
                       tfm_error *error)
{
    tfm_tokenizer *tokenizer = NULL;
    tfm_model *start = NULL, *trained = NULL;

    tfm_status status = learn_tokenizer(&tokenizer, sources, targets, error);
    if (!status) status = create_model(&start, tokenizer, error);
    if (!status) status = train(&trained, start, steps, sources, targets, error);
    if (!status) status = tfm_model_save(trained, path, error);
    if (!status) printf("%s: %zu tensors\n", path, tfm_model_parameter_count(trained));
    tfm_model_free(trained);
    tfm_model_free(start);
    tfm_tokenizer_free(tokenizer);
    return status;
}

int main(int argc, char **argv)
{
    uint32_t steps = 2000;
    tfm_error error = {0};
    struct lines sources = {0}, targets = {0};

    if (argc < 4 || argc > 5 || (argc > 4 && !read_number(&steps, argv[4], 1000000))) {
        fputs("usage: train SOURCES TARGETS MODEL [STEPS]\n", stderr);
        return 2;
    }
    bool done = lines_read(&sources, argv[1]) && lines_read(&targets, argv[2]);
    if (done && sources.count != targets.count) {
        fprintf(stderr, "train: %zu lines in %s, %zu in %s\n", sources.count, argv[1], targets.count, argv[2]);
        done = false;
    }
    if (done && make(argv[3], steps, &sources, &targets, &error)) {
        fprintf(stderr, "train: %s\n", error.message);
        done = false;
    }
    lines_free(&sources);
    lines_free(&targets);
    return !done;
}
