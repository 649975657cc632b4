/* The state of a training as the JSON text that a checkpoint carries. */
#ifndef TFM_CHECKPOINT_H
#define TFM_CHECKPOINT_H

#include "train/training.h"

enum { TFM_KEPT_MAX = 1024 }; /* checkpoints that one training looks after */

/* Steps of the checkpoints that exist. */
typedef struct tfm_kept {
    uint64_t steps[TFM_KEPT_MAX]; /* of those in their rhythm, oldest first */
    size_t n;
    uint64_t extra; /* of the one that an end between them wrote, which the next one replaces */
    bool has_extra;
} tfm_kept;

/* Beside the position: what must be the same for a resumed run to be the uninterrupted one, and the files it looks
 * after. */
typedef struct tfm_checkpoint {
    tfm_position_state at;
    uint64_t seed, pairs;
    uint32_t fingerprint, batch_tokens, accumulate, n_ranks, dtype;
    uint32_t piece_tokens; /* whatever memory there is now; 0 in older files: whole batches */
    tfm_kept kept;
} tfm_checkpoint;

tfm_status tfm_checkpoint_to_json(tfm_buffer *out, const tfm_checkpoint *state, tfm_error *error);
tfm_status tfm_checkpoint_from_json(tfm_checkpoint *state, tfm_text json, tfm_error *error);

/* TFM_E_INVALID, naming the first thing that differs. */
tfm_status tfm_checkpoint_compare(const tfm_checkpoint *saved, const tfm_checkpoint *now, tfm_error *error);

#endif
