/* Levenshtein distance of word sequences within a band around the diagonal, with the edits, as tercom looks for them.
 */
#ifndef TFM_EVAL_EDIT_DISTANCE_H
#define TFM_EVAL_EDIT_DISTANCE_H

#include "base/base.h"

typedef struct tfm_edits {
    tfm_allocator allocator;
    const uint32_t *ref; /* [n_ref], n_ref >= 1 */
    size_t n_ref, n_hyp;
    size_t reach;     /* of the band to either side */
    size_t width;     /* cells of a row of it       */
    uint32_t *cost;   /* rows 1..n_hyp; the last one has room for n_ref + 1 */
    uint8_t *edit;
    size_t cost_capacity, edit_capacity;
    uint32_t *seen;   /* the hypothesis whose rows these are */
    size_t seen_capacity, n_seen;
} tfm_edits;

typedef enum tfm_edit {
    TFM_EDIT_KEEP,
    TFM_EDIT_CHANGE,
    TFM_EDIT_DROP,
    TFM_EDIT_PUT
} tfm_edit; /* from hypothesis to reference */

/* For hypotheses of n_hyp words, until the next call. false: no memory. */
bool tfm_edits_begin(tfm_edits *edits, const uint32_t *ref, size_t n_ref, size_t n_hyp);
void tfm_edits_free(tfm_edits *edits);

/* Edits that make hyp [n_hyp] the reference. Rows that the last hypothesis had too are kept. */
size_t tfm_edits_count(tfm_edits *edits, const uint32_t *hyp);

/* Of the last hypothesis, the edit that ends with its first i words and the reference's first j; going back from
 * (n_hyp, n_ref). */
tfm_edit tfm_edits_at(const tfm_edits *edits, size_t i, size_t j);

#endif
