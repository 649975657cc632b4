/*
 * The thread pool: tasks are taken by an atomic counter; who finds none looks again for some microseconds, then sleeps.
 * A thread whose core is taken away while it has a task keeps the others waiting: it rests for a while, longer each
 * time, and they go on without it.
 */
#include "base/threads.h"

#include "base/arithmetic.h"
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 1024,
    PATIENCE =
        4000, /* pauses: 50 to 200 microseconds, more than lies between two loops of a step and than a wake-up takes */
};

/* Seconds. Late: about a turn of a scheduler. Rests begin short, as the neighbour may be gone, and double while it is
 * not. */
static const double late = 2e-3, first_rest = 4e-3, longest_rest = 0.512;

struct tfm_pool {
    tfm_allocator allocator;
    size_t n_threads; /* with the caller */
    size_t n_started;
    pid_t process; /* whose threads these are: a fork has none of them */
    struct worker {
        tfm_pool *pool;
        pthread_t thread;
        size_t index;
        double rest, rested; /* how long it rested the last time, and until when */
    } *workers;
    size_t patience; /* looks at the state before a thread goes to sleep */
    /* The present loop. Who has taken a task may read the rest: the loop does not end before that task does. */
    tfm_task_fn *fn;
    void *arg;
    size_t n_tasks;
    atomic_size_t untaken, unfinished;
    /* Sleep. A sleeper first counts itself and then looks at the state again; a waker changes the state and then looks
     * for sleepers. */
    pthread_mutex_t mutex;
    pthread_cond_t work, done, end;
    atomic_size_t asleep;
    double waiting_since; /* of a caller that is asleep */
    atomic_bool caller_asleep, quit;
};

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

enum { NOTHING, WORKED, LATE };

/* One task after the other until all are taken; whether there was any, and whether the caller waited long for the last
 * one. */
static int take_tasks(tfm_pool *pool, size_t thread)
{
    int any = NOTHING;

    for (size_t left = atomic_load(&pool->untaken); left;) {
        if (!atomic_compare_exchange_weak(&pool->untaken, &left, left - 1)) continue;
        if (!any) any = WORKED;
        pool->fn(pool->arg, pool->n_tasks - left, thread);
        if (atomic_fetch_sub(&pool->unfinished, 1) == 1 && atomic_load(&pool->caller_asleep)) {
            pthread_mutex_lock(&pool->mutex);
            if (tfm_now() - pool->waiting_since > late) any = LATE;
            pthread_cond_signal(&pool->done);
            pthread_mutex_unlock(&pool->mutex);
        }
        left = atomic_load(&pool->untaken);
    }
    return any;
}

static void sleep_until_work(tfm_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->asleep, 1);
    while (!atomic_load(&pool->untaken) && !atomic_load(&pool->quit)) pthread_cond_wait(&pool->work, &pool->mutex);
    atomic_fetch_sub(&pool->asleep, 1);
    pthread_mutex_unlock(&pool->mutex);
}

/* Twice as long as the last time, unless it has worked for long since. */
static void take_rest(tfm_pool *pool, struct worker *w)
{
    const double now = tfm_now();
    struct timespec until;

    w->rest = now - w->rested > 4.0 * w->rest ? first_rest : w->rest < longest_rest ? 2.0 * w->rest : longest_rest;
    w->rested = now + w->rest;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(w->rest * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&pool->mutex);
    while (!atomic_load(&pool->quit) && pthread_cond_timedwait(&pool->end, &pool->mutex, &until) == 0) continue;
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker_main(void *arg)
{
    TFM_OWN_ARITHMETIC;
    struct worker *w = arg;
    tfm_pool *pool = w->pool;
    size_t looks = 0;

    while (!atomic_load(&pool->quit)) {
        const int took = take_tasks(pool, w->index);

        if (took) looks = 0;
        if (took == LATE) take_rest(pool, w);
        else if (took == WORKED) continue;
        else if (looks++ < pool->patience) pause_briefly();
        else sleep_until_work(pool);
    }
    return NULL;
}

static void wait_for_others(tfm_pool *pool)
{
    for (size_t looks = 0; looks < pool->patience; looks++) {
        if (!atomic_load(&pool->unfinished)) return;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->mutex);
    pool->waiting_since = tfm_now();
    atomic_store(&pool->caller_asleep, true);
    while (atomic_load(&pool->unfinished)) pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_asleep, false);
    pthread_mutex_unlock(&pool->mutex);
}

static size_t usable_cores(void)
{
    cpu_set_t sets[8]; /* of 1024 each: as many processors as Linux can have */

    if (sched_getaffinity(0, sizeof sets, sets)) return 1;
    const size_t n = (size_t)CPU_COUNT_S(sizeof sets, sets);
    return n < MAX_THREADS ? n : MAX_THREADS;
}

/* Signals stay with the host's own threads. */
static int start_worker(struct worker *w)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed;
}

tfm_status tfm_pool_create(tfm_pool **out, uint32_t n_threads, const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_allocator a = *allocator;
    pthread_condattr_t monotonic;
    tfm_pool *pool;

    *out = NULL;
    if (n_threads > MAX_THREADS)
        return tfm_fail(error, TFM_E_INVALID, "n_threads is %u, more than %d", n_threads, MAX_THREADS);
    pool = tfm_alloc(&a, 1, sizeof *pool);
    if (!pool) return tfm_fail(error, TFM_E_NOMEM, "thread pool: %zu bytes", sizeof *pool);
    pool->allocator = a;
    pool->n_threads = n_threads ? n_threads : usable_cores();
    pool->process = getpid();
    pool->patience = pool->n_threads <= usable_cores() ? PATIENCE : 0;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->end, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pool->workers = tfm_alloc(&a, pool->n_threads, sizeof *pool->workers);
    if (!pool->workers) {
        tfm_pool_free(pool);
        return tfm_fail(error, TFM_E_NOMEM, "thread pool of %u threads", n_threads);
    }
    for (size_t i = 1; i < pool->n_threads; i++, pool->n_started++) {
        struct worker *w = &pool->workers[pool->n_started];
        *w = (struct worker){.pool = pool, .index = i};
        if (start_worker(w)) {
            const tfm_status status =
                tfm_fail(error, TFM_E_IO, "the system refused to start thread %zu of %zu", i + 1, pool->n_threads);
            tfm_pool_free(pool);
            return status;
        }
    }
    *out = pool;
    return TFM_OK;
}

static void stop_workers(tfm_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->quit, true);
    pthread_cond_broadcast(&pool->work);
    pthread_cond_broadcast(&pool->end);
    pthread_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->n_started; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->end);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
}

void tfm_pool_free(tfm_pool *pool)
{
    if (!pool) return;
    const tfm_allocator a = pool->allocator;

    if (pool->process == getpid()) stop_workers(pool);
    tfm_free(&a, pool->workers, pool->n_threads, sizeof *pool->workers);
    tfm_free(&a, pool, 1, sizeof *pool);
}

size_t tfm_pool_threads(const tfm_pool *pool)
{
    return pool->n_threads;
}

void tfm_pool_run(tfm_pool *pool, tfm_task_fn *fn, void *arg, size_t n_tasks)
{
    if (n_tasks <= 1 || !pool->n_started || pool->process != getpid()) {
        for (size_t task = 0; task < n_tasks; task++) fn(arg, task, 0);
        return;
    }
    pool->fn = fn;
    pool->arg = arg;
    pool->n_tasks = n_tasks;
    atomic_store(&pool->unfinished, n_tasks);
    atomic_store(&pool->untaken, n_tasks);
    if (atomic_load(&pool->asleep)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
    }
    take_tasks(pool, 0);
    wait_for_others(pool);
}
