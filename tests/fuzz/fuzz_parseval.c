/* Any bytes as rules, parses and gold trees of PARSEVAL: the rules end at the first empty line, trees follow in pairs.
 */
#include "fuzz.h"

enum { MOST_LINES = 8 };

static void check(const tfm_parseval_result *r, const tfm_parseval_row *rows, size_t n)
{
    for (int part = 0; part < 2; part++) {
        FUZZ_REQUIRE(r->f1[part] >= 0 && r->f1[part] <= 100.0001 && r->tagging[part] >= 0 && r->tagging[part] <= 100);
        FUZZ_REQUIRE(r->errors[part] + r->skipped[part] <= r->sentences[part]);
    }
    FUZZ_REQUIRE(r->sentences[0] == n && r->sentences[1] <= n && memchr(r->signature, '\0', sizeof r->signature));
    for (size_t i = 0; i < n; i++) {
        const tfm_parseval_row *row = &rows[i];
        FUZZ_REQUIRE(row->matched <= row->gold && row->matched <= row->test && row->crossing <= row->test &&
                     row->tags <= row->words);
        FUZZ_REQUIRE(row->status == TFM_PARSEVAL_VALID || !(row->gold | row->test | row->words | row->crossing));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    tfm_text rest = {text, size}, parses[MOST_LINES], gold[MOST_LINES];
    tfm_parseval_row rows[MOST_LINES];
    tfm_parseval_options o;
    tfm_parseval_result r;
    tfm_error error = {0};
    size_t n = 0;

    FUZZ_REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    char *const empty = memmem(text, size, "\n\n", 2);
    if (empty) {
        *empty = '\0';
        rest = (tfm_text){empty + 2, size - (size_t)(empty + 2 - text)};
    }
    for (; n < MOST_LINES && rest.size; n++) {
        gold[n] = fuzz_line(&rest);
        parses[n] = fuzz_line(&rest);
    }
    tfm_parseval_options_init(&o, sizeof o);
    o.parameters = empty ? text : NULL;
    const tfm_status status = tfm_parseval(&r, sizeof r, rows, parses, gold, n, &o, &error);
    fuzz_check_error(status, &error);
    if (status == TFM_OK) check(&r, rows, n);
    free(text);
    return 0;
}
