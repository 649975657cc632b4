/* BLEU against what sacreBLEU computed: its own unit tests, tokenisations, and systems of WMT17. */
#include "metric_data.h"

#include "eval/bleu.h"
#include "eval/bleu_tokenize.h"
#include "base/characters.h"

static tfm_bleu_options defaults(void)
{
    tfm_bleu_options o;

    tfm_bleu_options_init(&o, sizeof o);
    return o;
}

/* "3 2 1" */
static void read_counts(const char *s, uint64_t counts[4])
{
    char *end;

    for (int n = 0; n < 4; n++, s = end) counts[n] = strtoull(s, &end, 10);
}

static void check_counts(const uint64_t *got, const char *want, const char *what)
{
    uint64_t counts[4];

    read_counts(want, counts);
    for (int n = 0; n < 4; n++)
        ck_assert_msg(got[n] == counts[n], "%s: order %d has %llu, want %llu", what, n + 1, (unsigned long long)got[n],
                      (unsigned long long)counts[n]);
}

static uint32_t index_of(const char *name, const char *const *names, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(name, names[i])) return i;
    ck_abort_msg("unknown name %s", name);
    return n;
}

static uint32_t smooth_of(const char *name)
{
    static const char *const names[] = {"exp", "none", "floor", "add-k"};

    return index_of(name, names, 4);
}

static const char *const tokenizers[] = {"13a", "none", "intl", "char", "zh"};

static tfm_bleu_options options_of(const char *text)
{
    tfm_bleu_options o = defaults();
    json_t *json = json_loads(text, 0, NULL);
    const json_t *value = json_object_get(json, "smooth_value"), *order = json_object_get(json, "max_ngram_order");

    o.tokenize = index_of(json_string_value(json_object_get(json, "tokenize")), tokenizers, 5);
    o.smooth = smooth_of(json_string_value(json_object_get(json, "smooth_method")));
    o.lowercase = json_is_true(json_object_get(json, "lowercase"));
    o.effective_order = json_is_true(json_object_get(json, "effective_order"));
    if (json_is_number(value)) o.smooth_value = (float)json_number_value(value);
    if (order) o.max_order = (uint32_t)json_integer_value(order);
    json_decref(json);
    return o;
}

/* One row: test metric options hyps refs expected tolerance got. */
static void check_row(const char *const *row)
{
    const tfm_bleu_options o = options_of(row[2]);
    tfm_bleu_result result;
    tfm_error error;
    texts_row t;

    texts_read(&t, row[3], row[4]);
    ck_assert_ok(tfm_bleu(&result, sizeof result, t.hyp, t.n, t.streams, t.n_refs, &o, &error), error);
    ck_assert_double_eq_tol(result.score, strtod(row[5], NULL), strtod(row[6], NULL));
    ck_assert_double_eq_tol(result.score, strtod(row[7], NULL), 1e-6);
    texts_free(&t);
}

START_TEST(scores_of_sacrebleus_unit_tests)
{
    lines l = read_data("bleu/unit_scores.tsv");
    const char *row[MAX_FIELDS];
    size_t checked = 0;

    for (size_t i = 2; i < l.count; i++) { /* a comment and the names come first */
        ck_assert_uint_eq(cut(l.line[i], row), 8);
        if (strcmp(row[1], "bleu") && strcmp(row[1], "sentence_bleu")) continue;
        check_row(row);
        checked++;
    }
    ck_assert_uint_eq(checked, 38);
    lines_free(&l);
}
END_TEST

START_TEST(scores_from_statistics)
{
    lines l = read_data("bleu/unit_statistics.tsv");
    const char *row[MAX_FIELDS];
    size_t checked = 0;

    for (size_t i = 2; i < l.count; i++) {
        if (*l.line[i].data == '#') continue;
        tfm_bleu_options o = defaults();
        tfm_bleu_result r = {0};
        ck_assert_uint_eq(cut(l.line[i], row), 7);
        read_counts(row[0], r.matches);
        read_counts(row[1], r.totals);
        r.hyp_length = strtoull(row[2], NULL, 10);
        r.ref_length = strtoull(row[3], NULL, 10);
        o.smooth = smooth_of(row[4]);
        if (*row[5]) o.smooth_value = strtof(row[5], NULL);
        tfm_bleu_score(&r, &o);
        ck_assert_double_eq_tol(r.score, strtod(row[6], NULL), 1e-6);
        checked++;
    }
    ck_assert_uint_eq(checked, 7);
    lines_free(&l);
}
END_TEST

/* want: the reference's string. 13a and intl leave single spaces; none and char leave the white space of the line. */
static void check_tokens(tfm_line *line, tfm_text raw, uint32_t tokenize, const char *want, size_t number)
{
    tfm_bleu_options o = defaults();

    o.tokenize = tokenize;
    tfm_bleu_tokenize(line, raw, &o);
    char *got = tokens_of((tfm_text){line->text.data, line->text.size});
    char *squeezed = tokens_of((tfm_text){want, strlen(want)});
    if (tokenize == TFM_BLEU_TOKENIZE_13A || tokenize == TFM_BLEU_TOKENIZE_INTL) ck_assert_str_eq(squeezed, want);
    ck_assert_msg(!strcmp(got, squeezed), "line %zu, %s: \"%s\", want \"%s\"", number, tokenizers[tokenize], got, want);
    free(got);
    free(squeezed);
}

START_TEST(tokenizers_are_sacrebleus)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    lines l = read_data("bleu/tokenizers.gold.jsonl.gz");
    tfm_line line;

    tfm_line_init(&line, &a);
    ck_assert_uint_eq(l.count, 426);
    for (size_t i = 0; i < l.count; i++) {
        json_t *json = json_loadb(l.line[i].data, l.line[i].size, 0, NULL);
        const json_t *text = json_object_get(json, "text");
        const tfm_text raw = {json_string_value(text), json_string_length(text)};
        for (uint32_t t = 0; t < 5; t++)
            check_tokens(&line, raw, t, json_string_value(json_object_get(json, tokenizers[t])), i + 1);
        json_decref(json);
    }
    tfm_line_free(&line);
    lines_free(&l);
}
END_TEST

/* Checks score and, from then on, the columns bp, sys_len, ref_len, counts, totals of the 13a result. */
static void check_13a_columns(const tfm_bleu_result *r, const char *const *columns, const char *system)
{
    ck_assert_double_eq_tol(r->brevity, strtod(columns[0], NULL), 1e-8);
    ck_assert_uint_eq(r->hyp_length, strtoull(columns[1], NULL, 10));
    ck_assert_uint_eq(r->ref_length, strtoull(columns[2], NULL, 10));
    check_counts(r->matches, columns[3], system);
    check_counts(r->totals, columns[4], system);
}

/* row: a line of the expectations; columns 6 to 11 are 13a, 13a lower case, intl, none, char, zh. */
static void check_system(const lines *hyps, const lines *refs, const char *const *row)
{
    static const uint32_t tokenize[] = {TFM_BLEU_TOKENIZE_13A, TFM_BLEU_TOKENIZE_13A, TFM_BLEU_TOKENIZE_INTL,
                                        TFM_BLEU_TOKENIZE_NONE, TFM_BLEU_TOKENIZE_CHAR, TFM_BLEU_TOKENIZE_ZH};
    const tfm_text *streams[] = {refs->line};
    tfm_bleu_options o = defaults();
    tfm_bleu_result r;
    tfm_error error;

    for (size_t k = 0; k < 6; k++) {
        o.tokenize = tokenize[k];
        o.lowercase = k == 1;
        ck_assert_ok(tfm_bleu(&r, sizeof r, hyps->line, hyps->count, streams, 1, &o, &error), error);
        ck_assert_double_eq_tol(r.score, strtod(row[6 + k], NULL), 1e-6);
        if (!k) check_13a_columns(&r, row + 19, row[0]);
    }
}

START_TEST(systems_of_wmt17)
{
    each_system(check_system);
}
END_TEST

/* Of the first 100 lines. The goldens of these two tests come from a separate implementation (exact regular
 * expressions, dictionaries of tuples), which gives the expected columns of the systems to all their digits. */
START_TEST(several_references)
{
    static const struct {
        tfm_bleu_options options;
        size_t n_refs;
        double score;
        const char *matches, *totals;
        uint64_t ref_length;
    } rows[] = {
        {{.smooth = TFM_BLEU_SMOOTH_EXP}, 3, 74.38258287, "1570 1283 1048 861", "1715 1615 1515 1415", 1710},
        {{.lowercase = 1}, 3, 76.04944877, "1583 1304 1075 895", "1715 1615 1515 1415", 1710},
        {{.tokenize = TFM_BLEU_TOKENIZE_INTL}, 3, 74.36841955, "1599 1307 1073 883", "1749 1649 1549 1449", 1746},
        {{.tokenize = TFM_BLEU_TOKENIZE_NONE}, 3, 70.24083566, "1270 1018 810 642", "1444 1344 1244 1144", 1439},
        {{.tokenize = TFM_BLEU_TOKENIZE_CHAR}, 3, 91.71028006, "7999 7580 7205 6896", "8229 8129 8029 7929", 8225},
        {{.tokenize = TFM_BLEU_TOKENIZE_NONE, .compound_split = 1, .smooth = TFM_BLEU_SMOOTH_NONE},
         3,
         70.55201004,
         "1313 1056 848 674",
         "1492 1392 1292 1192",
         1489},
        {{.tokenize = TFM_BLEU_TOKENIZE_NONE, .compound_split = 1, .smooth = TFM_BLEU_SMOOTH_NONE},
         1,
         22.47997865,
         "757 403 225 119",
         "1492 1392 1292 1192",
         1448},
    };
    translations t = translations_read();
    tfm_bleu_result r;
    tfm_error error;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfm_bleu_options o = rows[i].options;
        o.struct_size = sizeof o;
        o.max_order = 4;
        ck_assert_ok(tfm_bleu(&r, sizeof r, t.hyps.line, 100, t.streams, rows[i].n_refs, &o, &error), error);
        ck_assert_double_eq_tol(r.score, rows[i].score, 1e-7);
        check_counts(r.matches, rows[i].matches, r.signature);
        check_counts(r.totals, rows[i].totals, r.signature);
        ck_assert_uint_eq(r.ref_length, rows[i].ref_length);
    }
    translations_free(&t);
}
END_TEST

START_TEST(scores_of_single_sentences)
{
    static const struct {
        uint32_t smooth, effective_order;
        double sum;
    } rows[] = {{TFM_BLEU_SMOOTH_EXP, 1, 2734.42861174},
                {TFM_BLEU_SMOOTH_FLOOR, 1, 2529.04295624},
                {TFM_BLEU_SMOOTH_ADD_K, 1, 3272.97610423},
                {TFM_BLEU_SMOOTH_NONE, 0, 2201.60778322}};
    translations t = translations_read();
    tfm_bleu_result r;
    tfm_error error;

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        tfm_bleu_options o = defaults();
        double sum = 0;
        o.smooth = rows[k].smooth;
        o.effective_order = rows[k].effective_order;
        for (size_t i = 0; i < 100; i++) {
            const tfm_text *ref = &t.refs[0].line[i];
            ck_assert_ok(tfm_bleu(&r, sizeof r, &t.hyps.line[i], 1, &ref, 1, &o, &error), error);
            sum += r.score;
        }
        ck_assert_double_eq_tol(sum, rows[k].sum, 1e-6);
    }
    translations_free(&t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bleu data");
    TCase *c = tcase_create("bleu data");

    tcase_add_test(c, scores_of_sacrebleus_unit_tests);
    tcase_add_test(c, scores_from_statistics);
    tcase_add_test(c, tokenizers_are_sacrebleus);
    tcase_add_test(c, systems_of_wmt17);
    tcase_add_test(c, several_references);
    tcase_add_test(c, scores_of_single_sentences);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "bleu")
