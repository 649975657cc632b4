/* The thread pool: every task once, whatever the number of threads, also in a forked child and when memory runs out. */
#include "base/threads.h"
#include "testing.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { TASKS = 200 };

typedef struct counts {
    atomic_uint task[TASKS];
    atomic_uint bad; /* tasks run by a thread with an impossible number */
    size_t threads;
} counts;

static counts seen;

static void count_task(void *arg, size_t task, size_t thread)
{
    counts *c = arg;

    if (thread >= c->threads) atomic_fetch_add(&c->bad, 1);
    atomic_fetch_add(&c->task[task], 1);
}

static void check_run(tfm_pool *pool, size_t n_tasks)
{
    size_t wrong = 0;

    memset(&seen, 0, sizeof seen);
    seen.threads = tfm_pool_threads(pool);
    tfm_pool_run(pool, count_task, &seen, n_tasks);
    for (size_t i = 0; i < TASKS; i++) wrong += seen.task[i] != (i < n_tasks);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(seen.bad, 0);
}

static tfm_pool *new_pool(uint32_t threads)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_pool *pool;
    tfm_error error;

    ck_assert_ok(tfm_pool_create(&pool, threads, &a, &error), error);
    return pool;
}

START_TEST(every_task_runs_once)
{
    static const size_t tasks[] = {0, 1, 2, 3, 7, 64, 65, TASKS};

    for (uint32_t threads = 1; threads <= 65; threads += threads < 5 ? 1 : 15) {
        tfm_pool *pool = new_pool(threads);
        ck_assert_uint_eq(tfm_pool_threads(pool), threads);
        for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) check_run(pool, tasks[i]);
        tfm_pool_free(pool);
    }
}
END_TEST

START_TEST(many_short_rounds)
{
    tfm_pool *pool = new_pool(5);

    for (size_t round = 0; round < 500; round++) check_run(pool, round % 7);
    tfm_pool_free(pool);
}
END_TEST

typedef struct lateness {
    atomic_uint of_worker;
    atomic_bool slow;
} lateness;

static void slow_for_the_worker(void *arg, size_t task, size_t thread)
{
    lateness *l = arg;

    (void)task;
    if (thread) atomic_fetch_add(&l->of_worker, 1);
    const useconds_t slow = thread ? 20000 : 1000; /* the worker gets one of three, and is the last */
    usleep(atomic_load(&l->slow) ? slow : 1);
}

/* Whether the worker took a task of some loops of quick tasks. */
static bool worker_helps(tfm_pool *pool, lateness *l)
{
    atomic_store(&l->slow, false);
    atomic_store(&l->of_worker, 0);
    for (size_t round = 0; round < 5; round++) tfm_pool_run(pool, slow_for_the_worker, l, 4);
    return atomic_load(&l->of_worker) > 0;
}

/* The pool's: only a thread that rests calls it. */
static atomic_size_t rests;

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

    if (!wait) *(void **)(void *)&wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    atomic_fetch_add(&rests, 1);
    return wait(condition, mutex, until);
}

/* How long it rests is up to the machine, which may also keep it from its task; that it rests and comes back is not. */
START_TEST(a_thread_that_keeps_others_waiting_rests)
{
    tfm_pool *pool = new_pool(2);
    lateness l = {0};

    for (size_t attempt = 0; attempt < 100 && atomic_load(&rests) < 3; attempt++) {
        while (!worker_helps(pool, &l)) usleep(1000); /* it is back */
        atomic_store(&l.slow, true);
        tfm_pool_run(pool, slow_for_the_worker, &l, 3);
    }
    ck_assert_uint_ge(atomic_load(&rests), 3);
    while (!worker_helps(pool, &l)) usleep(1000);
    atomic_store(&l.slow, true);
    tfm_pool_run(pool, slow_for_the_worker, &l, 3);
    tfm_pool_free(pool); /* does not wait for a rest to end */
}
END_TEST

typedef struct scratches {
    atomic_uint busy[9], shared;
} scratches;

static void use_scratch(void *arg, size_t task, size_t thread)
{
    scratches *s = arg;

    (void)task;
    if (atomic_fetch_add(&s->busy[thread], 1)) atomic_fetch_add(&s->shared, 1);
    sched_yield();
    atomic_fetch_sub(&s->busy[thread], 1);
}

START_TEST(two_tasks_never_share_a_thread_number)
{
    static scratches s;
    tfm_pool *pool = new_pool(9);

    tfm_pool_run(pool, use_scratch, &s, 2000);
    ck_assert_uint_eq(s.shared, 0);
    tfm_pool_free(pool);
}
END_TEST

START_TEST(zero_threads_means_all_cores)
{
    tfm_pool *pool = new_pool(0);

    ck_assert_uint_ge(tfm_pool_threads(pool), 1);
    ck_assert_uint_le(tfm_pool_threads(pool), (size_t)sysconf(_SC_NPROCESSORS_CONF));
    check_run(pool, TASKS);
    tfm_pool_free(pool);
    tfm_pool_free(NULL);
}
END_TEST

START_TEST(too_many_threads_is_an_error)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_pool *pool = (tfm_pool *)&seen;
    tfm_error error;

    ck_assert_status(tfm_pool_create(&pool, 1025, &a, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(pool);
    ck_assert_ptr_nonnull(strstr(error.message, "1025"));
    ck_assert_ptr_nonnull(strstr(error.message, "1024"));
    ck_assert_status(tfm_pool_create(&pool, UINT32_MAX, &a, &error), TFM_E_INVALID, error);
}
END_TEST

/* No address space holds a stack of this size. */
START_TEST(a_thread_that_the_system_refuses_is_an_error)
{
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_pool *pool = (tfm_pool *)&seen;
    pthread_attr_t attributes;
    tfm_error error;

    ck_assert_int_eq(pthread_getattr_default_np(&attributes), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attributes, (size_t)1 << 56), 0);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    ck_assert_status(tfm_pool_create(&pool, 3, &a, &error), TFM_E_IO, error);
    ck_assert_str_eq(error.message, "the system refused to start thread 2 of 3");
    ck_assert_ptr_null(pool);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

START_TEST(no_memory_leaks_nothing)
{
    faulty f = {0};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_status status = TFM_E_NOMEM;

    for (size_t n = 0; status != TFM_OK; n++) {
        tfm_pool *pool;
        tfm_error error;
        f = (faulty){.fail_at = n};
        status = tfm_pool_create(&pool, 3, &a, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        if (status != TFM_OK) ck_assert_ptr_null(pool);
        tfm_pool_free(pool);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_le(n, 2);
    }
}
END_TEST

/* A fork keeps one thread: the child's loops run on it, and freeing the pool there waits for nobody. */
START_TEST(c36_a_forked_child_works)
{
    tfm_pool *pool = new_pool(4);
    int status = -1;

    check_run(pool, TASKS);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        alarm(10);
        memset(&seen, 0, sizeof seen);
        seen.threads = 1;
        tfm_pool_run(pool, count_task, &seen, TASKS);
        unsigned done = 0;
        for (size_t i = 0; i < TASKS; i++) done += seen.task[i] == 1;
        tfm_pool_free(pool);
        _exit(done == TASKS && !seen.bad ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_run(pool, TASKS);
    tfm_pool_free(pool);
}
END_TEST

/* Counts tasks of other threads than the caller's that could be interrupted by a signal. */
static void look_at_mask(void *arg, size_t task, size_t thread)
{
    atomic_uint *open = arg;
    sigset_t set;

    (void)task;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    for (int i = 1; i < 32; i++)
        if (thread && i != SIGKILL && i != SIGSTOP && !sigismember(&set, i)) atomic_fetch_add(open, 1);
    sched_yield();
}

/* The pool's: a thread that goes to sleep stays before it, with the pool's mutex, for as long as it is asked to. */
static atomic_int sleeper;
enum { SLEEPS, ASKED_TO_STAY, STAYS };

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int asked = ASKED_TO_STAY;

    if (!wait) *(void **)(void *)&wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
    if (atomic_compare_exchange_strong(&sleeper, &asked, STAYS))
        while (atomic_load(&sleeper) == STAYS) usleep(100);
    return wait(condition, mutex);
}

/* The child inherits a mutex that nobody will ever give back. */
START_TEST(c36_a_child_forked_while_a_thread_goes_to_sleep_works)
{
    int status;

    atomic_store(&sleeper, ASKED_TO_STAY);
    tfm_pool *pool = new_pool(2);
    while (atomic_load(&sleeper) != STAYS) usleep(100);
    const pid_t child = fork();
    if (!child) {
        alarm(20);
        check_run(pool, TASKS);
        tfm_pool_free(pool);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    atomic_store(&sleeper, SLEEPS);
    check_run(pool, TASKS);
    tfm_pool_free(pool);
}
END_TEST

START_TEST(signals_stay_with_the_host)
{
    static atomic_uint open;
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    tfm_pool *pool = new_pool(4);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < 32; i++) ck_assert_int_eq(sigismember(&before, i), sigismember(&after, i));
    for (int i = 0; i < 40; i++) tfm_pool_run(pool, look_at_mask, &open, 20);
    tfm_pool_free(pool);
    ck_assert_uint_eq(open, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("threads");
    TCase *c = tcase_create("threads");

    tcase_add_test(c, every_task_runs_once);
    tcase_add_test(c, many_short_rounds);
    tcase_add_test(c, a_thread_that_keeps_others_waiting_rests);
    tcase_add_test(c, two_tasks_never_share_a_thread_number);
    tcase_add_test(c, zero_threads_means_all_cores);
    tcase_add_test(c, too_many_threads_is_an_error);
    tcase_add_test(c, a_thread_that_the_system_refuses_is_an_error);
    tcase_add_test(c, no_memory_leaks_nothing);
    tcase_add_test(c, c36_a_forked_child_works);
    tcase_add_test(c, c36_a_child_forked_while_a_thread_goes_to_sleep_works);
    tcase_add_test(c, signals_stay_with_the_host);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
