/* Models written in the formats of other systems: what comes back is the same, and what they lack is named. */
#include "testing.h"

#include "foreign_samples.h"

#include <sys/stat.h>
#include <unistd.h>

static tfm_error error;
static char folder[TESTING_PATH], other[TESTING_PATH];
static unsigned char bytes[SAMPLE_ROOM];

static void setup(void)
{
    temp_make(folder);
}

static void teardown(void)
{
    temp_remove(folder);
}

/* Every parameter of a is one of b, bit for bit; what b has besides is zeros. */
static void check_same(const tfm_model *a, const tfm_model *b)
{
    tfm_parameter p, q;

    for (size_t i = 0; i < tfm_model_parameter_count(b); i++) {
        ck_assert_ok(tfm_model_parameter_at(&q, b, i, &error), error);
        const size_t n = (size_t)q.shape[0] * q.shape[1];
        if (tfm_model_parameter_named(&p, a, q.name, &error) == TFM_OK)
            ck_assert_mem_eq(p.data, q.data, n * sizeof *p.data);
        else
            for (size_t k = 0; k < n; k++) ck_assert_msg(q.data[k] == 0.0f, "%s", q.name);
    }
    for (size_t i = 0; i < tfm_model_parameter_count(a); i++) {
        ck_assert_ok(tfm_model_parameter_at(&p, a, i, &error), error);
        ck_assert_ok(tfm_model_parameter_named(&q, b, p.name, &error), error);
    }
}

/* Out, in again, and the configuration is the same but for biases and what only random weights need. */
static void check_round_trip(const tfm_model *model, uint32_t format)
{
    tfm_model_options a, b;
    tfm_model *back;

    ck_assert_ok(tfm_model_export(model, path_join(other, folder, format == TFM_EXPORT_MARIAN ? "out.npz" : "out"),
                                  format, &error),
                 error);
    ck_assert_ok(tfm_model_load(&back, other, NULL, &error), error);
    check_same(model, back);
    tfm_model_get_options(&a, sizeof a, model);
    tfm_model_get_options(&b, sizeof b, back);
    a.attention_bias = b.attention_bias, a.ffn_bias = b.ffn_bias, a.softmax_bias = b.softmax_bias;
    a.seed = b.seed, a.init = b.init;
    if (format == TFM_EXPORT_MARIAN && a.bos_id == a.eos_id) a.bos_id = b.bos_id; /* neither forbids anything */
    if (a.positions != TFM_POSITIONS_LEARNED) a.max_positions = b.max_positions;
    ck_assert_mem_eq(&a, &b, sizeof a);
    tfm_model_free(back);
}

/* Small models of every form that the other system has. */
static const struct {
    uint32_t format, norm_order, positions, position_offset, sharing, embedding_norm, activation, start;
    uint32_t pad, eos, bos, source_vocab, plain;
    float eps;
} forms[] = {
    {1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1e-6f},   {1, 1, 1, 0, 1, 1, 3, 1, 1, 0, 1, 9, 0, 1e-6f},
    {1, 0, 1, 0, 2, 0, 3, 1, 1, 0, 1, 9, 0, 1e-6f},   {2, 0, 3, 0, 0, 0, 3, 0, 10, 0, 10, 0, 0, 1e-5f},
    {2, 0, 3, 0, 1, 0, 0, 0, 10, 0, 10, 9, 0, 1e-5f}, {2, 0, 3, 0, 2, 0, 2, 0, 10, 0, 10, 9, 1, 1e-5f},
    {2, 1, 1, 4, 0, 0, 0, 0, 3, 2, 2, 0, 0, 1e-5f},   {2, 1, 2, 2, 0, 1, 1, 0, 1, 2, 2, 0, 0, 1e-5f},
    {2, 0, 2, 2, 0, 1, 2, 0, 1, 2, 2, 0, 1, 1e-5f},
};
enum { FORMS = sizeof forms / sizeof *forms };

static tfm_model_options form(int i)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = 2, o.n_decoder_layers = 1, o.d_model = 8, o.d_ff = 12, o.n_heads = 2, o.vocab_size = 11;
    o.norm_order = forms[i].norm_order, o.positions = forms[i].positions, o.position_offset = forms[i].position_offset;
    o.sharing = forms[i].sharing, o.embedding_norm = forms[i].embedding_norm, o.activation = forms[i].activation;
    o.start = forms[i].start, o.own_ids = 1, o.pad_id = forms[i].pad, o.eos_id = forms[i].eos, o.bos_id = forms[i].bos;
    o.source_vocab_size = forms[i].source_vocab, o.plain_embedding = forms[i].plain, o.layer_norm_eps = forms[i].eps;
    o.max_positions = 20;
    return o;
}

START_TEST(exported_models_come_back)
{
    tfm_model_options o = form(_i);
    tfm_model *m;

    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    check_round_trip(m, forms[_i].format);
    tfm_model_free(m);
}
END_TEST

/* What the pages promise of a form. */
static bool expressible(const tfm_model_options *o, uint32_t format)
{
    const bool post = o->norm_order == TFM_POST_NORM, all = o->sharing == TFM_SHARE_ALL;

    if (format == TFM_EXPORT_MARIAN)
        return o->positions == TFM_POSITIONS_HALVES && o->position_offset == 0 && o->start == TFM_START_ZERO &&
               !o->plain_embedding && (o->activation == TFM_ACTIVATION_RELU || o->activation == TFM_ACTIVATION_SWISH);
    if (o->start == TFM_START_ZERO) return false;
    if (o->positions == TFM_POSITIONS_SPLIT) return post && o->position_offset == 0 && !o->embedding_norm;
    if (o->positions == TFM_POSITIONS_HALVES)
        return !post && o->position_offset == 2 && !o->embedding_norm && all && !o->softmax_bias;
    return o->positions == TFM_POSITIONS_LEARNED && o->position_offset == 2 && o->embedding_norm && all;
}

/* Every form is exported and comes back, or is refused by the name of an option. */
START_TEST(each_form_comes_back_or_is_refused)
{
    static const struct {
        size_t offset;
        uint32_t values;
    } fields[] = {
        {offsetof(tfm_model_options, norm_order), 2},   {offsetof(tfm_model_options, positions), 4},
        {offsetof(tfm_model_options, sharing), 3},      {offsetof(tfm_model_options, embedding_norm), 2},
        {offsetof(tfm_model_options, activation), 4},   {offsetof(tfm_model_options, start), 2},
        {offsetof(tfm_model_options, softmax_bias), 2}, {offsetof(tfm_model_options, plain_embedding), 2},
    };
    const uint32_t format = (uint32_t)_i;
    size_t all = 2, back = 0, refused = 0;
    tfm_model *m;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) all *= fields[i].values;
    for (size_t n = 0; n < all; n++) {
        tfm_model_options o = form(format == TFM_EXPORT_MARIAN ? 0 : 6);
        size_t rest = n / 2;
        for (size_t i = 0; i < sizeof fields / sizeof *fields; rest /= fields[i++].values) {
            const uint32_t value = (uint32_t)(rest % fields[i].values);
            memcpy((char *)&o + fields[i].offset, &value, sizeof value);
        }
        o.pad_id = 1;
        o.position_offset = n % 2 ? 2 : 0;
        o.attention_bias = n % 5 > 2;
        o.ffn_bias = n % 3 > 0;
        if (!expressible(&o, format) && n % 5) continue; /* most are */
        ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
        if (expressible(&o, format)) {
            check_round_trip(m, format);
            back++;
        } else {
            ck_assert_status(tfm_model_export(m, path_join(other, folder, "no"), format, &error), TFM_E_UNSUPPORTED,
                             error);
            ck_assert_msg(strstr(error.message, "cannot express ") ||
                              strstr(error.message, "no model with positions=paper"),
                          "%s", error.message);
            refused++;
        }
        tfm_model_free(m);
    }
    ck_assert_uint_eq(back, format == TFM_EXPORT_MARIAN ? 48 : 88);
    ck_assert_uint_ge(refused, 400);
}
END_TEST

START_TEST(models_of_others_come_back)
{
    sample s = {.bytes = bytes};
    char name[TESTING_PATH];
    tfm_model *m;

    marian_sample(&s, MARIAN_YML, false);
    file_write(path_join(name, folder, "model.npz"), bytes, s.size);
    ck_assert_ok(tfm_model_load(&m, name, NULL, &error), error);
    check_round_trip(m, TFM_EXPORT_MARIAN);
    tfm_model_free(m);
    s = (sample){.bytes = bytes};
    hf_sample(&s);
    file_write(path_join(name, folder, "model.safetensors"), bytes, s.size);
    file_write(path_join(name, folder, "config.json"), HF_CONFIG, sizeof HF_CONFIG - 1);
    ck_assert_ok(tfm_model_load(&m, folder, NULL, &error), error);
    check_round_trip(m, TFM_EXPORT_HUGGING_FACE);
    tfm_model_free(m);
}
END_TEST

/* Computed positions are as many there as a long sentence needs; learned ones those that there are. */
START_TEST(an_export_has_positions_enough)
{
    static const struct {
        int form;
        uint32_t max_positions;
        const char *says;
    } cases[] = {{3, 20, "\"max_position_embeddings\": 1024,"},
                 {3, 4000, "\"max_position_embeddings\": 4000,"},
                 {3, 20, "\"forced_eos_token_id\": null,"}, /* else it has a default that is another token here */
                 {6, 20, "\"max_position_embeddings\": 1024,"},
                 {7, 20, "\"max_position_embeddings\": 18,"}};
    char name[TESTING_PATH];
    tfm_model *m;
    size_t size;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_model_options o = form(cases[i].form);
        o.max_positions = cases[i].max_positions;
        ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
        path_join(other, folder, "out");
        ck_assert_ok(tfm_model_export(m, other, TFM_EXPORT_HUGGING_FACE, &error), error);
        char *text = file_read(path_join(name, other, "config.json"), &size);
        ck_assert_msg(memmem(text, size, cases[i].says, strlen(cases[i].says)) != NULL, "%.*s", (int)size, text);
        free(text);
        tfm_model_free(m);
    }
}
END_TEST

/* What another model left in the folder is refused, or not read. */
START_TEST(an_export_is_what_is_read_from_its_folder)
{
    static const char *const others[] = {"model.bin", "generation_config.json"};
    static const char index[] = "{\"weight_map\":{\"lm_head.weight\":\"shard.safetensors\"}}";
    const tfm_model_options o = form(3);
    char name[TESTING_PATH];
    tfm_model *m;

    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    path_join(other, folder, "out");
    ck_assert_int_eq(mkdir(other, 0777), 0);
    file_write(path_join(name, other, "model.safetensors.index.json"), index, sizeof index - 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        file_write(path_join(name, other, others[i]), "{}", 2);
        ck_assert_status(tfm_model_export(m, other, TFM_EXPORT_HUGGING_FACE, &error), TFM_E_INVALID, error);
        ck_assert_msg(strstr(error.message, others[i]) != NULL, "%s", error.message);
        ck_assert_int_ne(access(path_join((char[TESTING_PATH]){0}, other, "model.safetensors"), F_OK), 0);
        ck_assert_int_eq(unlink(name), 0);
    }
    check_round_trip(m, TFM_EXPORT_HUGGING_FACE);
    tfm_model_free(m);
}
END_TEST

/* An export that fails leaves what was there: never the weights of one model with the configuration of another. */
START_TEST(a_failed_export_changes_nothing)
{
    static const char *const kept[] = {"model.safetensors", "config.json"};
    static const char *const in_the_way[] = {"config.json.part", "model.safetensors"};
    char name[TESTING_PATH], blocked[TESTING_PATH];
    tfm_model_options o = form(3);
    tfm_model *m, *next;
    size_t size, after;

    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    o.activation = TFM_ACTIVATION_RELU, o.seed++;
    ck_assert_ok(tfm_model_create(&next, &o, NULL, &error), error);
    path_join(other, folder, "out");
    ck_assert_ok(tfm_model_export(m, other, TFM_EXPORT_HUGGING_FACE, &error), error);
    path_join(blocked, other, in_the_way[_i]);
    path_join(name, other, kept[_i]);
    char *before = file_read(name, &size);
    if (_i) ck_assert_int_eq(unlink(blocked), 0);
    ck_assert_int_eq(mkdir(blocked, 0777), 0);
    ck_assert_status(tfm_model_export(next, other, TFM_EXPORT_HUGGING_FACE, &error), TFM_E_IO, error);
    char *now = file_read(name, &after);
    ck_assert(size == after && !memcmp(before, now, size));
    ck_assert_int_eq(rmdir(blocked), 0);
    ck_assert_int_ne(access(path_join(name, other, "config.json.part"), F_OK), 0);
    free(before);
    free(now);
    tfm_model_free(m);
    tfm_model_free(next);
}
END_TEST

START_TEST(what_the_others_lack_is_named)
{
    static const struct {
        int form;
        const char *name, *value, *says;
    } cases[] = {
        {0, "positions", "paper", "Marian cannot express positions=paper: always positions=halves there"},
        {0, "start", "bos", "Marian cannot express start=bos: always start=zero there"},
        {0, "activation", "gelu", "Marian cannot express activation=gelu"},
        {0, "layer_norm_eps", "1e-5", "Marian cannot express layer_norm_eps"},
        {0, "d_k", "3", "Marian cannot express n_heads * d_k=6: always n_heads * d_k=8 there"},
        {0, "bos_id", "5", "Marian cannot express bos_id=5: always bos_id=1 there"},
        {6, "bos_id", "3", "Hugging Face's m2m_100 cannot express bos_id == pad_id=1: always bos_id == pad_id=0 there"},
        {3, "start", "zero", "Hugging Face's marian cannot express start=zero: always start=bos there"},
        {3, "positions", "paper", "Hugging Face has no model with positions=paper"},
        {3, "norm_order", "pre", "Hugging Face's marian cannot express norm_order=pre: always norm_order=post there"},
        {6, "sharing", "none", "Hugging Face's m2m_100 cannot express sharing=none: always sharing=all there"},
        {6, "softmax_bias", "1", "Hugging Face's m2m_100 cannot express softmax_bias=1: always softmax_bias=0 there"},
        {7, "position_offset", "3",
         "Hugging Face's mbart cannot express position_offset=3: always position_offset=2 there"},
        {8, "embedding_norm", "0",
         "Hugging Face's bart cannot express embedding_norm=0: always embedding_norm=1 there"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_model_options o = form(cases[i].form);
        tfm_model *m;
        ck_assert_ok(tfm_model_options_set(&o, cases[i].name, cases[i].value, &error), error);
        ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
        path_join(other, folder, "none");
        ck_assert_status(tfm_model_export(m, other, forms[cases[i].form].format, &error), TFM_E_UNSUPPORTED, error);
        ck_assert_msg(strstr(error.message, cases[i].says) != NULL, "%s", error.message);
        ck_assert_int_ne(access(other, F_OK), 0);
        tfm_model_free(m);
    }
}
END_TEST

START_TEST(exports_without_memory)
{
    tfm_model_options o = form(_i ? 3 : 0);
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;
    tfm_model *m;

    o.allocator = &a;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    const size_t live = f.live;
    path_join(other, folder, "out");
    for (; status != TFM_OK; n++) {
        f.fail_at = f.calls + n;
        status = tfm_model_export(m, other, forms[_i ? 3 : 0].format, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(f.live, live);
    }
    ck_assert_uint_gt(n, 5);
    tfm_model_free(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign_export");
    TCase *c = tcase_create("foreign_export");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, exported_models_come_back, 0, FORMS);
    tcase_add_loop_test(c, each_form_comes_back_or_is_refused, TFM_EXPORT_MARIAN, TFM_EXPORT_HUGGING_FACE + 1);
    tcase_add_test(c, models_of_others_come_back);
    tcase_add_test(c, an_export_has_positions_enough);
    tcase_add_test(c, an_export_is_what_is_read_from_its_folder);
    tcase_add_loop_test(c, a_failed_export_changes_nothing, 0, 2);
    tcase_add_test(c, what_the_others_lack_is_named);
    tcase_add_loop_test(c, exports_without_memory, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
