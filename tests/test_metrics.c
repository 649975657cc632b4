/* chrF, TER and comparisons: values by hand, a search over all shifts, options, memory. sacreBLEU's figures:
 * data_metrics.c. */
#include "metric_oracle.h"

#include "eval/edit_distance.h"

static tfm_text text(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

static double chrf(const char *hyp, const char *ref, const tfm_chrf_options *options)
{
    const tfm_text h = text(hyp), r = text(ref), *refs[] = {&r};
    tfm_metric_result result;
    tfm_error error;

    ck_assert_ok(tfm_chrf(&result, sizeof result, &h, 1, refs, 1, options, &error), error);
    return result.score;
}

static double ter(const char *hyp, const char *ref, const tfm_ter_options *options)
{
    const tfm_text h = text(hyp), r = text(ref), *refs[] = {&r};
    tfm_metric_result result;
    tfm_error error;

    ck_assert_ok(tfm_ter(&result, sizeof result, &h, 1, refs, 1, options, &error), error);
    return result.score;
}

static tfm_chrf_options chrf_defaults(void)
{
    tfm_chrf_options o;

    tfm_chrf_options_init(&o, sizeof o);
    return o;
}

/* "ab" and "ac": one of two characters, none of one pair; orders beyond 2 have no n-grams. */
START_TEST(chrf_by_hand)
{
    tfm_chrf_options o = chrf_defaults();

    ck_assert_double_eq_tol(chrf("ab", "ac", NULL), 25, 1e-9);
    o.char_order = 1;
    ck_assert_double_eq_tol(chrf("ab", "abcd", &o), 100 * 5 * 1 * 0.5 / (4 * 1 + 0.5), 1e-9);
    o.beta = 1;
    ck_assert_double_eq_tol(chrf("ab", "abcd", &o), 100 * 2 * 0.5 / 1.5, 1e-6);
    ck_assert_double_eq_tol(chrf("a b", "ab", &o), 100, 1e-9);
    o.whitespace = 1;
    ck_assert_double_eq_tol(chrf("a b", "ab", &o), 80, 1e-6);
    ck_assert_double_eq_tol(chrf("AB", "ab", &o), 0, 1e-9);
    o.lowercase = 1;
    ck_assert_double_eq_tol(chrf("AB", "ab", &o), 100, 1e-9);
    ck_assert_double_eq_tol(chrf("aaa", "a", &o), 100 * 2 * (1.0 / 3) / (1 + 1.0 / 3), 1e-6); /* a match counts once */
    ck_assert_double_eq(chrf("", "ab", NULL), 0);
    ck_assert_double_eq(chrf("", "", NULL), 0);
}
END_TEST

/* Figures are comparable where signatures are equal: a number in one has the decimals that tell it from another. */
START_TEST(signatures_tell_numbers_apart)
{
    static const struct {
        float beta;
        const char *says;
    } cases[] = {{2.0f, "|space:no|version"},   {1.0f, "|beta:1.00|"},         {0.1f, "|beta:0.10|"},
                 {2.004f, "|beta:2.004|"},      {1.99999f, "|beta:1.99999|"},  {1000.0f, "|beta:1000.00|"},
                 {1e-12f, "|beta:0.000000000|"}, {1.0f / 3, "|beta:0.33333334|"}};
    const tfm_text a = text("a"), *refs[] = {&a};
    tfm_chrf_options o = chrf_defaults();
    tfm_metric_result r;
    tfm_error error;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        o.beta = cases[i].beta;
        ck_assert_ok(tfm_chrf(&r, sizeof r, &a, 1, refs, 1, &o, &error), error);
        ck_assert_msg(strstr(r.signature, cases[i].says) != NULL, "%s", r.signature);
    }
}
END_TEST

/* Words of chrF++ leave punctuation at their end, else at their beginning; "." remains. */
START_TEST(words_of_chrf)
{
    tfm_chrf_options o = chrf_defaults();

    o.char_order = 1;
    o.word_order = 1;
    o.beta = 1;
    ck_assert_double_eq_tol(chrf("x!", "x !", &o), 100, 1e-9);
    ck_assert_double_eq_tol(chrf("\"x", "\" x", &o), 100, 1e-9);
    ck_assert_double_lt(chrf("(x)", "( x )", &o), 100); /* "(x" and ")": only one end is cut */
    ck_assert_double_eq_tol(chrf(".", ". ", &o), 100, 1e-9);
    ck_assert_double_eq_tol(chrf("\xC3\xA4!", "\xC3\xA4 !", &o), 100, 1e-9);
    ck_assert_double_eq_tol(chrf("\xFF!", "\xFF !", &o), 100, 1e-9);
}
END_TEST

START_TEST(several_references)
{
    const tfm_text hyps[] = {text("a b c d"), text("x y")}, one[] = {text("a b c e"), text("x y")},
                   other[] = {text("a b c d e f g h"), text("")};
    const tfm_text *refs[] = {one, other};
    tfm_metric_result r;
    tfm_error error;

    ck_assert_ok(tfm_ter(&r, sizeof r, hyps, 2, refs, 2, NULL, &error), error);
    ck_assert_double_eq_tol(r.score, 100 * 1 / (6.0 + 2),
                            1e-9); /* one edit; lengths (4 + 8) / 2 and 2, the empty one being missing */
    ck_assert_ptr_nonnull(strstr(r.signature, "nrefs:var|"));
    ck_assert_ok(tfm_chrf(&r, sizeof r, hyps, 2, refs, 2, NULL, &error), error);
    const double both = r.score;
    ck_assert_ok(tfm_chrf(&r, sizeof r, hyps, 2, refs, 1, NULL, &error), error);
    ck_assert_double_eq_tol(both, r.score, 1e-9); /* the first judges the first hypothesis better */
    ck_assert_ptr_nonnull(strstr(r.signature, "nrefs:1|"));
}
END_TEST

/* Lines of up to 24 of a few words, with punctuation; every seventh reference but the first is missing. */
static tfm_text random_line(unsigned *state, bool may_lack)
{
    static const char *const words[] = {"a", "b", "c", "dd", "ee", "f,", "(g)", "h\xC3\xA4", "i", "."};
    char *line = calloc(1, 160);
    unsigned n = (*state = *state * 1103515245 + 12345) >> 16;

    if (may_lack && n % 7 == 0) n = 0;
    else n = n % 24 + 1;
    for (size_t size = 0; n > 0; n--)
        size += (size_t)snprintf(line + size, 160 - size, "%s%s",
                                 words[((*state = *state * 1103515245 + 12345) >> 16) % 10], n > 1 ? " " : "");
    return text(line);
}

/* Corpora and their sentences, with one to three references. */
START_TEST(any_references_as_the_oracle_judges_them)
{
    enum { N = 40 };
    tfm_text hyps[N], columns[3][N];
    unsigned state = 5;

    for (size_t i = 0; i < N; i++) {
        hyps[i] = random_line(&state, false);
        for (size_t k = 0; k < 3; k++) columns[k][i] = random_line(&state, k > 0);
    }
    for (size_t n_refs = 1; n_refs <= 3; n_refs++)
        for (size_t first = 0, n = N; first < N; first++, n = 1) {
            const tfm_text *refs[] = {columns[0] + first, columns[1] + first, columns[2] + first};
            oracle_check(hyps + first, n, refs, n_refs);
        }
    for (size_t i = 0; i < N; i++) {
        free((char *)hyps[i].data);
        for (size_t k = 0; k < 3; k++) free((char *)columns[k][i].data);
    }
}
END_TEST

START_TEST(ter_by_hand)
{
    ck_assert_double_eq(ter("a b c d", "a b c d", NULL), 0);
    ck_assert_double_eq_tol(ter("a b c", "a b c d", NULL), 25, 1e-9);
    ck_assert_double_eq_tol(ter("a x c d", "a b c d", NULL), 25, 1e-9);
    ck_assert_double_eq_tol(ter("c d a b", "a b c d", NULL), 25, 1e-9); /* one shift */
    ck_assert_double_eq_tol(ter("d e f g h a b c", "a b c d e f g h", NULL), 12.5, 1e-9);
    ck_assert_double_eq_tol(ter("", "a b", NULL), 100, 1e-9);
    ck_assert_double_eq_tol(ter("a b", "", NULL), 100, 1e-9);
    ck_assert_double_eq(ter("", "", NULL), 0);
    ck_assert_double_eq(ter("A", "a", NULL), 0);
    const tfm_ter_options normalized = {.struct_size = sizeof normalized, .normalized = 1};
    ck_assert_double_eq(ter("that is it's\t", "that is it 's", &normalized), 0); /* white space at the end is none */
    ck_assert_double_eq(ter("that is it's\xC2\xA0", "that is it 's\r", &normalized), 0);
    ck_assert_double_eq_tol(
        ter("A", "a", &(tfm_ter_options){.struct_size = sizeof(tfm_ter_options), .case_sensitive = 1}), 100, 1e-9);
}
END_TEST

/* The whole matrix, without a band. */
static size_t levenshtein(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    size_t *row = malloc((m + 1) * sizeof *row);

    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t above = row[j];
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    const size_t distance = row[m];
    free(row);
    return distance;
}

/* Random sequences of all pairs of lengths up to 40, whose band holds the whole matrix, with rows kept from hypothesis
 * to hypothesis. */
START_TEST(edits_are_levenshteins)
{
    tfm_edits e = {.allocator = tfm_allocator_or_default(NULL)};
    uint32_t ref[40], hyp[40];
    unsigned state = 1;

    for (size_t n = 1; n <= 40; n += 3)
        for (size_t m = 0; m <= 40; m += 3) {
            for (size_t i = 0; i < n; i++) ref[i] = (state = state * 1103515245 + 12345) >> 16 & 3;
            ck_assert(tfm_edits_begin(&e, ref, n, m));
            for (size_t i = 0; i < m; i++) hyp[i] = (state = state * 1103515245 + 12345) >> 16 & 3;
            for (int again = 0; again < 4; again++) {
                if (m) hyp[(state = state * 1103515245 + 12345) % m] = again & 3;
                ck_assert_uint_eq(tfm_edits_count(&e, hyp), levenshtein(hyp, m, ref, n));
            }
        }
    tfm_edits_free(&e);
}
END_TEST

/* A word a megabyte long, many words, and lengths that differ by a thousand times. */
START_TEST(lines_of_any_length)
{
    enum { SIZE = 1 << 18 };
    char *line = malloc(SIZE + 1);

    memset(line, 'a', SIZE);
    line[SIZE] = '\0';
    ck_assert_double_eq(ter(line, line, NULL), 0);
    ck_assert_double_eq_tol(chrf(line, line, NULL), 100, 1e-9);
    for (size_t i = 1; i < SIZE; i += 2) line[i] = ' ';
    ck_assert_double_eq_tol(ter(line, "a", NULL), 100.0 * (SIZE / 2 - 1), 1e-6);
    ck_assert_double_eq_tol(ter("a", line, NULL), 100.0 * (SIZE / 2 - 1) / (SIZE / 2), 1e-6);
    free(line);
}
END_TEST

START_TEST(what_is_out_of_range_is_refused)
{
    const tfm_text a = text("a"), *refs[] = {&a};
    const struct {
        tfm_chrf_options options;
        const char *message;
    } rows[] = {{{.char_order = 0, .beta = 2}, "char_order is 0, not in 1..10"},
                {{.char_order = 11, .beta = 2}, "char_order is 11, not in 1..10"},
                {{.char_order = 6, .word_order = 7, .beta = 2}, "word_order is 7, not in 0..6"},
                {{.char_order = 6, .beta = 0}, "beta is 0, not above 0 and at most 1000"},
                {{.char_order = 6, .beta = NAN}, "beta is "},
                {{.char_order = 6, .beta = 2, .reserved = 7}, "reserved is 7, must be 0"}};
    tfm_metric_result r = {.score = 7};
    tfm_comparison c = {.p_value = 7};
    tfm_error error;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfm_chrf_options o = rows[i].options;
        o.struct_size = sizeof o;
        ck_assert_status(tfm_chrf(&r, sizeof r, &a, 1, refs, 1, &o, &error), TFM_E_INVALID, error);
        ck_assert_msg(strstr(error.message, rows[i].message) != NULL, "\"%s\" lacks \"%s\"", error.message,
                      rows[i].message);
    }
    const tfm_ter_options ter = {.struct_size = sizeof ter, .reserved = 7};
    ck_assert_status(tfm_ter(&r, sizeof r, &a, 1, refs, 1, &ter, &error), TFM_E_INVALID, error);
    const tfm_parseval_options parseval = {.struct_size = sizeof parseval, .reserved = 7};
    tfm_parseval_result f;
    ck_assert_status(tfm_parseval(&f, sizeof f, NULL, &a, &a, 1, &parseval, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "reserved is 7, must be 0");
    ck_assert_status(tfm_ter(&r, sizeof r, &a, 0, refs, 1, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_ter(&r, sizeof r, &a, 1, refs, 0, NULL, &error), TFM_E_INVALID, error);
    ck_assert_double_eq(r.score, 7);
    ck_assert_status(tfm_compare(&c, sizeof c, &a, &a, 1, refs, 1, 3, NULL, 10, 1, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "metric is 3, not in 0..2"));
    ck_assert_status(tfm_compare(&c, sizeof c, &a, &a, 1, refs, 1, 0, NULL, 1000001, 1, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "n_samples is 1000001, not in 2..1000000"));
    ck_assert_double_eq(c.p_value, 7);
}
END_TEST

/* Two systems that are right about different sentences: neither is better. One that is right more often: it is. */
START_TEST(chance_and_merit)
{
    enum { N = 60 };
    char made[2][N][32];
    tfm_text right[N], half[N], other[N], most[N];
    const tfm_text *refs[] = {right};
    tfm_comparison c, again;
    tfm_error error;

    for (int i = 0; i < N; i++) {
        snprintf(made[0][i], sizeof made[0][i], "the %d-th is here now", i);
        snprintf(made[1][i], sizeof made[1][i], "not so at all");
        right[i] = text(made[0][i]);
        half[i] = text(made[i % 2][i]);
        other[i] = text(made[!(i % 2)][i]);
        most[i] = text(made[i % 6 == 0][i]);
    }
    for (uint32_t metric = 0; metric < 3; metric++) {
        ck_assert_ok(tfm_compare(&c, sizeof c, half, other, N, refs, 1, metric, NULL, 500, 3, &error), error);
        ck_assert_double_gt(c.p_value, 0.3);
        ck_assert_ok(tfm_compare(&c, sizeof c, half, half, N, refs, 1, metric, NULL, 50, 3, &error), error);
        ck_assert_double_eq(c.p_value, 1); /* no system beats itself */
        ck_assert_ok(tfm_compare(&c, sizeof c, half, most, N, refs, 1, metric, NULL, 500, 3, &error), error);
        ck_assert_double_lt(c.p_value, 0.05);
        ck_assert(metric == TFM_METRIC_TER ? c.score[1] < c.score[0] : c.score[1] > c.score[0]);
        ck_assert_ok(tfm_compare(&again, sizeof again, half, most, N, refs, 1, metric, NULL, 500, 3, &error), error);
        ck_assert_mem_eq(&again, &c, sizeof c);
        ck_assert_ok(tfm_compare(&again, sizeof again, half, most, N, refs, 1, metric, NULL, 500, 4, &error), error);
        ck_assert(again.mean[0] != c.mean[0]);
        ck_assert_msg(!strncmp(again.signature, "nrefs:1|bs:500|seed:4|case:", 27), "%s", again.signature);
        ck_assert_ptr_nonnull(strstr(again.signature, "|version:libtransformer-")); /* it is not cut off */
        ck_assert_double_eq_tol(c.mean[0], c.score[0], 3 * c.interval[0]);
    }
}
END_TEST

/* _i: chrF, TER, or a comparison of either. */
START_TEST(c34_every_failed_allocation_is_reported)
{
    char line[3000];
    size_t n = 0;
    tfm_status status = TFM_E_NOMEM;
    tfm_error error;

    for (int i = 0; i < 300; i++) n += (size_t)snprintf(line + n, sizeof line - n, "%c%d-X. ", 'a' + i % 26, i % 40);
    const tfm_text hyps[] = {text("a b"), {line, n}}, some[] = {text("b c a"), {line + n / 2, n / 3}}, *refs[] = {some};
    for (size_t fail = 0; status != TFM_OK; fail++) {
        faulty f = {.fail_at = fail};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_chrf_options chrf = chrf_defaults();
        tfm_ter_options ter = {.struct_size = sizeof ter, .normalized = 1, .allocator = &a};
        const void *const options[] = {&chrf, &ter};
        tfm_metric_result r;
        tfm_comparison c;
        chrf.allocator = &a;
        chrf.word_order = 2;
        chrf.lowercase = 1;
        error = (tfm_error){0};
        if (_i == 0) status = tfm_chrf(&r, sizeof r, hyps, 2, refs, 1, &chrf, &error);
        else if (_i == 1) status = tfm_ter(&r, sizeof r, hyps, 2, refs, 1, &ter, &error);
        else
            status = tfm_compare(&c, sizeof c, some, hyps, 2, refs, 1, (uint32_t)_i - 1, options[_i - 2], 5, 1, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_int_eq(error.status, status);
        ck_assert_uint_eq(f.live, 0);
        if (status == TFM_OK) ck_assert_uint_gt(fail, 10);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("metrics");
    TCase *c = tcase_create("metrics");

    tcase_add_test(c, chrf_by_hand);
    tcase_add_test(c, signatures_tell_numbers_apart);
    tcase_add_test(c, words_of_chrf);
    tcase_add_test(c, several_references);
    tcase_add_test(c, any_references_as_the_oracle_judges_them);
    tcase_add_test(c, ter_by_hand);
    tcase_add_test(c, edits_are_levenshteins);
    tcase_add_test(c, lines_of_any_length);
    tcase_add_test(c, what_is_out_of_range_is_refused);
    tcase_add_test(c, chance_and_merit);
    tcase_add_loop_test(c, c34_every_failed_allocation_is_reported, 0, 4);
    tcase_set_timeout(c, 120);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
