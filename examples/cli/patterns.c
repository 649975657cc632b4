/* Regular expressions over lines. */
#include "patterns.h"

#include "console.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

/* Probes of one letter and none tell most of those that match nothing: it could be found everywhere. */
static bool matches_nothing(const regex_t *r)
{
    regmatch_t m;
    return !regexec(r, "", 1, &m, 0) || (!regexec(r, "a", 1, &m, 0) && m.rm_so == m.rm_eo);
}

int patterns_compile(patterns *p, const string_list *list)
{
    size_t room = 0, next_room = 0;
    if (list->size > 0 && !setlocale(LC_CTYPE, "C.UTF-8")) /* what regcomp() and regexec() take for a character */
        console_warn(
            "the system's locale C.UTF-8 is missing: to --placeholder a byte that is not ASCII is a character");
    memory_grow(&p->items, &room, list->size, sizeof *p->items);
    memory_grow(&p->next, &next_room, list->size, sizeof *p->next);
    for (; p->size < list->size; p->size++) {
        const char *text = list->items[p->size];
        char why[128];
        const int code = regcomp(&p->items[p->size], text, REG_EXTENDED);
        if (!code && matches_nothing(&p->items[p->size])) {
            p->size++;
            return console_usage("--placeholder '%s' matches the empty string: let it match at least one character",
                                 text);
        }
        if (!code) continue;
        regerror(code, &p->items[p->size], why, sizeof why);
        return console_usage("--placeholder '%s' is no pattern: %s", text, why);
    }
    return EXIT_SUCCESS;
}

static const regmatch_t none = {-1, -1};

/* From a byte of the line on, the first match that is not empty. What stands before that byte is seen: a word that it
 * is part of does not begin there. */
static regmatch_t next_match(const regex_t *r, tfm_text line, regoff_t from)
{
    const regoff_t size = line.size < INT_MAX ? (regoff_t)line.size : INT_MAX;
    for (regmatch_t m; from < size; from = m.rm_so + 1) {
        m = (regmatch_t){from, size};
        if (regexec(r, line.data, 1, &m, REG_STARTEND)) break;
        if (m.rm_eo > m.rm_so) return m;
    }
    return none;
}

/* The first match of any pattern, of several the longest. */
static regmatch_t first_match(const patterns *p)
{
    regmatch_t first = none;
    for (size_t i = 0; i < p->size; i++) {
        const regmatch_t m = p->next[i];
        if (m.rm_so < 0) continue;
        if (first.rm_so < 0 || m.rm_so < first.rm_so || (m.rm_so == first.rm_so && m.rm_eo > first.rm_eo)) first = m;
    }
    return first;
}

static void add_match(matches *to, size_t from, tfm_text text)
{
    size_t i = from;
    while (i < to->texts.size &&
           (to->texts.lines[i].size != text.size || memcmp(to->texts.lines[i].data, text.data, text.size)))
        i++;
    if (i == to->texts.size) {
        memory_grow(&to->times, &to->capacity, i + 1, sizeof *to->times);
        to->times[i] = 0;
        text_lines_add(&to->texts, text);
    }
    to->times[i]++;
}

size_t patterns_find(const patterns *p, matches *to, tfm_text line)
{
    enum { ENOUGH = 65 }; /* more than a line may have */
    const size_t before = to->texts.size;
    char *copy = memory_copy(line.data, line.size); /* with a NUL, which AddressSanitizer looks for */
    regmatch_t m;
    line.data = copy;
    for (size_t i = 0; i < p->size; i++) p->next[i] = next_match(&p->items[i], line, 0);
    while (to->texts.size - before < ENOUGH && (m = first_match(p)).rm_so >= 0) {
        add_match(to, before, (tfm_text){line.data + m.rm_so, (size_t)(m.rm_eo - m.rm_so)});
        for (size_t i = 0; i < p->size; i++) /* another that begins behind this one is still the next */
            if (p->next[i].rm_so >= 0 && p->next[i].rm_so < m.rm_eo)
                p->next[i] = next_match(&p->items[i], line, m.rm_eo);
    }
    free(copy);
    return to->texts.size - before;
}

void matches_clear(matches *m)
{
    text_lines_clear(&m->texts);
}

void matches_free(matches *m)
{
    matches_clear(m);
    free(m->times);
}

void patterns_free(patterns *p)
{
    for (size_t i = 0; i < p->size; i++) regfree(&p->items[i]);
    free(p->items);
    free(p->next);
}
