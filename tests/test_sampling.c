/* Samples: what a draw gives for every number, and how often sequences come against all that a tiny model can give. */
#include "decode/sampling.h"
#include "decode/search.h"
#include "decoding_oracle.h"

static tiny t;
static tfm_error error;

static const int32_t source_ids[] = {3, 5, 4, TFM_EOS};

enum { TOKENS = 5, GRID = 20000 };

static const float logits[TOKENS] = {0.3f, 2.0f, -1.0f, 2.0f, 1.1f};

/* Share of each token over evenly spaced numbers, which is its probability up to 1 / GRID. */
static void shares(double share[TOKENS], const tfm_decoder_options *o)
{
    tfm_pick picks[TOKENS];
    double weights[TOKENS];

    memset(share, 0, TOKENS * sizeof *share);
    for (size_t i = 0; i < GRID; i++) {
        tfm_choice row;
        tfm_choice_begin(&row, picks, tfm_sampling_width(o, TOKENS));
        tfm_choice_add(&row, tfm_kernels_for(0), logits, TOKENS, 0, (int32_t[]){-1, -1});
        const tfm_pick p = tfm_sampling_draw(&row, o, ((double)i + 0.5) / GRID, weights);
        ck_assert(p.logit == logits[p.token]);
        share[p.token] += 1.0 / GRID;
    }
}

static void check_shares(const tfm_decoder_options *o, const int keep[TOKENS])
{
    double share[TOKENS], sum = 0.0;

    shares(share, o);
    for (size_t i = 0; i < TOKENS; i++) sum += keep[i] ? exp((double)logits[i] / (double)o->temperature) : 0.0;
    for (size_t i = 0; i < TOKENS; i++) {
        const double want = keep[i] ? exp((double)logits[i] / (double)o->temperature) / sum : 0.0;
        ck_assert_msg(fabs(share[i] - want) <= 2.0 / GRID, "token %zu: %g, want %g", i, share[i], want);
    }
}

START_TEST(draws_follow_temperature_top_k_and_top_p)
{
    static const int all[] = {1, 1, 1, 1, 1}, two[] = {0, 1, 0, 1, 0}, three[] = {0, 1, 0, 1, 1},
                     one[] = {0, 1, 0, 0, 0};
    /* at temperature 1 the probabilities are 0.070 0.384 0.019 0.384 0.156: two of the best have 0.768 */
    static const struct {
        float temperature, top_p;
        uint32_t top_k;
        const int *keep;
    } trials[] = {
        {1.0f, 0.0f, 0, all},   {0.5f, 0.0f, 0, all},   {2.0f, 1.0f, 9, all},  {1.0f, 0.0f, 2, two},
        {0.7f, 0.0f, 3, three}, {1.0f, 0.0f, 1, one},   {1.0f, 0.75f, 0, two}, {1.0f, 0.76f, 0, three},
        {1.0f, 0.37f, 0, one},  {1.0f, 0.999f, 0, all}, {1.0f, 1e-6f, 0, one}, {1.0f, 0.80f, 3, two},
    };

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const tfm_decoder_options o = {
            .temperature = trials[i].temperature, .top_k = trials[i].top_k, .top_p = trials[i].top_p};
        check_shares(&o, trials[i].keep);
    }
}
END_TEST

static void options_begin(uint32_t samples, uint64_t seed)
{
    t.source = (tfm_ids){source_ids, 4};
    t.options = (tfm_decoder_options){.beam = samples,
                                      .alpha = 0.6f,
                                      .n_best = samples,
                                      .max_extra = 1,
                                      .max_length = TINY_LONGEST,
                                      .max_source = 64,
                                      .batch_tokens = 4096,
                                      .temperature = 1.0f,
                                      .seed = seed};
}

/* Number 0: none. Others choose how draws are cut, and controls. */
static void set_controls(unsigned number)
{
    static const int32_t pair[] = {5, 4}, unknown[] = {TFM_UNK}, end[] = {4, TFM_EOS};
    static const tfm_ids forbidden[] = {{pair, 2}, {unknown, 1}, {end, 2}};
    static const float temperatures[] = {1.0f, 0.5f, 2.0f, 1.4f}, sums[] = {0.0f, 0.6f, 0.8f, 0.95f, 1.0f};
    tfm_decoder_options *o = &t.options;

    o->temperature = temperatures[number % 4];
    o->top_p = sums[number % 5];
    o->top_k = number % 3 ? 1 + number % 3 : 0;
    if (number % 2) return;
    o->length_norm = number / 2 % 4;
    o->min_length = number / 4 % 4;
    o->no_repeat_ngram = number / 2 % 3;
    o->repetition_penalty = (float)(number / 4 % 3) * 0.7f;
    o->forbidden = forbidden + number / 8 % 2;
    o->n_forbidden = number / 2 % 3;
    o->allow_special = number == 22;
    o->max_ratio = number % 8 ? 0.0f : 0.9f;
}

static tfm_search *run(void)
{
    tfm_search *search;

    ck_assert_ok(tfm_search_create(&search, &(tfm_member){.transformer = t.g.transformer}, 1, t.g.pool, &t.options,
                                   &t.g.allocator, &error),
                 error);
    ck_assert_ok(tfm_search_run(search, &(tfm_request){.n = 1, .sources = &t.source, .prefixes = &t.prefix}, &error),
                 error);
    return search;
}

static void change(double row[TINY_V], const int32_t *ids, size_t n)
{
    tiny_controls(&t, row, ids, n);
}

/* The sequence among all, or t.n; then it is open, at the limit. */
static size_t find(const tfm_hypothesis *h)
{
    size_t i = 0;

    while (i < t.n &&
           (t.all[i].size != h->ids.size || memcmp(t.all[i].ids, h->ids.data, h->ids.size * sizeof(int32_t))))
        i++;
    ck_assert(i < t.n || (h->ids.size == tiny_at_most(&t) && !h->finished));
    return i;
}

/* Under any controls, without a prefix and behind one; and their scores are the model's own. */
START_TEST(sequences_come_as_often_as_they_should)
{
    static const int32_t begins[] = {5, 4};
    enum { SAMPLES = 1024, RUNS = 4 };
    static size_t count[TINY_ALL + 1];
    const double n = SAMPLES * RUNS;
    double open = 1.0;

    tiny_begin(&t, 11 + (uint64_t)_i);
    t.prefix = (tfm_ids){begins, _i % 3 == 1 ? 2 : 0};
    t.change = change;
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        options_begin(SAMPLES, seed << 40 | seed);
        set_controls((unsigned)_i / 2);
        if (!seed) tiny_enumerate(&t, tiny_at_most(&t));
        tfm_search *search = run();
        ck_assert_uint_eq(tfm_search_count(search, 0), SAMPLES);
        for (size_t rank = 0; rank < SAMPLES; rank++) {
            tfm_hypothesis h;
            ck_assert(tfm_search_get(search, 0, rank, &h));
            const size_t i = find(&h);
            count[i]++;
            if (i < t.n) ck_assert_double_eq_tol(h.score, t.all[i].score, 1e-5);
        }
        tfm_search_free(search);
    }
    for (size_t i = 0; i <= t.n; i++) {
        const double p = i < t.n ? exp(t.all[i].drawn) : fmax(open, 0.0);
        if (i < t.n) open -= p;
        ck_assert_msg(fabs((double)count[i] - n * p) <= 5.0 * sqrt(n * p * (1.0 - p)) + 2.0, "%zu came, want %g",
                      count[i], n * p);
    }
    tiny_end(&t);
}
END_TEST

static bool same_samples(const tfm_search *a, const tfm_search *b)
{
    for (size_t rank = 0; rank < t.options.n_best; rank++) {
        tfm_hypothesis x, y;
        ck_assert(tfm_search_get(a, 0, rank, &x) && tfm_search_get(b, 0, rank, &y));
        if (x.ids.size != y.ids.size || memcmp(x.ids.data, y.ids.data, x.ids.size * sizeof(int32_t))) return false;
    }
    return true;
}

START_TEST(seed_and_source_decide)
{
    static const int32_t other[] = {3, 4, 5, TFM_EOS};

    tiny_begin(&t, 11);
    options_begin(16, 5);
    tfm_search *first = run(), *again = run();
    ck_assert(same_samples(first, again));
    tfm_search_free(again);
    options_begin(16, (uint64_t)5 << 32 | 5);
    again = run();
    ck_assert(!same_samples(first, again));
    tfm_search_free(again);
    tfm_search_free(first);
    ck_assert_uint_ne(tfm_sampling_stream(t.source), tfm_sampling_stream((tfm_ids){other, 4}));
    tiny_end(&t);
}
END_TEST

static Suite *sampling_suite(void)
{
    Suite *suite = suite_create("sampling");
    TCase *tc = tcase_create("sampling");

    tcase_add_test(tc, draws_follow_temperature_top_k_and_top_p);
    tcase_add_loop_test(tc, sequences_come_as_often_as_they_should, 0, 48);
    tcase_add_test(tc, seed_and_source_decide);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(sampling_suite)
