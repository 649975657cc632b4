/* tfm tokenizer learn, encode, decode: text and tokens, without a model. */
#include "commands.h"
#include "console.h"
#include "model_args.h"
#include "text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct tokenizer_args {
    string_list input;
    const char *output, *codes, *file;
    uint32_t kind, vocab_size, merges, min_frequency, replace_invalid, ids;
} tokenizer_args;

#define AT(field) .offset = offsetof(tokenizer_args, field)

static const option_row learn_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"input", "FILE",
     "text, one sentence a line; give it several times for several files, both languages for instance; "
     "default: standard input",
     OPTION_LIST, AT(input)},
    {"output", "FILE", "the tokenizer, as plain text", OPTION_TEXT, .letter = 'o', .required = true, AT(output)},
    {"kind", "bpe|subword-nmt",
     "bpe: raw text, and decoding gives back the very line; subword-nmt: text that is already "
     "split into words",
     OPTION_CHOICE, AT(kind)},
    {"vocab-size", "N", "bpe: entries of the vocabulary, 256 bytes included; default 8000", OPTION_U32, .low = 1,
     AT(vocab_size)},
    {"merges", "N", "subword-nmt: merge operations; default 10000", OPTION_U32, .low = 1, AT(merges)},
    {"min-frequency", "N", "a pair of symbols seen less often is not merged; default 2", OPTION_U32, .low = 1,
     AT(min_frequency)},
    {"codes", "FILE", "also write the merges as a subword-nmt codes file", OPTION_TEXT, AT(codes)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {.kind = OPTION_END},
};

static const option_row encode_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    {"tokenizer-file", "FILE", "of 'tfm tokenizer learn', or a model", OPTION_TEXT, .required = true, AT(file)},
    {"ids", NULL, "numbers instead of pieces", OPTION_FLAG, AT(ids)},
    {"replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid)},
    {.kind = OPTION_END},
};

static int read_inputs(const tokenizer_args *args, text_lines *lines)
{
    if (args->input.size == 0 && !text_lines_read(lines, "-", args->replace_invalid)) return EXIT_FAILURE;
    for (size_t i = 0; i < args->input.size; i++)
        if (!text_lines_read(lines, args->input.items[i], args->replace_invalid)) return EXIT_FAILURE;
    if (lines->size > 0) return EXIT_SUCCESS;
    return console_fail("%s is empty; there is nothing to learn from",
                        args->input.size > 0 ? args->input.items[0] : "standard input");
}

static int check_learn(const tokenizer_args *args)
{
    const bool reversible = args->kind == 0;
    if (reversible && args->merges) return console_usage("--merges is for --kind subword-nmt; bpe takes --vocab-size");
    if (!reversible && args->vocab_size)
        return console_usage("--vocab-size is for --kind bpe; subword-nmt takes --merges");
    if (reversible && args->codes) return console_usage("--codes is for --kind subword-nmt");
    if (!output_path_check(args->output) || (args->codes && !output_path_check(args->codes))) return EXIT_FAILURE;
    return EXIT_SUCCESS;
}

static int learn(const tokenizer_args *args, const text_lines *lines)
{
    tfm_error error;
    tfm_tokenizer *tokenizer = NULL;
    tfm_tokenizer_options o;
    int code = EXIT_SUCCESS;
    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = args->kind ? TFM_TOKENIZER_SUBWORD_NMT : TFM_TOKENIZER_BPE;
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
    const tokenizer_args *args = place;
    text_lines lines = {0};
    int code = check_learn(args);
    if (!code) code = read_inputs(args, &lines);
    if (!code) code = learn(args, &lines);
    text_lines_clear(&lines);
    return code;
}

/* What turns one line into another, and its room. */
typedef struct converter {
    tfm_tokenizer *tokenizer;
    text_reader input;
    text_writer output;
    int32_t *ids;
    size_t n_ids, ids_capacity;
    char *text;
    size_t text_size, text_capacity;
    tfm_error error;
} converter;

static int fail_line(const converter *c, const char *message)
{
    return console_fail("%s:%llu: %s", c->input.name, (unsigned long long)c->input.line, message);
}

static int encode_ids(converter *c, tfm_text line)
{
    for (;;) {
        if (tfm_tokenizer_encode(c->ids, c->ids_capacity, &c->n_ids, c->tokenizer, line, &c->error))
            return fail_line(c, c->error.message);
        if (c->n_ids <= c->ids_capacity) break;
        memory_grow(&c->ids, &c->ids_capacity, c->n_ids, sizeof *c->ids);
    }
    for (size_t i = 0; i < c->n_ids; i++) fprintf(c->output.file, "%s%d", i ? " " : "", c->ids[i]);
    putc('\n', c->output.file);
    return EXIT_SUCCESS;
}

static int encode_pieces(converter *c, tfm_text line)
{
    for (;;) {
        if (tfm_tokenizer_segment(c->text, c->text_capacity, &c->text_size, c->tokenizer, line, &c->error))
            return fail_line(c, c->error.message);
        if (c->text_size <= c->text_capacity) break;
        memory_grow(&c->text, &c->text_capacity, c->text_size, 1);
    }
    text_writer_line(&c->output, "", (tfm_text){c->text, c->text_size}, "");
    return EXIT_SUCCESS;
}

/* The next word of the line between spaces; false at its end. */
static bool next_word(tfm_text line, size_t *at, tfm_text *word)
{
    while (*at < line.size && line.data[*at] == ' ') ++*at;
    const size_t start = *at;
    while (*at < line.size && line.data[*at] != ' ') ++*at;
    *word = (tfm_text){line.data + start, *at - start};
    return word->size > 0;
}

static int parse_id(const converter *c, tfm_text word, int32_t *id)
{
    char digits[16], message[128];
    const uint32_t size = tfm_tokenizer_vocab_size(c->tokenizer);
    snprintf(digits, sizeof digits, "%.*s", (int)(word.size < 15 ? word.size : 15), word.data);
    char *end;
    const unsigned long value = strtoul(digits, &end, 10);
    if (*digits >= '0' && *digits <= '9' && !*end && word.size < 15 && value < size) {
        *id = (int32_t)value;
        return EXIT_SUCCESS;
    }
    snprintf(message, sizeof message, "'%s' is not an id in 0..%u", digits, size - 1);
    return fail_line(c, message);
}

static int parse_piece(const converter *c, tfm_text word, int32_t *id)
{
    *id = tfm_tokenizer_id(c->tokenizer, word);
    const tfm_text unknown = tfm_tokenizer_token(c->tokenizer, TFM_UNK);
    if (*id != TFM_UNK || (word.size == unknown.size && memcmp(word.data, unknown.data, word.size) == 0))
        return EXIT_SUCCESS;
    char message[128];
    snprintf(message, sizeof message, "'%.*s' is not in the vocabulary", (int)(word.size < 80 ? word.size : 80),
             word.data);
    return fail_line(c, message);
}

static int decode_ids(converter *c)
{
    for (;;) {
        const tfm_ids ids = {c->ids, c->n_ids};
        if (tfm_tokenizer_decode(c->text, c->text_capacity, &c->text_size, c->tokenizer, ids, &c->error))
            return fail_line(c, c->error.message);
        if (c->text_size <= c->text_capacity) break;
        memory_grow(&c->text, &c->text_capacity, c->text_size, 1);
    }
    text_writer_line(&c->output, "", (tfm_text){c->text, c->text_size}, "");
    return EXIT_SUCCESS;
}

static int decode_words(converter *c, tfm_text line, int (*parse)(const converter *, tfm_text, int32_t *))
{
    tfm_text word;
    c->n_ids = 0;
    for (size_t at = 0; next_word(line, &at, &word);) {
        memory_grow(&c->ids, &c->ids_capacity, c->n_ids + 1, sizeof *c->ids);
        const int code = parse(c, word, &c->ids[c->n_ids++]);
        if (code) return code;
    }
    return decode_ids(c);
}

static int decode_numbers(converter *c, tfm_text line)
{
    return decode_words(c, line, parse_id);
}

/* subword-nmt marks each piece that goes on with "@@": joining needs no vocabulary, so that unknown words survive. */
static int join_pieces(converter *c, tfm_text line)
{
    memory_grow(&c->text, &c->text_capacity, line.size + 1, 1);
    c->text_size = 0;
    for (size_t i = 0; i < line.size; i++) {
        const bool mark = i + 2 <= line.size && memcmp(line.data + i, "@@", 2) == 0;
        if (mark && (i + 2 == line.size || line.data[i + 2] == ' ')) i += 2;
        else c->text[c->text_size++] = line.data[i];
    }
    text_writer_line(&c->output, "", (tfm_text){c->text, c->text_size}, "");
    return EXIT_SUCCESS;
}

static int decode_pieces(converter *c, tfm_text line)
{
    if (tfm_tokenizer_kind(c->tokenizer) == TFM_TOKENIZER_SUBWORD_NMT) return join_pieces(c, line);
    return decode_words(c, line, parse_piece);
}

static int convert_all(converter *c, const tokenizer_args *args, int (*convert)(converter *, tfm_text))
{
    tfm_text line;
    int got, code = EXIT_SUCCESS;
    if (tfm_tokenizer_load(&c->tokenizer, args->file, NULL, &c->error)) return console_fail("%s", c->error.message);
    if (!text_reader_open(&c->input, "-", args->replace_invalid) || !text_writer_open(&c->output, NULL))
        return EXIT_FAILURE;
    while (!code && (got = text_reader_next(&c->input, &line)) != 0) {
        code = got < 0 ? EXIT_FAILURE : convert(c, line);
        if (!code && !text_reader_ready(&c->input) && !text_writer_flush(&c->output)) code = EXIT_FAILURE;
    }
    return code;
}

static int run_converter(const tokenizer_args *args, int (*convert)(converter *, tfm_text))
{
    converter c = {.input.fd = -1};
    const int code = convert_all(&c, args, convert);
    text_reader_free(&c.input);
    tfm_tokenizer_free(c.tokenizer);
    free(c.ids);
    free(c.text);
    return code;
}

static int run_encode(void *place, const string_list *operands)
{
    (void)operands;
    const tokenizer_args *args = place;
    return run_converter(args, args->ids ? encode_ids : encode_pieces);
}

static int run_decode(void *place, const string_list *operands)
{
    (void)operands;
    const tokenizer_args *args = place;
    return run_converter(args, args->ids ? decode_numbers : decode_pieces);
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
    .args_size = sizeof(tokenizer_args),
    .run = run_learn,
};

const command command_tokenizer_encode = {
    .name = "tokenizer encode",
    .summary = "cuts lines into subwords or their ids",
    .usage = "--tokenizer-file FILE [--ids] < TEXT",
    .text = "Writes the pieces of each line, with spaces between them.",
    .examples = "  tfm tokenizer encode --tokenizer-file bpe.tok < test.en\n"
                "  tfm tokenizer encode --tokenizer-file en-de.tfm --ids < test.en\n",
    .options = encode_rows,
    .args_size = sizeof(tokenizer_args),
    .run = run_encode,
};

const command command_tokenizer_decode = {
    .name = "tokenizer decode",
    .summary = "puts subwords or ids together again",
    .usage = "--tokenizer-file FILE [--ids] < PIECES",
    .text = "The inverse of 'tfm tokenizer encode'.",
    .examples = "  tfm tokenizer encode --tokenizer-file bpe.tok --ids < test.en | \\\n"
                "      tfm tokenizer decode --tokenizer-file bpe.tok --ids\n",
    .options = encode_rows,
    .args_size = sizeof(tokenizer_args),
    .run = run_decode,
};
