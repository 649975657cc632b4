/* UTF-8: what is valid, where it is not, and what repairing puts there. */
#include "base/utf8.h"

#include "tokenizers.h"

/* ck_assert() is too slow for each of millions. */
#define require(condition, value) \
    if (!(condition)) ck_abort_msg("%s fails for %#zx", #condition, (size_t)(value))

START_TEST(every_character_is_read)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char s[5] = {0};
        uint32_t read = UINT32_MAX;
        const size_t n = put_character(code, s);
        if (!n) continue;
        require(tfm_utf8_read((tfm_text){s, n + 1}, &read) == (int)n, code);
        require(read == code, code);
        require(tfm_utf8_check((tfm_text){s, n}) == SIZE_MAX, code);
        require(n == 1 || tfm_utf8_check((tfm_text){s, n - 1}) == 0, code);
    }
}
END_TEST

/* Which strings of one, two and three bytes begin a character, the whole of it or not: from the definition alone. */
static unsigned char *beginnings(void)
{
    unsigned char *begins = calloc(3, 1 << 24);

    ck_assert_ptr_nonnull(begins);
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char s[4];
        const size_t n = put_character(code, s);
        for (size_t k = 1, prefix = 0; k <= n && k <= 3; k++) {
            prefix = prefix << 8 | (unsigned char)s[k - 1];
            begins[(k - 1) << 24 | prefix] = k == n ? 2 : 1; /* 2: the whole of it */
        }
    }
    return begins;
}

/* What tfm_utf8_read() should return for four bytes. */
static int wanted(const unsigned char *begins, const char s[4])
{
    size_t prefix = 0;

    for (size_t k = 1; k <= 3; k++) {
        prefix = prefix << 8 | (unsigned char)s[k - 1];
        const unsigned char kind = begins[(k - 1) << 24 | prefix];
        if (kind == 2) return (int)k;
        if (kind == 0) return k == 1 ? -1 : -(int)(k - 1);
    }
    return ((unsigned char)s[3] & 0xC0) == 0x80 ? 4 : -3;
}

START_TEST(maximal_parts_are_those_of_the_definition)
{
    static const unsigned char edge[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF,
                                         0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF};
    enum { N = sizeof edge };
    unsigned char *begins = beginnings();

    for (size_t i = 0; i < (size_t)N * N * N * N; i++) {
        const char s[4] = {(char)edge[i % N], (char)edge[i / N % N], (char)edge[i / N / N % N],
                           (char)edge[i / N / N / N]};
        uint32_t code;
        require(tfm_utf8_read((tfm_text){s, 4}, &code) == wanted(begins, s), i);
    }
    free(begins);
}
END_TEST

static const struct {
    const char *text, *repaired;
    size_t offset; /* of the first error */
} broken[] = {
    {"a\x80z", "a\xEF\xBF\xBDz", 1},
    {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 0},
    {"\xE0\x80\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0},
    {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0},
    {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 0},
    {"\xF0\x90\x80"
     "A",
     "\xEF\xBF\xBD"
     "A",
     0},
    {"ok\xE2\x96", "ok\xEF\xBF\xBD", 2},
    {"\xE2\x96\xE2\x96\x81", "\xEF\xBF\xBD\xE2\x96\x81", 0},
    /* Unicode 15, table 3-11 */
    {"a\xF1\x80\x80\xE1\x80\xC2"
     "b\x80"
     "c\x80\xBF"
     "d",
     "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
     "b\xEF\xBF\xBD"
     "c\xEF\xBF\xBD\xEF\xBF\xBD"
     "d",
     1},
};

START_TEST(each_maximal_invalid_part_is_replaced)
{
    const tfm_text text = tfm_text_of(broken[_i].text), want = tfm_text_of(broken[_i].repaired);
    char out[64];
    size_t size = 0;

    ck_assert_uint_eq(tfm_utf8_check(text), broken[_i].offset);
    tfm_utf8_repair(out, sizeof out, &size, text);
    ck_assert_uint_eq(size, want.size);
    ck_assert_mem_eq(out, want.data, want.size);
    ck_assert(tfm_utf8_check((tfm_text){out, size}) == SIZE_MAX);
}
END_TEST

START_TEST(repair_writes_no_more_than_there_is_room)
{
    char out[8] = "-------";
    size_t size = 0;

    tfm_utf8_repair(out, 4, &size,
                    tfm_text_of("ab\xFF"
                                "c"));
    ck_assert_uint_eq(size, 6);
    ck_assert_mem_eq(out, "ab\xEF\xBF---", 7);
    tfm_utf8_repair(NULL, 0, &size,
                    tfm_text_of("ab\xFF"
                                "c"));
    ck_assert_uint_eq(size, 6);
    tfm_utf8_repair(out, 4, &size, (tfm_text){NULL, 0});
    ck_assert_uint_eq(size, 0);
    tfm_utf8_repair(out, 4, NULL, tfm_text_of("x"));
    ck_assert_int_eq(out[0], 'x');
}
END_TEST

START_TEST(c04_nul_is_a_character)
{
    char out[3];
    size_t size;

    ck_assert(tfm_utf8_check((tfm_text){"a\0\xFF", 3}) == 2);
    ck_assert(tfm_utf8_check((tfm_text){"a\0b", 3}) == SIZE_MAX);
    tfm_utf8_repair(out, 3, &size, (tfm_text){"a\0b", 3});
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(out, "a\0b", 3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("utf8");
    TCase *c = tcase_create("utf8");

    tcase_add_test(c, every_character_is_read);
    tcase_add_test(c, maximal_parts_are_those_of_the_definition);
    tcase_add_loop_test(c, each_maximal_invalid_part_is_replaced, 0, sizeof broken / sizeof *broken);
    tcase_add_test(c, repair_writes_no_more_than_there_is_room);
    tcase_add_test(c, c04_nul_is_a_character);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
