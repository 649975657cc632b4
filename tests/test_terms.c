/* Terms by hand: what a hypothesis lacks of them, and how the beam is shared out. */
#include "decode/terms.h"
#include "testing.h"

#include <math.h>

static const int32_t a[] = {4, 4, 5}, b[] = {5, 6};
static const tfm_ids phrases[] = {{a, 3}, {b, 2}};
static const tfm_terms terms = {phrases, 2, NULL, 0};

static void look(tfm_wanted *w, const tfm_terms *of, tfm_ids past)
{
    tfm_terms_count(w, of, past);
    tfm_terms_want(w, of, past);
}

/* want: the next token of each term that is not there; progress: with one token more. */
START_TEST(what_a_hypothesis_lacks)
{
    static const struct {
        int32_t past[6];
        size_t n;
        int32_t want[2];
        size_t wanted;
        int32_t more;
        size_t progress;
    } trials[] = {
        {{0}, 0, {4, 5}, 2, 7, 0},
        {{0}, 0, {4, 5}, 2, 4, 1},
        {{4}, 1, {4, 5}, 2, 4, 2},
        {{7}, 1, {4, 5}, 2, 4, 1},
        {{4, 4, 4}, 3, {5, 5}, 2, 5, 4},       /* its end begins the term, and then has it and begins the other */
        {{4, 4, 7}, 3, {4, 5}, 2, 7, 0},       /* broken off */
        {{4, 4, 5}, 3, {6}, 1, 6, 5},          /* the terms overlap */
        {{4, 4, 5, 6}, 4, {0}, 0, 4, 5},       /* all there */
        {{5, 6, 4, 7, 4, 4}, 6, {5}, 1, 5, 5}, /* in the other order */
    };

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const tfm_ids past = {trials[i].past, trials[i].n};
        tfm_wanted w;
        look(&w, &terms, past);
        ck_assert_uint_eq(w.n, trials[i].wanted);
        for (size_t j = 0; j < w.n; j++) ck_assert_int_eq(w.picks[j].token, trials[i].want[j]);
        ck_assert_uint_eq(tfm_terms_progress(&terms, &w, past, trials[i].more), trials[i].progress);
    }
}
END_TEST

START_TEST(nothing_ends_without_its_terms)
{
    tfm_wanted w;

    for (size_t first = 0; first < 2; first++) { /* in one strip, or in two */
        float logits[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        look(&w, &terms, (tfm_ids){a, 3});
        if (first) tfm_terms_see(&w, TFM_EOS, logits, 0, 4);
        tfm_terms_see(&w, TFM_EOS, logits + 4 * first, 4 * first, 8 - 4 * first);
        ck_assert(isinf(logits[TFM_EOS]) && logits[TFM_EOS] < 0.0f);
        for (size_t i = 2; i < 8; i++) ck_assert(logits[i] == (float)i);
        ck_assert(w.n == 1 && w.picks[0].logit == 6.0f);
    }
}
END_TEST

/* What was counted in the text goes before what the tokens say; full terms may not be completed. */
START_TEST(texts_have_the_last_word)
{
    float logits[8] = {0};
    tfm_wanted w;
    const tfm_ids past = {a, 2};

    tfm_terms_count(&w, &terms, past);
    w.read = 3;
    w.there[0] = w.there[1] = 1;
    w.full = 1;
    tfm_terms_want(&w, &terms, past);
    ck_assert(!w.n && !w.open && w.n_banned == 1 && w.banned[0] == 5);
    tfm_terms_see(&w, TFM_EOS, logits, 0, 8);
    ck_assert(logits[TFM_EOS] == 0.0f && isinf(logits[5]));
    ck_assert_uint_eq(tfm_terms_progress(&terms, &w, past, 7), 5);
    w.there[0] = 0;
    ck_assert_uint_eq(tfm_terms_progress(&terms, &w, past, 7), 2);
    ck_assert_uint_eq(tfm_terms_progress(&terms, &w, past, 5), 5);
    tfm_terms_count(&w, &terms, (tfm_ids){phrases[0].data, 0});
    w.open = true; /* something is there too often */
    tfm_terms_want(&w, &(tfm_terms){.n = 0}, past);
    tfm_terms_see(&w, TFM_EOS, logits, 0, 8);
    ck_assert(isinf(logits[TFM_EOS]));
}
END_TEST

enum { BEAM = 4, PICKS = 2 * BEAM };

/* Hypothesis 0 has the term, hypothesis 1 lacks it and is far more probable. */
START_TEST(the_beam_is_shared_out_by_progress)
{
    static const int32_t one[] = {9};
    static const tfm_ids phrase = {one, 1};
    const tfm_terms term = {&phrase, 1, NULL, 0};
    const tfm_decoder_options o = {.beam = BEAM, .n_best = 1};
    const tfm_allocator allocator = tfm_allocator_or_default(NULL);
    const tfm_ids pasts[] = {{one, 1}, {one, 0}};
    const double lse[] = {0.0, 0.0};
    tfm_pick picks[2][PICKS];
    tfm_choice rows[2];
    tfm_candidate scratch[BEAM * (PICKS + TFM_MOST_TERMS)];
    static tfm_wanted wanted[2];
    tfm_arena arena = {0};
    tfm_block block = {0};
    tfm_beam beam;
    size_t of[2] = {0}, term_at = 0;

    tfm_beam_plan(&beam, &arena, &o, TFM_EOS, 8);
    ck_assert(tfm_block_reserve(&block, &allocator, arena.peak, &arena));
    tfm_beam_plan(&beam, &arena, &o, TFM_EOS, 8);
    tfm_beam_start(&beam, 0);
    beam.steps = 1;
    beam.n_alive = 2;
    beam.alive[0] = -20.0, beam.alive[1] = -1.0;
    for (size_t row = 0; row < 2; row++) {
        tfm_choice_begin(&rows[row], picks[row], PICKS);
        for (int32_t i = 0; i < PICKS; i++) picks[row][rows[row].n++] = (tfm_pick){-1.0f - (float)i, 20 + i};
        look(&wanted[row], &term, pasts[row]);
    }
    wanted[1].picks[0].logit = -30.0f;
    ck_assert_uint_eq(tfm_terms_candidates(&o), sizeof scratch / sizeof *scratch);
    tfm_terms_advance(&beam, &term, rows, lse, wanted, pasts, scratch);
    ck_assert_uint_eq(beam.n_alive, BEAM);
    for (size_t i = 0; i < BEAM; i++) {
        of[tfm_beam_last(&beam)[i].parent]++;
        term_at += tfm_beam_last(&beam)[i].token == 9;
    }
    /* half for each progress; the way to begin the term is the least probable of those that have it */
    ck_assert_uint_eq(of[0], 2);
    ck_assert_uint_eq(of[1], 2);
    ck_assert_uint_eq(term_at, 0);
    ck_assert(beam.alive[0] == -2.0 && beam.alive[2] == -21.0);
    beam.steps = 1;
    beam.n_alive = 2;
    beam.alive[0] = -20.0, beam.alive[1] = -1.0;
    wanted[0].lost = true;
    tfm_terms_advance(&beam, &term, rows, lse, wanted, pasts, scratch);
    for (size_t i = 0; i < beam.n_alive; i++) ck_assert_uint_eq(tfm_beam_last(&beam)[i].parent, 1);
    tfm_block_free(&block, &allocator);
}
END_TEST

static Suite *terms_suite(void)
{
    Suite *suite = suite_create("terms");
    TCase *tc = tcase_create("terms");

    tcase_add_test(tc, what_a_hypothesis_lacks);
    tcase_add_test(tc, nothing_ends_without_its_terms);
    tcase_add_test(tc, texts_have_the_last_word);
    tcase_add_test(tc, the_beam_is_shared_out_by_progress);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(terms_suite)
