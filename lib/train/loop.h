/* Training to the end: limits, validation, early stopping, checkpoints, progress. */
#ifndef TFM_LOOP_H
#define TFM_LOOP_H

#include "train/checkpoint.h"

#include <limits.h>

/* What the loop needs from above: BLEU needs the decoder, a checkpoint the tokenizer. */
typedef struct tfm_loop_hooks {
    tfm_status (*bleu)(void *user, double *bleu, tfm_error *error);
    tfm_status (*save)(void *user, const char *path, tfm_error *error);
    void *user;
} tfm_loop_hooks;

enum { TFM_RATE_WINDOW = 32 };

typedef struct tfm_loop {
    tfm_training *training;
    tfm_loop_hooks hooks;
    tfm_kept *kept;
    double began, saved;   /* seconds on the monotonic clock, as if loops followed one another at once */
    double spent;          /* seconds in the trainer's earlier loops                                   */
    uint64_t first_step;   /* of this loop                                                             */
    double times[TFM_RATE_WINDOW], tokens[TFM_RATE_WINDOW]; /* of the latest steps */
    tfm_progress progress;
    uint64_t saved_step, valid_step; /* UINT64_MAX: not yet */
    char message[160], path[PATH_MAX];
} tfm_loop;

/* TFM_E_INVALID: too long for the checkpoint of any step. */
tfm_status tfm_loop_check_path(const char *base, tfm_error *error);
/* Whether path is the checkpoint of that step which a training with that checkpoint_path, which may be NULL, wrote. */
bool tfm_loop_wrote(const char *base, uint64_t step, const char *path);
/* *loop: zeros, or the trainer's last one, whose time counts. */
void tfm_loop_begin(tfm_loop *loop, tfm_training *training, const tfm_loop_hooks *hooks, tfm_kept *kept);
/* One update, and what it was in loop->progress. */
tfm_status tfm_loop_step(tfm_loop *loop, bool *epoch_done, tfm_error *error);
tfm_status tfm_loop_run(tfm_loop *loop, tfm_error *error);

#endif
