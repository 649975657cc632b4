/* A small pool of threads that shares loops out. It holds no state that a result could depend on. */
#ifndef TFM_THREADS_H
#define TFM_THREADS_H

#include "base/base.h"

typedef struct tfm_pool tfm_pool;

/* Runs one piece of a loop: task in [0, n_tasks), thread in [0, tfm_pool_threads()). */
typedef void tfm_task_fn(void *arg, size_t task, size_t thread);

/* n_threads 0: as many as the process may use. The caller counts as one of them. */
tfm_status tfm_pool_create(tfm_pool **out, uint32_t n_threads, const tfm_allocator *allocator, tfm_error *error);
void tfm_pool_free(tfm_pool *pool);
size_t tfm_pool_threads(const tfm_pool *pool);

/*
 * Calls fn once for each task and returns when all are done. Which thread takes which task is chance, so a task must
 * write what no other task writes. A thread without work looks for some for 50 to 200 microseconds, then sleeps; loops
 * do not wait for sleepers. One that was late with a task, because another program has its core, sits out for up to
 * half a second. In a forked child, which has no copies of the threads, the caller does all.
 */
void tfm_pool_run(tfm_pool *pool, tfm_task_fn *fn, void *arg, size_t n_tasks);

#endif
