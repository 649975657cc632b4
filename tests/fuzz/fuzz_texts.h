/* Text through a tokenizer, and what must be true of it whatever the text. */
#ifndef TFM_FUZZ_TEXTS_H
#define TFM_FUZZ_TEXTS_H

#include "fuzz.h"

enum { FUZZ_CORPUS = 4 };

static const tfm_text fuzz_corpus[FUZZ_CORPUS] = {
    FUZZ_TEXT("the lower the newer , the wider"),
    FUZZ_TEXT("newer , newer and the lowest"),
    FUZZ_TEXT("<pad> the <unk> <0x41>"),
    FUZZ_TEXT("wider wider \xC3\xA4u\xC3\x9F"
              "erst"),
};

/* The text of ids is valid, and its size the same whether asked for or written. Free data. */
static inline tfm_text fuzz_decode(const tfm_tokenizer *t, tfm_ids ids)
{
    size_t size = 0, again = 0;

    FUZZ_REQUIRE(tfm_tokenizer_decode(NULL, 0, &size, t, ids, NULL) == TFM_OK);
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text && tfm_tokenizer_decode(text, size, &again, t, ids, NULL) == TFM_OK && again == size);
    FUZZ_REQUIRE(tfm_utf8_check((tfm_text){text, size}) == SIZE_MAX);
    return (tfm_text){text, size};
}

/* Valid text: its ids are in the vocabulary, none of them controls, and of the kind bpe they give the text again. A
 * pair does not decode what it encodes. */
static inline void fuzz_round_trip(const tfm_tokenizer *t, tfm_text line)
{
    size_t n = 0, again = 0;
    tfm_special_ids special;

    tfm_tokenizer_special(&special, t);
    FUZZ_REQUIRE(tfm_tokenizer_encode(NULL, 0, &n, t, line, NULL) == TFM_OK);
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    FUZZ_REQUIRE(ids && tfm_tokenizer_encode(ids, n, &again, t, line, NULL) == TFM_OK && again == n);
    for (size_t i = 0; i < n; i++) {
        FUZZ_REQUIRE(ids[i] >= 0 && (uint32_t)ids[i] < tfm_tokenizer_vocab_size(t));
        FUZZ_REQUIRE(ids[i] != special.pad && ids[i] != special.eos && ids[i] != special.bos);
    }
    if (tfm_tokenizer_target(t) == t) {
        const tfm_text back = fuzz_decode(t, (tfm_ids){ids, n});
        if (tfm_tokenizer_kind(t) == TFM_TOKENIZER_BPE)
            FUZZ_REQUIRE(back.size == line.size && (!line.size || !memcmp(back.data, line.data, line.size)));
        free((char *)(uintptr_t)back.data);
    }
    free(ids);
}

#endif
