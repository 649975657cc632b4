/* Tokens of a sentence as a person reads them. */
#ifndef CLI_PIECES_H
#define CLI_PIECES_H

#include <transformer.h>

#include <stdbool.h>

typedef struct piece {
    int32_t id;
    char *text;    /* without the tokenizer's marks; control characters and broken ones made visible */
    uint32_t word; /* which word of the sentence it belongs to, from 0 */
} piece;

typedef struct pieces {
    piece *items;
    size_t size, capacity;
} pieces;

/* Adds the tokens of ids, whose last one may be the end of the sentence, eos. */
void pieces_add(pieces *p, const tfm_tokenizer *tokenizer, tfm_ids ids, int32_t eos);
/* Adds a token that stands for itself, such as "<s>". */
void pieces_add_special(pieces *p, int32_t id, const char *text);
/* Columns of a fixed-width font that a text takes: wide characters of East Asia count twice. */
size_t text_columns(const char *text);
void pieces_free(pieces *p);

/* A token or, of words, all tokens of one: from .. to of the pieces. */
typedef struct unit {
    char *text;
    size_t from, to;
    bool goes_on; /* not the first of its word */
} unit;

typedef struct units {
    unit *items;
    size_t size, capacity;
} units;

void units_add(units *u, const pieces *p, bool words);
void units_free(units *u);

#endif
