/* Any bytes as hypotheses and references of chrF and TER, and as two systems that are compared. The first three bytes
 * are options. */
#include "fuzz.h"

enum { MOST_LINES = 12 };

typedef struct input {
    tfm_text hyps[MOST_LINES], refs[2][MOST_LINES];
    size_t n, n_refs;
} input;

static void read_lines(input *in, const uint8_t *data, size_t size)
{
    tfm_text rest = {(const char *)data, size};

    for (in->n = 0; in->n < MOST_LINES && rest.size; in->n++) {
        in->hyps[in->n] = fuzz_line(&rest);
        in->refs[0][in->n] = fuzz_line(&rest);
        in->refs[1][in->n] = in->n_refs > 1 ? fuzz_line(&rest) : in->hyps[in->n];
    }
}

static void check(tfm_status status, const tfm_error *error, double score, double most, const char *signature)
{
    fuzz_check_error(status, error);
    if (status != TFM_OK) return;
    FUZZ_REQUIRE(score >= 0 && score <= most);
    FUZZ_REQUIRE(memchr(signature, '\0', 160));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {.n_refs = size > 2 ? 1 + (data[2] & 1) : 1};
    const tfm_text *const both[] = {in.refs[0], in.refs[1]};
    tfm_metric_result r = {0};
    tfm_comparison c = {0};
    tfm_chrf_options chrf;
    tfm_ter_options ter;
    tfm_error error = {0};

    if (size < 3) return 0;
    read_lines(&in, data + 3, size - 3);
    tfm_chrf_options_init(&chrf, sizeof chrf);
    chrf.char_order = data[0] & 15;
    chrf.word_order = data[0] >> 4 & 7;
    chrf.whitespace = data[0] >> 7;
    chrf.lowercase = data[1] & 1;
    chrf.eps_smoothing = data[1] >> 1 & 1;
    check(tfm_chrf(&r, sizeof r, in.hyps, in.n, both, in.n_refs, &chrf, &error), &error, r.score, 100.0001,
          r.signature);
    tfm_ter_options_init(&ter, sizeof ter);
    ter.case_sensitive = data[1] >> 2 & 1;
    ter.normalized = data[1] >> 3 & 1;
    ter.no_punctuation = data[1] >> 4 & 1;
    ter.asian_support = data[1] >> 5 & 1;
    check(tfm_ter(&r, sizeof r, in.hyps, in.n, both, in.n_refs, &ter, &error), &error, r.score, 1e9, r.signature);
    const void *const options[] = {NULL, &chrf, &ter, NULL};
    const uint32_t metric = data[1] >> 6;
    const tfm_status status = tfm_compare(&c, sizeof c, in.hyps, in.refs[1], in.n, both, 1, metric, options[metric],
                                          data[2] >> 1, data[0], &error);
    check(status, &error, c.score[1], 1e9, c.signature);
    if (status == TFM_OK) FUZZ_REQUIRE(c.p_value > 0 && c.p_value <= 1 && c.interval[0] >= 0);
    return 0;
}
