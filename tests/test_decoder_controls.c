/* Controls of the decoder through the public header: the same bits alone, in any batch, with any threads. */
#include "decoder_models.h"

static tfm_ids sentences[SENTENCES];

/* Every sentence in one call equals itself alone, and in the other order with threads. */
static void check_invariance(const tfm_model *model, const tfm_decoder_options *options)
{
    static tfm_ids backwards[SENTENCES];
    tfm_decoder_options other = *options;
    tfm_decoder *alone = decoder_of(model, options), *together = decoder_of(model, options), *threads;

    other.n_threads = 3;
    other.batch_tokens = 333;
    threads = decoder_of(model, &other);
    sentences_make(sentences);
    for (size_t i = 0; i < SENTENCES; i++) backwards[i] = sentences[SENTENCES - 1 - i];
    ck_assert_ok(tfm_decoder_translate_ids(together, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(threads, backwards, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        ck_assert_ok(tfm_decoder_translate_ids(alone, &sentences[i], 1, &error), error);
        same_results(alone, 0, together, i);
        same_results(alone, 0, threads, SENTENCES - 1 - i);
    }
    tfm_decoder_free(alone);
    tfm_decoder_free(together);
    tfm_decoder_free(threads);
}

START_TEST(c24_controls_do_not_see_the_batch)
{
    static const int32_t ids[] = {TFM_UNK, 7, 9, 12};
    static const tfm_ids forbidden[] = {{ids, 1}, {ids + 1, 2}, {ids + 3, 1}};
    tfm_decoder_options o = decoder_options(_i ? 3 : 1);
    tfm_model *model = model_make();

    o.n_best = _i ? 2 : 1;
    o.length_norm = TFM_LENGTH_MARIAN;
    o.no_repeat_ngram = 2;
    o.repetition_penalty = 1.2f;
    o.min_ratio = 0.5f;
    o.max_ratio = 1.5f;
    o.forbidden = forbidden;
    o.n_forbidden = 3;
    check_invariance(model, &o);
    tfm_model_free(model);
}
END_TEST

START_TEST(c24_samples_do_not_see_the_batch)
{
    tfm_decoder_options o = decoder_options(4);
    tfm_model *model = model_make();

    o.temperature = 0.8f;
    o.top_k = _i == 1 ? 7 : 0;
    o.top_p = _i == 2 ? 0.9f : 0.0f;
    o.no_repeat_ngram = 2;
    o.n_best = 3;
    o.seed = 42;
    check_invariance(model, &o);
    tfm_model_free(model);
}
END_TEST

/* More samples than the beam, which sampling does not use; the best token alone is greedy search. */
START_TEST(samples_are_as_many_as_asked_for)
{
    tfm_decoder_options o = decoder_options(1);
    tfm_model *model = model_make();

    sentences_make(sentences);
    tfm_decoder *greedy = decoder_of(model, &o);
    o.temperature = 1.0f;
    o.n_best = 9;
    tfm_decoder *many = decoder_of(model, &o);
    o.top_k = 1;
    tfm_decoder *best = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(greedy, sentences, 20, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(many, sentences, 20, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(best, sentences, 20, &error), error);
    for (size_t i = 0; i < 20; i++) {
        if (!sentences[i].size) continue;
        const tfm_ids want = tfm_decoder_ids(greedy, i, 0);
        ck_assert_uint_eq(tfm_decoder_count(many, i), 9);
        for (size_t rank = 0; rank < 9; rank++) {
            const tfm_ids got = tfm_decoder_ids(best, i, rank);
            ck_assert_uint_eq(got.size, want.size);
            ck_assert_mem_eq(got.data, want.data, want.size * sizeof *want.data);
            ck_assert(tfm_decoder_score(best, i, rank) == tfm_decoder_score(greedy, i, 0));
        }
        for (size_t rank = 1; rank < 9; rank++)
            ck_assert(tfm_decoder_score(many, i, rank) <= tfm_decoder_score(many, i, rank - 1));
    }
    tfm_decoder_free(greedy);
    tfm_decoder_free(many);
    tfm_decoder_free(best);
    tfm_model_free(model);
}
END_TEST

/* What the search says of each token is what scoring says, and adds up to the score. */
START_TEST(token_scores_are_those_of_scoring)
{
    tfm_decoder_options o = decoder_options(3);
    tfm_model *model = model_make();
    size_t n = 1;

    o.n_best = 3;
    o.temperature = _i ? 0.9f : 0.0f;
    sentences_make(sentences);
    tfm_decoder *d = decoder_of(model, &o), *scorer = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 12, &error), error);
    for (size_t i = 0; i < 12; i++)
        for (size_t rank = 0; rank < tfm_decoder_count(d, i); rank++) {
            const tfm_ids ids = tfm_decoder_ids(d, i, rank);
            const float *got = tfm_decoder_token_scores(d, i, rank, &n), *want;
            double sum = 0.0;
            ck_assert_uint_eq(n, ids.size);
            ck_assert_ok(tfm_decoder_logprobs_ids(scorer, &sentences[i], &ids, 1, &error), error);
            want = tfm_decoder_token_logprobs(scorer, 0, NULL);
            for (size_t j = 0; j < n; sum += (double)got[j++])
                ck_assert_msg(fabsf(got[j] - want[j]) < 2e-5f, "token %zu: %g, want %g", j, (double)got[j],
                              (double)want[j]);
            const bool ended = n && ids.data[n - 1] == TFM_EOS;
            const double penalty = ended ? pow((5.0 + (double)n) / 6.0, (double)o.alpha) : 1.0;
            ck_assert_double_eq_tol(sum / penalty, tfm_decoder_score(d, i, rank), 1e-4);
        }
    ck_assert_ptr_null(tfm_decoder_token_scores(d, 12, 0, &n));
    ck_assert_uint_eq(n, 0);
    tfm_decoder_free(d);
    tfm_decoder_free(scorer);
    tfm_model_free(model);
}
END_TEST

static void run(tfm_decoder *d, const tfm_ids *sources, const tfm_ids *prefixes, size_t n)
{
    tfm_request r;

    tfm_request_init(&r, sizeof r);
    r.n = n;
    r.sources = sources;
    r.prefixes = prefixes;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
}

static bool begins_with(tfm_ids ids, tfm_ids prefix)
{
    return ids.size >= prefix.size && (!prefix.size || !memcmp(ids.data, prefix.data, prefix.size * sizeof *ids.data));
}

static bool equal(tfm_ids a, tfm_ids b)
{
    return a.size == b.size && begins_with(a, b);
}

/* Greedy search from its own beginning ends as it did, with the same bits. */
START_TEST(c25_greedy_from_its_own_prefix_is_greedy)
{
    static tfm_ids prefixes[SENTENCES];
    const tfm_decoder_options o = decoder_options(1);
    tfm_model *model = model_make();
    tfm_decoder *greedy = decoder_of(model, &o), *d = decoder_of(model, &o);

    sentences_make(sentences);
    ck_assert_ok(tfm_decoder_translate_ids(greedy, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        const tfm_ids best = tfm_decoder_ids(greedy, i, 0);
        const size_t most = best.size ? best.size - 1 : 0;
        prefixes[i] = (tfm_ids){best.data, i % 4 < most ? i % 4 : most};
    }
    run(d, sentences, prefixes, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i++) same_results(d, i, greedy, i);
    tfm_decoder_free(d);
    tfm_decoder_free(greedy);
    tfm_model_free(model);
}
END_TEST

START_TEST(c25_n_best_behind_a_prefix_are_distinct)
{
    static const int32_t ids[] = {7, 9};
    static tfm_ids prefixes[SENTENCES];
    tfm_decoder_options o = decoder_options(5);
    tfm_model *model = model_make();

    o.n_best = 5;
    sentences_make(sentences);
    tfm_decoder *together = decoder_of(model, &o), *alone = decoder_of(model, &o);
    for (size_t i = 0; i < SENTENCES; i++) prefixes[i] = (tfm_ids){ids, i % 3};
    run(together, sentences, prefixes, SENTENCES);
    for (size_t i = 0; i < SENTENCES; i += 5) {
        run(alone, sentences + i, prefixes + i, 1);
        same_results(together, i, alone, 0);
        for (size_t rank = 0; sentences[i].size && rank < tfm_decoder_count(together, i); rank++) {
            ck_assert(begins_with(tfm_decoder_ids(together, i, rank), prefixes[i]));
            for (size_t other = 0; other < rank; other++)
                ck_assert(!equal(tfm_decoder_ids(together, i, rank), tfm_decoder_ids(together, i, other)));
        }
    }
    tfm_decoder_free(together);
    tfm_decoder_free(alone);
    tfm_model_free(model);
}
END_TEST

/* With first_id of a model as with that prefix, but for sentences that have another one. */
START_TEST(forced_first_tokens_are_prefixes)
{
    static const int32_t ids[] = {7, 9};
    static tfm_ids given[SENTENCES], all[SENTENCES];
    const tfm_decoder_options o = decoder_options(_i ? 4 : 1);
    tfm_model_options m = small_options();

    tfm_model *plain = model_make();
    m.force_first = 1;
    m.first_id = 7;
    tfm_model *forced = model_changed(&m, NULL, sharpen);
    tfm_decoder *want = decoder_of(plain, &o), *got = decoder_of(forced, &o);
    sentences_make(sentences);
    for (int some = 0; some < 2; some++) {
        for (size_t i = 0; i < SENTENCES; i++) {
            given[i] = (tfm_ids){ids + 1, some && i % 3 == 0};
            all[i] = given[i].size ? given[i] : (tfm_ids){ids, 1};
        }
        run(want, sentences, all, SENTENCES);
        run(got, sentences, some ? given : NULL, SENTENCES);
        for (size_t i = 0; i < SENTENCES; i++) same_results(got, i, want, i);
    }
    tfm_decoder_free(want);
    tfm_decoder_free(got);
    tfm_model_free(plain);
    tfm_model_free(forced);
}
END_TEST

START_TEST(prefixes_are_checked)
{
    static const int32_t source[] = {4, 5, TFM_EOS}, ids[] = {53, TFM_EOS, 4, 5, 6, 7, 8, 9, 10};
    static const struct {
        tfm_ids prefix;
        const char *says;
    } trials[] = {
        {{ids, 1}, "prefixes[0].data[0] is 53, not in 0..52 (a vocabulary of 53)"},
        {{ids + 1, 2}, "prefixes[0].data[0] is EOS: nothing can follow"},
        {{ids + 2, 6},
         "prefixes[0] has 6 tokens, a translation at most 6 by max_length, max_extra and max_ratio: raise what limits it"},
        {{NULL, 1}, "prefixes[0].data is NULL, size is 1"},
    };
    const tfm_ids sources[] = {{source, 3}};
    tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    tfm_request r;

    o.max_extra = 3;
    tfm_decoder *d = decoder_of(model, &o);
    tfm_request_init(&r, sizeof r);
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    r.n = 1;
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "lines and sources are NULL, n is 1");
    r.sources = sources;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        r.prefixes = &trials[i].prefix;
        ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
        ck_assert_str_eq(error.message, trials[i].says);
        ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    }
    r.prefixes = NULL;
    r.prefix_lines = (const tfm_text[]){{"a", 1}};
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_msg(strstr(error.message, "no tokenizer"), "%s", error.message);
    r.reserved = 1;
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_run(d, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_run(NULL, &r, &error), TFM_E_INVALID, error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static bool contains(tfm_ids ids, tfm_ids part)
{
    for (size_t i = 0; i + part.size <= ids.size; i++)
        if (begins_with((tfm_ids){ids.data + i, ids.size - i}, part)) return true;
    return false;
}

/* A sentence has 0 to 2 terms. All that end have theirs, the same alone and among others with threads. */
START_TEST(c24_terms_appear_whatever_the_batch)
{
    static const int32_t ids[] = {7, 9, 30, 31, 32};
    static const tfm_ids phrases[] = {{ids, 2}, {ids + 2, 3}};
    static tfm_ids terms[2 * SENTENCES];
    static size_t n_terms[SENTENCES];
    tfm_decoder_options o = decoder_options(8);
    tfm_model *model = model_make();
    tfm_request r;
    size_t n = 0, ended = 0;

    o.n_best = 2;
    sentences_make(sentences);
    for (size_t i = 0; i < SENTENCES; i++) {
        n_terms[i] = i % 3;
        for (size_t j = 0; j < n_terms[i]; j++) terms[n++] = phrases[j];
    }
    tfm_decoder *alone = decoder_of(model, &o);
    o.n_threads = 3;
    tfm_decoder *together = decoder_of(model, &o);
    tfm_request_init(&r, sizeof r);
    r = (tfm_request){
        .struct_size = r.struct_size, .n = SENTENCES, .sources = sentences, .n_terms = n_terms, .terms = terms};
    ck_assert_ok(tfm_decoder_run(together, &r, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        r.n = 1, r.sources = sentences + i, r.n_terms = n_terms + i, r.terms = phrases;
        ck_assert_ok(tfm_decoder_run(alone, &r, &error), error);
        same_results(alone, 0, together, i);
        for (size_t rank = 0; rank < tfm_decoder_count(together, i); rank++) {
            const tfm_ids got = tfm_decoder_ids(together, i, rank);
            if (!got.size || got.data[got.size - 1] != TFM_EOS) continue;
            ended++;
            for (size_t j = 0; j < n_terms[i]; j++) ck_assert(contains(got, phrases[j]));
        }
    }
    ck_assert_uint_gt(ended, SENTENCES);
    tfm_decoder_free(alone);
    tfm_decoder_free(together);
    tfm_model_free(model);
}
END_TEST

START_TEST(terms_are_checked)
{
    static const int32_t ids[] = {4, 5, TFM_EOS}, outside[] = {53}, pad[] = {TFM_PAD}, bos[] = {4, TFM_BOS};
    static int32_t fours[257];
    static tfm_ids many[65];
    static const struct {
        size_t n;
        tfm_ids first;
        const char *says;
    } trials[] = {
        {65, {ids, 1}, "sentence 0 has 65 terms and placeholders, more than 64"},
        {1, {ids, 0}, "term 0 of sentence 0 is empty"},
        {1, {ids, 3}, "term 0 of sentence 0 has EOS, which no translation has within it"},
        {1, {pad, 1}, "term 0 of sentence 0 has PAD or BOS, which no translation has within it"},
        {1, {bos, 2}, "term 0 of sentence 0 has PAD or BOS, which no translation has within it"},
        {1, {fours, 257}, "the terms of sentence 0 have 257 tokens, more than 256"},
        {1, {outside, 1}, "terms[0].data[0] is 53, not in 0..52 (a vocabulary of 53)"},
    };
    const tfm_ids source = {ids, 3};
    tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    tfm_decoder *d = decoder_of(model, &o);
    size_t n = 1;
    tfm_request r = {.struct_size = sizeof r, .n = 1, .sources = &source, .n_terms = &n};

    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "terms and term_lines are NULL, their number 1");
    r.terms = many;
    for (size_t i = 0; i < sizeof fours / sizeof *fours; i++) fours[i] = 4;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        for (size_t j = 0; j < 65; j++) many[j] = trials[i].first;
        n = trials[i].n;
        ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
        ck_assert_str_eq(error.message, trials[i].says);
    }
    tfm_decoder_free(d);
    o.temperature = 1.0f;
    d = decoder_of(model, &o);
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "terms are for searches, but temperature is 1: set it to 0");
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(lengths_follow_the_source)
{
    tfm_decoder_options o = decoder_options(3);
    tfm_model *model = model_make();

    o.min_ratio = 0.75f;
    o.max_ratio = 1.25f;
    sentences_make(sentences);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        const double n = (double)tfm_decoder_ids(d, i, 0).size, source = (double)sentences[i].size;
        ck_assert_msg(n >= 0.75 * source && n < 1.25 * source + 1.0, "sentence %zu: %g of %g", i, n, source);
    }
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *decoder_controls_suite(void)
{
    Suite *suite = suite_create("decoder_controls");
    TCase *tc = tcase_create("decoder_controls");

    tcase_add_loop_test(tc, c24_controls_do_not_see_the_batch, 0, 2);
    tcase_add_loop_test(tc, c24_samples_do_not_see_the_batch, 0, 3);
    tcase_add_test(tc, samples_are_as_many_as_asked_for);
    tcase_add_loop_test(tc, token_scores_are_those_of_scoring, 0, 2);
    tcase_add_test(tc, c25_greedy_from_its_own_prefix_is_greedy);
    tcase_add_test(tc, c25_n_best_behind_a_prefix_are_distinct);
    tcase_add_loop_test(tc, forced_first_tokens_are_prefixes, 0, 2);
    tcase_add_test(tc, prefixes_are_checked);
    tcase_add_test(tc, c24_terms_appear_whatever_the_batch);
    tcase_add_test(tc, terms_are_checked);
    tcase_add_test(tc, lengths_follow_the_source);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_controls_suite)
