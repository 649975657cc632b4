#include "eval/bootstrap.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Statistics of the sentences of both systems, and scores of all samples. */
typedef struct work {
    const tfm_metric *metric;
    size_t n; /* sentences */
    uint32_t n_samples;
    double *each[2], *scores[2];
} work;

/* The score of both for n sentences, drawn with repetition: the same for both. */
static void judge_sample(const work *w, uint64_t seed, uint32_t sample)
{
    double sums[2][TFM_METRIC_STATS] = {0};
    const size_t n_stats = w->metric->kind->n_stats;

    for (size_t i = 0; i < w->n; i++) {
        const size_t drawn = (size_t)((double)tfm_random_bits(seed, sample, i) * 0x1p-32 * (double)w->n);
        for (int s = 0; s < 2; s++)
            for (size_t k = 0; k < n_stats; k++) sums[s][k] += w->each[s][drawn * n_stats + k];
    }
    for (int s = 0; s < 2; s++) w->scores[s][sample] = w->metric->kind->score(w->metric->state, sums[s]);
}

static double mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* p as sacreBLEU's, after Riezler and Maxwell 2005: differences are moved so that their mean is 0, the
 * hypothesis that there is none. Unlike there equal ones count, so that no system beats itself. */
static double p_value(const work *w, double difference)
{
    const double shift = mean(w->scores[1], w->n_samples) - mean(w->scores[0], w->n_samples);
    size_t beyond = 0;

    for (uint32_t i = 0; i < w->n_samples; i++)
        beyond += fabs(w->scores[1][i] - w->scores[0][i] - shift) >= fabs(difference);
    return ((double)beyond + 1) / ((double)w->n_samples + 1);
}

/* Half of what lies between the 2.5th and the 97.5th of a hundred scores; sorts them. */
static double interval(double *scores, uint32_t n)
{
    const uint32_t cut = n / 40;

    qsort(scores, n, sizeof *scores, compare);
    return (scores[n - 1 - cut] - scores[cut]) / 2;
}

static tfm_status resample(tfm_comparison *r, const work *w, tfm_metric *metric, const tfm_corpus corpora[2],
                           uint64_t seed, tfm_error *error)
{
    char drawn[64];

    snprintf(drawn, sizeof drawn, "|bs:%u|seed:%llu", w->n_samples, (unsigned long long)seed);
    for (int s = 0; s < 2; s++) {
        double stats[TFM_METRIC_STATS];
        const tfm_status status = tfm_metric_corpus(metric, stats, w->each[s], r->signature, drawn, &corpora[s], error);
        if (status != TFM_OK) return status;
        r->score[s] = metric->kind->score(metric->state, stats);
    }
    for (uint32_t i = 0; i < w->n_samples; i++) judge_sample(w, seed, i);
    r->p_value = p_value(w, r->score[1] - r->score[0]);
    for (int s = 0; s < 2; s++) {
        r->mean[s] = mean(w->scores[s], w->n_samples);
        r->interval[s] = interval(w->scores[s], w->n_samples);
    }
    return TFM_OK;
}

tfm_status tfm_bootstrap(tfm_comparison *result, tfm_metric *metric, const tfm_corpus corpora[2], uint32_t n_samples,
                         uint64_t seed, tfm_error *error)
{
    const tfm_allocator *a = &metric->allocator;
    const size_t n = corpora[0].n_hyps, row = metric->kind->n_stats * sizeof(double);
    work w = {.metric = metric, .n = n, .n_samples = n_samples};
    tfm_status status = TFM_OK;

    for (int s = 0; s < 2; s++) {
        w.each[s] = tfm_alloc(a, n, row);
        w.scores[s] = tfm_alloc(a, n_samples, sizeof(double));
        if (!w.each[s] || !w.scores[s])
            status = tfm_fail(error, TFM_E_NOMEM, "no memory for %zu sentences and %u samples", n, n_samples);
    }
    if (status == TFM_OK) status = resample(result, &w, metric, corpora, seed, error);
    for (int s = 0; s < 2; s++) {
        tfm_free(a, w.each[s], n, row);
        tfm_free(a, w.scores[s], n_samples, sizeof(double));
    }
    return status;
}
