/* The profiles of trainers and decoders: what they count, against the model's own costs. */
#include "api_models.h"
#include "base/clock.h"

#include <math.h>

enum { PAIRS = 6, SOURCE = 5, TARGET = 7 };

static tfm_model_options model_options;
static tfm_model *sized;
static int32_t ids[SOURCE + TARGET];
static tfm_ids sources[PAIRS], targets[PAIRS];

static void begin(void)
{
    setup();
    tfm_model_options_init(&model_options, sizeof model_options);
    model_options.n_encoder_layers = 1;
    model_options.n_decoder_layers = 2;
    model_options.d_model = 12;
    model_options.d_ff = 20;
    model_options.n_heads = 2;
    model_options.vocab_size = 30;
    ck_assert_ok(tfm_model_create(&sized, &model_options, NULL, &error), error);
    for (int32_t i = 0; i < SOURCE + TARGET; i++) ids[i] = 4 + i;
    for (size_t i = 0; i < PAIRS; i++) {
        sources[i] = (tfm_ids){ids, SOURCE};
        targets[i] = (tfm_ids){ids + SOURCE, TARGET};
    }
}

static void end(void)
{
    tfm_model_free(sized);
    teardown();
}

static tfm_trainer *train(uint32_t recompute, size_t steps)
{
    tfm_trainer_options o;
    tfm_trainer *t;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.recompute = recompute;
    ck_assert_ok(tfm_trainer_create(&t, sized, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data_ids(t, sources, targets, PAIRS, NULL, 0, &error), error);
    while (steps--) ck_assert_ok(tfm_trainer_step(t, NULL, 0, &error), error);
    return t;
}

static tfm_profile_entry entry_at(const tfm_trainer *t, size_t i)
{
    tfm_profile_entry e;

    ck_assert_ok(tfm_trainer_profile_at(&e, sizeof e, t, i, &error), error);
    return e;
}

static tfm_profile_entry entry_named(const tfm_trainer *t, const char *name)
{
    for (size_t i = 0; i < tfm_trainer_profile_count(t); i++) {
        const tfm_profile_entry e = entry_at(t, i);
        if (!strcmp(e.name, name)) return e;
    }
    ck_abort_msg("no entry %s", name);
}

/* Sums over the entries of a kind. */
static tfm_profile_entry sum_of(const tfm_trainer *t, uint32_t kind)
{
    tfm_profile_entry sum = {0};

    for (size_t i = 0; i < tfm_trainer_profile_count(t); i++) {
        const tfm_profile_entry e = entry_at(t, i);
        if (e.kind != kind) continue;
        sum.calls += e.calls;
        sum.seconds += e.seconds;
        sum.flops += e.flops;
    }
    return sum;
}

START_TEST(a_new_trainer_has_done_nothing)
{
    tfm_trainer *t = train(0, 0);
    const size_t n = tfm_trainer_profile_count(t);

    ck_assert_uint_ge(n, 12);
    for (size_t i = 0; i < n; i++) {
        const tfm_profile_entry e = entry_at(t, i);
        ck_assert(e.calls == 0 && e.seconds == 0.0 && e.flops == 0.0);
        ck_assert(e.kind == TFM_PROFILE_OPERATION || e.kind == TFM_PROFILE_PHASE);
        for (size_t j = 0; j < i; j++) ck_assert_str_ne(e.name, entry_at(t, j).name);
    }
    tfm_trainer_free(t);
}
END_TEST

/* Operations do what the paper's formulas count, each way of training in its own order. */
START_TEST(operations_add_up_to_the_models_costs)
{
    const uint32_t recompute = (uint32_t)_i;
    const size_t steps = 3;
    tfm_model_costs costs;
    tfm_trainer *t = train(recompute, steps);

    ck_assert_ok(tfm_model_options_costs(&costs, sizeof costs, &model_options, SOURCE, TARGET, &error), error);
    const double forward = 2.0 * (double)(steps * PAIRS) * (costs.source_macs * SOURCE + costs.target_macs * TARGET);
    const double again = entry_named(t, "recomputation").flops;
    const double output = entry_named(t, "loss").flops / 3.0;
    const double done = sum_of(t, TFM_PROFILE_OPERATION).flops;
    ck_assert_msg(fabs(done - again - 3.0 * forward) <= 1e-9 * forward, "%g, and %g again, not 3 x %g", done, again,
                  forward);
    ck_assert_msg(fabs(again - (recompute ? forward - output : 0.0)) <= 1e-9 * forward, "%g again of %g", again,
                  forward);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(calls_are_counted)
{
    static const struct {
        const char *name;
        uint64_t calls; /* of two steps: 1 encoder layer, 2 decoder layers */
    } want[] = {
        {"embed", 4},           {"embed backward", 4},     {"attention", 10}, {"attention backward", 10},
        {"add and norm", 16},   {"recomputation", 0},      {"loss", 2},       {"forward", 2},
        {"backward", 2},        {"Adam", 2},               {"plan", 2},       {"gradient norm", 2},
        {"zero gradients", 2},  {"validation", 0},         {"checkpoint", 0},
    };
    tfm_trainer *t = train(0, 2);

    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const tfm_profile_entry e = entry_named(t, want[i].name);
        ck_assert_msg(e.calls == want[i].calls, "%s: %llu calls, not %llu", e.name, (unsigned long long)e.calls,
                      (unsigned long long)want[i].calls);
        ck_assert((e.calls > 0) == (e.seconds > 0.0));
    }
    ck_assert_uint_eq(entry_named(t, "linear").calls, entry_named(t, "linear backward").calls);
    tfm_trainer_free(t);
    t = train(1, 2);
    ck_assert_uint_eq(entry_named(t, "recomputation").calls, 6);
    tfm_trainer_free(t);
}
END_TEST

/* Operations happen within forward and backward, phases within the time that passed. */
START_TEST(no_time_is_counted_twice)
{
    const double began = tfm_now();
    tfm_trainer *t = train(1, 3);
    const double passed = tfm_now() - began, phases = sum_of(t, TFM_PROFILE_PHASE).seconds;
    const double within = entry_named(t, "forward").seconds + entry_named(t, "backward").seconds;

    ck_assert(sum_of(t, TFM_PROFILE_OPERATION).seconds <= within && within <= phases && phases <= passed);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(validation_is_a_phase_of_its_own)
{
    tfm_trainer_options o;
    tfm_trainer *t;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    o.max_steps = 2;
    o.valid_every = 1;
    o.checkpoint_path = path;
    ck_assert_ok(tfm_trainer_create(&t, model, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, lines_of_text, lines_of_text, 3, &error), error);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_uint_eq(entry_named(t, "validation").calls, 2);
    ck_assert_uint_eq(entry_named(t, "checkpoint").calls, 2); /* an epoch is one step */
    ck_assert_uint_eq(entry_named(t, "loss").calls, 2);
    ck_assert_uint_eq(entry_named(t, "forward").calls, 2);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(what_does_not_exist_is_refused)
{
    tfm_trainer *t = train(0, 0);
    tfm_profile_entry e;

    ck_assert_status(tfm_trainer_profile_at(&e, sizeof e, t, tfm_trainer_profile_count(t), &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message, "entries"));
    ck_assert_status(tfm_trainer_profile_at(&e, sizeof e, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_trainer_profile_at(NULL, sizeof e, t, 0, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(tfm_trainer_profile_count(NULL), 0);
    tfm_trainer_free(t);
}
END_TEST

static tfm_profile_entry decoder_entry(const tfm_decoder *d, const char *name)
{
    tfm_profile_entry e;

    for (size_t i = 0; i < tfm_decoder_profile_count(d); i++) {
        ck_assert_ok(tfm_decoder_profile_at(&e, sizeof e, d, i, &error), error);
        if (!strcmp(e.name, name)) return e;
    }
    ck_abort_msg("no entry %s", name);
}

/* Greedy, and as long as the targets of training: the products of both are the same. */
START_TEST(a_translation_does_what_training_does)
{
    const double began = tfm_now();
    tfm_decoder_options o;
    tfm_decoder *d;
    tfm_trainer *t = train(0, 1);

    tfm_decoder_options_init(&o, sizeof o);
    o.beam = 1;
    o.min_length = o.max_length = TARGET;
    ck_assert_ok(tfm_decoder_create(&d, sized, &o, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(d, sources, PAIRS, &error), error);
    const tfm_profile_entry linear = decoder_entry(d, "linear"), attention = decoder_entry(d, "attention");
    ck_assert_double_eq_tol(linear.flops, entry_named(t, "linear").flops + entry_named(t, "loss").flops / 3.0, 1.0);
    ck_assert_uint_eq(attention.calls, 1 + 4 * TARGET);
    ck_assert_uint_eq(decoder_entry(d, "choice").calls, TARGET);
    ck_assert_uint_eq(decoder_entry(d, "decoder steps").calls, TARGET);
    ck_assert_uint_eq(decoder_entry(d, "encoder").calls, 1);
    const double within = decoder_entry(d, "decoder steps").seconds + decoder_entry(d, "encoder").seconds;
    ck_assert(linear.seconds + attention.seconds <= within && within <= tfm_now() - began);
    ck_assert_ok(tfm_decoder_logprobs_ids(d, sources, targets, PAIRS, &error), error);
    ck_assert_uint_eq(decoder_entry(d, "linear").calls, linear.calls);
    tfm_trainer_free(t);
    tfm_decoder_free(d);
}
END_TEST

START_TEST(what_a_decoder_does_not_have_is_refused)
{
    tfm_decoder_options o;
    tfm_profile_entry e;
    tfm_decoder *d;

    tfm_decoder_options_init(&o, sizeof o);
    ck_assert_ok(tfm_decoder_create(&d, sized, &o, &error), error);
    ck_assert_status(tfm_decoder_profile_at(&e, sizeof e, d, tfm_decoder_profile_count(d), &error), TFM_E_INVALID,
                     error);
    ck_assert_status(tfm_decoder_profile_at(&e, sizeof e, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_decoder_profile_at(NULL, sizeof e, d, 0, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(tfm_decoder_profile_count(NULL), 0);
    tfm_decoder_free(d);
}
END_TEST

static Suite *profile_suite(void)
{
    Suite *suite = suite_create("profile");
    TCase *tc = tcase_create("profile");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_new_trainer_has_done_nothing);
    tcase_add_loop_test(tc, operations_add_up_to_the_models_costs, 0, 2);
    tcase_add_test(tc, calls_are_counted);
    tcase_add_test(tc, no_time_is_counted_twice);
    tcase_add_test(tc, validation_is_a_phase_of_its_own);
    tcase_add_test(tc, what_does_not_exist_is_refused);
    tcase_add_test(tc, a_translation_does_what_training_does);
    tcase_add_test(tc, what_a_decoder_does_not_have_is_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(profile_suite)
