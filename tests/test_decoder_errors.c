/* tfm_decoder through the public header: what a caller can do wrong. */
#include "decoder_models.h"

START_TEST(options_are_checked)
{
    static const struct {
        size_t offset;
        uint32_t value;
        const char *says;
    } bad[] = {
        {offsetof(tfm_decoder_options, beam), 0, "beam is 0, not in 1..1024"},
        {offsetof(tfm_decoder_options, beam), 1025, "beam is 1025, not in 1..1024"},
        {offsetof(tfm_decoder_options, n_best), 0, "n_best is 0, not in 1..4 (beam)"},
        {offsetof(tfm_decoder_options, n_best), 5, "n_best is 5, not in 1..4 (beam)"},
        {offsetof(tfm_decoder_options, stop_rule), 2, "stop_rule is 2, not in 0..1"},
        {offsetof(tfm_decoder_options, max_source), 0, "max_source is 0, must be at least 1"},
        {offsetof(tfm_decoder_options, batch_tokens), 0, "batch_tokens is 0, must be at least 1"},
        {offsetof(tfm_decoder_options, alpha), 0xbf800000, "alpha is -1, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, alpha), 0x7fc00000, "alpha is nan, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, alpha), 0x7f800000, "alpha is inf, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, length_norm), 4, "length_norm is 4, not in 0..3"},
        {offsetof(tfm_decoder_options, repetition_penalty), 0xbf800000, "repetition_penalty is -1, must be a number"},
        {offsetof(tfm_decoder_options, min_ratio), 0x7fc00000, "min_ratio is nan, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, max_ratio), 0x7f800000, "max_ratio is inf, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, reserved), 1, "reserved is 1, must be 0"},
        {offsetof(tfm_decoder_options, temperature), 0xbf800000, "temperature is -1, must be a number of at least 0"},
        {offsetof(tfm_decoder_options, top_p), 0x40000000, "top_p is 2, not in 0..1"},
        {offsetof(tfm_decoder_options, top_p), 0x3f000000, "top_p is for samples, but temperature is 0"},
        {offsetof(tfm_decoder_options, top_k), 3, "top_k is for samples, but temperature is 0"},
        {offsetof(tfm_decoder_options, reserved2), 1, "reserved2 is 1, must be 0"},
        {offsetof(tfm_decoder_options, n_forbidden), 1, "forbidden is NULL, n_forbidden 1"},
        {offsetof(tfm_decoder_options, struct_size), 8, "options.struct_size is 8"},
    };
    tfm_model *model = model_make();
    tfm_decoder *d;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfm_decoder_options o = decoder_options(4);
        memcpy((char *)&o + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        d = (tfm_decoder *)&o;
        ck_assert_status(tfm_decoder_create(&d, model, &o, &error), TFM_E_INVALID, error);
        ck_assert_ptr_null(d);
        ck_assert_msg(!strncmp(error.message, bad[i].says, strlen(bad[i].says)), "%s", error.message);
    }
    tfm_model_free(model);
}
END_TEST

START_TEST(samples_are_counted_by_their_own_name)
{
    static const struct {
        uint32_t n_best;
        const char *says;
    } bad[] = {{0, "n_best is 0, not in 1..1024"}, {1025, "n_best is 1025, not in 1..1024"}};
    tfm_model *model = model_make();
    tfm_decoder *d;

    for (size_t i = 0; i < 2; i++) {
        tfm_decoder_options o = decoder_options(0); /* not used */
        o.temperature = 1.0f;
        o.n_best = bad[i].n_best;
        ck_assert_status(tfm_decoder_create(&d, model, &o, &error), TFM_E_INVALID, error);
        ck_assert_str_eq(error.message, bad[i].says);
    }
    tfm_model_free(model);
}
END_TEST

START_TEST(forbidden_sequences_are_checked)
{
    static const int32_t ids[] = {4, 53, -1};
    static const struct {
        tfm_ids bad;
        const char *says;
    } trials[] = {
        {{ids, 0}, "forbidden[1] is empty"},
        {{NULL, 2}, "forbidden[1] is empty"},
        {{ids, 2}, "forbidden[1].data[1] is 53, not in 0..52 (a vocabulary of 53)"},
        {{ids + 2, 1}, "forbidden[1].data[0] is -1, not in 0..52 (a vocabulary of 53)"},
    };
    tfm_decoder_options o = decoder_options(4);
    tfm_model *model = model_make();
    tfm_decoder *d;

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const tfm_ids forbidden[] = {{ids, 1}, trials[i].bad};
        o.forbidden = forbidden;
        o.n_forbidden = 2;
        ck_assert_status(tfm_decoder_create(&d, model, &o, &error), TFM_E_INVALID, error);
        ck_assert_str_eq(error.message, trials[i].says);
    }
    o.n_forbidden = 0;
    o.min_ratio = 2.0f;
    o.max_ratio = 1.5f;
    ck_assert_status(tfm_decoder_create(&d, model, &o, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "min_ratio is 2, more than max_ratio 1.5");
    tfm_model_free(model);
}
END_TEST

START_TEST(a_shortest_output_above_the_longest_is_refused)
{
    tfm_decoder_options o = decoder_options(4);
    tfm_model *model = model_make();
    tfm_decoder *d;

    o.max_length = 5;
    o.min_length = 6;
    ck_assert_status(tfm_decoder_create(&d, model, &o, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "min_length is 6, more than max_length 5");
    o.max_length = 0;
    ck_assert_ok(tfm_decoder_create(&d, model, &o, &error), error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(m47_bad_ids_are_named)
{
    static const int32_t good[] = {3, 4, 1}, high[] = {3, 4, 5, 53, 1}, low[] = {-1, 1};
    const tfm_ids sources[] = {{good, 3}, {good, 0}, {high, 5}}, negative = {low, 2}, missing = {NULL, 4};
    const tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    tfm_decoder *d = decoder_of(model, &o);

    ck_assert_status(tfm_decoder_translate_ids(d, sources, 3, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "sources[2].data[3] is 53, not in 0..52 (a vocabulary of 53)");
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    ck_assert_status(tfm_decoder_translate_ids(d, &negative, 1, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_translate_ids(d, &missing, 1, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_logprobs_ids(d, sources, sources, 3, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_logprobs_ids(d, sources, &negative, 1, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "targets[0].data[0] is -1, not in 0..52 (a vocabulary of 53)");
    ck_assert_ok(tfm_decoder_translate_ids(d, sources, 2, &error), error);
    ck_assert_uint_eq(tfm_decoder_ids(d, 1, 0).size, 0);
    ck_assert_ok(tfm_decoder_translate_ids(d, NULL, 0, &error), error);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    ck_assert_ok(tfm_decoder_logprobs_ids(d, NULL, NULL, 0, &error), error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(m46_five_thousand_tokens)
{
    static int32_t ids[5000];
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(2);
    tfm_ids source = {ids, 5000};
    tfm_model *model = model_make();
    size_t n;

    for (size_t i = 0; i < 5000; i++) ids[i] = 3 + (int32_t)(i * i % 50);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_status(tfm_decoder_translate_ids(d, &source, 1, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "sources[0] has 5000 tokens, more than max_source 4096");
    tfm_decoder_free(d);
    o.max_source = 5000;
    o.max_length = 3;
    d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, &source, 1, &error), error);
    ck_assert_uint_ge(tfm_decoder_ids(d, 0, 0).size, 1);
    ck_assert_ok(tfm_decoder_logprobs_ids(d, &source, &source, 1, &error), error);
    tfm_decoder_token_logprobs(d, 0, &n);
    ck_assert_uint_eq(n, 5000);
    ck_assert(isfinite(tfm_decoder_pair_logprob(d, 0)));
    tfm_decoder_free(d);
    tfm_model_free(model);

    mo.positions = TFM_POSITIONS_LEARNED;
    mo.max_positions = 20;
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    o.max_length = 0;
    d = decoder_of(model, &o);
    source.size = 21;
    ck_assert_status(tfm_decoder_translate_ids(d, &source, 1, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "sources[0] has 21 tokens, the model has only 20 positions");
    source.size = 20;
    ck_assert_ok(tfm_decoder_translate_ids(d, &source, 1, &error), error);
    ck_assert_uint_le(tfm_decoder_ids(d, 0, 0).size, 20);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(long_lines_are_named)
{
    static const tfm_text texts[] = {LINE("a cat"), LINE(""), LINE("the cat sat on the mat, the dog on the log")};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(2);

    o.max_source = 8;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_status(tfm_decoder_translate(d, texts, 3, &error), TFM_E_INVALID, error);
    ck_assert_msg(!strncmp(error.message, "line 3 has ", 11) && strstr(error.message, "more than max_source 8"), "%s",
                  error.message);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Both sides of a pair have their positions. */
START_TEST(lines_beyond_the_positions_are_named)
{
    static const tfm_text shorter[] = {LINE("a cat"), LINE("a dog")};
    static const tfm_text longer[] = {LINE("a cat"), LINE("the cat sat on the mat, the log")};
    const tfm_decoder_options o = decoder_options(2);
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options mo = small_options();
    tfm_model *model;

    mo.vocab_size = 0;
    mo.positions = TFM_POSITIONS_LEARNED;
    mo.max_positions = 8;
    ck_assert_ok(tfm_model_create(&model, &mo, t, &error), error);
    tfm_tokenizer_free(t);
    tfm_decoder *d = decoder_of(model, &o);
    for (int side = 0; side < 2; side++) {
        const tfm_text *sources = side ? shorter : longer, *targets = side ? longer : shorter;
        ck_assert_status(tfm_decoder_logprobs(d, sources, targets, 2, &error), TFM_E_INVALID, error);
        ck_assert_msg(!strncmp(error.message, side ? "target line 2 has " : "source line 2 has ", 18) &&
                      strstr(error.message, "the model has only 8 positions"), "%s", error.message);
    }
    ck_assert_ok(tfm_decoder_logprobs(d, shorter, shorter, 2, &error), error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(null_arguments)
{
    static const int32_t good[] = {3, 1};
    const tfm_ids ids = {good, 2};
    const tfm_text line = LINE("a"), missing = {NULL, 4};
    const tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make(), *text = text_model_make();
    tfm_decoder *d = decoder_of(model, &o), *t = decoder_of(text, &o);

    tfm_decoder_free(NULL);
    tfm_decoder_options_init(NULL, sizeof o);
    ck_assert_int_eq(tfm_decoder_create(NULL, model, &o, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_create(&(tfm_decoder *){NULL}, NULL, &o, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_create(&(tfm_decoder *){NULL}, model, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate_ids(NULL, &ids, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate_ids(d, NULL, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate(NULL, &line, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate(t, NULL, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate(t, &missing, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_translate(d, &line, 1, &error), TFM_E_INVALID);
    ck_assert_ptr_nonnull(strstr(error.message, "no tokenizer"));
    ck_assert_int_eq(tfm_decoder_logprobs(NULL, &line, &line, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_logprobs(t, &line, NULL, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_logprobs(t, NULL, &line, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_logprobs(d, &line, &line, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_logprobs_ids(NULL, &ids, &ids, 1, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_decoder_logprobs_ids(d, &ids, NULL, 1, NULL), TFM_E_INVALID);
    ck_assert_uint_eq(tfm_decoder_count(NULL, 0), 0);
    ck_assert_ptr_null(tfm_decoder_ids(NULL, 0, 0).data);
    ck_assert_str_eq(tfm_decoder_text(NULL, 0, 0).data, "");
    ck_assert(isnan(tfm_decoder_score(NULL, 0, 0)));
    ck_assert_uint_eq(tfm_decoder_steps(NULL, 0), 0);
    ck_assert_ptr_null(tfm_decoder_token_logprobs(NULL, 0, NULL));
    ck_assert(isnan(tfm_decoder_pair_logprob(NULL, 0)));
    ck_assert_str_eq(tfm_decoder_text(d, 0, 0).data, ""); /* before any call */
    ck_assert_ok(tfm_decoder_translate_ids(d, &ids, 1, &error), error);
    ck_assert_ptr_null(tfm_decoder_ids(d, 0, 1).data);
    ck_assert(isnan(tfm_decoder_score(d, 1, 0)));
    tfm_decoder_free(d);
    tfm_decoder_free(t);
    tfm_model_free(model);
    tfm_model_free(text);
}
END_TEST

typedef struct canceller {
    size_t calls, at, last, total;
    bool backwards;
} canceller;

static int32_t cancel(void *user, size_t done, size_t total)
{
    canceller *c = user;

    c->backwards |= done < c->last || done > total;
    c->last = done;
    c->total = total;
    return c->calls++ == c->at;
}

START_TEST(a_callback_can_cancel)
{
    static tfm_ids sentences[SENTENCES];
    tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    canceller c = {.at = SIZE_MAX};

    sentences_make(sentences);
    tfm_decoder *want = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(want, sentences, 50, &error), error);
    o.progress = cancel;
    o.progress_user = &c;
    o.batch_tokens = 300;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 50, &error), error);
    ck_assert_uint_eq(c.last, 50);
    ck_assert_uint_eq(c.total, 50);
    const size_t calls = c.calls;
    ck_assert_uint_gt(calls, 50);
    for (size_t at = 0; at < calls; at += 17) {
        c = (canceller){.at = at};
        ck_assert_status(tfm_decoder_translate_ids(d, sentences, 50, &error), TFM_E_CANCELLED, error);
        ck_assert_uint_eq(c.calls, at + 1);
        ck_assert(!c.backwards);
        ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    }
    c = (canceller){.at = SIZE_MAX};
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 50, &error), error);
    for (size_t i = 0; i < 50; i++) same_results(d, i, want, i);
    c = (canceller){.at = 1};
    ck_assert_status(tfm_decoder_logprobs_ids(d, sentences, sentences, 50, &error), TFM_E_CANCELLED, error);
    ck_assert(isnan(tfm_decoder_pair_logprob(d, 0)));
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
}
END_TEST

static Suite *decoder_errors_suite(void)
{
    Suite *suite = suite_create("decoder_errors");
    TCase *tc = tcase_create("decoder_errors");

    tcase_add_test(tc, options_are_checked);
    tcase_add_test(tc, samples_are_counted_by_their_own_name);
    tcase_add_test(tc, forbidden_sequences_are_checked);
    tcase_add_test(tc, a_shortest_output_above_the_longest_is_refused);
    tcase_add_test(tc, m47_bad_ids_are_named);
    tcase_add_test(tc, m46_five_thousand_tokens);
    tcase_add_test(tc, long_lines_are_named);
    tcase_add_test(tc, lines_beyond_the_positions_are_named);
    tcase_add_test(tc, null_arguments);
    tcase_add_test(tc, a_callback_can_cancel);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_errors_suite)
