/* What the examples share: the lines of a file in memory, and numbers among the arguments. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <transformer.h>

/* A text and its lines, which point into it. Starts as {0}. */
struct lines {
    char *bytes;
    size_t size;
    tfm_text *line;
    size_t count;
};

static inline void lines_free(struct lines *l)
{
    free(l->bytes);
    free(l->line);
    *l = (struct lines){0};
}

static inline bool read_bytes(struct lines *l, FILE *file)
{
    for (size_t capacity = 0;;) {
        if (l->size == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *more = realloc(l->bytes, capacity);
            if (!more) return false;
            l->bytes = more;
        }
        const size_t n = fread(l->bytes + l->size, 1, capacity - l->size, file);
        if (!n) return !ferror(file);
        l->size += n;
    }
}

/* Only '\n' ends a line; the last one may lack it. */
static inline bool split_lines(struct lines *l)
{
    size_t most = 1;

    for (size_t i = 0; i < l->size; i++) most += l->bytes[i] == '\n';
    l->line = calloc(most, sizeof *l->line);
    if (!l->line) return false;
    for (size_t start = 0; start < l->size; l->count++) {
        const char *end = memchr(l->bytes + start, '\n', l->size - start);
        const size_t length = end ? (size_t)(end - l->bytes) - start : l->size - start;
        l->line[l->count] = (tfm_text){l->bytes + start, length};
        start += length + 1;
    }
    return true;
}

/* path "-" is standard input. Says what went wrong; lines_free() is due in any case. */
static inline bool lines_read(struct lines *l, const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    const bool done = file && read_bytes(l, file) && split_lines(l);

    if (!done) fprintf(stderr, "%s: %s\n", path, strerror(errno));
    if (file && file != stdin) fclose(file);
    return done;
}

/* A whole number in 1..most. */
static inline bool read_number(uint32_t *out, const char *text, uint32_t most)
{
    char *end;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value < 1 || value > most) return false;
    *out = (uint32_t)value;
    return true;
}

static inline void print_line(tfm_text text)
{
    fwrite(text.data, 1, text.size, stdout);
    putchar('\n');
}

#endif
