/* What a trainer takes: options, and data as text and as ids. */
#include "training_models.h"

#include <time.h>

enum { VOCAB = 53 };

static tfm_model *text_model, *ids_model;

static void setup(void)
{
    const tfm_model_options o = small_options();

    text_model = text_model_make();
    ck_assert_ok(tfm_model_create(&ids_model, &o, NULL, &error), error);
}

static void teardown(void)
{
    tfm_model_free(text_model);
    tfm_model_free(ids_model);
}

static tfm_trainer *text_trainer(void)
{
    const tfm_trainer_options o = trainer_options();

    return trainer_of(text_model, &o, NULL);
}

/* Pair i of the trainer's data decodes to these texts. */
static void assert_pair(const tfm_trainer *t, size_t i, const char *source, const char *target)
{
    const tfm_side *sides[] = {&t->training.data.source, &t->training.data.target};

    ck_assert_uint_lt(i, t->training.data.n_pairs);
    for (size_t s = 0; s < 2; s++) {
        char text[64] = {0};
        size_t size;
        const int32_t *ids = sides[s]->ids + sides[s]->offset[i];
        const size_t n = sides[s]->offset[i + 1] - sides[s]->offset[i];
        ck_assert_int_eq(ids[n - 1], TFM_EOS);
        ck_assert_ok(tfm_tokenizer_decode(text, 63, &size, tfm_model_tokenizer(text_model), (tfm_ids){ids, n}, &error),
                     error);
        ck_assert_str_eq(text, s ? target : source);
    }
}

/* ---------------------------------------------------------------------------------------------------- text ---- */

START_TEST(c08_blank_lines_skip_their_pair)
{
    static const tfm_text sources[] = {LINE("a"), LINE(""), LINE("c")}, targets[] = {LINE("A"), LINE("B"), LINE("C")};
    static const tfm_text blank[] = {LINE(""), LINE("  "), LINE("\t\r"), LINE("\xe3\x80\x80"), LINE("x")};
    tfm_data_report r;
    tfm_trainer *t = text_trainer();

    ck_assert_ok(tfm_trainer_set_data(t, sources, targets, 3, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.pairs, 2);
    ck_assert_uint_eq(r.blank, 1);
    ck_assert_uint_eq(r.too_long, 0);
    ck_assert_uint_eq(t->training.data.n_pairs, 2);
    assert_pair(t, 0, "a", "A");
    assert_pair(t, 1, "c", "C");
    ck_assert_uint_eq(r.source_tokens, t->training.data.source.n_ids);
    ck_assert_uint_eq(r.target_tokens, t->training.data.target.n_ids);
    ck_assert_ok(tfm_trainer_set_data(t, targets, sources, 3, &r, sizeof r, &error), error); /* on the other side */
    ck_assert_uint_eq(r.blank, 1);
    assert_pair(t, 1, "C", "c");
    ck_assert_status(tfm_trainer_set_data(t, blank, blank, 4, &r, sizeof r, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "no training pair is left: 4 blank, 0 longer than 256 tokens");
    assert_pair(t, 1, "C", "c"); /* what was there stays */
    ck_assert_ok(tfm_trainer_set_data(t, blank, blank, 5, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.blank, 4);
    assert_pair(t, 0, "x", "x");
    tfm_trainer_free(t);
}
END_TEST

START_TEST(c04_nul_and_newline_are_text)
{
    static const tfm_text sources[] = {LINE("a\0b")}, targets[] = {LINE("x\ny")};
    tfm_data_report plain, r;
    tfm_trainer *t = text_trainer();

    ck_assert_ok(tfm_trainer_set_data(t, sources, targets, 1, &r, sizeof r, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, (tfm_text[]){LINE("a")}, targets, 1, &plain, sizeof plain, &error), error);
    ck_assert_uint_ge(r.source_tokens, plain.source_tokens + 2);
    ck_assert_uint_eq(r.target_tokens, plain.target_tokens);
    assert_pair(t, 0, "a", "x\ny");
    tfm_trainer_free(t);
}
END_TEST

START_TEST(invalid_utf8_names_side_and_line)
{
    static const tfm_text good[] = {LINE("a"), LINE("b"), LINE("c")}, bad[] = {LINE("a"), LINE("b"), LINE("c\xc3")};
    tfm_trainer_options o = trainer_options();
    tfm_data_report r;
    tfm_trainer *t = text_trainer();

    ck_assert_status(tfm_trainer_set_data(t, bad, good, 3, NULL, 0, &error), TFM_E_FORMAT, error);
    ck_assert_str_eq(error.message, "source line 3 is not UTF-8 at byte 1: repair it, or set replace_invalid");
    ck_assert_status(tfm_trainer_set_data(t, good, bad, 3, NULL, 0, &error), TFM_E_FORMAT, error);
    ck_assert_str_eq(error.message, "target line 3 is not UTF-8 at byte 1: repair it, or set replace_invalid");
    ck_assert_status(tfm_trainer_set_valid(t, good, bad, 3, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "target line 3"));
    ck_assert_uint_eq(t->training.data.n_pairs, 0);
    tfm_trainer_free(t);
    o.replace_invalid = 1;
    t = trainer_of(text_model, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data(t, bad, good, 3, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.pairs, 3);
    assert_pair(t, 2, "c\xef\xbf\xbd", "c");
    tfm_trainer_free(t);
}
END_TEST

START_TEST(text_needs_a_tokenizer)
{
    static const tfm_text line = LINE("a");
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(ids_model, &o, NULL);

    ck_assert_status(tfm_trainer_set_data(t, &line, &line, 1, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "the model has no tokenizer: give ids");
    ck_assert_status(tfm_trainer_set_valid(t, &line, &line, 1, &error), TFM_E_INVALID, error);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(validation_data_are_checked)
{
    static const tfm_text line[] = {LINE("a"), LINE("")};
    static char text[5000];
    const tfm_text words_many = {text, sizeof text};
    tfm_trainer *t = text_trainer();

    memset(text, 'q', sizeof text); /* never merged: a token each */
    ck_assert_status(tfm_trainer_set_valid(t, &words_many, line, 1, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "1 validation pairs have more than 4096 tokens on a side");
    ck_assert_status(tfm_trainer_set_valid(t, line + 1, line, 1, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "no validation pair is left: 1 are blank");
    ck_assert_ok(tfm_trainer_set_valid(t, line, line, 2, &error), error);
    ck_assert_uint_eq(t->training.valid.n_pairs, 1);
    ck_assert_ok(tfm_trainer_set_valid(t, &(tfm_text){text, 3000}, line, 1, &error),
                 error); /* beyond max_length: kept */
    ck_assert_uint_eq(t->training.valid.n_pairs, 1);
    tfm_trainer_free(t);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- ids ---- */

START_TEST(m47_ids_out_of_range_are_named)
{
    static const int32_t high[] = {4, VOCAB, 1}, low[] = {4, 5, -1, 1}, good[] = {4, 3, 1};
    const tfm_ids sources[] = {{good, 3}, {high, 3}}, targets[] = {{good, 3}, {low, 4}},
                  fine[] = {{good, 3}, {good, 3}};
    const tfm_ids missing = {NULL, 3};
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(ids_model, &o, NULL);
    tfm_data_report r = {0};

    ck_assert_status(tfm_trainer_set_data_ids(t, sources, fine, 2, &r, sizeof r, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "source 2: id 1 is 53, the vocabulary has 53");
    ck_assert_uint_eq(r.pairs, 0); /* written on success only */
    ck_assert_status(tfm_trainer_set_data_ids(t, fine, targets, 2, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "target 2: id 2 is -1, the vocabulary has 53");
    ck_assert_status(tfm_trainer_set_data_ids(t, &missing, fine, 1, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_trainer_set_data_ids(t, fine, fine, 0, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_ok(tfm_trainer_set_data_ids(t, fine, fine, 2, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.unknown, 4);
    ck_assert_uint_eq(r.source_tokens, 6);
    steps(t, 1);
    ck_assert_status(tfm_trainer_set_data_ids(t, sources, fine, 2, NULL, 0, &error), TFM_E_INVALID, error);
    steps(t, 1); /* on what it had */
    tfm_trainer_free(t);
}
END_TEST

START_TEST(each_side_has_its_own_vocabulary)
{
    static const int32_t high[] = {56, TFM_EOS}, low[] = {52, TFM_EOS};
    const tfm_ids larger = {high, 2}, smaller = {low, 2};
    const tfm_trainer_options o = trainer_options();
    tfm_model_options mo = small_options();
    tfm_model *m;

    mo.sharing = TFM_SHARE_NONE;
    mo.source_vocab_size = mo.vocab_size + 4;
    ck_assert_ok(tfm_model_create(&m, &mo, NULL, &error), error);
    tfm_trainer *t = trainer_of(m, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data_ids(t, &larger, &smaller, 1, NULL, 0, &error), error);
    ck_assert_status(tfm_trainer_set_data_ids(t, &smaller, &larger, 1, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "target 1: id 0 is 56, the vocabulary has 53");
    tfm_trainer_free(t);
    tfm_model_free(m);
}
END_TEST

START_TEST(m47_empty_and_shortest_sequences)
{
    static const int32_t ids[] = {1, 4, 1};
    const tfm_ids sources[] = {{ids, 1}, {NULL, 0}, {ids + 1, 2}, {ids, 0}},
                  targets[] = {{ids, 1}, {ids, 1}, {ids, 1}, {ids, 0}};
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(ids_model, &o, NULL);
    tfm_data_report r;

    ck_assert_ok(tfm_trainer_set_data_ids(t, sources, targets, 4, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.pairs, 2); /* EOS alone is a sequence */
    ck_assert_uint_eq(r.blank, 2);
    for (int i = 0; i < 3; i++) ck_assert(isfinite(step_once(t).loss));
    ck_assert_status(tfm_trainer_set_data_ids(t, sources + 3, targets + 3, 1, &r, sizeof r, &error), TFM_E_INVALID,
                     error);
    tfm_trainer_free(t);
}
END_TEST

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

START_TEST(c10_pairs_too_long_are_skipped_and_counted)
{
    tfm_trainer_options o = trainer_options();
    tfm_data_report r;
    uint64_t state = 2;
    pairs p;

    pairs_begin(&p, 200);
    for (; p.n < 6; p.n++) {
        p.sources[p.n] = ids_random(&p, p.n == 1 ? 11 : 10, VOCAB, &state);
        p.targets[p.n] = ids_random(&p, p.n == 4 ? 12 : 3, VOCAB, &state);
    }
    o.max_length = 10;
    o.batch_tokens = 4; /* below every pair: each is a batch of its own */
    tfm_trainer *t = trainer_of(ids_model, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data_ids(t, p.sources, p.targets, p.n, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.pairs, 4);
    ck_assert_uint_eq(r.too_long, 2);
    ck_assert_uint_eq(r.source_tokens, 40);
    ck_assert_uint_eq(r.target_tokens, 12);
    for (uint64_t i = 1; i <= 8; i++) {
        const tfm_progress progress = step_once(t);
        ck_assert_uint_eq(progress.source_tokens, 10);
        ck_assert_uint_eq(progress.epoch, i / 4);
    }
    tfm_trainer_free(t);
    o.max_length = 1;
    t = trainer_of(ids_model, &o, NULL);
    const double began = seconds();
    ck_assert_status(tfm_trainer_set_data_ids(t, p.sources, p.targets, p.n, &r, sizeof r, &error), TFM_E_INVALID,
                     error);
    ck_assert_str_eq(error.message, "no training pair is left: 0 blank, 6 longer than 1 tokens");
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_INVALID, error);
    ck_assert(seconds() - began < 1.0);
    tfm_trainer_free(t);
    pairs_free(&p);
}
END_TEST

START_TEST(m46_learned_positions_bound_the_length)
{
    tfm_model_options mo = small_options();
    tfm_trainer_options o = trainer_options();
    tfm_data_report r;
    tfm_model *learned;
    uint64_t state = 2;
    pairs p;

    mo.positions = TFM_POSITIONS_LEARNED;
    mo.max_positions = 12;
    mo.position_offset = 2;
    ck_assert_ok(tfm_model_create(&learned, &mo, NULL, &error), error);
    pairs_begin(&p, 200);
    for (; p.n < 4; p.n++) {
        p.sources[p.n] = ids_random(&p, 8 + p.n, VOCAB, &state);
        p.targets[p.n] = ids_random(&p, 3, VOCAB, &state);
    }
    tfm_trainer *t = trainer_of(learned, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data_ids(t, p.sources, p.targets, p.n, &r, sizeof r, &error), error);
    ck_assert_uint_eq(r.pairs, 3);
    ck_assert_uint_eq(r.too_long, 1);
    steps(t, 2);
    tfm_trainer_free(t);
    tfm_model_free(learned);
    pairs_free(&p);
}
END_TEST

START_TEST(batches_of_every_epoch_fit)
{
    tfm_trainer_options o = trainer_options();
    pairs p;

    pairs_random(&p, 40, 9, VOCAB, 1);
    o.batch_tokens = 20;
    tfm_trainer *t = trainer_of(ids_model, &o, &p);
    const tfm_packed *packed = &t->training.packed;
    for (tfm_progress now = {0}; now.epoch < 8;) {
        now = step_once(t);
        ck_assert_uint_le(packed->n_source, packed->source_capacity);
        ck_assert_uint_le(packed->n_target, packed->target_capacity);
        ck_assert_uint_lt(packed->n_pairs, packed->pair_capacity);
    }
    tfm_trainer_free(t);
    pairs_free(&p);
}
END_TEST

START_TEST(data_may_be_replaced_within_an_epoch)
{
    const pairs *set[2];
    tfm_trainer_options o = trainer_options();
    pairs many, few;

    pairs_random(&many, 40, 9, VOCAB, 1);
    pairs_random(&few, 3, 9, VOCAB, 2);
    set[0] = &few, set[1] = &many;
    o.batch_tokens = 20;
    tfm_trainer *t = trainer_of(ids_model, &o, &many);
    steps(t, 5);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ok(tfm_trainer_set_data_ids(t, set[i]->sources, set[i]->targets, set[i]->n, NULL, 0, &error), error);
        ck_assert_uint_eq(t->training.data.n_pairs, set[i]->n);
        ck_assert_uint_eq(t->training.at.update, 0);
        ck_assert_uint_eq(t->fingerprint, tfm_dataset_fingerprint(&t->training.data));
        steps(t, 2);
    }
    tfm_trainer_free(t);
    pairs_free(&many);
    pairs_free(&few);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- options ---- */

#define AT(field) offsetof(tfm_trainer_options, field)
enum {
    NAN_BITS = 0x7fc00000,
    INF_BITS = 0x7f800000,
    ONE = 0x3f800000,
    MINUS_ONE = (int)0xbf800000,
    MINUS_TWO = (int)0xc0000000
};

static int32_t no_sum(void *user, float *values, size_t n)
{
    (void)user, (void)values, (void)n;
    return 0;
}

START_TEST(options_are_checked)
{
    static const struct {
        size_t offset;
        int value;
        const char *says;
    } bad[] = {
        {AT(dropout), ONE, "dropout is 1, not in [0, 1)"},
        {AT(dropout), NAN_BITS, "dropout is nan"},
        {AT(dropout), MINUS_ONE, "dropout is -1"},
        {AT(dropout_embedding), ONE, "dropout_embedding is 1"},
        {AT(dropout_embedding), MINUS_TWO, "dropout_embedding is -2"},
        {AT(dropout_attention), ONE, "dropout_attention is 1"},
        {AT(dropout_relu), MINUS_ONE, "dropout_relu is -1"},
        {AT(label_smoothing), ONE, "label_smoothing is 1"},
        {AT(smoothing), 2, "smoothing is 2, not in [0, 1]"},
        {AT(adam_beta1), ONE, "adam_beta1 is 1"},
        {AT(adam_beta2), NAN_BITS, "adam_beta2 is nan"},
        {AT(adam_eps), 0, "adam_eps is 0"},
        {AT(lr_scale), INF_BITS, "lr_scale is inf"},
        {AT(lr_scale), MINUS_ONE, "lr_scale is -1"},
        {AT(warmup), 0, "warmup is 0"},
        {AT(clip_norm), MINUS_ONE, "clip_norm is -1"},
        {AT(batch_tokens), 0, "batch_tokens is 0"},
        {AT(accumulate), 0, "accumulate is 0"},
        {AT(max_length), 0, "max_length is 0"},
        {AT(keep), 1025, "keep is 1025"},
        {AT(n_ranks), 0, "n_ranks is 0"},
        {AT(n_ranks), 2, "n_ranks is 2, but there is no reduce function"},
        {AT(rank), 1, "rank is 1, not in [0, 1)"},
        {AT(n_threads), 1025, "n_threads is 1025, more than 1024"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfm_trainer_options o = trainer_options();
        tfm_trainer *t = (tfm_trainer *)&o;
        memcpy((char *)&o + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        ck_assert_status(tfm_trainer_create(&t, ids_model, &o, &error), TFM_E_INVALID, error);
        ck_assert_ptr_null(t);
        ck_assert_msg(!strncmp(error.message, bad[i].says, strlen(bad[i].says)), "%s", error.message);
    }
    tfm_trainer_options o = trainer_options();
    tfm_trainer *t;
    o.max_seconds = (double)NAN;
    ck_assert_status(tfm_trainer_create(&t, ids_model, &o, &error), TFM_E_INVALID, error);
    o.max_seconds = 0.5;
    o.n_ranks = 2;
    o.reduce = no_sum;
    ck_assert_status(tfm_trainer_create(&t, ids_model, &o, &error), TFM_E_INVALID, error);
    ck_assert_ptr_eq(strstr(error.message, "max_seconds is 0.5, but n_ranks is 2"), error.message);
    o.max_seconds = 0.0;
    ck_assert_ok(tfm_trainer_create(&t, ids_model, &o, &error), error);
    tfm_trainer_free(t);
    o.checkpoint_seconds = -1.0;
    ck_assert_status(tfm_trainer_create(&t, ids_model, &o, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(nothing_runs_without_data)
{
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(ids_model, &o, NULL);
    tfm_model *copy;

    ck_assert_status(tfm_trainer_step(t, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "the trainer has no data: call tfm_trainer_set_data()");
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_trainer_save(t, "x", &error), TFM_E_INVALID, error);
    ck_assert_ok(tfm_trainer_model(&copy, t, &error), error); /* the weights it began with */
    for (size_t i = 0; i < tfm_model_parameter_count(copy); i++) {
        tfm_parameter a, b;
        ck_assert_ok(tfm_model_parameter_at(&a, copy, i, &error), error);
        ck_assert_ok(tfm_model_parameter_at(&b, ids_model, i, &error), error);
        ck_assert_mem_eq(a.data, b.data, (size_t)a.shape[0] * a.shape[1] * sizeof *a.data);
    }
    tfm_model_free(copy);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(the_model_and_its_trainer_are_apart)
{
    tfm_trainer_options o = trainer_options();
    tfm_model *model = model_make(), *before, *after;
    tfm_parameter p, q, r;
    pairs data;

    pairs_random(&data, 5, 9, VOCAB, 1);
    tfm_trainer *t = trainer_of(model, &o, &data);
    tfm_model_free(model);
    ck_assert_ok(tfm_trainer_model(&before, t, &error), error);
    steps(t, 1);
    ck_assert_ok(tfm_trainer_model(&after, t, &error), error);
    ck_assert_ok(tfm_model_parameter_at(&p, before, 0, &error), error);
    ck_assert_ok(tfm_model_parameter_at(&q, after, 0, &error), error);
    ck_assert_mem_ne(p.data, q.data, 64);
    ck_assert_mem_eq(q.data, t->training.w, 64);
    steps(t, 1);
    ck_assert_ok(tfm_model_parameter_at(&r, after, 0, &error), error);
    ck_assert_mem_ne(r.data, t->training.w, 64);
    tfm_trainer_free(t);
    tfm_model_free(before);
    tfm_model_free(after);
    pairs_free(&data);
}
END_TEST

static Suite *trainer_suite(void)
{
    Suite *suite = suite_create("trainer");
    TCase *tc = tcase_create("trainer");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, c08_blank_lines_skip_their_pair);
    tcase_add_test(tc, c04_nul_and_newline_are_text);
    tcase_add_test(tc, invalid_utf8_names_side_and_line);
    tcase_add_test(tc, text_needs_a_tokenizer);
    tcase_add_test(tc, validation_data_are_checked);
    tcase_add_test(tc, m47_ids_out_of_range_are_named);
    tcase_add_test(tc, each_side_has_its_own_vocabulary);
    tcase_add_test(tc, m47_empty_and_shortest_sequences);
    tcase_add_test(tc, c10_pairs_too_long_are_skipped_and_counted);
    tcase_add_test(tc, m46_learned_positions_bound_the_length);
    tcase_add_test(tc, batches_of_every_epoch_fit);
    tcase_add_test(tc, data_may_be_replaced_within_an_epoch);
    tcase_add_test(tc, options_are_checked);
    tcase_add_test(tc, nothing_runs_without_data);
    tcase_add_test(tc, the_model_and_its_trainer_are_apart);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(trainer_suite)
