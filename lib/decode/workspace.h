/* What search and scoring stand on: models, their execution, the memory of a batch, and ids packed into batches. */
#ifndef TFM_WORKSPACE_H
#define TFM_WORKSPACE_H

#include "decode/ensemble.h"

typedef struct tfm_workspace {
    tfm_allocator allocator;
    tfm_decoder_options options;
    tfm_member *members; /* [n_members] with the same ids; the first one's attention is looked at */
    size_t n_members;
    tfm_run run;
    tfm_block block;      /* tables of the present batch */
    tfm_profile profile;  /* of searches */
} tfm_workspace;

/* options are valid; n > 0 members are copied, what they point at is lent and may change between calls (a model in
 * training). */
tfm_status tfm_workspace_create(tfm_workspace **out, const tfm_member *members, size_t n, tfm_pool *pool,
                                const tfm_decoder_options *options, const tfm_allocator *allocator, tfm_error *error);
void tfm_workspace_free(tfm_workspace *w);

/* Of the first member. */
static inline const tfm_model_options *tfm_workspace_model(const tfm_workspace *w)
{
    return &w->members->transformer.weights->options;
}

/* The longest sequence that all members can number: the rows of a learned table, else UINT32_MAX. */
size_t tfm_workspace_longest(const tfm_workspace *w);
/* Makes the position tables long enough for sequences of length tokens. */
tfm_status tfm_workspace_reach(tfm_workspace *w, size_t length, tfm_error *error);
/* First input of the decoder: BOS, or -1 for the zero vector. */
int32_t tfm_workspace_start(const tfm_workspace *w);
/* The ids that are never produced, -1 where there is none: PAD, and BOS unless it is EOS too. */
void tfm_workspace_never(const tfm_workspace *w, int32_t never[static 2]);

/* Are all ids in the vocabulary, and no sequence too long? name: of the targets, for the error. */
tfm_status tfm_workspace_check_sources(const tfm_workspace *w, const tfm_ids *sources, size_t n, tfm_error *error);
tfm_status tfm_workspace_check_targets(const tfm_workspace *w, const tfm_ids *targets, size_t n, const char *name,
                                       tfm_error *error);

/* Sequence number index, and the length that it is sorted by. */
typedef struct tfm_order {
    size_t length, index;
} tfm_order;

/* Longest first, equal ones as they were. spare: n entries. */
void tfm_order_sort(tfm_order *order, tfm_order *spare, size_t n);

/* Packed sequences in the making. */
typedef struct tfm_pack {
    size_t n, *offset;
    int32_t *ids;
    uint32_t *positions;
} tfm_pack;

void tfm_pack_plan(tfm_pack *pack, tfm_arena *arena, size_t n, size_t rows);
void tfm_pack_begin(tfm_pack *pack);
void tfm_pack_add(tfm_pack *pack, tfm_ids ids);
/* The decoder's input: start, then ids without the last. */
void tfm_pack_add_shifted(tfm_pack *pack, tfm_ids ids, int32_t start);
tfm_tokens tfm_pack_tokens(const tfm_pack *pack);

#endif
