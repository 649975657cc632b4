/* What a picture of attention shows, and the forms it is written in. */
#ifndef CLI_ATTENTION_PICTURE_H
#define CLI_ATTENTION_PICTURE_H

#include "pieces.h"

#include <stdio.h>

enum { ATTENTION_KINDS = 3 }; /* TFM_ATTENTION_* */

/* The sides whose tokens are queries and keys. */
typedef enum attention_side {
    SIDE_SOURCE,
    SIDE_TARGET, /* tokens that the decoder writes, the end of the sentence included */
    SIDE_INPUTS, /* tokens that it reads: the start, then the target without its last */
    SIDES
} attention_side;

/* The weights of one kind, [layers][heads][rows][cols]. */
typedef struct attention_kind {
    const char *name, *title; /* "cross", "Encoder-decoder attention" */
    attention_side queries, keys;
    size_t shape[4];
    float *weights; /* NULL: not part of the picture */
} attention_kind;

typedef struct attention_picture {
    const char *model; /* name of the file */
    tfm_text source, target;
    bool translated; /* the target is the model's own */
    pieces sides[SIDES];
    units units[SIDES]; /* of them what is shown: tokens or words */
    attention_kind kinds[ATTENTION_KINDS];
    uint32_t kind;     /* which a figure shows, and a page first */
    size_t layer;      /* likewise, of that kind; from 0         */
    bool one_layer;    /* it was asked for: JSON has no other    */
    const bool *heads; /* [shape[1]] likewise; NULL: all         */
    bool matrix, words;
    struct {
        bool chosen, key; /* its weights alone are shown; a key's, or a query's */
        size_t index;     /* among the units of its side                        */
    } token;
} attention_picture;

/* Of head h, from 0; there are 16, after which they begin anew. */
const char *head_color(size_t h);
const float *attention_of(const attention_kind *kind, size_t layer, size_t head);

/* One kind and layer as a figure, in the form of Figures 3 to 5 of the paper. */
void attention_write_svg(FILE *file, const attention_picture *p);
/* Every kind that has weights. */
void attention_write_json(FILE *file, const attention_picture *p);
/* The same, of every layer and head, as a page that shows and explains it. */
void attention_write_html(FILE *file, const attention_picture *p);

#endif
