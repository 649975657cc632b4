/* Any bytes as hypotheses and references of BLEU. The first three bytes are its options. */
#include "fuzz.h"

enum { MOST_LINES = 16 };

static void check_result(const tfm_bleu_result *r)
{
    FUZZ_REQUIRE(r->score >= 0 && r->score <= 100.0001 && r->brevity >= 0 && r->brevity <= 1);
    for (int i = 0; i < 8; i++) {
        FUZZ_REQUIRE(r->matches[i] <= r->totals[i] && r->totals[i] <= r->hyp_length);
        FUZZ_REQUIRE(r->precisions[i] >= 0);
    }
    FUZZ_REQUIRE(memchr(r->signature, '\0', sizeof r->signature));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tfm_text hyps[MOST_LINES], refs[2][MOST_LINES], rest = {(const char *)data + 3, size - 3};
    const tfm_text *const both[] = {refs[0], refs[1]};
    tfm_bleu_result result;
    tfm_bleu_options o;
    tfm_error error = {0};
    size_t n = 0;

    if (size < 3) return 0;
    for (; n < MOST_LINES && rest.size; n++) {
        hyps[n] = fuzz_line(&rest);
        refs[0][n] = fuzz_line(&rest);
        refs[1][n] = data[2] & 1 ? fuzz_line(&rest) : hyps[n];
    }
    tfm_bleu_options_init(&o, sizeof o);
    o.tokenize = data[0] & 7;
    o.smooth = data[0] >> 3 & 7;
    o.lowercase = data[0] >> 6 & 1;
    o.compound_split = data[0] >> 7;
    o.max_order = data[1] & 15;
    o.effective_order = data[1] >> 4 & 1;
    const tfm_status status = tfm_bleu(&result, sizeof result, hyps, n, both, 1 + (data[2] >> 1 & 1), &o, &error);
    fuzz_check_error(status, &error);
    if (status == TFM_OK) check_result(&result);
    return 0;
}
