/* Any bytes as text, and as ids, through a tokenizer of each kind. */
#include "fuzz_texts.h"

static tfm_tokenizer *learn(uint32_t kind)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = kind;
    o.vocab_size = 290;
    o.merges = 20;
    FUZZ_REQUIRE(tfm_tokenizer_learn(&t, &o, fuzz_corpus, FUZZ_CORPUS, NULL) == TFM_OK);
    return t;
}

/* Repaired text is valid, and valid text is repaired to itself. */
static void repair(tfm_text text)
{
    size_t size = 0, again = 0;

    tfm_utf8_repair(NULL, 0, &size, text);
    char *out = malloc(size + 1);
    FUZZ_REQUIRE(out != NULL);
    tfm_utf8_repair(out, size, &again, text);
    FUZZ_REQUIRE(again == size && tfm_utf8_check((tfm_text){out, size}) == SIZE_MAX);
    if (tfm_utf8_check(text) == SIZE_MAX) FUZZ_REQUIRE(size == text.size && (!size || !memcmp(out, text.data, size)));
    free(out);
}

static void segment(const tfm_tokenizer *t, tfm_text text)
{
    size_t size = 0, again = 0;

    FUZZ_REQUIRE(tfm_tokenizer_segment(NULL, 0, &size, t, text, NULL) == TFM_OK);
    char *out = malloc(size + 1);
    FUZZ_REQUIRE(out && tfm_tokenizer_segment(out, size, &again, t, text, NULL) == TFM_OK && again == size);
    free(out);
}

/* Each pair of bytes is an id, some of them outside of the vocabulary. */
static void decode_bytes(const tfm_tokenizer *t, const uint8_t *data, size_t size)
{
    int32_t ids[256];
    size_t n = 0, length;
    tfm_error error = {0};

    for (; n < 256 && 2 * n + 1 < size; n++) ids[n] = (int16_t)(data[2 * n] | data[2 * n + 1] << 8);
    const tfm_status status = tfm_tokenizer_decode(NULL, 0, &length, t, (tfm_ids){ids, n}, &error);
    fuzz_check_error(status, &error);
    for (size_t i = 0; i < n; i++) ids[i] = (int32_t)((uint32_t)ids[i] % tfm_tokenizer_vocab_size(t));
    free((char *)(uintptr_t)fuzz_decode(t, (tfm_ids){ids, n}).data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t learned[] = {TFM_TOKENIZER_BPE, TFM_TOKENIZER_SUBWORD_NMT, TFM_TOKENIZER_WORDPIECE};
    static tfm_tokenizer *kinds[3];
    const tfm_text text = {(const char *)data, size};
    const bool valid = tfm_utf8_check(text) == SIZE_MAX;
    size_t n;

    repair(text);
    for (size_t kind = 0; kind < 3; kind++) {
        if (!kinds[kind]) kinds[kind] = learn(learned[kind]);
        decode_bytes(kinds[kind], data, size);
        if (valid) fuzz_round_trip(kinds[kind], text);
        if (valid) segment(kinds[kind], text);
        else FUZZ_REQUIRE(tfm_tokenizer_encode(NULL, 0, &n, kinds[kind], text, NULL) == TFM_E_FORMAT);
    }
    return 0;
}
