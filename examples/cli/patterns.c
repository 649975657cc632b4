/* Regular expressions over lines. */
#include "patterns.h"

#include "console.h"

#include <stdlib.h>
#include <string.h>

int patterns_compile(patterns *p, const string_list *list)
{
    size_t room = 0;
    memory_grow(&p->items, &room, list->size, sizeof *p->items);
    for (; p->size < list->size; p->size++) {
        const char *text = list->items[p->size];
        char why[128];
        const int code = regcomp(&p->items[p->size], text, REG_EXTENDED);
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

static bool known(const text_lines *lines, size_t from, tfm_text text)
{
    for (size_t i = from; i < lines->size; i++)
        if (lines->lines[i].size == text.size && !memcmp(lines->lines[i].data, text.data, text.size)) return true;
    return false;
}

size_t patterns_find(const patterns *p, text_lines *to, tfm_text line)
{
    const size_t before = to->size;
    char *copy = memory_copy(line.data, line.size);
    regmatch_t m;
    for (const char *at = copy; (m = first_match(p, at, at > copy ? REG_NOTBOL : 0)).rm_so >= 0; at += m.rm_eo) {
        const tfm_text found = {at + m.rm_so, (size_t)(m.rm_eo - m.rm_so)};
        if (!known(to, before, found)) text_lines_add(to, found);
    }
    free(copy);
    return to->size - before;
}

void patterns_free(patterns *p)
{
    for (size_t i = 0; i < p->size; i++) regfree(&p->items[i]);
    free(p->items);
}
