/* tfm_decoder through the public header: translation. */
#include "decoder_models.h"

#include <pthread.h>
#include <sys/wait.h>

/* ------------------------------------------------------------------------------------------------- the batch ---- */

START_TEST(c21_m38_m49_results_do_not_depend_on_batch_order_or_threads)
{
    static const uint32_t batches[] = {1, 900, 100, 4096, 100000};
    static tfm_ids sentences[SENTENCES], shuffled[SENTENCES];
    tfm_decoder_options o = decoder_options(_i % 2 ? 1 : 3);
    tfm_model *model = model_make();
    size_t ended = 0;

    o.n_best = o.beam == 1 ? 1 : 2;
    sentences_make(sentences);
    tfm_decoder *alone = decoder_of(model, &o);
    o.batch_tokens = batches[_i / 2];
    o.n_threads = _i % 4 < 2 ? 1 : 2;
    tfm_decoder *many = decoder_of(model, &o);
    for (int order = 0; order < 2; order++) {
        const size_t step = order ? 64 : 1; /* coprime to their number */
        for (size_t i = 0; i < SENTENCES; i++) shuffled[i] = sentences[i * step % SENTENCES];
        ck_assert_ok(tfm_decoder_translate_ids(many, shuffled, SENTENCES, &error), error);
        for (size_t i = 0; i < SENTENCES; i += 3) {
            ck_assert_ok(tfm_decoder_translate_ids(alone, &shuffled[i], 1, &error), error);
            same_results(many, i, alone, 0);
            const tfm_ids ids = tfm_decoder_ids(many, i, 0);
            ended += ids.size && ids.data[ids.size - 1] == TFM_EOS;
        }
    }
    ck_assert_uint_gt(ended, 20);
    ck_assert_uint_eq(tfm_decoder_count(many, SENTENCES), 0);
    tfm_decoder_free(many);
    tfm_decoder_free(alone);
    tfm_model_free(model);
}
END_TEST

/* A vocabulary so large that the logits of a step do not exist all at once. */
START_TEST(c21_many_ids)
{
    static tfm_ids sentences[SENTENCES];
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(3);
    tfm_model *model;

    o.max_extra = 1;
    mo.vocab_size = 140000;
    mo.d_model = 4;
    mo.n_decoder_layers = 1;
    sentences_make(sentences);
    for (size_t i = 0; i < 70; i++) sentences[i].size = sentences[i].size < 5 ? sentences[i].size : 5;
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    tfm_decoder *many = decoder_of(model, &o), *alone = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(many, sentences, 70, &error), error);
    for (size_t i = 0; i < 70; i += 5) {
        ck_assert_ok(tfm_decoder_translate_ids(alone, &sentences[i], 1, &error), error);
        same_results(many, i, alone, 0);
    }
    tfm_decoder_free(many);
    tfm_decoder_free(alone);
    tfm_model_free(model);
}
END_TEST

START_TEST(c36_any_number_of_threads)
{
    static const uint32_t threads[] = {0, 1, 3, 64};
    static tfm_ids sentences[SENTENCES];
    tfm_decoder_options o = decoder_options(4);
    tfm_model *model = model_make();
    tfm_decoder *d[4];

    sentences_make(sentences);
    for (int i = 0; i < 4; i++) {
        o.n_threads = threads[i];
        d[i] = decoder_of(model, &o);
        ck_assert_ok(tfm_decoder_translate_ids(d[i], sentences, 4, &error), error);
        for (size_t s = 0; s < 4; s++) same_results(d[i], s, d[0], s);
    }
    for (int i = 0; i < 4; i++) tfm_decoder_free(d[i]);
    tfm_model_free(model);
}
END_TEST

typedef struct caller {
    const tfm_model *model;
    const tfm_ids *sentences;
    const tfm_decoder *want;
    int bad;
} caller;

static void *call_often(void *arg)
{
    caller *c = arg;
    tfm_decoder_options o = decoder_options(3);
    tfm_error own;
    tfm_decoder *d;

    if (tfm_decoder_create(&d, c->model, &o, &own)) {
        c->bad = 1;
        return NULL;
    }
    for (size_t i = 0; i < 20; i++) {
        double sums[2];
        if (tfm_decoder_translate_ids(d, &c->sentences[i], 1, &own)) c->bad = 2;
        const tfm_ids ids = tfm_decoder_ids(d, 0, 0), want = tfm_decoder_ids(c->want, i, 0);
        if (ids.size != want.size || (ids.size && memcmp(ids.data, want.data, ids.size * sizeof *ids.data))) c->bad = 3;
        for (int j = 0; j < 2; j++) {
            if (tfm_decoder_logprobs_ids(d, &c->sentences[i], &want, 1, &own)) c->bad = 4;
            sums[j] = tfm_decoder_pair_logprob(d, 0);
        }
        if (memcmp(&sums[0], &sums[1], sizeof *sums)) c->bad = 5;
    }
    tfm_decoder_free(d);
    return NULL;
}

START_TEST(c35_decoders_share_models_between_threads)
{
    static tfm_ids sentences[SENTENCES];
    const tfm_decoder_options o = decoder_options(3);
    tfm_model *models[] = {model_make(), model_make()};
    pthread_t threads[8];
    caller callers[8];

    sentences_make(sentences);
    tfm_decoder *want = decoder_of(models[0], &o);
    ck_assert_ok(tfm_decoder_translate_ids(want, sentences, 20, &error), error);
    for (int i = 0; i < 8; i++) {
        callers[i] = (caller){models[i % 2], sentences, want, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(callers[i].bad, 0);
    }
    tfm_decoder_free(want);
    for (int i = 0; i < 2; i++) tfm_model_free(models[i]);
}
END_TEST

START_TEST(c36_a_child_after_fork_decodes)
{
    static tfm_ids sentences[SENTENCES];
    tfm_decoder_options o = decoder_options(3);
    tfm_model *model = model_make();
    int status;

    sentences_make(sentences);
    o.n_threads = _i ? 2 : 1;
    tfm_decoder *d = decoder_of(model, &o), *want = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(want, sentences, 20, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 20, &error), error);
    const pid_t child = fork();
    if (!child) {
        alarm(10);
        if (tfm_decoder_translate_ids(d, sentences, 20, &error)) _exit(1);
        for (size_t i = 0; i < 20; i++)
            if (tfm_decoder_score(d, i, 0) != tfm_decoder_score(want, i, 0)) _exit(2);
        tfm_decoder_free(d);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %x", (unsigned)status);
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- search ---- */

START_TEST(golden_translations)
{
    static const int32_t greedy[] = {2, 0, 0, 2, 6, 8, 6, 2, 0, 0}, best[] = {4, 4, 4, 6, 10, 1};
    tfm_decoder_options o = decoder_options(1);
    tfm_model *model = golden_make();

    o.max_extra = 5;
    o.allow_special = 1;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, golden_sources, 2, &error), error);
    ck_assert_uint_eq(tfm_decoder_ids(d, 0, 0).size, 10);
    ck_assert_mem_eq(tfm_decoder_ids(d, 0, 0).data, greedy, sizeof greedy);
    ck_assert_uint_eq(tfm_decoder_ids(d, 1, 0).size, 8);
    ck_assert_mem_eq(tfm_decoder_ids(d, 1, 0).data, greedy, 8 * sizeof *greedy);
    ck_assert_double_eq_tol(tfm_decoder_score(d, 0, 0), -18.675701486, 1e-5);
    ck_assert_double_eq_tol(tfm_decoder_score(d, 1, 0), -15.104892269, 1e-5);
    tfm_decoder_free(d);

    o = decoder_options(3);
    o.max_extra = 5;
    d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, golden_sources, 2, &error), error);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(tfm_decoder_count(d, i), 1);
        ck_assert_uint_eq(tfm_decoder_ids(d, i, 0).size, 6);
        ck_assert_mem_eq(tfm_decoder_ids(d, i, 0).data, best, sizeof best);
        ck_assert_double_eq_tol(tfm_decoder_score(d, i, 0), i ? -8.089774818 : -8.086733821, 5e-6);
        ck_assert_uint_eq(tfm_decoder_steps(d, i), i ? 7 : 8);
    }
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(c23_score_is_the_sum_of_logprobs_over_the_penalty)
{
    static tfm_ids sentences[SENTENCES], hyps[5];
    tfm_decoder_options o = decoder_options(5);
    tfm_model *model = model_make();
    size_t ended = 0;

    o.n_best = 5;
    o.alpha = 0.8f;
    sentences_make(sentences);
    tfm_decoder *d = decoder_of(model, &o);
    for (size_t i = 0; i < 12; i++) {
        const tfm_ids source[] = {sentences[i], sentences[i], sentences[i], sentences[i], sentences[i]};
        ck_assert_ok(tfm_decoder_translate_ids(d, source, 1, &error), error);
        const size_t count = tfm_decoder_count(d, 0);
        for (size_t rank = 0; rank < count; rank++) hyps[rank] = tfm_decoder_ids(d, 0, rank);
        ck_assert_ok(tfm_decoder_logprobs_ids(d, source, hyps, count, &error), error);
        for (size_t rank = 0; rank < count; rank++) {
            const bool eos = hyps[rank].data[hyps[rank].size - 1] == TFM_EOS;
            const double length = (double)hyps[rank].size, sum = tfm_decoder_pair_logprob(d, rank);
            const double want = eos ? sum / pow((5.0 + length) / 6.0, (double)o.alpha) : sum;
            ck_assert_double_eq_tol(tfm_decoder_score(d, 0, rank), want, 1e-5 * length);
            ended += eos;
            for (size_t j = 0; j < hyps[rank].size; j++)
                ck_assert(hyps[rank].data[j] == TFM_EOS ? j + 1 == hyps[rank].size : hyps[rank].data[j] >= TFM_UNK);
            for (size_t other = 0; other < rank; other++) {
                ck_assert_double_ge(tfm_decoder_score(d, 0, other), tfm_decoder_score(d, 0, rank));
                ck_assert(hyps[other].size != hyps[rank].size ||
                          memcmp(hyps[other].data, hyps[rank].data, hyps[rank].size * sizeof *hyps[rank].data));
            }
        }
    }
    ck_assert_uint_gt(ended, 10);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(lengths_have_their_limits)
{
    static tfm_ids sentences[SENTENCES];
    tfm_decoder_options o = decoder_options(_i ? 3 : 1);
    tfm_model *model = model_make();

    sentences_make(sentences);
    o.max_extra = 4;
    o.alpha = 3.0f;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 60, &error), error);
    size_t full = 0;
    for (size_t i = 0; i < 60; i++) {
        const tfm_ids ids = tfm_decoder_ids(d, i, 0);
        ck_assert_uint_le(ids.size, sentences[i].size + 4);
        full += ids.size == sentences[i].size + 4;
    }
    ck_assert_uint_gt(full, 0);
    tfm_decoder_free(d);
    o.max_length = 1;
    d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 60, &error), error);
    for (size_t i = 0; i < 60; i++) ck_assert_uint_eq(tfm_decoder_ids(d, i, 0).size, sentences[i].size > 0);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Fewer continuations than the beam looks at. */
START_TEST(vocabulary_smaller_than_the_beam)
{
    static const int32_t source[] = {3, 3, 1};
    const tfm_ids ids = {source, 3};
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(1024);
    tfm_model *model;

    mo.vocab_size = 4;
    o.n_best = 1024;
    o.max_length = 5;
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, &ids, 1, &error), error);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 5); /* EOS after 0 to 4 times UNK */
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static void not_numbers(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "encoder.layers.0.feedforward.inner.weight")) to[3] = NAN;
    if (!strcmp(p->name, "output.bias")) to[7] = INFINITY;
}

/* _i: type of the weights, by beam search and by sampling. */
START_TEST(weights_that_are_no_numbers_end)
{
    static tfm_ids sentences[SENTENCES];
    const tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(4);
    tfm_model *model = model_changed(&mo, NULL, not_numbers);

    o.dtype = (uint32_t)_i;
    sentences_make(sentences);
    for (int sampling = 0; sampling < 2; sampling++) {
        o.temperature = (float)sampling;
        tfm_decoder *d = decoder_of(model, &o);
        ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 9, &error), error);
        for (size_t i = 0; i < 9; i++) {
            ck_assert_uint_eq(tfm_decoder_count(d, i), 1);
            ck_assert(isnan(tfm_decoder_score(d, i, 0)));
            ck_assert_uint_eq(tfm_decoder_ids(d, i, 0).size, 0);
            ck_assert(!tfm_decoder_finished(d, i, 0));
        }
        tfm_decoder_free(d);
    }
    tfm_model_free(model);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- own ids ---- */

enum { OWN_VOCAB = 53 };

static int32_t elsewhere(int32_t id)
{
    return (7 * id + 20) % OWN_VOCAB; /* PAD, EOS, BOS: 20, 27, 34 */
}

static void move_rows(const tfm_parameter *p, float *to)
{
    const uint32_t width = p->shape[1];

    sharpen(p, to);
    if (p->shape[0] != OWN_VOCAB) return;
    float *old = malloc((size_t)OWN_VOCAB * width * sizeof *old);
    ck_assert_ptr_nonnull(old);
    memcpy(old, to, (size_t)OWN_VOCAB * width * sizeof *old);
    for (int32_t i = 0; i < OWN_VOCAB; i++)
        memcpy(to + elsewhere(i) * (int32_t)width, old + i * (int32_t)width, width * sizeof *old);
    free(old);
}

/* The same model with its vocabulary in another order says the same in other ids, shortest lengths included. */
START_TEST(reserved_ids_may_stand_anywhere)
{
    tfm_model_options m = small_options();
    tfm_decoder_options o;
    tfm_model *plain = model_make(), *moved;
    tfm_decoder *d[2];
    int32_t ids[2][6] = {{40, 5, 30, 6, 7, TFM_EOS}};
    const tfm_ids sources[2] = {{ids[0], 6}, {ids[1], 6}};

    for (size_t i = 0; i < 6; i++) ids[1][i] = elsewhere(ids[0][i]);
    m.own_ids = 1;
    m.pad_id = (uint32_t)elsewhere(TFM_PAD);
    m.eos_id = (uint32_t)elsewhere(TFM_EOS);
    m.bos_id = (uint32_t)elsewhere(TFM_BOS);
    moved = model_changed(&m, NULL, move_rows);
    tfm_decoder_options_init(&o, sizeof o);
    o.n_best = 4;
    for (o.min_length = 0; o.min_length < 20; o.min_length += 9) {
        ck_assert_ok(tfm_decoder_create(&d[0], plain, &o, &error), error);
        ck_assert_ok(tfm_decoder_create(&d[1], moved, &o, &error), error);
        for (int i = 0; i < 2; i++) ck_assert_ok(tfm_decoder_translate_ids(d[i], &sources[i], 1, &error), error);
        ck_assert_uint_eq(tfm_decoder_count(d[0], 0), tfm_decoder_count(d[1], 0));
        for (size_t rank = 0; rank < tfm_decoder_count(d[0], 0); rank++) {
            const tfm_ids a = tfm_decoder_ids(d[0], 0, rank), b = tfm_decoder_ids(d[1], 0, rank);
            ck_assert_uint_eq(a.size, b.size);
            for (size_t i = 0; i < a.size; i++) ck_assert_int_eq(elsewhere(a.data[i]), b.data[i]);
            ck_assert_double_eq_tol(tfm_decoder_score(d[0], 0, rank), tfm_decoder_score(d[1], 0, rank), 1e-6);
        }
        tfm_decoder_free(d[0]);
        tfm_decoder_free(d[1]);
    }
    m.eos_id = OWN_VOCAB;
    ck_assert_status(tfm_model_create(&(tfm_model *){NULL}, &m, NULL, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "eos_id is 53, not below vocab_size 53");
    m.eos_id = m.first_id = 5;
    m.force_first = 1;
    ck_assert_status(tfm_model_create(&(tfm_model *){NULL}, &m, NULL, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "first_id is 5, which is eos_id: nothing can follow");
    tfm_model_free(plain);
    tfm_model_free(moved);
}
END_TEST

static Suite *decoder_suite(void)
{
    Suite *suite = suite_create("decoder");
    TCase *tc = tcase_create("decoder");

    tcase_add_loop_test(tc, c21_m38_m49_results_do_not_depend_on_batch_order_or_threads, 0, 10);
    tcase_add_test(tc, c21_many_ids);
    tcase_add_test(tc, c36_any_number_of_threads);
    tcase_add_test(tc, c35_decoders_share_models_between_threads);
    tcase_add_loop_test(tc, c36_a_child_after_fork_decodes, 0, 2);
    tcase_add_test(tc, golden_translations);
    tcase_add_test(tc, c23_score_is_the_sum_of_logprobs_over_the_penalty);
    tcase_add_loop_test(tc, lengths_have_their_limits, 0, 2);
    tcase_add_test(tc, vocabulary_smaller_than_the_beam);
    tcase_add_loop_test(tc, weights_that_are_no_numbers_end, 0, TFM_DTYPE_INT8 + 1);
    tcase_add_test(tc, reserved_ids_may_stand_anywhere);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_suite)
