/* Small trainings learn what can be learned, and nothing else. */
#include "training_models.h"

enum { SYMBOLS = 8, VOCAB = 4 + SYMBOLS, LONGEST = 6 };

static tfm_model *learner_make(void)
{
    tfm_model_options o = small_options();
    tfm_model *model;

    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = 32;
    o.d_ff = 64;
    o.n_heads = 4;
    o.vocab_size = VOCAB;
    o.softmax_bias = 0;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    return model;
}

static tfm_trainer_options learner_options(void)
{
    tfm_trainer_options o = trainer_options();

    o.dropout = 0.0f;
    o.batch_tokens = 400;
    return o;
}

/* ---------------------------------------------------------------------------------------- copy and reverse ---- */

/* Random sequences of 1 to 5 symbols, and the same again or backwards. */
static void pairs_mirrored(pairs *p, size_t n, bool backwards, uint64_t seed)
{
    pairs_begin(p, n * 2 * LONGEST);
    for (; p->n < n; p->n++) {
        const size_t length = 2 + draw_bits(&seed) % (LONGEST - 1);
        p->sources[p->n] = ids_random(p, length, VOCAB, &seed);
        int32_t *to = p->ids + p->used;
        p->targets[p->n] = ids_random(p, length, VOCAB, &seed);
        for (size_t i = 0; i + 1 < length; i++) to[i] = p->sources[p->n].data[backwards ? length - 2 - i : i];
    }
}

static size_t count_exact(const tfm_trainer *t, uint32_t beam, const pairs *p)
{
    const tfm_decoder_options o = decoder_options(beam);
    tfm_model *model;
    size_t exact = 0;

    ck_assert_ok(tfm_trainer_model(&model, t, &error), error);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, p->sources, p->n, &error), error);
    for (size_t i = 0; i < p->n; i++) {
        const tfm_ids got = tfm_decoder_ids(d, i, 0);
        exact += got.size == p->targets[i].size && !memcmp(got.data, p->targets[i].data, got.size * sizeof *got.data);
    }
    tfm_decoder_free(d);
    tfm_model_free(model);
    return exact;
}

/* Builds differ in the last bits, and so in when exactly it is learned. */
static void learn_mirror(bool backwards, uint64_t most_steps)
{
    const tfm_trainer_options o = learner_options();
    tfm_model *model = learner_make();
    pairs known, unseen;

    pairs_mirrored(&known, 1500, backwards, 5);
    pairs_mirrored(&unseen, 100, backwards, 6);
    tfm_trainer *t = trainer_of(model, &o, &known);
    ck_assert_uint_lt(count_exact(t, 1, &unseen), 10);
    do steps(t, 150);
    while (count_exact(t, 1, &unseen) + count_exact(t, 4, &unseen) < 200 && t->training.at.step < most_steps);
    ck_assert_uint_eq(count_exact(t, 1, &unseen), 100);
    ck_assert_uint_eq(count_exact(t, 4, &unseen), 100);
    tfm_trainer_free(t);
    tfm_model_free(model);
    pairs_free(&known);
    pairs_free(&unseen);
}

START_TEST(copies_are_learned)
{
    learn_mirror(false, 1500);
}
END_TEST

START_TEST(reversal_is_learned)
{
    learn_mirror(true, 3000);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- by heart ---- */

/* The least that smoothed cross-entropy can be: the entropy of the smoothed distribution, PAPER 1.7. */
static double entropy(double eps, double vocab)
{
    const double other = eps / (vocab - 1.0);

    return -(1.0 - eps) * log(1.0 - eps) - (vocab - 1.0) * other * log(other);
}

/* Until the loss stays within .01 of the least that it can be. */
static tfm_progress learn_by_heart(float smoothing)
{
    tfm_trainer_options o = learner_options();
    const double least = smoothing > 0.0f ? entropy((double)smoothing, VOCAB) : 0.0;
    tfm_model *model = learner_make();
    tfm_progress p = {0};
    size_t near_least = 0;
    uint64_t state = 8;
    pairs ten;

    pairs_begin(&ten, 200);
    for (; ten.n < 10; ten.n++) {
        ten.sources[ten.n] = ids_random(&ten, 6, VOCAB, &state);
        ten.targets[ten.n] = ids_random(&ten, 2 + ten.n % 6, VOCAB, &state);
    }
    o.label_smoothing = smoothing;
    tfm_trainer *t = trainer_of(model, &o, &ten);
    do {
        p = step_once(t);
        if (p.loss < least - 1e-6) ck_abort_msg("step %zu: loss %.9g below %.9g", (size_t)p.step, p.loss, least);
        near_least = p.loss < least + 0.01 ? near_least + 1 : 0;
    } while (near_least < 20 && p.step < 1500);
    ck_assert_uint_eq(count_exact(t, 1, &ten), 10);
    tfm_trainer_free(t);
    tfm_model_free(model);
    pairs_free(&ten);
    return p;
}

START_TEST(ten_pairs_are_learned_by_heart)
{
    const tfm_progress p = learn_by_heart(0.0f);

    ck_assert_msg(p.nll < 0.01, "nll is %g", p.nll);
    ck_assert_double_eq_tol(p.loss, p.nll, 1e-12);
}
END_TEST

START_TEST(m18_smoothed_loss_ends_at_its_entropy)
{
    const tfm_progress p = learn_by_heart(0.1f);

    ck_assert_double_eq_tol(p.loss, entropy(0.1, VOCAB), 0.01);
    ck_assert_double_eq_tol(p.nll, -log(0.9), 0.05);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- noise ---- */

START_TEST(m29_random_targets_cannot_be_guessed)
{
    const tfm_trainer_options o = learner_options();
    const double least = (LONGEST - 1) * log(SYMBOLS) / LONGEST; /* the length can be learned, no symbol can */
    tfm_model *model = learner_make();
    tfm_trainer *t = trainer_of(model, &o, NULL);
    uint64_t state = 9;

    for (size_t i = 0; i < 200; i++) { /* always new ones */
        pairs p;
        pairs_begin(&p, 60 * 2 * LONGEST);
        for (; p.n < 60; p.n++) {
            p.sources[p.n] = ids_random(&p, LONGEST, VOCAB, &state);
            p.targets[p.n] = ids_random(&p, LONGEST, VOCAB, &state);
        }
        ck_assert_ok(tfm_trainer_set_data_ids(t, p.sources, p.targets, p.n, NULL, 0, &error), error);
        const tfm_progress now = step_once(t);
        ck_assert_msg(now.nll > least - 0.05, "step %zu: nll is %g", i + 1, now.nll);
        if (i == 199) ck_assert_double_eq_tol(now.nll, least, 0.25);
        pairs_free(&p);
    }
    tfm_trainer_free(t);
    tfm_model_free(model);
}
END_TEST

static Suite *learning_suite(void)
{
    Suite *suite = suite_create("learning");
    TCase *tc = tcase_create("learning");

    tcase_add_test(tc, copies_are_learned);
    tcase_add_test(tc, reversal_is_learned);
    tcase_add_test(tc, ten_pairs_are_learned_by_heart);
    tcase_add_test(tc, m18_smoothed_loss_ends_at_its_entropy);
    tcase_add_test(tc, m29_random_targets_cannot_be_guessed);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(learning_suite)
