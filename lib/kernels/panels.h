/* Weights packed once, into the panels that the products of inference read. */
#ifndef TFM_PANELS_H
#define TFM_PANELS_H

#include "base/base.h"
#include "kernels/kernels.h"

/*
 * The weights W [n][k] of y = x W^T. float32 and bfloat16: the panels of tfm_product for each block of terms of the sum
 * over k, one after the other; they are for one twin. int8: values [n / 16][k / 4][16][4], row n of W being values *
 * scale[n]; the same for every CPU.
 */
typedef struct tfm_panels {
    uint32_t dtype; /* TFM_DTYPE_* */
    size_t n, k;
    float *floats;
    int8_t *values;
    float *scale;
    int32_t *sum; /* of the values of each row, for twins whose activations are unsigned */
} tfm_panels;

enum { TFM_PACK_UNIT = 32 }; /* rows of W that are packed together: a multiple of every panel's width */

/* Terms of a block of a sum over k, in which the last one may have fewer: blocks are about equal, so that none is
 * hardly worth its pass over c. */
static inline size_t tfm_block_terms(const tfm_product *how, size_t k)
{
    const size_t line = how->terms * how->unit, unit = line > 4 ? line : 4, most = TFM_KC / unit * unit;
    const size_t blocks = (k + most - 1) / most;
    return blocks ? ((k + blocks - 1) / blocks + unit - 1) / unit * unit : 0;
}

/* Takes room from arena, or only measures it. dtype, n and k are set. */
void tfm_panels_place(tfm_panels *panels, const tfm_kernels *kernels, tfm_arena *arena);
/* Packs rows begin .. end of w; begin is a multiple of TFM_PACK_UNIT, end too unless it is n. scratch: k + 3 bytes. */
void tfm_panels_fill(const tfm_panels *panels, const tfm_kernels *kernels, const float *w, size_t begin, size_t end,
                     void *scratch);
/* The panels of float32 or bfloat16 from row n of W on (a multiple of the panels' width), in the block of terms that
 * begins at k. */
const float *tfm_panels_at(const tfm_panels *panels, const tfm_product *how, size_t n, size_t k);
/* Row r of W, as the products see it: to [k]. */
void tfm_panels_row(float *to, const tfm_panels *panels, const tfm_kernels *kernels, size_t r);

#endif
