/* Which parameters a configuration has: counts, names, places; and the configuration's JSON form. */
#include "model/weights.h"
#include "oracle.h"

static tfm_model_options base_options(void)
{
    tfm_model_options o;

    tfm_config_init(&o, sizeof o);
    o.vocab_size = 37000;
    return o;
}

static tfm_weights plan(const tfm_model_options *o)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_weights w;
    tfm_error error;

    ck_assert_ok(tfm_weights_create(&w, o, &a, &error), error);
    return w;
}

static size_t count(const tfm_model_options *o)
{
    tfm_weights w = plan(o);
    const size_t n = w.size;

    tfm_weights_destroy(&w);
    return n;
}

/* Table 3 with V 37,000 and 40,960, and as the 2017 code had it: with attention biases (its 32 d target spaces are not
 * ours). */
START_TEST(m45_sizes_of_table_3)
{
    static const struct {
        uint32_t n, d, ff, h, d_k, d_v;
        size_t plain, padded, biased;
    } rows[] = {
        {6, 512, 2048, 8, 64, 64, 63045632, 65073152, 65126400},
        {6, 512, 2048, 1, 512, 512, 63045632, 65073152, 65126400},
        {6, 512, 2048, 4, 128, 128, 63045632, 65073152, 65126400},
        {6, 512, 2048, 16, 32, 32, 63045632, 65073152, 65126400},
        {6, 512, 2048, 32, 16, 16, 63045632, 65073152, 65126400},
        {6, 512, 2048, 8, 16, 64, 55967744, 57995264, 58034688},
        {6, 512, 2048, 8, 32, 64, 58327040, 60354560, 60398592},
        {2, 512, 2048, 8, 64, 64, 33644544, 35672064, 35700736},
        {4, 512, 2048, 8, 64, 64, 48345088, 50372608, 50413568},
        {8, 512, 2048, 8, 64, 64, 77746176, 79773696, 79839232},
        {6, 256, 2048, 8, 32, 32, 26816512, 27830272, 27856896},
        {6, 1024, 2048, 8, 128, 128, 163815424, 167870464, 167976960},
        {6, 512, 1024, 8, 64, 64, 50450432, 52477952, 52531200},
        {6, 512, 4096, 8, 64, 64, 88236032, 90263552, 90316800},
        {6, 1024, 4096, 16, 64, 64, 214171648, 218226688, 218333184},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfm_model_options o = base_options();
        o.n_encoder_layers = o.n_decoder_layers = rows[i].n;
        o.d_model = rows[i].d;
        o.d_ff = rows[i].ff;
        o.n_heads = rows[i].h;
        o.d_k = rows[i].d_k;
        o.d_v = rows[i].d_v;
        ck_assert_uint_eq(count(&o), rows[i].plain);
        o.vocab_size = 40960;
        ck_assert_uint_eq(count(&o), rows[i].padded);
        o.attention_bias = 1;
        ck_assert_uint_eq(count(&o) + 32 * rows[i].d, rows[i].biased);
    }
}
END_TEST

static tfm_model_options random_options(uint64_t *state)
{
    tfm_model_options o = base_options();

    o.n_encoder_layers = 1 + draw_bits(state) % 3;
    o.n_decoder_layers = 1 + draw_bits(state) % 3;
    o.n_heads = 1 + draw_bits(state) % 4;
    o.d_model = o.n_heads * (1 + draw_bits(state) % 9);
    o.d_ff = 1 + draw_bits(state) % 20;
    o.d_k = draw_bits(state) % 5;
    o.d_v = draw_bits(state) % 5;
    o.vocab_size = 4 + draw_bits(state) % 20;
    o.sharing = draw_bits(state) % 3;
    o.source_vocab_size = o.sharing == TFM_SHARE_ALL ? 0 : 4 + draw_bits(state) % 20;
    o.norm_order = draw_bits(state) % 2;
    o.positions = draw_bits(state) % 3;
    o.max_positions = 5 + draw_bits(state) % 5;
    o.position_offset = draw_bits(state) % 5;
    o.start = draw_bits(state) % 2;
    o.attention_bias = draw_bits(state) % 2;
    o.ffn_bias = draw_bits(state) % 2;
    o.softmax_bias = draw_bits(state) % 2;
    o.init = draw_bits(state) % 2;
    o.layer_norm_eps = 1e-7f + fabsf(draw(state));
    o.seed = draw_bits(state);
    return o;
}

/* Parameters lie end to end, have names of their own, and are as many as the costs say. */
START_TEST(m45_plans_have_no_gaps)
{
    uint64_t state = 1;

    for (int i = 0; i < 300; i++) {
        const tfm_model_options o = random_options(&state);
        tfm_weights w = plan(&o);
        tfm_model_costs costs;
        size_t end = 0;
        tfm_config_costs(&costs, &w.options, 1, 1);
        ck_assert_uint_eq(costs.parameters, w.size);
        for (size_t p = 0; p < w.n_parameters; p++) {
            const tfm_parameter_plan *a = &w.parameters[p];
            must(a->offset == end && a->size == (size_t)a->shape[0] * a->shape[1] &&
                 (a->rank == 2 || a->shape[1] == 1));
            end += a->size;
            for (size_t b = 0; b < p; b++) must(strcmp(a->name, w.parameters[b].name));
        }
        ck_assert_uint_eq(end, w.size);
        tfm_weights_destroy(&w);
    }
}
END_TEST

static size_t place(const tfm_weights *w, const char *name)
{
    for (size_t i = 0; i < w->n_parameters; i++)
        if (!strcmp(w->parameters[i].name, name)) return w->parameters[i].offset;
    ck_abort_msg("no parameter %s", name);
}

START_TEST(layers_point_at_their_parameters)
{
    static float data[20000], gradients[20000];
    tfm_model_options o = base_options();

    o.n_encoder_layers = 2;
    o.n_decoder_layers = 3;
    o.d_model = 6;
    o.d_ff = 7;
    o.n_heads = 2;
    o.d_k = 3;
    o.d_v = 5;
    o.vocab_size = 9;
    o.source_vocab_size = 10;
    o.sharing = TFM_SHARE_NONE;
    o.positions = TFM_POSITIONS_LEARNED;
    o.max_positions = 4;
    o.norm_order = TFM_PRE_NORM;
    o.attention_bias = o.softmax_bias = 1;
    tfm_weights w = plan(&o);
    ck_assert_uint_le(w.size, 20000);
    tfm_weights_bind(&w, data, gradients);
    const tfm_attention_layer *a = &w.decoder[2].cross;
    const struct {
        const float *data, *gradient;
        const char *name;
    } all[] = {
        {w.source_embedding.weight, w.source_embedding.d_weight, "encoder.embedding.weight"},
        {w.target_embedding.weight, w.target_embedding.d_weight, "decoder.embedding.weight"},
        {w.output.weight, w.output.d_weight, "output.weight"},
        {w.output.bias, w.output.d_bias, "output.bias"},
        {w.source_position.weight, w.source_position.d_weight, "encoder.position.weight"},
        {w.target_position.weight, w.target_position.d_weight, "decoder.position.weight"},
        {a->qkv.weight, a->qkv.d_weight, "decoder.layers.2.cross.query.weight"},
        {a->q.weight, a->q.d_weight, "decoder.layers.2.cross.query.weight"},
        {a->q.bias, a->q.d_bias, "decoder.layers.2.cross.query.bias"},
        {a->kv.weight, a->kv.d_weight, "decoder.layers.2.cross.key.weight"},
        {a->kv.weight + 6 * 6, a->kv.d_weight + 6 * 6, "decoder.layers.2.cross.value.weight"},
        {a->kv.bias, a->kv.d_bias, "decoder.layers.2.cross.key.bias"},
        {a->kv.bias + 6, a->kv.d_bias + 6, "decoder.layers.2.cross.value.bias"},
        {a->out.weight, a->out.d_weight, "decoder.layers.2.cross.output.weight"},
        {a->out.bias, a->out.d_bias, "decoder.layers.2.cross.output.bias"},
        {a->norm.gamma, a->norm.d_gamma, "decoder.layers.2.cross.norm.weight"},
        {a->norm.beta, a->norm.d_beta, "decoder.layers.2.cross.norm.bias"},
        {w.encoder[1].feedforward.inner.weight, w.encoder[1].feedforward.inner.d_weight,
         "encoder.layers.1.feedforward.inner.weight"},
        {w.encoder[1].feedforward.outer.bias, w.encoder[1].feedforward.outer.d_bias,
         "encoder.layers.1.feedforward.outer.bias"},
        {w.decoder[0].attention.qkv.weight, w.decoder[0].attention.qkv.d_weight,
         "decoder.layers.0.attention.query.weight"},
        {w.encoder_norm.gamma, w.encoder_norm.d_gamma, "encoder.norm.weight"},
        {w.decoder_norm.beta, w.decoder_norm.d_beta, "decoder.norm.bias"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ck_assert_int_eq(all[i].data - data, (ptrdiff_t)place(&w, all[i].name));
        ck_assert_int_eq(all[i].gradient - gradients, (ptrdiff_t)place(&w, all[i].name));
    }
    ck_assert_uint_eq(a->kv.out, 6 + 10);
    ck_assert_uint_eq(a->qkv.out, 6 + 6 + 10);
    tfm_weights_bind(&w, data, NULL);
    ck_assert(!w.output.d_weight && !w.decoder[2].cross.kv.d_weight && !w.decoder[2].cross.kv.d_bias);
    tfm_weights_destroy(&w);
}
END_TEST

START_TEST(no_memory_leaks_nothing)
{
    const tfm_model_options o = base_options();
    tfm_status status = TFM_E_NOMEM;

    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_weights w;
        tfm_error error;
        status = tfm_weights_create(&w, &o, &a, &error);
        if (status == TFM_OK) tfm_weights_destroy(&w);
        else ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_le(n, 3);
    }
}
END_TEST

/* ------------------------------------------------------------------------------------------------------- JSON ---- */

static tfm_buffer json_of(const tfm_model_options *o)
{
    tfm_buffer b = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error;

    ck_assert_ok(tfm_config_to_json(&b, o, &error), error);
    return b;
}

static tfm_status read_json(tfm_model_options *o, const char *text, tfm_error *error)
{
    return tfm_config_from_json(o, (tfm_text){text, strlen(text)}, error);
}

/* Whatever can be checked can be written and read, and is the same. */
START_TEST(json_keeps_every_field)
{
    uint64_t state = 2;

    for (int i = 0; i < 300; i++) {
        tfm_model_options o = random_options(&state), back;
        tfm_error error;
        memset(&back, 0x55, sizeof back);
        ck_assert_ok(tfm_config_check(&o, &error), error);
        tfm_buffer b = json_of(&o);
        ck_assert_ok(tfm_config_from_json(&back, (tfm_text){b.data, b.size}, &error), error);
        ck_assert_mem_eq(&back, &o, sizeof o);
        tfm_buffer_free(&b);
    }
}
END_TEST

/* d_model / n_heads may be larger than d_k may be: such a model could be saved, but not read. */
START_TEST(a_head_too_wide_is_refused_before_it_is_saved)
{
    tfm_model_options o = base_options();
    tfm_error error;

    o.d_model = 8192;
    o.n_heads = 1;
    ck_assert_status(tfm_config_check(&o, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "8192"));
    ck_assert_ptr_nonnull(strstr(error.message, "4096"));
    o.d_k = 64;
    ck_assert_status(tfm_config_check(&o, &error), TFM_E_INVALID, error);
    o.d_k = 0;
    o.d_v = 64;
    ck_assert_status(tfm_config_check(&o, &error), TFM_E_INVALID, error);
    o = base_options();
    o.d_model = 8192;
    o.n_heads = 2;
    ck_assert_ok(tfm_config_check(&o, &error), error);
    ck_assert_uint_eq(o.d_k, 4096);
    o.d_v = 4097;
    ck_assert_status(tfm_config_check(&o, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(c32_hostile_json_is_refused)
{
    static const struct {
        const char *text;
        tfm_status status;
    } texts[] = {
        {"", TFM_E_FORMAT},
        {"{", TFM_E_FORMAT},
        {"[1]", TFM_E_FORMAT},
        {"null", TFM_E_FORMAT},
        {"{}", TFM_E_FORMAT}, /* no vocabulary */
        {"{\"vocab_size\":11,\"vocab_size\":12}", TFM_E_FORMAT},
        {"{\"vocab_size\":\"11\"}", TFM_E_FORMAT},
        {"{\"vocab_size\":3}", TFM_E_FORMAT},
        {"{\"vocab_size\":-11}", TFM_E_FORMAT},
        {"{\"vocab_size\":11.5}", TFM_E_FORMAT},
        {"{\"vocab_size\":4294967307}", TFM_E_FORMAT}, /* 2^32 + 11 */
        {"{\"vocab_size\":11,\"n_heads\":0}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"n_heads\":7}", TFM_E_FORMAT}, /* 512 / 7 */
        {"{\"vocab_size\":11,\"d_model\":1e30}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"layer_norm_eps\":0}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"layer_norm_eps\":-1e-6}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"norm_order\":\"sideways\"}", TFM_E_UNSUPPORTED},
        {"{\"vocab_size\":11,\"sharing\":3}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"rope\":1}", TFM_E_UNSUPPORTED},
        {"{\"vocab_size\":11,\"source_vocab_size\":3,\"sharing\":\"none\"}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"source_vocab_size\":12}", TFM_E_FORMAT},
        {"{\"vocab_size\":11,\"positions\":\"learned\",\"max_positions\":3,\"position_offset\":3}", TFM_E_FORMAT},
    };
    tfm_model_options o;
    tfm_error error;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        error.status = TFM_OK;
        ck_assert_status(read_json(&o, texts[i].text, &error), texts[i].status, error);
        ck_assert_int_eq(error.status, texts[i].status);
        ck_assert_status(read_json(&o, texts[i].text, NULL), texts[i].status, error);
    }
    ck_assert_ok(read_json(&o, "{\"vocab_size\":11,\"norm_order\":\"pre\",\"positions\":1}", &error), error);
    ck_assert(o.norm_order == TFM_PRE_NORM && o.positions == TFM_POSITIONS_HALVES && o.d_k == 64 &&
              o.source_vocab_size == 11);
}
END_TEST

START_TEST(json_without_memory_is_an_error)
{
    faulty f = {.fail_at = 0};
    tfm_buffer b = {.allocator = faulty_allocator(&f)};
    const tfm_model_options o = base_options();
    tfm_error error;

    ck_assert_status(tfm_config_to_json(&b, &o, &error), TFM_E_NOMEM, error);
    tfm_buffer_free(&b);
    ck_assert_uint_eq(f.live, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("weights");
    TCase *c = tcase_create("weights");

    tcase_add_test(c, m45_sizes_of_table_3);
    tcase_add_test(c, m45_plans_have_no_gaps);
    tcase_add_test(c, layers_point_at_their_parameters);
    tcase_add_test(c, no_memory_leaks_nothing);
    tcase_add_test(c, json_keeps_every_field);
    tcase_add_test(c, a_head_too_wide_is_refused_before_it_is_saved);
    tcase_add_test(c, c32_hostile_json_is_refused);
    tcase_add_test(c, json_without_memory_is_an_error);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
