/* Random numbers, the little grammar of forms, and the careless spelling. */
#include "corpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t draw(struct phrase *p, uint32_t n)
{
    p->state += 0x9e3779b97f4a7c15u;
    return (uint32_t)((mix(p->state) >> 32) * n >> 32);
}

bool habit(const struct phrase *p, unsigned topic, unsigned n)
{
    return p->habit && mix(p->habit + topic) % n == 0;
}

void add(struct phrase *p, const char *format, ...)
{
    const size_t room = sizeof p->text - p->size;
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(p->text + p->size, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room) abort(); /* no form of the grammar is that long */
    p->size += (size_t)n;
}

/* The end of an alternative: the '|' or ']' that belongs to the bracket that is open at form. */
static const char *alternative_end(const char *form)
{
    for (int depth = 0;; form++) {
        if (!depth && (*form == '|' || *form == ']')) return form;
        depth += (*form == '[') - (*form == ']');
    }
}

static void expand_part(struct phrase *p, const char *form, const char *end);

/* form stands behind a '['; returns what follows its ']'. */
static const char *expand_choice(struct phrase *p, const char *form)
{
    const char *begin[8], *end[8];
    uint32_t n = 0;

    do {
        begin[n] = form;
        end[n] = alternative_end(form);
        form = end[n++] + 1;
    } while (form[-1] == '|');
    const uint32_t i = draw(p, n);
    expand_part(p, begin[i], end[i]);
    return form;
}

static void expand_part(struct phrase *p, const char *form, const char *end)
{
    while (form < end) {
        const size_t plain = strcspn(form, "[%");
        const size_t n = plain < (size_t)(end - form) ? plain : (size_t)(end - form);
        add(p, "%.*s", (int)n, form);
        form += n;
        if (form == end) break;
        if (*form == '[') {
            form = expand_choice(p, form + 1);
        } else {
            p->field(p, form[1]);
            form += 2;
        }
    }
}

void expand(struct phrase *p, const char *form)
{
    expand_part(p, form, form + strlen(form));
}

void add_form(struct phrase *p, const struct form *forms, int key)
{
    uint32_t fitting = 0;

    for (const struct form *f = forms; f->text; f++) fitting += f->from <= key && key <= f->to;
    if (!fitting) abort(); /* each list has a form for each key */
    uint32_t i = draw(p, fitting);
    for (const struct form *f = forms; f->text; f++)
        if (f->from <= key && key <= f->to && !i--) {
            expand(p, f->text);
            return;
        }
}

/* ------------------------------------------------------------------------------------------------ spelling ---- */

/* Replaces each occurrence of a piece of the text. */
static void replace(struct phrase *p, const char *from, const char *to)
{
    const struct phrase old = *p;
    const char *rest = old.text;

    if (!strstr(rest, from)) return;
    p->size = 0;
    for (const char *hit; (hit = strstr(rest, from)); rest = hit + strlen(from))
        add(p, "%.*s%s", (int)(hit - rest), rest, to);
    add(p, "%s", rest);
}

/* Changes ASCII letters and the accented ones of Latin-1, which are two bytes 0xC3 0x80..0xBF; "\u00df" has no capital.
 */
static void change_case(char *text, size_t size, bool upper)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char *c = (unsigned char *)text + i;
        const bool accented = i && (unsigned char)text[i - 1] == 0xc3;
        if (upper && ((*c >= 'a' && *c <= 'z') || (accented && *c >= 0xa0 && *c != 0xb7))) *c -= 0x20;
        else if (!upper && ((*c >= 'A' && *c <= 'Z') || (accented && *c < 0x9f && *c != 0x97))) *c += 0x20;
    }
}

static void drop_accents(struct phrase *p)
{
    static const char *const german[][2] = {{"ä", "ae"}, {"ö", "oe"}, {"ü", "ue"}, {"ß", "ss"}};
    static const char *const french[][2] = {{"é", "e"}, {"è", "e"}, {"û", "u"}, {"à", "a"}};

    for (size_t i = 0; i < 4; i++) {
        if (p->language == GERMAN) replace(p, german[i][0], german[i][1]);
        if (p->language == FRENCH) replace(p, french[i][0], french[i][1]);
    }
}

void scribble(struct phrase *p)
{
    const uint32_t letters = draw(p, 20);

    if (!draw(p, 12)) drop_accents(p);
    if (!draw(p, 3)) replace(p, "'", "’");
    if (letters < 4) {
        change_case(p->text, p->size, false);
    } else if (letters < 9) {
        change_case(p->text, (unsigned char)p->text[0] == 0xc3 ? 2 : 1, true);
    }
    if (!draw(p, 25) && p->text[p->size - 1] != '.') add(p, ".");
}
