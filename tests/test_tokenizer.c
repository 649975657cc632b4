/* The public tokenizer: both kinds on text of every kind. */
#include "tokenizers.h"

/* -------------------------------------------------------------------------------------------- the reversible ---- */

static const tfm_text awkward[] = {
    LITERAL(""),
    LITERAL(" "),
    LITERAL("   "),
    LITERAL("a"),
    LITERAL(" a"),
    LITERAL("a "),
    LITERAL("  the  lower  "),
    LITERAL("\t"),
    LITERAL("\n"),
    LITERAL("a\nb\r\n"),
    LITERAL("\0"),
    LITERAL("a\0b"),
    LITERAL(" \0 "),
    LITERAL("\xE2\x96\x81"),
    LITERAL("\xE2\x96\x81the \xE2\x96\x81 \xE2\x96\x81\xE2\x96\x81"), /* U+2581, our sign for a space */
    LITERAL("a\xE2\x80\xA8"
            "b\xC2\x85"
            "c\xE2\x80\xA9"), /* U+2028 U+0085 U+2029 */
    LITERAL("k\xE2\x80\x8Dk k\xE2\x80\x8C"
            "b \xC5\x89"), /* joiners, U+0149      */
    LITERAL("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC \xE4\xBA\xBA\xE5\xB7\xA5"),
    LITERAL("\xEF\xBB\xBF\xEF\xBF\xBD\xEF\xBF\xBF"),
    LITERAL("<pad><eos> <bos> <unk> <0x41>"),
    LITERAL("\xF4\x8F\xBF\xBF\xCD\x8F"),
    LITERAL("@@ a@@ </w>"),
};

/* Also where nothing was learned: all text is bytes then. */
START_TEST(every_text_comes_back)
{
    tfm_tokenizer *learned = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);
    tfm_tokenizer *bytes = learn(TFM_TOKENIZER_BPE, 260, corpus, CORPUS);
    tfm_tokenizer *few = learn(TFM_TOKENIZER_BPE, 263, corpus, CORPUS);

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(bytes), 260);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(few), 263);
    require_reversed(learned, awkward[_i]);
    require_reversed(bytes, awkward[_i]);
    require_reversed(few, awkward[_i]);
    tfm_tokenizer_free(learned);
    tfm_tokenizer_free(bytes);
    tfm_tokenizer_free(few);
}
END_TEST

START_TEST(every_character_comes_back)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);
    char *line = malloc(0x110000 * 4), *end = line;

    ck_assert_ptr_nonnull(line);
    for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 7) end += put_character(code, end);
    ck_assert(tfm_utf8_check((tfm_text){line, (size_t)(end - line)}) == SIZE_MAX);
    require_reversed(t, (tfm_text){line, (size_t)(end - line)});
    free(line);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(tokens_are_spaced_words)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);

    require_segments(t, TEXT("the wider"), TEXT("\xE2\x96\x81the \xE2\x96\x81wider"));
    require_segments(t, TEXT("newer  newer"), TEXT("\xE2\x96\x81newer \xE2\x96\x81 \xE2\x96\x81newer"));
    require_segments(t, TEXT("Z"), TEXT("\xE2\x96\x81 <0x5A>"));
    require_segments(t, TEXT("\xE2\x96\x81"), TEXT("\xE2\x96\x81 <0xE2> <0x96> <0x81>"));
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("<0x00>")), 4);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("<0xFF>")), 259);
    ck_assert_int_ge(tfm_tokenizer_id(t, TEXT("\xE2\x96\x81the")), 260);
    ck_assert_int_eq(tfm_tokenizer_id(t, TEXT("nowhere")), TFM_UNK);
    tfm_tokenizer_free(t);
}
END_TEST

/* A corpus that spells them often enough to learn them. */
START_TEST(text_never_becomes_a_special)
{
    const tfm_text texts[] = {TEXT("<pad> <pad> <bos> <eos> <unk> <0x41>"),
                              TEXT("<pad> <pad> <bos> <eos> <unk> <0x41>"),
                              TEXT("<pad> <bos> <eos> <unk> <0x41> <0x41>")};

    for (uint32_t kind = 0; kind < 2; kind++) {
        tfm_tokenizer *t = learn(kind, 400, texts, 3);
        const tfm_ids ids = encode(t, texts[0]);
        ck_assert_uint_gt(ids.size, 5);
        for (size_t i = 0; i < ids.size; i++) ck_assert_int_ge(ids.data[i], TFM_UNK);
        free((void *)(uintptr_t)ids.data);
        if (kind == TFM_TOKENIZER_BPE) require_reversed(t, texts[0]);
        tfm_tokenizer_free(t);
    }
}
END_TEST

START_TEST(ids_that_no_encoding_gives_make_valid_text)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);
    const int32_t broken[] = {TFM_BOS, 4 + 0xE2, 4 + 0x96, 4 + 'x', TFM_UNK, TFM_PAD, 4 + 0xFF, TFM_EOS};
    const int32_t wrong[] = {4, (int32_t)tfm_tokenizer_vocab_size(t)}, negative[] = {-1};
    tfm_error error = {0};
    size_t size = 77;
    char text[16];

    const blob b = decode(t, (tfm_ids){broken, 8});
    ck_assert_str_eq(b.data, "\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD");
    free(b.data);
    ck_assert_status(tfm_tokenizer_decode(text, 16, &size, t, (tfm_ids){wrong, 2}, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "id 1 is 302, not in 0..301");
    ck_assert_status(tfm_tokenizer_decode(text, 16, &size, t, (tfm_ids){negative, 1}, &error), TFM_E_INVALID, error);
    ck_assert_uint_eq(size, 77);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(results_fit_into_the_callers_memory)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 330, corpus, CORPUS);
    const tfm_ids all = encode(t, corpus[0]);
    tfm_error error = {0};
    int32_t few[] = {-7, -7, -7};
    char text[] = "-----";
    size_t n = 0;

    ck_assert_ok(tfm_tokenizer_encode(few, 2, &n, t, corpus[0], &error), error);
    ck_assert_uint_eq(n, all.size);
    ck_assert_mem_eq(few, all.data, 2 * sizeof *few);
    ck_assert_int_eq(few[2], -7);
    ck_assert_ok(tfm_tokenizer_decode(text, 3, &n, t, all, &error), error);
    ck_assert_uint_eq(n, corpus[0].size);
    ck_assert_str_eq(text, "the--");
    ck_assert_ok(tfm_tokenizer_segment(text, 4, &n, t, corpus[0], &error), error);
    ck_assert_str_eq(text, "\xE2\x96\x81t-");
    free((void *)(uintptr_t)all.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ subword-nmt ---- */

/* The example of Sennrich et al. (2016): low 5, lowest 2, newer 6, wider 3. */
static tfm_tokenizer *learn_example(void)
{
    const tfm_text texts[] = {TEXT("low low low low low"), TEXT("lowest lowest"),
                              TEXT("newer newer newer newer newer newer"), TEXT("wider wider wider")};

    return learn(TFM_TOKENIZER_SUBWORD_NMT, 5, texts, 4); /* e r</w>  l o  w er</w>  n e  ne wer</w> */
}

START_TEST(segments_are_those_of_subword_nmt)
{
    tfm_tokenizer *t = learn_example();

    require_segments(t, TEXT("lower newer"), TEXT("lo@@ wer newer"));
    require_segments(t, TEXT("  lower  newer \r"), TEXT("  lo@@ wer newer \r")); /* only the ends keep their spaces */
    require_segments(t, TEXT(""), TEXT(""));
    require_segments(t, TEXT(" \n"), TEXT(" \n"));
    require_segments(t,
                     TEXT("er\xC2\xA0"
                          "er e"),
                     TEXT("e@@ r@@ \xC2\xA0@@ er e"));
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(the_vocabulary_is_what_the_merges_leave)
{
    static const tfm_text tokens[] = {LITERAL("<pad>"), LITERAL("<eos>"), LITERAL("<bos>"), LITERAL("<unk>"),
                                      LITERAL("lo@@"),  LITERAL("newer"), LITERAL("w"),     LITERAL("w@@"),
                                      LITERAL("d@@"),   LITERAL("er"),    LITERAL("i@@"),   LITERAL("e@@"),
                                      LITERAL("s@@"),   LITERAL("t")}; /* 7, 6, 5 5, 3 3 3, 2 2 2 */
    enum { N = sizeof tokens / sizeof *tokens };
    tfm_tokenizer *t = learn_example();

    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), N);
    ck_assert_uint_eq(tfm_tokenizer_kind(t), TFM_TOKENIZER_SUBWORD_NMT);
    for (int32_t i = 0; i < N; i++) {
        const tfm_text token = tfm_tokenizer_token(t, i);
        ck_assert_msg(token.size == tokens[i].size && memcmp(token.data, tokens[i].data, token.size) == 0,
                      "token %d is %.*s", i, (int)token.size, token.data);
        ck_assert_int_eq(tfm_tokenizer_id(t, tokens[i]), i);
    }
    ck_assert_uint_eq(tfm_tokenizer_token(t, N).size, 0);
    ck_assert_uint_eq(tfm_tokenizer_token(t, -1).size, 0);
    const tfm_ids ids = encode(t, TEXT("lowest wer"));
    const int32_t want[] = {4, 7, 11, 12, 13, TFM_UNK}; /* wer is a piece, but was never left alone */
    ck_assert_uint_eq(ids.size, 6);
    ck_assert_mem_eq(ids.data, want, sizeof want);
    free((void *)(uintptr_t)ids.data);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(pieces_are_joined)
{
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 3, corpus, CORPUS);
    const blob b = there_and_back(t, TEXT("  the  lower \xC3\xA4u\xC3\x9F"
                                          "erst "));

    ck_assert_str_eq(b.data, "the lower \xC3\xA4u\xC3\x9F"
                             "erst");
    free(b.data);
    tfm_tokenizer_free(t);
}
END_TEST

/* --------------------------------------------------------------------------------- behaviours others had wrong ---- */

START_TEST(c01_unknown_characters_reach_a_fixed_point)
{
    const tfm_text abc[] = {TEXT("abc abc ab bc a b c"), TEXT("aabb ccaa aab bbc acb cba")};
    const tfm_text texts[] = {TEXT("aZb"), TEXT("a Z b"), TEXT("abZ c"), TEXT("Z"), TEXT("Zab \xF0\x9F\x98\x80"),
                              TEXT("aZZb")};

    for (uint32_t kind = 0; kind < 2; kind++) {
        tfm_tokenizer *t = learn(kind, kind ? 5 : 270, abc, 2);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const blob once = there_and_back(t, texts[i]);
            require_reversed(t, (tfm_text){once.data, once.size});
            if (i == 0 || i == 5) ck_assert(!memchr(once.data, ' ', once.size));
            free(once.data);
        }
        tfm_tokenizer_free(t);
    }
}
END_TEST

START_TEST(c03_joiners_and_ligatures_survive)
{
    const tfm_text line = TEXT("k\xE2\x80\x8Dk k\xE2\x80\x8C"
                               "b \xC5\x89");
    const tfm_text covered[] = {line, TEXT("k b")};

    for (uint32_t kind = 0; kind < 2; kind++) {
        tfm_tokenizer *t = learn(kind, kind ? 5 : 300, covered, 2);
        require_reversed(t, line);
        tfm_tokenizer_free(t);
    }
}
END_TEST

START_TEST(c04_nul_is_ordinary_text)
{
    const tfm_text texts[] = {TEXT("a\0b a\0b"), TEXT("\0 a b")};

    for (uint32_t kind = 0; kind < 2; kind++) {
        tfm_tokenizer *t = learn(kind, kind ? 2 : 300, texts, 2);
        require_reversed(t, texts[0]);
        const tfm_ids a = encode(t, TEXT("a")), all = encode(t, TEXT("a\0b"));
        ck_assert(a.size != all.size || memcmp(a.data, all.data, a.size * sizeof *a.data) != 0);
        free((void *)(uintptr_t)a.data);
        free((void *)(uintptr_t)all.data);
        tfm_tokenizer_free(t);
    }
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 1, texts, 2);
    require_segments(t, TEXT("a\0b"), TEXT("a\0@@ b")); /* of all pairs, ties go to the last in byte order */
    tfm_tokenizer_free(t);
}
END_TEST

/* The learned merges are the same text whatever the order of the lines. */
START_TEST(c06_ties_are_broken_the_same_way)
{
    const tfm_text texts[] = {TEXT("ab cd"), TEXT("ab cd"), TEXT("ef gh ef gh"), TEXT("xy zw"), TEXT("zw xy cd")};
    const tfm_text shuffled[] = {texts[4], texts[1], texts[3], texts[2], texts[0]};
    char folder[TESTING_PATH], a[TESTING_PATH], b[TESTING_PATH];
    tfm_error error = {0};

    temp_make(folder);
    for (uint32_t kind = 0; kind < 2; kind++) {
        tfm_tokenizer *s = learn(kind, kind ? 3 : 280, texts, 5), *t = learn(kind, kind ? 3 : 280, shuffled, 5);
        size_t size, again;
        ck_assert_ok(tfm_tokenizer_save(s, path_join(a, folder, "a"), &error), error);
        ck_assert_ok(tfm_tokenizer_save(t, path_join(b, folder, "b"), &error), error);
        char *x = file_read(a, &size), *y = file_read(b, &again);
        ck_assert_uint_eq(size, again);
        ck_assert_mem_eq(x, y, size);
        free(x), free(y);
        tfm_tokenizer_free(s);
        tfm_tokenizer_free(t);
    }
    temp_remove(folder);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tokenizer");
    TCase *c = tcase_create("tokenizer");

    tcase_add_loop_test(c, every_text_comes_back, 0, sizeof awkward / sizeof *awkward);
    tcase_add_test(c, every_character_comes_back);
    tcase_add_test(c, tokens_are_spaced_words);
    tcase_add_test(c, text_never_becomes_a_special);
    tcase_add_test(c, ids_that_no_encoding_gives_make_valid_text);
    tcase_add_test(c, results_fit_into_the_callers_memory);
    tcase_add_test(c, segments_are_those_of_subword_nmt);
    tcase_add_test(c, the_vocabulary_is_what_the_merges_leave);
    tcase_add_test(c, pieces_are_joined);
    tcase_add_test(c, c01_unknown_characters_reach_a_fixed_point);
    tcase_add_test(c, c03_joiners_and_ligatures_survive);
    tcase_add_test(c, c04_nul_is_ordinary_text);
    tcase_add_test(c, c06_ties_are_broken_the_same_way);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
