/* tfm_decoder through the public header: lines in, lines out. */
#include "decoder_models.h"

static void eos_first(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "output.bias")) to[TFM_EOS] = 9.0f;
}

START_TEST(m31_eos_at_once_is_an_empty_text)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options mo = small_options();
    const tfm_decoder_options o = decoder_options(_i ? 4 : 1);
    const tfm_text line = {"the cat", 7};

    mo.vocab_size = tfm_tokenizer_vocab_size(t);
    tfm_model *model = model_changed(&mo, t, eos_first);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, &line, 1, &error), error);
    ck_assert_uint_eq(tfm_decoder_text(d, 0, 0).size, 0);
    ck_assert_str_eq(tfm_decoder_text(d, 0, 0).data, "");
    ck_assert_uint_eq(tfm_decoder_ids(d, 0, 0).size, 1);
    ck_assert_int_eq(tfm_decoder_ids(d, 0, 0).data[0], TFM_EOS);
    ck_assert_uint_eq(tfm_decoder_steps(d, 0), 1);

    const double score = tfm_decoder_score(d, 0, 0);
    ck_assert_double_lt(score, -1e-4);
    const tfm_text empty = {"", 0};
    ck_assert_ok(tfm_decoder_logprobs(d, &line, &empty, 1, &error), error);
    size_t n;
    ck_assert_double_eq_tol(score, (double)*tfm_decoder_token_logprobs(d, 0, &n), 1e-6);
    ck_assert_uint_eq(n, 1);
    tfm_decoder_free(d);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c28_blank_lines_stay_and_harm_no_other)
{
    static const tfm_text texts[] = {LINE(""),
                                     LINE(" "),
                                     LINE("a"),
                                     LINE(""),
                                     LINE("zzz-unknown"),
                                     LINE(" \t\r"),
                                     LINE("\0"),
                                     LINE("\u3000\u00a0"),
                                     LINE("\u2028"),
                                     LINE(" a ")};
    static const bool blank[] = {true, true, false, true, false, true, false, true, true, false};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(3);
    tfm_decoder *d = decoder_of(model, &o), *solo = decoder_of(model, &o);

    ck_assert_ok(tfm_decoder_translate(d, texts, 10, &error), error);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_eq(tfm_decoder_count(d, i), 1);
        if (blank[i]) {
            ck_assert_uint_eq(tfm_decoder_text(d, i, 0).size, 0);
            ck_assert_double_eq(tfm_decoder_score(d, i, 0), 0.0);
            ck_assert_uint_eq(tfm_decoder_steps(d, i), 0);
            continue;
        }
        ck_assert_ok(tfm_decoder_translate(solo, &texts[i], 1, &error), error);
        same_results(d, i, solo, 0);
        ck_assert_str_eq(tfm_decoder_text(d, i, 0).data, tfm_decoder_text(solo, 0, 0).data);
        ck_assert_uint_gt(tfm_decoder_steps(d, i), 0);
    }
    tfm_decoder_free(d);
    tfm_decoder_free(solo);
    tfm_model_free(model);
}
END_TEST

START_TEST(c28_a_thousand_lines_through_small_batches)
{
    static tfm_text texts[1001];
    static char bytes[1001][16];
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(2);

    for (int i = 0; i < 1001; i++) {
        texts[i].size = i % 7 == 0 ? 0 : (size_t)snprintf(bytes[i], sizeof *bytes, "%d cat %d", i % 10, i / 100);
        texts[i].data = bytes[i];
    }
    o.batch_tokens = 40;
    o.max_extra = 2;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, texts, 1001, &error), error);
    for (size_t i = 0; i < 1001; i++) {
        ck_assert_uint_eq(tfm_decoder_count(d, i), 1);
        ck_assert_int_eq(tfm_decoder_ids(d, i, 0).size == 0, i % 7 == 0);
        for (size_t j = i < 10 ? 0 : i - 10; j < i; j++)
            if (!strcmp(bytes[i], bytes[j]) && i % 7 && j % 7) same_results(d, i, d, j);
    }
    ck_assert_uint_eq(tfm_decoder_count(d, 1001), 0);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(text_is_what_the_ids_say)
{
    static const tfm_text texts[] = {LINE("the cat sat"), LINE("a dog and a cat"),
                                     LINE("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"
                                          "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(4);
    double scores[3];
    const tfm_tokenizer *t = tfm_model_tokenizer(model);

    o.n_best = 4;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, texts, 3, &error), error);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < 3; i++)
            for (size_t rank = 0; rank < tfm_decoder_count(d, i); rank++) {
                const tfm_ids ids = tfm_decoder_ids(d, i, rank);
                const tfm_text got = tfm_decoder_text(d, i, rank);
                int32_t known[256];
                char text[4096];
                size_t size;
                for (size_t j = 0; j < ids.size; j++)
                    known[j] = (uint32_t)ids.data[j] < tfm_tokenizer_vocab_size(t) ? ids.data[j] : TFM_UNK;
                ck_assert_ok(tfm_tokenizer_decode(text, sizeof text, &size, t, (tfm_ids){known, ids.size}, &error),
                             error);
                ck_assert_uint_eq(got.size, size);
                ck_assert_mem_eq(got.data, text, size);
                ck_assert_int_eq(got.data[got.size], 0);
                ck_assert_uint_eq(tfm_utf8_check(got), SIZE_MAX);
            }
        static int32_t source[3][128];
        tfm_ids ids[3];
        for (size_t i = 0; i < 3; i++) {
            if (again) ck_assert_double_eq(tfm_decoder_score(d, i, 0), scores[i]);
            scores[i] = tfm_decoder_score(d, i, 0);
            ck_assert_ok(tfm_tokenizer_encode(source[i], 127, &ids[i].size, t, texts[i], &error), error);
            source[i][ids[i].size++] = TFM_EOS;
            ids[i].data = source[i];
        }
        ck_assert_ok(tfm_decoder_translate_ids(d, ids, 3, &error), error);
    }
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(invalid_utf8_is_an_error_or_repaired)
{
    static const tfm_text texts[] = {LINE("the cat"), LINE("a \xff dog"), LINE("a \xef\xbf\xbd dog")};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(2);
    tfm_decoder *d = decoder_of(model, &o);

    ck_assert_status(tfm_decoder_translate(d, texts, 3, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "line 2"));
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    ck_assert_status(tfm_decoder_logprobs(d, texts, texts, 3, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "source line 2"));
    ck_assert_status(tfm_decoder_logprobs(d, texts, texts + 1, 1, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "target line 1"));
    tfm_decoder_free(d);
    o.replace_invalid = 1;
    d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, texts, 3, &error), error);
    same_results(d, 1, d, 2);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static int32_t favourite;

static void always_favourite(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "output.bias")) to[favourite] = 99.0f;
}

/* Long tokens need more memory than a guess gives; an id beyond the tokenizer's reads as unknown. */
START_TEST(long_tokens_and_ids_without_a_text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyz";
    const tfm_text learned[] = {{word, 26}, {word, 26}}, line = LINE("abc");
    tfm_tokenizer_options to;
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(2);
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&to, sizeof to);
    to.vocab_size = 320;
    ck_assert_ok(tfm_tokenizer_learn(&t, &to, learned, 2, &error), error);
    const uint32_t vocab = tfm_tokenizer_vocab_size(t);
    favourite = _i ? (int32_t)vocab : (int32_t)vocab - 1; /* the last merge makes the whole word */
    mo.vocab_size = vocab + 1;
    o.max_length = 100;
    o.max_extra = 100;
    tfm_model *model = model_changed(&mo, t, always_favourite);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, &line, 1, &error), error);
    const size_t length = tfm_decoder_ids(d, 0, 0).size;
    ck_assert_uint_ge(length, 100);
    int32_t ids[100];
    char want[4096];
    size_t size;
    for (size_t i = 0; i < 100; i++) ids[i] = _i ? TFM_UNK : favourite;
    ck_assert_ok(tfm_tokenizer_decode(want, sizeof want, &size, t, (tfm_ids){ids, 100}, &error), error);
    if (!_i) ck_assert_uint_ge(size, 2600);
    ck_assert_uint_eq(tfm_decoder_text(d, 0, 0).size, size);
    ck_assert_mem_eq(tfm_decoder_text(d, 0, 0).data, want, size);
    tfm_decoder_free(d);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

static Suite *decoder_text_suite(void)
{
    Suite *suite = suite_create("decoder_text");
    TCase *tc = tcase_create("decoder_text");

    tcase_add_loop_test(tc, m31_eos_at_once_is_an_empty_text, 0, 2);
    tcase_add_test(tc, c28_blank_lines_stay_and_harm_no_other);
    tcase_add_test(tc, c28_a_thousand_lines_through_small_batches);
    tcase_add_test(tc, text_is_what_the_ids_say);
    tcase_add_test(tc, invalid_utf8_is_an_error_or_repaired);
    tcase_add_loop_test(tc, long_tokens_and_ids_without_a_text, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_text_suite)
