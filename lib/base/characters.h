/* Characters of text that may be invalid UTF-8: decoding, white space, lower case. */
#ifndef TFM_CHARACTERS_H
#define TFM_CHARACTERS_H

#include "base/base.h"

typedef struct tfm_char {
    int32_t code;  /* -1: a byte that begins no valid sequence, which is a character by itself */
    uint32_t size; /* bytes, at least 1 */
} tfm_char;

/* The character at text.data[pos]; pos < text.size. */
tfm_char tfm_char_at(tfm_text text, size_t pos);

/* White space as Python's str.isspace sees it. */
bool tfm_char_is_space(int32_t code);

/* Appends text in lower case as Python's str.lower: full mappings and the final sigma; invalid bytes stay. */
void tfm_text_lower(tfm_buffer *out, tfm_text text);

#endif
