/* Regular expressions over lines. */
#include "patterns.h"

#include "console.h"

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
    size_t room = 0;
    setlocale(LC_CTYPE, "C.UTF-8"); /* for regcomp() and regexec(): characters, not bytes */
    memory_grow(&p->items, &room, list->size, sizeof *p->items);
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

/* The first match of any pattern, of several the longest. */
static regmatch_t first_match(const patterns *p, const char *text, int flags)
{
    regmatch_t first = {-1, -1}, m;
    for (size_t i = 0; i < p->size; i++) {
        if (regexec(&p->items[i], text, 1, &m, flags) || m.rm_eo == m.rm_so) continue;
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

/* A line may hold NUL, which ends what regexec() reads. */
size_t patterns_find(const patterns *p, matches *to, tfm_text line)
{
    const size_t before = to->texts.size;
    char *copy = memory_copy(line.data, line.size);
    regmatch_t m;
    for (const char *at = copy; at <= copy + line.size; at += strlen(at) + 1)
        for (; (m = first_match(p, at, at > copy ? REG_NOTBOL : 0)).rm_so >= 0; at += m.rm_eo)
            add_match(to, before, (tfm_text){at + m.rm_so, (size_t)(m.rm_eo - m.rm_so)});
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
}
