/* Quantised model files: what they do like the model they were made of, what they cannot do, and hostile ones. */
#include "api/trainer_handle.h"
#include "packed_models.h"

static char folder[TESTING_PATH], path[TESTING_PATH], other[TESTING_PATH];

static void setup(void)
{
    path_join(path, temp_make(folder), "model");
    path_join(other, folder, "other");
}

static void teardown(void)
{
    temp_remove(folder);
}

static tfm_model *load(const char *from)
{
    tfm_model *m;

    ck_assert_ok(tfm_model_load(&m, from, NULL, &error), error);
    return m;
}

static tfm_model *quantised(const tfm_model *m)
{
    ck_assert_ok(tfm_model_save_as(m, path, TFM_DTYPE_INT8, &error), error);
    return load(path);
}

static void same_files(const char *a, const char *b)
{
    size_t n, n_b;
    char *x = file_read(a, &n), *y = file_read(b, &n_b);

    ck_assert_uint_eq(n, n_b);
    ck_assert_mem_eq(x, y, n);
    free(x);
    free(y);
}

START_TEST(a_file_does_what_quantising_at_load_does)
{
    for (int form = 0; form < 2; form++)
        for (uint32_t dtype = 0; dtype <= TFM_DTYPE_INT8; dtype += TFM_DTYPE_INT8) {
            tfm_model *m = form_make(form), *q = quantised(m);
            tfm_decoder_options o = decoder_options(4), o_q = o;
            o.dtype = TFM_DTYPE_INT8;
            o_q.dtype = dtype; /* not said, or said */
            tfm_decoder *a = decoder_of(m, &o), *b = decoder_of(q, &o_q);
            ck_assert_uint_eq(tfm_model_dtype(m), TFM_DTYPE_F32);
            ck_assert_uint_eq(tfm_model_dtype(q), TFM_DTYPE_INT8);
            same_work(a, b);
            tfm_decoder_free(a);
            tfm_decoder_free(b);
            tfm_model_free(m);
            tfm_model_free(q);
        }
}
END_TEST

START_TEST(a_quantised_model_saves_as_it_is)
{
    tfm_model *m = text_model_make(), *q = quantised(m);
    tfm_model_options x, y;

    tfm_model_get_options(&x, sizeof x, m);
    tfm_model_get_options(&y, sizeof y, q);
    ck_assert_mem_eq(&x, &y, sizeof x);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(tfm_model_tokenizer(q)),
                      tfm_tokenizer_vocab_size(tfm_model_tokenizer(m)));
    ck_assert_ok(tfm_model_save(q, other, &error), error);
    same_files(path, other);
    ck_assert_ok(tfm_model_save_as(q, path, TFM_DTYPE_INT8, &error), error); /* over the file that it is mapped from */
    same_files(path, other);
    tfm_model_free(m);
    tfm_model_free(q);
}
END_TEST

/* The matrices are the file's pages, aligned for the widest instructions, and a quarter of the size. */
START_TEST(panels_are_used_where_they_lie)
{
    tfm_model *m = form_make(1), *q = quantised(m);
    const tfm_mapping map = tfm_safetensors_mapping(q->file.file);
    const tfm_inference *packed = &q->file.packed;

    ck_assert_uint_ge(packed->n_matrices, 3 + 2 * 4 + 2 * 7);
    for (size_t i = 0; i < packed->n_matrices; i++) {
        const unsigned char *at = (const unsigned char *)packed->matrices[i].panels.values;
        ck_assert(at >= map.data && at < map.data + map.size);
        ck_assert_uint_eq((uintptr_t)at % 64, 0);
    }
    ck_assert_ptr_null(packed->block.memory);
    tfm_model_free(m);
    tfm_model_free(q);
}
END_TEST

static void assert_unsupported(tfm_status status, const char *says)
{
    ck_assert_status(status, TFM_E_UNSUPPORTED, error);
    ck_assert_msg(strstr(error.message, says) != NULL, "\"%s\" does not say \"%s\"", error.message, says);
}

START_TEST(what_needs_float32_is_refused)
{
    tfm_model *m = form_make(0), *q = quantised(m), *mean = m;
    const tfm_model *const both[] = {m, q};
    tfm_decoder_options o = decoder_options(1);
    tfm_trainer_options t_options;
    tfm_decoder *d = (tfm_decoder *)path;
    tfm_trainer *t = (tfm_trainer *)path;

    tfm_trainer_options_init(&t_options, sizeof t_options);
    assert_unsupported(tfm_trainer_create(&t, q, &t_options, &error), "train the float32 model that it was made of");
    ck_assert_ptr_null(t);
    assert_unsupported(tfm_model_average(&mean, both, 2, &error), "average the float32 model");
    ck_assert_ptr_null(mean);
    assert_unsupported(tfm_model_save_as(q, other, TFM_DTYPE_F32, &error), "save the float32 model");
    o.dtype = TFM_DTYPE_BF16;
    assert_unsupported(tfm_decoder_create(&d, q, &o, &error), "translate in bfloat16 with the float32 model");
    ck_assert_ptr_null(d);
    ck_assert_status(tfm_trainer_resume(&t, path, &t_options, &error), TFM_E_FORMAT, error);
    ck_assert_status(tfm_model_save_as(m, other, TFM_DTYPE_BF16, &error), TFM_E_INVALID, error);
    ck_assert_int_ne(access(other, F_OK), 0);
    tfm_model_free(m);
    tfm_model_free(q);
}
END_TEST

START_TEST(parameters_are_described_and_lent_where_they_are_float32)
{
    tfm_model *m = form_make(1), *q = quantised(m);
    size_t lent = 0;

    ck_assert_uint_eq(tfm_model_parameter_count(q), tfm_model_parameter_count(m));
    for (size_t i = 0; i < tfm_model_parameter_count(q); i++) {
        tfm_parameter x, y, named;
        ck_assert_ok(tfm_model_parameter_at(&x, m, i, &error), error);
        const tfm_status status = tfm_model_parameter_at(&y, q, i, &error);
        ck_assert_int_eq(tfm_model_parameter_named(&named, q, x.name, &error), status);
        ck_assert_str_eq(x.name, y.name);
        ck_assert(x.rank == y.rank && !memcmp(x.shape, y.shape, sizeof x.shape) && named.data == y.data);
        ck_assert_int_eq(status, x.rank == 2 && !strstr(x.name, "position") ? TFM_E_UNSUPPORTED : TFM_OK);
        ck_assert((y.data != NULL) == (status == TFM_OK));
        if (y.data) ck_assert_mem_eq(x.data, y.data, (size_t)x.shape[0] * x.shape[1] * sizeof *x.data);
        lent += y.data != NULL;
    }
    ck_assert_uint_gt(lent, 20);
    tfm_model_free(m);
    tfm_model_free(q);
}
END_TEST

START_TEST(quantised_files_without_memory)
{
    tfm_model *m = form_make(0), *q;
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    ck_assert_ok(tfm_model_save_as(m, path, TFM_DTYPE_INT8, &error), error);
    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        const tfm_load_options o = load_with(&a);
        status = tfm_model_load(&q, path, &o, &error);
        ck_assert_status(status, status == TFM_OK ? TFM_OK : TFM_E_NOMEM, error);
        for (size_t k = 0; status == TFM_OK && tfm_model_save(q, other, &error) != TFM_OK; k++) {
            ck_assert_int_eq(error.status, TFM_E_NOMEM);
            f.fail_at = f.calls + k;
        }
        tfm_model_free(q);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 10);
    same_files(path, other);
    tfm_model_free(m);
}
END_TEST

/* ------------------------------------------------------------------------------------------- hostile files ---- */

/* A quantised file taken apart, to be saved with changes. */
typedef struct parts {
    tfm_safetensors *file;
    tfm_tensor tensors[256];
    size_t n;
    tfm_metadata metadata[6];
    size_t n_metadata;
} parts;

static void take_apart(parts *p)
{
    static const char *const keys[] = {"format", "version", "config", "quantization"};
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_model *m = form_make(1);

    ck_assert_ok(tfm_model_save_as(m, other, TFM_DTYPE_INT8, &error), error);
    tfm_model_free(m);
    ck_assert_ok(tfm_safetensors_open(&p->file, other, &a, &error), error);
    p->n = tfm_safetensors_count(p->file);
    ck_assert_uint_lt(p->n, 256);
    for (size_t i = 0; i < p->n; i++) p->tensors[i] = *tfm_safetensors_at(p->file, i);
    for (p->n_metadata = 0; p->n_metadata < 4; p->n_metadata++)
        p->metadata[p->n_metadata] =
            (tfm_metadata){keys[p->n_metadata], tfm_safetensors_metadata(p->file, keys[p->n_metadata])};
}

static void assert_refused(const parts *p, tfm_status wanted, const char *says)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_model *m = (tfm_model *)path;

    ck_assert_ok(tfm_safetensors_save(path, p->tensors, p->n, p->metadata, p->n_metadata, &a, &error), error);
    ck_assert_status(tfm_model_load(&m, path, NULL, &error), wanted, error);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(error.message, says) != NULL, "\"%s\" does not say \"%s\"", error.message, says);
}

static tfm_tensor *tensor_of(parts *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->tensors[i].name, name)) return &p->tensors[i];
    ck_abort_msg("no tensor %s", name);
}

#define INNER "encoder.layers.0.feedforward.inner" /* 70 rows, padded to 96; 36 columns */

START_TEST(tensors_of_another_form_are_refused)
{
    parts good, p;

    take_apart(&good);
    p = good, tensor_of(&p, INNER ".weight")->name = INNER ".weights";
    assert_refused(&p, TFM_E_FORMAT, "lacks the tensor " INNER ".weight");
    p = good, tensor_of(&p, INNER ".weight")->dtype = TFM_U8;
    assert_refused(&p, TFM_E_FORMAT, "is U8, not I8");
    p = good, tensor_of(&p, INNER ".scale")->dtype = TFM_I32;
    assert_refused(&p, TFM_E_FORMAT, "is I32, not F32");
    p = good, tensor_of(&p, INNER ".sum")->dtype = TFM_F32;
    assert_refused(&p, TFM_E_FORMAT, "is F32, not I32");
    p = good, tensor_of(&p, INNER ".scale")->shape[0] = 70, tensor_of(&p, INNER ".scale")->bytes = 280;
    assert_refused(&p, TFM_E_FORMAT, INNER ".scale has 70 elements");
    p = good, tensor_of(&p, INNER ".scale")->rank = 2, tensor_of(&p, INNER ".scale")->shape[1] = 1;
    assert_refused(&p, TFM_E_FORMAT, "in 2 dimensions");
    tfm_tensor *t = (p = good, tensor_of(&p, INNER ".weight"));
    t->shape[0] = 9, t->shape[1] = 6;
    assert_refused(&p, TFM_E_FORMAT,
                   "has 3456 elements in 4 dimensions from 9, the configuration wants 3456 in 4 from 6");
    p = good, tensor_of(&p, "encoder.layers.0.feedforward.inner.bias")->dtype = TFM_I32;
    assert_refused(&p, TFM_E_UNSUPPORTED, "is I32, not F32");
    p = good, tensor_of(&p, "output.bias")->name = "output.biases";
    assert_refused(&p, TFM_E_FORMAT, "lacks the tensor output.bias");
    p = good, p.n--;
    assert_refused(&p, TFM_E_FORMAT, "lacks the tensor");
    p = good, p.tensors[p.n] = p.tensors[p.n - 1], p.tensors[p.n++].name = "extra";
    assert_refused(&p, TFM_E_FORMAT, "tensors, its configuration wants");
    p = good, p.n = 3;
    assert_refused(&p, TFM_E_FORMAT, "numbers, its configuration wants");
    p = good, p.metadata[3].value = (tfm_text){"int4", 4};
    assert_refused(&p, TFM_E_UNSUPPORTED, "quantization 'int4', this library reads int8-rows-16x4");
    p = good, p.n_metadata = 3; /* read as float32 */
    assert_refused(&p, TFM_E_FORMAT, "numbers, its configuration wants");
    tfm_safetensors_close(good.file);
}
END_TEST

START_TEST(numbers_that_quantising_cannot_make_are_refused)
{
    static float scale[96];
    static int32_t sum[96];
    parts good, p;

    take_apart(&good);
    const float bad[] = {NAN, INFINITY, -1.0f};
    for (size_t i = 0; i < 3; i++) {
        memcpy(scale, tensor_of(&good, INNER ".scale")->data, sizeof scale);
        scale[95] = bad[i];
        p = good, tensor_of(&p, INNER ".scale")->data = scale;
        assert_refused(&p, TFM_E_FORMAT, INNER ".scale[95] is");
    }
    const int32_t far[] = {128 * 36 + 1, -128 * 36 - 1, INT32_MIN};
    for (size_t i = 0; i < 3; i++) {
        memcpy(sum, tensor_of(&good, INNER ".sum")->data, sizeof sum);
        sum[0] = far[i];
        p = good, tensor_of(&p, INNER ".sum")->data = sum;
        assert_refused(&p, TFM_E_FORMAT, INNER ".sum[0] is");
    }
    tfm_safetensors_close(good.file);
}
END_TEST

static void spoil(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "decoder.layers.1.cross.value.weight")) to[3] = NAN;
}

static void spoil_norm(const tfm_parameter *p, float *to)
{
    if (!strcmp(p->name, "decoder.layers.1.cross.norm.bias")) to[3] = INFINITY;
}

START_TEST(weights_that_are_no_numbers_are_not_quantised)
{
    const tfm_model_options o = small_options();
    tfm_model *m = model_changed(&o, NULL, _i ? spoil_norm : spoil);

    ck_assert_status(tfm_model_save_as(m, path, TFM_DTYPE_INT8, &error), TFM_E_INVALID, error);
    ck_assert_msg(strstr(error.message, _i ? "decoder.layers.1.cross.norm.bias[3] is inf"
                                           : "decoder.layers.1.cross.key_value.scale[16] is") != NULL,
                  "%s", error.message);
    ck_assert_int_ne(access(path, F_OK), 0);
    tfm_model_free(m);
}
END_TEST

START_TEST(truncated_and_changed_files_are_refused)
{
    tfm_model *m = form_make(0), *q;
    uint64_t header;
    size_t size;

    ck_assert_ok(tfm_model_save_as(m, path, TFM_DTYPE_INT8, &error), error);
    tfm_model_free(m);
    char *bytes = file_read(path, &size);
    memcpy(&header, bytes, sizeof header);
    for (size_t n = size; n > 0; n = n > size - 300 || n < 300 ? n - 1 : n - 97)
        if (truncate(path, (off_t)n - 1) || tfm_model_load(&q, path, NULL, &error) != TFM_E_FORMAT)
            ck_abort_msg("%zu of %zu bytes", n - 1, size);
    for (size_t i = 0; i < size; i += i < 8 + header ? 7 : 41) {
        bytes[i] ^= 1;
        file_write(path, bytes, size);
        if (tfm_model_load(&q, path, NULL, &error) == TFM_OK) ck_abort_msg("byte %zu", i);
        bytes[i] ^= 1;
    }
    free(bytes);
}
END_TEST

/* Offsets of one matrix that point into another. */
START_TEST(overlapping_tensors_are_refused)
{
    tfm_model *m = form_make(0), *q;
    uint64_t header;
    size_t size;

    ck_assert_ok(tfm_model_save_as(m, path, TFM_DTYPE_INT8, &error), error);
    tfm_model_free(m);
    char *bytes = file_read(path, &size);
    memcpy(&header, bytes, sizeof header);
    memcpy(strstr(bytes + 8, "header_checksum\":\"") + 18, "none", 4); /* waived: none and eight characters more */
    char *at = strstr(bytes + 8, "none");
    ck_assert_ptr_nonnull(at);
    char *end = strchr(at, '"');
    memmove(at + 4, end, (size_t)(bytes + 8 + header - end));
    memset(bytes + 8 + header - (end - at - 4), ' ', (size_t)(end - at - 4));
    file_write(path, bytes, size);
    q = load(path);
    tfm_model_free(q);
    char *offsets = strstr(bytes + 8, "\"data_offsets\":[0,");
    ck_assert_ptr_nonnull(offsets);
    char *second = strstr(offsets + 1, "\"data_offsets\":[");
    second[strlen("\"data_offsets\":[")] ^= 1; /* another first digit: begins elsewhere */
    file_write(path, bytes, size);
    ck_assert_status(tfm_model_load(&q, path, NULL, &error), TFM_E_FORMAT, error);
    free(bytes);
}
END_TEST

static Suite *quantised_suite(void)
{
    Suite *suite = suite_create("quantised");
    TCase *tc = tcase_create("quantised");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_file_does_what_quantising_at_load_does);
    tcase_add_test(tc, a_quantised_model_saves_as_it_is);
    tcase_add_test(tc, panels_are_used_where_they_lie);
    tcase_add_test(tc, what_needs_float32_is_refused);
    tcase_add_test(tc, parameters_are_described_and_lent_where_they_are_float32);
    tcase_add_test(tc, quantised_files_without_memory);
    tcase_add_test(tc, tensors_of_another_form_are_refused);
    tcase_add_test(tc, numbers_that_quantising_cannot_make_are_refused);
    tcase_add_loop_test(tc, weights_that_are_no_numbers_are_not_quantised, 0, 2);
    tcase_add_test(tc, truncated_and_changed_files_are_refused);
    tcase_add_test(tc, overlapping_tensors_are_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(quantised_suite)
