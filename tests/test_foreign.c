/* Model files of CTranslate2 and Marian, made by hand: what is read, what is refused, and that no damage or lack of
 * memory does harm. */
#include "foreign_parameters.h"

#include <sys/mman.h>

static tfm_error error;
static char folder[TESTING_PATH], path[TESTING_PATH];
static unsigned char bytes[SAMPLE_ROOM];

static void setup(void)
{
    path_join(path, temp_make(folder), "model");
}

static void teardown(void)
{
    temp_remove(folder);
}

/* Those of CTranslate2 come first; the last one is deflated. */
enum { FLOATS, MARIAN = CT2_FORMS, DEFLATED, KINDS };

static size_t make(int kind)
{
    sample s = {.bytes = bytes};

    if (kind < MARIAN) ct2_sample(&s, &ct2_forms[kind]);
    else marian_sample(&s, MARIAN_YML, kind == DEFLATED);
    return s.size;
}

/* Of a file in memory: there are many. */
static tfm_status try_with(const void *data, size_t size, tfm_model **model, const tfm_load_options *o)
{
    static int fd = -1;
    char name[64];

    if (fd < 0) fd = memfd_create("model", MFD_CLOEXEC);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ck_assert(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
    return tfm_model_load(model, name, o, &error);
}

static tfm_status try(const void *data, size_t size, tfm_model **model, const tfm_allocator *a)
{
    const tfm_load_options o = load_with(a);

    return try_with(data, size, model, &o);
}

static tfm_status try_file(const void *data, size_t size, tfm_model **model)
{
    file_write(path, data, size);
    return tfm_model_load(model, path, NULL, &error);
}

START_TEST(ct2_variables_become_parameters)
{
    tfm_model *m;
    tfm_model_options o;
    enum { D = SAMPLE_D };

    ck_assert_ok(try(bytes, make(_i), &m, NULL), error);
    tfm_model_get_options(&o, sizeof o, m);
    ck_assert(o.n_encoder_layers == 1 && o.n_decoder_layers == 1 && o.d_model == D && o.d_ff == SAMPLE_FF &&
              o.n_heads == (ct2_forms[_i].version > 2 ? 2 : 8));
    ck_assert(o.vocab_size == SAMPLE_TARGET && o.source_vocab_size == SAMPLE_SOURCE && o.norm_order == TFM_PRE_NORM);
    ck_assert(o.own_ids && o.pad_id == 0 && o.bos_id == 1 && o.eos_id == 2 && o.position_offset == 1);
    check_rows(m, "encoder.layers.0.attention.query.weight", "encoder/layer_0/self_attention/linear_0/weight", 0,
               D * D);
    check_rows(m, "encoder.layers.0.attention.key.weight", "encoder/layer_0/self_attention/linear_0/weight", D * D,
               D * D);
    check_rows(m, "decoder.layers.0.cross.value.weight", "decoder/layer_0/attention/linear_1/weight", D * D, D * D);
    check_rows(m, "decoder.layers.0.cross.value.bias", "decoder/layer_0/attention/linear_1/bias", D, D);
    check_rows(m, "decoder.layers.0.feedforward.outer.weight", "decoder/layer_0/ffn/linear_1/weight", 0, D * SAMPLE_FF);
    check_rows(m, "decoder.norm.bias", "decoder/layer_norm/beta", 0, D);
    if (ct2_forms[_i].version < 3) check_rows(m, "output.weight", "decoder/projection/weight", 0, SAMPLE_TARGET * D);
    else check_rows(m, "decoder.embedding.weight", "decoder/embeddings/weight", 0, SAMPLE_TARGET * D);
    check_rows(m, "encoder.embedding.weight",
               ct2_forms[_i].version > 4 ? "encoder/embeddings_0/weight" : "encoder/embeddings/weight", 0,
               SAMPLE_SOURCE * D);
    ck_assert(o.sharing == (ct2_forms[_i].version < 3 ? TFM_SHARE_NONE : TFM_SHARE_TARGET));
    ck_assert(o.activation == (ct2_forms[_i].version < 3 ? TFM_ACTIVATION_RELU : TFM_ACTIVATION_SWISH));
    tfm_model_free(m);
}
END_TEST

START_TEST(ct2_reserved_ids_are_those_of_the_vocabulary)
{
    char name[TESTING_PATH];
    tfm_model_options o;
    tfm_model *m;

    file_write(path_join(name, folder, "target_vocabulary.txt"), "<unk>\n<blank>\n<s>\n</s>\nx", 24);
    ck_assert_ok(try_file(bytes, make(FLOATS), &m), error);
    tfm_model_get_options(&o, sizeof o, m);
    ck_assert(o.pad_id == 1 && o.bos_id == 2 && o.eos_id == 3);
    tfm_model_free(m);
    file_write(name, "", 0);
    ck_assert_status(try_file(bytes, make(FLOATS), &m), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "target_vocabulary.txt cannot be used: it is empty"));
    file_write(name, "a\nb\n", 4);
    ck_assert_status(try_file(bytes, make(FLOATS), &m), TFM_E_UNSUPPORTED, error);
    ck_assert_ptr_nonnull(strstr(error.message, "a vocabulary without decoder_start_token '<s>'"));
}
END_TEST

START_TEST(marian_arrays_become_parameters)
{
    enum { D = SAMPLE_D, F = SAMPLE_FF };
    tfm_model_options o;
    tfm_model *m;

    ck_assert_ok(try(bytes, make(_i), &m, NULL), error);
    tfm_model_get_options(&o, sizeof o, m);
    ck_assert(o.d_model == D && o.d_ff == F && o.n_heads == 2 && o.activation == TFM_ACTIVATION_SWISH);
    ck_assert(o.own_ids && o.eos_id == 0 && o.pad_id == 1 && o.start == TFM_START_ZERO && o.sharing == TFM_SHARE_ALL);
    check_rows(m, "embedding.weight", "Wemb", 0, SAMPLE_TARGET * D);
    check_rows(m, "decoder.layers.0.cross.norm.weight", "decoder_l1_context_Wo_ln_scale", 0, D);
    const float *w = parameter(m, "decoder.layers.0.feedforward.inner.weight");
    for (size_t r = 0; r < F; r++)
        for (size_t c = 0; c < D; c++) ck_assert(w[r * D + c] == sample_value("decoder_l1_ffn_W1", c * F + r));
    tfm_model_free(m);
}
END_TEST

START_TEST(what_is_not_supported_is_named)
{
    static const struct {
        const char *from, *to, *says; /* in the configuration */
    } cases[] = {
        {"swish", "gelu", "activation 'gelu' is not supported"},
        {"type: transformer", "type: s2s", "type 's2s' is not supported"},
        {"postprocess: dan", "postprocess: d", "transformer-postprocess 'd' is not supported"},
        {"preprocess: \"\"", "preprocess: n", "transformer-postprocess 'dan' is not supported"},
        {"type:", "transformer-train-position-embeddings: true\ntype:",
         "transformer-train-position-embeddings 'true' is not supported"},
        {"type:", "transformer-decoder-autoreg: rnn\ntype:", "transformer-decoder-autoreg 'rnn' is not supported"},
        {"type:", "right-left: true\ntype:", "right-left 'true' is not supported"},
        {"type:", "transformer-tied-layers:\n  - 1\n  - 1\ntype:", "transformer-tied-layers '1' is not supported"},
        {"type:", "transformer-tied-layers: [1, 1]\ntype:", "transformer-tied-layers '1' is not supported"},
        {"heads: 2", "heads: x", "transformer-heads 'x' is not supported"},
        {"heads: 2", "heads: 3", "d_model 8 is not a multiple of n_heads 3"},
        {"enc-depth: 1", "enc-depth: 2", "lacks the tensor encoder_l2_self_Wq"},
        {"dim-ffn: 12", "dim-ffn: 13", "encoder_l1_ffn_W1 does not have the shape of 1, transposed, [13, 8]"},
        {"dec-depth: 1", "dec-depth: 0", ": n_decoder_layers is 0, not in 1..256"},
        {"transformer-ffn-activation: swish\n", "", "activation '' is not supported"},
        {"- 5\n  - 5", "- 5\n  - 6", "dim-vocabs says 6 for the target, whose embedding has 5 rows"},
        {"- 5\n  - 5", "- 7\n  - 0", "dim-vocabs says 7 for the source, whose embedding has 5 rows"},
        {"type:", "vocabs:\n  - a.fsv\n  - b.fsv\ntype:", "vocabulary of factors 'a.fsv' is not supported"},
    };
    tfm_model *m;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yml[512];
        const char *at = strstr(MARIAN_YML, cases[i].from);
        const int before = (int)(at - MARIAN_YML);
        sample s = {.bytes = bytes};
        snprintf(yml, sizeof yml, "%.*s%s%s", before, MARIAN_YML, cases[i].to, at + strlen(cases[i].from));
        marian_sample(&s, yml, 0);
        const tfm_status status = try(bytes, s.size, &m, NULL);
        ck_assert_msg(status != TFM_OK && strstr(error.message, cases[i].says), "\"%s\" does not say \"%s\"",
                      error.message, cases[i].says);
    }
    sample s = {.bytes = bytes};
    ct2_sample(&s, &(ct2_form){6, CT2_F32, "TransformerDecoderSpec"});
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_UNSUPPORTED, error);
    ck_assert_ptr_nonnull(
        strstr(error.message, "CTranslate2's kind of model 'TransformerDecoderSpec' is not supported"));
    bytes[0] = 7;
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_UNSUPPORTED, error);
    ck_assert_ptr_nonnull(strstr(error.message, "CTranslate2's format 7 is not supported, 2 to 6 are"));
    sample none = {.bytes = bytes};
    npz_array(&none, "x", 2, 2, NULL, 0);
    zip_end(&none);
    ck_assert_status(try(bytes, none.size, &m, NULL), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "is no model of Marian"));
}
END_TEST

/* An output that is not tied is transposed or, of later versions, as the embedding is. */
START_TEST(marian_outputs_have_two_names)
{
    static const char *const names[] = {"decoder_ff_logit_out_W", "decoder_ff_logit_out_Wt"};
    enum { D = SAMPLE_D, N = SAMPLE_TARGET };
    sample s = {.bytes = bytes};
    tfm_model_options o;
    tfm_model *m;

    marian_arrays(&s, MARIAN_YML, 0);
    npz_array(&s, names[_i], _i ? N : D, _i ? D : N, NULL, 0);
    zip_end(&s);
    ck_assert_ok(try(bytes, s.size, &m, NULL), error);
    tfm_model_get_options(&o, sizeof o, m);
    ck_assert_uint_eq(o.sharing, TFM_SHARE_NONE);
    const float *w = parameter(m, "output.weight");
    for (size_t r = 0; r < N; r++)
        for (size_t c = 0; c < D; c++)
            ck_assert(w[r * D + c] == sample_value(names[_i], _i ? r * D + c : c * N + r));
    tfm_model_free(m);
}
END_TEST

/* Integers alone have scales: beside floats, one of any type and size is a tensor too many. */
START_TEST(floats_have_no_scale)
{
    sample s = {.bytes = bytes};
    tfm_model *m;

    marian_arrays(&s, MARIAN_YML, 0);
    npz_array(&s, "encoder_l1_ffn_W1_scale", SAMPLE_FF, 0, NULL, 0);
    zip_end(&s);
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_UNSUPPORTED, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the tensor encoder_l1_ffn_W1_scale is not understood"));
}
END_TEST

/* Else it would be chance which of them counts. */
START_TEST(a_name_is_there_once)
{
    static const char projection[] = "decoder/projection/weight", embedding[] = "decoder/embeddings/weight";
    const size_t aliases = 4 + 2 + sizeof projection + 2 + sizeof embedding; /* bytes of the number and of the one */
    sample s = {.bytes = bytes, .size = make(CT2_FORMS - 1) - aliases};
    tfm_model *m;

    sample_number(&s, 3, 4);
    for (size_t i = 0; i < 3; i++) {
        ct2_string(&s, i == 1 ? "x" : projection);
        ct2_string(&s, embedding);
    }
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the name decoder/projection/weight is there twice"));
    s = (sample){.bytes = bytes};
    marian_arrays(&s, MARIAN_YML, 0);
    npz_array(&s, "special:model.yml", sizeof MARIAN_YML, 0, MARIAN_YML, 0);
    zip_end(&s);
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the name special:model.yml is there twice"));
}
END_TEST

/* A type of which the longest possible header has the quote alone. */
START_TEST(a_header_may_end_anywhere)
{
    static const char end[] = "'fortran_order':False'descr':'";
    unsigned char array[12 + 4096];
    sample s = {.bytes = bytes}, a = {.bytes = array};
    tfm_model *m;

    sample_put(&a, "\x93NUMPY\1\0\0\x10", 10);
    memset(array + a.size, ' ', 4096);
    memcpy(array + a.size + 4096 - (sizeof end - 1), end, sizeof end - 1);
    zip_entry(&s, "special:model.yml.npy", array, a.size + 4096, 0);
    zip_end(&s);
    ck_assert_status(try(bytes, s.size, &m, NULL), TFM_E_UNSUPPORTED, error);
    ck_assert_ptr_nonnull(strstr(error.message, "the type or order of special:model.yml is not supported"));
}
END_TEST

/* Of a text of zeros, or of zeros that are no array, a thousand times as long as what they are packed to. */
START_TEST(an_archive_unpacks_to_memory_of_its_size)
{
    static const char zeros[100000];
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    sample s = {.bytes = bytes};
    tfm_model *m;

    if (_i) npz_array(&s, "special:model.yml", sizeof zeros, 0, zeros, 1);
    else zip_entry(&s, "x.npy", (const unsigned char *)zeros, sizeof zeros, 1);
    zip_end(&s);
    ck_assert_status(try(bytes, s.size, &m, &a), TFM_E_FORMAT, error);
    const char *says = _i ? "unpacking special:model.yml would take more than 24 times" : "x is no NumPy array";
    ck_assert_ptr_nonnull(strstr(error.message, says));
    ck_assert_uint_lt(f.peak, sizeof zeros);
}
END_TEST

START_TEST(each_truncation_is_refused)
{
    const size_t size = make(_i);
    tfm_model *m;

    for (size_t n = 0; n < size; n += n < 400 || n + 400 > size ? 1 : 47) {
        const tfm_status status = try(bytes, n, &m, NULL);
        ck_assert_msg(status == TFM_E_FORMAT || status == TFM_E_UNSUPPORTED, "%zu of %zu bytes: %d", n, size, status);
        ck_assert_ptr_null(m);
    }
}
END_TEST

/* A number of a matrix may become another; an archive tells by its checksums, without which its texts are read. */
START_TEST(each_changed_byte_is_harmless)
{
    const bool unchecked = _i >= KINDS;
    const size_t size = make(unchecked ? _i - KINDS + MARIAN : _i);
    tfm_load_options o = load_with(NULL);
    size_t read = 0;
    tfm_model *m;

    o.skip_checksum = unchecked;
    for (size_t i = 0; i < size; i += i < 600 || i + 600 > size ? 1 : 47)
        for (unsigned change = 1; change < 256; change *= 8) {
            bytes[i] ^= (unsigned char)change;
            const tfm_status status = try_with(bytes, size, &m, &o);
            ck_assert((status == TFM_OK) == (m != NULL));
            read += status == TFM_OK;
            tfm_model_free(m);
            bytes[i] ^= (unsigned char)change;
        }
    ck_assert_uint_gt(read, 0);
}
END_TEST

START_TEST(a_damaged_number_is_found_in_an_archive)
{
    const size_t size = make(MARIAN);
    tfm_load_options o = load_with(NULL);
    tfm_model *m;

    unsigned char *entry = memmem(bytes, size, "Wemb.npy", 8);
    entry[8 + 128 + 2] ^= 1; /* of a float; the header has less than 128 bytes */
    ck_assert_status(try_file(bytes, size, &m), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "is damaged: its CRC-32 is not"));
    o.skip_checksum = 1;
    ck_assert_ok(tfm_model_load(&m, path, &o, &error), error);
    tfm_model_free(m);
}
END_TEST

START_TEST(models_of_others_without_memory)
{
    const size_t size = make(_i);
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;
    tfm_model *m;

    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        status = try(bytes, size, &m, &a);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_model_free(m);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign");
    TCase *c = tcase_create("foreign");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, ct2_variables_become_parameters, FLOATS, MARIAN);
    tcase_add_test(c, ct2_reserved_ids_are_those_of_the_vocabulary);
    tcase_add_loop_test(c, marian_arrays_become_parameters, MARIAN, KINDS);
    tcase_add_test(c, what_is_not_supported_is_named);
    tcase_add_loop_test(c, marian_outputs_have_two_names, 0, 2);
    tcase_add_test(c, floats_have_no_scale);
    tcase_add_test(c, a_name_is_there_once);
    tcase_add_test(c, a_header_may_end_anywhere);
    tcase_add_loop_test(c, an_archive_unpacks_to_memory_of_its_size, 0, 2);
    tcase_add_loop_test(c, each_truncation_is_refused, 0, KINDS);
    tcase_add_loop_test(c, each_changed_byte_is_harmless, 0, KINDS + (KINDS - MARIAN));
    tcase_add_test(c, a_damaged_number_is_found_in_an_archive);
    tcase_add_loop_test(c, models_of_others_without_memory, 0, KINDS);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
