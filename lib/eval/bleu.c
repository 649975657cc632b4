/* BLEU of a corpus: counts summed over its sentences, the score from the sums, and the signature that names the
 * convention. */
#include "eval/bleu.h"

#include "eval/bleu_tokenize.h"
#include "eval/ngrams.h"

#include <math.h>
#include <stdio.h>

enum { MAX_ORDER = 8, MAX_SMOOTH = 1000000, VARIES = 0 };

tfm_bleu_options tfm_bleu_defaults(void)
{
    return (tfm_bleu_options){.struct_size = sizeof(tfm_bleu_options), .smooth_value = -1, .max_order = 4};
}

tfm_status tfm_bleu_check(const tfm_bleu_options *options, tfm_error *error)
{
    if (options->tokenize > TFM_BLEU_TOKENIZE_CHAR)
        return tfm_fail(error, TFM_E_INVALID, "tokenize is %u, not in 0..%d", options->tokenize,
                        TFM_BLEU_TOKENIZE_CHAR);
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

/* printf is no choice for the value: its decimal point follows the locale of the process. */
static void write_signature(char *out, size_t size, size_t n_refs, const tfm_bleu_options *options)
{
    static const char *const names[] = {"exp", "none", "floor", "add-k"};
    const bool has_value = options->smooth == TFM_BLEU_SMOOTH_FLOOR || options->smooth == TFM_BLEU_SMOOTH_ADD_K;
    const long long hundredths = llrint(smooth_value(options) * 100);
    char refs[24] = "var", value[32] = "", order[16] = "";

    if (n_refs != VARIES) snprintf(refs, sizeof refs, "%zu", n_refs);
    if (has_value) snprintf(value, sizeof value, "[%lld.%02d]", hundredths / 100, (int)(hundredths % 100));
    if (options->max_order != 4) snprintf(order, sizeof order, "|order:%u", options->max_order);
    snprintf(out, size, "nrefs:%s|case:%s|eff:%s|tok:%s|smooth:%s%s%s%s|version:libtransformer-%d.%d.%d", refs,
             options->lowercase ? "lc" : "mixed", options->effective_order ? "yes" : "no",
             tfm_bleu_tokenize_name(options->tokenize), names[options->smooth], value, order,
             options->compound_split ? "|split:yes" : "", TFM_VERSION_MAJOR, TFM_VERSION_MINOR, TFM_VERSION_PATCH);
}

/* Memory that the sentences of a corpus share. */
typedef struct corpus {
    const tfm_bleu_options *options;
    tfm_bleu_result *result;
    tfm_bleu_line line;
    tfm_ngrams ngrams;
    size_t n_refs; /* of the sentences so far; VARIES */
} corpus;

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

/* Tokens of text, its n-grams counted. */
static size_t count(corpus *c, tfm_text text, uint64_t *matches)
{
    tfm_bleu_line_set(&c->line, text, c->options);
    const tfm_text tokens = {c->line.text.data, c->line.text.size};
    return tfm_ngrams_count(&c->ngrams, tokens, c->options->max_order, matches);
}

/* Counts the references that are not empty, or the first when all are, which adds nothing; returns how many count. */
static size_t add_references(corpus *c, const tfm_text *const *refs, size_t n_refs, size_t i, size_t *lengths)
{
    size_t n = 0;

    for (size_t r = 0; r < n_refs; r++)
        if (refs[r][i].size) lengths[n++] = count(c, refs[r][i], NULL);
    if (!n) lengths[n++] = 0;
    return n;
}

static tfm_status add_sentence(corpus *c, tfm_text hyp, const tfm_text *const *refs, size_t n_refs, size_t i,
                               size_t *lengths, tfm_error *error)
{
    tfm_ngrams_clear(&c->ngrams);
    const size_t n = add_references(c, refs, n_refs, i, lengths);
    const size_t length = count(c, hyp, c->result->matches);
    size_t closest = lengths[0];

    if (c->line.text.bad || c->line.spare.bad || c->ngrams.bad)
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the n-grams of hypothesis %zu and its references", i + 1);
    for (size_t r = 1; r < n; r++) {
        const uint64_t d = distance(lengths[r], length), best = distance(closest, length);
        if (d < best || (d == best && lengths[r] < closest)) closest = lengths[r];
    }
    for (size_t order = 0; order < c->options->max_order && order < length; order++)
        c->result->totals[order] += length - order;
    c->result->hyp_length += length;
    c->result->ref_length += closest;
    c->n_refs = i && n != c->n_refs ? VARIES : n;
    return TFM_OK;
}

tfm_status tfm_bleu_corpus(tfm_bleu_result *result, const tfm_text *hyps, size_t n_hyps, const tfm_text *const *refs,
                           size_t n_refs, const tfm_bleu_options *options, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(options->allocator);
    corpus c = {.options = options, .result = result, .ngrams.allocator = a};
    tfm_status status = TFM_OK;
    size_t *lengths = tfm_alloc(&a, n_refs, sizeof *lengths);

    if (!lengths) return tfm_fail(error, TFM_E_NOMEM, "no memory for the lengths of %zu references", n_refs);
    *result = (tfm_bleu_result){0};
    tfm_bleu_line_init(&c.line, &a);
    for (size_t i = 0; i < n_hyps && status == TFM_OK; i++)
        status = add_sentence(&c, hyps[i], refs, n_refs, i, lengths, error);
    if (status == TFM_OK) {
        tfm_bleu_score(result, options);
        write_signature(result->signature, sizeof result->signature, c.n_refs, options);
    }
    tfm_bleu_line_free(&c.line);
    tfm_ngrams_free(&c.ngrams);
    tfm_free(&a, lengths, n_refs, sizeof *lengths);
    return status;
}
