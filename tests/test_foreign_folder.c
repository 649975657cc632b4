/* Models of other systems that are folders, made by hand: Hugging Face's, and what lies beside one of Marian; no damage
 * or lack of memory does harm. */
#include "foreign_parameters.h"
#include "spm_file.h"

static tfm_error error;
static char folder[TESTING_PATH], path[TESTING_PATH], config[TESTING_PATH];
static unsigned char bytes[SAMPLE_ROOM];

static void setup(void)
{
    path_join(path, temp_make(folder), "model");
}

static void teardown(void)
{
    temp_remove(folder);
}

static void make_folder(void)
{
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};

    hf_sample(&s);
    file_write(path_join(name, folder, "model.safetensors"), bytes, s.size);
    file_write(path_join(config, folder, "config.json"), HF_CONFIG, sizeof HF_CONFIG - 1);
}

START_TEST(hugging_face_tensors_become_parameters)
{
    tfm_model_options o;
    tfm_model *m;

    make_folder();
    ck_assert_ok(tfm_model_load(&m, folder, NULL, &error), error);
    tfm_model_get_options(&o, sizeof o, m);
    ck_assert(o.activation == TFM_ACTIVATION_GELU && o.embedding_norm && o.plain_embedding && o.max_positions == 12);
    ck_assert(o.position_offset == 2 && o.pad_id == 1 && o.eos_id == 2 && o.bos_id == 2 && o.softmax_bias);
    check_rows(m, "embedding.weight", "model.shared.weight", 0, SAMPLE_TARGET * SAMPLE_D);
    check_rows(m, "decoder.layers.0.cross.query.bias", "model.decoder.layers.0.encoder_attn.q_proj.bias", 0, SAMPLE_D);
    check_rows(m, "decoder.embedding.norm.bias", "model.decoder.layernorm_embedding.bias", 0, SAMPLE_D);
    tfm_model_free(m);
}
END_TEST

/* Numbers of others may lie anywhere in a file. */
START_TEST(hugging_face_tensors_need_no_alignment)
{
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};
    tfm_model *m, *moved;
    uint64_t header;

    make_folder();
    ck_assert_ok(tfm_model_load(&m, folder, NULL, &error), error);
    hf_sample(&s);
    memcpy(&header, bytes, sizeof header);
    memmove(bytes + 8 + header + 1, bytes + 8 + header, s.size - 8 - header);
    bytes[8 + header++] = ' ';
    memcpy(bytes, &header, sizeof header);
    file_write(path_join(name, folder, "model.safetensors"), bytes, s.size + 1);
    ck_assert_ok(tfm_model_load(&moved, folder, NULL, &error), error);
    for (size_t i = 0; i < tfm_model_parameter_count(m); i++) {
        tfm_parameter p, q;
        ck_assert_ok(tfm_model_parameter_at(&p, m, i, &error), error);
        ck_assert_ok(tfm_model_parameter_at(&q, moved, i, &error), error);
        ck_assert_mem_eq(p.data, q.data, (size_t)p.shape[0] * p.shape[1] * sizeof *p.data);
    }
    tfm_model_free(moved);
    tfm_model_free(m);
}
END_TEST

/* What a configuration says that no model can be is a fault of the file. */
START_TEST(impossible_configurations_are_refused)
{
    static const struct {
        const char *from, *to, *says;
        tfm_status status;
    } cases[] = {
        {"\"encoder_attention_heads\":2,\"decoder_attention_heads\":2",
         "\"encoder_attention_heads\":3,\"decoder_attention_heads\":3",
         "config.json: d_model 8 is not a multiple of n_heads 3", TFM_E_FORMAT},
        {"\"eos_token_id\":2", "\"eos_token_id\":99", "config.json: eos_id is 99, not below vocab_size 5",
         TFM_E_FORMAT},
        {"\"decoder_start_token_id\":2", "\"decoder_start_token_id\":1,\"model_type\":\"m2m_100\"",
         "decoder_start_token_id 'pad_token_id' is not supported", TFM_E_UNSUPPORTED},
    };
    tfm_model *m;

    make_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        const char *at = strstr(HF_CONFIG, cases[i].from);
        const bool kind = strstr(cases[i].to, "model_type") != NULL; /* a name may come once */
        const char *begin = kind ? strchr(HF_CONFIG, ',') + 1 : HF_CONFIG + 1;
        const int size = snprintf(text, sizeof text, "{%.*s%s%s", (int)(at - begin), begin, cases[i].to,
                                  at + strlen(cases[i].from));
        file_write(config, text, (size_t)size);
        ck_assert_status(tfm_model_load(&m, folder, NULL, &error), cases[i].status, error);
        ck_assert_msg(strstr(error.message, cases[i].says) != NULL, "%s", error.message);
    }
}
END_TEST

START_TEST(each_changed_byte_of_a_configuration_is_harmless)
{
    char text[] = HF_CONFIG;
    tfm_model *m;

    make_folder();
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (unsigned change = 1; change < 256; change *= 5) {
            text[i] ^= (char)change;
            file_write(config, text, sizeof text - 1);
            const tfm_status status = tfm_model_load(&m, folder, NULL, &error);
            ck_assert((status == TFM_OK) == (m != NULL));
            tfm_model_free(m);
            text[i] ^= (char)change;
        }
}
END_TEST

START_TEST(each_truncation_of_a_folder_is_refused)
{
    static const char text[] = HF_CONFIG;
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};
    tfm_model *m;

    make_folder();
    for (size_t n = 0; n < sizeof text - 1; n++) {
        file_write(config, text, n);
        ck_assert_status(tfm_model_load(&m, folder, NULL, &error), TFM_E_FORMAT, error);
    }
    make_folder();
    hf_sample(&s);
    path_join(name, folder, "model.safetensors");
    for (size_t n = 0; n < s.size; n += n < 100 || n + 100 > s.size ? 1 : 47) {
        file_write(name, bytes, n);
        ck_assert_status(tfm_model_load(&m, folder, NULL, &error), TFM_E_FORMAT, error);
        ck_assert_ptr_null(m);
    }
}
END_TEST

/* A number may become another; nothing says so, as these files have no checksums. */
START_TEST(each_changed_byte_of_a_folder_is_harmless)
{
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};
    size_t read = 0;
    tfm_model *m;

    make_folder();
    hf_sample(&s);
    path_join(name, folder, "model.safetensors");
    for (size_t i = 0; i < s.size; i += 13) {
        bytes[i] ^= (unsigned char)(1u << i % 8);
        file_write(name, bytes, s.size);
        const tfm_status status = tfm_model_load(&m, folder, NULL, &error);
        ck_assert((status == TFM_OK) == (m != NULL));
        read += status == TFM_OK;
        tfm_model_free(m);
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    ck_assert_uint_gt(read, 0);
}
END_TEST

/* ------------------------------------------------------------------------------------------- what lies beside --- */

/* A model of Marian and its vocabulary. */
static void make_pair(const spm_file *vocabulary)
{
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};

    marian_sample(&s, MARIAN_YML, 0);
    file_write(path, bytes, s.size);
    file_write(path_join(name, folder, "vocab.spm"), vocabulary->bytes, vocabulary->size);
}

/* One that SentencePiece numbers as it does by default is none of a model that ends sentences with 0. */
START_TEST(a_vocabulary_of_both_languages_has_the_ids_of_the_model)
{
    static spm_file v;
    tfm_model *m;

    spm_small(&v, (spm_form){.model = 1});
    make_pair(&v);
    ck_assert_status(tfm_model_load(&m, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, "vocab.spm: </s> has the id 2, but in the model it is 0") != NULL, "%s",
                  error.message);
}
END_TEST

START_TEST(a_vocabulary_beside_a_model_may_be_damaged)
{
    static spm_file v;
    spm_marian(&v);
    const size_t whole = v.size;
    size_t read = 0;
    tfm_model *m;

    make_pair(&v);
    ck_assert_ok(tfm_model_load(&m, path, NULL, &error), error);
    ck_assert_ptr_nonnull(tfm_model_tokenizer(m));
    tfm_model_free(m);
    for (size_t i = 0; i < 2 * whole; i++) {
        const size_t at = i % whole;
        if (i < whole) v.bytes[at] ^= (unsigned char)(1u << at % 8);
        else v.size = at;
        make_pair(&v);
        const tfm_status status = tfm_model_load(&m, path, NULL, &error);
        ck_assert((status == TFM_OK) == (m != NULL));
        read += status == TFM_OK;
        tfm_model_free(m);
        if (i < whole) v.bytes[at] ^= (unsigned char)(1u << at % 8);
        else v.size = whole;
    }
    ck_assert(read > 0 && read < 2 * whole);
}
END_TEST

/* The model of a folder, or the one with a vocabulary beside it. */
START_TEST(a_folder_without_memory)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;
    tfm_model *m;

    make_folder();
    static spm_file v;
    spm_marian(&v);
    if (_i) make_pair(&v);
    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        const tfm_load_options o = load_with(&a);
        status = tfm_model_load(&m, _i ? path : folder, &o, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_model_free(m);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign_folder");
    TCase *c = tcase_create("foreign_folder");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, hugging_face_tensors_become_parameters);
    tcase_add_test(c, hugging_face_tensors_need_no_alignment);
    tcase_add_test(c, impossible_configurations_are_refused);
    tcase_add_test(c, each_changed_byte_of_a_configuration_is_harmless);
    tcase_add_test(c, each_truncation_of_a_folder_is_refused);
    tcase_add_test(c, each_changed_byte_of_a_folder_is_harmless);
    tcase_add_test(c, a_vocabulary_of_both_languages_has_the_ids_of_the_model);
    tcase_add_test(c, a_vocabulary_beside_a_model_may_be_damaged);
    tcase_add_loop_test(c, a_folder_without_memory, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
