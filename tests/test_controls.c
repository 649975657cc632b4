/* Controls of the search, each against all translations of a tiny model and against a plain restatement of its rule. */
#include "decode/masks.h"
#include "decode/search.h"
#include "decode/terms.h"
#include "decoding_oracle.h"

#include <float.h>

static tiny t;
static tfm_terms terms;
static tfm_error error;

static const int32_t source_ids[] = {3, 5, 4, TFM_EOS};

static void options_begin(void)
{
    t.source = (tfm_ids){source_ids, 4};
    t.options = (tfm_decoder_options){.beam = TINY_ALL,
                                      .alpha = 0.6f,
                                      .n_best = 12,
                                      .max_extra = 1,
                                      .max_length = TINY_LONGEST,
                                      .max_source = 64,
                                      .batch_tokens = 4096};
}

/* ------------------------------------------------------------------------------------------- terms, restated ---- */

/* From left to right, without overlaps. */
static size_t times_in(const int32_t *ids, size_t n, const tfm_ids *term)
{
    size_t found = 0, at = 0;

    while (at + term->size <= n) {
        const bool here = !memcmp(ids + at, term->data, term->size * sizeof *ids);
        found += here;
        at += here ? term->size : 1;
    }
    return found;
}

/* 0: any number of times. More only where the prefix has more. */
static size_t most_of(size_t i)
{
    const size_t begun = times_in(t.prefix.data, t.prefix.size, &terms.phrases[i]),
                 times = terms.times ? terms.times[i] : 0;

    return times && times < begun ? begun : times;
}

static bool has_terms(const int32_t *ids, size_t n)
{
    for (size_t i = 0; i < terms.n; i++) {
        const size_t found = times_in(ids, n, &terms.phrases[i]), most = most_of(i);
        if (most ? found != most : !found) return false;
    }
    return true;
}

static void change(double row[TINY_V], const int32_t *ids, size_t n)
{
    tiny_controls(&t, row, ids, n);
    for (int32_t id = 0; id < TINY_V; id++) {
        int32_t with[TINY_LONGEST + 1];
        memcpy(with, ids, n * sizeof *ids);
        with[n] = id;
        for (size_t i = 0; i < terms.n; i++)
            if (most_of(i) && times_in(with, n + 1, &terms.phrases[i]) > most_of(i)) row[id] = -INFINITY;
    }
    if (!has_terms(ids, n)) row[TFM_EOS] = -INFINITY;
}

/* --------------------------------------------------------------------------------------------------- search ---- */

static tfm_search *search_of(void)
{
    tfm_search *search;

    ck_assert_ok(tfm_search_create(&search, &(tfm_member){.transformer = t.g.transformer}, 1, t.g.pool, &t.options,
                                   &t.g.allocator, &error),
                 error);
    return search;
}

/* Scores in order; where they are not equal, ids too. The rule of 2017 may end with fewer, but none that are worse. */
static void check_best(const tfm_search *search, size_t sentence)
{
    const size_t n = tfm_search_count(search, sentence), all = t.n < t.options.n_best ? t.n : t.options.n_best;

    ck_assert(t.options.stop_rule == TFM_STOP_WORST ? n && n <= all : n == all);
    for (size_t rank = 0; rank < n; rank++) {
        tfm_hypothesis h;
        const tiny_sequence *want = &t.all[rank];
        ck_assert(tfm_search_get(search, sentence, rank, &h));
        ck_assert_msg(fabs(h.score - want->score) < 1e-5, "rank %zu: %.9g, want %.9g", rank, h.score, want->score);
        const bool alone =
            (!rank || want[-1].score - want->score > 1e-4) && (rank + 1 >= t.n || want->score - want[1].score > 1e-4);
        if (!alone) continue;
        ck_assert_uint_eq(h.ids.size, want->size);
        ck_assert_mem_eq(h.ids.data, want->ids, want->size * sizeof *want->ids);
    }
}

/* Nothing may end: what there is has no EOS, and a number. */
static void check_open(const tfm_search *search, size_t sentence)
{
    tfm_hypothesis h;

    ck_assert(tfm_search_get(search, sentence, 0, &h));
    ck_assert(!h.finished && !isnan(h.score));
}

/* A hypothesis to which the masks leave nothing ends, but not without its terms. */
static void drop_without_terms(void)
{
    size_t n = 0;

    for (size_t i = 0; i < t.n; i++)
        if (has_terms(t.all[i].ids, t.all[i].size - 1)) t.all[n++] = t.all[i];
    t.n = n;
}

static void check_search(void)
{
    tfm_search *search = search_of();

    t.change = change;
    tiny_enumerate(&t, tiny_at_most(&t));
    drop_without_terms();
    const tfm_request request = {.n = 1,
                                 .sources = &t.source,
                                 .prefixes = &t.prefix,
                                 .n_terms = &terms.n,
                                 .terms = terms.phrases,
                                 .term_times = terms.times};
    ck_assert_ok(tfm_search_run(search, &request, &error), error);
    if (t.n) check_best(search, 0);
    else check_open(search, 0);
    tfm_search_free(search);
}

static const int32_t four[] = {4}, unknown[] = {TFM_UNK}, pair[] = {5, 4}, triple[] = {4, 5, 5}, end[] = {4, TFM_EOS};
static const tfm_ids forbidden[] = {{four, 1}, {pair, 2}, {unknown, 1}, {triple, 3}, {end, 2}};

/* Bits of the number choose the controls. */
static void set_controls(unsigned bits)
{
    static const float ratios[] = {0.0f, 0.6f, 0.9f, 1.1f};
    tfm_decoder_options *o = &t.options;

    options_begin();
    o->length_norm = bits % 4;
    o->alpha = bits & 1 ? 0.6f : 1.5f;
    o->no_repeat_ngram = bits / 2 % 4;
    o->repetition_penalty = (float)(bits / 3 % 3) * 0.7f;
    o->min_length = bits / 7 % 4;
    o->min_ratio = bits & 4 ? 0.6f : 0.0f;
    o->max_ratio = ratios[bits / 8 % 4];
    o->stop_rule = bits / 6 % 2 ? TFM_STOP_WORST : TFM_STOP_BEST;
    o->forbidden = forbidden + bits % 3;
    o->n_forbidden = bits / 5 % 4;
    o->allow_special = bits / 11 % 3 == 1;
    if (o->allow_special) o->max_length = TINY_LONGEST - 1; /* there are too many of 5 */
}

static void set_coverage(unsigned bits)
{
    t.options.coverage = (float)(1 + bits % 5) * 0.3f;
    t.options.alignment_layer = bits % 3;
    t.options.alignment_head = bits / 3 % 3;
}

/* Shorter than the longest output. */
static void set_prefix(unsigned bits)
{
    static const int32_t begins[] = {4, TFM_UNK, 4}, others[] = {5, 4, 4};
    const size_t size = 1 + bits % 3, most = tiny_at_most(&t) - 1;

    t.prefix = (tfm_ids){bits & 4 ? begins : others, size < most ? size : most};
}

/* Sets of terms: some overlap, contain or repeat another, or begin like it. */
static void set_terms(unsigned bits)
{
    static const int32_t a[] = {4, 4, 5}, b[] = {5, 3}, c[] = {3};
    static const tfm_ids all[] = {{c, 1}, {a, 2}, {b, 2}, {a, 3}, {a, 1}, {a + 1, 2}, {b, 1}, {b, 1}, {c, 1}};
    static const size_t times[] = {1, 0, 2, 1, 1, 2, 1};

    terms = (tfm_terms){all + bits % 7, 1 + bits % 3, bits % 2 ? times + bits % 5 : NULL, 0};
}

static void trial_begin(uint64_t seed)
{
    tiny_begin(&t, seed);
    t.prefix = (tfm_ids){NULL, 0};
    terms = (tfm_terms){.n = 0};
}

START_TEST(c27_wide_search_finds_the_best_of_all_under_every_control)
{
    for (unsigned i = 0; i < 48; i++) {
        trial_begin((uint64_t)_i * 100 + i);
        set_controls((unsigned)_i * 48 + i);
        check_search();
        tiny_end(&t);
    }
}
END_TEST

START_TEST(wide_search_finds_what_covers_its_source_best)
{
    for (unsigned i = 0; i < 48; i++) {
        trial_begin(3000 + i);
        set_controls(i % 4 ? i * 11 : 0);
        set_coverage(i);
        check_search();
        tiny_end(&t);
    }
}
END_TEST

START_TEST(c25_behind_a_prefix_search_is_that_of_a_fresh_beam)
{
    for (unsigned i = 0; i < 36; i++) {
        trial_begin(1000 + i);
        set_controls(i * 7);
        set_prefix(i);
        check_search();
        tiny_end(&t);
    }
}
END_TEST

START_TEST(wide_search_with_terms_finds_the_best_of_all_that_have_them)
{
    size_t some = 0;

    for (unsigned i = 0; i < 144; i++) {
        trial_begin(2000 + i);
        set_controls(i % 4 ? i * 5 : i % 3);
        set_terms(i);
        check_search();
        some += t.n > 0;
        tiny_end(&t);
    }
    ck_assert_uint_gt(some, 40);
}
END_TEST

START_TEST(what_a_prefix_has_too_often_comes_no_more)
{
    static const int32_t begins[] = {4, 5, 4, 5};
    static const tfm_ids phrases[] = {{begins, 1}, {begins, 2}, {begins + 1, 1}, {begins + 1, 2}};
    static const size_t times[] = {1, 1, 2, 1};
    static const unsigned controls[] = {0, 6, 2, 9};

    for (unsigned i = 0; i < 32; i++) {
        trial_begin(6000 + i);
        set_controls(controls[i % 4]);
        t.prefix = (tfm_ids){begins, 2 + i / 4 % 3 < tiny_at_most(&t) ? 2 + i / 4 % 3 : 2};
        terms = (tfm_terms){phrases + i % 3, 1 + i % 2, times + i % 3, 0};
        check_search();
        tiny_end(&t);
    }
}
END_TEST

/* Coverage, a prefix and terms: at least two of them, and other controls. */
START_TEST(wide_search_finds_the_best_of_all_under_controls_together)
{
    size_t some = 0;

    for (unsigned i = 0; i < 48; i++) {
        const unsigned bits = ((unsigned)_i * 48 + i) * 2654435761u >> 8, which = i % 4;
        trial_begin(4000 + (uint64_t)_i * 48 + i);
        set_controls(bits);
        if (which != 1) set_coverage(bits);
        if (which != 2) set_prefix(bits / 3);
        if (which != 3) set_terms(bits / 5);
        check_search();
        some += t.n > 1;
        tiny_end(&t);
    }
    ck_assert_uint_gt(some, 12);
}
END_TEST

/* A term that may not come: no end, and numbers all the same. */
START_TEST(terms_that_masks_forbid_leave_a_number)
{
    static const int32_t every[] = {TFM_UNK, 4, 5, TFM_PAD, TFM_EOS, TFM_BOS};
    static const tfm_ids ids[] = {{every, 1},     {every + 1, 1}, {every + 2, 1},
                                  {every + 3, 1}, {every + 4, 1}, {every + 5, 1}};
    const size_t one = 1;
    tfm_hypothesis h;

    for (size_t n = 1; n <= 6; n++) {
        tiny_begin(&t, 7);
        options_begin();
        t.options.forbidden = ids;
        t.options.n_forbidden = n;
        tfm_search *search = search_of();
        const tfm_request request = {.n = 1, .sources = &t.source, .n_terms = &one, .terms = ids + (n - 1) % 3};
        ck_assert_ok(tfm_search_run(search, &request, &error), error);
        ck_assert(tfm_search_get(search, 0, 0, &h));
        ck_assert(!isnan(h.score) && (!h.ids.size || h.ids.data[h.ids.size - 1] != TFM_EOS));
        tfm_search_free(search);
        tiny_end(&t);
    }
}
END_TEST

/* A token that came twice is penalised once. */
START_TEST(repetition_penalty_counts_a_token_once)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        tiny_begin(&t, seed);
        options_begin();
        t.options.repetition_penalty = seed % 2 ? 0.4f : 3.0f;
        t.options.n_best = 200;
        check_search();
        tiny_end(&t);
    }
}
END_TEST

START_TEST(length_norms_by_name)
{
    static const double want[] = {1.0969029, 1.5157166, 1.5157166, 1.0};

    for (uint32_t norm = 0; norm < 4; norm++) {
        tiny_begin(&t, 3);
        options_begin();
        t.options.length_norm = norm;
        ck_assert_double_eq_tol(tiny_penalty(&t.options, 2), want[norm], 1e-6);
        check_search();
        tiny_end(&t);
    }
}
END_TEST

/* One token holds nearly all of the mass: without it the others sum to 1. */
START_TEST(c27_what_is_forbidden_leaves_its_probability_to_the_others)
{
    static const int32_t all[] = {TFM_PAD, TFM_BOS, 4};
    static const tfm_ids some[] = {{all, 1}, {all + 1, 1}, {all + 2, 1}};
    double sum = 0.0;

    tiny_begin(&t, 5);
    options_begin();
    t.options.forbidden = some;
    t.options.n_forbidden = 3;
    t.options.max_length = 1;
    t.options.n_best = TINY_V;
    t.options.length_norm = TFM_LENGTH_NONE;
    t.options.min_length = 1;
    for (size_t i = 0; i < GOLDEN_D; i++) t.g.data[4 * GOLDEN_D + i] *= 20.0f;
    tfm_search *search = search_of();
    ck_assert_ok(tfm_search_run(search, &(tfm_request){.n = 1, .sources = &t.source, .prefixes = &t.prefix}, &error),
                 error);
    /* an end, and what lives on at the limit, are two runs */
    tfm_hypothesis h;
    ck_assert(tfm_search_get(search, 0, 0, &h));
    sum += exp(h.score);
    tfm_search_free(search);
    t.options.min_length = 2;
    search = search_of();
    ck_assert_ok(tfm_search_run(search, &(tfm_request){.n = 1, .sources = &t.source, .prefixes = &t.prefix}, &error),
                 error);
    ck_assert_uint_eq(tfm_search_count(search, 0), 2);
    double alone = 0.0;
    for (size_t i = 0; i < 2; i++) {
        ck_assert(tfm_search_get(search, 0, i, &h));
        ck_assert_int_ne(h.ids.data[0], 4);
        alone += exp(h.score);
    }
    ck_assert_double_eq_tol(alone, 1.0, 1e-5); /* neither 4 nor EOS */
    ck_assert(sum > 0.0 && sum < 1.0);
    tfm_search_free(search);
    tiny_end(&t);
}
END_TEST

/* Masks that leave nothing: the hypothesis ends, and is a number. */
START_TEST(c27_masks_that_leave_nothing_end_the_hypothesis)
{
    static const int32_t every[] = {0, 1, 2, 3, 4, 5};
    static const tfm_ids ids[] = {{every, 1},     {every + 1, 1}, {every + 2, 1},
                                  {every + 3, 1}, {every + 4, 1}, {every + 5, 1}};
    tfm_hypothesis h;

    tiny_begin(&t, 7);
    options_begin();
    t.options.forbidden = ids;
    t.options.n_forbidden = 6;
    t.options.min_length = 3;
    t.options.no_repeat_ngram = 1;
    tfm_search *search = search_of();
    ck_assert_ok(tfm_search_run(search, &(tfm_request){.n = 1, .sources = &t.source, .prefixes = &t.prefix}, &error),
                 error);
    ck_assert(tfm_search_get(search, 0, 0, &h));
    ck_assert_uint_eq(h.ids.size, 1);
    ck_assert_int_eq(h.ids.data[0], TFM_EOS);
    ck_assert_double_eq(h.score, 0.0);
    tfm_search_free(search);
    tiny_end(&t);
}
END_TEST

START_TEST(any_ratio_is_a_number_of_tokens)
{
    tfm_decoder_options o = {.min_length = 2, .min_ratio = 0.5f};

    ck_assert_uint_eq(tfm_masks_min_length(&o, 3), 2);
    ck_assert_uint_eq(tfm_masks_min_length(&o, 5), 3);
    o.min_ratio = 1.2f; /* a little more, but 6 of 5 */
    ck_assert_uint_eq(tfm_masks_min_length(&o, 5), 6);
    o.min_ratio = FLT_MAX;
    ck_assert_uint_eq(tfm_masks_min_length(&o, 4096), UINT32_MAX);
    o.min_ratio = 1e-30f;
    ck_assert_uint_eq(tfm_masks_min_length(&o, 4096), 2);
}
END_TEST

static Suite *controls_suite(void)
{
    Suite *suite = suite_create("controls");
    TCase *tc = tcase_create("controls");

    tcase_add_loop_test(tc, c27_wide_search_finds_the_best_of_all_under_every_control, 0, 8);
    tcase_add_loop_test(tc, wide_search_finds_the_best_of_all_under_controls_together, 0, 6);
    tcase_add_test(tc, wide_search_finds_what_covers_its_source_best);
    tcase_add_test(tc, c25_behind_a_prefix_search_is_that_of_a_fresh_beam);
    tcase_add_test(tc, wide_search_with_terms_finds_the_best_of_all_that_have_them);
    tcase_add_test(tc, what_a_prefix_has_too_often_comes_no_more);
    tcase_add_test(tc, terms_that_masks_forbid_leave_a_number);
    tcase_add_test(tc, repetition_penalty_counts_a_token_once);
    tcase_add_test(tc, any_ratio_is_a_number_of_tokens);
    tcase_add_test(tc, length_norms_by_name);
    tcase_add_test(tc, c27_what_is_forbidden_leaves_its_probability_to_the_others);
    tcase_add_test(tc, c27_masks_that_leave_nothing_end_the_hypothesis);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(controls_suite)
