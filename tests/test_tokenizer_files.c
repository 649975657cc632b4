/* Tokenizer files: what is saved comes back, and whatever else is in a file is refused with a reason. */
#include "tokenizers.h"

#include "format/safetensors.h"
#include "text/tokenizer.h"

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

    ck_assert_ok(tfm_tokenizer_to_text(a, &x, &error), error);
    ck_assert_ok(tfm_tokenizer_to_text(b, &y, &error), error);
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

    ck_assert_ok(tfm_tokenizer_save(t, path_join(path, folder, "saved"), &error), error);
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
        const tfm_text tokens[] = {TEXT("\n"), TEXT("\r"),           TEXT("\xC2\xA0"), TEXT("\\"),
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

/* ---------------------------------------------------------------------------------------------------- the text ---- */

#define SUBWORD(tokens, merges) "tfm-tokenizer 1 subword-nmt " tokens " tokens " merges " merges\n"
#define BPE(tokens) "tfm-tokenizer 1 bpe " tokens " tokens 0 merges\n"
#define SPECIALS "<pad>\n<eos>\n<bos>\n<unk>\n"

/* As doc/format.md has it: a token a line, a merge a line, and three escapes. */
START_TEST(the_text_is_as_documented)
{
    const tfm_text text =
        TEXT(SUBWORD("9", "3") SPECIALS "\\n\n\\\\n\n\\r\\\\\na@@\n\xC3\xA4\na b\n\\n \\\\</w>\n\\r n\n");
    const tfm_text tokens[] = {TEXT("\n"), TEXT("\\n"), TEXT("\r\\"), TEXT("a@@"), TEXT("\xC3\xA4")};
    tfm_buffer again = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_load(&t, file_of(text), NULL, &error), error);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), 9);
    for (int32_t i = 0; i < 5; i++) ck_assert_int_eq(tfm_tokenizer_id(t, tokens[i]), 4 + i);
    require_segments(t, TEXT("ab aba \n\\"), TEXT("a@@ b ab@@ a \n\\"));
    ck_assert_ok(tfm_tokenizer_to_text(t, &again, &error), error);
    ck_assert_uint_eq(again.size, text.size);
    ck_assert_mem_eq(again.data, text.data, text.size);
    tfm_buffer_free(&again);
    tfm_tokenizer_free(t);
}
END_TEST

static const struct {
    tfm_text bytes;
    int status;
    const char *reason;
} bad_files[] = {
    {LITERAL("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"), TFM_E_FORMAT, "Git LFS pointer"}, /* c30 */
    {LITERAL("<!DOCTYPE html><html>"), TFM_E_FORMAT, "web page"},
    {LITERAL(""), TFM_E_FORMAT, "empty"},
    {LITERAL("abc"), TFM_E_FORMAT, "too short"},
    {LITERAL("{\"type\":\"bpe\",\"version\":1}"), TFM_E_FORMAT,
     "no tokenizer begins like this: give one that was saved here"},
    {LITERAL("tfm-tokenizers 1 bpe"), TFM_E_FORMAT, "or BERT ([PAD] first), or a model"},
    {LITERAL("#version: 0.2\nt h\n"), TFM_E_FORMAT, "a codes file of subword-nmt has no vocabulary: import it"},
    {LITERAL("tfm-tokenizer 1 bpe 260 tokens 0 merges cased\n"), TFM_E_FORMAT, "line 1: \"tfm-tokenizer 1 bpe 260"},
    {LITERAL("tfm-tokenizer 1 bert 2 tokens 0 merges case\n[UNK]\na\n"), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL("tfm-tokenizer 1 bert 2 tokens 0 merges cased cased\n[UNK]\na\n"), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL("tfm-tokenizer 1 bpe"), TFM_E_FORMAT, "line 1: the end is missing"},
    {LITERAL("tfm-tokenizer \n"), TFM_E_UNSUPPORTED, "line 1: version \"\", only 1 is known"},
    {LITERAL("tfm-tokenizer 2 bpe 260 tokens 0 merges\n"), TFM_E_UNSUPPORTED, "version \"2\", only 1 is known"},
    {LITERAL("tfm-tokenizer 1 unigram 4 tokens 0 merges\n"), TFM_E_UNSUPPORTED,
     "kind \"unigram\", only bpe, subword-nmt, wordpiece and bert are known"},
    {LITERAL("tfm-tokenizer 1\n"), TFM_E_UNSUPPORTED, "kind \"\""},
    {LITERAL("tfm-tokenizer 1 bpe\n"), TFM_E_FORMAT, "is not \"tfm-tokenizer 1 KIND NUMBER tokens NUMBER merges\""},
    {LITERAL(SUBWORD("", "0")), TFM_E_FORMAT, "line 1: \"tfm-tokenizer 1 subword-nmt  tokens 0 merges\" is not"},
    {LITERAL(SUBWORD("-4", "0")), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL(SUBWORD("04", "0")), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL(SUBWORD("4", "0x1")), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL(SUBWORD("4", "18446744073709551616")), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL(SUBWORD("4", "0 merges")), TFM_E_FORMAT, "KIND NUMBER"},
    {LITERAL(SUBWORD("3", "0") SPECIALS), TFM_E_FORMAT, "line 1: 3 tokens, not in 4..16777216"},
    {LITERAL(SUBWORD("16777217", "0") SPECIALS), TFM_E_FORMAT, "16777217 tokens, not in 4..16777216"},
    {LITERAL(BPE("259") SPECIALS), TFM_E_FORMAT, "259 tokens, not in 260..16777216"},
    {LITERAL(BPE("260") SPECIALS), TFM_E_FORMAT, "260 tokens and 0 merges take at least 520 bytes, 24 follow"},
    {LITERAL(SUBWORD("4", "4") SPECIALS), TFM_E_FORMAT, "line 6: the end is missing"},
    {LITERAL(SUBWORD("4", "5") SPECIALS), TFM_E_FORMAT, "4 tokens and 5 merges take at least 28 bytes, 24 follow"},
    {LITERAL(SUBWORD("4", "4294967295") SPECIALS), TFM_E_FORMAT, "take at least 17179869188 bytes, 24 follow"},
    {LITERAL(SUBWORD("5", "0") SPECIALS), TFM_E_FORMAT, "line 6: the end is missing"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "ab"), TFM_E_FORMAT, "line 6: the end is missing"},
    {LITERAL(SUBWORD("4", "0") SPECIALS "\n"), TFM_E_FORMAT, "line 5: 1 bytes follow the last line"},
    {LITERAL(SUBWORD("4", "0") "<eos>\n<pad>\n<bos>\n<unk>\n"), TFM_E_FORMAT,
     "line 2: token 0 of the vocabulary is not <pad>"},
    {LITERAL(SUBWORD("7", "0") SPECIALS "a\nb\na\n"), TFM_E_FORMAT,
     "line 8: token 6 of the vocabulary is the same as token 4"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "<pad>\n"), TFM_E_FORMAT,
     "line 6: token 4 of the vocabulary is the same as token 0"},
    {LITERAL(SUBWORD("6", "0") SPECIALS "\nab\n"), TFM_E_FORMAT,
     "line 6: token 4 of the vocabulary is empty or has a space"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "a b\n"), TFM_E_FORMAT,
     "line 6: token 4 of the vocabulary is empty or has a space"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "ab\\tc\n"), TFM_E_FORMAT,
     "line 6: a backslash at column 3 without n, r or \\"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "ab\\\n"), TFM_E_FORMAT, "line 6: a backslash at column 3"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "\xED\xA0\x80\n"), TFM_E_FORMAT, "line 6: not UTF-8 at byte 70"},
    {LITERAL("tfm-tokenizer 1 subword-nmt 4 tokens 0 merges\r\n<pad>\r\n"), TFM_E_FORMAT,
     "line 1: 4 tokens and 0 merges take at least 8 bytes, 7 follow"},
    {LITERAL("tfm-tokenizer 1 subword-nmt 4 tokens 0 merges\n<pad>\r"), TFM_E_FORMAT,
     "line 2: a carriage return at byte 51, not at the"},
    {LITERAL(SUBWORD("5", "0") SPECIALS "a\rb\n"), TFM_E_FORMAT, "line 6: a carriage return at byte 71"},
    {LITERAL(SUBWORD("4", "1") SPECIALS "abc\n"), TFM_E_FORMAT, "line 6: merge 1 is not two pieces"},
    {LITERAL(SUBWORD("4", "1") SPECIALS " bc\n"), TFM_E_FORMAT, "line 6: merge 1 is not two pieces"},
    {LITERAL(SUBWORD("4", "2") SPECIALS "a b\nab \n"), TFM_E_FORMAT, "line 7: merge 2 is not two pieces"},
    {LITERAL(SUBWORD("4", "1") SPECIALS "a b c\n"), TFM_E_FORMAT, "line 6: merge 1 is not two pieces"},
    {LITERAL(SUBWORD("4", "2") SPECIALS "a b\nabc d\n"), TFM_E_FORMAT,
     "line 7: merge 2 has a part that no earlier merge makes"},
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
#define SECOND "\n" SPACE "a b\n" /* the second merge below */

/* Loads what a replacement makes of a saved reversible tokenizer; returns the status. */
static tfm_status load_changed(const tfm_tokenizer *t, const char *from, const char *to, tfm_error *error)
{
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)}, changed = text;
    tfm_tokenizer *again = NULL;

    ck_assert_int_eq(tfm_tokenizer_to_text(t, &text, error), TFM_OK);
    tfm_buffer_append(&text, "", 1);
    const char *at = strstr(text.data, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, text.data);
    tfm_buffer_append(&changed, text.data, (size_t)(at - text.data));
    tfm_buffer_append(&changed, to, strlen(to));
    tfm_buffer_append(&changed, at + strlen(from), text.size - 1 - (size_t)(at - text.data) - strlen(from));
    const tfm_status status = tfm_tokenizer_from_text(&again, (tfm_text){changed.data, changed.size}, NULL, error);
    ck_assert((status == TFM_OK) == (again != NULL));
    tfm_tokenizer_free(again);
    tfm_buffer_free(&text);
    tfm_buffer_free(&changed);
    return status;
}

START_TEST(merges_must_fit_the_vocabulary)
{
    const tfm_text texts[] = {TEXT("ab ab"), TEXT("<0x41> ab abc abc")};
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 400, texts, 2);
    tfm_error error = {0};

    ck_assert_int_eq(load_changed(t, SECOND, SECOND, &error), TFM_OK);
    ck_assert_int_eq(load_changed(t, SECOND, "\n" SPACE "a z\n", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the right part of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, SECOND, "\nb " SPACE "a\n", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the result of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, SECOND, "\n<pad> b\n", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "the left part of merge 2 is not a piece of the vocabulary"));
    ck_assert_int_eq(load_changed(t, "\n<0x41>\n", "\n<0x42>\n", &error), TFM_E_FORMAT);
    ck_assert(strstr(error.message, "token 69 of the vocabulary is not <0x41>"));
    tfm_tokenizer_free(t);
}
END_TEST

/* The tokenizer's text is want but for carriage returns at the ends of its lines. */
static void require_text(const tfm_tokenizer *t, tfm_text want)
{
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};
    size_t n = 0;

    ck_assert_ok(tfm_tokenizer_to_text(t, &text, &error), error);
    for (size_t i = 0; i < want.size; i++)
        if (want.data[i] != '\r' && (n == text.size || text.data[n++] != want.data[i]))
            ck_abort_msg("byte %zu differs", i);
    ck_assert_uint_eq(n, text.size);
    tfm_buffer_free(&text);
}

/* Each prefix is refused, and so is each changed byte, unless it makes the text of another tokenizer. */
START_TEST(damaged_text_is_survived)
{
    const tfm_text line = TEXT("ab ab");
    tfm_tokenizer *t = learn((uint32_t)_i, _i ? 2 : 264, &line, 1);
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_text(t, &text, &error), error);
    for (size_t i = 0; i < text.size; i++) {
        tfm_tokenizer *again = NULL;
        if (tfm_tokenizer_from_text(&again, (tfm_text){text.data, i}, NULL, &error) != TFM_E_FORMAT || again)
            ck_abort_msg("%zu of %zu bytes are loaded", i, text.size);
        const char old = text.data[i];
        for (const char *c = "\n\r\\ a9\xFF<0"; *c; c++) {
            text.data[i] = *c;
            const tfm_status status = tfm_tokenizer_from_text(&again, (tfm_text){text.data, text.size}, NULL, &error);
            if ((status == TFM_OK) != (again != NULL)) ck_abort_msg("status %d", status);
            if (again) require_text(again, (tfm_text){text.data, text.size});
            tfm_tokenizer_free(again);
        }
        text.data[i] = old;
    }
    tfm_buffer_free(&text);
    tfm_tokenizer_free(t);
}
END_TEST

/* Numbers of tokens or merges that the file has just the bytes for; a power of two and one more, where tables are
 * widest. */
START_TEST(c32_a_file_takes_memory_of_its_size)
{
    const size_t n = (1 << 15) + 1, follow = n * (_i ? 4 : 2);
    char *bytes = calloc(1, follow + 100);
    faulty f = {.fail_at = SIZE_MAX};
    const tfm_allocator a = faulty_allocator(&f);
    tfm_tokenizer *t;
    tfm_error error = {0};

    ck_assert_ptr_nonnull(bytes);
    const int head = snprintf(bytes, 100, "tfm-tokenizer 1 subword-nmt %zu tokens %zu merges\n" SPECIALS,
                              _i ? 4 : n + 4, _i ? n : 0);
    memset(bytes + head, '\n', follow);
    const tfm_text text = {bytes, (size_t)head + follow};
    ck_assert_status(tfm_tokenizer_from_text(&t, text, &a, &error), TFM_E_FORMAT, error);
    ck_assert_msg(strstr(error.message, "line 6: ") != NULL, "%s", error.message); /* the numbers were believed */
    ck_assert_msg(f.peak <= 32 * text.size, "%zu bytes for a file of %zu", f.peak, text.size);
    ck_assert_uint_eq(f.live, 0);
    free(bytes);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ model files ---- */

START_TEST(a_model_file_has_a_tokenizer)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 12, corpus, CORPUS), *again = NULL;
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    char path[TESTING_PATH];
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_text(t, &text, &error), error);
    path_join(path, folder, "model");
    const struct {
        tfm_tensor tensor;
        const char *reason; /* NULL: it is loaded */
    } cases[] = {
        {{"tokenizer", TFM_U8, 1, {text.size}, text.data, text.size}, NULL},
        {{"tokenizer", TFM_I8, 1, {text.size}, text.data, text.size}, "is I8 of rank 1, not U8 of rank 1"},
        {{"tokenizer", TFM_U8, 2, {1, text.size}, text.data, text.size}, "is U8 of rank 2, not U8 of rank 1"},
        {{"tokenizer", TFM_U8, 1, {text.size - 1}, text.data, text.size - 1}, "the end is missing"},
        {{"tokenizers", TFM_U8, 1, {text.size}, text.data, text.size}, "the model has no tokenizer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_ok(tfm_safetensors_save(path, &cases[i].tensor, 1, NULL, 0, NULL, &error), error);
        const tfm_status status = tfm_tokenizer_load(&again, path, NULL, &error);
        ck_assert_int_eq(status, cases[i].reason ? TFM_E_FORMAT : TFM_OK);
        if (cases[i].reason) ck_assert_msg(strstr(error.message, cases[i].reason) != NULL, "%s", error.message);
        else require_equal(t, again);
        tfm_tokenizer_free(again);
    }
    tfm_buffer_free(&text);
    tfm_tokenizer_free(t);
}
END_TEST

/* ----------------------------------------------------------------------------------------------- failing calls ---- */

/* Of the kind bpe with tokens that are escaped. */
START_TEST(c34_each_failed_allocation_is_survived)
{
    tfm_tokenizer *t = _i ? learn(TFM_TOKENIZER_SUBWORD_NMT, 12, corpus, CORPUS)
                          : learn(TFM_TOKENIZER_BPE, 330, strange, STRANGE);
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
    tcase_add_test(c, the_text_is_as_documented);
    tcase_add_loop_test(c, bad_files_are_refused, 0, sizeof bad_files / sizeof *bad_files);
    tcase_add_test(c, merges_must_fit_the_vocabulary);
    tcase_add_loop_test(c, damaged_text_is_survived, 0, 2);
    tcase_add_loop_test(c, c32_a_file_takes_memory_of_its_size, 0, 2);
    tcase_add_test(c, a_model_file_has_a_tokenizer);
    tcase_add_loop_test(c, c34_each_failed_allocation_is_survived, 0, 2);
    tcase_add_test(c, files_that_cannot_be_used);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
