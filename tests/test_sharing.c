/* Handles among threads and processes: shared, cancelled from elsewhere, freed in any order, forked, left alive. */
#include "answers.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 8, ROUNDS = 100 };

/* ----------------------------------------------------------------------------------------------------- threads ---- */

static digest scored(const tfm_model *m, uint32_t dtype, uint32_t n_threads)
{
    digest d = {0};

    digest_decoder(&d, m, dtype, n_threads);
    return d;
}

static digest tokenized(const tfm_model *m)
{
    digest d = {0};

    digest_tokenizer(&d, tfm_model_tokenizer(m));
    return d;
}

static digest trained(const tfm_model *m, uint32_t n_threads)
{
    digest d = {0};

    digest_training(&d, m, n_threads);
    return d;
}

static digest computed(void)
{
    digest d = {0};

    digest_functions(&d);
    return d;
}

enum { KINDS = 7 };

/* A call of one kind: every one makes its own decoder or trainer of the shared model. */
static digest call(const tfm_model *m, size_t kind)
{
    switch (kind) {
    case 0: return tokenized(m);
    case 1: return computed();
    case 2: return trained(m, 1);
    case 3: return scored(m, TFM_DTYPE_INT8, 2);
    default: return scored(m, (uint32_t)kind - 4, 1);
    }
}

typedef struct caller {
    const tfm_model *model;
    const digest *want;
    size_t number, bad;
} caller;

static void *call_often(void *arg)
{
    caller *c = arg;

    for (size_t i = 0; i < ROUNDS; i++) {
        const size_t kind = (i + c->number * 3) % KINDS;
        const digest got = call(c->model, kind);
        c->bad += got.status != TFM_OK || got.value != c->want[kind].value;
    }
    return NULL;
}

/* The first threads meet while the model packs its weights of a type. */
START_TEST(c35_eight_threads_of_mixed_calls_get_the_serial_answers)
{
    pthread_t threads[THREADS];
    caller callers[THREADS];
    digest want[KINDS];
    tfm_model *shared;

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    ck_assert_ok(tfm_model_load(&shared, path, NULL, &error), error);
    for (size_t kind = 0; kind < KINDS; kind++) {
        want[kind] = call(model, kind);
        ck_assert_msg(want[kind].status == TFM_OK, "%s", want[kind].error.message);
    }
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (caller){shared, want, i, 0};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_uint_eq(callers[i].bad, 0);
    }
    tfm_model_free(shared);
}
END_TEST

typedef struct signal_flag {
    atomic_bool started, stop;
} signal_flag;

static int32_t look(void *user, const tfm_progress *p)
{
    signal_flag *f = user;

    (void)p;
    atomic_store(&f->started, true);
    return atomic_load(&f->stop);
}

static void *cancel(void *arg)
{
    signal_flag *f = arg;

    while (!atomic_load(&f->started)) usleep(100);
    atomic_store(&f->stop, true);
    return NULL;
}

/* Without limits it would run for ever. What was cancelled goes on with the bits of what was not. */
START_TEST(a_training_is_cancelled_from_another_thread)
{
    signal_flag flag = {0};
    tfm_trainer_options o;
    tfm_trainer *t, *straight;
    tfm_model *a, *b;
    pthread_t thread;
    tfm_progress p = {0};
    digest got = {0}, want = {0};

    tfm_trainer_options_init(&o, sizeof o);
    o.max_steps = 0;
    o.n_threads = 3;
    o.progress = look;
    o.progress_user = &flag;
    ck_assert_ok(tfm_trainer_create(&t, model, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel, &flag), 0);
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++) ck_assert_ok(tfm_trainer_step(t, &p, sizeof p, &error), error);
    ck_assert_ok(tfm_trainer_model(&a, t, &error), error);
    ck_assert_ok(tfm_trainer_create(&straight, model, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(straight, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    for (uint64_t i = 0; i < p.step; i++) ck_assert_ok(tfm_trainer_step(straight, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_model(&b, straight, &error), error);
    digest_model(&got, a);
    digest_model(&want, b);
    same_answers(got, want);
    tfm_trainer_free(t);
    tfm_trainer_free(straight);
    tfm_model_free(a);
    tfm_model_free(b);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- freeing ---- */

/* Only a decoder needs its model: the others hold copies. */
START_TEST(c35_handles_are_freed_in_any_order)
{
    tfm_decoder_options o;
    tfm_decoder *d[2];
    tfm_model_options mo;
    tfm_model *m, *trained_model;
    tfm_trainer_options to;
    tfm_trainer *t;
    tfm_tokenizer *tokenizer = tokenizer_make();

    tfm_model_get_options(&mo, sizeof mo, model);
    ck_assert_ok(tfm_model_create(&m, &mo, tokenizer, &error), error);
    if (_i & 1) tfm_tokenizer_free(tokenizer);
    tfm_trainer_options_init(&to, sizeof to);
    ck_assert_ok(tfm_trainer_create(&t, m, &to, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_model(&trained_model, t, &error), error);
    if (_i & 2) tfm_trainer_free(t);
    tfm_decoder_options_init(&o, sizeof o);
    o.n_threads = 2;
    for (int i = 0; i < 2; i++) ck_assert_ok(tfm_decoder_create(&d[i], trained_model, &o, &error), error);
    if (_i & 4) tfm_model_free(m);
    tfm_decoder_free(d[_i & 1]);
    ck_assert_ok(tfm_decoder_translate(d[!(_i & 1)], lines_of_text, 3, &error), error);
    tfm_decoder_free(d[!(_i & 1)]);
    tfm_model_free(trained_model);
    if (!(_i & 2)) {
        ck_assert_ok(tfm_trainer_step(t, NULL, 0, &error), error); /* its model may be gone */
        tfm_trainer_free(t);
    }
    if (!(_i & 4)) tfm_model_free(m);
    if (!(_i & 1)) tfm_tokenizer_free(tokenizer);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- processes ---- */

/* Live handles with threads of their own: what a program has when it forks, or ends. */
static void leave_alive(tfm_decoder **d, tfm_trainer **t)
{
    tfm_decoder_options o;
    tfm_trainer_options to;

    tfm_decoder_options_init(&o, sizeof o);
    o.n_threads = 3;
    ck_assert_ok(tfm_decoder_create(d, model, &o, &error), error);
    ck_assert_ok(tfm_decoder_translate(*d, lines_of_text, 3, &error), error);
    tfm_trainer_options_init(&to, sizeof to);
    to.n_threads = 3;
    ck_assert_ok(tfm_trainer_create(t, model, &to, &error), error);
    ck_assert_ok(tfm_trainer_set_data(*t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_step(*t, NULL, 0, &error), error);
}

static digest used_on(tfm_decoder *d, tfm_trainer *t)
{
    digest result = {0};
    tfm_model *m;

    digest_translations(&result, d);
    digest_scores(&result, d);
    for (int i = 0; i < 3; i++)
        if (!digest_ok(&result, tfm_trainer_step(t, NULL, 0, &result.error))) return result;
    if (digest_ok(&result, tfm_trainer_model(&m, t, &result.error))) {
        digest_model(&result, m);
        tfm_model_free(m);
    }
    return result;
}

static void child_ended_well(pid_t child)
{
    int status;

    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %x", (unsigned)status);
}

START_TEST(c36_parent_and_child_both_go_on_after_a_fork)
{
    tfm_decoder *d, *other_d;
    tfm_trainer *t, *other_t;

    leave_alive(&other_d, &other_t);
    const digest want = used_on(other_d, other_t);
    leave_alive(&d, &t);
    const pid_t child = fork();
    if (!child) {
        alarm(60);
        const digest got = used_on(d, t);
        tfm_decoder_free(d);
        tfm_trainer_free(t);
        _exit(got.status != TFM_OK ? 1 : got.value != want.value ? 2 : 0);
    }
    same_answers(used_on(d, t), want); /* at the same time */
    child_ended_well(child);
    tfm_decoder_free(d);
    tfm_trainer_free(t);
    tfm_decoder_free(other_d);
    tfm_trainer_free(other_t);
}
END_TEST

/* exit() runs handlers and destructors while the threads of the handles still wait for work. */
START_TEST(c36_a_process_ends_with_live_handles)
{
    const pid_t child = fork();

    if (!child) {
        tfm_decoder *d;
        tfm_trainer *t;
        alarm(60);
        leave_alive(&d, &t);
        if (_i) _exit(0);
        fclose(stdout); /* Check's own output is the parent's business */
        exit(0);
    }
    child_ended_well(child);
}
END_TEST

START_TEST(c36_a_training_does_not_depend_on_the_number_of_threads)
{
    static const uint32_t threads[] = {0, 3, 64};
    const digest want = trained(model, 1);

    for (size_t i = 0; i < 3; i++) same_answers(trained(model, threads[i]), want);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sharing");
    TCase *c = tcase_create("sharing");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, c35_eight_threads_of_mixed_calls_get_the_serial_answers);
    tcase_add_test(c, a_training_is_cancelled_from_another_thread);
    tcase_add_loop_test(c, c35_handles_are_freed_in_any_order, 0, 8);
    tcase_add_test(c, c36_parent_and_child_both_go_on_after_a_fork);
    tcase_add_loop_test(c, c36_a_process_ends_with_live_handles, 0, 2);
    tcase_add_test(c, c36_a_training_does_not_depend_on_the_number_of_threads);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
