/* tfm tokenizer learn: a tokenizer from text, without a model. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct learn_args {
    string_list input;
    const char *output, *codes;
    uint32_t kind, vocab_size, merges, min_frequency, replace_invalid;
} learn_args;

#define AT(field) .offset = offsetof(learn_args, field)

static const option_row learn_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"input", "FILE",
     "text, one sentence a line; give it several times for several files, both languages for instance; "
     "default: standard input",
     OPTION_LIST, .file = 'r', AT(input)},
    {"output", "FILE", "the tokenizer, as plain text", OPTION_TEXT, .letter = 'o', .required = true, .file = 'w',
     AT(output)},
    {"kind", "bpe|subword-nmt|wordpiece",
     "bpe: raw text, and decoding gives back the very line; subword-nmt: text that is already "
     "split into words; wordpiece: raw text, the subwords of tensor2tensor",
     OPTION_CHOICE, AT(kind)},
    {"vocab-size", "N", "bpe: entries of the vocabulary, 256 bytes included; wordpiece: about so many; default 8000",
     OPTION_U32, .low = 1, AT(vocab_size)},
    {"merges", "N", "subword-nmt: merge operations; default 10000", OPTION_U32, .low = 1, AT(merges)},
    {"min-frequency", "N", "a pair of symbols seen less often is not merged; default 2", OPTION_U32, .low = 1,
     AT(min_frequency)},
    {"codes", "FILE",
     "also write the merges as a subword-nmt codes file, or the pieces as a vocabulary file of tensor2tensor",
     OPTION_TEXT, .file = 'w', AT(codes)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {.kind = OPTION_END},
};

static int read_inputs(const learn_args *args, text_lines *lines)
{
    if (args->input.size == 0 && !text_lines_read(lines, "-", args->replace_invalid)) return EXIT_FAILURE;
    for (size_t i = 0; i < args->input.size; i++)
        if (!text_lines_read(lines, args->input.items[i], args->replace_invalid)) return EXIT_FAILURE;
    if (lines->size > 0) return EXIT_SUCCESS;
    return console_fail("%s is empty; there is nothing to learn from",
                        text_name(args->input.size > 0 ? args->input.items[0] : "-"));
}

static int check_learn(const learn_args *args)
{
    const bool merges = args->kind == TOKENIZER_SUBWORD_NMT;
    if (!merges && args->merges)
        return console_usage("--merges is for --kind subword-nmt; the others take --vocab-size");
    if (args->kind == TOKENIZER_WORDPIECE && args->min_frequency)
        return console_usage("--min-frequency is for --kind bpe and subword-nmt; wordpiece finds it itself");
    if (merges && args->vocab_size)
        return console_usage("--vocab-size is for --kind bpe; subword-nmt takes --merges");
    if (args->kind == TOKENIZER_BPE && args->codes)
        return console_usage("--codes is for --kind subword-nmt and wordpiece");
    if (!output_path_check(args->output) || (args->codes && !output_path_check(args->codes))) return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static int learn(const learn_args *args, const text_lines *lines)
{
    tfm_error error;
    tfm_tokenizer *tokenizer = NULL;
    tfm_tokenizer_options o;
    int code = EXIT_SUCCESS;
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = tokenizer_kind(args->kind);
    if (args->vocab_size) o.vocab_size = args->vocab_size;
    o.strict_size = args->vocab_size || args->merges; /* what was asked for must be there; a default may shrink */
    if (args->merges) o.merges = args->merges;
    if (args->min_frequency) o.min_frequency = args->min_frequency;
    o.log = console_log;
    console_status("learning from %zu lines", lines->size);
    if (tfm_tokenizer_learn(&tokenizer, &o, lines->lines, lines->size, &error) ||
        tfm_tokenizer_save(tokenizer, args->output, &error) ||
        (args->codes && tfm_tokenizer_export(tokenizer, args->codes, &error)))
        code = console_fail("%s", error.message);
    else
        console_say("%s: %s, %u entries, from %zu lines", args->output, tokenizer_kind_name(tokenizer),
                    tfm_tokenizer_vocab_size(tokenizer), lines->size);
    tfm_tokenizer_free(tokenizer);
    return code;
}

static int run_learn(void *place, const string_list *operands)
{
    (void)operands;
    const learn_args *args = place;
    text_lines lines = {0};
    int code = check_learn(args);
    if (!code) code = read_inputs(args, &lines);
    if (!code) code = learn(args, &lines);
    text_lines_clear(&lines);
    return code;
}

const command command_tokenizer_learn = {
    .name = "tokenizer learn",
    .summary = "learns a vocabulary of subwords from text",
    .usage = "--output FILE [options] < TEXT",
    .text = "Learns byte pair encoding from lines of text. 'tfm train' does it by itself; learn it here to use one "
            "tokenizer in "
            "several trainings (--tokenizer-file), or to look at it.",
    .examples = "  tfm tokenizer learn --input train.en --input train.de --vocab-size 8000 --output bpe.tok\n"
                "  tfm tokenizer learn --kind subword-nmt --merges 10000 -o sub.tok --codes codes < text\n",
    .options = learn_rows,
    .args_size = sizeof(learn_args),
    .run = run_learn,
};
