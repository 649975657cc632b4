/* The punctuation of Unicode written in ASCII, by the replacements of normalize-punctuation.perl in their order. */
#include "text/pretokenize.h"

#define NO_BREAK "\xC2\xA0" /* a space of French typography */

static bool is_digit(int32_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_ascii_letter(int32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool closes(int32_t c)
{
    return c == '.' || c == '!' || c == ':' || c == '?' || c == ';' || c == ',';
}

static const tfm_change brackets[] = {{.what = "\r", .to = ""}, {.what = "(", .to = " ("}, {.what = ")", .to = ") "}};
static const tfm_change marks[] = {
    {.what = ") ", .after = closes, .to = ")"},
    {.what = "( ", .to = "("},
    {.what = " )", .to = ")"},
    {.before = is_digit, .what = " %", .to = "%"},
    {.what = " :", .to = ":"},
    {.what = " ;", .to = ";"},
    {.what = "`", .to = "'"},
    {.what = "''", .to = " \" "},
    {.what = "\xE2\x80\x9E", .to = "\""}, /* U+201E */
    {.what = "\xE2\x80\x9C", .to = "\""},
    {.what = "\xE2\x80\x9D", .to = "\""},
    {.what = "\xE2\x80\x93", .to = "-"}, /* en dash */
    {.what = "\xE2\x80\x94", .to = " - "},
};
static const tfm_change quotes[] = {
    {.what = "\xC2\xB4", .to = "'"},
    {.before = is_ascii_letter, .what = "\xE2\x80\x98", .after = is_ascii_letter, .to = "'"},
    {.before = is_ascii_letter, .what = "\xE2\x80\x99", .after = is_ascii_letter, .to = "'"},
    {.what = "\xE2\x80\x98", .to = "\""},
    {.what = "\xE2\x80\x9A", .to = "\""},
    {.what = "\xE2\x80\x99", .to = "\""},
    {.what = "''", .to = "\""},
    {.what = "\xE2\x80\xA6", .to = "..."},
    {.what = NO_BREAK "\xC2\xAB" NO_BREAK, .to = " \""},
    {.what = "\xC2\xAB" NO_BREAK, .to = "\""},
    {.what = "\xC2\xAB", .to = "\""},
    {.what = NO_BREAK "\xC2\xBB" NO_BREAK, .to = "\" "},
    {.what = NO_BREAK "\xC2\xBB", .to = "\""},
    {.what = "\xC2\xBB", .to = "\""},
    {.what = NO_BREAK "%", .to = "%"},
    {.what = "n\xC2\xBA" NO_BREAK, .to = "n\xC2\xBA "},
    {.what = NO_BREAK ":", .to = ":"},
    {.what = NO_BREAK "\xC2\xBA"
                      "C",
     .to = " \xC2\xBA"
           "C"},
    {.what = NO_BREAK "cm", .to = " cm"},
    {.what = NO_BREAK "?", .to = "?"},
    {.what = NO_BREAK "!", .to = "!"},
    {.what = NO_BREAK ";", .to = ";"},
    {.what = "," NO_BREAK, .to = ", "},
};
static const tfm_change comma_after_quote = {.what = ",\"", .to = "\","};
static const tfm_change decimal_point = {.before = is_digit, .what = NO_BREAK, .after = is_digit, .to = "."};
static const tfm_change decimal_comma = {.before = is_digit, .what = NO_BREAK, .after = is_digit, .to = ","};

#define CHANGE(line, changes) tfm_line_change(line, changes, sizeof(changes) / sizeof *(changes))

/* How many bytes from at on are one of set. */
static size_t run(tfm_text text, size_t at, const char *set)
{
    size_t n = 0;

    while (at + n < text.size && text.data[at + n] && strchr(set, text.data[at + n])) n++;
    return n;
}

/* Moves n bytes at byte at behind, or before, the quotation mark beside them. */
static void swap(tfm_line *line, size_t *done, size_t start, size_t first, size_t second)
{
    const char *text = line->text.data;

    tfm_line_keep(line, done, start, start + first + second);
    tfm_buffer_append(&line->spare, text + start + first, second);
    tfm_buffer_append(&line->spare, text + start, first);
}

/* English has stops and commas inside of the quotation. */
static void stops_into_quotes(tfm_line *line)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t i = 0, n; i < text.size; i += 1 + n) {
        n = text.data[i] == '"' ? run(text, i + 1, ",.") : 0;
        if (n) swap(line, &done, i, 1, n);
    }
    tfm_line_finish(line, done);
}

/* Others have them outside. The script spares a mark before '<', and takes up again after white space and one
 * character. */
static void stops_out_of_quotes(tfm_line *line)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t i = 0, n; i < text.size; i += n) {
        n = run(text, i, ".");
        const size_t after = i + n + 1;
        if (!n || after > text.size || text.data[after - 1] != '"' || (after < text.size && text.data[after] == '<')) {
            n += !n;
            continue;
        }
        swap(line, &done, i, n, 1);
        n += 1 + run(text, after, " \t\v\f");
        if (i + n < text.size && text.data[i + n] != '<') n++;
    }
    tfm_line_finish(line, done);
}

void tfm_punctuation_normalize(tfm_line *line, uint32_t language)
{
    CHANGE(line, brackets);
    tfm_line_single_spaces(line);
    CHANGE(line, marks);
    tfm_line_single_spaces(line);
    CHANGE(line, quotes);
    tfm_line_single_spaces(line);
    if (language == TFM_LANGUAGE_ENGLISH) {
        stops_into_quotes(line);
        tfm_line_change(line, &decimal_point, 1);
        return;
    }
    tfm_line_change(line, &comma_after_quote, 1);
    stops_out_of_quotes(line);
    tfm_line_change(line, &decimal_comma, 1);
}
