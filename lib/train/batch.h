/* Forward and backward over one batch, in pieces that fit in memory. */
#ifndef TFM_BATCH_H
#define TFM_BATCH_H

#include "train/training.h"

/*
 * Goes through a batch: losses and, in training, gradients are added up. Pieces of up to t->piece_tokens tokens a side
 * are worked off one after the other; they draw the masks that they would draw as one.
 */
tfm_status tfm_batch_run(tfm_training *t, const tfm_dataset *data, const tfm_batches *batches, size_t batch,
                         bool training, tfm_sums *sums, tfm_error *error);

/* Bytes of the arena for any piece within this extent, with the scratch of so many threads. SIZE_MAX: does not fit. */
tfm_status tfm_batch_measure(tfm_training *t, const tfm_extent *extent, bool training, size_t threads, size_t *bytes,
                             tfm_error *error);

#endif
