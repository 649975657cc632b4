/* Beam search against hand-made models, exhaustive search, and a plain restatement of the algorithm. */
#include "decode/beam.h"
#include "testing.h"

#include <math.h>

enum { LENGTH = 16, BEAM = 256, VOCAB = 512 };

/* Writes log p(next | prefix), or logits, of all ids. */
typedef void model_fn(float *logits, size_t vocab, const int32_t *prefix, size_t n, uint64_t seed);

typedef struct prefix {
    int32_t ids[LENGTH];
} prefix;

typedef struct trial {
    tfm_decoder_options options;
    size_t vocab, max_length;
    model_fn *model;
    uint64_t seed;
    tfm_beam beam;
    tfm_block block;
    prefix alive[BEAM], before[BEAM];
} trial;

static trial t;

static float lse_of(const float *logits, size_t vocab)
{
    double sum = 0.0, most = -INFINITY;

    for (size_t i = 0; i < vocab; i++) most = fmax(most, (double)logits[i]);
    for (size_t i = 0; i < vocab; i++) sum += exp((double)logits[i] - most);
    return (float)(most + log(sum));
}

static void trial_begin(model_fn *model, size_t vocab, uint32_t beam, double alpha, size_t max_length)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_arena arena = {0};

    t = (trial){.vocab = vocab, .max_length = max_length, .model = model};
    t.options = (tfm_decoder_options){.beam = beam, .alpha = (float)alpha, .n_best = 1};
    tfm_beam_plan(&t.beam, &arena, &t.options, TFM_EOS, max_length);
    ck_assert(tfm_block_reserve(&t.block, &a, arena.peak, &arena));
    tfm_beam_plan(&t.beam, &arena, &t.options, TFM_EOS, max_length);
    ck_assert(!arena.bad);
    tfm_beam_start(&t.beam, 0);
}

static void trial_step(void)
{
    static float logits[BEAM * VOCAB];
    static double lse[BEAM];
    static tfm_choice rows[BEAM];
    static tfm_pick picks[BEAM][2 * BEAM];
    static tfm_candidate scratch[2 * BEAM];
    const size_t n = t.beam.n_alive, steps = t.beam.steps;

    for (size_t i = 0; i < n; i++) {
        t.model(logits + i * t.vocab, t.vocab, t.alive[i].ids, steps, t.seed);
        lse[i] = (double)lse_of(logits + i * t.vocab, t.vocab);
        tfm_choice_begin(&rows[i], picks[i], tfm_beam_width(&t.options));
        tfm_choice_add(&rows[i], tfm_kernels_for(0), logits + i * t.vocab, t.vocab, 0,
                       t.options.allow_special ? never_nothing : never_special);
    }
    memcpy(t.before, t.alive, n * sizeof *t.alive);
    tfm_beam_advance(&t.beam, rows, lse, scratch);
    for (size_t i = 0; t.beam.steps > steps && i < t.beam.n_alive; i++) {
        t.alive[i] = t.before[tfm_beam_last(&t.beam)[i].parent];
        t.alive[i].ids[steps] = tfm_beam_last(&t.beam)[i].token;
    }
}

static void trial_run(void)
{
    while (!t.beam.done) trial_step();
}

static void trial_end(void)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);

    tfm_block_free(&t.block, &a);
}

/* want: ids in letters (E EOS, others as digits). */
static void check_result(size_t rank, const char *want, double score, double tolerance)
{
    int32_t ids[LENGTH];
    char got[LENGTH + 1] = "";
    double found;

    ck_assert_uint_lt(rank, tfm_beam_count(&t.beam));
    const size_t n = tfm_beam_result(&t.beam, rank, ids, &found);
    for (size_t i = 0; i < n; i++) got[i] = (char)(ids[i] == TFM_EOS ? 'E' : '0' + ids[i]);
    ck_assert_str_eq(got, want);
    ck_assert_msg(fabs(found - score) <= tolerance, "score is %.9f, want %.9f", found, score);
}

static void set_row(float *logits, double pad, double eos, double bos, double three)
{
    logits[0] = (float)log(pad), logits[1] = (float)log(eos), logits[2] = (float)log(bos),
    logits[3] = (float)log(three);
}

/* EOS 1, a 2, b 3; the last token decides. */
static void toy(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    (void)vocab, (void)seed;
    if (!n) set_row(logits, 0.0, 0.1, 0.5, 0.4);
    else if (p[n - 1] == 2) set_row(logits, 0.0, 0.4, 0.1, 0.5);
    else set_row(logits, 0.0, 0.3, 0.6, 0.1);
}

static const struct {
    double alpha;
    const char *ids[2];
    double score[2];
    size_t steps[2]; /* by stop rule */
} toy_goldens[] = {
    {0.0, {"2E", "3E"}, {-1.609437912, -2.120263536}, {3, 4}},
    {0.6, {"2E", "3E"}, {-1.467256877, -1.932955121}, {4, 5}},
    {1.0, {"2E", "32E"}, {-1.379518211, -1.757555316}, {4, 6}},
    {2.0, {"2E", "23232E"}, {-1.182444181, -1.195254601}, {6, 6}},
};

static void toy_begin(uint32_t beam, double alpha, size_t max_length)
{
    trial_begin(toy, 4, beam, alpha, max_length);
    t.options.allow_special = 1; /* a is id 2 */
}

START_TEST(m32_m33_toy_of_all_penalties_and_rules)
{
    const size_t i = (size_t)_i / 2, rule = (size_t)_i % 2;

    toy_begin(2, toy_goldens[i].alpha, 6);
    t.options.stop_rule = rule ? TFM_STOP_WORST : TFM_STOP_BEST;
    trial_run();
    t.options.n_best = 2; /* looks at both that were finished by then */
    check_result(0, toy_goldens[i].ids[0], toy_goldens[i].score[0], 2e-7);
    check_result(1, toy_goldens[i].ids[1], toy_goldens[i].score[1], 2e-7);
    ck_assert_uint_eq(t.beam.steps, toy_goldens[i].steps[rule]);
    trial_end();
}
END_TEST

START_TEST(toy_trace)
{
    toy_begin(2, 0.6, 6);
    trial_step();
    ck_assert_int_eq(t.alive[0].ids[0], 2);
    ck_assert_int_eq(t.alive[1].ids[0], 3);
    ck_assert_double_eq_tol(t.beam.alive[0], -0.693147, 1e-6);
    ck_assert_double_eq_tol(t.beam.alive[1], -0.916291, 1e-6);
    ck_assert_uint_eq(t.beam.n_finished, 1);
    check_result(0, "E", -2.302585, 1e-6);
    trial_step();
    ck_assert_mem_eq(t.alive[0].ids, ((int32_t[]){2, 3}), 8);
    ck_assert_mem_eq(t.alive[1].ids, ((int32_t[]){3, 2}), 8);
    ck_assert_double_eq_tol(t.beam.alive[0], -1.386294, 1e-6);
    ck_assert_double_eq_tol(t.beam.alive[1], -1.427116, 1e-6);
    t.options.n_best = 2;
    check_result(0, "2E", -1.467257, 1e-6);
    check_result(1, "3E", -1.932955, 1e-6);
    trial_end();
}
END_TEST

static double penalty(double alpha, size_t length)
{
    const tfm_decoder_options o = {.alpha = (float)alpha};

    return tfm_beam_penalty(&o, length);
}

START_TEST(m32_penalty)
{
    ck_assert_double_eq_tol(penalty(0.6, 1), 1.0, 1e-6);
    ck_assert_double_eq_tol(penalty(0.6, 2), 1.096902620, 1e-6);
    ck_assert_double_eq_tol(penalty(0.6, 50), 3.778564704, 1e-6);
    ck_assert_double_eq_tol(penalty(0.3, 100), 2.359996803, 1e-6);
    ck_assert_double_eq(penalty(0.0, 77), 1.0);
}
END_TEST

/* Both hypotheses want to end at step 2, and their ends are the two best candidates. */
static void enders(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    (void)vocab, (void)p, (void)seed;
    if (n == 1) set_row(logits, 0.0, 0.8, 0.1, 0.1);
    else set_row(logits, 0.0, 0.0, 0.5, 0.5);
}

START_TEST(m34_beam_stays_full_when_the_best_candidates_end)
{
    trial_begin(enders, 4, 2, 2.0, 16);
    t.options.allow_special = 1;
    trial_step();
    trial_step();
    ck_assert_uint_eq(t.beam.n_finished, 2);
    ck_assert_uint_eq(t.beam.n_alive, 2);
    trial_end();
}
END_TEST

START_TEST(m39_beam_of_one_is_greedy)
{
    double score = 0.0;

    toy_begin(1, 0.0, 7);
    trial_run();
    ck_assert_uint_eq(t.beam.steps, 7);
    for (size_t i = 0; i < 7; i++) score += (double)(float)log(i ? (i % 2 ? 0.5 : 0.6) : 0.5);
    check_result(0, "2323232", score, 1e-6);
    trial_end();
}
END_TEST

/* a, then EOS at once. */
START_TEST(m31_greedy_ends_at_the_first_eos)
{
    trial_begin(enders, 4, 1, 0.6, 16);
    t.options.allow_special = 1;
    trial_run();
    check_result(0, "2E", (log(0.5) + log(0.8)) / pow(7.0 / 6.0, 0.6), 1e-6);
    ck_assert_uint_eq(t.beam.steps, 2);
    trial_end();
}
END_TEST

START_TEST(m40_none_finished_gives_the_live_ones)
{
    const uint32_t beam = _i ? 2 : 1;

    trial_begin(enders, 4, beam, 0.6, 1);
    t.options.allow_special = 1;
    t.options.n_best = beam;
    trial_run();
    ck_assert_uint_eq(tfm_beam_count(&t.beam), beam);
    check_result(0, "2", log(0.5), 1e-7);
    if (beam == 2) check_result(1, "3", log(0.5), 1e-7);
    trial_end();
}
END_TEST

static void flat(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    (void)p, (void)n, (void)seed;
    for (size_t i = 0; i < vocab; i++) logits[i] = i == TFM_EOS ? -9.0f : 0.25f;
}

START_TEST(m41_equal_logits_go_to_the_lowest_id)
{
    trial_begin(flat, 200, 3, 0.6, 4);
    for (int i = 0; i < 2; i++) trial_step();
    ck_assert_mem_eq(t.alive[0].ids, ((int32_t[]){3, 3}), 8);
    ck_assert_mem_eq(t.alive[1].ids, ((int32_t[]){3, 4}), 8);
    ck_assert_mem_eq(t.alive[2].ids, ((int32_t[]){3, 5}), 8);
    trial_end();

    trial_begin(flat, 6, 3, 0.6, 4); /* candidates of two hypotheses are left at the second step */
    for (int i = 0; i < 2; i++) trial_step();
    for (int32_t i = 0; i < 3; i++) ck_assert_mem_eq(t.alive[i].ids, ((int32_t[]){3, 3 + i}), 8);
    trial_end();

    trial_begin(flat, 5, 3, 0.0, 2);
    t.options.n_best = 3;
    trial_run();
    check_result(1, "3E", -9.25 - 2.0 * log(4.0), 1e-3);
    check_result(2, "4E", -9.25 - 2.0 * log(4.0), 1e-3);
    trial_end();

    trial_begin(flat, 200, 1, 0.6, 4);
    t.options.allow_special = 1;
    trial_run();
    check_result(0, "0000", 4.0 * (0.25 - (double)lse_of((float[]){0.25f}, 1)) - 4.0 * log(199.0), 1e-3);
    trial_end();
}
END_TEST

/* PAD and BOS hold most of the mass; what the others have is not changed by their absence. */
static void special(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    (void)vocab, (void)p, (void)seed;
    if (n) set_row(logits, 0.5, 0.1, 0.3, 0.1);
    else set_row(logits, 0.5, 0.04, 0.3, 0.16);
}

START_TEST(c27_forbidden_ids_are_left_out_without_renormalising)
{
    trial_begin(special, 4, 2, 0.0, 2);
    t.options.n_best = 2;
    trial_run();
    ck_assert_uint_eq(tfm_beam_count(&t.beam), 2);
    check_result(0, "E", log(0.04), 1e-6);
    check_result(1, "3E", log(0.16) + log(0.1), 1e-6);
    trial_end();
}
END_TEST

/* "3E" has the higher probability, "434343E" the higher probability per length. */
static void short_or_long(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    (void)seed;
    for (size_t i = 0; i < vocab; i++) logits[i] = -30.0f;
    if (!n) logits[3] = (float)log(0.5), logits[4] = (float)log(0.5);
    else if (p[0] == 3) logits[1] = (float)log(0.4), logits[5] = (float)log(0.6);
    else if (n == 5) logits[1] = 0.0f;
    else logits[4] = (float)log(0.75), logits[5] = (float)log(0.25);
}

START_TEST(c23_penalty_uses_each_hypothesis_own_length)
{
    trial_begin(short_or_long, 6, 3, 0.0, 8);
    trial_run();
    check_result(0, "3E", log(0.5 * 0.4), 1e-6);
    trial_end();
    trial_begin(short_or_long, 6, 3, 2.0, 8);
    trial_run();
    check_result(0, "44444E", log(0.5 * pow(0.75, 4.0)) / pow(11.0 / 6.0, 2.0), 1e-6);
    trial_end();
}
END_TEST

/* ------------------------------------------------------------------- all sequences, and the plain algorithm ---- */

/* Logits that depend on the whole prefix; steps of 1/4 make equal ones common. */
static void hashed(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < vocab; i++) {
        uint64_t h = seed * 0x9E3779B97F4A7C15u + i;
        for (size_t j = 0; j < n; j++) h = (h ^ (uint64_t)p[j]) * 0xD6E8FEB86659FD93u, h ^= h >> 31;
        h *= 0xD6E8FEB86659FD93u, h ^= h >> 32;
        logits[i] = (float)(h % 1024) / 256.0f;
        if (seed & 1) logits[i] = floorf(4.0f * logits[i]) / 4.0f;
        if (i == TFM_EOS && seed % 3 == 0) logits[i] += 1.0f;
    }
}

typedef struct sequence {
    prefix p;
    size_t length;
    double logprob, score;
} sequence;

static int by_score(const void *a, const void *b)
{
    const sequence *x = a, *y = b;

    return (x->score < y->score) - (x->score > y->score);
}

/* All sequences that end within the longest length, best first. */
static size_t enumerate(sequence *out, sequence from, double alpha, size_t n)
{
    float logits[VOCAB];
    const double lse = (t.model(logits, t.vocab, from.p.ids, from.length, t.seed), (double)lse_of(logits, t.vocab));

    for (size_t i = 0; i < t.vocab; i++) {
        sequence next = from;
        next.p.ids[next.length++] = (int32_t)i;
        next.logprob += (double)logits[i] - lse;
        next.score = next.logprob / pow((5.0 + (double)next.length) / 6.0, alpha);
        if (i == TFM_EOS) out[n++] = next;
        else if (next.length < t.max_length) n = enumerate(out, next, alpha, n);
    }
    return n;
}

START_TEST(c24_m35_wide_beam_finds_the_best_of_all_sequences)
{
    static const double alphas[] = {0.0, 0.6, 2.5};
    static sequence all[1024];

    for (uint64_t seed = 0; seed < 60; seed++) {
        const double alpha = (double)(float)alphas[seed % 3];
        double best[2];
        for (uint32_t five = 0; five < 2; five++) {
            trial_begin(hashed, 4, 250, alpha, 5);
            t.seed = seed & ~1ull;
            t.options.allow_special = 1;
            t.options.n_best = five ? 5 : 1;
            t.options.stop_rule = seed % 5 ? TFM_STOP_BEST : TFM_STOP_WORST;
            trial_run();
            const size_t n = enumerate(all, (sequence){0}, alpha, 0);
            qsort(all, n, sizeof *all, by_score);
            if (t.options.stop_rule == TFM_STOP_BEST) ck_assert_uint_eq(tfm_beam_count(&t.beam), t.options.n_best);
            for (size_t rank = 0; rank < tfm_beam_count(&t.beam); rank++) {
                double score;
                tfm_beam_result(&t.beam, rank, NULL, &score);
                ck_assert_msg(fabs(score - all[rank].score) < 1e-12, "seed %d rank %zu: %.15g, want %.15g", (int)seed,
                              rank, score, all[rank].score);
            }
            tfm_beam_result(&t.beam, 0, NULL, &best[five]);
            trial_end();
        }
        ck_assert_double_eq(best[0], best[1]);
    }
}
END_TEST

static size_t plain_merge(sequence *finished, size_t n, sequence end, size_t beam)
{
    size_t i = n;

    while (i && finished[i - 1].score < end.score) i--;
    if (i == beam) return n;
    if (n == beam) n--;
    memmove(finished + i + 1, finished + i, (n - i) * sizeof *finished);
    finished[i] = end;
    return n + 1;
}

static int by_logprob_then_place(const void *a, const void *b)
{
    const sequence *x = a, *y = b;

    if (x->logprob != y->logprob) return x->logprob < y->logprob ? 1 : -1;
    return x->score < y->score ? -1 : 1; /* score holds the flat index */
}

/* The algorithm as one would write it on paper: every candidate, one sort. Returns the number of finished. */
static size_t plain_search(sequence *finished, size_t *steps)
{
    static sequence alive[BEAM], all[16 * VOCAB];
    const tfm_decoder_options *o = &t.options;
    size_t n_alive = 1, n_finished = 0;

    alive[0] = (sequence){0};
    for (*steps = 0; n_alive && *steps < t.max_length;) {
        size_t n = 0;
        ++*steps;
        for (size_t r = 0; r < n_alive; r++) {
            float logits[VOCAB];
            t.model(logits, t.vocab, alive[r].p.ids, alive[r].length, t.seed);
            const double lse = (double)lse_of(logits, t.vocab);
            for (size_t i = 0; i < t.vocab; i++) {
                if (!o->allow_special && (i == TFM_PAD || i == TFM_BOS)) continue;
                all[n] = alive[r];
                all[n].p.ids[all[n].length++] = (int32_t)i;
                all[n].logprob += (double)logits[i] - lse;
                all[n++].score = (double)(r * t.vocab + i);
            }
        }
        qsort(all, n, sizeof *all, by_logprob_then_place);
        const double penalty = pow((5.0 + (double)*steps) / 6.0, (double)o->alpha);
        n_alive = 0;
        for (size_t i = 0; i < n && i < 2 * o->beam; i++) {
            all[i].score = all[i].logprob / penalty;
            if (all[i].p.ids[*steps - 1] == TFM_EOS) n_finished = plain_merge(finished, n_finished, all[i], o->beam);
            else if (n_alive < o->beam) alive[n_alive++] = all[i];
        }
        const double bound = alive[0].logprob / pow((5.0 + (double)t.max_length) / 6.0, (double)o->alpha);
        const size_t rank = o->stop_rule == TFM_STOP_WORST ? n_finished : o->n_best;
        if (rank && rank <= n_finished && finished[rank - 1].score > bound) break;
    }
    return n_finished;
}

START_TEST(equals_the_plain_algorithm)
{
    static const size_t vocabs[] = {4, 5, 7, 63, 64, 65, 130, 500};
    static sequence finished[BEAM];

    for (uint64_t seed = 0; seed < 160; seed++) {
        size_t steps;
        trial_begin(hashed, vocabs[seed % 8], 2 + (uint32_t)(seed / 8 % 5), 0.2 * (double)(seed % 7), 3 + seed % 9);
        t.seed = seed;
        t.options.n_best = 1 + (uint32_t)seed % t.options.beam;
        t.options.stop_rule = seed / 3 % 2;
        t.options.allow_special = seed / 5 % 2;
        trial_run();
        const size_t n = plain_search(finished, &steps);
        ck_assert_uint_eq(t.beam.steps, steps);
        ck_assert_uint_eq(t.beam.n_finished, n);
        for (size_t rank = 0; n && rank < tfm_beam_count(&t.beam); rank++) {
            int32_t ids[LENGTH];
            double score;
            ck_assert_uint_eq(tfm_beam_result(&t.beam, rank, ids, &score), finished[rank].length);
            ck_assert_mem_eq(ids, finished[rank].p.ids, finished[rank].length * sizeof *ids);
            ck_assert_double_eq(score, finished[rank].score);
        }
        trial_end();
    }
}
END_TEST

/* ---------------------------------------------------------------------------------------- what is no number ---- */

static void broken(float *logits, size_t vocab, const int32_t *p, size_t n, uint64_t seed)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};

    flat(logits, vocab, p, n, seed);
    if (n < seed / 8) return;
    for (size_t i = 0; i < vocab; i++)
        if (seed % 8 < 3 || i % 3 == 0) logits[i] = bad[seed % 3];
}

START_TEST(numbers_that_are_none_end_the_search)
{
    for (uint32_t beam = 1; beam < 4; beam++)
        for (uint64_t seed = 0; seed < 32; seed++) {
            double score;
            trial_begin(broken, 130, beam, 0.6, 9);
            t.seed = seed;
            trial_run();
            ck_assert_uint_eq(tfm_beam_count(&t.beam), 1);
            const size_t n = tfm_beam_result(&t.beam, 0, NULL, &score);
            if (seed % 8 < 3) {
                ck_assert_uint_eq(n, seed / 8);
                ck_assert(isnan(score));
            }
            trial_end();
        }
}
END_TEST

static Suite *beam_suite(void)
{
    Suite *suite = suite_create("beam");
    TCase *tc = tcase_create("beam");

    tcase_add_loop_test(tc, m32_m33_toy_of_all_penalties_and_rules, 0, 8);
    tcase_add_test(tc, toy_trace);
    tcase_add_test(tc, m32_penalty);
    tcase_add_test(tc, m34_beam_stays_full_when_the_best_candidates_end);
    tcase_add_test(tc, m39_beam_of_one_is_greedy);
    tcase_add_test(tc, m31_greedy_ends_at_the_first_eos);
    tcase_add_loop_test(tc, m40_none_finished_gives_the_live_ones, 0, 2);
    tcase_add_test(tc, m41_equal_logits_go_to_the_lowest_id);
    tcase_add_test(tc, c27_forbidden_ids_are_left_out_without_renormalising);
    tcase_add_test(tc, c23_penalty_uses_each_hypothesis_own_length);
    tcase_add_test(tc, c24_m35_wide_beam_finds_the_best_of_all_sequences);
    tcase_add_test(tc, equals_the_plain_algorithm);
    tcase_add_test(tc, numbers_that_are_none_end_the_search);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(beam_suite)
