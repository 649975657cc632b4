/* Dates, times and amounts as people write them in three languages, with their ISO forms. */
#ifndef CORPUS_H
#define CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum language { ENGLISH, GERMAN, FRENCH, LANGUAGES };

/* One line while it is written. */
struct phrase {
    char text[512];  /* what the person writes; terminated            */
    size_t size;     /* bytes of it                                    */
    char target[32]; /* what is meant, in ISO form                     */
    enum language language;
    uint64_t state;                                  /* of the random numbers                          */
    uint64_t habit;                                  /* bits: how this writer writes, the same all line */
    const void *value;                               /* for field()             */
    void (*field)(struct phrase *phrase, char name); /* writes %name of a form */
};

/* A wording for the keys from..to; "[a|b|]" stands for one of its alternatives, "%x" for field x. */
struct form {
    int from, to;
    const char *text;
};

/* A random number below n. */
uint32_t draw(struct phrase *p, uint32_t n);
/* True with a chance of one in n, the same answer for the same topic all line long; never when p->habit is 0. */
bool habit(const struct phrase *p, unsigned topic, unsigned n);

void add(struct phrase *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes one of the forms that are meant for the key; the list ends with a form without text. */
void add_form(struct phrase *p, const struct form *forms, int key);
/* Writes a form. */
void expand(struct phrase *p, const char *form);

enum ending { ALONE, BEFORE_NOUN, BEFORE_FEMININE }; /* eins, ein Euro, eine Minute; un, un euro, une livre */
/* The number in words of the phrase's language; n < 1,000,000,000. */
void add_number(struct phrase *p, uint32_t n, enum ending ending);
/* The year in words; 1900..2099. */
void add_year(struct phrase *p, uint32_t year);

/* Each draws a value, writes one phrase for it, and sets the target. */
void write_date(struct phrase *p);
void write_time(struct phrase *p);
void write_amount(struct phrase *p);

/* Letter case, apostrophes and missing accents, as careless writers have them (no line is all capitals). */
void scribble(struct phrase *p);

#endif
