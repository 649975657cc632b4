/* Lines that are too long: where they are cut, what is translated, and what their results say. */
#include "api/line_words.h"
#include "api/split_lines.h"
#include "text/tokenizer.h"
#include "decoder_models.h"
#include "spm_file.h"

#include <math.h>

/* Bytes alone: the tokens of a part are its bytes, with the space before the first word, and EOS. */
static tfm_tokenizer *bytes_make(void)
{
    static const tfm_text text = LINE("a b");
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.vocab_size = 260;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, &text, 1, &error), error);
    return t;
}

static const tfm_encode_rules rules = {"line", true, TFM_BLANK_NO_IDS, TFM_EOS, NULL};

/* The parts of a line, with '|' between them, or '_' where white space was left out. */
static tfm_status parts_of(char *out, tfm_text line, size_t limit, const tfm_allocator *a)
{
    tfm_tokenizer *t = bytes_make();
    tfm_encoded encoded = {.allocator = *a};
    tfm_parts p = {.allocator = *a, .trial.allocator = *a};
    tfm_status status = tfm_encode_lines(&encoded, t, &line, 1, &rules, &error);

    if (!status) status = tfm_split_lines(&p, t, &line, &encoded, limit, &rules, &error);
    *out = '\0';
    for (size_t i = 0; !status && i < p.n; i++) {
        const char *between = !i ? "" : tfm_parts_spaced(&p, i) ? "_" : "|";
        sprintf(out + strlen(out), "%s%.*s", between, (int)p.texts[i].size, p.texts[i].data);
    }
    tfm_parts_free(&p);
    tfm_encoded_free(&encoded);
    tfm_tokenizer_free(t);
    return status;
}

static const struct {
    const char *line;
    size_t limit;
    const char *parts;
} cuts[] = {
    {"short", 7, "short"},
    {"a b. c d", 7, "a b._c d"},                                  /* at the end of a sentence */
    {"ab cd, ef gh", 9, "ab cd,_ef gh"},                          /* else at a comma, although a space is nearer */
    {"ab cd ef", 7, "ab cd_ef"},                                  /* else at a space */
    {"abcdefgh", 6, "abcd|efgh"},                                 /* else anywhere */
    {"He \"n.\" It left us now", 16, "He \"n.\"_It left us now"}, /* quotes belong to their sentence */
    {"x. bbbbbb cccccc", 11, "x. bbbbbb_cccccc"},                 /* an end outside of the middle half does not count */
    {"aa 3.5 bb", 8, "aa_3.5 bb"},                                /* nor a full stop within a number */
    {"one. two. three. four.", 8, "one._two._three._four."},
    {"  a    b  ", 4, "a_b"},
    {"\xE3\x81\x82\xE3\x80\x82\xE3\x81\x84\xE3\x81\x86", 9,
     "\xE3\x81\x82\xE3\x80\x82|\xE3\x81\x84\xE3\x81\x86"},        /* no spaces */
    {"\xC3\xA4\xC3\xA4\xC3\xA4", 6, "\xC3\xA4|\xC3\xA4\xC3\xA4"}, /* between characters */
    {"ab\xFF\xFE", 6, "ab|\xFF|\xFE"},                            /* what is none counts as one */
};

START_TEST(lines_are_cut_where_it_is_best)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const tfm_text line = {cuts[_i].line, strlen(cuts[_i].line)};
    char parts[256];

    ck_assert_ok(parts_of(parts, line, cuts[_i].limit, &a), error);
    ck_assert_str_eq(parts, cuts[_i].parts);
}
END_TEST

/* Any bytes: no part is empty or above the limit, and together they are the line but for white space. */
START_TEST(parts_of_any_bytes)
{
    static const char alphabet[] = "ab. ,!\xC3\xA4\xE3\x80\x82\xFF\t\n";
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    uint64_t h = 7;
    char line[120];

    for (int trial = 0; trial < 300; trial++) {
        const size_t size = 1 + (size_t)trial % sizeof line, limit = 12;
        tfm_tokenizer *t = bytes_make();
        for (size_t i = 0; i < size; i++) {
            h = h * 6364136223846793005u + 1442695040888963407u;
            line[i] = alphabet[(h >> 33) % (sizeof alphabet - 1)];
        }
        const tfm_text text = {line, size};
        tfm_encoded encoded = {.allocator = a}, again = {.allocator = a};
        tfm_parts p = {.allocator = a, .trial.allocator = a};
        ck_assert_ok(tfm_encode_lines(&encoded, t, &text, 1, &rules, &error), error);
        ck_assert_ok(tfm_split_lines(&p, t, &text, &encoded, limit, &rules, &error), error);
        ck_assert_ok(tfm_encode_lines(&again, t, p.texts, p.n, &rules, &error), error);
        const char *at = line;
        for (size_t i = 0; i < p.n; i++) {
            ck_assert_uint_le(again.lines[i].size, limit);
            ck_assert(p.n == 1 || again.lines[i].size > 1);
            ck_assert(p.n == 1 || tfm_line_is_blank((tfm_text){at, (size_t)(p.texts[i].data - at)}));
            at = p.texts[i].data + p.texts[i].size;
        }
        ck_assert(tfm_line_is_blank((tfm_text){at, (size_t)(line + size - at)}));
        tfm_parts_free(&p);
        tfm_encoded_free(&encoded);
        tfm_encoded_free(&again);
        tfm_tokenizer_free(t);
    }
}
END_TEST

START_TEST(a_character_above_the_limit_is_refused)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    char parts[256];

    ck_assert_status(parts_of(parts, (tfm_text){"ab \xF0\x9F\x98\x80", 7}, 5, &a), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "line 1 has a character of 6 tokens with EOS, the limit is 5");
}
END_TEST

START_TEST(splitting_without_memory)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;
    char parts[256];

    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        status = parts_of(parts, (tfm_text){"one. two. three. four.", 22}, 8, &a);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 4);
}
END_TEST

enum { MANY = 100000 }; /* words of a line: going through it once for each would take hours */

static tfm_text many_words(const char *word)
{
    const size_t size = strlen(word);
    char *data = malloc(MANY * size);

    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < MANY; i++) memcpy(data + i * size, word, size);
    return (tfm_text){data, MANY * size};
}

START_TEST(words_of_long_lines_are_found_word_by_word)
{
    const tfm_text all = many_words("ab "), line = {all.data, all.size - 1};
    tfm_tokenizer *t = bytes_make();
    tfm_encoded e = {.allocator = tfm_allocator_or_default(NULL)};

    ck_assert_ok(tfm_encode_lines(&e, t, &line, 1, &rules, &error), error);
    ck_assert_ok(tfm_encoded_find_words(&e, t, &line, &rules, &error), error);
    ck_assert_uint_eq(e.n_words[0], MANY);
    ck_assert_uint_eq(e.lines[0].size, 3 * MANY + 1);
    for (size_t i = 0; i < 3 * MANY; i++) ck_assert_uint_eq(e.words[i], i / 3);
    ck_assert_uint_eq(e.words[3 * MANY], TFM_NO_WORD);
    tfm_encoded_free(&e);
    tfm_tokenizer_free(t);
    free((void *)(uintptr_t)line.data);
}
END_TEST

/* ---------------------------------------------------------------------------------------- the decoder's results - */

static const tfm_text whole[] = {LINE("a cat"), LINE("the cat sat. the dog sat"), LINE(" "), LINE("a dog")};
static const tfm_text pieces[] = {LINE("the cat sat."), LINE("the dog sat")};

static tfm_decoder *splitting_decoder(const tfm_model *model, tfm_decoder_options o)
{
    size_t n, limit;

    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &limit, tfm_model_tokenizer(model), pieces[0], &error), error);
    ck_assert_ok(tfm_tokenizer_encode(NULL, 0, &n, tfm_model_tokenizer(model), pieces[1], &error), error);
    o.max_source = (uint32_t)(n > limit ? n : limit) + 1;
    o.long_source = TFM_LONG_SPLIT;
    return decoder_of(model, &o);
}

/* Result rank of a is the results of b's two sentences one behind the other. */
static void check_joined(const tfm_decoder *a, size_t sentence, const tfm_decoder *b, size_t rank)
{
    const tfm_ids all = tfm_decoder_ids(a, sentence, rank), x = tfm_decoder_ids(b, 0, rank),
                  y = tfm_decoder_ids(b, 1, rank);
    const tfm_text s = tfm_decoder_text(b, 0, rank), t = tfm_decoder_text(b, 1, rank);
    size_t n;
    char text[1024];

    ck_assert_uint_eq(all.size, x.size + y.size);
    ck_assert_mem_eq(all.data, x.data, x.size * sizeof *x.data);
    ck_assert_mem_eq(all.data + x.size, y.data, y.size * sizeof *y.data);
    ck_assert(tfm_decoder_score(a, sentence, rank) == tfm_decoder_score(b, 0, rank) + tfm_decoder_score(b, 1, rank));
    ck_assert_mem_eq(tfm_decoder_token_scores(a, sentence, rank, &n) + x.size,
                     tfm_decoder_token_scores(b, 1, rank, NULL), y.size * sizeof(float));
    ck_assert_uint_eq(n, all.size);
    sprintf(text, "%.*s%s%.*s", (int)s.size, s.data, s.size && t.size ? " " : "", (int)t.size, t.data);
    ck_assert_str_eq(tfm_decoder_text(a, sentence, rank).data, text);
    ck_assert_uint_eq(tfm_decoder_finished(a, sentence, rank),
                      tfm_decoder_finished(b, 0, rank) && tfm_decoder_finished(b, 1, rank));
}

START_TEST(parts_are_translated_and_joined)
{
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(4);

    o.n_best = 3;
    if (_i) o.temperature = 1.0f; /* three of each part; a beam may have fewer of one */
    tfm_decoder *d = splitting_decoder(model, o), *want = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate(want, pieces, 2, &error), error);
    const size_t x = tfm_decoder_count(want, 0), y = tfm_decoder_count(want, 1), count = x < y ? x : y;
    ck_assert(!_i || count == 3);
    for (int again = 0; again < 2; again++) { /* a call with long lines leaves nothing to the next one */
        ck_assert_ok(tfm_decoder_translate(d, whole, 4, &error), error);
        ck_assert_uint_eq(tfm_decoder_count(d, 1), count);
        for (size_t rank = 0; rank < count; rank++) check_joined(d, 1, want, rank);
        ck_assert_uint_eq(tfm_decoder_parts(d, 1), 2);
        ck_assert_uint_eq(tfm_decoder_steps(d, 1), tfm_decoder_steps(want, 0) + tfm_decoder_steps(want, 1));
        ck_assert_uint_eq(tfm_decoder_parts(d, 0), 1);
        ck_assert_uint_eq(tfm_decoder_count(d, 2), 1);
        ck_assert_uint_eq(tfm_decoder_text(d, 2, 0).size, 0);
        ck_assert_uint_eq(tfm_decoder_finished(d, 2, 0), 1);
        ck_assert_uint_eq(tfm_decoder_count(d, 4), 0);
        ck_assert_uint_eq(tfm_decoder_parts(d, 4), 0);
        ck_assert_uint_eq(tfm_decoder_count(d, 5), 0);
    }
    ck_assert_ok(tfm_decoder_translate(want, whole, 4, &error), error);
    ck_assert_uint_eq(tfm_decoder_parts(want, 1), 1);
    same_results(d, 0, want, 0);
    same_results(d, 3, want, 3);
    ck_assert_ok(tfm_decoder_translate(d, pieces, 2, &error), error);
    ck_assert_uint_eq(tfm_decoder_parts(d, 1), 1);
    ck_assert_uint_eq(tfm_decoder_count(d, 2), 0);
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
}
END_TEST

START_TEST(the_prefix_begins_the_first_part)
{
    static const tfm_text prefixes[] = {LINE("the"), LINE("the dog"), LINE(""), LINE("cat")},
                          first[] = {LINE("the dog"), LINE("")};
    tfm_model *model = text_model_make();
    const tfm_decoder_options o = decoder_options(2);
    tfm_decoder *d = splitting_decoder(model, o), *want = decoder_of(model, &o);
    tfm_request r;

    tfm_request_init(&r, sizeof r);
    r.n = 2;
    r.lines = pieces;
    r.prefix_lines = first;
    ck_assert_ok(tfm_decoder_run(want, &r, &error), error);
    r.n = 4;
    r.lines = whole;
    r.prefix_lines = prefixes;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    check_joined(d, 1, want, 0);
    ck_assert(!strncmp(tfm_decoder_text(d, 3, 0).data, "cat", 3));
    tfm_decoder_free(d);
    tfm_decoder_free(want);
    tfm_model_free(model);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- alignments --- */

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

/* A model of few words that does not know those of the line. */
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

/* ------------------------------------------------------------------------------------------------------ terms --- */

/* Terms of short lines go where they belong; a long line that has some is refused, and named. */
START_TEST(lines_with_terms_stay_whole)
{
    static const tfm_text terms[] = {LINE("mat"), LINE("log"), LINE("log")};
    static const tfm_text long_ones[] = {LINE("the cat sat. the dog sat"), LINE("the dog sat. the cat sat on")};
    size_t n_terms[] = {1, 0, 0, 1};
    tfm_model *model = text_model_make();
    tfm_decoder *d = splitting_decoder(model, decoder_options(8));
    tfm_request r;

    tfm_request_init(&r, sizeof r);
    r.n = 4;
    r.lines = whole;
    r.n_terms = n_terms;
    r.term_lines = terms;
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    ck_assert_uint_eq(tfm_decoder_parts(d, 1), 2);
    ck_assert_ptr_nonnull(strstr(tfm_decoder_text(d, 0, 0).data, "mat"));
    ck_assert_ptr_nonnull(strstr(tfm_decoder_text(d, 3, 0).data, "log"));
    n_terms[1] = 1;
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_msg(!strncmp(error.message, "line 2 has ", 11), "%s", error.message);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    r.n = 2;
    r.lines = long_ones; /* the first one could be split */
    n_terms[0] = 0;
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_msg(!strncmp(error.message, "line 2 has ", 11) && strstr(error.message, "terms"), "%s", error.message);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Where the longest output came first there is no EOS; in a beam as in samples. */
/* Words are found in lines that are short enough. */
START_TEST(long_lines_are_refused_before_their_words_are_found)
{
    const tfm_text line = many_words("the  "), word = LINE("the");
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(1);

    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_status(tfm_decoder_translate(d, &line, 1, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "more than max_source 4096"));
    ck_assert_status(tfm_decoder_logprobs(d, &line, &word, 1, &error), TFM_E_INVALID, error);
    tfm_decoder_free(d);
    tfm_model_free(model);
    free((void *)(uintptr_t)line.data);
}
END_TEST

START_TEST(what_is_cut_off_says_so)
{
    static tfm_ids sentences[SENTENCES];
    tfm_decoder_options o = decoder_options(2);
    tfm_model *model = model_make();
    size_t finished = 0;

    o.n_best = 2;
    o.max_length = 9;
    if (_i) o.temperature = 1.0f;
    tfm_decoder *d = decoder_of(model, &o);
    sentences_make(sentences);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, 60, &error), error);
    for (size_t i = 0; i < 60; i++) {
        for (size_t rank = 0; rank < tfm_decoder_count(d, i); rank++) {
            const tfm_ids ids = tfm_decoder_ids(d, i, rank);
            const bool ends = !sentences[i].size || ids.data[ids.size - 1] == TFM_EOS;
            ck_assert_uint_eq(tfm_decoder_finished(d, i, rank), ends);
            finished += ends;
        }
        ck_assert_uint_eq(tfm_decoder_finished(d, i, 2), 0);
    }
    ck_assert(finished > 2 && finished < 118);
    ck_assert_uint_eq(tfm_decoder_finished(NULL, 0, 0), 0);
    ck_assert_uint_eq(tfm_decoder_parts(NULL, 0), 0);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *split_suite(void)
{
    Suite *suite = suite_create("split");
    TCase *tc = tcase_create("split");

    tcase_add_loop_test(tc, lines_are_cut_where_it_is_best, 0, sizeof cuts / sizeof *cuts);
    tcase_add_test(tc, parts_of_any_bytes);
    tcase_add_test(tc, a_character_above_the_limit_is_refused);
    tcase_add_test(tc, splitting_without_memory);
    tcase_add_test(tc, words_of_long_lines_are_found_word_by_word);
    tcase_add_loop_test(tc, parts_are_translated_and_joined, 0, 2);
    tcase_add_test(tc, the_prefix_begins_the_first_part);
    tcase_add_loop_test(tc, parts_are_aligned_as_words_of_the_line, 0,
                        2 * (int)(sizeof long_lines / sizeof *long_lines));
    tcase_add_loop_test(tc, every_part_has_the_language_of_its_line, 0, 2);
    tcase_add_test(tc, unknown_words_of_parts_are_copied);
    tcase_add_test(tc, aligning_parts_without_memory);
    tcase_add_test(tc, alignments_above_the_limit_are_left_out);
    tcase_add_test(tc, lines_with_terms_stay_whole);
    tcase_add_test(tc, long_lines_are_refused_before_their_words_are_found);
    tcase_add_loop_test(tc, what_is_cut_off_says_so, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(split_suite)
