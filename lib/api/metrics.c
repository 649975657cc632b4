/* The public face of the metrics: reads options, checks arguments. */
#include "base/arithmetic.h"
#include "eval/bleu.h"
#include "eval/bootstrap.h"
#include "eval/chrf.h"
#include "eval/parseval.h"
#include "eval/ter.h"

enum {
    BLEU_SIZE_MIN = offsetof(tfm_bleu_options, allocator) + sizeof(void *),
    CHRF_SIZE_MIN = offsetof(tfm_chrf_options, allocator) + sizeof(void *),
    TER_SIZE_MIN = offsetof(tfm_ter_options, allocator) + sizeof(void *),
    PARSEVAL_SIZE_MIN = offsetof(tfm_parseval_options, allocator) + sizeof(void *),
    MOST_SAMPLES = 1000000,
};

void tfm_bleu_options_init(tfm_bleu_options *options, size_t struct_size)
{
    const tfm_bleu_options defaults = tfm_bleu_defaults();

    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

void tfm_chrf_options_init(tfm_chrf_options *options, size_t struct_size)
{
    const tfm_chrf_options defaults = tfm_chrf_defaults();

    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

void tfm_ter_options_init(tfm_ter_options *options, size_t struct_size)
{
    const tfm_ter_options defaults = tfm_ter_defaults();

    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

static const tfm_parseval_options parseval_defaults = {.struct_size = sizeof(tfm_parseval_options)};

void tfm_parseval_options_init(tfm_parseval_options *options, size_t struct_size)
{
    tfm_options_fill(options, struct_size, &parseval_defaults, sizeof parseval_defaults);
}

static tfm_status check_texts(const char *name, size_t number, const tfm_text *texts, size_t n, tfm_error *error)
{
    if (!texts) return tfm_fail(error, TFM_E_INVALID, "%s %zu is NULL", name, number);
    for (size_t i = 0; i < n; i++)
        if (!texts[i].data && texts[i].size)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu: line %zu is NULL but has %zu bytes", name, number, i + 1,
                            texts[i].size);
    return TFM_OK;
}

static tfm_status check_corpus(const tfm_corpus *c, tfm_error *error)
{
    if (!c->n_hyps) return tfm_fail(error, TFM_E_INVALID, "n_hyps is 0: a metric needs at least one hypothesis");
    if (!c->n_refs) return tfm_fail(error, TFM_E_INVALID, "n_refs is 0: a metric needs at least one reference");
    if (!c->refs) return tfm_fail(error, TFM_E_INVALID, "refs is NULL");
    tfm_status status = check_texts("hypothesis list", 1, c->hyps, c->n_hyps, error);
    for (size_t r = 0; r < c->n_refs && status == TFM_OK; r++)
        status = check_texts("reference list", r + 1, c->refs[r], c->n_hyps, error);
    return status;
}

static tfm_status read_bleu(tfm_bleu_options *used, const tfm_bleu_options *options, tfm_error *error)
{
    *used = tfm_bleu_defaults();
    const tfm_status status = options ? tfm_options_read(used, sizeof *used, BLEU_SIZE_MIN, options, error) : TFM_OK;

    return status == TFM_OK ? tfm_bleu_check(used, error) : status;
}

static tfm_status read_chrf(tfm_chrf_options *used, const tfm_chrf_options *options, tfm_error *error)
{
    *used = tfm_chrf_defaults();
    const tfm_status status = options ? tfm_options_read(used, sizeof *used, CHRF_SIZE_MIN, options, error) : TFM_OK;

    return status == TFM_OK ? tfm_chrf_check(used, error) : status;
}

static tfm_status check_reserved(uint32_t reserved, tfm_error *error)
{
    return reserved ? tfm_fail(error, TFM_E_INVALID, "reserved is %u, must be 0", reserved) : TFM_OK;
}

static tfm_status read_ter(tfm_ter_options *used, const tfm_ter_options *options, tfm_error *error)
{
    *used = tfm_ter_defaults();
    const tfm_status status = options ? tfm_options_read(used, sizeof *used, TER_SIZE_MIN, options, error) : TFM_OK;

    return status == TFM_OK ? check_reserved(used->reserved, error) : status;
}

static tfm_status opened(bool open, tfm_error *error)
{
    return open ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "no memory for a metric");
}

static tfm_status open_bleu(tfm_metric *metric, const tfm_bleu_options *options, tfm_bleu_options *used,
                            tfm_error *error)
{
    const tfm_status status = read_bleu(used, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(used->allocator);
    return opened(tfm_bleu_open(metric, used, &a), error);
}

static tfm_status open_chrf(tfm_metric *metric, const tfm_chrf_options *options, tfm_error *error)
{
    tfm_chrf_options used;
    const tfm_status status = read_chrf(&used, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(used.allocator);
    return opened(tfm_chrf_open(metric, &used, &a), error);
}

static tfm_status open_ter(tfm_metric *metric, const tfm_ter_options *options, tfm_error *error)
{
    tfm_ter_options used;
    const tfm_status status = read_ter(&used, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(used.allocator);
    return opened(tfm_ter_open(metric, &used, &a), error);
}

tfm_status tfm_bleu(tfm_bleu_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                    const tfm_text *const *refs, size_t n_refs, const tfm_bleu_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_corpus corpus = {hyps, n_hyps, refs, n_refs};
    double stats[TFM_METRIC_STATS];
    char signature[TFM_SIGNATURE] = ""; /* no byte of the result is left to chance */
    tfm_bleu_options used;
    tfm_bleu_result full;
    tfm_metric metric = {0};

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    tfm_status status = open_bleu(&metric, options, &used, error);
    if (status == TFM_OK) status = check_corpus(&corpus, error);
    if (status == TFM_OK) status = tfm_metric_corpus(&metric, stats, NULL, signature, "", &corpus, error);
    if (status == TFM_OK) {
        tfm_bleu_result_of(&full, &used, stats);
        memcpy(full.signature, signature, sizeof signature);
        tfm_result_write(result, struct_size, &full, sizeof full);
    }
    tfm_metric_close(&metric);
    return status;
}

/* Scores the corpus; closes the metric. */
static tfm_status judge(tfm_metric *metric, tfm_metric_result *result, size_t struct_size, const tfm_corpus *corpus,
                        tfm_error *error)
{
    double stats[TFM_METRIC_STATS];
    tfm_metric_result full = {0};
    tfm_status status = check_corpus(corpus, error);

    if (status == TFM_OK) status = tfm_metric_corpus(metric, stats, NULL, full.signature, "", corpus, error);
    if (status == TFM_OK) {
        full.score = metric->kind->score(metric->state, stats);
        tfm_result_write(result, struct_size, &full, sizeof full);
    }
    tfm_metric_close(metric);
    return status;
}

tfm_status tfm_chrf(tfm_metric_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                    const tfm_text *const *refs, size_t n_refs, const tfm_chrf_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_metric metric = {0};

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    const tfm_status status = open_chrf(&metric, options, error);
    return status == TFM_OK ? judge(&metric, result, struct_size, &(tfm_corpus){hyps, n_hyps, refs, n_refs}, error)
                            : status;
}

tfm_status tfm_ter(tfm_metric_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                   const tfm_text *const *refs, size_t n_refs, const tfm_ter_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_metric metric = {0};

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    const tfm_status status = open_ter(&metric, options, error);
    return status == TFM_OK ? judge(&metric, result, struct_size, &(tfm_corpus){hyps, n_hyps, refs, n_refs}, error)
                            : status;
}

static tfm_status open_any(tfm_metric *metric, uint32_t kind, const void *options, tfm_error *error)
{
    tfm_bleu_options used;

    switch (kind) {
    case TFM_METRIC_BLEU: return open_bleu(metric, options, &used, error);
    case TFM_METRIC_CHRF: return open_chrf(metric, options, error);
    case TFM_METRIC_TER: return open_ter(metric, options, error);
    default: return tfm_fail(error, TFM_E_INVALID, "metric is %u, not in 0..%d", kind, TFM_METRIC_TER);
    }
}

tfm_status tfm_compare(tfm_comparison *result, size_t struct_size, const tfm_text *baseline, const tfm_text *hyps,
                       size_t n_hyps, const tfm_text *const *refs, size_t n_refs, uint32_t metric, const void *options,
                       uint32_t n_samples, uint64_t seed, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_corpus corpora[2] = {{baseline, n_hyps, refs, n_refs}, {hyps, n_hyps, refs, n_refs}};
    tfm_comparison full = {0};
    tfm_metric m = {0};

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    if (n_samples < 2 || n_samples > MOST_SAMPLES)
        return tfm_fail(error, TFM_E_INVALID, "n_samples is %u, not in 2..%d", n_samples, MOST_SAMPLES);
    tfm_status status = open_any(&m, metric, options, error);
    for (int s = 0; s < 2 && status == TFM_OK; s++) status = check_corpus(&corpora[s], error);
    if (status == TFM_OK) status = tfm_bootstrap(&full, &m, corpora, n_samples, seed, error);
    if (status == TFM_OK) tfm_result_write(result, struct_size, &full, sizeof full);
    tfm_metric_close(&m);
    return status;
}

/* The message of the error that is one too many. EVALB stops when it has met MAX_ERROR + 2. */
static tfm_status too_many(const tfm_parseval_result *sums, const tfm_parse_rules *rules, size_t line, tfm_error *error)
{
    return tfm_fail(error, TFM_E_INVALID,
                    "line %zu is error %llu, more than MAX_ERROR %u lets pass: are these parses of these sentences?",
                    line, (unsigned long long)sums->errors[0], rules->max_errors);
}

static tfm_status compare_parses(tfm_parseval_state *state, tfm_parseval_result *full, tfm_parseval_row *rows,
                                 const tfm_text *parses, const tfm_text *gold, size_t n, tfm_error *error)
{
    for (size_t i = 0; i < n; i++) {
        tfm_parseval_row row;

        tfm_parseval_compare(state, &row, parses[i], gold[i]);
        tfm_parseval_add(full, &row, &state->rules);
        if (rows) rows[i] = row;
        if (full->errors[0] > (uint64_t)state->rules.max_errors + 1) return too_many(full, &state->rules, i + 1, error);
    }
    tfm_parseval_finish(full, &state->rules);
    return TFM_OK;
}

tfm_status tfm_parseval(tfm_parseval_result *result, size_t struct_size, tfm_parseval_row *rows, const tfm_text *parses,
                        const tfm_text *gold, size_t n, const tfm_parseval_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_corpus corpus = {parses, n, &gold, 1};
    tfm_parseval_options used = parseval_defaults;
    tfm_parseval_result full = {0};

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    tfm_status status = options ? tfm_options_read(&used, sizeof used, PARSEVAL_SIZE_MIN, options, error) : TFM_OK;
    if (status == TFM_OK) status = check_reserved(used.reserved, error);
    if (status == TFM_OK) status = check_corpus(&corpus, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(used.allocator);
    tfm_parseval_state *state = tfm_alloc_unset(&a, 1, sizeof *state);
    if (!state) return tfm_fail(error, TFM_E_NOMEM, "no memory for two trees");
    status = tfm_parse_rules_read(&state->rules, used.parameters, error);
    if (status == TFM_OK) status = compare_parses(state, &full, rows, parses, gold, n, error);
    if (status == TFM_OK) tfm_result_write(result, struct_size, &full, sizeof full);
    tfm_free(&a, state, 1, sizeof *state);
    return status;
}
