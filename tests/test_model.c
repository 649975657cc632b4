/* What a model must not do, by the numbers of PAPER 9: leak, look ahead, depend on its neighbours, forget. */
#include "model_trial.h"

static float *copy_of(const model_trial *t, const float *x, size_t n)
{
    return memcpy(trial_floats_of(t, n), x, n * sizeof *x);
}

static void drop_copy(const model_trial *t, float *x, size_t n)
{
    tfm_free(&t->allocator, x, n, sizeof *x);
}

static void begin_tiny(model_trial *t, int twin)
{
    const tfm_model_options o = golden_options();

    oracle_used = 0;
    model_begin(t, &o, 1, trial_flags(twin));
}

/* ------------------------------------------------------------------------------------------------ looking ahead ----
 */

/* m29: input t + 1 is label t: a row that saw it would see its own label. */
START_TEST(m03_m29_a_row_does_not_see_later_inputs)
{
    enum { M = 12 };
    static const size_t offset[] = {0, 5, 8}, target[] = {0, M, M + 3};
    int32_t inputs[M + 3] = {2, 4, 6, 9, 5, 5, 7, 8, 10, 3, 4, 6, 2, 10, 3}, labels[M + 3] = {0};
    const oracle_batch b = {2, offset, target, golden_source, inputs, labels};
    model_trial t;

    begin_tiny(&t, _i);
    model_pass(&t, &b, false);
    float *before = copy_of(&t, t.logits, (M + 3) * 11);
    for (size_t j = 0; j < M; j++) {
        inputs[j] ^= 1;
        model_pass(&t, &b, false);
        same_bits(t.logits, before, j * 11, "earlier rows");
        same_bits(t.logits + M * 11, before + M * 11, 3 * 11, "the other sentence");
        for (size_t i = j; i < M; i++) must(memcmp(t.logits + i * 11, before + i * 11, 11 * sizeof(float)) != 0);
        inputs[j] ^= 1;
    }
    drop_copy(&t, before, (M + 3) * 11);
    model_end(&t);
}
END_TEST

/* The loss of row r alone: its gradient with respect to inputs after r is exactly 0, up to r it is not. */
START_TEST(m04_no_gradient_from_later_inputs)
{
    static const size_t source[] = {0, 5}, target[] = {0, 4};
    static const int32_t inputs[] = {2, 4, 6, 9}; /* all different: rows of the table tell positions apart */
    const tfm_tokens s = {{1, source}, golden_source, source_positions}, u = {{1, target}, inputs, target_positions};
    tfm_model_options o = golden_options();
    model_trial t;

    o.sharing = TFM_SHARE_NONE;
    model_begin(&t, &o, 1, trial_flags(_i));
    count_positions(source_positions, source, 1);
    count_positions(target_positions, target, 1);
    for (size_t r = 0; r < 4; r++) {
        memset(t.gradients, 0, t.weights.size * sizeof(float));
        for (int placing = 0; placing < 2; placing++) {
            bool fresh;
            if (placing) must(tfm_run_place(&t.run, t.run.arena.peak, true));
            else tfm_run_measure(&t.run, true);
            tfm_value *memory = tfm_value_new(&t.run, 5, 8), *hidden = tfm_value_new(&t.run, 4, 8);
            tfm_forward_encoder(&t.run, memory, &t.transformer, &s);
            tfm_forward_decoder(&t.run, hidden, &t.transformer, memory, &s.segments, &u);
            float *grad = tfm_grad_take(&t.run, hidden, &fresh);
            for (size_t i = 0; placing && i < 32; i++) grad[i] = i / 8 == r ? 1.0f + (float)i : 0.0f;
            tfm_run_backward(&t.run);
        }
        for (size_t i = 0; i < 4; i++)
            for (size_t c = 0; c < 8; c++)
                must((t.weights.target_embedding.d_weight[(size_t)inputs[i] * 8 + c] != 0.0f) == (i <= r));
    }
    model_end(&t);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- weights ---- */

static void attention_of(model_trial *t, uint32_t kind, uint32_t layer, float *to)
{
    static const size_t source[] = {0, 5}, target[] = {0, 4};
    const tfm_tokens s = {{1, source}, golden_source, source_positions},
                     u = {{1, target}, golden_inputs, target_positions};

    count_positions(source_positions, source, 1);
    count_positions(target_positions, target, 1);
    tfm_run_measure(&t->run, false);
    tfm_forward_attention(&t->run, &t->transformer, &s, &u, kind, layer, to);
    must(tfm_run_place(&t->run, t->run.arena.peak, false));
    tfm_forward_attention(&t->run, &t->transformer, &s, &u, kind, layer, to);
    must(!t->run.bad && !t->run.arena.bad);
}

START_TEST(m05_m09_attention_rows_sum_to_one)
{
    static const size_t rows[] = {5, 4, 4}, cols[] = {5, 4, 5};
    static const uint32_t kinds[] = {TFM_ATTENTION_ENCODER, TFM_ATTENTION_DECODER, TFM_ATTENTION_CROSS};
    float w[2 * 25 + 1], first[50];
    model_trial t;

    begin_tiny(&t, _i);
    for (size_t k = 0; k < 3; k++)
        for (uint32_t layer = 0; layer < 2; layer++) {
            const size_t n = 2 * rows[k] * cols[k];
            for (size_t i = 0; i <= n; i++) w[i] = 9.0f;
            attention_of(&t, kinds[k], layer, w);
            must(w[n] == 9.0f);
            for (size_t r = 0; r < 2 * rows[k]; r++) {
                double sum = 0.0;
                for (size_t c = 0; c < cols[k]; c++) {
                    const float x = w[r * cols[k] + c];
                    const bool hidden = kinds[k] == TFM_ATTENTION_DECODER && c > r % rows[k];
                    must(hidden ? x == 0.0f : x > 0.0f && x <= 1.0f);
                    sum += (double)x;
                }
                must_le(fabs(sum - 1.0), 1e-6);
            }
            if (kinds[k] == TFM_ATTENTION_DECODER) must(w[0] == 1.0f && w[16] == 1.0f); /* m04 */
            must(!layer || memcmp(w, first, n * sizeof *w));
            memcpy(first, w, n * sizeof *w);
        }
    model_end(&t);
}
END_TEST

/* --------------------------------------------------------------------------------------------------- neighbours ----
 */

enum { LONG = 40 };

/* Four sentences; the second is long, the third is B of the specification. */
static const size_t mixed_source[] = {0, 5, 5 + LONG, 8 + LONG, 9 + LONG}, mixed_target[] = {0, 4, 34, 37, 38};
static int32_t mixed_sources[9 + LONG], mixed_inputs[38], mixed_labels[38];

static oracle_batch mixed_batch(void)
{
    for (size_t i = 0; i < 5; i++) mixed_sources[i] = golden_source[i];
    for (size_t i = 0; i < LONG; i++) mixed_sources[5 + i] = (int32_t)(3 + i * i % 8);
    for (size_t i = 0; i < 3; i++) mixed_sources[5 + LONG + i] = golden_source[5 + i];
    mixed_sources[8 + LONG] = 1;
    for (size_t i = 0; i < 38; i++)
        mixed_inputs[i] = (int32_t)(i % 4 ? 3 + i % 8 : 2), mixed_labels[i] = (int32_t)(i * 5 % 11);
    return (oracle_batch){4, mixed_source, mixed_target, mixed_sources, mixed_inputs, mixed_labels};
}

/* Each sentence alone, on any number of threads, has the bits it has among the others. */
START_TEST(m07_m08_c21_neighbours_do_not_matter)
{
    static const uint32_t threads[] = {1, 2, 4};
    const oracle_batch all = mixed_batch();
    const tfm_model_options o = golden_options();
    model_trial t, one;

    begin_tiny(&t, _i);
    model_pass(&t, &all, false);
    for (size_t s = 0; s < 4; s++) {
        const size_t i = mixed_source[s], j = mixed_target[s], n = mixed_source[s + 1] - i, m = mixed_target[s + 1] - j;
        const size_t source[] = {0, n}, target[] = {0, m};
        const oracle_batch alone = {1, source, target, mixed_sources + i, mixed_inputs + j, mixed_labels + j};
        model_begin(&one, &o, threads[s % 3], trial_flags(_i));
        model_pass(&one, &alone, false);
        same_bits(one.memory, t.memory + i * 8, n * 8, "memory");
        same_bits(one.logits, t.logits + j * 11, m * 11, "logits");
        same_bits(one.logprobs, t.logprobs + j, m, "log p");
        model_end(&one);
    }
    model_end(&t);
}
END_TEST

/* There is no padding: the embedding of PAD moves PAD's logit (it is tied) and nothing else. */
START_TEST(m07_the_pad_embedding_does_not_matter)
{
    const oracle_batch b = mixed_batch();
    model_trial t;

    begin_tiny(&t, _i);
    model_pass(&t, &b, false);
    float *memory = copy_of(&t, t.memory, (9 + LONG) * 8), *logits = copy_of(&t, t.logits, 38 * 11);
    for (size_t c = 0; c < 8; c++) t.data[c] = 1e10f;
    model_pass(&t, &b, false);
    same_bits(t.memory, memory, (9 + LONG) * 8, "memory");
    for (size_t r = 0; r < 38; r++) same_bits(t.logits + r * 11 + 1, logits + r * 11 + 1, 10, "logits");
    drop_copy(&t, memory, (9 + LONG) * 8);
    drop_copy(&t, logits, 38 * 11);
    model_end(&t);
}
END_TEST

START_TEST(m01_c20_an_empty_source_harms_nobody)
{
    static const size_t source[] = {0, 5, 5, 8}, target[] = {0, 4, 6, 9};
    static const int32_t inputs[] = {2, 4, 6, 9, 2, 5, 2, 10, 3}, labels[] = {4, 6, 9, 1, 5, 1, 10, 3, 1};
    const oracle_batch b = {3, source, target, golden_source, inputs, labels};
    model_trial t, other;

    begin_tiny(&t, _i);
    begin_tiny(&other, _i);
    model_pass(&t, &b, false);
    model_pass(&other, &golden_batch, false);
    same_bits(t.logits, other.logits, 4 * 11, "before");
    same_bits(t.logits + 6 * 11, other.logits + 4 * 11, 3 * 11, "after");
    for (size_t i = 0; i < 9 * 11; i++) must(isfinite(t.logits[i]));
    model_pass(&t, &b, true);
    for (size_t i = 0; i < t.weights.size; i++) must(isfinite(t.gradients[i]));
    model_end(&other);
    model_end(&t);
}
END_TEST

START_TEST(m28_m49_threads_and_recomputation_change_no_bit)
{
    static const uint32_t threads[] = {1, 2, 5};
    const oracle_batch b = mixed_batch();
    const tfm_model_options o = golden_options();
    float *first = NULL;
    double loss = 0.0;
    size_t peak = 0;

    for (size_t i = 0; i < 6; i++) {
        model_trial t;
        model_begin(&t, &o, threads[i % 3], trial_flags(_i));
        t.run.training = true;
        t.run.key[0] = t.run.batch = 5;
        t.transformer.rates = (tfm_rates){0.3f, 0.2f, 0.1f, 0.2f, i >= 3};
        model_pass(&t, &b, true);
        if (!i) first = copy_of(&t, t.gradients, t.weights.size), loss = t.loss, peak = t.peak;
        same_bits(t.gradients, first, t.weights.size, "gradients");
        must(t.loss == loss);
        if (i == 3) ck_assert_uint_lt(t.peak, peak);
        if (i == 5) drop_copy(&t, first, t.weights.size);
        model_end(&t);
    }
}
END_TEST

/* -------------------------------------------------------------------------------------------- heads and places ---- */

static void swap_floats(float *a, float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Heads are numbered by nothing but their columns: permuting them together with their columns of W^O changes nothing.
 */
START_TEST(m11_heads_can_be_permuted)
{
    const oracle_batch b = mixed_batch();
    model_trial t;

    begin_tiny(&t, _i);
    model_pass(&t, &b, false);
    double *before = oracle_wide(t.logits, 38 * 11);
    for (uint32_t i = 0; i < 2; i++) {
        tfm_attention_layer *layers[] = {&t.weights.encoder[i].attention, &t.weights.decoder[i].attention,
                                         &t.weights.decoder[i].cross};
        for (size_t l = 0; l < 3; l++) {
            float *q = (float *)layers[l]->qkv.weight, *out = (float *)layers[l]->out.weight;
            swap_floats(q, q + 3 * 8, 3 * 8);           /* d_k rows of Q */
            swap_floats(q + 6 * 8, q + 9 * 8, 3 * 8);   /* of K          */
            swap_floats(q + 12 * 8, q + 17 * 8, 5 * 8); /* d_v rows of V */
            for (size_t r = 0; r < 8; r++) swap_floats(out + r * 10, out + r * 10 + 5, 5);
        }
    }
    model_pass(&t, &b, false);
    near_all(t.logits, before, 38 * 11, 0.1, 1e-5, "logits");
    model_end(&t);
}
END_TEST

/* Without positions the encoder does not know the order of its input. */
START_TEST(without_positions_order_does_not_matter)
{
    static const size_t source[] = {0, 7}, target[] = {0, 1}, order[] = {3, 0, 6, 5, 1, 2, 4};
    static const int32_t ids[] = {3, 4, 5, 6, 9, 10, 1}, input[] = {2}, label[] = {4};
    oracle_batch b = {1, source, target, ids, input, label};
    int32_t permuted[7];
    double want[7 * 8];
    model_trial t;

    begin_tiny(&t, _i);
    memset(t.position, 0, TRIAL_POSITIONS * 8 * sizeof(float));
    model_pass(&t, &b, false);
    for (size_t i = 0; i < 7; i++) permuted[i] = ids[order[i]];
    for (size_t i = 0; i < 7 * 8; i++) want[i] = (double)t.memory[order[i / 8] * 8 + i % 8];
    double *logits = oracle_wide(t.logits, 11);
    b.sources = permuted;
    model_pass(&t, &b, false);
    near_all(t.memory, want, 7 * 8, 0.1, 1e-5, "memory");
    near_all(t.logits, logits, 11, 0.1, 1e-5, "logits");
    tfm_position_fill(t.position, TRIAL_POSITIONS, 8, TFM_POSITIONS_PAPER, 0);
    model_pass(&t, &b, false);
    must(fabs((double)t.memory[0] - want[0]) > 1e-3); /* with them it does */
    model_end(&t);
}
END_TEST

/* m16: no other norm after the last one: with gamma 1 and beta 0 rows have mean 0 and variance 1. */
START_TEST(m16_post_norm_ends_in_a_norm)
{
    model_trial t;

    begin_tiny(&t, _i);
    for (size_t i = 0; i < t.weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &t.weights.parameters[i];
        for (size_t j = 0; j < p->size && p->rank == 1; j++)
            t.data[p->offset + j] = p->initial == TFM_INITIAL_ONE ? 1.0f : 0.0f;
    }
    model_pass(&t, &golden_batch, false);
    for (size_t r = 0; r < 8; r++) {
        double mean = 0.0, variance = 0.0;
        for (size_t c = 0; c < 8; c++) mean += (double)t.memory[r * 8 + c] / 8.0;
        for (size_t c = 0; c < 8; c++) variance += (double)t.memory[r * 8 + c] * (double)t.memory[r * 8 + c] / 8.0;
        must_le(fabs(mean), 1e-6);
        must_le(fabs(variance - 1.0), 2e-5);
    }
    model_end(&t);
}
END_TEST

/* m21: the gradient of the one matrix is the sum of what its three uses have alone. */
START_TEST(m21_tied_gradients_are_summed)
{
    tfm_model_options o = golden_options();
    model_trial tied, untied;
    double want[11 * 8];

    begin_tiny(&tied, _i);
    o.sharing = TFM_SHARE_NONE;
    model_begin(&untied, &o, 1, trial_flags(_i));
    for (size_t i = 0; i < 3; i++) memcpy(untied.data + i * 88, tied.data, 88 * sizeof(float));
    memcpy(untied.data + 3 * 88, tied.data + 88, (tied.weights.size - 88) * sizeof(float));
    model_pass(&tied, &golden_batch, true);
    model_pass(&untied, &golden_batch, true);
    must(tied.loss == untied.loss);
    for (size_t i = 0; i < 88; i++)
        want[i] = (double)untied.gradients[i] + (double)untied.gradients[88 + i] + (double)untied.gradients[176 + i];
    near_all(tied.gradients, want, 88, 0.0, 1e-6, "E");
    same_bits(tied.gradients + 88, untied.gradients + 3 * 88, tied.weights.size - 88, "the rest");
    model_end(&untied);
    model_end(&tied);
}
END_TEST

/* ------------------------------------------------------------------------------------------------------ dropout ----
 */

START_TEST(m26_dropout_is_off_outside_training)
{
    model_trial t;

    begin_tiny(&t, _i);
    model_pass(&t, &golden_batch, false);
    float *plain = copy_of(&t, t.logits, 77);
    t.transformer.rates = (tfm_rates){.residual = 0.5f, .embedding = 0.5f, .attention = 0.5f, .relu = 0.5f};
    for (uint32_t i = 0; i < 2; i++) {
        t.run.batch = i;
        model_pass(&t, &golden_batch, false);
        same_bits(t.logits, plain, 77, "logits");
    }
    t.run.training = true;
    model_pass(&t, &golden_batch, false);
    must(memcmp(t.logits, plain, 77 * sizeof(float)) != 0);
    t.transformer.rates = (tfm_rates){0};
    model_pass(&t, &golden_batch, false);
    same_bits(t.logits, plain, 77, "rate 0");
    drop_copy(&t, plain, 77);
    model_end(&t);
}
END_TEST

/* m27: over many batches the mean of the masked embeddings is the embedding; every batch has masks of its own. */
START_TEST(m27_dropout_keeps_the_mean)
{
    enum { PASSES = 2000 };
    static const size_t source[] = {0, 5};
    const tfm_tokens s = {{1, source}, golden_source, source_positions};
    float embedded[40];
    double sum[40] = {0};
    model_trial t;

    begin_tiny(&t, _i);
    count_positions(source_positions, source, 1);
    must(tfm_run_place(&t.run, 0, false));
    t.transformer.rates.embedding = 0.3f;
    t.run.training = true;
    for (uint32_t n = 0; n < PASSES; n++) {
        tfm_value y = {.data = embedded, .rows = 5, .cols = 8};
        t.run.batch = n;
        tfm_embed_tokens(&t.run, &y, &t.transformer, &s, false);
        for (size_t i = 0; i < 40; i++) sum[i] += (double)embedded[i] / PASSES;
    }
    for (size_t i = 0; i < 40; i++) {
        const double x = sqrt(8.0) * (double)t.data[(size_t)golden_source[i / 8] * 8 + i % 8] + (double)t.position[i];
        must_le(fabs(sum[i] - x), 6.0 * fabs(x) * sqrt(0.3 / 0.7 / PASSES) + 1e-6);
    }
    model_end(&t);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- positions ----
 */

START_TEST(m14_positions_have_their_form)
{
    float table[40 * 64];

    for (size_t d = 1; d <= 64; d += d < 10 ? 1 : 9)
        for (uint32_t form = TFM_POSITIONS_PAPER; form <= TFM_POSITIONS_HALVES; form++) {
            const size_t half = d / 2;
            tfm_position_fill(table, 40, d, form, 0);
            for (size_t j = 0; j < d; j++) { /* PE(0) is 0s and 1s */
                const bool cosine = form == TFM_POSITIONS_PAPER ? j % 2 == 1 : j >= half && j < 2 * half;
                must(table[j] == (cosine ? 1.0f : 0.0f));
            }
            for (size_t i = 0; i < half; i++) { /* PE(p + 7) is a rotation of PE(p) */
                const size_t s = form == TFM_POSITIONS_PAPER ? 2 * i : i,
                             c = form == TFM_POSITIONS_PAPER ? 2 * i + 1 : half + i;
                for (size_t p = 0; p + 7 < 40; p++) {
                    const double sp = (double)table[p * d + s], cp = (double)table[p * d + c];
                    const double sk = (double)table[7 * d + s], ck = (double)table[7 * d + c];
                    must_le(fabs((double)table[(p + 7) * d + s] - (sp * ck + cp * sk)), 3e-7);
                    must_le(fabs((double)table[(p + 7) * d + c] - (cp * ck - sp * sk)), 3e-7);
                }
            }
        }
    for (size_t d = 1; d <= 32; d++) { /* split: the paper's columns, the even ones first */
        float *split = table, *paper = table + 40 * 32;
        size_t at = 0;
        tfm_position_fill(split, 40, d, TFM_POSITIONS_SPLIT, 2);
        tfm_position_fill(paper, 40, d, TFM_POSITIONS_PAPER, 2);
        for (size_t odd = 0; odd < 2; odd++)
            for (size_t j = odd; j < d; j += 2, at++)
                for (size_t r = 0; r < 40; r++) must(split[r * d + at] == paper[r * d + j]);
    }
    tfm_position_fill(table, 1, 64, TFM_POSITIONS_PAPER, 3);
    tfm_position_fill(table + 64, 4, 64, TFM_POSITIONS_PAPER, 0);
    same_bits(table, table + 4 * 64, 64, "offset 3");
}
END_TEST

/* 5,000 tokens, far beyond any block, against the oracle. */
START_TEST(m46_a_long_source_works)
{
    enum { N = 5000 };
    static int32_t ids[N];
    static float position[N * 8];
    static const size_t source[] = {0, N}, target[] = {0, 1};
    static const int32_t input[] = {2}, label[] = {4};
    const oracle_batch b = {1, source, target, ids, input, label};
    tfm_model_options o = golden_options();
    model_trial t;

    for (size_t i = 0; i < N; i++) ids[i] = (int32_t)(3 + i * 7 % 8);
    o.n_encoder_layers = 1;
    o.n_heads = 1;
    oracle_used = 0;
    model_begin(&t, &o, 2, tfm_cpu_flags(true));
    tfm_position_fill(position, N, 8, TFM_POSITIONS_PAPER, 0);
    t.transformer.position = position;
    t.only_memory = true;
    model_pass(&t, &b, false);
    const oracle_model oracle = model_oracle(&t);
    double *memory = oracle_new(N * 8);
    oracle_encoder(&oracle, memory, ids, N, 0);
    near_all(t.memory, memory, N * 8, 0.1, 1e-5, "memory");
    model_end(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("model");
    TCase *c = tcase_create("model");

    tcase_add_loop_test(c, m03_m29_a_row_does_not_see_later_inputs, 0, 2);
    tcase_add_loop_test(c, m04_no_gradient_from_later_inputs, 0, 2);
    tcase_add_loop_test(c, m05_m09_attention_rows_sum_to_one, 0, 2);
    tcase_add_loop_test(c, m07_m08_c21_neighbours_do_not_matter, 0, 2);
    tcase_add_loop_test(c, m07_the_pad_embedding_does_not_matter, 0, 2);
    tcase_add_loop_test(c, m01_c20_an_empty_source_harms_nobody, 0, 2);
    tcase_add_loop_test(c, m28_m49_threads_and_recomputation_change_no_bit, 0, 2);
    tcase_add_loop_test(c, m11_heads_can_be_permuted, 0, 2);
    tcase_add_loop_test(c, without_positions_order_does_not_matter, 0, 2);
    tcase_add_loop_test(c, m16_post_norm_ends_in_a_norm, 0, 2);
    tcase_add_loop_test(c, m21_tied_gradients_are_summed, 0, 2);
    tcase_add_loop_test(c, m26_dropout_is_off_outside_training, 0, 2);
    tcase_add_loop_test(c, m27_dropout_keeps_the_mean, 0, 2);
    tcase_add_test(c, m14_positions_have_their_form);
    tcase_add_test(c, m46_a_long_source_works);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
