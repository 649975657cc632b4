/* Lines that are too long: alignments and copied words of their parts are those of the line. */
#include "api/line_words.h"
#include "text/tokenizer.h"
#include "spm_file.h"
#include "split_results.h"

#include <math.h>

enum { MOST_PARTS = 8, MOST_TOKENS = 512 };

/* What the alignment of a line must be, from those of its parts: tokens, and the words that they belong to. */
typedef struct expected {
    float tokens[MOST_TOKENS][MOST_TOKENS];
    uint32_t rows[MOST_TOKENS], cols[MOST_TOKENS];
    size_t n_rows, n_cols;
} expected;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The number of the word that the first letter from byte `at` on belongs to. */
static uint32_t word_of(tfm_text text, size_t at)
{
    uint32_t n = 0;

    while (at < text.size && is_space(text.data[at])) at++;
    for (size_t i = 0; i <= at && i < text.size; i++)
        n += !is_space(text.data[i]) && (i == 0 || is_space(text.data[i - 1]));
    return n - 1;
}

static void put_word_numbers(uint32_t *to, const uint32_t *from, size_t n, uint32_t first)
{
    for (size_t i = 0; i < n; i++) to[i] = from[i] == TFM_NO_WORD ? TFM_NO_WORD : from[i] + first;
}

/* Adds part i, which was translated as sentence i of d: where its source stands in the line, its text in that of all.
 */
static void expect_part(expected *e, const tfm_decoder *d, size_t i, size_t rank, const tfm_tokenizer *t,
                        tfm_text source, uint32_t source_word, uint32_t target_word)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const int32_t vocab = (int32_t)tfm_tokenizer_vocab_size(t);
    tfm_buffer text = {.allocator = a}, shown = {.allocator = a};
    uint32_t numbers[MOST_TOKENS];
    int32_t ids[MOST_TOKENS];
    size_t rows, cols;
    const float *w = tfm_decoder_alignment(d, i, rank, TFM_ALIGNMENT_TOKENS, &rows, &cols);

    ck_assert(w && e->n_rows + rows <= MOST_TOKENS && e->n_cols + cols <= MOST_TOKENS);
    for (size_t r = 0; r < rows; r++) memcpy(&e->tokens[e->n_rows + r][e->n_cols], w + r * cols, cols * sizeof *w);
    ck_assert_ok(tfm_words_of_line(numbers, cols - 1, t, source, &error), error);
    numbers[cols - 1] = TFM_NO_WORD; /* EOS */
    put_word_numbers(e->cols + e->n_cols, numbers, cols, source_word);
    for (size_t r = 0; r < rows; r++) {
        ids[r] = tfm_decoder_ids(d, i, rank).data[r];
        if (ids[r] >= vocab) ids[r] = TFM_UNK;
    }
    tfm_tokenizer_join(t, (tfm_ids){ids, rows}, &shown);
    ck_assert_ok(tfm_words_of_ids(numbers, t, (tfm_ids){ids, rows}, TFM_EOS, (tfm_text){shown.data, shown.size}, &text,
                                  &error),
                 error);
    tfm_buffer_free(&shown);
    put_word_numbers(e->rows + e->n_rows, numbers, rows, target_word);
    e->n_rows += rows;
    e->n_cols += cols;
    tfm_buffer_free(&text);
}

static void check_tokens(const expected *e, const tfm_decoder *d, size_t rank)
{
    size_t rows, cols;
    const float *w = tfm_decoder_alignment(d, 0, rank, TFM_ALIGNMENT_TOKENS, &rows, &cols);

    ck_assert(w && rows == e->n_rows && cols == e->n_cols);
    for (size_t r = 0; r < rows; r++) ck_assert_mem_eq(w + r * cols, e->tokens[r], cols * sizeof *w);
}

static void check_words(const expected *e, const tfm_decoder *d, size_t rank, size_t n_target, size_t n_source)
{
    size_t rows, cols;
    const float *w = tfm_decoder_alignment(d, 0, rank, TFM_ALIGNMENT_WORDS, &rows, &cols);

    ck_assert(!n_target == !w);
    ck_assert(!w || (rows == n_target && cols == n_source));
    for (size_t r = 0; w && r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            double sum = 0;
            size_t n = 0;
            for (size_t i = 0; i < e->n_rows; i++) {
                n += e->rows[i] == r;
                for (size_t j = 0; e->rows[i] == r && j < e->n_cols; j++)
                    sum += e->cols[j] == c ? (double)e->tokens[i][j] : 0;
            }
            const double want = sum / (double)n;
            ck_assert_msg(fabs((double)w[r * cols + c] - want) < 1e-6, "row %zu, column %zu: %g, want %g", r, c,
                          (double)w[r * cols + c], want);
        }
}

static const tfm_text long_lines[] = {LINE("the cat sat. the dog sat"),
                                      LINE("  the  cat\tsat on. a dog, and the cat sat "), LINE("thecatsatonthemat"),
                                      LINE("a catadogacatadog sat")};

static void split_as_decoder(tfm_parts *p, const tfm_tokenizer *t, const tfm_text *line, size_t limit)
{
    tfm_encoded encoded = {.allocator = p->allocator};

    ck_assert_ok(tfm_encode_lines(&encoded, t, line, 1, &rules, &error), error);
    ck_assert_ok(tfm_split_lines(p, t, line, &encoded, limit, &rules, &error), error);
    ck_assert(p->n > 1 && p->n <= MOST_PARTS);
    tfm_encoded_free(&encoded);
}

START_TEST(parts_are_aligned_as_words_of_the_line)
{
    static expected e;
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const tfm_text *line = &long_lines[_i / 2];
    tfm_model *model = text_model_make();
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    tfm_parts p = {.allocator = a, .trial.allocator = a};
    tfm_decoder_options o = decoder_options(4);

    o.n_best = 3;
    o.temperature = _i % 2 ? 1.0f : 0.0f;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm_decoder *want = decoder_of(model, &o);
    o.max_source = 10;
    o.long_source = TFM_LONG_SPLIT;
    tfm_decoder *d = decoder_of(model, &o);
    split_as_decoder(&p, t, line, 10);
    ck_assert_ok(tfm_decoder_translate(want, p.texts, p.n, &error), error);
    ck_assert_ok(tfm_decoder_translate(d, line, 1, &error), error);
    ck_assert_uint_eq(tfm_decoder_parts(d, 0), p.n);
    for (size_t rank = 0; rank < tfm_decoder_count(d, 0); rank++) {
        const tfm_text all = tfm_decoder_text(d, 0, rank);
        size_t at = 0;
        e = (expected){.n_rows = 0};
        for (size_t i = 0; i < p.n; i++) {
            const tfm_text text = tfm_decoder_text(want, i, rank);
            at += i && at && text.size && tfm_parts_spaced(&p, i);
            expect_part(&e, want, i, rank, t, p.texts[i], word_of(*line, (size_t)(p.texts[i].data - line->data)),
                        word_of(all, at));
            at += text.size;
        }
        ck_assert_uint_eq(at, all.size);
        check_tokens(&e, d, rank);
        check_words(&e, d, rank, tfm_count_words(all), tfm_count_words(*line));
    }
    tfm_parts_free(&p);
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
}
END_TEST

/* A language is a token at the beginning of a line alone. */
static tfm_tokenizer *languages_make(void)
{
    static const char *const ids[] = {"<pad>", "</s>", "<s>", "<unk>", "\xE2\x96\x81", "a", "b", "c", "k", ">>x<<"};
    static spm_file f;
    char folder[TESTING_PATH], path[TESTING_PATH], vocabulary[256] = "";
    tfm_tokenizer *from, *t;

    spm_small(&f, (spm_form){.model = 1});
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        sprintf(vocabulary + strlen(vocabulary), "\"%s\": %zu\n", ids[i], i);
    file_write(path_join(path, temp_make(folder), "vocabulary"), vocabulary, strlen(vocabulary));
    ck_assert_ok(tfm_tokenizer_from_text(&from, (tfm_text){(const char *)f.bytes, f.size}, NULL, &error), error);
    ck_assert_ok(tfm_tokenizer_renumber(&t, from, path, NULL, &error), error);
    tfm_tokenizer_free(from);
    temp_remove(folder);
    return t;
}

START_TEST(every_part_has_the_language_of_its_line)
{
    static const struct {
        tfm_text line, parts[2];
        size_t n_words;
    } trials[] = {{LINE(">>x<< k a. a k a k"), {LINE(">>x<< k a."), LINE(">>x<< a k a k")}, 7},
                  {LINE(" >>x<<k a. a k a k"), {LINE(">>x<<k a."), LINE(">>x<<a k a k")}, 6}};
    static expected e;
    const tfm_text *parts = trials[_i].parts;
    tfm_tokenizer *t = languages_make();
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(4);
    size_t limit;

    mo.vocab_size = tfm_tokenizer_vocab_size(t);
    tfm_model *model = model_changed(&mo, t, sharpen);
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm_decoder *want = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(want, parts, 2, &error), error);
    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &limit, t, parts[1], &error), error);
    o.max_source = (uint32_t)limit + 1;
    o.long_source = TFM_LONG_SPLIT;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, &trials[_i].line, 1, &error), error);
    ck_assert_uint_eq(tfm_decoder_parts(d, 0), 2);
    check_joined(d, 0, want, 0);
    e.n_rows = e.n_cols = 0;
    expect_part(&e, want, 0, 0, t, parts[0], 0, 0);
    const size_t second = e.n_cols;
    expect_part(&e, want, 1, 0, t, parts[1], 2, (uint32_t)tfm_count_words(tfm_decoder_text(want, 0, 0)));
    e.cols[second] = 0;
    check_tokens(&e, d, 0);
    check_words(&e, d, 0, tfm_count_words(tfm_decoder_text(d, 0, 0)), trials[_i].n_words);
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

/* A model of few words that does not know those of the line. */
START_TEST(unknown_words_of_parts_are_copied)
{
    static const tfm_text known[] = {LINE("ba du"), LINE("zu zy")},
                          line = LINE("\xCE\xA9 \xCE\xA8 ba \xCE\xA6 \xCE\xA3 du");
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_parts p = {.allocator = a, .trial.allocator = a};
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(1);
    tfm_tokenizer_options to;
    tfm_tokenizer *t;
    size_t unknown = 0;
    char text[1024];

    tfm_tokenizer_options_init(&to, sizeof to);
    to.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_ok(tfm_tokenizer_learn(&t, &to, known, 2, &error), error);
    mo.vocab_size = tfm_tokenizer_vocab_size(t);
    tfm_model *model = model_changed(&mo, t, sharpen);
    o.n_best = 100;
    o.temperature = 2.0f;
    o.max_length = 8;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    o.replace_unknown = 1;
    tfm_decoder *want = decoder_of(model, &o);
    o.max_source = 4;
    o.long_source = TFM_LONG_SPLIT;
    tfm_decoder *d = decoder_of(model, &o);
    split_as_decoder(&p, t, &line, o.max_source);
    ck_assert_ok(tfm_decoder_translate(want, p.texts, p.n, &error), error);
    ck_assert_ok(tfm_decoder_translate(d, &line, 1, &error), error);
    for (size_t rank = 0; rank < 100; rank++) {
        const tfm_ids ids = tfm_decoder_ids(d, 0, rank);
        for (size_t i = 0; i < ids.size; i++) unknown += ids.data[i] == TFM_UNK;
        *text = '\0';
        for (size_t i = 0; i < p.n; i++) {
            const tfm_text part = tfm_decoder_text(want, i, rank);
            sprintf(text + strlen(text), "%s%s", *text && part.size ? " " : "", part.data);
        }
        ck_assert_str_eq(tfm_decoder_text(d, 0, rank).data, text);
        ck_assert_ptr_null(strstr(text, "<unk>"));
    }
    ck_assert_uint_gt(unknown, 5);
    tfm_parts_free(&p);
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

START_TEST(aligning_parts_without_memory)
{
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(2);
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0, rows, cols;

    o.max_source = 10;
    o.long_source = TFM_LONG_SPLIT;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    o.replace_unknown = 1;
    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        o.allocator = &a;
        tfm_decoder *d = decoder_of(model, &o);
        f.fail_at = f.calls + n;
        status = tfm_decoder_translate(d, long_lines, 2, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(tfm_decoder_count(d, 1), status == TFM_OK);
        ck_assert((tfm_decoder_alignment(d, 1, 0, TFM_ALIGNMENT_TOKENS, &rows, &cols) != NULL) == (status == TFM_OK));
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 20);
    tfm_model_free(model);
}
END_TEST

/* A line of so many parts that its matrix would be huge is translated, without. */
START_TEST(alignments_above_the_limit_are_left_out)
{
    enum { SIZE = 5000 };
    static char letters[SIZE];
    const tfm_text line = {letters, SIZE};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(1);
    size_t rows, cols;

    for (size_t i = 0; i < SIZE; i++) letters[i] = i % 7 ? (char)('a' + i % 11) : ' ';
    o.max_source = 100;
    o.min_length = 101;
    o.long_source = TFM_LONG_SPLIT;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    o.replace_unknown = 1;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(d, &line, 1, &error), error);
    ck_assert_uint_gt(tfm_decoder_ids(d, 0, 0).size, 4096);
    ck_assert_uint_gt(tfm_decoder_text(d, 0, 0).size, 0);
    for (uint32_t unit = 0; unit < 2; unit++)
        ck_assert_ptr_null(tfm_decoder_alignment(d, 0, 0, unit, &rows, &cols));
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("split_alignment");
    TCase *tc = tcase_create("split_alignment");

    tcase_add_loop_test(tc, parts_are_aligned_as_words_of_the_line, 0,
                        2 * (int)(sizeof long_lines / sizeof *long_lines));
    tcase_add_loop_test(tc, every_part_has_the_language_of_its_line, 0, 2);
    tcase_add_test(tc, unknown_words_of_parts_are_copied);
    tcase_add_test(tc, aligning_parts_without_memory);
    tcase_add_test(tc, alignments_above_the_limit_are_left_out);
    suite_add_tcase(s, tc);
    return s;
}

TESTING_MAIN(suite)
