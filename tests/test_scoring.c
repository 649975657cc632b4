/* tfm_decoder through the public header: log-probabilities and attention weights. */
#include "decoder_models.h"

/* --------------------------------------------------------------------------------------------------- scoring ---- */

START_TEST(logprobs_do_not_depend_on_the_batch)
{
    static tfm_ids sentences[SENTENCES], targets[SENTENCES];
    tfm_decoder_options o = decoder_options(1);
    tfm_model *model = model_make();

    sentences_make(sentences);
    for (size_t i = 0; i < SENTENCES; i++) targets[i] = sentences[(i * 5 + 1) % SENTENCES];
    tfm_decoder *alone = decoder_of(model, &o);
    o.batch_tokens = _i ? 100 : 4096;
    o.n_threads = 2;
    tfm_decoder *many = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_logprobs_ids(many, sentences, targets, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) { /* empty sources and targets among them */
        size_t n, m;
        const float *all = tfm_decoder_token_logprobs(many, i, &n);
        ck_assert_uint_eq(n, targets[i].size);
        ck_assert_ok(tfm_decoder_logprobs_ids(alone, &sentences[i], &targets[i], 1, &error), error);
        const float *one = tfm_decoder_token_logprobs(alone, 0, &m);
        ck_assert_uint_eq(n, m);
        ck_assert_mem_eq(all, one, n * sizeof *all);
        double sum = 0.0;
        for (size_t j = 0; j < n; j++) {
            ck_assert_float_lt(all[j], 0.0f);
            sum += (double)all[j];
        }
        ck_assert_double_eq(tfm_decoder_pair_logprob(many, i), sum);
    }
    size_t n = 7;
    ck_assert_ptr_null(tfm_decoder_token_logprobs(many, SENTENCES, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert(isnan(tfm_decoder_pair_logprob(many, SENTENCES)));
    tfm_decoder_free(many);
    tfm_decoder_free(alone);
    tfm_model_free(model);
}
END_TEST

/* What lives at once is bounded by batch_tokens on both sides. */
START_TEST(batch_tokens_bound_the_memory)
{
    static tfm_ids sources[SENTENCES], targets[SENTENCES], sentences[SENTENCES];
    static const uint32_t budgets[] = {300, 100000};
    tfm_decoder_options o = decoder_options(1);
    tfm_model *model = model_make();
    size_t peak[2][2];

    sentences_make(sentences);
    for (size_t i = 0; i < SENTENCES; i++) sources[i] = targets[i] = sentences[i % 60];
    for (int longer = 0; longer < 2; longer++)
        for (int i = 0; i < 2; i++) {
            faulty f = {.fail_at = SIZE_MAX};
            const tfm_allocator a = faulty_allocator(&f);
            o.allocator = &a;
            o.batch_tokens = budgets[i];
            for (size_t s = 0; s < SENTENCES; s++) (longer ? sources : targets)[s].size = sentences[s % 60].size > 0;
            tfm_decoder *d = decoder_of(model, &o);
            const size_t before = f.live;
            ck_assert_ok(tfm_decoder_logprobs_ids(d, sources, targets, SENTENCES, &error), error);
            peak[longer][i] = f.peak - before;
            tfm_decoder_free(d);
            for (size_t s = 0; s < SENTENCES; s++) sources[s] = targets[s] = sentences[s % 60];
        }
    ck_assert_uint_lt(peak[0][0], peak[0][1] / 3);
    ck_assert_uint_lt(peak[1][0], peak[1][1] / 3);
    tfm_model_free(model);
}
END_TEST

START_TEST(probabilities_of_all_continuations_sum_to_one)
{
    static const int32_t source[] = {5, 9, 1};
    static int32_t targets[53][3];
    static tfm_ids sources[53], ids[53];
    const tfm_decoder_options o = decoder_options(1);
    tfm_model *model = model_make();
    tfm_decoder *d = decoder_of(model, &o);
    double sum = 0.0;
    size_t n;

    for (int32_t i = 0; i < 53; i++) {
        memcpy(targets[i], ((int32_t[]){7, 8, i}), sizeof *targets);
        sources[i] = (tfm_ids){source, 3};
        ids[i] = (tfm_ids){targets[i], 3};
    }
    ck_assert_ok(tfm_decoder_logprobs_ids(d, sources, ids, 53, &error), error);
    for (size_t i = 0; i < 53; i++) sum += exp((double)tfm_decoder_token_logprobs(d, i, &n)[2]);
    ck_assert_double_eq_tol(sum, 1.0, 1e-5);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(logprobs_of_text_are_those_of_its_ids)
{
    static const tfm_text sources[] = {LINE("the cat sat"), LINE("a dog"), LINE("")},
                          targets[] = {LINE("a log"), LINE(""), LINE("the mat")};
    tfm_model *model = text_model_make();
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    const tfm_decoder_options o = decoder_options(1);
    tfm_decoder *text = decoder_of(model, &o), *ids = decoder_of(model, &o);

    ck_assert_ok(tfm_decoder_logprobs(text, sources, targets, 3, &error), error);
    for (size_t i = 0; i < 3; i++) {
        int32_t s[32], u[32];
        tfm_ids source = {s, 0}, target = {u, 0};
        size_t n;
        ck_assert_ok(tfm_tokenizer_encode(s, 31, &source.size, t, sources[i], &error), error);
        ck_assert_ok(tfm_tokenizer_encode(u, 31, &target.size, t, targets[i], &error), error);
        s[source.size++] = u[target.size++] = TFM_EOS;
        ck_assert_ok(tfm_decoder_logprobs_ids(ids, &source, &target, 1, &error), error);
        tfm_decoder_token_logprobs(text, i, &n);
        ck_assert_uint_eq(n, target.size);
        ck_assert_double_eq(tfm_decoder_pair_logprob(text, i), tfm_decoder_pair_logprob(ids, 0));
    }
    tfm_decoder_free(text);
    tfm_decoder_free(ids);
    tfm_model_free(model);
}
END_TEST

/* A source of white space says no more than an empty one. */
START_TEST(blank_sources_are_eos_alone)
{
    static const tfm_text sources[] = {{NULL, 0}, LINE(" "), LINE("\t \xE3\x80\x80")},
                          targets[] = {LINE("a log"), LINE("a log"), LINE("a log")};
    tfm_model *model = text_model_make();
    const tfm_decoder_options o = decoder_options(1);
    tfm_decoder *d = decoder_of(model, &o);

    ck_assert_ok(tfm_decoder_logprobs(d, sources, targets, 3, &error), error);
    for (size_t i = 1; i < 3; i++)
        ck_assert_double_eq(tfm_decoder_pair_logprob(d, i), tfm_decoder_pair_logprob(d, 0));
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- attention ---- */

START_TEST(attention_weights)
{
    static const double golden_row[] = {0.241851233, 0.202655355, 0.187822742, 0.171219687, 0.196450983};
    const tfm_ids source = golden_sources[0], target = {golden_labels, 4};
    const tfm_decoder_options o = decoder_options(1);
    tfm_model *model = golden_make();
    tfm_decoder *d = decoder_of(model, &o);
    const float *weights;
    size_t rows, cols;

    ck_assert_ok(
        tfm_decoder_attention(&weights, &rows, &cols, d, source, (tfm_ids){0}, TFM_ATTENTION_ENCODER, 0, 0, &error),
        error);
    for (size_t i = 0; i < 5; i++) ck_assert_double_eq_tol((double)weights[i], golden_row[i], 1e-6);
    for (uint32_t kind = 0; kind < 3; kind++)
        for (uint32_t layer = 0; layer < 2; layer++) {
            float first[2][8];
            for (uint32_t head = 0; head < 2; head++) {
                ck_assert_ok(
                    tfm_decoder_attention(&weights, &rows, &cols, d, source, target, kind, layer, head, &error), error);
                ck_assert_uint_eq(rows, kind == TFM_ATTENTION_ENCODER ? 5 : 4);
                ck_assert_uint_eq(cols, kind == TFM_ATTENTION_DECODER ? 4 : 5);
                for (size_t r = 0; r < rows; r++) {
                    double sum = 0.0;
                    for (size_t c = 0; c < cols; c++) {
                        sum += (double)weights[r * cols + c];
                        if (kind == TFM_ATTENTION_DECODER && c > r) ck_assert_float_eq(weights[r * cols + c], 0.0f);
                    }
                    ck_assert_double_eq_tol(sum, 1.0, 1e-6);
                }
                memcpy(first[head], weights + (rows - 1) * cols, cols * sizeof(float));
            }
            ck_assert_mem_ne(first[0], first[1], cols * sizeof(float)); /* heads differ */
        }
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(attention_of_every_layer_and_head)
{
    const tfm_ids source = golden_sources[0], target = {golden_labels, 4};
    const tfm_decoder_options o = decoder_options(1);
    tfm_model *model = golden_make();
    tfm_decoder *d = decoder_of(model, &o), *other = decoder_of(model, &o);

    for (uint32_t kind = 0; kind < 3; kind++) {
        const float *all, *one;
        size_t shape[4], rows, cols;
        ck_assert_ok(tfm_decoder_attention_all(&all, shape, d, source, target, kind, &error), error);
        ck_assert(shape[0] == 2 && shape[1] == 2);
        for (uint32_t i = 0; i < 4; i++) {
            ck_assert_ok(tfm_decoder_attention(&one, &rows, &cols, other, source, target, kind, i / 2, i % 2, &error),
                         error);
            ck_assert(shape[2] == rows && shape[3] == cols);
            ck_assert_mem_eq(all + i * rows * cols, one, rows * cols * sizeof *one);
        }
    }
    tfm_decoder_free(d);
    tfm_decoder_free(other);
    tfm_model_free(model);
}
END_TEST

START_TEST(attention_refuses_what_does_not_exist)
{
    const tfm_ids source = golden_sources[0], target = {golden_labels, 4}, none = {NULL, 0};
    const tfm_decoder_options o = decoder_options(1);
    tfm_model *model = golden_make();
    tfm_decoder *d = decoder_of(model, &o);
    const float *w;
    size_t r, c, shape[4];

    ck_assert_status(tfm_decoder_attention_all(&w, shape, d, source, target, 3, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention_all(&w, shape, d, none, target, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention_all(&w, shape, d, source, none, 1, &error), TFM_E_INVALID, error);
    ck_assert(!w && !shape[0] && !shape[3]);
    ck_assert_status(tfm_decoder_attention_all(&w, NULL, d, source, target, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention_all(NULL, shape, d, source, target, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention_all(&w, shape, NULL, source, target, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, d, source, target, 3, 0, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, d, source, target, 0, 2, 0, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "layer is 2, not in 0..1");
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, d, source, target, 0, 0, 2, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, d, none, target, 2, 0, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, d, source, none, 2, 0, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(NULL, &r, &c, d, source, target, 2, 0, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_attention(&w, &r, &c, NULL, source, target, 2, 0, 0, &error), TFM_E_INVALID, error);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *scoring_suite(void)
{
    Suite *suite = suite_create("scoring");
    TCase *tc = tcase_create("scoring");

    tcase_add_loop_test(tc, logprobs_do_not_depend_on_the_batch, 0, 2);
    tcase_add_test(tc, batch_tokens_bound_the_memory);
    tcase_add_test(tc, probabilities_of_all_continuations_sum_to_one);
    tcase_add_test(tc, logprobs_of_text_are_those_of_its_ids);
    tcase_add_test(tc, blank_sources_are_eos_alone);
    tcase_add_test(tc, attention_weights);
    tcase_add_test(tc, attention_of_every_layer_and_head);
    tcase_add_test(tc, attention_refuses_what_does_not_exist);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(scoring_suite)
