/*
 * A metric of a corpus: numbers of each sentence (counts, lengths), added up, give the score. One form for all, so that
 * samples of sentences can be scored for tests of significance.
 */
#ifndef TFM_EVAL_METRIC_H
#define TFM_EVAL_METRIC_H

#include "base/base.h"

enum { TFM_METRIC_STATS = 64, TFM_SIGNATURE = 160, TFM_METRIC_NUMBER = 40 };

typedef struct tfm_metric_kind {
    size_t n_stats; /* at most TFM_METRIC_STATS */
    /* stats += those of a sentence; n_refs >= 1. false: no memory. */
    bool (*add)(void *state, double *stats, tfm_text hyp, const tfm_text *refs, size_t n_refs);
    double (*score)(const void *state, const double *stats);
    /* What tells how the score was computed; refs: number of references, and what follows it. */
    void (*sign)(const void *state, char out[TFM_SIGNATURE], const char *refs);
    void (*close)(void *state, const tfm_allocator *a);
} tfm_metric_kind;

typedef struct tfm_metric {
    const tfm_metric_kind *kind;
    void *state;
    tfm_allocator allocator;
} tfm_metric;

/* Hypothesis i with its references refs[0..n_refs][i]. */
typedef struct tfm_corpus {
    const tfm_text *hyps;
    size_t n_hyps;
    const tfm_text *const *refs;
    size_t n_refs;
} tfm_corpus;

/* x, from 0 to 1e6, for a signature: with the decimals, two to nine, that tell it from other floats. Returns to. */
const char *tfm_metric_number(char to[static TFM_METRIC_NUMBER], double x);

void tfm_metric_close(tfm_metric *metric); /* takes {0} */

/*
 * stats: sums over the corpus; each: NULL, or [n_hyps][n_stats] of the sentences; signature, in which drawn ("" or
 * "|bs:...") follows the number of references. As in sacreBLEU an empty reference is one that is missing; unlike there,
 * a sentence that has no other is not an error: its reference has no tokens.
 */
tfm_status tfm_metric_corpus(tfm_metric *metric, double *stats, double *each, char signature[TFM_SIGNATURE],
                             const char *drawn, const tfm_corpus *corpus, tfm_error *error);

#endif
