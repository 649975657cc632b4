/* The loop of a training: limits, progress, validation, early stopping. */
#include "trainer_story.h"

/* --------------------------------------------------------------------------------------------------- limits ---- */

START_TEST(max_steps_end_it)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.max_steps = 3;
    ck_assert_ok(run_once(&o), error);
    ck_assert_str_eq(s.events, "sssd");
    ck_assert_str_eq(s.message, "max_steps 3 reached");
    ck_assert_uint_eq(s.last.step, 3);
    ck_assert_uint_eq(s.last.steps_total, 3);
}
END_TEST

START_TEST(the_rate_cools_down_to_max_steps)
{
    static const double factors[] = {1.0, 1.0, 1.0, 2.0 / 3.0, 1.0 / 3.0};
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.max_steps = 5;
    o.cooldown = 3;
    tfm_trainer *t = trainer_of(model, &o, &data);
    for (size_t i = 0; i < 5; i++)
        golden_near(step_once(t).learning_rate, 0.25 * (double)(i + 1) / 1000.0 * factors[i], 0, 1e-6, "rate");
    tfm_trainer_free(t);
    for (o.max_steps = 0; o.max_steps <= 2; o.max_steps += 2) {
        ck_assert_status(tfm_trainer_create(&t, model, &o, &error), TFM_E_INVALID, error);
        ck_assert_msg(strstr(error.message, o.max_steps ? "cooldown is 3, but max_steps is 2" :
                                                          "cooldown is 3, but max_steps is 0"), "%s", error.message);
    }
}
END_TEST

START_TEST(max_epochs_end_it)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    size_t epochs = 0;

    o.max_epochs = 3;
    ck_assert_ok(run_once(&o), error);
    for (size_t i = 0; i < s.n; i++) epochs += s.events[i] == 'e';
    ck_assert_uint_eq(epochs, 3);
    ck_assert_str_eq(s.events + s.n - 3, "sed");
    ck_assert_str_eq(s.message, "max_epochs 3 reached");
    ck_assert_uint_eq(s.last.epoch, 3);
}
END_TEST

/* Slows the training down, so that few steps fill the time. */
static int32_t sleepy(void *user, const tfm_progress *p)
{
    usleep(20000);
    return tell(user, p);
}

START_TEST(max_seconds_end_it)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.max_seconds = 0.3;
    o.progress = sleepy;
    ck_assert_ok(run_once(&o), error);
    ck_assert_uint_ge(s.n, 2);
    ck_assert_uint_le(s.last.step, 16);
    ck_assert_str_eq(s.message, "max_seconds 0.3 reached");
}
END_TEST

START_TEST(max_seconds_are_of_all_runs_of_a_trainer)
{
    story s = {.stop_at = 3};
    tfm_trainer_options o = loop_options(&s);

    o.max_seconds = 1.0;
    o.progress = sleepy;
    tfm_trainer *t = trainer_of(model, &o, &data);
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
    const double before = s.last.seconds;
    ck_assert(before >= 0.06);
    ck_assert(step_once(t).seconds >= before);
    s = (story){.stop_at = 1};
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
    ck_assert(s.last.seconds >= before);
    s = (story){0};
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert(s.last.seconds >= 1.0);
    s = (story){0};
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "d"); /* it is over */
    tfm_trainer_free(t);
}
END_TEST

START_TEST(progress_makes_sense)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_trainer *t = trainer_of(model, &o, &data);
    double seconds = 0.0;
    tfm_progress p;

    for (uint64_t i = 1; i <= 40; i++) {
        p = step_once(t);
        ck_assert_uint_eq(p.struct_size, sizeof p);
        ck_assert_uint_eq(p.event, TFM_EVENT_STEP);
        ck_assert_uint_eq(p.step, i);
        ck_assert_uint_eq(p.epoch, t->training.at.epoch);
        ck_assert(p.source_tokens >= 2 && p.source_tokens <= 60 && p.target_tokens >= 2 && p.target_tokens <= 60);
        ck_assert(p.seconds > seconds && p.tokens_per_s > 0.0);
        ck_assert(p.loss > 0.0 && p.nll > 0.0 && p.gradient_norm > 0.0);
        golden_near(p.learning_rate, 0.25 * (double)i / 1000.0, 0, 1e-6, "rate"); /* d 16, warm-up 100 */
        ck_assert(isnan(p.valid_nll) && isnan(p.valid_perplexity) && p.valid_bleu < 0.0);
        ck_assert(p.seconds_left > 0.0);
        ck_assert_uint_ge(p.steps_total, 99990);
        ck_assert_uint_le(p.steps_total, 100000);
        seconds = p.seconds;
    }
    ck_assert(p.tokens_per_s < 1e9);
    ck_assert_uint_eq(s.n, 0); /* a single step makes no callback */
    tfm_progress part = {.step = 7};
    ck_assert_ok(tfm_trainer_step(t, &part, offsetof(tfm_progress, epoch), &error), error);
    ck_assert_uint_eq(part.step, 41);
    ck_assert_uint_eq(part.epoch, 0); /* not known to this caller: not written */
    tfm_trainer_free(t);
    o.max_steps = 0;
    t = trainer_of(model, &o, &data);
    p = step_once(t);
    ck_assert_uint_eq(p.steps_total, 0); /* no end in sight */
    ck_assert(p.seconds_left < 0.0);
    tfm_trainer_free(t);
    o.max_epochs = UINT64_MAX;
    t = trainer_of(model, &o, &data);
    p = step_once(t);
    ck_assert_uint_eq(p.steps_total, 0); /* beyond what a number can say */
    tfm_trainer_free(t);
    o.max_epochs = 0;
}
END_TEST

/* ----------------------------------------------------------------------------------------------- validation ---- */

/* Ids 4 to 10 are the words a to g; anything else is unknown, id 3. */
static tfm_tokenizer *letters_make(void)
{
    static const tfm_text line = LINE("a b c d e f g");
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, &line, 1, &error), error);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), GOLDEN_V);
    return t;
}

static const tfm_text golden_lines[] = {LINE("? a b c"), LINE("d e")}, golden_answers[] = {LINE("a c f"), LINE("g ?")};

/* The tiny model of PAPER 6.3 with these letters. */
static tfm_model *golden_with_text(void)
{
    static tfm_parameter parameters[64];
    tfm_model *bare = golden_make(), *full;
    tfm_tokenizer *letters = letters_make();
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, bare);
    const size_t n = tfm_model_parameter_count(bare);
    for (size_t i = 0; i < n; i++) ck_assert_ok(tfm_model_parameter_at(&parameters[i], bare, i, &error), error);
    ck_assert_ok(tfm_model_create_from(&full, &o, letters, parameters, n, &error), error);
    tfm_tokenizer_free(letters);
    tfm_model_free(bare);
    return full;
}

static tfm_trainer *golden_trainer(const tfm_model *tiny, const tfm_trainer_options *o)
{
    tfm_trainer *t = trainer_of(tiny, o, NULL);

    ck_assert_ok(tfm_trainer_set_data(t, golden_lines, golden_answers, 2, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, golden_lines, golden_answers, 2, &error), error);
    return t;
}

START_TEST(m44_m26_perplexity_is_not_smoothed_and_not_dropped)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.lr_scale = 0.0f; /* the weights stay golden */
    o.dropout = 0.5f;
    o.max_steps = 2;
    o.valid_every = 1;
    tfm_trainer *t = golden_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "sevsevd");
    golden_near(s.last_valid.valid_nll, 2.140358252394, 1, 1e-5, "valid_nll");
    golden_near(s.last_valid.valid_perplexity, 8.502, 1, 1e-4, "valid_perplexity");
    ck_assert(s.last_valid.valid_perplexity == exp(s.last_valid.valid_nll));
    ck_assert(s.last_valid.best_valid == s.last_valid.valid_nll);
    ck_assert(s.last_valid.valid_bleu < 0.0);
    ck_assert(s.last.nll != s.last_valid.valid_nll);
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

START_TEST(patience_ends_it)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.lr_scale = 0.0f; /* cannot improve */
    o.valid_every = 2;
    o.patience = 3;
    tfm_trainer *t = golden_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "sesevsesevsesevsesevd");
    ck_assert_str_eq(s.message, "3 validations without a better one (patience)");
    ck_assert_uint_eq(s.last.step, 8);
    ck_assert_ok(tfm_trainer_run(t, &error), error); /* still over */
    ck_assert_uint_eq(s.last.step, 8);
    tfm_trainer_free(t);
    s = (story){0};
    o.lr_scale = 0.001f; /* improves each time */
    o.dropout = o.label_smoothing = 0.0f;
    o.max_steps = 20;
    t = golden_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_uint_eq(s.last.step, 20);
    ck_assert(s.last_valid.best_valid == s.last_valid.valid_nll);
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

/* Not better than none, nor the best of a checkpoint, which holds no such number. */
START_TEST(a_validation_that_is_not_a_number_is_no_better)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.valid_every = 1;
    o.patience = 3;
    tfm_trainer *t = golden_trainer(tiny, &o);
    t->training.w[plan_of(t, "decoder.layers.0.feedforward.inner.weight")->offset] = NAN;
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_uint_eq(s.last.step, 3);
    ck_assert(isnan(s.last_valid.valid_nll) && isnan(s.last_valid.best_valid));
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

START_TEST(patience_needs_something_to_validate_with)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.patience = 3;
    ck_assert_status(run_once(&o), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "patience is 3"));
    o.patience = 0;
    o.valid_bleu = 1;
    ck_assert_status(run_once(&o), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "call tfm_trainer_set_valid()"));
}
END_TEST

START_TEST(resumed_patience_goes_on_counting)
{
    story s = {.stop_at = 10};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.lr_scale = 0.0f;
    o.valid_every = 2;
    o.patience = 3;
    o.checkpoint_path = base;
    o.checkpoint_steps = 1000;
    tfm_trainer *t = golden_trainer(tiny, &o);
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
    ck_assert_str_eq(s.events, "sesevsesevcd"); /* stopped by the second validation */
    tfm_trainer_free(t);
    s.stop_at = 0;
    s.n = 0;
    memset(s.events, 0, sizeof s.events);
    ck_assert_ok(tfm_trainer_resume(&t, s.path, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, golden_lines, golden_answers, 2, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, golden_lines, golden_answers, 2, &error), error);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "sesevsesevcd");
    ck_assert_uint_eq(s.last.step, 8);
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

/* Validations at other steps, which an end brings about, are to be seen and do not count. */
START_TEST(patience_counts_as_if_nothing_had_ended)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();
    tfm_trainer *t = golden_trainer(tiny, &o);

    o.lr_scale = 0.0f; /* cannot improve: ends at step 8 */
    o.valid_every = 2;
    o.patience = 3;
    o.checkpoint_path = base;
    o.checkpoint_steps = 1000;
    for (uint64_t limit = 1; limit <= 9; limit += 2) {
        o.max_steps = limit;
        tfm_trainer_free(t);
        if (limit == 1) {
            t = golden_trainer(tiny, &o);
        } else {
            ck_assert_ok(tfm_trainer_resume(&t, s.path, &o, &error), error);
            ck_assert_ok(tfm_trainer_set_data(t, golden_lines, golden_answers, 2, NULL, 0, &error), error);
            ck_assert_ok(tfm_trainer_set_valid(t, golden_lines, golden_answers, 2, &error), error);
        }
        s.n = 0;
        memset(s.events, 0, sizeof s.events);
        ck_assert_ok(tfm_trainer_run(t, &error), error);
        ck_assert_str_eq(s.events, limit == 1 ? "sevcd" : limit < 9 ? "sevsevcd" : "sevcd");
        ck_assert_uint_eq(s.last.step, limit < 9 ? limit : 8);
    }
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

START_TEST(a_stop_does_not_skip_the_validation_that_is_due)
{
    story s = {.stop_at = 5}; /* the third step; each is an epoch */
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.valid_every = 3;
    tfm_trainer *t = golden_trainer(tiny, &o);
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
    ck_assert_str_eq(s.events, "sesesevd");
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

START_TEST(a_finished_training_that_runs_again_does_nothing)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text();

    o.valid_every = 1000;
    o.max_steps = 2;
    tfm_trainer *t = golden_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "sesevd");
    s = (story){0};
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "d");
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

/* Long enough to have four words in a row. */
static const tfm_text long_lines[] = {LINE("a b c d e"), LINE("g f e")},
                      long_answers[] = {LINE("b d f a c e"), LINE("d d c b a")};

/* BLEU of these lines as a user of the model would find it. */
static double bleu_of(const tfm_model *m)
{
    const tfm_decoder_options o = decoder_options(4);
    tfm_decoder *d = decoder_of(m, &o);
    const tfm_text *refs = long_answers;
    tfm_bleu_options bo;
    tfm_bleu_result r;
    tfm_text hyps[2];

    ck_assert_ok(tfm_decoder_translate(d, long_lines, 2, &error), error);
    for (size_t i = 0; i < 2; i++) hyps[i] = tfm_decoder_text(d, i, 0);
    tfm_bleu_options_init(&bo, sizeof bo);
    bo.tokenize = TFM_BLEU_TOKENIZE_NONE;
    ck_assert_ok(tfm_bleu(&r, sizeof r, hyps, 2, &refs, 1, &bo, &error), error);
    tfm_decoder_free(d);
    return r.score;
}

static tfm_trainer *bleu_trainer(const tfm_model *tiny, const tfm_trainer_options *o)
{
    tfm_trainer *t = trainer_of(tiny, o, NULL);

    ck_assert_ok(tfm_trainer_set_data(t, long_lines, long_answers, 2, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, long_lines, long_answers, 2, &error), error);
    return t;
}

START_TEST(validation_bleu_is_that_of_the_model)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_model *tiny = golden_with_text(), *now;

    o.warmup = 1;
    o.lr_scale = 0.2f;
    o.dropout = o.label_smoothing = 0.0f;
    o.valid_bleu = 1;
    o.max_steps = 120;
    o.valid_every = 40;
    tfm_trainer *t = bleu_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_ok(tfm_trainer_model(&now, t, &error), error);
    const double want = bleu_of(now);
    ck_assert(want > 20.0); /* two lines are soon learned by heart */
    ck_assert_double_eq_tol(s.last_valid.valid_bleu, want, 1e-12);
    ck_assert(s.last_valid.best_valid >= s.last_valid.valid_bleu); /* the criterion */
    tfm_trainer_free(t);
    tfm_model_free(now);
    s = (story){0};
    o.max_steps = 100000;
    o.lr_scale = 0.0f;
    o.valid_every = 1;
    o.patience = 2;
    t = bleu_trainer(tiny, &o);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_uint_eq(s.last.step, 3);
    ck_assert_double_eq_tol(s.last_valid.valid_bleu, bleu_of(tiny), 1e-12);
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}
END_TEST

static Suite *trainer_loop_suite(void)
{
    Suite *suite = suite_create("trainer_loop");
    TCase *tc = tcase_create("trainer_loop");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, max_steps_end_it);
    tcase_add_test(tc, the_rate_cools_down_to_max_steps);
    tcase_add_test(tc, patience_counts_as_if_nothing_had_ended);
    tcase_add_test(tc, a_stop_does_not_skip_the_validation_that_is_due);
    tcase_add_test(tc, a_finished_training_that_runs_again_does_nothing);
    tcase_add_test(tc, max_epochs_end_it);
    tcase_add_test(tc, max_seconds_end_it);
    tcase_add_test(tc, max_seconds_are_of_all_runs_of_a_trainer);
    tcase_add_test(tc, progress_makes_sense);
    tcase_add_test(tc, m44_m26_perplexity_is_not_smoothed_and_not_dropped);
    tcase_add_test(tc, patience_ends_it);
    tcase_add_test(tc, a_validation_that_is_not_a_number_is_no_better);
    tcase_add_test(tc, patience_needs_something_to_validate_with);
    tcase_add_test(tc, resumed_patience_goes_on_counting);
    tcase_add_test(tc, validation_bleu_is_that_of_the_model);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(trainer_loop_suite)
