/* --placeholder: strings of a line that match a pattern. */
#ifndef CLI_PATTERNS_H
#define CLI_PATTERNS_H

#include "options.h"
#include "text_file.h"

#include <regex.h>

typedef struct patterns {
    regex_t *items;
    regmatch_t *next; /* of each in the line that is searched */
    size_t size;
} patterns;

/* POSIX extended regular expressions. Returns an exit code, and has reported what is wrong. */
int patterns_compile(patterns *p, const string_list *list);
/* What matched, and how often each. */
typedef struct matches {
    text_lines texts;
    size_t *times, capacity;
} matches;

/* Adds what matches in the line, from left to right, equal strings once; returns how many. Of more than a
 * translation can have it finds one too many, and no others. */
size_t patterns_find(const patterns *p, matches *to, tfm_text line);
void matches_clear(matches *m);
void matches_free(matches *m);
void patterns_free(patterns *p);

#endif
