/* What stands between the products of the feed-forward network besides ReLU: GELU in two forms, and swish. */
#include "kernels/twins.h"
#include "transformer.h"

/*
 * x s(w) and its slope, s(w) = 1 / (1 + exp(-w)): swish with w = x, the tanh form of GELU with w = 2 sqrt(2 / pi) (x +
 * 0.044715 x^3), as (1 + tanh(w / 2)) / 2 = s(w).
 */
INLINE void sigmoid_gate(v8 *y, v8 *slope, const v8 *x, bool cubic)
{
    const v8 one = splat(1.0f), a = splat(1.5957691216f),
             b = splat(0.0713548163f); /* 2 sqrt(2 / pi), 0.044715 times it */
    const v8 far = splat(16.0f), near = MAX(MIN(*x, far), -far); /* s(w) is 0 or 1 long before */
    const v8 square = near * near;
    v8 e = -*x, dw = one;

    if (cubic) {
        e = e * (a + b * square);
        dw = a + splat(3.0f) * b * square;
    }
    exp_v8(&e);
    const v8 s = one / (one + e);
    *y = *x * s;
    *slope = s + *y * (one - s) * dw;
}

/*
 * x Phi(x) and its slope Phi(x) + x phi(x). Phi by the approximation 7.1.26 of Abramowitz and Stegun to the error
 * function's complement: |error of Phi| <= 1e-7.
 */
INLINE void normal_gate(v8 *y, v8 *slope, const v8 *x)
{
    const v8 one = splat(1.0f), size = MAX(*x, -*x), t = one / (one + splat(0.3275911f * 0.70710678119f) * size);
    v8 density = splat(-0.5f) * size * size, tail = splat(1.061405429f);

    exp_v8(&density);
    tail = tail * t + splat(-1.453152027f);
    tail = tail * t + splat(1.421413741f);
    tail = tail * t + splat(-0.284496736f);
    tail = tail * t + splat(0.254829592f);
    tail = splat(0.5f) * tail * t * density;
    const v8 phi = SELECT(*x > splat(0.0f), one - tail, tail);
    *y = *x * phi;
    *slope = phi + *x * splat(0.39894228040f) * density;
}

/* dy NULL: y = f(x), else y = dy f'(x). One function for both, for its size. */
static __attribute__((noinline)) void go(float *y, const float *x, const float *dy, size_t n, uint32_t kind)
{
    v8 in, out, slope, d;

    for (size_t i = 0; i < n; i += 8) {
        const size_t part = n - i < 8 ? n - i : 8;
        load_part(&in, x + i, part);
        if (kind == TFM_ACTIVATION_GELU) normal_gate(&out, &slope, &in);
        else sigmoid_gate(&out, &slope, &in, kind == TFM_ACTIVATION_GELU_TANH);
        if (dy) {
            load_part(&d, dy + i, part);
            out = slope * d;
        }
        store_part(y + i, &out, part);
    }
}

void TWIN(tfm_activate)(float *y, const float *x, size_t n, uint32_t kind)
{
    go(y, x, NULL, n, kind);
}

void TWIN(tfm_activate_backward)(float *dy, const float *x, size_t n, uint32_t kind)
{
    go(dy, x, dy, n, kind);
}
