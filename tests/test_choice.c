/* The choice of tokens from a row of logits, against a sort and a sum in double; and the strips that rows come in. */
#include "decode/choice.h"
#include "golden_model.h"

#include <math.h>

enum { MOST = 5000, PICKS = 64 };

static float row[MOST];
static int order[MOST];

static const tfm_kernels *twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

static void random_row(size_t n, unsigned seed, unsigned levels)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        row[i] = 20.0f * (float)(seed / 65536 % levels) / (float)levels - 10.0f;
    }
}

static int best_first(const void *a, const void *b)
{
    const int i = *(const int *)a, j = *(const int *)b;

    if (row[i] != row[j]) return row[i] < row[j] ? 1 : -1;
    return i - j;
}

static tfm_choice choose(const tfm_kernels *kernels, tfm_pick *picks, size_t most, size_t n, size_t strip, bool special)
{
    tfm_choice c;

    tfm_choice_begin(&c, picks, most);
    for (size_t i = 0; i < n; i += strip)
        tfm_choice_add(&c, kernels, row + i, n - i < strip ? n - i : strip, i,
                       special ? never_nothing : never_special);
    return c;
}

static void check_picks(const tfm_choice *c, size_t n, bool special)
{
    size_t n_order = 0, want;
    bool seen[MOST] = {false};

    for (size_t i = 0; i < n; i++)
        if (row[i] > -INFINITY && (special || (i != TFM_PAD && i != TFM_BOS))) order[n_order++] = (int)i;
    qsort(order, n_order, sizeof *order, best_first);
    want = n_order < c->most ? n_order : c->most;
    ck_assert_uint_eq(c->n, want);
    for (size_t i = 0; i < c->n; i++) {
        ck_assert(c->picks[i].logit == row[c->picks[i].token]);
        seen[c->picks[i].token] = true;
    }
    for (size_t i = 0; i < want; i++) ck_assert(seen[order[i]]);
}

static double exact_lse(size_t n)
{
    double most = -INFINITY, sum = 0.0;

    for (size_t i = 0; i < n; i++) most = fmax(most, (double)row[i]);
    for (size_t i = 0; i < n; i++) sum += exp((double)row[i] - most);
    return most + log(sum);
}

START_TEST(the_best_of_a_row)
{
    static const size_t sizes[] = {1, 3, 31, 32, 33, 100, 1023, 1024, 1025, 2048, 4999}, mosts[] = {1, 2, 8, PICKS};
    static const unsigned levels[] = {2, 7, 60000};
    tfm_pick picks[PICKS];

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t m = 0; m < 4; m++)
            for (unsigned l = 0; l < 3; l++) {
                const bool special = (s + m + l) % 2;
                random_row(sizes[s], (unsigned)(s + 17 * m), levels[l]);
                if (l == 1) row[sizes[s] / 2] = -INFINITY;
                const tfm_choice c = choose(twin(_i), picks, mosts[m], sizes[s], 1024, special);
                check_picks(&c, sizes[s], special);
                if (sizes[s] > 1) ck_assert_double_eq_tol(tfm_choice_lse(&c), exact_lse(sizes[s]), 2e-6);
            }
}
END_TEST

START_TEST(bits_do_not_depend_on_the_strips)
{
    tfm_pick picks[2][8];

    random_row(MOST, 5, 60000);
    const tfm_choice one = choose(twin(_i), picks[0], 8, MOST, 1024, false);
    const tfm_choice other = choose(twin(_i), picks[1], 8, MOST, 3072, false);
    const double lse[] = {tfm_choice_lse(&one), tfm_choice_lse(&other)};
    ck_assert_mem_eq(&lse[0], &lse[1], sizeof *lse);
    ck_assert_mem_eq(picks[0], picks[1], sizeof *picks);
}
END_TEST

/* Growing and falling maxima, a block of nothing, and numbers that are none. */
START_TEST(odd_rows)
{
    tfm_pick picks[8];

    for (size_t i = 0; i < MOST; i++) row[i] = (float)(i / 1024) * 300.0f;
    tfm_choice c = choose(twin(_i), picks, 8, MOST, 1024, false);
    ck_assert_double_eq_tol(tfm_choice_lse(&c), exact_lse(MOST), 1e-4);
    check_picks(&c, MOST, false);
    for (size_t i = 0; i < MOST; i++) row[i] = i < 1024 ? -INFINITY : -(float)(i / 1024) * 300.0f;
    c = choose(twin(_i), picks, 8, MOST, 1024, false);
    ck_assert_double_eq_tol(tfm_choice_lse(&c), exact_lse(MOST), 1e-4);
    check_picks(&c, MOST, false);
    for (size_t i = 0; i < MOST; i++) row[i] = -INFINITY;
    c = choose(twin(_i), picks, 8, MOST, 1024, false);
    ck_assert(c.n == 0 && tfm_choice_lse(&c) == -INFINITY);
    random_row(MOST, 9, 60000);
    row[2000] = NAN;
    c = choose(twin(_i), picks, 8, MOST, 1024, false);
    ck_assert(isnan(tfm_choice_lse(&c)));
    row[2000] = INFINITY;
    c = choose(twin(_i), picks, 8, MOST, 1024, false);
    ck_assert(isnan(tfm_choice_lse(&c)));
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- strips ---- */

enum { ROWS = 150, IN = 9, OUT = 2500 };

static float weight[OUT * IN], bias[OUT], x_data[ROWS * IN], whole[ROWS * OUT], pieces[ROWS * OUT];

static void copy_strip(const void *args, const tfm_strip *s, size_t begin, size_t end)
{
    (void)args;
    ck_assert_uint_eq(s->first_col % TFM_STRIP_UNIT, 0);
    for (size_t r = begin; r < end; r++)
        memcpy(pieces + (s->first_row + r) * OUT + s->first_col, s->y + r * s->cols, s->cols * sizeof *pieces);
}

/* W as it is, or packed for a type. */
static tfm_linear linear_of(int form, tfm_panels *panels, tfm_block *block, const tfm_allocator *a)
{
    const tfm_kernels *kernels = twin(1);
    tfm_arena arena = {0};
    unsigned char scratch[IN + TFM_I8_DEPTH];

    if (!form) return (tfm_linear){.weight = weight, .bias = bias, .out = OUT, .in = IN};
    *panels = (tfm_panels){.dtype = (uint32_t)form - 1, .n = OUT, .k = IN};
    tfm_panels_place(panels, kernels, &arena);
    ck_assert(tfm_block_reserve(block, a, arena.peak, &arena));
    tfm_panels_place(panels, kernels, &arena);
    tfm_panels_fill(panels, kernels, weight, 0, OUT, scratch);
    return (tfm_linear){.bias = bias, .out = OUT, .in = IN, .panels = panels};
}

START_TEST(strips_are_the_product)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_error error;
    tfm_pool *pool;
    tfm_run run;

    for (size_t i = 0; i < OUT * IN; i++) weight[i] = sinf((float)i);
    for (size_t i = 0; i < OUT; i++) bias[i] = cosf((float)i);
    for (size_t i = 0; i < ROWS * IN; i++) x_data[i] = cosf(0.3f * (float)i);
    for (uint32_t threads = 1; threads <= 3; threads += 2)
        for (size_t rows = 1; rows <= ROWS; rows += rows == 1 ? 2 : 49) {
            tfm_block block = {0};
            tfm_panels panels;
            const tfm_linear w = linear_of(_i, &panels, &block, &a);
            ck_assert_ok(tfm_pool_create(&pool, threads, &a, &error), error);
            ck_assert_ok(tfm_run_create(&run, pool, twin(1), &a, &error), error);
            ck_assert(tfm_run_place(&run, 1 << 22, false));
            tfm_value *x = tfm_value_view(&run, x_data, rows, IN), *y = tfm_value_view(&run, whole, rows, OUT);
            memset(pieces, 0, sizeof pieces);
            tfm_op_linear(&run, y, x, &w, false, 0.0f, 0);
            tfm_op_linear_strips(&run, x, &w, copy_strip, NULL);
            ck_assert_mem_eq(whole, pieces, rows * OUT * sizeof *whole);
            ck_assert(!run.bad && !run.arena.bad);
            tfm_run_destroy(&run);
            tfm_pool_free(pool);
            tfm_block_free(&block, &a);
        }
}
END_TEST

static Suite *choice_suite(void)
{
    Suite *suite = suite_create("choice");
    TCase *tc = tcase_create("choice");

    tcase_add_loop_test(tc, the_best_of_a_row, 0, 2);
    tcase_add_loop_test(tc, bits_do_not_depend_on_the_strips, 0, 2);
    tcase_add_loop_test(tc, odd_rows, 0, 2);
    tcase_add_loop_test(tc, strips_are_the_product, 0, 4);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(choice_suite)
