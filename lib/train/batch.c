/* Forward and backward over one batch, in pieces that fit in memory. */
#include "train/batch.h"

/* A phase of a step of training begins; validation is one phase of its own. */
static void enter(tfm_training *t, tfm_work phase)
{
    if (t->run.training) tfm_profile_phase(&t->profile, phase);
}

/* Forward, and backward when the run records. */
static void pass(tfm_training *t, const tfm_packed *p, double *loss, double *nll)
{
    const size_t d = t->weights.options.d_model;
    const tfm_tokens source = {{p->n_pairs, p->source_offset}, p->source, p->source_positions};
    const tfm_tokens target = {{p->n_pairs, p->target_offset}, p->inputs, p->target_positions};
    tfm_run *run = &t->run;
    tfm_value *memory = tfm_value_new(run, p->n_source, d), *hidden = tfm_value_new(run, p->n_target, d);

    tfm_forward_encoder(run, memory, &t->transformer, &source);
    tfm_forward_decoder(run, hidden, &t->transformer, memory, &source.segments, &target);
    tfm_op_loss(run, hidden, &(tfm_loss){.output = &t->weights.output,
                                         .labels = p->labels,
                                         .smoothing = run->recording ? t->options->label_smoothing : 0.0f,
                                         .uniform = t->options->smoothing == TFM_SMOOTHING_UNIFORM,
                                         .loss = loss,
                                         .nll = nll});
    if (!run->recording) return;
    if (!tfm_run_measuring(run)) enter(t, TFM_WORK_BACKWARD);
    tfm_run_backward(run);
}

/* Measured, then run: what was reserved for the largest piece is not outgrown. */
static tfm_status run_piece(tfm_training *t, tfm_sums *sums, tfm_error *error)
{
    const tfm_packed *p = &t->packed;
    tfm_run *run = &t->run;
    double loss = 0.0, nll = 0.0;

    enter(t, TFM_WORK_PLAN);
    tfm_run_measure(run, run->training);
    pass(t, p, &loss, &nll);
    if (run->bad || run->arena.bad || !tfm_run_place(run, run->arena.peak, run->training))
        return tfm_fail(error, TFM_E_NOMEM,
                        "a batch of %zu + %zu tokens needs %zu bytes: set memory, or lower batch_tokens", p->n_source,
                        p->n_target, run->arena.peak);
    enter(t, TFM_WORK_FORWARD);
    pass(t, p, &loss, &nll);
    tfm_profile_operation(&t->profile, TFM_WORK_NONE, 0.0);
    sums->loss += loss;
    sums->nll += nll;
    sums->source_tokens += (double)p->n_source;
    sums->target_tokens += (double)p->n_target;
    return TFM_OK;
}

tfm_status tfm_batch_run(tfm_training *t, const tfm_dataset *data, const tfm_batches *b, size_t batch, bool training,
                         tfm_sums *sums, tfm_error *error)
{
    const int32_t start = tfm_config_start(&t->weights.options);
    const size_t end = b->start[batch + 1];
    tfm_run *run = &t->run;
    tfm_status status = TFM_OK;

    run->training = training;
    run->profile = training ? &t->profile : NULL;
    run->bf16 = training && t->options->dtype == TFM_DTYPE_BF16;
    run->first_row[0] = run->first_row[1] = 0;
    for (size_t first = b->start[batch], last; first < end && status == TFM_OK; first = last) {
        last = tfm_dataset_run(data, b->order, first, end, t->piece_tokens);
        enter(t, TFM_WORK_BATCH);
        tfm_packed_fill(&t->packed, data, b->order + first, last - first, start);
        status = run_piece(t, sums, error);
        run->first_row[0] += (uint32_t)t->packed.n_source;
        run->first_row[1] += (uint32_t)t->packed.n_target;
    }
    return status;
}

/* Sequences as long as they come, as many as there may be: the last ones are empty. */
static void fill_offsets(size_t *offset, size_t tokens, const tfm_extent *e)
{
    for (size_t i = 0; i <= e->pairs; i++) offset[i] = i < tokens / e->longest + 1 ? i * e->longest : tokens;
}

/* The arena's peak for so many tokens; SIZE_MAX: does not fit. */
static size_t measure(tfm_training *t, const tfm_extent *e, tfm_packed *p, size_t source, size_t target)
{
    double loss, nll;

    p->n_source = source;
    p->n_target = target;
    fill_offsets(p->source_offset, source, e);
    fill_offsets(p->target_offset, target, e);
    tfm_run_measure(&t->run, t->run.training);
    pass(t, p, &loss, &nll);
    return t->run.arena.bad ? SIZE_MAX : t->run.arena.peak;
}

/* Sides of one size share the room of their gradients; sides that are a row apart do not, and are the worst case. */
tfm_status tfm_batch_measure(tfm_training *t, const tfm_extent *e, bool training, size_t threads, size_t *bytes,
                             tfm_error *error)
{
    tfm_packed p = {.n_pairs = e->pairs};
    const size_t pool_threads = t->run.threads;
    bool bad = false;

    p.source_offset = tfm_alloc(&t->allocator, e->pairs + 1, sizeof *p.source_offset);
    p.target_offset = tfm_alloc(&t->allocator, e->pairs + 1, sizeof *p.target_offset);
    if (!p.source_offset || !p.target_offset) bad = true;
    t->run.training = training;
    t->run.threads = threads;
    *bytes = 0;
    for (size_t apart = 0; apart < 3 && !bad; apart++) {
        const size_t peak = measure(t, e, &p, e->source - (apart == 1), e->target - (apart == 2));
        if (peak > *bytes) *bytes = peak;
        bad = t->run.bad;
    }
    t->run.threads = pool_threads;
    tfm_free(&t->allocator, p.source_offset, e->pairs + 1, sizeof *p.source_offset);
    tfm_free(&t->allocator, p.target_offset, e->pairs + 1, sizeof *p.target_offset);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "plan of a step: no memory") : TFM_OK;
}
