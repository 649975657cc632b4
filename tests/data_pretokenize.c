/* Multi30k as it was tokenised with Moses' scripts, made again from the raw text; and text that comes back. */
#include "tokenizers.h"

enum { SETS = 5, LEAST = 99 }; /* LEAST: percent of the lines */

static const char *const names[SETS] = {"train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"};
static const char *const languages[] = {"en", "de", "fr"};

typedef tfm_status convert_fn(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                              tfm_text line, tfm_error *error);

/* The line converted, in room that is enough for any of these. */
static tfm_text convert(convert_fn *to, char room[static 8192], const tfm_pretokenize_options *o, tfm_text line)
{
    tfm_error error = {0};
    size_t size;

    ck_assert_ok(to(room, 8192, &size, o, line, &error), error);
    ck_assert_uint_le(size, 8192);
    return (tfm_text){room, size};
}

static bool equal(tfm_text a, tfm_text b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static lines read_set(const char *folder, const char *name, const char *infix, uint32_t language)
{
    char path[TESTING_PATH], file[128];

    snprintf(file, sizeof file, "multi30k/%s/%s%s.%s.gz", folder, name, infix, languages[language]);
    return lines_read(data_path(path, file));
}

static tfm_pretokenize_options options_of(uint32_t language)
{
    tfm_pretokenize_options o;

    tfm_pretokenize_options_init(&o, sizeof o);
    o.language = language;
    o.lowercase = o.normalize = 1;
    return o;
}

static tfm_text without_marks(char words[static 8192], tfm_text pieces)
{
    size_t size = 0;

    ck_assert_uint_le(pieces.size, 8192);
    for (size_t i = 0; i < pieces.size; i++) {
        const bool mark = i + 3 <= pieces.size && !memcmp(pieces.data + i, "@@ ", 3);
        if (mark) i += 2;
        else words[size++] = pieces.data[i];
    }
    return (tfm_text){words, size};
}

START_TEST(raw_becomes_the_words_that_moses_made)
{
    const uint32_t language = (uint32_t)_i;
    const tfm_pretokenize_options o = options_of(language);
    size_t all = 0, other = 0;
    char room[8192];

    for (size_t s = 0; s < SETS; s++) {
        lines raw = read_set("raw", names[s], "", language), want = read_set("tok", names[s], ".lc.norm.tok", language);
        ck_assert_uint_eq(raw.count, want.count);
        for (size_t i = 0; i < raw.count; i++) {
            const tfm_text got = convert(tfm_pretokenize, room, &o, raw.line[i]);
            if (!equal(got, want.line[i])) {
                other++;
                printf("%s.%s, line %zu:\n  %.*s\n  %.*s\n", names[s], languages[language], i + 1, (int)got.size,
                       got.data, (int)want.line[i].size, want.line[i].data);
            }
        }
        all += raw.count;
        lines_free(&raw);
        lines_free(&want);
    }
    ck_assert_uint_gt(all, 30000);
    ck_assert_msg(other == 0, "%zu of %zu lines differ", other, all);
}
END_TEST

/* Cut into pieces by subword-nmt, which its marks undo: validation and tests alone. */
START_TEST(french_becomes_the_words_that_moses_made)
{
    static const char *const cut[SETS] = {NULL, "valid", "test.2016", "test.2017", "test.coco"};
    const tfm_pretokenize_options o = options_of(TFM_LANGUAGE_FRENCH);
    char room[8192], words[8192], path[TESTING_PATH], file[128];
    size_t all = 0, other = 0;

    for (size_t s = 1; s < SETS; s++) {
        snprintf(file, sizeof file, "bpe/multi30k_revisit_mmt/en-fr.%s.fr.gz", cut[s]);
        lines raw = read_set("raw", names[s], "", TFM_LANGUAGE_FRENCH), want = lines_read(data_path(path, file));
        ck_assert_uint_eq(raw.count, want.count);
        for (size_t i = 0; i < raw.count; i++)
            other += !equal(convert(tfm_pretokenize, room, &o, raw.line[i]), without_marks(words, want.line[i]));
        all += raw.count;
        lines_free(&raw);
        lines_free(&want);
    }
    ck_assert_uint_eq(all, 3475);
    ck_assert_msg(other == 0, "%zu of %zu lines differ", other, all);
}
END_TEST

/* The spaces of most lines are those that their language has as a rule. */
START_TEST(text_comes_back)
{
    const uint32_t language = (uint32_t)_i;
    tfm_pretokenize_options o = options_of(language);
    char room[8192], text[8192];
    size_t all = 0, same = 0;

    o.lowercase = o.normalize = 0;
    for (size_t s = 0; s < SETS; s++) {
        lines raw = read_set("raw", names[s], "", language);
        for (size_t i = 0; i < raw.count; i++)
            same +=
                equal(convert(tfm_detokenize, text, &o, convert(tfm_pretokenize, room, &o, raw.line[i])), raw.line[i]);
        all += raw.count;
        lines_free(&raw);
    }
    printf("%s: %zu of %zu lines come back\n", languages[language], same, all);
    ck_assert_uint_gt(all, 30000);
    ck_assert_msg(same * 100 >= all * LEAST, "%zu of %zu lines come back", same, all);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("words on data");
    TCase *c = tcase_create("words on data");

    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, raw_becomes_the_words_that_moses_made, TFM_LANGUAGE_ENGLISH, TFM_LANGUAGE_GERMAN + 1);
    tcase_add_test(c, french_becomes_the_words_that_moses_made);
    tcase_add_loop_test(c, text_comes_back, TFM_LANGUAGE_ENGLISH, TFM_LANGUAGE_FRENCH + 1);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "multi30k")
