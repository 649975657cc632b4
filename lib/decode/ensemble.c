/* The mean of several models' probabilities, as logits. */
#include "decode/ensemble.h"

enum { BLOCK_FLOATS = 1 << 22 }; /* logits of a member that exist at a time, unless one row has more */

/* Rows of logits: of one member, and in the strip those of the members before it together. */
typedef struct mixture {
    const tfm_run *run;
    const tfm_member *members;
    size_t n, i; /* the member, of so many */
    float *logits;
    tfm_strip strip;
    tfm_strip_fn *use;
    const void *args;
} mixture;

/* What turns logits into log-probabilities, and weighs these. */
static float less(const mixture *m, size_t i, const float *logits)
{
    double sum;

    return m->run->kernels->log_sum_exp(logits, m->strip.cols, &sum) - m->members[i].log_weight;
}

static void mix_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const mixture *m = args;
    (void)thread;

    for (size_t r = begin; r < end; r++) {
        float *y = m->strip.y + r * m->strip.cols;
        const float *x = m->logits + r * m->strip.cols;
        m->run->kernels->log_add(y, m->i == 1 ? less(m, 0, y) : 0.0f, x, less(m, m->i, x), m->strip.cols);
    }
    if (m->i + 1 == m->n) m->use(m->args, &m->strip, begin, end);
}

/* Rows of the strip, from all members. */
static void mix_block(tfm_run *run, mixture *m, tfm_value *const *hidden, size_t rows)
{
    for (m->i = 0; m->i < m->n; m->i++) {
        const tfm_linear *w = &m->members[m->i].transformer.weights->output;
        const float *x = hidden[m->i]->data + m->strip.first_row * w->in;
        tfm_run_enter(run, TFM_WORK_LINEAR, 2.0 * (double)rows * (double)w->in * (double)w->out);
        tfm_linear_product(run, m->i ? m->logits : m->strip.y, x, rows, w, false, NULL);
        tfm_run_enter(run, TFM_WORK_CHOICE, 0.0);
        if (m->i) tfm_run_rows(run, mix_rows, m, rows, 1 + 8 * TFM_STRIP_UNIT / w->out);
    }
}

void tfm_ensemble_logits(tfm_run *run, const tfm_member *members, size_t n, tfm_value *const *hidden, tfm_strip_fn *use,
                         const void *args)
{
    if (n == 1) {
        tfm_forward_logits(run, &members->transformer, hidden[0], use, args);
        return;
    }
    const size_t vocab = members->transformer.weights->output.out, fit = BLOCK_FLOATS / vocab;
    const size_t rows = hidden[0]->rows, used = run->arena.used, most = fit < 1 ? 1 : fit < rows ? fit : rows;
    const size_t end = tfm_run_measuring(run) ? most : rows; /* no block needs more room than the first */
    mixture m = {.run = run, .members = members, .n = n, .use = use, .args = args};

    m.strip = (tfm_strip){.y = tfm_arena_floats(&run->arena, most, vocab), .cols = vocab};
    m.logits = tfm_arena_floats(&run->arena, most, vocab);
    for (; m.strip.first_row < end; m.strip.first_row += most)
        mix_block(run, &m, hidden, end - m.strip.first_row < most ? end - m.strip.first_row : most);
    run->arena.used = used;
}

void tfm_ensemble_add(const tfm_run *run, const tfm_member *members, size_t i, float *y, const float *x, size_t n)
{
    if (tfm_run_measuring(run)) return;
    run->kernels->log_add(y, i == 1 ? -members[0].log_weight : 0.0f, x, -members[i].log_weight, n);
}
