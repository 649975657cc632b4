/* The subwords of tensor2tensor: learned, cut, joined, in files, and the behaviours asked of every kind. */
#include "tokenizers.h"

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

static tfm_tokenizer *small(void)
{
    return learn(TFM_TOKENIZER_WORDPIECE, 60, corpus, CORPUS);
}

static tfm_status from_text(tfm_tokenizer **t, tfm_text text, tfm_error *error)
{
    return tfm_tokenizer_from_text(t, text, NULL, error);
}

#define REST "'\\\\'\n'_'\n'u'\n';'\n'0'\n'1'\n'2'\n'3'\n'4'\n'5'\n'6'\n'7'\n'8'\n'9'\n"

/* A file as tensor2tensor writes it: quotes of either kind, and a space within. */
static const char file[] = "'<pad>_'\n'<EOS>_'\n'ab_'\n\"a\"\n'b'\n' '\n', _'\n','\n'<'\n'>'\n'p'\n'd'\n'E'\n'O'\n'S'\n"
                           "'\\'\n'_'\n'u'\n';'\n'0'\n'1'\n'2'\n'3'\n'4'\n'5'\n'6'\n'7'\n'8'\n'9'\n";

/* A token comes twice, and "a", "b" and "u" only within others. */
static const char twice[] = "'<pad>_'\n'<EOS>_'\n'ab_'\n'bu'\n'ab_'\n'\\'\n'_'\n';'\n'0'\n'1'\n'2'\n'3'\n'4'\n'5'\n"
                            "'6'\n'7'\n'8'\n'9'\n";

static const struct {
    const char *line, *pieces;
} cuts[] = {
    {"ab", "ab_"},
    {"abab", "a b ab_"},
    {"ab, ab", "ab_ ,\\32;_ ab_"},
    {"ab ab", "ab_ ab_"},            /* a space between words is not there */
    {" ab ", "\\32; _ ab_ \\32; _"}, /* but at the ends it is              */
    {"a_b", "a _ \\ u _ b _"},
    {"az", "a \\ 1 2 2 ; _"}, /* no token: its code                 */
    {"", ""},
};

START_TEST(words_are_cut_into_the_longest_pieces)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(from_text(&t, (tfm_text){file, sizeof file - 1}, &error), error);
    require_segments(t, (tfm_text){cuts[_i].line, strlen(cuts[_i].line)},
                     (tfm_text){cuts[_i].pieces, strlen(cuts[_i].pieces)});
    require_reversed(t, (tfm_text){cuts[_i].line, strlen(cuts[_i].line)});
    tfm_tokenizer_free(t);
}
END_TEST

/* The id that comes first is that of a token, and characters that no token fits are spelt by their codes: where "u" is
 * no token, "_", too. */
START_TEST(tokens_may_come_twice_and_characters_only_within)
{
    const int32_t want[] = {2, 3, 6};
    tfm_tokenizer *t = NULL, *copy = NULL, *saved = NULL;
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(from_text(&t, (tfm_text){twice, sizeof twice - 1}, &error), error);
    ck_assert_ok(tfm_tokenizer_copy(&copy, t, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_to_text(copy, &text, &error), error);
    ck_assert_ok(from_text(&saved, (tfm_text){text.data, text.size}, &error), error);
    for (int i = 0; i < 3; i++) {
        const tfm_tokenizer *one = i == 0 ? t : i == 1 ? copy : saved;
        const tfm_ids ids = encode(one, TEXT("ab bu"));
        ck_assert_uint_eq(tfm_tokenizer_vocab_size(one), 18);
        ck_assert(tfm_tokenizer_token(one, 4).size == 3 && !memcmp(tfm_tokenizer_token(one, 4).data, "ab_", 3));
        ck_assert(ids.size == 3 && !memcmp(ids.data, want, sizeof want));
        free((void *)(uintptr_t)ids.data);
        require_segments(one, TEXT("aub"), TEXT("\\ 9 7 ; \\ 1 1 7 ; \\ 9 8 ; _"));
        require_segments(one, TEXT("_z"), TEXT("\\ 9 5 ; _ \\ 1 2 2 ; _"));
        require_reversed(one, TEXT("aub, _z\\u abu"));
    }
    tfm_buffer_free(&text);
    tfm_tokenizer_free(saved);
    tfm_tokenizer_free(copy);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(special_ids)
{
    tfm_tokenizer *t = small();
    tfm_special_ids s;

    tfm_tokenizer_special(&s, t);
    ck_assert(s.pad == TFM_PAD && s.eos == TFM_EOS && s.bos == -1 && s.unk == -1);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("no such token")), -1);
    const blob b = decode(t, (tfm_ids){(const int32_t[]){0, 1}, 2});
    ck_assert_uint_eq(b.size, 0);
    free(b.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* What is no escape is text; a code that is no character is U+3013. */
START_TEST(escapes_are_undone)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};
    int32_t ids[16];
    const struct {
        const char *pieces, *text;
    } cases[] = {{"\\122;_", "z"},
                 {"\\1114112;_", "\xE3\x80\x93"},
                 {"\\55296;_", "\xE3\x80\x93"},
                 {"\\12_", "\\12"},
                 {"\\;_", "\\;"},
                 {"\\u\\\\_", "_\\"},
                 {"___", ""},
                 {"\\", "\\"}};

    ck_assert_ok(from_text(&t, (tfm_text){file, sizeof file - 1}, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        for (const char *c = cases[i].pieces; *c; c++) ids[n++] = tfm_tokenizer_id(t, (tfm_text){c, 1});
        const blob b = decode(t, (tfm_ids){ids, n});
        ck_assert_str_eq(b.data, cases[i].text);
        free(b.data);
    }
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c01_c03_c04_every_text_comes_back)
{
    tfm_tokenizer *t = small();

    require_reversed(t, TEXT("aZb"));
    require_reversed(t, TEXT("k\xE2\x80\x8Dk k\xE2\x80\x8C"
                             "b \xC5\x89"));
    require_reversed(t, TEXT("a\0b"));
    require_reversed(t, TEXT("a\xE2\x80\xA8"
                             "b\xC2\x85\n \\ \\u _ \\12; <pad> <EOS> <pad>_"));
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c06_the_order_of_lines_does_not_matter)
{
    const tfm_text turned[CORPUS] = {corpus[3], corpus[1], corpus[0], corpus[2]};
    tfm_tokenizer *a = small(), *b = learn(TFM_TOKENIZER_WORDPIECE, 60, turned, CORPUS);

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(a), tfm_tokenizer_vocab_size(b));
    for (int32_t id = 0; id < (int32_t)tfm_tokenizer_vocab_size(a); id++) {
        const tfm_text x = tfm_tokenizer_token(a, id), y = tfm_tokenizer_token(b, id);
        ck_assert(x.size == y.size && !memcmp(x.data, y.data, x.size));
    }
    tfm_tokenizer_free(a);
    tfm_tokenizer_free(b);
}
END_TEST

/* A long word takes a time by its length and that of the longest token, not by the square of that too. */
START_TEST(a_long_token_takes_no_longer)
{
    enum { LONG = 5000, N = 20000 };
    static char vocabulary[sizeof file + LONG + 8], line[N];
    tfm_tokenizer *t;
    tfm_error error = {0};
    size_t n;

    memset(line, 'a', N);
    const int size = snprintf(vocabulary, sizeof vocabulary, "%s'%.*sb'\n", file, LONG, line);
    ck_assert_ok(from_text(&t, (tfm_text){vocabulary, (size_t)size}, &error), error);
    alarm(60); /* four minutes if each beginning were hashed from its first byte */
    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &n, t, (tfm_text){line, N}, &error), error);
    alarm(0);
    ck_assert_uint_eq(n, N + 1);
    tfm_tokenizer_free(t);
}
END_TEST

/* Words of 254 letters, which with its end is the longest token, and of 300 of two bytes each, which is none. */
START_TEST(tokens_have_a_longest_size)
{
    char line[254 + 1 + 600];
    uint32_t random = 1;
    size_t longest = 0;

    for (size_t i = 0; i < sizeof line; i += 1 + (i > 254)) {
        random = random * 1103515245u + 12345;
        const char letter = (char)(random >> 16 & 15);
        if (i < 254) line[i] = (char)('a' + letter);
        else if (i > 254) line[i] = '\xC3', line[i + 1] = (char)(0xA0 + letter);
        else line[i] = ' ';
    }
    tfm_text copies[1000]; /* so many that no least count leaves the long ones out */
    for (size_t i = 0; i < 1000; i++) copies[i] = (tfm_text){line, sizeof line};
    tfm_tokenizer *t = learn(TFM_TOKENIZER_WORDPIECE, 60, copies, 1000);
    for (int32_t id = 0; id < (int32_t)tfm_tokenizer_vocab_size(t); id++) {
        const tfm_text token = tfm_tokenizer_token(t, id);
        ck_assert_uint_le(token.size, 255);
        ck_assert_uint_eq(tfm_utf8_check(token), SIZE_MAX);
        if (token.size > longest) longest = token.size;
    }
    ck_assert_uint_eq(longest, 255);
    tfm_tokenizer_free(t);
}
END_TEST

static void require_equal(const tfm_tokenizer *a, const tfm_tokenizer *b)
{
    tfm_buffer x = {.allocator = tfm_allocator_or_default(NULL)}, y = x;

    ck_assert_int_eq(tfm_tokenizer_to_text(a, &x, NULL), TFM_OK);
    ck_assert_int_eq(tfm_tokenizer_to_text(b, &y, NULL), TFM_OK);
    ck_assert(x.size == y.size && !memcmp(x.data, y.data, x.size));
    const tfm_text line = TEXT("the newest, <pad> Z");
    const blob pieces = segment(a, line);
    require_segments(b, line, (tfm_text){pieces.data, pieces.size});
    free(pieces.data);
    tfm_buffer_free(&x);
    tfm_buffer_free(&y);
}

START_TEST(c05_files_keep_it)
{
    const tfm_text strange = TEXT("a\xE2\x80\xA8"
                                  "b \xC2\x85 a\xE2\x80\xA8"
                                  "b \r\r");
    tfm_tokenizer *t = _i ? learn(TFM_TOKENIZER_WORDPIECE, 60, &strange, 1) : small(), *again = NULL;
    char path[TESTING_PATH];
    tfm_error error = {0};

    path_join(path, folder, "tokenizer");
    ck_assert_ok(tfm_tokenizer_save(t, path, &error), error);
    ck_assert_ok(tfm_tokenizer_load(&again, path, NULL, &error), error);
    require_equal(t, again);
    tfm_tokenizer_free(again);
    ck_assert_ok(tfm_tokenizer_export(t, path, &error), error);
    ck_assert_ok(tfm_tokenizer_load(&again, path, NULL, &error), error);
    require_equal(t, again);
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(t);
}
END_TEST

static const struct {
    tfm_text file;
    const char *reason;
} bad[] = {
    {LITERAL("'a'\n'b'\n" REST), "the character \\ is not a token"},
    {LITERAL("'<pad>_'\n'<EOS>_'\n'x"), "line 3: no token in quotes"},
    {LITERAL("'<pad>_'\n''\n"), "line 2: no token in quotes"},
    {LITERAL("'\xFF'\n"), "not UTF-8 at byte 1"},
    {LITERAL("tfm-tokenizer 1 wordpiece 2 tokens 0 merges\na\nb\n"), "is not a token: some text could not be cut"},
    {LITERAL("tfm-tokenizer 1 wordpiece 2 tokens 1 merges\na\nb\na b\n"), "not a piece"},
    {LITERAL("tfm-tokenizer 1  2 tokens 0 merges\na\nb\n"), "kind \"\""},
};

START_TEST(bad_files_are_refused)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};
    const tfm_status status = from_text(&t, bad[_i].file, &error);

    ck_assert(status == TFM_E_FORMAT || status == TFM_E_UNSUPPORTED);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(error.message, bad[_i].reason) != NULL || _i == 5, "%s", error.message);
}
END_TEST

/* Each prefix and each changed byte: refused, or a tokenizer that gives every text back. */
START_TEST(damaged_files_are_survived)
{
    tfm_tokenizer *t = small();
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_to_text(t, &text, &error), error);
    if (_i) {
        text.size = 0;
        tfm_buffer_append(&text, _i == 1 ? file : twice, _i == 1 ? sizeof file - 1 : sizeof twice - 1);
    }
    for (size_t i = 0; i < text.size; i++) {
        tfm_tokenizer *again = NULL;
        const char old = text.data[i];
        if (from_text(&again, (tfm_text){text.data, i}, &error) == TFM_OK) require_reversed(again, TEXT("ab, Z_"));
        tfm_tokenizer_free(again);
        for (const char *c = "\n\r\\ a9\xFF<0'_"; *c; c++) {
            text.data[i] = *c;
            const tfm_status status = from_text(&again, (tfm_text){text.data, text.size}, &error);
            if ((status == TFM_OK) != (again != NULL)) ck_abort_msg("status %d", status);
            if (again && tfm_tokenizer_kind(again) == TFM_TOKENIZER_WORDPIECE) require_reversed(again, TEXT("ab, Z_"));
            tfm_tokenizer_free(again);
        }
        text.data[i] = old;
    }
    tfm_buffer_free(&text);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(c34_each_failed_allocation_is_survived)
{
    const tfm_text line = TEXT("ab cd ab");
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};
    tfm_tokenizer_options o;
    char path[TESTING_PATH];
    size_t n;

    path_join(path, folder, "tokenizer");
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = TFM_TOKENIZER_WORDPIECE;
    o.vocab_size = 26; /* what the first attempt makes: there is no second one to wait for */
    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_tokenizer *t = NULL, *copy = NULL, *loaded = NULL, *other = NULL;
        int32_t ids[64];
        size_t size;
        o.allocator = &a;
        status = tfm_tokenizer_learn(&t, &o, &line, 1, &error);
        if (status == TFM_OK) status = tfm_tokenizer_copy(&copy, t, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_export(copy, path, &error);
        if (status == TFM_OK) status = tfm_tokenizer_load(&loaded, path, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_from_text(&other, (tfm_text){twice, sizeof twice - 1}, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_encode(ids, 64, &size, loaded, line, &error);
        if (status == TFM_OK) status = tfm_tokenizer_decode(NULL, 0, &size, loaded, (tfm_ids){ids, size}, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        f.fail_at = SIZE_MAX;
        tfm_tokenizer_free(t);
        tfm_tokenizer_free(copy);
        tfm_tokenizer_free(loaded);
        tfm_tokenizer_free(other);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 50);
}
END_TEST

/* A model for it starts from the zero vector, as tensor2tensor's do, and has its special ids. */
START_TEST(a_model_starts_from_zero)
{
    tfm_tokenizer *t = small();
    tfm_model_options o;
    tfm_model *model = NULL;
    tfm_error error = {0};

    tfm_model_options_init(&o, sizeof o);
    ck_assert_ok(tfm_model_options_preset(&o, "tiny", &error), error);
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    tfm_model_get_options(&o, sizeof o, model);
    ck_assert(o.start == TFM_START_ZERO && o.eos_id == TFM_EOS && o.pad_id == TFM_PAD && o.bos_id == TFM_EOS);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("wordpiece");
    TCase *c = tcase_create("wordpiece");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, words_are_cut_into_the_longest_pieces, 0, sizeof cuts / sizeof *cuts);
    tcase_add_test(c, tokens_may_come_twice_and_characters_only_within);
    tcase_add_test(c, special_ids);
    tcase_add_test(c, escapes_are_undone);
    tcase_add_test(c, c01_c03_c04_every_text_comes_back);
    tcase_add_test(c, c06_the_order_of_lines_does_not_matter);
    tcase_add_test(c, a_long_token_takes_no_longer);
    tcase_add_test(c, tokens_have_a_longest_size);
    tcase_add_loop_test(c, c05_files_keep_it, 0, 2);
    tcase_add_loop_test(c, bad_files_are_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(c, damaged_files_are_survived, 0, 3);
    tcase_add_test(c, c34_each_failed_allocation_is_survived);
    tcase_add_test(c, a_model_starts_from_zero);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
