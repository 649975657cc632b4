/* Counts calls, seconds and floating point operations of each kind of work. */
#include "autograd/profile.h"
#include "base/clock.h"

const char *tfm_work_name(tfm_work work)
{
    static const char *const names[TFM_WORKS] = {
        [TFM_WORK_EMBED] = "embed",
        [TFM_WORK_EMBED_BACKWARD] = "embed backward",
        [TFM_WORK_LINEAR] = "linear",
        [TFM_WORK_LINEAR_BACKWARD] = "linear backward",
        [TFM_WORK_ATTENTION] = "attention",
        [TFM_WORK_ATTENTION_BACKWARD] = "attention backward",
        [TFM_WORK_ADD_NORM] = "add and norm",
        [TFM_WORK_ADD_NORM_BACKWARD] = "add and norm backward",
        [TFM_WORK_LOSS] = "loss",
        [TFM_WORK_CHOICE] = "choice",
        [TFM_WORK_RECOMPUTATION] = "recomputation",
        [TFM_WORK_BATCH] = "batch",
        [TFM_WORK_PLAN] = "plan",
        [TFM_WORK_ZERO] = "zero gradients",
        [TFM_WORK_FORWARD] = "forward",
        [TFM_WORK_BACKWARD] = "backward",
        [TFM_WORK_REDUCE] = "sum over ranks",
        [TFM_WORK_NORM] = "gradient norm",
        [TFM_WORK_ADAM] = "Adam",
        [TFM_WORK_VALIDATION] = "validation",
        [TFM_WORK_CHECKPOINT] = "checkpoint",
        [TFM_WORK_ENCODER] = "encoder",
        [TFM_WORK_STEPS] = "decoder steps",
    };

    return work < TFM_WORKS ? names[work] : NULL;
}

static void change(tfm_counter *counters, tfm_work *current, double *began, tfm_work work)
{
    const double now = tfm_now();

    if (*current != TFM_WORK_NONE) counters[*current].seconds += now - *began;
    if (work != TFM_WORK_NONE) counters[work].calls++;
    *current = work;
    *began = now;
}

void tfm_profile_operation(tfm_profile *p, tfm_work work, double flops)
{
    change(p->counters, &p->operation, &p->operation_began, work);
    p->counters[work].flops += flops;
}

void tfm_profile_phase(tfm_profile *p, tfm_work work)
{
    change(p->counters, &p->phase, &p->phase_began, work);
}
