/* Any bytes as a vocabulary of subword-nmt: refused, or a tokenizer that encodes and decodes. */
#include "fuzz_memory.h"
#include "fuzz_texts.h"

static tfm_tokenizer *learn(void)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = TFM_TOKENIZER_SUBWORD_NMT;
    o.merges = 20;
    FUZZ_REQUIRE(tfm_tokenizer_learn(&t, &o, fuzz_corpus, FUZZ_CORPUS, NULL) == TFM_OK);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tfm_tokenizer *from;
    const tfm_allocator allocator = fuzz_allocator();
    static const tfm_text glossary = FUZZ_TEXT("owe");
    tfm_tokenizer *t;
    tfm_error error = {0};

    if (!from) from = learn();
    const tfm_status status = tfm_tokenizer_restrict(&t, from, fuzz_file(data, size), 2, &glossary, 1, &allocator,
                                                     &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (t != NULL));
    for (size_t i = 0; t && i < FUZZ_CORPUS; i++) fuzz_round_trip(t, fuzz_corpus[i]);
    tfm_tokenizer_free(t);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
