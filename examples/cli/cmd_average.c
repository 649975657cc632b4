/* tfm average: one model from several. */
#include "checkpoints.h"
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct average_args {
    const char *output;
    uint32_t skip_checksum;
} average_args;

#define AT(field) .offset = offsetof(average_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"output", "OUT", "file for the mean", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w', AT(output)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

static int run(void *place, const string_list *operands)
{
    const average_args *args = place;
    tfm_model *model = NULL;
    tfm_error error;
    if (operands->size == 0) return console_usage("average needs the models to average; 'tfm average --help' explains");
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    int code = models_average(&model, operands->items, operands->size, args->skip_checksum);
    if (!code && tfm_model_save(model, args->output, &error)) code = console_fail("%s", error.message);
    tfm_model_free(model);
    return code;
}

const command command_average = {
    .name = "average",
    .summary = "averages the weights of models or checkpoints",
    .usage = "-o OUT FILE...",
    .text = "Writes the element-wise mean of the weights of several models or checkpoints of one training (section 6.1 "
            "of the "
            "paper). 'tfm train --average K' does it at the end of a training.",
    .examples = "  tfm average -o en-de.avg.tfm en-de.tfm-800.ckpt en-de.tfm-900.ckpt en-de.tfm-1000.ckpt\n",
    .options = rows,
    .max_operands = 1000,
    .args_size = sizeof(average_args),
    .run = run,
};
