/* tfm_attention through the public header: goldens, masks, sizes, threads, against the equation in double precision. */
#include "oracle.h"

enum { ROWS = 700, WIDTH = 40 };

static tfm_error error;
static float q[ROWS * WIDTH], k[ROWS * WIDTH], v[ROWS * WIDTH], out[ROWS * WIDTH], weights[ROWS * ROWS],
    mask[ROWS * ROWS];
static float other[ROWS * WIDTH], other_weights[ROWS * ROWS];

static tfm_attention_options defaults(void)
{
    tfm_attention_options o;

    tfm_attention_options_init(&o, sizeof o);
    return o;
}

static void near_numbers(const float *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(fabs((double)got[i] - want[i]) < 2e-7, "[%zu] %.9g, want %.9g", i, (double)got[i], want[i]);
}

/* ------------------------------------------------------------------------------------------------- goldens ---- */

static const float identity[] = {1, 0, 0, 1}, values[] = {2, 0, 0, 4};

START_TEST(m10_golden_003)
{
    static const double w[] = {0.669761549, 0.330238451, 0.330238451, 0.669761549};
    static const double o[] = {1.339523099, 1.320953803, 0.660476901, 2.679046197};

    ck_assert_ok(tfm_attention(out, weights, identity, identity, values, 2, 2, 2, 2, NULL, &error), error);
    near_numbers(weights, w, 4);
    near_numbers(out, o, 4);
}
END_TEST

START_TEST(m03_m04_golden_003_causal)
{
    static const double w[] = {1, 0, 0.330238451, 0.669761549}, want[] = {2, 0, 0.660476901, 2.679046197};
    tfm_attention_options o = defaults();

    o.causal = 1;
    ck_assert_ok(tfm_attention(out, weights, identity, identity, values, 2, 2, 2, 2, &o, &error), error);
    near_numbers(weights, w, 4);
    near_numbers(out, want, 4);
    ck_assert(weights[0] == 1.0f && weights[1] == 0.0f && out[0] == 2.0f && out[1] == 0.0f);
}
END_TEST

START_TEST(m10_golden_003_unscaled_differs)
{
    static const double w[] = {0.731058579, 0.268941421}, want[] = {1.462117157, 1.075765685};
    tfm_attention_options o = defaults();

    o.scale = 1.0f;
    ck_assert_ok(tfm_attention(out, weights, identity, identity, values, 1, 2, 2, 2, &o, &error), error);
    near_numbers(weights, w, 2);
    near_numbers(out, want, 2);
}
END_TEST

START_TEST(m09_golden_000_one_query_three_keys)
{
    static const float query[] = {1, 0}, keys[] = {1, 0, 0, 1, 1, 1}, three[] = {2, 0, 0, 2, 2, 2};
    static const double w[] = {0.401112093, 0.197775815, 0.401112093}, want[] = {1.604448371, 1.197775815};

    ck_assert_ok(tfm_attention(out, weights, query, keys, three, 1, 3, 2, 2, NULL, &error), error);
    near_numbers(weights, w, 3);
    near_numbers(out, want, 2);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- oracle ---- */

static void fill(uint64_t seed)
{
    draw_all(q, ROWS * WIDTH, &seed);
    draw_all(k, ROWS * WIDTH, &seed);
    draw_all(v, ROWS * WIDTH, &seed);
    for (size_t i = 0; i < ROWS * ROWS; i++) mask[i] = draw_bits(&seed) % 4 ? 2.0f * draw(&seed) : -INFINITY;
}

/* Runs m queries on n keys and compares outputs and weights; which queries see nothing is told by the oracle too. */
static void compare(size_t m, size_t n, size_t d_k, size_t d_v, const tfm_attention_options *o)
{
    oracle_used = 0;
    oracle_head h = {.q = oracle_wide(q, m * d_k),
                     .k = oracle_wide(k, n * d_k),
                     .v = oracle_wide(v, n * d_v),
                     .q_stride = d_k,
                     .k_stride = d_k,
                     .v_stride = d_v,
                     .out_stride = d_v,
                     .m = m,
                     .n = n,
                     .d_k = d_k,
                     .d_v = d_v,
                     .hidden = o->key_length < n ? n - o->key_length : 0,
                     .window = o->window,
                     .causal = o->causal,
                     .mask = o->mask,
                     .scale = (double)o->scale,
                     .out = oracle_new(m * d_v),
                     .weights = oracle_new(m * n)};

    oracle_attention(&h);
    for (size_t i = 0; i < ROWS * WIDTH; i++) out[i] = NAN;
    for (size_t i = 0; i < m * n; i++) weights[i] = NAN;
    ck_assert_ok(tfm_attention(out, weights, q, k, v, m, n, d_k, d_v, o, &error), error);
    for (size_t i = 0; i < m; i++) {
        double sum = 0.0, want = 0.0;
        for (size_t j = 0; j < n; j++) {
            near_one((double)weights[i * n + j], h.weights[i * n + j], 0, 2e-6, "weight", i * n + j);
            sum += (double)weights[i * n + j];
            want += h.weights[i * n + j];
        }
        near_one(sum, want == 0.0 ? 0.0 : 1.0, 0, 2e-6, "sum", i);
    }
    for (size_t i = 0; i < m * d_v; i++) near_one((double)out[i], h.out[i], 1, 2e-6, "out", i);
    if (m * d_v < ROWS * WIDTH) ck_assert(isnan(out[m * d_v])); /* nothing beyond is written */
}

START_TEST(m09_any_shape)
{
    static const size_t shapes[][4] = {{1, 1, 1, 1},   {1, 7, 3, 5},   {7, 1, 5, 3},    {3, 17, 16, 1},
                                       {17, 3, 1, 16}, {33, 65, 7, 9}, {65, 33, 40, 8}, {100, 129, 8, 40}};
    const tfm_attention_options o = defaults();

    fill(1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        compare(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], &o);
}
END_TEST

/* All of causal, window, key_length and mask, over shapes with fewer and with more queries than keys. */
START_TEST(m02_m05_every_mask_with_every_other)
{
    static const size_t shapes[][2] = {{9, 9}, {5, 40}, {40, 5}, {70, 130}};
    static const uint32_t windows[] = {0, 1, 3, 200};

    fill(2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned bits = 0; bits < 48; bits++) {
            const size_t n = shapes[s][1], lengths[] = {SIZE_MAX, n / 2, 0};
            tfm_attention_options o = defaults();
            o.causal = bits & 1;
            o.mask = bits & 2 ? mask : NULL;
            o.window = windows[bits / 4 % 4];
            o.key_length = lengths[bits / 16];
            compare(shapes[s][0], n, 6, 7, &o);
        }
}
END_TEST

START_TEST(many_queries_are_cut_in_pieces)
{
    static const size_t shapes[][2] = {{256, 300}, {257, 257}, {700, 600}, {513, 700}};

    fill(3);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (unsigned bits = 0; bits < 8; bits++) {
            tfm_attention_options o = defaults();
            o.causal = bits & 1;
            o.window = bits & 2 ? 20 : 0;
            o.mask = bits & 4 ? mask : NULL;
            o.n_threads = 1 + bits % 3;
            compare(shapes[s][0], shapes[s][1], 4, 3, &o);
        }
}
END_TEST

START_TEST(m49_same_bits_for_any_number_of_threads)
{
    static const uint32_t threads[] = {2, 5, 0};
    tfm_attention_options o = defaults();

    fill(4);
    o.causal = 1;
    o.mask = mask;
    ck_assert_ok(tfm_attention(other, other_weights, q, k, v, ROWS, ROWS, 16, 16, &o, &error), error);
    for (size_t i = 0; i < 3; i++) {
        o.n_threads = threads[i];
        memset(out, 0, sizeof out);
        ck_assert_ok(tfm_attention(out, weights, q, k, v, ROWS, ROWS, 16, 16, &o, &error), error);
        ck_assert_mem_eq(out, other, ROWS * 16 * sizeof *out);
        ck_assert_mem_eq(weights, other_weights, sizeof weights);
    }
    memset(out, 0, sizeof out);
    ck_assert_ok(tfm_attention(out, NULL, q, k, v, ROWS, ROWS, 16, 16, &o, &error), error); /* without weights */
    ck_assert_mem_eq(out, other, ROWS * 16 * sizeof *out);
}
END_TEST

/* --------------------------------------------------------------------------------------------- what is hidden ---- */

START_TEST(m01_c20_a_query_that_sees_nothing_gives_zeros)
{
    tfm_attention_options o = defaults();

    fill(5);
    for (size_t j = 0; j < 50; j++) mask[3 * 50 + j] = -INFINITY;
    o.mask = mask;
    compare(9, 50, 8, 8, &o);
    for (size_t j = 0; j < 50; j++) ck_assert(weights[3 * 50 + j] == 0.0f);
    for (size_t c = 0; c < 8; c++) ck_assert(out[3 * 8 + c] == 0.0f);
    for (size_t i = 0; i < 9; i++) { /* the others are as if alone */
        tfm_attention_options alone = defaults();
        alone.mask = mask + i * 50;
        ck_assert_ok(tfm_attention(other, NULL, q + i * 8, k, v, 1, 50, 8, 8, &alone, &error), error);
        ck_assert_mem_eq(other, out + i * 8, 8 * sizeof *out);
    }
    o = defaults();
    o.key_length = 0;
    ck_assert_ok(tfm_attention(out, weights, q, k, v, 9, 50, 8, 8, &o, &error), error);
    for (size_t i = 0; i < 9 * 8; i++) ck_assert(out[i] == 0.0f);
    o = defaults();
    o.causal = 1; /* with more queries than keys the first stand before every key */
    compare(12, 4, 8, 8, &o);
    for (size_t i = 0; i < 8 * 8; i++) ck_assert(out[i] == 0.0f);
    ck_assert(weights[8 * 4] == 1.0f);
}
END_TEST

START_TEST(m02_m06_extreme_scores)
{
    static const float one[] = {1, 1}, far[] = {-1e4f, 5, 3e38f, -3e38f};
    tfm_attention_options o = defaults();
    float m[4] = {0, -INFINITY, -INFINITY, -INFINITY};

    o.mask = m;
    ck_assert_ok(tfm_attention(out, weights, one, far, far, 1, 4, 1, 1, &o, &error), error);
    ck_assert(weights[0] == 1.0f && weights[1] == 0.0f && out[0] == -1e4f); /* the one allowed key */
    for (size_t i = 0; i < 4; i++) m[i] = -1e30f;
    m[3] = -3e38f;
    ck_assert_ok(tfm_attention(out, weights, one, one, one, 1, 2, 1, 1, &o, &error), error);
    ck_assert_double_eq_tol((double)weights[0], 0.5, 1e-6);
    ck_assert_ok(tfm_attention(out, weights, one, (float[]){1, 1, 1, -1}, far, 1, 4, 1, 1, &o, &error), error);
    for (size_t i = 0; i < 4; i++) ck_assert(isfinite(weights[i]));
    ck_assert(weights[3] == 0.0f);
}
END_TEST

START_TEST(m03_hidden_keys_leave_no_trace)
{
    tfm_attention_options o = defaults();

    fill(6);
    o.causal = 1;
    ck_assert_ok(tfm_attention(other, NULL, q, k, v, 60, 60, 8, 8, &o, &error), error);
    for (size_t c = 0; c < 8; c++) k[50 * 8 + c] += 1.0f, v[50 * 8 + c] -= 1.0f;
    ck_assert_ok(tfm_attention(out, NULL, q, k, v, 60, 60, 8, 8, &o, &error), error);
    ck_assert_mem_eq(out, other, 50 * 8 * sizeof *out); /* before it: the same bits */
    for (size_t i = 50; i < 60; i++) ck_assert_mem_ne(out + i * 8, other + i * 8, 8 * sizeof *out);
    o = defaults(); /* a longer sequence with its end hidden is the shorter one */
    ck_assert_ok(tfm_attention(other, NULL, q, k, v, 30, 45, 8, 8, &o, &error), error);
    o.key_length = 45;
    ck_assert_ok(tfm_attention(out, NULL, q, k, v, 30, 600, 8, 8, &o, &error), error);
    ck_assert_mem_eq(out, other, 30 * 8 * sizeof *out);
}
END_TEST

START_TEST(memory_grows_with_the_keys_alone)
{
    enum { N = 7000, D = 4 };
    static const size_t queries[] = {1, 300, N};

    fill(9);
    for (size_t i = 0; i < 3; i++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_attention_options o = defaults();
        o.allocator = &a;
        ck_assert_ok(tfm_attention(out, NULL, q, k, v, queries[i], N, D, D, &o, &error), error);
        ck_assert_uint_le(f.peak, N * 2 * 8 * sizeof(float) + (64 << 10)); /* rows of D are padded to 8 */
    }
}
END_TEST

START_TEST(m03_a_hidden_key_may_hold_anything)
{
    static const float anything[] = {NAN, INFINITY, -INFINITY};
    tfm_attention_options o = defaults();

    for (size_t c = 0; c < 3 * 3; c++) {
        fill(10);
        for (size_t j = 0; j < 60; j++) mask[3 * 60 + j] = j == 50 ? -INFINITY : 0.0f;
        o.causal = c / 3 == 0;
        o.window = c / 3 == 1 ? 5 : 0;
        o.mask = c / 3 == 2 ? mask : NULL;
        ck_assert_ok(tfm_attention(other, other_weights, q, k, v, 60, 60, 8, 8, &o, &error), error);
        for (size_t e = 0; e < 8; e++) k[50 * 8 + e] = v[50 * 8 + e] = anything[c % 3];
        ck_assert_ok(tfm_attention(out, weights, q, k, v, 60, 60, 8, 8, &o, &error), error);
        ck_assert_mem_eq(out + 3 * 8, other + 3 * 8, 8 * sizeof *out);
        ck_assert_mem_eq(weights + 3 * 60, other_weights + 3 * 60, 60 * sizeof *weights);
    }
}
END_TEST

START_TEST(permuted_keys_give_the_same_output)
{
    fill(7);
    ck_assert_ok(tfm_attention(out, NULL, q, k, v, 20, 90, 8, 8, NULL, &error), error);
    for (size_t j = 0; j < 90; j++) {
        memcpy(mask + j * 8, k + (89 - j) * 8, 8 * sizeof *k);
        memcpy(weights + j * 8, v + (89 - j) * 8, 8 * sizeof *v);
    }
    ck_assert_ok(tfm_attention(other, NULL, q, mask, weights, 20, 90, 8, 8, NULL, &error), error);
    for (size_t i = 0; i < 20 * 8; i++) ck_assert_double_eq_tol((double)out[i], (double)other[i], 1e-6);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- errors ---- */

START_TEST(c34_bad_arguments_are_refused)
{
    tfm_attention_options o = defaults();

    ck_assert_int_eq(tfm_attention(NULL, NULL, q, k, v, 1, 1, 1, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_attention(out, NULL, NULL, k, v, 1, 1, 1, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_attention(out, NULL, q, NULL, v, 1, 1, 1, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_attention(out, NULL, q, k, NULL, 1, 1, 1, 1, NULL, NULL), TFM_E_INVALID);
    for (size_t i = 0; i < 4; i++) {
        size_t sizes[] = {1, 1, 1, 1};
        for (size_t bad = 0; bad < 2; bad++) {
            sizes[i] = bad ? SIZE_MAX / 2 : 0;
            ck_assert_status(tfm_attention(out, NULL, q, k, v, sizes[0], sizes[1], sizes[2], sizes[3], &o, &error),
                             TFM_E_INVALID, error);
            ck_assert_ptr_nonnull(strstr(error.message, "n_queries"));
        }
    }
    o.scale = NAN;
    ck_assert_int_eq(tfm_attention(out, NULL, q, k, v, 1, 1, 1, 1, &o, NULL), TFM_E_INVALID);
    o.scale = 0.0f;
    o.reserved = 1;
    ck_assert_int_eq(tfm_attention(out, NULL, q, k, v, 1, 1, 1, 1, &o, NULL), TFM_E_INVALID);
    o.reserved = 0;
    o.n_threads = 5000;
    ck_assert_status(tfm_attention(out, NULL, q, k, v, 1, 1, 1, 1, &o, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(c34_every_allocation_may_fail)
{
    tfm_attention_options o = defaults();
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    fill(8);
    o.n_threads = 2;
    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        o.allocator = &a;
        status = tfm_attention(out, weights, q, k, v, 300, 300, 8, 8, &o, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_lt(f.peak, 1 << 20); /* of the order of the inputs, not of the weights */
    }
    ck_assert_uint_gt(n, 2);
}
END_TEST

static Suite *attention_suite(void)
{
    Suite *suite = suite_create("attention");
    TCase *tc = tcase_create("attention");

    tcase_add_test(tc, m10_golden_003);
    tcase_add_test(tc, m03_m04_golden_003_causal);
    tcase_add_test(tc, m10_golden_003_unscaled_differs);
    tcase_add_test(tc, m09_golden_000_one_query_three_keys);
    tcase_add_test(tc, m09_any_shape);
    tcase_add_test(tc, m02_m05_every_mask_with_every_other);
    tcase_add_test(tc, many_queries_are_cut_in_pieces);
    tcase_add_test(tc, m49_same_bits_for_any_number_of_threads);
    tcase_add_test(tc, m01_c20_a_query_that_sees_nothing_gives_zeros);
    tcase_add_test(tc, m02_m06_extreme_scores);
    tcase_add_test(tc, m03_hidden_keys_leave_no_trace);
    tcase_add_test(tc, memory_grows_with_the_keys_alone);
    tcase_add_test(tc, m03_a_hidden_key_may_hold_anything);
    tcase_add_test(tc, permuted_keys_give_the_same_output);
    tcase_add_test(tc, c34_bad_arguments_are_refused);
    tcase_add_test(tc, c34_every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(attention_suite)
