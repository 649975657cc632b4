/* Sentences that are searched together. All of them are at the same step; those that are done leave. */
#ifndef TFM_SEARCH_BATCH_H
#define TFM_SEARCH_BATCH_H

#include "decode/beam.h"
#include "decode/workspace.h"

typedef struct tfm_search_batch {
    tfm_workspace *w;
    const tfm_order *order;       /* [n] longest first, none empty */
    size_t n;                     /* the caller sets these three, the rest is 0 */
    size_t source_rows, longest;  /* tokens of all sources; of the longest output */
    size_t most_rows, cache_rows; /* of any step; of all steps */
    tfm_beam *beams;              /* [n] results */
    tfm_pack source;
    tfm_cache cache;
    size_t *live, n_live; /* sentences still searched */
    /* the next step: hypotheses of live sentences, in their order */
    size_t step;
    int32_t *ids;
    uint32_t *positions;
    uint32_t *table, *next_table; /* [rows][step + 1] cache rows */
    size_t *queries, *self, *groups, *sources;
    uint32_t *source_rows_of;
    /* choosing */
    size_t width;        /* picks of a row, and candidates of a thread's scratch */
    tfm_choice *choices; /* [rows] */
    tfm_pick *picks;     /* [rows][width] */
    double *lse;         /* [rows] */
    tfm_candidate *scratch;
} tfm_search_batch;

/* Tokens that a source of so many may be translated to, EOS counted; at least 1. */
size_t tfm_search_longest_output(const tfm_workspace *w, size_t source);

/* Encodes sources[order[i].index] and stands before the first step. All that the batch needs is allocated here. */
tfm_status tfm_search_batch_begin(tfm_search_batch *b, const tfm_ids *sources, tfm_error *error);

/* One more token for every live hypothesis; needs n_live > 0. Returns how many sentences it finished. */
size_t tfm_search_batch_step(tfm_search_batch *b);

#endif
