/* Scores of parses: by hand, rules, hostile trees and parameters, memory. EVALB's own figures: data_parseval.c. */
#include "testing.h"

enum { MOST = 4000 }; /* words, and constituents, of a tree */

static tfm_error error;

static tfm_text text(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

static tfm_parseval_result scored(const char *test, const char *gold, const char *parameters, tfm_parseval_row *row)
{
    const tfm_text t = text(test), g = text(gold);
    tfm_parseval_options o;
    tfm_parseval_result r;

    tfm_parseval_options_init(&o, sizeof o);
    o.parameters = parameters;
    ck_assert_ok(tfm_parseval(&r, sizeof r, row, &t, &g, 1, &o, &error), error);
    return r;
}

static tfm_parseval_row row_of(const char *test, const char *gold, const char *parameters)
{
    tfm_parseval_row row;

    scored(test, gold, parameters, &row);
    return row;
}

static void check_row(const char *test, const char *gold, const char *parameters, tfm_parseval_row want)
{
    const tfm_parseval_row got = row_of(test, gold, parameters);

    ck_assert_msg(!memcmp(&got, &want, sizeof got),
                  "%s: length %u status %u matched %u gold %u test %u crossing %u words %u tags %u", test, got.length,
                  got.status, got.matched, got.gold, got.test, got.crossing, got.words, got.tags);
}

/* length, status, matched, gold, test, crossing, words, tags. */
START_TEST(rows_by_hand)
{
    const char *const gold = "(TOP (S (NP (DT a) (NN b)) (VP (VB c) (NP (NN d))) (. .)))";

    check_row(gold, gold, NULL, (tfm_parseval_row){5, 0, 4, 4, 4, 0, 4, 4});
    check_row("(TOP (S (NP (DT a) (JJ b)) (XP (VB c) (NN d)) (. .)))", gold, NULL,
              (tfm_parseval_row){5, 0, 2, 4, 3, 0, 4, 3});
    check_row("(TOP (S (DT a) (X (NN b) (VB c)) (NN d) (. .)))", gold, NULL,
              (tfm_parseval_row){5, 0, 1, 4, 2, 1, 4, 4});
    check_row("(S-A (NP=1 (DT a) (NN b)) (VP-X-2 (VB c) (NP (NN d))))", gold, NULL,
              (tfm_parseval_row){5, 0, 4, 4, 4, 0, 4, 4});
    check_row("(TOP (S (NP (DT a) (NN b)) (. .) (VP (VB c) (NP (NN d)))))", gold, NULL,
              (tfm_parseval_row){5, 0, 4, 4, 4, 0, 4, 4});
    check_row("\t( (S (NP (DT a)\n(NN b) )(VP(VB c)(NP (NN d)))(E)))", gold, NULL,
              (tfm_parseval_row){5, 0, 4, 4, 5, 0, 4, 4});
    check_row("(S (ADVP (A x)) (PRT (A y)))", "(S (PRT (A x)) (ADVP (A y)))", NULL,
              (tfm_parseval_row){2, 0, 3, 3, 3, 0, 2, 2});
    check_row("(S (NP (NP (NP (A x)))) (A y))", "(S (NP (A x)) (A y))", NULL,
              (tfm_parseval_row){2, 0, 2, 2, 4, 0, 2, 2});
    check_row("(S (NP (A x)) (A y))", "(S (NP (NP (A x))) (A y))", NULL, (tfm_parseval_row){2, 0, 2, 3, 2, 0, 2, 2});
    check_row("(A x) (A y)", "(S (A x) (A y))", NULL, (tfm_parseval_row){2, 0, 0, 1, 0, 0, 2, 2});
}
END_TEST

/* A crossing counts the brackets of the parse, however many it crosses; two that touch or hold each other do not cross.
 */
START_TEST(crossing_by_hand)
{
    const char *const gold = "(S (A (x a) (x b)) (B (x c) (x d)) (C (x e) (x f)))";

    ck_assert_uint_eq(row_of("(S (x a) (Y (x b) (x c) (x d) (x e)) (x f))", gold, NULL).crossing, 1);
    ck_assert_uint_eq(row_of("(S (x a) (Y (Z (x b) (x c)) (x d)) (W (x e) (x f)))", gold, NULL).crossing, 2);
    ck_assert_uint_eq(row_of("(S (A (x a) (x b)) (Y (B (x c) (x d)) (C (x e) (x f))))", gold, NULL).crossing, 0);
}
END_TEST

START_TEST(what_cannot_be_compared)
{
    const char *const gold = "(S (A x) (B y))";
    static const struct {
        const char *test;
        uint32_t status;
    } cases[] = {
        {"(S (A x) (B z))", TFM_PARSEVAL_OTHER_WORDS},
        {"(S (A x))", TFM_PARSEVAL_OTHER_LENGTH},
        {"", TFM_PARSEVAL_NO_WORDS},
        {"(S (. .))", TFM_PARSEVAL_NO_WORDS},
        {"(S)", TFM_PARSEVAL_NO_WORDS},
        {"x", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x) (B y)", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x) (B y)))", TFM_PARSEVAL_BAD_PARSE},
        {")", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x ) (B y))", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x(B y)))", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x) y)", TFM_PARSEVAL_BAD_PARSE},
        {"(S (A x", TFM_PARSEVAL_BAD_PARSE},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_row(cases[i].test, gold, NULL, (tfm_parseval_row){.length = 2, .status = cases[i].status});
    ck_assert_uint_eq(row_of(gold, "(S (A x)", NULL).status, TFM_PARSEVAL_BAD_GOLD);
    const tfm_parseval_result r = scored("(S (A x))", gold, NULL, NULL);
    ck_assert(r.errors[0] == 1 && r.sentences[0] == 1 && !r.skipped[0] && !r.words[0]);
    ck_assert_double_eq(r.f1[0], 0);
    ck_assert_uint_eq(scored("", gold, NULL, NULL).skipped[1], 1);
}
END_TEST

START_TEST(scores_by_hand)
{
    const tfm_text gold[] = {text("(S (A (x a) (x b)) (x c))"), text("(S (A (x a)) (x b))"), text("(S (x a))")};
    const tfm_text test[] = {text("(S (x a) (A (x b) (x c)))"), text("(S (A (x a)) (x b))"), text("")};
    const tfm_parseval_options o = {.struct_size = sizeof o, .parameters = "CUTOFF_LEN 2\n"};
    tfm_parseval_result r;

    ck_assert_ok(tfm_parseval(&r, sizeof r, NULL, test, gold, 3, &o, &error), error);
    ck_assert(r.sentences[0] == 3 && r.sentences[1] == 2 && r.skipped[0] == 1 && r.skipped[1] == 1 && r.cutoff == 2);
    ck_assert_double_eq_tol(r.recall[0], 75, 1e-9);
    ck_assert_double_eq_tol(r.precision[0], 75, 1e-9);
    ck_assert_double_eq_tol(r.f1[0], 75, 1e-9);
    ck_assert_double_eq_tol(r.f1[1], 100, 1e-9);
    ck_assert_double_eq_tol(r.complete[0], 50, 1e-9);
    ck_assert_double_eq_tol(r.crossing[0], 0.5, 1e-9);
    ck_assert_double_eq_tol(r.uncrossed[0], 50, 1e-9);
    ck_assert_double_eq_tol(r.little_crossed[0], 100, 1e-9);
    ck_assert_double_eq_tol(r.tagging[0], 100, 1e-9);
}
END_TEST

START_TEST(rules_decide_what_counts)
{
    const char *const gold = "(TOP (S (A x) (, ,)))", *const other = "(TOP (T (B x) (, ,)))";

    check_row(other, gold, "", (tfm_parseval_row){2, 0, 1, 2, 2, 0, 2, 1}); /* no rules: TOP and commas count */
    check_row(other, gold, "LABELED 0", (tfm_parseval_row){2, 0, 2, 2, 2, 0, 2, 1});
    check_row(other, gold, "EQ_LABEL S T\nEQ_LABEL B A", (tfm_parseval_row){2, 0, 2, 2, 2, 0, 2, 2});
    check_row(other, gold, "DELETE_LABEL ,\nDELETE_LABEL_FOR_LENGTH A", (tfm_parseval_row){1, 0, 1, 2, 2, 0, 1, 0});
    check_row("(S (A X))", "(S (A x))", "EQ_WORD x X", (tfm_parseval_row){1, 0, 1, 1, 1, 0, 1, 1});
    check_row("(S (A x))", "(S (A x))", "# LABELED x\r\n\r\n  DEBUG 2\nMAX_ERROR 5\n",
              (tfm_parseval_row){1, 0, 1, 1, 1, 0, 1, 1});
    /* T, which is taken for S, is deleted with it; U is not. */
    ck_assert_uint_eq(row_of("(T (U (A x)))", "(S (A x))", "DELETE_LABEL S\nEQ_LABEL S T\nEQ_LABEL T U").test, 1);
}
END_TEST

/* One side's quotation mark is deleted for its tag, the other's is taken for a possessive. */
START_TEST(a_misread_quotation_mark_is_put_back)
{
    const char *const rules = "DELETE_LABEL ``\nDELETE_LABEL ''\nQUOTE_LABEL ''\nQUOTE_LABEL ``\nQUOTE_LABEL POS\n";
    const char *const gold = "(S (NP (`` ') (NN a)) (NN b) ('' '))", *const test =
                                                                         "(S (NP (`` ') (NN a)) (X (NN b) (POS ')))";

    check_row(test, gold, rules, (tfm_parseval_row){4, 0, 2, 2, 3, 0, 3, 2});
    check_row(gold, test, rules, (tfm_parseval_row){4, 0, 2, 3, 2, 0, 3, 2});
    ck_assert_uint_eq(row_of(test, gold, "DELETE_LABEL ''\nQUOTE_LABEL POS").status, TFM_PARSEVAL_OTHER_LENGTH);
    ck_assert_uint_eq(row_of("(S (NN a) (POS 's))", "(S (NN a) ('' 's))", rules).status, TFM_PARSEVAL_OTHER_LENGTH);
    check_row("(S (POS \") (POS \"))", "(S ('' \") ('' \"))", rules, (tfm_parseval_row){2, 0, 1, 1, 1, 0, 2, 0});
}
END_TEST

START_TEST(parameters_that_are_refused)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"LABELED 1\nDISC_ONLY 1", "line 2: \"DISC_ONLY\" is no keyword"},
        {"DELETE_LABEL", "one value is wanted"},
        {"DELETE_LABEL A B", "\"B\" ends it: one value"},
        {"EQ_LABEL A", "two values are wanted"},
        {"EQ_WORD A B C D", "two values are wanted"},
        {"LABELED yes", "\"yes\" is not a number"},
        {"CUTOFF_LEN -1", "is not a number"},
        {"MAX_ERROR 1000000001", "is not a number"},
        {"MAX_ERROR 99999999999999999999", "is not a number"},
        {"delete_label X", "is no keyword"},
    };
    const tfm_text t = text("(S (A x))");
    char many[101 * 16] = "";
    tfm_parseval_result r;
    tfm_parseval_options o = {.struct_size = sizeof o};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.parameters = bad[i].text;
        ck_assert_status(tfm_parseval(&r, sizeof r, NULL, &t, &t, 1, &o, &error), TFM_E_FORMAT, error);
        ck_assert_msg(strstr(error.message, bad[i].message), "%s: %s", bad[i].text, error.message);
    }
    o.parameters = many;
    for (int i = 0; i < 100; i++) strcat(many, "EQ_LABEL a b\n");
    ck_assert_ok(tfm_parseval(&r, sizeof r, NULL, &t, &t, 1, &o, &error), error);
    strcat(many, "EQ_LABEL a b\n");
    ck_assert_status(tfm_parseval(&r, sizeof r, NULL, &t, &t, 1, &o, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "line 101"));
}
END_TEST

/* EVALB stops at the error after MAX_ERROR + 1 of them. */
START_TEST(too_many_errors)
{
    const tfm_text gold[] = {text("(S (A x))"), text("(S (A x))"), text("(S (A x))")},
                   test[] = {text("x"), text("("), text(")")};
    tfm_parseval_row rows[3] = {{0}};
    tfm_parseval_options o = {.struct_size = sizeof o, .parameters = "MAX_ERROR 1"};
    tfm_parseval_result r;

    ck_assert_status(tfm_parseval(&r, sizeof r, rows, test, gold, 3, &o, &error), TFM_E_INVALID, error);
    ck_assert_ptr_nonnull(strstr(error.message, "line 3 is error 3, more than MAX_ERROR 1"));
    ck_assert_uint_eq(rows[2].status, TFM_PARSEVAL_BAD_PARSE);
    o.parameters = "MAX_ERROR 2";
    ck_assert_ok(tfm_parseval(&r, sizeof r, rows, test, gold, 3, &o, &error), error);
    ck_assert_uint_eq(r.errors[0], 3);
    ck_assert_status(tfm_parseval(&r, sizeof r, rows, test, gold, 0, &o, &error), TFM_E_INVALID, error);
}
END_TEST

START_TEST(the_signature_tells_the_rules)
{
    const char *const tree = "(S (A x))";
    const tfm_parseval_result collins = scored(tree, tree, NULL, NULL), none = scored(tree, tree, "", NULL);
    const tfm_parseval_result same = scored(tree, tree, "#\nDEBUG 1\nMAX_ERROR 3\n", NULL),
                              unlabelled = scored(tree, tree, "LABELED 0", NULL);

    ck_assert_ptr_nonnull(strstr(collins.signature, "nrefs:1|labels:yes|cutoff:40|prm:"));
    ck_assert_ptr_nonnull(strstr(unlabelled.signature, "labels:no|"));
    ck_assert_str_ne(collins.signature, none.signature);
    ck_assert_str_eq(same.signature, none.signature);
    ck_assert_str_ne(scored(tree, tree, "EQ_LABEL A BC", NULL).signature,
                     scored(tree, tree, "EQ_LABEL AB C", NULL).signature);
}
END_TEST

/* piece n times, then end, as a tree of its own. */
static char *repeated(const char *piece, size_t n, const char *end)
{
    const size_t size = strlen(piece);
    char *s = malloc(n * size + strlen(end) + 1);

    ck_assert_ptr_nonnull(s);
    for (size_t i = 0; i < n; i++) memcpy(s + i * size, piece, size);
    strcpy(s + n * size, end);
    return s;
}

/* A chain as deep as can be, one deeper; and megabytes of brackets, words and letters. */
START_TEST(large_and_deep_lines)
{
    static const struct {
        const char *piece;
        size_t n;
        uint32_t status;
    } cases[] = {{"(A ", 1000000, TFM_PARSEVAL_TOO_LARGE}, {"(A x)", MOST + 1, TFM_PARSEVAL_TOO_LARGE},
                 {")", 1000000, TFM_PARSEVAL_BAD_PARSE},   {" ", 1000000, TFM_PARSEVAL_NO_WORDS},
                 {"x", 1000000, TFM_PARSEVAL_BAD_PARSE},   {"(", 1000000, TFM_PARSEVAL_TOO_LARGE}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *line = repeated(cases[i].piece, cases[i].n, "");
        ck_assert_uint_eq(row_of(line, "(S (A x))", NULL).status, cases[i].status);
        free(line);
    }
    char *close = repeated(")", MOST, ""), *deep = repeated("(A ", MOST, "(x y)"), *flat = repeated("(A x)", MOST, "");
    char *tree = malloc(4 * MOST + 16);
    sprintf(tree, "%s%s", deep, close);
    ck_assert_uint_eq(row_of(tree, tree, NULL).matched, MOST);
    ck_assert_uint_eq(row_of(flat, flat, NULL).tags, MOST);
    free(tree);
    free(flat);
    free(deep);
    free(close);
}
END_TEST

static void compare_any(tfm_text test, tfm_text gold, const char *parameters)
{
    const tfm_parseval_options o = {.struct_size = sizeof o, .parameters = parameters};
    tfm_parseval_row row;
    tfm_parseval_result r;

    if (tfm_parseval(&r, sizeof r, &row, &test, &gold, 1, &o, &error) != TFM_OK) return;
    ck_assert(row.matched <= row.gold && row.matched <= row.test && row.crossing <= row.test && row.tags <= row.words);
    ck_assert(row.status == TFM_PARSEVAL_VALID || !(row.gold | row.test | row.words));
}

/* Every cut and every byte of a tree and of parameters, each in memory of exactly its size for the sanitizer. */
START_TEST(changed_trees_and_parameters)
{
    static const char tree[] = "(TOP (S-X (NP (`` \") (NN a)) (VP (VB b) (POS \") (NP=1 (-NONE- *)) (. .))))";
    static const char rules[] = "DELETE_LABEL TOP\nQUOTE_LABEL POS\n#x\nEQ_LABEL NP VP\nCUTOFF_LEN 40\n";
    static const char bytes[] = {'(', ')', ' ', 'x', '\n', '\0', '#', '-', '\xFF'};

    for (size_t n = 0; n < sizeof tree; n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, tree, n);
        compare_any((tfm_text){cut, n}, text(tree), NULL);
        compare_any(text(tree), (tfm_text){cut, n}, rules);
        for (size_t b = 0; n && b < sizeof bytes; b++) {
            const char was = cut[n - 1];
            cut[n - 1] = bytes[b];
            compare_any((tfm_text){cut, n}, text(tree), rules);
            cut[n - 1] = was;
        }
        free(cut);
    }
    for (size_t n = 0; n < sizeof rules; n++)
        for (size_t b = 0; b < sizeof bytes; b++) {
            char changed[sizeof rules];
            memcpy(changed, rules, sizeof rules);
            changed[n] = bytes[b];
            changed[sizeof rules - 1] = '\0';
            compare_any(text(tree), text(tree), changed);
            changed[n] = '\0';
            compare_any(text(tree), text(tree), changed);
        }
}
END_TEST

START_TEST(c34_every_failed_allocation_is_reported)
{
    const tfm_text t = text("(S (A x))");
    tfm_status status = TFM_E_NOMEM;
    size_t fail = 0;

    for (; status != TFM_OK; fail++) {
        faulty f = {.fail_at = fail};
        const tfm_allocator a = faulty_allocator(&f);
        const tfm_parseval_options o = {.struct_size = sizeof o, .allocator = &a};
        tfm_parseval_result r;

        status = tfm_parseval(&r, sizeof r, NULL, &t, &t, 1, &o, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_eq(fail, 2); /* there is one */
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("parseval");
    TCase *c = tcase_create("parseval");

    tcase_add_test(c, rows_by_hand);
    tcase_add_test(c, crossing_by_hand);
    tcase_add_test(c, what_cannot_be_compared);
    tcase_add_test(c, scores_by_hand);
    tcase_add_test(c, rules_decide_what_counts);
    tcase_add_test(c, a_misread_quotation_mark_is_put_back);
    tcase_add_test(c, parameters_that_are_refused);
    tcase_add_test(c, too_many_errors);
    tcase_add_test(c, the_signature_tells_the_rules);
    tcase_add_test(c, large_and_deep_lines);
    tcase_add_test(c, changed_trees_and_parameters);
    tcase_add_test(c, c34_every_failed_allocation_is_reported);
    tcase_set_timeout(c, 120);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
