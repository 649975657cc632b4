/* An update of a training, to the bit: threads, stopping, recomputation, ranks, and Adam. */
#include "training_models.h"

enum { STEPS = 50, VOCAB = 53 };

static pairs data;
static tfm_model *model;

/* More than one piece of weights and of rows, so that threads have something to share. */
static void setup(void)
{
    tfm_model_options o = small_options();

    o.d_model = 32;
    o.d_ff = 64;
    o.n_heads = 4;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    pairs_random(&data, 37, 14, VOCAB, 3);
}

static void teardown(void)
{
    tfm_model_free(model);
    pairs_free(&data);
}

/* Dropout in all four places, smoothing, two batches an update; 5 updates an epoch. */
static tfm_trainer_options all_options(int dtype)
{
    tfm_trainer_options o = trainer_options();

    o.dtype = (uint32_t)dtype;
    o.dropout = 0.2f;
    o.dropout_embedding = 0.1f;
    o.dropout_attention = 0.15f;
    o.dropout_relu = 0.25f;
    o.batch_tokens = 40;
    o.accumulate = 2;
    o.clip_norm = 1.0f;
    o.max_steps = STEPS;
    o.cooldown = STEPS / 2;
    o.seed = 7;
    return o;
}

/* -------------------------------------------------------------------------------------------------- threads ---- */

START_TEST(m49_same_bits_for_any_number_of_threads)
{
    static const uint32_t threads[] = {1, 2, 5};
    double loss[STEPS], nll[STEPS], norm[STEPS];
    tfm_trainer *first = NULL;

    ck_assert_uint_gt(tfm_model_parameter_count(model), 0);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        tfm_trainer_options o = all_options(_i);
        o.n_threads = threads[i];
        tfm_trainer *t = trainer_of(model, &o, &data);
        ck_assert_uint_gt(t->training.weights.size, 1 << 15);
        for (size_t s = 0; s < STEPS; s++) {
            const tfm_progress p = step_once(t);
            if (!i) loss[s] = p.loss, nll[s] = p.nll, norm[s] = p.gradient_norm;
            ck_assert_mem_eq(&loss[s], &p.loss, sizeof p.loss);
            ck_assert_mem_eq(&nll[s], &p.nll, sizeof p.nll);
            ck_assert_mem_eq(&norm[s], &p.gradient_norm, sizeof p.gradient_norm);
        }
        if (i) same_training(first, t);
        if (i) tfm_trainer_free(t);
        else first = t;
    }
    ck_assert_uint_gt(first->training.at.epoch, 2);
    ck_assert(loss[STEPS - 1] < loss[0]);
    tfm_trainer_free(first);
}
END_TEST

START_TEST(m28_recomputation_changes_no_bit)
{
    tfm_trainer_options o = all_options(_i);
    tfm_trainer *kept = trainer_of(model, &o, &data);

    o.recompute = 1;
    tfm_trainer *again = trainer_of(model, &o, &data);
    for (size_t s = 0; s < 10; s++) {
        const tfm_progress a = step_once(kept), b = step_once(again);
        ck_assert_mem_eq(&a.loss, &b.loss, sizeof a.loss);
        same_bits(again->training.g, kept->training.g, kept->training.weights.size, "gradient");
    }
    same_training(kept, again);
    ck_assert_uint_lt(again->training.run.block.size, kept->training.run.block.size);
    tfm_trainer_free(kept);
    tfm_trainer_free(again);
}
END_TEST

START_TEST(m27_masks_change_with_batch_and_epoch)
{
    tfm_trainer_options o = trainer_options();
    double loss[4];

    for (int dropped = 0; dropped < 2; dropped++) {
        const tfm_ids sources[] = {data.sources[0], data.sources[0]}, targets[] = {data.targets[0], data.targets[0]};
        o.dropout = dropped ? 0.3f : 0.0f;
        o.lr_scale = 0.0f; /* the same weights, the same pair: only the masks can make a difference */
        o.batch_tokens = 1;
        tfm_trainer *t = trainer_of(model, &o, NULL);
        ck_assert_ok(tfm_trainer_set_data_ids(t, sources, targets, 2, NULL, 0, &error), error);
        for (int i = 0; i < 4; i++) loss[i] = step_once(t).loss; /* two epochs of two batches */
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < i; j++) ck_assert((loss[i] != loss[j]) == dropped);
        tfm_trainer_free(t);
    }
}
END_TEST

/* --------------------------------------------------------------------------------------- stopped and resumed ---- */

START_TEST(c17_ten_steps_saved_and_ten_more)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    const tfm_trainer_options o = all_options(_i);
    tfm_trainer *straight = trainer_of(model, &o, &data), *t = trainer_of(model, &o, &data);

    path_join(path, temp_make(folder), "half");
    steps(straight, 20);
    steps(t, 10);
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    tfm_trainer_free(t);
    t = trainer_resumed(path, &o, &data);
    ck_assert_uint_eq(t->training.at.step, 10);
    steps(t, 10);
    same_training(straight, t);
    const tfm_progress a = step_once(straight), b = step_once(t);
    ck_assert_mem_eq(&a.learning_rate, &b.learning_rate, sizeof a.learning_rate);
    ck_assert_mem_eq(&a.loss, &b.loss, sizeof a.loss);
    tfm_trainer_free(straight);
    tfm_trainer_free(t);
    temp_remove(folder);
}
END_TEST

/* What a run reported: loss and ids of the last batch of each step. */
typedef struct diary {
    tfm_trainer *trainer;
    bool stop; /* inside the third epoch, after two updates of it */
    double loss[STEPS + 1];
    uint32_t ids[STEPS + 1];
    size_t steps;
} diary;

static int32_t write_diary(void *user, const tfm_progress *p)
{
    diary *d = user;
    const tfm_packed *packed = &d->trainer->training.packed;

    if (p->event != TFM_EVENT_STEP) return 0;
    ck_assert_uint_le(p->step, STEPS);
    d->loss[p->step] = p->loss;
    d->ids[p->step] = 17;
    for (size_t i = 0; i < packed->n_target; i++) d->ids[p->step] = d->ids[p->step] * 31 + (uint32_t)packed->labels[i];
    d->steps++;
    return d->stop && p->epoch == 2 && d->trainer->training.at.update == 2;
}

static tfm_status run_with(diary *d, tfm_trainer *t)
{
    d->trainer = t;
    return tfm_trainer_run(t, &error);
}

START_TEST(c18_resumed_in_the_middle_of_a_later_epoch)
{
    char folder[TESTING_PATH], base[TESTING_PATH], path[TESTING_PATH + 32];
    tfm_trainer_options o = all_options(_i);
    diary whole = {0}, half = {0};

    path_join(base, temp_make(folder), "run");
    o.progress = write_diary;
    o.progress_user = &whole;
    tfm_trainer *straight = trainer_of(model, &o, &data);
    ck_assert_ok(run_with(&whole, straight), error);
    const uint64_t updates = tfm_training_updates(&straight->training);
    ck_assert_uint_ge(updates, 4);
    o.checkpoint_path = base;
    o.checkpoint_steps = 1000;
    o.progress_user = &half;
    half.stop = true;
    tfm_trainer *t = trainer_of(model, &o, &data);
    ck_assert_status(run_with(&half, t), TFM_E_CANCELLED, error);
    ck_assert_uint_eq(half.steps, t->training.at.step);
    ck_assert_uint_lt(half.steps, STEPS - 10);
    tfm_trainer_free(t);
    snprintf(path, sizeof path, "%s-%zu.ckpt", base, half.steps);
    o.n_threads = 2;
    half.stop = false;
    t = trainer_resumed(path, &o, &data);
    ck_assert_ok(run_with(&half, t), error);
    ck_assert_uint_eq(half.steps, STEPS);
    ck_assert_mem_eq(half.ids, whole.ids, sizeof whole.ids);
    ck_assert_mem_eq(half.loss, whole.loss, sizeof whole.loss);
    same_training(straight, t);
    /* an epoch's order is not that of the one before it */
    ck_assert_mem_ne(whole.ids + 1, whole.ids + 1 + updates, updates * sizeof *whole.ids);
    tfm_trainer_free(t);
    tfm_trainer_free(straight);
    temp_remove(folder);
}
END_TEST

/* bfloat16 has eight bits: one rounding is below 2^-8, and a gradient passes through some tens of products. */
START_TEST(mixed_precision_is_float32_but_for_rounded_operands)
{
    tfm_trainer *t[2];
    tfm_progress p[2];
    double difference = 0.0, size = 0.0;

    for (int dtype = 0; dtype < 2; dtype++) {
        const tfm_trainer_options o = all_options(dtype);
        t[dtype] = trainer_of(model, &o, &data);
        p[dtype] = step_once(t[dtype]);
    }
    for (size_t i = 0; i < t[0]->training.weights.size; i++) {
        const double a = (double)t[0]->training.g[i], b = (double)t[1]->training.g[i];
        difference += (a - b) * (a - b);
        size += a * a;
    }
    ck_assert_double_lt(sqrt(difference / size), 0.1);
    ck_assert_double_gt(sqrt(difference / size), 0.0005); /* or nothing was rounded */
    ck_assert_double_lt(fabs(p[1].loss - p[0].loss), 0.003 * p[0].loss);
    ck_assert_double_ne(p[1].loss, p[0].loss);
    for (int dtype = 0; dtype < 2; dtype++) tfm_trainer_free(t[dtype]);
}
END_TEST

/* Only steps are rounded: what a validation says holds for the float32 model that is saved. */
START_TEST(validation_is_float32)
{
    double nll[2];

    for (int dtype = 0; dtype < 2; dtype++) {
        const tfm_trainer_options o = all_options(dtype);
        tfm_trainer *t = trainer_of(model, &o, &data);
        tfm_dataset valid;
        tfm_sums sums;
        ck_assert_ok(tfm_dataset_create(&valid, &t->allocator, &error), error);
        for (size_t i = 0; i < data.n; i++)
            ck_assert_ok(tfm_dataset_add(&valid, data.sources[i], data.targets[i], &error), error);
        ck_assert_ok(tfm_training_set_valid(&t->training, &valid, &error), error);
        ck_assert_ok(tfm_training_validate(&t->training, &sums, &error), error);
        nll[dtype] = sums.nll;
        tfm_trainer_free(t);
    }
    ck_assert_mem_eq(&nll[0], &nll[1], sizeof nll[0]);
}
END_TEST

START_TEST(a_checkpoint_keeps_its_dtype)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_trainer_options o = all_options(TFM_DTYPE_BF16);
    tfm_trainer *t = trainer_of(model, &o, &data);

    path_join(path, temp_make(folder), "bf16");
    step_once(t);
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    tfm_trainer_free(t);
    o.dtype = TFM_DTYPE_F32;
    ck_assert_ok(tfm_trainer_resume(&t, path, &o, &error), error);
    ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message, "dtype"));
    tfm_trainer_free(t);
    temp_remove(folder);
}
END_TEST

START_TEST(another_seed_is_another_run)
{
    tfm_trainer_options o = all_options(TFM_DTYPE_F32);
    tfm_trainer *a = trainer_of(model, &o, &data);

    o.seed = 8;
    tfm_trainer *b = trainer_of(model, &o, &data);
    steps(a, 3);
    steps(b, 3);
    ck_assert_mem_ne(a->training.w, b->training.w, a->training.weights.size * sizeof(float));
    tfm_trainer_free(a);
    tfm_trainer_free(b);
}
END_TEST

/* -------------------------------------------------------------------------------------------- micro-batches ---- */

/* Relative to the tensor, or to a thousandth of all: a bias of keys has no gradient but noise. */
static void assert_same_gradient(const tfm_trainer *a, const tfm_trainer *b, double norm)
{
    for (size_t i = 0; i < a->training.weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &a->training.weights.parameters[i];
        const float *x = a->training.g + p->offset, *y = b->training.g + p->offset;
        double worst = 0.0, squares = 0.0;

        for (size_t j = 0; j < p->size; j++) {
            worst = fmax(worst, fabs((double)x[j] - (double)y[j]));
            squares += (double)y[j] * (double)y[j];
        }
        const double scale = fmax(sqrt(squares), 1e-3 * norm);
        ck_assert_msg(worst <= 1e-6 * scale, "%s: differs by %g of %g", p->name, worst, scale);
    }
}

static tfm_trainer *one_update(const tfm_trainer_options *o, const pairs *p, tfm_progress *progress)
{
    tfm_model_options mo = small_options();
    tfm_model *biased;

    mo.attention_bias = 1;
    ck_assert_ok(tfm_model_create(&biased, &mo, NULL, &error), error);
    tfm_trainer *t = trainer_of(biased, o, p);
    *progress = step_once(t);
    tfm_model_free(biased);
    return t;
}

START_TEST(m20_c15_the_split_into_batches_does_not_matter)
{
    static const uint32_t splits[][2] = {{13, 2}, {1, 12}, {7, 5}}; /* batch_tokens, batches that they give */
    tfm_trainer_options o = trainer_options();
    tfm_progress whole, split;
    uint64_t state = 5;
    pairs p;

    pairs_begin(&p, 100); /* 2 and 10 tokens, and some more */
    for (size_t i = 0; i < 12; i++, p.n++) {
        p.sources[i] = ids_random(&p, i % 3 ? 3 : 4, VOCAB, &state);
        p.targets[i] = ids_random(&p, i ? 2 : 10, VOCAB, &state);
    }
    o.dropout = 0.0f;
    tfm_trainer *a = one_update(&o, &p, &whole);
    ck_assert_uint_eq(a->training.batches.n, 1);
    ck_assert_uint_eq(whole.target_tokens, 32);
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        o.batch_tokens = splits[i][0];
        o.accumulate = 20;
        tfm_trainer *b = one_update(&o, &p, &split);
        ck_assert_uint_ge(b->training.batches.n, splits[i][1]);
        ck_assert_uint_eq(split.target_tokens, 32);
        ck_assert_double_eq_tol(split.loss, whole.loss, 1e-7);
        golden_near(split.gradient_norm, whole.gradient_norm, 0, 1e-6, "norm");
        assert_same_gradient(b, a, whole.gradient_norm * whole.target_tokens);
        tfm_trainer_free(b);
    }
    tfm_trainer_free(a);
    pairs_free(&p);
}
END_TEST

/* Sums of loss and nll of one batch of these pairs; gradients stay in the trainer. */
static tfm_trainer *sums_of(const pairs *p, size_t first, size_t n, float smoothing, tfm_sums *sums)
{
    tfm_trainer_options o = trainer_options();
    tfm_update update;
    tfm_trainer *t;

    o.dropout = 0.0f;
    o.label_smoothing = smoothing;
    ck_assert_ok(tfm_trainer_create(&t, model, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data_ids(t, p->sources + first, p->targets + first, n, NULL, 0, &error), error);
    ck_assert_ok(tfm_training_step(&t->training, &update, &error), error);
    *sums = update.sums;
    return t;
}

/* Elements are sums that cancel: their rounding is that of the parameter's largest ones. A padded row would be off by
 * far more. */
static void assert_sum_of_gradients(const tfm_trainer *t, const tfm_trainer *a, const tfm_trainer *b,
                                    const tfm_parameter_plan *p)
{
    const float *g = t->training.g + p->offset, *g_a = a->training.g + p->offset, *g_b = b->training.g + p->offset;
    double largest = 0.0;

    for (size_t i = 0; i < p->size; i++) largest = fmax(largest, fabs((double)g_a[i] + (double)g_b[i]));
    for (size_t i = 0; i < p->size; i++)
        near_one((double)g[i], (double)g_a[i] + (double)g_b[i], largest, 2e-6, p->name, i);
}

START_TEST(c14_m19_nothing_is_padded)
{
    tfm_sums both, one, other, plain;
    uint64_t state = 6;
    pairs p;

    pairs_begin(&p, 200);
    p.sources[0] = ids_random(&p, 3, VOCAB, &state);
    p.targets[0] = ids_random(&p, 3, VOCAB, &state);
    p.sources[1] = ids_random(&p, 90, VOCAB, &state);
    p.targets[1] = ids_random(&p, 10, VOCAB, &state);
    tfm_trainer *t = sums_of(&p, 0, 2, 0.1f, &both), *a = sums_of(&p, 0, 1, 0.1f, &one),
                *b = sums_of(&p, 1, 1, 0.1f, &other);
    ck_assert(both.target_tokens == 13.0 && both.source_tokens == 93.0);
    ck_assert_double_eq_tol(both.loss, one.loss + other.loss, 1e-13 * both.loss);
    ck_assert_double_eq_tol(both.nll, one.nll + other.nll, 1e-13 * both.nll);
    for (size_t k = 0; k < t->training.weights.n_parameters; k++)
        assert_sum_of_gradients(t, a, b, &t->training.weights.parameters[k]);
    tfm_trainer_free(sums_of(&p, 0, 2, 0.0f, &plain)); /* without smoothing it is the plain cross-entropy */
    ck_assert_mem_eq(&plain.nll, &both.nll, sizeof plain.nll);
    ck_assert_double_eq_tol(plain.loss, plain.nll, 1e-13 * plain.nll);
    tfm_trainer_free(t);
    tfm_trainer_free(a);
    tfm_trainer_free(b);
    pairs_free(&p);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- Adam ---- */

/* The batch of PAPER 6.3. */
static void golden_pairs(pairs *p)
{
    memset(p, 0, sizeof *p);
    p->sources[0] = golden_sources[0];
    p->sources[1] = golden_sources[1];
    p->targets[0] = (tfm_ids){golden_labels, 4};
    p->targets[1] = (tfm_ids){golden_labels + 4, 3};
    p->n = 2;
}

START_TEST(m23_m24_m44_golden_update)
{
    static const struct {
        double rate, loss, nll; /* of the second step; 0: not given */
    } cases[] = {{1.397542485937e-06, 2.189849146, 0}, {1e-3, 2.142266417, 2.087649832}};
    tfm_trainer_options o = trainer_options();
    tfm_model *tiny = golden_make();
    pairs p;

    golden_pairs(&p);
    o.dropout = 0.0f;
    o.warmup = 4000;
    for (size_t i = 0; i < 2; i++) {
        o.lr_scale = (float)(cases[i].rate / 1.397542485937e-06);
        tfm_trainer *t = trainer_of(tiny, &o, &p);
        const tfm_progress first = step_once(t), second = step_once(t);
        ck_assert_uint_eq(first.target_tokens, 7);
        ck_assert_uint_eq(first.source_tokens, 8);
        golden_near(first.loss, 2.189914132731, 1, 1e-5, "loss");
        golden_near(first.nll, 2.140358252394, 1, 1e-5, "nll");
        golden_near(exp(first.nll), 8.502, 1, 1e-4, "perplexity");
        golden_near(first.gradient_norm, 1.664402116, 1, 1e-4, "norm");
        golden_near(first.learning_rate, cases[i].rate, 0, 1e-6, "rate");
        golden_near(second.learning_rate, 2 * cases[i].rate, 0, 1e-6, "second rate");
        golden_near(first.loss - second.loss, 2.189914132731 - cases[i].loss, 0, i ? 1e-4 : 1e-2, "fall of the loss");
        if (i) golden_near(second.nll, cases[i].nll, 1, 1e-5, "nll after the update");
        tfm_trainer_free(t);
    }
    tfm_model_free(tiny);
}
END_TEST

START_TEST(m23_three_steps_of_the_kernel)
{
    static const double want[] = {0.999000000014142, 0.998732892303995, 0.998390107749537};
    static const float g[] = {0.5f, -0.25f, 0.125f};
    const unsigned flags[] = {0, tfm_cpu_flags(true)};

    for (size_t i = 0; i < 2; i++) {
        float w[11], m[11] = {0}, v[11] = {0}, gradient[11];
        for (size_t j = 0; j < 11; j++) w[j] = 1.0f;
        for (size_t s = 0; s < 3; s++) {
            const double t = (double)s + 1.0, rate = 1e-3 * sqrt(1.0 - pow(0.98, t)) / (1.0 - pow(0.9, t));
            for (size_t j = 0; j < 11; j++) gradient[j] = 4.0f * g[s];
            tfm_kernels_for(flags[i])->adam(w, m, v, gradient, 11, 0.25f, (float)rate, 0.9f, 0.98f, 1e-9f);
            for (size_t j = 0; j < 11; j++) ck_assert_double_eq_tol((double)w[j], want[s], 1.2e-7);
        }
    }
}
END_TEST

/* Double-precision Adam on the gradients that the trainer leaves; clipping is on or off. */
static void follow_adam(float clip)
{
    tfm_trainer_options o = trainer_options();
    double *w, *m, *v;
    pairs p;

    golden_pairs(&p);
    o.dropout = 0.0f;
    o.warmup = 1;
    o.lr_scale = 0.01f;
    o.clip_norm = clip;
    tfm_model *tiny = golden_make();
    tfm_trainer *t = trainer_of(tiny, &o, &p);
    oracle_used = 0;
    w = oracle_wide(t->training.w, GOLDEN_SIZE);
    m = oracle_new(GOLDEN_SIZE);
    v = oracle_new(GOLDEN_SIZE);
    for (int s = 1; s <= 4; s++) {
        const tfm_progress progress = step_once(t);
        double squares = 0.0;
        for (size_t i = 0; i < GOLDEN_SIZE; i++) squares += (double)t->training.g[i] * (double)t->training.g[i] / 49.0;
        golden_near(progress.gradient_norm, sqrt(squares), 0, 1e-6, "norm before clipping");
        const bool clipped = clip > 0.0f && sqrt(squares) > (double)clip;
        const double scale = clipped ? (double)clip / sqrt(squares) / 7.0 : 1.0 / 7.0;
        ck_assert(clipped == (clip > 0.0f && clip < 0.5f));
        const double rate = 0.01 / sqrt(8.0) / sqrt(s) * sqrt(1.0 - pow(0.98, s)) / (1.0 - pow(0.9, s));
        for (size_t i = 0; i < GOLDEN_SIZE; i++) {
            const double g = scale * (double)t->training.g[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.98 * v[i] + 0.02 * g * g;
            w[i] -= rate * m[i] / (sqrt(v[i]) + 1e-9);
            near_one((double)t->training.w[i], w[i], 1, 1e-6, "weight", i);
        }
    }
    tfm_trainer_free(t);
    tfm_model_free(tiny);
}

START_TEST(m23_adam_follows_a_double_oracle)
{
    follow_adam(0.0f);
    follow_adam(0.1f);
    follow_adam(1e6f); /* never reached: nothing changes */
}
END_TEST

START_TEST(m25_a_row_without_gradient_still_moves)
{
    static const int32_t first[] = {9, 1}, second[] = {5, 1};
    const tfm_ids a = {first, 2}, b = {second, 2};
    tfm_model_options mo = small_options();
    tfm_trainer_options o = trainer_options();
    tfm_model *separate;

    mo.sharing = TFM_SHARE_NONE;
    o.dropout = 0.0f;
    ck_assert_ok(tfm_model_create(&separate, &mo, NULL, &error), error);
    tfm_trainer *t = trainer_of(separate, &o, NULL);
    const tfm_parameter_plan *p = plan_of(t, "encoder.embedding.weight");
    const size_t row = p->offset + 9 * mo.d_model;
    float before[16];
    ck_assert_ok(tfm_trainer_set_data_ids(t, &a, &b, 1, NULL, 0, &error), error);
    step_once(t);
    memcpy(before, t->training.w + row, sizeof before);
    ck_assert_ok(tfm_trainer_set_data_ids(t, &b, &b, 1, NULL, 0, &error), error);
    step_once(t);
    for (size_t i = 0; i < 16; i++) {
        ck_assert(t->training.g[row + i] == 0.0f);
        ck_assert(t->training.w[row + i] != before[i]);
    }
    tfm_trainer_free(t);
    tfm_model_free(separate);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- suite ---- */

static Suite *training_bits_suite(void)
{
    Suite *suite = suite_create("training_bits");
    TCase *tc = tcase_create("training_bits");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, m49_same_bits_for_any_number_of_threads, 0, 2); /* each dtype */
    tcase_add_loop_test(tc, m28_recomputation_changes_no_bit, 0, 2); /* each dtype */
    tcase_add_test(tc, m27_masks_change_with_batch_and_epoch);
    tcase_add_loop_test(tc, c17_ten_steps_saved_and_ten_more, 0, 2); /* each dtype */
    tcase_add_loop_test(tc, c18_resumed_in_the_middle_of_a_later_epoch, 0, 2); /* each dtype */
    tcase_add_test(tc, mixed_precision_is_float32_but_for_rounded_operands);
    tcase_add_test(tc, validation_is_float32);
    tcase_add_test(tc, a_checkpoint_keeps_its_dtype);
    tcase_add_test(tc, another_seed_is_another_run);
    tcase_add_test(tc, m20_c15_the_split_into_batches_does_not_matter);
    tcase_add_test(tc, c14_m19_nothing_is_padded);
    tcase_add_test(tc, m23_m24_m44_golden_update);
    tcase_add_test(tc, m23_three_steps_of_the_kernel);
    tcase_add_test(tc, m23_adam_follows_a_double_oracle);
    tcase_add_test(tc, m25_a_row_without_gradient_still_moves);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(training_bits_suite)
