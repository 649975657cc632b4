/* The state of a training and one update of it: gradients of the batches, Adam, the schedule. */
#ifndef TFM_TRAINING_H
#define TFM_TRAINING_H

#include "model/forward.h"
#include "train/packed.h"

/* Where a training stands: what a checkpoint keeps beside weights and moments. */
typedef struct tfm_position_state {
    uint64_t step;   /* updates done                              */
    uint64_t epoch;  /* passes finished                           */
    uint64_t update; /* updates of the present epoch that are done */
    double best;     /* criterion of early stopping; NaN: none yet */
    uint64_t stale;  /* validations since it was reached           */
    uint64_t skipped;        /* steps without a finite gradient    */
    uint64_t skipped_in_row; /* the latest steps among them        */
} tfm_position_state;

typedef struct tfm_training {
    tfm_allocator allocator;
    const tfm_trainer_options *options; /* checked; owned by the handle */
    tfm_pool *pool;
    tfm_run run;
    tfm_weights weights;
    float *block; /* weights, gradients, m, v: weights.size floats each */
    float *w, *g, *m, *v;
    float *position;
    size_t position_rows;
    tfm_transformer transformer;
    tfm_dataset data, valid;
    tfm_batches batches, valid_batches;
    uint64_t filled_epoch; /* the epoch that batches holds, or UINT64_MAX */
    tfm_packed packed;
    uint32_t piece_tokens; /* a batch is worked off in pieces of this size */
    size_t need;           /* bytes of all that with these data */
    double *partial; /* of the gradient norm */
    size_t n_partial;
    tfm_position_state at;
    tfm_profile profile;
} tfm_training;

/* What an update, or a pass over the validation data, found: sums over tokens. */
typedef struct tfm_sums {
    double loss, nll, source_tokens, target_tokens;
} tfm_sums;

typedef struct tfm_update {
    tfm_sums sums; /* over all ranks */
    double rate, norm;
    bool epoch_done;
    bool skipped; /* for want of a finite loss and gradient */
} tfm_update;

/* data: weights->options' parameters, copied; TFM_E_INVALID when one is not finite. */
tfm_status tfm_training_create(tfm_training *t, const tfm_model_options *model, const float *data,
                               const tfm_trainer_options *options, const tfm_allocator *allocator, tfm_error *error);
void tfm_training_destroy(tfm_training *t);

/* After data was filled: plans its batches, in pieces of piece_tokens or, 0, those that memory allows. Likewise for
 * valid. */
tfm_status tfm_training_set_data(tfm_training *t, tfm_dataset *data, uint32_t piece_tokens, tfm_error *error);
tfm_status tfm_training_set_valid(tfm_training *t, tfm_dataset *valid, tfm_error *error);

/* Updates in an epoch: of these batches, and of the present one. */
uint64_t tfm_training_updates_of(const tfm_training *t, const tfm_batches *batches);
uint64_t tfm_training_updates(const tfm_training *t);

/*
 * One update. Without a finite loss and gradient weights and moments stay, and the position moves on (a skipped step),
 * but for the last of options->max_skipped in a row, which fails. On failure weights, moments and position are
 * unchanged.
 */
tfm_status tfm_training_step(tfm_training *t, tfm_update *update, tfm_error *error);
/* Mean loss of the validation data, without smoothing or dropout. */
tfm_status tfm_training_validate(tfm_training *t, tfm_sums *sums, tfm_error *error);

#endif
