/* tfm score: what a model, or several, think of given translations. */
#include "commands.h"
#include "console.h"
#include "links.h"
#include "model_args.h"
#include "text_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_PAIRS = 1024 };

typedef struct score_args {
    ensemble_args models;
    const char *src, *tgt;
    uint32_t per_token, replace_invalid;
    links_args links;
    tfm_decoder_options decoder;
} score_args;

#define AT(field) .offset = offsetof(score_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    ENSEMBLE_ROWS(score_args, models),
    {"src", "FILE", "source side, one sentence a line", OPTION_TEXT, .required = true, AT(src)},
    {"tgt", "FILE", "target side: line i is a translation of line i of --src", OPTION_TEXT, .required = true, AT(tgt)},
    {"per-token", NULL, "after each sum, a tab and the log-probability of each token, the end of the sentence included",
     OPTION_FLAG, AT(per_token)},
    LINKS_ROWS(score_args, links),
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {"dtype", "f32|bf16|int8", "type of weights and arithmetic; a quantised model is always int8", OPTION_CHOICE,
     AT(decoder.dtype)},
    {"batch-tokens", "N", "source tokens read together", OPTION_U32, .low = 1, AT(decoder.batch_tokens)},
    {"max-source", "N", "a line of more tokens is an error", OPTION_U32, .low = 1, AT(decoder.max_source)},
    {"threads", "N", "processors to use; the result does not depend on it; default: all", OPTION_U32,
     AT(decoder.n_threads)},
    {.kind = OPTION_END},
};

typedef struct scoring {
    const score_args *args;
    text_lines src, tgt;
    ensemble models;
    tfm_decoder *decoder;
    links links;
    double sum; /* log-probability of all tokens */
    uint64_t tokens;
    tfm_error error;
} scoring;

static void print_pair(scoring *s, size_t i)
{
    size_t n = 0;
    const float *values = tfm_decoder_token_logprobs(s->decoder, i, &n);
    const double sum = tfm_decoder_pair_logprob(s->decoder, i);
    printf("%.6f", sum);
    for (size_t k = 0; s->args->per_token && k < n; k++) printf("%c%.6f", k ? ' ' : '\t', (double)values[k]);
    if (s->args->links.wanted) {
        size_t m, n_source;
        const float *weights = tfm_decoder_pair_alignment(s->decoder, i, TFM_ALIGNMENT_WORDS, &m, &n_source);
        printf(" ||| %s", links_text(&s->links, weights, m, n_source));
    }
    putchar('\n');
    s->sum += sum;
    s->tokens += n;
}

static int score_all(scoring *s)
{
    text_writer out;
    text_writer_open(&out, NULL);
    for (size_t i = 0; i < s->src.size; i += CHUNK_PAIRS) {
        const size_t n = s->src.size - i < CHUNK_PAIRS ? s->src.size - i : CHUNK_PAIRS;
        if (tfm_decoder_logprobs(s->decoder, s->src.lines + i, s->tgt.lines + i, n, &s->error)) {
            if (i == 0) return console_fail("%s", s->error.message);
            return console_fail("in the %zu lines from line %zu on: %s", n, i + 1, s->error.message);
        }
        for (size_t k = 0; k < n; k++) print_pair(s, k);
        if (!text_writer_flush(&out)) return EXIT_FAILURE;
    }
    if (s->tokens > 0)
        console_say("%zu pairs, %llu target tokens, log-probability a token %.4f, perplexity %.4g", s->src.size,
                    (unsigned long long)s->tokens, s->sum / (double)s->tokens, exp(-s->sum / (double)s->tokens));
    return EXIT_SUCCESS;
}

static void init(void *place)
{
    score_args *args = place;
    tfm_decoder_options_init(&args->decoder, sizeof args->decoder);
    args->decoder.n_threads = 0;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    score_args *args = place;
    scoring s = {.args = args};
    int code = links_begin(&s.links, &args->decoder, &args->links);
    if (code) return code;
    code = ensemble_load(&s.models, &args->models);
    if (!code && ensemble_decoder(&s.decoder, &s.models, &args->decoder, &s.error))
        code = console_fail("%s", s.error.message);
    if (!code && !text_pairs_read(&s.src, &s.tgt, args->src, args->tgt, args->replace_invalid)) code = EXIT_FAILURE;
    if (!code) code = score_all(&s);
    text_lines_clear(&s.src);
    text_lines_clear(&s.tgt);
    links_free(&s.links);
    tfm_decoder_free(s.decoder);
    ensemble_free(&s.models);
    return code;
}

const command command_score = {
    .name = "score",
    .summary = "prints the log-probability of given translations",
    .usage = "--model FILE --src FILE --tgt FILE [options]",
    .text = "Prints, for each pair of lines, the natural logarithm of the probability that the model gives to the "
            "target when it reads the source: one number a line, the sum over the target's tokens and the end of the "
            "sentence. The perplexity of all pairs follows on standard error.",
    .examples = "  tfm score --model en-de.tfm --src test.en --tgt test.de\n"
                "  tfm score --model en-de.tfm --src test.en --tgt test.de --per-token | cut -f 2\n"
                "  tfm score --model en-de.tfm --src test.en --tgt test.de --alignment | sed 's/.* ||| //'\n",
    .options = rows,
    .args_size = sizeof(score_args),
    .init = init,
    .run = run,
};
