/* tfm convert: a model of another system as one of ours. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct convert_args {
    const char *model, *output;
    uint32_t skip_checksum;
} convert_args;

#define AT(field) .offset = offsetof(convert_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"model", "FILE", "of Marian (model.npz), CTranslate2 (model.bin), 'tfm train', or a directory of Hugging Face", OPTION_TEXT, .required = true, AT(model)},
    {"output", "OUT", "file for the model", OPTION_TEXT, .letter = 'o', .required = true, AT(output)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const convert_args *args = place;
    tfm_model *model = NULL;
    tfm_error error;
    int code = EXIT_SUCCESS;
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    if (model_load(&model, args->model, args->skip_checksum, &error) || tfm_model_save(model, args->output, &error))
        code = console_fail("%s", error.message);
    tfm_model_free(model);
    return code;
}

const command command_convert = {
    .name = "convert",
    .summary = "makes a model of another system one of ours",
    .usage = "--model FILE -o OUT",
    .text =
        "Reads a Transformer that Marian trained (model.npz) or that CTranslate2 runs (model.bin, format 2), or a "
        "directory of Hugging Face (config.json, model.safetensors; Marian, M2M100, BART, MBart), and writes it as a "
        "model file with float32 weights. The weights stay as they are, and so do the ids of the tokens; a vocab.spm beside "
        "Marian's model becomes the tokenizer. What a model needs and this program lacks is named, and nothing is written. The other commands read such "
        "models without conversion, too.",
    .examples = "  tfm convert --model model.npz -o de-en.tfm\n"
                "  tfm translate --model de-en.tfm < test.de > test.en\n",
    .options = rows,
    .args_size = sizeof(convert_args),
    .run = run,
};
