/* Batches, the schedule of the learning rate, and the state of a training as JSON. */
#include "training_models.h"

#include "train/schedule.h"

static tfm_allocator allocator;

static void setup(void)
{
    allocator = tfm_allocator_or_default(NULL);
}

static void dataset_of(tfm_dataset *d, const pairs *p)
{
    ck_assert_ok(tfm_dataset_create(d, &allocator, &error), error);
    for (size_t i = 0; i < p->n; i++) ck_assert_ok(tfm_dataset_add(d, p->sources[i], p->targets[i], &error), error);
    ck_assert_uint_eq(d->n_pairs, p->n);
}

/* -------------------------------------------------------------------------------------------------- batches ---- */

/* Each pair once, and no batch above its tokens unless it is one long pair. */
static void check_batches(const tfm_batches *b, const pairs *p, size_t batch_tokens)
{
    size_t *seen = calloc(p->n, sizeof *seen);

    ck_assert_uint_eq(b->start[0], 0);
    ck_assert_uint_eq(b->start[b->n], p->n);
    for (size_t i = 0; i < b->n; i++) {
        size_t source = 0, target = 0;
        ck_assert_uint_lt(b->start[i], b->start[i + 1]);
        for (size_t j = b->start[i]; j < b->start[i + 1]; j++) {
            ck_assert_uint_lt(b->order[j], p->n);
            seen[b->order[j]]++;
            source += p->sources[b->order[j]].size;
            target += p->targets[b->order[j]].size;
        }
        ck_assert(b->start[i + 1] - b->start[i] == 1 || (source <= batch_tokens && target <= batch_tokens));
    }
    for (size_t i = 0; i < p->n; i++) ck_assert_uint_eq(seen[i], 1);
    free(seen);
}

START_TEST(c09_1950_pairs_of_64_are_31_batches)
{
    tfm_batches b;
    tfm_dataset d;
    pairs p;
    uint64_t state = 1;

    pairs_begin(&p, 1950 * 20);
    for (; p.n < 1950; p.n++) {
        p.sources[p.n] = ids_random(&p, 10, 99, &state);
        p.targets[p.n] = ids_random(&p, 3 + p.n % 8, 99, &state);
    }
    dataset_of(&d, &p);
    ck_assert_ok(tfm_batches_create(&b, &d, &error), error);
    tfm_batches_fill(&b, &d, 640, 1, 0, true);
    ck_assert_uint_eq(b.n, 31);
    check_batches(&b, &p, 640);
    size_t last = 0;
    for (size_t i = 0; i < b.n; i++) last += b.start[i + 1] - b.start[i] == 1950 - 30 * 64;
    ck_assert_uint_eq(last, 1);
    tfm_batches_destroy(&b, &allocator);
    tfm_dataset_destroy(&d);
    pairs_free(&p);
}
END_TEST

static size_t longer(const pairs *p, size_t i)
{
    return p->sources[i].size > p->targets[i].size ? p->sources[i].size : p->targets[i].size;
}

START_TEST(batches_are_of_like_length_and_well_filled)
{
    enum { TOKENS = 400 };
    tfm_batches b;
    tfm_dataset d;
    pairs p;
    size_t spread = 0, previous = 0;

    pairs_random(&p, PAIRS_MOST, 40, 99, 2);
    dataset_of(&d, &p);
    ck_assert_uint_eq(d.longest, 40);
    ck_assert_ok(tfm_batches_create(&b, &d, &error), error);
    tfm_batches_fill(&b, &d, TOKENS, 1, 0, false);
    for (size_t i = 0; i < p.n; i++) {
        ck_assert_uint_ge(longer(&p, b.order[i]), previous);
        previous = longer(&p, b.order[i]);
    }
    const size_t plain = b.n;
    tfm_batches_fill(&b, &d, TOKENS, 1, 0, true);
    check_batches(&b, &p, TOKENS);
    for (size_t i = 0; i < b.n; i++) {
        size_t least = SIZE_MAX, most = 0;
        for (size_t j = b.start[i]; j < b.start[i + 1]; j++) {
            least = longer(&p, b.order[j]) < least ? longer(&p, b.order[j]) : least;
            most = longer(&p, b.order[j]) > most ? longer(&p, b.order[j]) : most;
        }
        spread += most - least;
    }
    ck_assert_uint_le(spread, 40 * 1); /* sorted: all together cross the lengths once */
    ck_assert_uint_le(b.n, plain + plain / 10);
    ck_assert_uint_lt(b.n * TOKENS, (d.source.n_ids > d.target.n_ids ? d.source.n_ids : d.target.n_ids) * 5 / 4);
    tfm_batches_destroy(&b, &allocator);
    tfm_dataset_destroy(&d);
    pairs_free(&p);
}
END_TEST

START_TEST(order_hangs_on_seed_and_epoch_alone)
{
    tfm_batches a, b;
    tfm_dataset d;
    pairs p;

    pairs_random(&p, 300, 12, 99, 3);
    dataset_of(&d, &p);
    ck_assert_ok(tfm_batches_create(&a, &d, &error), error);
    ck_assert_ok(tfm_batches_create(&b, &d, &error), error);
    tfm_batches_fill(&a, &d, 100, 5, 2, true);
    for (uint64_t epoch = 0; epoch < 3; epoch++) { /* what it held before does not matter */
        tfm_batches_fill(&b, &d, 100, 5, epoch, true);
        check_batches(&b, &p, 100);
        if (epoch < 2) ck_assert_mem_ne(a.order, b.order, p.n * sizeof *a.order);
    }
    ck_assert_uint_eq(a.n, b.n);
    ck_assert_mem_eq(a.order, b.order, p.n * sizeof *a.order);
    ck_assert_mem_eq(a.start, b.start, (a.n + 1) * sizeof *a.start);
    tfm_batches_fill(&b, &d, 100, 6, 2, true);
    ck_assert_mem_ne(a.order, b.order, p.n * sizeof *a.order);
    size_t sorted = 0; /* shuffled batches do not grow from short to long */
    for (size_t i = 1; i < a.n; i++) sorted += longer(&p, a.order[a.start[i]]) >= longer(&p, a.order[a.start[i - 1]]);
    ck_assert_uint_lt(sorted, a.n * 3 / 4);
    tfm_batches_fill(&b, &d, 100, 5, 1, true); /* nor do they come in the order of the epoch before */
    size_t same = 0;
    for (size_t i = 0; i < a.n && i < b.n; i++)
        same += longer(&p, a.order[a.start[i]]) == longer(&p, b.order[b.start[i]]);
    ck_assert_uint_lt(same, a.n / 2);
    tfm_batches_destroy(&a, &allocator);
    tfm_batches_destroy(&b, &allocator);
    tfm_dataset_destroy(&d);
    pairs_free(&p);
}
END_TEST

/* Pairs of one length: who is with pair 0 changes from epoch to epoch. */
START_TEST(epochs_mix_their_batches_anew)
{
    tfm_batches b;
    tfm_dataset d;
    uint64_t state = 4;
    size_t mates = 0, last = SIZE_MAX;
    pairs p;

    pairs_begin(&p, 2000);
    for (; p.n < 100; p.n++) p.sources[p.n] = p.targets[p.n] = ids_random(&p, 5, 99, &state);
    dataset_of(&d, &p);
    ck_assert_ok(tfm_batches_create(&b, &d, &error), error);
    for (uint64_t epoch = 0; epoch < 8; epoch++) {
        size_t at = 0;
        tfm_batches_fill(&b, &d, 10, 1, epoch, true); /* two pairs a batch */
        while (b.order[at] != 0) at++;
        mates += b.order[at ^ 1] != last;
        last = b.order[at ^ 1];
    }
    ck_assert_uint_ge(mates, 6);
    tfm_batches_destroy(&b, &allocator);
    tfm_dataset_destroy(&d);
    pairs_free(&p);
}
END_TEST

START_TEST(c10_a_pair_above_the_budget_is_a_batch_of_its_own)
{
    tfm_batches b;
    tfm_dataset d;
    pairs p;
    uint64_t state = 1;

    pairs_begin(&p, 100);
    for (; p.n < 3; p.n++) {
        p.sources[p.n] = ids_random(&p, p.n == 1 ? 10 : 2, 99, &state);
        p.targets[p.n] = ids_random(&p, 2, 99, &state);
    }
    dataset_of(&d, &p);
    ck_assert_ok(tfm_batches_create(&b, &d, &error), error);
    for (size_t tokens = 1; tokens <= 4; tokens += 3) {
        tfm_batches_fill(&b, &d, tokens, 1, 0, true);
        ck_assert_uint_eq(b.n, tokens == 4 ? 2 : 3);
        check_batches(&b, &p, tokens);
    }
    tfm_batches_destroy(&b, &allocator);
    tfm_dataset_destroy(&d);
    pairs_free(&p);
}
END_TEST

START_TEST(fingerprints_tell_data_apart)
{
    static const int32_t ids[] = {4, 5, 6, 7, 1}, other[] = {4, 5, 6, 8, 1};
    const tfm_ids cases[][4] = {
        {{ids, 2}, {ids + 2, 3}, {ids, 1}, {ids, 1}}, {{ids, 3}, {ids + 3, 2}, {ids, 1}, {ids, 1}},
        {{ids + 2, 3}, {ids, 2}, {ids, 1}, {ids, 1}}, {{other, 2}, {other + 2, 3}, {ids, 1}, {ids, 1}},
        {{ids, 1}, {ids, 1}, {ids, 2}, {ids + 2, 3}}, {{ids, 2}, {ids + 2, 3}, {ids, 1}, {ids, 2}},
        {{ids, 2}, {ids, 1}, {ids + 2, 1}, {ids, 1}}, {{ids, 1}, {ids, 1}, {ids + 1, 2}, {ids, 1}}, /* cut elsewhere */
    };
    enum { N = sizeof cases / sizeof *cases };
    uint32_t prints[N];

    for (size_t i = 0; i < N; i++) {
        tfm_dataset d;
        ck_assert_ok(tfm_dataset_create(&d, &allocator, &error), error);
        for (size_t j = 0; j < 4; j += 2)
            ck_assert_ok(tfm_dataset_add(&d, cases[i][j], cases[i][j + 1], &error), error);
        prints[i] = tfm_dataset_fingerprint(&d);
        ck_assert_uint_eq(prints[i], tfm_dataset_fingerprint(&d));
        for (size_t j = 0; j < i; j++) ck_assert_uint_ne(prints[i], prints[j]);
        tfm_dataset_destroy(&d);
    }
}
END_TEST

START_TEST(data_survives_failing_memory)
{
    tfm_status status = TFM_E_NOMEM;
    pairs p;

    pairs_random(&p, 60, 9, 99, 3);
    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_batches b = {0};
        tfm_dataset d;
        size_t added = 0;
        status = tfm_dataset_create(&d, &a, &error);
        while (status == TFM_OK && added < p.n) {
            status = tfm_dataset_add(&d, p.sources[added], p.targets[added], &error);
            added += status == TFM_OK;
        }
        ck_assert_uint_eq(d.n_pairs, added); /* whole pairs only */
        if (status == TFM_OK) status = tfm_batches_create(&b, &d, &error);
        if (status == TFM_OK) tfm_batches_fill(&b, &d, 50, 1, 0, true);
        if (status == TFM_OK) check_batches(&b, &p, 50);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        tfm_batches_destroy(&b, &a);
        tfm_dataset_destroy(&d);
        ck_assert_uint_eq(f.live, 0);
    }
    pairs_free(&p);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- schedule ---- */

START_TEST(m24_learning_rates)
{
    static const struct {
        double d, warmup, step, rate;
    } cases[] = {
        {512, 4000, 1, 1.746928107422e-07},       {512, 4000, 100, 1.746928107422e-05},
        {512, 4000, 4000, 6.987712429687e-04},    {512, 4000, 8000, 4.941058844013e-04},
        {512, 4000, 16000, 3.493856214843e-04},   {512, 4000, 100000, 1.397542485937e-04},
        {1024, 4000, 1, 1.235264711003e-07},      {1024, 4000, 4000, 4.941058844013e-04},
        {1024, 4000, 300000, 5.705443307345e-05}, {8, 4000, 1, 1.397542485937e-06},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = tfm_schedule_rate((uint64_t)cases[i].step, cases[i].d, (uint64_t)cases[i].warmup, 1.0);
        golden_near(got, cases[i].rate, 0, 1e-12, "rate");
    }
    golden_near(tfm_schedule_rate(8000, 512, 8000, 2.0), 9.882117688026e-04, 0, 1e-12,
                "twice the rate");                  /* t2t v3 base */
    for (uint64_t step = 1; step < 20000; step++) { /* never 0 or infinite; the peak is at the end of the warm-up */
        const double rate = tfm_schedule_rate(step, 512, 4000, 1.0), next = tfm_schedule_rate(step + 1, 512, 4000, 1.0);
        ck_assert(rate > 0.0 && isfinite(rate));
        ck_assert(step < 4000 ? next > rate : next < rate);
    }
    ck_assert_double_eq_tol(tfm_schedule_rate(1, 4, 1, 1.0), 0.5, 1e-15); /* no warm-up */
    ck_assert(tfm_schedule_rate(UINT64_MAX, 512, 4000, 1.0) > 0.0);
}
END_TEST

START_TEST(the_end_of_the_rate)
{
    static const struct {
        uint64_t step, last, cooldown;
        double factor;
    } cases[] = {
        {60, 100, 40, 1.0},  {61, 100, 40, 1.0}, {62, 100, 40, 0.975}, {100, 100, 40, 0.025}, {1, 100, 100, 1.0},
        {50, 100, 100, 0.51}, {100, 100, 1, 1.0}, {100, 100, 0, 1.0},   {1, 0, 0, 1.0},        {7, UINT64_MAX, 9, 1.0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_double_eq(tfm_schedule_cooldown(cases[i].step, cases[i].last, cases[i].cooldown), cases[i].factor);
}
END_TEST

/* ----------------------------------------------------------------------------------------------- checkpoint ---- */

static const tfm_checkpoint sample = {
    .at = {.step = 123456789012, .epoch = 3, .update = 17, .best = 1.0 / 3.0, .stale = 2},
    .seed = UINT64_MAX - 1,
    .pairs = 29000,
    .fingerprint = 0xFEDCBA98,
    .batch_tokens = 1 << 24,
    .accumulate = 1 << 20,
    .n_ranks = 1 << 16,
    .kept = {.steps = {1, 100, 123456789000}, .n = 3, .extra = 123456789012, .has_extra = true},
};

static tfm_buffer json_of(const tfm_checkpoint *c)
{
    tfm_buffer json = {.allocator = allocator};

    ck_assert_ok(tfm_checkpoint_to_json(&json, c, &error), error);
    tfm_buffer_append(&json, "", 1); /* for strstr() */
    json.size--;
    return json;
}

static tfm_status parse(tfm_checkpoint *c, const char *json, size_t size)
{
    return tfm_checkpoint_from_json(c, (tfm_text){json, size}, &error);
}

START_TEST(states_come_back_as_they_were)
{
    static tfm_checkpoint in[4], out;

    for (size_t i = 0; i < 4; i++) in[i] = sample;
    in[1].at.best = (double)NAN;
    in[2] = (tfm_checkpoint){.at.best = -0.0, .batch_tokens = 1, .accumulate = 1, .n_ranks = 1};
    in[3].kept.n = TFM_KEPT_MAX;
    in[3].kept.extra = 0;
    for (size_t i = 0; i < TFM_KEPT_MAX; i++) in[3].kept.steps[i] = i * i * i;
    for (size_t i = 0; i < 4; i++) {
        tfm_buffer json = json_of(&in[i]);
        ck_assert_ok(parse(&out, json.data, json.size), error);
        if (i == 1) ck_assert(isnan(out.at.best));
        out.at.best = i == 1 ? in[i].at.best : out.at.best;
        ck_assert_mem_eq(&out, &in[i], sizeof out);
        tfm_buffer_free(&json);
    }
    in[0].at.best = (double)INFINITY; /* cannot be written, and is beaten by everything, as none is */
    tfm_buffer json = json_of(&in[0]);
    ck_assert_ok(parse(&out, json.data, json.size), error);
    ck_assert(isnan(out.at.best));
    tfm_buffer_free(&json);
}
END_TEST

START_TEST(damaged_states_are_refused)
{
    static const char *const changes[][2] = {
        {"\"step\":123456789012", "\"step\":-1"},
        {"\"step\":123456789012", "\"step\":1.5"},
        {"\"step\":123456789012", "\"step\":99999999999999999999"},
        {"\"step\":123456789012", "\"stop\":1"},
        {"\"epoch\":3", "\"epoch\":\"3\""},
        {"\"update\":17", "\"update\":-17"},
        {"\"stale\":2", "\"stale\":null"},
        {"\"best\":0", "\"best\":\"0\",\"more\":0"},
        {"\"seed\":\"", "\"seed\":\"x"},
        {"\"pairs\":29000", "\"pairs\":-29000"},
        {"\"fingerprint\":4275878552", "\"fingerprint\":4294967296"},
        {"\"batch_tokens\":16777216", "\"batch_tokens\":0"},
        {"\"accumulate\":1048576", "\"accumulate\":0"},
        {"\"n_ranks\":65536", "\"n_ranks\":-1"},
        {"[1,100,", "[1,-100,"},
        {"[1,100,", "[1,\"100\","},
        {"\"kept\":[", "\"kept\":1,\"more\":["},
    };
    static tfm_checkpoint c;
    tfm_buffer json = json_of(&sample);
    char text[2048];

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        snprintf(text, sizeof text, "%.*s", (int)json.size, json.data);
        char *at = strstr(text, changes[i][0]);
        ck_assert_msg(at != NULL, "%s is not in %s", changes[i][0], text);
        snprintf(at, sizeof text - (size_t)(at - text), "%s%.*s", changes[i][1],
                 (int)(json.size - (size_t)(at - text) - strlen(changes[i][0])),
                 json.data + (at - text) + strlen(changes[i][0]));
        ck_assert_msg(parse(&c, text, strlen(text)) == TFM_E_FORMAT, "accepted: %s", text);
    }
    for (size_t n = 0; n < json.size; n++) ck_assert_status(parse(&c, json.data, n), TFM_E_FORMAT, error);
    tfm_buffer_free(&json);
    ck_assert_status(parse(&c, "[]", 2), TFM_E_FORMAT, error);
    ck_assert_status(parse(&c, "null", 4), TFM_E_FORMAT, error);
}
END_TEST

START_TEST(too_long_a_list_of_files_is_refused)
{
    static tfm_checkpoint c;
    tfm_buffer json = json_of(&sample), longer_list = {.allocator = allocator};
    const char *at = strstr(json.data, "[1,");

    tfm_buffer_append(&longer_list, json.data, (size_t)(at - json.data) + 1);
    for (size_t i = 0; i < TFM_KEPT_MAX - 2; i++) tfm_buffer_append(&longer_list, "7,", 2);
    tfm_buffer_append(&longer_list, at + 1, json.size - (size_t)(at - json.data) - 1);
    ck_assert_status(parse(&c, longer_list.data, longer_list.size), TFM_E_FORMAT, error);
    ck_assert_str_eq(error.message, "the checkpoint lists 1025 files, more than 1024");
    tfm_buffer_free(&json);
    tfm_buffer_free(&longer_list);
}
END_TEST

START_TEST(what_differs_is_named)
{
    static const char *const names[] = {"seed",         "number of pairs", "fingerprint",
                                        "batch_tokens", "accumulate",      "n_ranks"};
    static tfm_checkpoint changed[6];

    for (size_t i = 0; i < 6; i++) changed[i] = sample;
    changed[0].seed = 5;
    changed[1].pairs = 5;
    changed[2].fingerprint = 5;
    changed[3].batch_tokens = 5;
    changed[4].accumulate = 5;
    changed[5].n_ranks = 5;
    ck_assert_ok(tfm_checkpoint_compare(&sample, &sample, &error), error);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_status(tfm_checkpoint_compare(&sample, &changed[i], &error), TFM_E_INVALID, error);
        ck_assert_ptr_nonnull(strstr(error.message, names[i]));
        ck_assert_ptr_nonnull(strstr(error.message, "now it is 5"));
    }
}
END_TEST

static Suite *dataset_suite(void)
{
    Suite *suite = suite_create("dataset");
    TCase *tc = tcase_create("dataset");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, c09_1950_pairs_of_64_are_31_batches);
    tcase_add_test(tc, batches_are_of_like_length_and_well_filled);
    tcase_add_test(tc, order_hangs_on_seed_and_epoch_alone);
    tcase_add_test(tc, epochs_mix_their_batches_anew);
    tcase_add_test(tc, c10_a_pair_above_the_budget_is_a_batch_of_its_own);
    tcase_add_test(tc, fingerprints_tell_data_apart);
    tcase_add_test(tc, data_survives_failing_memory);
    tcase_add_test(tc, m24_learning_rates);
    tcase_add_test(tc, the_end_of_the_rate);
    tcase_add_test(tc, states_come_back_as_they_were);
    tcase_add_test(tc, damaged_states_are_refused);
    tcase_add_test(tc, too_long_a_list_of_files_is_refused);
    tcase_add_test(tc, what_differs_is_named);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(dataset_suite)
