/* The best logits of a row, and their sum, block by block. */
#include "decode/choice.h"

#include <math.h>

void tfm_choice_begin(tfm_choice *choice, tfm_pick *picks, size_t most)
{
    *choice = (tfm_choice){.picks = picks, .most = most, .max = -INFINITY};
}

static bool worse(tfm_pick a, tfm_pick b)
{
    return a.logit != b.logit ? a.logit < b.logit : a.token > b.token;
}

/* Puts pick where the top of the heap was. */
static void replace_top(tfm_choice *c, tfm_pick pick)
{
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < c->n; i = child) {
        if (child + 1 < c->n && worse(c->picks[child + 1], c->picks[child])) child++;
        if (!worse(c->picks[child], pick)) break;
        c->picks[i] = c->picks[child];
    }
    c->picks[i] = pick;
}

static void keep(tfm_choice *c, tfm_pick pick)
{
    if (c->n == c->most) {
        replace_top(c, pick);
        return;
    }
    size_t i = c->n++;
    for (; i && worse(pick, c->picks[(i - 1) / 2]); i = (i - 1) / 2) c->picks[i] = c->picks[(i - 1) / 2];
    c->picks[i] = pick;
}

/* A logit must be above this: tokens come in ascending order, so an equal one loses. */
static float threshold(const tfm_choice *c)
{
    return c->n < c->most ? -INFINITY : c->picks[0].logit;
}

static void look_for_picks(tfm_choice *c, const tfm_kernels *kernels, const float *logits, size_t n, size_t first,
                           const int32_t *never)
{
    for (size_t i = 0; (i += kernels->first_above(logits + i, n - i, threshold(c))) < n; i++) {
        const int32_t token = (int32_t)(first + i);
        if (token != never[0] && token != never[1]) keep(c, (tfm_pick){logits[i], token});
    }
}

static void add_sum(tfm_choice *c, float max, double total)
{
    if (max > c->max) {
        c->total = c->total * exp((double)c->max - (double)max) + total;
        c->max = max;
    } else {
        c->total += max == -INFINITY ? total : total * exp((double)max - (double)c->max);
    }
}

void tfm_choice_add(tfm_choice *c, const tfm_kernels *kernels, const float *logits, size_t n, size_t first,
                    const int32_t never[static 2])
{
    for (size_t i = 0; i < n; i += TFM_SUM_BLOCK) {
        const size_t block = n - i < TFM_SUM_BLOCK ? n - i : TFM_SUM_BLOCK;
        float max;
        const double total = kernels->exp_sum(logits + i, block, &max);

        add_sum(c, max, total);
        if (max > threshold(c)) look_for_picks(c, kernels, logits + i, block, first + i, never);
    }
}

void tfm_choice_add_forced(tfm_choice *c, const tfm_kernels *kernels, const float *logits, size_t n, size_t first,
                           int32_t token)
{
    const size_t at = (size_t)token - first; /* wraps when the token stands before */

    for (size_t i = 0; i < n; i += TFM_SUM_BLOCK) {
        float max;
        const double total = kernels->exp_sum(logits + i, n - i < TFM_SUM_BLOCK ? n - i : TFM_SUM_BLOCK, &max);
        add_sum(c, max, total);
    }
    if (at < n) c->picks[c->n++] = (tfm_pick){logits[at], token};
}

double tfm_choice_lse(const tfm_choice *c)
{
    return (c->max == -INFINITY ? 0.0 : (double)c->max) + log(c->total);
}
