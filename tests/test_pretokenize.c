/* Text to words and back as Moses has it: each rule by a line of its own, in the three languages. */
#include "tokenizers.h"

enum { EN = TFM_LANGUAGE_ENGLISH, DE = TFM_LANGUAGE_GERMAN, FR = TFM_LANGUAGE_FRENCH };

typedef tfm_status convert_fn(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                              tfm_text line, tfm_error *error);

static blob convert(convert_fn *to, const tfm_pretokenize_options *o, tfm_text line)
{
    tfm_error error = {0};
    blob b = {0};
    size_t again;

    ck_assert_ok(to(NULL, 0, &b.size, o, line, &error), error);
    b.data = calloc(b.size + 1, 1);
    ck_assert_ptr_nonnull(b.data);
    ck_assert_ok(to(b.data, b.size, &again, o, line, &error), error);
    ck_assert_uint_eq(again, b.size);
    return b;
}

static tfm_pretokenize_options options_of(uint32_t language)
{
    tfm_pretokenize_options o;

    tfm_pretokenize_options_init(&o, sizeof o);
    o.language = language;
    return o;
}

static void require(convert_fn *to, const tfm_pretokenize_options *o, const char *line, const char *want)
{
    const blob b = convert(to, o, (tfm_text){line, strlen(line)});

    ck_assert_msg(strcmp(b.data, want) == 0, "language %u, \"%s\":\n\"%s\", want\n\"%s\"", o->language, line, b.data,
                  want);
    free(b.data);
}

typedef struct language_case {
    uint32_t language;
    const char *line, *want;
} language_case;

static const language_case words[] = {
    {EN, "Hello, world!", "Hello , world !"},
    {EN, "  a \t b\x01 \xC2\xA0 c  ", "a b c"},
    {EN, "", ""},
    {EN, " \t ", ""},
    /* full stops */
    {EN, "Mr. Smith met Dr. No.", "Mr. Smith met Dr. No ."},
    {EN, "He left. Then she left.", "He left . Then she left ."},
    {EN, "approx. five", "approx. five"}, /* what goes on in lower case is no new sentence */
    {EN, "No. 5. No. Six", "No. 5 . No . Six"},
    {EN, "the U.S. Army, e.g. J. Doe.", "the U.S. Army , e.g. J. Doe ."},
    {EN, "at 5 p.m.", "at 5 p.m."}, /* at the end, too */
    {DE, "die Nummer 28.", "die Nummer 28."},
    {FR, "une galerie d'art.", "une galerie d&apos; art."},
    {FR, "un sac.", "un sac ."},
    {EN, "Wait... what..", "Wait ... what .."},
    {EN, "a. ...", "a . ..."},
    {EN, "'I saw it.'", "&apos;I saw it . &apos; "}, /* its space at the end included */
    {DE, "Am 3. Mai z.B. Nr. 7 usw. Ende.", "Am 3. Mai z.B. Nr. 7 usw. Ende ."},
    {DE, "Es waren 120. Dann", "Es waren 120 . Dann"},
    {DE, "Punkt x. Y", "Punkt x. Y"},
    {FR,
     "c.-\xC3\xA0-d. Le vol. Trois, \xC3\xA9"
     "d. Paris",
     "c.-\xC3\xA0-d. Le vol. Trois , \xC3\xA9"
     "d. Paris"},
    {FR, "No. 5 p. X a. Y", "No . 5 p. X a . Y"},
    {EN, "p. X", "p . X"},
    /* numbers */
    {EN, "1,000.50 and 3, 4,a 5,", "1,000.50 and 3 , 4 , a 5 ,"},
    {EN, "A,B,C", "A , B , C"},
    {EN, "50% of $3", "50 % of $ 3"},
    /* addresses */
    {EN, "see http://a.org/b?c=1.", "see http : / / a.org / b ? c = 1 ."},
    {EN, "x@y.com", "x @ y.com"},
    /* apostrophes */
    {EN, "don't 1990's dogs' 'tis l'x", "don &apos;t 1990 &apos;s dogs &apos; &apos; tis l &apos;x"},
    {EN, "5'6 rock 'n' roll", "5 &apos; 6 rock &apos; n &apos; roll"},
    {DE, "geht's 'so' 5'", "geht &apos; s &apos; so &apos; 5 &apos;"},
    {FR, "l'eau qu'il 'a' 5'6", "l&apos; eau qu&apos; il &apos; a &apos; 5 &apos; 6"},
    {FR, "aujourd'hui", "aujourd&apos; hui"},
    /* the rest */
    {EN, "well-known a--b -c", "well-known a--b -c"},
    {EN, "`a' \"b\" [c|d] <e> & f;", "`a &apos; &quot; b &quot; &#91; c &#124; d &#93; &lt; e &gt; &amp; f ;"},
    {DE,
     "\xC3\x84pfel\xE2\x80\x93"
     "Birnen\xE2\x82\xAC",
     "\xC3\x84pfel \xE2\x80\x93 Birnen \xE2\x82\xAC"},
};

START_TEST(words_are_those_of_moses)
{
    const tfm_pretokenize_options o = options_of(words[_i].language);

    require(tfm_pretokenize, &o, words[_i].line, words[_i].want);
}
END_TEST

static const language_case normal[] = {
    {EN, "\xE2\x80\x9Cquoted\xE2\x80\x9D, he said", "\" quoted , \" he said"},
    {DE, "\xE2\x80\x9Equoted,\xE2\x80\x9C sagte er", "\" quoted \" , sagte er"},
    {DE,
     "\xE2\x80\x9E"
     "Ende.\xE2\x80\x9C",
     "\" Ende \" ."},
    {DE, "\"Ende.\"<", "\" Ende . \" <"},
    {EN, "it\xE2\x80\x99s a \xE2\x80\x98word\xE2\x80\x99 \xC2\xB4x", "it 's a \" word \" ' x"},
    {EN,
     "a \xE2\x80\x93 b\xE2\x80\x94"
     "c\xE2\x80\xA6",
     "a - b - c ..."},
    {EN, "``a'' x`y", "\" a \" x 'y"},
    {FR,
     "\xC2\xAB\xC2\xA0oui\xC2\xA0\xC2\xBB\xC2\xA0! 5\xC2\xA0% 10\xC2\xA0"
     "000 5\xC2\xA0"
     "cm",
     "\" oui \" ! 5 % 10,000 5 cm"},
    {EN,
     "10\xC2\xA0"
     "000",
     "10.000"},
    {EN, "a( b )c ( d ) .\r", "a ( b ) c ( d ) ."},
    {EN, "5 % : ;", "5 % : ;"},
};

START_TEST(punctuation_becomes_ascii)
{
    tfm_pretokenize_options o = options_of(normal[_i].language);

    o.normalize = o.no_escape = 1;
    require(tfm_pretokenize, &o, normal[_i].line, normal[_i].want);
}
END_TEST

/* Lower case comes first, so that titles and initials are none any more. */
START_TEST(options_change_what_they_say)
{
    tfm_pretokenize_options o = options_of(EN);

    o.split_hyphens = 1;
    require(tfm_pretokenize, &o, "blue-eyed a-b-c a- -b \xC3\xA4-\xC3\xB6",
            "blue @-@ eyed a @-@ b @-@ c a- -b \xC3\xA4 @-@ \xC3\xB6");
    o.lowercase = 1;
    require(tfm_pretokenize, &o, "Mr. 5th \xC3\x84-B", "mr . 5th \xC3\xA4 @-@ b");
    o.no_escape = 1;
    require(tfm_pretokenize, &o, "A & 'b'", "a & ' b'");
}
END_TEST

static const language_case joined[] = {
    {EN, "Hello , world !", "Hello, world!"},
    {EN, "he said : &quot; it &apos;s ( so ) . &quot; &amp; left", "he said: \"it's (so).\" & left"},
    {EN, "the Jones &apos; house , a &apos; word &apos;", "the Jones' house, a 'word'"},
    {EN, "blue @-@ eyed $ 5 &#91; x &#93; &amp;lt; &bar; 5 %", "blue-eyed $5 [x] &lt; | 5%"},
    {DE, "geht &apos; s &apos; so ?", "geht 's' so?"},
    {DE, "\xE2\x80\x9E ja \xE2\x80\x9C , sagt er", "\xE2\x80\x9Eja\xE2\x80\x9C, sagt er"},
    {FR, "l&apos; eau qu&apos; il , dit : non ! ?!", "l'eau qu'il, dit : non !?!"},
    {FR, "5 % &quot; a &quot;", "5 % \"a\""},
    {EN, "  a   b ", "a b"},
    {EN, "", ""},
};

START_TEST(words_are_joined_to_text)
{
    const tfm_pretokenize_options o = options_of(joined[_i].language);

    require(tfm_detokenize, &o, joined[_i].line, joined[_i].want);
}
END_TEST

START_TEST(text_comes_back)
{
    static const language_case texts[] = {
        {EN, "Mr. Smith, who isn't \"old\" (he's 30), paid $5.50; why?", NULL},
        {DE, "Am 3. Mai kam er: \"z.B. um 5%\", so Dr. X!", NULL},
        {FR, "L'eau qu'il boit, aujourd'hui (c'est \"bon\").", NULL},
    };
    const tfm_pretokenize_options o = options_of(texts[_i].language);
    const blob there = convert(tfm_pretokenize, &o, (tfm_text){texts[_i].line, strlen(texts[_i].line)});

    require(tfm_detokenize, &o, there.data, texts[_i].line);
    free(there.data);
}
END_TEST

START_TEST(what_is_wrong_is_refused)
{
    convert_fn *const both[] = {tfm_pretokenize, tfm_detokenize};
    tfm_pretokenize_options o = options_of(FR + 1);
    tfm_error error = {0};
    size_t size = 7;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(both[i](NULL, 0, &size, NULL, TEXT("a\xFF"), &error), TFM_E_FORMAT);
        ck_assert_str_eq(error.message, "text is not UTF-8 at byte 1: repair it first");
        ck_assert_int_eq(both[i](NULL, 0, &size, &o, TEXT("a"), &error), TFM_E_INVALID);
        ck_assert_str_eq(error.message, "language is 3, not in 0..2");
        ck_assert_uint_eq(size, 7);
    }
}
END_TEST

/* A line to which every rule has something to do. */
static const char busy[] = "\xE2\x80\x9C"
                           "A.\xE2\x80\x9D ( b ), c... l'x 5,6 \xC2\xAB q-r & Mr. Z. 'e.'";

START_TEST(c34_every_failed_allocation_is_survived)
{
    convert_fn *const both[] = {tfm_pretokenize, tfm_detokenize};
    tfm_pretokenize_options o = options_of((uint32_t)_i);
    tfm_error error = {0};
    size_t size;

    o.normalize = o.lowercase = o.split_hyphens = 1;
    for (int i = 0; i < 2; i++) {
        tfm_status status = TFM_E_NOMEM;
        size_t n = 0;
        for (; status != TFM_OK; n++) {
            faulty f = {.fail_at = n};
            const tfm_allocator a = faulty_allocator(&f);
            o.allocator = &a;
            status = both[i](NULL, 0, &size, &o, TEXT(busy), &error);
            if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
            ck_assert_uint_eq(f.live, 0);
        }
        ck_assert_uint_gt(n, 2);
    }
}
END_TEST

static const char *const parts[] = {"a", ".",  "'",  "\"", ",",  " ",        "a.b", ".\"",
                                    "(", "a'", "-a", "&",  "' ", "\xC2\xA0", ". A"};
enum { REPEATED = sizeof parts / sizeof *parts };

/* Whatever a line repeats, each step passes over it once: a step that began again at each match would take hours here.
 */
START_TEST(a_megabyte_is_one_line)
{
    enum { SIZE = 1 << 20, ROOM = 8 * SIZE };
    const size_t n = strlen(parts[_i]), size = SIZE / n * n;
    char *line = malloc(SIZE), *there = malloc(ROOM);
    tfm_pretokenize_options o = options_of((uint32_t)_i % 3);
    tfm_error error = {0};
    size_t used, back;

    ck_assert(line && there);
    for (size_t i = 0; i < size; i += n) memcpy(line + i, parts[_i], n);
    o.normalize = o.lowercase = o.split_hyphens = 1;
    ck_assert_ok(tfm_pretokenize(there, ROOM, &used, &o, (tfm_text){line, size}, &error), error);
    ck_assert_uint_le(used, ROOM);
    ck_assert_ok(tfm_detokenize(NULL, 0, &back, &o, (tfm_text){there, used}, &error), error);
    free(line);
    free(there);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pretokenize");
    TCase *c = tcase_create("pretokenize");

    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, words_are_those_of_moses, 0, sizeof words / sizeof *words);
    tcase_add_loop_test(c, punctuation_becomes_ascii, 0, sizeof normal / sizeof *normal);
    tcase_add_test(c, options_change_what_they_say);
    tcase_add_loop_test(c, words_are_joined_to_text, 0, sizeof joined / sizeof *joined);
    tcase_add_loop_test(c, text_comes_back, 0, 3);
    tcase_add_test(c, what_is_wrong_is_refused);
    tcase_add_loop_test(c, c34_every_failed_allocation_is_survived, EN, FR + 1);
    tcase_add_loop_test(c, a_megabyte_is_one_line, 0, REPEATED);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
