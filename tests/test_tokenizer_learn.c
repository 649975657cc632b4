/* Learning a tokenizer, bad arguments, failures of memory, threads. */
#include "tokenizers.h"

#include <pthread.h>

/* -------------------------------------------------------------------------------------------------- learning ---- */

START_TEST(invalid_text_is_refused_or_repaired)
{
    const tfm_text texts[] = {TEXT("ab ab"), TEXT("ab\xE2\x96 ab"), TEXT("ab")};
    tfm_tokenizer_options o;
    tfm_tokenizer *t;
    tfm_error error = {0};
    size_t n = 5;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.vocab_size = 270;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, texts, 3, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_null(t);
    ck_assert_str_eq(error.message, "line 2 is not UTF-8 at byte 2: repair it or have it replaced");
    o.replace_invalid = 1;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, texts, 3, &error), error);
    ck_assert_int_ge(tfm_tokenizer_id(t, TEXT("\xEF\xBF\xBD")), 260);
    ck_assert_status(tfm_tokenizer_encode(NULL, 0, &n, t, texts[1], &error), TFM_E_FORMAT, error);
    ck_assert_str_eq(error.message, "text is not UTF-8 at byte 2: repair it first");
    ck_assert_status(tfm_tokenizer_segment(NULL, 0, &n, t, texts[1], &error), TFM_E_FORMAT, error);
    ck_assert_uint_eq(n, 5);
    tfm_tokenizer_free(t);
}
END_TEST

static void take_message(void *user, int32_t level, const char *message)
{
    ck_assert_int_eq(level, 1);
    snprintf(user, 200, "%s", message);
}

START_TEST(a_small_corpus_gives_a_small_vocabulary_and_a_warning)
{
    char message[200] = "";
    tfm_tokenizer_options o;
    tfm_tokenizer *t;
    tfm_error error = {0};

    tfm_tokenizer_options_init(&o, sizeof o);
    o.log = take_message;
    o.log_user = message;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    ck_assert_uint_lt(tfm_tokenizer_vocab_size(t), 400);
    ck_assert(strstr(message, "8000 were asked for: no pair is left that occurs 2 times"));
    tfm_tokenizer_free(t);
    message[0] = '\0';
    o.vocab_size = 300;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), 300);
    ck_assert_str_eq(message, "");
    tfm_tokenizer_free(t);
    o.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    ck_assert(strstr(message, "10000 were asked for"));
    tfm_tokenizer_free(t);
    o.kind = TFM_TOKENIZER_WORDPIECE;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    ck_assert_uint_lt(tfm_tokenizer_vocab_size(t), 290);
    ck_assert(strstr(message, "300 were asked for: no piece is left that occurs 1 times"));
    tfm_tokenizer_free(t);
    message[0] = '\0';
    o.vocab_size = 50; /* met, roughly */
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    ck_assert_str_eq(message, "");
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(a_vocabulary_larger_than_the_corpus_supports_is_an_error_when_strict)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;
    tfm_error error = {0};

    tfm_tokenizer_options_init(&o, sizeof o);
    o.strict_size = 1;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(t);
    ck_assert(strstr(error.message, "vocab_size is 8000, but the text supports only "));
    o.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), TFM_E_INVALID, error);
    ck_assert(strstr(error.message, "merges is 10000, but the text supports only "));
    o.kind = TFM_TOKENIZER_WORDPIECE;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), TFM_E_INVALID, error);
    ck_assert_ptr_null(t);
    ck_assert(strstr(error.message, "vocab_size is 8000, but the text supports only "));
    o.kind = TFM_TOKENIZER_SUBWORD_NMT;
    o.merges = 5;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), error);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(frequent_characters_come_first)
{
    const tfm_text line = TEXT("zzz yy x \xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA");
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 263, &line, 1); /* U+4EBA four times, the space four, z three */

    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("\xE2\x96\x81")), 260);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("\xE4\xBA\xBA")), 261);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("z")), 262);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("y")), TFM_UNK);
    require_reversed(t, line);
    tfm_tokenizer_free(t);
}
END_TEST

/* What is spelt in bytes parts a word: the marks on both sides of U+2581 are not neighbours. */
/* A digit is a word of its own, at most with a space before it: no merge has two. */
START_TEST(digits_are_never_merged)
{
    static const tfm_text years[] = {LITERAL("1995 1995 1995 a19 a19 19\xC2\xB2 19\xC2\xB2")};
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 300, years, 1);

    ck_assert_int_ne(tfm_tokenizer_id(t, TEXT("\xE2\x96\x81" "1")), TFM_UNK);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("19")), TFM_UNK);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("95")), TFM_UNK);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("9\xC2\xB2")), TFM_UNK);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(bytes_part_words)
{
    const tfm_text text = TEXT("!\xE2\x96\x81! !\xE2\x96\x81! !\xE2\x96\x81!");
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 400, &text, 1);

    ck_assert_int_ge(tfm_tokenizer_id(t, TEXT("\xE2\x96\x81!")), 260);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("!!")), TFM_UNK);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), 263);
    require_reversed(t, text);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(bad_options_are_refused)
{
    static const struct {
        uint32_t kind, vocab_size, min_frequency;
        int status;
    } bad[] = {{2, 300, 2, TFM_E_UNSUPPORTED},
               {0, 259, 2, TFM_E_INVALID},
               {0, 16777217, 2, TFM_E_INVALID},
               {0, 300, 0, TFM_E_INVALID},
               {1, 300, 0, TFM_E_INVALID}};
    const tfm_text empty[] = {TEXT(""), TEXT("")}, hole[] = {{NULL, 3}};
    tfm_tokenizer *t = NULL;
    tfm_tokenizer_options o;
    tfm_error error = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tfm_tokenizer_options_init(&o, sizeof o);
        o.kind = bad[i].kind;
        o.vocab_size = bad[i].vocab_size;
        o.min_frequency = bad[i].min_frequency;
        ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, CORPUS, &error), bad[i].status, error);
        ck_assert_ptr_null(t);
    }
    tfm_tokenizer_options_init(&o, sizeof o);
    ck_assert_status(tfm_tokenizer_learn(&t, &o, empty, 2, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_learn(&t, &o, NULL, 0, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_learn(&t, &o, NULL, 2, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_learn(&t, &o, hole, 1, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_tokenizer_learn(&t, NULL, corpus, 1, &error), TFM_E_INVALID, error);
    o.struct_size = 3;
    ck_assert_status(tfm_tokenizer_learn(&t, &o, corpus, 1, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(c34_null_arguments_are_errors)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 300, corpus, CORPUS), *other = NULL;
    const int32_t id = 5;
    tfm_tokenizer_options o;
    char text[8];
    int32_t ids[8];
    size_t n;

    tfm_tokenizer_options_init(&o, sizeof o);
    tfm_tokenizer_options_init(NULL, sizeof o);
    ck_assert_int_eq(tfm_tokenizer_learn(NULL, &o, corpus, CORPUS, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_load(NULL, "x", NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_load(&other, NULL, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_import(NULL, "x", corpus, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_import(&other, NULL, corpus, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_import(&other, "x", NULL, 1, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_save(NULL, "x", NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_save(t, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_export(NULL, "x", NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_export(t, NULL, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_export(t, "/tmp/never-written", NULL), TFM_E_INVALID); /* the other kind */
    ck_assert_int_eq(tfm_tokenizer_encode(ids, 8, &n, NULL, corpus[0], NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_encode(ids, 8, NULL, t, corpus[0], NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_encode(NULL, 8, &n, t, corpus[0], NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_encode(ids, 8, &n, t, (tfm_text){NULL, 1}, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_encode(NULL, 0, &n, t, (tfm_text){NULL, 0}, NULL), TFM_OK);
    ck_assert_int_eq(tfm_tokenizer_decode(text, 8, &n, NULL, (tfm_ids){&id, 1}, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_decode(text, 8, &n, t, (tfm_ids){NULL, 1}, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_decode(NULL, 8, &n, t, (tfm_ids){&id, 1}, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_decode(text, 8, NULL, t, (tfm_ids){&id, 1}, NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_decode(NULL, 0, &n, t, (tfm_ids){NULL, 0}, NULL), TFM_OK);
    ck_assert_int_eq(tfm_tokenizer_segment(text, 8, &n, NULL, corpus[0], NULL), TFM_E_INVALID);
    ck_assert_int_eq(tfm_tokenizer_segment(text, 8, NULL, t, corpus[0], NULL), TFM_E_INVALID);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(NULL), 0);
    ck_assert_uint_eq(tfm_tokenizer_token(NULL, 0).size, 0);
    ck_assert_int_eq(tfm_tokenizer_id(NULL, corpus[0]), TFM_UNK);
    ck_assert_int_eq(tfm_tokenizer_id(t, (tfm_text){NULL, 4}), TFM_UNK);
    tfm_tokenizer_free(NULL);
    ck_assert_ptr_null(other);
    tfm_tokenizer_free(t);
}
END_TEST

/* --------------------------------------------------------------------------------------------- failing memory ---- */

/* A word that does not fit into the memory at hand. */
static tfm_text long_word(char word[static 2000])
{
    memset(word, 'e', 2000);
    return (tfm_text){word, 2000};
}

START_TEST(c34_each_failed_allocation_is_survived)
{
    char word[2000];
    const tfm_text texts[] = {corpus[0], corpus[1], corpus[3], long_word(word), TEXT("bad \xFF end")};
    tfm_status status = TFM_E_NOMEM;
    size_t n;

    for (n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_tokenizer *t = NULL;
        tfm_tokenizer_options o;
        tfm_error error = {0};
        int32_t ids[2000];
        char text[2000];
        size_t n_ids = 0, size = 0;
        tfm_tokenizer_options_init(&o, sizeof o);
        o.allocator = &a;
        o.kind = (uint32_t)_i;
        o.vocab_size = 300;
        o.replace_invalid = 1;
        status = tfm_tokenizer_learn(&t, &o, texts, 5, &error);
        ck_assert((status == TFM_OK) == (t != NULL));
        if (t) status = tfm_tokenizer_encode(ids, 2000, &n_ids, t, texts[3], &error);
        if (t && status == TFM_OK) status = tfm_tokenizer_decode(text, 2000, &size, t, (tfm_ids){ids, n_ids}, &error);
        if (status == TFM_OK) ck_assert(size == 2000 && memcmp(text, word, size) == 0);
        if (status != TFM_OK) ck_assert(status == TFM_E_NOMEM && error.status == status && error.message[0]);
        tfm_tokenizer_free(t);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 30);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- threads ---- */

static void *encode_often(void *tokenizer)
{
    char word[2000];
    const tfm_text huge = long_word(word);
    size_t sum = 0, n = 0;

    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k <= CORPUS; k++) {
            tfm_tokenizer_encode(NULL, 0, &n, tokenizer, k < CORPUS ? corpus[k] : huge, NULL);
            sum = sum * 31 + n;
        }
    }
    return (void *)sum;
}

START_TEST(threads_share_a_tokenizer)
{
    enum { THREADS = 4 };
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);
    void *const alone = encode_often(t);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, encode_often, t), 0);
    for (int i = 0; i < THREADS; i++) {
        void *sum;
        ck_assert_int_eq(pthread_join(threads[i], &sum), 0);
        ck_assert_ptr_eq(sum, alone);
    }
    tfm_tokenizer_free(t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tokenizer_learn");
    TCase *c = tcase_create("tokenizer_learn");

    tcase_add_test(c, invalid_text_is_refused_or_repaired);
    tcase_add_test(c, a_small_corpus_gives_a_small_vocabulary_and_a_warning);
    tcase_add_test(c, a_vocabulary_larger_than_the_corpus_supports_is_an_error_when_strict);
    tcase_add_test(c, frequent_characters_come_first);
    tcase_add_test(c, digits_are_never_merged);
    tcase_add_test(c, bytes_part_words);
    tcase_add_test(c, bad_options_are_refused);
    tcase_add_test(c, c34_null_arguments_are_errors);
    tcase_add_loop_test(c, c34_each_failed_allocation_is_survived, 0, 2);
    tcase_add_test(c, threads_share_a_tokenizer);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
