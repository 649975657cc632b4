#include "base/rewrite.h"

#include "base/characters.h"

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

static bool is_western_symbol(int32_t code)
{
    return (code >= ' ' && code <= '&') || (code >= '(' && code <= '+') || code == '/' ||
           (code >= ':' && code <= '@') || (code >= '[' && code <= '`') || (code >= '{' && code <= '~');
}

const tfm_rule tfm_rules_western[TFM_RULES_WESTERN] = {{is_western_symbol, NULL, true},
                                                       {not_digit, is_stop, false},
                                                       {is_stop, not_digit, true},
                                                       {is_digit, is_dash, false}};

void tfm_line_init(tfm_line *line, const tfm_allocator *a)
{
    *line = (tfm_line){.text.allocator = *a, .spare.allocator = *a};
}

void tfm_line_free(tfm_line *line)
{
    tfm_buffer_free(&line->text);
    tfm_buffer_free(&line->spare);
}

tfm_text tfm_line_text(const tfm_line *line)
{
    return (tfm_text){line->text.data, line->text.size};
}

bool tfm_line_bad(const tfm_line *line)
{
    return line->text.bad || line->spare.bad;
}

void tfm_line_add(tfm_line *line, tfm_text raw, bool lowercase)
{
    if (lowercase) tfm_text_lower(&line->text, raw);
    else tfm_buffer_append(&line->text, raw.data, raw.size);
}

void tfm_line_keep(tfm_line *line, size_t *done, size_t end, size_t resume)
{
    tfm_buffer_append(&line->spare, line->text.data + *done, end - *done);
    *done = resume;
}

void tfm_line_finish(tfm_line *line, size_t done)
{
    if (!done) return;
    tfm_line_keep(line, &done, line->text.size, line->text.size);
    tfm_line_turn(line);
}

void tfm_line_turn(tfm_line *line)
{
    const tfm_buffer next = line->spare;

    line->spare = line->text;
    line->text = next;
    line->spare.size = 0;
}

void tfm_line_apply(tfm_line *line, const tfm_rule *r)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t pos = 0, next, end; pos < text.size; pos = end) {
        const tfm_char c = tfm_char_at(text, pos);
        next = end = pos + c.size;
        if (!r->first(c.code)) continue;
        if (r->second) {
            if (next == text.size) break;
            const tfm_char d = tfm_char_at(text, next);
            if (!r->second(d.code)) continue;
            end = next + d.size;
        }
        tfm_line_keep(line, &done, pos, pos);
        if (r->before) tfm_buffer_append(&line->spare, " ", 1);
        tfm_line_keep(line, &done, next, next);
        tfm_buffer_append(&line->spare, " ", 1);
        tfm_line_keep(line, &done, end, end);
        if (!r->before) tfm_buffer_append(&line->spare, " ", 1);
    }
    tfm_line_finish(line, done);
}

void tfm_line_replace(tfm_line *line, const char *from, const char *to)
{
    const size_t n = strlen(from);
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t pos = 0; pos + n <= text.size; pos++) {
        const char *p = memchr(text.data + pos, from[0], text.size - pos - n + 1);
        if (!p) break;
        pos = (size_t)(p - text.data);
        if (memcmp(p, from, n)) continue;
        tfm_line_keep(line, &done, pos, pos + n);
        tfm_buffer_append(&line->spare, to, strlen(to));
        pos += n - 1;
    }
    tfm_line_finish(line, done);
}

/* Whether a character of the class ends at byte at and begins at floor or later. */
static bool ends_with(tfm_text text, size_t floor, size_t at, tfm_char_class *of)
{
    size_t start = at;

    if (!of) return true;
    if (start == floor) return false;
    do start--;
    while (start > floor && at - start < 4 && (text.data[start] & 0xC0) == 0x80);
    return of(tfm_char_at(text, start).code);
}

/* Whether the change applies to what stands at byte at; *end: where the next match may begin. */
static bool applies(const tfm_change *c, tfm_text text, size_t floor, size_t at, size_t n, size_t *end)
{
    *end = at + n;
    if (n > text.size - at || memcmp(text.data + at, c->what, n)) return false;
    if ((c->last && *end < text.size) || !ends_with(text, floor, at, c->before)) return false;
    if (!c->after) return true;
    if (*end == text.size) return false;
    const tfm_char next = tfm_char_at(text, *end);
    if (!c->again) *end += next.size;
    return c->after(next.code);
}

static void change(tfm_line *line, const tfm_change *c)
{
    const tfm_text text = tfm_line_text(line);
    const size_t n = strlen(c->what);
    size_t done = 0, end;

    for (size_t pos = 0, floor = 0; pos < text.size;) {
        const char *p = memchr(text.data + pos, c->what[0], text.size - pos);
        if (!p) break;
        pos = (size_t)(p - text.data);
        if (applies(c, text, floor, pos, n, &end)) {
            tfm_line_keep(line, &done, pos, pos + n);
            tfm_buffer_append(&line->spare, c->to, strlen(c->to));
            pos = floor = end;
        } else pos++;
    }
    tfm_line_finish(line, done);
}

void tfm_line_change(tfm_line *line, const tfm_change *changes, size_t n)
{
    for (size_t i = 0; i < n; i++) change(line, &changes[i]);
}

void tfm_line_replace_class(tfm_line *line, tfm_char_class *of, const char *to)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t pos = 0, next; pos < text.size; pos = next) {
        const tfm_char c = tfm_char_at(text, pos);
        next = pos + c.size;
        if (!of(c.code)) continue;
        tfm_line_keep(line, &done, pos, next);
        tfm_buffer_append(&line->spare, to, strlen(to));
    }
    tfm_line_finish(line, done);
}

void tfm_line_single_spaces(tfm_line *line)
{
    const tfm_text text = tfm_line_text(line);
    size_t done = 0;

    for (size_t i = 1, end; i < text.size; i = end + 1) {
        for (end = i; text.data[i - 1] == ' ' && end < text.size && text.data[end] == ' ';) end++;
        if (end > i) tfm_line_keep(line, &done, i, end);
    }
    tfm_line_finish(line, done);
}

void tfm_line_trim_spaces(tfm_line *line)
{
    tfm_text text = tfm_line_text(line);
    size_t start = 0, done = 0;

    while (text.size && text.data[text.size - 1] == ' ') text.size--;
    line->text.size = text.size;
    while (start < text.size && text.data[start] == ' ') start++;
    if (start) tfm_line_keep(line, &done, 0, start);
    tfm_line_finish(line, done);
}

/* Going backwards, a character begins at the last byte that is no continuation. */
void tfm_line_trim_end(tfm_line *line)
{
    const tfm_text text = tfm_line_text(line);
    size_t end = text.size;

    while (end) {
        size_t start = end - 1;
        while (start && end - start < 4 && (text.data[start] & 0xC0) == 0x80) start--;
        const tfm_char c = tfm_char_at(text, start);
        if (start + c.size != end || !tfm_char_is_space(c.code)) break;
        end = start;
    }
    line->text.size = end;
}
