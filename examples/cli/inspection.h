/* What tfm inspect prints. */
#ifndef CLI_INSPECTION_H
#define CLI_INSPECTION_H

#include "options.h"

#include <transformer.h>

typedef struct inspect_args {
    const char *preset;
    string_list sets;
    uint32_t vocab_size, length, parameters, json, skip_checksum; /* vocab_size 0: not given */
} inspect_args;

typedef struct inspection {
    const inspect_args *args;
    const char *path;       /* NULL: a configuration without a file */
    const tfm_model *model; /* of that file */
    tfm_model_options options;
    tfm_model_costs costs, linear; /* at args->length, and without the attention matrices */
} inspection;

/* Computes the costs and prints, as text or JSON; returns an exit code. */
int inspection_print(inspection *i);

#endif
