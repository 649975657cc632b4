/*
 * Inner loops on raw floats. Nothing here allocates or knows about threads. Every source of this folder that defines
 * TWIN() functions is compiled once for any CPU ("ref") and for each set of instructions that serves it ("avx2" to
 * "amx"); the table is chosen at run time. Sums have one fixed order per output element: a row's result does not depend on how many rows there are.
 */
#ifndef TFM_KERNELS_H
#define TFM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TFM_LANES = 8,    /* floats summed side by side                                */
    TFM_KC = 336,     /* k is summed in blocks of at most this many: a multiple of 4 */
    TFM_I8_COLS = 16, /* columns of an int8 panel, and terms of an item */
    TFM_I8_DEPTH = 4,
    TFM_SUM_BLOCK = 1024, /* logits whose exponentials are summed in float          */
    TFM_ATTENTION_QUERIES = 32, /* a block of attention scores: 8 KiB             */
    TFM_ATTENTION_KEYS = 64,
};

/*
 * Where the masks of dropout come from. Each row of a site has random numbers of its own, whatever batch or piece of a
 * batch it is worked off in. 64 elements of a row use eight blocks of Philox4x32-7: block b of group g has the counter
 * {8 g + b, first_row + row, site, batch}, and element 64 g + 32 p + 16 h + 2 b + s uses half h (0: low) of its word 2
 * p + 1 - s. An element is dropped when that half, as a signed number, is below threshold - 32768. Elements 2^35 apart
 * are equal.
 */
typedef struct tfm_dropout {
    uint32_t key[2];    /* the seed                                             */
    uint32_t batch;     /* number of the batch in the whole training            */
    uint32_t site;      /* which dropout of the model                           */
    uint32_t first_row; /* rows of the batch before row 0                       */
    uint32_t threshold; /* P_drop * 65536, rounded; 0: nothing is dropped       */
    float scale;        /* 1 / (1 - threshold / 65536)                          */
} tfm_dropout;

/* One head of attention over one sequence. Strides are between rows, in floats. */
typedef struct tfm_head {
    const float *q, *k, *v;
    size_t q_stride, k_stride, v_stride;
    size_t m, n, d_k, d_v;     /* queries, keys */
    const uint32_t *key_rows;  /* NULL: key j is row j; else row key_rows[j] of k and v (a cache) */
    float scale;               /* 1 / sqrt(d_k) */
    int64_t shift;             /* query i stands at key i + n - m + shift */
    size_t hidden;             /* this many keys at the end are never seen */
    bool causal;               /* a query sees keys up to where it stands */
    size_t window;             /* 0: none; else keys at most this far from where it stands */
    const float *mask;         /* NULL, or [m][n] added to the scaled scores */
    tfm_dropout dropout; /* of the weights: row 0, element first + i * w + j, w = n rounded up to a multiple of 8 */
    uint64_t first;            /* multiple of 8 */
    float *out;                /* [m][d_v] */
    size_t out_stride;
    float *stats;              /* [m][2] largest score, 1 / sum of exponentials, for the backward pass; may be NULL */
    float *weights;            /* [m][n], before dropout; may be NULL */
    /* backward only */
    const float *d_out;        /* as out */
    float *dq, *dk, *dv;       /* as q, k, v; overwritten */
} tfm_head;

/*
 * How an instruction set multiplies: blocks of register tiles, and the packing that feeds them. An item of a panel is
 * 32 bits: a float, or two bfloat16 that stand one above the other in k (the last one alone: with a zero).
 */
typedef struct tfm_product {
    size_t mr, nr;     /* rows and columns of the tile                     */
    size_t terms;      /* of the sum over k in one item: 1 or 2            */
    size_t unit;       /* a line of a panel is zero-padded to a multiple of so many items */
    bool takes_rows;   /* the tile can read rows of a that were not packed */
    /* c[rows][cols] = or += a b over n_items, in order; rows and cols from 1. a: panels, or, with a_row, rows that far
     * apart. */
    void (*block)(float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, size_t rows,
                  size_t cols, bool add);
    /* a[m][k] with strides into panels as the tile reads them, mr tfm_items(k) floats apart; k <= TFM_KC. */
    void (*pack_a)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k);
    /* b[k][n] with strides into panels [n / nr][items][nr], zero-padded. */
    void (*pack_b)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n);
} tfm_product;

/* Items of a line of k terms. */
static inline size_t tfm_items(const tfm_product *how, size_t k)
{
    const size_t terms = how->terms * how->unit;
    return (k + terms - 1) / terms * how->unit;
}

/* 16 columns of int8 weights: values [n_items][16][4], zero beyond k; W is values * scale. */
typedef struct tfm_i8_panel {
    const int8_t *values;
    const float *scale; /* [16]                  */
    const int32_t *sum; /* [16] sums of the values */
} tfm_i8_panel;

typedef struct tfm_kernels {
    const char *twin; /* "ref", "avx2", "avx512", "vnni", "bf16", "amx" */

    tfm_product f32;  /* float32 operands */
    tfm_product bf16; /* operands rounded to bfloat16, to nearest even; sums in float32 */

    int32_t i8_offset; /* of activations, for instructions that take unsigned ones: 0 or 128 */
    /*
     * A row as int8: to[k rounded up to 4] = x / scale to nearest even, plus offset; scale = max |x| / 127.
     * edge: a row with nothing above 1e-30 is zero; where a value is not finite, scale is NaN.
     */
    void (*i8_quantize)(int8_t *to, float *scale, const float *x, size_t k, int32_t offset);
    /* c[rows][cols] = a b scale[row] b->scale[col] over items of 4 terms; the sums are exact up to 2^17 terms.
     * cols <= 16. */
    void (*i8_product)(float *c, size_t ldc, const int8_t *a, size_t a_row, const float *scale, const tfm_i8_panel *b,
                       size_t n_items, size_t rows, size_t cols);

    /* y += bias, then ReLU (NaN stays NaN), then dropout of elements first .. first + n of a row. bias may be NULL. */
    void (*bias_relu)(float *y, const float *bias, size_t n, bool relu, const tfm_dropout *dropout, uint32_t row,
                      uint64_t first);
    /* dy = y > 0 ? dy * scale : 0: backward of ReLU and the dropout after it. */
    void (*relu_backward)(float *dy, const float *y, size_t n, float scale);
    /*
     * y = f(x), x == y allowed, and dy becomes dy f'(x); kind: TFM_ACTIVATION_*, but for ReLU.
     * error: |y - exact| <= |x| 2e-7; of f' below 3e-6.
     */
    void (*activate)(float *y, const float *x, size_t n, uint32_t kind);
    void (*activate_backward)(float *dy, const float *x, size_t n, uint32_t kind);
    /* y = x * mask / (1 - P), elements first .. first + n of a row; first is a multiple of 8; x == y allowed. */
    void (*dropout)(float *y, const float *x, size_t n, const tfm_dropout *dropout, uint32_t row, uint64_t first);
    /* y = x + s * mask / (1 - P), the first n elements of a row; y may be x or s. */
    void (*add_dropped)(float *y, const float *x, const float *s, size_t n, const tfm_dropout *dropout, uint32_t row);
    void (*add)(float *y, const float *x, size_t n);             /* y += x         */
    /* y += each row of x, from the first to the last; x [rows][n], rows stride apart. */
    void (*add_rows)(float *y, const float *x, size_t stride, size_t rows, size_t n);
    void (*axpby)(float *y, float a, const float *x, float b, size_t n); /* y = a x + b y */
    double (*sum_squares)(const float *x, size_t n);

    /* y = gamma (x - mean) / sqrt(var + eps) + beta over d; biased variance; stats[2] = mean, 1 / sqrt(var + eps). */
    void (*layer_norm)(float *y, float *stats, const float *x, const float *gamma, const float *beta, size_t d,
                       float eps);
    /* dx = or += gradient of a row (= with dx == dy allowed); d_gamma += dy xhat, d_beta += dy. */
    void (*layer_norm_backward)(float *dx, bool add, const float *dy, const float *x, const float *stats,
                                const float *gamma, size_t d, float *d_gamma, float *d_beta);

    void (*attention)(const tfm_head *head, float *scratch);          /* scratch: tfm_attention_scratch() floats */
    void (*attention_backward)(const tfm_head *head, float *scratch);

    /* log-sum-exp of a row; *sum receives the plain sum of the row. */
    float (*log_sum_exp)(const float *z, size_t n, double *sum);
    /* The same, and z becomes exp(z - its maximum), *total the sum of that: softmax is z / total. */
    float (*exponentials)(float *z, size_t n, double *sum, double *total);
    /* Sum of exp(z - max) over n <= TFM_SUM_BLOCK logits, *max their maximum, or -inf; NaN counts in the sum alone. */
    double (*exp_sum)(const float *z, size_t n, float *max);
    /* Index of the first of n floats that is above least, or n. */
    size_t (*first_above)(const float *z, size_t n, float least);
    void (*scale_less)(float *z, size_t n, float scale, float less); /* z = scale z - less */
    /*
     * y = log(exp(y - y_less) + exp(x - x_less)): -inf where both are, NaN where one is.
     * error: |y - exact| <= (|y - y_less| + |x - x_less| + |y| + 4) 2^-24.
     */
    void (*log_add)(float *y, float y_less, const float *x, float x_less, size_t n);

    /* One Adam update of n weights: g is scaled by g_scale first; rate already holds the bias corrections. */
    void (*adam)(float *w, float *m, float *v, const float *g, size_t n, float g_scale, float rate, float beta1,
                 float beta2, float eps);
} tfm_kernels;

enum {
    TFM_CPU_AVX2 = 1u << 0,        /* AVX2 and FMA         */
    TFM_CPU_AVX512 = 1u << 1,      /* and AVX-512 F, BW, DQ, VL */
    TFM_CPU_VNNI = 1u << 2,        /* and AVX-512 VNNI     */
    TFM_CPU_BF16 = 1u << 3,        /* and AVX-512 BF16     */
    TFM_CPU_AMX = 1u << 4,         /* and AMX for bfloat16 and int8, which the system lets this process use */
};

/* What this CPU has. narrow: bfloat16 or int8 will be multiplied, for which the system is asked, once in the life of
 * the process, to let it use AMX; the answer stays, as panels of bfloat16 fit no other kernels. */
unsigned tfm_cpu_flags(bool narrow);

/* The best table for these flags. Tests pass 0. Static storage. */
const tfm_kernels *tfm_kernels_for(unsigned cpu_flags);

/* Floats of scratch that one call of attention (or its backward) with n keys needs. false: does not fit a size_t. */
bool tfm_attention_scratch(size_t *floats, size_t n, size_t d_k, size_t d_v, bool backward);

#endif
