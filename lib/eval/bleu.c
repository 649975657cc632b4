/* BLEU: counts of a sentence, the score from the sums of a corpus, and the signature that names the convention. */
#include "eval/bleu.h"

#include "eval/bleu_tokenize.h"
#include "eval/ngrams.h"

#include <math.h>
#include <stdio.h>

enum { MAX_ORDER = 8, MAX_SMOOTH = 1000000 };

/* Statistics: matches of each order, n-grams of the hypothesis of each order, and two lengths. */
enum { MATCHES = 0, TOTALS = MAX_ORDER, HYP_LENGTH = 2 * MAX_ORDER, REF_LENGTH, STATS };

typedef struct judge {
    tfm_bleu_options options;
    tfm_line line;
    tfm_ngrams ngrams;
} judge;

tfm_bleu_options tfm_bleu_defaults(void)
{
    return (tfm_bleu_options){.struct_size = sizeof(tfm_bleu_options), .smooth_value = -1, .max_order = 4};
}

tfm_status tfm_bleu_check(const tfm_bleu_options *options, tfm_error *error)
{
    if (options->tokenize > TFM_BLEU_TOKENIZE_ZH)
        return tfm_fail(error, TFM_E_INVALID, "tokenize is %u, not in 0..%d", options->tokenize,
                        TFM_BLEU_TOKENIZE_ZH);
    if (options->smooth > TFM_BLEU_SMOOTH_ADD_K)
        return tfm_fail(error, TFM_E_INVALID, "smooth is %u, not in 0..%d", options->smooth, TFM_BLEU_SMOOTH_ADD_K);
    if (!(options->smooth_value <= MAX_SMOOTH)) /* NaN too */
        return tfm_fail(error, TFM_E_INVALID, "smooth_value is %g, more than %d", (double)options->smooth_value,
                        MAX_SMOOTH);
    if (options->max_order < 1 || options->max_order > MAX_ORDER)
        return tfm_fail(error, TFM_E_INVALID, "max_order is %u, not in 1..%d", options->max_order, MAX_ORDER);
    return TFM_OK;
}

static double smooth_value(const tfm_bleu_options *options)
{
    if (!(options->smooth_value < 0)) return (double)options->smooth_value;
    return options->smooth == TFM_BLEU_SMOOTH_FLOOR ? 0.1 : 1;
}

void tfm_bleu_score(tfm_bleu_result *result, const tfm_bleu_options *options)
{
    const double k = smooth_value(options);
    const size_t max_order = options->max_order;
    size_t orders = max_order, matched = 0;
    double zeros = 1, logs = 0;

    result->score = 0;
    result->brevity = 1;
    if (result->hyp_length < result->ref_length)
        result->brevity = result->hyp_length ? exp(1 - (double)result->ref_length / (double)result->hyp_length) : 0;
    memset(result->precisions, 0, sizeof result->precisions);
    for (size_t n = 0; n < max_order; n++) matched += result->matches[n] != 0;
    if (!matched) return; /* no smoothing makes a score of nothing */

    for (size_t n = 0; n < max_order; n++) {
        const double added = options->smooth == TFM_BLEU_SMOOTH_ADD_K && n ? k : 0;
        const double total = (double)result->totals[n] + added;
        double matches = (double)result->matches[n] + added;
        if (total <= 0) break;
        if (options->effective_order) orders = n + 1;
        if (matches <= 0 && options->smooth == TFM_BLEU_SMOOTH_EXP) matches = 1 / (zeros *= 2);
        if (matches <= 0 && options->smooth == TFM_BLEU_SMOOTH_FLOOR) matches = k;
        result->precisions[n] = 100 * matches / total;
    }
    for (size_t n = 0; n < orders; n++) logs += log(result->precisions[n] / 100); /* log 0 is -inf, and its exp 0 */
    result->score = 100 * result->brevity * exp(logs / (double)orders);
}

static void sign(const void *state, char out[TFM_SIGNATURE], const char *refs)
{
    const tfm_bleu_options *options = &((const judge *)state)->options;
    static const char *const names[] = {"exp", "none", "floor", "add-k"};
    const bool has_value = options->smooth == TFM_BLEU_SMOOTH_FLOOR || options->smooth == TFM_BLEU_SMOOTH_ADD_K;
    char value[48] = "", number[TFM_METRIC_NUMBER], order[16] = "";

    if (has_value) snprintf(value, sizeof value, "[%s]", tfm_metric_number(number, smooth_value(options)));
    if (options->max_order != 4) snprintf(order, sizeof order, "|order:%u", options->max_order);
    snprintf(out, TFM_SIGNATURE, "nrefs:%s|case:%s|eff:%s|tok:%s|smooth:%s%s%s%s|version:libtransformer-%d.%d.%d", refs,
             options->lowercase ? "lc" : "mixed", options->effective_order ? "yes" : "no",
             tfm_bleu_tokenize_name(options->tokenize), names[options->smooth], value, order,
             options->compound_split ? "|split:yes" : "", TFM_VERSION_MAJOR, TFM_VERSION_MINOR, TFM_VERSION_PATCH);
}

static double distance(double a, double b)
{
    return a < b ? b - a : a - b;
}

/* Tokens of text, its n-grams counted. */
static double count(judge *j, tfm_text text, double *matches)
{
    tfm_bleu_tokenize(&j->line, text, &j->options);
    const size_t n = tfm_ngrams_tokens(&j->ngrams, tfm_line_text(&j->line), false);
    tfm_ngrams_count(&j->ngrams, n, j->options.max_order, matches);
    return (double)n;
}

/* Of several references the length counts that is closest, then shortest. */
static bool add(void *state, double *stats, tfm_text hyp, const tfm_text *refs, size_t n_refs)
{
    judge *j = state;

    tfm_ngrams_clear(&j->ngrams);
    tfm_bleu_tokenize(&j->line, hyp, &j->options);
    const double length = (double)tfm_ngrams_tokens(&j->ngrams, tfm_line_text(&j->line), false);
    double closest = INFINITY;
    for (size_t r = 0; r < n_refs; r++) {
        const double n = count(j, refs[r], NULL), d = distance(n, length), best = distance(closest, length);
        if (d < best || (d == best && n < closest)) closest = n;
    }
    count(j, hyp, stats + MATCHES);
    for (uint32_t n = 0; n < j->options.max_order && n < length; n++) stats[TOTALS + n] += length - n;
    stats[HYP_LENGTH] += length;
    stats[REF_LENGTH] += closest;
    return !tfm_line_bad(&j->line) && !j->ngrams.bad;
}

static tfm_bleu_result result_of(const double *stats)
{
    tfm_bleu_result r = {.hyp_length = (uint64_t)stats[HYP_LENGTH], .ref_length = (uint64_t)stats[REF_LENGTH]};

    for (int n = 0; n < MAX_ORDER; n++) {
        r.matches[n] = (uint64_t)stats[MATCHES + n];
        r.totals[n] = (uint64_t)stats[TOTALS + n];
    }
    return r;
}

static double score(const void *state, const double *stats)
{
    tfm_bleu_result r = result_of(stats);

    tfm_bleu_score(&r, &((const judge *)state)->options);
    return r.score;
}

static void close(void *state, const tfm_allocator *a)
{
    judge *j = state;

    tfm_line_free(&j->line);
    tfm_ngrams_free(&j->ngrams);
    tfm_free(a, j, 1, sizeof *j);
}

static const tfm_metric_kind bleu = {STATS, add, score, sign, close};

bool tfm_bleu_open(tfm_metric *metric, const tfm_bleu_options *options, const tfm_allocator *a)
{
    judge *j = tfm_alloc(a, 1, sizeof *j);

    if (!j) return false;
    *j = (judge){.options = *options, .ngrams.allocator = *a};
    tfm_line_init(&j->line, a);
    *metric = (tfm_metric){&bleu, j, *a};
    return true;
}

void tfm_bleu_result_of(tfm_bleu_result *result, const tfm_bleu_options *options, const double *stats)
{
    *result = result_of(stats);
    tfm_bleu_score(result, options);
}
