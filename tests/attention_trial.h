/* Heads of attention with random operands in buffers of one size, for a twin and for the oracle. */
#ifndef ATTENTION_TRIAL_H
#define ATTENTION_TRIAL_H

#include "kernels/kernels.h"
#include "oracle.h"

enum { ROWS = 210, WIDTH = 80, SCRATCH = 1 << 21 };

static float q[ROWS * WIDTH], k[ROWS * WIDTH], v[ROWS * WIDTH], out[ROWS * WIDTH], mask[ROWS * ROWS],
    weights[ROWS * ROWS];
static float scratch[SCRATCH], stats[2 * ROWS], d_out[ROWS * WIDTH], dq[ROWS * WIDTH];

static inline const tfm_kernels *twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

/* Rows of cols floats with NaN between them. */
static inline void fill(float *x, size_t rows, size_t cols, float scale, uint64_t *state)
{
    for (size_t i = 0; i < rows * WIDTH; i++) x[i] = i % WIDTH < cols ? scale * draw(state) : NAN;
}

static inline tfm_head new_head(size_t m, size_t n, size_t d_k, size_t d_v, float scale, uint64_t seed)
{
    uint64_t state = seed;

    fill(q, m, d_k, scale, &state);
    fill(k, n, d_k, scale, &state);
    fill(v, n, d_v, 1.0f, &state);
    return (tfm_head){.q = q,
                      .k = k,
                      .v = v,
                      .q_stride = WIDTH,
                      .k_stride = WIDTH,
                      .v_stride = WIDTH,
                      .m = m,
                      .n = n,
                      .d_k = d_k,
                      .d_v = d_v,
                      .scale = 1.0f / sqrtf((float)d_k),
                      .out = out,
                      .out_stride = WIDTH,
                      .weights = weights};
}

/* Runs with scratch of just the size that was promised, and poisoned. */
static inline void run(const tfm_kernels *kernels, const tfm_head *h, bool backward)
{
    size_t floats;

    must(tfm_attention_scratch(&floats, h->n, h->d_k, h->d_v, backward));
    ck_assert_uint_lt(floats, SCRATCH);
    for (size_t i = 0; i <= floats; i++) scratch[i] = NAN;
    scratch[floats] = 12345.0f;
    if (backward) kernels->attention_backward(h, scratch);
    else kernels->attention(h, scratch);
    must(scratch[floats] == 12345.0f);
}

static inline tfm_dropout dropout_of(const oracle_mask *m)
{
    const uint32_t threshold = (uint32_t)(m->rate * 65536.0 + 0.5);

    return (tfm_dropout){{(uint32_t)m->seed, (uint32_t)(m->seed >> 32)}, m->batch, m->site, m->first_row, threshold,
                         65536.0f / (65536.0f - (float)threshold)};
}

static const oracle_mask drop = {UINT64_C(0x1020304050607080), 3, 6, 0.25, 9};

/* The same head for the oracle; key_rows are resolved into a copy. */
static inline oracle_head mirror(const tfm_head *h)
{
    oracle_head o = {.q_stride = WIDTH,
                     .k_stride = WIDTH,
                     .v_stride = WIDTH,
                     .out_stride = WIDTH,
                     .m = h->m,
                     .n = h->n,
                     .d_k = h->d_k,
                     .d_v = h->d_v,
                     .shift = h->shift,
                     .hidden = h->hidden,
                     .window = h->window,
                     .causal = h->causal,
                     .mask = h->mask,
                     .scale = (double)h->scale,
                     .first = h->first,
                     .drop = h->dropout.threshold ? &drop : NULL};
    double *wk = oracle_new(h->n * WIDTH), *wv = oracle_new(h->n * WIDTH);

    for (size_t j = 0; j < h->n; j++) {
        const size_t row = h->key_rows ? h->key_rows[j] : j;
        for (size_t c = 0; c < h->d_k; c++) wk[j * WIDTH + c] = (double)h->k[row * WIDTH + c];
        for (size_t c = 0; c < h->d_v; c++) wv[j * WIDTH + c] = (double)h->v[row * WIDTH + c];
    }
    o.q = oracle_wide(h->q, h->m * WIDTH);
    o.k = wk;
    o.v = wv;
    o.out = oracle_new(h->m * WIDTH);
    o.weights = oracle_new(h->m * h->n);
    oracle_attention(&o);
    return o;
}

typedef struct form {
    bool causal, dropped, masked;
    size_t window, hidden;
    int64_t shift;
} form;

static inline void apply(tfm_head *h, const form *f, uint64_t seed)
{
    uint64_t state = seed;

    h->causal = f->causal;
    h->window = f->window;
    h->hidden = f->hidden < h->n ? f->hidden : h->n;
    h->shift = f->shift;
    if (f->dropped) h->dropout = dropout_of(&drop), h->first = 4096;
    for (size_t i = 0; i < h->m * h->n; i++) mask[i] = draw_bits(&state) % 4 ? 8.0f * draw(&state) : -INFINITY;
    if (f->masked) h->mask = mask;
    for (size_t i = 0; i < h->m * WIDTH; i++) out[i] = 9.0f;
}

#endif
