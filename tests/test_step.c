/* Decoding step by step with a cache is the decoder of all positions at once, in every bit. */
#include "model_trial.h"

enum { STEPS = 60, MOST = 6 };

/* Sentences of the test; live hypotheses stand together by sentence. */
static const size_t source_offset[] = {0, 5, 8, 9};
static const int32_t sources[] = {3, 4, 5, 6, 1, 7, 8, 1, 1};

typedef struct hypothesis {
    size_t sentence;
    int32_t ids[STEPS];   /* inputs */
    uint32_t rows[STEPS]; /* of the cache */
} hypothesis;

typedef struct search {
    model_trial t;
    tfm_cache cache;
    size_t used; /* rows of self */
    tfm_value self[4], cross[4];
    hypothesis h[MOST];
    size_t n, steps; /* live hypotheses, positions so far */
} search;

static search s;

/* hidden [n][d] of the next position of all hypotheses. */
static void plan_step(tfm_value *hidden)
{
    static uint32_t positions[MOST], rows[MOST * STEPS], source_rows[32];
    static size_t queries[MOST + 1], self[MOST + 1], groups[MOST + 1], live_sources[MOST + 1];
    static int32_t ids[MOST];
    tfm_step step = {.n = s.n, .ids = ids, .positions = positions, .rows = rows, .source_rows = source_rows};
    size_t n_groups = 0, n_rows = 0;

    for (size_t i = 0; i < s.n; i++) {
        hypothesis *h = &s.h[i];
        h->rows[s.steps] = (uint32_t)(s.used + i);
        ids[i] = h->ids[s.steps];
        positions[i] = (uint32_t)s.steps;
        queries[i + 1] = i + 1;
        self[i + 1] = (i + 1) * (s.steps + 1);
        memcpy(rows + i * (s.steps + 1), h->rows, (s.steps + 1) * sizeof *rows);
        if (!i || h->sentence != s.h[i - 1].sentence) {
            for (size_t r = source_offset[h->sentence]; r < source_offset[h->sentence + 1]; r++)
                source_rows[n_rows++] = (uint32_t)r;
            live_sources[++n_groups] = n_rows;
        }
        groups[n_groups] = i + 1;
    }
    step.queries = (tfm_segments){s.n, queries};
    step.self = (tfm_segments){s.n, self};
    step.groups = (tfm_segments){n_groups, groups};
    step.sources = (tfm_segments){n_groups, live_sources};
    tfm_forward_step(&s.t.run, hidden, &s.t.transformer, &s.cache, &step);
    s.used += s.n;
}

static tfm_value *begin_cache(void)
{
    static const uint32_t cross_rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    const tfm_tokens source = {{3, source_offset}, sources, source_positions};
    tfm_value *memory = tfm_value_new(&s.t.run, 9, s.t.weights.options.d_model);

    count_positions(source_positions, source_offset, 3);
    tfm_forward_encoder(&s.t.run, memory, &s.t.transformer, &source);
    s.cache = (tfm_cache){.self = s.self, .cross = s.cross};
    s.used = 0;
    tfm_cache_begin(&s.t.run, &s.cache, &s.t.transformer, MOST * STEPS, 9);
    tfm_cache_add(&s.t.run, &s.cache, &s.t.transformer, memory, cross_rows);
    return tfm_value_new(&s.t.run, MOST, s.t.weights.options.d_model);
}

/* Every hypothesis' whole prefix through the decoder of training; its last row must be what the step gave. */
static void check_rows(const tfm_value *hidden, model_trial *full)
{
    const size_t d = full->weights.options.d_model;

    for (size_t i = 0; i < s.n; i++) {
        const size_t k = s.h[i].sentence, n = source_offset[k + 1] - source_offset[k], m = s.steps + 1;
        const size_t source[] = {0, n}, target[] = {0, m};
        const tfm_tokens x = {{1, source}, sources + source_offset[k], source_positions};
        const tfm_tokens y = {{1, target}, s.h[i].ids, target_positions};
        for (int placing = 0; placing < 2; placing++) {
            if (placing) must(tfm_run_place(&full->run, full->run.arena.peak, false));
            else tfm_run_measure(&full->run, false);
            tfm_value *memory = tfm_value_new(&full->run, n, d), *all = tfm_value_new(&full->run, m, d);
            tfm_forward_encoder(&full->run, memory, &full->transformer, &x);
            tfm_forward_decoder(&full->run, all, &full->transformer, memory, &x.segments, &y);
            if (placing) same_bits(hidden->data + i * d, all->data + (m - 1) * d, d, "hidden");
        }
    }
}

/* m36: hypotheses are copied, reordered and dropped between steps, as beams are; cache rows stay where they are. */
static void shuffle(uint64_t *state)
{
    hypothesis next[MOST];
    size_t n = 0;

    for (size_t k = 0; k < 3; k++) {
        size_t first = s.n, count = 0;
        for (size_t i = 0; i < s.n; i++)
            if (s.h[i].sentence == k) first = i < first ? i : first, count++;
        if (!count || (k == 1 && s.steps > 20)) continue; /* sentence 1 ends early */
        for (size_t i = 0; i < 2; i++) next[n++] = s.h[first + draw_bits(state) % count];
    }
    s.n = n;
    memcpy(s.h, next, n * sizeof *next);
    for (size_t i = 0; i < n; i++) s.h[i].ids[s.steps] = (int32_t)(3 + draw_bits(state) % 8);
}

static void check_steps(const tfm_model_options *o, unsigned cpu_flags, int32_t first)
{
    model_trial full;
    uint64_t state = 1;

    model_begin(&s.t, o, 2, cpu_flags);
    model_begin(&full, o, 1, cpu_flags);
    count_positions(target_positions, (const size_t[]){0, STEPS}, 1);
    for (size_t i = 0; i < MOST; i++) s.h[i] = (hypothesis){.sentence = i / 2, .ids = {first}};
    tfm_run_measure(&s.t.run, false);
    tfm_value *hidden = begin_cache();
    s.n = MOST;
    s.steps = STEPS - 1; /* the largest step */
    plan_step(hidden);
    must(!s.t.run.bad && !s.t.run.arena.bad);
    must(tfm_run_place(&s.t.run, s.t.run.arena.peak, false));
    memset(s.t.run.arena.base, 0xFF, s.t.run.arena.size);
    hidden = begin_cache();
    for (s.steps = 0; s.steps < STEPS; s.steps++) {
        const tfm_mark mark = tfm_run_mark(&s.t.run);
        if (s.steps) shuffle(&state);
        hidden->rows = s.n;
        plan_step(hidden);
        tfm_run_release(&s.t.run, mark);
        must(!s.t.run.bad && !s.t.run.arena.bad);
        if (s.steps < 5 || s.steps % 7 == 0 || s.steps + 1 == STEPS) check_rows(hidden, &full);
    }
    model_end(&full);
    model_end(&s.t);
}

START_TEST(m36_m37_steps_are_rows_of_the_decoder)
{
    tfm_model_options o = golden_options();

    check_steps(&o, trial_flags(_i), 2);
    o.norm_order = TFM_PRE_NORM;
    o.attention_bias = 1;
    check_steps(&o, trial_flags(_i), 2);
    o.positions = TFM_POSITIONS_LEARNED;
    o.position_offset = 3;
    o.max_positions = STEPS + 3;
    o.n_heads = 3;
    o.d_k = 17;
    o.d_v = 9;
    check_steps(&o, trial_flags(_i), -1);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("step");
    TCase *c = tcase_create("step");

    tcase_add_loop_test(c, m36_m37_steps_are_rows_of_the_decoder, 0, 2);
    suite_add_tcase(all, c);
    return all;
}

TESTING_MAIN(suite)
