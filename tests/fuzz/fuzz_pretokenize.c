/* Any bytes as a line, by the rules of any language: words, and text again. The first byte chooses the options. */
#include "fuzz.h"

typedef tfm_status convert_fn(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                              tfm_text line, tfm_error *error);

/* What comes out is valid, and as long whether asked for or written. Free data. */
static tfm_text convert(convert_fn *to, const tfm_pretokenize_options *o, tfm_text line)
{
    size_t size = 0, again = 0;

    FUZZ_REQUIRE(to(NULL, 0, &size, o, line, NULL) == TFM_OK);
    char *text = malloc(size + 1);
    FUZZ_REQUIRE(text && to(text, size, &again, o, line, NULL) == TFM_OK && again == size);
    FUZZ_REQUIRE(tfm_utf8_check((tfm_text){text, size}) == SIZE_MAX);
    return (tfm_text){text, size};
}

/* Words have no white space but single spaces, and nothing that escapes are for. */
static void check_words(tfm_text words)
{
    for (size_t i = 0; i < words.size; i++)
        FUZZ_REQUIRE((unsigned char)words.data[i] >= ' ' && words.data[i] && !strchr("|<>'\"[]", words.data[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    const tfm_text line = {(const char *)data + 1, size - 1};
    tfm_pretokenize_options o;
    tfm_error error = {0};

    tfm_pretokenize_options_init(&o, sizeof o);
    o.language = data[0] % 3;
    o.lowercase = data[0] >> 2 & 1;
    o.normalize = data[0] >> 3 & 1;
    o.split_hyphens = data[0] >> 4 & 1;
    if (tfm_utf8_check(line) != SIZE_MAX) {
        size_t n;
        const tfm_status status = tfm_pretokenize(NULL, 0, &n, &o, line, &error);
        FUZZ_REQUIRE(status == TFM_E_FORMAT);
        fuzz_check_error(status, &error);
        return 0;
    }
    const tfm_text words = convert(tfm_pretokenize, &o, line), back = convert(tfm_detokenize, &o, words);
    check_words(words);
    free((char *)(uintptr_t)words.data);
    free((char *)(uintptr_t)back.data);
    free((char *)(uintptr_t)convert(tfm_detokenize, &o, line).data);
    return 0;
}
