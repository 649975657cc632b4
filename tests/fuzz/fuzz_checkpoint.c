/* Any bytes as a checkpoint: refused, or a training that goes on. */
#include "fuzz_memory.h"
#include "fuzz_pairs.h"

static void go_on(tfm_trainer *trainer)
{
    tfm_data_report report;
    tfm_progress progress;
    tfm_error error = {0};

    tfm_status status =
        tfm_trainer_set_data_ids(trainer, fuzz_sources, fuzz_targets, FUZZ_PAIRS, &report, sizeof report, &error);
    fuzz_check_error(status, &error);
    for (int i = 0; status == TFM_OK && i < 2; i++) {
        status = tfm_trainer_step(trainer, &progress, sizeof progress, &error);
        fuzz_check_error(status, &error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tfm_allocator allocator = fuzz_allocator();
    tfm_trainer_options o = fuzz_trainer_options();
    tfm_trainer *trainer;
    tfm_error error = {0};

    o.allocator = &allocator;
    const tfm_status status = tfm_trainer_resume(&trainer, fuzz_file(data, size), &o, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (trainer != NULL));
    fuzz_check_peak(size, 2 << 20);
    if (trainer) go_on(trainer);
    tfm_trainer_free(trainer);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
