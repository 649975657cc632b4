/* PARSEVAL against the tables and summaries that EVALB printed: its own samples, and trees of CRAFT that were damaged
 * at random. */
#include "testing.h"

#include <math.h>

#define FOLDER "treebank/evalb/"

enum { NUMBERS = 11, SUMMARY = 12, WORDS = 9 };

typedef struct report {
    lines text;
    size_t at;
} report;

/* What stands in the next line that has numbers alone, at most NUMBERS; 0: no more before the summary. */
static size_t next_row(report *r, double row[static NUMBERS])
{
    for (; r->at < r->text.count && r->text.line[r->at].data[0] != '='; r->at++) {
        char *at = (char *)r->text.line[r->at].data, *end;
        size_t n = 0;

        for (; n < NUMBERS; at = end) {
            row[n] = strtod(at, &end);
            if (end == at) break;
            n++;
        }
        if (n == NUMBERS && ++r->at) return n;
    }
    return 0;
}

static double next_number(report *r, const char *name)
{
    while (r->at < r->text.count && strncmp(r->text.line[r->at].data, name, strlen(name)) != 0) r->at++;
    ck_assert_msg(r->at < r->text.count, "no line %s", name);
    return strtod(strchr(r->text.line[r->at++].data, '=') + 1, NULL);
}

static void check_number(report *r, const char *name, double got)
{
    const double want = next_number(r, name);

    if (isnan(want)) ck_assert_msg(got == 0, "%s: %g, want none", name, got); /* nothing matched */
    else ck_assert_msg(fabs(got - want) < 0.00501, "%s: %.4f, want %.2f", name, got, want);
}

static double percent(uint32_t part, uint32_t whole)
{
    return whole ? 100.0 * part / whole : 0;
}

/* Of rows that are not valid, older versions of EVALB print the number of words. */
static void check_row(const double *want, size_t number, const tfm_parseval_row *r)
{
    const double status = r->status == TFM_PARSEVAL_VALID ? 0 : r->status == TFM_PARSEVAL_NO_WORDS ? 2 : 1;
    const double got[NUMBERS] = {(double)number,
                                 r->length,
                                 status,
                                 percent(r->matched, r->gold),
                                 percent(r->matched, r->test),
                                 r->matched,
                                 r->gold,
                                 r->test,
                                 r->crossing,
                                 r->words,
                                 r->tags};

    for (size_t i = 0; i < NUMBERS; i++)
        if (i != WORDS || status == 0)
            ck_assert_msg(fabs(got[i] - want[i]) < 0.00501, "row %zu, column %zu: %g, want %g", number, i + 1, got[i],
                          want[i]);
}

static void check_summary(report *rsl, const tfm_parseval_result *r, int part, bool has_f1)
{
    check_number(rsl, "Number of sentence ", (double)r->sentences[part]);
    check_number(rsl, "Number of Error", (double)r->errors[part]);
    check_number(rsl, "Number of Skip", (double)r->skipped[part]);
    check_number(rsl, "Number of Valid", (double)(r->sentences[part] - r->errors[part] - r->skipped[part]));
    check_number(rsl, "Bracketing Recall", r->recall[part]);
    check_number(rsl, "Bracketing Precision", r->precision[part]);
    if (has_f1) check_number(rsl, "Bracketing FMeasure", r->f1[part]);
    check_number(rsl, "Complete match", r->complete[part]);
    check_number(rsl, "Average crossing", r->crossing[part]);
    check_number(rsl, "No crossing", r->uncrossed[part]);
    check_number(rsl, "2 or less crossing", r->little_crossed[part]);
    check_number(rsl, "Tagging accuracy", r->tagging[part]);
}

static lines read_lines(const char *name)
{
    char path[TESTING_PATH], full[64];

    snprintf(full, sizeof full, FOLDER "%s", name);
    return lines_read(data_path(path, full));
}

static char *read_text(const char *name)
{
    char path[TESTING_PATH], full[64];
    size_t size;

    snprintf(full, sizeof full, FOLDER "%s", name);
    return file_read(data_path(path, full), &size);
}

typedef struct fixture {
    const char *gold, *test, *parameters, *report;
    size_t valid;
    bool has_f1; /* the oldest version did not print it */
} fixture;

static const fixture fixtures[] = {
    {"sample.gld", "sample.tst", "sample.prm", "sample.rsl", 17, false},
    {"bug.gld", "bug.tst", "new.prm", "bug.rsl-new", 5, true},
    {"bug.gld", "bug.tst", "COLLINS.prm", "bug.rsl-old", 0, true},
    {"craft300.gld", "craft300.tst", "COLLINS.prm", "craft300.COLLINS.rsl", 290, true},
    {"craft300.gld", "craft300.tst", NULL, "craft300.COLLINS.rsl", 290, true},
};

START_TEST(reports_of_evalb)
{
    const fixture *f = &fixtures[_i];
    lines gold = read_lines(f->gold), test = read_lines(f->test);
    char *parameters = f->parameters ? read_text(f->parameters) : NULL;
    report rsl = {.text = read_lines(f->report), .at = 3}; /* behind the head */
    tfm_parseval_row *rows = malloc(gold.count * sizeof *rows);
    const tfm_parseval_options o = {.struct_size = sizeof o, .parameters = parameters};
    tfm_parseval_result r;
    double want[NUMBERS];
    tfm_error error;

    ck_assert_uint_eq(gold.count, test.count);
    ck_assert_ok(tfm_parseval(&r, sizeof r, rows, test.line, gold.line, gold.count, &o, &error), error);
    for (size_t i = 0; i < gold.count; i++) {
        ck_assert_uint_eq(next_row(&rsl, want), NUMBERS);
        check_row(want, i + 1, &rows[i]);
    }
    ck_assert_uint_eq(next_row(&rsl, want), 0);
    for (int part = 0; part < 2; part++) check_summary(&rsl, &r, part, f->has_f1);
    ck_assert_uint_eq(r.sentences[0] - r.errors[0] - r.skipped[0], f->valid);
    free(rows);
    free(parameters);
    lines_free(&rsl.text);
    lines_free(&test);
    lines_free(&gold);
}
END_TEST

/* The rules without a file are those of COLLINS.prm, whose comments do not count. */
START_TEST(the_default_is_collins)
{
    const tfm_text tree = {"(S (A x))", 9};
    char *parameters = read_text("COLLINS.prm");
    const tfm_parseval_options o = {.struct_size = sizeof o, .parameters = parameters};
    tfm_parseval_result from_file, built_in;
    tfm_error error;

    ck_assert_ok(tfm_parseval(&from_file, sizeof from_file, NULL, &tree, &tree, 1, &o, &error), error);
    ck_assert_ok(tfm_parseval(&built_in, sizeof built_in, NULL, &tree, &tree, 1, NULL, &error), error);
    ck_assert_mem_eq(&from_file, &built_in, sizeof built_in);
    free(parameters);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("parseval_data");
    TCase *c = tcase_create("parseval_data");

    tcase_add_loop_test(c, reports_of_evalb, 0, sizeof fixtures / sizeof *fixtures);
    tcase_add_test(c, the_default_is_collins);
    suite_add_tcase(s, c);
    return s;
}

TESTING_DATA_MAIN(suite, FOLDER)
