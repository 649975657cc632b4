/* tfm tokenizer pair: tokenizers of two languages as one, and pieces with the ids of a vocabulary. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct pair_args {
    const char *source, *target, *source_vocabulary, *target_vocabulary, *output;
} pair_args;

#define AT(field) .offset = offsetof(pair_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"source", "FILE",
     "tokenizer for sources: of 'tfm tokenizer learn', a model, or a .model or .spm file of SentencePiece", OPTION_TEXT,
     .required = true, .file = 'r', AT(source)},
    {"target", "FILE", "tokenizer for targets", OPTION_TEXT, .required = true, .file = 'r', AT(target)},
    {"source-vocabulary", "FILE",
     "ids for the pieces of a SentencePiece model: vocab.yml of Marian or vocab.json of Hugging Face; default: its own",
     OPTION_TEXT, .file = 'r', AT(source_vocabulary)},
    {"target-vocabulary", "FILE", "the same for targets", OPTION_TEXT, .file = 'r', AT(target_vocabulary)},
    {"output", "FILE", "the new tokenizer", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w', AT(output)},
    {.kind = OPTION_END},
};

/* vocabulary NULL: the file's own ids. */
static tfm_status load_side(tfm_tokenizer **out, const char *file, const char *vocabulary, tfm_error *error)
{
    tfm_tokenizer *from = NULL;
    tfm_status status = tfm_tokenizer_load(vocabulary ? &from : out, file, NULL, error);
    if (!status && vocabulary) status = tfm_tokenizer_renumber(out, from, vocabulary, NULL, error);
    tfm_tokenizer_free(from);
    return status;
}

static int run_pair(void *place, const string_list *operands)
{
    const pair_args *args = place;
    tfm_tokenizer *source = NULL, *target = NULL, *pair = NULL;
    int code = EXIT_SUCCESS;
    tfm_error error;

    (void)operands;
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    if (load_side(&source, args->source, args->source_vocabulary, &error) ||
        load_side(&target, args->target, args->target_vocabulary, &error) ||
        tfm_tokenizer_pair(&pair, source, target, NULL, &error) || tfm_tokenizer_save(pair, args->output, &error))
        code = console_fail("%s", error.message);
    else
        console_say("%s: %s, %u entries, to %s, %u entries", args->output, tokenizer_kind_name(source),
                    tfm_tokenizer_vocab_size(source), tokenizer_kind_name(tfm_tokenizer_target(pair)),
                    tfm_tokenizer_vocab_size(tfm_tokenizer_target(pair)));
    tfm_tokenizer_free(source);
    tfm_tokenizer_free(target);
    tfm_tokenizer_free(pair);
    return code;
}

const command command_tokenizer_pair = {
    .name = "tokenizer pair",
    .summary = "makes one tokenizer of two, for sources and targets",
    .usage = "--source FILE --target FILE --output FILE [options]",
    .text = "A model with such a tokenizer reads sources with the one and writes targets with the other. 'tfm train "
            "--tokenizer-file SOURCE --target-tokenizer-file TARGET' makes the pair by itself.",
    .examples = "  tfm tokenizer pair --source en.tok --target de.tok -o en-de.tok\n"
                "  tfm tokenizer encode --tokenizer-file en-de.tok --target < test.de\n",
    .options = rows,
    .args_size = sizeof(pair_args),
    .run = run_pair,
};
