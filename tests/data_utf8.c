/* UTF-8 repair on public collections of broken text. */
#include "tokenizers.h"

static blob repair(tfm_text text)
{
    blob b;
    size_t again;

    tfm_utf8_repair(NULL, 0, &b.size, text);
    b.data = calloc(b.size + 1, 1);
    ck_assert_ptr_nonnull(b.data);
    tfm_utf8_repair(b.data, b.size, &again, text);
    ck_assert_uint_eq(again, b.size);
    return b;
}

/* "number:kind:" before the text of a line. */
static tfm_text label(tfm_text line, char kind[static 16])
{
    size_t colons = 0, i = 0, n = 0;

    memset(kind, 0, 16);
    for (; i < line.size && colons < 2; i++) {
        if (line.data[i] == ':') colons++;
        else if (colons == 1 && n < 15) kind[n++] = line.data[i];
    }
    return (tfm_text){line.data + i, line.size - i};
}

START_TEST(c05_replacement_is_that_of_utf8tests)
{
    char path[TESTING_PATH], kind[16];
    lines cases = lines_read(data_path(path, "nasty/utf8tests/utf8tests.bin"));
    lines want = lines_read(data_path(path, "nasty/utf8tests/utf8.replace.ref.txt"));
    int broken = 0;

    ck_assert_uint_gt(cases.count, 100);
    ck_assert_uint_eq(cases.count, want.count);
    for (size_t i = 0; i < cases.count; i++) {
        const tfm_text text = label(cases.line[i], kind);
        const bool valid = strcmp(kind, "valid") == 0;
        const blob b = repair(cases.line[i]);
        ck_assert_msg((tfm_utf8_check(text) == SIZE_MAX) == valid, "line %zu: %s", i + 1, kind);
        ck_assert_msg(b.size == want.line[i].size && memcmp(b.data, want.line[i].data, b.size) == 0, "line %zu: %s",
                      i + 1, b.data);
        broken += !valid;
        free(b.data);
    }
    ck_assert_int_gt(broken, 50);
    lines_free(&cases);
    lines_free(&want);
}
END_TEST

/* Learning names the first broken line; once repaired every line passes through a tokenizer and back. */
START_TEST(c05_broken_lines_are_named_and_repaired)
{
    char path[TESTING_PATH], prefix[80];
    lines text = lines_read(data_path(path, "nasty/utf8tests/utf8tests.bin"));
    tfm_tokenizer_options o;
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};
    size_t first = 0;

    while (tfm_utf8_check(text.line[first]) == SIZE_MAX) first++;
    snprintf(prefix, sizeof prefix, "line %zu is not UTF-8 at byte %zu:", first + 1, tfm_utf8_check(text.line[first]));
    tfm_tokenizer_options_init(&o, sizeof o);
    ck_assert_status(tfm_tokenizer_learn(&t, &o, text.line, text.count, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strncmp(error.message, prefix, strlen(prefix)) == 0, "%s, want %s", error.message, prefix);
    o.replace_invalid = 1;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, text.line, text.count, &error), error);
    for (size_t i = 0; i < text.count; i++) {
        const blob b = repair(text.line[i]);
        ck_assert(tfm_utf8_check((tfm_text){b.data, b.size}) == SIZE_MAX);
        require_reversed(t, (tfm_text){b.data, b.size});
        free(b.data);
    }
    tfm_tokenizer_free(t);
    lines_free(&text);
}
END_TEST

/* Markus Kuhn's test file, which in this copy has U+FFFD wherever the original is broken. */
START_TEST(stress_test_comes_back)
{
    char path[TESTING_PATH];
    lines text = lines_read(data_path(path, "nasty/UTF-8-test.txt"));
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 400, text.line, text.count);

    ck_assert_uint_gt(text.count, 200);
    for (size_t i = 0; i < text.count; i++) require_reversed(t, text.line[i]);
    tfm_tokenizer_free(t);
    lines_free(&text);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("utf8 on data");
    TCase *c = tcase_create("utf8 on data");

    tcase_add_test(c, c05_replacement_is_that_of_utf8tests);
    tcase_add_test(c, c05_broken_lines_are_named_and_repaired);
    tcase_add_test(c, stress_test_comes_back);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "nasty")
