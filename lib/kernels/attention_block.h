/*
 * What the forward and the backward pass of a head of attention share: the plan of a call, and blocks of scores.
 *
 * A sequence of up to a block's keys, as nearly all are, is worked off where it stands: keys alone are copied (turned,
 * so that the scores of eight keys lie side by side), all else is read and written in place, and the scores never leave
 * L1. Longer ones copy the keys and values that they read again and again. Scratch is O(n).
 */
#ifndef TFM_ATTENTION_BLOCK_H
#define TFM_ATTENTION_BLOCK_H

#include "kernels/small_product.h"
#include "kernels/twins.h"

enum { QUERIES = TFM_ATTENTION_QUERIES, KEYS = TFM_ATTENTION_KEYS };

#define FAR (INT64_MAX / 4) /* farther than any key */

INLINE size_t pad8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

INLINE size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

/* -------------------------------------------------------------------------------------------- what is seen ---- */

typedef struct range {
    size_t begin, end;
} range;

/* Keys that query i sees. Both ends grow with i. */
INLINE range visible(const tfm_head *h, size_t i)
{
    const int64_t at = (int64_t)i + (int64_t)h->n - (int64_t)h->m + h->shift, keys = (int64_t)(h->n - h->hidden);
    const int64_t left = h->window ? (int64_t)h->window : FAR, right = h->causal ? 0 : left;
    int64_t begin = at > left ? at - left : 0, end = at + right + 1 < keys ? at + right + 1 : keys;

    if (end < 0) end = 0;
    if (begin > end) begin = end;
    return (range){(size_t)begin, (size_t)end};
}

/* Keys that any of these queries sees, from the start of a block of keys. */
INLINE range visible_block(const tfm_head *h, size_t i, size_t rows)
{
    const size_t begin = visible(h, i).begin, end = visible(h, i + rows - 1).end;

    return (range){begin - begin % KEYS, end};
}

/* May rows see different keys? Then 0 times something that is not finite may turn up: see product(). */
INLINE bool hides(const tfm_head *h)
{
    return h->causal || h->window || h->mask;
}

/* --------------------------------------------------------------------------------------------------- a call ---- */

/* Row r of an operand at at + r * width, or at + index[r] * width. */
typedef struct source {
    const float *at;
    size_t width;
    const uint32_t *index;
} source;

typedef struct target {
    float *at;
    size_t width;
} target;

/* Operands, and scratch for a block. Rows of keys and values count from keys.begin. */
typedef struct work {
    const tfm_head *h;
    range keys;     /* that any query sees, from the start of a block */
    size_t width;   /* of a row of a block of scores, and of a row of a block of turned keys */
    bool in_place;  /* there is one block of keys: copies do not pay */
    bool sparse;    /* values (backward: keys) that some query does not see are not all finite */
    float *kt, *vt; /* blocks of turned keys and values: [d][width] */
    source k, v;
    target dk, dv;
    target copy_k, copy_v;              /* of all keys                      */
    target copy_q, copy_d_out, out, dq; /* of a block of queries            */
    float *p, *ds, *keep;               /* blocks of scores and their masks */
} work;

INLINE float *take(float **scratch, size_t n)
{
    float *place = *scratch;
    *scratch += n;
    return place;
}

INLINE target take_rows(float **scratch, size_t rows, size_t cols)
{
    return (target){take(scratch, rows * pad8(cols)), pad8(cols)};
}

/* tfm_attention_scratch() bounds what is taken. */
INLINE void share_out(work *w, float *scratch, const bool backward)
{
    const size_t keys = w->keys.end - w->keys.begin, d_k = w->h->d_k, d_v = w->h->d_v;
    const size_t turned = (keys + KEYS - 1) / KEYS * w->width;

    w->p = take(&scratch, QUERIES * w->width);
    w->kt = take(&scratch, turned * d_k);
    w->copy_v = take_rows(&scratch, keys, d_v);
    w->out = take_rows(&scratch, QUERIES, d_v);
    if (!backward) return;
    w->dv = w->copy_v; /* values are read turned only */
    w->copy_d_out = w->out;
    w->ds = take(&scratch, QUERIES * w->width);
    w->keep = take(&scratch, QUERIES * w->width);
    w->vt = take(&scratch, turned * d_v);
    w->copy_k = take_rows(&scratch, keys, d_k);
    w->dk = take_rows(&scratch, keys, d_k);
    w->copy_q = take_rows(&scratch, QUERIES, d_k);
    w->dq = take_rows(&scratch, QUERIES, d_k);
}

/* The right-hand side of a product, and its result, are taken in whole vectors: in place when rows consist of them. */
INLINE bool usable(const work *w, size_t cols)
{
    return w->in_place && cols % 8 == 0;
}

/* The keys or values of a call, as they stand or copied. */
static source key_rows(const work *w, target copy, const float *from, size_t stride, size_t cols)
{
    const uint32_t *index = w->h->key_rows ? w->h->key_rows + w->keys.begin : NULL;

    if (!index) from += w->keys.begin * stride;
    if (usable(w, cols)) return (source){from, stride, index};
    copy_padded(copy.at, copy.width, from, stride, index, w->keys.end - w->keys.begin, cols);
    return (source){copy.at, copy.width, NULL};
}

/* The same, turned, scaled, in blocks. */
static void turn_keys(const work *w, float *to, const float *from, size_t stride, size_t cols, float scale)
{
    for (size_t j = w->keys.begin; j < w->keys.end; j += KEYS, to += cols * w->width) {
        const uint32_t *index = w->h->key_rows ? w->h->key_rows + j : NULL;
        copy_turned(to, w->width, index ? from : from + j * stride, stride, index, at_most(w->keys.end - j, KEYS), cols,
                    scale);
    }
}

INLINE work begin_work(const tfm_head *h, float *scratch, const bool backward)
{
    work w = {.h = h, .keys = h->m ? visible_block(h, 0, h->m) : (range){0, 0}, .width = at_most(pad8(h->n), KEYS)};

    w.in_place = w.keys.end - w.keys.begin <= KEYS;
    share_out(&w, scratch, backward);
    turn_keys(&w, w.kt, h->k, h->k_stride, h->d_k, h->scale);
    return w;
}

/* ----------------------------------------------------------------------------------------- a block of scores ---- */

/* Scores before masks: s [rows][cols], cols a multiple of 8. */
INLINE void block_scores(const work *w, float *s, size_t i, size_t rows, size_t j, size_t cols)
{
    const tfm_head *h = w->h;
    const small_product x = {.c = s,
                             .ldc = w->width,
                             .a = h->q + i * h->q_stride,
                             .a_row = h->q_stride,
                             .a_col = 1,
                             .b = w->kt + (j - w->keys.begin) * h->d_k,
                             .ldb = w->width,
                             .m = rows,
                             .n = cols,
                             .k = h->d_k};

    product(&x, false);
}

/* s = exp(s - max), or zeros while no key was seen; returns the sum. cols is a multiple of 8. */
INLINE float exp_row(float *s, size_t cols, float max)
{
    const v8 shift = splat(max == -INFINITY ? 0.0f : max); /* exp(-inf) = 0, where -inf - -inf would be NaN */
    v8 sum = splat(0.0f);

    for (size_t c = 0; c < cols; c += 8) {
        v8 x = LOAD(s + c) - shift;
        exp_v8(&x);
        STORE(s + c, x);
        sum += x;
    }
    return lanes_sum(&sum);
}

INLINE void scale_row(float *x, size_t cols, float factor)
{
    for (size_t c = 0; c < cols; c += 8) STORE(x + c, LOAD(x + c) * splat(factor));
}

/* A row's maximum and sum take in its scores of a block, of which seen is the largest and which become exponentials. */
INLINE void absorb_scores(float *s, size_t cols, float seen, bool first, float *max, float *sum, float *out, size_t d_v)
{
    const float old = first ? -INFINITY : *max, now = seen > old ? seen : old, more = exp_row(s, cols, now);

    *max = now;
    if (first) {
        *sum = more;
    } else if (old == now) {
        *sum += more;
    } else {
        const float keep = expf(old - now);
        *sum = *sum * keep + more;
        scale_row(out, d_v, keep);
    }
}

/* What hides keys of a block from a row: those outside begin .. end and, with bias, those where it is -inf. */
typedef struct row_mask {
    const float *bias; /* NULL or the additive mask */
    size_t n;          /* of bias */
    int begin, end;
} row_mask;

INLINE row_mask mask_of(const tfm_head *h, size_t i, size_t j)
{
    const range seen = visible(h, i);
    const size_t begin = seen.begin < j ? 0 : at_most(seen.begin - j, KEYS);
    const size_t end = seen.end < j ? 0 : at_most(seen.end - j, KEYS);

    return (row_mask){h->mask ? h->mask + i * h->n + j : NULL, h->n - j, (int)begin, (int)end};
}

/* x = scores c .. c + 8 of the row, hidden ones -inf whatever they were. */
INLINE void hide(v8 *x, const row_mask *m, size_t c)
{
    const v8 hidden = splat(-INFINITY);
    const i8 key = (i8){0, 1, 2, 3, 4, 5, 6, 7} + (int)c;

    if (m->bias) {
        v8 bias;
        load_part(&bias, m->bias + c, at_most(m->n - c, 8));
        *x = SELECT(bias == hidden, hidden, *x + bias);
    }
    if ((int)c < m->begin || (int)c + 8 > m->end) *x = SELECT((key >= m->begin) & (key < m->end), *x, hidden);
}

/* x = x * mask / (1 - P) for the block's weights. Rows of the mask are padded to a multiple of 8 elements. */
INLINE void drop_block(const work *w, float *x, size_t i, size_t rows, size_t j, size_t cols)
{
    const tfm_head *h = w->h;
    const size_t row = pad8(h->n);
    const uint64_t first = h->first + i * row + j;

    if (row == w->width) { /* one block holds all keys: the rows of the mask lie end to end there too */
        TWIN(tfm_dropout)(x, x, rows * row, &h->dropout, 0, first);
        return;
    }
    for (size_t r = 0; r < rows; r++, x += w->width) TWIN(tfm_dropout)(x, x, cols, &h->dropout, 0, first + r * row);
}

#endif
