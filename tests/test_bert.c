/* BERT's word-pieces: words, pieces, files, and the behaviours asked of every kind. */
#include "tokenizers.h"

#include "text/bert.h"

static const char file[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n##b\n##c\nab\n,\n\xE5\x8D\x9A\nstra\xC3\x9F\n##e\n.\n\xC2\x85";

static tfm_tokenizer *small(void)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_from_text(&t, (tfm_text){file, sizeof file - 1}, NULL, &error), error);
    ck_assert_uint_eq(tfm_tokenizer_kind(t), TFM_TOKENIZER_BERT);
    return t;
}

static const struct {
    const char *line, *pieces;
} cuts[] = {
    {"abc AB", "ab ##c ab"},
    {"\xC3\x84, b", "a , b"}, /* no accents, no capitals         */
    {"a\xE5\x8D\x9A"
     "b",
     "a \xE5\x8D\x9A b"}, /* Chinese characters are words    */
    {"Stra\xC3\x9F"
     "e.",
     "stra\xC3\x9F ##e ."},
    {"ax b", "[UNK] b"}, /* all of a word, or nothing of it */
    {"a\xE2\x80\x8D"
     "b a\xE2\x80\xA8"
     "b",
     "ab a b"},                     /* joiners go, separators part     */
    {"[CLS]", "[UNK] [UNK] [UNK]"}, /* specials are no text            */
    {" \t\n", ""},
};

START_TEST(words_are_cut_into_the_longest_pieces)
{
    tfm_tokenizer *t = small();

    require_segments(t, (tfm_text){cuts[_i].line, strlen(cuts[_i].line)},
                     (tfm_text){cuts[_i].pieces, strlen(cuts[_i].pieces)});
    tfm_tokenizer_free(t);
}
END_TEST

/* Python's lower() of what BERT keeps: a sigma is final where no letter follows but for marks. */
static const struct {
    const char *line, *words;
} sigmas[] = {
    {"\xCE\x91\xCE\xA3", "\xCE\xB1\xCF\x82 "},
    {"\xCE\xA3", "\xCF\x83 "},
    {"\xCE\x91\xCE\xA3\xE2\x80\x8D\xCE\x91", "\xCE\xB1\xCF\x83\xCE\xB1 "}, /* a joiner is dropped  */
    {"\xCE\x91\xCE\xA3\xCC\x81\xCE\x91", "\xCE\xB1\xCF\x83\xCE\xB1 "},     /* an accent is skipped */
    {"\xCE\x91\xCC\x81\xCE\xA3", "\xCE\xB1\xCF\x82 "},
    {"\xCE\x91\xCE\xA3\xE5\x8D\x9A", "\xCE\xB1\xCF\x82 \xE5\x8D\x9A "},
};

START_TEST(sigma_is_final_as_in_python)
{
    tfm_buffer words = {.allocator = tfm_allocator_or_default(NULL)};

    tfm_bert_words((tfm_text){sigmas[_i].line, strlen(sigmas[_i].line)}, false, &words);
    ck_assert_uint_eq(words.size, strlen(sigmas[_i].words));
    ck_assert_mem_eq(words.data, sigmas[_i].words, words.size);
    tfm_buffer_free(&words);
}
END_TEST

START_TEST(special_ids)
{
    tfm_tokenizer *t = small();
    tfm_special_ids s;

    tfm_tokenizer_special(&s, t);
    ck_assert(s.pad == 0 && s.unk == 1 && s.bos == 2 && s.eos == 3);
    const blob b = decode(t, (tfm_ids){(const int32_t[]){2, 4, 6, 1, 3, 0}, 6});
    ck_assert_str_eq(b.data, "ab \xE2\x81\x87");
    free(b.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* A word is the unit: of one that is unknown nothing is kept, and there is a space where it was cut. */
START_TEST(c01_what_is_unknown_is_stable)
{
    tfm_tokenizer *t = small();
    const blob once = there_and_back(t, TEXT("a Z b"));
    const blob twice = there_and_back(t, (tfm_text){once.data, once.size});

    ck_assert_str_eq(once.data, "a \xE2\x81\x87 b");
    ck_assert_str_eq(twice.data, once.data);
    free(once.data);
    free(twice.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* NUL is dropped as its rules say, and does not end the text. */
START_TEST(c04_nul_does_not_end_a_text)
{
    tfm_tokenizer *t = small();

    require_segments(t, TEXT("a\0b"), TEXT("ab"));
    tfm_tokenizer_free(t);
}
END_TEST

/* Capitals and accents stay, and punctuation and Chinese characters still part; files and copies keep that. */
START_TEST(a_cased_vocabulary_keeps_case)
{
    static const char cased[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nAb\nab\n##\xC3\x84\n.\n\xE5\x8D\x9A\n\xCE\xA3\n";
    const tfm_text line = TEXT("Ab ab\xC3\x84.AB \xCE\xA3\xE5\x8D\x9A"
                               "Ab");
    const tfm_text pieces = TEXT("Ab ab ##\xC3\x84 . [UNK] \xCE\xA3 \xE5\x8D\x9A Ab");
    tfm_tokenizer *t = NULL, *kept = NULL, *again = NULL, *copy = NULL;
    tfm_buffer text = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_from_text(&t, (tfm_text){cased, sizeof cased - 1}, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_keep_case(&kept, t, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_copy(&copy, kept, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_to_text(kept, &text, &error), error);
    ck_assert_ok(tfm_tokenizer_from_text(&again, (tfm_text){text.data, text.size}, NULL, &error), error);
    require_segments(kept, line, pieces);
    require_segments(copy, line, pieces);
    require_segments(again, line, pieces);
    require_segments(t, TEXT("Ab"), TEXT("ab"));
    tfm_buffer_free(&text);
    tfm_tokenizer_free(copy);
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(only_one_of_bert_is_cased)
{
    tfm_tokenizer *t = small(), *bpe = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS), *pair = NULL, *kept = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_pair(&pair, t, t, NULL, &error), error);
    ck_assert_status(tfm_tokenizer_keep_case(&kept, pair, NULL, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "only a vocabulary of BERT can be cased, this tokenizer is a pair: give one side");
    ck_assert_status(tfm_tokenizer_keep_case(&kept, bpe, NULL, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "only a vocabulary of BERT can be cased, this tokenizer is bpe");
    tfm_tokenizer_free(pair);
    tfm_tokenizer_free(bpe);
    tfm_tokenizer_free(t);
}
END_TEST

static void require_same(const tfm_tokenizer *a, const tfm_tokenizer *b)
{
    tfm_special_ids s;

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(a), tfm_tokenizer_vocab_size(b));
    for (int32_t id = 0; id < (int32_t)tfm_tokenizer_vocab_size(a); id++) {
        const tfm_text x = tfm_tokenizer_token(a, id), y = tfm_tokenizer_token(b, id);
        ck_assert(x.size == y.size && !memcmp(x.data, y.data, x.size));
    }
    tfm_tokenizer_special(&s, b);
    ck_assert(s.pad == 0 && s.unk == 1 && s.bos == 2 && s.eos == 3);
    require_segments(b, TEXT("abc \xC3\x84"), TEXT("ab ##c a"));
}

START_TEST(c05_files_keep_it)
{
    tfm_tokenizer *t = small(), *again = NULL, *copy = NULL;
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_error error = {0};

    temp_make(folder);
    path_join(path, folder, "tokenizer");
    ck_assert_ok(tfm_tokenizer_save(t, path, &error), error);
    ck_assert_ok(tfm_tokenizer_load(&again, path, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_copy(&copy, again, NULL, &error), error);
    require_same(t, again);
    require_same(t, copy);
    temp_remove(folder);
    tfm_tokenizer_free(copy);
    tfm_tokenizer_free(again);
    tfm_tokenizer_free(t);
}
END_TEST

static const struct {
    tfm_text file;
    const char *reason;
} bad[] = {
    {LITERAL("[PAD]\na\n"), "no [UNK]"},
    {LITERAL("[PAD]\n[UNK]\n\na\n"), "line 3: token 2 of the vocabulary is empty"},
    {LITERAL("[PAD]\n[UNK]\n[UNK]\n"), "line 3: token 2 of the vocabulary is the same as token 1"},
    {LITERAL("[PAD]\n\xFF\n"), "not UTF-8 at byte 6"},
    {LITERAL("tfm-tokenizer 1 bert 2 tokens 0 merges\na\nb\n"), "no [UNK]"},
    {LITERAL("tfm-tokenizer 1 bert 2 tokens 1 merges\n[UNK]\nb\na b\n"), "bert has no merges"},
};

START_TEST(bad_files_are_refused)
{
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_status(tfm_tokenizer_from_text(&t, bad[_i].file, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(error.message, bad[_i].reason) != NULL, "%s", error.message);
}
END_TEST

START_TEST(damaged_files_are_survived)
{
    char bytes[sizeof file];
    tfm_error error = {0};

    memcpy(bytes, file, sizeof file);
    for (size_t i = 0; i < sizeof file - 1; i++)
        for (const char *c = "\n\r\\ a#\xFF[]"; *c; c++) {
            tfm_tokenizer *t = NULL, *cut = NULL;
            bytes[i] = *c;
            const tfm_status status = tfm_tokenizer_from_text(&t, (tfm_text){bytes, sizeof file - 1}, NULL, &error);
            if ((status == TFM_OK) != (t != NULL)) ck_abort_msg("status %d", status);
            if (t) free(segment(t, TEXT("abc, \xC3\x84x")).data);
            bytes[i] = file[i];
            if (tfm_tokenizer_from_text(&cut, (tfm_text){bytes, i}, NULL, &error) == TFM_OK)
                free(segment(cut, TEXT("abc, \xC3\x84x")).data);
            tfm_tokenizer_free(cut);
            tfm_tokenizer_free(t);
        }
}
END_TEST

START_TEST(c34_each_failed_allocation_is_survived)
{
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};
    size_t n;

    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_tokenizer *t = NULL, *copy = NULL;
        int32_t ids[16];
        size_t size;
        status = tfm_tokenizer_from_text(&t, (tfm_text){file, sizeof file - 1}, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_keep_case(&copy, t, &a, &error);
        if (status == TFM_OK) status = tfm_tokenizer_encode(ids, 16, &size, copy, TEXT("abc, x"), &error);
        if (status == TFM_OK) status = tfm_tokenizer_decode(NULL, 0, &size, copy, (tfm_ids){ids, size}, &error);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status);
        f.fail_at = SIZE_MAX;
        tfm_tokenizer_free(t);
        tfm_tokenizer_free(copy);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bert");
    TCase *c = tcase_create("bert");

    tcase_add_loop_test(c, words_are_cut_into_the_longest_pieces, 0, sizeof cuts / sizeof *cuts);
    tcase_add_loop_test(c, sigma_is_final_as_in_python, 0, sizeof sigmas / sizeof *sigmas);
    tcase_add_test(c, special_ids);
    tcase_add_test(c, c01_what_is_unknown_is_stable);
    tcase_add_test(c, c04_nul_does_not_end_a_text);
    tcase_add_test(c, a_cased_vocabulary_keeps_case);
    tcase_add_test(c, only_one_of_bert_is_cased);
    tcase_add_test(c, c05_files_keep_it);
    tcase_add_loop_test(c, bad_files_are_refused, 0, sizeof bad / sizeof *bad);
    tcase_add_test(c, damaged_files_are_survived);
    tcase_add_test(c, c34_each_failed_allocation_is_survived);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
