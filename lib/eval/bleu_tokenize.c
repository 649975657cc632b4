/* Tokenisations of BLEU, each a list of replacements over the whole line, because the tools that define them are
 * regular expressions whose results depend on that order. */
#include "eval/bleu_tokenize.h"

#include "eval/characters.h"

#include <utf8proc.h>

typedef bool char_class(int32_t code);

/* Sets off what first, or first before second, matches; matches do not overlap. */
typedef struct rule {
    char_class *first, *second; /* second NULL: first alone */
    bool before;                /* " 1 2"; else "1 2 "      */
} rule;

static bool is_digit(int32_t code)
{
    return code >= '0' && code <= '9';
}

static bool not_digit(int32_t code)
{
    return !is_digit(code);
}

static bool is_dash(int32_t code)
{
    return code == '-';
}

static bool is_stop(int32_t code)
{
    return code == '.' || code == ',';
}

/* ASCII punctuation and space without ' , - . */
static bool is_13a_symbol(int32_t code)
{
    return (code >= ' ' && code <= '&') || (code >= '(' && code <= '+') || code == '/' ||
           (code >= ':' && code <= '@') || (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
}

static bool not_number(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c < UTF8PROC_CATEGORY_ND || c > UTF8PROC_CATEGORY_NO;
}

static bool is_punctuation(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

static bool is_symbol(int32_t code)
{
    const utf8proc_category_t c = utf8proc_category(code);

    return c >= UTF8PROC_CATEGORY_SM && c <= UTF8PROC_CATEGORY_SO;
}

static bool is_any(int32_t code)
{
    (void)code;
    return true;
}

/* The 13a rules were written for a line with a space at each end. */
static const rule rules_13a[] = {
    {is_13a_symbol, NULL, true}, {not_digit, is_stop, false}, {is_stop, not_digit, true}, {is_digit, is_dash, false}};
static const rule rules_intl[] = {
    {not_number, is_punctuation, false}, {is_punctuation, not_number, true}, {is_symbol, NULL, true}};
static const rule rules_char[] = {{is_any, NULL, true}};

void tfm_bleu_line_init(tfm_bleu_line *line, const tfm_allocator *a)
{
    *line = (tfm_bleu_line){.text.allocator = *a, .spare.allocator = *a};
}

void tfm_bleu_line_free(tfm_bleu_line *line)
{
    tfm_buffer_free(&line->text);
    tfm_buffer_free(&line->spare);
}

static tfm_text view(const tfm_bleu_line *line)
{
    return (tfm_text){line->text.data, line->text.size};
}

/* Appends the text's bytes from *done up to end to the spare, and moves *done to resume. */
static void keep(tfm_bleu_line *line, size_t *done, size_t end, size_t resume)
{
    tfm_buffer_append(&line->spare, line->text.data + *done, end - *done);
    *done = resume;
}

/* Ends a step: keeps the rest and makes the spare the text. A step that found nothing has done == 0. */
static void finish(tfm_bleu_line *line, size_t done)
{
    if (!done) return;
    keep(line, &done, line->text.size, line->text.size);
    const tfm_buffer next = line->spare;
    line->spare = line->text;
    line->text = next;
    line->spare.size = 0;
}

static void apply_rule(tfm_bleu_line *line, const rule *r)
{
    const tfm_text text = view(line);
    size_t done = 0;

    for (size_t pos = 0, next, end; pos < text.size; pos = end) {
        const tfm_eval_char c = tfm_eval_char_at(text, pos);
        next = end = pos + c.size;
        if (!r->first(c.code)) continue;
        if (r->second) {
            if (next == text.size) break;
            const tfm_eval_char d = tfm_eval_char_at(text, next);
            if (!r->second(d.code)) continue;
            end = next + d.size;
        }
        keep(line, &done, pos, pos);
        if (r->before) tfm_buffer_append(&line->spare, " ", 1);
        keep(line, &done, next, next);
        tfm_buffer_append(&line->spare, " ", 1);
        keep(line, &done, end, end);
        if (!r->before) tfm_buffer_append(&line->spare, " ", 1);
    }
    finish(line, done);
}

static void replace(tfm_bleu_line *line, const char *from, const char *to)
{
    const size_t n = strlen(from);
    const tfm_text text = view(line);
    size_t done = 0;

    for (size_t pos = 0; pos + n <= text.size; pos++) {
        const char *p = memchr(text.data + pos, from[0], text.size - pos - n + 1);
        if (!p) break;
        pos = (size_t)(p - text.data);
        if (memcmp(p, from, n)) continue;
        keep(line, &done, pos, pos + n);
        tfm_buffer_append(&line->spare, to, strlen(to));
        pos += n - 1;
    }
    finish(line, done);
}

static void clean_13a(tfm_bleu_line *line)
{
    static const char *const pairs[][2] = {{"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
                                           {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) replace(line, pairs[i][0], pairs[i][1]);
}

/* Every white space becomes ' ', so that bytes tell where tokens end. */
static void plain_spaces(tfm_bleu_line *line)
{
    const tfm_text text = view(line);
    size_t done = 0;

    for (size_t pos = 0, next; pos < text.size; pos = next) {
        const tfm_eval_char c = tfm_eval_char_at(text, pos);
        next = pos + c.size;
        if (c.code == ' ' || !tfm_eval_is_space(c.code)) continue;
        keep(line, &done, pos, next);
        tfm_buffer_append(&line->spare, " ", 1);
    }
    finish(line, done);
}

/*
 * s/(\S)-(\S)/$1 ##AT##-##AT## $2/g on the bytes of the tokens, as get_ende_bleu.sh runs perl: of a-b-c only the first
 * hyphen is split, since b belongs to the first match; of a-ü-c both are, since the second byte of the umlaut is free.
 */
static void split_compounds(tfm_bleu_line *line)
{
    static const char mark[] = " ##AT##-##AT## ";
    const tfm_text text = view(line);
    size_t done = 0;

    for (size_t i = 1, floor = 0; i + 1 < text.size; i++) {
        if (text.data[i] != '-' || i - 1 < floor || text.data[i - 1] == ' ' || text.data[i + 1] == ' ') continue;
        keep(line, &done, i, i + 1);
        tfm_buffer_append(&line->spare, mark, sizeof mark - 1);
        floor = i + 2;
    }
    finish(line, done);
}

/* Cuts off white space at the end. Going backwards, a character begins at the last byte that is no continuation. */
static void trim_end(tfm_bleu_line *line)
{
    const tfm_text text = view(line);
    size_t end = text.size;

    while (end) {
        size_t start = end - 1;
        while (start && end - start < 4 && (text.data[start] & 0xC0) == 0x80) start--;
        const tfm_eval_char c = tfm_eval_char_at(text, start);
        if (start + c.size != end || !tfm_eval_is_space(c.code)) break;
        end = start;
    }
    line->text.size = end;
}

void tfm_bleu_line_set(tfm_bleu_line *line, tfm_text raw, const tfm_bleu_options *options)
{
    static const struct {
        const rule *rules;
        size_t n;
    } lists[] = {[TFM_BLEU_TOKENIZE_13A] = {rules_13a, 4},
                 [TFM_BLEU_TOKENIZE_NONE] = {NULL, 0},
                 [TFM_BLEU_TOKENIZE_INTL] = {rules_intl, 3},
                 [TFM_BLEU_TOKENIZE_CHAR] = {rules_char, 1}};
    const bool is_13a = options->tokenize == TFM_BLEU_TOKENIZE_13A;

    line->text.size = 0;
    if (is_13a) tfm_buffer_append(&line->text, " ", 1);
    if (options->lowercase) tfm_eval_lower(&line->text, raw);
    else tfm_buffer_append(&line->text, raw.data, raw.size);
    trim_end(line);
    if (is_13a) {
        tfm_buffer_append(&line->text, " ", 1);
        clean_13a(line);
    }
    for (size_t i = 0; i < lists[options->tokenize].n; i++) apply_rule(line, &lists[options->tokenize].rules[i]);
    if (options->compound_split) {
        plain_spaces(line);
        split_compounds(line);
    }
}

const char *tfm_bleu_tokenize_name(uint32_t tokenize)
{
    static const char *const names[] = {"13a", "none", "intl", "char"};

    return names[tokenize];
}
