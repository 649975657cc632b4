/* --alignment: what commands that read pairs with a model share. */
#ifndef CLI_LINKS_H
#define CLI_LINKS_H

#include "options.h"

#include <transformer.h>

typedef struct links_args {
    const char *wanted; /* NULL: no alignments; "" is "hard" */
    uint32_t step, layer, head;
} links_args;

#define LINKS_ROWS(type, field)                                                                                        \
    {"alignment", "hard|T",                                                                                            \
     "behind each line ' ||| ' and which source word each word comes from, as '0-0 2-1': by the most attention, or "   \
     "all that have a share of at least T; words are what stands between spaces; default: none",                       \
     OPTION_MAYBE, .offset = offsetof(type, field.wanted)},                                                            \
    {"alignment-step", "output|input", "look at the attention when a token is predicted, or when it is read",          \
     OPTION_CHOICE, .offset = offsetof(type, field.step)},                                                             \
    {"alignment-layer", "N", "of decoder layer N; default: the last", OPTION_U32, .low = 1, .high = 256,               \
     .offset = offsetof(type, field.layer)},                                                                           \
    {"alignment-head", "N", "of its head N; default: the mean of all", OPTION_U32, .low = 1, .high = 1024,             \
     .offset = offsetof(type, field.head)}

typedef struct links {
    float threshold; /* 0: hard */
    char *text;
    size_t capacity;
} links;

/*
 * Sets what the arguments ask for, and which attention is looked at by what else reads it: replace_unknown and
 * coverage. Returns an exit code, and has reported what is wrong.
 */
int links_begin(links *l, tfm_decoder_options *o, const links_args *args);
/* The links of an alignment of words, until the next; weights may be NULL. */
const char *links_text(links *l, const float *weights, size_t rows, size_t cols);
void links_free(links *l);

#endif
