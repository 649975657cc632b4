/* tfm_trainer_profile: where the time of a training went. */
#include "api/trainer_handle.h"

/* The index-th kind of work that is reported, or TFM_WORKS. */
static tfm_work find_work(size_t index)
{
    for (unsigned work = TFM_WORK_NONE; work < TFM_WORKS; work++)
        if (tfm_work_name((tfm_work)work) && index-- == 0) return (tfm_work)work;
    return TFM_WORKS;
}

size_t tfm_trainer_profile_count(const tfm_trainer *t)
{
    size_t n = 0;

    if (!t) return 0;
    while (find_work(n) != TFM_WORKS) n++;
    return n;
}

tfm_status tfm_trainer_profile_at(const tfm_trainer *t, size_t index, tfm_profile_entry *out, size_t struct_size, tfm_error *error)
{
    const tfm_work work = find_work(index);

    if (!t || !out) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !t ? "trainer" : "out");
    if (work == TFM_WORKS)
        return tfm_fail(error, TFM_E_INVALID, "index is %zu, but a profile has %zu entries", index, tfm_trainer_profile_count(t));
    const tfm_counter *counter = &t->training.profile.counters[work];
    const tfm_profile_entry entry = {
        .struct_size = sizeof entry,
        .kind = work >= TFM_WORK_PHASES ? TFM_PROFILE_PHASE : TFM_PROFILE_OPERATION,
        .name = tfm_work_name(work),
        .calls = counter->calls,
        .seconds = counter->seconds,
        .flops = counter->flops,
    };
    tfm_result_write(out, struct_size, &entry, sizeof entry);
    return TFM_OK;
}
