/* Numbers that are not finite: named, skipped, counted, and never let into weights or moments. */
#include "training_models.h"

#include <math.h>

enum { VOCAB = 53, STEPS = 6 };

static tfm_model *model;
static pairs data;

static void setup(void)
{
    const tfm_model_options o = small_options();

    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    pairs_random(&data, 60, 9, VOCAB, 4);
}

static void teardown(void)
{
    tfm_model_free(model);
    pairs_free(&data);
}

/* ------------------------------------------------------------------------------------------- bad gradients ---- */

/* Stands between two ranks, one of which is not there: spoils what passes in given steps. */
typedef struct spoiler {
    size_t calls, n_spoilt;
    uint64_t first, last; /* steps, from 1 */
    size_t at;            /* element of the gradient; SIZE_MAX: the loss */
    float value;
    char log[STEPS * 4][240];
    size_t n_logged;
} spoiler;

static int32_t spoil(void *user, float *values, size_t n)
{
    spoiler *s = user;
    const uint64_t step = s->calls++ / 2 + 1; /* counts, then gradients */
    const bool counts = n == 4;

    if (step < s->first || step > s->last) return 0;
    if (counts && s->at == SIZE_MAX) values[0] = s->value;
    if (!counts && s->at != SIZE_MAX) values[s->at] = s->value;
    s->n_spoilt++;
    return 0;
}

static void note(void *user, int32_t level, const char *message)
{
    spoiler *s = user;

    ck_assert_int_eq(level, TFM_LOG_WARNING);
    ck_assert_uint_lt(s->n_logged, STEPS * 4);
    snprintf(s->log[s->n_logged++], sizeof *s->log, "%s", message);
}

static tfm_trainer_options spoilt_options(spoiler *s)
{
    tfm_trainer_options o = trainer_options();

    o.n_ranks = 2;
    o.reduce = spoil;
    o.reduce_user = o.log_user = s;
    o.log = note;
    o.batch_tokens = 40;
    o.dropout = 0.2f;
    return o;
}

static const struct {
    float value;
    bool loss;
} bad_values[] = {{NAN, false}, {INFINITY, false}, {-INFINITY, false}, {1e30f, false}, {NAN, true}, {INFINITY, true}};

/* 1e30 is finite; its square, which Adam keeps, is not. */
START_TEST(a_step_without_a_finite_gradient_is_skipped_and_named)
{
    spoiler s = {.first = 3, .last = 4, .value = bad_values[_i].value};
    const tfm_trainer_options o = spoilt_options(&s);
    tfm_trainer *t = trainer_of(model, &o, &data);
    const tfm_parameter_plan *plan = plan_of(t, "decoder.layers.1.feedforward.inner.weight");
    char want[120];

    s.at = bad_values[_i].loss ? SIZE_MAX : plan->offset + plan->size - 1;
    steps(t, 2);
    float *before = weights_copy(t), *m = malloc(t->training.weights.size * sizeof *m);
    ck_assert_ptr_nonnull(m);
    memcpy(m, t->training.m, t->training.weights.size * sizeof *m);
    for (uint64_t step = 3; step <= 4; step++) {
        const tfm_progress p = step_once(t);
        ck_assert_uint_eq(p.step, step);
        ck_assert_uint_eq(p.skipped, step - 2);
        same_bits(t->training.w, before, t->training.weights.size, "weight");
        same_bits(t->training.m, m, t->training.weights.size, "m");
        snprintf(want, sizeof want, "step %d is skipped: its gradient is not finite, %s first", (int)step,
                 bad_values[_i].loss ? "the loss" : plan->name);
        ck_assert_msg(!strncmp(s.log[step - 3], want, strlen(want)), "%s, want %s", s.log[step - 3], want);
    }
    ck_assert_uint_eq(s.n_logged, 2);
    ck_assert_uint_gt(s.n_spoilt, 0);
    const tfm_progress p = step_once(t);
    ck_assert_uint_eq(p.skipped, 2);
    ck_assert(isfinite(p.gradient_norm));
    ck_assert_mem_ne(t->training.w, before, t->training.weights.size * sizeof *before);
    free(before);
    free(m);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(too_many_in_a_row_end_the_training)
{
    static const uint64_t limits[][2] = {{0, 10}, {1, 1}, {3, 3}}; /* max_skipped, what it means */
    spoiler s = {.first = 2, .last = 100, .at = 5, .value = NAN};
    tfm_trainer_options o = spoilt_options(&s);

    o.max_skipped = limits[_i][0];
    o.max_steps = 50;
    tfm_trainer *t = trainer_of(model, &o, &data);
    steps(t, 1);
    float *before = weights_copy(t);
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(t->training.at.step, limits[_i][1]);
    ck_assert_uint_eq(s.n_logged, limits[_i][1] - 1);
    ck_assert_ptr_nonnull(strstr(error.message, "is not finite"));
    ck_assert_ptr_nonnull(strstr(error.message, "lower lr_scale"));
    ck_assert_int_eq(atoi(error.message), (int)limits[_i][1]);
    same_bits(t->training.w, before, t->training.weights.size, "weight");
    s.last = 0;
    steps(t, 1); /* the trainer is as good as before */
    ck_assert_uint_eq(t->training.at.skipped_in_row, 0);
    free(before);
    tfm_trainer_free(t);
}
END_TEST

/* One good step among bad ones begins the count anew. */
START_TEST(only_those_in_a_row_count)
{
    spoiler s = {.first = 1, .last = 2, .at = 0, .value = NAN};
    tfm_trainer_options o = spoilt_options(&s);

    o.max_skipped = 3;
    tfm_trainer *t = trainer_of(model, &o, &data);
    steps(t, 3);
    s.first = 4, s.last = 5;
    steps(t, 3);
    ck_assert_uint_eq(t->training.at.skipped, 4);
    tfm_trainer_free(t);
}
END_TEST

/* Skipped steps before, across and after a checkpoint: the same bits, the same count, the same end. */
START_TEST(a_resumed_training_skips_what_the_uninterrupted_one_skips)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    spoiler a = {.first = 2, .last = 5, .at = 7, .value = NAN}, b = a;
    tfm_trainer_options o = spoilt_options(&a);

    path_join(path, temp_make(folder), "x.ckpt");
    o.max_skipped = 5;
    tfm_trainer *straight = trainer_of(model, &o, &data);
    steps(straight, 7);
    o.reduce_user = o.log_user = &b;
    tfm_trainer *first = trainer_of(model, &o, &data);
    steps(first, 3);
    ck_assert_ok(tfm_trainer_save(first, path, &error), error);
    tfm_trainer_free(first);
    tfm_trainer *second = trainer_resumed(path, &o, &data);
    ck_assert_uint_eq(second->training.at.skipped_in_row, 2);
    steps(second, 4);
    same_training(second, straight);
    ck_assert_uint_eq(second->training.at.skipped, 4);
    tfm_trainer_free(second);
    b = (spoiler){.first = 4 - 3, .last = 100, .at = 7, .value = NAN};
    o.max_skipped = 4;
    second = trainer_resumed(path, &o, &data);
    ck_assert_status(tfm_trainer_run(second, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(b.n_logged, 1); /* two before, one, and the fourth is the error */
    tfm_trainer_free(second);
    tfm_trainer_free(straight);
    temp_remove(folder);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- weights ---- */

static float odd_value;

static void put_odd_value(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "encoder.layers.1.feedforward.outer.bias")) to[p->shape[0] - 1] = odd_value;
}

START_TEST(weights_that_are_not_finite_are_named_before_training)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    const tfm_model_options mo = small_options();
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = NULL;

    odd_value = odd[_i];
    tfm_model *bad = model_changed(&mo, NULL, put_odd_value);
    ck_assert_status(tfm_trainer_create(&t, bad, &o, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(t);
    ck_assert_ptr_nonnull(strstr(error.message, "1 weights are not finite"));
    ck_assert_ptr_nonnull(strstr(error.message, "encoder.layers.1.feedforward.outer.bias"));
    tfm_model_free(bad);
}
END_TEST

/* What only a damaged or a hostile file has: Adam takes the root of the second moment. */
START_TEST(moments_of_a_checkpoint_are_checked)
{
    static const float values[] = {NAN, -INFINITY, NAN, -1e-3f}; /* two of m, two of v */
    char folder[TESTING_PATH], path[TESTING_PATH];
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(model, &o, &data), *resumed = NULL;
    const size_t last = t->training.weights.size - 1;

    path_join(path, temp_make(folder), "x.ckpt");
    steps(t, 1);
    *(_i < 2 ? &t->training.m[last] : &t->training.v[last]) = values[_i];
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    ck_assert_status(tfm_trainer_resume(&resumed, path, &o, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(resumed);
    ck_assert_ptr_nonnull(strstr(error.message, _i < 2 ? "the first moment of" : "the second moment of"));
    tfm_trainer_free(t);
    temp_remove(folder);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- rates ---- */

START_TEST(a_rate_of_nothing_changes_no_weight)
{
    tfm_trainer_options o = trainer_options();

    o.lr_scale = 0.0f;
    tfm_trainer *t = trainer_of(model, &o, &data);
    float *before = weights_copy(t);
    steps(t, STEPS);
    same_bits(t->training.w, before, t->training.weights.size, "weight");
    free(before);
    tfm_trainer_free(t);
}
END_TEST

/* Whatever becomes of such a training, its weights and moments stay numbers. */
START_TEST(a_huge_rate_ends_with_an_error_or_goes_on_with_finite_weights)
{
    tfm_trainer_options o = trainer_options();

    o.lr_scale = 1e6f;
    o.warmup = 1;
    o.max_steps = 40;
    o.batch_tokens = 40;
    tfm_trainer *t = trainer_of(model, &o, &data);
    const tfm_status status = tfm_trainer_run(t, &error);
    ck_assert(status == TFM_OK || status == TFM_E_INVALID);
    const tfm_training *u = &t->training;
    for (size_t i = 0; i < u->weights.size; i++)
        ck_assert_msg(isfinite(u->w[i]) && isfinite(u->m[i]) && isfinite(u->v[i]), "%zu: %g %g %g", i, (double)u->w[i],
                      (double)u->m[i], (double)u->v[i]);
    tfm_trainer_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("numbers");
    TCase *c = tcase_create("numbers");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, a_step_without_a_finite_gradient_is_skipped_and_named, 0,
                        sizeof bad_values / sizeof *bad_values);
    tcase_add_loop_test(c, too_many_in_a_row_end_the_training, 0, 3);
    tcase_add_test(c, only_those_in_a_row_count);
    tcase_add_test(c, a_resumed_training_skips_what_the_uninterrupted_one_skips);
    tcase_add_loop_test(c, weights_that_are_not_finite_are_named_before_training, 0, 3);
    tcase_add_loop_test(c, moments_of_a_checkpoint_are_checked, 0, 4);
    tcase_add_test(c, a_rate_of_nothing_changes_no_weight);
    tcase_add_test(c, a_huge_rate_ends_with_an_error_or_goes_on_with_finite_weights);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
