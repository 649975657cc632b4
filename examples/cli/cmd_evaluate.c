/* tfm evaluate: BLEU with the signature that says which BLEU it is. */
#include "commands.h"
#include "console.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REFERENCES = 64 };

typedef struct evaluate_args {
    const char *hyp;
    string_list refs;
    uint32_t metric, tokenize, smooth, sentence, replace_invalid;
    float smooth_value;
    tfm_bleu_options bleu;
} evaluate_args;

#define AT(field) .offset = offsetof(evaluate_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"hyp", "FILE", "translations to judge, one a line; '-' is standard input", OPTION_TEXT, .required = true, AT(hyp)},
    {"ref", "FILE", "reference translations, as many lines; give it several times for several references", OPTION_LIST,
     .required = true, AT(refs)},
    {"metric", "bleu", "what is computed: bleu (Papineni et al. 2002)", OPTION_CHOICE, AT(metric)},
    {"tokenize", "13a|none|intl|char",
     "how lines become tokens: 13a as mteval and sacreBLEU; none: the text is tokenised, "
     "split at spaces; intl: mteval-v14 international; char: characters",
     OPTION_CHOICE, AT(tokenize)},
    {"lowercase", NULL, "ignore the case of letters", OPTION_FLAG, AT(bleu.lowercase)},
    {"compound-split", NULL, "split hyphenated words, as the figures of the paper were made", OPTION_FLAG,
     AT(bleu.compound_split)},
    {"smooth", "exp|none|floor|add-k", "what an n-gram order without any match counts", OPTION_CHOICE, AT(smooth)},
    {"smooth-value", "X", "of floor and add-k; default: 0.1 and 1", OPTION_FLOAT, AT(smooth_value)},
    {"max-order", "N", "longest n-gram", OPTION_U32, .low = 1, .high = 8, AT(bleu.max_order)},
    {"sentence", NULL, "the BLEU of each line instead of the corpus", OPTION_FLAG, AT(sentence)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {.kind = OPTION_END},
};

typedef struct evaluation {
    const evaluate_args *args;
    text_lines hyp, refs[MOST_REFERENCES];
    size_t n_refs;
} evaluation;

static int read_all(evaluation *e)
{
    const evaluate_args *args = e->args;
    if (args->refs.size > MOST_REFERENCES)
        return console_usage("%zu --ref, more than %d", args->refs.size, MOST_REFERENCES);
    e->n_refs = args->refs.size;
    if (!text_lines_read(&e->hyp, args->hyp, args->replace_invalid)) return EXIT_FAILURE;
    for (size_t r = 0; r < e->n_refs; r++) {
        if (!text_lines_read(&e->refs[r], args->refs.items[r], args->replace_invalid)) return EXIT_FAILURE;
        if (!text_counts_match(args->hyp, e->hyp.size, args->refs.items[r], e->refs[r].size)) return EXIT_FAILURE;
    }
    if (e->hyp.size == 0) return console_fail("%s is empty; there is nothing to judge", args->hyp);
    return EXIT_SUCCESS;
}

static int bleu(const evaluation *e, size_t first, size_t n, tfm_bleu_result *result)
{
    const tfm_text *refs[MOST_REFERENCES];
    tfm_error error;
    for (size_t r = 0; r < e->n_refs; r++) refs[r] = e->refs[r].lines + first;
    if (tfm_bleu(result, sizeof *result, e->hyp.lines + first, n, refs, e->n_refs, &e->args->bleu, &error))
        return console_fail("%s", error.message);
    return EXIT_SUCCESS;
}

static int print_corpus(const evaluation *e)
{
    tfm_bleu_result b;
    const int code = bleu(e, 0, e->hyp.size, &b);
    if (code) return code;
    printf("BLEU = %.2f ", b.score);
    for (uint32_t n = 0; n < e->args->bleu.max_order; n++) printf("%s%.1f", n ? "/" : "", b.precisions[n]);
    printf(" (BP = %.3f ratio = %.3f hyp_len = %llu ref_len = %llu)\n", b.brevity,
           (double)b.hyp_length / (double)(b.ref_length ? b.ref_length : 1), (unsigned long long)b.hyp_length,
           (unsigned long long)b.ref_length);
    printf("signature: %s\n", b.signature);
    return EXIT_SUCCESS;
}

static int print_sentences(const evaluation *e)
{
    tfm_bleu_result b;
    for (size_t i = 0; i < e->hyp.size; i++) {
        const int code = bleu(e, i, 1, &b);
        if (code) return code;
        printf("%.2f\n", b.score);
    }
    console_say("signature: %s", b.signature);
    return EXIT_SUCCESS;
}

static void init(void *place)
{
    evaluate_args *args = place;
    tfm_bleu_options_init(&args->bleu, sizeof args->bleu);
    args->smooth_value = -1;
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    static const uint32_t tokenizers[] = {TFM_BLEU_TOKENIZE_13A, TFM_BLEU_TOKENIZE_NONE, TFM_BLEU_TOKENIZE_INTL,
                                          TFM_BLEU_TOKENIZE_CHAR};
    static const uint32_t smoothings[] = {TFM_BLEU_SMOOTH_EXP, TFM_BLEU_SMOOTH_NONE, TFM_BLEU_SMOOTH_FLOOR,
                                          TFM_BLEU_SMOOTH_ADD_K};
    evaluate_args *args = place;
    evaluation e = {.args = args};
    args->bleu.tokenize = tokenizers[args->tokenize];
    args->bleu.smooth = smoothings[args->smooth];
    args->bleu.smooth_value = args->smooth_value;
    args->bleu.effective_order = args->sentence;
    int code = read_all(&e);
    if (!code) code = args->sentence ? print_sentences(&e) : print_corpus(&e);
    text_lines_clear(&e.hyp);
    for (size_t r = 0; r < MOST_REFERENCES; r++) text_lines_clear(&e.refs[r]);
    return code;
}

const command command_evaluate = {
    .name = "evaluate",
    .summary = "scores translations against references",
    .usage = "--hyp FILE --ref FILE [options]",
    .text = "Prints BLEU (Papineni et al. 2002), from 0 to 100, more being better, with the precision of each n-gram "
            "order, and a signature that tells how it was computed: figures are comparable only when their signatures "
            "are equal. The defaults are those of sacreBLEU.",
    .examples = "  tfm translate --model en-de.tfm < test.en | tfm evaluate --hyp - --ref test.de\n"
                "  tfm evaluate --hyp test.out --ref test.lc.tok.de --tokenize none --smooth none\n"
                "  tfm evaluate --hyp test.out --ref a.de --ref b.de --sentence > scores\n",
    .options = rows,
    .args_size = sizeof(evaluate_args),
    .init = init,
    .run = run,
};
