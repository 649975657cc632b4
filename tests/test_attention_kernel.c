/* One head of attention, forward and backward, against the equations in double; and what a row of it does not depend
 * on. */
#include "attention_trial.h"

static float dk[ROWS * WIDTH], dv[ROWS * WIDTH], other[ROWS * WIDTH], other_weights[ROWS * ROWS];

/* Errors: of scores (d_k products of size |q||k|), of their exponentials, of sums over n. */
static void check_forward(const tfm_kernels *kernels, const tfm_head *h, float size)
{
    const double scores = (double)size * (double)size * sqrt((double)h->d_k) + (h->mask ? 8.0 : 0.0);
    const double bound = 0x1p-24 * (20.0 + (double)h->n / 8.0 + 2.0 * ((double)h->d_k + 2.0) * scores);

    oracle_used = 0;
    const oracle_head o = mirror(h);
    run(kernels, h, false);
    for (size_t i = 0; i < h->m; i++) {
        double sum = 0.0;
        for (size_t c = 0; c < h->d_v; c++)
            near_one((double)out[i * WIDTH + c], o.out[i * WIDTH + c], o.drop ? 2.0 : 1.0, bound, "out", i * 1000 + c);
        for (size_t c = h->d_v; c < WIDTH; c++) must(out[i * WIDTH + c] == 9.0f);
        for (size_t j = 0; h->weights && j < h->n; j++) {
            const float w = h->weights[i * h->n + j];
            near_one((double)w, o.weights[i * h->n + j], 0x1p-20, bound + 0x1p-21, "weight", i * 1000 + j);
            if (!oracle_sees(&o, i, j)) must(w == 0.0f); /* m05: exactly */
            sum += (double)w;
        }
        must(!h->weights || sum == 0.0 || fabs(sum - 1.0) < bound); /* m09: rows, not columns */
    }
}

static const form forms[] = {
    {0},
    {.causal = true},
    {.dropped = true},
    {.causal = true, .dropped = true},
    {.window = 3},
    {.window = 40, .causal = true},
    {.masked = true},
    {.masked = true, .causal = true, .window = 70, .dropped = true},
    {.hidden = 5},
    {.hidden = 5, .causal = true, .shift = -3},
    {.window = 2, .hidden = 30, .shift = -1},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static const struct {
    size_t m, n, d_k, d_v;
} sizes[] = {
    {1, 1, 1, 1},     {1, 7, 3, 5},      {7, 1, 8, 8},    {8, 9, 9, 7},     {15, 17, 15, 17},
    {17, 15, 16, 16}, {33, 33, 17, 9},   {31, 65, 4, 33}, {32, 64, 16, 16}, {65, 33, 7, 8},
    {33, 129, 3, 5},  {70, 200, 64, 64}, {1, 200, 5, 3},  {100, 3, 5, 1},
};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

START_TEST(m09_heads_agree_with_the_oracle)
{
    for (size_t s = 0; s < N_SIZES; s++)
        for (size_t f = 0; f < N_FORMS; f++) {
            const float size = f % 3 ? 1.0f : 3.0f;
            tfm_head h = new_head(sizes[s].m, sizes[s].n, sizes[s].d_k, sizes[s].d_v, size, 100 * s + f);
            apply(&h, &forms[f], s + f);
            check_forward(twin(_i), &h, size);
        }
}
END_TEST

START_TEST(keys_are_gathered_by_row)
{
    uint32_t rows[150];
    uint64_t state = 3;

    for (size_t i = 0; i < 150; i++) rows[i] = (uint32_t)(draw_bits(&state) % 200);
    tfm_head h = new_head(40, 200, 7, 9, 1.0f, 4);
    h.n = 150;
    h.key_rows = rows;
    apply(&h, &forms[1], 1);
    check_forward(twin(_i), &h, 1.0f);
    h.m = h.n = 1;
    h.q = q + 5 * WIDTH;
    check_forward(twin(_i), &h, 1.0f);
}
END_TEST

/* ------------------------------------------------------------------------------------------ softmax's edges ---- */

START_TEST(m02_one_allowed_key_has_weight_one)
{
    for (size_t n = 1; n < 140; n += 23) {
        tfm_head h = new_head(3, n, 4, 4, 1.0f, n);
        apply(&h, &forms[6], 1);
        for (size_t i = 0; i < 3 * n; i++) mask[i] = i % n == i / n % n ? -1e4f : -INFINITY;
        run(twin(_i), &h, false);
        for (size_t i = 0; i < 3 * n; i++) must(weights[i] == (i % n == i / n % n ? 1.0f : 0.0f));
        for (size_t i = 0; i < 3; i++) same_bits(out + i * WIDTH, v + i % n * WIDTH, 4, "out");
    }
}
END_TEST

/* A mask of large finite numbers on all keys shifts the scores and changes nothing else, in output and in weights. */
START_TEST(m02_a_common_shift_keeps_weights_that_sum_to_one)
{
    static const float shifts[] = {-1e4f, -1e9f, 3e4f};

    for (size_t s = 0; s < 3; s++) {
        tfm_head h = new_head(5, 70, 4, 4, 0.0f, 1);
        apply(&h, &forms[6], 1);
        for (size_t i = 0; i < 5 * 70; i++) mask[i] = shifts[s];
        check_forward(twin(_i), &h, 1.0f);
        for (size_t i = 0; i < 5 * 70; i++) near_one((double)weights[i], 1.0 / 70.0, 0.0, 1e-6, "weight", i);
    }
}
END_TEST

START_TEST(m01_a_query_without_keys_gives_zeros)
{
    tfm_head h = new_head(70, 66, 5, 7, 1.0f, 1);

    apply(&h, &(form){.masked = true}, 1);
    for (size_t i = 0; i < 70 * 66; i++) mask[i] = i / 66 % 3 ? 0.0f : -INFINITY;
    h.stats = stats;
    check_forward(twin(_i), &h, 1.0f);
    for (size_t i = 0; i < 70; i += 3) {
        for (size_t c = 0; c < 7; c++) must(out[i * WIDTH + c] == 0.0f);
        for (size_t j = 0; j < 66; j++) must(weights[i * 66 + j] == 0.0f);
        must(stats[2 * i] == -INFINITY && stats[2 * i + 1] == 0.0f);
    }
    tfm_head causal = new_head(50, 20, 5, 7, 1.0f, 1); /* queries 0 .. 29 stand before the first key */
    apply(&causal, &forms[1], 1);
    check_forward(twin(_i), &causal, 1.0f);
    for (size_t i = 0; i < 30; i++) must(out[i * WIDTH] == 0.0f);
    must(out[30 * WIDTH] == v[0]);
    tfm_head none = new_head(3, 0, 5, 7, 1.0f, 1); /* no key at all */
    apply(&none, &forms[0], 1);
    run(twin(_i), &none, false);
    for (size_t i = 0; i < 3; i++)
        for (size_t c = 0; c < 7; c++) must(out[i * WIDTH + c] == 0.0f);
}
END_TEST

START_TEST(large_scores_do_not_overflow)
{
    tfm_head h = new_head(4, 70, 4, 4, 1.0f, 1);

    for (size_t i = 0; i < 4; i++) q[i * WIDTH] = 1e19f;
    for (size_t j = 0; j < 70; j++) k[j * WIDTH] = j == 65 ? 1e18f : -1e18f;
    apply(&h, &forms[0], 1);
    run(twin(_i), &h, false);
    for (size_t i = 0; i < 4; i++) same_bits(out + i * WIDTH, v + 65 * WIDTH, 4, "out");
}
END_TEST

/* A query that is not a number stays alone; what is in keys that nobody sees does not matter at all. */
START_TEST(nan_stays_where_it_is)
{
    tfm_head h = new_head(40, 80, 4, 4, 1.0f, 1);

    apply(&h, &forms[0], 1);
    q[7 * WIDTH + 2] = NAN;
    run(twin(_i), &h, false);
    for (size_t i = 0; i < 40; i++)
        for (size_t c = 0; c < 4; c++) must(isnan(out[i * WIDTH + c]) == (i == 7));
    for (size_t i = 0; i < 40 * 80; i++) must(isnan(weights[i]) == (i / 80 == 7));

    h = new_head(40, 80, 4, 4, 1.0f, 1);
    apply(&h, &forms[8], 1);
    run(twin(_i), &h, false);
    memcpy(other, out, sizeof other);
    for (size_t j = 75; j < 80; j++)
        for (size_t c = 0; c < 4; c++) k[j * WIDTH + c] = v[j * WIDTH + c] = NAN;
    run(twin(_i), &h, false);
    for (size_t i = 0; i < 40; i++) same_bits(out + i * WIDTH, other + i * WIDTH, 4, "out");
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- bits ---- */

/* Each query alone, standing where it stood among all. */
START_TEST(c21_bits_of_a_query_do_not_depend_on_the_others)
{
    for (size_t f = 0; f < N_FORMS; f++) {
        tfm_head h = new_head(100, 150, 9, 11, 2.0f, f);
        apply(&h, &forms[f], f);
        run(twin(_i), &h, false);
        memcpy(other, out, sizeof other);
        memcpy(other_weights, weights, sizeof other_weights);
        for (size_t i = 0; i < 100; i++) {
            tfm_head one = h;
            one.m = 1;
            one.q += i * WIDTH;
            one.shift += (int64_t)i - 99;
            if (one.mask) one.mask += i * 150;
            one.first += i * 152;
            run(twin(_i), &one, false);
            same_bits(out, other + i * WIDTH, 11, "out");
            same_bits(weights, other_weights + i * 150, 150, "weights");
        }
    }
}
END_TEST

/* Position t alone with keys 0 .. t, as in decoding with a cache, is row t of all positions at once. */
START_TEST(m37_a_causal_row_is_a_row_over_its_prefix)
{
    enum { N = 140 };
    uint32_t rows[N];
    tfm_head h = new_head(N, N, 9, 11, 2.0f, 1);

    apply(&h, &forms[1], 1);
    run(twin(_i), &h, false);
    memcpy(other, out, sizeof other);
    for (size_t gather = 0; gather < 2; gather++) {
        if (gather) /* the same keys at scattered places */
            for (size_t j = 0; j < N; j++) {
                rows[j] = (uint32_t)(j * 37 % N);
                memcpy(dk + rows[j] * WIDTH, k + j * WIDTH, WIDTH * sizeof *k);
                memcpy(dv + rows[j] * WIDTH, v + j * WIDTH, WIDTH * sizeof *v);
            }
        for (size_t t = 0; t < N; t++) {
            tfm_head one = h;
            one.m = 1;
            one.n = t + 1;
            one.q += t * WIDTH;
            one.causal = t & 1; /* which makes no difference */
            if (gather) one.k = dk, one.v = dv, one.key_rows = rows;
            run(twin(_i), &one, false);
            same_bits(out, other + t * WIDTH, 11, "out");
        }
    }
}
END_TEST

/* A few queries that see all keys go another way, with the same bits: asking for weights takes the general one. */
START_TEST(few_queries_are_no_other)
{
    static const size_t dims[][2] = {{4, 8}, {12, 16}, {32, 32}, {64, 72}};
    uint32_t rows[ROWS];

    for (size_t n = 1; n < ROWS; n += n < TFM_ATTENTION_KEYS + 2 ? 1 : 13) {
        for (size_t j = 0; j < n; j++) rows[j] = (uint32_t)(n - 1 - j);
        for (size_t m = 1; m <= 5; m++)
            for (size_t gather = 0; gather < 2; gather++) {
                const size_t *d = dims[(n + m) % 4];
                tfm_head h = new_head(m, n, d[0], d[1], 2.0f, n);
                if (gather) h.key_rows = rows;
                h.causal = false;
                run(twin(_i), &h, false);
                memcpy(other, out, sizeof other);
                h.weights = h.stats = NULL;
                memset(out, 0, sizeof out);
                run(twin(_i), &h, false);
                for (size_t i = 0; i < m; i++) same_bits(out + i * WIDTH, other + i * WIDTH, d[1], "out");
            }
    }
}
END_TEST

/* m03: a changed key and value reach the queries from there on, and no earlier one, not in one bit. */
START_TEST(m03_the_past_does_not_see_the_future)
{
    enum { N = 100 };
    tfm_head h = new_head(N, N, 5, 6, 1.0f, 1);

    apply(&h, &forms[1], 1);
    run(twin(_i), &h, false);
    memcpy(other, out, sizeof other);
    for (size_t j = 0; j < N; j++) {
        const float kept_k = k[j * WIDTH + 1], kept_v = v[j * WIDTH + 2];
        k[j * WIDTH + 1] += 3.0f;
        v[j * WIDTH + 2] -= 7.0f;
        run(twin(_i), &h, false);
        for (size_t i = 0; i < j; i++) same_bits(out + i * WIDTH, other + i * WIDTH, 6, "past");
        for (size_t i = j; i < N; i++) must(out[i * WIDTH + 2] != other[i * WIDTH + 2]);
        k[j * WIDTH + 1] = kept_k;
        v[j * WIDTH + 2] = kept_v;
    }
}
END_TEST

/* ----------------------------------------------------------------------------------------------- gradients ---- */

/* Sum of out * d_out by the oracle. */
static double objective(const oracle_head *o)
{
    double sum = 0.0;

    oracle_attention(o);
    for (size_t i = 0; i < o->m; i++)
        for (size_t c = 0; c < o->d_v; c++) sum += o->out[i * WIDTH + c] * (double)d_out[i * WIDTH + c];
    return sum;
}

static void check_gradient(const oracle_head *o, const double *wide, const float *grad, size_t rows, size_t cols,
                           const char *what)
{
    static double want[ROWS * WIDTH];
    static float got[ROWS * WIDTH];
    const size_t step = rows * cols / 24 + 1;
    size_t n = 0;

    for (size_t i = 0; i < rows * cols; i += step) {
        double *at = (double *)wide + i / cols * WIDTH + i % cols;
        const double kept = *at, h = 1e-5;
        *at = kept + h;
        const double up = objective(o);
        *at = kept - h;
        want[n] = (up - objective(o)) / (2.0 * h);
        got[n++] = grad[i / cols * WIDTH + i % cols];
        *at = kept;
    }
    near_all(got, want, n, 1e-2, 1e-4, what);
}

static void check_backward(const tfm_kernels *kernels, tfm_head *h)
{
    uint64_t state = 77;

    fill(d_out, h->m, h->d_v, 1.0f, &state);
    oracle_used = 0;
    h->stats = stats;
    h->d_out = d_out;
    h->dq = dq, h->dk = dk, h->dv = dv;
    const oracle_head o = mirror(h);
    run(kernels, h, false);
    for (size_t i = 0; i < ROWS * WIDTH; i++) dq[i] = dk[i] = dv[i] = NAN; /* overwritten */
    run(kernels, h, true);
    check_gradient(&o, o.q, dq, h->m, h->d_k, "dq");
    check_gradient(&o, o.k, dk, h->n, h->d_k, "dk");
    check_gradient(&o, o.v, dv, h->n, h->d_v, "dv");
}

START_TEST(gradients_agree_with_differences)
{
    for (size_t s = 0; s < N_SIZES; s++)
        for (size_t f = 0; f < N_FORMS; f++) {
            if (sizes[s].m * sizes[s].n > 1000 && (f + s) % 4) continue;
            tfm_head h = new_head(sizes[s].m, sizes[s].n, sizes[s].d_k, sizes[s].d_v, 1.0f, 100 * s + f);
            apply(&h, &forms[f], s + f);
            h.weights = NULL;
            check_backward(twin(_i), &h);
        }
}
END_TEST

/* m01: the gradient of a query that sees no key is 0, and so is that of a key that no query sees. */
START_TEST(m01_hidden_rows_have_gradient_zero)
{
    tfm_head h = new_head(50, 20, 5, 7, 1.0f, 1);

    apply(&h, &(form){.causal = true, .hidden = 4}, 1);
    check_backward(twin(_i), &h);
    for (size_t i = 0; i < 30; i++)
        for (size_t c = 0; c < 5; c++) must(dq[i * WIDTH + c] == 0.0f);
    for (size_t j = 16; j < 20; j++) {
        for (size_t c = 0; c < 5; c++) must(dk[j * WIDTH + c] == 0.0f);
        for (size_t c = 0; c < 7; c++) must(dv[j * WIDTH + c] == 0.0f);
    }
}
END_TEST

START_TEST(scratch_sizes_are_checked)
{
    size_t floats;

    must(!tfm_attention_scratch(&floats, SIZE_MAX, 1, 1, false));
    must(!tfm_attention_scratch(&floats, SIZE_MAX - 64, 16, 16, false));
    must(!tfm_attention_scratch(&floats, 1, SIZE_MAX - 3, 1, false));
    must(!tfm_attention_scratch(&floats, 1, 1, SIZE_MAX / 2, false));
    must(!tfm_attention_scratch(&floats, (size_t)1 << 60, 64, 64, false));
    must(!tfm_attention_scratch(&floats, (size_t)1 << 57, 32, 32, true));
    must(tfm_attention_scratch(&floats, 1 << 20, 64, 64, true));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("attention kernel");
    TCase *c = tcase_create("attention kernel");

    tcase_add_loop_test(c, m09_heads_agree_with_the_oracle, 0, 2);
    tcase_add_loop_test(c, keys_are_gathered_by_row, 0, 2);
    tcase_add_loop_test(c, m02_one_allowed_key_has_weight_one, 0, 2);
    tcase_add_loop_test(c, m02_a_common_shift_keeps_weights_that_sum_to_one, 0, 2);
    tcase_add_loop_test(c, m01_a_query_without_keys_gives_zeros, 0, 2);
    tcase_add_loop_test(c, large_scores_do_not_overflow, 0, 2);
    tcase_add_loop_test(c, nan_stays_where_it_is, 0, 2);
    tcase_add_loop_test(c, c21_bits_of_a_query_do_not_depend_on_the_others, 0, 2);
    tcase_add_loop_test(c, m37_a_causal_row_is_a_row_over_its_prefix, 0, 2);
    tcase_add_loop_test(c, few_queries_are_no_other, 0, 2);
    tcase_add_loop_test(c, m03_the_past_does_not_see_the_future, 0, 2);
    tcase_add_loop_test(c, gradients_agree_with_differences, 0, 2);
    tcase_add_loop_test(c, m01_hidden_rows_have_gradient_zero, 0, 2);
    tcase_add_test(c, scratch_sizes_are_checked);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
