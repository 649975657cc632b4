/* Values, tape and memory plan of one execution. */
#include "autograd/run.h"
#include "kernels/gemm.h"

#include <assert.h>
#include <stdint.h>

enum { CHUNK = 256 };

/* Values never move: operations hold pointers to them. */
struct tfm_value_chunk {
    struct tfm_value_chunk *next;
    tfm_value values[CHUNK];
};

tfm_status tfm_run_create(tfm_run *run, tfm_pool *pool, const tfm_kernels *kernels, const tfm_allocator *allocator,
                          tfm_error *error)
{
    *run = (tfm_run){.kernels = kernels, .pool = pool, .allocator = *allocator, .threads = tfm_pool_threads(pool),
                     .scratch_size = TFM_GEMM_SCRATCH};
    run->scratch = tfm_alloc_unset(allocator, run->threads * run->scratch_size, sizeof(float));
    if (!run->scratch) return tfm_fail(error, TFM_E_NOMEM, "scratch of %zu threads: no memory", run->threads);
    return TFM_OK;
}

void tfm_run_destroy(tfm_run *run)
{
    if (!run->allocator.resize) return;
    for (struct tfm_value_chunk *c = run->chunks, *next; c; c = next) {
        next = c->next;
        tfm_free(&run->allocator, c, 1, sizeof *c);
    }
    tfm_free(&run->allocator, run->records, run->record_capacity, sizeof *run->records);
    tfm_free(&run->allocator, run->gaps, run->gap_capacity, sizeof *run->gaps);
    tfm_free(&run->allocator, run->scratch, run->threads * run->scratch_size, sizeof(float));
    tfm_block_free(&run->block, &run->allocator);
    *run = (tfm_run){0};
}

static void forget(tfm_run *run, bool recording)
{
    run->n_values = run->n_records = run->n_gaps = 0;
    run->recording = recording;
    run->bad = false;
}

void tfm_run_measure(tfm_run *run, bool recording)
{
    forget(run, recording);
    run->arena = (tfm_arena){0};
}

bool tfm_run_place(tfm_run *run, size_t size, bool recording)
{
    forget(run, recording);
    return tfm_block_reserve(&run->block, &run->allocator, size ? size : 1, &run->arena);
}

void tfm_run_product(tfm_run *run, const tfm_gemm *gemm)
{
    tfm_gemm g = *gemm;

    g.bf16 = run->bf16;
    if (!tfm_run_measuring(run)) tfm_gemm_run(run->kernels, run->pool, run->scratch, &g);
}

/* The n-th value. A chunk that cannot be had is remembered in bad, and the first value serves in its stead while
 * measuring. */
static tfm_value *value_slot(tfm_run *run)
{
    struct tfm_value_chunk **c = &run->chunks;

    for (size_t i = run->n_values / CHUNK; i > 0; i--) c = &(*c)->next;
    if (!*c) {
        *c = tfm_alloc(&run->allocator, 1, sizeof **c);
        if (!*c) {
            run->bad = true;
            return &run->nowhere;
        }
    }
    return &(*c)->values[run->n_values++ % CHUNK];
}

tfm_value *tfm_value_view(tfm_run *run, float *data, size_t rows, size_t cols)
{
    tfm_value *v = value_slot(run);

    *v = (tfm_value){.data = data, .rows = rows, .cols = cols};
    return v;
}

tfm_value *tfm_value_new(tfm_run *run, size_t rows, size_t cols)
{
    return tfm_value_view(run, tfm_arena_floats(&run->arena, rows, cols), rows, cols);
}

tfm_value *tfm_value_over(tfm_run *run, const tfm_value *v)
{
    return tfm_value_view(run, v->data, v->rows, v->cols);
}

tfm_mark tfm_run_mark(const tfm_run *run)
{
    return (tfm_mark){run->arena.used, run->n_values};
}

void tfm_run_release(tfm_run *run, tfm_mark mark)
{
    if (run->recording) return;
    run->arena.used = mark.used;
    run->n_values = mark.n_values;
}

void tfm_run_enter(tfm_run *run, tfm_work work, double flops)
{
    run->work = work;
    run->flops = flops;
    if (!run->profile || tfm_run_measuring(run)) return;
    if (run->recomputing) run->profile->counters[TFM_WORK_RECOMPUTATION].flops += flops;
    else tfm_profile_operation(run->profile, work, flops);
}

void tfm_run_record(tfm_run *run, tfm_backward_fn *backward, const void *args, size_t size)
{
    assert(size <= TFM_RECORD_ARGS);
    if (!run->recording) return;
    if (!tfm_grow(&run->allocator, &run->records, &run->record_capacity, run->n_records + 1, sizeof *run->records)) {
        run->bad = true;
        return;
    }
    tfm_record *r = &run->records[run->n_records++];
    r->backward = backward;
    r->work = run->work;
    r->flops = run->flops;
    memcpy(r->args.bytes, args, size);
}

static void walk_back(tfm_run *run, size_t stop)
{
    while (run->n_records > stop) {
        const tfm_record r = run->records[--run->n_records]; /* a copy: recomputation appends to the tape */
        tfm_run_enter(run, r.work + 1, 2.0 * r.flops); /* products for the gradients of both factors */
        r.backward(run, r.args.bytes);
    }
}

void tfm_run_backward(tfm_run *run)
{
    walk_back(run, 0);
}

typedef struct layer_args {
    tfm_layer_fn *fn;
    tfm_value *y, *x, *memory;
    union {
        max_align_t align;
        unsigned char bytes[TFM_LAYER_CONTEXT];
    } context;
} layer_args;

/* The inputs' gradients are placed before the layer's own values, which are given back at the end. */
static void layer_backward(tfm_run *run, const void *args)
{
    const layer_args *a = args;
    const size_t stop = run->n_records;

    tfm_grad_zeroed(run, a->x);
    if (a->memory) tfm_grad_zeroed(run, a->memory);
    const tfm_mark mark = tfm_run_mark(run);
    run->recomputing = true;
    a->fn(run, a->y, a->x, a->memory, a->context.bytes);
    run->recomputing = false;
    walk_back(run, stop);
    run->n_values = mark.n_values;
    tfm_grads_cut(run, mark.used);
}

void tfm_run_layer(tfm_run *run, tfm_layer_fn *fn, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context,
                   size_t size, bool recompute)
{
    layer_args args = {.fn = fn, .y = y, .x = x, .memory = memory};

    if (!recompute || !run->recording) {
        fn(run, y, x, memory, context);
        return;
    }
    assert(size <= TFM_LAYER_CONTEXT);
    memcpy(args.context.bytes, context, size);
    run->recording = false;
    fn(run, y, x, memory, context);
    run->recording = true;
    run->work = TFM_WORK_LAYER;
    run->flops = 0.0;
    tfm_run_record(run, layer_backward, &args, sizeof args);
}

typedef struct rows_job {
    tfm_rows_fn *fn;
    const void *args;
    size_t rows, piece;
} rows_job;

static void rows_task(void *arg, size_t task, size_t thread)
{
    const rows_job *job = arg;
    const size_t begin = task * job->piece, end = begin + job->piece;

    job->fn(job->args, begin, end < job->rows ? end : job->rows, thread);
}

void tfm_run_rows_always(tfm_run *run, tfm_rows_fn *fn, const void *args, size_t rows, size_t piece)
{
    rows_job job = {fn, args, rows, piece};

    tfm_pool_run(run->pool, rows_task, &job, (rows + piece - 1) / piece);
}

void tfm_run_rows(tfm_run *run, tfm_rows_fn *fn, const void *args, size_t rows, size_t piece)
{
    if (!tfm_run_measuring(run)) tfm_run_rows_always(run, fn, args, rows, piece);
}

tfm_dropout tfm_run_dropout(const tfm_run *run, float rate, uint32_t site)
{
    const uint32_t rounded = (uint32_t)(rate * 65536.0f + 0.5f), threshold = !run->training    ? 0
                                                                             : rounded < 65535 ? rounded
                                                                                               : 65535;

    return (tfm_dropout){.key = {run->key[0], run->key[1]},
                         .batch = run->batch,
                         .site = site,
                         .first_row = run->first_row[site & TFM_SITE_TARGET ? 1 : 0],
                         .threshold = threshold,
                         .scale = 65536.0f / (65536.0f - (float)threshold)};
}
