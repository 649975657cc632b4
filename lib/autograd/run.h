/*
 * One execution of the model: values, the tape, and the memory plan.
 *
 * A forward pass is written once and executed in three ways: measuring (the arena has no memory: operations only
 * reserve room), inference (no tape: temporary values are released as soon as their layer is done) and training
 * (operations put what their backward needs on the tape). A step is measured, then the arena is made large enough, then
 * it runs.
 */
#ifndef TFM_RUN_H
#define TFM_RUN_H

#include "autograd/profile.h"
#include "base/threads.h"
#include "kernels/gemm.h"

/* An activation [rows][cols] and, while the tape is walked back, its gradient. */
typedef struct tfm_value {
    float *data;
    float *grad; /* NULL until a consumer's backward writes it */
    size_t rows, cols;
} tfm_value;

/* Sequences packed end to end: sequence s has rows offset[s] .. offset[s + 1]. */
typedef struct tfm_segments {
    size_t n;
    const size_t *offset;
} tfm_segments;

typedef struct tfm_run tfm_run;
typedef void tfm_backward_fn(tfm_run *run, const void *args);

enum { TFM_RECORD_ARGS = 240 };

typedef struct tfm_record {
    tfm_backward_fn *backward;
    tfm_work work; /* the operation */
    double flops;  /* of its forward */
    union {
        max_align_t align;
        unsigned char bytes[TFM_RECORD_ARGS];
    } args;
} tfm_record;

/* Room between gradient buffers; see grads.c. */
typedef struct tfm_gap {
    unsigned char *start;
    size_t bytes; /* multiple of TFM_ALIGN */
} tfm_gap;

struct tfm_run {
    const tfm_kernels *kernels;
    tfm_pool *pool;
    tfm_allocator allocator;
    tfm_arena arena;
    bool recording;      /* a tape: operations record themselves                     */
    bool training;       /* dropout is applied                                       */
    bool bf16;           /* operands of the products of linear layers are rounded    */
    bool bad;            /* an allocation of the bookkeeping failed; checked once    */
    size_t threads;      /* whose scratch is planned: those of the pool              */
    uint32_t key[2];     /* dropout: seed                                            */
    uint32_t batch;      /* number of the batch in the whole training                */
    uint32_t first_row[2]; /* source and target rows of the batch before this piece */
    /* where time goes; profile NULL: nothing is counted */
    tfm_profile *profile;
    bool recomputing;
    tfm_work work; /* the latest operation, whose record comes next */
    double flops;  /* of its forward */
    /* bookkeeping, kept from step to step */
    struct tfm_value_chunk *chunks;
    size_t n_values;
    tfm_value nowhere; /* serves when no value can be had; bad is set then */
    tfm_record *records;
    size_t n_records, record_capacity;
    tfm_gap *gaps; /* in the order of their places */
    size_t n_gaps, gap_capacity;
    tfm_block block;     /* the arena's memory                     */
    float *scratch;      /* per thread, for kernels: see run.c     */
    size_t scratch_size; /* floats per thread                      */
};

tfm_status tfm_run_create(tfm_run *run, tfm_pool *pool, const tfm_kernels *kernels, const tfm_allocator *allocator,
                          tfm_error *error);
void tfm_run_destroy(tfm_run *run);

/* Forgets all values and records and starts a plan: measuring, or placing in at least size bytes. false: no memory. */
void tfm_run_measure(tfm_run *run, bool recording);
bool tfm_run_place(tfm_run *run, size_t size, bool recording);

static inline bool tfm_run_measuring(const tfm_run *run)
{
    return !run->arena.base;
}

/* Scratch of a thread: at least TFM_GEMM_SCRATCH floats. */
static inline float *tfm_run_scratch(const tfm_run *run, size_t thread)
{
    return run->scratch + thread * run->scratch_size;
}

/* A matrix product within a pass: nothing while it is measured. */
void tfm_run_product(tfm_run *run, const tfm_gemm *gemm);

/* A new value with room for its data, or one that views memory of the caller. */
tfm_value *tfm_value_new(tfm_run *run, size_t rows, size_t cols);
tfm_value *tfm_value_view(tfm_run *run, float *data, size_t rows, size_t cols);
/* A new value that takes v's place: v's data is lost when it is written. */
tfm_value *tfm_value_over(tfm_run *run, const tfm_value *v);

/* Temporaries between mark and release are given back, unless a tape still needs them. */
typedef struct tfm_mark {
    size_t used, n_values;
} tfm_mark;

tfm_mark tfm_run_mark(const tfm_run *run);
void tfm_run_release(tfm_run *run, tfm_mark mark);

/* An operation begins whose matrix products take this many floating point operations: 2 for each multiply-add. */
void tfm_run_enter(tfm_run *run, tfm_work work, double flops);

/* Puts an operation on the tape; args are copied. */
void tfm_run_record(tfm_run *run, tfm_backward_fn *backward, const void *args, size_t size);

/* Walks the tape back to its start; the last operation's output gradients must stand. */
void tfm_run_backward(tfm_run *run);

/* The gradient buffer of v; *fresh tells that it holds garbage and must be overwritten, not added to. */
float *tfm_grad_take(tfm_run *run, tfm_value *v, bool *fresh);
/* The same, filled with zeros when fresh: for operations that can only add. */
float *tfm_grad_zeroed(tfm_run *run, tfm_value *v);
/* Hands from's gradient on to be that of to, which has the same shape and none yet. */
void tfm_grad_move(tfm_value *to, tfm_value *from);
/* Gives the gradient of v back when its operation has used it. */
void tfm_grad_release(tfm_run *run, tfm_value *v);
/* Gives back all that the arena holds beyond used, gradients included. */
void tfm_grads_cut(tfm_run *run, size_t used);

/*
 * A layer: y = layer(x, memory); context (at most TFM_LAYER_CONTEXT bytes) is copied. Executed as it is, or, when the
 * run records and recompute is set, executed without a tape and once more in the backward pass, so that only x and y
 * are kept. memory may be NULL.
 */
enum { TFM_LAYER_CONTEXT = 192 };
typedef void tfm_layer_fn(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context);
void tfm_run_layer(tfm_run *run, tfm_layer_fn *fn, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context,
                   size_t size, bool recompute);

/* Shares rows out in fixed pieces: outside of a pass, or within one, where nothing happens while it is measured. */
typedef void tfm_rows_fn(const void *args, size_t begin, size_t end, size_t thread);
void tfm_run_rows_always(tfm_run *run, tfm_rows_fn *fn, const void *args, size_t rows, size_t piece);
void tfm_run_rows(tfm_run *run, tfm_rows_fn *fn, const void *args, size_t rows, size_t piece);

/*
 * The mask source of a site; rate 0 outside training. Sites number the places of a model where dropout falls, below
 * 2^16; those with this bit count target rows, the others source rows.
 */
enum { TFM_SITE_TARGET = 1 << 12 };
tfm_dropout tfm_run_dropout(const tfm_run *run, float rate, uint32_t site);

#endif
