/* What subword-nmt does besides merging: a vocabulary that pieces must be of, and glossaries. */
#include "tokenizers.h"

#include "text/tokenizer.h"

static char folder[TESTING_PATH], path[TESTING_PATH];

static void setup(void)
{
    temp_make(folder);
    path_join(path, folder, "file");
}

static void teardown(void)
{
    temp_remove(folder);
}

static const char *file_of(tfm_text bytes)
{
    FILE *file = fopen(path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

/* Merges a b, ab c, abc d</w> and x</w> in disguise; the text has the tokens of all of them. */
static tfm_tokenizer *small(void)
{
    static const char codes[] = "#version: 0.2\na b\nab c\nabc d</w>\nx <\n/ w\n/w >\nx< /w>\n";
    const tfm_text line = TEXT("abcd abcde xy");
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_import(&t, file_of(TEXT(codes)), &line, 1, NULL, &error), error);
    return t;
}

static tfm_tokenizer *restricted(const tfm_tokenizer *from, const char *vocabulary, uint32_t threshold,
                                 const tfm_text *glossaries, size_t n)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    if (vocabulary) file_of((tfm_text){vocabulary, strlen(vocabulary)});
    ck_assert_ok(tfm_tokenizer_restrict(&t, from, vocabulary ? path : NULL, threshold, glossaries, n, NULL, &error),
                 error);
    return t;
}

static void require(const tfm_tokenizer *t, const char *line, const char *want)
{
    require_segments(t, (tfm_text){line, strlen(line)}, (tfm_text){want, strlen(want)});
}

/* ---------------------------------------------------------------------------------------------- vocabulary ------ */

START_TEST(pieces_are_split_until_the_vocabulary_has_them)
{
    static const struct {
        const char *vocabulary, *line, *want;
    } cases[] = {
        {"abcd 2\n", "abcd", "abcd"},
        {"abcd 1\nab@@ 2\n", "abcd abcde", "ab@@ c@@ d ab@@ c@@ d@@ e"}, /* below the threshold is not there */
        {"abc@@ 2\r\nd 2\r\n", "abcd", "abc@@ d"},
        {"abc 2\nab 2", "abcd", "a@@ b@@ c@@ d"}, /* a final piece is not one within a word */
        {"<unk> 9\nab@@ 5\nab@@ 1\n", "ab <unk>", "a@@ b <@@ u@@ n@@ k@@ >"},
        {"zx 3\n", "zx zx</w> zx</w>y", "z@@ x z@@ x@@ <@@ /@@ w@@ > z@@ x@@ <@@ /@@ w@@ >@@ y"},
    };
    tfm_tokenizer *t = small();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_tokenizer *kept = restricted(t, cases[i].vocabulary, 2, NULL, 0);
        require(kept, cases[i].line, cases[i].want);
        tfm_tokenizer_free(kept);
    }
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(the_vocabulary_is_that_of_the_file)
{
    tfm_tokenizer *t = small(), *kept = restricted(t, "c@@ 7\nab@@ 3\nd 2\nab@@ 9\n", 3, NULL, 0);
    const tfm_ids ids = encode(kept, TEXT("abcd"));

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(kept), 6);
    ck_assert_uint_eq(ids.size, 3);
    ck_assert_int_eq(ids.data[0], 5);
    ck_assert_int_eq(ids.data[1], 4);
    ck_assert_int_eq(ids.data[2], TFM_UNK);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
}
END_TEST

static const struct {
    tfm_text bytes;
    const char *reason;
} bad[] = {
    {LITERAL(""), "no token of the vocabulary was seen 2 times"},
    {LITERAL("a 1\nb 0\n"), "no token of the vocabulary was seen 2 times"},
    {LITERAL("<pad> 9\n"), "no token of the vocabulary was seen 2 times"},
    {LITERAL("a 2\n\nb 2\n"), "line 2 of the vocabulary is not a token, a space and a count"},
    {LITERAL("a\n"), "line 1 of the vocabulary is not a token"},
    {LITERAL("a \n"), "line 1 of the vocabulary is not a token"},
    {LITERAL(" 2\n"), "line 1 of the vocabulary is not a token"},
    {LITERAL("a 2 2\n"), "line 1 of the vocabulary is not a token"},
    {LITERAL("a -2\n"), "line 1 of the vocabulary is not a token"},
    {LITERAL("a 18446744073709551616\n"), "line 1 of the vocabulary is not a token"},
    {LITERAL("a 2\n\xFF 2\n"), "not UTF-8 at byte 4"},
};

START_TEST(bad_vocabularies_are_refused)
{
    tfm_tokenizer *t = small(), *kept = t;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_restrict(&kept, t, file_of(bad[_i].bytes), 2, NULL, 0, NULL, &error),
                     TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, bad[_i].reason) != NULL, "%s", error.message);
    ck_assert_msg(strncmp(error.message, folder, strlen(folder)) == 0, "no file name: %s", error.message);
    ck_assert_ptr_null(kept);
    tfm_tokenizer_free(t);
}
END_TEST

/* Each prefix and each changed byte is a vocabulary or is refused. */
START_TEST(damaged_vocabularies_are_survived)
{
    char bytes[] = "abcd 12\nab@@ 3\r\nc@@ 2\n";
    const size_t size = sizeof bytes - 1;
    tfm_tokenizer *t = small();

    for (size_t i = 0; i <= size; i++)
        for (const char *c = " \n\r@9a<\xFF"; *c; c++) {
            tfm_tokenizer *kept = NULL;
            const char old = bytes[i];
            tfm_error error = {0};
            if (i < size) bytes[i] = *c;
            const tfm_text file = {bytes, c[1] ? size : i};
            const tfm_status status = tfm_tokenizer_restrict(&kept, t, file_of(file), 2, NULL, 0, NULL, &error);
            ck_assert(status == (kept ? TFM_OK : TFM_E_FORMAT) && error.status == status);
            if (kept) free(segment(kept, TEXT("abcd abcde ab xy")).data);
            tfm_tokenizer_free(kept);
            bytes[i] = old;
        }
    tfm_tokenizer_free(t);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- glossaries ------ */

START_TEST(glossaries_stay_whole)
{
    const tfm_text one[] = {TEXT("USA")}, nested[] = {TEXT("USA1"), TEXT("USA")}, over[] = {TEXT("aa"), TEXT("ba")};
    tfm_tokenizer *t = small();
    const struct {
        const tfm_text *glossaries;
        size_t n;
        const char *line, *want;
    } cases[] = {
        {one, 1, "USA", "USA"},
        {one, 1, "1934USABUSA USAabcd abcdUSA", "1@@ 9@@ 3@@ 4@@ USA@@ B@@ USA USA@@ abcd abcd@@ USA"},
        {one, 1, "USAUSA US SA", "USA@@ USA U@@ S S@@ A"},
        {nested, 2, "USA1b USA1 USA2", "USA@@ 1@@ b USA@@ 1 USA@@ 2"}, /* a later one cuts an earlier one too */
        {nested, 1, "USA1b USA1 USA2", "USA1@@ b USA1 U@@ S@@ A@@ 2"},
        {over, 2, "baaa", "b@@ aa@@ a"},
        {one, 0, "USA", "U@@ S@@ A"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_tokenizer *kept = restricted(t, NULL, 0, cases[i].glossaries, cases[i].n);
        require(kept, cases[i].line, cases[i].want);
        tfm_tokenizer_free(kept);
    }
    tfm_tokenizer_free(t);
}
END_TEST

/* They have ids as word and within one, whatever the vocabulary, and text comes back. */
START_TEST(glossaries_are_in_the_vocabulary)
{
    const tfm_text glossaries[] = {TEXT("<url>"), TEXT("abcd")};
    tfm_tokenizer *t = small(), *kept = restricted(t, "e 5\n", 0, glossaries, 2), *more;

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(kept), 4 + 1 + 4);
    require_reversed(kept, TEXT("<url> abcde abcd<url> e"));
    more = restricted(kept, NULL, 0, &(tfm_text)LITERAL("xyz"), 1);
    require(more, "<url>xyz abcd", "<url>@@ xyz abcd");
    tfm_tokenizer_free(more);
    more = restricted(kept, "abcd 1\n", 0, NULL, 0); /* another vocabulary has them too */
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(more), 4 + 1 + 3);
    require_reversed(more, TEXT("<url> abcd<url>"));
    tfm_tokenizer_free(more);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(bad_glossaries_are_refused)
{
    static char name[1025][8];
    tfm_text many[1025];
    const tfm_text words[] = {TEXT("two words"), TEXT(""), TEXT("a"), TEXT("a"), TEXT("\xFF"), {NULL, 3}};
    tfm_tokenizer *t = small(), *bpe = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS), *kept = NULL;
    tfm_error error = {0};

    for (size_t i = 0; i < 1025; i++) {
        snprintf(name[i], sizeof name[i], "g%zu", i);
        many[i] = (tfm_text){name[i], strlen(name[i])};
    }
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, words, 1, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, words + 1, 1, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, words + 2, 2, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, words + 4, 1, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, words + 5, 1, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 0, many, 1025, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, NULL, 3, NULL, 0, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, bpe, NULL, 0, words + 2, 1, NULL, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_restrict(&kept, t, "/nowhere", 0, NULL, 0, NULL, &error), TFM_E_IO, error);
    ck_assert_ptr_null(kept);
    kept = restricted(t, NULL, 0, many, 1024);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(bpe);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- carrying ------ */

static tfm_tokenizer *both(const tfm_tokenizer *from)
{
    const tfm_text glossaries[] = {TEXT("<u\\l>"), TEXT("y")};

    return restricted(from, "ab@@ 2\nd 2\n", 2, glossaries, 2);
}

static const char file_text[] =
    "tfm-tokenizer 1 subword-nmt 10 tokens 7 merges restricted 2 glossaries\n<pad>\n<eos>\n<bos>\n"
    "<unk>\nab@@\nd\n<u\\\\l>\n<u\\\\l>@@\ny\ny@@\na b\nab c\nabc d</w>\nx <\n/ w\n/w >\n"
    "x< /w>\n<u\\\\l>\ny\n";

static void require_file(const tfm_tokenizer *t, const char *want, size_t size)
{
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};

    ck_assert_int_eq(tfm_tokenizer_to_text(t, &text, NULL), TFM_OK);
    ck_assert_msg(text.size == size && !memcmp(text.data, want, size), "%.*s", (int)text.size, text.data);
    tfm_buffer_free(&text);
}

/* A model file has the tokenizer in this form, and a model copies it. */
START_TEST(files_and_copies_carry_it)
{
    static const char line[] = "abcd<u\\l>abc xyz", want[] = "ab@@ c@@ d@@ <u\\l>@@ ab@@ c x@@ y@@ z";
    tfm_tokenizer *t = small(), *kept = both(t), *loaded = NULL, *copy = NULL;
    tfm_error error = {0};

    require(kept, line, want);
    require_file(kept, file_text, sizeof file_text - 1);
    ck_assert_ok(tfm_tokenizer_save(kept, path, &error), error);
    ck_assert_ok(tfm_tokenizer_load(&loaded, path, NULL, &error), error);
    require(loaded, line, want);
    ck_assert_ok(tfm_tokenizer_copy(&copy, loaded, NULL, &error), error);
    require(copy, line, want);
    require_file(copy, file_text, sizeof file_text - 1);
    tfm_tokenizer_free(copy);
    tfm_tokenizer_free(loaded);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
}
END_TEST

/* Each prefix is refused, and so is each changed byte, unless it makes the file of another tokenizer. */
START_TEST(damaged_files_are_survived)
{
    char bytes[sizeof file_text];

    memcpy(bytes, file_text, sizeof bytes);
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        tfm_tokenizer *t = NULL;
        ck_assert_int_eq(tfm_tokenizer_from_text(&t, (tfm_text){bytes, i}, NULL, NULL), TFM_E_FORMAT);
        for (const char *c = "\n\\ a9\xFF<01"; *c; c++) {
            bytes[i] = *c;
            const tfm_status status = tfm_tokenizer_from_text(&t, (tfm_text){bytes, sizeof bytes - 1}, NULL, NULL);
            ck_assert((status == TFM_OK) == (t != NULL));
            if (t) require_file(t, bytes, sizeof bytes - 1);
            if (t) free(segment(t, TEXT("abcd abcde ab<u\\l> zx</w>")).data);
            tfm_tokenizer_free(t);
        }
        bytes[i] = file_text[i];
    }
}
END_TEST

START_TEST(c34_each_failed_allocation_is_survived)
{
    const tfm_text glossaries[] = {TEXT("<url>"), TEXT("y")};
    char saved[TESTING_PATH];
    tfm_tokenizer *t = small();
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};
    size_t n;

    path_join(saved, folder, "saved");
    file_of(TEXT("ab@@ 2\nd 2\n"));
    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_tokenizer *kept = NULL, *loaded = NULL, *copy = NULL;
        status = tfm_tokenizer_restrict(&kept, t, path, 2, glossaries, 2, &a, &error);
        ck_assert((status == TFM_OK) == (kept != NULL));
        if (status == TFM_OK) status = tfm_tokenizer_save(kept, saved, &error);
        if (status == TFM_OK) status = tfm_tokenizer_load(&loaded, saved, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_copy(&copy, loaded, &a, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        tfm_tokenizer_free(copy);
        tfm_tokenizer_free(loaded);
        tfm_tokenizer_free(kept);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 20);
    tfm_tokenizer_free(t);
}
END_TEST

/* A word longer than the memory that needs no allocation, of pieces that are all split. */
START_TEST(long_words_are_split)
{
    enum { TIMES = 3000 };
    static char line[2 * TIMES], want[2 * TIMES * 4];
    tfm_tokenizer *t = small(), *kept = restricted(t, "q 1\n", 0, NULL, 0);
    size_t size = 0;

    for (size_t i = 0; i < sizeof line; i++) {
        line[i] = i % 2 ? 'b' : 'a';
        want[size++] = line[i];
        if (i + 1 < sizeof line) size += (size_t)snprintf(want + size, 4, "@@ ");
    }
    require_segments(kept, (tfm_text){line, sizeof line}, (tfm_text){want, size});
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("subword");
    TCase *c = tcase_create("subword");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, pieces_are_split_until_the_vocabulary_has_them);
    tcase_add_test(c, the_vocabulary_is_that_of_the_file);
    tcase_add_loop_test(c, bad_vocabularies_are_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(c, damaged_vocabularies_are_survived);
    tcase_add_test(c, glossaries_stay_whole);
    tcase_add_test(c, glossaries_are_in_the_vocabulary);
    tcase_add_test(c, bad_glossaries_are_refused);
    tcase_add_test(c, files_and_copies_carry_it);
    tcase_add_test(c, damaged_files_are_survived);
    tcase_add_test(c, c34_each_failed_allocation_is_survived);
    tcase_add_test(c, long_words_are_split);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
