/*
 * Translates standard input, a line each. With N_BEST above 1, that many answers for each line: the line's number,
 * score and text.
 *
 * Usage: translate MODEL [BEAM [N_BEST]] < LINES
 */
#include "example.h"

static void print_answers(const tfm_decoder *decoder, size_t n_lines, uint32_t n_best)
{
    for (size_t i = 0; i < n_lines; i++)
        for (size_t rank = 0; rank < tfm_decoder_count(decoder, i); rank++) {
            if (n_best > 1) printf("%zu\t%.4f\t", i + 1, tfm_decoder_score(decoder, i, rank));
            print_line(tfm_decoder_text(decoder, i, rank));
        }
}

static tfm_status translate(const char *model_path, const tfm_decoder_options *options, const struct lines *input,
                            tfm_error *error)
{
    tfm_model *model = NULL;
    tfm_decoder *decoder = NULL;

    tfm_status status = tfm_model_load(&model, model_path, NULL, error);
    if (!status) status = tfm_decoder_create(&decoder, model, options, error);
    /* All lines in one call: sentences of like length are translated together, and the answers come in their order. */
    if (!status) status = tfm_decoder_translate(decoder, input->line, input->count, error);
    if (!status) print_answers(decoder, input->count, options->n_best);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
    return status;
}

int main(int argc, char **argv)
{
    tfm_decoder_options options;
    tfm_error error;
    struct lines input = {0};

    tfm_decoder_options_init(&options, sizeof options);
    options.n_threads = 0;       /* all cores */
    options.replace_invalid = 1; /* text from anywhere: what is no UTF-8 becomes U+FFFD instead of an error */
    if (argc < 2 || argc > 4 || (argc > 2 && !read_number(&options.beam, argv[2], 1024)) ||
        (argc > 3 && !read_number(&options.n_best, argv[3], options.beam))) {
        fputs("usage: translate MODEL [BEAM [N_BEST]] < LINES    N_BEST <= BEAM <= 1024\n", stderr);
        return 2;
    }

    bool done = lines_read(&input, "-");
    if (done && translate(argv[1], &options, &input, &error)) {
        fprintf(stderr, "translate: %s\n", error.message);
        done = false;
    }
    lines_free(&input);
    return !done;
}
