/* Packing of weights, and rows of them back. */
#include "kernels/panels.h"

#include <math.h>

static const tfm_product *product_of(const tfm_panels *panels, const tfm_kernels *kernels)
{
    return panels->dtype == TFM_DTYPE_BF16 ? &kernels->bf16 : &kernels->f32;
}

static size_t padded(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* n and k are those of a checked configuration: their sums fit. */
void tfm_panels_place(tfm_panels *p, const tfm_kernels *kernels, tfm_arena *arena)
{
    const tfm_product *how = product_of(p, kernels);
    const size_t n = padded(p->n, TFM_PACK_UNIT);

    if (p->dtype == TFM_DTYPE_INT8) {
        p->values = (int8_t *)tfm_arena_take(arena, n, padded(p->k, TFM_I8_DEPTH));
        p->scale = tfm_arena_floats(arena, n, 1);
        p->sum = (int32_t *)tfm_arena_take(arena, n, sizeof *p->sum);
    } else {
        const size_t depth = tfm_block_terms(how, p->k), blocks = depth ? p->k / depth : 0;
        p->floats = tfm_arena_floats(arena, n, blocks * tfm_items(how, depth) + tfm_items(how, p->k - blocks * depth));
    }
}

/* Row j of the panels stands for w; rows that do not exist are zero. row has room for the values of one. */
static void quantise(const tfm_panels *p, const tfm_kernels *kernels, const float *w, size_t j, int8_t *row)
{
    const size_t items = padded(p->k, TFM_I8_DEPTH) / TFM_I8_DEPTH, step = TFM_I8_COLS * TFM_I8_DEPTH;
    int8_t *to = p->values + j / TFM_I8_COLS * items * step + j % TFM_I8_COLS * TFM_I8_DEPTH;
    int32_t sum = 0;

    p->scale[j] = 0.0f;
    memset(row, 0, items * TFM_I8_DEPTH);
    if (w) kernels->i8_quantize(row, p->scale + j, w, p->k, 0);
    for (size_t i = 0; i < items; i++) memcpy(to + i * step, row + i * TFM_I8_DEPTH, TFM_I8_DEPTH);
    for (size_t i = 0; i < items * TFM_I8_DEPTH; i++) sum += row[i];
    p->sum[j] = sum;
}

const float *tfm_panels_at(const tfm_panels *p, const tfm_product *how, size_t n, size_t k)
{
    const size_t depth = tfm_block_terms(how, p->k), terms = p->k - k < depth ? p->k - k : depth;

    return p->floats + k / depth * tfm_items(how, depth) * padded(p->n, TFM_PACK_UNIT) + n * tfm_items(how, terms);
}

void tfm_panels_fill(const tfm_panels *p, const tfm_kernels *kernels, const float *w, size_t begin, size_t end,
                     void *scratch)
{
    const tfm_product *how = product_of(p, kernels);
    const size_t depth = tfm_block_terms(how, p->k);

    if (p->dtype == TFM_DTYPE_INT8) {
        for (size_t j = begin; j < padded(end, TFM_PACK_UNIT); j++)
            quantise(p, kernels, j < p->n ? w + j * p->k : NULL, j, scratch);
        return;
    }
    for (size_t t = 0; t < p->k; t += depth)
        how->pack_b((float *)tfm_panels_at(p, how, begin, t), w + begin * p->k + t, 1, p->k,
                    p->k - t < depth ? p->k - t : depth, end - begin);
}

static void row_of_panels(float *to, const tfm_panels *p, const tfm_product *how, size_t r)
{
    const size_t depth = tfm_block_terms(how, p->k);

    for (size_t t = 0; t < p->k; t++) {
        const float *item = tfm_panels_at(p, how, r / how->nr * how->nr, t - t % depth) +
                            t % depth / how->terms * how->nr + r % how->nr;
        uint32_t bits;

        if (how->terms == 1) {
            to[t] = *item;
            continue;
        }
        memcpy(&bits, item, sizeof bits);
        bits = t % 2 ? bits & 0xFFFF0000u : bits << 16;
        memcpy(to + t, &bits, sizeof bits);
    }
}

void tfm_panels_row(float *to, const tfm_panels *p, const tfm_kernels *kernels, size_t r)
{
    const size_t items = padded(p->k, TFM_I8_DEPTH) / TFM_I8_DEPTH, step = TFM_I8_COLS * TFM_I8_DEPTH;
    const int8_t *from;

    if (p->dtype != TFM_DTYPE_INT8) {
        row_of_panels(to, p, product_of(p, kernels), r);
        return;
    }
    from = p->values + r / TFM_I8_COLS * items * step + r % TFM_I8_COLS * TFM_I8_DEPTH;
    for (size_t t = 0; t < p->k; t++) to[t] = (float)from[t / TFM_I8_DEPTH * step + t % TFM_I8_DEPTH] * p->scale[r];
}
