/* Pairs of id sequences, and the order in which an epoch goes through them (5.1). */
#ifndef TFM_DATASET_H
#define TFM_DATASET_H

#include "base/base.h"

/* All ids end to end: pair i has source ids offset[i] .. offset[i + 1]. */
typedef struct tfm_side {
    int32_t *ids;
    size_t n_ids, id_capacity;
    size_t most_ids; /* n_ids in any epoch */
    size_t *offset; /* [n_pairs + 1] */
    size_t offset_capacity;
} tfm_side;

struct tfm_dataset;

/* Writes the ids and offsets of all pairs for an epoch, within most_ids and longest. */
typedef tfm_status (*tfm_draw_fn)(void *user, struct tfm_dataset *data, uint64_t epoch, tfm_error *error);

typedef struct tfm_dataset {
    tfm_allocator allocator;
    tfm_side source, target;
    size_t n_pairs;
    size_t longest;   /* of either side, in any epoch                      */
    tfm_draw_fn draw; /* NULL: the ids are the same in all epochs          */
    void *draw_user;
    size_t draw_bytes; /* of memory that is kept to draw from */
} tfm_dataset;

tfm_status tfm_dataset_create(tfm_dataset *data, const tfm_allocator *allocator, tfm_error *error);
void tfm_dataset_destroy(tfm_dataset *data);
tfm_status tfm_dataset_add(tfm_dataset *data, tfm_ids source, tfm_ids target, tfm_error *error);
/* From now on ids are drawn for each epoch: at most so many on a side, and longest in a sequence. */
tfm_status tfm_dataset_redraw(tfm_dataset *data, size_t most_source, size_t most_target, size_t longest,
                              tfm_draw_fn draw, void *user, tfm_error *error);
/* Makes the ids those of an epoch. After a failure they are those of none. */
tfm_status tfm_dataset_draw(tfm_dataset *data, uint64_t epoch, tfm_error *error);
/* CRC-32 of lengths and ids: tells other data from the same. */
uint32_t tfm_dataset_fingerprint(const tfm_dataset *data);

/*
 * Batches of pairs: batch b holds order[start[b]] .. order[start[b + 1]]. Pairs are sorted by length (the longer side,
 * equal ones in random order) and filled up to batch_tokens source and as many target tokens; then the batches are
 * shuffled. A pair longer than batch_tokens is a batch of its own. A function of the data, batch_tokens, seed and
 * epoch.
 */
typedef struct tfm_batches {
    uint32_t *order; /* [n_pairs]     */
    size_t *start;   /* [n_pairs + 1] */
    size_t n;
    size_t n_pairs;
    uint32_t *length;                   /* [n_pairs] of the longer side        */
    uint32_t *order_room, *permutation; /* to sort and shuffle: [n_pairs] each */
    size_t *start_room;                 /* [n_pairs + 1]                       */
    size_t *place;                      /* [longest + 2] of pairs by length    */
    size_t longest;
} tfm_batches;

/* Bytes of batches for each pair. */
enum { TFM_BATCHES_PAIR = 4 * sizeof(uint32_t) + 2 * sizeof(size_t) };

tfm_status tfm_batches_create(tfm_batches *batches, const tfm_dataset *data, tfm_error *error);
void tfm_batches_destroy(tfm_batches *batches, const tfm_allocator *allocator);
/* shuffled false: in order of length, for validation. */
void tfm_batches_fill(tfm_batches *batches, const tfm_dataset *data, size_t batch_tokens, uint64_t seed, uint64_t epoch,
                      bool shuffled);
/* The end of the longest run order[first] .. of pairs, up to last, with at most so many tokens on a side; one pair at
 * least. */
size_t tfm_dataset_run(const tfm_dataset *data, const uint32_t *order, size_t first, size_t last, size_t tokens);

#endif
