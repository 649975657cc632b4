/* The loop over updates. */
#include "train/loop.h"
#include "base/clock.h"
#include "base/temporaries.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKPOINT_ENDING ".ckpt" /* after checkpoint_path, "-" and the step */

void tfm_loop_begin(tfm_loop *loop, tfm_training *training, const tfm_loop_hooks *hooks, tfm_kept *kept)
{
    const double now = tfm_now(), spent = loop->progress.seconds;

    *loop = (tfm_loop){.training = training, .kept = kept, .saved_step = UINT64_MAX, .valid_step = UINT64_MAX,
                       .began = now - spent, .saved = now, .spent = spent};
    if (hooks) loop->hooks = *hooks;
    loop->first_step = training->at.step;
    loop->progress = (tfm_progress){.struct_size = sizeof loop->progress, .step = training->at.step,
                                    .epoch = training->at.epoch, .seconds = spent, .valid_bleu = -1.0,
                                    .seconds_left = -1.0,
                                    .valid_nll = (double)NAN, .valid_perplexity = (double)NAN,
                                    .best_valid = training->at.best, .skipped = training->at.skipped};
}

/* Target tokens a second over the latest steps. */
static double measure_rate(tfm_loop *loop, double tokens)
{
    const uint64_t done = loop->training->at.step - loop->first_step;
    const size_t held = done < TFM_RATE_WINDOW ? (size_t)done : TFM_RATE_WINDOW;
    double seconds = 0.0, sum = 0.0;

    loop->times[(done - 1) % TFM_RATE_WINDOW] = loop->progress.seconds;
    loop->tokens[(done - 1) % TFM_RATE_WINDOW] = tokens;
    for (size_t i = 0; i < held; i++) sum += loop->tokens[i];
    if (done > TFM_RATE_WINDOW) { /* the oldest step's own time is not known: it only starts the clock */
        const size_t oldest = done % TFM_RATE_WINDOW;
        seconds = loop->progress.seconds - loop->times[oldest];
        sum -= loop->tokens[oldest];
    } else {
        seconds = loop->progress.seconds - loop->spent;
    }
    return seconds > 0.0 ? sum / seconds : 0.0;
}

/* The nearest of the limits in steps and in time. */
static void estimate_end(tfm_loop *loop)
{
    const tfm_trainer_options *o = loop->training->options;
    const tfm_position_state *at = &loop->training->at;
    const uint64_t updates = tfm_training_updates(loop->training);
    const double pace = (loop->progress.seconds - loop->spent) /
                        (double)(at->step - loop->first_step); /* seconds a step, all included */
    double steps = INFINITY;

    if (o->max_steps) steps = fmin(steps, (double)o->max_steps - (double)at->step);
    if (o->max_epochs)
        steps = fmin(steps, ((double)o->max_epochs - (double)at->epoch) * (double)updates - (double)at->update);
    if (o->max_seconds > 0.0 && pace > 0.0) steps = fmin(steps, (o->max_seconds - loop->progress.seconds) / pace);
    steps = fmax(steps, 0.0);
    loop->progress.steps_total = steps < 0x1p63 ? at->step + (uint64_t)steps : 0;
    loop->progress.seconds_left = isfinite(steps) ? steps * pace : -1.0;
}

tfm_status tfm_loop_step(tfm_loop *loop, bool *epoch_done, tfm_error *error)
{
    tfm_progress *p = &loop->progress;
    tfm_update update;
    const tfm_status status = tfm_training_step(loop->training, &update, error);

    tfm_profile_phase(&loop->training->profile, TFM_WORK_NONE);
    if (status != TFM_OK) return status;
    const double tokens = fmax(1.0, update.sums.target_tokens);
    p->step = loop->training->at.step;
    p->epoch = loop->training->at.epoch;
    p->source_tokens = (uint64_t)update.sums.source_tokens;
    p->target_tokens = (uint64_t)update.sums.target_tokens;
    p->loss = update.sums.loss / tokens;
    p->nll = update.sums.nll / tokens;
    p->learning_rate = update.rate;
    p->gradient_norm = update.norm;
    p->skipped = loop->training->at.skipped;
    p->seconds = tfm_now() - loop->began;
    p->tokens_per_s = measure_rate(loop, update.sums.target_tokens);
    estimate_end(loop);
    *epoch_done = update.epoch_done;
    return TFM_OK;
}

tfm_status tfm_loop_check_path(const char *base, tfm_error *error)
{
    const size_t suffix = strlen("-18446744073709551615" CHECKPOINT_ENDING), size = strlen(base);
    const char *slash = strrchr(base, '/');
    const size_t name = slash ? strlen(slash + 1) : size;

    if (size + suffix < PATH_MAX && name + suffix <= NAME_MAX) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "checkpoint_path has %zu bytes and its name %zu, more than the %zu and %zu that "
                    "leave room for -STEP" CHECKPOINT_ENDING ": shorten it", size, name, PATH_MAX - 1 - suffix,
                    NAME_MAX - suffix);
}

/* true: the caller asked to stop. */
static bool report(tfm_loop *loop, uint32_t event)
{
    const tfm_trainer_options *o = loop->training->options;

    loop->progress.event = event;
    loop->progress.seconds = tfm_now() - loop->began;
    return o->progress && o->progress(o->progress_user, &loop->progress) != 0;
}

/* What a training left that was killed while it wrote a checkpoint of any step. */
static void sweep(const tfm_loop *loop)
{
    const char *base = loop->training->options->checkpoint_path;
    char stem[PATH_MAX];

    if (!base) return;
    snprintf(stem, sizeof stem, "%s-", base);
    tfm_temporaries_sweep(stem, CHECKPOINT_ENDING);
}

static void checkpoint_name(const char *base, uint64_t step, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s-%llu" CHECKPOINT_ENDING, base, (unsigned long long)step);
}

bool tfm_loop_wrote(const char *base, uint64_t step, const char *path)
{
    char own[PATH_MAX];
    struct stat a, b;

    if (!base) return false;
    checkpoint_name(base, step, own);
    return stat(own, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void forget(const tfm_loop *loop, uint64_t step)
{
    char path[PATH_MAX];

    checkpoint_name(loop->training->options->checkpoint_path, step, path);
    unlink(path);
}

static void drop_first(tfm_kept *kept)
{
    memmove(kept->steps, kept->steps + 1, --kept->n * sizeof *kept->steps);
}

/* Writes x-STEP.ckpt, whose own list of files already holds itself, and then deletes those that are too many. At an end
 * between the others it is an extra one, which is gone before it could change what is kept or averaged: a run that was
 * stopped and resumed has the files of one that was not. */
static tfm_status save(tfm_loop *loop, bool extra, tfm_error *error)
{
    tfm_kept *kept = loop->kept;
    const tfm_kept before = *kept;
    const uint64_t step = loop->training->at.step;
    const char *base = loop->training->options->checkpoint_path;
    tfm_status status;

    if (!base || loop->saved_step == step) return TFM_OK;
    checkpoint_name(base, step, loop->path);
    const bool listed = kept->n && kept->steps[kept->n - 1] == step; /* resumed, then saved at once */
    kept->has_extra = extra && !listed;
    kept->extra = kept->has_extra ? step : 0;
    if (!extra && !listed) {
        if (kept->n == TFM_KEPT_MAX) drop_first(kept);
        kept->steps[kept->n++] = step;
    }
    tfm_profile_phase(&loop->training->profile, TFM_WORK_CHECKPOINT);
    status = loop->hooks.save(loop->hooks.user, loop->path, error);
    tfm_profile_phase(&loop->training->profile, TFM_WORK_NONE);
    if (status != TFM_OK) {
        *kept = before;
        return status;
    }
    if (before.has_extra && before.extra != step) forget(loop, before.extra);
    for (; loop->training->options->keep && kept->n > loop->training->options->keep; drop_first(kept))
        forget(loop, kept->steps[0]);
    loop->saved = tfm_now();
    loop->saved_step = step;
    loop->progress.path = loop->path;
    return TFM_OK;
}

/* nll, perplexity and perhaps BLEU of the validation data; counts how long nothing got better. */
static tfm_status validate(tfm_loop *loop, tfm_error *error)
{
    const tfm_trainer_options *o = loop->training->options;
    tfm_position_state *at = &loop->training->at;
    tfm_progress *p = &loop->progress;
    tfm_sums sums;
    tfm_profile_phase(&loop->training->profile, TFM_WORK_VALIDATION);
    tfm_status status = tfm_training_validate(loop->training, &sums, error);

    if (status == TFM_OK && o->valid_bleu) status = loop->hooks.bleu(loop->hooks.user, &p->valid_bleu, error);
    tfm_profile_phase(&loop->training->profile, TFM_WORK_NONE);
    if (status != TFM_OK) return status;
    p->valid_nll = sums.nll / fmax(1.0, sums.target_tokens);
    p->valid_perplexity = exp(p->valid_nll);
    const double criterion = o->valid_bleu ? p->valid_bleu : p->valid_nll;
    const bool better = isfinite(criterion) && (isnan(at->best) || (o->valid_bleu ? criterion > at->best :
                                                                                   criterion < at->best));
    if (better) at->best = criterion;
    at->stale = better ? 0 : at->stale + 1;
    p->best_valid = at->best;
    loop->valid_step = at->step;
    return TFM_OK;
}

/* Why the training is over, or NULL. */
static const char *ended(tfm_loop *loop)
{
    const tfm_trainer_options *o = loop->training->options;
    const tfm_position_state *at = &loop->training->at;
    char *m = loop->message;
    const size_t size = sizeof loop->message;

    if (o->max_steps && at->step >= o->max_steps)
        snprintf(m, size, "max_steps %llu reached", (unsigned long long)o->max_steps);
    else if (o->max_epochs && at->epoch >= o->max_epochs)
        snprintf(m, size, "max_epochs %llu reached", (unsigned long long)o->max_epochs);
    else if (o->max_seconds > 0.0 && tfm_now() - loop->began >= o->max_seconds)
        snprintf(m, size, "max_seconds %.12g reached", o->max_seconds);
    else if (o->patience && at->stale >= o->patience)
        snprintf(m, size, "%llu validations without a better one (patience)", (unsigned long long)at->stale);
    else return NULL;
    return m;
}

static bool valid_due(const tfm_loop *loop, bool epoch_done)
{
    const tfm_trainer_options *o = loop->training->options;

    if (!loop->training->valid.n_pairs) return false;
    return o->valid_every ? loop->training->at.step % o->valid_every == 0 : epoch_done;
}

static bool save_due(const tfm_loop *loop, bool epoch_done)
{
    const tfm_trainer_options *o = loop->training->options;

    if (!o->checkpoint_path) return false;
    if (o->checkpoint_seconds > 0.0 && tfm_now() - loop->saved >= o->checkpoint_seconds) return true;
    if (o->checkpoint_steps) return loop->training->at.step % o->checkpoint_steps == 0;
    return o->checkpoint_seconds <= 0.0 && epoch_done;
}

/* One update and all that is due after it. *stop: the caller asked to stop. */
static tfm_status advance(tfm_loop *loop, bool *stop, tfm_error *error)
{
    bool epoch_done;
    tfm_status status = tfm_loop_step(loop, &epoch_done, error);

    if (status != TFM_OK) return status;
    *stop |= report(loop, TFM_EVENT_STEP);
    if (epoch_done) *stop |= report(loop, TFM_EVENT_EPOCH);
    if (valid_due(loop, epoch_done)) { /* also when stopping: a resumed run must find the same criterion */
        status = validate(loop, error);
        if (status != TFM_OK) return status;
        *stop |= report(loop, TFM_EVENT_VALID);
    }
    if (!save_due(loop, epoch_done)) return TFM_OK;
    status = save(loop, false, error);
    if (status == TFM_OK) *stop |= report(loop, TFM_EVENT_CHECKPOINT);
    return status;
}

/* The last state is kept, and validated when the training ended by itself: for the caller to see, while early stopping
 * counts those validations alone that a run without this end has too. */
static tfm_status finish(tfm_loop *loop, bool stopped, tfm_error *error)
{
    const uint64_t step = loop->training->at.step;
    const tfm_position_state before = loop->training->at;
    tfm_status status = TFM_OK;

    if (!stopped && loop->training->valid.n_pairs && loop->valid_step != step && loop->first_step != step) {
        status = validate(loop, error);
        loop->training->at = before;
        if (status == TFM_OK) report(loop, TFM_EVENT_VALID);
    }
    if (status == TFM_OK && loop->training->options->checkpoint_path && loop->saved_step != step) {
        status = save(loop, true, error);
        if (status == TFM_OK) report(loop, TFM_EVENT_CHECKPOINT);
    }
    if (status != TFM_OK) return status;
    if (stopped) snprintf(loop->message, sizeof loop->message, "stopped by the caller");
    loop->progress.message = loop->message;
    report(loop, TFM_EVENT_DONE);
    return stopped ? tfm_fail(error, TFM_E_CANCELLED, "the training was stopped at step %llu", (unsigned long long)step)
                   : TFM_OK;
}

tfm_status tfm_loop_run(tfm_loop *loop, tfm_error *error)
{
    bool stop = false;

    sweep(loop);
    while (!stop && !ended(loop)) {
        const tfm_status status = advance(loop, &stop, error);
        if (status != TFM_OK) return status;
    }
    return finish(loop, stop, error);
}
