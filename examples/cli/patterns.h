/* --placeholder: strings of a line that match a pattern. */
#ifndef CLI_PATTERNS_H
#define CLI_PATTERNS_H

#include "options.h"
#include "text_file.h"

#include <regex.h>

typedef struct patterns {
    regex_t *items;
    size_t size;
} patterns;

/* POSIX extended regular expressions. Returns an exit code, and has reported what is wrong. */
int patterns_compile(patterns *p, const string_list *list);
/* Adds what matches in the line, from left to right, equal strings once; returns how many. */
size_t patterns_find(const patterns *p, text_lines *to, tfm_text line);
void patterns_free(patterns *p);

#endif
