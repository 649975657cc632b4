/* Search and scoring with the model: the specification's goldens, and the cache against passes over whole prefixes. */
#include "decode/beam.h"
#include "decode/score.h"
#include "decode/search.h"
#include "golden_model.h"

static golden g;
static tfm_error error;

static const tfm_ids golden_sources[] = {{golden_source, 5}, {golden_source + 5, 3}};

static tfm_decoder_options golden_search_options(uint32_t beam, float alpha)
{
    return (tfm_decoder_options){.beam = beam,
                                 .alpha = alpha,
                                 .n_best = 1,
                                 .max_extra = 5,
                                 .max_source = 64,
                                 .batch_tokens = 4096,
                                 .n_threads = 1};
}

static tfm_search *search_of(const tfm_decoder_options *options)
{
    tfm_search *search;

    ck_assert_ok(tfm_search_create(&search, &(tfm_member){.transformer = g.transformer}, 1, g.pool, options,
                                   &g.allocator, &error),
                 error);
    return search;
}

static void check_hypothesis(const tfm_search *search, size_t sentence, size_t rank, const char *ids, double score)
{
    char text[256] = "";
    tfm_hypothesis h;

    ck_assert(tfm_search_get(search, sentence, rank, &h));
    for (size_t i = 0; i < h.ids.size; i++) sprintf(text + strlen(text), "%s%d", i ? " " : "", h.ids.data[i]);
    ck_assert_str_eq(text, ids);
    ck_assert_msg(fabs(h.score - score) <= 1e-6 * fabs(score), "score is %.9f, want %.9f", h.score, score);
}

/* Random weights of different forms, sharp enough for beams to move. */
static void random_model(uint64_t seed)
{
    tfm_model_options o = golden_options();

    o.norm_order = seed % 2 ? TFM_PRE_NORM : TFM_POST_NORM;
    o.positions = (uint32_t)(seed % 3);
    o.max_positions = 64;
    o.start = seed / 2 % 2 ? TFM_START_ZERO : TFM_START_BOS;
    o.attention_bias = o.softmax_bias = seed / 3 % 2;
    o.position_offset = o.positions == TFM_POSITIONS_LEARNED ? 0 : (uint32_t)(seed % 4);
    o.seed = seed;
    golden_begin_with(&g, &o, 1, tfm_cpu_flags(true));
    tfm_weights_init(&g.weights, g.data);
    for (size_t i = 0; i < g.weights.size; i++) g.data[i] *= 1.5f;
}

enum { LONGEST = 60 };

/* Logits after start and a prefix of n ids, from a pass over all of it. */
static void full_logits(float logits[GOLDEN_V], tfm_ids source, const int32_t *prefix, size_t n)
{
    int32_t ids[LONGEST + 1] = {g.weights.options.start == TFM_START_ZERO ? -1 : TFM_BOS};
    uint32_t positions[LONGEST + 1];
    const size_t source_offset[] = {0, source.size}, target_offset[] = {0, n + 1};
    const tfm_tokens s = {{1, source_offset}, source.data, positions}, t = {{1, target_offset}, ids, positions};

    memcpy(ids + 1, prefix, n * sizeof *ids);
    for (uint32_t i = 0; i <= LONGEST; i++) positions[i] = i;
    tfm_run_measure(&g.run, false);
    for (int placed = 0; placed < 2; placed++) {
        tfm_value *memory = tfm_value_new(&g.run, source.size, GOLDEN_D), *all = tfm_value_new(&g.run, n + 1, GOLDEN_D);
        tfm_value *row = tfm_value_new(&g.run, 1, GOLDEN_V);
        tfm_forward_encoder(&g.run, memory, &g.transformer, &s);
        tfm_forward_decoder(&g.run, all, &g.transformer, memory, &s.segments, &t);
        tfm_op_linear(&g.run, row, tfm_value_view(&g.run, all->data + n * GOLDEN_D, 1, GOLDEN_D),
                      &g.transformer.weights->output, false, 0.0f, 0);
        if (placed) memcpy(logits, row->data, GOLDEN_V * sizeof *logits);
        else ck_assert(tfm_run_place(&g.run, g.run.arena.peak, false));
    }
    ck_assert(!g.run.arena.bad);
}

START_TEST(m37_cached_logits_equal_those_of_the_whole_prefix)
{
    static tfm_value self[2], cross[2];
    int32_t prefix[LONGEST];
    uint32_t rows[LONGEST], source_rows[] = {0, 1, 2, 3, 4};
    const size_t source_offset[] = {0, 5}, one[] = {0, 1};
    const tfm_tokens source = {{1, source_offset}, golden_source, golden_source_positions};
    tfm_cache cache = {.self = self, .cross = cross};
    tfm_run run;

    random_model((uint64_t)_i);
    ck_assert_ok(tfm_run_create(&run, g.pool, g.run.kernels, &g.allocator, &error), error);
    ck_assert(tfm_run_place(&run, 1 << 20, false));
    tfm_value *memory = tfm_value_new(&run, 5, GOLDEN_D);
    tfm_forward_encoder(&run, memory, &g.transformer, &source);
    tfm_cache_begin(&run, &cache, &g.transformer, LONGEST, 5);
    tfm_cache_add(&run, &cache, &g.transformer, memory, source_rows);
    for (uint32_t step = 0; step < LONGEST; step++) {
        const size_t self_offset[] = {0, step + 1};
        const int32_t id = step ? prefix[step - 1] : g.weights.options.start == TFM_START_ZERO ? -1 : TFM_BOS;
        float full[GOLDEN_V];
        const tfm_mark mark = tfm_run_mark(&run);
        tfm_value *hidden = tfm_value_new(&run, 1, GOLDEN_D), *logits = tfm_value_new(&run, 1, GOLDEN_V);
        rows[step] = step;
        tfm_forward_step(
            &run, hidden, &g.transformer, &cache,
            &(tfm_step){1, &id, &step, rows, {1, one}, {1, self_offset}, {1, one}, {1, source_offset}, source_rows,
                        {.to = NULL}});
        tfm_op_linear(&run, logits, hidden, &g.transformer.weights->output, false, 0.0f, 0);
        full_logits(full, golden_sources[0], prefix, step);
        ck_assert_mem_eq(full, logits->data, sizeof full);
        tfm_run_release(&run, mark);
        prefix[step] = (int32_t)(1 + (step * 7 + (uint32_t)_i) % (GOLDEN_V - 1));
    }
    ck_assert(!run.arena.bad && !run.bad);
    tfm_run_destroy(&run);
    golden_end(&g);
}
END_TEST

/* The same search, every logit from a pass over the whole prefix. Returns how often a hypothesis changed its place. */
static size_t search_without_cache(tfm_beam *beam, tfm_block *block, const tfm_decoder_options *options, tfm_ids source)
{
    static int32_t prefixes[8][LONGEST], before[8][LONGEST];
    tfm_arena arena = {0};
    size_t changes = 0;

    tfm_beam_plan(beam, &arena, options, TFM_EOS, source.size + options->max_extra);
    ck_assert(tfm_block_reserve(block, &g.allocator, arena.peak, &arena));
    tfm_beam_plan(beam, &arena, options, TFM_EOS, source.size + options->max_extra);
    tfm_beam_start(beam, 0);
    while (!beam->done) {
        float logits[8 * GOLDEN_V];
        double lse[8];
        tfm_choice rows[8];
        tfm_pick picks[8][16];
        tfm_candidate scratch[16];
        const size_t steps = beam->steps;
        for (size_t i = 0; i < beam->n_alive; i++) {
            full_logits(logits + i * GOLDEN_V, source, prefixes[i], steps);
            if (steps + 1 < options->min_length) logits[i * GOLDEN_V + TFM_EOS] = -INFINITY;
            tfm_choice_begin(&rows[i], picks[i], tfm_beam_width(options));
            tfm_choice_add(&rows[i], g.run.kernels, logits + i * GOLDEN_V, GOLDEN_V, 0, never_special);
            lse[i] = tfm_choice_lse(&rows[i]);
        }
        memcpy(before, prefixes, sizeof before);
        tfm_beam_advance(beam, rows, lse, scratch);
        for (size_t i = 0; i < beam->n_alive; i++) {
            const tfm_beam_link *link = &tfm_beam_last(beam)[i];
            memcpy(prefixes[i], before[link->parent], sizeof prefixes[i]);
            prefixes[i][steps] = link->token;
            changes += link->parent != i;
        }
    }
    return changes;
}

START_TEST(m36_beam_with_cache_equals_beam_without)
{
    static const int32_t words[] = {3, 9, 4, 4, 10, 7, 1, 5, 6, 8, 3, 1, 1, 4, 10, 10, 1};
    static const tfm_ids sources[] = {{words, 7}, {words + 7, 5}, {words + 12, 1}, {words + 13, 4}};
    tfm_decoder_options o = golden_search_options(1 + (uint32_t)_i % 5, 0.5f * (float)(_i % 3));
    tfm_block block = {0};
    tfm_beam beam;
    size_t changes = 0;

    o.max_extra = 12;
    o.min_length = (uint32_t)_i / 3 * 4; /* none; below, between and above what comes of itself */
    o.n_best = o.beam;
    random_model((uint64_t)_i);
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 4, .sources = sources}, &error), error);
    for (size_t i = 0; i < 4; i++) {
        changes += search_without_cache(&beam, &block, &o, sources[i]);
        ck_assert_uint_eq(tfm_search_count(s, i), tfm_beam_count(&beam));
        ck_assert_uint_eq(tfm_search_steps(s, i), beam.steps);
        for (size_t rank = 0; rank < tfm_beam_count(&beam); rank++) {
            int32_t ids[LONGEST];
            double score;
            tfm_hypothesis h;
            ck_assert(tfm_search_get(s, i, rank, &h));
            ck_assert_uint_eq(h.ids.size, tfm_beam_result(&beam, rank, ids, &score));
            ck_assert_mem_eq(h.ids.data, ids, h.ids.size * sizeof *ids);
            ck_assert_double_eq(h.score, score);
        }
    }
    ck_assert(o.beam == 1 || changes); /* else nothing was reordered */
    tfm_block_free(&block, &g.allocator);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

START_TEST(golden_logprobs)
{
    static const tfm_ids targets[] = {{golden_labels, 4}, {golden_labels + 4, 3}};
    static const double nll[] = {1.859479099, 2.034374801, 2.663779270, 1.782968207,
                                 2.579979813, 2.462579188, 1.599347389};
    static const double mean[] = {2.140358252394, 1.991094573081, 2.366198743595}; /* paper; halves; and zero start */
    const tfm_decoder_options o = golden_search_options(1, 0.0f);
    tfm_model_options mo = golden_options();
    tfm_score *score;
    size_t n, k = 0;
    double sum = 0.0;

    mo.positions = _i ? TFM_POSITIONS_HALVES : TFM_POSITIONS_PAPER;
    mo.start = _i == 2 ? TFM_START_ZERO : TFM_START_BOS;
    golden_begin_with(&g, &mo, 1, tfm_cpu_flags(true));
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_score_create(&score, tfm_search_workspace(s), &error), error);
    ck_assert_ok(tfm_score_run(score, golden_sources, targets, 2, &error), error);
    for (size_t i = 0; i < 2; i++) {
        const float *logprobs = tfm_score_tokens(score, i, &n);
        ck_assert_uint_eq(n, targets[i].size);
        for (size_t j = 0; j < n; j++, k++) {
            if (!_i) ck_assert_double_eq_tol((double)logprobs[j], -nll[k], 1e-5);
            sum -= (double)logprobs[j];
        }
    }
    ck_assert_double_eq_tol(sum / 7.0, mean[_i], 1e-5);
    tfm_score_free(score);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

/* The model's table of positions ends early: search and scoring make a longer one. */
START_TEST(m46_positions_beyond_the_table)
{
    static const tfm_ids targets[] = {{golden_labels, 4}, {golden_labels + 4, 3}};
    const tfm_decoder_options o = golden_search_options(3, 0.0f);
    double found[2][3];

    for (size_t shorter = 0; shorter < 2; shorter++) {
        tfm_hypothesis h;
        tfm_score *score;
        size_t n;
        random_model(_i ? 3 : 4);
        if (shorter) {
            g.transformer.position_rows = 2;
            for (size_t i = 2 * GOLDEN_D; i < sizeof g.position / sizeof *g.position; i++) g.position[i] = NAN;
        }
        tfm_search *s = search_of(&o), *other = search_of(&o);
        ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
        for (size_t i = 0; i < 2; i++) {
            ck_assert(tfm_search_get(s, i, 0, &h));
            found[shorter][i] = h.score;
        }
        ck_assert_ok(tfm_score_create(&score, tfm_search_workspace(other), &error), error);
        ck_assert_ok(tfm_score_run(score, golden_sources, targets, 2, &error), error);
        found[shorter][2] = (double)tfm_score_tokens(score, 0, &n)[3];
        tfm_score_free(score);
        tfm_search_free(s);
        tfm_search_free(other);
        golden_end(&g);
    }
    ck_assert_mem_eq(found[0], found[1], sizeof found[0]);
}
END_TEST

START_TEST(a_run_forgets_the_one_before)
{
    static const int32_t bad[] = {99};
    const tfm_decoder_options o = golden_search_options(3, 0.6f);
    const tfm_ids none = {bad, 1};
    tfm_hypothesis h;

    golden_begin(&g);
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 1, .sources = golden_sources + 1}, &error), error);
    ck_assert_uint_eq(tfm_search_hypotheses(s), 1);
    ck_assert(tfm_search_get(s, 0, 0, &h));
    ck_assert_uint_eq(h.number, 0);
    ck_assert_uint_eq(tfm_search_count(s, 1), 0);
    ck_assert_status(tfm_search_run(s, &(tfm_request){.n = 1, .sources = &none}, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(tfm_search_count(s, 0), 0);
    ck_assert_uint_eq(tfm_search_hypotheses(s), 0);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

START_TEST(order_is_by_length_and_stable)
{
    enum { MOST = 40 };

    for (size_t n = 0; n <= MOST; n++) {
        tfm_order order[MOST], spare[MOST];
        bool seen[MOST] = {false};
        for (size_t i = 0; i < n; i++) order[i] = (tfm_order){i * 29 % 7, i};
        tfm_order_sort(order, spare, n);
        for (size_t i = 0; i < n; i++) {
            ck_assert_uint_eq(order[i].length, order[i].index * 29 % 7);
            ck_assert(!seen[order[i].index]);
            seen[order[i].index] = true;
            if (!i) continue;
            ck_assert_uint_ge(order[i - 1].length, order[i].length);
            if (order[i - 1].length == order[i].length) ck_assert_uint_lt(order[i - 1].index, order[i].index);
        }
    }
}
END_TEST

/* Counts after the first batch stood: in_steps is what steps asked for. */
typedef struct watch {
    faulty f;
    size_t calls, most, steps;
} watch;

static int32_t watch_progress(void *user, size_t done, size_t total)
{
    watch *w = user;
    (void)done, (void)total;

    if (w->steps++ && w->f.calls - w->calls > w->most) w->most = w->f.calls - w->calls;
    w->calls = w->f.calls;
    return 0;
}

START_TEST(steps_call_no_allocator)
{
    watch w = {.f = {.fail_at = SIZE_MAX}};
    tfm_decoder_options o = golden_search_options(4, 0.6f);
    const tfm_allocator a = faulty_allocator(&w.f);
    tfm_search *s;

    o.progress = watch_progress;
    o.progress_user = &w;
    random_model(6);
    ck_assert_ok(tfm_search_create(&s, &(tfm_member){.transformer = g.transformer}, 1, g.pool, &o, &a, &error), error);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error); /* one batch */
    ck_assert_uint_gt(w.steps, 2);
    ck_assert_uint_eq(w.most, 0);
    tfm_search_free(s);
    ck_assert_uint_eq(w.f.live, 0);
    golden_end(&g);
}
END_TEST

START_TEST(golden_greedy_of_any_id)
{
    tfm_decoder_options o = golden_search_options(1, 0.6f);

    golden_begin(&g);
    o.allow_special = 1;
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
    check_hypothesis(s, 0, 0, "2 0 0 2 6 8 6 2 0 0", -18.675701486);
    check_hypothesis(s, 1, 0, "2 0 0 2 6 8 6 2", -15.104892269);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 10);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

START_TEST(golden_beam)
{
    tfm_decoder_options o = golden_search_options(3, 0.6f);

    golden_begin(&g);
    tfm_search *s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -8.086733821);
    check_hypothesis(s, 1, 0, "4 4 4 6 10 1", -8.089774818);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 8);
    ck_assert_uint_eq(tfm_search_steps(s, 1), 7);
    tfm_search_free(s);

    o.n_best = 3;
    s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -8.086733821);
    check_hypothesis(s, 0, 1, "4 4 4 6 10 3 1", -8.780119900);
    check_hypothesis(s, 0, 2, "4 4 4 6 10 3 3 1", -9.399113595);
    check_hypothesis(s, 1, 1, "4 4 4 6 10 3 1", -8.783077082);
    tfm_search_free(s);

    o = golden_search_options(3, 0.0f);
    s = search_of(&o);
    ck_assert_ok(tfm_search_run(s, &(tfm_request){.n = 2, .sources = golden_sources}, &error), error);
    check_hypothesis(s, 0, 0, "4 4 4 6 10 1", -11.633703985);
    check_hypothesis(s, 1, 0, "4 4 4 6 10 1", -11.638078813);
    ck_assert_uint_eq(tfm_search_steps(s, 0), 6);
    ck_assert_uint_eq(tfm_search_steps(s, 1), 6);
    tfm_search_free(s);
    golden_end(&g);
}
END_TEST

static Suite *search_suite(void)
{
    Suite *suite = suite_create("search");
    TCase *tc = tcase_create("search");

    tcase_add_loop_test(tc, m36_beam_with_cache_equals_beam_without, 0, 12);
    tcase_add_loop_test(tc, m37_cached_logits_equal_those_of_the_whole_prefix, 0, 12);
    tcase_add_loop_test(tc, golden_logprobs, 0, 3);
    tcase_add_loop_test(tc, m46_positions_beyond_the_table, 0, 2);
    tcase_add_test(tc, a_run_forgets_the_one_before);
    tcase_add_test(tc, order_is_by_length_and_stable);
    tcase_add_test(tc, steps_call_no_allocator);
    tcase_add_test(tc, golden_greedy_of_any_id);
    tcase_add_test(tc, golden_beam);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(search_suite)
