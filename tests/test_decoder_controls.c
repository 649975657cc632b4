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
    tcase_add_test(tc, lengths_follow_the_source);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_controls_suite)
