/* The reader of JSON: what RFC 8259 allows and nothing else, each value as it stands, each refusal with its place. */
#include "base/json.h"
#include "testing.h"

#include <jansson.h>

static tfm_text text_of(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

/* Reads a text that must be good; free the value with json_decref(). */
static json_t *good(const char *text)
{
    tfm_json_fault fault;
    json_t *value = NULL;

    ck_assert_msg(tfm_json_read(&value, text_of(text), JSON_DECODE_ANY, &fault) == TFM_OK, "%s: %s", text, fault.what);
    ck_assert_ptr_nonnull(value);
    return value;
}

START_TEST(strings_are_read_as_they_stand)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"\"\"", ""},
        {" \t\r\n\"a b\"\n", "a b"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u007f\\u0080\\u07FF\\u0800\\uffff\"", "A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF x\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf x"}, /* first and last of the pairs */
        {"\"\xc3\xa9\xe2\x82\xac\"", "\xc3\xa9\xe2\x82\xac"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = good(cases[i].json);
        ck_assert_str_eq(json_string_value(value), cases[i].want);
        ck_assert_uint_eq(json_string_length(value), strlen(cases[i].want));
        json_decref(value);
    }
}
END_TEST

START_TEST(numbers_and_words_have_their_values)
{
    static const struct {
        const char *json;
        double want;
        bool whole;
    } cases[] = {
        {"0", 0, true},       {"-0", 0, true},        {"-12", -12, true},   {"9223372036854775807", 0x1p63, true},
        {"0.5", 0.5, false},  {"-1e3", -1000, false}, {"1E+2", 100, false}, {"25e-1", 2.5, false},
        {"1e-400", 0, false}, {"1.0", 1, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = good(cases[i].json);
        ck_assert_msg(json_number_value(value) == cases[i].want, "%s is %g", cases[i].json, json_number_value(value));
        ck_assert_int_eq(json_is_integer(value), cases[i].whole);
        json_decref(value);
    }
    json_t *words = good("[true, false, null]");
    ck_assert(json_is_true(json_array_get(words, 0)));
    ck_assert(json_is_false(json_array_get(words, 1)));
    ck_assert(json_is_null(json_array_get(words, 2)));
    json_decref(words);
}
END_TEST

START_TEST(lists_hold_what_they_list)
{
    json_t *value = good("{\"a\": [1, [], {}], \"\": {\"b\" : \"c\"}}"), *a = json_object_get(value, "a");

    ck_assert_uint_eq(json_object_size(value), 2);
    ck_assert_uint_eq(json_array_size(a), 3);
    ck_assert_int_eq(json_integer_value(json_array_get(a, 0)), 1);
    ck_assert(json_is_array(json_array_get(a, 1)) && json_is_object(json_array_get(a, 2)));
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(value, ""), "b")), "c");
    json_decref(value);
}
END_TEST

/* Lists of so many brackets, one inside the other. */
static const char *nested(char text[64], int depth)
{
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    text[2 * depth] = '\0';
    return text;
}

static void assert_refused(tfm_text text, size_t flags, size_t at, const char *what)
{
    tfm_json_fault fault;
    json_t *value;

    ck_assert_msg(tfm_json_read(&value, text, flags, &fault) == TFM_E_FORMAT, "%s was read", text.data);
    ck_assert_ptr_null(value);
    ck_assert_msg(strstr(fault.what, what) != NULL, "%s: %s, not %s", text.data, fault.what, what);
    ck_assert_msg(fault.at == at, "%s: at byte %zu, not %zu", text.data, fault.at, at);
}

START_TEST(what_is_not_json_is_refused_where_it_goes_wrong)
{
    static const struct {
        const char *json;
        size_t at;
        const char *what;
    } cases[] = {
        {"", 0, "a value is missing"},
        {"[1, ]", 4, "a value is missing"},
        {"[1 2]", 3, "a list does not end"},
        {"{\"a\": 1", 7, "a list does not end"},
        {"{1: 2}", 1, "a string is missing"},
        {"{\"a\" 1}", 5, "a colon is missing"},
        {"{\"a\": 1, \"a\": 2}", 12, "duplicate name"},
        {"[] []", 3, "more text follows"},
        {"tru", 0, "a value is missing"},
        {"\"abc", 1, "a string does not end"},
        {"\"abc\\", 1, "a string does not end"},
        {"\"a\nb\"", 1, "a string does not end"},
        {"\"\\x\"", 1, "an escape"},
        {"\"\\u12\"", 1, "an escape"},
        {"\"\\u12g4\"", 1, "an escape"},
        {"\"\\ud800\"", 1, "an escape"},
        {"\"\\ud800\\n....\"", 1, "an escape"},
        {"\"\\ud800\\u0041\"", 1, "an escape"},
        {"\"\\udc00\\udc00\"", 1, "an escape"},
        {"\"\xff\"", 1, "not valid UTF-8"},
        {"\"a\\u0000\"", 1, "a NUL"},
        {"01", 0, "a number is not valid"},
        {"-", 0, "a number is not valid"},
        {"1.", 0, "a number is not valid"},
        {"1.e2", 0, "a number is not valid"},
        {"1e", 0, "a number is not valid"},
        {"1e+", 0, "a number is not valid"},
        {"1-2", 0, "a number is not valid"},
        {"9223372036854775808", 0, "too large"},
        {"1e999", 0, "too large"},
        {"1234567890123456789012345678901234567890123456789012345678901234", 0, "63 characters"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(text_of(cases[i].json), JSON_DECODE_ANY, cases[i].at, cases[i].what);
    assert_refused(text_of("1"), 0, 0, "it is no list");
    assert_refused((tfm_text){NULL, 0}, 0, 0, "it is no list");
}
END_TEST

START_TEST(lists_have_a_greatest_depth)
{
    enum { MOST = 16 };
    char text[64];

    json_decref(good(nested(text, MOST)));
    assert_refused(text_of(nested(text, MOST + 1)), 0, MOST, "too deep");
}
END_TEST

/* In a value it may stand where the caller says so; as a name never. */
/* An empty list takes far more memory than text: there are 64, and one more for each 16 bytes. */
START_TEST(lists_are_as_many_as_their_text_may_have)
{
    char text[512] = "[{}";
    json_t *value;
    tfm_json_fault fault;

    for (size_t n = 1; n < 77; n++) strcat(text, ",{}");
    strcat(text, "]");
    ck_assert_int_eq(tfm_json_read(&value, text_of(text), 0, &fault), TFM_OK);
    json_decref(value);
    strcpy(text + strlen(text) - 1, ",{}]");
    assert_refused(text_of(text), 0, 1 + 3 * 77, "there are more lists than");
    strcat(text, "     ");
    ck_assert_int_eq(tfm_json_read(&value, text_of(text), 0, &fault), TFM_OK);
    json_decref(value);
}
END_TEST

START_TEST(a_nul_is_an_exception)
{
    tfm_json_fault fault;
    json_t *value;

    ck_assert_int_eq(tfm_json_read(&value, text_of("[\"a\\u0000b\"]"), JSON_ALLOW_NUL, &fault), TFM_OK);
    ck_assert_uint_eq(json_string_length(json_array_get(value, 0)), 3);
    json_decref(value);
    assert_refused(text_of("{\"a\\u0000b\": 1}"), JSON_ALLOW_NUL, 2, "a NUL");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("json");
    TCase *c = tcase_create("json");

    tcase_add_test(c, strings_are_read_as_they_stand);
    tcase_add_test(c, numbers_and_words_have_their_values);
    tcase_add_test(c, lists_hold_what_they_list);
    tcase_add_test(c, what_is_not_json_is_refused_where_it_goes_wrong);
    tcase_add_test(c, lists_have_a_greatest_depth);
    tcase_add_test(c, lists_are_as_many_as_their_text_may_have);
    tcase_add_test(c, a_nul_is_an_exception);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
