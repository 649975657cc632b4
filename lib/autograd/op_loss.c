/* Output projection, softmax and label-smoothed cross-entropy (3.4, 5.4; PAPER 1.7), in chunks of rows. */
#include "autograd/ops.h"
#include "kernels/gemm.h"

/* Logits that exist at a time: as many rows as fit CHUNK_FLOATS, from 64 to 512. why so many: each chunk reads all of E
 * twice and reads and writes all of dE. why no more: the logits are written or read five times. */
enum { CHUNK_FLOATS = 1 << 24, CHUNK_LEAST = 64, CHUNK_MOST = 512, PIECE = 8 };

typedef struct chunk {
    const tfm_run *run;
    const tfm_loss *loss;
    size_t first; /* row of the batch */
    float *logits;
    double *row_loss, *row_nll; /* of this chunk */
    bool gradient;
} chunk;

/* The smoothed distribution: on the label q_label in all, on every other id base. */
static void smoothed(const tfm_loss *l, double *q_label, double *base)
{
    const double eps = (double)l->smoothing, vocab = (double)l->output->out;

    *base = l->uniform ? eps / vocab : eps / (vocab - 1.0);
    *q_label = l->uniform ? 1.0 - eps + eps / vocab : 1.0 - eps;
}

/* -sum q log p = lse - sum q z, because q sums to 1; gradient p - q. */
static void loss_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const chunk *c = args;
    const tfm_kernels *kernels = c->run->kernels;
    const size_t vocab = c->loss->output->out;
    double q_label, base, sum, total = 1.0;
    (void)thread;

    smoothed(c->loss, &q_label, &base);
    for (size_t r = begin; r < end; r++) {
        float *z = c->logits + r * vocab;
        const size_t label = (size_t)c->loss->labels[c->first + r];
        const double z_label = (double)z[label];
        const float lse =
            c->gradient ? kernels->exponentials(z, vocab, &sum, &total) : kernels->log_sum_exp(z, vocab, &sum);

        c->row_nll[r] = (double)lse - z_label;
        c->row_loss[r] = (double)lse - q_label * z_label - base * (sum - z_label);
        if (c->loss->logprobs) c->loss->logprobs[c->first + r] = (float)(z_label - (double)lse);
        if (!c->gradient) continue;
        kernels->scale_less(z, vocab, (float)(1.0 / total), (float)base);
        z[label] -= (float)(q_label - base);
    }
}

typedef struct bias_args {
    const chunk *c;
    float *db;
    size_t rows, cols;
} bias_args;

static void bias_columns(const void *args, size_t begin, size_t end, size_t thread)
{
    const bias_args *a = args;
    (void)thread;
    a->c->run->kernels->add_rows(a->db + begin, a->c->logits + begin, a->cols, a->rows, end - begin);
}

/* dx = dz E, dE += dz^T x, db += column sums of dz. */
static void chunk_gradients(tfm_run *run, const chunk *c, tfm_value *x, float *dx, size_t rows)
{
    const tfm_linear *w = c->loss->output;
    const bias_args b = {c, w->d_bias, rows, w->out};

    tfm_run_product(run, &(tfm_gemm){
        .m = rows, .n = w->in, .k = w->out,
        .a = c->logits, .a_row = w->out, .a_col = 1, .b = w->weight, .b_row = w->in, .b_col = 1,
        .c = dx + c->first * w->in, .c_row = w->in,
    });
    tfm_run_product(run, &(tfm_gemm){
        .m = w->out, .n = w->in, .k = rows,
        .a = c->logits, .a_row = 1, .a_col = w->out, .b = x->data + c->first * w->in, .b_row = w->in, .b_col = 1,
        .c = w->d_weight, .c_row = w->in, .add = true,
    });
    if (w->d_bias) tfm_run_rows(run, bias_columns, &b, w->out, 256);
}

static void run_chunk(tfm_run *run, chunk *c, tfm_value *x, float *dx, size_t rows)
{
    const tfm_linear *w = c->loss->output;

    tfm_linear_product(run, c->logits, x->data + c->first * w->in, rows, w, false, NULL);
    tfm_run_rows(run, loss_rows, c, rows, PIECE);
    if (c->gradient) chunk_gradients(run, c, x, dx, rows);
}

void tfm_op_loss(tfm_run *run, tfm_value *x, const tfm_loss *loss)
{
    const size_t vocab = loss->output->out, fit = CHUNK_FLOATS / vocab;
    const size_t most = fit < CHUNK_LEAST ? CHUNK_LEAST : fit > CHUNK_MOST ? CHUNK_MOST : fit;
    const size_t room = x->rows < most ? x->rows : most; /* of a batch with more rows, never less */
    const size_t n_chunks = (x->rows + most - 1) / most, size = n_chunks ? (x->rows + n_chunks - 1) / n_chunks : 0;
    bool fresh;
    float *dx = run->recording ? tfm_grad_take(run, x, &fresh) : NULL; /* the loss is x's only consumer */
    const size_t used = run->arena.used;
    chunk c = {.run = run, .loss = loss, .gradient = run->recording};

    tfm_run_enter(run, TFM_WORK_LOSS, (c.gradient ? 6.0 : 2.0) * (double)x->rows * (double)x->cols * (double)vocab);
    c.logits = tfm_arena_floats(&run->arena, room, vocab);
    c.row_loss = tfm_arena_take(&run->arena, room, sizeof(double));
    c.row_nll = tfm_arena_take(&run->arena, room, sizeof(double));
    if (tfm_run_measuring(run)) {
        tfm_linear_product(run, c.logits, x->data, room, loss->output, false, NULL);
        run->arena.used = used;
        return;
    }
    *loss->loss = *loss->nll = 0.0;
    for (; c.first < x->rows; c.first += size) {
        const size_t rows = x->rows - c.first < size ? x->rows - c.first : size;
        run_chunk(run, &c, x, dx, rows);
        for (size_t r = 0; r < rows; r++) {
            *loss->loss += c.row_loss[r];
            *loss->nll += c.row_nll[r];
        }
    }
    run->arena.used = used;
}
