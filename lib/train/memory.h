/* How much memory a training takes, and how small the pieces must be that a batch is worked off in. */
#ifndef TFM_MEMORY_H
#define TFM_MEMORY_H

#include "train/training.h"

/*
 * Bytes of a training that works on data in pieces of up to so many tokens a side while it holds the other data too;
 * SIZE_MAX: does not fit. A function of model, options and data: scratch is counted for a fixed number of threads.
 */
tfm_status tfm_memory_need(tfm_training *t, const tfm_dataset *data, const tfm_dataset *other, size_t tokens,
                           bool training, size_t *bytes, tfm_error *error);

/*
 * The largest pieces that stay within options->memory, all of a size: batch_tokens, or a half, a third, ... of it; no
 * limit: whole batches. TFM_E_INVALID, naming need and limit, when not even single pairs fit.
 */
tfm_status tfm_memory_choose(tfm_training *t, const tfm_dataset *data, uint32_t *piece_tokens, tfm_error *error);

#endif
