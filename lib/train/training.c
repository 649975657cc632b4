/* One update: forward and backward over the batches of this rank, the sum over ranks, Adam (5.3). */
#include "train/training.h"

#include "train/batch.h"
#include "train/schedule.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { SKIPPED_MOST = 10 }; /* in a row, unless max_skipped says otherwise */
enum { PIECE = 1 << 14 }; /* floats of a task over all parameters: a function of nothing */

static tfm_status allocate(tfm_training *t, tfm_error *error)
{
    const size_t n = t->weights.size;

    t->n_partial = (n + PIECE - 1) / PIECE;
    t->block = tfm_alloc_unset(&t->allocator, 4 * n, sizeof(float)); /* 4 n was checked by tfm_weights_create() */
    t->partial = tfm_alloc(&t->allocator, t->n_partial, sizeof *t->partial);
    if (!t->block || !t->partial)
        return tfm_fail(error, TFM_E_NOMEM, "weights, gradients and moments of %zu parameters: no memory", n);
    t->w = t->block;
    t->g = t->w + n;
    t->m = t->g + n;
    t->v = t->m + n;
    return TFM_OK;
}

typedef struct begin_args {
    const tfm_training *t;
    const float *weights;
} begin_args;

/*
 * On all threads: most of this time goes into the first touch of the pages. Gradients are zeroed by each step. partial:
 * how many weights of the piece are not finite, while it is in the cache.
 */
static void begin_piece(const void *args, size_t begin, size_t end, size_t thread)
{
    const begin_args *a = args;
    const size_t bytes = (end - begin) * sizeof(float);
    size_t odd = 0;
    (void)thread;
    memcpy(a->t->w + begin, a->weights + begin, bytes);
    memset(a->t->m + begin, 0, bytes);
    memset(a->t->v + begin, 0, bytes);
    for (size_t i = begin; i < end; i++) odd += !(fabsf(a->t->w[i]) <= FLT_MAX);
    a->t->partial[begin / PIECE] = (double)odd;
}

static double sum_partial(const tfm_training *t)
{
    double sum = 0.0;

    for (size_t i = 0; i < t->n_partial; i++) sum += t->partial[i];
    return sum;
}

static tfm_status begin_weights(tfm_training *t, const float *data, tfm_error *error)
{
    tfm_run_rows_always(&t->run, begin_piece, &(begin_args){t, data}, t->weights.size, PIECE);
    const double odd = sum_partial(t);
    if (odd == 0.0) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID,
                    "%.0f weights are not finite, the first of them in %s: train from another model", odd,
                    tfm_weights_odd(&t->weights, t->w, -FLT_MAX)->name);
}

tfm_status tfm_training_create(tfm_training *t, const tfm_model_options *model, const float *data,
                               const tfm_trainer_options *options, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_status status;

    *t = (tfm_training){.allocator = *allocator, .options = options, .piece_tokens = options->batch_tokens,
                        .filled_epoch = UINT64_MAX, .at.best = (double)NAN};
    status = tfm_weights_create(&t->weights, model, allocator, error);
    if (status == TFM_OK) status = allocate(t, error);
    if (status == TFM_OK) status = tfm_pool_create(&t->pool, options->n_threads, allocator, error);
    if (status == TFM_OK)
        status = tfm_run_create(&t->run, t->pool, tfm_kernels_for(tfm_cpu_flags(options->dtype == TFM_DTYPE_BF16)),
                                allocator, error);
    if (status == TFM_OK) status = begin_weights(t, data, error);
    if (status != TFM_OK) {
        tfm_training_destroy(t);
        return status;
    }
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

void tfm_training_destroy(tfm_training *t)
{
    if (!t->allocator.resize) return;
    const tfm_allocator *a = &t->allocator;

    tfm_packed_destroy(&t->packed, a);
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

static size_t batches_per_update(const tfm_training *t)
{
    return (size_t)t->options->accumulate * t->options->n_ranks;
}

uint64_t tfm_training_updates_of(const tfm_training *t, const tfm_batches *batches)
{
    return (batches->n + batches_per_update(t) - 1) / batches_per_update(t);
}

uint64_t tfm_training_updates(const tfm_training *t)
{
    return tfm_training_updates_of(t, &t->batches);
}

static tfm_status fill_epoch(tfm_training *t, tfm_error *error)
{
    if (t->filled_epoch == t->at.epoch) return TFM_OK;
    t->filled_epoch = UINT64_MAX;
    const tfm_status status = tfm_dataset_draw(&t->data, t->at.epoch, error);
    if (status != TFM_OK) return status;
    tfm_batches_fill(&t->batches, &t->data, t->options->batch_tokens, t->options->seed, t->at.epoch, true);
    t->filled_epoch = t->at.epoch;
    return TFM_OK;
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
        t->run.key[0] = (uint32_t)seed;
        t->run.key[1] = (uint32_t)(seed >> 32);
        t->run.batch = (uint32_t)(t->at.step * batches_per_update(t) + i * o->n_ranks + o->rank);
        status = tfm_batch_run(t, &t->data, &t->batches, batch, true, sums, error);
    }
    tfm_profile_phase(&t->profile, TFM_WORK_REDUCE);
    return status == TFM_OK ? reduce(t, sums, error) : status;
}

/* w -= rate * m / (sqrt(v) + eps), TensorFlow's form of Adam; PAPER 1.8. */
static void adam(tfm_training *t, double rate, double g_scale)
{
    const tfm_trainer_options *o = t->options;
    const double step = (double)t->at.step + 1.0;
    const double corrected =
        rate * sqrt(1.0 - pow((double)o->adam_beta2, step)) / (1.0 - pow((double)o->adam_beta1, step));
    const adam_args args = {t, (float)g_scale, (float)corrected};

    tfm_run_rows_always(&t->run, adam_piece, &args, t->weights.size, PIECE);
}

/* The first parameter whose gradient has a sum of squares that is not finite, or NULL. */
static const char *find_odd_gradient(const tfm_training *t)
{
    for (size_t i = 0; i < t->weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &t->weights.parameters[i];
        if (!isfinite(t->run.kernels->sum_squares(t->g + p->offset, p->size))) return p->name;
    }
    return NULL;
}

/* A step whose loss or gradient is not finite: a warning, or the error that ends a training. */
static tfm_status skip(tfm_training *t, tfm_update *update, double loss, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    const uint64_t most = o->max_skipped ? o->max_skipped : SKIPPED_MOST, in_row = t->at.skipped_in_row + 1;
    const char *name = find_odd_gradient(t);
    char message[240];

    if (in_row >= most)
        return tfm_fail(error, TFM_E_INVALID,
                        "%" PRIu64 " in a row: the gradient of step %" PRIu64
                        " is not finite, %s first (loss %g): lower lr_scale "
                        "or set clip_norm",
                        in_row, t->at.step + 1, name ? name : "the loss", loss);
    snprintf(message, sizeof message,
             "step %" PRIu64 " is skipped: its gradient is not finite, %s first (loss %g); %" PRIu64
             " in a row, %" PRIu64 " end the training",
             t->at.step + 1, name ? name : "the loss", loss, in_row, most);
    if (o->log) o->log(o->log_user, TFM_LOG_WARNING, message);
    t->at.skipped++;
    t->at.skipped_in_row = in_row;
    update->skipped = true;
    return TFM_OK;
}

/* Adam on the gradients as they are, scaled to the mean over tokens and perhaps down to clip_norm. */
static void apply(tfm_training *t, const tfm_update *update, double tokens)
{
    const double most = (double)t->options->clip_norm;
    const double clip = most > 0.0 && update->norm > most ? most / update->norm : 1.0;

    tfm_profile_phase(&t->profile, TFM_WORK_ADAM);
    adam(t, update->rate, clip / tokens);
    t->at.skipped_in_row = 0;
}

static void move_on(tfm_training *t, tfm_update *update)
{
    t->at.step++;
    if (++t->at.update < tfm_training_updates(t)) return;
    t->at.update = 0;
    t->at.epoch++;
    update->epoch_done = true;
}

tfm_status tfm_training_step(tfm_training *t, tfm_update *update, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    tfm_status status;

    *update = (tfm_update){0};
    tfm_profile_phase(&t->profile, TFM_WORK_BATCH);
    status = fill_epoch(t, error);
    if (status == TFM_OK) status = gradients(t, &update->sums, error);
    if (status != TFM_OK) return status;
    tfm_profile_phase(&t->profile, TFM_WORK_NORM);
    tfm_run_rows_always(&t->run, norm_piece, t, t->weights.size, PIECE);
    const double tokens = fmax(1.0, update->sums.target_tokens);
    update->norm = sqrt(sum_partial(t)) / tokens;
    update->rate = tfm_schedule_rate(t->at.step + 1, t->weights.options.d_model, o->warmup, (double)o->lr_scale) *
                   tfm_schedule_cooldown(t->at.step + 1, o->max_steps, o->cooldown);
    if (isfinite(update->norm) && isfinite(update->sums.loss)) apply(t, update, tokens);
    else status = skip(t, update, update->sums.loss / tokens, error);
    if (status == TFM_OK) move_on(t, update);
    return status;
}

tfm_status tfm_training_validate(tfm_training *t, tfm_sums *sums, tfm_error *error)
{
    tfm_status status = TFM_OK;

    *sums = (tfm_sums){0};
    for (size_t i = 0; i < t->valid_batches.n && status == TFM_OK; i++)
        status = tfm_batch_run(t, &t->valid, &t->valid_batches, i, false, sums, error);
    return status;
}
