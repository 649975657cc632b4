/* Where terms and placeholders stand in a text, and the white space around placeholders. */
#ifndef TFM_PLACEHOLDERS_H
#define TFM_PLACEHOLDERS_H

#include "decode/terms.h"

/* A term or a placeholder of a line, as text. */
typedef struct tfm_text_term {
    tfm_text text;    /* empty: of ids, counted as these                            */
    bool placeholder; /* else a term                                                */
    bool left, right; /* letters or digits touch it there in the line, so they may  */
    bool within;      /* the line has it within longer words, where it is not meant */
    size_t most;      /* as often it may be in the translation                      */
} tfm_text_term;

/* Where the text stands from a byte on; SIZE_MAX: nowhere. */
size_t tfm_text_find(tfm_text text, size_t from, tfm_text what);

/* Does a letter or digit of a script that puts spaces between words stand before, or at, the byte? */
bool tfm_text_word_before(tfm_text text, size_t at);
bool tfm_text_word_at(tfm_text text, size_t at);

/* Is what stands there part of a longer word or number? */
bool tfm_text_term_inside(const tfm_text_term *term, tfm_text text, size_t at);

/* Where n placeholders stand in a text, from its first byte to its last. */
typedef struct tfm_placeholder_walk {
    const tfm_text_term *placeholders;
    size_t n; /* up to TFM_MOST_TERMS */
    tfm_text text;
    size_t next[TFM_MOST_TERMS]; /* where each stands first, from where the walk has come to */
} tfm_placeholder_walk;

void tfm_placeholders_begin(tfm_placeholder_walk *walk, const tfm_text_term *placeholders, size_t n, tfm_text text);
/* Which stands first from a byte on, which is none before those asked for already, of several the longest; *at: where.
 * n: none does. */
size_t tfm_placeholders_next(tfm_placeholder_walk *walk, size_t from, size_t *at);

/*
 * to = a translation in which white space stands around the n placeholders of its line as it does there: none where a
 * letter or digit touches, some where white space keeps letters and digits away. What stands beside punctuation stays.
 */
void tfm_placeholders_space(tfm_buffer *to, tfm_text translation, tfm_text line, const tfm_text_term *placeholders,
                            size_t n);

#endif
