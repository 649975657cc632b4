/* Trainers that share the work: their sums, their weights, which pair each of them sees. */
#include "training_models.h"

#include <pthread.h>

enum { VOCAB = 53, RANKS_MOST = 3 };

/* ----------------------------------------------------------------------------------- sums between threads ---- */

typedef struct exchange {
    pthread_barrier_t barrier;
    const float *from[RANKS_MOST];
    float *sums;
    size_t n_ranks, calls, fail_at; /* calls of rank 0 */
} exchange;

typedef struct member {
    exchange *e;
    size_t rank;
    tfm_trainer *trainer;
    size_t n_steps;
    tfm_status status;
    tfm_progress progress;
    tfm_error error;
} member;

static int32_t reduce(void *user, float *values, size_t n)
{
    const member *me = user;
    exchange *e = me->e;

    e->from[me->rank] = values;
    if (!me->rank) e->calls++;
    pthread_barrier_wait(&e->barrier);
    if (e->calls - 1 == e->fail_at) return 1;
    if (!me->rank)
        for (size_t i = 0; i < n; i++) {
            e->sums[i] = 0.0f;
            for (size_t r = 0; r < e->n_ranks; r++) e->sums[i] += e->from[r][i];
        }
    pthread_barrier_wait(&e->barrier);
    memcpy(values, e->sums, n * sizeof *values);
    pthread_barrier_wait(&e->barrier);
    return 0;
}

static void *work(void *arg)
{
    member *me = arg;

    for (size_t s = 0; s < me->n_steps && me->status == TFM_OK; s++)
        me->status = tfm_trainer_step(me->trainer, &me->progress, sizeof me->progress, &me->error);
    return NULL;
}

static void work_together(member *members, size_t n_ranks, size_t n_steps)
{
    pthread_t threads[RANKS_MOST];

    for (size_t r = 0; r < n_ranks; r++) {
        members[r].n_steps = n_steps;
        members[r].status = TFM_OK;
        ck_assert_int_eq(pthread_create(&threads[r], NULL, work, &members[r]), 0);
    }
    for (size_t r = 0; r < n_ranks; r++) pthread_join(threads[r], NULL);
}

static tfm_trainer_options rank_options(member *members, uint32_t rank, uint32_t n_ranks, uint32_t accumulate)
{
    tfm_trainer_options o = trainer_options();

    o.batch_tokens = 30;
    o.dropout_attention = 0.1f;
    o.accumulate = accumulate;
    o.rank = rank;
    o.n_ranks = n_ranks;
    o.reduce = n_ranks > 1 ? reduce : NULL;
    o.reduce_user = &members[rank];
    return o;
}

/* Trainers against one that accumulates their batches; with dropout, which hangs on the batch. true: the first epoch
 * ended with fewer batches than an update takes. */
static bool compare(uint32_t n_ranks, uint32_t accumulate, size_t n_steps)
{
    const tfm_model_options mo = small_options();
    exchange e = {.n_ranks = n_ranks, .fail_at = SIZE_MAX};
    member members[RANKS_MOST] = {0};
    tfm_trainer_options o = rank_options(members, 0, 1, n_ranks * accumulate);
    tfm_model *model;
    tfm_progress p;
    pairs data;

    pairs_random(&data, 41, 9, VOCAB, 4);
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    tfm_trainer *joint = trainer_of(model, &o, &data);
    const bool odd = joint->training.batches.n % ((size_t)n_ranks * accumulate) != 0;
    e.sums = malloc(joint->training.weights.size * sizeof(float));
    ck_assert_int_eq(pthread_barrier_init(&e.barrier, NULL, n_ranks), 0);
    for (uint32_t r = 0; r < n_ranks; r++) {
        o = rank_options(members, r, n_ranks, accumulate);
        members[r] = (member){.e = &e, .rank = r, .trainer = trainer_of(model, &o, &data)};
    }
    for (size_t s = 0; s < n_steps; s++) p = step_once(joint);
    work_together(members, n_ranks, n_steps);
    for (uint32_t r = 0; r < n_ranks; r++) {
        ck_assert_status(members[r].status, TFM_OK, members[r].error);
        ck_assert_uint_eq(members[r].progress.epoch, p.epoch);
        ck_assert_uint_eq(members[r].progress.target_tokens, p.target_tokens);
        ck_assert_double_eq_tol(members[r].progress.loss, p.loss, 1e-5);
        ck_assert_double_eq_tol(members[r].progress.nll, p.nll, 1e-5);
        same_training(members[0].trainer, members[r].trainer);
        for (size_t i = 0; i < joint->training.weights.size; i++)
            near_one((double)members[r].trainer->training.w[i], (double)joint->training.w[i], 1, 1e-6, "weight", i);
    }
    ck_assert_uint_gt(p.epoch, 0);
    for (uint32_t r = 0; r < n_ranks; r++) tfm_trainer_free(members[r].trainer);
    pthread_barrier_destroy(&e.barrier);
    free(e.sums);
    tfm_trainer_free(joint);
    tfm_model_free(model);
    pairs_free(&data);
    return odd;
}

START_TEST(two_and_three_ranks_are_one_trainer)
{
    const bool two = compare(2, 1, 8), three = compare(3, 1, 7), four = compare(2, 2, 6);

    ck_assert(two || three || four);
}
END_TEST

START_TEST(a_failed_sum_changes_nothing)
{
    const tfm_model_options mo = small_options();
    exchange e = {.n_ranks = 1, .fail_at = 0};
    member me = {.e = &e};
    tfm_trainer_options o = rank_options(&me, 0, 2, 1);
    tfm_model *model;
    pairs data;

    pairs_random(&data, 41, 9, VOCAB, 4);
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    ck_assert_int_eq(pthread_barrier_init(&e.barrier, NULL, 1), 0);
    tfm_trainer *t = trainer_of(model, &o, &data), *fresh = trainer_of(model, &o, &data);
    e.sums = malloc(t->training.weights.size * sizeof(float));
    for (size_t call = 0; call < 2; call++) { /* the sum of the counts, then that of the gradients */
        e.calls = 0;
        e.fail_at = call;
        ck_assert_status(tfm_trainer_step(t, NULL, 0, &error), TFM_E_IO, error);
        ck_assert_str_eq(error.message, "the sum of gradients over 2 ranks failed at step 1");
        same_training(t, fresh);
    }
    e.fail_at = SIZE_MAX;
    steps(t, 2);
    steps(fresh, 2);
    same_training(t, fresh);
    tfm_trainer_free(t);
    tfm_trainer_free(fresh);
    tfm_model_free(model);
    pthread_barrier_destroy(&e.barrier);
    free(e.sums);
    pairs_free(&data);
}
END_TEST

/* ------------------------------------------------------------------------------------------ each pair once ---- */

enum { MARKED = 150, FIRST = 4 };

static int32_t no_sum(void *user, float *values, size_t n)
{
    (void)user, (void)values, (void)n;
    return 0;
}

/* The source of pair i holds the id FIRST + i alone: a row of gradients that is not zero tells that the pair was seen.
 */
static void mark_seen(const tfm_trainer *t, size_t *seen)
{
    const tfm_parameter_plan *p = plan_of(t, "encoder.embedding.weight");
    const size_t d = p->shape[1];

    for (size_t i = 0; i < MARKED; i++) {
        const float *row = t->training.g + p->offset + (FIRST + i) * d;
        bool any = false;
        for (size_t j = 0; j < d; j++) any |= row[j] != 0.0f;
        seen[i] += any;
    }
}

static void pairs_marked(pairs *p)
{
    uint64_t state = 11;

    pairs_begin(p, 30 * MARKED);
    for (; p->n < MARKED; p->n++) {
        const size_t length = 2 + draw_bits(&state) % 8;
        p->sources[p->n] = ids_random(p, length, VOCAB, &state);
        p->targets[p->n] = ids_random(p, 2 + draw_bits(&state) % 8, VOCAB, &state);
        for (size_t i = 0; i + 1 < length; i++) p->ids[p->sources[p->n].data - p->ids + i] = FIRST + (int32_t)p->n;
    }
}

START_TEST(c09_every_pair_once_an_epoch_for_any_ranks)
{
    static const uint32_t cases[][2] = {{1, 1}, {1, 4}, {2, 1}, {3, 1}, {2, 3}, {3, 7}}; /* ranks, accumulate */
    tfm_model_options mo = small_options();
    tfm_model *model;
    pairs data;

    mo.sharing = TFM_SHARE_NONE;
    mo.n_encoder_layers = mo.n_decoder_layers = 1;
    mo.source_vocab_size = FIRST + MARKED;
    ck_assert_ok(tfm_model_create(&model, &mo, NULL, &error), error);
    pairs_marked(&data);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t seen[MARKED] = {0}, all_steps = 0, updates = 0;
        for (uint32_t r = 0; r < cases[c][0]; r++) {
            tfm_trainer_options o = trainer_options();
            o.rank = r;
            o.n_ranks = cases[c][0];
            o.accumulate = cases[c][1];
            o.batch_tokens = 64;
            o.reduce = no_sum;
            tfm_trainer *t = trainer_of(model, &o, &data);
            updates = tfm_training_updates(&t->training);
            const size_t batches = t->training.batches.n, each = (size_t)o.n_ranks * o.accumulate;
            ck_assert_uint_eq(updates, (batches + each - 1) / each);
            for (tfm_progress p = {0}; !p.epoch; all_steps++) {
                p = step_once(t);
                mark_seen(t, seen);
            }
            tfm_trainer_free(t);
        }
        ck_assert_uint_eq(all_steps, updates * cases[c][0]);
        for (size_t i = 0; i < MARKED; i++)
            ck_assert_msg(seen[i] == 1, "case %zu: pair %zu was seen %zu times", c, i, seen[i]);
    }
    tfm_model_free(model);
    pairs_free(&data);
}
END_TEST

static Suite *ranks_suite(void)
{
    Suite *suite = suite_create("ranks");
    TCase *tc = tcase_create("ranks");

    tcase_add_test(tc, two_and_three_ranks_are_one_trainer);
    tcase_add_test(tc, a_failed_sum_changes_nothing);
    tcase_add_test(tc, c09_every_pair_once_an_epoch_for_any_ranks);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(ranks_suite)
