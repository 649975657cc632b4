#include "parse_report.h"

#include "console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

/* 0: compared, 1: an error, 2: skipped. */
static int status_of_evalb(const tfm_parseval_row *row)
{
    return row->status == TFM_PARSEVAL_VALID ? 0 : row->status == TFM_PARSEVAL_NO_WORDS ? 2 : 1;
}

static void print_row(size_t number, const tfm_parseval_row *r)
{
    printf("%4zu  %3u    %d  ", number, r->length, status_of_evalb(r));
    printf("%6.2f %6.2f   %3u    %3u  %3u    %3u", percent(r->matched, r->gold), percent(r->matched, r->test),
           r->matched, r->gold, r->test, r->crossing);
    printf("   %4u  %4u   %6.2f\n", r->words, r->tags, percent(r->tags, r->words));
}

static void print_table(const tfm_parseval_result *r, const tfm_parseval_row *rows, size_t n)
{
    static const char rule[] = "============================================================================\n";

    printf("  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
           " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n%s",
           rule);
    for (size_t i = 0; i < n; i++) print_row(i + 1, &rows[i]);
    printf("%s", rule);
    if (r->gold_brackets[0] && r->test_brackets[0])
        printf("                %6.2f %6.2f %6llu %5llu %5llu  %5llu", r->recall[0], r->precision[0],
               (unsigned long long)r->matched_brackets[0], (unsigned long long)r->gold_brackets[0],
               (unsigned long long)r->test_brackets[0], (unsigned long long)r->crossing_brackets[0]);
    printf("  %5llu %5llu   %6.2f\n", (unsigned long long)r->words[0], (unsigned long long)r->tags[0], r->tagging[0]);
}

static void print_summary(const tfm_parseval_result *r, int part)
{
    const uint64_t valid = r->sentences[part] - r->errors[part] - r->skipped[part];
    /* Divides by nothing, as EVALB does. */
    const double f1 = r->matched_brackets[part] ? r->f1[part] : NAN;

    printf("Number of sentence        = %6llu\n", (unsigned long long)r->sentences[part]);
    printf("Number of Error sentence  = %6llu\n", (unsigned long long)r->errors[part]);
    printf("Number of Skip  sentence  = %6llu\n", (unsigned long long)r->skipped[part]);
    printf("Number of Valid sentence  = %6llu\n", (unsigned long long)valid);
    printf("Bracketing Recall         = %6.2f\n", r->recall[part]);
    printf("Bracketing Precision      = %6.2f\n", r->precision[part]);
    printf("Bracketing FMeasure       = %6.2f\n", f1);
    printf("Complete match            = %6.2f\n", r->complete[part]);
    printf("Average crossing          = %6.2f\n", r->crossing[part]);
    printf("No crossing               = %6.2f\n", r->uncrossed[part]);
    printf("2 or less crossing        = %6.2f\n", r->little_crossed[part]);
    printf("Tagging accuracy          = %6.2f\n", r->tagging[part]);
}

static void print_report(const tfm_parseval_result *r, const tfm_parseval_row *rows, size_t n)
{
    print_table(r, rows, n);
    printf("=== Summary ===\n\n-- All --\n");
    print_summary(r, 0);
    printf("\n-- len<=%u --\n", r->cutoff);
    print_summary(r, 1);
    printf("signature: %s\n", r->signature);
}

static void print_sentences(const tfm_parseval_result *r, const tfm_parseval_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        printf("%.2f\n", percent(2 * (uint64_t)rows[i].matched, (uint64_t)rows[i].gold + rows[i].test));
    console_say("signature: %s", r->signature);
}

static void tell_errors(const tfm_parseval_row *rows, size_t n, const char *const names[2])
{
    static const char *const what[] = {
        [TFM_PARSEVAL_OTHER_LENGTH] = "not as many words as the reference",
        [TFM_PARSEVAL_OTHER_WORDS] = "other words than the reference",
        [TFM_PARSEVAL_BAD_PARSE] = "not a tree",
        [TFM_PARSEVAL_BAD_GOLD] = "the reference is not a tree",
        [TFM_PARSEVAL_TOO_LARGE] = "it or its reference has more than 4,000 words or constituents",
    };

    for (size_t i = 0; i < n; i++)
        if (status_of_evalb(&rows[i]) == 1)
            console_warn("%s:%zu: %s", text_name(names[rows[i].status == TFM_PARSEVAL_BAD_GOLD]), i + 1,
                         what[rows[i].status]);
}

/* The file's lines as one text; free it. NULL: reported failure. */
static char *read_parameters(const char *path)
{
    text_lines lines = {0};
    char *text = NULL;
    size_t size = 0, capacity = 0;

    if (!text_lines_read(&lines, path, false)) return NULL;
    memory_grow(&text, &capacity, 1, 1);
    for (size_t i = 0; i < lines.size; i++) {
        const tfm_text line = lines.lines[i];
        memory_grow(&text, &capacity, size + line.size + 2, 1);
        if (line.size) memcpy(text + size, line.data, line.size);
        text[size + line.size] = '\n';
        size += line.size + 1;
    }
    text[size] = '\0';
    text_lines_clear(&lines);
    if (strlen(text) == size) return text;
    console_fail("%s holds a NUL byte; it is not a parameter file", path);
    free(text);
    return NULL;
}

int parse_report_print(const text_lines *parses, const text_lines *gold, const char *const names[2],
                       const char *parameters, bool sentences)
{
    char *const text = parameters ? read_parameters(parameters) : NULL;
    tfm_parseval_row *rows = NULL;
    size_t capacity = 0;
    tfm_parseval_options options;
    tfm_parseval_result result;
    tfm_error error;

    if (parameters && !text) return EXIT_FAILURE;
    memory_grow(&rows, &capacity, parses->size, sizeof *rows);
    tfm_parseval_options_init(&options, sizeof options);
    options.parameters = text;
    const tfm_status status =
        tfm_parseval(&result, sizeof result, rows, parses->lines, gold->lines, parses->size, &options, &error);
    if (status == TFM_OK) {
        tell_errors(rows, parses->size, names);
        (sentences ? print_sentences : print_report)(&result, rows, parses->size);
    }
    free(rows);
    free(text);
    return status == TFM_OK ? EXIT_SUCCESS : console_fail("%s", error.message);
}
