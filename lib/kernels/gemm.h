/* Matrix products over packed panels; the blocking and the split over threads. */
#ifndef TFM_GEMM_H
#define TFM_GEMM_H

#include "base/threads.h"
#include "kernels/panels.h"

/*
 * c = a b (+ c), then the epilogue; element (i, p) of a stands at a[i * a_row + p * a_col], b likewise [k][n]. k == 0
 * leaves c as it is. With packed weights W, b is W^T; of int8 weights, a is given quantised and add is not possible.
 */
typedef struct tfm_gemm {
    size_t m, n, k;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t b_row, b_col;
    const tfm_panels *panels;   /* NULL, or instead of b                         */
    size_t first;               /* row of their W that makes column 0 of c: a multiple of TFM_PACK_UNIT */
    const int8_t *a8;           /* [m][k rounded up to 4], with the twin's offset */
    const float *a_scale;       /* [m]                                           */
    float *c;
    size_t c_row;
    bool add;
    bool bf16;                  /* operands are rounded to bfloat16              */
    const float *bias;          /* [n], or NULL                                  */
    bool relu;
    const tfm_dropout *dropout; /* after the ReLU, row i, element j; or NULL      */
} tfm_gemm;

/* Floats of scratch per thread. */
enum { TFM_GEMM_SCRATCH = (96 + 1024) * TFM_KC };

/* The bits of c depend on neither the threads nor m nor n: each element is summed over k in blocks of
 * tfm_block_terms(), in order. */
void tfm_gemm_run(const tfm_kernels *kernels, tfm_pool *pool, float *scratch, const tfm_gemm *gemm);

#endif
