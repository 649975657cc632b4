/*
 * The operations of the model. Each writes its output value, and its backward adds to the gradients of its inputs and
 * of its weights. Output first; weights are lent; float32.
 */
#ifndef TFM_OPS_H
#define TFM_OPS_H

#include "autograd/run.h"

/* y = x W^T + b. weight [out][in]; bias NULL or [out]; gradients NULL outside training, else added to. */
typedef struct tfm_linear {
    const float *weight, *bias;
    float *d_weight, *d_bias;
    size_t out, in;
    const tfm_panels *panels; /* NULL, or the weights as inference reads them: weight is not used then */
} tfm_linear;

typedef struct tfm_norm {
    const float *gamma, *beta; /* [d] */
    float *d_gamma, *d_beta;
    size_t d;
    float eps;
} tfm_norm;

/* Embedding of ids and their positions, 3.4 and 3.5: y = dropout(scale E[id] + PE(offset + position)). */
typedef struct tfm_embed {
    const float *table; /* [vocab][d] */
    float *d_table;
    const float *position; /* [>= longest + offset][d]: row of position p stands at p * d */
    float *d_position;     /* learned positions only */
    size_t d;
    float scale;           /* sqrt(d), or 1 */
    const int32_t *ids;    /* one per row; < 0: the zero vector (the start of tensor2tensor) */
    const uint32_t *positions; /* one per row */
    float rate;            /* dropout */
    uint32_t site;
    const tfm_panels *panels; /* NULL, or the table as inference reads it */
} tfm_embed;

void tfm_op_embed(tfm_run *run, tfm_value *y, const tfm_embed *embed);

/* y = x W^T + b (3.2.2); with relu: max(0, .), then dropout (3.3). */
void tfm_op_linear(tfm_run *run, tfm_value *y, tfm_value *x, const tfm_linear *w, bool relu, float rate, uint32_t site);

/* y = dropout(f(x)), f one of TFM_ACTIVATION_* but ReLU, or nothing; x has no other consumer. y may lie over x when
 * nothing records. */
enum { TFM_NO_ACTIVATION = 255 };
void tfm_op_activate(tfm_run *run, tfm_value *y, tfm_value *x, uint32_t activation, float rate, uint32_t site);

/* The product of a linear layer by itself, for operations that hold one: y [rows][out] of x [rows][in]. dropout may be
 * NULL. */
void tfm_linear_product(tfm_run *run, float *y, const float *x, size_t rows, const tfm_linear *w, bool relu,
                        const tfm_dropout *dropout);

/*
 * y = x W^T + b where y is too large to be kept: strips of its columns are made one after the other and used at once,
 * by several threads. Strips begin at multiples of TFM_STRIP_UNIT columns. Inference only; x has rows.
 */
enum { TFM_STRIP_UNIT = 1024 };
typedef struct tfm_strip {
    float *y; /* [rows][cols]; use may change it */
    size_t cols, first_row, first_col;
} tfm_strip;
/* Rows begin .. end of the strip: first_row + begin and so on of y. */
typedef void tfm_strip_fn(const void *args, const tfm_strip *strip, size_t begin, size_t end);
void tfm_op_linear_strips(tfm_run *run, tfm_value *x, const tfm_linear *w, tfm_strip_fn *use, const void *args);

/*
 * Sub-layer connection (3.1): sum = x + dropout(s), y = LN(sum). Post-norm goes on with y alone, pre-norm with both.
 * s NULL: only the norm of x (pass sum == x). y NULL (and norm NULL): only the sum. sum may lie over s.
 */
void tfm_op_add_norm(tfm_run *run, tfm_value *sum, tfm_value *y, tfm_value *x, tfm_value *s, const tfm_norm *norm,
                     float rate, uint32_t site);

/* Multi-head attention between packed sequences (3.2): y [rows of q][h * d_v]. */
typedef struct tfm_attend {
    tfm_value *q;         /* head i: columns q_column + i * d_k                                     */
    tfm_value *kv;        /* head i: k_column + i * d_k, v_column + i * d_v; may be q's value (self) */
    size_t q_column, k_column, v_column;
    size_t n_heads, d_k, d_v;
    tfm_segments queries, keys; /* equal n; segment s of queries looks at segment s of keys        */
    const uint32_t *key_rows;   /* NULL, or keys are indices into it: row key_rows[offset + j] of kv (inference) */
    bool causal;
    float rate;           /* dropout of the weights */
    uint32_t site;
    float *weights;       /* NULL, or of each sequence [n_heads][m][n]                 */
    const size_t *weights_at; /* where in weights those of a sequence begin; NULL: one, at 0 */
} tfm_attend;

void tfm_op_attention(tfm_run *run, tfm_value *y, const tfm_attend *attend);

/* Output projection and cross-entropy, in chunks of rows: no more logits than one chunk exist at any time. */
typedef struct tfm_loss {
    const tfm_linear *output;
    const int32_t *labels;  /* one per row */
    float smoothing;        /* eps_ls */
    bool uniform;           /* TFM_SMOOTHING_UNIFORM */
    float *logprobs;        /* NULL, or one per row: log p(label) */
    double *loss, *nll;     /* sums over rows, written when the operation runs */
} tfm_loss;

/* While recording, the gradients of the sum of the smoothed losses are made here and now. */
void tfm_op_loss(tfm_run *run, tfm_value *x, const tfm_loss *loss);

#endif
