/* Search and scoring with the model: the specification's goldens, and the cache against passes over whole prefixes. */
#include "decode/beam.h"
#include "decode/score.h"
#include "decode/search.h"
#include "golden_model.h"

static golden g;
static tfm_error error;

static const tfm_ids golden_sources[] = {{golden_source, 5}, {golden_source + 5, 3}};

static tfm_decoder_options golden_search_options(uint32_t beam, float alpha)
{
    return (tfm_decoder_options){.beam = beam,
                                 .alpha = alpha,
                                 .n_best = 1,
                                 .max_extra = 5,
                                 .max_source = 64,
                                 .batch_tokens = 4096,
                                 .n_threads = 1};
}

static tfm_search *search_of(const tfm_decoder_options *options)
{
    tfm_search *search;

    ck_assert_ok(tfm_search_create(&search, &g.transformer, g.pool, options, &g.allocator, &error), error);
    return search;
}

static void check_hypothesis(const tfm_search *search, size_t sentence, size_t rank, const char *ids, double score)
{
    char text[256] = "";
    tfm_hypothesis h;

    ck_assert(tfm_search_get(search, sentence, rank, &h));
    for (size_t i = 0; i < h.ids.size; i++) sprintf(text + strlen(text), "%s%d", i ? " " : "", h.ids.data[i]);
    ck_assert_str_eq(text, ids);
    ck_assert_msg(fabs(h.score - score) <= 1e-6 * fabs(score), "score is %.9f, want %.9f", h.score, score);
}

START_TEST(golden_greedy_of_any_id)
{
    tfm_decoder_options o = golden_search_options(1, 0.6f);

    golden_begin(&g);
    o.allow_special = 1;
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, golden_sources, 2, &error), error);
    check_hypothesis(s, 0, 0, "2 0 0 2 6 8 6 2 0 0", -18.675701486);
    check_hypothesis(s, 1, 0, "2 0 0 2 6 8 6 2", -15.104892269);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 10);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

START_TEST(golden_beam)
{
    tfm_decoder_options o = golden_search_options(3, 0.6f);

    golden_begin(&g);
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, golden_sources, 2, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -8.086733821);
    check_hypothesis(s, 1, 0, "4 4 4 6 10 1", -8.089774818);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 8);
    ck_assert_uint_eq(tfm_search_steps(s, 1), 7);
    tfm_search_free(s);

    o.n_best = 3;
    s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, golden_sources, 2, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -8.086733821);
    check_hypothesis(s, 0, 1, "4 4 4 6 10 3 1", -8.780119900);
    check_hypothesis(s, 0, 2, "4 4 4 6 10 3 3 1", -9.399113595);
    check_hypothesis(s, 1, 1, "4 4 4 6 10 3 1", -8.783077082);
    tfm_search_free(s);

    o = golden_search_options(3, 0.0f);
    s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, golden_sources, 2, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -11.633703985);
    check_hypothesis(s, 1, 0, "4 4 4 6 10 1", -11.638078813);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 6);
    ck_assert_uint_eq(tfm_search_steps(s, 1), 6);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

static Suite *search_suite(void)
{
    Suite *suite = suite_create("search");
    TCase *tc = tcase_create("search");

    tcase_add_test(tc, golden_greedy_of_any_id);
    tcase_add_test(tc, golden_beam);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(search_suite)
