/* BLEU on cases small enough to count by hand. */
#include "testing.h"

#include "eval/bleu.h"

#include <locale.h>
#include <math.h>

enum { MOST = 8 };

static tfm_text text(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

static tfm_bleu_options defaults(void)
{
    tfm_bleu_options o;

    tfm_bleu_options_init(&o, sizeof o);
    return o;
}

/* BLEU of n hypotheses against one reference each. */
static tfm_bleu_result bleu(const char *const *hyps, const char *const *refs, size_t n, const tfm_bleu_options *options)
{
    tfm_text h[MOST], r[MOST];
    const tfm_text *lists[] = {r};
    tfm_bleu_result result;
    tfm_error error;

    for (size_t i = 0; i < n; i++) h[i] = text(hyps[i]), r[i] = text(refs[i]);
    ck_assert_ok(tfm_bleu(&result, sizeof result, h, n, lists, 1, options, &error), error);
    return result;
}

/* BLEU of one sentence against n references. */
static tfm_bleu_result sentence(const char *hyp, const char *const *refs, size_t n, const tfm_bleu_options *options)
{
    const tfm_text h = text(hyp);
    tfm_text r[MOST];
    const tfm_text *lists[MOST];
    tfm_bleu_result result;
    tfm_error error;

    for (size_t i = 0; i < n; i++) r[i] = text(refs[i]), lists[i] = &r[i];
    ck_assert_ok(tfm_bleu(&result, sizeof result, &h, 1, lists, n, options, &error), error);
    return result;
}

static tfm_bleu_result pair(const char *hyp, const char *ref, const tfm_bleu_options *options)
{
    return sentence(hyp, &ref, 1, options);
}

static void check_counts(const uint64_t *got, const uint64_t want[4])
{
    for (int n = 0; n < 4; n++) ck_assert_uint_eq(got[n], want[n]);
}

#define ck_near(got, want) ck_assert_double_eq_tol(got, want, 5e-7)

START_TEST(m43_corpus_counts_clipping_and_brevity)
{
    const char *hyps[] = {"the cat sat on the mat", "there is a dog here"};
    const char *refs[] = {"the cat sat on the mat today", "there was a dog here"};
    const tfm_bleu_result r = bleu(hyps, refs, 2, NULL);

    check_counts(r.matches, (const uint64_t[]){10, 7, 5, 3});
    check_counts(r.totals, (const uint64_t[]){11, 9, 7, 5});
    ck_assert_uint_eq(r.hyp_length, 11);
    ck_assert_uint_eq(r.ref_length, 12);
    ck_near(r.brevity, 0.913100716);
    ck_near(r.score, 67.747020);
    ck_near(r.precisions[3], 60);
}
END_TEST

START_TEST(m43_zero_counts_score_by_the_convention)
{
    tfm_bleu_options o = defaults();
    tfm_bleu_result r = pair("the the the the", "the cat is here", &o);

    check_counts(r.matches, (const uint64_t[]){1, 0, 0, 0});
    ck_near(r.score, 15.973578);
    o.smooth = TFM_BLEU_SMOOTH_NONE;
    ck_assert_double_eq(pair("the the the the", "the cat is here", &o).score, 0);
}
END_TEST

START_TEST(m43_compound_split_changes_the_score)
{
    tfm_bleu_options o = defaults();

    o.tokenize = TFM_BLEU_TOKENIZE_NONE;
    ck_near(pair("a-b c d e", "a-b c d f", &o).score, 59.460356);
    o.smooth = TFM_BLEU_SMOOTH_NONE;
    ck_assert_double_eq(pair("a-b c d e", "a-b c d f", &o).score, 0);
    o.compound_split = 1;
    ck_near(pair("a-b c d e", "a-b c d f", &o).score, 75.983569);
}
END_TEST

START_TEST(closest_reference_length_and_largest_count)
{
    const char *refs[] = {"a a b", "a c c c d", "a"};
    tfm_bleu_options o = defaults();
    tfm_bleu_result r = sentence("a a a c", refs, 2, &o);

    ck_assert_uint_eq(r.matches[0], 3); /* two a of the first, one c of the second */
    ck_assert_uint_eq(r.matches[1], 2); /* "a a", "a c"                            */
    ck_assert_uint_eq(r.ref_length, 3); /* 3 and 5 are as near to 4: the shorter   */
    ck_assert_ptr_nonnull(strstr(r.signature, "nrefs:2|"));
    ck_assert_uint_eq(sentence("a a a c e", refs, 3, &o).ref_length, 5);
    ck_assert_uint_eq(sentence("", refs, 3, &o).ref_length, 1);
}
END_TEST

START_TEST(an_empty_reference_is_missing)
{
    const tfm_text hyps[] = {text("a b c d"), text("a b c d")}, some[] = {text("a b c d e f"), text("a b c d")};
    const tfm_text gaps[] = {text(""), text("b")};
    const tfm_text *refs[] = {some, gaps};
    tfm_bleu_result r;
    tfm_error error;

    ck_assert_ok(tfm_bleu(&r, sizeof r, hyps, 2, refs, 2, NULL, &error), error);
    ck_assert_uint_eq(r.ref_length, 10);
    ck_assert_ptr_nonnull(strstr(r.signature, "nrefs:var|"));
    ck_assert_ok(tfm_bleu(&r, sizeof r, hyps, 1, &refs[1], 1, NULL, &error), error); /* no other: no tokens */
    ck_assert_uint_eq(r.ref_length, 0);
    ck_assert_double_eq(r.score, 0);
    ck_assert_ptr_nonnull(strstr(r.signature, "nrefs:1|"));
}
END_TEST

START_TEST(m43_a_corpus_is_not_the_mean_of_its_sentences)
{
    const char *hyps[] = {"a b c d e", "x y z q w v"}, *refs[] = {"a b c d e", "x y z q u u"};
    const double first = pair(hyps[0], refs[0], NULL).score, second = pair(hyps[1], refs[1], NULL).score;

    ck_near(first, 100);
    ck_assert_double_gt(fabs(bleu(hyps, refs, 2, NULL).score - (first + second) / 2), 1);
}
END_TEST

START_TEST(smoothing)
{
    tfm_bleu_options o = defaults();

    o.tokenize = TFM_BLEU_TOKENIZE_NONE; /* matches 3 1 0 0 of 4 3 2 1 */
    ck_near(pair("a b x c", "a b c d", &o).score, 100 * pow(3 / 4. * (1 / 3.) * (1 / 4.) * (1 / 4.), 0.25));
    o.smooth = TFM_BLEU_SMOOTH_FLOOR;
    ck_near(pair("a b x c", "a b c d", &o).score, 100 * pow(3 / 4. * (1 / 3.) * (0.1 / 2) * 0.1, 0.25));
    o.smooth_value = 0.5f;
    ck_near(pair("a b x c", "a b c d", &o).score, 100 * pow(3 / 4. * (1 / 3.) * (0.5 / 2) * 0.5, 0.25));
    o.smooth = TFM_BLEU_SMOOTH_ADD_K;
    ck_near(pair("a b x c", "a b c d", &o).score, 100 * pow(3 / 4. * (1.5 / 3.5) * (0.5 / 2.5) * (0.5 / 1.5), 0.25));
    o.smooth_value = -1;
    const tfm_bleu_result r = pair("a b x c", "a b c d", &o);
    ck_near(r.score, 100 * pow(3 / 4. * (2 / 4.) * (1 / 3.) * (1 / 2.), 0.25));
    check_counts(r.matches, (const uint64_t[]){3, 1, 0, 0}); /* what was counted, not what was added */
    check_counts(r.totals, (const uint64_t[]){4, 3, 2, 1});
    ck_assert_double_eq(pair("a b", "c d", &o).score, 0);
}
END_TEST

START_TEST(orders)
{
    tfm_bleu_options o = defaults();

    ck_assert_double_eq(pair("a b", "a b", &o).score, 0); /* there are no 3-grams */
    o.effective_order = 1;
    ck_assert_double_eq(pair("a b", "a b", &o).score, 100);
    o.effective_order = 0;
    o.max_order = 2;
    ck_assert_double_eq(pair("a b", "a b", &o).score, 100);
    o.max_order = 8;
    const tfm_bleu_result r = pair("a b c d e f g h i", "a b c d e f g h i", &o);
    ck_assert_uint_eq(r.matches[7], 2);
    ck_assert_double_eq(r.score, 100);
}
END_TEST

/* Tokens whose bytes run together must stay apart, and so must sentences. */
START_TEST(ngrams_are_never_confused)
{
    tfm_bleu_options o = defaults();

    o.tokenize = TFM_BLEU_TOKENIZE_NONE;
    ck_assert_uint_eq(pair("ab c", "a bc", &o).matches[0], 0);
    ck_assert_uint_eq(pair("a b c a b", "c a b", &o).matches[1], 2);
    ck_assert_uint_eq(pair("a\1 a", "a \1a", &o).matches[0], 1);
    ck_assert_uint_eq(pair("a\1 a", "a \1a", &o).matches[1], 0);
    ck_assert_uint_eq(bleu((const char *[]){"a b", "c d"}, (const char *[]){"c d", "a b"}, 2, &o).matches[0], 0);
}
END_TEST

/* Long enough for the tables to grow; every token is found again. */
START_TEST(a_long_sentence)
{
    char line[40000];
    size_t n = 0;

    for (int i = 0; i < 5000; i++) n += (size_t)snprintf(line + n, sizeof line - n, "w%d ", i);
    const tfm_bleu_result r = pair(line, line, NULL);
    check_counts(r.matches, (const uint64_t[]){5000, 4999, 4998, 4997});
    ck_assert_double_eq(r.score, 100);
}
END_TEST

START_TEST(signature_names_the_convention)
{
    tfm_bleu_options o = defaults();

    ck_assert_str_eq(pair("a", "a", NULL).signature,
                     "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:libtransformer-0.2.0");
    o.tokenize = TFM_BLEU_TOKENIZE_NONE;
    o.smooth = TFM_BLEU_SMOOTH_FLOOR;
    o.lowercase = o.compound_split = o.effective_order = 1;
    o.max_order = 2;
    setlocale(LC_ALL, "de_DE.UTF-8");
    ck_assert_str_eq(
        pair("a", "a", &o).signature,
        "nrefs:1|case:lc|eff:yes|tok:none|smooth:floor[0.10]|order:2|split:yes|version:libtransformer-0.2.0");
    o.smooth = TFM_BLEU_SMOOTH_ADD_K;
    o.smooth_value = 2.5f;
    ck_assert_ptr_nonnull(strstr(pair("a", "a", &o).signature, "|smooth:add-k[2.50]|"));
}
END_TEST

START_TEST(invalid_utf8_is_opaque)
{
    static const char *const bad[] = {"\xFF",     "\xC3", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                      "\xC0\xAF", "\x80"};
    tfm_bleu_options o = defaults();

    for (o.tokenize = 0; o.tokenize <= TFM_BLEU_TOKENIZE_ZH; o.tokenize++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            for (o.lowercase = 0; o.lowercase < 2; o.lowercase++) {
                char line[32];
                snprintf(line, sizeof line, "a %s.%s b %s", bad[i], bad[i], bad[i]);
                ck_assert_double_eq(pair(line, line, &o).score, 100);
                ck_assert_double_lt(pair(line, "a \xFE.\xFE b \xFE", &o).score, 100);
            }
}
END_TEST

START_TEST(nul_is_an_ordinary_character)
{
    const tfm_text line = {"a\0b", 3}, *refs[] = {&line};
    tfm_bleu_options o = defaults();
    tfm_bleu_result r;
    tfm_error error;

    o.tokenize = TFM_BLEU_TOKENIZE_CHAR;
    ck_assert_ok(tfm_bleu(&r, sizeof r, &line, 1, refs, 1, &o, &error), error);
    ck_assert_uint_eq(r.hyp_length, 3);
}
END_TEST

static void check_refused(const tfm_text *hyps, size_t n_hyps, const tfm_text *const *refs, size_t n_refs,
                          const tfm_bleu_options *options, const char *message)
{
    tfm_bleu_result result = {.score = 7};
    tfm_error error;

    ck_assert_status(tfm_bleu(&result, sizeof result, hyps, n_hyps, refs, n_refs, options, &error), TFM_E_INVALID,
                     error);
    ck_assert_msg(strstr(error.message, message) != NULL, "\"%s\" lacks \"%s\"", error.message, message);
    ck_assert_double_eq(result.score, 7);
    ck_assert_int_eq(tfm_bleu(&result, sizeof result, hyps, n_hyps, refs, n_refs, options, NULL), TFM_E_INVALID);
}

START_TEST(c38_shapes_that_do_not_fit_are_refused)
{
    const tfm_text a = text("a"), hole = {NULL, 2}, *refs[] = {&a, NULL}, *holes[] = {&hole};
    tfm_error error;

    check_refused(&a, 0, refs, 1, NULL, "n_hyps is 0");
    check_refused(&a, 1, refs, 0, NULL, "n_refs is 0");
    check_refused(NULL, 1, refs, 1, NULL, "hypothesis list");
    check_refused(&a, 1, NULL, 1, NULL, "refs is NULL");
    check_refused(&a, 1, refs, 2, NULL, "reference list 2 is NULL");
    check_refused(&hole, 1, refs, 1, NULL, "line 1 is NULL");
    check_refused(&a, 1, holes, 1, NULL, "line 1 is NULL");
    ck_assert_status(tfm_bleu(NULL, 0, &a, 1, refs, 1, NULL, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    const tfm_text a = text("a"), *refs[] = {&a};
    tfm_bleu_options o = defaults();

    o.tokenize = 5;
    check_refused(&a, 1, refs, 1, &o, "tokenize is 5, not in 0..4");
    o = defaults(), o.smooth = 4;
    check_refused(&a, 1, refs, 1, &o, "smooth is 4, not in 0..3");
    o = defaults(), o.max_order = 0;
    check_refused(&a, 1, refs, 1, &o, "max_order is 0, not in 1..8");
    o.max_order = 9;
    check_refused(&a, 1, refs, 1, &o, "max_order is 9, not in 1..8");
    o = defaults(), o.smooth_value = NAN;
    check_refused(&a, 1, refs, 1, &o, "smooth_value");
    o.smooth_value = INFINITY;
    check_refused(&a, 1, refs, 1, &o, "smooth_value");
    o = defaults(), o.struct_size = 8;
    check_refused(&a, 1, refs, 1, &o, "struct_size");
}
END_TEST

START_TEST(a_result_of_another_size_gets_what_fits)
{
    struct {
        tfm_bleu_result result;
        uint64_t newer;
    } longer = {.newer = 7};
    const tfm_text a = text("a b c d"), *refs[] = {&a};
    tfm_bleu_result result = {.brevity = -1};
    tfm_error error;

    ck_assert_ok(tfm_bleu(&result, sizeof result.score, &a, 1, refs, 1, NULL, &error), error);
    ck_assert_double_eq(result.score, 100);
    ck_assert_double_eq(result.brevity, -1);
    ck_assert_ok(tfm_bleu(&longer.result, sizeof longer, &a, 1, refs, 1, NULL, &error), error);
    ck_assert_double_eq(longer.result.score, 100);
    ck_assert_uint_eq(longer.newer, 0);
}
END_TEST

/* The hypothesis is longer than its reference, so that memory can run out in either. _i: tokenisation. */
START_TEST(every_failed_allocation_is_reported)
{
    char line[6000];
    size_t n = 0;
    tfm_status status = TFM_E_NOMEM;
    tfm_bleu_options o = defaults();
    tfm_bleu_result result, want;
    tfm_error error;

    for (int i = 0; i < 700; i++) n += (size_t)snprintf(line + n, sizeof line - n, "%c%d-X. ", 'a' + i % 26, i % 40);
    const tfm_text hyps[] = {text("a b"), text(line)}, some[] = {text("a b"), {line, n / 3}}, *refs[] = {some};
    o.tokenize = (uint32_t)_i;
    o.lowercase = 1;
    o.compound_split = _i < 2;
    ck_assert_ok(tfm_bleu(&want, sizeof want, hyps, 2, refs, 1, &o, &error), error);
    for (size_t fail = 0; status != TFM_OK; fail++) {
        faulty f = {.fail_at = fail};
        const tfm_allocator a = faulty_allocator(&f);
        o.allocator = &a;
        error = (tfm_error){0};
        status = tfm_bleu(&result, sizeof result, hyps, 2, refs, 1, &o, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_int_eq(error.status, status);
        ck_assert_uint_eq(f.live, 0);
        if (status == TFM_OK) ck_assert_uint_gt(fail, 20);
    }
    ck_assert_double_eq(result.score, want.score);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bleu");
    TCase *c = tcase_create("bleu");

    tcase_add_test(c, m43_corpus_counts_clipping_and_brevity);
    tcase_add_test(c, m43_zero_counts_score_by_the_convention);
    tcase_add_test(c, m43_compound_split_changes_the_score);
    tcase_add_test(c, m43_a_corpus_is_not_the_mean_of_its_sentences);
    tcase_add_test(c, closest_reference_length_and_largest_count);
    tcase_add_test(c, an_empty_reference_is_missing);
    tcase_add_test(c, smoothing);
    tcase_add_test(c, orders);
    tcase_add_test(c, ngrams_are_never_confused);
    tcase_add_test(c, a_long_sentence);
    tcase_add_test(c, signature_names_the_convention);
    tcase_add_test(c, invalid_utf8_is_opaque);
    tcase_add_test(c, nul_is_an_ordinary_character);
    tcase_add_test(c, c38_shapes_that_do_not_fit_are_refused);
    tcase_add_test(c, options_out_of_range_are_refused);
    tcase_add_test(c, a_result_of_another_size_gets_what_fits);
    tcase_add_loop_test(c, every_failed_allocation_is_reported, 0, TFM_BLEU_TOKENIZE_ZH + 1);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
