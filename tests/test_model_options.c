/* Options of a model: names, limits, presets, and what a configuration counts and costs. */
#include "decoder_models.h"

/* ------------------------------------------------------------------------------------------------- options ---- */

static tfm_model_options options_of(uint32_t vocab)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.vocab_size = vocab;
    return o;
}

#define AT(field) #field, offsetof(tfm_model_options, field)

START_TEST(options_are_set_by_name)
{
    static const struct {
        const char *name;
        size_t offset;
        const char *good[3]; /* texts, and what they become */
        uint32_t value[3];
        const char *bad[4];
    } cases[] = {
        {AT(n_encoder_layers), {"1", "256", "6"}, {1, 256, 6}, {"0", "257", "six", ""}},
        {AT(n_decoder_layers), {"1", "256", "6"}, {1, 256, 6}, {"0", "257", "-1", "1.5"}},
        {AT(d_model), {"1", "65536", "512"}, {1, 65536, 512}, {"0", "65537", "512x", "5 12"}},
        {AT(d_ff), {"1", "1048576", "9"}, {1, 1048576, 9}, {"0", "1048577", "nan", "inf"}},
        {AT(n_heads), {"1", "1024", "8"}, {1, 1024, 8}, {"0", "1025", "-8", "8,"}},
        {AT(d_k), {"0", "4096", "64"}, {0, 4096, 64}, {"4097", "-1", "0.5", "1e400"}},
        {AT(d_v), {"0", "4096", "64"}, {0, 4096, 64}, {"4097", "-1", "0.5", "1e400"}},
        {AT(vocab_size), {"4", "16777216", "37000"}, {4, 16777216, 37000}, {"3", "16777217", "0", "many"}},
        {AT(source_vocab_size), {"0", "16777216", "9"}, {0, 16777216, 9}, {"16777217", "-1", "x", "4294967300"}},
        {AT(norm_order), {"pre", "post", "1"}, {TFM_PRE_NORM, TFM_POST_NORM, 1}, {"2", "Pre", "none", "-1"}},
        {AT(positions), {"split", "halves", "learned"}, {3, 1, 2}, {"4", "sine", "pre", ""}},
        {AT(position_offset), {"0", "1048576", "2"}, {0, 1048576, 2}, {"1048577", "-1", "x", "2.5"}},
        {AT(max_positions), {"1", "1048576", "256"}, {1, 1048576, 256}, {"0", "1048577", "-1", "x"}},
        {AT(sharing), {"all", "target", "none"}, {0, 1, 2}, {"3", "ALL", "-1", "yes"}},
        {AT(start), {"bos", "zero", "0"}, {TFM_START_BOS, TFM_START_ZERO, 0}, {"2", "eos", "-1", ""}},
        {AT(attention_bias), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(ffn_bias), {"0", "1", "0"}, {0, 1, 0}, {"2", "no", "-1", ""}},
        {AT(softmax_bias), {"0", "1", "0"}, {0, 1, 0}, {"2", "no", "-1", ""}},
        {AT(init), {"fused", "separate", "0"}, {TFM_INIT_FUSED, TFM_INIT_SEPARATE, 0}, {"2", "xavier", "-1", ""}},
        {AT(activation), {"gelu", "gelu_tanh", "swish"}, {1, 2, 3}, {"4", "gelu-new", "-1", ""}},
        {AT(embedding_norm), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(plain_embedding), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(own_ids), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(pad_id), {"0", "16777215", "9"}, {0, 16777215, 9}, {"16777216", "x", "-1", ""}},
        {AT(eos_id), {"0", "16777215", "9"}, {0, 16777215, 9}, {"16777216", "x", "-1", ""}},
        {AT(bos_id), {"0", "16777215", "9"}, {0, 16777215, 9}, {"16777216", "x", "-1", ""}},
        {AT(plain_source), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(force_first), {"0", "1", "1"}, {0, 1, 1}, {"2", "yes", "-1", ""}},
        {AT(first_id), {"0", "16777215", "9"}, {0, 16777215, 9}, {"16777216", "x", "-1", ""}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_model_options o = options_of(100), before;
        for (size_t j = 0; j < 3; j++) {
            uint32_t got;
            ck_assert_ok(tfm_model_options_set(&o, cases[i].name, cases[i].good[j], &error), error);
            memcpy(&got, (char *)&o + cases[i].offset, sizeof got);
            ck_assert_msg(got == cases[i].value[j], "%s=%s is %u", cases[i].name, cases[i].good[j], got);
        }
        before = o;
        for (size_t j = 0; j < 4; j++) {
            ck_assert_msg(tfm_model_options_set(&o, cases[i].name, cases[i].bad[j], &error) == TFM_E_INVALID, "%s=%s",
                          cases[i].name, cases[i].bad[j]);
            ck_assert_msg(!strncmp(error.message, cases[i].name, strlen(cases[i].name)), "%s", error.message);
        }
        ck_assert_mem_eq(&o, &before, sizeof o); /* nothing changes on failure, and nothing else on success */
        memcpy((char *)&before + cases[i].offset, (char *)&(tfm_model_options){0} + cases[i].offset, sizeof(uint32_t));
        tfm_model_options fresh = options_of(100);
        memcpy((char *)&fresh + cases[i].offset, (char *)&(tfm_model_options){0} + cases[i].offset, sizeof(uint32_t));
        ck_assert_mem_eq(&before, &fresh, sizeof before);
    }
}
END_TEST

START_TEST(seed_and_epsilon_are_set_by_name)
{
    static const char *const bad[] = {"0", "-1e-6", "2", "nan", "x", ""};
    tfm_model_options o = options_of(100);

    ck_assert_ok(tfm_model_options_set(&o, "layer_norm_eps", "1e-5", &error), error);
    ck_assert(o.layer_norm_eps == 1e-5f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(tfm_model_options_set(&o, "layer_norm_eps", bad[i], &error), TFM_E_INVALID);
    ck_assert(o.layer_norm_eps == 1e-5f);
    ck_assert_ok(tfm_model_options_set(&o, "seed", "18446744073709551615", &error), error);
    ck_assert(o.seed == UINT64_MAX);
    ck_assert_ok(tfm_model_options_set(&o, "seed", "9007199254740993", &error), error); /* 2^53 + 1: exact */
    ck_assert(o.seed == UINT64_C(9007199254740993));
    ck_assert_int_eq(tfm_model_options_set(&o, "seed", "18446744073709551616", &error), TFM_E_INVALID);
    ck_assert_int_eq(tfm_model_options_set(&o, "seed", "-1", &error), TFM_E_INVALID);
    ck_assert_int_eq(tfm_model_options_set(&o, "struct_size", "4", &error), TFM_E_INVALID);
    ck_assert_str_eq(error.message, "model option 'struct_size' is not known");
    ck_assert_int_eq(tfm_model_options_set(&o, "reserved", "1", &error), TFM_E_INVALID);
    ck_assert_int_eq(tfm_model_options_set(&o, "allocator", "0", &error), TFM_E_INVALID);
}
END_TEST

START_TEST(presets_set_sizes_and_leave_the_rest)
{
    static const struct {
        const char *name;
        uint32_t n, d, ff, h;
    } cases[] = {
        {"tiny", 4, 128, 256, 4}, {"small", 4, 256, 1024, 4}, {"base", 6, 512, 2048, 8}, {"big", 6, 1024, 4096, 16}};

    for (size_t i = 0; i < 4; i++) {
        tfm_model_options o = options_of(77);
        o.norm_order = TFM_PRE_NORM;
        o.seed = 9;
        o.d_k = 5;
        ck_assert_ok(tfm_model_options_preset(&o, cases[i].name, &error), error);
        ck_assert(o.n_encoder_layers == cases[i].n && o.n_decoder_layers == cases[i].n && o.d_model == cases[i].d);
        ck_assert(o.d_ff == cases[i].ff && o.n_heads == cases[i].h && !o.d_k && !o.d_v);
        ck_assert(o.norm_order == TFM_PRE_NORM && o.seed == 9 && o.vocab_size == 77);
    }
    tfm_model_options o = options_of(77);
    ck_assert_int_eq(tfm_model_options_preset(&o, "huge", &error), TFM_E_INVALID);
    ck_assert_str_eq(error.message, "preset 'huge' is not known: use tiny, small, base or big");
}
END_TEST

START_TEST(m45_parameter_counts_of_table_3)
{
    static const struct {
        const char *row;
        uint32_t n, d, ff, h, d_k, d_v;
        uint64_t attention, feedforward, encoder, decoder;
    } rows[] = {
        {"base", 6, 512, 2048, 8, 0, 0, 1048576, 2099712, 18902016, 25199616},
        {"A1", 6, 512, 2048, 1, 512, 512, 1048576, 2099712, 18902016, 25199616},
        {"A2", 6, 512, 2048, 4, 128, 128, 1048576, 2099712, 18902016, 25199616},
        {"A3", 6, 512, 2048, 16, 32, 32, 1048576, 2099712, 18902016, 25199616},
        {"A4", 6, 512, 2048, 32, 16, 16, 1048576, 2099712, 18902016, 25199616},
        {"B1", 6, 512, 2048, 8, 16, 64, 655360, 2099712, 16542720, 20481024},
        {"B2", 6, 512, 2048, 8, 32, 64, 786432, 2099712, 17329152, 22053888},
        {"C1", 2, 512, 2048, 8, 0, 0, 1048576, 2099712, 6300672, 8399872},
        {"C2", 4, 512, 2048, 8, 0, 0, 1048576, 2099712, 12601344, 16799744},
        {"C3", 8, 512, 2048, 8, 0, 0, 1048576, 2099712, 25202688, 33599488},
        {"C4", 6, 256, 2048, 8, 0, 0, 262144, 1050880, 7884288, 9460224},
        {"C5", 6, 1024, 2048, 8, 0, 0, 4194304, 4197376, 50374656, 75552768},
        {"C6", 6, 512, 1024, 8, 0, 0, 1048576, 1050112, 12604416, 18902016},
        {"C7", 6, 512, 4096, 8, 0, 0, 1048576, 4198912, 31497216, 37794816},
        {"big", 6, 1024, 4096, 16, 0, 0, 4194304, 8393728, 75552768, 100730880},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t vocab = 37000; vocab <= 40960; vocab += 3960) {
            tfm_model_options o = options_of(vocab);
            tfm_model_costs c;
            o.n_encoder_layers = o.n_decoder_layers = rows[i].n;
            o.d_model = rows[i].d;
            o.d_ff = rows[i].ff;
            o.n_heads = rows[i].h;
            o.d_k = rows[i].d_k;
            o.d_v = rows[i].d_v;
            ck_assert_ok(tfm_model_options_costs(&c, sizeof c, &o, 28, 28, &error), error);
            ck_assert_msg(c.attention == rows[i].attention && c.feedforward == rows[i].feedforward, "%s", rows[i].row);
            ck_assert_msg(c.encoder == rows[i].encoder && c.decoder == rows[i].decoder, "%s", rows[i].row);
            ck_assert_uint_eq(c.embeddings, (uint64_t)vocab * rows[i].d);
            ck_assert_uint_eq(c.parameters, c.encoder + c.decoder + c.embeddings);
        }
}
END_TEST

static uint64_t count_of(const char *preset, uint32_t vocab, const char *name, const char *value)
{
    tfm_model_options o = options_of(vocab);
    tfm_model_costs c;

    ck_assert_ok(tfm_model_options_preset(&o, preset, &error), error);
    if (name) ck_assert_ok(tfm_model_options_set(&o, name, value, &error), error);
    ck_assert_ok(tfm_model_options_costs(&c, sizeof c, &o, 28, 28, &error), error);
    return c.parameters;
}

START_TEST(m45_parameter_counts_of_other_forms)
{
    ck_assert_uint_eq(count_of("base", 37000, NULL, NULL), 63045632);
    ck_assert_uint_eq(count_of("base", 40960, NULL, NULL), 65073152);
    ck_assert_uint_eq(count_of("big", 37000, NULL, NULL), 214171648);
    ck_assert_uint_eq(count_of("base", 32000, NULL, NULL), 60485632);
    ck_assert_uint_eq(count_of("big", 32000, NULL, NULL), 209051648);
    ck_assert_uint_eq(count_of("base", 37000, "positions", "learned"), 63307776);
    ck_assert_uint_eq(count_of("base", 37000, "norm_order", "pre"), 63045632 + 4 * 512);
    ck_assert_uint_eq(count_of("base", 40960, "attention_bias", "1"), 44138496 + 40960 * 512);
    ck_assert_uint_eq(count_of("big", 37000, "attention_bias", "1"), 176357376 + 37000 * 1024);
    ck_assert_uint_eq(count_of("base", 37000, "sharing", "target"), 63045632 + 37000 * 512);
    ck_assert_uint_eq(count_of("base", 37000, "sharing", "none"), 63045632 + 2 * 37000 * 512);
    ck_assert_uint_eq(count_of("base", 37000, "softmax_bias", "1"), 63045632 + 37000);
    ck_assert_uint_eq(count_of("base", 37000, "ffn_bias", "0"), 63045632 - 12 * 2560);
}
END_TEST

START_TEST(costs_are_those_of_paper_3_2)
{
    tfm_model_options o = options_of(37000);
    tfm_model_costs c;

    ck_assert_ok(tfm_model_options_costs(&c, sizeof c, &o, 28, 28, &error), error);
    ck_assert(c.source_macs == 22020096.0 + 172032.0);
    ck_assert(c.target_macs == 40964096.0 + 344064.0);
    ck_assert(c.training_flops == 6.0 * (c.source_macs + c.target_macs));
    golden_near(c.training_flops, 3.810e8, 0, 1e-4, "training FLOP per pair");
    ck_assert_ok(tfm_model_options_preset(&o, "big", &error), error);
    ck_assert_ok(tfm_model_options_costs(&c, sizeof c, &o, 28, 28, &error), error);
    ck_assert(c.source_macs == 88080384.0 + 344064.0);
    ck_assert(c.target_macs == 125968384.0 + 688128.0);
    tfm_model_costs part = {.encoder = 5};
    ck_assert_ok(tfm_model_options_costs(&part, offsetof(tfm_model_costs, encoder), &o, 28, 28, &error), error);
    ck_assert_uint_eq(part.attention, 4194304);
    ck_assert_uint_eq(part.encoder, 5); /* not known to this caller: not written */
}
END_TEST

START_TEST(version_and_status_names)
{
    static const char *const names[] = {"ok",
                                        "invalid argument",
                                        "out of memory",
                                        "input or output error",
                                        "invalid file or text",
                                        "not supported",
                                        "cancelled"};

    ck_assert_str_eq(tfm_version(), "0.2.0");
    for (int32_t i = 0; i < 7; i++) ck_assert_str_eq(tfm_status_name(-i), names[i]);
    ck_assert_str_eq(tfm_status_name(1), "unknown status");
    ck_assert_str_eq(tfm_status_name(INT32_MIN), "unknown status");
}
END_TEST

static Suite *model_options_suite(void)
{
    Suite *suite = suite_create("model_options");
    TCase *tc = tcase_create("model_options");

    tcase_add_test(tc, options_are_set_by_name);
    tcase_add_test(tc, seed_and_epsilon_are_set_by_name);
    tcase_add_test(tc, presets_set_sizes_and_leave_the_rest);
    tcase_add_test(tc, m45_parameter_counts_of_table_3);
    tcase_add_test(tc, m45_parameter_counts_of_other_forms);
    tcase_add_test(tc, costs_are_those_of_paper_3_2);
    tcase_add_test(tc, version_and_status_names);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(model_options_suite)
