/* One operation of the tape on trial: its outputs against an oracle, its gradients against differences of the oracle.
 */
#ifndef OP_TRIAL_H
#define OP_TRIAL_H

#include "autograd/ops.h"
#include "oracle.h"

enum { TRIAL_SIDES = 6, TRIAL_FLOATS = 1 << 20, TRIAL_SAMPLES = 40 };

/* An input or output. Activations have rows and a value; weights have none, and their gradients are added to. */
typedef struct side {
    const char *name;
    float *data, *grad, *seed; /* seed: the gradient that other consumers of an activation bring; NULL: none */
    double *wide;
    size_t rows, n;
    tfm_value *value;
} side;

typedef struct trial {
    const void *params;
    void (*op)(struct trial *t);     /* in[].value or data -> out[].value                   */
    void (*oracle)(struct trial *t); /* in[].wide -> out[].wide, and loss for a loss        */
    side in[TRIAL_SIDES], out[TRIAL_SIDES];
    size_t n_in, n_out;
    double loss;    /* added to the objective, the sum of outputs times their seeds */
    double bound;   /* of the outputs, relative to their size */
    size_t samples; /* elements of each gradient that are looked at */
    oracle_mask mask;
    uint64_t state;
    tfm_run run;
} trial;

static float trial_floats[TRIAL_FLOATS];
static size_t trial_used;

static inline float *trial_take(size_t n)
{
    ck_assert_uint_le(trial_used + n, TRIAL_FLOATS);
    trial_used += n;
    return trial_floats + trial_used - n;
}

static inline trial trial_begin(void (*op)(trial *), void (*oracle)(trial *), const void *params, uint64_t seed)
{
    oracle_used = trial_used = 0;
    return (trial){
        .op = op, .oracle = oracle, .params = params, .state = seed, .bound = 1e-5, .samples = TRIAL_SAMPLES};
}

static inline side *trial_side(trial *t, side *s, const char *name, size_t rows, size_t n)
{
    *s = (side){.name = name, .data = trial_take(n), .grad = trial_take(n), .rows = rows, .n = n};
    draw_all(s->data, n, &t->state);
    s->wide = oracle_wide(s->data, n);
    return s;
}

static inline side *trial_weight(trial *t, const char *name, size_t n)
{
    return trial_side(t, &t->in[t->n_in++], name, 0, n);
}

static inline side *trial_input(trial *t, const char *name, size_t rows, size_t cols)
{
    return trial_side(t, &t->in[t->n_in++], name, rows, rows * cols);
}

static inline void trial_seed(trial *t, side *s)
{
    s->seed = trial_take(s->n);
    draw_all(s->seed, s->n, &t->state);
}

static inline side *trial_output(trial *t, const char *name, size_t rows, size_t cols)
{
    side *s = trial_side(t, &t->out[t->n_out++], name, rows, rows * cols);

    trial_seed(t, s);
    return s;
}

static inline void trial_put_seed(trial *t, side *s)
{
    bool fresh;

    if (!s->seed || !s->value) return;
    float *grad = tfm_grad_take(&t->run, s->value, &fresh);
    if (!tfm_run_measuring(&t->run)) memcpy(grad, s->seed, s->n * sizeof *grad);
}

/* The operation and its backward, measured or placed. An operation may set the value of an output to NULL: of no
 * interest. */
static inline void trial_pass(trial *t)
{
    for (size_t i = 0; i < t->n_in; i++) {
        side *s = &t->in[i];
        s->value = s->rows ? tfm_value_view(&t->run, s->data, s->rows, s->n / s->rows) : NULL;
    }
    for (size_t i = 0; i < t->n_out; i++)
        t->out[i].value = tfm_value_new(&t->run, t->out[i].rows, t->out[i].n / t->out[i].rows);
    t->op(t);
    for (size_t i = 0; i < t->n_out; i++) {
        side *s = &t->out[i];
        if (!tfm_run_measuring(&t->run) && s->value) memcpy(s->data, s->value->data, s->n * sizeof *s->data);
        trial_put_seed(t, s);
    }
    for (size_t i = 0; i < t->n_in; i++) trial_put_seed(t, &t->in[i]);
    tfm_run_backward(&t->run);
    for (size_t i = 0; i < t->n_in; i++) {
        side *s = &t->in[i];
        if (!s->rows || tfm_run_measuring(&t->run)) continue;
        must_msg(s->value->grad != NULL, "%s has no gradient", s->name);
        memcpy(s->grad, s->value->grad, s->n * sizeof *s->grad);
    }
}

/* Runs t on a number of threads; weight gradients stand at 1 before. */
static inline void trial_run(trial *t, const tfm_kernels *kernels, uint32_t threads)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_pool *pool;
    tfm_error error;

    ck_assert_ok(tfm_pool_create(&pool, threads, &a, &error), error);
    ck_assert_ok(tfm_run_create(&t->run, pool, kernels, &a, &error), error);
    t->run.training = true;
    memcpy(t->run.key, &t->mask.seed, sizeof t->run.key);
    t->run.batch = t->mask.batch;
    t->run.first_row[0] = t->run.first_row[1] = t->mask.first_row;
    tfm_run_measure(&t->run, true);
    trial_pass(t);
    ck_assert(!t->run.bad && !t->run.arena.bad);
    const size_t peak = t->run.arena.peak;
    ck_assert(tfm_run_place(&t->run, peak, true));
    memset(t->run.arena.base, 0xFF, t->run.arena.size); /* NaN */
    for (size_t i = 0; i < t->n_in; i++)
        for (size_t j = 0; j < t->in[i].n; j++) t->in[i].grad[j] = 1.0f;
    trial_pass(t);
    ck_assert(!t->run.bad && !t->run.arena.bad);
    ck_assert_uint_eq(t->run.arena.peak, peak);
    for (size_t i = 0; i < t->n_in; i++)
        for (size_t j = 0; j < t->in[i].n && !t->in[i].rows; j++) t->in[i].grad[j] -= 1.0f;
    tfm_run_destroy(&t->run);
    tfm_pool_free(pool);
}

static inline double trial_objective(trial *t)
{
    double sum = 0.0;
    const size_t used = oracle_used;

    t->loss = 0.0;
    t->oracle(t);
    oracle_used = used;
    for (size_t i = 0; i < t->n_out; i++)
        for (size_t j = 0; j < t->out[i].n; j++) sum += t->out[i].wide[j] * (double)t->out[i].seed[j];
    for (size_t i = 0; i < t->n_in; i++)
        for (size_t j = 0; j < t->in[i].n && t->in[i].seed; j++) sum += t->in[i].wide[j] * (double)t->in[i].seed[j];
    return sum + t->loss;
}

/* A sample of the gradient of one input. */
static inline void trial_differences(trial *t, const side *s)
{
    double want[TRIAL_SAMPLES];
    float got[TRIAL_SAMPLES];
    const size_t step = s->n / t->samples + 1;
    size_t n = 0;

    for (size_t i = step > 1 ? draw_bits(&t->state) % step : 0; i < s->n; i += step) {
        const double kept = s->wide[i], h = 1e-5;
        s->wide[i] = kept + h;
        const double up = trial_objective(t);
        s->wide[i] = kept - h;
        want[n] = (up - trial_objective(t)) / (2.0 * h);
        got[n++] = s->grad[i];
        s->wide[i] = kept;
    }
    near_all(got, want, n, 1e-2, 1e-4, s->name);
}

/* Outputs, gradients, and that neither depends on threads. */
static inline void trial_check(trial *t, const tfm_kernels *kernels)
{
    float *first[2 * TRIAL_SIDES];

    trial_run(t, kernels, 1);
    trial_objective(t);
    for (size_t i = 0; i < t->n_out; i++)
        near_all(t->out[i].data, t->out[i].wide, t->out[i].n, 1e-3, t->bound, t->out[i].name);
    for (size_t i = 0; i < t->n_in; i++) trial_differences(t, &t->in[i]);
    for (size_t i = 0; i < t->n_in + t->n_out; i++) {
        const side *s = i < t->n_in ? &t->in[i] : &t->out[i - t->n_in];
        first[i] = memcpy(trial_take(s->n), i < t->n_in ? s->grad : s->data, s->n * sizeof(float));
    }
    trial_run(t, kernels, 3);
    for (size_t i = 0; i < t->n_in + t->n_out; i++) {
        const side *s = i < t->n_in ? &t->in[i] : &t->out[i - t->n_in];
        same_bits(i < t->n_in ? s->grad : s->data, first[i], s->n, "three threads");
    }
}

static inline const tfm_kernels *trial_twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

#endif
