/* tfm evaluate: BLEU, chrF, TER and F1 of parses with the signature that says which, and whether a system beats
 * another. */
#include "commands.h"
#include "console.h"
#include "parse_report.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCES = 64, METRIC_PARSEVAL = TFM_METRIC_TER + 1 /* it has its own report */ };

typedef struct evaluate_args {
    const char *hyp, *baseline, *param;
    string_list refs;
    uint32_t metric, tokenize, smooth, sentence, replace_invalid, lowercase, width, samples;
    uint64_t seed;
    float smooth_value;
    tfm_bleu_options bleu;
    tfm_chrf_options chrf;
    tfm_ter_options ter;
} evaluate_args;

#define AT(field) .offset = offsetof(evaluate_args, field)
#define SCORES "metric bleu|chrf|ter"
#define BLEU "metric bleu"
#define CHRF "metric chrf"
#define TER "metric ter"

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"hyp", "FILE", "translations to judge, one a line; '-' is standard input", OPTION_TEXT, .required = true, AT(hyp)},
    {"ref", "FILE", "reference translations, as many lines; give it several times for several references", OPTION_LIST,
     .required = true, AT(refs)},
    {"metric", "bleu|chrf|ter|parseval",
     "what is computed: bleu (Papineni et al. 2002), chrf (Popovic 2015), ter (Snover et al. 2006; here less is "
     "better), or of trees in brackets parseval (Black et al. 1991), as EVALB reports it",
     OPTION_CHOICE, AT(metric)},
    {"lowercase", NULL, "bleu, chrf: ignore the case of letters", OPTION_FLAG, .needs = "metric bleu|chrf",
     AT(lowercase)},
    {"width", "N", "bleu, chrf, ter: digits of scores after the point", OPTION_U32, .low = 0, .high = 15,
     .needs = SCORES, AT(width)},
    {"sentence", NULL, "the score of each line instead of the corpus", OPTION_FLAG, AT(sentence)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {.kind = OPTION_HEADING, .help = "BLEU"},
    {"tokenize", "13a|none|intl|char|zh",
     "how lines become tokens: 13a as mteval and sacreBLEU; none: the text is tokenised, "
     "split at spaces; intl: mteval-v14 international; char: characters; zh: Chinese characters, the rest as 13a",
     OPTION_CHOICE, .needs = BLEU, AT(tokenize)},
    {"compound-split", NULL, "split hyphenated words, as the figures of the paper were made", OPTION_FLAG,
     .needs = BLEU, AT(bleu.compound_split)},
    {"smooth", "exp|none|floor|add-k", "what an n-gram order without any match counts", OPTION_CHOICE, .needs = BLEU,
     AT(smooth)},
    {"smooth-value", "X", "of floor and add-k; default: 0.1 and 1", OPTION_FLOAT, .low = 0, .high = 1000000,
     .needs = "smooth floor|add-k", AT(smooth_value)},
    {"max-order", "N", "longest n-gram", OPTION_U32, .low = 1, .high = 8, .needs = BLEU, AT(bleu.max_order)},
    {.kind = OPTION_HEADING, .help = "chrF"},
    {"char-order", "N", "longest n-gram of characters", OPTION_U32, .low = 1, .high = 10, .needs = CHRF,
     AT(chrf.char_order)},
    {"word-order", "N", "longest n-gram of words; 2 makes chrF++", OPTION_U32, .low = 0, .high = 6, .needs = CHRF,
     AT(chrf.word_order)},
    {"beta", "X", "how many times as much as precision recall counts", OPTION_FLOAT, .low = 0.01, .high = 1000,
     .needs = CHRF, AT(chrf.beta)},
    {"whitespace", NULL, "white space counts as characters", OPTION_FLAG, .needs = CHRF, AT(chrf.whitespace)},
    {"eps-smoothing", NULL, "all orders count, as in chrF++.py", OPTION_FLAG, .needs = CHRF, AT(chrf.eps_smoothing)},
    {.kind = OPTION_HEADING, .help = "TER"},
    {"case-sensitive", NULL, "the case of letters counts", OPTION_FLAG, .needs = TER, AT(ter.case_sensitive)},
    {"normalize", NULL, "set off punctuation first", OPTION_FLAG, .needs = TER, AT(ter.normalized)},
    {"no-punctuation", NULL, "remove punctuation", OPTION_FLAG, .needs = TER, AT(ter.no_punctuation)},
    {"asian-support", NULL, "the two above know Chinese and Japanese", OPTION_FLAG, .needs = TER,
     AT(ter.asian_support)},
    {.kind = OPTION_HEADING, .help = "PARSEVAL"},
    {"param", "FILE", "a parameter file of EVALB: what counts, and what is taken for the same; default: COLLINS.prm",
     OPTION_TEXT, .needs = "metric parseval", AT(param)},
    {.kind = OPTION_HEADING, .help = "Significance"},
    {"baseline", "FILE",
     "translations of another system: is the one of --hyp better? Paired bootstrap resampling (Koehn 2004)",
     OPTION_TEXT, .needs = SCORES, AT(baseline)},
    {"samples", "N", "that are drawn", OPTION_U32, .low = 2, .high = 1000000, .needs = "baseline", AT(samples)},
    {"seed", "N", "of the samples", OPTION_U64, .needs = "baseline", AT(seed)},
    {.kind = OPTION_END},
};

typedef struct evaluation {
    const evaluate_args *args;
    text_lines hyp, baseline, refs[MOST_REFERENCES];
    size_t n_refs;
} evaluation;

static int read_beside(text_lines *lines, const char *path, const evaluation *e)
{
    if (!text_lines_read(lines, path, e->args->replace_invalid)) return EXIT_FAILURE;
    return text_counts_match(e->args->hyp, e->hyp.size, path, lines->size) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int read_all(evaluation *e)
{
    const evaluate_args *args = e->args;
    int code = EXIT_SUCCESS;
    if (args->refs.size > MOST_REFERENCES)
        return console_usage("%zu --ref, more than %d", args->refs.size, MOST_REFERENCES);
    if (args->metric == METRIC_PARSEVAL && args->refs.size > 1)
        return console_usage("--metric parseval takes one --ref");
    if (args->baseline && args->sentence) return console_usage("--baseline and --sentence exclude each other");
    e->n_refs = args->refs.size;
    if (!text_lines_read(&e->hyp, args->hyp, args->replace_invalid)) return EXIT_FAILURE;
    for (size_t r = 0; r < e->n_refs && !code; r++) code = read_beside(&e->refs[r], args->refs.items[r], e);
    if (!code && args->baseline) code = read_beside(&e->baseline, args->baseline, e);
    if (!code && e->hyp.size == 0) return console_fail("%s is empty; there is nothing to judge", text_name(args->hyp));
    return code;
}

static void references_from(const evaluation *e, size_t first, const tfm_text **refs)
{
    for (size_t r = 0; r < e->n_refs; r++) refs[r] = e->refs[r].lines + first;
}

/* Of lines first .. first + n. BLEU alone fills more than score and signature. */
static int judge(const evaluation *e, size_t first, size_t n, tfm_bleu_result *result)
{
    const tfm_text *refs[MOST_REFERENCES], *hyps = e->hyp.lines + first;
    tfm_metric_result other = {0};
    tfm_status status;
    tfm_error error;

    references_from(e, first, refs);
    if (e->args->metric == TFM_METRIC_BLEU)
        status = tfm_bleu(result, sizeof *result, hyps, n, refs, e->n_refs, &e->args->bleu, &error);
    else if (e->args->metric == TFM_METRIC_CHRF)
        status = tfm_chrf(&other, sizeof other, hyps, n, refs, e->n_refs, &e->args->chrf, &error);
    else
        status = tfm_ter(&other, sizeof other, hyps, n, refs, e->n_refs, &e->args->ter, &error);
    if (status) return console_fail("%s", error.message);
    if (e->args->metric == TFM_METRIC_BLEU) return EXIT_SUCCESS;
    result->score = other.score;
    memcpy(result->signature, other.signature, sizeof other.signature);
    return EXIT_SUCCESS;
}

/* chrF is called by its beta and by whether words count: chrF2++. */
static void print_name(const evaluate_args *args)
{
    if (args->metric == TFM_METRIC_BLEU) printf("BLEU");
    if (args->metric == TFM_METRIC_CHRF) printf("chrF%g%s", (double)args->chrf.beta, args->chrf.word_order ? "++" : "");
    if (args->metric == TFM_METRIC_TER) printf("TER");
}

static int print_corpus(const evaluation *e)
{
    tfm_bleu_result b;
    const int code = judge(e, 0, e->hyp.size, &b);
    if (code) return code;
    print_name(e->args);
    printf(" = %.*f", (int)e->args->width, b.score);
    for (uint32_t n = 0; n < e->args->bleu.max_order && e->args->metric == TFM_METRIC_BLEU; n++)
        printf("%s%.1f", n ? "/" : " ", b.precisions[n]);
    if (e->args->metric == TFM_METRIC_BLEU)
        printf(" (BP = %.3f ratio = %.3f hyp_len = %llu ref_len = %llu)", b.brevity,
               b.ref_length ? (double)b.hyp_length / (double)b.ref_length : 0, (unsigned long long)b.hyp_length,
               (unsigned long long)b.ref_length);
    printf("\nsignature: %s\n", b.signature);
    return EXIT_SUCCESS;
}

static int print_sentences(const evaluation *e)
{
    tfm_bleu_result b;
    for (size_t i = 0; i < e->hyp.size; i++) {
        const int code = judge(e, i, 1, &b);
        if (code) return code;
        printf("%.*f\n", (int)e->args->width, b.score);
    }
    console_say("signature: %s", b.signature);
    return EXIT_SUCCESS;
}

/* Of TER less is better. */
static void print_verdict(const evaluate_args *args, const tfm_comparison *c)
{
    const double gain = args->metric == TFM_METRIC_TER ? c->score[0] - c->score[1] : c->score[1] - c->score[0];
    printf("difference = %+.*f, p = %.4f: ", (int)args->width, c->score[1] - c->score[0], c->p_value);
    if (c->p_value < 0.05) printf("%s is better, significant at p < 0.05\n", gain > 0 ? args->hyp : args->baseline);
    else printf("not significant at p < 0.05\n");
}

static int print_comparison(const evaluation *e)
{
    const evaluate_args *args = e->args;
    const int width = (int)args->width;
    const void *const options[] = {&args->bleu, &args->chrf, &args->ter};
    const char *const names[] = {args->baseline, args->hyp};
    const tfm_text *refs[MOST_REFERENCES];
    tfm_comparison c;
    tfm_error error;

    references_from(e, 0, refs);
    if (tfm_compare(&c, sizeof c, e->baseline.lines, e->hyp.lines, e->hyp.size, refs, e->n_refs, args->metric,
                    options[args->metric], args->samples, args->seed, &error))
        return console_fail("%s", error.message);
    for (int s = 0; s < 2; s++) {
        print_name(args);
        printf(" = %.*f (%.*f +- %.*f)  %s\n", width, c.score[s], width, c.mean[s], width, c.interval[s], names[s]);
    }
    print_verdict(args, &c);
    printf("signature: %s\n", c.signature);
    return EXIT_SUCCESS;
}

static void init(void *place)
{
    evaluate_args *args = place;
    tfm_bleu_options_init(&args->bleu, sizeof args->bleu);
    tfm_chrf_options_init(&args->chrf, sizeof args->chrf);
    tfm_ter_options_init(&args->ter, sizeof args->ter);
    args->smooth_value = -1;
    args->width = 2;
    args->samples = 1000;
    args->seed = 12345;
}

static void settle(evaluate_args *args)
{
    static const uint32_t tokenizers[] = {TFM_BLEU_TOKENIZE_13A, TFM_BLEU_TOKENIZE_NONE, TFM_BLEU_TOKENIZE_INTL,
                                          TFM_BLEU_TOKENIZE_CHAR, TFM_BLEU_TOKENIZE_ZH};
    static const uint32_t smoothings[] = {TFM_BLEU_SMOOTH_EXP, TFM_BLEU_SMOOTH_NONE, TFM_BLEU_SMOOTH_FLOOR,
                                          TFM_BLEU_SMOOTH_ADD_K};
    static const uint32_t metrics[] = {TFM_METRIC_BLEU, TFM_METRIC_CHRF, TFM_METRIC_TER, METRIC_PARSEVAL};

    args->metric = metrics[args->metric];
    args->bleu.tokenize = tokenizers[args->tokenize];
    args->bleu.smooth = smoothings[args->smooth];
    args->bleu.smooth_value = args->smooth_value;
    args->bleu.effective_order = args->sentence;
    args->bleu.lowercase = args->chrf.lowercase = args->lowercase;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    evaluate_args *args = place;
    evaluation e = {.args = args};
    settle(args);
    int code = read_all(&e);
    if (!code && args->metric == METRIC_PARSEVAL)
        code = parse_report_print(&e.hyp, &e.refs[0], (const char *const[]){args->hyp, args->refs.items[0]},
                                  args->param, args->sentence);
    else if (!code)
        code = args->baseline ? print_comparison(&e) : args->sentence ? print_sentences(&e) : print_corpus(&e);
    text_lines_clear(&e.hyp);
    text_lines_clear(&e.baseline);
    for (size_t r = 0; r < MOST_REFERENCES; r++) text_lines_clear(&e.refs[r]);
    return code;
}

const command command_evaluate = {
    .name = "evaluate",
    .summary = "scores translations or parses against references",
    .usage = "--hyp FILE --ref FILE [options]",
    .text = "Prints BLEU (Papineni et al. 2002), from 0 to 100, more being better, with the precision of each n-gram "
            "order, and a signature that tells how it was computed: figures are comparable only when their signatures "
            "are equal. The defaults are those of sacreBLEU. With --baseline two systems are compared: p is how often "
            "chance alone would make a difference as large as theirs.",
    .examples = "  tfm translate --model en-de.tfm < test.en | tfm evaluate --hyp - --ref test.de\n"
                "  tfm evaluate --hyp test.out --ref test.lc.tok.de --tokenize none --smooth none\n"
                "  tfm evaluate --hyp test.out --ref a.de --ref b.de --sentence > scores\n"
                "  tfm evaluate --hyp test.out --ref test.de --metric chrf --word-order 2\n"
                "  tfm evaluate --hyp test.trees --ref gold.trees --metric parseval\n"
                "  tfm evaluate --hyp new.out --baseline old.out --ref test.de\n",
    .options = rows,
    .args_size = sizeof(evaluate_args),
    .init = init,
    .run = run,
};
