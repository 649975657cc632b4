/* Every golden number of PAPER 6.2 and 6.3: components, then the tiny model, forward, backward, and one update. */
#include "golden_model.h"
#include "model/layers.h"
#include "train/schedule.h"

static const tfm_kernels *twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

static void near_list(const float *got, const double *want, size_t n, size_t stride, double bound, const char *what)
{
    double scale = 0.0;

    for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
    for (size_t i = 0; i < n; i++) golden_near((double)got[i * stride], want[i], scale, bound, what);
}

/* --------------------------------------------------------------------------------------------- 6.2, components ---- */

START_TEST(m14_positions)
{
    static float table[50 * 512];
    static const struct {
        uint32_t form;
        size_t d, pos, at;
        double want;
    } goldens[] = {
        {0, 4, 1, 0, 0.841470985},         {0, 4, 1, 1, 0.540302306},          {0, 4, 1, 2, 0.009999833},
        {0, 4, 1, 3, 0.999950000},         {0, 4, 2, 0, 0.909297427},          {0, 4, 2, 1, -0.416146837},
        {0, 4, 2, 2, 0.019998667},         {0, 4, 2, 3, 0.999800007},          {1, 4, 1, 0, 0.841470985},
        {1, 4, 1, 1, 0.000100000},         {1, 4, 1, 2, 0.540302306},          {1, 4, 1, 3, 0.999999995},
        {0, 8, 3, 0, 0.141120008},         {0, 8, 3, 1, -0.989992497},         {0, 8, 3, 2, 0.295520207},
        {0, 8, 3, 3, 0.955336489},         {0, 8, 3, 4, 0.029995500},          {0, 8, 3, 5, 0.999550034},
        {0, 8, 3, 6, 0.002999996},         {0, 8, 3, 7, 0.999995500},          {1, 8, 3, 0, 0.141120008},
        {1, 8, 3, 1, 0.138798101},         {1, 8, 3, 2, 0.006463259},          {1, 8, 3, 3, 0.000300000},
        {1, 8, 3, 4, -0.989992497},        {1, 8, 3, 5, 0.990320699},          {1, 8, 3, 6, 0.999979113},
        {1, 8, 3, 7, 0.999999955},         {0, 512, 1, 1, 0.540302305868},     {1, 512, 1, 1, 0.821778650170},
        {0, 512, 1, 2, 0.821856190018},    {1, 512, 1, 2, 0.801804925877},     {0, 512, 1, 255, 0.999946270090},
        {1, 512, 1, 255, 0.000100000000},  {0, 512, 1, 256, 0.009999833334},   {1, 512, 1, 256, 0.540302305868},
        {0, 512, 1, 510, 0.000103663293},  {1, 512, 1, 510, 0.999999994625},   {0, 512, 49, 2, -0.144026922259},
        {1, 512, 49, 2, 0.999485753130},   {0, 512, 49, 254, 0.486387214011},  {1, 512, 49, 254, 0.005080196213},
        {0, 512, 49, 257, 0.882332858610}, {1, 512, 49, 257, -0.990512220068},
    };

    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        tfm_position_fill(table, 50, goldens[i].d, goldens[i].form, 0);
        golden_near((double)table[goldens[i].pos * goldens[i].d + goldens[i].at], goldens[i].want, 1e-2, 1e-7,
                    "position");
    }
}
END_TEST

START_TEST(m24_learning_rates)
{
    static const struct {
        uint64_t step, warmup;
        double d, scale, rate;
    } goldens[] = {
        {1, 4000, 512, 1, 1.746928107422e-07},
        {100, 4000, 512, 1, 1.746928107422e-05},
        {4000, 4000, 512, 1, 6.987712429687e-04},
        {8000, 4000, 512, 1, 4.941058844013e-04},
        {16000, 4000, 512, 1, 3.493856214843e-04},
        {100000, 4000, 512, 1, 1.397542485937e-04},
        {1, 4000, 1024, 1, 1.235264711003e-07},
        {4000, 4000, 1024, 1, 4.941058844013e-04},
        {300000, 4000, 1024, 1, 5.705443307345e-05},
        {8000, 8000, 512, 2, 9.882117688026e-04},
        {1, 4000, 8, 1, 1.397542486e-06},
    };

    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        golden_near(tfm_schedule_rate(goldens[i].step, goldens[i].d, goldens[i].warmup, goldens[i].scale),
                    goldens[i].rate, 0, 1e-9, "rate");
}
END_TEST

START_TEST(m17_layer_norm)
{
    static const double four[] = {-1.341640250, -0.447213417, 0.447213417, 1.341640250};
    const float x[] = {1, 2, 3, 4}, small[] = {1e-3f, 0, 0, 0}, gamma[] = {1, 1, 1, 1}, beta[] = {0, 0, 0, 0};
    const float constant[] = {5, 5, 5, 5}, shift[] = {0.1f, -0.2f, 0.3f, 7};
    float y[4], stats[2];

    twin(_i)->layer_norm(y, stats, x, gamma, beta, 4, 1e-6f);
    near_list(y, four, 4, 1, 3e-7, "layer norm");
    twin(_i)->layer_norm(y, stats, x, gamma, beta, 4, 1e-5f);
    golden_near((double)y[0], -1.341635420, 0, 3e-7, "eps 1e-5");
    twin(_i)->layer_norm(y, stats, small, gamma, beta, 4, 1e-6f);
    golden_near((double)y[0], 0.688247202, 0, 3e-7, "eps detector");
    twin(_i)->layer_norm(y, stats, small, gamma, beta, 4, 1e-5f);
    golden_near((double)y[0], 0.234978135, 0, 3e-7, "eps detector");
    twin(_i)->layer_norm(y, stats, constant, gamma, shift, 4, 1e-6f);
    ck_assert_mem_eq(y, shift, sizeof y);
}
END_TEST

START_TEST(m23_adam_three_steps)
{
    static const double g[] = {0.5, -0.25, 0.125}, want[] = {0.999000000014142, 0.998732892303995, 0.998390107749537};
    float w = 1, m = 0, v = 0;

    for (int t = 1; t <= 3; t++) {
        const float gradient = (float)g[t - 1];
        const double rate = 1e-3 * sqrt(1 - pow(0.98, t)) / (1 - pow(0.9, t));
        twin(_i)->adam(&w, &m, &v, &gradient, 1, 1, (float)rate, 0.9f, 0.98f, 1e-9f);
        golden_near((double)w, want[t - 1], 0, 1e-7, "w");
        golden_near(1 - (double)w, 1 - want[t - 1], 0, 1e-4, "steps");
    }
}
END_TEST

/* The loss of given logits: x through the identity. */
static void smoothed(const tfm_kernels *kernels, bool uniform, double *loss, double *nll, float gradient[5])
{
    static float logits[] = {1, 2, 3, 0.5f, -1}, identity[25], d_identity[25];
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const tfm_linear output = {identity, NULL, d_identity, NULL, 5, 5, NULL};
    const int32_t label = 2;
    tfm_pool *pool;
    tfm_run run;
    tfm_error error;

    for (size_t i = 0; i < 5; i++) identity[6 * i] = 1;
    ck_assert_ok(tfm_pool_create(&pool, 1, &a, &error), error);
    ck_assert_ok(tfm_run_create(&run, pool, kernels, &a, &error), error);
    ck_assert(tfm_run_place(&run, 4096, true));
    tfm_value *x = tfm_value_view(&run, logits, 1, 5);
    tfm_op_loss(&run, x, &(tfm_loss){&output, &label, 0.1f, uniform, NULL, loss, nll});
    memcpy(gradient, x->grad, 5 * sizeof *gradient);
    tfm_run_destroy(&run);
    tfm_pool_free(pool);
}

START_TEST(m18_label_smoothing)
{
    static const double paper[] = {0.059393856, 0.204406284, -0.276409067, 0.026187461, -0.013578534};
    static const double even[] = {0.064393856, 0.209406284, -0.296409067, 0.031187461, -0.008578534};
    float gradient[5];
    double loss, nll;

    smoothed(twin(_i), false, &loss, &nll, gradient);
    golden_near(nll, 0.472260681387, 0, 1e-6, "nll");
    golden_near(loss, 0.709760681387, 0, 1e-6, "paper");
    near_list(gradient, paper, 5, 1, 1e-6, "gradient, paper");
    smoothed(twin(_i), true, &loss, &nll, gradient);
    golden_near(nll, 0.472260681387, 0, 1e-6, "nll");
    golden_near(loss, 0.662260681387, 0, 1e-6, "uniform");
    near_list(gradient, even, 5, 1, 1e-6, "gradient, uniform");
}
END_TEST

static void attend(const tfm_kernels *kernels, const float *q, const float *k, const float *v, size_t m, size_t n,
                   bool causal, float out[4], float weights[4])
{
    float scratch[8192];
    const tfm_head h = {.q = q,
                        .k = k,
                        .v = v,
                        .q_stride = 2,
                        .k_stride = 2,
                        .v_stride = 2,
                        .m = m,
                        .n = n,
                        .d_k = 2,
                        .d_v = 2,
                        .scale = 1 / sqrtf(2),
                        .causal = causal,
                        .out = out,
                        .out_stride = 2,
                        .weights = weights};
    size_t floats;

    ck_assert(tfm_attention_scratch(&floats, n, 2, 2, false) && floats <= 8192);
    kernels->attention(&h, scratch);
}

START_TEST(m10_attention_of_the_articles)
{
    static const double a[] = {0.669761549, 0.330238451, 0.330238451, 0.669761549};
    static const double o[] = {1.339523099, 1.320953803, 0.660476901, 2.679046197};
    static const double a_one[] = {0.401112093, 0.197775815, 0.401112093}, o_one[] = {1.604448371, 1.197775815};
    const float eye[] = {1, 0, 0, 1}, v[] = {2, 0, 0, 4}, k3[] = {1, 0, 0, 1, 1, 1}, v3[] = {2, 0, 0, 2, 2, 2};
    float out[4], weights[4];

    attend(twin(_i), eye, eye, v, 2, 2, false, out, weights);
    near_list(weights, a, 4, 1, 3e-7, "003 A");
    near_list(out, o, 4, 1, 3e-7, "003 O");
    attend(twin(_i), eye, eye, v, 2, 2, true, out, weights);
    ck_assert(weights[0] == 1 && weights[1] == 0 && out[0] == 2 && out[1] == 0);
    near_list(weights + 2, a + 2, 2, 1, 3e-7, "003 causal A");
    near_list(out + 2, o + 2, 2, 1, 3e-7, "003 causal O");
    attend(twin(_i), eye, k3, v3, 1, 3, false, out, weights);
    near_list(weights, a_one, 3, 1, 3e-7, "000 A");
    near_list(out, o_one, 2, 1, 3e-7, "000 O");
}
END_TEST

/* ---------------------------------------------------------------------------------------- 6.3, the tiny model ---- */

static golden g;
static const int32_t zero_inputs[] = {-1, 4, 6, 9, -1, 10, 3};
static const uint32_t thread_counts[] = {1, 2, 5};

/* Six settings: two twins, three numbers of threads. */
static void begin_setting(int i, uint32_t positions)
{
    tfm_model_options o = golden_options();

    o.positions = positions;
    golden_begin_with(&g, &o, thread_counts[i % 3], i < 3 ? 0 : tfm_cpu_flags(true));
}

static void check_losses(double nll, double paper, double uniform, const int32_t *inputs)
{
    golden_pass(&g, inputs, 0.1f, false, false);
    golden_near(g.nll, nll, 0, 1e-6, "nll");
    golden_near(g.loss, paper, 0, 1e-6, "paper loss");
    golden_pass(&g, inputs, 0.1f, true, false);
    golden_near(g.loss, uniform, 0, 1e-6, "uniform loss");
    golden_pass(&g, inputs, 0.0f, false, false);
    golden_near(g.loss, nll, 0, 1e-6, "loss without smoothing");
}

START_TEST(weights_by_formula)
{
    begin_setting(0, TFM_POSITIONS_PAPER);
    ck_assert_uint_eq(g.weights.n_parameters, 61);
    ck_assert_uint_eq(g.weights.size, 2904);
    golden_near((double)g.data[0], 0.263389219, 0, 1e-7, "E[0]");
    golden_near((double)g.data[1], 0.193630500, 0, 1e-7, "E[1]");
    golden_near((double)g.data[2], 0.097664800, 0, 1e-7, "E[2]");
    golden_near((double)g.weights.encoder[0].attention.q.weight[0], -0.176357131, 0, 1e-7, "Wq[0]");
    golden_end(&g);
}
END_TEST

START_TEST(m15_m30_three_losses)
{
    static const double per_token[] = {1.859479099, 2.034374801, 2.663779270, 1.782968207,
                                       2.579979813, 2.462579188, 1.599347389};

    begin_setting(_i, TFM_POSITIONS_PAPER);
    check_losses(2.140358252394, 2.189914132731, 2.185409052700, golden_inputs);
    for (size_t i = 0; i < 7; i++) golden_near(-(double)g.logprobs[i], per_token[i], 0, 1e-6, "nll of a token");
    golden_end(&g);
    begin_setting(_i, TFM_POSITIONS_HALVES);
    check_losses(1.991094573081, 2.060629779577, 2.054308397168, golden_inputs);
    check_losses(2.366198743595, 2.406621795106, 2.402946972241, zero_inputs);
    golden_end(&g);
}
END_TEST

/* The parts of encoder layer 0 for sentence A, one after another. */
START_TEST(m11_m12_inside_an_encoder_layer)
{
    static const double embedded[] = {-0.847647087, 0.195736228, -0.652027129, 0.588458328,
                                      -0.115355981, 1.196442601, 0.481653598,  1.701675041};
    static const double attended[] = {0.083744174, 0.082865005,  0.070770446,  0.049097439,
                                      0.020779324, -0.010351175, -0.040080691, -0.064385473};
    static const double normed[] = {-1.384191886, -0.075256852, -1.119663580, 0.403912839,
                                    -0.506700118, 1.135710395,  0.176590651,  1.763228711};
    static const double fed[] = {0.035535091, 0.059770943, 0.075917079, 0.081788195,
                                 0.076589662, 0.061025077, 0.037201035, 0.008342007};
    static const double out[] = {-1.557156192, -0.162318537, -1.231390734, 0.337515581,
                                 -0.577968075, 1.033981804,  0.084955278,  1.596608035};
    static const size_t offset[] = {0, 5};
    const tfm_tokens source = {{1, offset}, golden_source, golden_source_positions};
    tfm_value *v[7];

    begin_setting(_i, TFM_POSITIONS_PAPER);
    const tfm_encoder_layer *w = &g.weights.encoder[0];
    const tfm_layer layer = {.t = &g.transformer, .source = source.segments};
    ck_assert(tfm_run_place(&g.run, 1 << 20, false));
    for (size_t i = 0; i < 7; i++) v[i] = tfm_value_new(&g.run, 5, 8);
    tfm_embed_tokens(&g.run, v[0], &g.transformer, &source, false);
    near_list(v[0]->data, embedded, 8, 1, 1e-6, "embedding");
    tfm_self_attention(&g.run, v[1], v[0], &layer, &w->attention, false);
    near_list(v[1]->data, attended, 8, 1, 1e-5, "attention");
    tfm_op_add_norm(&g.run, v[2], v[3], v[0], v[1], &w->attention.norm, 0.0f, 0);
    near_list(v[3]->data, normed, 8, 1, 1e-6, "first norm");
    tfm_feedforward(&g.run, v[4], v[3], &layer, &w->feedforward, false);
    near_list(v[4]->data, fed, 8, 1, 1e-5, "feed-forward");
    tfm_op_add_norm(&g.run, v[5], v[6], v[3], v[4], &w->feedforward.norm, 0.0f, 0);
    near_list(v[6]->data, out, 8, 1, 1e-6, "layer");
    golden_end(&g);
}
END_TEST

START_TEST(m10_attention_weights)
{
    static const double want[] = {0.241851233, 0.202655355, 0.187822742, 0.171219687, 0.196450983};
    static const size_t offset[] = {0, 5};
    const tfm_tokens source = {{1, offset}, golden_source, golden_source_positions};
    float weights[2 * 5 * 5];

    begin_setting(_i, TFM_POSITIONS_PAPER);
    ck_assert(tfm_run_place(&g.run, 1 << 20, false));
    tfm_forward_attention(&g.run, &g.transformer, &source, NULL, TFM_ATTENTION_ENCODER, 0, weights);
    ck_assert(!g.run.arena.bad);
    near_list(weights, want, 5, 1, 1e-6, "weights");
    golden_end(&g);
}
END_TEST

START_TEST(m13_m16_memory_and_logits)
{
    static const double memory[][8] = {
        {-1.414791916, -0.079089934, -1.167034256, 0.366670061, -0.566457154, 1.080202146, 0.119827407, 1.731595586},
        {-1.642559832, -1.378983628, -0.225930678, 0.502419234, -0.025780863, 1.080530119, 0.345911784, 1.381835854},
        {-0.847976017, 0.405584894, -1.244274454, 0.311578574, -1.015257828, 0.873194287, -0.247131115, 1.857098203},
    };
    static const double logits[][11] = {
        {0.807100436, -0.837158736, 0.839686757, -0.814601365, 0.762727503, -0.685771062, 0.586262782, -0.467475032,
         0.333314191, -0.188192188, 0.036881415},
        {-0.739881054, 0.800839104, -0.835461260, 0.842608961, -0.822047151, 0.774452013, -0.701388731, 0.605260018,
         -0.489227103, 0.357105772, -0.213240884},
        {-1.084111395, 1.153728976, -1.185405749, 1.178100010, -1.132052013, 1.048776061, -0.931010716, 0.782628736,
         -0.608509717, 0.414379629, -0.206622511},
    };
    static const size_t memory_rows[] = {0, 4, 5}, logit_rows[] = {0, 3, 6};

    begin_setting(_i, TFM_POSITIONS_PAPER);
    golden_pass(&g, golden_inputs, 0.1f, false, false);
    for (size_t i = 0; i < 3; i++) near_list(g.memory + memory_rows[i] * 8, memory[i], 8, 1, 1e-5, "memory");
    for (size_t i = 0; i < 3; i++) near_list(g.logits + logit_rows[i] * 11, logits[i], 11, 1, 1e-5, "logits");
    golden_end(&g);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- gradients ---- */

/* In the specification matrices are [in][out]: its first elements are the first column of ours. */
static const struct {
    const char *name;
    double norm, first[3];
} gradient_table[] = {
    {"embedding.weight", 0.903222431, {0.033025297, 0.052119478, -0.026315607}},
    {"encoder.layers.0.attention.query.weight", 0.000403525, {0.000046198, 0.000033530, 0.000016323}},
    {"encoder.layers.0.attention.key.weight", 0.000138047, {0.000053182, 0.000053767, 0.000047075}},
    {"encoder.layers.0.attention.value.weight", 0.020994454, {0.001045087, -0.000945051, 0.000813937}},
    {"encoder.layers.0.attention.output.weight", 0.081484177, {0.009964270, -0.010168524, 0.007104255}},
    {"encoder.layers.0.attention.norm.weight", 0.022391577, {-0.010470483, 0.000760374, -0.010313330}},
    {"encoder.layers.0.feedforward.inner.weight", 0.021094597, {0.000861864, -0.000944002, 0.000995097}},
    {"encoder.layers.1.feedforward.norm.bias", 0.044921363, {0.019407867, -0.019595902, 0.013830704}},
    {"decoder.layers.0.attention.value.weight", 0.812881872, {-0.092225096, 0.104274166, -0.112894140}},
    {"decoder.layers.0.cross.key.weight", 0.008549599, {-0.000263839, -0.000517821, -0.000701718}},
    {"decoder.layers.0.cross.value.weight", 0.339522302, {-0.003977697, 0.007279733, -0.010342373}},
    {"decoder.layers.1.attention.query.weight", 0.008967009, {0.000617428, 0.000873513, 0.001011373}},
    {"decoder.layers.1.attention.key.weight", 0.009515525, {-0.000596108, -0.000401659, -0.000152846}},
    {"decoder.layers.1.feedforward.outer.weight", 0.159604551, {0.034223904, 0.026363913, 0.001373870}},
    {"decoder.layers.1.feedforward.outer.bias", 0.174126994, {0.107866963, 0.069600707, 0.038397110}},
    {"decoder.layers.1.feedforward.norm.weight", 0.175486549, {0.020455274, -0.113548991, -0.000041860}},
    {"decoder.layers.1.feedforward.norm.bias", 0.195163643, {0.086735339, 0.062604420, 0.030000286}},
};

static double norm_of(const float *x, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void check_gradients(void)
{
    static const double pad[] = {0.033025297,  0.052119478, -0.026315607, 0.131422641,
                                 -0.083479497, 0.062143014, -0.162988392, -0.022287042};
    size_t found = 0;

    for (size_t i = 0; i < g.weights.size; i++) g.gradients[i] /= 7.0f;
    golden_near(norm_of(g.gradients, g.weights.size), 1.664402116, 0, 1e-5, "global norm");
    for (size_t i = 0; i < g.weights.n_parameters; i++)
        for (size_t j = 0; j < sizeof gradient_table / sizeof *gradient_table; j++) {
            const tfm_parameter_plan *p = &g.weights.parameters[i];
            if (strcmp(p->name, gradient_table[j].name)) continue;
            const float *x = g.gradients + p->offset;
            const size_t stride = i && p->rank == 2 ? p->shape[1] : 1;
            golden_near(norm_of(x, p->size), gradient_table[j].norm, 0, 1e-4, p->name);
            for (size_t e = 0; e < 3; e++)
                golden_near((double)x[e * stride], gradient_table[j].first[e],
                            gradient_table[j].norm / sqrt((double)p->size), 1e-4, p->name);
            found++;
        }
    ck_assert_uint_eq(found, sizeof gradient_table / sizeof *gradient_table);
    near_list(g.gradients, pad, 8, 1, 1e-5, "dE of PAD");
}

START_TEST(m21_gradients)
{
    begin_setting(_i, TFM_POSITIONS_PAPER);
    for (int recompute = 0; recompute < 2; recompute++) {
        g.transformer.rates.recompute = recompute;
        golden_pass(&g, golden_inputs, 0.1f, false, true);
        golden_near(g.loss, 2.189914132731, 0, 1e-6, "loss");
        check_gradients();
    }
    golden_end(&g);
}
END_TEST

/* The three uses of the one matrix, told apart by a model that has three equal ones. */
START_TEST(m21_tied_parts)
{
    static const double norms[] = {0.087893212, 0.435732484, 0.878455920},
                        row4[] = {0.001977502, 0.039820915, 0.048508663};
    tfm_model_options o = golden_options();
    float tied[GOLDEN_SIZE];

    golden_begin(&g);
    memcpy(tied, g.data, sizeof tied);
    golden_end(&g);
    o.sharing = TFM_SHARE_NONE;
    golden_begin_with(&g, &o, thread_counts[_i % 3], _i < 3 ? 0 : tfm_cpu_flags(true));
    for (size_t i = 0; i < 3; i++) memcpy(g.data + 88 * i, tied, 88 * sizeof *tied);
    memcpy(g.data + 3 * 88, tied + 88, sizeof tied - 88 * sizeof *tied);
    golden_pass(&g, golden_inputs, 0.1f, false, true);
    for (size_t i = 0; i < 3; i++) {
        golden_near(norm_of(g.gradients + 88 * i, 88) / 7, norms[i], 0, 1e-4, "norm of a part");
        golden_near((double)g.gradients[88 * i + 4 * 8] / 7, row4[i], 0, 1e-4, "row 4 of a part");
    }
    golden_end(&g);
}
END_TEST

START_TEST(m23_one_update)
{
    static const struct {
        double rate, loss, nll;
    } steps[] = {{1e-3, 2.142266417, 2.087649832}, {1.397542486e-06, 2.189849146, 0}};
    static float m[GOLDEN_SIZE], v[GOLDEN_SIZE];

    for (size_t i = 0; i < 2; i++) {
        begin_setting(_i, TFM_POSITIONS_PAPER);
        golden_pass(&g, golden_inputs, 0.1f, false, true);
        memset(m, 0, sizeof m);
        memset(v, 0, sizeof v);
        const double rate = steps[i].rate * sqrt(1 - 0.98) / (1 - 0.9);
        g.run.kernels->adam(g.data, m, v, g.gradients, g.weights.size, 1.0f / 7.0f, (float)rate, 0.9f, 0.98f, 1e-9f);
        golden_pass(&g, golden_inputs, 0.1f, false, false);
        golden_near(2.189914132731 - g.loss, 2.189914132731 - steps[i].loss, 0, i ? 1e-2 : 1e-4, "fall of the loss");
        if (!i) golden_near(g.nll, steps[i].nll, 0, 1e-6, "nll");
        golden_end(&g);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("goldens");
    TCase *c = tcase_create("goldens");

    tcase_add_test(c, m14_positions);
    tcase_add_test(c, m24_learning_rates);
    tcase_add_loop_test(c, m17_layer_norm, 0, 2);
    tcase_add_loop_test(c, m23_adam_three_steps, 0, 2);
    tcase_add_loop_test(c, m18_label_smoothing, 0, 2);
    tcase_add_loop_test(c, m10_attention_of_the_articles, 0, 2);
    tcase_add_test(c, weights_by_formula);
    tcase_add_loop_test(c, m15_m30_three_losses, 0, 6);
    tcase_add_loop_test(c, m11_m12_inside_an_encoder_layer, 0, 6);
    tcase_add_loop_test(c, m10_attention_weights, 0, 6);
    tcase_add_loop_test(c, m13_m16_memory_and_logits, 0, 6);
    tcase_add_loop_test(c, m21_gradients, 0, 6);
    tcase_add_loop_test(c, m21_tied_parts, 0, 6);
    tcase_add_loop_test(c, m23_one_update, 0, 6);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
