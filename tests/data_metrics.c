/* chrF and TER against what sacreBLEU computed: its own unit tests, tokenisations, and systems of WMT17; significance
 * on real systems. */
#include "metric_data.h"
#include "metric_oracle.h"

#include "eval/ter.h"

static bool flag(const json_t *options, const char *name)
{
    return json_is_true(json_object_get(options, name));
}

static tfm_chrf_options chrf_of(const json_t *json)
{
    const json_t *remove = json_object_get(json, "remove_whitespace"), *order = json_object_get(json, "char_order");
    tfm_chrf_options o;

    tfm_chrf_options_init(&o, sizeof o);
    if (order) o.char_order = (uint32_t)json_integer_value(order);
    o.word_order = (uint32_t)json_integer_value(json_object_get(json, "word_order"));
    if (json_object_get(json, "beta")) o.beta = (float)json_number_value(json_object_get(json, "beta"));
    o.lowercase = flag(json, "lowercase");
    o.whitespace = json_is_false(remove);
    o.eps_smoothing = flag(json, "eps_smoothing");
    return o;
}

static tfm_ter_options ter_of(const json_t *json)
{
    tfm_ter_options o;

    tfm_ter_options_init(&o, sizeof o);
    o.case_sensitive = flag(json, "case_sensitive");
    o.normalized = flag(json, "normalized");
    o.no_punctuation = flag(json, "no_punct");
    o.asian_support = flag(json, "asian_support");
    return o;
}

/* One row: test metric options hyps refs expected tolerance got. */
static bool check_row(const char *const *row)
{
    json_t *json = json_loads(row[2], 0, NULL);
    const tfm_chrf_options chrf = chrf_of(json);
    const tfm_ter_options ter = ter_of(json);
    const bool is_chrf = strstr(row[1], "chrf"), is_ter = !strcmp(row[1], "ter");
    tfm_metric_result r = {0};
    tfm_error error;
    texts_row t;

    json_decref(json);
    if (!is_chrf && !is_ter) return false;
    texts_read(&t, row[3], row[4]);
    ck_assert_ok(is_chrf ? tfm_chrf(&r, sizeof r, t.hyp, t.n, t.streams, t.n_refs, &chrf, &error)
                         : tfm_ter(&r, sizeof r, t.hyp, t.n, t.streams, t.n_refs, &ter, &error),
                 error);
    ck_assert_msg(fabs(r.score - strtod(row[7], NULL)) < 1e-6, "%s %s %s: %.8f, want %s", row[0], row[2], row[3],
                  r.score, row[7]);
    texts_free(&t);
    return true;
}

START_TEST(scores_of_sacrebleus_unit_tests)
{
    lines l = read_data("bleu/unit_scores.tsv");
    const char *row[MAX_FIELDS];
    size_t checked = 0;

    for (size_t i = 2; i < l.count; i++) { /* a comment and the names come first */
        ck_assert_uint_eq(cut(l.line[i], row), 8);
        checked += check_row(row);
    }
    ck_assert_uint_eq(checked, 32);
    lines_free(&l);
}
END_TEST

static void check_tokens(tfm_line *line, tfm_text raw, const tfm_ter_options *o, const char *want)
{
    tfm_ter_tokenize(line, raw, o);
    char *got = tokens_of(tfm_line_text(line));
    ck_assert_str_eq(got, want);
    free(got);
}

START_TEST(tokens_of_ter_are_sacrebleus)
{
    static const struct {
        const char *name;
        tfm_ter_options options;
    } kinds[] = {{"ter", {0}}, {"ter_norm", {.normalized = 1}}, {"ter_nopunct", {.no_punctuation = 1}},
                 {"ter_norm_asian", {.normalized = 1, .asian_support = 1}}};
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    lines l = read_data("bleu/tokenizers.gold.jsonl.gz");
    tfm_line line;

    tfm_line_init(&line, &a);
    for (size_t i = 0; i < l.count; i++) {
        json_t *json = json_loadb(l.line[i].data, l.line[i].size, 0, NULL);
        const json_t *text = json_object_get(json, "text");
        const tfm_text raw = {json_string_value(text), json_string_length(text)};
        for (size_t k = 0; k < 4; k++) {
            const char *want = json_string_value(json_object_get(json, kinds[k].name));
            ck_assert_ptr_nonnull(want);
            check_tokens(&line, raw, &kinds[k].options, want);
        }
        json_decref(json);
    }
    tfm_line_free(&line);
    lines_free(&l);
}
END_TEST

START_TEST(unit_tests_of_the_tokens_of_ter)
{
    const tfm_allocator a = tfm_allocator_or_default(NULL);
    lines l = read_data("bleu/unit_ter_tokenizer.tsv");
    const char *row[MAX_FIELDS];
    tfm_line line;

    tfm_line_init(&line, &a);
    for (size_t i = 1; i < l.count; i++) {
        ck_assert_uint_eq(cut(l.line[i], row), 3);
        const tfm_ter_options o = {.normalized = strstr(row[0], "normalized") != NULL,
                                   .no_punctuation = strstr(row[0], "no_punct") != NULL,
                                   .asian_support = strstr(row[0], "asian_support") != NULL,
                                   .case_sensitive = strstr(row[0], "case_sensitive") != NULL};
        check_tokens(&line, (tfm_text){row[1], strlen(row[1])}, &o, row[2]);
    }
    ck_assert_uint_gt(l.count, 10);
    tfm_line_free(&line);
    lines_free(&l);
}
END_TEST

static double chrf(const lines *hyps, const lines *refs, uint32_t word_order, uint32_t eps)
{
    const tfm_text *streams[] = {refs->line};
    tfm_chrf_options o;
    tfm_metric_result r;
    tfm_error error;

    tfm_chrf_options_init(&o, sizeof o);
    o.word_order = word_order;
    o.eps_smoothing = eps;
    ck_assert_ok(tfm_chrf(&r, sizeof r, hyps->line, hyps->count, streams, 1, &o, &error), error);
    return r.score;
}

/* Columns 12 to 16 are chrF2, with epsilon smoothing, chrF2++, with epsilon smoothing, TER. */
static void check_system(const lines *hyps, const lines *refs, const char *const *row)
{
    const tfm_text *streams[] = {refs->line};
    tfm_metric_result r;
    tfm_error error;

    for (uint32_t k = 0; k < 4; k++)
        ck_assert_double_eq_tol(chrf(hyps, refs, k & 2, k & 1), strtod(row[12 + k], NULL), 1e-6);
    ck_assert_ok(tfm_ter(&r, sizeof r, hyps->line, hyps->count, streams, 1, NULL, &error), error);
    ck_assert_double_eq_tol(r.score, strtod(row[16], NULL), 1e-6);
}

START_TEST(systems_of_wmt17)
{
    each_system(check_system);
}
END_TEST

/* What judges several references and sentences below gives sacreBLEU's figures of the systems. */
static void check_oracle(const lines *hyps, const lines *refs, const char *const *row)
{
    const tfm_text *streams[] = {refs->line};

    if (!strstr(row[0], "KIT")) return; /* one will do */
    ck_assert_double_eq_tol(oracle_chrf(hyps->line, hyps->count, streams, 1, false), strtod(row[12], NULL), 1e-6);
    ck_assert_double_eq_tol(oracle_chrf(hyps->line, hyps->count, streams, 1, true), strtod(row[14], NULL), 1e-6);
    ck_assert_double_eq_tol(oracle_ter(hyps->line, hyps->count, streams, 1), strtod(row[16], NULL), 1e-6);
}

START_TEST(the_oracle_is_right_of_wmt17)
{
    each_system(check_oracle);
}
END_TEST

START_TEST(several_references)
{
    translations t = translations_read();

    for (size_t n_refs = 1; n_refs <= 3; n_refs++) oracle_check(t.hyps.line, 200, t.streams, n_refs);
    translations_free(&t);
}
END_TEST

START_TEST(scores_of_single_sentences)
{
    translations t = translations_read();

    for (size_t i = 0; i < 200; i++) {
        const tfm_text *refs[] = {t.streams[0] + i, t.streams[1] + i, t.streams[2] + i};
        oracle_check(t.hyps.line + i, 1, refs, i % 3 + 1);
    }
    translations_free(&t);
}
END_TEST

/* A system beside a much worse one, and beside itself. */
START_TEST(significance_of_systems_of_wmt17)
{
    lines refs = read_data("bleu/wmt17_en_de/ref.de.gz"),
          good = read_data("bleu/wmt17_en_de/newstest2017.uedin-nmt.4722.en-de.gz");
    lines poor = read_data("bleu/wmt17_en_de/newstest2017.online-F.0.en-de.gz");
    const tfm_text *streams[] = {refs.line};
    tfm_comparison c, again;
    tfm_error error;

    ck_assert_ok(
        tfm_compare(&c, sizeof c, poor.line, good.line, 3004, streams, 1, TFM_METRIC_BLEU, NULL, 300, 12345, &error),
        error);
    ck_assert_double_eq_tol(c.score[0], 15.451736, 1e-6);
    ck_assert_double_eq_tol(c.score[1], 28.301225, 1e-6);
    ck_assert_double_eq_tol(c.p_value, 1.0 / 301, 1e-12);
    for (int s = 0; s < 2; s++) {
        ck_assert_double_eq_tol(c.mean[s], c.score[s], 0.1);
        ck_assert(c.interval[s] > 0.3 &&
                  c.interval[s] < 0.8); /* sacreBLEU states 0.5 to 0.6 for systems of this test set */
    }
    ck_assert_ok(tfm_compare(&again, sizeof again, poor.line, good.line, 3004, streams, 1, TFM_METRIC_BLEU, NULL, 300,
                             12345, &error),
                 error);
    ck_assert_mem_eq(&again, &c, sizeof c);
    ck_assert_ok(
        tfm_compare(&c, sizeof c, good.line, good.line, 3004, streams, 1, TFM_METRIC_BLEU, NULL, 100, 1, &error),
        error);
    ck_assert_double_eq(c.score[0], c.score[1]);
    lines_free(&refs);
    lines_free(&good);
    lines_free(&poor);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("metrics data");
    TCase *c = tcase_create("metrics data");

    tcase_add_test(c, scores_of_sacrebleus_unit_tests);
    tcase_add_test(c, tokens_of_ter_are_sacrebleus);
    tcase_add_test(c, unit_tests_of_the_tokens_of_ter);
    tcase_add_test(c, systems_of_wmt17);
    tcase_add_test(c, the_oracle_is_right_of_wmt17);
    tcase_add_test(c, several_references);
    tcase_add_test(c, scores_of_single_sentences);
    tcase_add_test(c, significance_of_systems_of_wmt17);
    tcase_set_timeout(c, 600);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, "bleu")
