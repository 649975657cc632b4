/* Text to words, by the replacements of tokenizer.perl in their order. */
#include "text/pretokenize.h"

#include "base/characters.h"

#include <utf8proc.h>

#define CHANGE(line, changes) tfm_line_change(line, changes, sizeof(changes) / sizeof *(changes))

/* ----------------------------------------------------------------------------------- classes of characters ----- */

bool tfm_is_letter(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);

    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) || category == UTF8PROC_CATEGORY_NL;
}

bool tfm_is_number(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);

    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

static bool is_alphanumeric(int32_t c)
{
    return tfm_is_letter(c) || utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

static bool is_special(int32_t c)
{
    return !is_alphanumeric(c) && c != ' ' && c != '.' && c != '\'' && c != '`' && c != ',' && c != '-';
}

static bool not_letter(int32_t c)
{
    return !tfm_is_letter(c);
}

static bool not_number(int32_t c)
{
    return !tfm_is_number(c);
}

static bool neither(int32_t c)
{
    return not_letter(c) && not_number(c);
}

static bool is_s(int32_t c)
{
    return c == 's';
}

static bool is_space(int32_t c)
{
    return c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r') : tfm_char_is_space(c);
}

static bool is_control(int32_t c)
{
    return c < ' ';
}

/* ---------------------------------------------------------------------------------------- marks are set off ----- */

static const tfm_rule special = {is_special, NULL, true};
static const tfm_change hyphens[] = {{is_alphanumeric, "-", is_alphanumeric, " @-@ ", .again = true}};

/* A comma, unless between numbers. */
static const tfm_change commas[] = {
    {.before = not_number, .what = ",", .to = " , "},
    {.what = ",", .after = not_number, .to = " , "},
    {.before = tfm_is_number, .what = ",", .to = " ,", .last = true},
};

/* English parts "it 's", French "l' eau", German every apostrophe. */
static const tfm_change english[] = {
    {not_letter, "'", not_letter, " ' ", false, false},    {neither, "'", tfm_is_letter, " ' ", false, false},
    {tfm_is_letter, "'", not_letter, " ' ", false, false}, {tfm_is_letter, "'", tfm_is_letter, " '", false, false},
    {tfm_is_number, "'", is_s, " '", false, false},
};
static const tfm_change french[] = {
    {not_letter, "'", not_letter, " ' ", false, false},
    {not_letter, "'", tfm_is_letter, " ' ", false, false},
    {tfm_is_letter, "'", not_letter, " ' ", false, false},
    {tfm_is_letter, "'", tfm_is_letter, "' ", false, false},
};
static const tfm_change german[] = {{.what = "'", .to = " ' "}};
static const tfm_change stop_in_quote = {.what = ".'", .to = " . ' ", .last = true};
static const tfm_change escapes[] = {
    {.what = "&", .to = "&amp;"}, {.what = "|", .to = "&#124;"}, {.what = "<", .to = "&lt;"},
    {.what = ">", .to = "&gt;"},  {.what = "'", .to = "&apos;"}, {.what = "\"", .to = "&quot;"},
    {.what = "[", .to = "&#91;"}, {.what = "]", .to = "&#93;"},
};

static size_t dots(tfm_text text, size_t at)
{
    size_t n = 0;

    while (at + n < text.size && text.data[at + n] == '.') n++;
    return n;
}

/* Several dots together are a word. */
static void set_off_dots(tfm_line *line)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t i = 0, n; i < text.size; i += n ? n : 1) {
        n = dots(text, i);
        if (n < 2) continue;
        tfm_line_keep(line, &done, i, i);
        tfm_buffer_append(&line->spare, " ", 1);
        tfm_line_keep(line, &done, i + n, i + n);
        tfm_buffer_append(&line->spare, " ", 1);
    }
    tfm_line_finish(line, done);
}

static void set_off_apostrophes(tfm_line *line, uint32_t language)
{
    if (language == TFM_LANGUAGE_ENGLISH) CHANGE(line, english);
    else if (language == TFM_LANGUAGE_FRENCH) CHANGE(line, french);
    else CHANGE(line, german);
}

/* ---------------------------------------------------------------------------------------------- full stops ----- */

/* The word that begins at byte at, up to a space. */
static tfm_text word_at(tfm_text text, size_t at)
{
    const tfm_text rest = tfm_text_from(text, at);
    const char *end = rest.size ? memchr(rest.data, ' ', rest.size) : NULL;

    return (tfm_text){rest.data, end ? (size_t)(end - rest.data) : rest.size};
}

static bool is_dotted(tfm_text word)
{
    bool letter = false;

    if (!memchr(word.data, '.', word.size)) return false;
    for (size_t i = 0; i < word.size && !letter; i += tfm_char_at(word, i).size)
        letter = tfm_is_letter(tfm_char_at(word, i).code);
    return letter;
}

/* Whether the stop after a word belongs to it, as in "z.B." and "Mr. X"; next: the word after, empty at the end. */
static bool keeps_stop(uint32_t language, tfm_text word, tfm_text next)
{
    const int known = tfm_abbreviation(language, word);

    if (is_dotted(word) || known == TFM_ABBREVIATION) return true;
    if (!next.size) return false;
    if (utf8proc_islower(tfm_char_at(next, 0).code)) return true;
    return known == TFM_ABBREVIATION_BEFORE_DIGIT && next.data[0] >= '0' && next.data[0] <= '9';
}

/* The line has single spaces, none at its ends. */
static void set_off_stops(tfm_line *line, uint32_t language)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t at = 0; at < text.size;) {
        tfm_text word = word_at(text, at);
        const size_t end = at + word.size;
        const bool ends = word.size > 1 && word.data[word.size - 1] == '.' && dots(word, 0) < word.size;
        const tfm_text next = end < text.size ? word_at(text, end + 1) : (tfm_text){0};
        word.size--;
        if (ends && !keeps_stop(language, word, next)) {
            tfm_line_keep(line, &done, end - 1, end - 1);
            tfm_buffer_append(&line->spare, " ", 1);
        }
        at = end + 1;
    }
    tfm_line_finish(line, done);
}

/* --------------------------------------------------------------------------------------------- all of them ----- */

void tfm_pretokenize_line(tfm_line *line, const tfm_pretokenize_options *o)
{
    tfm_line_replace_class(line, is_space, " ");
    tfm_line_replace_class(line, is_control, "");
    tfm_line_single_spaces(line);
    tfm_line_trim_spaces(line);
    tfm_line_apply(line, &special);
    if (o->split_hyphens) CHANGE(line, hyphens);
    set_off_dots(line);
    CHANGE(line, commas);
    set_off_apostrophes(line, o->language);
    tfm_line_single_spaces(line);
    tfm_line_trim_spaces(line);
    set_off_stops(line, o->language);
    tfm_line_change(line, &stop_in_quote, 1);
    if (!o->no_escape) CHANGE(line, escapes);
}
