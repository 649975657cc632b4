/* Merges and segmentations of subword-nmt, byte for byte, and real text through our own kind and back. */
#include "tokenizers.h"

#include <jansson.h>
#include <time.h>

static lines read_data(const char *name)
{
    char path[TESTING_PATH];

    return lines_read(data_path(path, name));
}

/* The lines of several files one after the other; their bytes stay with the parts. */
typedef struct joined {
    lines parts[8];
    tfm_text *line;
    size_t count;
} joined;

static joined read_all(const char *const *names, size_t n)
{
    joined j = {0};

    for (size_t i = 0; i < n; i++) {
        j.parts[i] = read_data(names[i]);
        j.line = realloc(j.line, (j.count + j.parts[i].count + 1) * sizeof *j.line);
        ck_assert_ptr_nonnull(j.line);
        memcpy(j.line + j.count, j.parts[i].line, j.parts[i].count * sizeof *j.line);
        j.count += j.parts[i].count;
    }
    return j;
}

static void joined_free(joined *j)
{
    for (size_t i = 0; i < sizeof j->parts / sizeof *j->parts; i++) lines_free(&j->parts[i]);
    free(j->line);
}

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static tfm_tokenizer *import(const char *codes, const lines *text)
{
    char path[TESTING_PATH];
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_import(&t, data_path(path, codes), text->line, text->count, NULL, &error), error);
    return t;
}

/* --------------------------------------------------------------------------------------------------- learning ---- */

static void require_codes(const tfm_tokenizer *t, const char *name)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_error error = {0};

    temp_make(folder);
    ck_assert_ok(tfm_tokenizer_export(t, path_join(path, folder, "codes"), &error), error);
    lines got = lines_read(path), want = read_data(name);
    for (size_t i = 0; i < want.count && i < got.count; i++)
        if (got.line[i].size != want.line[i].size || memcmp(got.line[i].data, want.line[i].data, got.line[i].size))
            ck_abort_msg("line %zu of %s is %.*s", i + 1, name, (int)want.line[i].size, want.line[i].data);
    ck_assert_uint_eq(got.count, want.count);
    lines_free(&got);
    lines_free(&want);
    temp_remove(folder);
}

static const char *const multi30k[] = {"multi30k/tok/train.lc.norm.tok.en.gz", "multi30k/tok/train.lc.norm.tok.de.gz"};

START_TEST(merges_of_a_small_corpus)
{
    lines text = read_data("bpe/corpus.en");
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 1000, text.line, text.count);

    require_codes(t, "bpe/bpe.ref");
    tfm_tokenizer_free(t);
    lines_free(&text);
}
END_TEST

START_TEST(merges_of_two_corpora)
{
    const char *const names[] = {"bpe/corpus.en", "multi30k/tok/test_2016_flickr.lc.norm.tok.en.gz"};
    joined text = read_all(names, 2);
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 500, text.line, text.parts[0].count + 200);

    require_codes(t, "bpe/joint500.codes");
    tfm_tokenizer_free(t);
    joined_free(&text);
}
END_TEST

START_TEST(ten_thousand_merges_of_multi30k_take_seconds)
{
    joined text = read_all(multi30k, 2);
    const double start = cpu_seconds();
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 10000, text.line, text.count);

    ck_assert_double_lt(cpu_seconds() - start, 20); /* 0.3 in a release; a sanitizer costs ten times as much */
    require_codes(t, "bpe/multi30k_revisit_mmt/code.en-de");
    tfm_tokenizer_free(t);
    joined_free(&text);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ segmentation ---- */

#define M30K(name) "multi30k/tok/" name ".lc.norm.tok."
#define REVISIT "bpe/multi30k_revisit_mmt/"

static const struct {
    const char *codes, *source, *segmented;
} segmented[] = {
    {"bpe/bpe.ref", "bpe/corpus.en", "bpe/corpus.bpe.ref.en"},
    {"bpe/joint500.codes", "bpe/corpus.en", "bpe/corpus.joint500.en.gz"},
    {"bpe/bpe.ref", "spm/inputs_misc.txt", "bpe/inputs_misc.bpe.ref.txt"},
    {REVISIT "code.en-de", M30K("val") "en.gz", REVISIT "en-de.valid.en.gz"},
    {REVISIT "code.en-de", M30K("val") "de.gz", REVISIT "en-de.valid.de.gz"},
    {REVISIT "code.en-de", M30K("test_2016_flickr") "en.gz", REVISIT "en-de.test.2016.en.gz"},
    {REVISIT "code.en-de", M30K("test_2016_flickr") "de.gz", REVISIT "en-de.test.2016.de.gz"},
    {REVISIT "code.en-de", M30K("test_2017_flickr") "en.gz", REVISIT "en-de.test.2017.en.gz"},
    {REVISIT "code.en-de", M30K("test_2017_flickr") "de.gz", REVISIT "en-de.test.2017.de.gz"},
    {REVISIT "code.en-de", M30K("test_2017_mscoco") "en.gz", REVISIT "en-de.test.coco.en.gz"},
    {REVISIT "code.en-de", M30K("test_2017_mscoco") "de.gz", REVISIT "en-de.test.coco.de.gz"},
    {REVISIT "code.en-fr", M30K("val") "en.gz", REVISIT "en-fr.valid.en.gz"},
    {REVISIT "code.en-fr", M30K("test_2016_flickr") "en.gz", REVISIT "en-fr.test.2016.en.gz"},
    {REVISIT "code.en-fr", M30K("test_2017_flickr") "en.gz", REVISIT "en-fr.test.2017.en.gz"},
    {REVISIT "code.en-fr", M30K("test_2017_mscoco") "en.gz", REVISIT "en-fr.test.coco.en.gz"},
};

START_TEST(segmentation_is_that_of_subword_nmt)
{
    lines source = read_data(segmented[_i].source), want = read_data(segmented[_i].segmented);
    tfm_tokenizer *t = import(segmented[_i].codes, &source);

    ck_assert_uint_gt(source.count, 30);
    ck_assert_uint_eq(source.count, want.count);
    for (size_t i = 0; i < source.count; i++) require_segments(t, source.line[i], want.line[i]);
    tfm_tokenizer_free(t);
    lines_free(&source);
    lines_free(&want);
}
END_TEST

static tfm_tokenizer *restricted(const tfm_tokenizer *from, const char *vocabulary, uint32_t threshold,
                                 const tfm_text *glossaries, size_t n)
{
    char path[TESTING_PATH];
    tfm_tokenizer *t = NULL;
    tfm_error error = {0};

    ck_assert_ok(tfm_tokenizer_restrict(&t, from, vocabulary ? data_path(path, vocabulary) : NULL, threshold,
                                        glossaries, n, NULL, &error),
                 error);
    return t;
}

/* What apply-bpe prints with --vocabulary joint500.vocab.1 --vocabulary-threshold 20. */
START_TEST(a_threshold_splits_as_in_subword_nmt)
{
    lines source = read_data("bpe/corpus.en"), want = read_data("bpe/corpus.joint500.vocabthr20.en.gz");
    tfm_tokenizer *t = import("bpe/joint500.codes", &source);
    tfm_tokenizer *kept = restricted(t, "bpe/joint500.vocab.1", 20, NULL, 0);

    ck_assert_uint_eq(source.count, want.count);
    for (size_t i = 0; i < source.count; i++) require_segments(kept, source.line[i], want.line[i]);
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
    lines_free(&source);
    lines_free(&want);
}
END_TEST

/* The case of subword-nmt's own tests that has glossaries, with the word in place of its pattern: no patterns here. */
START_TEST(glossaries_stay_whole_as_in_subword_nmt)
{
    const tfm_text glossaries[] = {TEXT("<country>Switzerland</country>"), TEXT("fly")};
    const char *input = "I am flying to <country>Switzerland</country> at noon .";
    const char *expected = "I am fly@@ ing to <country>Switzerland</country> at no@@ on .";
    lines text = read_data("bpe/corpus.en");
    tfm_tokenizer *t = import("bpe/bpe.ref", &text), *kept = restricted(t, NULL, 0, glossaries, 2);

    require_segments(kept, (tfm_text){input, strlen(input)}, (tfm_text){expected, strlen(expected)});
    tfm_tokenizer_free(kept);
    tfm_tokenizer_free(t);
    lines_free(&text);
}
END_TEST

/* The cases of subword-nmt's own tests, those without options. */
START_TEST(unit_cases_of_subword_nmt)
{
    lines cases = read_data("bpe/unit.jsonl"), text = read_data("bpe/corpus.en");
    int checked = 0;

    for (size_t i = 0; i < cases.count; i++) {
        json_t *c = json_loadb(cases.line[i].data, cases.line[i].size, 0, NULL);
        const char *codes, *input, *expected;
        char name[TESTING_PATH];
        ck_assert_ptr_nonnull(c);
        if (!json_object_get(c, "glossaries")) {
            ck_assert_int_eq(json_unpack(c, "{s:s, s:s, s:s}", "codes", &codes, "input", &input, "expected", &expected),
                             0);
            snprintf(name, sizeof name, "bpe/%s", codes);
            tfm_tokenizer *t = import(name, &text);
            require_segments(t, (tfm_text){input, strlen(input)}, (tfm_text){expected, strlen(expected)});
            tfm_tokenizer_free(t);
            checked++;
        }
        json_decref(c);
    }
    ck_assert(checked == 4 && cases.count == 5);
    lines_free(&cases);
    lines_free(&text);
}
END_TEST

/* Pre-tokenised text is pieces joined again: known words come back, and all words of the training text are known. */
START_TEST(training_text_comes_back_from_pieces)
{
    joined text = read_all(multi30k, 2);
    tfm_tokenizer *t = learn(TFM_TOKENIZER_SUBWORD_NMT, 10000, text.line, text.count);

    for (size_t i = 0; i < text.count; i += 7) {
        tfm_text line = text.line[i];
        while (line.size && line.data[line.size - 1] == ' ') line.size--;
        require_reversed(t, line);
    }
    tfm_tokenizer_free(t);
    joined_free(&text);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- reversible ---- */

START_TEST(real_and_naughty_lines_come_back)
{
    static const char *const names[] = {"multi30k/raw/train.en.gz", "multi30k/raw/train.de.gz",
                                        "multi30k/raw/train.fr.gz", "nasty/blns.txt",
                                        "spm/inputs_misc.txt",      "spm/botchan.txt"};
    joined text = read_all(names, 6);
    const size_t learned = text.parts[0].count + text.parts[1].count;
    double start = cpu_seconds();
    tfm_tokenizer *t = learn(TFM_TOKENIZER_BPE, 8000, text.line, learned);
    size_t n = 0, ids = 0;

    ck_assert_double_lt(cpu_seconds() - start, 20);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(t), 8000);
    start = cpu_seconds();
    for (size_t i = 0; i < learned; i++, ids += n)
        ck_assert_int_eq(tfm_tokenizer_encode(NULL, 0, &n, t, text.line[i], NULL), TFM_OK);
    ck_assert_double_lt(cpu_seconds() - start, 10); /* 0.3 in a release */
    ck_assert_uint_lt(ids, 900000);                 /* 699,000 words */
    for (size_t i = 0; i < text.count; i++) require_reversed(t, text.line[i]);
    tfm_tokenizer_free(t);
    joined_free(&text);
}
END_TEST

/* The merges are those of the lines, not of their order. */
START_TEST(c06_order_of_lines_does_not_matter)
{
    for (uint32_t kind = 0; kind < 2; kind++) {
        lines text = read_data("bpe/corpus.en");
        tfm_tokenizer *a = learn(kind, 2000, text.line, text.count);
        for (size_t i = text.count - 1; i > 0; i--) {
            const size_t k = (i * 2654435761u) % (i + 1);
            const tfm_text kept = text.line[i];
            text.line[i] = text.line[k];
            text.line[k] = kept;
        }
        tfm_tokenizer *b = learn(kind, 2000, text.line, text.count);
        ck_assert_uint_eq(tfm_tokenizer_vocab_size(a), tfm_tokenizer_vocab_size(b));
        for (int32_t id = 0; id < (int32_t)tfm_tokenizer_vocab_size(a); id++) {
            const tfm_text x = tfm_tokenizer_token(a, id), y = tfm_tokenizer_token(b, id);
            if (x.size != y.size || memcmp(x.data, y.data, x.size)) ck_abort_msg("token %d differs", id);
        }
        for (size_t i = 0; i < text.count; i++) {
            const blob want = segment(a, text.line[i]);
            require_segments(b, text.line[i], (tfm_text){want.data, want.size});
            free(want.data);
        }
        tfm_tokenizer_free(a);
        tfm_tokenizer_free(b);
        lines_free(&text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tokenizer on data");
    TCase *c = tcase_create("tokenizer on data");

    tcase_add_test(c, merges_of_a_small_corpus);
    tcase_add_test(c, merges_of_two_corpora);
    tcase_add_test(c, ten_thousand_merges_of_multi30k_take_seconds);
    tcase_add_loop_test(c, segmentation_is_that_of_subword_nmt, 0, sizeof segmented / sizeof *segmented);
    tcase_add_test(c, a_threshold_splits_as_in_subword_nmt);
    tcase_add_test(c, glossaries_stay_whole_as_in_subword_nmt);
    tcase_add_test(c, unit_cases_of_subword_nmt);
    tcase_add_test(c, training_text_comes_back_from_pieces);
    tcase_add_test(c, real_and_naughty_lines_come_back);
    tcase_add_test(c, c06_order_of_lines_does_not_matter);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "bpe")
