/* Any bytes as text to learn a tokenizer from. The first two bytes are its options. */
#include "fuzz_texts.h"

enum { MOST_LINES = 32 };

static const uint32_t kinds[] = {TFM_TOKENIZER_BPE, TFM_TOKENIZER_SUBWORD_NMT, TFM_TOKENIZER_WORDPIECE};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tfm_text lines[MOST_LINES], rest = {(const char *)data + 2, size - 2};
    tfm_tokenizer_options o;
    tfm_tokenizer *t;
    tfm_error error = {0};
    size_t n = 0;

    if (size < 2) return 0;
    while (n < MOST_LINES && rest.size) lines[n++] = fuzz_line(&rest);
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = kinds[data[0] & 1 ? 1 : data[0] >> 6 & 2];
    o.replace_invalid = data[0] >> 1 & 1;
    o.strict_size = data[0] >> 2 & 1;
    o.min_frequency = 1 + (data[0] >> 3 & 3);
    o.merges = data[1];
    o.vocab_size = 260 + data[1];
    const tfm_status status = tfm_tokenizer_learn(&t, &o, lines, n, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (t != NULL));
    for (size_t i = 0; t && i < n; i++)
        if (tfm_utf8_check(lines[i]) == SIZE_MAX) fuzz_round_trip(t, lines[i]);
    tfm_tokenizer_free(t);
    return 0;
}
