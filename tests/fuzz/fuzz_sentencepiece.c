/* Any bytes as a model file of SentencePiece: refused, or a tokenizer that cuts text, in the best ways too, and joins
 * it. */
#include "fuzz_memory.h"
#include "fuzz_texts.h"

/* All that it may turn text into is valid text, whatever the text was. */
static void normalize(const tfm_tokenizer *t, tfm_text line)
{
    size_t size = 0, again = 0;

    FUZZ_REQUIRE(tfm_tokenizer_normalize(NULL, 0, &size, t, line, NULL) == TFM_OK);
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text && tfm_tokenizer_normalize(text, size, &again, t, line, NULL) == TFM_OK && again == size);
    FUZZ_REQUIRE(tfm_utf8_check((tfm_text){text, size}) == SIZE_MAX);
    free(text);
}

static void find_ways(const tfm_tokenizer *t, tfm_text line)
{
    size_t n = 8, ends[8], n_ids;
    float scores[8];
    tfm_error error = {0};

    const tfm_status status = tfm_tokenizer_nbest(NULL, 0, &n_ids, ends, scores, &n, t, line, &error);
    FUZZ_REQUIRE(status == TFM_OK || status == TFM_E_UNSUPPORTED);
    fuzz_check_error(status, &error);
    if (status != TFM_OK) return;
    FUZZ_REQUIRE(n && n <= 8 && ends[n - 1] == n_ids);
    for (size_t i = 1; i < n; i++) FUZZ_REQUIRE(ends[i - 1] <= ends[i]);
}

/* Every id by itself and all in a row. */
static void decode_all(const tfm_tokenizer *t)
{
    const uint32_t n = tfm_tokenizer_vocab_size(t);
    int32_t *ids = malloc(n * sizeof *ids);

    FUZZ_REQUIRE(ids != NULL);
    for (uint32_t i = 0; i < n; i++) ids[i] = (int32_t)i;
    free((char *)(uintptr_t)fuzz_decode(t, (tfm_ids){ids, n}).data);
    for (uint32_t i = 0; i < n && i < 8; i++) free((char *)(uintptr_t)fuzz_decode(t, (tfm_ids){ids + i, 1}).data);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tfm_text lines[] = {FUZZ_TEXT("abQ <2de>cab"), FUZZ_TEXT("\xE2\x80\xA8 a\0b\xC2\x85 "), FUZZ_TEXT("")};
    const tfm_allocator allocator = fuzz_allocator();
    tfm_tokenizer *t;
    tfm_error error = {0};

    const tfm_status status = tfm_tokenizer_load(&t, fuzz_file(data, size), &allocator, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (t != NULL));
    fuzz_check_peak(size, 0);
    if (t && tfm_tokenizer_kind(t) == TFM_TOKENIZER_SENTENCEPIECE) {
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            fuzz_round_trip(t, lines[i]);
            normalize(t, lines[i]);
            find_ways(t, lines[i]);
        }
        normalize(t, (tfm_text){(const char *)data, size < 64 ? size : 64});
        for (size_t i = 0; i < FUZZ_CORPUS; i++) fuzz_round_trip(t, fuzz_corpus[i]);
        decode_all(t);
    }
    tfm_tokenizer_free(t);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
