/* Tokenizer files: what is saved comes back, and whatever else is in a file is refused with a reason. */
#include "tokenizers.h"

#include "format/safetensors.h"
#include "text/tokenizer.h"

#include <jansson.h>

static char folder[TESTING_PATH];

static void setup(void)
{
    temp_make(folder);
}

static void teardown(void)
{
    temp_remove(folder);
}

/* A file of these bytes in the folder; lent until the next call. */
static const char *file_of(tfm_text bytes)
{
    static char path[TESTING_PATH];

    file_write(path_join(path, folder, "file"), bytes.data, bytes.size);
    return path;
}

static void require_equal(const tfm_tokenizer *a, const tfm_tokenizer *b)
{
    tfm_error error = {0};
    tfm_buffer x = {.allocator = tfm_allocator_or_default(NULL)}, y = x;

    ck_assert_ok(tfm_tokenizer_to_json(a, &x, &error), error);
    ck_assert_ok(tfm_tokenizer_to_json(b, &y, &error), error);
    ck_assert_uint_eq(x.size, y.size);
    ck_assert_mem_eq(x.data, y.data, x.size);
    tfm_buffer_free(&x);
    tfm_buffer_free(&y);
}

static tfm_tokenizer *reload(const tfm_tokenizer *t)
{
    tfm_tokenizer *again = NULL;
    char path[TESTING_PATH];
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_save(t, path_join(path, folder, "saved.json"), &error), error);
    ck_assert_ok(tfm_tokenizer_load(&again, path, NULL, &error), error);
    require_equal(t, again);
    return again;
}

/* Line breaks of Unicode, white space, quotes, NUL, controls, our own signs: all within words, so within tokens too. */
static const tfm_text strange[] = {
    LITERAL("a\xE2\x80\xA8"
            "b\xC2\x85"
            "c a\xE2\x80\xA8"
            "b\xC2\x85"
            "c"),
    LITERAL("x\ny\rz x\ny\rz \n \r \t\v \n \r \t\v"),
    LITERAL("\xC2\xA0 \xC2\xA0\xE3\x80\x80 \xC2\xA0 \xC2\xA0\xE3\x80\x80"),
    LITERAL("\"\\/\"\"\\/\" \0\x01\x7F \0\x01\x7F \xEF\xBF\xBF\xF4\x8F\xBF\xBF"),
    LITERAL("\xE2\x96\x81 \xE2\x96\x81@@ </w> @@ \xE2\x96\x81@@ </w> @@   a   a   a"),
};

enum { STRANGE = sizeof strange / sizeof *strange };

START_TEST(c05_c11_any_token_survives_saving)
{
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 12 : 350, strange, STRANGE), *again = reload(t);

    if (_i) {
        ck_assert_int_ne(tfm_tokenizer_id(again, TEXT("\xC2\xA0")), TFM_UNK);
        ck_assert_int_ne(tfm_tokenizer_id(again, TEXT("a\xE2\x80\xA8"
                                                      "b\xC2\x85"
                                                      "c")),
                         TFM_UNK);
        ck_assert_int_ne(tfm_tokenizer_id(again, TEXT("x\ny\rz")), TFM_UNK);
    } else {
        const tfm_text tokens[] = {TEXT("\n"), TEXT("\r"),           TEXT("\xC2\xA0"),
                                   TEXT("\0"), TEXT("\xE2\x80\xA8"), TEXT("\"")};
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            ck_assert_int_ge(tfm_tokenizer_id(again, tokens[i]), 260);
        for (size_t i = 0; i < STRANGE; i++) require_reversed(again, strange[i]);
    }
    for (size_t i = 0; i < STRANGE; i++) {
        const blob want = segment(t, strange[i]);
        require_segments(again, strange[i], (tfm_text){want.data, want.size});
        free(want.data);
    }
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(a_copy_is_equal_and_by_itself)
{
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 12 : 350, corpus, CORPUS), *copy = NULL;
    const blob want = segment(t, corpus[0]);
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_copy(&copy, t, NULL, &error), error);
    require_equal(t, copy);
    tfm_tokenizer_free(t);
    require_segments(copy, corpus[0], (tfm_text){want.data, want.size});
    free(want.data);
    tfm_tokenizer_free(copy);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- codes files ---- */

START_TEST(codes_go_out_and_come_in)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 12, corpus, CORPUS), *again = NULL;
    char path[TESTING_PATH];
    tfm_error error = {0};
    size_t size;

    ck_assert_ok(tfm_tokenizer_export(t, path_join(path, folder, "codes"), &error), error);
    ck_assert_ok(tfm_tokenizer_import(&again, path, corpus, CORPUS, NULL, &error), error);
    require_equal(t, again);
    tfm_tokenizer_free(again);
    char *bytes = file_read(path, &size);
    ck_assert_int_eq(strncmp(bytes, "#version: 0.2\n", 14), 0);
    /* c11: as Windows writes it, and with empty lines at the end */
    char *dos = calloc(2, size + 4), *end = dos;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '\n') *end++ = '\r';
        *end++ = bytes[i];
    }
    memcpy(end, "\r\n\n", 3);
    ck_assert_ok(
        tfm_tokenizer_import(&again, file_of((tfm_text){dos, (size_t)(end - dos) + 3}), corpus, CORPUS, NULL, &error),
        error);
    require_equal(t, again);
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(t);
    free(bytes);
    free(dos);
}
END_TEST

START_TEST(c05_codes_with_strange_line_breaks)
{
    const tfm_text codes = TEXT("#version: 0.2\na \xE2\x80\xA8\na\xE2\x80\xA8 b</w>\n");
    const tfm_text text = TEXT("a\xE2\x80\xA8"
                               "b a\xC2\x85"
                               "b");
    const tfm_text breaks[] = {TEXT("a\nb a\nb"), TEXT("a\rb a\rb"), TEXT("b \rc b \rc")};
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};
    char path[TESTING_PATH];

    ck_assert_ok(tfm_tokenizer_import(&t, file_of(codes), &text, 1, NULL, &error), error);
    require_segments(t, text,
                     TEXT("a\xE2\x80\xA8"
                          "b a@@ \xC2\x85@@ b"));
    ck_assert_ok(tfm_tokenizer_export(t, path_join(path, folder, "codes"), &error), error);
    size_t size;
    char *bytes = file_read(path, &size);
    ck_assert_uint_eq(size, codes.size);
    ck_assert_mem_eq(bytes, codes.data, size);
    free(bytes);
    tfm_tokenizer_free(t);
    for (int i = 0; i < 3; i++) { /* such merges would not come back */
        t = learn(TFM_TOKENIZER_SUBWORD_NMT, 1, &breaks[i], 1);
        ck_assert_status(tfm_tokenizer_export(t, path_join(path, folder, "no"), &error), TFM_E_UNSUPPORTED, error);
        ck_assert_int_ne(access(path, F_OK), 0);
        tfm_tokenizer_free(reload(t));
        tfm_tokenizer_free(t);
    }
}
END_TEST

static const struct {
    tfm_text bytes;
    int status;
    const char *reason;
} bad_codes[] = {
    {LITERAL(""), TFM_E_FORMAT, "not a codes file of subword-nmt"},
    {LITERAL("t h\n"), TFM_E_FORMAT, "not a codes file of subword-nmt"},
    {LITERAL("\xFF\xFE\x00"), TFM_E_FORMAT, "not a codes file of subword-nmt"},
    {LITERAL("#version: 0.1\nt h\n"), TFM_E_UNSUPPORTED, "only \"#version: 0.2\" is known"},
    {LITERAL("#version: 0.2 byte\nt h\n"), TFM_E_UNSUPPORTED, "#version: 0.2 byte"},
    {LITERAL("#version: 0.2\nt h\nthe\n"), TFM_E_FORMAT, "line 3 of the codes is not two pieces"},
    {LITERAL("#version: 0.2\nt h\n\nt h\n"), TFM_E_FORMAT, "line 3 of the codes is not two pieces"},
    {LITERAL("#version: 0.2\na b c\n"), TFM_E_FORMAT, "line 2 of the codes is not two pieces"},
    {LITERAL("#version: 0.2\na  b\n"), TFM_E_FORMAT, "line 2 of the codes is not two pieces"},
    {LITERAL("#version: 0.2\nth e</w>\n"), TFM_E_FORMAT,
     "line 2 of the codes: merge 1 has a part that no earlier merge makes"},
    {LITERAL("#version: 0.2\ne </w>\n"), TFM_E_FORMAT, "merge 1 has a part"},
    {LITERAL("#version: 0.2\na \xC3\n"), TFM_E_FORMAT, "not UTF-8 at byte 16"},
};

START_TEST(bad_codes_are_refused)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_import(&t, file_of(bad_codes[_i].bytes), corpus, CORPUS, NULL, &error),
                     bad_codes[_i].status, error);
    ck_assert_msg(strstr(error.message, bad_codes[_i].reason) != NULL, "%s", error.message);
    ck_assert_ptr_null(t);
}
END_TEST

START_TEST(import_needs_text)
{
    const tfm_text codes = TEXT("#version: 0.2\nt h\n"), bad = TEXT("a\xFF");
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_import(&t, file_of(codes), NULL, 0, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_import(&t, file_of(codes), &bad, 1, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_status(tfm_tokenizer_import(&t, "/nowhere/codes", corpus, 1, NULL, &error), TFM_E_IO, error);
    ck_assert_ptr_null(t);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- bad JSON ---- */

#define SPECIALS "\"<pad>\",\"<eos>\",\"<bos>\",\"<unk>\""
#define SUBWORD(vocabulary, merges)                                                                   \
    LITERAL("{\"type\":\"bpe\",\"version\":1,\"dialect\":\"subword-nmt\",\"vocabulary\":[" vocabulary \
            "],\"merges\":[" merges "]}")

static const struct {
    tfm_text bytes;
    int status;
    const char *reason;
} bad_files[] = {
    {LITERAL("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), TFM_E_FORMAT, "Git LFS pointer"}, /* c30 */
    {LITERAL("<!DOCTYPE html><html>"), TFM_E_FORMAT, "web page"},
    {LITERAL(""), TFM_E_FORMAT, "empty"},
    {LITERAL("abc"), TFM_E_FORMAT, "too short"},
    {LITERAL("{"), TFM_E_FORMAT, "JSON error in line 1"},
    {LITERAL("{}"), TFM_E_FORMAT, "without type, version and dialect"},
    {LITERAL("{\"type\":\"bpe\",\"version\":1}"), TFM_E_FORMAT, "without type, version and dialect"},
    {LITERAL("{\"type\":\"bpe\",\"type\":\"bpe\"}"), TFM_E_FORMAT, "duplicate"},
    {LITERAL("{\"type\":\"unigram\",\"version\":1,\"dialect\":\"x\"}"), TFM_E_UNSUPPORTED, "type \"unigram\""},
    {LITERAL("{\"type\":\"bpe\",\"version\":2,\"dialect\":\"x\"}"), TFM_E_UNSUPPORTED, "version 2"},
    {LITERAL("{\"type\":\"bpe\",\"version\":\"1\",\"dialect\":\"x\"}"), TFM_E_FORMAT, "without type, version"},
    {LITERAL("{\"type\":\"bpe\",\"version\":1,\"dialect\":\"x\"}"), TFM_E_UNSUPPORTED, "dialect \"x\""},
    {LITERAL("{\"type\":\"bpe\",\"version\":1,\"dialect\":\"reversible\"}"), TFM_E_FORMAT, "vocabulary has 0 tokens"},
    {LITERAL("{\"type\":\"bpe\",\"version\":1,\"dialect\":\"reversible\",\"vocabulary\":[" SPECIALS "]}"), TFM_E_FORMAT,
     "at least 260 are needed"},
    {LITERAL("{\"type\":\"bpe\",\"version\":1,\"dialect\":\"subword-nmt\",\"vocabulary\":[" SPECIALS "]}"),
     TFM_E_FORMAT, "no list of merges"},
    {SUBWORD("\"<eos>\",\"<pad>\",\"<bos>\",\"<unk>\"", ""), TFM_E_FORMAT, "token 0 of the vocabulary is not <pad>"},
    {SUBWORD("\"a\",\"<pad>\",\"<eos>\",\"<bos>\",\"<unk>\"", ""), TFM_E_FORMAT,
     "token 0 of the vocabulary is not <pad>"},
    {SUBWORD(SPECIALS ",\"a\",\"b\",\"a\"", ""), TFM_E_FORMAT, "token 6 of the vocabulary is the same as token 4"},
    {SUBWORD(SPECIALS ",\"<pad>\"", ""), TFM_E_FORMAT, "token 4 of the vocabulary is the same as token 0"},
    {SUBWORD(SPECIALS ",\"\"", ""), TFM_E_FORMAT, "token 4 of the vocabulary is empty or has a space"},
    {SUBWORD(SPECIALS ",\"a b\"", ""), TFM_E_FORMAT, "token 4 of the vocabulary is empty or has a space"},
    {SUBWORD(SPECIALS ",7", ""), TFM_E_FORMAT, "token 4 of the vocabulary is not a string"},
    {SUBWORD(SPECIALS ",\"\\ud800\"", ""), TFM_E_FORMAT, "JSON error"},
    {SUBWORD(SPECIALS, "\"ab\""), TFM_E_FORMAT, "merge 1 is not two pieces"},
    {SUBWORD(SPECIALS, "\" b\""), TFM_E_FORMAT, "merge 1 is not two pieces"},
    {SUBWORD(SPECIALS, "\"a b\",\"a \""), TFM_E_FORMAT, "merge 2 is not two pieces"},
    {SUBWORD(SPECIALS, "\"a b c\""), TFM_E_FORMAT, "merge 1 is not two pieces"},
    {SUBWORD(SPECIALS, "[\"a\",\"b\"]"), TFM_E_FORMAT, "merge 1 is not two pieces"},
    {SUBWORD(SPECIALS, "\"a b\",\"abc d\""), TFM_E_FORMAT, "merge 2 has a part that no earlier merge makes"},
};

START_TEST(bad_files_are_refused)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_load(&t, file_of(bad_files[_i].bytes), NULL, &error), bad_files[_i].status, error);
    ck_assert_msg(strstr(error.message, bad_files[_i].reason) != NULL, "%s", error.message);
    ck_assert_msg(strncmp(error.message, folder, strlen(folder)) == 0, "no file name: %s", error.message);
    ck_assert_ptr_null(t);
}
END_TEST

#define SPACE "\xE2\x96\x81"
#define SECOND "\"" SPACE "a b\"" /* the second merge below */

/* Loads what a replacement makes of a saved reversible tokenizer; returns the status. */
static tfm_status load_changed(const tfm_tokenizer *t, const char *from, const char *to, tfm_error *error)
{
    tfm_buffer json = {.allocator = tfm_allocator_or_default(NULL)}, changed = json;
    tfm_tokenizer *again = NULL;

    ck_assert_int_eq(tfm_tokenizer_to_json(t, &json, error), TFM_OK);
    tfm_buffer_append(&json, "", 1);
    const char *at = strstr(json.data, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, json.data);
    tfm_buffer_append(&changed, json.data, (size_t)(at - json.data));
    tfm_buffer_append(&changed, to, strlen(to));
    tfm_buffer_append(&changed, at + strlen(from), json.size - 1 - (size_t)(at - json.data) - strlen(from));
    const tfm_status status = tfm_tokenizer_from_json(&again, (tfm_text){changed.data, changed.size}, NULL, error);
    ck_assert((status == TFM_OK) == (again != NULL));
    tfm_tokenizer_free(again);
    tfm_buffer_free(&json);
    tfm_buffer_free(&changed);
    return status;
}

START_TEST(merges_must_fit_the_vocabulary)
{
    const tfm_text texts[] = {TEXT("ab ab"), TEXT("<0x41> ab abc abc")};
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 400, texts, 2);
    tfm_error error = {0};

    ck_assert_int_eq(load_changed(t, SECOND, SECOND, &error), TFM_OK);
    ck_assert_int_eq(load_changed(t, SECOND, "\"" SPACE "a z\"", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the right part of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, SECOND, "\"b " SPACE "a\"", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the result of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, SECOND, "\"<pad> b\"", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the left part of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, "\"<0x41>\"", "\"<0x42>\"", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "token 69 of the vocabulary is not <0x41>"));
    tfm_tokenizer_free(t);
}
END_TEST

/* Prefixes and single changed bytes: an error or a tokenizer, never a crash. */
START_TEST(damaged_json_is_survived)
{
    const tfm_text text = TEXT("ab ab");
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 2 : 264, &text, 1);
    tfm_buffer json = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_json(t, &json, &error), error);
    for (size_t i = 0; i < json.size; i += _i ? 1 : 7) { /* the bytes' names are long */
        tfm_tokenizer *again = NULL;
        if (tfm_tokenizer_from_json(&again, (tfm_text){json.data, i}, NULL, &error) != TFM_E_FORMAT || again)
            ck_abort_msg("%zu of %zu bytes are loaded", i, json.size);
        const char old = json.data[i];
        for (const char *c = "\"a\\{}],\xFF<0"; *c; c++) {
            json.data[i] = *c;
            const tfm_status status = tfm_tokenizer_from_json(&again, (tfm_text){json.data, json.size}, NULL, &error);
            if ((status == TFM_OK) != (again != NULL)) ck_abort_msg("status %d", status);
            tfm_tokenizer_free(again);
        }
        json.data[i] = old;
    }
    tfm_buffer_free(&json);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ model files ---- */

/* A model file without tensors whose header is size bytes long, padded as other writers do. */
static void save_model(const char *path, tfm_text tokenizer, size_t size)
{
    json_t *root = json_pack("{s:{s:s%}}", "__metadata__", "tokenizer", tokenizer.data, tokenizer.size);
    char *header = json_dumps(root, JSON_COMPACT), *bytes = calloc(1, 8 + size);

    ck_assert(header && bytes && strlen(header) <= size);
    for (int i = 0; i < 4; i++) bytes[i] = (char)(size >> 8 * i);
    memset(bytes + 8, ' ', size);
    memcpy(bytes + 8, header, strlen(header));
    file_write(path, bytes, 8 + size);
    free(header);
    free(bytes);
    json_decref(root);
}

/* The size of its header, with which such a file begins, may look like the beginning of JSON. */
START_TEST(a_model_file_has_a_tokenizer)
{
    const size_t sizes[] = {4000, 0x107B, 0x7B20}; /* 0x7B is a brace, 0x20 a space */
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 12, corpus, CORPUS), *again = NULL;
    tfm_buffer json = {.allocator = tfm_allocator_or_default(NULL)};
    const tfm_metadata other = {"filler", {"x", 1}};
    char path[TESTING_PATH];
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_json(t, &json, &error), error);
    path_join(path, folder, "model");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        save_model(path, (tfm_text){json.data, json.size}, sizes[i]);
        ck_assert_ok(tfm_tokenizer_load(&again, path, NULL, &error), error);
        require_equal(t, again);
        tfm_tokenizer_free(again);
    }
    save_model(path, TEXT("{}"), 4000);
    ck_assert_status(tfm_tokenizer_load(&again, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_ok(tfm_safetensors_save(path, NULL, 0, &other, 1, NULL, &error), error);
    ck_assert_status(tfm_tokenizer_load(&again, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert(strstr(error.message, "the model has no tokenizer"));
    ck_assert_ptr_null(again);
    tfm_buffer_free(&json);
    tfm_tokenizer_free(t);
}
END_TEST

/* ----------------------------------------------------------------------------------------------- failing calls ---- */

START_TEST(c34_each_failed_allocation_is_survived)
{
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 12 : 330, corpus, CORPUS);
    char path[TESTING_PATH], codes[TESTING_PATH];
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};
    size_t n;

    ck_assert_ok(tfm_tokenizer_save(t, path_join(path, folder, "saved"), &error), error);
    path_join(codes, folder, "codes");
    if (_i) ck_assert_ok(tfm_tokenizer_export(t, codes, &error), error);
    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_tokenizer *loaded = NULL, *copy = NULL, *imported = NULL;
        status = tfm_tokenizer_load(&loaded, path, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_copy(&copy, loaded, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_save(copy, codes, &error);
        if (status == TFM_OK && _i) status = tfm_tokenizer_export(copy, codes, &error);
        if (status == TFM_OK && _i) status = tfm_tokenizer_import(&imported, codes, corpus, CORPUS, &a, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        f.fail_at = SIZE_MAX;
        if (status == TFM_OK) require_equal(t, _i ? imported : copy);
        tfm_tokenizer_free(loaded);
        tfm_tokenizer_free(copy);
        tfm_tokenizer_free(imported);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 20);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(files_that_cannot_be_used)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS), *again = NULL;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_load(&again, "/nowhere/at/all", NULL, &error), TFM_E_IO, error);
    ck_assert_status(tfm_tokenizer_load(&again, folder, NULL, &error), TFM_E_IO, error);
    ck_assert_status(tfm_tokenizer_save(t, "/nowhere/at/all", &error), TFM_E_IO, error);
    ck_assert_status(tfm_tokenizer_save(t, folder, &error), TFM_E_IO, error);
    ck_assert_ptr_null(again);
    tfm_tokenizer_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tokenizer_files");
    TCase *c = tcase_create("tokenizer_files");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, c05_c11_any_token_survives_saving, 0, 2);
    tcase_add_loop_test(c, a_copy_is_equal_and_by_itself, 0, 2);
    tcase_add_test(c, codes_go_out_and_come_in);
    tcase_add_test(c, c05_codes_with_strange_line_breaks);
    tcase_add_loop_test(c, bad_codes_are_refused, 0, sizeof bad_codes / sizeof *bad_codes);
    tcase_add_test(c, import_needs_text);
    tcase_add_loop_test(c, bad_files_are_refused, 0, sizeof bad_files / sizeof *bad_files);
    tcase_add_test(c, merges_must_fit_the_vocabulary);
    tcase_add_loop_test(c, damaged_json_is_survived, 0, 2);
    tcase_add_test(c, a_model_file_has_a_tokenizer);
    tcase_add_loop_test(c, c34_each_failed_allocation_is_survived, 0, 2);
    tcase_add_test(c, files_that_cannot_be_used);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
