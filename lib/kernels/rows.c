/* Kernels that go over rows once: epilogues, dropout, layer norm, softmax, Adam. */
#include "kernels/dropout.h"
#include "kernels/twins.h"

/* y = x + mask s for n elements of one group of a row, from element first on. x NULL: y = mask s. */
static void masked_part(float *y, const float *x, const float *s, size_t n, const tfm_dropout *dropout, uint32_t row,
                        uint64_t first)
{
    mask_source source;
    v8 group[TFM_MASK / 8];
    const v8 *mask = group + first % TFM_MASK / 8;
    const size_t wide = n & ~(size_t)7;

    mask_begin(&source, dropout, row);
    mask_group(group, &source, (uint32_t)(first / TFM_MASK));
    for (size_t i = 0; i < wide; i += 8) {
        v8 kept = LOAD(s + i) * mask[i / 8];
        if (x) kept += LOAD(x + i);
        STORE(y + i, kept);
    }
    for (size_t i = wide; i < n; i++) {
        const float kept = s[i] * mask[i / 8][i % 8];
        y[i] = x ? x[i] + kept : kept;
    }
}

/* The same for whole groups. */
INLINE void masked_groups(float *y, const float *x, const float *s, size_t n, const tfm_dropout *dropout, uint32_t row,
                          uint64_t first)
{
    mask_source source;
    v8 mask[TFM_MASK / 8];

    mask_begin(&source, dropout, row);
    for (size_t i = 0; i < n; i += TFM_MASK) {
        mask_group(mask, &source, (uint32_t)((first + i) / TFM_MASK));
        for (size_t v = 0; v < TFM_MASK / 8; v++) {
            const size_t at = i + 8 * v;
            v8 kept = LOAD(s + at) * mask[v];
            if (x) kept += LOAD(x + at);
            STORE(y + at, kept);
        }
    }
}

void TWIN(tfm_dropout)(float *y, const float *x, size_t n, const tfm_dropout *d, uint32_t row, uint64_t first)
{
    const size_t to_next = -first % TFM_MASK, head = to_next < n ? to_next : n;
    const size_t whole = (n - head) & ~(size_t)(TFM_MASK - 1), done = head + whole;

    if (!d->threshold) {
        if (y != x) memcpy(y, x, n * sizeof *y);
        return;
    }
    if (head) masked_part(y, NULL, x, head, d, row, first);
    masked_groups(y + head, NULL, x + head, whole, d, row, first + head);
    if (done < n) masked_part(y + done, NULL, x + done, n - done, d, row, first + done);
}

void TWIN(tfm_add_dropped)(float *y, const float *x, const float *s, size_t n, const tfm_dropout *d, uint32_t row)
{
    const size_t whole = n & ~(size_t)(TFM_MASK - 1);

    if (!d->threshold) {
        for (size_t i = 0; i < n; i++) y[i] = x[i] + s[i];
        return;
    }
    masked_groups(y, x, s, whole, d, row, 0);
    if (whole < n) masked_part(y + whole, x + whole, s + whole, n - whole, d, row, whole);
}

void TWIN(tfm_bias_relu)(float *y, const float *bias, size_t n, bool relu, const tfm_dropout *dropout, uint32_t row,
                          uint64_t first)
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
    if (dropout && dropout->threshold) TWIN(tfm_dropout)(y, y, n, dropout, row, first);
}

void TWIN(tfm_relu_backward)(float *dy, const float *y, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) dy[i] = y[i] > 0.0f ? dy[i] * scale : 0.0f;
}

void TWIN(tfm_add_to)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

void TWIN(tfm_add_rows)(float *y, const float *x, size_t stride, size_t rows, size_t n)
{
    enum { WIDE = 64 }; /* columns in registers */
    size_t i = 0;

    for (; i + WIDE <= n; i += WIDE) {
        v8 sum[WIDE / 8];
        for (size_t k = 0; k < WIDE / 8; k++) sum[k] = LOAD(y + i + 8 * k);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < WIDE / 8; k++) sum[k] += LOAD(x + r * stride + i + 8 * k);
        for (size_t k = 0; k < WIDE / 8; k++) STORE(y + i + 8 * k, sum[k]);
    }
    for (size_t r = 0; r < rows && i < n; r++) TWIN(tfm_add_to)(y + i, x + r * stride + i, n - i);
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

/* Sum of x - about over a row, and of its squares. */
INLINE float deviations(const float *x, size_t d, float about, float *squares)
{
    const size_t pairs = d & ~(size_t)15, wide = d & ~(size_t)7;
    v8 sum[2] = {{0}}, square[2] = {{0}}, c;
    float tail = 0.0f;

    for (size_t i = 0; i < pairs; i += 16)
        for (size_t k = 0; k < 2; k++) {
            c = LOAD(x + i + 8 * k) - splat(about);
            sum[k] += c;
            square[k] += c * c;
        }
    if (pairs < wide) {
        c = LOAD(x + pairs) - splat(about);
        sum[0] += c;
        square[0] += c * c;
    }
    sum[0] += sum[1];
    square[0] += square[1];
    *squares = lanes_sum(&square[0]);
    for (size_t i = wide; i < d; i++) {
        tail += x[i] - about;
        *squares += (x[i] - about) * (x[i] - about);
    }
    return lanes_sum(&sum[0]) + tail;
}

/*
 * error: y within 2^-24 ((d / 8 + 16) |gamma xhat| + 2 |gamma mean| / s + |y| + |beta|).
 * why: the mean's rounding error would come back times 1 / sqrt(eps); the second pass takes it out, so that a constant
 * row gives beta.
 */
void TWIN(tfm_layer_norm)(float *y, float *stats, const float *x, const float *gamma, const float *beta, size_t d,
                          float eps)
{
    float squares;
    const float about = deviations(x, d, 0.0f, &squares) / (float)d;
    const float off = deviations(x, d, about, &squares) / (float)d, mean = about + off;
    const float variance = squares / (float)d - off * off;
    const float rstd = 1.0f / sqrtf((0.0f > variance ? 0.0f : variance) + eps);

    const size_t wide = d & ~(size_t)7;

    for (size_t i = 0; i < wide; i += 8)
        STORE(y + i, LOAD(gamma + i) * ((LOAD(x + i) - splat(mean)) * splat(rstd)) + LOAD(beta + i));
    for (size_t i = wide; i < d; i++) y[i] = gamma[i] * ((x[i] - mean) * rstd) + beta[i];
    stats[0] = mean;
    stats[1] = rstd;
}

/* Adds dy xhat to d_gamma and dy to d_beta, and gives the means of g = dy gamma and of g xhat. */
INLINE void norm_sums(float means[2], const float *dy, const float *x, const float *stats, const float *gamma, size_t d,
                      float *d_gamma, float *d_beta)
{
    const size_t pairs = d & ~(size_t)15;
    const float mean = stats[0], rstd = stats[1];
    v8 sum[2] = {{0}}, dot[2] = {{0}};
    float tail_sum = 0.0f, tail_dot = 0.0f;

    for (size_t i = 0; i < pairs; i += 16)
        for (size_t k = 0; k < 2; k++) {
            const size_t at = i + 8 * k;
            const v8 grad = LOAD(dy + at), g = grad * LOAD(gamma + at);
            const v8 xhat = (LOAD(x + at) - splat(mean)) * splat(rstd);
            sum[k] += g;
            dot[k] += g * xhat;
            STORE(d_gamma + at, LOAD(d_gamma + at) + grad * xhat);
            STORE(d_beta + at, LOAD(d_beta + at) + grad);
        }
    for (size_t i = pairs; i < d; i++) {
        const float xhat = (x[i] - mean) * rstd, g = dy[i] * gamma[i];
        tail_sum += g;
        tail_dot += g * xhat;
        d_gamma[i] += dy[i] * xhat;
        d_beta[i] += dy[i];
    }
    sum[0] += sum[1];
    dot[0] += dot[1];
    means[0] = (lanes_sum(&sum[0]) + tail_sum) / (float)d;
    means[1] = (lanes_sum(&dot[0]) + tail_dot) / (float)d;
}

/* du = (g - mean(g) - xhat mean(g xhat)) / s, g = dy gamma (PAPER 1.4). */
void TWIN(tfm_layer_norm_backward)(float *dx, bool add, const float *dy, const float *x, const float *stats,
                                   const float *gamma, size_t d, float *d_gamma, float *d_beta)
{
    const size_t wide = d & ~(size_t)7;
    const float mean = stats[0], rstd = stats[1];
    float means[2];

    norm_sums(means, dy, x, stats, gamma, d, d_gamma, d_beta);
    for (size_t i = 0; i < wide; i += 8) {
        const v8 xhat = (LOAD(x + i) - splat(mean)) * splat(rstd);
        v8 u = splat(rstd) * (LOAD(dy + i) * LOAD(gamma + i) - splat(means[0]) - xhat * splat(means[1]));
        if (add) u += LOAD(dx + i);
        STORE(dx + i, u);
    }
    for (size_t i = wide; i < d; i++) {
        const float u = rstd * (dy[i] * gamma[i] - means[0] - (x[i] - mean) * rstd * means[1]);
        dx[i] = add ? dx[i] + u : u;
    }
}

static float row_max(const float *z, size_t n)
{
    v8 lanes[4] = {splat(-INFINITY), splat(-INFINITY), splat(-INFINITY), splat(-INFINITY)};
    size_t i = 0;

    for (; i + 32 <= n; i += 32)
        for (size_t k = 0; k < 4; k++) lanes[k] = MAX(LOAD(z + i + 8 * k), lanes[k]);
    lanes[0] = MAX(lanes[0], lanes[1]);
    lanes[2] = MAX(lanes[2], lanes[3]);
    lanes[0] = MAX(lanes[0], lanes[2]);
    float max = lanes_max(&lanes[0]);
    for (; i < n; i++) max = z[i] > max ? z[i] : max;
    return max;
}

/* Up to TFM_SUM_BLOCK elements: adds to the plain sum and to that of exp(z - max), which is written to e if e is not
 * NULL. */
INLINE void sum_block(const float *z, float *e, size_t n, float max, double *plain, double *total)
{
    v8 s = {0}, t = {0}, x;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        x = LOAD(z + i);
        s += x;
        x -= splat(max);
        exp_v8(&x);
        t += x;
        if (e) STORE(e + i, x);
    }
    for (; i < n; i++) {
        x = splat(z[i] - max);
        exp_v8(&x);
        *plain += z[i];
        *total += x[0];
        if (e) e[i] = x[0];
    }
    *plain += lanes_sum(&s);
    *total += lanes_sum(&t);
}

/* error: float lanes within blocks, double over them. */
INLINE float log_sum(const float *z, float *e, size_t n, double *sum, double *total)
{
    float max = row_max(z, n);
    double plain = 0.0;

    if (max == -INFINITY) max = 0.0f; /* nothing allowed: the result is -inf, not NaN */
    *total = 0.0;
    for (size_t i = 0; i < n; i += TFM_SUM_BLOCK)
        sum_block(z + i, e ? e + i : NULL, n - i < TFM_SUM_BLOCK ? n - i : TFM_SUM_BLOCK, max, &plain, total);
    *sum = plain;
    return max + (float)log(*total);
}

float TWIN(tfm_log_sum_exp)(const float *z, size_t n, double *sum)
{
    double total;

    return log_sum(z, NULL, n, sum, &total);
}

float TWIN(tfm_exponentials)(float *z, size_t n, double *sum, double *total)
{
    return log_sum(z, z, n, sum, total);
}

double TWIN(tfm_exp_sum)(const float *z, size_t n, float *max)
{
    double plain = 0.0, total = 0.0;

    *max = row_max(z, n);
    sum_block(z, NULL, n, *max == -INFINITY ? 0.0f : *max, &plain, &total);
    return total;
}

/* Is any of 32 floats above least? */
INLINE bool any_above(const float *z, const float least)
{
    const v8 limit = splat(least);
    const i8 above = (LOAD(z) > limit) | (LOAD(z + 8) > limit) | (LOAD(z + 16) > limit) | (LOAD(z + 24) > limit);
#if defined __AVX__
    return !_mm256_testz_si256((__m256i)above, (__m256i)above);
#else
    int any = 0;
    for (int k = 0; k < 8; k++) any |= above[k];
    return any;
#endif
}

size_t TWIN(tfm_first_above)(const float *z, size_t n, float least)
{
    size_t i = 0;

    while (i + 32 <= n && !any_above(z + i, least)) i += 32;
    while (i < n && !(z[i] > least)) i++;
    return i;
}

void TWIN(tfm_scale_less)(float *z, size_t n, float scale, float less)
{
    for (size_t i = 0; i < n; i++) z[i] = z[i] * scale - less;
}

/*
 * log(exp a + exp b) = max(a, b) + log(1 + t), t = exp(-|a - b|) in 0..1, and log(1 + t) = 2 artanh(s), s = t / (2 + t)
 * at most 1/3: the series of artanh up to s^13 is off by less than 2^-26.
 */
INLINE void log_add_v8(v8 *a, const v8 *b)
{
    v8 t = SELECT(*a == *b, splat(0.0f), *a - *b); /* equal infinities too */

    t = MIN(t, -t);
    exp_v8(&t);
    const v8 s = t / (t + splat(2.0f)), square = s * s;
    v8 p = splat(1.0f / 13.0f);
    p = p * square + splat(1.0f / 11.0f);
    p = p * square + splat(1.0f / 9.0f);
    p = p * square + splat(1.0f / 7.0f);
    p = p * square + splat(1.0f / 5.0f);
    p = p * square + splat(1.0f / 3.0f);
    p = p * square + splat(1.0f);
    *a = MAX(*a, *b) + (s + s) * p;
}

void TWIN(tfm_log_add)(float *y, float y_less, const float *x, float x_less, size_t n)
{
    const size_t wide = n & ~(size_t)7;
    v8 a, b;

    for (size_t i = 0; i < wide; i += 8) {
        a = LOAD(y + i) - splat(y_less);
        b = LOAD(x + i) - splat(x_less);
        log_add_v8(&a, &b);
        STORE(y + i, a);
    }
    for (size_t i = wide; i < n; i++) {
        a = splat(y[i] - y_less);
        b = splat(x[i] - x_less);
        log_add_v8(&a, &b);
        y[i] = a[0];
    }
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
