/* Kernels that go over rows once: epilogues, dropout, layer norm, softmax, Adam. */
#include "kernels/twins.h"

/* Multipliers of 64 elements, 0 or scale: the 16-bit halves of eight Philox blocks (see base/rng.h), side by side so that
 * the compiler makes vectors of them. */
static void mask64(float *mask, const tfm_dropout *d, uint64_t block)
{
    uint32_t c0[8], c1[8], c2[8], c3[8];
    uint32_t k0 = d->key[0], k1 = d->key[1];

    for (int i = 0; i < 8; i++) {
        c0[i] = (uint32_t)(block + (uint64_t)i);
        c1[i] = d->site ^ (uint32_t)((block + (uint64_t)i) >> 32) << 16;
        c2[i] = d->batch[0];
        c3[i] = d->batch[1];
    }
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
        for (int i = 0; i < 8; i++) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)p1;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)p0;
        }
    for (int i = 0; i < 8; i++) {
        const uint32_t bits[4] = {c0[i], c1[i], c2[i], c3[i]};
        for (int j = 0; j < 4; j++) {
            mask[8 * i + 2 * j] = (bits[j] & 0xFFFF) < d->threshold ? 0.0f : d->scale;
            mask[8 * i + 2 * j + 1] = bits[j] >> 16 < d->threshold ? 0.0f : d->scale;
        }
    }
}

void TWIN(tfm_dropout)(float *y, const float *x, size_t n, const tfm_dropout *d, uint64_t first)
{
    float mask[64];
    size_t i = 0;

    if (!d->threshold) {
        if (y != x) memcpy(y, x, n * sizeof *y);
        return;
    }
    for (; i + 64 <= n; i += 64) {
        mask64(mask, d, (first + i) / 8);
        for (size_t j = 0; j < 64; j += 8) STORE(y + i + j, LOAD(x + i + j) * LOAD(mask + j));
    }
    if (i == n) return;
    mask64(mask, d, (first + i) / 8);
    for (size_t j = 0; i + j < n; j++) y[i + j] = x[i + j] * mask[j];
}

void TWIN(tfm_bias_relu)(float *y, const float *bias, size_t n, bool relu, const tfm_dropout *dropout, uint64_t first)
{
    if (bias && relu)
        for (size_t i = 0; i < n; i++) {
            const float v = y[i] + bias[i];
            y[i] = 0.0f > v ? 0.0f : v;
        }
    else if (bias)
        for (size_t i = 0; i < n; i++) y[i] += bias[i];
    else if (relu)
        for (size_t i = 0; i < n; i++) y[i] = 0.0f > y[i] ? 0.0f : y[i];
    if (dropout && dropout->threshold) TWIN(tfm_dropout)(y, y, n, dropout, first);
}

void TWIN(tfm_relu_backward)(float *dy, const float *y, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) dy[i] = y[i] > 0.0f ? dy[i] * scale : 0.0f;
}

void TWIN(tfm_add_to)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

void TWIN(tfm_axpby)(float *y, float a, const float *x, float b, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = a * x[i] + b * y[i];
}

/* Blocks of 1,024 are summed in float lanes, blocks in double: the error does not grow with n. */
double TWIN(tfm_sum_squares)(const float *x, size_t n)
{
    double total = 0.0;

    for (size_t begin = 0; begin < n; begin += 1024) {
        const size_t end = begin + 1024 < n ? begin + 1024 : n;
        v8 sum = {0}, rest;
        size_t i = begin;

        for (; i + 8 <= end; i += 8) sum += LOAD(x + i) * LOAD(x + i);
        load_part(&rest, x + i, end - i);
        sum += rest * rest;
        total += lanes_sum(&sum);
    }
    return total;
}

/*
 * error: y within 2^-24 ((d / 8 + 16) |gamma xhat| + 2 |gamma mean| / s + |y| + |beta|).
 * why: the mean's rounding error would come back times 1 / sqrt(eps); the second pass takes it out, so that a constant row gives beta.
 */
void TWIN(tfm_layer_norm)(float *y, float *stats, const float *x, const float *gamma, const float *beta, size_t d, float eps)
{
    const size_t wide = d & ~(size_t)7;
    v8 sum = {0}, squares = {0}, rest;

    for (size_t i = 0; i < wide; i += 8) sum += LOAD(x + i);
    load_part(&rest, x + wide, d - wide);
    sum += rest;
    const float about = lanes_sum(&sum) / (float)d;
    sum = splat(0.0f);
    for (size_t i = 0; i < wide; i += 8) {
        const v8 c = LOAD(x + i) - splat(about);
        sum += c;
        squares += c * c;
    }
    float tail = 0.0f, tail_squares = 0.0f;
    for (size_t i = wide; i < d; i++) {
        tail += x[i] - about;
        tail_squares += (x[i] - about) * (x[i] - about);
    }
    const float off = (lanes_sum(&sum) + tail) / (float)d, mean = about + off;
    const float variance = (lanes_sum(&squares) + tail_squares) / (float)d - off * off;
    const float rstd = 1.0f / sqrtf((0.0f > variance ? 0.0f : variance) + eps);
    for (size_t i = 0; i < d; i++) y[i] = gamma[i] * ((x[i] - mean) * rstd) + beta[i];
    stats[0] = mean;
    stats[1] = rstd;
}

/* du = (g - mean(g) - xhat mean(g xhat)) / s, g = dy gamma (PAPER 1.4). */
void TWIN(tfm_layer_norm_backward)(float *dx, const float *dy, const float *x, const float *stats, const float *gamma, size_t d)
{
    const size_t wide = d & ~(size_t)7;
    const float mean = stats[0], rstd = stats[1];
    v8 sum = {0}, dot = {0};
    float tail_sum = 0.0f, tail_dot = 0.0f;

    for (size_t i = 0; i < wide; i += 8) {
        const v8 g = LOAD(dy + i) * LOAD(gamma + i);
        sum += g;
        dot += g * ((LOAD(x + i) - splat(mean)) * splat(rstd));
    }
    for (size_t i = wide; i < d; i++) {
        const float g = dy[i] * gamma[i];
        tail_sum += g;
        tail_dot += g * ((x[i] - mean) * rstd);
    }
    const float mean_g = (lanes_sum(&sum) + tail_sum) / (float)d, mean_gx = (lanes_sum(&dot) + tail_dot) / (float)d;
    for (size_t i = 0; i < d; i++) {
        const float xhat = (x[i] - mean) * rstd;
        dx[i] = rstd * (dy[i] * gamma[i] - mean_g - xhat * mean_gx);
    }
}

/* error: float lanes within blocks of 1,024, double over blocks. */
float TWIN(tfm_log_sum_exp)(const float *z, size_t n, double *sum)
{
    const size_t wide = n & ~(size_t)7;
    v8 lanes = splat(-INFINITY);
    double plain = 0.0, total = 0.0;

    for (size_t i = 0; i < wide; i += 8) lanes = MAX(LOAD(z + i), lanes);
    float max = lanes_max(&lanes);
    for (size_t i = wide; i < n; i++) max = z[i] > max ? z[i] : max;
    if (max == -INFINITY) max = 0.0f; /* nothing allowed: the result is -inf, not NaN */
    for (size_t begin = 0; begin < n; begin += 1024) {
        const size_t end = begin + 1024 < n ? begin + 1024 : n;
        v8 s = {0}, e = {0}, x;
        size_t i = begin;

        for (; i + 8 <= end; i += 8) {
            x = LOAD(z + i);
            s += x;
            x -= splat(max);
            exp_v8(&x);
            e += x;
        }
        for (size_t j = 0; j < end - i; j++) {
            x = splat(z[i + j] - max);
            exp_v8(&x);
            plain += z[i + j];
            total += x[0];
        }
        plain += lanes_sum(&s);
        total += lanes_sum(&e);
    }
    if (sum) *sum = plain;
    return max + (float)log(total);
}

void TWIN(tfm_softmax_gradient)(float *z, size_t n, float lse, float base)
{
    const size_t wide = n & ~(size_t)7;
    v8 x;

    for (size_t i = 0; i < wide; i += 8) {
        x = LOAD(z + i) - splat(lse);
        exp_v8(&x);
        STORE(z + i, x - splat(base));
    }
    load_part(&x, z + wide, n - wide);
    x -= splat(lse);
    exp_v8(&x);
    x -= splat(base);
    store_part(z + wide, &x, n - wide);
}

/* TensorFlow's form (PAPER 1.8): w -= rate m / (sqrt(v) + eps), rate = lr sqrt(1 - beta2^t) / (1 - beta1^t). */
void TWIN(tfm_adam)(float *w, float *m, float *v, const float *g, size_t n, float g_scale, float rate, float beta1,
                    float beta2, float eps)
{
    for (size_t i = 0; i < n; i++) {
        const float x = g[i] * g_scale;
        m[i] = beta1 * m[i] + (1.0f - beta1) * x;
        v[i] = beta2 * v[i] + (1.0f - beta2) * x * x;
        w[i] -= rate * m[i] / (sqrtf(v[i]) + eps);
    }
}
