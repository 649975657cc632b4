/* tfm_model through the public header: creation, parameters, averages. */
#include "decoder_models.h"

static tfm_model_options options_of(uint32_t vocab)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.vocab_size = vocab;
    return o;
}

/* ------------------------------------------------------------------------------------------------ creation ---- */

START_TEST(impossible_configurations_are_refused)
{
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        {"vocab_size", NULL, "vocab_size is 0, not in 4..16777216"},
        {"n_heads", "7", "d_model 16 is not a multiple of n_heads 7: set d_k and d_v"},
        {"source_vocab_size", "54", "source_vocab_size is 54 but vocab_size 53"},
        {"source_vocab_size", "2", "source_vocab_size is 2, not in 4..16777216"},
        {"position_offset", "256", "position_offset is 256, not below max_positions 256"},
        {"reserved", NULL, "reserved is 1, not 0"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_model_options o = small_options();
        tfm_model *model = (tfm_model *)&o;
        if (cases[i].value) ck_assert_ok(tfm_model_options_set(&o, cases[i].name, cases[i].value, &error), error);
        else if (!i) o.vocab_size = 0;
        else o.reserved = 1;
        if (!strcmp(cases[i].name, "position_offset")) o.positions = TFM_POSITIONS_LEARNED;
        ck_assert_int_ne(tfm_model_create(&model, &o, NULL, &error), TFM_OK);
        ck_assert_ptr_null(model);
        ck_assert_msg(!strncmp(error.message, cases[i].says, strlen(cases[i].says)), "%s", error.message);
    }
}
END_TEST

/* Has a gigabyte to give, as a small machine would. */
static void *stingy_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    return new_size > 1 << 30 ? NULL : faulty_resize(user, ptr, old_size, new_size);
}

START_TEST(huge_configurations_fail_without_harm)
{
    tfm_model_options o = options_of(16777216);
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = {stingy_resize, &f};
    tfm_model *model;

    o.n_encoder_layers = o.n_decoder_layers = 256;
    o.d_model = 65536;
    o.d_ff = 1048576;
    o.n_heads = 1024;
    o.d_k = o.d_v = 4096;
    o.allocator = &a;
    ck_assert_status(tfm_model_create(&model, &o, NULL, &error), TFM_E_NOMEM, error);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

START_TEST(the_tokenizer_sets_the_vocabulary)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options o = small_options();
    tfm_model *model;

    o.vocab_size = 0;
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    tfm_model_get_options(&o, sizeof o, model);
    ck_assert_uint_eq(o.vocab_size, tfm_tokenizer_vocab_size(t));
    ck_assert_uint_eq(o.source_vocab_size, o.vocab_size);
    ck_assert_ptr_ne(tfm_model_tokenizer(model), t); /* its own copy */
    tfm_model_free(model);
    o.vocab_size--;
    o.source_vocab_size = 0;
    ck_assert_status(tfm_model_create(&model, &o, t, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "the tokenizer has 280 tokens, more than vocab_size 279");
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(weights_are_drawn_from_the_seed)
{
    tfm_model_options o = small_options();
    tfm_model *a, *b, *c;
    tfm_parameter p, q, r;

    ck_assert_ok(tfm_model_create(&a, &o, NULL, &error), error);
    ck_assert_ok(tfm_model_create(&b, &o, NULL, &error), error);
    o.seed = 2;
    ck_assert_ok(tfm_model_create(&c, &o, NULL, &error), error);
    for (size_t i = 0; i < tfm_model_parameter_count(a); i++) {
        ck_assert_ok(tfm_model_parameter_at(&p, a, i, &error), error);
        ck_assert_ok(tfm_model_parameter_at(&q, b, i, &error), error);
        ck_assert_ok(tfm_model_parameter_at(&r, c, i, &error), error);
        const size_t bytes = (size_t)p.shape[0] * p.shape[1] * sizeof *p.data;
        ck_assert_mem_eq(p.data, q.data, bytes);
        if (p.rank == 2) ck_assert_mem_ne(p.data, r.data, bytes);
    }
    tfm_model_free(a);
    tfm_model_free(b);
    tfm_model_free(c);
}
END_TEST

/* The largest element of a uniform matrix comes close to its limit, PAPER 1.11. */
static void assert_limit(const tfm_model *m, const char *name, double limit)
{
    tfm_parameter p;
    double most = 0.0;

    ck_assert_ok(tfm_model_parameter_named(&p, m, name, &error), error);
    for (size_t i = 0; i < (size_t)p.shape[0] * p.shape[1]; i++) most = fmax(most, fabs((double)p.data[i]));
    ck_assert_msg(most <= limit * 1.000001 && most > limit * 0.999, "%s: %g, limit %g", name, most, limit);
}

START_TEST(weights_have_the_limits_of_2017)
{
    tfm_model_options o = options_of(1000);
    double squares = 0.0;
    tfm_parameter p;
    tfm_model *m;

    o.n_encoder_layers = o.n_decoder_layers = 1;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    assert_limit(m, "encoder.layers.0.attention.key.weight", 0.054127);
    assert_limit(m, "decoder.layers.0.attention.value.weight", 0.054127);
    assert_limit(m, "decoder.layers.0.cross.key.weight", 0.0625);
    assert_limit(m, "decoder.layers.0.cross.query.weight", 0.076547);
    assert_limit(m, "decoder.layers.0.cross.output.weight", 0.076547);
    assert_limit(m, "encoder.layers.0.feedforward.inner.weight", 0.0484123);
    ck_assert_ok(tfm_model_parameter_named(&p, m, "embedding.weight", &error), error);
    for (size_t i = 0; i < 512000; i++) squares += (double)p.data[i] * (double)p.data[i];
    golden_near(sqrt(squares / 512000.0), 0.044194, 0, 0.01, "deviation of embeddings");
    ck_assert_ok(tfm_model_parameter_named(&p, m, "encoder.layers.0.attention.norm.weight", &error), error);
    ck_assert(p.data[0] == 1.0f && p.rank == 1 && p.shape[0] == 512 && p.shape[1] == 1 && p.shape[2] == 1);
    ck_assert_ok(tfm_model_parameter_named(&p, m, "encoder.layers.0.feedforward.inner.bias", &error), error);
    ck_assert(p.data[5] == 0.0f && p.shape[0] == 2048);
    tfm_model_free(m);
    o.init = TFM_INIT_SEPARATE;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    assert_limit(m, "encoder.layers.0.attention.key.weight", 0.076547);
    assert_limit(m, "decoder.layers.0.cross.value.weight", 0.076547);
    tfm_model_free(m);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- parameters ---- */

START_TEST(parameters_by_index_and_by_name)
{
    tfm_model_options o = small_options();
    tfm_model_costs costs;
    tfm_model *m = model_make();
    tfm_parameter p, q;
    uint64_t sum = 0;

    for (size_t i = 0; i < tfm_model_parameter_count(m); i++) {
        ck_assert_ok(tfm_model_parameter_at(&p, m, i, &error), error);
        ck_assert_ok(tfm_model_parameter_named(&q, m, p.name, &error), error);
        ck_assert(p.data == q.data && p.name == q.name && !memcmp(p.shape, q.shape, sizeof p.shape) &&
                  p.rank == q.rank);
        ck_assert(p.rank == 1 || p.rank == 2);
        sum += (uint64_t)p.shape[0] * p.shape[1] * p.shape[2];
    }
    ck_assert_ok(tfm_model_options_costs(&costs, sizeof costs, &o, 1, 1, &error), error);
    ck_assert_uint_eq(sum, costs.parameters);
    ck_assert_ok(tfm_model_parameter_at(&p, m, 0, &error), error);
    ck_assert_str_eq(p.name, "embedding.weight");
    ck_assert(p.shape[0] == 53 && p.shape[1] == 16);
    ck_assert_int_eq(tfm_model_parameter_at(&p, m, tfm_model_parameter_count(m), &error), TFM_E_INVALID);
    ck_assert_int_eq(tfm_model_parameter_at(&p, m, SIZE_MAX, &error), TFM_E_INVALID);
    ck_assert_int_eq(tfm_model_parameter_named(&p, m, "embedding", &error), TFM_E_INVALID);
    ck_assert_str_eq(error.message, "the model has no parameter 'embedding'");
    tfm_model_free(m);
}
END_TEST

START_TEST(a_model_from_given_weights)
{
    static tfm_parameter p[64], bad[64];
    tfm_model_options o = small_options();
    tfm_model *m = model_make(), *again;
    const size_t n = tfm_model_parameter_count(m);
    static const char *const says[] = {"is not one of this", "is not one of this", "data is NULL",   "has the shape",
                                       "has the shape",      "has the shape",      "was given twice"};

    for (size_t i = 0; i < n; i++)
        ck_assert_ok(tfm_model_parameter_at(&p[n - 1 - i], m, i, &error), error); /* any order */
    ck_assert_ok(tfm_model_create_from(&again, &o, NULL, p, n, &error), error);
    for (size_t i = 0; i < n; i++) {
        tfm_parameter a;
        ck_assert_ok(tfm_model_parameter_named(&a, again, p[i].name, &error), error);
        ck_assert(a.data != p[i].data);
        ck_assert_mem_eq(a.data, p[i].data, (size_t)p[i].shape[0] * p[i].shape[1] * sizeof *a.data);
    }
    tfm_model_free(again);
    for (size_t c = 0; c < sizeof says / sizeof *says; c++) {
        memcpy(bad, p, sizeof bad);
        switch (c) {
        case 0:
            bad[3].name = "encoder.layers.9.attention.query.weight";
            break;
        case 1:
            bad[3].name = NULL;
            break;
        case 2:
            bad[3].data = NULL;
            break;
        case 3:
            bad[3].shape[0]++;
            break;
        case 4:
            bad[n - 1].shape[1]--;
            break;
        case 5:
            bad[n - 1].rank = 1;
            break;
        default:
            bad[3] = bad[4];
            break;
        }
        ck_assert_status(tfm_model_create_from(&again, &o, NULL, bad, n, &error), TFM_E_INVALID, error);
        ck_assert_msg(strstr(error.message, says[c]) != NULL, "%s", error.message);
        ck_assert_ptr_null(again);
    }
    ck_assert_status(tfm_model_create_from(&again, &o, NULL, p, n - 1, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_model_create_from(&again, &o, NULL, p, 0, &error), TFM_E_INVALID, error);
    tfm_model_free(m);
}
END_TEST

/* ----------------------------------------------------------------------------------------------- averaging ---- */

static tfm_model *model_of_seed(uint64_t seed)
{
    tfm_model_options o = small_options();
    tfm_model *m;

    o.seed = seed;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    return m;
}

static const float *first_weights(const tfm_model *m)
{
    tfm_parameter p;

    ck_assert_ok(tfm_model_parameter_at(&p, m, 0, &error), error);
    return p.data; /* all of the model end to end */
}

START_TEST(m42_averages)
{
    enum { N = 53 * 16 };
    tfm_model *a = model_of_seed(1), *b = model_of_seed(2), *c = model_of_seed(3), *mean;
    const tfm_model *equal[] = {a, a, a, a, a}, *two[] = {a, b}, *three[] = {a, b, c};

    for (size_t n = 1; n <= 5; n++) {
        ck_assert_ok(tfm_model_average(&mean, equal, n, &error), error);
        ck_assert_mem_eq(first_weights(mean), first_weights(a), N * sizeof(float)); /* to the bit */
        tfm_model_free(mean);
    }
    ck_assert_ok(tfm_model_average(&mean, two, 2, &error), error);
    for (size_t i = 0; i < N; i++) {
        const double want = ((double)first_weights(a)[i] + (double)first_weights(b)[i]) / 2.0;
        if (first_weights(mean)[i] != (float)want) ck_abort_msg("%zu: %.9g", i, (double)first_weights(mean)[i]);
    }
    tfm_model_free(mean);
    ck_assert_ok(tfm_model_average(&mean, three, 3, &error), error);
    for (size_t i = 0; i < N; i++) {
        const double want =
            ((double)first_weights(a)[i] + (double)first_weights(b)[i] + (double)first_weights(c)[i]) / 3.0;
        if (first_weights(mean)[i] != (float)want) ck_abort_msg("%zu: %.9g", i, (double)first_weights(mean)[i]);
    }
    tfm_model_free(mean);
    tfm_model_free(a);
    tfm_model_free(b);
    tfm_model_free(c);
}
END_TEST

START_TEST(m42_models_of_different_form_have_no_average)
{
    tfm_model_options o = small_options();
    tfm_model *a = model_of_seed(1), *b, *mean = a;
    const tfm_model *both[] = {a, NULL};

    ck_assert_int_eq(tfm_model_average(&mean, both, 2, &error), TFM_E_INVALID);
    ck_assert_str_eq(error.message, "model 1 is NULL");
    ck_assert_ptr_null(mean);
    ck_assert_int_eq(tfm_model_average(&mean, both, 0, &error), TFM_E_INVALID);
    o.layer_norm_eps = 1e-5f;
    ck_assert_ok(tfm_model_create(&b, &o, NULL, &error), error);
    both[1] = b;
    ck_assert_int_eq(tfm_model_average(&mean, both, 2, &error), TFM_E_INVALID);
    ck_assert_str_eq(error.message, "model 1 has another configuration than model 0");
    tfm_model_free(a);
    tfm_model_free(b);
}
END_TEST

START_TEST(an_average_keeps_the_tokenizer)
{
    tfm_model *a = text_model_make(), *mean;
    const tfm_model *const both[] = {a, a};

    ck_assert_ok(tfm_model_average(&mean, both, 2, &error), error);
    ck_assert_ptr_nonnull(tfm_model_tokenizer(mean));
    ck_assert_ptr_ne(tfm_model_tokenizer(mean), tfm_model_tokenizer(a));
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(tfm_model_tokenizer(mean)),
                      tfm_tokenizer_vocab_size(tfm_model_tokenizer(a)));
    tfm_model_free(a);
    tfm_model_free(mean);
}
END_TEST

static Suite *model_api_suite(void)
{
    Suite *suite = suite_create("model_api");
    TCase *tc = tcase_create("model_api");

    tcase_add_test(tc, impossible_configurations_are_refused);
    tcase_add_test(tc, huge_configurations_fail_without_harm);
    tcase_add_test(tc, the_tokenizer_sets_the_vocabulary);
    tcase_add_test(tc, weights_are_drawn_from_the_seed);
    tcase_add_test(tc, weights_have_the_limits_of_2017);
    tcase_add_test(tc, parameters_by_index_and_by_name);
    tcase_add_test(tc, a_model_from_given_weights);
    tcase_add_test(tc, m42_averages);
    tcase_add_test(tc, m42_models_of_different_form_have_no_average);
    tcase_add_test(tc, an_average_keeps_the_tokenizer);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(model_api_suite)
