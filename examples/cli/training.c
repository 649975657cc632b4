/* tfm train at work: data, tokenizer, model and trainer, then the run and the model file. */
#include "training.h"
#include "checkpoints.h"
#include "console.h"
#include "model_args.h"
#include "profile.h"
#include "progress.h"
#include "sample_log.h"
#include "text_file.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct training {
    const train_args *args;
    tfm_trainer_options options;
    tfm_model_options model_options; /* of a new training, as the tokenizer */
    tfm_tokenizer *tokenizer;
    text_lines src, tgt, valid_src, valid_tgt;
    tfm_trainer *trainer;
    tfm_data_report report;
    size_t n_valid;
    char *resume;   /* the checkpoint to go on from, or NULL */
    uint64_t stale; /* the first step of checkpoints that a training from here must not mix with */
    progress progress;
    sample_log samples;
    tfm_error error;
} training;

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

/* A second signal has its usual effect; one that the caller lets programs ignore stays ignored. */
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction old, action = {.sa_handler = request_stop, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
}

static int32_t on_progress(void *user, const tfm_progress *event)
{
    training *t = user;
    progress_event(&t->progress, event);
    if (event->event == TFM_EVENT_VALID) sample_log_write(&t->samples, t->trainer, event->step);
    return stop_requested;
}

static void forget_text(training *t)
{
    text_lines_clear(&t->src);
    text_lines_clear(&t->tgt);
    text_lines_clear(&t->valid_src);
    text_lines_clear(&t->valid_tgt);
}

static int fail_library(const training *t)
{
    return console_fail("%s", t->error.message);
}

static const char *preset_of(const training *t)
{
    return t->args->preset ? t->args->preset : "tiny";
}

static int set_model_options(training *t)
{
    tfm_model_options_init(&t->model_options, sizeof t->model_options);
    t->model_options.seed = t->options.seed;
    return model_options_set(&t->model_options, preset_of(t), &t->args->sets);
}

/* Whether a model that began with those would have these by now; seed and vocabularies are not of its shape. */
static bool has_options(const tfm_model_options *o, const char *preset, const string_list *sets)
{
    tfm_model_options changed = *o;
    if (model_options_set(&changed, preset, sets)) return false;
    changed.seed = o->seed;
    changed.vocab_size = o->vocab_size;
    changed.source_vocab_size = o->source_vocab_size;
    if (!changed.d_k) changed.d_k = changed.d_model / changed.n_heads;
    if (!changed.d_v) changed.d_v = changed.d_model / changed.n_heads;
    return memcmp(&changed, o, sizeof changed) == 0;
}

/* Refuses a shape that is not the checkpoint's. */
static int check_shape(training *t)
{
    const train_args *a = t->args;
    tfm_model_options o;
    tfm_model *model;
    if (!t->resume) return EXIT_SUCCESS;
    if (model_load(&model, t->resume, true, &t->error)) return fail_library(t);
    tfm_model_get_options(&o, sizeof o, model);
    tfm_model_free(model);
    if (has_options(&o, a->preset, &a->sets)) return EXIT_SUCCESS;
    for (size_t i = 0; i < a->sets.size; i++)
        if (!has_options(&o, NULL, &(string_list){a->sets.items + i, 1, 1}))
            return console_usage("--set %s is not what %s has; a training goes on with the model that it began with",
                                 a->sets.items[i], t->resume);
    return console_usage("--preset %s is not what %s has; a training goes on with the model that it began with",
                         a->preset, t->resume);
}

/* How many of the checkpoints lead to that file, itself included. */
static size_t count_leading(const checkpoint_list *list, const char *prefix, const char *file)
{
    size_t n = list->size;
    for (; n > 0; n--) {
        char *path = checkpoint_path(prefix, list->steps[n - 1]);
        const bool found = same_file(path, file);
        free(path);
        if (found) break;
    }
    return n;
}

/* Finds the checkpoint to go on from, and refuses to mix a training with another one's files. */
static int find_checkpoints(training *t)
{
    const char *prefix = t->options.checkpoint_path, *resume = t->args->resume;
    checkpoint_list list;
    size_t n = 0;
    int code = EXIT_SUCCESS;
    checkpoints_find(&list, prefix);
    if (resume && *resume) t->resume = memory_copy(resume, strlen(resume));
    else if (resume && list.size > 0) t->resume = checkpoint_path(prefix, list.steps[list.size - 1]);
    else if (resume)
        code = console_fail("no checkpoint %s-STEP.ckpt to go on from; leave out --resume to start", prefix);
    if (t->resume) n = count_leading(&list, prefix, t->resume);
    t->stale = n < list.size ? list.steps[n] : UINT64_MAX;
    if (n < list.size && !t->args->restart) {
        const unsigned long long last = list.steps[list.size - 1];
        if (!t->resume)
            code = console_fail("%s-%llu.ckpt is of an earlier training; go on with --resume, or start anew with "
                                "--restart, which deletes %s-*.ckpt",
                                prefix, last, prefix);
        else
            code = console_fail("%s-%llu.ckpt is of another course than the one that goes on from %s; move it away, or "
                                "give --restart too, which deletes %s-*.ckpt from step %llu on",
                                prefix, last, t->resume, prefix, (unsigned long long)t->stale);
    }
    checkpoints_free(&list);
    return code;
}

static int delete_stale(const training *t)
{
    const char *prefix = t->options.checkpoint_path;
    checkpoint_list list;
    int code = EXIT_SUCCESS;
    checkpoints_find(&list, prefix);
    for (size_t i = 0; i < list.size && !code; i++) {
        if (list.steps[i] < t->stale) continue;
        char *path = checkpoint_path(prefix, list.steps[i]);
        if (unlink(path) != 0) code = console_fail("cannot delete %s", path);
        free(path);
    }
    checkpoints_free(&list);
    return code;
}

static int check_paths(training *t)
{
    if (!output_path_check(t->args->model)) return EXIT_FAILURE;
    if (t->args->checkpoint && !output_folder_check(t->args->checkpoint)) return EXIT_FAILURE;
    if (t->args->log && !output_folder_check(t->args->log)) return EXIT_FAILURE;
    return find_checkpoints(t);
}

static int read_pairs(text_lines *src, text_lines *tgt, const string_list *src_files, const string_list *tgt_files,
                      bool replace_invalid)
{
    for (size_t i = 0; i < src_files->size; i++) {
        console_status("reading %s and %s", src_files->items[i], tgt_files->items[i]);
        if (!text_pairs_read(src, tgt, src_files->items[i], tgt_files->items[i], replace_invalid)) return EXIT_FAILURE;
    }
    if (src_files->size > 0 && src->size == 0)
        return console_fail("%s is empty; a line for each sentence is needed", text_name(src_files->items[0]));
    return EXIT_SUCCESS;
}

static int read_data(training *t)
{
    const train_args *a = t->args;
    const int code = read_pairs(&t->src, &t->tgt, &a->src, &a->tgt, a->replace_invalid);
    if (code) return code;
    return read_pairs(&t->valid_src, &t->valid_tgt, &a->valid_src, &a->valid_tgt, a->replace_invalid);
}

static tfm_status learn_tokenizer(training *t, const tfm_text *lines, size_t n)
{
    const train_args *a = t->args;
    if (a->codes) return tfm_tokenizer_import(&t->tokenizer, a->codes, lines, n, NULL, &t->error);
    tfm_tokenizer_options o;
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = tokenizer_kind(a->tokenizer);
    if (a->vocab_size) o.vocab_size = a->vocab_size;
    o.strict_size = a->vocab_size || a->merges; /* what was asked for must be there; a default may shrink */
    if (a->merges) o.merges = a->merges;
    if (a->min_frequency) o.min_frequency = a->min_frequency;
    o.log = console_log;
    return tfm_tokenizer_learn(&t->tokenizer, &o, lines, n, &t->error);
}

/* That of one file, or a pair of two. */
static tfm_status load_tokenizer(training *t)
{
    const train_args *a = t->args;
    tfm_tokenizer *source = NULL, *target = NULL;
    if (!a->target_tokenizer_file) return tfm_tokenizer_load(&t->tokenizer, a->tokenizer_file, NULL, &t->error);
    tfm_status status = tfm_tokenizer_load(&source, a->tokenizer_file, NULL, &t->error);
    if (!status) status = tfm_tokenizer_load(&target, a->target_tokenizer_file, NULL, &t->error);
    if (!status) status = tfm_tokenizer_pair(&t->tokenizer, source, target, NULL, &t->error);
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
    return status;
}

static int make_tokenizer(training *t)
{
    if (t->args->tokenizer_file) return load_tokenizer(t) ? fail_library(t) : EXIT_SUCCESS;
    console_status("learning the tokenizer from %zu lines", t->src.size + t->tgt.size);
    tfm_text *both = NULL;
    size_t capacity = 0;
    memory_grow(&both, &capacity, t->src.size + t->tgt.size, sizeof *both);
    memcpy(both, t->src.lines, t->src.size * sizeof *both);
    memcpy(both + t->src.size, t->tgt.lines, t->tgt.size * sizeof *both);
    const tfm_status status = learn_tokenizer(t, both, t->src.size + t->tgt.size);
    free(both);
    return status ? fail_library(t) : EXIT_SUCCESS;
}

/* Two vocabularies need embeddings of their own, unless something else was asked for. */
static void separate_embeddings(training *t)
{
    const string_list *sets = &t->args->sets;
    for (size_t i = 0; i < sets->size; i++)
        if (strncmp(sets->items[i], "sharing=", 8) == 0) return;
    if (tfm_tokenizer_target(t->tokenizer) != t->tokenizer) t->model_options.sharing = TFM_SHARE_TARGET;
}

static int make_model(training *t, tfm_model **model)
{
    if (t->args->init) return model_load(model, t->args->init, false, &t->error) ? fail_library(t) : EXIT_SUCCESS;
    const int code = make_tokenizer(t);
    if (code) return code;
    separate_embeddings(t);
    return tfm_model_create(model, &t->model_options, t->tokenizer, &t->error) ? fail_library(t) : EXIT_SUCCESS;
}

static int start_new(training *t)
{
    tfm_model *model = NULL;
    int code = make_model(t, &model);
    if (!code && tfm_trainer_create(&t->trainer, model, &t->options, &t->error)) code = fail_library(t);
    tfm_model_free(model);
    return code;
}

static int start(training *t)
{
    t->options.progress = on_progress;
    t->options.progress_user = t;
    t->options.log = console_log;
    if (!t->resume) {
        const int code = start_new(t);
        if (code) return code;
    } else if (tfm_trainer_resume(&t->trainer, t->resume, &t->options, &t->error)) {
        return fail_library(t);
    }
    console_status("encoding %zu pairs", t->src.size);
    if (tfm_trainer_set_data(t->trainer, t->src.lines, t->tgt.lines, t->src.size, &t->report, sizeof t->report,
                             &t->error))
        return fail_library(t);
    if (t->valid_src.size > 0 &&
        tfm_trainer_set_valid(t->trainer, t->valid_src.lines, t->valid_tgt.lines, t->valid_src.size, &t->error))
        return fail_library(t);
    t->n_valid = t->valid_src.size;
    return EXIT_SUCCESS;
}

/* The log, and the samples beside it, for which the text is still there. */
static int open_logs(training *t)
{
    const train_args *a = t->args;
    const bool append = t->resume != NULL;
    if (!progress_open(&t->progress, a->log, append)) return EXIT_FAILURE;
    if (a->log && !append) sample_log_forget(a->log);
    if (a->samples == 0) return EXIT_SUCCESS;
    return sample_log_open(&t->samples, a->log, append, &t->valid_src, &t->valid_tgt, a->samples);
}

static void announce_data(const training *t, const tfm_model_options *o)
{
    const tfm_data_report *r = &t->report;
    const uint32_t rows = o->positions == TFM_POSITIONS_LEARNED ? o->max_positions - o->position_offset : UINT32_MAX;
    const uint32_t longest = rows < t->options.max_length ? rows : t->options.max_length;
    char a[32], b[32], c[32], d[32];
    console_say("data        %s pairs (skipped: %s blank, %s longer than %u tokens)", format_count(a, r->pairs),
                format_count(b, r->blank), format_count(c, r->too_long), longest);
    console_say("            an epoch is %s source and %s target tokens; %s unknown", format_count(a, r->source_tokens),
                format_count(b, r->target_tokens), format_count(d, r->unknown));
    if (t->n_valid > 0) console_say("validation  %s pairs", format_count(a, t->n_valid));
}

static void announce_model(const tfm_model *model, const char *preset)
{
    tfm_model_options o;
    tfm_model_costs costs = {0};
    char text[160], count[32];
    tfm_model_get_options(&o, sizeof o, model);
    const tfm_tokenizer *tokenizer = tfm_model_tokenizer(model);
    if (tokenizer)
        console_say("tokenizer   %s, %s entries", tokenizer_kind_name(tokenizer),
                    format_count(count, tfm_tokenizer_vocab_size(tokenizer)));
    const tfm_tokenizer *target = tfm_tokenizer_target(tokenizer);
    if (target != tokenizer)
        console_say("            of targets: %s, %s entries", tokenizer_kind_name(target),
                    format_count(count, tfm_tokenizer_vocab_size(target)));
    tfm_model_options_costs(&costs, sizeof costs, &o, 1, 1, NULL);
    console_say("model       %s%s%s; %s parameters", preset, *preset ? ": " : "", model_options_describe(&o, text),
                format_count(count, costs.parameters));
}

static void announce_run(const training *t, uint32_t d_model)
{
    const tfm_trainer_options *o = &t->options;
    cpu_set_t cores;
    const int n_cores = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    const double peak = (double)o->lr_scale / sqrt((double)d_model * (double)o->warmup);
    console_say("training    batches of up to %u tokens a side x %u; threads: %u; the rate peaks at %.3g in step %u",
                o->batch_tokens, o->accumulate, o->n_threads ? o->n_threads : (unsigned)n_cores, peak, o->warmup);
    if (o->cooldown)
        console_say("            and falls to nearly zero from step %llu to %llu",
                    (unsigned long long)(o->max_steps - o->cooldown + 1), (unsigned long long)o->max_steps);
    const uint32_t piece = (uint32_t)t->report.piece_tokens;
    if (piece < o->batch_tokens)
        console_say(
            "            a batch is worked off in about %u pieces of up to %u tokens a side, to take %llu MB at most",
            (o->batch_tokens + piece - 1) / piece, piece, (unsigned long long)(t->report.memory / 1000000));
    if (o->max_steps > 0 && o->max_steps <= o->warmup)
        console_say("            note: the rate still rises in the last step, %llu; --warmup %llu would suit better",
                    (unsigned long long)o->max_steps, (unsigned long long)(o->max_steps + 9) / 10);
    if (t->resume) console_say("            goes on from %s", t->resume);
    else if (t->args->init) console_say("            begins with the weights of %s", t->args->init);
    console_say("            Ctrl-C stops it with a checkpoint, %s-STEP.ckpt", o->checkpoint_path);
}

static int announce(training *t)
{
    tfm_model *model;
    tfm_model_options o;
    if (console_silent()) return EXIT_SUCCESS;
    if (tfm_trainer_model(&model, t->trainer, &t->error)) return fail_library(t);
    tfm_model_get_options(&o, sizeof o, model);
    announce_data(t, &o);
    announce_model(model, t->resume || t->args->init ? "" : preset_of(t));
    announce_run(t, o.d_model);
    tfm_model_free(model);
    return EXIT_SUCCESS;
}

/* The mean of the last checkpoints, none of them later than the last step. */
static int average_last(training *t, tfm_model **model)
{
    char *paths[MOST_AVERAGED];
    checkpoint_list list;
    size_t n = 0;
    const uint64_t last =
        t->progress.step > 0 ? t->progress.step : UINT64_MAX; /* 0: resumed at its end, no step taken */
    checkpoints_find(&list, t->options.checkpoint_path);
    for (size_t i = list.size; i-- > 0 && n < t->args->average;)
        if (list.steps[i] <= last) paths[n++] = checkpoint_path(t->options.checkpoint_path, list.steps[i]);
    checkpoints_free(&list);
    if (n < t->args->average) console_warn("only %zu of %u checkpoints exist to be averaged", n, t->args->average);
    int code = EXIT_SUCCESS;
    if (n > 0) code = models_average(model, (const char *const *)paths, n, 0);
    else if (tfm_trainer_model(model, t->trainer, &t->error)) code = fail_library(t);
    for (size_t i = 0; i < n; i++) free(paths[i]);
    return code;
}

static int save_model(training *t)
{
    const char *path = t->args->model;
    tfm_model *model = NULL;
    int code = EXIT_SUCCESS;
    if (t->args->average > 0) code = average_last(t, &model);
    else if (tfm_trainer_model(&model, t->trainer, &t->error)) code = fail_library(t);
    if (!code && tfm_model_save(model, path, &t->error)) code = fail_library(t);
    tfm_model_free(model);
    if (!code) console_say("saved       %s; try: echo 'a sentence' | tfm translate --model %s", path, path);
    return code;
}

static void show_profile(const training *t)
{
    profile p = {0};
    profile_read(&p, t->trainer);
    profile_print(&p);
    profile_free(&p);
}

static int train(training *t)
{
    if (t->args->restart) {
        const int code = delete_stale(t);
        if (code) return code;
    }
    catch_signals();
    const tfm_status status = tfm_trainer_run(t->trainer, &t->error);
    if (t->args->profile) show_profile(t);
    if (status == TFM_E_CANCELLED)
        return console_fail(
            "stopped by a signal at step %llu; %s keeps everything: give the same command with --resume "
            "to go on",
            (unsigned long long)t->progress.step, *t->progress.checkpoint ? t->progress.checkpoint : "no checkpoint");
    if (status) return fail_library(t);
    console_say("ended       %s", t->progress.reason);
    return save_model(t);
}

static void training_free(training *t)
{
    forget_text(t);
    tfm_tokenizer_free(t->tokenizer);
    tfm_trainer_free(t->trainer);
    free(t->resume);
}

int training_run(const train_args *args)
{
    training t = {.args = args, .options = args->trainer};
    int code = set_model_options(&t);
    if (!code) code = check_paths(&t);
    if (!code) code = check_shape(&t);
    if (!code) code = read_data(&t);
    if (!code) code = start(&t);
    if (!code) code = open_logs(&t);
    forget_text(&t);
    if (!code) code = announce(&t);
    if (!code) code = train(&t);
    if (!(progress_close(&t.progress) & sample_log_close(&t.samples)) && !code) code = EXIT_FAILURE;
    training_free(&t);
    return code;
}
