/* tfm convert: a model of another system as one of ours. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct convert_args {
    const char *model, *output;
    uint32_t to, skip_checksum;
} convert_args;

#define AT(field) .offset = offsetof(convert_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"model", "FILE",
     "of Marian (model.npz) or 'tfm train', or a directory of CTranslate2, Hugging Face, Marian or OPUS-MT",
     OPTION_TEXT, .required = true, .file = 'r', AT(model)},
    {"to", "native|marian|huggingface", "what to write; default native", OPTION_CHOICE, AT(to)},
    {"output", "OUT", "file for the model, or directory for Hugging Face's", OPTION_TEXT, .letter = 'o',
     .required = true, .file = 'w', AT(output)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

static tfm_status write_model(const tfm_model *model, const convert_args *args, tfm_error *error)
{
    return args->to ? tfm_model_export(model, args->output, args->to, error)
                    : tfm_model_save(model, args->output, error);
}

static int run(void *place, const string_list *operands)
{
    (void)operands;
    const convert_args *args = place;
    tfm_model *model = NULL;
    tfm_error error;
    int code = EXIT_SUCCESS;
    if (args->to != TFM_EXPORT_HUGGING_FACE && !output_path_check(args->output)) return EXIT_FAILURE;
    if (model_load(&model, args->model, args->skip_checksum, &error) || write_model(model, args, &error))
        code = console_fail("%s", error.message);
    tfm_model_free(model);
    return code;
}

const command command_convert = {
    .name = "convert",
    .summary = "makes a model of another system one of ours, and back",
    .usage = "--model FILE [--to FORMAT] -o OUT",
    .text =
        "Reads a Transformer that Marian trained (model.npz) or that CTranslate2 runs (model.bin of the formats 2 to 6, "
        "or its directory), or a "
        "directory of Hugging Face (config.json, model.safetensors; Marian, M2M100, BART, MBart) or of OPUS-MT "
        "(decoder.yml), and writes it as a model file with float32 weights. The weights stay as they are, and so do the "
        "ids of the tokens. A vocab.spm beside Marian's model becomes the tokenizer, and so do source.spm and target.spm "
        "with their vocabularies: the file then translates text by itself. What a model needs and this program lacks is named, and nothing is "
        "written. The other commands read such "
        "models without conversion, too. '--to' goes the other way: a model of ours, or of one of them, becomes "
        "Marian's model.npz or a "
        "directory of Hugging Face, when they can express it; the tokenizer is not written.",
    .examples = "  tfm convert --model model.npz -o de-en.tfm\n"
                "  tfm convert --model opus-mt-en-de -o en-de.tfm\n"
                "  tfm translate --model de-en.tfm < test.de > test.en\n",
    .options = rows,
    .args_size = sizeof(convert_args),
    .run = run,
};
