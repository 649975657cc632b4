/* The tiny model of the specification, section 6.3: its weights by formula, its batch, and one pass over it. */
#ifndef GOLDEN_MODEL_H
#define GOLDEN_MODEL_H

#include "model/forward.h"
#include "testing.h"

#include <math.h>

enum { GOLDEN_V = 11, GOLDEN_D = 8, GOLDEN_SIZE = 2904 };

static inline tfm_model_options golden_options(void)
{
    tfm_model_options o;

    tfm_config_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.d_model = GOLDEN_D;
    o.d_ff = 16;
    o.n_heads = 2;
    o.d_k = 3;
    o.d_v = 5;
    o.vocab_size = GOLDEN_V;
    return o;
}

/* Element i of tensor t is scale * sin(0.37 (i + 1) + 1.7 (t + 1)); the specification stores matrices [in][out]. */
static inline void golden_tensor(float *to, int t, const tfm_parameter_plan *p)
{
    const size_t out = p->shape[0], in = p->rank == 2 ? p->shape[1] : 1;
    const bool embedding = t == 0, gamma = p->rank == 1 && strstr(p->name, "norm.weight");

    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++) {
            const size_t index = embedding || p->rank == 1 ? o * in + i : i * out + o;
            const double s = sin(0.37 * (double)(index + 1) + 1.7 * (t + 1));
            to[o * in + i] = (float)(gamma ? 1 + 0.05 * s : p->rank == 1 ? 0.05 * s : 0.3 * s);
        }
}

/* The specification's order of tensors is ours: E, then by layer Wq Wk Wv Wo g b ..., W1 b1 W2 b2 g b. */
static inline void golden_weights(float *data, const tfm_weights *w)
{
    for (size_t t = 0; t < w->n_parameters; t++)
        golden_tensor(data + w->parameters[t].offset, (int)t, &w->parameters[t]);
}

/* Sources A = 3 4 5 6 1, B = 7 8 1; targets 4 6 9 1 and 10 3 1. */
static const int32_t golden_source[] = {3, 4, 5, 6, 1, 7, 8, 1};
static const uint32_t golden_source_positions[] = {0, 1, 2, 3, 4, 0, 1, 2};
static const size_t golden_source_offsets[] = {0, 5, 8};
static const int32_t golden_labels[] = {4, 6, 9, 1, 10, 3, 1};
static const int32_t golden_inputs[] = {2, 4, 6, 9, 2, 10, 3};
static const uint32_t golden_target_positions[] = {0, 1, 2, 3, 0, 1, 2};
static const size_t golden_target_offsets[] = {0, 4, 7};

typedef struct golden {
    tfm_allocator allocator;
    tfm_pool *pool;
    tfm_run run;
    tfm_weights weights;
    tfm_transformer transformer;
    float data[2 * GOLDEN_SIZE], gradients[2 * GOLDEN_SIZE];
    float position[64 * GOLDEN_D];
    float memory[8 * GOLDEN_D], logits[7 * GOLDEN_V], logprobs[7];
    double loss, nll; /* means over the 7 tokens */
} golden;

static inline void golden_begin_with(golden *g, const tfm_model_options *options, uint32_t threads, unsigned cpu_flags)
{
    tfm_error error;

    memset(g, 0, sizeof *g);
    g->allocator = tfm_allocator_or_default(NULL);
    ck_assert_ok(tfm_pool_create(&g->pool, threads, &g->allocator, &error), error);
    ck_assert_ok(tfm_run_create(&g->run, g->pool, tfm_kernels_for(cpu_flags), &g->allocator, &error), error);
    ck_assert_ok(tfm_weights_create(&g->weights, options, &g->allocator, &error), error);
    ck_assert_uint_le(g->weights.size, 2 * GOLDEN_SIZE);
    golden_weights(g->data, &g->weights);
    tfm_weights_bind(&g->weights, g->data, g->gradients);
    tfm_position_fill(g->position, 64, GOLDEN_D, options->positions, options->position_offset);
    g->transformer = (tfm_transformer){.weights = &g->weights, .position = g->position, .position_rows = 64};
}

static inline void golden_begin(golden *g)
{
    const tfm_model_options o = golden_options();
    golden_begin_with(g, &o, 1, tfm_cpu_flags(true));
}

static inline void golden_end(golden *g)
{
    tfm_run_destroy(&g->run);
    tfm_weights_destroy(&g->weights);
    tfm_pool_free(g->pool);
}

static inline void golden_forward(golden *g, const int32_t *inputs, float smoothing, bool uniform)
{
    tfm_run *run = &g->run;
    const tfm_tokens source = {{2, golden_source_offsets}, golden_source, golden_source_positions};
    const tfm_tokens target = {{2, golden_target_offsets}, inputs, golden_target_positions};
    tfm_value *memory = tfm_value_new(run, 8, GOLDEN_D), *hidden = tfm_value_new(run, 7, GOLDEN_D);
    const tfm_loss loss = {&g->weights.output, golden_labels, smoothing, uniform, g->logprobs, &g->loss, &g->nll};

    tfm_forward_encoder(run, memory, &g->transformer, &source);
    tfm_forward_decoder(run, hidden, &g->transformer, memory, &source.segments, &target);
    tfm_op_loss(run, hidden, &loss);
    if (run->recording) {
        tfm_run_backward(run);
        return;
    }
    tfm_value *logits = tfm_value_new(run, 7, GOLDEN_V);
    tfm_op_linear(run, logits, hidden, &g->transformer.weights->output, false, 0.0f, 0);
    if (tfm_run_measuring(run)) return;
    memcpy(g->memory, memory->data, sizeof g->memory);
    memcpy(g->logits, logits->data, sizeof g->logits);
}

/* One pass, measured and placed, with gradients of the sum of the losses when asked. */
static inline void golden_pass(golden *g, const int32_t *inputs, float smoothing, bool uniform, bool gradients)
{
    memset(g->gradients, 0, sizeof g->gradients);
    tfm_run_measure(&g->run, gradients);
    golden_forward(g, inputs, smoothing, uniform);
    ck_assert(!g->run.bad && !g->run.arena.bad);
    ck_assert(tfm_run_place(&g->run, g->run.arena.peak, gradients));
    golden_forward(g, inputs, smoothing, uniform);
    ck_assert(!g->run.bad && !g->run.arena.bad);
    g->loss /= 7;
    g->nll /= 7;
}

/* Relative to the larger of the value and the scale of its vector. */
static inline void golden_near(double got, double want, double scale, double bound, const char *what)
{
    const double size = fabs(want) > scale ? fabs(want) : scale;
    ck_assert_msg(fabs(got - want) <= bound * size, "%s: %.9g, want %.9g", what, got, want);
}

#endif
