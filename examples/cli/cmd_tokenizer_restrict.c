/* tfm tokenizer restrict, keep-case: put into a tokenizer's file what is an option elsewhere, as of apply-bpe. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct restrict_args {
    string_list glossary;
    const char *file, *output, *vocabulary;
    uint32_t threshold;
} restrict_args;

#define AT(field) .offset = offsetof(restrict_args, field)

static const option_row rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"tokenizer-file", "FILE", "of 'tfm tokenizer learn --kind subword-nmt', or a model made with one", OPTION_TEXT,
     .required = true, .file = 'r', AT(file)},
    {"output", "FILE", "the new tokenizer, as plain text", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w',
     AT(output)},
    {"vocabulary", "FILE",
     "a vocabulary of subword-nmt get-vocab, a piece and its count a line: other pieces are split again", OPTION_TEXT,
     .file = 'r', AT(vocabulary)},
    {"vocabulary-threshold", "N", "pieces with a lower count are not of the vocabulary; default: all are", OPTION_U32,
     .needs = "vocabulary", AT(threshold)},
    {"glossary", "WORD", "stays whole wherever it occurs; give it several times for several words", OPTION_LIST,
     AT(glossary)},
    {.kind = OPTION_END},
};

static tfm_status restrict_with(tfm_tokenizer **out, const tfm_tokenizer *from, const restrict_args *args,
                                tfm_error *error)
{
    text_lines words = {0};

    for (size_t i = 0; i < args->glossary.size; i++)
        text_lines_add(&words, (tfm_text){args->glossary.items[i], strlen(args->glossary.items[i])});
    const tfm_status status = tfm_tokenizer_restrict(out, from, args->vocabulary, args->threshold, words.lines,
                                                     words.size, NULL, error);
    text_lines_clear(&words);
    return status;
}

/* Writes the new tokenizer, NULL after an error. */
static int finish(tfm_tokenizer *from, tfm_tokenizer *to, const char *output, tfm_error *error)
{
    int code = EXIT_SUCCESS;

    if (!to || tfm_tokenizer_save(to, output, error)) code = console_fail("%s", error->message);
    else console_say("%s: %s, %u entries", output, tokenizer_kind_name(to), tfm_tokenizer_vocab_size(to));
    tfm_tokenizer_free(from);
    tfm_tokenizer_free(to);
    return code;
}

static int run_restrict(void *place, const string_list *operands)
{
    const restrict_args *args = place;
    tfm_tokenizer *from = NULL, *to = NULL;
    tfm_error error;

    (void)operands;
    if (!args->vocabulary && !args->glossary.size) return console_usage("give --vocabulary, --glossary, or both");
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    if (tfm_tokenizer_load(&from, args->file, NULL, &error) == TFM_OK) restrict_with(&to, from, args, &error);
    return finish(from, to, args->output, &error);
}

const command command_tokenizer_restrict = {
    .name = "tokenizer restrict",
    .summary = "keeps pieces to a vocabulary, and words whole",
    .usage = "--tokenizer-file FILE --output FILE [options]",
    .text = "Gives a tokenizer of the kind subword-nmt what the options of the same names give to its apply-bpe, once "
            "and for all: a model that is trained with it translates with it.",
    .examples = "  tfm tokenizer restrict --tokenizer-file a.tok --vocabulary vocab \\\n"
                "      --vocabulary-threshold 50 --glossary '<url>' --output kept.tok\n"
                "  tfm train --src train.en --tgt train.de --tokenizer-file kept.tok --model en-de\n",
    .options = rows,
    .args_size = sizeof(restrict_args),
    .run = run_restrict,
};

static const option_row case_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"tokenizer-file", "FILE", "the vocab.txt of a cased BERT", OPTION_TEXT, .required = true, .file = 'r', AT(file)},
    {"output", "FILE", "the new tokenizer, as plain text", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w',
     AT(output)},
    {.kind = OPTION_END},
};

static int run_keep_case(void *place, const string_list *operands)
{
    const restrict_args *args = place;
    tfm_tokenizer *from = NULL, *to = NULL;
    tfm_error error;

    (void)operands;
    if (!output_path_check(args->output)) return EXIT_FAILURE;
    if (tfm_tokenizer_load(&from, args->file, NULL, &error) == TFM_OK) tfm_tokenizer_keep_case(&to, from, NULL, &error);
    return finish(from, to, args->output, &error);
}

const command command_tokenizer_keep_case = {
    .name = "tokenizer keep-case",
    .summary = "makes a tokenizer of a cased BERT's vocabulary",
    .usage = "--tokenizer-file FILE --output FILE",
    .text = "A vocab.txt does not say whether its model keeps capitals and accents, and as a tokenizer it loses both. "
            "The tokenizer that is written keeps them.",
    .examples = "  tfm tokenizer keep-case --tokenizer-file vocab.txt --output cased.tok\n"
                "  tfm tokenizer encode --tokenizer-file cased.tok < test.en\n",
    .options = case_rows,
    .args_size = sizeof(restrict_args),
    .run = run_keep_case,
};
