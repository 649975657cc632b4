#include "eval/chrf.h"

#include "base/characters.h"
#include "eval/ngrams.h"
#include "base/rewrite.h"

#include <math.h>
#include <stdio.h>

enum { MAX_CHAR_ORDER = 10, MAX_WORD_ORDER = 6, MAX_BETA = 1000 };

/* Statistics: for each order n-grams of the hypothesis, of the reference, and of both. */
enum { HYP, REF, BOTH, KINDS, STATS = KINDS * (MAX_CHAR_ORDER + MAX_WORD_ORDER) };

typedef struct judge {
    tfm_chrf_options options;
    tfm_line line;
    tfm_buffer words;
    tfm_ngrams ngrams;
} judge;

tfm_chrf_options tfm_chrf_defaults(void)
{
    return (tfm_chrf_options){.struct_size = sizeof(tfm_chrf_options), .char_order = 6, .beta = 2.0f};
}

tfm_status tfm_chrf_check(const tfm_chrf_options *options, tfm_error *error)
{
    if (options->char_order < 1 || options->char_order > MAX_CHAR_ORDER)
        return tfm_fail(error, TFM_E_INVALID, "char_order is %u, not in 1..%d", options->char_order, MAX_CHAR_ORDER);
    if (options->word_order > MAX_WORD_ORDER)
        return tfm_fail(error, TFM_E_INVALID, "word_order is %u, not in 0..%d", options->word_order, MAX_WORD_ORDER);
    if (!(options->beta > 0 && options->beta <= MAX_BETA)) /* NaN too */
        return tfm_fail(error, TFM_E_INVALID, "beta is %g, not above 0 and at most %d", (double)options->beta,
                        MAX_BETA);
    if (options->reserved) return tfm_fail(error, TFM_E_INVALID, "reserved is %u, must be 0", options->reserved);
    return TFM_OK;
}

/* Order n of the sentence or corpus. */
static void add_f_score(double f[3], const double *stats, double factor)
{
    const double tiny = 1e-16; /* sacreBLEU's */
    const double precision = stats[HYP] > 0 ? stats[BOTH] / stats[HYP] : tiny,
                 recall = stats[REF] > 0 ? stats[BOTH] / stats[REF] : tiny;
    const double under = factor * precision + recall;

    f[2] += under > 0 ? (1 + factor) * precision * recall / under : tiny;
    if (stats[HYP] > 0 && stats[REF] > 0) f[0] += precision, f[1] += recall;
}

/* The mean over orders of precision and recall gives F; orders that hypothesis or reference have no n-gram of do not
 * count. */
static double score(const void *state, const double *stats)
{
    const tfm_chrf_options *o = &((const judge *)state)->options;
    const double factor = (double)o->beta * (double)o->beta;
    const uint32_t orders = o->char_order + o->word_order;
    double sums[3] = {0}, counted = 0;

    for (uint32_t n = 0; n < orders; n++, stats += KINDS) {
        add_f_score(sums, stats, factor);
        counted += stats[HYP] > 0 && stats[REF] > 0;
    }
    if (o->eps_smoothing) return 100 * sums[2] / orders;
    if (sums[0] + sums[1] <= 0) return 0;
    const double precision = sums[0] / counted, recall = sums[1] / counted;
    return 100 * (1 + factor) * precision * recall / (factor * precision + recall);
}

static bool is_ascii_punctuation(int32_t code)
{
    return (code > ' ' && code < '0') || (code > '9' && code < 'A') || (code > 'Z' && code < 'a') ||
           (code > 'z' && code < 0x7F);
}

/* Appends a word, its last or else its first character apart where that is ASCII punctuation. */
static void add_word(tfm_buffer *words, tfm_text word)
{
    const size_t first = tfm_char_at(word, 0).size;
    size_t cut = word.size;

    if (first < word.size && is_ascii_punctuation((unsigned char)word.data[word.size - 1])) cut = word.size - 1;
    else if (first < word.size && is_ascii_punctuation((unsigned char)word.data[0])) cut = first;
    tfm_buffer_append(words, word.data, cut);
    tfm_buffer_append(words, " ", 1);
    tfm_buffer_append(words, word.data + cut, word.size - cut);
    tfm_buffer_append(words, " ", 1);
}

static void find_words(tfm_buffer *words, tfm_text text)
{
    size_t begin = 0;

    words->size = 0;
    for (size_t pos = 0, next; pos <= text.size; pos = next) {
        const tfm_char c = pos < text.size ? tfm_char_at(text, pos) : (tfm_char){' ', 1};
        next = pos + c.size;
        if (!tfm_char_is_space(c.code)) continue;
        if (pos > begin) add_word(words, (tfm_text){text.data + begin, pos - begin});
        begin = next;
    }
}

/* N-grams of the tokens; of the hypothesis (stats not NULL) those of each order, and those that the reference has too.
 */
static void count(judge *j, double *stats, size_t which, tfm_text text, bool characters, uint32_t max_order)
{
    double matches[MAX_CHAR_ORDER] = {0};
    const size_t n = tfm_ngrams_tokens(&j->ngrams, text, characters);

    tfm_ngrams_count(&j->ngrams, n, max_order, which == HYP ? matches : NULL);
    for (uint32_t order = 0; order < max_order; order++, stats += KINDS) {
        stats[which] = n > order ? (double)(n - order) : 0;
        if (which == HYP) stats[BOTH] = matches[order];
    }
}

static tfm_text prepare(judge *j, tfm_text raw)
{
    j->line.text.size = 0;
    tfm_line_add(&j->line, raw, j->options.lowercase);
    if (j->options.word_order) find_words(&j->words, tfm_line_text(&j->line));
    if (!j->options.whitespace) tfm_line_replace_class(&j->line, tfm_char_is_space, "");
    return tfm_line_text(&j->line);
}

static void compare(judge *j, double *stats, tfm_text hyp, tfm_text ref)
{
    const tfm_chrf_options *o = &j->options;
    double *words = stats + KINDS * o->char_order;

    for (size_t of_words = 0; of_words < (o->word_order ? 2 : 1); of_words++) {
        tfm_ngrams_clear(&j->ngrams);
        for (size_t k = 2; k-- > 0;) { /* the reference first */
            const tfm_text characters = prepare(j, k == HYP ? hyp : ref);
            if (of_words) count(j, words, k, (tfm_text){j->words.data, j->words.size}, false, o->word_order);
            else count(j, stats, k, characters, true, o->char_order);
        }
    }
    for (uint32_t n = 0; n < o->char_order + o->word_order;
         n++) /* as sacreBLEU: no n-gram is wrong where there is none to find */
        if (stats[KINDS * n + REF] <= 0) stats[KINDS * n + HYP] = 0;
}

/* Of several references the one counts that gives the sentence the highest score. */
static bool add(void *state, double *stats, tfm_text hyp, const tfm_text *refs, size_t n_refs)
{
    judge *j = state;
    double best = -1;

    for (size_t r = 0; r < n_refs; r++) {
        double these[STATS] = {0};
        compare(j, these, hyp, refs[r]);
        const double f = score(j, these);
        if (f <= best) continue;
        best = f;
        memcpy(stats, these, sizeof these);
    }
    return !tfm_line_bad(&j->line) && !j->words.bad && !j->ngrams.bad;
}

static void sign(const void *state, char out[TFM_SIGNATURE], const char *refs)
{
    const tfm_chrf_options *o = &((const judge *)state)->options;
    char beta[48] = "", value[TFM_METRIC_NUMBER];

    if (o->beta != 2.0f) snprintf(beta, sizeof beta, "|beta:%s", tfm_metric_number(value, (double)o->beta));
    snprintf(out, TFM_SIGNATURE, "nrefs:%s|case:%s|eff:%s|nc:%u|nw:%u|space:%s%s|version:libtransformer-%d.%d.%d", refs,
             o->lowercase ? "lc" : "mixed", o->eps_smoothing ? "no" : "yes", o->char_order, o->word_order,
             o->whitespace ? "yes" : "no", beta, TFM_VERSION_MAJOR, TFM_VERSION_MINOR, TFM_VERSION_PATCH);
}

static void close(void *state, const tfm_allocator *a)
{
    judge *j = state;

    tfm_line_free(&j->line);
    tfm_buffer_free(&j->words);
    tfm_ngrams_free(&j->ngrams);
    tfm_free(a, j, 1, sizeof *j);
}

static const tfm_metric_kind chrf = {STATS, add, score, sign, close};

bool tfm_chrf_open(tfm_metric *metric, const tfm_chrf_options *options, const tfm_allocator *a)
{
    judge *j = tfm_alloc(a, 1, sizeof *j);

    if (!j) return false;
    *j = (judge){.options = *options, .words.allocator = *a, .ngrams.allocator = *a};
    tfm_line_init(&j->line, a);
    *metric = (tfm_metric){&chrf, j, *a};
    return true;
}
