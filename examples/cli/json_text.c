/* Text as JSON, for the outputs of several commands. */
#include "json_text.h"
#include "console.h"

#include <stdlib.h>
#include <string.h>

/* A character that has a meaning in JSON, HTML (the end of a script) or JavaScript (U+2028, U+2029); how many bytes of
 * the text were written, 0: none. */
static size_t put_escaped(FILE *file, const char *at, size_t left)
{
    const unsigned char c = (unsigned char)*at;
    if (c == '"' || c == '\\') return fprintf(file, "\\%c", c), 1;
    if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&') return fprintf(file, "\\u%04x", c), 1;
    if (left < 3 || memcmp(at, "\xE2\x80", 2) != 0 || (at[2] & ~1) != (char)0xA8) return 0;
    return fprintf(file, "\\u202%d", 8 + (at[2] & 1)), 3;
}

void put_json_text(FILE *file, tfm_text text)
{
    char *repaired = NULL;
    size_t capacity = 0, size;
    tfm_utf8_repair(NULL, 0, &size, text);
    memory_grow(&repaired, &capacity, size + 1, 1);
    tfm_utf8_repair(repaired, size, &size, text);
    putc('"', file);
    for (size_t i = 0; i < size;) {
        const size_t escaped = put_escaped(file, repaired + i, size - i);
        if (!escaped) putc(repaired[i], file);
        i += escaped ? escaped : 1;
    }
    putc('"', file);
    free(repaired);
}

void put_json(FILE *file, const char *text)
{
    put_json_text(file, (tfm_text){text, strlen(text)});
}
