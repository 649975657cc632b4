#include "eval/metric.h"

#include <math.h>
#include <stdio.h>

enum { VARIES = 0 };

void tfm_metric_close(tfm_metric *metric)
{
    if (metric->state) metric->kind->close(metric->state, &metric->allocator);
    *metric = (tfm_metric){0};
}

/* printf alone is no choice: its decimal point follows the locale of the process. */
const char *tfm_metric_number(char to[static TFM_METRIC_NUMBER], double x)
{
    long long unit = 100;
    int decimals = 2;

    for (; decimals < 9 && (float)(rint(x * (double)unit) / (double)unit) != (float)x; decimals++) unit *= 10;
    const long long n = llrint(x * (double)unit);
    snprintf(to, TFM_METRIC_NUMBER, "%lld.%0*lld", n / unit, decimals, n % unit);
    return to;
}

/* The references of hypothesis i that are not empty, or one of no tokens; returns their number. */
static size_t references_of(tfm_text *row, const tfm_corpus *corpus, size_t i)
{
    size_t n = 0;

    for (size_t r = 0; r < corpus->n_refs; r++)
        if (corpus->refs[r][i].size) row[n++] = corpus->refs[r][i];
    if (!n) row[n++] = (tfm_text){"", 0};
    return n;
}

static tfm_status add_all(tfm_metric *metric, double *stats, double *each, const tfm_corpus *corpus, tfm_text *row,
                          size_t *n_refs, tfm_error *error)
{
    const size_t n_stats = metric->kind->n_stats;

    for (size_t i = 0; i < corpus->n_hyps; i++) {
        double one[TFM_METRIC_STATS] = {0};
        const size_t n = references_of(row, corpus, i);

        if (!metric->kind->add(metric->state, one, corpus->hyps[i], row, n))
            return tfm_fail(error, TFM_E_NOMEM, "hypothesis %zu and its references: no memory to compare them", i + 1);
        for (size_t s = 0; s < n_stats; s++) stats[s] += one[s];
        if (each) memcpy(each + i * n_stats, one, n_stats * sizeof *one);
        *n_refs = i && n != *n_refs ? VARIES : n;
    }
    return TFM_OK;
}

tfm_status tfm_metric_corpus(tfm_metric *metric, double *stats, double *each, char signature[TFM_SIGNATURE],
                             const char *drawn, const tfm_corpus *corpus, tfm_error *error)
{
    tfm_text *row = tfm_alloc(&metric->allocator, corpus->n_refs, sizeof *row);
    char number[24] = "var", refs[96];
    size_t n_refs = VARIES;

    if (!row) return tfm_fail(error, TFM_E_NOMEM, "no memory for %zu references", corpus->n_refs);
    memset(stats, 0, metric->kind->n_stats * sizeof *stats);
    const tfm_status status = add_all(metric, stats, each, corpus, row, &n_refs, error);
    if (n_refs != VARIES) snprintf(number, sizeof number, "%zu", n_refs);
    snprintf(refs, sizeof refs, "%s%s", number, drawn);
    if (status == TFM_OK) metric->kind->sign(metric->state, signature, refs);
    tfm_free(&metric->allocator, row, corpus->n_refs, sizeof *row);
    return status;
}
