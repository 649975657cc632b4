/* Oracles in double precision, written from the equations and sharing no code with the library; and what tests of
 * numbers share. */
#ifndef ORACLE_H
#define ORACLE_H

#include "testing.h"

#include <math.h>
#include <stdint.h>

/* -------------------------------------------------------------------------------------------------- memory ---- */

enum { ORACLE_DOUBLES = 1 << 22 };

static double oracle_heap[ORACLE_DOUBLES];
static size_t oracle_used; /* set it back to free */

static inline double *oracle_new(size_t n)
{
    if (oracle_used + n > ORACLE_DOUBLES) ck_abort_msg("the oracle has no room for %zu numbers", n);
    double *place = oracle_heap + oracle_used;
    oracle_used += n;
    return memset(place, 0, n * sizeof *place);
}

static inline double *oracle_wide(const float *x, size_t n)
{
    double *wide = oracle_new(n);

    for (size_t i = 0; i < n; i++) wide[i] = (double)x[i];
    return wide;
}

/* -------------------------------------------------------------------------------------------------- random ---- */

/* splitmix64: data for tests. */
static inline uint64_t draw_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline float draw(uint64_t *state) /* in [-1, 1) */
{
    return (float)(draw_bits(state) >> 40) * 0x1p-23f - 1.0f;
}

static inline void draw_all(float *x, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) x[i] = draw(state);
}

/* Where a mask of dropout comes from (kernels.h). */
typedef struct oracle_mask {
    uint64_t seed;
    uint32_t batch, site;
    double rate;
    uint32_t first_row;
} oracle_mask;

static inline void oracle_philox(uint32_t c[4], uint32_t k0, uint32_t k1, uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++) {
        const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ (k0 + round * 0x9E3779B9u), (uint32_t)b,
                                  (uint32_t)(a >> 32) ^ c[3] ^ (k1 + round * 0xBB67AE85u), (uint32_t)a};
        memcpy(c, next, sizeof next);
    }
}

/* Multiplier of element i of a row: 0, or 1 / (1 - P) with P in 65536ths. Of the numbers of its group i % 64 is, from
 * the left, one bit for the pair of words, one for the half, three for the block and one for the word of the pair. */
static inline double oracle_keep(const oracle_mask *mask, size_t row, uint64_t i)
{
    const uint32_t pair = i >> 5 & 1, half = i >> 4 & 1, block = i >> 1 & 7, second = i & 1;
    uint32_t c[4] = {(uint32_t)(i / 64 * 8 + block), mask->first_row + (uint32_t)row, mask->site, mask->batch};
    const double threshold = floor(mask->rate * 65536.0 + 0.5);

    if (threshold == 0.0) return 1.0;
    oracle_philox(c, (uint32_t)mask->seed, (uint32_t)(mask->seed >> 32), 7);
    const uint32_t number = (c[2 * pair + 1 - second] >> 16 * half & 0xFFFF) ^ 0x8000; /* as if it were signed */
    return (double)number < threshold ? 0.0 : 65536.0 / (65536.0 - threshold);
}

/* TFM_ACTIVATION_*, from their definitions. */
static inline double oracle_activation(uint32_t kind, double x)
{
    if (kind == TFM_ACTIVATION_GELU) return x * 0.5 * erfc(-x / sqrt(2.0));
    if (kind == TFM_ACTIVATION_GELU_TANH)
        return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    if (kind == TFM_ACTIVATION_SWISH) return x / (1.0 + exp(-x));
    return fmax(x, 0.0);
}

/* y *= mask; y is row first and what follows it of the whole. */
static inline void oracle_drop(double *y, size_t rows, size_t cols, const oracle_mask *mask, size_t first)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) y[r * cols + c] *= oracle_keep(mask, first + r, c);
}

/* ----------------------------------------------------------------------------------------------- equations ---- */

/* y [rows][out] = x [rows][in] W^T + b; W [out][in]; b may be NULL. */
static inline void oracle_linear(double *y, const double *x, const double *w, const double *b, size_t rows, size_t in,
                                 size_t out)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            double sum = b ? b[o] : 0.0;
            for (size_t i = 0; i < in; i++) sum += x[r * in + i] * w[o * in + i];
            y[r * out + o] = sum;
        }
}

/* LN(x) = gamma (x - mean) / sqrt(var + eps) + beta, PAPER 1.4. */
static inline void oracle_norm(double *y, const double *x, const double *gamma, const double *beta, size_t rows,
                               size_t d, double eps)
{
    for (size_t r = 0; r < rows; r++, x += d, y += d) {
        double mean = 0.0, variance = 0.0;
        for (size_t i = 0; i < d; i++) mean += x[i] / (double)d;
        for (size_t i = 0; i < d; i++) variance += (x[i] - mean) * (x[i] - mean) / (double)d;
        for (size_t i = 0; i < d; i++) y[i] = gamma[i] * (x[i] - mean) / sqrt(variance + eps) + beta[i];
    }
}

/* One head, PAPER 1.1; strides between rows in doubles. Query i stands at key i + n - m + shift. */
typedef struct oracle_head {
    const double *q, *k, *v;
    size_t q_stride, k_stride, v_stride, out_stride;
    size_t m, n, d_k, d_v;
    int64_t shift;
    size_t hidden, window;
    bool causal;
    const float *mask;       /* [m][n] or NULL                     */
    double scale;            /* 0: 1 / sqrt(d_k)                   */
    const oracle_mask *drop; /* NULL: none; row 0, element first + i * width + j */
    uint64_t first;
    double *out, *weights; /* weights [m][n], may be NULL; before dropout */
} oracle_head;

static inline bool oracle_sees(const oracle_head *h, size_t i, size_t j)
{
    const int64_t at = (int64_t)i + (int64_t)h->n - (int64_t)h->m + h->shift, far = (int64_t)j - at;

    if (j >= h->n - h->hidden || (h->causal && far > 0)) return false;
    if (h->window && (far < 0 ? -far : far) > (int64_t)h->window) return false;
    return !h->mask || h->mask[i * h->n + j] != -INFINITY;
}

static inline void oracle_attention(const oracle_head *h)
{
    const double scale = h->scale != 0.0 ? h->scale : 1.0 / sqrt((double)h->d_k);
    double *s = oracle_new(h->n);

    for (size_t i = 0; i < h->m; i++) {
        double max = -INFINITY, sum = 0.0, *out = h->out + i * h->out_stride;
        for (size_t j = 0; j < h->n; j++) {
            s[j] = h->mask ? (double)h->mask[i * h->n + j] : 0.0;
            for (size_t c = 0; c < h->d_k; c++) s[j] += h->q[i * h->q_stride + c] * h->k[j * h->k_stride + c] * scale;
            if (oracle_sees(h, i, j)) max = fmax(max, s[j]);
        }
        for (size_t j = 0; j < h->n; j++) sum += s[j] = oracle_sees(h, i, j) ? exp(s[j] - max) : 0.0;
        for (size_t c = 0; c < h->d_v; c++) out[c] = 0.0;
        for (size_t j = 0; j < h->n; j++) {
            const double p = sum > 0.0 ? s[j] / sum : 0.0; /* a query that sees no key: zeros */
            const double kept = h->drop ? p * oracle_keep(h->drop, 0, h->first + i * ((h->n + 7) / 8 * 8) + j) : p;
            if (h->weights) h->weights[i * h->n + j] = p;
            for (size_t c = 0; c < h->d_v; c++) out[c] += kept * h->v[j * h->v_stride + c];
        }
    }
    oracle_used -= h->n;
}

/* -sum q log p of one row of logits, PAPER 1.7; *nll = -log p(label). */
static inline double oracle_loss(const double *z, size_t vocab, size_t label, double eps, bool uniform, double *nll)
{
    double max = -INFINITY, sum = 0.0, loss = 0.0;

    for (size_t v = 0; v < vocab; v++) max = fmax(max, z[v]);
    for (size_t v = 0; v < vocab; v++) sum += exp(z[v] - max);
    for (size_t v = 0; v < vocab; v++) {
        const double other = uniform ? eps / (double)vocab : eps / ((double)vocab - 1.0);
        const double q = v != label ? other : uniform ? 1.0 - eps + other : 1.0 - eps;
        loss -= q * (z[v] - max - log(sum));
    }
    *nll = max + log(sum) - z[label];
    return loss;
}

/* ------------------------------------------------------------------------------------------------- compare ---- */

/* ck_assert writes each success down, which is slow for many numbers; these note failures only. */
#define must_msg(condition, ...)                     \
    do {                                             \
        if (!(condition)) ck_abort_msg(__VA_ARGS__); \
    } while (0)
#define must(condition) must_msg(condition, "not so: %s", #condition)
#define must_le(small, large) \
    must_msg((small) <= (large), "%s is %.9g, more than %.9g", #small, (double)(small), (double)(large))

/* |got - want| <= bound * max(|want|, scale). */
static inline void near_one(double got, double want, double scale, double bound, const char *what, size_t i)
{
    must_msg(fabs(got - want) <= bound * fmax(fabs(want), scale), "%s[%zu]: %.9g, want %.9g", what, i, got, want);
}

/* The root mean square of a vector, at least floor, serves as the scale of its elements. */
static inline void near_all(const float *got, const double *want, size_t n, double floor, double bound,
                            const char *what)
{
    double squares = 0.0;

    for (size_t i = 0; i < n; i++) squares += want[i] * want[i];
    const double scale = n ? fmax(sqrt(squares / (double)n), floor) : 0.0;
    for (size_t i = 0; i < n; i++) near_one((double)got[i], want[i], scale, bound, what, i);
}

static inline void same_bits(const float *got, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        must_msg(!memcmp(got + i, want + i, sizeof *got), "%s[%zu]: %.9g, want %.9g", what, i, (double)got[i],
                 (double)want[i]);
}

#endif
