/* Any bytes as a vocabulary of pieces and ids: refused, or a tokenizer that encodes and decodes with them. */
#include "../spm_file.h"
#include "fuzz_memory.h"
#include "fuzz_texts.h"

static tfm_tokenizer *make(void)
{
    static spm_file f;
    tfm_tokenizer *t;

    spm_small(&f, (spm_form){.model = 1, .bytes = 1});
    FUZZ_REQUIRE(tfm_tokenizer_load(&t, fuzz_file(f.bytes, f.size), NULL, NULL) == TFM_OK);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tfm_text line = FUZZ_TEXT(">>x<< abcab k X");
    static tfm_tokenizer *from;
    tfm_tokenizer *t;
    tfm_error error = {0};

    if (!from) from = make();
    const tfm_allocator allocator = fuzz_allocator();
    const tfm_status status = tfm_tokenizer_renumber(&t, from, fuzz_file(data, size), &allocator, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (t != NULL));
    fuzz_check_peak(size, 0);
    if (t) fuzz_round_trip(t, line);
    for (size_t i = 0; t && i < FUZZ_CORPUS; i++) fuzz_round_trip(t, fuzz_corpus[i]);
    tfm_tokenizer_free(t);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
