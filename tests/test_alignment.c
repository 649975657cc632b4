/* Alignments: against a language whose alignment is known, against the attention itself, and their text. */
#include "alignment_model.h"
#include "api/line_words.h"

#include <math.h>

static toy t;
static const tfm_model *model; /* of decoders */

static void setup(void)
{
    toy_begin(&t, 600);
    model = t.model;
}

static void teardown(void)
{
    toy_end(&t);
}

static tfm_decoder *aligner(uint32_t alignment, tfm_decoder_options *o)
{
    tfm_decoder *d;

    o->alignment = alignment;
    ck_assert_ok(tfm_decoder_create(&d, model, o, &t.error), t.error);
    return d;
}

static tfm_decoder_options options(void)
{
    tfm_decoder_options o;

    tfm_decoder_options_init(&o, sizeof o);
    return o;
}

/* -------------------------------------------------------------------------------------------------- quality ---- */

/* Links of one target word each: 1 - AER is the share that is right (Och and Ney 2003, all links sure). */
static size_t count_right(const char *links, const toy_pair *p, size_t *n)
{
    size_t right = 0, source, target;
    int used;

    for (*n = 0; sscanf(links, "%zu-%zu%n", &source, &target, &used) == 2; links += used, ++*n) {
        ck_assert_uint_lt(target, p->n);
        right += p->aligned[target] == source;
    }
    return right;
}

static const char *links_of(const float *weights, size_t rows, size_t cols, float threshold)
{
    static char text[4096];
    size_t size;

    ck_assert_ok(tfm_alignment_links(text, sizeof text - 1, &size, weights, rows, cols, threshold, &t.error), t.error);
    ck_assert_uint_lt(size, sizeof text);
    text[size] = '\0';
    return text;
}

START_TEST(given_pairs_are_aligned_as_they_were_made)
{
    tfm_decoder_options o = options();
    size_t right = 0, all = 0, straight = 0, rows, cols, n;

    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o);
    ck_assert_ok(tfm_decoder_logprobs(d, t.sources + TOY_TRAINED, t.targets + TOY_TRAINED, TOY_TEST, &t.error),
                 t.error);
    for (size_t i = 0; i < TOY_TEST; i++) {
        const toy_pair *p = &t.pairs[TOY_TRAINED + i];
        const float *w = tfm_decoder_pair_alignment(d, i, TFM_ALIGNMENT_WORDS, &rows, &cols);
        ck_assert_uint_eq(rows, p->n);
        right += count_right(links_of(w, rows, cols, 0.0f), p, &n);
        ck_assert_uint_eq(n, p->n);
        for (size_t j = 0; j < rows; j++) straight += p->aligned[j] == j * cols / rows;
        all += rows;
    }
    const double error_rate = 1.0 - (double)right / (double)all;
    ck_assert_msg(error_rate < 0.2, "alignment error rate %g", error_rate);
    ck_assert_uint_lt(straight, all / 2); /* not by standing at the same place */
    tfm_decoder_free(d);
}
END_TEST

START_TEST(translations_are_aligned_as_the_language_is)
{
    tfm_decoder_options o = options();
    size_t right = 0, all = 0, same = 0, rows, cols, n;

    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o);
    ck_assert_ok(tfm_decoder_translate(d, t.sources + TOY_TRAINED, TOY_TEST, &t.error), t.error);
    for (size_t i = 0; i < TOY_TEST; i++) {
        const float *w = tfm_decoder_alignment(d, i, 0, TFM_ALIGNMENT_WORDS, &rows, &cols);
        const tfm_text text = tfm_decoder_text(d, i, 0);
        ck_assert_uint_eq(rows, tfm_count_words(text));
        ck_assert_uint_eq(cols, tfm_count_words(t.sources[TOY_TRAINED + i]));
        if (strcmp(text.data, t.pairs[TOY_TRAINED + i].target)) continue;
        same++;
        right += count_right(links_of(w, rows, cols, 0.0f), &t.pairs[TOY_TRAINED + i], &n);
        all += n;
    }
    ck_assert_uint_gt(same, TOY_TEST / 4);
    ck_assert_msg((double)right > 0.8 * (double)all, "%zu of %zu right", right, all);
    tfm_decoder_free(d);
}
END_TEST

/* ---------------------------------------------------------------------------------------- against attention ---- */

/* What the options ask for, from the heads themselves: to [target][source]. */
static void expect(float *to, tfm_decoder *d, const tfm_decoder_options *o, tfm_ids source, tfm_ids target)
{
    const uint32_t first = o->alignment_head ? o->alignment_head - 1 : 0, end = o->alignment_head ? first + 1 : 4;
    const uint32_t layer = o->alignment_layer ? o->alignment_layer - 1 : 2;
    const float *w;
    size_t rows, cols;

    memset(to, 0, target.size * source.size * sizeof *to);
    for (uint32_t head = first; head < end; head++) {
        ck_assert_ok(
            tfm_decoder_attention(&w, &rows, &cols, d, source, target, TFM_ATTENTION_CROSS, layer, head, &t.error),
            t.error);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) {
                const size_t later = o->alignment == TFM_ALIGNMENT_INPUT && i + 1 < rows;
                to[i * cols + j] += w[(i + later) * cols + j] / (float)(end - first);
            }
    }
}

static void check_tokens(const float *w, size_t rows, size_t cols, const tfm_decoder_options *o, tfm_ids source,
                         tfm_ids target)
{
    static float want[64 * 64];
    tfm_decoder_options plain = *o;
    tfm_decoder *other = aligner(TFM_ALIGNMENT_NONE, &plain);

    ck_assert_uint_eq(rows, target.size);
    ck_assert_uint_eq(cols, source.size);
    expect(want, other, o, source, target);
    for (size_t i = 0; i < rows * cols; i++)
        ck_assert_msg(fabsf(w[i] - want[i]) < 1e-5f, "%zu: %g, want %g", i, (double)w[i], (double)want[i]);
    tfm_decoder_free(other);
}

static tfm_ids encode(int32_t *ids, size_t index)
{
    size_t n;

    ck_assert_ok(tfm_tokenizer_encode(ids, 63, &n, tfm_model_tokenizer(t.model), t.sources[index], &t.error), t.error);
    ids[n++] = TFM_EOS;
    return (tfm_ids){ids, n};
}

static tfm_model *three_layers(void)
{
    tfm_model_options o;
    tfm_model *m;

    tfm_model_get_options(&o, sizeof o, t.model);
    o.n_decoder_layers = 3;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &t.error), t.error);
    return m;
}

START_TEST(tokens_have_the_attention_of_the_heads_asked_for)
{
    tfm_decoder_options o = options();
    tfm_model *deep = three_layers();
    int32_t ids[8][64];
    tfm_ids sources[8];
    size_t rows, cols;

    for (size_t i = 0; i < 8; i++) sources[i] = encode(ids[i], TOY_TRAINED + i);
    model = deep;
    o.max_length = 9;
    o.alignment_layer = (uint32_t)_i % 4;
    o.alignment_head = (uint32_t)_i % 5;
    o.n_best = 2;
    o.batch_tokens = _i % 2 ? 20 : 4096;
    o.n_threads = 1 + (uint32_t)_i % 2;
    tfm_decoder *d = aligner(1 + (uint32_t)_i % 2, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sources, 8, &t.error), t.error);
    for (size_t i = 0; i < 8; i++)
        for (size_t rank = 0; rank < 2; rank++) {
            const float *w = tfm_decoder_alignment(d, i, rank, TFM_ALIGNMENT_TOKENS, &rows, &cols);
            check_tokens(w, rows, cols, &o, sources[i], tfm_decoder_ids(d, i, rank));
        }
    ck_assert_ptr_null(tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_WORDS, &rows, &cols)); /* no text */
    tfm_decoder_free(d);
    tfm_model_free(deep);
}
END_TEST

/* Words of tokens as this kind spells them: a word begins with U+2581. */
static size_t word_of(tfm_ids ids, size_t i)
{
    size_t n = 0;

    for (size_t j = 0; j <= i; j++)
        n += !memcmp(tfm_tokenizer_token(tfm_model_tokenizer(t.model), ids.data[j]).data, "\xE2\x96\x81", 3);
    return n - 1;
}

START_TEST(words_sum_over_their_source_tokens_and_average_over_the_others)
{
    tfm_decoder_options o = options();
    int32_t ids[64];
    size_t rows, cols, m, n;

    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o);
    for (size_t index = TOY_TRAINED; index < TOY_TRAINED + 20; index++) {
        double want[TOY_LINKS][TOY_LINKS] = {{0}}, tokens[TOY_LINKS] = {0};
        const tfm_ids source = encode(ids, index);
        ck_assert_ok(tfm_decoder_translate(d, t.sources + index, 1, &t.error), t.error);
        const tfm_ids target = tfm_decoder_ids(d, 0, 0);
        const float *token = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_TOKENS, &m, &n);
        const float *word = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_WORDS, &rows, &cols);
        for (size_t i = 0; i + 1 < m; i++) {
            tokens[word_of(target, i)] += 1.0;
            for (size_t j = 0; j + 1 < n; j++) want[word_of(target, i)][word_of(source, j)] += (double)token[i * n + j];
        }
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                ck_assert_double_eq_tol((double)word[i * cols + j], want[i][j] / tokens[i], 1e-5);
    }
    tfm_decoder_free(d);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- words ---- */

START_TEST(words_are_what_stands_between_white_space)
{
    static const char *const texts[] = {"bada zuxy", "  bada\t zuxy  ", "bada\xC2\xA0zuxy", "?!",
                                        "x\xE2\x82\xACy  \xE2\x82\xAC"};
    static const size_t want[] = {2, 2, 1, 1, 2};
    const tfm_tokenizer *tokenizer = tfm_model_tokenizer(t.model);
    uint32_t words[64];
    int32_t ids[64];
    size_t n;

    for (size_t i = 0; i < 5; i++) {
        const tfm_text line = {texts[i], strlen(texts[i])};
        ck_assert_uint_eq(tfm_count_words(line), want[i]);
        ck_assert_ok(tfm_tokenizer_encode(ids, 64, &n, tokenizer, line, &t.error), t.error);
        ck_assert_ok(tfm_words_of_line(words, n, tokenizer, line, &t.error), t.error);
        for (size_t k = 0, word = 0; k < n; k++) { /* in order, none left out */
            if (words[k] == TFM_NO_WORD) continue;
            ck_assert(words[k] == word || words[k] == word + 1);
            word = words[k];
        }
        ck_assert_uint_eq(words[0], 0);
        for (size_t k = n; k--;)
            if (words[k] != TFM_NO_WORD) {
                ck_assert_uint_eq(words[k], want[i] - 1);
                break;
            }
    }
    ck_assert_uint_eq(tfm_count_words((tfm_text){NULL, 0}), 0);
}
END_TEST

START_TEST(blank_and_broken_lines_have_their_alignments)
{
    static const tfm_text some[] = {{"bada", 4}, {" ", 1}, {"geke \xFF", 6}, {NULL, 0}, {"geke  bada", 10}};
    tfm_decoder_options o = options();
    size_t rows, cols;

    o.replace_invalid = 1;
    tfm_decoder *d = aligner(TFM_ALIGNMENT_INPUT, &o);
    ck_assert_ok(tfm_decoder_translate(d, some, 5, &t.error), t.error);
    for (size_t i = 0; i < 5; i++) {
        const float *w = tfm_decoder_alignment(d, i, 0, TFM_ALIGNMENT_WORDS, &rows, &cols);
        const size_t words = tfm_count_words(tfm_decoder_text(d, i, 0)); /* none where nothing came */
        ck_assert(!words || i % 2 == 0);
        ck_assert_uint_eq(rows, words);
        ck_assert_uint_eq(cols, words ? 1 + (i > 0) : 0);
        ck_assert((w == NULL) == !words);
    }
    ck_assert_ok(tfm_decoder_logprobs(d, some, some, 5, &t.error), t.error);
    for (size_t i = 0; i < 5; i++) {
        ck_assert((tfm_decoder_pair_alignment(d, i, TFM_ALIGNMENT_WORDS, &rows, &cols) == NULL) == (i % 2 == 1));
        ck_assert_uint_eq(cols, i % 2 ? 0 : 1 + (i > 0));
    }
    tfm_decoder_free(d);
}
END_TEST

/* ---------------------------------------------------------------------------------------------------- links ---- */

START_TEST(links_are_the_best_of_each_row_or_all_above_a_threshold)
{
    static const float w[] = {0.1f, 0.6f, 0.3f, 0.0f, 0.0f, 0.0f, 0.4f, 0.1f, 0.4f};
    char text[8] = "xxxxxxx";
    size_t size;

    ck_assert_str_eq(links_of(w, 3, 3, 0.0f), "1-0 0-2");
    ck_assert_str_eq(links_of(w, 3, 3, 0.3f), "1-0 2-0 0-2 2-2");
    ck_assert_str_eq(links_of(w, 3, 3, 0.7f), "");
    ck_assert_str_eq(links_of(NULL, 0, 3, 0.0f), "");
    ck_assert_ok(tfm_alignment_links(text, 4, &size, w, 3, 3, 0.0f, &t.error), t.error);
    ck_assert_uint_eq(size, 7);
    ck_assert_mem_eq(text, "1-0 xxx", 7);
    ck_assert_ok(tfm_alignment_links(NULL, 0, &size, w, 3, 3, 0.3f, &t.error), t.error);
    ck_assert_uint_eq(size, 15);
    ck_assert_status(tfm_alignment_links(NULL, 4, &size, w, 3, 3, 0.0f, &t.error), TFM_E_INVALID, t.error);
    ck_assert_status(tfm_alignment_links(text, 4, NULL, w, 3, 3, 0.0f, &t.error), TFM_E_INVALID, t.error);
    ck_assert_status(tfm_alignment_links(text, 4, &size, NULL, 3, 3, 0.0f, &t.error), TFM_E_INVALID, t.error);
    ck_assert_status(tfm_alignment_links(text, 4, &size, w, 3, 3, NAN, &t.error), TFM_E_INVALID, t.error);
    ck_assert_status(tfm_alignment_links(text, 4, &size, w, 3, 3, 1.5f, &t.error), TFM_E_INVALID, t.error);
}
END_TEST

/* -------------------------------------------------------------------------------------------------- unknown ---- */

/* A tokenizer of whole words that knows none of the names; every third word of the output is forced to be unknown. */
START_TEST(unknown_words_become_those_they_are_aligned_with)
{
    static const tfm_text known[] = {{"ba du", 5}, {"zu zy", 5}}, line = {"ba  du \xCE\xA9\xCE\xA9", 11};
    static const int32_t unknown[] = {TFM_UNK}, some[] = {TFM_UNK, 4, TFM_UNK, TFM_UNK};
    static const tfm_ids prefixes[] = {{unknown, 1}, {some, 4}};
    tfm_tokenizer_options to;
    tfm_model_options mo;
    tfm_tokenizer *words;
    tfm_decoder_options o = options();

    tfm_tokenizer_options_init(&to, sizeof to);
    to.kind = TFM_TOKENIZER_SUBWORD_NMT;
    ck_assert_ok(tfm_tokenizer_learn(&words, &to, known, 2, &t.error), t.error);
    tfm_model_get_options(&mo, sizeof mo, t.model);
    mo.vocab_size = mo.source_vocab_size = tfm_tokenizer_vocab_size(words);
    tfm_model *m;
    ck_assert_ok(tfm_model_create(&m, &mo, words, &t.error), t.error);
    model = m;
    o.max_length = 6;
    o.replace_unknown = 1;
    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o);
    for (size_t i = 0; i < 2; i++) {
        tfm_request r;
        size_t rows, cols, n_unknown = 0, n = 0;
        tfm_text rest, word, source;
        tfm_request_init(&r, sizeof r);
        r.n = 1;
        r.lines = &line;
        r.prefixes = &prefixes[i];
        ck_assert_ok(tfm_decoder_run(d, &r, &t.error), t.error);
        const float *w = tfm_decoder_alignment(d, 0, 0, TFM_ALIGNMENT_WORDS, &rows, &cols);
        ck_assert_uint_eq(cols, 3);
        rest = tfm_decoder_text(d, 0, 0);
        ck_assert_uint_eq(rest.data[rest.size], 0);
        for (; tfm_next_word(&word, &rest); n++) {
            ck_assert_uint_lt(n, rows);
            size_t best = 0;
            for (size_t j = 1; j < cols; j++)
                if (w[n * cols + j] > w[n * cols + best]) best = j;
            tfm_text left = line;
            for (size_t j = 0; j <= best; j++) tfm_next_word(&source, &left);
            if (tfm_decoder_ids(d, 0, 0).data[n] != TFM_UNK) continue;
            n_unknown++;
            ck_assert_uint_eq(word.size, source.size);
            ck_assert_mem_eq(word.data, source.data, word.size);
        }
        ck_assert_uint_eq(n, rows);
        ck_assert_uint_ge(n_unknown, i ? 3 : 1);
    }
    o.alignment = TFM_ALIGNMENT_NONE;
    tfm_decoder *none;
    ck_assert_status(tfm_decoder_create(&none, m, &o, &t.error), TFM_E_INVALID, t.error);
    tfm_decoder_free(d);
    tfm_model_free(m);
    tfm_tokenizer_free(words);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- refusals ---- */

START_TEST(what_is_not_there_is_null)
{
    tfm_decoder_options o = options();
    size_t rows = 7, cols = 7;

    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o), *none;
    none = aligner(TFM_ALIGNMENT_NONE, &o);
    ck_assert_ok(tfm_decoder_translate(d, t.sources, 2, &t.error), t.error);
    ck_assert_ok(tfm_decoder_translate(none, t.sources, 2, &t.error), t.error);
    ck_assert_ok(tfm_decoder_logprobs(none, t.sources, t.targets, 2, &t.error), t.error);
    for (uint32_t unit = 0; unit < 3; unit++) {
        ck_assert_ptr_null(tfm_decoder_alignment(none, 0, 0, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_pair_alignment(none, 0, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_pair_alignment(d, 0, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_alignment(d, 2, 0, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_alignment(d, 0, 1, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_alignment(NULL, 0, 0, unit, &rows, &cols));
        ck_assert_ptr_null(tfm_decoder_pair_alignment(NULL, 0, unit, NULL, NULL));
        ck_assert(rows == 0 && cols == 0);
        ck_assert((tfm_decoder_alignment(d, 1, 0, unit, NULL, NULL) != NULL) == (unit < 2));
    }
    ck_assert_status(tfm_decoder_translate(d, t.sources, SIZE_MAX, &t.error), TFM_E_NOMEM, t.error);
    ck_assert_ptr_null(tfm_decoder_alignment(d, 0, 0, 0, &rows, &cols));
    tfm_decoder_free(none);
    tfm_decoder_free(d);
}
END_TEST

/* No line, or only blank ones: there are no ids whatever, nor memory for some. */
START_TEST(nothing_is_aligned_with_nothing)
{
    static const tfm_text blank[] = {{"", 0}, {" ", 1}};
    tfm_decoder_options o = options();
    size_t n = 7;

    o.replace_unknown = 1;
    tfm_decoder *d = aligner(TFM_ALIGNMENT_OUTPUT, &o);
    ck_assert_ok(tfm_decoder_translate(d, NULL, 0, &t.error), t.error);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), 0);
    ck_assert_ok(tfm_decoder_translate(d, blank, 2, &t.error), t.error);
    for (size_t s = 0; s < 2; s++) {
        ck_assert_uint_eq(tfm_decoder_ids(d, s, 0).size + tfm_decoder_text(d, s, 0).size, 0);
        tfm_decoder_token_scores(d, s, 0, &n);
        ck_assert_uint_eq(n, 0);
        ck_assert_ptr_null(tfm_decoder_alignment(d, s, 0, TFM_ALIGNMENT_TOKENS, NULL, NULL));
    }
    tfm_decoder_free(d);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    static const struct {
        size_t field;
        uint32_t value;
    } wrong[] = {{offsetof(tfm_decoder_options, alignment), 3},
                 {offsetof(tfm_decoder_options, alignment_layer), 2},
                 {offsetof(tfm_decoder_options, alignment_head), 5}};

    for (size_t i = 0; i < 3; i++) {
        tfm_decoder_options o = options();
        tfm_decoder *d;
        memcpy((char *)&o + wrong[i].field, &wrong[i].value, sizeof wrong[i].value);
        ck_assert_status(tfm_decoder_create(&d, t.model, &o, &t.error), TFM_E_INVALID, t.error);
    }
}
END_TEST

/* --------------------------------------------------------------------------------------------------- memory ---- */

/* The first failure leaves no results, and the next call has them. */
START_TEST(every_allocation_may_fail)
{
    tfm_status status = TFM_E_NOMEM;
    size_t rows, cols;

    for (size_t n = 0; status; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = {faulty_resize, &f};
        tfm_decoder_options o = options();
        tfm_decoder *d;
        o.allocator = &a;
        o.alignment = TFM_ALIGNMENT_OUTPUT;
        o.replace_unknown = 1;
        o.coverage = 0.2f;
        status = tfm_decoder_create(&d, t.model, &o, &t.error);
        if (!status) status = tfm_decoder_translate(d, t.sources, 3, &t.error);
        if (status && d) ck_assert_ok(tfm_decoder_translate(d, t.sources, 3, &t.error), t.error); /* it goes on */
        if (!status) status = tfm_decoder_logprobs(d, t.sources, t.targets, 3, &t.error);
        if (status && d) ck_assert_ptr_null(tfm_decoder_pair_alignment(d, 0, TFM_ALIGNMENT_WORDS, &rows, &cols));
        if (!status) ck_assert_ptr_nonnull(tfm_decoder_pair_alignment(d, 2, TFM_ALIGNMENT_WORDS, &rows, &cols));
        else ck_assert_int_eq(status, TFM_E_NOMEM);
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
}
END_TEST

static Suite *alignment_suite(void)
{
    Suite *suite = suite_create("alignment");
    TCase *tc = tcase_create("alignment");

    tcase_add_unchecked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, given_pairs_are_aligned_as_they_were_made);
    tcase_add_test(tc, translations_are_aligned_as_the_language_is);
    tcase_add_loop_test(tc, tokens_have_the_attention_of_the_heads_asked_for, 0, 10);
    tcase_add_test(tc, words_sum_over_their_source_tokens_and_average_over_the_others);
    tcase_add_test(tc, words_are_what_stands_between_white_space);
    tcase_add_test(tc, blank_and_broken_lines_have_their_alignments);
    tcase_add_test(tc, links_are_the_best_of_each_row_or_all_above_a_threshold);
    tcase_add_test(tc, unknown_words_become_those_they_are_aligned_with);
    tcase_add_test(tc, what_is_not_there_is_null);
    tcase_add_test(tc, nothing_is_aligned_with_nothing);
    tcase_add_test(tc, options_out_of_range_are_refused);
    tcase_add_test(tc, every_allocation_may_fail);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(alignment_suite)
