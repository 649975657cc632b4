/* A model of any configuration with random weights, a batch, and one pass over it. */
#ifndef MODEL_TRIAL_H
#define MODEL_TRIAL_H

#include "golden_model.h"
#include "oracle_model.h"

enum { TRIAL_POSITIONS = 128 };

typedef struct model_trial {
    tfm_allocator allocator;
    tfm_pool *pool;
    tfm_run run;
    tfm_weights weights;
    tfm_transformer transformer;
    float *data, *gradients, *position;
    oracle_batch batch;
    float smoothing;
    bool uniform, only_memory; /* the pass ends after the encoder */
    float *memory, *logits, *logprobs;
    double loss, nll; /* sums */
    size_t peak;
} model_trial;

static inline float *trial_floats_of(const model_trial *t, size_t n)
{
    float *x = tfm_alloc(&t->allocator, n, sizeof *x);

    ck_assert_ptr_nonnull(x);
    return x;
}

/* Numbers that make every parameter matter: biases are not 0, gammas not 1. */
static inline void trial_weights(model_trial *t, uint64_t seed)
{
    uint64_t state = seed;

    for (size_t i = 0; i < t->weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &t->weights.parameters[i];
        const float limit = p->initial == TFM_INITIAL_XAVIER ? 1.2f / sqrtf((float)p->shape[1]) : 0.4f;
        for (size_t j = 0; j < p->size; j++)
            t->data[p->offset + j] = (p->initial == TFM_INITIAL_ONE ? 1.0f : 0.0f) + limit * draw(&state);
    }
}

static inline void model_begin(model_trial *t, const tfm_model_options *options, uint32_t threads, unsigned cpu_flags)
{
    tfm_error error;

    *t = (model_trial){.allocator = tfm_allocator_or_default(NULL), .smoothing = 0.1f};
    ck_assert_ok(tfm_pool_create(&t->pool, threads, &t->allocator, &error), error);
    ck_assert_ok(tfm_run_create(&t->run, t->pool, tfm_kernels_for(cpu_flags), &t->allocator, &error), error);
    ck_assert_ok(tfm_weights_create(&t->weights, options, &t->allocator, &error), error);
    t->data = trial_floats_of(t, t->weights.size);
    t->gradients = trial_floats_of(t, t->weights.size);
    trial_weights(t, options->seed);
    tfm_weights_bind(&t->weights, t->data, t->gradients);
    t->position = trial_floats_of(t, TRIAL_POSITIONS * t->weights.options.d_model);
    tfm_position_fill(t->position, TRIAL_POSITIONS, t->weights.options.d_model, options->positions,
                      options->position_offset);
    t->transformer =
        (tfm_transformer){.weights = &t->weights, .position = t->position, .position_rows = TRIAL_POSITIONS};
}

static inline void trial_forget_results(model_trial *t)
{
    if (!t->memory) return;
    tfm_free(&t->allocator, t->memory, t->batch.source_offset[t->batch.n] * t->weights.options.d_model, sizeof(float));
    tfm_free(&t->allocator, t->logits, t->batch.target_offset[t->batch.n] * t->weights.options.vocab_size,
             sizeof(float));
    tfm_free(&t->allocator, t->logprobs, t->batch.target_offset[t->batch.n], sizeof(float));
    t->memory = t->logits = t->logprobs = NULL;
}

static inline void model_end(model_trial *t)
{
    const size_t d = t->weights.options.d_model;

    trial_forget_results(t);
    tfm_run_destroy(&t->run);
    tfm_free(&t->allocator, t->data, t->weights.size, sizeof(float));
    tfm_free(&t->allocator, t->gradients, t->weights.size, sizeof(float));
    tfm_free(&t->allocator, t->position, TRIAL_POSITIONS * d, sizeof(float));
    tfm_weights_destroy(&t->weights);
    tfm_pool_free(t->pool);
}

enum { TRIAL_ROWS = 8192 };

static uint32_t source_positions[TRIAL_ROWS], target_positions[TRIAL_ROWS];

static inline void count_positions(uint32_t *positions, const size_t *offset, size_t n)
{
    ck_assert_uint_le(offset[n], TRIAL_ROWS);
    for (size_t s = 0; s < n; s++)
        for (size_t i = offset[s]; i < offset[s + 1]; i++) positions[i] = (uint32_t)(i - offset[s]);
}

static inline void trial_forward(model_trial *t, bool gradients)
{
    const oracle_batch *b = &t->batch;
    const size_t d = t->weights.options.d_model, V = t->weights.options.vocab_size;
    const size_t sources = b->source_offset[b->n], targets = b->target_offset[b->n];
    const tfm_tokens source = {{b->n, b->source_offset}, b->sources, source_positions};
    const tfm_tokens target = {{b->n, b->target_offset}, b->inputs, target_positions};
    tfm_value *memory = tfm_value_new(&t->run, sources, d), *hidden = tfm_value_new(&t->run, targets, d);
    const tfm_loss loss = {&t->weights.output, b->labels, t->smoothing, t->uniform, t->logprobs, &t->loss, &t->nll};

    tfm_forward_encoder(&t->run, memory, &t->transformer, &source);
    if (!tfm_run_measuring(&t->run)) memcpy(t->memory, memory->data, sources * d * sizeof(float));
    if (t->only_memory) return;
    tfm_forward_decoder(&t->run, hidden, &t->transformer, memory, &source.segments, &target);
    if (!gradients) {
        tfm_value *logits = tfm_value_new(&t->run, targets, V);
        tfm_op_linear(&t->run, logits, hidden, &t->transformer.weights->output, false, 0.0f, 0);
        if (!tfm_run_measuring(&t->run)) memcpy(t->logits, logits->data, targets * V * sizeof(float));
    }
    tfm_op_loss(&t->run, hidden, &loss);
    if (gradients) tfm_run_backward(&t->run);
}

/* One pass, measured and placed: memory, log-probabilities, and logits or the gradients of the summed loss. */
static inline void model_pass(model_trial *t, const oracle_batch *batch, bool gradients)
{
    const size_t d = t->weights.options.d_model, V = t->weights.options.vocab_size;

    trial_forget_results(t);
    t->batch = *batch;
    t->memory = trial_floats_of(t, batch->source_offset[batch->n] * d);
    t->logits = trial_floats_of(t, batch->target_offset[batch->n] * V);
    t->logprobs = trial_floats_of(t, batch->target_offset[batch->n]);
    count_positions(source_positions, batch->source_offset, batch->n);
    count_positions(target_positions, batch->target_offset, batch->n);
    memset(t->gradients, 0, t->weights.size * sizeof(float));
    tfm_run_measure(&t->run, gradients);
    trial_forward(t, gradients);
    ck_assert(!t->run.bad && !t->run.arena.bad);
    t->peak = t->run.arena.peak;
    ck_assert(tfm_run_place(&t->run, t->peak, gradients));
    memset(t->run.arena.base, 0xFF, t->run.arena.size); /* NaN: nothing may be read before it is written */
    trial_forward(t, gradients);
    ck_assert(!t->run.bad && !t->run.arena.bad);
    ck_assert_uint_eq(t->run.arena.peak, t->peak);
}

/* The oracle of t: the same weights, rates and masks. */
static inline oracle_model model_oracle(const model_trial *t)
{
    oracle_model o = {.w = &t->weights, .rates = t->transformer.rates, .training = t->run.training};

    memcpy(&o.seed, t->run.key, sizeof o.seed);
    o.batch = t->run.batch;
    memcpy(o.first_row, t->run.first_row, sizeof o.first_row);
    o.data = oracle_wide(t->data, t->weights.size);
    return o;
}

/* The batch of PAPER 6.3. */
static const oracle_batch golden_batch = {
    2, golden_source_offsets, golden_target_offsets, golden_source, golden_inputs, golden_labels};

static inline unsigned trial_flags(int i)
{
    return i ? tfm_cpu_flags(true) : 0;
}

#endif
