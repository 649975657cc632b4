/*
 * Where time goes. Operations follow one another, and so do the phases of a step, so one reading of the clock ends one
 * piece of work and begins the next. What is counted influences no result.
 */
#ifndef TFM_PROFILE_H
#define TFM_PROFILE_H

#include "base/base.h"

/* The backward of an operation is the number after it. */
typedef enum tfm_work {
    TFM_WORK_NONE,
    TFM_WORK_EMBED,
    TFM_WORK_EMBED_BACKWARD,
    TFM_WORK_LINEAR,
    TFM_WORK_LINEAR_BACKWARD,
    TFM_WORK_ATTENTION,
    TFM_WORK_ATTENTION_BACKWARD,
    TFM_WORK_ADD_NORM,
    TFM_WORK_ADD_NORM_BACKWARD,
    TFM_WORK_LOSS, /* and its gradients */
    TFM_WORK_CHOICE, /* of tokens, from logits */
    TFM_WORK_LAYER, /* of which only input and output are kept: never timed itself */
    TFM_WORK_RECOMPUTATION,
    TFM_WORK_PHASES,
    TFM_WORK_BATCH = TFM_WORK_PHASES,
    TFM_WORK_PLAN,
    TFM_WORK_ZERO,
    TFM_WORK_FORWARD,
    TFM_WORK_BACKWARD,
    TFM_WORK_REDUCE,
    TFM_WORK_NORM,
    TFM_WORK_ADAM,
    TFM_WORK_VALIDATION,
    TFM_WORK_CHECKPOINT,
    TFM_WORK_ENCODER,
    TFM_WORK_STEPS, /* of decoding */
    TFM_WORKS
} tfm_work;

typedef struct tfm_counter {
    uint64_t calls;
    double seconds, flops; /* flops: of matrix products, by the paper's formulas */
} tfm_counter;

typedef struct tfm_profile {
    tfm_counter counters[TFM_WORKS];
    tfm_work operation, phase; /* under way, or TFM_WORK_NONE */
    double operation_began, phase_began;
} tfm_profile;

/* "linear backward", or NULL for what is not reported. Static storage. */
const char *tfm_work_name(tfm_work work);

/* Ends the operation under way and begins another; TFM_WORK_NONE begins none. */
void tfm_profile_operation(tfm_profile *profile, tfm_work work, double flops);
/* The same for phases. */
void tfm_profile_phase(tfm_profile *profile, tfm_work work);

#endif
