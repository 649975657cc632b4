/* UTF-8 from strangers: reading, checking, repairing. */
#ifndef TFM_UTF8_H
#define TFM_UTF8_H

#include "base/base.h"

#define TFM_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/*
 * The first character of a text that is not empty. Returns its bytes, 1 to 4, and sets *code; or minus the bytes of
 * the maximal invalid part (Unicode 15, table 3-7 and section 3.9), -3 to -1, and leaves *code.
 */
int tfm_utf8_read(tfm_text text, uint32_t *code);

/* Byte offset of the first invalid part, or SIZE_MAX. */
size_t tfm_utf8_find_invalid(tfm_text text);

/* Writes at most capacity bytes of the text with U+FFFD for each maximal invalid part; returns how many there are. */
size_t tfm_utf8_replace_invalid(tfm_text text, char *out, size_t capacity);

/* Characters of a valid text. */
static inline size_t tfm_utf8_length(tfm_text text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++) n += (text.data[i] & 0xC0) != 0x80;
    return n;
}

static inline tfm_text tfm_text_of(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

/* The text without its first n bytes, n <= size. */
static inline tfm_text tfm_text_from(tfm_text text, size_t n)
{
    return n ? (tfm_text){text.data + n, text.size - n} : text;
}

/* The bytes of a buffer from start to end; of one that never grew, which has no data, none. */
static inline tfm_text tfm_buffer_part(const tfm_buffer *buffer, size_t start, size_t end)
{
    return tfm_text_from((tfm_text){buffer->data, end}, start);
}

/* Takes the first line off a text that is not empty, without the LF or CRLF that ends it. */
static inline tfm_text tfm_text_take_line(tfm_text *text)
{
    const char *end = memchr(text->data, '\n', text->size);
    tfm_text line = {text->data, end ? (size_t)(end - text->data) : text->size};

    *text = tfm_text_from(*text, line.size + (end != NULL));
    if (line.size && line.data[line.size - 1] == '\r') line.size--;
    return line;
}

static inline bool tfm_text_equal(tfm_text a, tfm_text b)
{
    return a.size == b.size && (!a.size || memcmp(a.data, b.data, a.size) == 0);
}

/* By bytes, which for UTF-8 is the order of code points; a prefix comes first. */
static inline int tfm_text_compare(tfm_text a, tfm_text b)
{
    const size_t common = a.size < b.size ? a.size : b.size;
    const int order = common ? memcmp(a.data, b.data, common) : 0;

    return order ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
