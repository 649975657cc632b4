/* Links between words as text. */
#include "links.h"

#include "console.h"

#include <stdlib.h>
#include <string.h>

int links_begin(links *l, tfm_decoder_options *o, const links_args *args)
{
    const bool aligned = args->wanted || o->replace_unknown, attended = aligned || o->coverage > 0;
    const char *vain = args->step && !aligned     ? "step"
                       : args->layer && !attended ? "layer"
                       : args->head && !attended  ? "head"
                                                  : NULL;
    *l = (links){0};
    if (vain) return console_usage("--alignment-%s is for --alignment; give that too", vain);
    if (aligned) o->alignment = args->step ? TFM_ALIGNMENT_INPUT : TFM_ALIGNMENT_OUTPUT;
    o->alignment_layer = args->layer;
    o->alignment_head = args->head;
    if (!args->wanted || !*args->wanted || !strcmp(args->wanted, "hard")) return EXIT_SUCCESS;
    char *end;
    l->threshold = strtof(args->wanted, &end);
    if (*end || !(l->threshold > 0.0f && l->threshold <= 1.0f))
        return console_usage("--alignment is '%s', neither 'hard' nor a number above 0 and at most 1", args->wanted);
    return EXIT_SUCCESS;
}

const char *links_text(links *l, const float *weights, size_t rows, size_t cols)
{
    size_t size = 0;
    for (bool again = true; again;) {
        memory_grow(&l->text, &l->capacity, size + 1, 1);
        tfm_alignment_links(l->text, l->capacity - 1, &size, weights, rows, cols, l->threshold, NULL);
        again = size >= l->capacity;
    }
    l->text[size] = '\0';
    return l->text;
}

void links_free(links *l)
{
    free(l->text);
}
