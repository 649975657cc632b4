/* The ids of some pairs, side by side without padding: what a pass over the model reads. */
#ifndef TFM_PACKED_H
#define TFM_PACKED_H

#include "train/dataset.h"

/* How much of the data one pass takes at the most. */
typedef struct tfm_extent {
    size_t source, target; /* tokens */
    size_t pairs;
    size_t longest; /* tokens of a sequence of either side */
} tfm_extent;

/* Pairs of up to so many tokens on a side, or one longer pair: holds for every order of the data. */
tfm_extent tfm_extent_of(const tfm_dataset *data, size_t tokens);

typedef struct tfm_packed {
    int32_t *source, *inputs, *labels;
    uint32_t *source_positions, *target_positions;
    size_t *source_offset, *target_offset;
    size_t source_capacity, target_capacity, pair_capacity;
    size_t n_pairs, n_source, n_target;
} tfm_packed;

/* Room for at least this much; a failure keeps the room there was. */
tfm_status tfm_packed_reserve(tfm_packed *packed, const tfm_extent *extent, const tfm_allocator *allocator,
                              tfm_error *error);
void tfm_packed_destroy(tfm_packed *packed, const tfm_allocator *allocator);
/* Bytes that such a reserve takes; false: does not fit. */
bool tfm_packed_bytes(const tfm_extent *extent, size_t *bytes);

/* Packs n pairs. Decoder inputs are the labels shifted right by one, behind the start symbol (3.1). */
void tfm_packed_fill(tfm_packed *packed, const tfm_dataset *data, const uint32_t *pairs, size_t n, int32_t start);

#endif
