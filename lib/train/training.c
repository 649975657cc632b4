/* One update: forward and backward over the batches of this rank, the sum over ranks, Adam (5.3). */
#include "train/training.h"

#include "train/schedule.h"

#include <math.h>

enum { PIECE = 1 << 14 }; /* floats of a task over all parameters: a function of nothing */

static tfm_status allocate(tfm_training *t, tfm_error *error)
{
    const size_t n = t->weights.size;

    t->n_partial = (n + PIECE - 1) / PIECE;
    t->block = tfm_alloc(&t->allocator, 4 * n, sizeof(float)); /* 4 n was checked by tfm_weights_create() */
    t->partial = tfm_alloc(&t->allocator, t->n_partial, sizeof *t->partial);
    if (!t->block || !t->partial)
        return tfm_fail(error, TFM_E_NOMEM, "weights, gradients and moments of %zu parameters: no memory", n);
    t->w = t->block;
    t->g = t->w + n;
    t->m = t->g + n;
    t->v = t->m + n;
    return TFM_OK;
}

tfm_status tfm_training_create(tfm_training *t, const tfm_model_options *model, const float *data,
                               const tfm_trainer_options *options, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_status status;

    *t = (tfm_training){.allocator = *allocator, .options = options, .filled_epoch = UINT64_MAX, .at.best = (double)NAN};
    status = tfm_weights_create(&t->weights, model, allocator, error);
    if (status == TFM_OK) status = allocate(t, error);
    if (status == TFM_OK) status = tfm_pool_create(&t->pool, options->n_threads, allocator, error);
    if (status == TFM_OK)
        status = tfm_run_create(&t->run, t->pool, tfm_kernels_for(tfm_cpu_flags()), allocator, error);
    if (status != TFM_OK) {
        tfm_training_destroy(t);
        return status;
    }
    t->run.profile = &t->profile;
    memcpy(t->w, data, t->weights.size * sizeof(float));
    tfm_weights_bind(&t->weights, t->w, t->g);
    t->transformer = (tfm_transformer){
        .weights = &t->weights,
        .rates = {.residual = options->dropout,
                  .embedding = options->dropout_embedding < 0.0f ? options->dropout : options->dropout_embedding,
                  .attention = options->dropout_attention,
                  .relu = options->dropout_relu,
                  .recompute = options->recompute},
    };
    return TFM_OK;
}

static void destroy_packed(tfm_packed *p, const tfm_allocator *a)
{
    tfm_free(a, p->source, p->source_capacity, sizeof *p->source);
    tfm_free(a, p->source_positions, p->source_capacity, sizeof *p->source_positions);
    tfm_free(a, p->inputs, p->target_capacity, sizeof *p->inputs);
    tfm_free(a, p->labels, p->target_capacity, sizeof *p->labels);
    tfm_free(a, p->target_positions, p->target_capacity, sizeof *p->target_positions);
    tfm_free(a, p->source_offset, p->pair_capacity, sizeof *p->source_offset);
    tfm_free(a, p->target_offset, p->pair_capacity, sizeof *p->target_offset);
    *p = (tfm_packed){0};
}

void tfm_training_destroy(tfm_training *t)
{
    if (!t->allocator.resize) return;
    const tfm_allocator *a = &t->allocator;

    destroy_packed(&t->packed, a);
    tfm_batches_destroy(&t->batches, a);
    tfm_batches_destroy(&t->valid_batches, a);
    tfm_dataset_destroy(&t->data);
    tfm_dataset_destroy(&t->valid);
    tfm_free(a, t->position, t->position_rows * t->weights.options.d_model, sizeof(float));
    tfm_free(a, t->partial, t->n_partial, sizeof *t->partial);
    tfm_free(a, t->block, 4 * t->weights.size, sizeof(float));
    tfm_run_destroy(&t->run);
    tfm_pool_free(t->pool);
    tfm_weights_destroy(&t->weights);
    *t = (tfm_training){0};
}

/* Sinusoids for sequences of this length. */
static tfm_status reserve_positions(tfm_training *t, size_t rows, tfm_error *error)
{
    const tfm_model_options *o = &t->weights.options;
    float *table;

    if (o->positions == TFM_POSITIONS_LEARNED || rows <= t->position_rows) return TFM_OK;
    table = tfm_alloc(&t->allocator, rows * o->d_model, sizeof *table);
    if (!table) return tfm_fail(error, TFM_E_NOMEM, "positions: %zu rows of %u", rows, o->d_model);
    tfm_free(&t->allocator, t->position, t->position_rows * o->d_model, sizeof *table);
    tfm_position_fill(table, rows, o->d_model, o->positions, o->position_offset);
    t->transformer.position = t->position = table;
    t->transformer.position_rows = t->position_rows = rows;
    return TFM_OK;
}

/* A side of any batch of any epoch: at most batch_tokens, or one longer pair. */
static size_t most_tokens(const tfm_training *t, const tfm_dataset *data, const tfm_side *side, size_t held)
{
    const size_t batch = t->options->batch_tokens > data->longest ? t->options->batch_tokens : data->longest;
    const size_t most = batch < side->n_ids ? batch : side->n_ids;
    return most > held ? most : held;
}

/* Room to pack any batch of these; a failure keeps the room there was. */
static tfm_status reserve_packed(tfm_training *t, const tfm_dataset *data, tfm_error *error)
{
    const tfm_allocator *a = &t->allocator;
    const size_t source = most_tokens(t, data, &data->source, t->packed.source_capacity);
    const size_t target = most_tokens(t, data, &data->target, t->packed.target_capacity);
    const size_t n = source < data->n_pairs ? source : data->n_pairs; /* no side is empty */
    const size_t pairs = n + 1 > t->packed.pair_capacity ? n + 1 : t->packed.pair_capacity;
    tfm_packed p = {.source_capacity = source, .target_capacity = target, .pair_capacity = pairs};

    p.source = tfm_alloc(a, source, sizeof *p.source);
    p.source_positions = tfm_alloc(a, source, sizeof *p.source_positions);
    p.inputs = tfm_alloc(a, target, sizeof *p.inputs);
    p.labels = tfm_alloc(a, target, sizeof *p.labels);
    p.target_positions = tfm_alloc(a, target, sizeof *p.target_positions);
    p.source_offset = tfm_alloc(a, pairs, sizeof *p.source_offset);
    p.target_offset = tfm_alloc(a, pairs, sizeof *p.target_offset);
    if (!p.source || !p.source_positions || !p.inputs || !p.labels || !p.target_positions || !p.source_offset ||
        !p.target_offset) {
        destroy_packed(&p, a);
        return tfm_fail(error, TFM_E_NOMEM, "batch of %zu + %zu tokens: no memory", source, target);
    }
    destroy_packed(&t->packed, a);
    t->packed = p;
    return TFM_OK;
}

/* Appends ids to one side of the packed batch. */
static void pack_side(int32_t *ids, uint32_t *positions, size_t at, const tfm_side *side, size_t pair)
{
    const size_t begin = side->offset[pair], n = side->offset[pair + 1] - begin;

    memcpy(ids + at, side->ids + begin, n * sizeof *ids);
    for (size_t i = 0; i < n; i++) positions[at + i] = (uint32_t)i;
}

/* Decoder inputs are the labels shifted right by one, behind the start symbol (3.1). */
static void pack(tfm_training *t, const tfm_dataset *data, const tfm_batches *b, size_t batch)
{
    const int32_t start = t->weights.options.start == TFM_START_ZERO ? -1 : TFM_BOS;
    tfm_packed *p = &t->packed;

    p->n_pairs = p->n_source = p->n_target = 0;
    p->source_offset[0] = p->target_offset[0] = 0;
    for (size_t i = b->start[batch]; i < b->start[batch + 1]; i++) {
        const size_t pair = b->order[i], first = p->n_target;
        pack_side(p->source, p->source_positions, p->n_source, &data->source, pair);
        pack_side(p->labels, p->target_positions, first, &data->target, pair);
        p->n_source += data->source.offset[pair + 1] - data->source.offset[pair];
        p->n_target += data->target.offset[pair + 1] - data->target.offset[pair];
        p->inputs[first] = start;
        for (size_t j = first + 1; j < p->n_target; j++) p->inputs[j] = p->labels[j - 1];
        p->n_pairs++;
        p->source_offset[p->n_pairs] = p->n_source;
        p->target_offset[p->n_pairs] = p->n_target;
    }
}

/* A phase of a step of training begins; validation is one phase of its own. */
static void enter(tfm_training *t, tfm_work phase)
{
    if (t->run.training) tfm_profile_phase(&t->profile, phase);
}

/* Forward, and backward when the run records. */
static void pass(tfm_training *t, double *loss, double *nll)
{
    const tfm_packed *p = &t->packed;
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

/* Measured, then run: a batch no larger than one before it allocates nothing. */
static tfm_status run_batch(tfm_training *t, bool training, tfm_sums *sums, tfm_error *error)
{
    tfm_run *run = &t->run;
    double loss = 0.0, nll = 0.0;

    run->training = training;
    enter(t, TFM_WORK_PLAN);
    tfm_run_measure(run, training);
    pass(t, &loss, &nll);
    if (run->bad || run->arena.bad || !tfm_run_place(run, run->arena.peak, training))
        return tfm_fail(error, TFM_E_NOMEM, "a batch of %zu + %zu tokens needs %zu bytes: lower batch_tokens", t->packed.n_source,
                        t->packed.n_target, run->arena.peak);
    enter(t, TFM_WORK_FORWARD);
    pass(t, &loss, &nll);
    tfm_profile_operation(&t->profile, TFM_WORK_NONE, 0.0);
    sums->loss += loss;
    sums->nll += nll;
    sums->source_tokens += (double)t->packed.n_source;
    sums->target_tokens += (double)t->packed.n_target;
    return TFM_OK;
}

static size_t batches_per_update(const tfm_training *t)
{
    return (size_t)t->options->accumulate * t->options->n_ranks;
}

static uint64_t updates_of(const tfm_training *t, const tfm_batches *batches)
{
    return (batches->n + batches_per_update(t) - 1) / batches_per_update(t);
}

uint64_t tfm_training_updates(const tfm_training *t)
{
    return updates_of(t, &t->batches);
}

static void fill_epoch(tfm_training *t)
{
    if (t->filled_epoch == t->at.epoch) return;
    tfm_batches_fill(&t->batches, &t->data, t->options->batch_tokens, t->options->seed, t->at.epoch, true);
    t->filled_epoch = t->at.epoch;
}

/* Takes *data over and leaves it empty; a failure keeps what was there before. */
static tfm_status take(tfm_training *t, tfm_dataset *held, tfm_batches *batches, tfm_dataset *data, bool shuffled,
                       tfm_error *error)
{
    tfm_batches planned;
    tfm_status status = tfm_batches_create(&planned, data, error);

    if (status != TFM_OK) return status;
    tfm_batches_fill(&planned, data, t->options->batch_tokens, t->options->seed, t->at.epoch, shuffled);
    if (shuffled && t->at.update >= updates_of(t, &planned))
        status = tfm_fail(error, TFM_E_FORMAT, "the checkpoint stands at update %llu of an epoch of %llu",
                          (unsigned long long)t->at.update, (unsigned long long)updates_of(t, &planned));
    if (status == TFM_OK) status = reserve_packed(t, data, error);
    if (status == TFM_OK) status = reserve_positions(t, data->longest, error);
    if (status != TFM_OK) {
        tfm_batches_destroy(&planned, &t->allocator);
        return status;
    }
    tfm_batches_destroy(batches, &t->allocator);
    tfm_dataset_destroy(held);
    *batches = planned;
    *held = *data;
    *data = (tfm_dataset){0};
    return TFM_OK;
}

tfm_status tfm_training_set_data(tfm_training *t, tfm_dataset *data, tfm_error *error)
{
    const tfm_status status = take(t, &t->data, &t->batches, data, true, error);

    if (status == TFM_OK) t->filled_epoch = t->at.epoch;
    return status;
}

tfm_status tfm_training_set_valid(tfm_training *t, tfm_dataset *valid, tfm_error *error)
{
    return take(t, &t->valid, &t->valid_batches, valid, false, error);
}

static void zero_piece(const void *args, size_t begin, size_t end, size_t thread)
{
    float *g = ((const tfm_training *)args)->g;
    (void)thread;
    memset(g + begin, 0, (end - begin) * sizeof *g);
}

static void norm_piece(const void *args, size_t begin, size_t end, size_t thread)
{
    const tfm_training *t = args;
    (void)thread;
    t->partial[begin / PIECE] = t->run.kernels->sum_squares(t->g + begin, end - begin);
}

typedef struct adam_args {
    const tfm_training *t;
    float g_scale, rate;
} adam_args;

static void adam_piece(const void *args, size_t begin, size_t end, size_t thread)
{
    const adam_args *a = args;
    const tfm_training *t = a->t;
    const tfm_trainer_options *o = t->options;
    (void)thread;
    t->run.kernels->adam(t->w + begin, t->m + begin, t->v + begin, t->g + begin, end - begin, a->g_scale, a->rate,
                         o->adam_beta1, o->adam_beta2, o->adam_eps);
}

/* The sum over ranks of gradients and of the counts that normalise them. */
static tfm_status reduce(tfm_training *t, tfm_sums *sums, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    float counts[4] = {(float)sums->loss, (float)sums->nll, (float)sums->source_tokens, (float)sums->target_tokens};

    if (o->n_ranks == 1) return TFM_OK;
    if (o->reduce(o->reduce_user, counts, 4) || o->reduce(o->reduce_user, t->g, t->weights.size))
        return tfm_fail(error, TFM_E_IO, "the sum of gradients over %u ranks failed at step %llu", o->n_ranks,
                        (unsigned long long)t->at.step + 1);
    *sums = (tfm_sums){(double)counts[0], (double)counts[1], (double)counts[2], (double)counts[3]};
    return TFM_OK;
}

/* Gradients of the sum of the losses of this rank's batches of the update. */
static tfm_status gradients(tfm_training *t, tfm_sums *sums, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    const uint64_t seed = o->seed;
    tfm_status status = TFM_OK;

    tfm_profile_phase(&t->profile, TFM_WORK_ZERO);
    tfm_run_rows_always(&t->run, zero_piece, t, t->weights.size, PIECE);
    for (size_t i = 0; i < o->accumulate && status == TFM_OK; i++) {
        const size_t batch = (size_t)t->at.update * batches_per_update(t) + i * o->n_ranks + o->rank;
        if (batch >= t->batches.n) break;
        tfm_profile_phase(&t->profile, TFM_WORK_BATCH);
        pack(t, &t->data, &t->batches, batch);
        t->run.key[0] = (uint32_t)seed;
        t->run.key[1] = (uint32_t)(seed >> 32);
        t->run.batch = (uint32_t)(t->at.step * batches_per_update(t) + i * o->n_ranks + o->rank);
        status = run_batch(t, true, sums, error);
    }
    tfm_profile_phase(&t->profile, TFM_WORK_REDUCE);
    return status == TFM_OK ? reduce(t, sums, error) : status;
}

/* w -= rate * m / (sqrt(v) + eps), TensorFlow's form of Adam; PAPER 1.8. */
static void adam(tfm_training *t, double rate, double g_scale)
{
    const tfm_trainer_options *o = t->options;
    const double step = (double)t->at.step + 1.0;
    const double corrected = rate * sqrt(1.0 - pow((double)o->adam_beta2, step)) / (1.0 - pow((double)o->adam_beta1, step));
    const adam_args args = {t, (float)g_scale, (float)corrected};

    tfm_run_rows_always(&t->run, adam_piece, &args, t->weights.size, PIECE);
}

tfm_status tfm_training_step(tfm_training *t, tfm_update *update, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    double squares = 0.0;
    tfm_status status;

    *update = (tfm_update){0};
    tfm_profile_phase(&t->profile, TFM_WORK_BATCH);
    fill_epoch(t);
    status = gradients(t, &update->sums, error);
    if (status != TFM_OK) return status;
    tfm_profile_phase(&t->profile, TFM_WORK_NORM);
    tfm_run_rows_always(&t->run, norm_piece, t, t->weights.size, PIECE);
    for (size_t i = 0; i < t->n_partial; i++) squares += t->partial[i];
    const double tokens = fmax(1.0, update->sums.target_tokens);
    update->norm = sqrt(squares) / tokens;
    if (!isfinite(update->norm))
        return tfm_fail(error, TFM_E_INVALID, "the gradient of step %llu is not finite (loss %g): lower lr_scale",
                        (unsigned long long)t->at.step + 1, update->sums.loss / tokens);
    update->rate = tfm_schedule_rate(t->at.step + 1, t->weights.options.d_model, o->warmup, (double)o->lr_scale);
    const double clip = o->clip_norm > 0.0f && update->norm > (double)o->clip_norm ? (double)o->clip_norm / update->norm : 1.0;
    tfm_profile_phase(&t->profile, TFM_WORK_ADAM);
    adam(t, update->rate, clip / tokens);
    t->at.step++;
    if (++t->at.update >= tfm_training_updates(t)) {
        t->at.update = 0;
        t->at.epoch++;
        update->epoch_done = true;
    }
    return TFM_OK;
}

tfm_status tfm_training_validate(tfm_training *t, tfm_sums *sums, tfm_error *error)
{
    tfm_status status = TFM_OK;

    *sums = (tfm_sums){0};
    for (size_t i = 0; i < t->valid_batches.n && status == TFM_OK; i++) {
        pack(t, &t->valid, &t->valid_batches, i);
        status = run_batch(t, false, sums, error);
    }
    return status;
}
