/* tfm inspect: what a model is, and what it costs. */
#include "commands.h"
#include "console.h"
#include "inspection.h"
#include "model_args.h"

#include <stdlib.h>

#define AT(field) .offset = offsetof(inspect_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"preset", "NAME", "a configuration instead of a file: tiny, small, base or big", OPTION_TEXT, AT(preset)},
    {"set", "KEY=VALUE", "change a field of the preset, as for 'tfm train'", OPTION_LIST, AT(sets)},
    {"vocab-size", "N", "of the preset; default 37000, the paper's for English-German", OPTION_U32, .low = 4,
     AT(vocab_size)},
    {"length", "N", "tokens of source and target for the cost of attention", OPTION_U32, .low = 1, AT(length)},
    {"parameters", NULL, "list every tensor of the file: name, shape, number of values", OPTION_FLAG, AT(parameters)},
    {"json", NULL, "as JSON", OPTION_FLAG, AT(json)},
    {"skip-checksum", NULL, SKIP_CHECKSUM_HELP, OPTION_FLAG, AT(skip_checksum)},
    {.kind = OPTION_END},
};

static void init(void *place)
{
    inspect_args *args = place;
    args->length = 28;
}

static int check(const inspect_args *args, size_t n_files)
{
    if (n_files == 0 && !args->preset) return console_usage("inspect needs a model file, or --preset NAME");
    if (n_files > 0 && (args->preset || args->sets.size > 0 || args->vocab_size > 0))
        return console_usage("a model file has its own configuration; leave out --preset, --set and --vocab-size");
    if (n_files == 0 && args->parameters) return console_usage("--parameters needs a model file");
    return EXIT_SUCCESS;
}

static int from_preset(const inspect_args *args, inspection *i)
{
    tfm_model_options_init(&i->options, sizeof i->options);
    i->options.vocab_size = args->vocab_size ? args->vocab_size : 37000;
    return model_options_set(&i->options, args->preset, &args->sets);
}

static int run(void *place, const string_list *operands)
{
    const inspect_args *args = place;
    inspection i = {.args = args};
    tfm_model *model = NULL;
    tfm_error error;
    int code = check(args, operands->size);
    if (code) return code;
    if (operands->size == 0) {
        code = from_preset(args, &i);
    } else {
        i.path = operands->items[0];
        if (model_load(&model, i.path, args->skip_checksum, &error)) return console_fail("%s", error.message);
        tfm_model_get_options(&i.options, sizeof i.options, model);
        i.model = model;
    }
    if (!code) code = inspection_print(&i);
    tfm_model_free(model);
    return code;
}

const command command_inspect = {
    .name = "inspect",
    .summary = "shows a model's configuration, parameters and cost",
    .usage = "FILE [options] | --preset NAME [options]",
    .text = "Prints the configuration, the exact number of parameters of each component, and the floating point "
            "operations of "
            "training, for a model file, a checkpoint, or a configuration that need not exist yet.",
    .examples = "  tfm inspect en-de.tfm --parameters\n"
                "  tfm inspect --preset base --vocab-size 37000\n"
                "  tfm inspect --preset big --set d_ff=8192 --set sharing=none --json\n",
    .options = rows,
    .max_operands = 1,
    .args_size = sizeof(inspect_args),
    .init = init,
    .run = run,
};
