/* Phrases of the command line as ids of a tokenizer. */
#ifndef CLI_PHRASES_H
#define CLI_PHRASES_H

#include "options.h"
#include "text_file.h"

#include <transformer.h>

typedef struct phrases {
    tfm_ids *items; /* [size] each has memory of its own */
    size_t size, capacity;
} phrases;

/* Adds a phrase; text that gives no ids is refused. Returns an exit code, and has reported what failed. */
int phrases_add(phrases *p, const tfm_tokenizer *tokenizer, const char *text);
void phrases_add_id(phrases *p, int32_t id);
/* Adds the parts of a line between tabs; returns how many. */
size_t phrases_split(text_lines *to, tfm_text line);
void phrases_free(phrases *p);

#endif
