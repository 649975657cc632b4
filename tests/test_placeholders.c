/* Placeholders: they come as often as in their line, unchanged, with the white space of their line. */
#include "api/line_terms.h"
#include "api/line_words.h"
#include "decoder_models.h"

static size_t count_in(tfm_text text, tfm_text what)
{
    size_t n = 0;

    for (size_t i = 0; i + what.size <= text.size; i++) n += !memcmp(text.data + i, what.data, what.size);
    return n;
}

static tfm_request request_of(const tfm_text *sources, size_t n, const size_t *n_placeholders,
                              const tfm_text *placeholders)
{
    tfm_request r;

    tfm_request_init(&r, sizeof r);
    r.n = n;
    r.lines = sources;
    r.n_placeholders = n_placeholders;
    r.placeholders = placeholders;
    return r;
}

static const tfm_text tagged[] = {LINE("the <b>cat</b> sat"), LINE("{0} and {0} sat on {1}"), LINE("a dog"),
                                  LINE("\xE2\xA6\x85URL\xE2\xA6\x86")};
static const size_t n_tags[] = {2, 2, 0, 1};
static const tfm_text tags[] = {LINE("<b>"), LINE("</b>"), LINE("{1}"), LINE("{0}"),
                                LINE("\xE2\xA6\x85URL\xE2\xA6\x86")};
static const size_t n_times[] = {1, 1, 1, 2, 1};

START_TEST(translations_have_them_as_often_as_their_lines)
{
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(16);
    const tfm_request r = request_of(tagged, 4, n_tags, tags);

    size_t whole_ones = 0;
    o.n_best = 3;
    o.n_threads = 1 + (uint32_t)_i;
    o.alignment = (uint32_t)_i;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    for (size_t s = 0, first = 0; s < 4; first += n_tags[s++])
        for (size_t rank = 0; rank < 3; rank++) {
            const bool whole = tfm_decoder_finished(d, s, rank); /* else some may be missing */
            whole_ones += whole;
            for (size_t k = first; k < first + n_tags[s]; k++) {
                const size_t n = count_in(tfm_decoder_text(d, s, rank), tags[k]);
                ck_assert_msg(whole ? n == n_times[k] : n <= n_times[k], "'%s': %s", tfm_decoder_text(d, s, rank).data,
                              tags[k].data);
            }
        }
    ck_assert_uint_ge(whole_ones, 7);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Lines without any are translated as without the others. */
START_TEST(other_lines_are_as_they_were)
{
    tfm_model *model = text_model_make();
    const tfm_decoder_options o = decoder_options(16);
    const tfm_request r = request_of(tagged, 4, n_tags, tags);
    tfm_decoder *d = decoder_of(model, &o), *plain = decoder_of(model, &o);

    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    ck_assert_ok(tfm_decoder_translate(plain, &tagged[2], 1, &error), error);
    same_results(d, 2, plain, 0);
    tfm_decoder_free(plain);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Terms and placeholders of a line, some of which come a given number of times. */
START_TEST(terms_stay_beside_them)
{
    static const size_t n_terms[] = {1, 0, 1, 0}, times[] = {2, 0};
    static const tfm_text terms[] = {LINE("mat"), LINE("log")};
    tfm_model *model = text_model_make();
    tfm_decoder *d;
    tfm_decoder_options o = decoder_options(24);
    tfm_request r = request_of(tagged, 4, n_tags, tags);

    r.n_terms = n_terms;
    r.term_lines = terms;
    r.term_times = times;
    d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    ck_assert_uint_eq(count_in(tfm_decoder_text(d, 0, 0), terms[0]), 2);
    ck_assert_uint_ge(count_in(tfm_decoder_text(d, 2, 0), terms[1]), 1);
    ck_assert_uint_eq(count_in(tfm_decoder_text(d, 0, 0), tags[0]), 1);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

START_TEST(white_space_is_that_of_the_line)
{
    static const tfm_text line = LINE("Click <b>here</b>, or {0} \xC3\xA4. 10km, 5 x");
    static const tfm_text_term marks[] = {{.text = LINE("<b>"), .placeholder = true, .right = true},
                                          {.text = LINE("</b>"), .placeholder = true, .left = true},
                                          {.text = LINE("{0}"), .placeholder = true},
                                          {.text = LINE("10"), .placeholder = true, .right = true},
                                          {.text = LINE("5"), .placeholder = true}};
    static const char *const cases[][2] = {
        {"Hier <b> dr\xC3\xBC\x63ken </b> , oder {0} .", "Hier <b>dr\xC3\xBC\x63ken</b> , oder {0} ."},
        {"Hier<b>x</b>oder {0}", "Hier <b>x</b>oder {0}"},
        {"{0}\xC3\xA4 und\xC3\xA4{0}", "{0} \xC3\xA4 und\xC3\xA4 {0}"},
        {"{0}\xE3\x81\xAF", "{0}\xE3\x81\xAF"}, /* kana keep no space */
        {"<b>  </b>", "<b></b>"},
        {"10 km", "10km"},
        {"a10km 5x 5 x", "a10km 5x 5 x"}, /* within longer words: not the line's */
        {"nichts", "nichts"},
        {"", ""},
    };
    tfm_buffer to = {.allocator = tfm_allocator_or_default(NULL)};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tfm_text in = {cases[i][0], strlen(cases[i][0])};
        tfm_placeholders_space(&to, in, line, marks, 5);
        ck_assert(!to.bad);
        ck_assert_msg(to.size == strlen(cases[i][1]) && !memcmp(to.data, cases[i][1], to.size), "'%.*s', want '%s'",
                      (int)to.size, to.data, cases[i][1]);
    }
    tfm_buffer_free(&to);
}
END_TEST

/* White space that comes between "x", "<b>" and "y" makes three words of one: each has its own tokens' weights. */
START_TEST(alignments_are_of_the_words_shown)
{
    static const tfm_text line = LINE("a <b> c"), prefix = LINE("x<b>y a"), mark = LINE("<b>");
    static const size_t one = 1, ends[] = {1, 4, 5};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(4);
    tfm_request r = request_of(&line, 1, &one, &mark);
    size_t rows, cols, n, m, i = 0;

    r.prefix_lines = &prefix;
    o.alignment = TFM_ALIGNMENT_OUTPUT;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_run(d, &r, &error), error);
    const tfm_text text = tfm_decoder_text(d, 0, 0);
    ck_assert_msg(text.size >= 7 && !memcmp(text.data, "x <b> y", 7), "%s", text.data);
    const float *shown = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_WORDS, &rows, &cols);
    const float *tokens = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_TOKENS, &n, &m);
    ck_assert_uint_eq(rows, tfm_count_words(text));
    for (size_t word = 0; word < 3; word++) {
        double want = 0.0, have = 0.0;
        size_t count = 0, size = 0;
        for (; i < n; i++, count++) {
            const tfm_ids so_far = {tfm_decoder_ids(d, 0, 0).data, i + 1};
            ck_assert_ok(tfm_tokenizer_decode(NULL, 0, &size, tfm_model_tokenizer(model), so_far, &error), error);
            if (size > ends[word]) break;
            for (size_t j = 0; j + 1 < m; j++) want += (double)tokens[i * m + j]; /* but EOS */
        }
        ck_assert_uint_gt(count, 0);
        for (size_t j = 0; j < cols; j++) have += (double)shown[word * cols + j];
        ck_assert_double_eq_tol(have, want / (double)count, 1e-5);
    }
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* Of three placeholders and a term of the line: what may be said of texts, however they are cut into tokens. */
typedef struct reading {
    const char *line, *text;
    size_t there[3];
    bool open, lost;
} reading;

static const reading readings[] = {
    {"1 and 10", "1", {1, 0}, false, false},
    {"1 and 10", "1 10", {1, 1}, false, false},
    {"1 and 10", "1 1", {2, 0}, true, false}, /* it may yet be 10 */
    {"1 and 10", "1 1 ", {2, 0}, true, true},
    {"1 and 10", "10 x", {0, 1}, false, false},
    {"1 and 10", "100", {0, 0}, true, true}, /* nor will it be */
    {"1 and 10", "\xC3\xA4\x31", {0, 0}, true, false},
    {"1 and 10", "\xC3\xA4\x31.", {0, 0}, true, true},   /* in a longer word */
    {"1 and 10", "1\xE3\x81\xAF", {1, 0}, false, false}, /* kana end no word */
    {"10km and 1", "10m", {0, 1}, false, false},         /* may be touched, as it is in the line */
    {"10km and 1", "x10", {0, 0}, true, false},
    {"a-b and {0}, {0}", "{0}-{0}", {1, 2}, false, false},
    {"a-b and {0}, {0}", "{0}{0}{0", {0, 2}, false, false},
    {"a-b and {0}, {0}", "{0}{0}{0}.", {0, 3}, true, true},
    {"men and women", "frauenmenmen", {0, 0}, false, false}, /* the line has it in words where it is not meant */
    {"men and women", "men", {1, 0}, false, false},
    {"x a.b a", "a a.", {2, 0}, true, false}, /* it may yet be a.b */
    {"x a.b a", "a a.b", {1, 1}, false, false},
};

/* given: bytes that the text was told to begin with. */
static void check_reading(const tfm_tokenizer *tokenizer, const reading *r, size_t given, const tfm_text *placeholders,
                          size_t n)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    const tfm_text line = {r->line, strlen(r->line)};
    static const size_t one = 1, times[] = {1, 0};
    tfm_line_terms t = {.n_placeholders = n};
    int32_t ids[64];
    size_t size, n_given;
    tfm_wanted w;

    t.encoded.allocator = t.placeholders.allocator = t.written.allocator = t.text.allocator = a;
    tfm_request q = request_of(&line, 1, n == 1 ? &one : &n, placeholders);
    if (n == 1) q.placeholder_times = times;
    ck_assert_ok(tfm_line_terms_take(&t, &q, 0, tokenizer, &error), error);
    const tfm_terms terms = {q.terms, q.n_terms[0], q.term_times, 0};
    ck_assert_ok(tfm_tokenizer_encode(ids, 64, &n_given, tokenizer, (tfm_text){r->text, given}, &error), error);
    ck_assert_ok(tfm_tokenizer_encode(ids, 64, &size, tokenizer, (tfm_text){r->text, strlen(r->text)}, &error), error);
    tfm_terms_count(&w, &terms, (tfm_ids){ids, size});
    ck_assert_ok(tfm_line_terms_read(&t, &terms, tokenizer, (tfm_ids){ids, size}, n_given, &w, &error), error);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(w.there[i] == r->there[i], "'%s': '%s' %zu times", r->text, placeholders[i].data, w.there[i]);
    ck_assert_msg(w.open == r->open && w.lost == r->lost, "'%s' of '%s': open %d, lost %d", r->text, r->line, w.open,
                  w.lost);
    tfm_line_terms_free(&t);
}

START_TEST(they_are_counted_in_texts)
{
    static const tfm_text numbers[] = {LINE("1"), LINE("10")}, signs[] = {LINE("-"), LINE("{0}")},
                          dots[] = {LINE("a"), LINE("a.b")}, men = LINE("men");
    tfm_tokenizer *tokenizer = tokenizer_make();

    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        const char first = readings[i].line[0];
        check_reading(tokenizer, &readings[i], 0,
                      first == '1'   ? numbers
                      : first == 'm' ? &men
                      : first == 'x' ? dots
                                     : signs,
                      first == 'm' ? 1 : 2);
    }
    tfm_tokenizer_free(tokenizer);
}
END_TEST

/* What a prefix has too often may be there, but not once more, nor what it does not have. */
START_TEST(a_prefix_is_no_excuse)
{
    static const tfm_text numbers[] = {LINE("1"), LINE("10")};
    static const struct {
        size_t given;
        reading r;
    } trials[] = {
        {4, {"1 and 10", "1 1 10", {2, 1}, false, false}},
        {4, {"1 and 10", "1 1 10 ", {2, 1}, false, false}},
        {4, {"1 and 10", "1 1 10 1 ", {3, 1}, true, true}},
        {4, {"1 and 10", "1 1 10 10 ", {2, 2}, true, true}},
        {3, {"1 and 10", "1 10 1 ", {2, 1}, true, true}}, /* the second 1 became another */
        {3, {"1 and 10", "100 1", {1, 0}, false, false}},
        {3, {"1 and 10", "100 1 100 ", {1, 0}, true, true}},
        {1, {"1 and 10", "12 ", {0, 0}, true, true}}, /* it was whole */
    };
    tfm_tokenizer *tokenizer = tokenizer_make();

    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        check_reading(tokenizer, &trials[i].r, trials[i].given, numbers, 2);
    tfm_tokenizer_free(tokenizer);
}
END_TEST

/* Looking for each placeholder behind each place of another would take minutes. */
START_TEST(long_lines_are_gone_through_once)
{
    enum { MANY = 400000 };
    static const tfm_text numbers[] = {LINE("1"), LINE("2")};
    static const size_t two = 2;
    static char text[2 * MANY + 1];
    const tfm_text line = {text, sizeof text};
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_model *model = text_model_make();
    const tfm_decoder_options o = decoder_options(4);
    tfm_decoder *d = decoder_of(model, &o);
    tfm_line_terms t = {.n_placeholders = 2};
    tfm_request r = request_of(&line, 1, &two, numbers);

    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 2 ? ' ' : '1';
    text[2 * MANY] = '2';
    ck_assert_status(tfm_decoder_run(d, &r, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "more than max_source"));
    t.encoded.allocator = t.placeholders.allocator = t.written.allocator = t.text.allocator = a;
    ck_assert_ok(tfm_line_terms_take(&t, &r, 0, tfm_model_tokenizer(model), &error), error);
    ck_assert(r.n_terms[0] == 2 && r.term_times[0] == MANY && r.term_times[1] == 1);
    tfm_line_terms_free(&t);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* A term is there as a whole word, however it is cut into tokens. */
START_TEST(terms_are_whole_words)
{
    static const struct {
        const char *text;
        size_t there;
        bool lost;
    } trials[] = {{"cat", 1, false},
                  {"cats", 0, false},
                  {"the cat, a tomcat", 1, false},
                  {"concat", 0, false},
                  {"cat cat. ", 2, true},
                  {"(cat)", 1, false},
                  {"cat-like", 1, false},
                  {"cat cat", 2, false},
                  {"cat\xC3\xA4", 0, false},
                  {"cat\xE7\x8C\xAB", 1, false},
                  {"", 0, false}};
    static const tfm_text line = LINE("x"), cat = LINE("cat");
    static const size_t one = 1;
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    tfm_tokenizer *tokenizer = tokenizer_make();
    tfm_line_terms t = {.n_placeholders = 0};
    int32_t ids[64], term[8];
    size_t size;
    tfm_wanted w;

    t.encoded.allocator = t.placeholders.allocator = t.written.allocator = t.text.allocator = a;
    ck_assert_ok(tfm_tokenizer_encode(term, 8, &size, tokenizer, cat, &error), error);
    const tfm_ids phrase = {term, size};
    tfm_request q = request_of(&line, 1, NULL, NULL);
    q.n_terms = q.term_times = &one;
    q.term_lines = &cat;
    q.terms = &phrase;
    ck_assert_ok(tfm_line_terms_take(&t, &q, 1, tokenizer, &error), error);
    const tfm_terms terms = {q.terms, 1, q.term_times, 0};
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const tfm_text text = {trials[i].text, strlen(trials[i].text)};
        ck_assert_ok(tfm_tokenizer_encode(ids, 64, &size, tokenizer, text, &error), error);
        tfm_terms_count(&w, &terms, (tfm_ids){ids, size});
        ck_assert_ok(tfm_line_terms_read(&t, &terms, tokenizer, (tfm_ids){ids, size}, 0, &w, &error), error);
        ck_assert_msg(w.there[0] == trials[i].there && w.lost == trials[i].lost, "'%s': %zu, lost %d", text.data,
                      w.there[0], w.lost);
        tfm_terms_count(&w, &terms, (tfm_ids){ids, size});
        ck_assert_ok(tfm_line_terms_read(&t, &terms, tokenizer, (tfm_ids){ids, size}, size, &w, &error), error);
        ck_assert(w.there[0] == trials[i].there && !w.lost); /* it was given */
    }
    tfm_line_terms_free(&t);
    tfm_tokenizer_free(tokenizer);
}
END_TEST

static void refuse(tfm_decoder *d, const tfm_request *r, const char *why)
{
    ck_assert_status(tfm_decoder_run(d, r, &error), TFM_E_INVALID, error);
    ck_assert_msg(strstr(error.message, why), "'%s' does not say '%s'", error.message, why);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
}

START_TEST(what_cannot_stay_is_refused_by_name)
{
    static const tfm_text line = LINE("the cat"), absent = LINE("{0}"), none = {"", 0}, blank = LINE(" cat"),
                          known = LINE("cat");
    static const size_t one = 1, two = 2;
    static const int32_t ids[] = {5, TFM_EOS};
    static const tfm_ids source = {ids, 2};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(4);
    tfm_decoder *d = decoder_of(model, &o);
    tfm_request r = request_of(&line, 1, &one, &absent);

    refuse(d, &r, "placeholder '{0}' is not in line 1");
    r.placeholders = &none;
    refuse(d, &r, "placeholder '' is not in line 1");
    r.placeholders = &known;
    r.placeholder_times = &two;
    refuse(d, &r, "placeholder 'cat' is 1 times in line 1, fewer than its placeholder_times 2");
    r.placeholder_times = NULL;
    r.placeholders = NULL;
    refuse(d, &r, "placeholders is NULL");
    r.placeholders = &blank; /* the tokens of a text begin without a space */
    ck_assert(tfm_decoder_run(d, &r, &error) == TFM_OK || strstr(error.message, "cannot be written: its tokens are"));
    r.lines = NULL;
    r.sources = &source;
    refuse(d, &r, "lines is NULL");
    tfm_decoder_free(d);
    o.temperature = 1.0f;
    d = decoder_of(model, &o);
    r = request_of(&line, 1, &one, &line);
    refuse(d, &r, "placeholders are for searches");
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* A vocabulary that lacks a character writes it as unknown. */
START_TEST(what_the_tokenizer_cannot_write_is_refused_by_name)
{
    static const tfm_text known[] = {LINE("the cat sat")}, line = LINE("the {0} sat"), mark = LINE("{0}");
    static const size_t one = 1;
    tfm_tokenizer_options to;
    tfm_tokenizer *tokenizer;
    tfm_model_options mo = small_options();

    tfm_tokenizer_options_init(&to, sizeof to);
    to.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_ok(tfm_tokenizer_learn(&tokenizer, &to, known, 1, &error), error);
    mo.vocab_size = tfm_tokenizer_vocab_size(tokenizer);
    tfm_model *model = model_changed(&mo, tokenizer, NULL);
    const tfm_decoder_options o = decoder_options(4);
    tfm_decoder *d = decoder_of(model, &o);
    const tfm_request r = request_of(&line, 1, &one, &mark);
    refuse(d, &r, "placeholder '{0}' cannot be written");
    tfm_request q;
    tfm_request_init(&q, sizeof q);
    q.n = 1;
    q.lines = &line;
    q.n_terms = &one;
    q.term_lines = &mark;
    refuse(d, &q, "term '{0}' cannot be written: its tokens are");
    tfm_decoder_free(d);
    tfm_model_free(model);
    tfm_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    tfm_model *model = text_model_make();
    const tfm_request r = request_of(tagged, 4, n_tags, tags);
    tfm_status status = TFM_E_NOMEM;

    for (size_t n = 0; status; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = {faulty_resize, &f};
        tfm_decoder_options o = decoder_options(12);
        tfm_decoder *d;
        o.allocator = &a;
        status = tfm_decoder_create(&d, model, &o, &error);
        if (!status) status = tfm_decoder_run(d, &r, &error);
        if (status) ck_assert_int_eq(status, TFM_E_NOMEM);
        if (status && d) ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
        if (status && d) ck_assert_ok(tfm_decoder_run(d, &r, &error), error); /* it goes on */
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    tfm_model_free(model);
}
END_TEST

static Suite *placeholders_suite(void)
{
    Suite *suite = suite_create("placeholders");
    TCase *tc = tcase_create("placeholders");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, translations_have_them_as_often_as_their_lines, 0, 2);
    tcase_add_test(tc, other_lines_are_as_they_were);
    tcase_add_test(tc, terms_stay_beside_them);
    tcase_add_test(tc, white_space_is_that_of_the_line);
    tcase_add_test(tc, alignments_are_of_the_words_shown);
    tcase_add_test(tc, they_are_counted_in_texts);
    tcase_add_test(tc, a_prefix_is_no_excuse);
    tcase_add_test(tc, long_lines_are_gone_through_once);
    tcase_add_test(tc, terms_are_whole_words);
    tcase_add_test(tc, what_cannot_stay_is_refused_by_name);
    tcase_add_test(tc, what_the_tokenizer_cannot_write_is_refused_by_name);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(placeholders_suite)
