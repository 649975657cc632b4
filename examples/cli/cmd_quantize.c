/* tfm quantize: a model with 8-bit weights from one with 32. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct quantize_args {
    const char *model, *output;
    uint32_t dtype, skip_checksum;
} quantize_args;

#define AT(field) .offset = offsetof(quantize_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"model", "FILE", "of 'tfm train', or one of its checkpoints", OPTION_TEXT, .required = true, .file = 'r',
     AT(model)},
    {"output", "OUT", "file for the quantised model", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w',
     AT(output)},
    {"dtype", "int8", "type of the weights", OPTION_CHOICE, AT(dtype)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const quantize_args *args = place;
    tfm_model *model = NULL;
    tfm_error error;
    int code = EXIT_SUCCESS;
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    if (model_load(&model, args->model, args->skip_checksum, &error) ||
        tfm_model_save_as(model, args->output, TFM_DTYPE_INT8, &error))
        code = console_fail("%s", error.message);
    tfm_model_free(model);
    return code;
}

const command command_quantize = {
    .name = "quantize",
    .summary = "writes a model with 8-bit weights: smaller and faster",
    .usage = "--model FILE -o OUT",
    .text =
        "Rounds each matrix of a model to 8-bit integers, with one scale for each output, and writes a model file of a "
        "quarter of the size, which is ready to translate at once. Norms and biases stay as they are. 'tfm translate', "
        "'tfm score' and 'tfm inspect' take it like any other model; training and averaging need the float32 one. "
        "'--dtype int8' of the former does the same each time, without a file.",
    .examples = "  tfm quantize --model en-de.tfm -o en-de.int8.tfm\n"
                "  tfm translate --model en-de.int8.tfm < test.en > test.out\n",
    .options = rows,
    .args_size = sizeof(quantize_args),
    .run = run,
};
