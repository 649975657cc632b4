/* What is behind tfm_trainer. */
#ifndef TFM_TRAINER_HANDLE_H
#define TFM_TRAINER_HANDLE_H

#include "api/encode_lines.h"
#include "api/model_handle.h"
#include "train/loop.h"

/* Text of pairs, valid UTF-8: source, target, source, ... end to end. */
typedef struct tfm_texts {
    tfm_buffer bytes;
    size_t *size, capacity; /* bytes of each text */
    size_t n;               /* pairs              */
} tfm_texts;

void tfm_texts_free(tfm_texts *texts, const tfm_allocator *a);

struct tfm_trainer {
    tfm_allocator allocator;
    tfm_trainer_options options;
    char *path; /* of checkpoints, owned */
    size_t path_size;
    tfm_tokenizer *tokenizer;
    tfm_training training;
    uint32_t fingerprint; /* of training.data */
    bool is_resumed;
    tfm_checkpoint resumed; /* what the checkpoint said */
    tfm_kept kept;
    tfm_loop loop;
    bool stepping; /* loop was begun by tfm_trainer_step() */
    tfm_encoded sources, targets; /* while data is set */
    tfm_texts valid;              /* for BLEU */
    tfm_texts train;              /* to be cut anew for each epoch, with dropout of merges */
};

/* What a checkpoint of this moment would say of these data. */
void tfm_trainer_describe(const tfm_trainer *t, const tfm_dataset *data, tfm_checkpoint *state);
/* The most tokens a side may have: most, or fewer where positions are learned. */
size_t tfm_trainer_length(const tfm_trainer *t, size_t most);
/* Encodes both sides into t->sources and t->targets. */
tfm_status tfm_trainer_encode(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, size_t n,
                              tfm_error *error);
/* Appends the pairs that are neither blank nor too long, and counts. */
tfm_status tfm_trainer_add_pairs(const tfm_trainer *t, tfm_dataset *data, const tfm_ids *sources,
                                 const tfm_ids *targets, size_t n, size_t longest, tfm_data_report *report,
                                 tfm_error *error);
/* Appends the text of the pairs encoded in t->sources and t->targets that tfm_trainer_add_pairs() takes. */
tfm_status tfm_trainer_keep_text(const tfm_trainer *t, tfm_texts *texts, const tfm_text *sources,
                                 const tfm_text *targets, size_t n, size_t longest, tfm_error *error);
/* Whether options ask for dropout of merges. */
bool tfm_trainer_drops_merges(const tfm_trainer *t);
/* Lets data be drawn for each epoch from t->train, which has its text. */
tfm_status tfm_trainer_drop_merges(tfm_trainer *t, tfm_dataset *data, tfm_error *error);
/* Percent BLEU of the validation data (tokenize none), beam 4, alpha 0.6. user is the trainer. */
tfm_status tfm_trainer_bleu(void *user, double *bleu, tfm_error *error);

#endif
