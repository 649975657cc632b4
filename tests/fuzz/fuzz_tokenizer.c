/* Any bytes as a tokenizer file: refused, or a tokenizer that encodes and decodes. */
#include "fuzz_memory.h"
#include "fuzz_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tfm_allocator allocator = fuzz_allocator();
    tfm_tokenizer *t;
    tfm_error error = {0};

    const tfm_status status = tfm_tokenizer_load(&t, fuzz_file(data, size), &allocator, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (t != NULL));
    fuzz_check_peak(size, 0);
    for (size_t i = 0; t && i < FUZZ_CORPUS; i++) {
        fuzz_round_trip(t, fuzz_corpus[i]);
        fuzz_round_trip(tfm_tokenizer_target(t), fuzz_corpus[i]);
    }
    tfm_tokenizer_free(t);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
