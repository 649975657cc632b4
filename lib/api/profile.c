/* tfm_trainer_profile, tfm_decoder_profile: where time went. */
#include "api/decoder_handle.h"
#include "api/trainer_handle.h"

/* The index-th kind of work that is reported, or TFM_WORKS. */
static tfm_work find_work(size_t index)
{
    for (unsigned work = TFM_WORK_NONE; work < TFM_WORKS; work++)
        if (tfm_work_name((tfm_work)work) && index-- == 0) return (tfm_work)work;
    return TFM_WORKS;
}

static size_t count_works(void)
{
    size_t n = 0;

    while (find_work(n) != TFM_WORKS) n++;
    return n;
}

static tfm_status entry_at(const tfm_profile *profile, size_t index, tfm_profile_entry *out, size_t struct_size,
                           tfm_error *error)
{
    const tfm_work work = find_work(index);

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    if (work == TFM_WORKS)
        return tfm_fail(error, TFM_E_INVALID, "index is %zu, but a profile has %zu entries", index, count_works());
    const tfm_counter *counter = &profile->counters[work];
    const tfm_profile_entry entry = {
        .kind = work >= TFM_WORK_PHASES ? TFM_PROFILE_PHASE : TFM_PROFILE_OPERATION,
        .name = tfm_work_name(work),
        .calls = counter->calls,
        .seconds = counter->seconds,
        .flops = counter->flops,
    };
    tfm_result_write(out, struct_size, &entry, sizeof entry);
    return TFM_OK;
}

size_t tfm_trainer_profile_count(const tfm_trainer *trainer)
{
    return trainer ? count_works() : 0;
}

tfm_status tfm_trainer_profile_at(tfm_profile_entry *out, size_t struct_size, const tfm_trainer *trainer, size_t index,
                                  tfm_error *error)
{
    if (!trainer) return tfm_fail(error, TFM_E_INVALID, "trainer is NULL");
    return entry_at(&trainer->training.profile, index, out, struct_size, error);
}

size_t tfm_decoder_profile_count(const tfm_decoder *decoder)
{
    return decoder ? count_works() : 0;
}

tfm_status tfm_decoder_profile_at(tfm_profile_entry *out, size_t struct_size, const tfm_decoder *decoder, size_t index,
                                  tfm_error *error)
{
    if (!decoder) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    return entry_at(tfm_search_profile(decoder->search), index, out, struct_size, error);
}
