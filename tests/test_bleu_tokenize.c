/* From a line to the tokens that BLEU counts. */
#include "testing.h"

#include "eval/bleu.h"
#include "eval/bleu_tokenize.h"

typedef const char *const cases[][2]; /* a line and its tokens */

/* Checks a line's tokens, joined by one space. */
static void check_tokens(const char *raw, const char *want, const tfm_bleu_options *options)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_line line;
    char got[256];
    size_t n = 0;

    tfm_line_init(&line, &a);
    tfm_bleu_tokenize(&line, (tfm_text){raw, strlen(raw)}, options);
    ck_assert_uint_lt(line.text.size, sizeof got);
    for (size_t i = 0; i < line.text.size; i++) {
        const char c = line.text.data[i];
        if (c != ' ' || (n && got[n - 1] != ' ')) got[n++] = c;
    }
    if (n && got[n - 1] == ' ') n--;
    got[n] = '\0';
    ck_assert_str_eq(got, want);
    tfm_line_free(&line);
}

#define CHECK_CASES(list, options) \
    for (size_t i_ = 0; i_ < sizeof(list) / sizeof *(list); i_++) check_tokens((list)[i_][0], (list)[i_][1], options)

static tfm_bleu_options options_with(uint32_t tokenize)
{
    tfm_bleu_options o = tfm_bleu_defaults();

    o.tokenize = tokenize;
    return o;
}

START_TEST(m43_compound_split_is_perls)
{
    static cases list = {
        {"rich-text format", "rich ##AT##-##AT## text format"},
        {"x-yy-z", "x ##AT##-##AT## yy ##AT##-##AT## z"},
        {"a-b-c", "a ##AT##-##AT## b-c"},
        {"a-ü-c", "a ##AT##-##AT## ü ##AT##-##AT## c"},
        {"well--known", "well ##AT##-##AT## -known"},
        {"1-2-3-4", "1 ##AT##-##AT## 2-3 ##AT##-##AT## 4"},
        {"-a b- - -", "-a b- - -"},
        {"a-\u00A0b\u2003-c", "a- b -c"}, /* other white space ends a token too */
        {"---", "- ##AT##-##AT## -"},
        {"-", "-"},
    };
    tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_NONE);

    o.compound_split = 1;
    CHECK_CASES(list, &o);
    o.tokenize = TFM_BLEU_TOKENIZE_13A; /* the mark is added to tokens, so that it stays whole */
    check_tokens("x-yy.", "x ##AT##-##AT## yy .", &o);
}
END_TEST

START_TEST(tokenize_13a)
{
    static cases list = {
        {"Hello, world!", "Hello , world !"},
        {"1,000.5 and .5 or 5.", "1,000.5 and . 5 or 5 ."},
        {"2-3 x-y it's", "2 - 3 x-y it's"},
        {"a<skipped>b &quot;q&quot; &amp;lt; x-\ny\nz", "ab \" q \" < xy z"},
        {"wait...", "wait . . ."},
        {".5", ". 5"},  /* as if a space stood before the line */
        {"x-\n", "x-"}, /* the end is trimmed first            */
        {"a/b", "a / b"},
        {"", ""},
    };
    const tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_13A);

    CHECK_CASES(list, &o);
}
END_TEST

START_TEST(tokenize_intl)
{
    static cases list = {{"„Ja“ 5€ 1,5 '8", "„ Ja “ 5 € 1,5 ' 8"}, {"in 1999.", "in 1999."}};
    const tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_INTL);

    CHECK_CASES(list, &o);
}
END_TEST

START_TEST(tokenize_char)
{
    static cases list = {{"aü 😀.", "a ü 😀 ."}, {"\xE2\x82x", "\xE2 \x82 x"}};
    const tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_CHAR);

    CHECK_CASES(list, &o);
}
END_TEST

START_TEST(white_space_is_unicode)
{
    const tfm_text hyp = {"a\u00A0b\u2003c\x1F d\tf\u2028\u3000", 19}, ref = {"a b c d f", 9};
    const tfm_text zero_width = {"a\u200Bb", 5}, *refs[] = {&ref};
    const tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_NONE);
    tfm_bleu_result r;
    tfm_error error;

    ck_assert_uint_eq(strlen(hyp.data), hyp.size);
    ck_assert_ok(tfm_bleu(&r, sizeof r, &hyp, 1, refs, 1, &o, &error), error);
    ck_assert_uint_eq(r.matches[3], 2);
    ck_assert_ok(tfm_bleu(&r, sizeof r, &zero_width, 1, refs, 1, &o, &error), error);
    ck_assert_uint_eq(r.hyp_length, 1);
}
END_TEST

START_TEST(lower_case_is_pythons)
{
    static cases list = {
        {"STRASSE Ä ǅ ÜBEL", "strasse ä ǆ übel"},
        {"\u0130X", "i\u0307x"},
        {"ΟΣ Σ ΣΑ", "ος σ σα"}, /* final, alone, first */
        {"Α'Σ'", "α'ς'"},       /* ' is ignored          */
        {"ΑΣ'Α", "ασ'α"},
        {"Α\u0301Σ", "α\u0301ς"}, /* and so is an accent  */
        {"A\xFF\xC3", "a\xFF\xC3"},
    };
    tfm_bleu_options o = options_with(TFM_BLEU_TOKENIZE_NONE);

    o.lowercase = 1;
    CHECK_CASES(list, &o);
    o.lowercase = 0;
    check_tokens("Der HUND", "Der HUND", &o);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bleu tokenize");
    TCase *c = tcase_create("bleu tokenize");

    tcase_add_test(c, m43_compound_split_is_perls);
    tcase_add_test(c, tokenize_13a);
    tcase_add_test(c, tokenize_intl);
    tcase_add_test(c, tokenize_char);
    tcase_add_test(c, white_space_is_unicode);
    tcase_add_test(c, lower_case_is_pythons);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
