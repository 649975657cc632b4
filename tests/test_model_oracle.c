/* Whole models of many configurations against the double-precision oracle: forward, loss, and the gradient of every
 * tensor. */
#include "model_trial.h"

typedef struct variant {
    const char *name;
    uint32_t encoder_layers, decoder_layers, d_model, d_ff, heads, d_k, d_v;
    uint32_t norm_order, positions, position_offset, sharing, source_vocab, start;
    uint32_t attention_bias, no_ffn_bias, softmax_bias;
    float eps;
    uint32_t activation, embedding_norm, plain_embedding;
} variant;

/* m10 to m16: scale, heads, W^O, memory of the last layer, positions, sqrt(d), order of norms: each wrong in some row
 * if wrong. */
static const variant variants[] = {
    {"tiny", 2, 2, 8, 16, 2, 3, 5, .eps = 1e-6f},
    {"pre", 2, 2, 8, 16, 2, 3, 5, .norm_order = TFM_PRE_NORM, .eps = 1e-6f},
    {"biases", 2, 2, 8, 16, 2, 3, 5, .attention_bias = 1, .softmax_bias = 1, .eps = 1e-6f},
    {"no biases", 1, 1, 8, 9, 2, 3, 5, .no_ffn_bias = 1, .eps = 1e-6f},
    {"halves", 1, 2, 10, 16, 3, 4, 2, .positions = TFM_POSITIONS_HALVES, .eps = 1e-6f},
    {"halves of an odd width", 2, 1, 9, 16, 2, 4, 3, .positions = TFM_POSITIONS_HALVES, .position_offset = 2,
     .eps = 1e-6f},
    {"an odd width", 2, 1, 7, 5, 3, 2, 4, .position_offset = 5, .eps = 1e-5f},
    {"learned", 1, 1, 8, 16, 2, 3, 5, .positions = TFM_POSITIONS_LEARNED, .position_offset = 3, .eps = 1e-6f},
    {"target shared", 1, 1, 8, 16, 2, 3, 5, .sharing = TFM_SHARE_TARGET, .source_vocab = 9, .softmax_bias = 1,
     .eps = 1e-6f},
    {"nothing shared", 1, 2, 8, 16, 2, 3, 5, .sharing = TFM_SHARE_NONE, .source_vocab = 15, .eps = 1e-6f},
    {"zero start", 2, 2, 8, 16, 2, 3, 5, .positions = TFM_POSITIONS_HALVES, .start = TFM_START_ZERO, .eps = 1e-6f},
    {"one head", 1, 1, 8, 16, 1, 0, 0, .eps = 1e-6f},
    {"one layer and three", 1, 3, 8, 16, 4, 0, 0, .norm_order = TFM_PRE_NORM, .attention_bias = 1, .eps = 1e-6f},
    {"a large eps", 2, 2, 16, 20, 4, 0, 0, .eps = 0.05f},
    {"everything", 2, 2, 17, 33, 3, 9, 7, TFM_PRE_NORM, TFM_POSITIONS_LEARNED, 1, TFM_SHARE_NONE, 13, TFM_START_ZERO, 1,
     0, 1, 1e-3f, TFM_ACTIVATION_GELU, 1, 1},
    {"gelu", 1, 1, 8, 16, 2, 3, 5, .eps = 1e-6f, .activation = TFM_ACTIVATION_GELU},
    {"gelu by tanh", 1, 1, 8, 19, 2, 3, 5, .eps = 1e-6f, .activation = TFM_ACTIVATION_GELU_TANH},
    {"swish", 1, 1, 8, 16, 2, 3, 5, .eps = 1e-6f, .activation = TFM_ACTIVATION_SWISH},
    {"split", 1, 1, 10, 16, 2, 3, 5, .eps = 1e-6f, .positions = TFM_POSITIONS_SPLIT, .position_offset = 1},
    {"embedding norm", 1, 1, 8, 16, 2, 3, 5, .eps = 1e-5f, .embedding_norm = 1},
    {"plain embedding", 1, 1, 8, 16, 2, 3, 5, .eps = 1e-6f, .plain_embedding = 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static tfm_model_options options_of(const variant *v)
{
    tfm_model_options o = golden_options();

    o.n_encoder_layers = v->encoder_layers;
    o.n_decoder_layers = v->decoder_layers;
    o.d_model = v->d_model;
    o.d_ff = v->d_ff;
    o.n_heads = v->heads;
    o.d_k = v->d_k;
    o.d_v = v->d_v;
    o.norm_order = v->norm_order;
    o.positions = v->positions;
    o.position_offset = v->position_offset;
    o.max_positions = 30;
    o.sharing = v->sharing;
    o.source_vocab_size = v->source_vocab;
    o.start = v->start;
    o.attention_bias = v->attention_bias;
    o.ffn_bias = !v->no_ffn_bias;
    o.softmax_bias = v->softmax_bias;
    o.layer_norm_eps = v->eps;
    o.activation = v->activation;
    o.embedding_norm = v->embedding_norm;
    o.plain_embedding = v->plain_embedding;
    return o;
}

/* Three sentences; ids repeat (m22), one target is a single token. */
static const size_t source_offset[] = {0, 5, 12, 14}, target_offset[] = {0, 4, 5, 13};
static const int32_t sources[] = {3, 4, 5, 6, 1, 7, 8, 7, 7, 3, 8, 1, 5, 1};
static const int32_t labels[] = {4, 6, 9, 1, 1, 10, 3, 3, 10, 3, 4, 3, 1};
static const int32_t bos_inputs[] = {2, 4, 6, 9, 2, 2, 10, 3, 3, 10, 3, 4, 3};
static const int32_t zero_inputs[] = {-1, 4, 6, 9, -1, -1, 10, 3, 3, 10, 3, 4, 3};

static oracle_batch batch_of(const variant *v)
{
    return (oracle_batch){
        3, source_offset, target_offset, sources, v->start == TFM_START_ZERO ? zero_inputs : bos_inputs, labels};
}

static void start(model_trial *t, const variant *v, unsigned cpu_flags, bool dropout, bool uniform)
{
    const tfm_model_options o = options_of(v);

    model_begin(t, &o, 2, cpu_flags);
    t->uniform = uniform;
    if (!dropout) return;
    t->run.training = true;
    t->run.key[0] = 12345, t->run.key[1] = 6;
    t->run.batch = 7;
    t->run.first_row[0] = 300, t->run.first_row[1] = 4000000000;
    t->transformer.rates = (tfm_rates){.residual = 0.2f, .embedding = 0.1f, .attention = 0.15f, .relu = 0.25f};
}

START_TEST(m10_to_m16_forward_agrees)
{
    for (size_t i = 0; i < VARIANTS; i++)
        for (int dropout = 0; dropout < 2; dropout++) {
            const oracle_batch b = batch_of(&variants[i]);
            model_trial t;
            oracle_used = 0;
            start(&t, &variants[i], trial_flags(_i), dropout, i % 2);
            const oracle_model o = model_oracle(&t);
            const size_t d = t.weights.options.d_model, V = t.weights.options.vocab_size;
            double *memory = oracle_new(14 * d), *logits = oracle_new(13 * V);
            const double loss = oracle_batch_loss(&o, &b, (double)t.smoothing, t.uniform, memory, logits);
            model_pass(&t, &b, false);
            near_all(t.memory, memory, 14 * d, 0.1, 1e-5, variants[i].name);
            near_all(t.logits, logits, 13 * V, 0.1, 1e-5, variants[i].name);
            near_one(t.loss, loss, 0.0, 2e-6, variants[i].name, 0);
            model_end(&t);
        }
}
END_TEST

/* Weights of every layer and head of the first sentence, of all three kinds. */
START_TEST(m10_attention_weights_agree)
{
    static const size_t all_rows[] = {5, 4, 4}, all_cols[] = {5, 4, 5};
    static const tfm_segments source_segments = {1, source_offset}, target_segments = {1, target_offset};

    for (size_t i = 0; i < VARIANTS; i++) {
        const oracle_batch b = batch_of(&variants[i]);
        const tfm_tokens source = {source_segments, b.sources, source_positions},
                         target = {target_segments, b.inputs, target_positions};
        model_trial t;
        oracle_used = 0;
        start(&t, &variants[i], trial_flags(_i), false, false);
        oracle_model o = model_oracle(&t);
        const tfm_model_options *c = &t.weights.options;
        const size_t d = c->d_model, layers[] = {c->n_encoder_layers, c->n_decoder_layers, c->n_decoder_layers};
        for (uint32_t k = 0; k < 3; k++)
            o.attention[k] = oracle_new(layers[k] * c->n_heads * all_rows[k] * all_cols[k]);
        double *memory = oracle_new(5 * d);
        oracle_encoder(&o, memory, b.sources, 5, 0);
        oracle_decoder(&o, oracle_new(4 * d), b.inputs, 4, memory, 5, 0);
        count_positions(source_positions, source_offset, 1);
        count_positions(target_positions, target_offset, 1);
        for (uint32_t k = 0; k < 3; k++) {
            const size_t n = layers[k] * c->n_heads * all_rows[k] * all_cols[k];
            float *got = trial_floats_of(&t, n);
            tfm_run_measure(&t.run, false);
            tfm_forward_attention(&t.run, &t.transformer, &source, &target, k, TFM_EVERY_LAYER, got);
            must(tfm_run_place(&t.run, t.run.arena.peak, false));
            tfm_forward_attention(&t.run, &t.transformer, &source, &target, k, TFM_EVERY_LAYER, got);
            near_all(got, o.attention[k], n, 0.1, 1e-5, variants[i].name);
            tfm_free(&t.allocator, got, n, sizeof *got);
        }
        model_end(&t);
    }
}
END_TEST

/* A few elements of one tensor. */
static void check_tensor(const model_trial *t, const oracle_model *o, const tfm_parameter_plan *p, double floor)
{
    enum { MOST = 4 };
    double want[MOST];
    float got[MOST];
    size_t n = 0;
    const size_t step = p->size / MOST + 1;

    for (size_t i = step / 3; i < p->size; i += step) {
        double *at = o->data + p->offset + i;
        const double kept = *at, h = 1e-5, eps = (double)t->smoothing;
        *at = kept + h;
        const double up = oracle_batch_loss(o, &t->batch, eps, t->uniform, NULL, NULL);
        *at = kept - h;
        want[n] = (up - oracle_batch_loss(o, &t->batch, eps, t->uniform, NULL, NULL)) / (2.0 * h);
        got[n++] = t->gradients[p->offset + i];
        *at = kept;
    }
    near_all(got, want, n, floor, 1e-4, p->name);
}

/* m21, m22, m27: of every tensor, shared or not, with and without dropout; twins take turns. */
static void check_gradients(int i, bool dropout)
{
    const variant *v = &variants[i];
    const oracle_batch b = batch_of(v);
    model_trial t;

    oracle_used = 0;
    start(&t, v, trial_flags((i + dropout) % 2), dropout, i % 2);
    const oracle_model o = model_oracle(&t);
    model_pass(&t, &b, true);
    const double norm = sqrt(t.run.kernels->sum_squares(t.gradients, t.weights.size) / (double)t.weights.size);
    for (size_t p = 0; p < t.weights.n_parameters; p++) check_tensor(&t, &o, &t.weights.parameters[p], 0.01 * norm);
    model_end(&t);
}

START_TEST(m21_gradients_agree)
{
    check_gradients(_i, false);
}
END_TEST

START_TEST(m27_gradients_agree_with_dropout)
{
    check_gradients(_i, true);
}
END_TEST

/* A gradient is zero exactly where nothing depends on the weight. */
START_TEST(what_is_not_used_has_no_gradient)
{
    model_trial t;

    start(&t, &variants[9], trial_flags(_i), false, false); /* nothing shared */
    const oracle_batch b = batch_of(&variants[9]);
    const size_t d = t.weights.options.d_model;
    model_pass(&t, &b, true);
    for (size_t id = 0; id < 15; id++)
        for (size_t c = 0; c < d; c++) {
            const bool used = id == 1 || (id >= 3 && id <= 8);
            must((t.weights.source_embedding.d_weight[id * d + c] != 0.0f) == used);
        }
    for (size_t c = 0; c < d; c++) must(t.weights.target_embedding.d_weight[1 * d + c] == 0.0f); /* EOS is no input */
    model_end(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("model oracle");
    TCase *c = tcase_create("model oracle");

    tcase_add_loop_test(c, m10_to_m16_forward_agrees, 0, 2);
    tcase_add_loop_test(c, m10_attention_weights_agree, 0, 2);
    tcase_add_loop_test(c, m21_gradients_agree, 0, VARIANTS);
    tcase_add_loop_test(c, m27_gradients_agree_with_dropout, 0, VARIANTS);
    tcase_add_loop_test(c, what_is_not_used_has_no_gradient, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
