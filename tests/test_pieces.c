/* A batch worked off in pieces that fit in memory: the same masks, the same gradients, the same run. */
#include "training_models.h"

#include "train/batch.h"

enum { VOCAB = 53, BATCH = 120, LONGEST = 15 };

static pairs data;
static tfm_model *model;

static void setup(void)
{
    tfm_model_options o = small_options();

    o.attention_bias = 1;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    pairs_random(&data, 60, LONGEST, VOCAB, 3);
}

static void teardown(void)
{
    tfm_model_free(model);
    pairs_free(&data);
}

/* Dropout in all four places. */
static tfm_trainer_options all_options(void)
{
    tfm_trainer_options o = trainer_options();

    o.dropout = 0.2f;
    o.dropout_embedding = 0.1f;
    o.dropout_attention = 0.15f;
    o.dropout_relu = 0.25f;
    o.batch_tokens = BATCH;
    return o;
}

static tfm_trainer_options limited(size_t tokens)
{
    tfm_trainer_options o = all_options();

    o.memory = memory_for(model, &o, &data, tokens);
    return o;
}

/* -------------------------------------------------------------------------------------------------- the sums ---- */

/* Norm-wise, relative to the tensor or to a thousandth of all: a bias of keys has no gradient but noise. */
static void assert_same_gradient(const tfm_trainer *a, const tfm_trainer *b, double norm)
{
    for (size_t i = 0; i < a->training.weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &a->training.weights.parameters[i];
        const float *x = a->training.g + p->offset, *y = b->training.g + p->offset;
        double apart = 0.0, squares = 0.0;

        for (size_t j = 0; j < p->size; j++) {
            apart += pow((double)x[j] - (double)y[j], 2.0);
            squares += (double)y[j] * (double)y[j];
        }
        const double scale = fmax(sqrt(squares), 1e-3 * norm);
        ck_assert_msg(sqrt(apart) <= 1e-6 * scale, "%s: differs by %g of %g", p->name, sqrt(apart), scale);
    }
}

START_TEST(pieces_change_nothing_but_the_rounding_of_sums)
{
    static const size_t tokens[] = {BATCH / 2, BATCH / 3, BATCH / 6, 1};
    tfm_trainer_options o = all_options();

    o.accumulate = 4;
    tfm_trainer *whole = trainer_of(model, &o, &data);
    ck_assert_uint_eq(whole->training.piece_tokens, BATCH);
    const tfm_progress want = step_once(whole);
    for (size_t i = 0; i < 4; i++) {
        o.memory = limited(tokens[i]).memory;
        tfm_trainer *t = trainer_of(model, &o, &data);
        ck_assert(i == 3 ? t->training.piece_tokens <= LONGEST : t->training.piece_tokens == tokens[i]);
        const tfm_progress got = step_once(t);
        ck_assert_uint_eq(got.source_tokens, want.source_tokens);
        ck_assert_uint_eq(got.target_tokens, want.target_tokens);
        ck_assert_double_eq_tol(got.loss, want.loss, 1e-6 * want.loss);
        ck_assert_double_eq_tol(got.nll, want.nll, 1e-6 * want.nll);
        assert_same_gradient(t, whole, want.gradient_norm * (double)want.target_tokens);
        tfm_trainer_free(t);
    }
    tfm_trainer_free(whole);
}
END_TEST

START_TEST(no_piece_is_larger_than_it_may_be)
{
    const tfm_trainer_options o = limited(40);
    tfm_trainer *t = trainer_of(model, &o, &data);
    const tfm_packed *p = &t->training.packed;

    ck_assert_uint_eq(t->training.piece_tokens, 40);
    while (t->training.at.epoch < 5) {
        step_once(t);
        ck_assert(p->n_source <= 40 && p->n_target <= 40 && p->source_capacity == 40 && p->target_capacity == 40);
    }
    tfm_trainer_free(t);
}
END_TEST

START_TEST(the_same_bits_for_any_number_of_threads)
{
    static const uint32_t threads[] = {1, 2, 5};
    tfm_trainer_options o = limited(30);
    tfm_trainer *t[3];

    for (size_t i = 0; i < 3; i++) {
        o.n_threads = threads[i];
        t[i] = trainer_of(model, &o, &data);
        ck_assert_uint_eq(t[i]->training.piece_tokens, 30);
        ck_assert_uint_eq(t[i]->training.need, t[0]->training.need);
        steps(t[i], 12);
        same_training(t[i], t[0]);
    }
    for (size_t i = 0; i < 3; i++) tfm_trainer_free(t[i]);
}
END_TEST

START_TEST(validation_bleu_needs_one_more_copy_of_the_weights)
{
    tfm_trainer_options o = all_options();
    const uint64_t without = memory_for(model, &o, &data, 30);

    o.valid_bleu = 1; /* those of the model, and those that its decoder packs */
    tfm_trainer *t = trainer_of(model, &o, NULL);
    ck_assert_uint_eq(memory_for(model, &o, &data, 30), without + t->training.weights.size * sizeof(float));
    tfm_trainer_free(t);
}
END_TEST

START_TEST(validation_goes_in_pieces_too)
{
    tfm_trainer_options o = all_options();
    tfm_model *text_model = text_model_make();
    const tfm_text some[] = {LINE("the cat sat"), LINE("a dog"), LINE("on the mat"), LINE("the log")};
    static char text[400];
    const tfm_text long_line = {text, sizeof text};
    tfm_sums sums[2];

    o.batch_tokens = 50;
    for (size_t i = 0; i < 2; i++) {
        tfm_trainer *t = trainer_of(text_model, &o, NULL);
        ck_assert_ok(tfm_trainer_set_data(t, some, some, 4, NULL, 0, &error), error);
        size_t need;
        ck_assert_ok(tfm_memory_need(&t->training, &t->training.data, &t->training.data, 1, true, &need, &error),
                     error);
        ck_assert_ok(tfm_trainer_set_valid(t, some, some, 4, &error), error);
        ck_assert_ok(tfm_training_validate(&t->training, &sums[i], &error), error);
        ck_assert(i == 0 || t->training.packed.n_target < sums[i].target_tokens);
        ck_assert(sums[i].loss == sums[i].nll && sums[i].nll > 0.0);
        memset(text, 'q', sizeof text); /* a token each */
        const tfm_status status = tfm_trainer_set_valid(t, &long_line, some, 1, &error);
        ck_assert_int_eq(status, i ? TFM_E_INVALID : TFM_OK);
        if (i) ck_assert_ptr_nonnull(strstr(error.message, "validation needs "));
        if (i) ck_assert_uint_eq(t->training.valid.n_pairs, 4);
        o.memory = need;
        tfm_trainer_free(t);
    }
    ck_assert(sums[0].target_tokens == sums[1].target_tokens);
    ck_assert_double_eq_tol(sums[0].nll, sums[1].nll, 1e-13 * sums[0].nll);
    tfm_model_free(text_model);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ the choice ---- */

START_TEST(the_largest_pieces_that_fit)
{
    tfm_trainer_options o = all_options();

    for (size_t pieces = 1; pieces < 12; pieces++) {
        const size_t tokens = (BATCH + pieces - 1) / pieces;
        for (int less = 0; less < 2; less++) {
            tfm_data_report r;
            o.memory = 0;
            o.memory = memory_for(model, &o, &data, tokens) - (uint64_t)less;
            tfm_trainer *t = trainer_of(model, &o, NULL);
            if (tokens <= LONGEST && less) {
                ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, &r, sizeof r, &error),
                                 TFM_E_INVALID, error);
            } else {
                ck_assert_ok(tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, &r, sizeof r, &error),
                             error);
                ck_assert(less ? r.piece_tokens < tokens : r.piece_tokens == tokens || tokens < LONGEST);
                ck_assert_uint_le(r.memory, o.memory);
                ck_assert_uint_eq(BATCH % r.piece_tokens >= r.piece_tokens, 0);
            }
            tfm_trainer_free(t);
        }
    }
}
END_TEST

START_TEST(more_memory_than_helps_is_not_used)
{
    static const uint32_t batch[] = {4096, 10000, 10001, 25000}, want[] = {4096, 10000, 5001, 8334};
    tfm_trainer_options o = all_options();

    for (size_t i = 0; i < 4; i++)
        for (int limit = 0; limit < 2; limit++) {
            o.batch_tokens = batch[i];
            o.memory = limit ? UINT64_MAX : 0;
            tfm_trainer *t = trainer_of(model, &o, &data);
            ck_assert_uint_eq(t->training.piece_tokens, limit ? want[i] : batch[i]);
            tfm_trainer_free(t);
        }
}
END_TEST

START_TEST(too_little_memory_is_named)
{
    tfm_trainer_options o = all_options();
    tfm_trainer *t;

    o.memory = 20000000;
    t = trainer_of(model, &o, NULL);
    ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message,
                                 " MB even with one pair of up to 15 tokens at a time, memory allows 20 MB: give "
                                 "more, set recompute, lower max_length, or take a smaller model"));
    ck_assert_status(tfm_trainer_step(t, NULL, 0, &error), TFM_E_INVALID, error);
    tfm_trainer_free(t);
    o.recompute = 1;
    t = trainer_of(model, &o, NULL);
    ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_null(strstr(error.message, "recompute"));
    tfm_trainer_free(t);
}
END_TEST

/* No piece of fewer tokens takes more, whichever sides it has. */
START_TEST(the_need_bounds_every_piece)
{
    tfm_model_options mo = small_options();
    const tfm_extent most = {40, 40, 40, 8};
    tfm_model *other;

    mo.norm_order = _i ? TFM_PRE_NORM : TFM_POST_NORM;
    ck_assert_ok(tfm_model_create(&other, &mo, NULL, &error), error);
    for (uint32_t recompute = 0; recompute < 2; recompute++) {
        tfm_trainer_options o = all_options();
        size_t bound, bytes, largest = 0;
        o.recompute = recompute;
        tfm_trainer *t = trainer_of(other, &o, NULL);
        ck_assert_ok(tfm_batch_measure(&t->training, &most, true, 1, &bound, &error), error);
        for (size_t s = 8; s <= 40; s++)
            for (size_t r = 8; r <= 40; r++) {
                const tfm_extent e = {s, r, s < r ? s : r, 8};
                ck_assert_ok(tfm_batch_measure(&t->training, &e, true, 1, &bytes, &error), error);
                if (bytes > largest) largest = bytes;
            }
        ck_assert_uint_eq(largest, bound);
        tfm_trainer_free(t);
    }
    tfm_model_free(other);
}
END_TEST

/* Everything the trainer takes from its allocator is in the need, and little more is counted. */
START_TEST(the_need_is_what_is_taken)
{
    enum { ALLOWANCE = 64 << 20 }; /* the program, and scratch of eight threads */

    for (uint32_t recompute = 0; recompute < 2; recompute++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_trainer_options o = limited(50);
        o.memory = 0;
        o.allocator = &a;
        o.recompute = recompute;
        tfm_trainer *t = trainer_of(model, &o, &data);
        steps(t, 3);
        ck_assert_uint_le(f.live, t->training.need);
        ck_assert_uint_lt(t->training.need, f.live + ALLOWANCE);
        tfm_trainer_free(t);
    }
}
END_TEST

/* --------------------------------------------------------------------------------------------------- resumed ---- */

static char said[300];

static void hear(void *user, int32_t level, const char *message)
{
    (void)user;
    ck_assert_int_eq(level, 1);
    snprintf(said, sizeof said, "%s", message);
}

START_TEST(a_resumed_run_keeps_its_pieces)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_trainer_options o = limited(30);
    const uint64_t given = o.memory, now[] = {given, 0, UINT64_MAX, 1};
    tfm_trainer *straight = trainer_of(model, &o, &data), *t;

    path_join(path, temp_make(folder), "half");
    steps(straight, 5);
    ck_assert_ok(tfm_trainer_save(straight, path, &error), error);
    steps(straight, 5);
    o.log = hear;
    for (size_t i = 0; i < 4; i++) {
        o.memory = now[i];
        said[0] = '\0';
        t = trainer_resumed(path, &o, &data);
        ck_assert_uint_eq(t->training.piece_tokens, 30);
        ck_assert_uint_eq(said[0] != '\0', i == 3);
        steps(t, 5);
        same_training(straight, t);
        tfm_trainer_free(t);
    }
    ck_assert_ptr_nonnull(strstr(said, "the checkpoint's pieces of 30 tokens need "));
    ck_assert_ptr_nonnull(strstr(said, "memory allows 0 MB"));
    tfm_trainer_free(straight);
    temp_remove(folder);
}
END_TEST

START_TEST(an_older_checkpoint_has_whole_batches)
{
    static const char old[] =
        "{\"step\":3,\"epoch\":0,\"update\":3,\"best\":null,\"stale\":0,\"seed\":\"1\",\"pairs\":60,"
        "\"fingerprint\":1,\"batch_tokens\":120,\"accumulate\":1,\"n_ranks\":1,\"kept\":[]%s}";
    char text[300];
    tfm_checkpoint c;

    snprintf(text, sizeof text, old, "");
    ck_assert_ok(tfm_checkpoint_from_json(&c, (tfm_text){text, strlen(text)}, &error), error);
    ck_assert_uint_eq(c.piece_tokens, 0);
    snprintf(text, sizeof text, old, ",\"piece_tokens\":7");
    ck_assert_ok(tfm_checkpoint_from_json(&c, (tfm_text){text, strlen(text)}, &error), error);
    ck_assert_uint_eq(c.piece_tokens, 7);
    snprintf(text, sizeof text, old, ",\"piece_tokens\":-7");
    ck_assert_status(tfm_checkpoint_from_json(&c, (tfm_text){text, strlen(text)}, &error), TFM_E_FORMAT, error);
}
END_TEST

static Suite *pieces_suite(void)
{
    Suite *suite = suite_create("pieces");
    TCase *tc = tcase_create("pieces");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, pieces_change_nothing_but_the_rounding_of_sums);
    tcase_add_test(tc, no_piece_is_larger_than_it_may_be);
    tcase_add_test(tc, the_same_bits_for_any_number_of_threads);
    tcase_add_test(tc, validation_bleu_needs_one_more_copy_of_the_weights);
    tcase_add_test(tc, validation_goes_in_pieces_too);
    tcase_add_test(tc, the_largest_pieces_that_fit);
    tcase_add_test(tc, more_memory_than_helps_is_not_used);
    tcase_add_test(tc, too_little_memory_is_named);
    tcase_add_loop_test(tc, the_need_bounds_every_piece, 0, 2);
    tcase_add_test(tc, the_need_is_what_is_taken);
    tcase_add_test(tc, a_resumed_run_keeps_its_pieces);
    tcase_add_test(tc, an_older_checkpoint_has_whole_batches);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(pieces_suite)
