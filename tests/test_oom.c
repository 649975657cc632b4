/* Memory that runs out at every allocation of models and trainers: a clear status, no leak, and everything goes on. */
#include "training_models.h"

static const tfm_text sources[] = {LINE("the cat sat"), LINE("a dog"), LINE(""), LINE("on the mat"),
                                   LINE("the log \xff")};
static const tfm_text targets[] = {LINE("a cat"), LINE("the dog sat"), LINE("x"), LINE("on a mat"), LINE("log")};
enum { LINES = 5 };

static char folder[TESTING_PATH], path[TESTING_PATH], other[TESTING_PATH];
static tfm_model *model;

static void setup(void)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options o = small_options();

    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.vocab_size = 0;
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    tfm_tokenizer_free(t);
    path_join(path, temp_make(folder), "file");
    path_join(other, folder, "other");
}

static void teardown(void)
{
    tfm_model_free(model);
    temp_remove(folder);
}

/* -------------------------------------------------------------------------------------------------- models ---- */

typedef tfm_status make_fn(tfm_model **out, const tfm_allocator *a);

static tfm_status make_random(tfm_model **out, const tfm_allocator *a)
{
    tfm_model_options o = small_options();

    o.vocab_size = 0;
    o.allocator = a;
    return tfm_model_create(out, &o, tfm_model_tokenizer(model), &error);
}

static tfm_status make_given(tfm_model **out, const tfm_allocator *a)
{
    static tfm_parameter p[64];
    const size_t n = tfm_model_parameter_count(model);
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, model);
    o.allocator = a;
    for (size_t i = 0; i < n; i++) ck_assert_ok(tfm_model_parameter_at(&p[i], model, i, &error), error);
    return tfm_model_create_from(out, &o, tfm_model_tokenizer(model), p, n, &error);
}

static tfm_status make_loaded(tfm_model **out, const tfm_allocator *a)
{
    const tfm_load_options o = load_with(a);

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    return tfm_model_load(out, path, &o, &error);
}

static void fail_every_allocation(make_fn *make)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_model *made = model;
        status = make(&made, &a);
        ck_assert((made != NULL) == (status == TFM_OK));
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_model_free(made);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 10);
}

START_TEST(c34_models_without_memory)
{
    fail_every_allocation(make_random);
    fail_every_allocation(make_given);
    fail_every_allocation(make_loaded);
}
END_TEST

/* Saving and averaging take the memory of the model they are called on. */
START_TEST(c34_models_saved_and_averaged_without_memory)
{
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_status status = TFM_E_NOMEM;
    size_t size, size_now, n = 0;
    tfm_model *m, *mean;

    ck_assert_ok(make_given(&m, &a), error);
    ck_assert_ok(tfm_model_save(m, path, &error), error);
    char *before = file_read(path, &size);
    const size_t live = f.live;
    for (; status != TFM_OK; n++) {
        f.fail_at = f.calls + n;
        status = tfm_model_save(m, path, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(f.live, live);
        char *now = file_read(path, &size_now);
        ck_assert_uint_eq(size_now, size);
        ck_assert_mem_eq(now, before, size);
        free(now);
    }
    ck_assert_uint_gt(n, 5);
    status = TFM_E_NOMEM;
    for (n = 0; status != TFM_OK; n++) {
        const tfm_model *const both[] = {m, model};
        f.fail_at = f.calls + n;
        status = tfm_model_average(&mean, both, 2, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_model_free(mean);
        ck_assert_uint_eq(f.live, live);
    }
    ck_assert_uint_gt(n, 10);
    tfm_model_free(m);
    ck_assert_uint_eq(f.live, 0);
    free(before);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- trainers ---- */

static tfm_trainer_options options_with(const tfm_allocator *a)
{
    tfm_trainer_options o = trainer_options();

    o.allocator = a;
    o.batch_tokens = 12;
    o.replace_invalid = 1;
    o.valid_bleu = 1;
    o.valid_every = 2;
    o.max_steps = 4;
    o.checkpoint_path = path;
    o.checkpoint_steps = 3;
    o.memory = UINT64_MAX; /* pieces are chosen */
    return o;
}

static tfm_trainer *ready_trainer(const tfm_allocator *a)
{
    const tfm_trainer_options o = options_with(a);
    tfm_trainer *t = trainer_of(model, &o, NULL);

    ck_assert_ok(tfm_trainer_set_data(t, sources, targets, LINES, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, sources, targets, 1, &error), error);
    return t;
}

START_TEST(c34_trainers_begun_without_memory)
{
    for (int resumed = 0; resumed < 2; resumed++) {
        tfm_status status = TFM_E_NOMEM;
        size_t n = 0;
        if (resumed) {
            tfm_trainer *t = ready_trainer(NULL);
            ck_assert_ok(tfm_trainer_save(t, path, &error), error);
            tfm_trainer_free(t);
        }
        for (; status != TFM_OK; n++) {
            faulty f = {.fail_at = n};
            const tfm_allocator a = faulty_allocator(&f);
            const tfm_trainer_options o = options_with(&a);
            tfm_trainer *t = NULL;
            status = resumed ? tfm_trainer_resume(&t, path, &o, &error) : tfm_trainer_create(&t, model, &o, &error);
            ck_assert((t != NULL) == (status == TFM_OK));
            if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
            tfm_trainer_free(t);
            ck_assert_uint_eq(f.live, 0);
        }
        ck_assert_uint_gt(n, 15);
    }
}
END_TEST

typedef tfm_status use_fn(tfm_trainer *t);

static tfm_status use_data(tfm_trainer *t)
{
    return tfm_trainer_set_data(t, sources, targets, LINES, NULL, 0, &error);
}

static tfm_status use_ids(tfm_trainer *t)
{
    static const int32_t ids[] = {4, 5, 6, 1};
    const tfm_ids pair[] = {{ids, 4}, {ids + 1, 3}};

    const tfm_status status = tfm_trainer_set_data_ids(t, pair, pair, 2, NULL, 0, &error);
    return status == TFM_OK ? use_data(t) : status; /* back to what the others train on */
}

static tfm_status use_valid(tfm_trainer *t)
{
    return tfm_trainer_set_valid(t, sources, targets, 1, &error);
}

static tfm_status use_run(tfm_trainer *t)
{
    return tfm_trainer_run(t, &error);
}

static tfm_status use_save(tfm_trainer *t)
{
    return tfm_trainer_save(t, other, &error);
}

static tfm_status use_model(tfm_trainer *t)
{
    tfm_model *now;
    const tfm_status status = tfm_trainer_model(&now, t, &error);

    tfm_model_free(now);
    return status;
}

/* Use fails at every allocation in turn; each time the trainer then goes on as one that never met with trouble. */
static void disturb(use_fn *use, size_t least)
{
    tfm_trainer *calm = ready_trainer(NULL);
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    ck_assert_ok(use(calm), error);
    ck_assert_ok(tfm_trainer_run(calm, &error), error);
    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_trainer *t = ready_trainer(&a);
        f.fail_at = f.calls + n;
        status = use(t);
        if (status != TFM_OK) {
            ck_assert_status(status, TFM_E_NOMEM, error);
            ck_assert_uint_gt(f.calls, f.fail_at);
            ck_assert_ok(use(t), error);
        }
        f.fail_at = SIZE_MAX;
        ck_assert_ok(tfm_trainer_run(t, &error), error);
        same_training(t, calm);
        ck_assert(use == use_run || t->loop.progress.valid_nll == calm->loop.progress.valid_nll);
        ck_assert(use == use_run || t->loop.progress.valid_bleu == calm->loop.progress.valid_bleu);
        tfm_trainer_free(t);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_msg(n > least, "only %zu allocations", n);
    tfm_trainer_free(calm);
}

START_TEST(c34_data_without_memory)
{
    disturb(use_data, 15);
    disturb(use_ids, 15);
    disturb(use_valid, 15);
}
END_TEST

/* There is no room yet that earlier data made. */
START_TEST(c34_first_data_without_memory)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        const tfm_trainer_options o = options_with(&a);
        tfm_trainer *t = trainer_of(model, &o, NULL);
        f.fail_at = f.calls + n;
        status = use_data(t);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        f.fail_at = SIZE_MAX;
        ck_assert_ok(use_data(t), error);
        tfm_trainer_free(t);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 20);
}
END_TEST

START_TEST(c34_files_and_models_without_memory)
{
    disturb(use_save, 5);
    disturb(use_model, 10);
}
END_TEST

START_TEST(c34_a_run_without_memory)
{
    disturb(use_run, 60);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- decoders ---- */

typedef struct answer {
    char text[LINES][200];
    size_t size[LINES];
    double score[LINES], logprob[LINES];
} answer;

static tfm_status translate(tfm_decoder *d, answer *out)
{
    tfm_status status = tfm_decoder_translate(d, sources, LINES, &error);

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < LINES && status == TFM_OK; i++) {
        const tfm_text text = tfm_decoder_text(d, i, 0);
        ck_assert_uint_lt(text.size, sizeof out->text[i]);
        memcpy(out->text[i], text.data, text.size);
        out->size[i] = text.size;
        out->score[i] = tfm_decoder_score(d, i, 0);
    }
    if (status == TFM_OK) status = tfm_decoder_logprobs(d, sources, targets, LINES, &error);
    for (size_t i = 0; i < LINES && status == TFM_OK; i++) out->logprob[i] = tfm_decoder_pair_logprob(d, i);
    return status;
}

/* A decoder that met with trouble then gives the bits of one that did not. */
START_TEST(c34_translations_are_the_same_after_a_lack_of_memory)
{
    tfm_status status;
    answer want, got;
    size_t n = 0;

    for (bool calm = true, done = false; !done; done = !calm && status == TFM_OK, calm = false, n++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_decoder_options o;
        tfm_decoder *d;
        tfm_decoder_options_init(&o, sizeof o);
        o.allocator = &a;
        o.replace_invalid = 1;
        o.n_threads = 2;
        o.max_length = 6;
        ck_assert_ok(tfm_decoder_create(&d, model, &o, &error), error);
        if (!calm) f.fail_at = f.calls + n - 1;
        status = translate(d, calm ? &want : &got);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        if (!calm) ck_assert_ok(translate(d, &got), error);
        if (!calm) ck_assert_mem_eq(&got, &want, sizeof got);
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 15);
}
END_TEST

/* Whole epochs of ragged batches, in pieces or not, with validation: all room was made when the data came. */
START_TEST(no_step_allocates)
{
    for (int recompute = 0; recompute < 2; recompute++)
        for (int pieces = 0; pieces < 2; pieces++) {
            faulty f = {.fail_at = SIZE_MAX};
            const tfm_allocator a = faulty_allocator(&f);
            tfm_trainer_options o = trainer_options();
            pairs p, valid;
            o.n_threads = 3;
            o.batch_tokens = 60;
            o.accumulate = 2;
            o.recompute = (uint32_t)recompute;
            o.dropout_attention = 0.1f;
            pairs_random(&p, 150, 23, 30, 1);
            pairs_random(&valid, 9, 40, 30, 2); /* longer ones */
            if (pieces) o.memory = memory_for(model, &o, &p, 20);
            o.allocator = &a;
            tfm_trainer *t = trainer_of(model, &o, &p);
            ck_assert(t->training.piece_tokens == (pieces ? 20 : 60));
            tfm_dataset held;
            ck_assert_ok(tfm_dataset_create(&held, &a, &error), error);
            for (size_t i = 0; i < valid.n; i++)
                ck_assert_ok(tfm_dataset_add(&held, valid.sources[i], valid.targets[i], &error), error);
            ck_assert_ok(tfm_training_set_valid(&t->training, &held, &error), error);
            f.fail_at = f.calls;
            for (tfm_sums sums; t->training.at.epoch < 4;) {
                step_once(t);
                ck_assert_ok(tfm_training_validate(&t->training, &sums, &error), error);
            }
            ck_assert_uint_eq(f.calls, f.fail_at);
            tfm_trainer_free(t);
            ck_assert_uint_eq(f.live, 0);
            pairs_free(&p);
            pairs_free(&valid);
        }
}
END_TEST

static Suite *oom_suite(void)
{
    Suite *suite = suite_create("oom");
    TCase *tc = tcase_create("oom");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, c34_models_without_memory);
    tcase_add_test(tc, c34_models_saved_and_averaged_without_memory);
    tcase_add_test(tc, c34_trainers_begun_without_memory);
    tcase_add_test(tc, c34_data_without_memory);
    tcase_add_test(tc, c34_first_data_without_memory);
    tcase_add_test(tc, c34_files_and_models_without_memory);
    tcase_add_test(tc, c34_a_run_without_memory);
    tcase_add_test(tc, c34_translations_are_the_same_after_a_lack_of_memory);
    tcase_add_test(tc, no_step_allocates);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(oom_suite)
