/* Lines that are too long: where they are cut, what is translated, and what their results say. */
#include "api/line_words.h"
#include "text/tokenizer.h"
#include "split_results.h"

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

/* Where the longest output came first there is no EOS; in a beam as in samples. */
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
    tcase_add_test(tc, lines_with_terms_stay_whole);
    tcase_add_test(tc, long_lines_are_refused_before_their_words_are_found);
    tcase_add_loop_test(tc, what_is_cut_off_says_so, 0, 2);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(split_suite)
