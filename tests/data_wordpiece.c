/* Word-pieces of tensor2tensor and of BERT: learned, cut and joined as their own code does, on awkward lines and real
 * text. */
#include "tokenizers.h"

#include "text/bert.h"

#include <jansson.h>

#define FOLDER "wordpiece/t2t/"
#define WMT FOLDER "vocab.translate_ende_wmt32k.32768.subwords"

static lines read_data(const char *name)
{
    char path[TESTING_PATH];

    return lines_read(data_path(path, name));
}

static json_t *parse(tfm_text line)
{
    json_t *j = json_loadb(line.data, line.size, 0, NULL);

    ck_assert_ptr_nonnull(j);
    return j;
}

static tfm_text string_of(const json_t *j)
{
    return (tfm_text){json_string_value(j), json_string_length(j)};
}

static tfm_tokenizer *load(const char *name)
{
    char path[TESTING_PATH];
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_load(&t, data_path(path, name), NULL, &error), error);
    return t;
}

static void require_ids(const tfm_tokenizer *t, tfm_text line, const json_t *want)
{
    const tfm_ids ids = encode(t, line);

    ck_assert_uint_eq(ids.size, json_array_size(want));
    for (size_t i = 0; i < ids.size; i++) ck_assert_int_eq(ids.data[i], json_integer_value(json_array_get(want, i)));
    free((void *)(uintptr_t)ids.data);
}

START_TEST(a_learned_vocabulary_is_that_of_tensor2tensor)
{
    lines en = read_data("multi30k/raw/train.en.gz"), de = read_data("multi30k/raw/train.de.gz");
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_text *text = calloc(10000, sizeof *text);
    tfm_error error = {0};
    size_t size, wanted;

    ck_assert_ptr_nonnull(text);
    memcpy(text, en.line, 5000 * sizeof *text);
    memcpy(text + 5000, de.line, 5000 * sizeof *text);
    tfm_tokenizer *t = learn(TFM_TOKENIZER_WORDPIECE, 2000, text, 10000);
    temp_make(folder);
    ck_assert_ok(tfm_tokenizer_export(t, path_join(path, folder, "subwords"), &error), error);
    char *got = file_read(path, &size),
         *want = file_read(data_path(path, FOLDER "m30k_first5k_ende.target2000.subwords"), &wanted);
    ck_assert(size == wanted && !memcmp(got, want, size));
    free(got);
    free(want);
    temp_remove(folder);
    tfm_tokenizer_free(t);
    free(text);
    lines_free(&en);
    lines_free(&de);
}
END_TEST

START_TEST(awkward_lines)
{
    tfm_tokenizer *t = load(WMT);
    lines want = read_data(FOLDER "wmt32k.gold.misc.jsonl");

    ck_assert_uint_eq(want.count, 39);
    for (size_t i = 0; i < want.count; i++) {
        json_t *j = parse(want.line[i]);
        const tfm_text line = string_of(json_object_get(j, "text")), text = string_of(json_object_get(j, "decoded"));
        const json_t *pieces = json_object_get(j, "subtokens");
        const tfm_ids ids = encode(t, line);
        require_ids(t, line, json_object_get(j, "ids"));
        for (size_t k = 0; k < ids.size; k++) {
            const tfm_text a = tfm_tokenizer_token(t, ids.data[k]), b = string_of(json_array_get(pieces, k));
            ck_assert(a.size == b.size && !memcmp(a.data, b.data, a.size));
        }
        const blob b = decode(t, ids);
        ck_assert(b.size == text.size && !memcmp(b.data, text.data, b.size));
        free(b.data);
        free((void *)(uintptr_t)ids.data);
        json_decref(j);
    }
    lines_free(&want);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(real_text)
{
    static const char *const keys[] = {"en", "de"};
    static const char *const sources[] = {"multi30k/raw/test_2016_flickr.en.gz", "multi30k/raw/test_2016_flickr.de.gz"};
    tfm_tokenizer *t = load(WMT);
    lines text = read_data(sources[_i]), want = read_data(FOLDER "wmt32k.gold.multi30k_test2016.jsonl.gz");

    ck_assert_uint_eq(want.count, 1000);
    for (size_t i = 0; i < want.count; i++) {
        json_t *j = parse(want.line[i]);
        require_ids(t, text.line[i], json_object_get(j, keys[_i]));
        json_decref(j);
    }
    lines_free(&want);
    lines_free(&text);
    tfm_tokenizer_free(t);
}
END_TEST

/* The cases of its operation in C++, whose vocabulary has a token twice and few characters; each ends with the end. */
START_TEST(unit_cases_of_tensor2tensor)
{
    tfm_tokenizer *t = load(FOLDER "ops_testdata_subwords");
    lines cases = read_data(FOLDER "ops_subwords_unit.jsonl");

    ck_assert_uint_eq(cases.count, 4);
    for (size_t i = 0; i < cases.count; i++) {
        json_t *j = parse(cases.line[i]), *ids = json_object_get(j, "ids");
        ck_assert_int_eq(json_array_remove(ids, json_array_size(ids) - 1), 0);
        require_ids(t, string_of(json_object_get(j, "text")), ids);
        json_decref(j);
    }
    lines_free(&cases);
    tfm_tokenizer_free(t);
}
END_TEST

/* Words are those of its tokenizer: a vocabulary without long pieces ends each with "_". */
START_TEST(words_are_those_of_tensor2tensor)
{
    lines cases = read_data(FOLDER "tokenizer_unit.jsonl");
    tfm_tokenizer *t = load(WMT);

    for (size_t i = 0; i < cases.count; i++) {
        json_t *j = parse(cases.line[i]);
        const tfm_text line = string_of(json_object_get(j, "text"));
        const tfm_ids ids = encode(t, line);
        size_t words = 0;
        for (size_t k = 0; k < ids.size; k++) {
            const tfm_text piece = tfm_tokenizer_token(t, ids.data[k]);
            words += piece.data[piece.size - 1] == '_';
        }
        ck_assert_uint_eq(words, json_array_size(json_object_get(j, "tokens")));
        free((void *)(uintptr_t)ids.data);
        json_decref(j);
    }
    ck_assert_uint_gt(cases.count, 4);
    lines_free(&cases);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------------------------ BERT ---- */

#define BERT "wordpiece/bert-base-uncased-vocab.txt"

START_TEST(bert_cuts_awkward_lines)
{
    tfm_tokenizer *t = load(BERT);
    lines want = read_data("wordpiece/bert_uncased.gold.misc.jsonl");

    ck_assert_uint_eq(want.count, 39);
    for (size_t i = 0; i < want.count; i++) {
        json_t *j = parse(want.line[i]);
        require_ids(t, string_of(json_object_get(j, "text")), json_object_get(j, "ids"));
        json_decref(j);
    }
    lines_free(&want);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(bert_cuts_real_text)
{
    tfm_tokenizer *t = load(BERT);
    lines text = read_data("multi30k/raw/test_2016_flickr.en.gz");
    lines want = read_data("wordpiece/bert_uncased.gold.multi30k_test2016_en.jsonl.gz");

    ck_assert_uint_eq(want.count, 1000);
    for (size_t i = 0; i < want.count; i++) {
        json_t *j = parse(want.line[i]);
        require_ids(t, text.line[i], json_object_get(j, "ids"));
        json_decref(j);
    }
    lines_free(&want);
    lines_free(&text);
    tfm_tokenizer_free(t);
}
END_TEST

/* A vocabulary of a unit case as a file: its tokens after [PAD], so that ids are one more. */
static tfm_tokenizer *of_tokens(const json_t *tokens)
{
    char file[1024] = "[PAD]\n";
    size_t size = strlen(file);
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    for (size_t i = 0; i < json_array_size(tokens); i++)
        size += (size_t)snprintf(file + size, sizeof file - size, "%s\n", json_string_value(json_array_get(tokens, i)));
    ck_assert_ok(tfm_tokenizer_from_text(&t, (tfm_text){file, size}, NULL, &error), error);
    return t;
}

/* Strings with a space after each. */
static blob spaced(const json_t *strings)
{
    blob b = {calloc(4096, 1), 0};

    ck_assert_ptr_nonnull(b.data);
    for (size_t i = 0; i < json_array_size(strings); i++)
        b.size +=
            (size_t)snprintf(b.data + b.size, 4096 - b.size, "%s ", json_string_value(json_array_get(strings, i)));
    return b;
}

/* Words, or the pieces of a vocabulary, which is given or the name of a file: then with ids. */
START_TEST(unit_cases_of_bert)
{
    lines cases = read_data("wordpiece/bert_unit.jsonl");

    ck_assert_uint_eq(cases.count, 9);

    for (size_t i = 0; i < cases.count; i++) {
        json_t *j = parse(cases.line[i]);
        const tfm_text line = string_of(json_object_get(j, "text"));
        const json_t *tokens = json_object_get(j, "vocab");
        const blob want = spaced(json_object_get(j, "tokens"));
        if (tokens) {
            tfm_tokenizer *t = json_is_array(tokens) ? of_tokens(tokens) : load(BERT);
            require_segments(t, line, (tfm_text){want.data, want.size - (want.size > 0)});
            if (json_is_string(tokens)) require_ids(t, line, json_object_get(j, "ids"));
            tfm_tokenizer_free(t);
        } else {
            tfm_buffer words = {.allocator = tfm_allocator_or_default(NULL)};
            tfm_bert_words(line, json_is_false(json_object_get(j, "lower")), &words);
            ck_assert(words.size == want.size && !memcmp(words.data, want.data, want.size));
            tfm_buffer_free(&words);
        }
        free(want.data);
        json_decref(j);
    }
    lines_free(&cases);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("wordpiece on data");
    TCase *c = tcase_create("wordpiece on data");

    tcase_add_test(c, a_learned_vocabulary_is_that_of_tensor2tensor);
    tcase_add_test(c, awkward_lines);
    tcase_add_loop_test(c, real_text, 0, 2);
    tcase_add_test(c, unit_cases_of_tensor2tensor);
    tcase_add_test(c, words_are_those_of_tensor2tensor);
    tcase_add_test(c, unit_cases_of_bert);
    tcase_add_test(c, bert_cuts_awkward_lines);
    tcase_add_test(c, bert_cuts_real_text);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "wordpiece")
