/* Folders of other systems with tokenizers beside the model: which files count, what is damaged, and lack of memory. */
#include "testing.h"

#include "foreign_samples.h"
#include "format/yaml.h"
#include "spm_file.h"

static tfm_error error;
static char folder[TESTING_PATH];

static void put(const char *name, const void *bytes, size_t size)
{
    char path[TESTING_PATH];

    file_write(path_join(path, folder, name), bytes, size);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static const char pieces_file[] = OPUS_VOCABULARY;

/* A folder as OPUS-MT's, of five pieces. */
static void setup(void)
{
    static unsigned char bytes[SAMPLE_ROOM];
    static spm_file spm;
    sample s = {.bytes = bytes};

    temp_make(folder);
    marian_sample(&s, MARIAN_YML, 0);
    put("opus.npz", s.bytes, s.size);
    spm_small(&spm, (spm_form){.model = 1});
    put("source.spm", spm.bytes, spm.size);
    spm_small(&spm, (spm_form){.model = 2});
    put("target.spm", spm.bytes, spm.size);
    put_text("opus.vocab.yml", pieces_file);
    put_text("decoder.yml", OPUS_DECODER);
}

static void teardown(void)
{
    temp_remove(folder);
}

START_TEST(items_of_yaml)
{
    static const struct {
        const char *document, *items[3];
    } cases[] = {
        {"a: 1\nkey:\n  - x\n  - 'y z'\nb: 2\n", {"x", "y z", NULL}},
        {"key:\n- x\n- y", {"x", "y", NULL}},
        {"key: [ x, \"y\" ]\n- z\n", {"x", "y", NULL}},
        {"key: [x]", {"x", NULL, NULL}},
        {"key: [x,", {"x", NULL, NULL}},
        {"key:", {NULL}},
        {"key: x\n", {NULL}},
        {"keys:\n  - x\n", {NULL}},
        {"", {NULL}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 3; k++) {
            const tfm_text document = {cases[i].document, strlen(cases[i].document)};
            const tfm_text got = tfm_yaml_item(document, "key", k);
            const char *want = cases[i].items[k] ? cases[i].items[k] : "";
            ck_assert_msg(got.size == strlen(want) && (!got.size || !memcmp(got.data, want, got.size)),
                          "'%s', %zu: '%.*s'", cases[i].document, k, (int)got.size, got.data);
        }
}
END_TEST

static void require_ids(const tfm_tokenizer *t, const char *line, const int32_t *want, size_t n)
{
    int32_t ids[16];
    size_t got;

    ck_assert_ok(tfm_tokenizer_encode(ids, 16, &got, t, (tfm_text){line, strlen(line)}, &error), error);
    ck_assert_uint_eq(got, n);
    ck_assert_mem_eq(ids, want, n * sizeof *ids);
}

/* The folder, and its file, have a tokenizer of both languages; the unigram model and BPE cut the line in two ways. */
START_TEST(a_folder_is_a_model_of_text)
{
    char path[TESTING_PATH];
    tfm_model *m = NULL;

    ck_assert_ok(tfm_model_load(&m, _i ? path_join(path, folder, "opus.npz") : folder, NULL, &error), error);
    const tfm_tokenizer *t = tfm_model_tokenizer(m);
    ck_assert(tfm_tokenizer_target(t) != t && tfm_tokenizer_vocab_size(t) == 5);
    require_ids(t, "ab k", (const int32_t[]){3, 2, 3, 1}, 4);
    require_ids(tfm_tokenizer_target(t), "ab", (const int32_t[]){1, 1}, 2);
    tfm_model_free(m);
}
END_TEST

#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"

static const struct {
    const char *name, *text, *says; /* text NULL: the file goes */
    tfm_status status;
} changes[] = {
    {"decoder.yml", NULL, "Is a directory", TFM_E_IO}, /* without it the model is model.npz */
    {"decoder.yml", "models: [ opus.npz ]\n", "has no vocab.yml", TFM_E_FORMAT},
    {"decoder.yml", "models: [ ../x/opus.npz ]\nvocabs: [ /y/opus.vocab.yml ]\n", "", TFM_OK},
    {"decoder.yml", "models: [ a.npz, b.npz ]\n", "names several models: give the path of one, as a.npz",
     TFM_E_UNSUPPORTED},
    {"decoder.yml", "models: [ source.spm ]\n", "source.spm is no model of Marian: model.npz is", TFM_E_FORMAT},
    {"target.spm", NULL, "source.spm is there, but target.spm is not", TFM_E_FORMAT},
    {"source.spm", NULL, "target.spm is there, but source.spm is not", TFM_E_FORMAT},
    {"target.spm", "x", "target.spm: ", TFM_E_FORMAT},
    {"source.spm", "tfm-tokenizer 1 bpe 0 tokens 0 merges\n", "source.spm: ", TFM_E_FORMAT},
    {"opus.vocab.yml", NULL, "has no opus.vocab.yml, which gives the pieces", TFM_E_FORMAT},
    {"opus.vocab.yml", "</s>: 0\n<unk>: 1\n", "opus.vocab.yml: 2 pieces, but the model has 5 for the source",
     TFM_E_FORMAT},
    {"opus.vocab.yml", "</s>: 1\n<unk>: 0\na: 2\nb: 3\nc: 4\n", "</s> has the id 1, but in the model it is 0",
     TFM_E_FORMAT},
    {"opus.vocab.yml", "</s>: 0\n<unk>: 2\na: 1\nb: 3\nc: 4\n", "<unk> has the id 2, but in the model it is 1",
     TFM_E_FORMAT},
    {"opus.vocab.yml", "</s>: 0\n<unk>: 1\na: 2\nb: 3\nc: 9\n", "opus.vocab.yml: the id of 'c' is 9", TFM_E_FORMAT},
    {"opus.npz", POINTER, "opus.npz is no model of Marian: it is a Git LFS pointer: fetch", TFM_E_FORMAT}, /* c30 */
    {"model.bin", POINTER, "model.bin is no model of CTranslate2: it is a Git LFS pointer: fetch", TFM_E_FORMAT},
    {"model.bin", "", "model.bin is no model of CTranslate2: it is empty", TFM_E_FORMAT},
    {"config.json", POINTER, "config.json cannot be used: it is a Git LFS pointer: fetch", TFM_E_FORMAT},
    {"source.spm", POINTER, "source.spm cannot be used: it is a Git LFS pointer: fetch", TFM_E_FORMAT},
    {"target.spm", "<!DOCTYPE html>", "target.spm cannot be used: it is a web page: check", TFM_E_FORMAT},
    {"opus.vocab.yml", POINTER, "opus.vocab.yml cannot be used: it is a Git LFS pointer: fetch", TFM_E_FORMAT},
    {"opus.vocab.yml", "", "opus.vocab.yml cannot be used: it is empty", TFM_E_FORMAT},
    {"decoder.yml", POINTER, "decoder.yml cannot be used: it is a Git LFS pointer: fetch", TFM_E_FORMAT},
    {"decoder.yml", "", "decoder.yml cannot be used: it is empty", TFM_E_FORMAT},
};

START_TEST(what_is_missing_or_wrong_is_named)
{
    char path[TESTING_PATH];
    tfm_model *m = NULL;

    if (changes[_i].text) put_text(changes[_i].name, changes[_i].text);
    else ck_assert_int_eq(unlink(path_join(path, folder, changes[_i].name)), 0);
    ck_assert_status(tfm_model_load(&m, folder, NULL, &error), changes[_i].status, error);
    ck_assert((m != NULL) == (changes[_i].status == TFM_OK));
    if (!m) ck_assert_msg(strstr(error.message, changes[_i].says), "%s", error.message);
    tfm_model_free(m);
}
END_TEST

/* Without pieces a model is used by ids, as it always was. */
START_TEST(models_without_pieces_have_no_tokenizer)
{
    char path[TESTING_PATH];
    tfm_model *m = NULL;

    ck_assert_int_eq(unlink(path_join(path, folder, "source.spm")), 0);
    ck_assert_int_eq(unlink(path_join(path, folder, "target.spm")), 0);
    ck_assert_ok(tfm_model_load(&m, folder, NULL, &error), error);
    ck_assert_ptr_null(tfm_model_tokenizer(m));
    tfm_model_free(m);
}
END_TEST

/* A file of which nothing arrived is not one that is not there. */
START_TEST(an_empty_vocabulary_is_not_none)
{
    char path[TESTING_PATH];
    tfm_model *m = NULL;

    ck_assert_int_eq(unlink(path_join(path, folder, "source.spm")), 0);
    ck_assert_int_eq(unlink(path_join(path, folder, "target.spm")), 0);
    put_text("vocab.spm", "");
    ck_assert_status(tfm_model_load(&m, folder, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, "vocab.spm cannot be used: it is empty"), "%s", error.message);
    ck_assert_status(tfm_model_load(&m, path_join(path, folder, "opus.npz"), NULL, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, "vocab.spm cannot be used: it is empty"), "%s", error.message);
}
END_TEST

START_TEST(each_changed_byte_is_harmless)
{
    static const char *const names[] = {"decoder.yml", "opus.vocab.yml"};
    char path[TESTING_PATH];
    size_t size;
    char *bytes = file_read(path_join(path, folder, names[_i]), &size);

    for (size_t i = 0; i < 3 * size; i++) {
        tfm_model *m = NULL;
        bytes[i / 3] = (char)(bytes[i / 3] ^ (1 << 3 * (i % 3)));
        file_write(path, bytes, size);
        if (tfm_model_load(&m, folder, NULL, &error) == TFM_OK) tfm_model_free(m);
        else ck_assert_ptr_null(m);
        bytes[i / 3] = (char)(bytes[i / 3] ^ (1 << 3 * (i % 3)));
    }
    free(bytes);
}
END_TEST

START_TEST(a_folder_without_memory)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n;

    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        const tfm_load_options o = load_with(&a);
        tfm_model *m = NULL;
        status = tfm_model_load(&m, folder, &o, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_model_free(m);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 40);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("vocabularies");
    TCase *c = tcase_create("vocabularies");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, items_of_yaml);
    tcase_add_loop_test(c, a_folder_is_a_model_of_text, 0, 2);
    tcase_add_loop_test(c, what_is_missing_or_wrong_is_named, 0, sizeof changes / sizeof *changes);
    tcase_add_test(c, models_without_pieces_have_no_tokenizer);
    tcase_add_test(c, an_empty_vocabulary_is_not_none);
    tcase_add_loop_test(c, each_changed_byte_is_harmless, 0, 2);
    tcase_add_test(c, a_folder_without_memory);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
