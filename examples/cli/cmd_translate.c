/* tfm translate: one line in, one line out. */
#include "bench.h"
#include "commands.h"
#include "console.h"
#include "links.h"
#include "model_args.h"
#include "patterns.h"
#include "phrases.h"
#include "profile.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_LINES = 1024, /* translated together, when so many are there */
    WARNINGS = 10,      /* of a kind; those that come after are only counted */
};

typedef struct translate_args {
    ensemble_args models;
    const char *input, *output, *prefixes, *terms;
    uint32_t n_best; /* 0: plain lines */
    uint32_t scores, token_scores, stats, replace_invalid, stop, forbid_unknown, stream;
    string_list forbid, placeholders;
    links_args links;
    tfm_decoder_options decoder;
} translate_args;

#define AT(field) .offset = offsetof(translate_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Files"},
    ENSEMBLE_ROWS(translate_args, models),
    {"input", "FILE", "lines to translate, plain or gzip; default: standard input", OPTION_TEXT, .file = 'r',
     AT(input)},
    {"prefixes", "FILE", "line i is how the translation of line i begins; an empty one leaves it open", OPTION_TEXT,
     .file = 'r', AT(prefixes)},
    {"terms", "FILE",
     "line i has words or phrases that must appear in the translation of line i as whole words, in this form, separated "
     "by tabs; use a beam wider than their tokens",
     OPTION_TEXT, .file = 'r', AT(terms)},
    {"placeholder", "REGEX",
     "what matches in a line, a tag or a variable, comes into its translation as often, unchanged; give it several times "
     "for several patterns (POSIX extended); use a wide beam as for --terms; a line that cannot keep to it is translated "
     "without, with a warning",
     OPTION_LIST, AT(placeholders)},
    {"output", "FILE",
     "written as FILE.part, or FILE.part2 where that is there already, and renamed when complete; default: standard "
     "output",
     OPTION_TEXT, .file = 'w', AT(output)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},

    {.kind = OPTION_HEADING, .help = "Search (section 6.1 of the paper)"},
    {"beam", "N", "hypotheses kept for each sentence; 1 is greedy", OPTION_U32, .low = 1, .high = 1024,
     AT(decoder.beam)},
    {"alpha", "A", "exponent of the length penalty", OPTION_FLOAT, .needs = "length-norm paper|marian|fairseq",
     AT(decoder.alpha)},
    {"length-norm", "paper|marian|fairseq|none",
     "what the log-probability of N tokens, the end included, is divided by: ((5 + N) / 6)^A, N^A (two names), or 1",
     OPTION_CHOICE, AT(decoder.length_norm)},
    {"coverage", "B",
     "penalty B of finished hypotheses that leave parts of the source without attention; default: none", OPTION_FLOAT,
     AT(decoder.coverage)},
    {"max-extra", "N", "longest translation: tokens of the source + N", OPTION_U32, AT(decoder.max_extra)},
    {"max-length", "N", "longest translation in tokens; default: no other limit", OPTION_U32, AT(decoder.max_length)},
    {"min-length", "N", "no end before so many tokens, the end included", OPTION_U32, AT(decoder.min_length)},
    {"max-source", "N", "a line of more tokens is too long, as is one of more than the model's positions", OPTION_U32,
     .low = 1, AT(decoder.max_source)},
    {"long", "refuse|split",
     "lines that are too long are an error, or translated in parts: cut where a sentence ends, else at punctuation, else "
     "at spaces",
     OPTION_CHOICE, AT(decoder.long_source)},
    {"stop", "best|worst", "end a sentence when its best finished hypothesis, or its worst, cannot be beaten",
     OPTION_CHOICE, AT(stop)},

    {.kind = OPTION_HEADING, .help = "What may be produced"},
    {"forbid", "TEXT",
     "a word or phrase that must not appear, nor words that begin with its tokens; give it several times for several",
     OPTION_LIST, AT(forbid)},
    {"forbid-unknown", NULL, "no token for what the vocabulary cannot express", OPTION_FLAG, AT(forbid_unknown)},
    {"replace-unknown", NULL,
     "a word with the token for what the vocabulary cannot express becomes the source word that it is aligned with",
     OPTION_FLAG, AT(decoder.replace_unknown)},
    {"no-repeat-ngram", "N", "no sequence of N tokens twice in a translation; default: they may repeat", OPTION_U32,
     AT(decoder.no_repeat_ngram)},
    {"repetition-penalty", "R",
     "divide positive logits of tokens that were produced by R, multiply negative ones; default: none", OPTION_FLOAT,
     AT(decoder.repetition_penalty)},
    {"min-ratio", "R", "no end before R times the tokens of the source; default: no such limit", OPTION_FLOAT,
     AT(decoder.min_ratio)},
    {"max-ratio", "R", "longest translation: R times the tokens of the source; default: no such limit", OPTION_FLOAT,
     AT(decoder.max_ratio)},

    {.kind = OPTION_HEADING, .help = "Random translations instead of a search"},
    {"temperature", "T", "draw each token from the probabilities: 1 as they are, below sharper; default: search",
     OPTION_FLOAT, AT(decoder.temperature)},
    {"top-k", "N", "from the N best tokens; default: from all", OPTION_U32, AT(decoder.top_k)},
    {"top-p", "P", "from the fewest of the best tokens that have probability P together; default: from all",
     OPTION_FLOAT, .high = 1, AT(decoder.top_p)},
    {"seed", "N", "equal seeds give equal samples; --nbest of them for each line", OPTION_U64, .needs = "temperature",
     AT(decoder.seed)},

    {.kind = OPTION_HEADING, .help = "Result"},
    {"nbest", "N", "the N best of each line, as 'line number from 0 ||| text ||| score'; default: the best, as text",
     OPTION_U32, .low = 1, .high = 1024, AT(n_best)},
    {"scores", NULL, "put the score and a tab before each line; --nbest has them in any case", OPTION_FLAG,
     .needs = "!nbest", AT(scores)},
    {"token-scores", NULL, "behind each line ' ||| ' and the natural log-probability of each token, the end included",
     OPTION_FLAG, AT(token_scores)},
    LINKS_ROWS(translate_args, links),
    {"stream", NULL,
     "write the words of a translation as they become certain: each at once with --beam 1, else those that all "
     "hypotheses agree on; lines are translated one by one, not many together",
     OPTION_FLAG, AT(stream)},
    {"stats", NULL,
     "at the end, on standard error: time to load, sentences and tokens a second, how long sentences took, memory, "
     "and where the time went",
     OPTION_FLAG, AT(stats)},

    {.kind = OPTION_HEADING, .help = "Machine"},
    {"dtype", "f32|bf16|int8",
     "type of weights and arithmetic; int8 is smallest, and fastest but for many lines on a processor with AMX, where "
     "bf16 is; a quantised model is always int8",
     OPTION_CHOICE, AT(decoder.dtype)},
    {"batch-tokens", "N", "source tokens translated together, times beam", OPTION_U32, .low = 1,
     AT(decoder.batch_tokens)},
    {"threads", "N", "processors to use; the result does not depend on it; default: all", OPTION_U32,
     AT(decoder.n_threads)},
    {.kind = OPTION_END},
};

typedef struct translation {
    const translate_args *args;
    ensemble models;
    tfm_decoder *decoder;
    text_reader input, prefixes, terms; /* these: open with --prefixes, --terms */
    text_writer output;
    text_lines chunk, chunk_prefixes, chunk_terms; /* terms: of all lines */
    size_t n_terms[CHUNK_LINES];
    patterns patterns;
    matches placeholders; /* of all lines */
    size_t n_placeholders[CHUNK_LINES];
    uint64_t uncontrolled;      /* lines whose terms or placeholders were left out */
    uint64_t sentences, tokens; /* done; tokens are those of the best hypotheses */
    uint64_t split, cut_off;    /* sentences in parts; whose translation was too long */
    double load_seconds, seconds;
    double call_began; /* of the lines that are being translated */
    size_t call_done;
    links links;
    size_t shown;      /* bytes of the line that is being written, with --stream */
    samples latencies; /* seconds of each sentence until it was done, with --stats */
    tfm_error error;
} translation;

/* What follows the text: " ||| link ..." of words, " ||| score" of an n-best list, " ||| log-probability ..." of the
 * tokens. */
static void write_suffix(translation *t, size_t sentence, size_t rank)
{
    size_t n;
    const float *scores = tfm_decoder_token_scores(t->decoder, sentence, rank, &n);
    size_t m, n_source;
    const float *weights = tfm_decoder_alignment(t->decoder, sentence, rank, TFM_ALIGNMENT_WORDS, &m, &n_source);
    FILE *to = t->output.file;
    if (t->args->links.wanted) fprintf(to, " ||| %s", links_text(&t->links, weights, m, n_source));
    if (t->args->n_best) fprintf(to, " ||| %.6f", tfm_decoder_score(t->decoder, sentence, rank));
    if (t->args->token_scores) fprintf(to, " |||");
    for (size_t i = 0; t->args->token_scores && i < n; i++) fprintf(to, " %.6f", (double)scores[i]);
}

/* Says what was not translated as it stands. */
static void note_limits(translation *t, size_t i)
{
    const unsigned long long line = t->sentences + 1;
    const size_t parts = tfm_decoder_parts(t->decoder, i);
    if (parts > 1 && t->split++ < WARNINGS)
        console_warn("%s:%llu: too long, translated in %zu parts", t->input.name, line, parts);
    if (!tfm_decoder_finished(t->decoder, i, 0) && t->cut_off++ < WARNINGS)
        console_warn("%s:%llu: the translation reached the longest length, and stops there", t->input.name, line);
}

static void count_limits(const translation *t)
{
    if (t->split > WARNINGS) console_warn("%llu lines were translated in parts", (unsigned long long)t->split);
    if (t->uncontrolled > WARNINGS)
        console_warn("%llu lines were translated without their terms or placeholders",
                     (unsigned long long)t->uncontrolled);
    if (t->cut_off > WARNINGS)
        console_warn("%llu translations reached the longest length", (unsigned long long)t->cut_off);
}

static tfm_text not_shown(const translation *t, tfm_text text)
{
    return (tfm_text){text.data + t->shown, text.size - t->shown};
}

/* A tfm_decode_partial_fn. */
static int32_t show(void *user, const tfm_partial *partial)
{
    translation *t = user;
    text_writer_text(&t->output, not_shown(t, partial->text));
    t->shown = partial->text.size;
    return !text_writer_flush(&t->output);
}

static void write_sentence(translation *t, size_t i)
{
    FILE *to = t->output.file;
    const size_t count = tfm_decoder_count(t->decoder, i), wanted = t->args->n_best ? t->args->n_best : 1;
    for (size_t rank = 0; rank < count && rank < wanted; rank++) {
        if (t->args->n_best) fprintf(to, "%llu ||| ", (unsigned long long)t->sentences);
        else if (t->args->scores) fprintf(to, "%.6f\t", tfm_decoder_score(t->decoder, i, rank));
        text_writer_text(&t->output, not_shown(t, tfm_decoder_text(t->decoder, i, rank)));
        write_suffix(t, i, rank);
        putc('\n', to);
    }
    note_limits(t, i);
    t->tokens += tfm_decoder_ids(t->decoder, i, 0).size;
    t->sentences++;
}

/* A tfm_decode_progress_fn. */
static int32_t note_done(void *user, size_t done, size_t total)
{
    translation *t = user;
    (void)total;
    for (; t->call_done < done; t->call_done++) samples_add(&t->latencies, clock_seconds() - t->call_began);
    return 0;
}

static size_t sum(const size_t *numbers, size_t n)
{
    size_t total = 0;
    while (n > 0) total += numbers[--n];
    return total;
}

/* What a line may be translated without: bits. */
enum { WITHOUT_PLACEHOLDERS = 1, WITHOUT_TERMS = 2 };

/* Lines first .. first + n of the chunk. */
static tfm_status translate_lines(translation *t, size_t first, size_t n, unsigned without)
{
    tfm_request r;
    tfm_request_init(&r, sizeof r);
    r.n = n;
    r.lines = t->chunk.lines + first;
    if (t->args->prefixes) r.prefix_lines = t->chunk_prefixes.lines + first;
    if (t->args->terms && !(without & WITHOUT_TERMS)) {
        r.n_terms = t->n_terms + first;
        r.term_lines = t->chunk_terms.lines + sum(t->n_terms, first);
    }
    if (t->patterns.size > 0 && !(without & WITHOUT_PLACEHOLDERS)) {
        r.n_placeholders = t->n_placeholders + first;
        r.placeholders = t->placeholders.texts.lines + sum(t->n_placeholders, first);
        r.placeholder_times = t->placeholders.times + sum(t->n_placeholders, first);
    }
    if (t->args->stream) r.partial = show;
    r.user = t;
    t->shown = 0;
    t->call_began = clock_seconds();
    t->call_done = 0;
    const tfm_status status = tfm_decoder_run(t->decoder, &r, &t->error);
    t->seconds += clock_seconds() - t->call_began;
    for (size_t i = 0; !status && i < n; i++) write_sentence(t, i);
    return status;
}

/* One line; when its placeholders or its terms cannot be had, without them. */
static tfm_status translate_line(translation *t, size_t i)
{
    static const char *const names[] = {"", "placeholders", "terms", "terms and placeholders"};
    const unsigned long long line = t->sentences + 1;
    const unsigned has = (t->patterns.size > 0 && t->n_placeholders[i] ? WITHOUT_PLACEHOLDERS : 0) |
                         (t->args->terms && t->n_terms[i] ? WITHOUT_TERMS : 0);
    tfm_status status = translate_lines(t, i, 1, 0);
    const tfm_error first = t->error;
    for (unsigned without = 1; (status == TFM_E_INVALID || status == TFM_E_FORMAT) && without <= has; without++) {
        if (without & ~has) continue;
        status = translate_lines(t, i, 1, without);
        if (!status && t->uncontrolled++ < WARNINGS)
            console_warn("%s:%llu: translated without its %s: %s", t->input.name, line, names[without], first.message);
    }
    return status;
}

/* A line that is refused must not take the others of its chunk along, and is named by its number in the file. */
static int translate_chunk(translation *t)
{
    if (t->chunk.size > 1 && translate_lines(t, 0, t->chunk.size, 0) == TFM_OK) return EXIT_SUCCESS;
    for (size_t i = 0; i < t->chunk.size; i++) {
        const tfm_status status = translate_line(t, i);
        if (status == TFM_E_CANCELLED) return EXIT_FAILURE; /* what was shown could not be written */
        if (status)
            return console_fail("%s:%llu: %s", t->input.name, (unsigned long long)t->sentences + 1, t->error.message);
    }
    return EXIT_SUCCESS;
}

/* The next line of a file that has one for each line of the input. */
static bool next_companion(text_reader *reader, const translation *t, size_t i, tfm_text *line)
{
    const int got = text_reader_next(reader, line);
    if (got == 0)
        console_fail("%s has only %llu lines, fewer than %s", reader->name, (unsigned long long)(t->sentences + i),
                     t->input.name);
    return got > 0;
}

/* Prefixes, terms and placeholders of the lines of the chunk. */
static bool read_companions(translation *t)
{
    tfm_text line;
    text_lines_clear(&t->chunk_prefixes);
    text_lines_clear(&t->chunk_terms);
    matches_clear(&t->placeholders);
    for (size_t i = 0; i < t->chunk.size; i++) {
        if (t->args->prefixes) {
            if (!next_companion(&t->prefixes, t, i, &line)) return false;
            text_lines_add(&t->chunk_prefixes, line);
        }
        if (t->args->terms) {
            if (!next_companion(&t->terms, t, i, &line)) return false;
            t->n_terms[i] = phrases_split(&t->chunk_terms, line);
        }
        if (t->patterns.size > 0)
            t->n_placeholders[i] = patterns_find(&t->patterns, &t->placeholders, t->chunk.lines[i]);
    }
    return true;
}

/* 1: lines are in the chunk, 0: the end, -1: reported failure. The lines before a bad one still come. */
static int read_chunk(translation *t)
{
    const size_t most = t->args->stream ? 1 : CHUNK_LINES;
    tfm_text line;
    int got = 1;
    text_lines_clear(&t->chunk);
    while (t->chunk.size < most && (t->chunk.size == 0 || text_reader_ready(&t->input)) &&
           (got = text_reader_next(&t->input, &line)) > 0)
        text_lines_add(&t->chunk, line);
    return got;
}

/* Reports a failure to read; lines that are left are a warning, since all of the input is translated by now. */
static bool check_companion_ends(const translation *t, text_reader *reader)
{
    tfm_text line;
    const int got = reader->name ? text_reader_next(reader, &line) : 0;
    if (got > 0)
        console_warn("%s has more lines than %s, whose last is %llu: do they belong together?", reader->name,
                     t->input.name, (unsigned long long)t->sentences);
    return got >= 0;
}

static int translate_all(translation *t)
{
    for (int got = 1; got > 0;) {
        got = read_chunk(t);
        if (!read_companions(t)) return EXIT_FAILURE;
        const int code = t->chunk.size > 0 ? translate_chunk(t) : EXIT_SUCCESS;
        if (code || got < 0) return EXIT_FAILURE;
        if (!text_writer_flush(&t->output)) return EXIT_FAILURE;
    }
    return check_companion_ends(t, &t->prefixes) && check_companion_ends(t, &t->terms) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int create_decoder(translation *t)
{
    const translate_args *args = t->args;
    const tfm_tokenizer *tokenizer = tfm_tokenizer_target(tfm_model_tokenizer(t->models.models[0]));
    tfm_decoder_options o = args->decoder;
    tfm_special_ids special;
    phrases forbidden = {0};
    int code = EXIT_SUCCESS;
    tfm_tokenizer_special(&special, tokenizer);
    if (args->forbid_unknown && special.unk >= 0) phrases_add_id(&forbidden, special.unk);
    for (size_t i = 0; !code && i < args->forbid.size; i++)
        code = phrases_add(&forbidden, tokenizer, args->forbid.items[i]);
    o.forbidden = forbidden.items;
    o.n_forbidden = forbidden.size;
    if (!code && ensemble_decoder(&t->decoder, &t->models, &o, &t->error)) code = console_fail("%s", t->error.message);
    phrases_free(&forbidden);
    return code;
}

static int open_all(translation *t)
{
    const translate_args *args = t->args;
    const double began = clock_seconds();
    const int code = ensemble_load(&t->models, &args->models);
    if (code) return code;
    if (create_decoder(t)) return EXIT_FAILURE;
    t->load_seconds = clock_seconds() - began;
    if (!text_reader_open(&t->input, args->input ? args->input : "-", args->replace_invalid)) return EXIT_FAILURE;
    if (args->prefixes && !text_reader_open(&t->prefixes, args->prefixes, args->replace_invalid)) return EXIT_FAILURE;
    if (args->terms && !text_reader_open(&t->terms, args->terms, args->replace_invalid)) return EXIT_FAILURE;
    return text_writer_open(&t->output, args->output) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_stats(translation *t)
{
    const double seconds = t->seconds > 0 ? t->seconds : 1e-9;
    fprintf(stderr, "loaded in %.0f ms; %llu sentences and %llu tokens in %.2f s: %.1f sentences/s, %.0f tokens/s\n",
            1e3 * t->load_seconds, (unsigned long long)t->sentences, (unsigned long long)t->tokens, t->seconds,
            (double)t->sentences / seconds, (double)t->tokens / seconds);
    console_print("%llu sentences were too long and split, %llu translations were cut off",
                  (unsigned long long)t->split, (unsigned long long)t->cut_off);
    console_print("a sentence took %.1f ms (median), %.1f ms (95 %%), %.1f ms (99 %%); at most %.1f MB of memory",
                  1e3 * samples_median(&t->latencies), 1e3 * samples_quantile(&t->latencies, 0.95),
                  1e3 * samples_quantile(&t->latencies, 0.99), process_peak_mb());
    profile p = {0};
    profile_read_decoder(&p, t->decoder);
    profile_print(&p);
    profile_free(&p);
}

static void init(void *place)
{
    translate_args *args = place;
    tfm_decoder_options_init(&args->decoder, sizeof args->decoder);
    args->decoder.n_threads = 0;
    args->decoder.long_source = TFM_LONG_SPLIT;
}

static int check_stream(const translate_args *args)
{
    const char *other = args->n_best                    ? "--nbest"
                        : args->scores                  ? "--scores"
                        : args->placeholders.size       ? "--placeholder"
                        : args->decoder.replace_unknown ? "--replace-unknown"
                                                        : NULL;
    if (!args->stream || !other) return EXIT_SUCCESS;
    return console_usage(
        "%s needs a translation that is complete, --stream begins to write it before; leave out one of them", other);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    translate_args *args = place;
    translation t = {.args = args, .input.fd = -1, .prefixes.fd = -1, .terms.fd = -1};
    if (args->n_best > args->decoder.beam && args->decoder.temperature <= 0)
        return console_usage("--nbest is %u, more than --beam %u; widen the beam", args->n_best, args->decoder.beam);
    if (args->n_best) args->decoder.n_best = args->n_best;
    args->decoder.stop_rule = args->stop ? TFM_STOP_WORST : TFM_STOP_BEST;
    if (args->stats) args->decoder.progress = note_done, args->decoder.progress_user = &t;
    int code = check_stream(args);
    if (!code) code = links_begin(&t.links, &args->decoder, &args->links);
    if (!code) code = patterns_compile(&t.patterns, &args->placeholders);
    if (code) {
        patterns_free(&t.patterns);
        return code;
    }
    code = open_all(&t);
    if (!code) code = translate_all(&t);
    if (!text_writer_close(&t.output, !code) && !code) code = EXIT_FAILURE;
    if (!code) count_limits(&t);
    if (!code && args->stats) print_stats(&t);
    samples_free(&t.latencies);
    links_free(&t.links);
    text_reader_free(&t.input);
    text_reader_free(&t.prefixes);
    text_reader_free(&t.terms);
    text_lines_clear(&t.chunk);
    text_lines_clear(&t.chunk_prefixes);
    text_lines_clear(&t.chunk_terms);
    matches_free(&t.placeholders);
    patterns_free(&t.patterns);
    tfm_decoder_free(t.decoder);
    ensemble_free(&t.models);
    return code;
}

const command command_translate = {
    .name = "translate",
    .summary = "translates lines with a model",
    .usage = "--model FILE [options] < INPUT > OUTPUT",
    .text = "Reads sentences, one a line, and writes the translation of each on a line of its own, in the same order. "
            "A blank "
            "line gives an empty one. Lines are answered as they come, so that it may serve another program through a "
            "pipe.",
    .examples = "  tfm translate --model en-de.tfm < test.en > test.out\n"
                "  echo 'a man rides a bicycle' | tfm translate --model en-de.tfm --beam 1\n"
                "  tfm translate --model en-de.tfm --beam 1 --stream\n"
                "  tfm translate --model en-de.tfm --dtype int8 --beam 1 < test.en > test.out\n"
                "  tfm translate --model a.tfm --model b.tfm --weights 0.6,0.4 < test.en > test.out\n"
                "  tfm translate --model en-de.tfm --no-repeat-ngram 3 --forbid-unknown < test.en > test.out\n"
                "  tfm translate --model en-de.tfm --alignment < test.en | sed 's/.* ||| //' > test.links\n"
                "  tfm translate --model en-de.tfm --input test.en.gz --nbest 4 --stats > test.nbest\n",
    .options = rows,
    .args_size = sizeof(translate_args),
    .init = init,
    .run = run,
};
