/*
 * Sentences that are searched together, each at its own step. One that is done leaves at once, and those that wait take
 * its place in the caches.
 */
#ifndef TFM_SEARCH_BATCH_H
#define TFM_SEARCH_BATCH_H

#include "decode/beam.h"
#include "decode/masks.h"
#include "decode/search.h"

typedef struct tfm_search_slot {
    size_t index;      /* of the source */
    size_t min_length; /* EOS counted   */
    uint64_t stream;   /* of samples    */
    size_t told;       /* certain tokens that were told of */
    tfm_ids prefix;    /* first tokens  */
    tfm_terms terms;   /* to appear     */
    tfm_beam beam;
} tfm_search_slot;

/* Rows of a cache that nobody uses: a stack. */
typedef struct tfm_free_rows {
    uint32_t *rows;
    size_t n;
} tfm_free_rows;

/* What the live sentences look at, in their order: hypotheses and, of each, its self-attention rows; rows of sources.
 */
typedef struct tfm_search_view {
    size_t *groups;      /* [slots + 1] hypotheses of each sentence       */
    size_t *self;        /* [most_rows + 1] into self_rows                */
    uint32_t *self_rows; /* of each hypothesis, oldest position first     */
    int32_t *past;       /* NULL, or the ids that these rows read         */
    size_t *sources;     /* [slots + 1] into source_rows                  */
    float *covered; /* NULL, or attention on each source token summed up: of sentence i [its hypotheses][its tokens],
                       from beam * sources[i] on */
    uint32_t *source_rows;
} tfm_search_view;

typedef struct tfm_search_batch {
    tfm_workspace *w;
    const tfm_ids *sources, *prefixes; /* prefixes: NULL, or of each sentence */
    tfm_ids first;                     /* the prefix of those without one     */
    const tfm_terms *terms;            /* the same                            */
    const tfm_order *order; /* [n] longest first, none empty */
    const tfm_masks *masks;
    const tfm_search_watch *watch;
    size_t n;               /* the caller sets these eight, the rest is 0 */
    size_t next;            /* of the order: the first that waits */
    /* limits of what is searched at a time */
    size_t slots, most_rows;      /* sentences, hypotheses */
    size_t source_rows, outputs;  /* tokens of sources; of the longest outputs */
    size_t longest, outputs_left; /* output of all sentences; not promised to a live sentence */
    size_t enough;                /* source tokens that are worth an encoder pass of their own */
    tfm_search_slot *slot;
    size_t *live, n_live, *ended, n_ended, *idle, n_idle; /* slots */
    tfm_pack source;                                      /* of the sentences that are admitted */
    tfm_cache *caches;  /* of each member */
    tfm_value **hidden; /* the same, of the step under way */
    tfm_free_rows self, cross;
    uint64_t *seen, now; /* [rows of self] when a row was last counted as used */
    /* the next step, and room for the one after it */
    tfm_search_view view, spare;
    int32_t *ids;
    size_t *owner; /* [most_rows] slot of each hypothesis */
    uint32_t *positions;
    size_t *queries;
    /* choosing */
    size_t width, candidates; /* picks of a row; entries of a thread's scratch */
    tfm_choice *choices; /* [most_rows] */
    tfm_pick *picks;     /* [most_rows][width] */
    double *lse;         /* [most_rows] */
    tfm_wanted *wanted;  /* [most_rows] NULL without terms, as is the next one */
    tfm_ids *pasts;      /* [most_rows] */
    tfm_candidate *scratch;
    /* coverage; else NULL */
    float *heads;       /* what tfm_shown has of a step                                      */
    size_t *heads_at;   /* [slots] of each sentence [n_heads][its hypotheses][its tokens]    */
    double *coverage;   /* [most_rows] the penalty that each hypothesis has, should it end   */
} tfm_search_batch;

/* Tokens that a source of so many may be translated to, EOS counted; at least 1. */
size_t tfm_search_longest_output(const tfm_workspace *w, size_t source);

/* Allocates all that the sentences need. */
tfm_status tfm_search_batch_begin(tfm_search_batch *b, tfm_error *error);

/* Encodes waiting sentences when there is room for enough of them; false: none came. The ended ones are forgotten. */
bool tfm_search_batch_admit(tfm_search_batch *b);

/* What the hypotheses have of their terms, before each step. */
tfm_status tfm_search_batch_look(tfm_search_batch *b, tfm_error *error);

/* One more token for every live hypothesis; needs n_live > 0. Those that are done are listed in ended. */
void tfm_search_batch_step(tfm_search_batch *b);

/* What a step, or an admission whose keys and values go to these rows, computes: for those, and for planning them. */
void tfm_search_batch_compute(tfm_search_batch *b);
void tfm_search_batch_encode(tfm_search_batch *b, const uint32_t *rows);

#endif
