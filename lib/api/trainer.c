/* tfm_trainer: options, steps and checkpoints. */
#include "api/trainer_handle.h"

#include "base/arithmetic.h"
#include "text/tokenizer.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define OPTIONS_SIZE_MIN (offsetof(tfm_trainer_options, allocator) + sizeof(void *))

void tfm_trainer_options_init(tfm_trainer_options *options, size_t struct_size)
{
    const tfm_trainer_options defaults = {
        .seed = 1, .dropout = 0.1f, .dropout_embedding = -1.0f, .label_smoothing = 0.1f, .adam_beta1 = 0.9f,
        .adam_beta2 = 0.98f, .adam_eps = 1e-9f, .lr_scale = 1.0f, .warmup = 4000, .batch_tokens = 4096, .accumulate = 1,
        .max_length = 256, .max_steps = 100000, .keep = 5, .n_ranks = 1,
    };
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

static tfm_status check_number(const char *name, double value, double least, double most, bool below, tfm_error *error)
{
    if (value >= least && (below ? value < most : value <= most)) return TFM_OK; /* NaN fails */
    return tfm_fail(error, TFM_E_INVALID, "%s is %g, not in [%g, %g%c", name, value, least, most, below ? ')' : ']');
}

static tfm_status check_options(const tfm_trainer_options *o, tfm_error *error)
{
    const struct {
        const char *name;
        double value, least, most;
        bool below;
    } limits[] = {
        {"dropout", (double)o->dropout, 0, 1, true},
        {"dropout_embedding", (double)o->dropout_embedding, -1, 1, true},
        {"dropout_attention", (double)o->dropout_attention, 0, 1, true},
        {"dropout_relu", (double)o->dropout_relu, 0, 1, true},
        {"label_smoothing", (double)o->label_smoothing, 0, 1, true},
        {"smoothing", o->smoothing, 0, TFM_SMOOTHING_UNIFORM, false},
        {"adam_beta1", (double)o->adam_beta1, 0, 1, true},
        {"adam_beta2", (double)o->adam_beta2, 0, 1, true},
        {"adam_eps", (double)o->adam_eps, 1e-30, 1, false},
        {"lr_scale", (double)o->lr_scale, 0, 1e6, false},
        {"warmup", o->warmup, 1, 1e9, false},
        {"clip_norm", (double)o->clip_norm, 0, 1e30, false},
        {"batch_tokens", o->batch_tokens, 1, 1 << 24, false},
        {"accumulate", o->accumulate, 1, 1 << 20, false},
        {"max_length", o->max_length, 1, 1 << 20, false},
        {"max_seconds", o->max_seconds, 0, 1e12, false},
        {"checkpoint_seconds", o->checkpoint_seconds, 0, 1e12, false},
        {"keep", o->keep, 0, TFM_KEPT_MAX, false},
        {"n_ranks", o->n_ranks, 1, 1 << 16, false},
        {"rank", o->rank, 0, (double)o->n_ranks, true},
        {"dtype", o->dtype, 0, TFM_DTYPE_BF16, false},
        {"reserved", o->reserved, 0, 0, false},
        {"bpe_dropout_source", (double)o->bpe_dropout_source, 0, 1, false},
        {"bpe_dropout_target", (double)o->bpe_dropout_target, 0, 1, false},
    };

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const tfm_status status = check_number(limits[i].name, limits[i].value, limits[i].least, limits[i].most,
                                               limits[i].below, error);
        if (status != TFM_OK) return status;
    }
    if (o->cooldown > o->max_steps)
        return tfm_fail(error, TFM_E_INVALID, "cooldown is %" PRIu64 ", but max_steps is %" PRIu64 ": it is the last of so "
                        "many steps, set max_steps", o->cooldown, o->max_steps);
    if (o->n_ranks > 1 && !o->reduce)
        return tfm_fail(error, TFM_E_INVALID, "n_ranks is %u, but there is no reduce function", o->n_ranks);
    if (o->n_ranks > 1 && o->max_seconds > 0.0)
        return tfm_fail(error, TFM_E_INVALID, "max_seconds is %g, but n_ranks is %u: by their own clocks ranks end at "
                        "different steps; set max_steps or max_epochs", o->max_seconds, o->n_ranks);
    return TFM_OK;
}

/* Needs the tokenizer, if there is one. */
static tfm_status check_merges(const tfm_trainer *t, tfm_error *error)
{
    if (!t->tokenizer) return TFM_OK;
    const tfm_status status = tfm_tokenizer_allow_dropout(t->tokenizer, t->options.bpe_dropout_source, error);
    return status ? status : tfm_tokenizer_allow_dropout(tfm_tokenizer_target(t->tokenizer),
                                                         t->options.bpe_dropout_target, error);
}

/* A handle with checked options and nothing else. */
static tfm_status begin(tfm_trainer **out, const tfm_trainer_options *options, tfm_error *error)
{
    tfm_trainer_options o;
    tfm_status status;
    tfm_trainer *t;

    tfm_trainer_options_init(&o, sizeof o);
    status = tfm_options_read(&o, sizeof o, OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK) status = check_options(&o, error);
    if (status == TFM_OK && o.checkpoint_path) status = tfm_loop_check_path(o.checkpoint_path, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(o.allocator);
    t = tfm_alloc(&a, 1, sizeof *t);
    if (!t) return tfm_fail(error, TFM_E_NOMEM, "trainer: %zu bytes", sizeof *t);
    *out = t;
    t->allocator = t->sources.allocator = t->targets.allocator = a;
    t->options = o;
    t->options.checkpoint_path = NULL;
    if (!o.checkpoint_path) return TFM_OK;
    t->path_size = strlen(o.checkpoint_path) + 1;
    t->path = tfm_alloc(&a, t->path_size, 1);
    if (!t->path) return tfm_fail(error, TFM_E_NOMEM, "checkpoint path: no memory");
    t->options.checkpoint_path = memcpy(t->path, o.checkpoint_path, t->path_size);
    return TFM_OK;
}

static tfm_status hand_over(tfm_trainer **out, tfm_trainer *t, tfm_status status)
{
    if (status != TFM_OK) {
        tfm_trainer_free(t);
        t = NULL;
    }
    *out = t;
    return status;
}

tfm_status tfm_trainer_create(tfm_trainer **out, const tfm_model *model, const tfm_trainer_options *options,
                              tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_trainer *t = NULL;
    tfm_status status;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!model) return tfm_fail(error, TFM_E_INVALID, "model is NULL");
    status = tfm_model_need_floats(model, "train", error);
    if (status == TFM_OK) status = begin(&t, options, error);
    if (status == TFM_OK)
        status =
            tfm_training_create(&t->training, &model->weights.options, model->data, &t->options, &t->allocator, error);
    if (status == TFM_OK && model->tokenizer)
        status = tfm_tokenizer_copy(&t->tokenizer, model->tokenizer, &t->allocator, error);
    if (status == TFM_OK) status = check_merges(t, error);
    return hand_over(out, t, status);
}

/* Adam takes the root of v. */
static tfm_status check_moments(const tfm_training *t, const char *path, tfm_error *error)
{
    const tfm_parameter_plan *m = tfm_weights_odd(&t->weights, t->m, -FLT_MAX),
                             *v = tfm_weights_odd(&t->weights, t->v, 0.0f);

    if (!m && !v) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "%.120s: the %s moment of %s has a value that is %s", path,
                    m ? "first" : "second", m ? m->name : v->name, m ? "not finite" : "negative or not finite");
}

/* Everything that a checkpoint holds, into a new handle. */
static tfm_status restore(tfm_trainer *t, const tfm_model_file *file, const char *path, tfm_error *error)
{
    tfm_status status;

    if (!file->trainer.size)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s is a model, not a checkpoint: train from it without resuming",
                        path);
    if (!file->data) return tfm_fail(error, TFM_E_FORMAT, "%.120s is quantised, not a checkpoint", path);
    status = tfm_checkpoint_from_json(&t->resumed, file->trainer, error);
    if (status == TFM_OK)
        status =
            tfm_training_create(&t->training, &file->weights.options, file->data, &t->options, &t->allocator, error);
    if (status == TFM_OK) status = tfm_model_file_moment(file, "m", t->training.m, error);
    if (status == TFM_OK) status = tfm_model_file_moment(file, "v", t->training.v, error);
    if (status == TFM_OK) status = check_moments(&t->training, path, error);
    if (status == TFM_OK && file->tokenizer.size)
        status = tfm_tokenizer_from_text(&t->tokenizer, file->tokenizer, &t->allocator, error);
    if (status == TFM_OK && tfm_model_check_tokenizer(&file->weights.options, t->tokenizer, NULL) != TFM_OK)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: its tokenizer is larger than its vocabulary", path);
    if (status == TFM_OK) status = check_merges(t, error);
    if (status != TFM_OK) return status;
    t->is_resumed = true;
    t->training.at = t->resumed.at;
    if (tfm_loop_wrote(t->path, t->resumed.at.step, path)) t->kept = t->resumed.kept; /* else files of another course */
    return TFM_OK;
}

tfm_status tfm_trainer_resume(tfm_trainer **out, const char *checkpoint, const tfm_trainer_options *options,
                              tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_model_file file = {0};
    tfm_trainer *t = NULL;
    tfm_status status;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!checkpoint) return tfm_fail(error, TFM_E_INVALID, "checkpoint is NULL");
    status = begin(&t, options, error);
    if (status == TFM_OK) status = tfm_model_file_open(&file, checkpoint, true, &t->allocator, error);
    if (status == TFM_OK) status = restore(t, &file, checkpoint, error);
    tfm_model_file_close(&file);
    return hand_over(out, t, status);
}

void tfm_trainer_free(tfm_trainer *t)
{
    if (!t) return;
    const tfm_allocator a = t->allocator;

    tfm_training_destroy(&t->training);
    tfm_tokenizer_free(t->tokenizer);
    tfm_encoded_free(&t->sources);
    tfm_encoded_free(&t->targets);
    tfm_texts_free(&t->valid, &a);
    tfm_texts_free(&t->train, &a);
    tfm_free(&a, t->path, t->path_size, 1);
    tfm_free(&a, t, 1, sizeof *t);
}

void tfm_trainer_describe(const tfm_trainer *t, const tfm_dataset *data, tfm_checkpoint *state)
{
    *state = (tfm_checkpoint){
        .at = t->training.at,
        .seed = t->options.seed,
        .pairs = data->n_pairs,
        .fingerprint = data == &t->training.data ? t->fingerprint : tfm_dataset_fingerprint(data),
        .batch_tokens = t->options.batch_tokens,
        .accumulate = t->options.accumulate,
        .n_ranks = t->options.n_ranks,
        .dtype = t->options.dtype,
        .piece_tokens = t->training.piece_tokens,
        .kept = t->kept,
    };
}

static tfm_status save(void *user, const char *path, tfm_error *error)
{
    tfm_trainer *t = user;
    tfm_buffer tokenizer = {.allocator = t->allocator}, state = {.allocator = t->allocator};
    tfm_checkpoint now;
    tfm_status status = TFM_OK;

    tfm_trainer_describe(t, &t->training.data, &now);
    if (t->tokenizer) status = tfm_tokenizer_to_text(t->tokenizer, &tokenizer, error);
    if (status == TFM_OK) status = tfm_checkpoint_to_json(&state, &now, error);
    if (status == TFM_OK)
        status = tfm_model_file_save(path, &(tfm_model_parts){.weights = &t->training.weights, .data = t->training.w,
                                                              .m = t->training.m, .v = t->training.v,
                                                              .tokenizer = {tokenizer.data, tokenizer.size},
                                                              .trainer = {state.data, state.size}},
                                     &t->allocator, error);
    tfm_buffer_free(&tokenizer);
    tfm_buffer_free(&state);
    return status;
}

static tfm_status check_ready(const tfm_trainer *t, tfm_error *error)
{
    if (!t) return tfm_fail(error, TFM_E_INVALID, "trainer is NULL");
    if (!t->training.data.n_pairs)
        return tfm_fail(error, TFM_E_INVALID, "the trainer has no data: call tfm_trainer_set_data()");
    return TFM_OK;
}

tfm_status tfm_trainer_save(tfm_trainer *t, const char *path, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_status status = path ? check_ready(t, error) : tfm_fail(error, TFM_E_INVALID, "path is NULL");

    return status == TFM_OK ? save(t, path, error) : status;
}

tfm_status tfm_trainer_step(tfm_trainer *t, tfm_progress *progress, size_t struct_size, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_status status = check_ready(t, error);
    bool epoch_done;

    if (status != TFM_OK) return status;
    if (!t->stepping) tfm_loop_begin(&t->loop, &t->training, NULL, &t->kept);
    t->stepping = true;
    status = tfm_loop_step(&t->loop, &epoch_done, error);
    if (status == TFM_OK) tfm_result_write(progress, struct_size, &t->loop.progress, sizeof t->loop.progress);
    return status;
}

tfm_status tfm_trainer_run(tfm_trainer *t, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_loop_hooks hooks = {tfm_trainer_bleu, save, t};
    const tfm_status status = check_ready(t, error);

    if (status != TFM_OK) return status;
    if (!t->training.valid.n_pairs && (t->options.patience || t->options.valid_bleu))
        return tfm_fail(error, TFM_E_INVALID,
                        "patience is %" PRIu64 " and valid_bleu %u, but there is nothing to validate with: call "
                        "tfm_trainer_set_valid()",
                        (uint64_t)t->options.patience, t->options.valid_bleu);
    tfm_loop_begin(&t->loop, &t->training, &hooks, &t->kept);
    t->stepping = false;
    return tfm_loop_run(&t->loop, error);
}

tfm_status tfm_trainer_model(tfm_model **out, const tfm_trainer *t, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!t) return tfm_fail(error, TFM_E_INVALID, "trainer is NULL");
    return tfm_model_copy_of(out, &t->training.weights.options, t->training.w, t->tokenizer, &t->allocator, error);
}
