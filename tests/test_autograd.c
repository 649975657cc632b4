/* Attention as an operation, layers that are computed twice, and the bookkeeping of a run. */
#include "op_trial.h"

/* ------------------------------------------------------------------------------------------------ attention ---- */

enum { SEGMENTS = 4 };

typedef struct attend_case {
    size_t heads, d_k, d_v;
    bool self, causal;
    double rate;
    size_t n; /* segments, and their lengths */
    size_t m_of[SEGMENTS], n_of[SEGMENTS];
} attend_case;

static size_t q_offset[SEGMENTS + 1], k_offset[SEGMENTS + 1];

static void attend_op(trial *t)
{
    const attend_case *c = t->params;
    const size_t hk = c->heads * c->d_k;
    tfm_attend a = {.q = t->in[0].value,
                    .kv = t->in[c->self ? 0 : 1].value,
                    .n_heads = c->heads,
                    .d_k = c->d_k,
                    .d_v = c->d_v,
                    .causal = c->causal,
                    .rate = (float)c->rate,
                    .site = t->mask.site};

    a.queries = (tfm_segments){c->n, q_offset};
    a.keys = (tfm_segments){c->n, c->self ? q_offset : k_offset};
    a.k_column = c->self ? hk : 0;
    a.v_column = c->self ? 2 * hk : hk;
    tfm_op_attention(&t->run, t->out[0].value, &a);
}

/* Masks: each head has a site of its own, whose row is the first of the segment's queries. */
static void attend_oracle(trial *t)
{
    const attend_case *c = t->params;
    const size_t hk = c->heads * c->d_k, hv = c->heads * c->d_v, *keys = c->self ? q_offset : k_offset;
    const size_t q_cols = c->self ? 2 * hk + hv : hk, kv_cols = c->self ? q_cols : hk + hv;
    const double *q = t->in[0].wide, *kv = t->in[c->self ? 0 : 1].wide;

    for (size_t s = 0; s < c->n; s++)
        for (size_t h = 0; h < c->heads; h++) {
            const oracle_mask mask = {t->mask.seed, t->mask.batch, t->mask.site | (uint32_t)h << 16, t->mask.rate,
                                      t->mask.first_row + (uint32_t)q_offset[s]};
            oracle_attention(&(oracle_head){
                .q = q + q_offset[s] * q_cols + h * c->d_k,
                .k = kv + keys[s] * kv_cols + (c->self ? hk : 0) + h * c->d_k,
                .v = kv + keys[s] * kv_cols + (c->self ? 2 * hk : hk) + h * c->d_v,
                .q_stride = q_cols,
                .k_stride = kv_cols,
                .v_stride = kv_cols,
                .out_stride = hv,
                .m = q_offset[s + 1] - q_offset[s],
                .n = keys[s + 1] - keys[s],
                .d_k = c->d_k,
                .d_v = c->d_v,
                .causal = c->causal,
                .drop = &mask,
                .out = t->out[0].wide + q_offset[s] * hv + h * c->d_v,
            });
        }
}

static void check_attend(int twin, attend_case c)
{
    trial t = trial_begin(attend_op, attend_oracle, &c, c.heads + 10 * c.d_k + 100 * c.m_of[0]);
    const size_t hk = c.heads * c.d_k, hv = c.heads * c.d_v;

    for (size_t s = 0; s < c.n; s++) {
        q_offset[s + 1] = q_offset[s] + c.m_of[s];
        k_offset[s + 1] = k_offset[s] + c.n_of[s];
    }
    t.mask = (oracle_mask){UINT64_C(0x99abcdef01234567), 2, 4096, c.rate, 60};
    trial_input(&t, "q", q_offset[c.n], c.self ? 2 * hk + hv : hk);
    if (!c.self) trial_input(&t, "kv", k_offset[c.n], hk + hv);
    trial_output(&t, "y", q_offset[c.n], hv);
    trial_check(&t, trial_twin(twin));
}

START_TEST(self_attention_agrees)
{
    static const size_t lengths[] = {1, 7, 8, 9, 15, 17, 33, 65};

    for (size_t i = 0; i < 8; i++)
        for (int causal = 0; causal < 2; causal++)
            check_attend(_i, (attend_case){
                                 1 + i % 4, 1 + i, 9 - i, true, causal, i % 2 ? 0.2 : 0.0, 3, {lengths[i], 1, 5}, {0}});
    check_attend(_i, (attend_case){2, 16, 16, true, true, 0.1, 1, {100}, {0}});
}
END_TEST

START_TEST(cross_attention_agrees)
{
    check_attend(_i, (attend_case){2, 3, 5, false, false, 0.0, 2, {4, 3}, {5, 3}});
    check_attend(_i, (attend_case){2, 3, 5, false, false, 0.3, 4, {4, 3, 1, 9}, {5, 30, 8, 1}});
    check_attend(_i, (attend_case){1, 8, 8, false, false, 0.0, 1, {1}, {1}});
    check_attend(_i, (attend_case){3, 7, 9, false, false, 0.1, 2, {40, 2}, {70, 66}}); /* more than a block of each */
    check_attend(_i, (attend_case){1, 17, 1, false, true, 0.0, 2, {9, 2}, {5, 40}});   /* some queries see no key */
}
END_TEST

/* C20: a source without tokens gives zeros to its target, gradients of 0, and changes nothing for its neighbours. */
START_TEST(c20_m01_a_segment_without_keys_gives_zeros)
{
    check_attend(_i, (attend_case){2, 3, 5, false, false, 0.0, 3, {4, 3, 2}, {5, 0, 3}});
    check_attend(_i, (attend_case){2, 3, 5, false, false, 0.2, 3, {4, 0, 2}, {5, 3, 0}});
}
END_TEST

/* -------------------------------------------------------------------------------------------- recomputation ---- */

typedef struct layer_case {
    bool recompute;
    tfm_linear inner, outer, from_memory;
    tfm_norm norm;
} layer_case;

enum { ROWS = 11, D = 9, FF = 17, LAYERS = 3, WEIGHTS = 2 * D * FF + D * D + 2 * D };

/* y = LN(x + dropout(relu(x W1) W2 + memory W3)). */
static void layer(tfm_run *run, tfm_value *y, tfm_value *x, tfm_value *memory, const void *context)
{
    const layer_case *c = *(layer_case *const *)context;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *inner = tfm_value_new(run, ROWS, FF), *outer = tfm_value_new(run, ROWS, D),
              *sum = tfm_value_new(run, ROWS, D);
    tfm_value *other = tfm_value_new(run, ROWS, D), *both = tfm_value_new(run, ROWS, D);

    tfm_op_linear(run, inner, x, &c->inner, true, 0.2f, 1);
    tfm_op_linear(run, outer, inner, &c->outer, false, 0.0f, 0);
    tfm_op_linear(run, other, memory, &c->from_memory, false, 0.0f, 0);
    tfm_op_add_norm(run, both, NULL, outer, other, NULL, 0.1f, 2);
    tfm_op_add_norm(run, sum, y, x, both, &c->norm, 0.3f, 3);
    tfm_run_release(run, mark);
}

static size_t layer_peak;

static void layers_op(trial *t)
{
    layer_case *c = (layer_case *)t->params;
    float *w = t->in[2].data, *g = t->in[2].grad;
    tfm_value *x = t->in[0].value;

    c->inner = (tfm_linear){w, NULL, g, NULL, FF, D, NULL};
    c->outer = (tfm_linear){w + D * FF, NULL, g + D * FF, NULL, D, FF, NULL};
    c->from_memory = (tfm_linear){w + 2 * D * FF, NULL, g + 2 * D * FF, NULL, D, D, NULL};
    c->norm = (tfm_norm){w + 2 * D * FF + D * D,
                         w + 2 * D * FF + D * D + D,
                         g + 2 * D * FF + D * D,
                         g + 2 * D * FF + D * D + D,
                         D,
                         1e-5f};
    for (size_t i = 0; i < LAYERS; i++) {
        tfm_value *y = i + 1 < LAYERS ? tfm_value_new(&t->run, ROWS, D) : t->out[0].value;
        tfm_run_layer(&t->run, layer, y, x, t->in[1].value, &c, sizeof c, c->recompute);
        x = y;
    }
    layer_peak = t->run.arena.peak;
}

static void layers_oracle(trial *t)
{
    const double *w = t->in[2].wide, *gamma = w + 2 * D * FF + D * D;
    double *x = oracle_new(ROWS * D), *inner = oracle_new(ROWS * FF), *outer = oracle_new(ROWS * D),
           *other = oracle_new(ROWS * D);

    memcpy(x, t->in[0].wide, ROWS * D * sizeof *x);
    for (size_t l = 0; l < LAYERS; l++) {
        oracle_linear(inner, x, w, NULL, ROWS, D, FF);
        for (size_t i = 0; i < ROWS * FF; i++) inner[i] = fmax(inner[i], 0.0);
        oracle_drop(inner, ROWS, FF, &(oracle_mask){t->mask.seed, t->mask.batch, 1, (double)0.2f, t->mask.first_row},
                    0);
        oracle_linear(outer, inner, w + D * FF, NULL, ROWS, FF, D);
        oracle_linear(other, t->in[1].wide, w + 2 * D * FF, NULL, ROWS, D, D);
        oracle_drop(other, ROWS, D, &(oracle_mask){t->mask.seed, t->mask.batch, 2, (double)0.1f, t->mask.first_row}, 0);
        for (size_t i = 0; i < ROWS * D; i++) outer[i] += other[i];
        oracle_drop(outer, ROWS, D, &(oracle_mask){t->mask.seed, t->mask.batch, 3, (double)0.3f, t->mask.first_row}, 0);
        for (size_t i = 0; i < ROWS * D; i++) x[i] += outer[i];
        oracle_norm(l + 1 < LAYERS ? x : t->out[0].wide, x, gamma, gamma + D, ROWS, D, (double)1e-5f);
    }
}

/* m28: masks, outputs and gradients are those of the layer computed once, in every bit; memory is less. */
START_TEST(m28_a_recomputed_layer_has_the_same_gradients)
{
    float *grads[2][4];
    size_t peaks[2];
    layer_case c = {0};
    trial t = trial_begin(layers_op, layers_oracle, &c, 5);

    t.mask = (oracle_mask){17, 18, 0, 0.0, 19};
    trial_seed(&t, trial_input(&t, "x", ROWS, D)); /* with another consumer */
    trial_input(&t, "memory", ROWS, D);
    trial_weight(&t, "weights", WEIGHTS);
    trial_output(&t, "y", ROWS, D);
    for (size_t pass = 0; pass < 2; pass++) {
        c.recompute = pass;
        trial_check(&t, trial_twin(_i));
        peaks[pass] = layer_peak;
        for (size_t i = 0; i < 4; i++) {
            const side *s = i < 3 ? &t.in[i] : &t.out[0];
            grads[pass][i] = memcpy(trial_take(s->n), i < 3 ? s->grad : s->data, s->n * sizeof(float));
        }
    }
    for (size_t i = 0; i < 4; i++) same_bits(grads[1][i], grads[0][i], i < 3 ? t.in[i].n : t.out[0].n, "recomputed");
    ck_assert_uint_lt(peaks[1], peaks[0] / 2);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- bookkeeping ---- */

typedef struct stage {
    tfm_allocator allocator;
    tfm_pool *pool;
    tfm_run run;
} stage;

static tfm_status stage_begin(stage *s, faulty *f)
{
    const tfm_allocator plain = tfm_allocator_or_default(NULL);
    tfm_error error;

    *s = (stage){.allocator = faulty_allocator(f)};
    ck_assert_ok(tfm_pool_create(&s->pool, 2, &plain, &error), error);
    return tfm_run_create(&s->run, s->pool, tfm_kernels_for(0), &s->allocator, &error);
}

static void stage_end(stage *s)
{
    tfm_run_destroy(&s->run);
    tfm_pool_free(s->pool);
}

static float weight[16 * 16], d_weight[16 * 16], input[5 * 16];
static const tfm_linear square = {weight, NULL, d_weight, NULL, 16, 16, NULL};

/* A chain of n linear maps, and back. */
static void chain(tfm_run *run, size_t n, bool backward)
{
    tfm_value *x = tfm_value_view(run, input, 5, 16);
    bool fresh;

    for (size_t i = 0; i < n; i++) {
        tfm_value *y = tfm_value_new(run, 5, 16);
        tfm_op_linear(run, y, x, &square, false, 0.0f, 0);
        x = y;
    }
    if (!backward) return;
    float *grad = tfm_grad_take(run, x, &fresh);
    if (!tfm_run_measuring(run)) memset(grad, 0, 5 * 16 * sizeof *grad);
    tfm_run_backward(run);
}

/* A step: true when it went through. */
static bool chain_step(stage *s, size_t n)
{
    tfm_run_measure(&s->run, true);
    chain(&s->run, n, true);
    if (s->run.bad || s->run.arena.bad) return false;
    if (!tfm_run_place(&s->run, s->run.arena.peak, true)) return false;
    chain(&s->run, n, true);
    return !s->run.bad && !s->run.arena.bad;
}

START_TEST(a_steady_step_allocates_nothing)
{
    faulty f = {.fail_at = SIZE_MAX};
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    must(chain_step(&s, 600));
    const size_t calls = f.calls;
    for (int i = 0; i < 3; i++) must(chain_step(&s, 600));
    must(chain_step(&s, 5));
    ck_assert_uint_eq(f.calls, calls);
    stage_end(&s);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

/* 600 maps: several chunks of values, records that grow. */
START_TEST(a_step_without_memory_fails_and_leaks_nothing)
{
    bool done = false;

    for (size_t n = 0; !done; n++) {
        faulty f = {.fail_at = n};
        stage s;
        const tfm_status status = stage_begin(&s, &f);
        if (status == TFM_OK) {
            done = chain_step(&s, 600);
            must(done == (f.calls <= n));
            f.fail_at = SIZE_MAX;
            must(chain_step(&s, 600)); /* and the run is as good as new */
        } else {
            ck_assert_int_eq(status, TFM_E_NOMEM);
        }
        stage_end(&s);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

START_TEST(a_step_that_does_not_fit_is_bad)
{
    faulty f = {.fail_at = SIZE_MAX};
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    tfm_run_measure(&s.run, false);
    tfm_value_new(&s.run, SIZE_MAX / 8, 16);
    must(s.run.arena.bad);
    tfm_run_measure(&s.run, false);
    must(!s.run.arena.bad);
    must(!tfm_run_place(&s.run, SIZE_MAX - 5, false));
    stage_end(&s);
    tfm_run_destroy(&(tfm_run){0});
}
END_TEST

START_TEST(inference_gives_temporaries_back)
{
    faulty f = {.fail_at = SIZE_MAX};
    size_t peaks[2][2];
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    for (int recording = 0; recording < 2; recording++)
        for (size_t n = 1; n < 3; n++) {
            tfm_run_measure(&s.run, recording);
            for (size_t i = 0; i < n * 10; i++) {
                const tfm_mark mark = tfm_run_mark(&s.run);
                chain(&s.run, 3, false);
                tfm_run_release(&s.run, mark);
            }
            peaks[recording][n - 1] = s.run.arena.peak;
            ck_assert_uint_eq(s.run.n_values, recording ? n * 40 : 0);
        }
    ck_assert_uint_eq(peaks[0][0], peaks[0][1]);
    ck_assert_uint_eq(peaks[1][0] * 2, peaks[1][1]);
    stage_end(&s);
}
END_TEST

/* Gradient buffers are used again as soon as their operation is done: a long chain needs but two. */
START_TEST(gradients_share_buffers)
{
    faulty f = {.fail_at = SIZE_MAX};
    size_t peaks[2];
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    for (size_t n = 0; n < 2; n++) {
        tfm_run_measure(&s.run, true);
        chain(&s.run, 10 + 10 * n, true);
        peaks[n] = s.run.arena.peak;
    }
    ck_assert_uint_eq(peaks[1] - peaks[0], 10 * 5 * 16 * sizeof(float)); /* the values alone */
    stage_end(&s);
}
END_TEST

/* Gaps that touch are one, the smallest that fits is taken, and what is given back at the end is the arena's again. */
START_TEST(gradients_of_all_sizes_share_room)
{
    static const size_t rows[] = {4, 1, 2, 8, 1, 7, 3};
    faulty f = {.fail_at = SIZE_MAX};
    tfm_value *v[7];
    bool fresh;
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    tfm_run_measure(&s.run, true);
    for (size_t i = 0; i < 7; i++) v[i] = tfm_value_view(&s.run, input, rows[i], 16);
    for (size_t i = 0; i < 5; i++) tfm_grad_take(&s.run, v[i], &fresh);
    ck_assert_uint_eq(s.run.arena.used, 16 * TFM_ALIGN);
    float *first = v[0]->grad, *fourth = v[3]->grad;
    tfm_grad_release(&s.run, v[3]);
    tfm_grad_release(&s.run, v[0]);
    tfm_grad_release(&s.run, v[2]);
    tfm_grad_release(&s.run, v[1]); /* gaps: all but the last, which are one */
    ck_assert_uint_eq(s.run.n_gaps, 1);
    must(tfm_grad_take(&s.run, v[5], &fresh) == first && fresh);
    must(tfm_grad_take(&s.run, v[3], &fresh) == fourth);
    ck_assert_uint_eq(s.run.n_gaps, 0);
    tfm_grad_release(&s.run, v[5]);
    must(tfm_grad_take(&s.run, v[1], &fresh) == first);
    must(tfm_grad_take(&s.run, v[6], &fresh) == first + 16);
    tfm_grad_move(v[0], v[1]);
    must(v[0]->grad == first && !v[1]->grad);
    ck_assert_uint_eq(s.run.arena.peak, 16 * TFM_ALIGN);
    tfm_grad_release(&s.run, v[4]);
    tfm_grad_release(&s.run, v[3]); /* the end, and what touches it, is no gap */
    ck_assert_uint_eq(s.run.arena.used, 4 * TFM_ALIGN);
    ck_assert_uint_eq(s.run.n_gaps, 0);
    tfm_grads_cut(&s.run, TFM_ALIGN);
    ck_assert_uint_eq(s.run.arena.used, TFM_ALIGN);
    stage_end(&s);
}
END_TEST

/* Of the gaps that fit, the smallest. */
START_TEST(the_smallest_gap_is_taken)
{
    static const size_t rows[] = {4, 1, 2, 1, 3, 1};
    faulty f = {.fail_at = SIZE_MAX};
    tfm_value *v[6];
    bool fresh;
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    tfm_run_measure(&s.run, true);
    for (size_t i = 0; i < 6; i++) tfm_grad_take(&s.run, v[i] = tfm_value_view(&s.run, input, rows[i], 16), &fresh);
    const float *first = v[0]->grad, *second = v[2]->grad, *third = v[4]->grad;
    for (size_t i = 0; i < 6; i += 2) tfm_grad_release(&s.run, v[i]);
    ck_assert_uint_eq(s.run.n_gaps, 3);
    must(tfm_grad_take(&s.run, v[2], &fresh) == second);
    must(tfm_grad_take(&s.run, tfm_value_view(&s.run, input, 2, 16), &fresh) == third);
    must(tfm_grad_take(&s.run, tfm_value_view(&s.run, input, 2, 16), &fresh) ==
         first); /* one row is left of the third */
    stage_end(&s);
}
END_TEST

static unsigned visits[1000];

static void visit(const void *args, size_t begin, size_t end, size_t thread)
{
    must(args == visits && thread < 2 && begin < end && end - begin <= 7);
    for (size_t i = begin; i < end; i++) visits[i]++;
}

START_TEST(rows_are_shared_out_once)
{
    faulty f = {.fail_at = SIZE_MAX};
    stage s;

    ck_assert_int_eq(stage_begin(&s, &f), TFM_OK);
    tfm_run_measure(&s.run, false);
    tfm_run_rows(&s.run, visit, visits, 1000, 7);
    for (size_t i = 0; i < 1000; i++) ck_assert_uint_eq(visits[i], 0); /* only measured */
    must(tfm_run_place(&s.run, 0, false));
    for (size_t rows = 0; rows < 30; rows++) {
        memset(visits, 0, sizeof visits);
        tfm_run_rows(&s.run, visit, visits, rows, 7);
        for (size_t i = 0; i < 1000; i++) ck_assert_uint_eq(visits[i], i < rows);
    }
    stage_end(&s);
}
END_TEST

START_TEST(m26_dropout_is_for_training)
{
    tfm_run run = {.training = false, .key = {1, 2}, .batch = 3, .first_row = {4, 5}};

    ck_assert_uint_eq(tfm_run_dropout(&run, 0.5f, 7).threshold, 0);
    must(tfm_run_dropout(&run, 0.5f, 7).scale == 1.0f);
    run.training = true;
    const tfm_dropout d = tfm_run_dropout(&run, 0.1f, 7);
    ck_assert_uint_eq(d.threshold, 6554);
    must(d.scale == 65536.0f / 58982.0f);
    must(d.key[0] == 1 && d.key[1] == 2 && d.batch == 3 && d.site == 7 && d.first_row == 4);
    ck_assert_uint_eq(tfm_run_dropout(&run, 0.1f, TFM_SITE_TARGET | 7).first_row, 5);
    ck_assert_uint_eq(tfm_run_dropout(&run, 0.0f, 7).threshold, 0);
    must(isfinite(tfm_run_dropout(&run, 0.9999999f, 7).scale));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("autograd");
    TCase *c = tcase_create("autograd");

    tcase_add_loop_test(c, self_attention_agrees, 0, 2);
    tcase_add_loop_test(c, cross_attention_agrees, 0, 2);
    tcase_add_loop_test(c, c20_m01_a_segment_without_keys_gives_zeros, 0, 2);
    tcase_add_loop_test(c, m28_a_recomputed_layer_has_the_same_gradients, 0, 2);
    tcase_add_test(c, a_steady_step_allocates_nothing);
    tcase_add_test(c, a_step_without_memory_fails_and_leaks_nothing);
    tcase_add_test(c, a_step_that_does_not_fit_is_bad);
    tcase_add_test(c, inference_gives_temporaries_back);
    tcase_add_test(c, gradients_share_buffers);
    tcase_add_test(c, gradients_of_all_sizes_share_room);
    tcase_add_test(c, the_smallest_gap_is_taken);
    tcase_add_test(c, rows_are_shared_out_once);
    tcase_add_test(c, m26_dropout_is_for_training);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
