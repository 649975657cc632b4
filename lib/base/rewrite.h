/* Replacements over a whole line, one after the other: the tools that define tokenisations are lists of regular
 * expressions, whose results depend on their order. */
#ifndef TFM_REWRITE_H
#define TFM_REWRITE_H

#include "base/base.h"

/* A line on its way to tokens, and room for the next step; kept from line to line. */
typedef struct tfm_line {
    tfm_buffer text, spare;
} tfm_line;

typedef bool tfm_char_class(int32_t code);

/* Sets off what first, or first before second, matches; matches do not overlap. */
typedef struct tfm_rule {
    tfm_char_class *first, *second; /* second NULL: first alone */
    bool before;                    /* " 1 2"; else "1 2 "      */
} tfm_rule;

/* What becomes something else where it stands between two characters, which stay. Matches do not overlap, and include
 * both. */
typedef struct tfm_change {
    tfm_char_class *before; /* NULL: anything, or nothing */
    const char *what;
    tfm_char_class *after; /* NULL: the same              */
    const char *to;
    bool again; /* the character after may begin the next match */
    bool last;  /* at the end of the line alone                 */
} tfm_change;

void tfm_line_init(tfm_line *line, const tfm_allocator *a);
void tfm_line_free(tfm_line *line);
tfm_text tfm_line_text(const tfm_line *line);
bool tfm_line_bad(const tfm_line *line); /* no memory */

void tfm_line_add(tfm_line *line, tfm_text raw, bool lowercase);
void tfm_line_apply(tfm_line *line, const tfm_rule *rule);
void tfm_line_replace(tfm_line *line, const char *from, const char *to);
void tfm_line_change(tfm_line *line, const tfm_change *changes, size_t n);
/* Each character of a class becomes to. */
void tfm_line_replace_class(tfm_line *line, tfm_char_class *of, const char *to);
/* One space for several; no space at the ends. */
void tfm_line_single_spaces(tfm_line *line);
void tfm_line_trim_spaces(tfm_line *line);
/* Cuts off white space at the end. */
void tfm_line_trim_end(tfm_line *line);

/* A replacement by hand. Appends the text's bytes from *done up to end to the spare, and moves *done to resume. */
void tfm_line_keep(tfm_line *line, size_t *done, size_t end, size_t resume);
/* Ends it: keeps the rest and makes the spare the text. A step that found nothing has done == 0. */
void tfm_line_finish(tfm_line *line, size_t done);
/* Makes the spare the text. */
void tfm_line_turn(tfm_line *line);

/* Of mteval-v13a, tercom and others: ASCII punctuation and space without ' , - . apart; stops, commas and dashes unless
 * in a number. They were written for a line with a space at each end. */
enum { TFM_RULES_WESTERN = 4 };
extern const tfm_rule tfm_rules_western[TFM_RULES_WESTERN];

#endif
