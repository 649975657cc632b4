/* Files of models through tfm_model_load: what comes back, and what is refused. */
#include "api/model_handle.h"
#include "decoder_models.h"
#include "training_models.h"

#include <fcntl.h>

static char folder[TESTING_PATH], path[TESTING_PATH];

static void setup(void)
{
    path_join(path, temp_make(folder), "model");
}

static void teardown(void)
{
    temp_remove(folder);
}

static tfm_model *tiny_make(void)
{
    tfm_model_options o = small_options();
    tfm_model *model;

    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = 4;
    o.d_ff = 4;
    o.vocab_size = 5;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    return model;
}

static void same_model(const tfm_model *a, const tfm_model *b)
{
    tfm_model_options x, y;
    tfm_parameter p, q;

    tfm_model_get_options(&x, sizeof x, a);
    tfm_model_get_options(&y, sizeof y, b);
    ck_assert_mem_eq(&x, &y, sizeof x);
    ck_assert_uint_eq(tfm_model_parameter_count(a), tfm_model_parameter_count(b));
    for (size_t i = 0; i < tfm_model_parameter_count(a); i++) {
        ck_assert_ok(tfm_model_parameter_at(&p, a, i, &error), error);
        ck_assert_ok(tfm_model_parameter_at(&q, b, i, &error), error);
        ck_assert_str_eq(p.name, q.name);
        ck_assert_mem_eq(p.data, q.data, (size_t)p.shape[0] * p.shape[1] * sizeof *p.data);
    }
}

static void assert_refused(tfm_status wanted, const char *says)
{
    tfm_model *model = (tfm_model *)path;

    ck_assert_status(tfm_model_load(&model, path, NULL, &error), wanted, error);
    ck_assert_ptr_null(model);
    ck_assert_msg(strstr(error.message, says) != NULL, "\"%s\" does not say \"%s\"", error.message, says);
}

/* ---------------------------------------------------------------------------------------------- round trips ---- */

START_TEST(every_option_and_bit_comes_back)
{
    static const char *const changes[][2] = {{"norm_order", "pre"},
                                             {"positions", "halves"},
                                             {"positions", "learned"},
                                             {"position_offset", "3"},
                                             {"sharing", "target"},
                                             {"sharing", "none"},
                                             {"start", "zero"},
                                             {"attention_bias", "1"},
                                             {"ffn_bias", "0"},
                                             {"softmax_bias", "1"},
                                             {"init", "separate"},
                                             {"layer_norm_eps", "1e-5"},
                                             {"layer_norm_eps", "0.1"},
                                             {"seed", "18446744073709551615"},
                                             {"d_k", "3"},
                                             {"d_v", "7"},
                                             {"n_heads", "4"},
                                             {"n_encoder_layers", "2"},
                                             {"max_positions", "9"}};

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        tfm_model_options o = small_options();
        tfm_model *model, *back;
        if (!strcmp(changes[i][1], "none")) o.source_vocab_size = 33;
        ck_assert_ok(tfm_model_options_set(&o, changes[i][0], changes[i][1], &error), error);
        ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
        ck_assert_ok(tfm_model_save(model, path, &error), error);
        ck_assert_ok(tfm_model_load(&back, path, NULL, &error), error);
        same_model(model, back);
        ck_assert_ptr_null(tfm_model_tokenizer(back));
        ck_assert_ptr_null(back->block); /* mapped, not read */
        ck_assert_ptr_null(back->file.copy);
        tfm_model_free(model);
        tfm_model_free(back);
    }
}
END_TEST

/* The tokenizer is the last tensor of the file at path, and no parameter. */
static void require_a_tensor(const tfm_model *model)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const size_t n = tfm_model_parameter_count(model);
    tfm_safetensors *file;
    tfm_parameter p;

    ck_assert_ok(tfm_safetensors_open(&file, path, &a, &error), error);
    ck_assert_uint_eq(tfm_safetensors_count(file), n + 1);
    const tfm_tensor *t = tfm_safetensors_at(file, n);
    ck_assert_str_eq(t->name, "tokenizer");
    ck_assert(t->dtype == TFM_U8 && t->rank == 1 && t->shape[0] == t->bytes);
    ck_assert_int_eq(strncmp(t->data, "tfm-tokenizer 1 bpe ", 20), 0);
    ck_assert_ptr_null(tfm_safetensors_metadata(file, "tokenizer").data);
    ck_assert_status(tfm_model_parameter_named(&p, model, "tokenizer", &error), TFM_E_INVALID, error);
    tfm_safetensors_close(file);
}

START_TEST(the_tokenizer_lives_in_the_file)
{
    static const tfm_text line = LINE("a cat sat on \xe2\x82\xac the log");
    tfm_model *model = text_model_make(), *back, *again;
    int32_t ids[64], ids_back[64];
    size_t n, n_back, size, size_again;
    tfm_tokenizer *alone;

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    char *bytes = file_read(path, &size);
    ck_assert_ok(tfm_model_load(&back, path, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_load(&alone, path, NULL, &error), error);
    same_model(model, back);
    ck_assert_ok(tfm_tokenizer_encode(ids, 64, &n, tfm_model_tokenizer(model), line, &error), error);
    ck_assert_ok(tfm_tokenizer_encode(ids_back, 64, &n_back, tfm_model_tokenizer(back), line, &error), error);
    ck_assert_uint_eq(n, n_back);
    ck_assert_mem_eq(ids, ids_back, n * sizeof *ids);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(alone), tfm_tokenizer_vocab_size(tfm_model_tokenizer(model)));
    require_a_tensor(model);
    ck_assert_ok(tfm_model_save(back, path, &error), error); /* over the very file it is mapped from */
    same_model(model, back);
    char *bytes_again = file_read(path, &size_again);
    ck_assert_uint_eq(size, size_again);
    ck_assert_mem_eq(bytes, bytes_again, size); /* equal models are equal files */
    ck_assert_ok(tfm_model_load(&again, path, NULL, &error), error);
    ck_assert_int_eq(unlink(path), 0);
    same_model(again, model);
    free(bytes);
    free(bytes_again);
    tfm_tokenizer_free(alone);
    tfm_model_free(model);
    tfm_model_free(back);
    tfm_model_free(again);
}
END_TEST

START_TEST(m42_a_checkpoint_is_also_a_model)
{
    const tfm_trainer_options o = trainer_options();
    tfm_model *model = model_make(), *trained, *back;
    pairs data;

    pairs_random(&data, 9, 9, 53, 1);
    tfm_trainer *t = trainer_of(model, &o, &data);
    steps(t, 3);
    ck_assert_ok(tfm_trainer_model(&trained, t, &error), error);
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    ck_assert_ok(tfm_model_load(&back, path, NULL, &error), error);
    same_model(trained, back);
    const tfm_model *const equal[] = {back, back, trained};
    tfm_model *mean;
    ck_assert_ok(tfm_model_average(&mean, equal, 3, &error), error); /* no moment has part in it */
    same_model(trained, mean);
    tfm_model_free(mean);
    tfm_model_free(back);
    tfm_model_free(trained);
    tfm_model_free(model);
    tfm_trainer_free(t);
    pairs_free(&data);
}
END_TEST

/* ------------------------------------------------------------------------------------------- damaged files ---- */

START_TEST(c31_each_truncation_is_refused)
{
    tfm_model *model = tiny_make(), *back;
    size_t size;

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    char *bytes = file_read(path, &size);
    for (size_t n = size; n-- > 0;)
        if (truncate(path, (off_t)n) || tfm_model_load(&back, path, NULL, &error) != TFM_E_FORMAT)
            ck_abort_msg("%zu of %zu bytes", n, size);
    tfm_model_free(model);
    file_write(path, bytes, size);
    FILE *file = fopen(path, "ab");
    fputc(0, file);
    fclose(file);
    assert_refused(TFM_E_FORMAT, "after the last tensor");
    free(bytes);
}
END_TEST

/* Loads the file with one byte changed. */
static tfm_status load_changed(const char *bytes, size_t i, char change, int fd, uint32_t skip_checksum)
{
    const char changed = bytes[i] ^ change;
    tfm_load_options o = load_with(NULL);
    tfm_model *back;

    if (pwrite(fd, &changed, 1, (off_t)i) != 1) ck_abort_msg("cannot write");
    o.skip_checksum = skip_checksum;
    const tfm_status status = tfm_model_load(&back, path, &o, &error);
    if (status == TFM_OK) tfm_model_free(back);
    if (pwrite(fd, bytes + i, 1, (off_t)i) != 1) ck_abort_msg("cannot write");
    return status;
}

START_TEST(c31_each_changed_byte_is_refused)
{
    tfm_model *model = tiny_make();
    uint64_t header;
    size_t size;

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    char *bytes = file_read(path, &size);
    const int fd = open(path, O_RDWR);
    memcpy(&header, bytes, sizeof header);
    ck_assert_uint_lt(8 + header, size);
    for (size_t i = 0; i < 8 + header; i++) /* every bit near the beginning, one of each byte elsewhere */
        for (unsigned bit = i < 100 ? 0 : i % 8; bit < (i < 100 ? 8 : i % 8 + 1); bit++)
            if (load_changed(bytes, i, (char)(1 << bit), fd, 1) != TFM_E_FORMAT)
                ck_abort_msg("byte %zu, bit %u", i, bit);
    for (size_t i = 8 + header; i < size; i++)
        if (load_changed(bytes, i, (char)(1 << i % 8), fd, 0) != TFM_E_FORMAT) ck_abort_msg("byte %zu", i);
    ck_assert_msg(strstr(error.message, "skip_checksum") != NULL, "%s", error.message);
    for (size_t i = 8 + header; i < size; i += 7) /* unchecked data: any number is a number */
        ck_assert_ok(load_changed(bytes, i, (char)0xff, fd, 1), error);
    close(fd);
    free(bytes);
    tfm_model_free(model);
}
END_TEST

START_TEST(c30_what_is_not_a_model_is_named)
{
    static const tfm_text cases[] = {LINE("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
                                     LINE("<!DOCTYPE html>\n<html>"), LINE(""), LINE("abc")};
    static const char *const says[] = {"Git LFS", "web page", "empty", "too short"};
    tfm_model *model;

    for (size_t i = 0; i < 4; i++) {
        file_write(path, cases[i].data, cases[i].size);
        assert_refused(TFM_E_FORMAT, says[i]);
        assert_refused(TFM_E_FORMAT, "not a model file");
    }
    ck_assert_status(tfm_model_load(&model, folder, NULL, &error), TFM_E_IO, error);
    ck_assert_status(tfm_model_load(&model, "/nonexistent/model", NULL, &error), TFM_E_IO, error);
    ck_assert_str_eq(error.message, "cannot open /nonexistent/model: No such file or directory");
}
END_TEST

START_TEST(saving_where_one_cannot)
{
    tfm_model *model = tiny_make();

    ck_assert_status(tfm_model_save(model, folder, &error), TFM_E_IO, error);
    ck_assert_status(tfm_model_save(model, "", &error), TFM_E_IO, error);
    ck_assert_status(tfm_model_save(model, "/nonexistent/model", &error), TFM_E_IO, error);
    ck_assert_status(tfm_model_save(model, "/dev/full", &error), TFM_E_IO, error);
    tfm_model_free(model);
}
END_TEST

/* ------------------------------------------------------------------------------- well-formed but wrong files ---- */

/* A saved model taken apart, to be saved with changes. */
typedef struct parts {
    tfm_safetensors *file;
    tfm_tensor tensors[64];
    size_t n;
    tfm_metadata metadata[6];
    size_t n_metadata;
} parts;

static void take_apart(parts *p, const tfm_model *model)
{
    static const char *const keys[] = {"format", "version", "config", "provenance"};
    char first[TESTING_PATH];

    ck_assert_ok(tfm_model_save(model, path_join(first, folder, "first"), &error), error);
    ck_assert_ok(tfm_safetensors_open(&p->file, first, &model->allocator, &error), error);
    p->n = tfm_safetensors_count(p->file);
    for (size_t i = 0; i < p->n; i++) p->tensors[i] = *tfm_safetensors_at(p->file, i);
    p->n_metadata = sizeof keys / sizeof *keys;
    for (size_t i = 0; i < p->n_metadata; i++)
        p->metadata[i] = (tfm_metadata){keys[i], tfm_safetensors_metadata(p->file, keys[i])};
}

static void put_together(const parts *p)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);

    ck_assert_ok(tfm_safetensors_save(path, p->tensors, p->n, p->metadata, p->n_metadata, &a, &error), error);
}

START_TEST(wrong_tensors_are_refused)
{
    static float zeros[64];
    tfm_model *model = tiny_make(), *back;
    parts p, good;

    take_apart(&good, model);
    put_together(&good);
    ck_assert_ok(tfm_model_load(&back, path, NULL, &error), error);
    tfm_model_free(back);
    for (int c = 0; c < 9; c++) {
        p = good;
        switch (c) {
        case 0:
            p.n--;
            break;
        case 1:
            p.tensors[p.n++] = (tfm_tensor){"extra", TFM_F32, 1, {4}, zeros, 16};
            break;
        case 2:
            p.tensors[0].shape[0] = 4, p.tensors[0].shape[1] = 5;
            break;
        case 3:
            p.tensors[0].rank = 1, p.tensors[0].shape[0] = 20;
            break;
        case 4:
            p.tensors[0].dtype = TFM_I32;
            break;
        case 5:
            p.tensors[0].dtype = TFM_F16, p.tensors[0].rank = 3, p.tensors[0].shape[2] = 2;
            break;
        case 6:
            p.tensors[1].name = "encoder.layers.0.attention.query.weights";
            break;
        case 7:
            p.tensors[p.n++] = (tfm_tensor){"optimizer", TFM_F32, 1, {4}, zeros, 16};
            break;
        default:
            p.n = 1;
            break;
        }
        put_together(&p);
        const tfm_status status = tfm_model_load(&back, path, NULL, &error);
        ck_assert_msg(status == (c == 4 || c == 5 ? TFM_E_UNSUPPORTED : TFM_E_FORMAT), "case %d: %s", c,
                      status ? error.message : "accepted");
    }
    tfm_safetensors_close(good.file);
    tfm_model_free(model);
}
END_TEST

/* Numbers of a model are used where they lie. */
START_TEST(numbers_that_are_not_aligned_are_refused)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"libtransformer\",\"version\":\"1\","
                                 "\"header_checksum\":\"none\",\"checksum\":\"none\"},"
                                 "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}";
    const uint64_t size = (sizeof header + 6) / 8 * 8;
    char file[512] = {0};
    tfm_model *back;

    memcpy(file, &size, sizeof size);
    memset(file + 8, ' ', size);
    memcpy(file + 8, header, sizeof header - 1);
    file_write(path, file, 8 + size + 5);
    ck_assert_status(tfm_model_load(&back, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, "tensor b: data is not aligned to 4 bytes") != NULL, "%s", error.message);
}
END_TEST

START_TEST(tensors_may_stand_in_another_order)
{
    tfm_model *model = tiny_make(), *back;
    parts p;

    take_apart(&p, model);
    for (size_t i = 0; i < p.n / 2; i++) {
        const tfm_tensor t = p.tensors[i];
        p.tensors[i] = p.tensors[p.n - 1 - i];
        p.tensors[p.n - 1 - i] = t;
    }
    put_together(&p);
    ck_assert_ok(tfm_model_load(&back, path, NULL, &error), error);
    ck_assert_ptr_nonnull(back->file.copy);
    same_model(model, back);
    tfm_model_free(back);
    tfm_safetensors_close(p.file);
    tfm_model_free(model);
}
END_TEST

/* Saves the parts with the first "from" of a metadata text replaced. */
static void replace(const parts *good, size_t which, const char *from, const char *to)
{
    static char text[1 << 16];
    const tfm_text old = good->metadata[which].value;
    parts p = *good;
    const char *at = memmem(old.data, old.size, from, strlen(from));

    ck_assert_msg(at != NULL, "%s is not in %.*s", from, (int)old.size, old.data);
    const size_t before = (size_t)(at - old.data), after = old.size - before - strlen(from);
    ck_assert_uint_lt(old.size + strlen(to), sizeof text);
    memcpy(text, old.data, before);
    memcpy(text + before, to, strlen(to));
    memcpy(text + before + strlen(to), at + strlen(from), after);
    p.metadata[which].value = (tfm_text){text, before + strlen(to) + after};
    put_together(&p);
}

START_TEST(c32_hostile_configurations_are_refused_cheaply)
{
    static const struct {
        const char *from, *to;
        tfm_status status;
        const char *says;
    } cases[] = {
        {"\"d_model\":4", "\"d_model\":65536", TFM_E_FORMAT, "its configuration wants"},
        {"\"d_ff\":4", "\"d_ff\":1048576", TFM_E_FORMAT, "its configuration wants"},
        {"\"vocab_size\":5", "\"vocab_size\":16777216", TFM_E_FORMAT, "source_vocab_size is 5 but vocab_size 16777216"},
        {"\"n_encoder_layers\":1", "\"n_encoder_layers\":256", TFM_E_FORMAT, "its configuration wants"},
        {"\"n_heads\":2", "\"n_heads\":1024", TFM_E_FORMAT, "its configuration wants"},
        {"\"n_heads\":2", "\"n_heads\":3", TFM_E_FORMAT, "its configuration wants"},
        {"\"d_k\":2", "\"d_k\":4096", TFM_E_FORMAT, "its configuration wants"},
        {"\"d_model\":4", "\"d_model\":0", TFM_E_FORMAT, "d_model is 0, not in 1..65536"},
        {"\"d_model\":4", "\"d_model\":4294967300", TFM_E_FORMAT, "d_model is"},
        {"\"d_model\":4", "\"d_model\":-4", TFM_E_FORMAT, "d_model is -4"},
        {"\"d_model\":4", "\"d_model\":4.5", TFM_E_FORMAT, "d_model is 4.5"},
        {"\"d_model\":4", "\"d_model\":\"4\"", TFM_E_FORMAT, "d_model is not a number"},
        {"\"d_model\":4", "\"d_model\":1e999", TFM_E_FORMAT, "config is not"},
        {"\"d_model\":4", "\"d_model\":2", TFM_E_FORMAT, "tensor embedding.weight has the shape"},
        {"\"d_model\":4", "\"d_model\":4,\"d_model\":4", TFM_E_FORMAT, "config is not"},
        {"\"d_model\":4", "\"d_moodel\":4", TFM_E_UNSUPPORTED, "config field 'd_moodel' is not known to this version"},
        {"\"norm_order\":\"post\"", "\"norm_order\":\"sandwich\"", TFM_E_UNSUPPORTED, "norm_order is 'sandwich'"},
        {"\"layer_norm_eps\":", "\"layer_norm_eps\":-", TFM_E_FORMAT, "layer_norm_eps is"},
        {"{", "[", TFM_E_FORMAT, "config is not a JSON object"},
        {"}", "", TFM_E_FORMAT, "config is not a JSON object"},
    };
    tfm_model *model = tiny_make(), *back;
    parts good;

    take_apart(&good, model);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        replace(&good, 2, cases[i].from, cases[i].to);
        assert_refused(cases[i].status, cases[i].says);
        const tfm_load_options o = load_with(&a);
        ck_assert_int_eq(tfm_model_load(&back, path, &o, NULL), cases[i].status);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_msg(f.peak < 1 << 16, "%s: %zu bytes", cases[i].to, f.peak);
    }
    tfm_safetensors_close(good.file);
    tfm_model_free(model);
}
END_TEST

START_TEST(other_kinds_and_versions_are_named)
{
    tfm_model *model = tiny_make();
    parts good, p;

    take_apart(&good, model);
    replace(&good, 1, "1", "2");
    assert_refused(TFM_E_UNSUPPORTED, "has format version '2', this library reads 1");
    replace(&good, 0, "libtransformer", "pt");
    assert_refused(TFM_E_FORMAT, "is a safetensors file, but not a model of libtransformer");
    for (size_t skip = 0; skip < 3; skip++) { /* format, version, config */
        p = good;
        p.metadata[skip] = p.metadata[--p.n_metadata];
        put_together(&p);
        assert_refused(skip == 1 ? TFM_E_UNSUPPORTED : TFM_E_FORMAT, "");
    }
    tfm_safetensors_close(good.file);
    tfm_model_free(model);
}
END_TEST

START_TEST(hostile_tokenizers_are_refused)
{
    tfm_model *model = text_model_make(), *small = tiny_make();
    parts good, p;

    take_apart(&good, model);
    p = good;
    tfm_tensor *tokenizer = &p.tensors[p.n - 1];
    ck_assert_str_eq(tokenizer->name, "tokenizer");
    tokenizer->bytes = --tokenizer->shape[0];
    put_together(&p);
    assert_refused(TFM_E_FORMAT, "the end is missing");
    tokenizer->dtype = TFM_BOOL;
    put_together(&p);
    assert_refused(TFM_E_FORMAT, "the tensor tokenizer is BOOL of rank 1, not U8 of rank 1");
    take_apart(&p, small); /* ids that the model has no embedding for */
    p.tensors[p.n++] = good.tensors[good.n - 1];
    put_together(&p);
    assert_refused(TFM_E_FORMAT, "its tokenizer is larger than its vocabulary");
    tfm_safetensors_close(p.file);
    tfm_safetensors_close(good.file);
    tfm_model_free(model);
    tfm_model_free(small);
}
END_TEST

static Suite *model_files_suite(void)
{
    Suite *suite = suite_create("model_files");
    TCase *tc = tcase_create("model_files");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, every_option_and_bit_comes_back);
    tcase_add_test(tc, the_tokenizer_lives_in_the_file);
    tcase_add_test(tc, m42_a_checkpoint_is_also_a_model);
    tcase_add_test(tc, c31_each_truncation_is_refused);
    tcase_add_test(tc, c31_each_changed_byte_is_refused);
    tcase_add_test(tc, c30_what_is_not_a_model_is_named);
    tcase_add_test(tc, saving_where_one_cannot);
    tcase_add_test(tc, wrong_tensors_are_refused);
    tcase_add_test(tc, numbers_that_are_not_aligned_are_refused);
    tcase_add_test(tc, tensors_may_stand_in_another_order);
    tcase_add_test(tc, c32_hostile_configurations_are_refused_cheaply);
    tcase_add_test(tc, other_kinds_and_versions_are_named);
    tcase_add_test(tc, hostile_tokenizers_are_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(model_files_suite)
