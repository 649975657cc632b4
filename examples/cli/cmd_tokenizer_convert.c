/* tfm tokenizer encode, decode, normalize: lines of text to tokens and back, without a model. */
#include "commands.h"
#include "console.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct convert_args {
    const char *file;
    uint32_t replace_invalid, ids, nbest, target;
    float dropout;
    uint64_t seed;
} convert_args;

#define AT(field) .offset = offsetof(convert_args, field)

#define FILE_ROW                                                                                                       \
    {                                                                                                                  \
        "tokenizer-file", "FILE", "of 'tfm tokenizer learn', a model, or a .model file of SentencePiece", OPTION_TEXT, \
            .required = true, AT(file)                                                                                 \
    }
#define IDS_ROW                                                        \
    {                                                                  \
        "ids", NULL, "numbers instead of pieces", OPTION_FLAG, AT(ids) \
    }
#define TARGET_ROW                                                                                       \
    {                                                                                                    \
        "target", NULL, "of a pair, text of the target instead of the source", OPTION_FLAG, AT(target) \
    }
#define REPLACE_ROW                                                                                                   \
    {                                                                                                                 \
        "replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid) \
    }

static const option_row encode_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    FILE_ROW,
    IDS_ROW,
    TARGET_ROW,
    {"nbest", "N",
     "the N most probable ways to cut each line, one a line: log-probability, tab, pieces; for unigram models of "
     "SentencePiece",
     OPTION_U32, .low = 1, .high = 1024, AT(nbest)},
    {"bpe-dropout", "P",
     "chance of each merge to be left out, as training with --bpe-dropout does; 1: single characters; for bpe and "
     "subword-nmt",
     OPTION_FLOAT, .high = 1, AT(dropout)},
    {"seed", "N", "of --bpe-dropout; the same seed gives the same pieces", OPTION_U64, .needs = "bpe-dropout",
     AT(seed)},
    REPLACE_ROW,
    {.kind = OPTION_END},
};

static const option_row decode_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"}, FILE_ROW, IDS_ROW, REPLACE_ROW, {.kind = OPTION_END},
};

static const option_row normalize_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    FILE_ROW,
    TARGET_ROW,
    REPLACE_ROW,
    {.kind = OPTION_END},
};

/* What turns one line into another, and its room. */
typedef struct converter {
    tfm_tokenizer *loaded;
    const tfm_tokenizer *tokenizer; /* it, or its side of the target */
    text_reader input;
    text_writer output;
    int32_t *ids;
    size_t n_ids, ids_capacity;
    uint32_t numbers; /* --ids */
    size_t n_ways, ways;
    size_t *ends; /* [n_ways] of each way in ids */
    float *scores;
    float dropout;
    uint64_t seed;
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
        if (tfm_tokenizer_encode_dropout(c->ids, c->ids_capacity, &c->n_ids, c->tokenizer, line, c->dropout, c->seed,
                                         c->input.line, &c->error))
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
        if (tfm_tokenizer_segment_dropout(c->text, c->text_capacity, &c->text_size, c->tokenizer, line, c->dropout,
                                          c->seed, c->input.line, &c->error))
            return fail_line(c, c->error.message);
        if (c->text_size <= c->text_capacity) break;
        memory_grow(&c->text, &c->text_capacity, c->text_size, 1);
    }
    text_writer_line(&c->output, (tfm_text){c->text, c->text_size});
    return EXIT_SUCCESS;
}

static void print_way(const converter *c, size_t way)
{
    fprintf(c->output.file, "%.4f\t", (double)c->scores[way]);
    for (size_t i = way ? c->ends[way - 1] : 0; i < c->ends[way]; i++) {
        const tfm_text piece = tfm_tokenizer_token(c->tokenizer, c->ids[i]);
        if (i > (way ? c->ends[way - 1] : 0)) putc(' ', c->output.file);
        if (c->numbers) fprintf(c->output.file, "%d", c->ids[i]);
        else fwrite(piece.data, 1, piece.size, c->output.file);
    }
    putc('\n', c->output.file);
}

static int encode_ways(converter *c, tfm_text line)
{
    for (;;) {
        c->ways = c->n_ways;
        if (tfm_tokenizer_nbest(c->ids, c->ids_capacity, &c->n_ids, c->ends, c->scores, &c->ways, c->tokenizer, line,
                                &c->error))
            return fail_line(c, c->error.message);
        if (c->n_ids <= c->ids_capacity) break;
        memory_grow(&c->ids, &c->ids_capacity, c->n_ids, sizeof *c->ids);
    }
    for (size_t i = 0; i < c->ways; i++) print_way(c, i);
    return EXIT_SUCCESS;
}

static int normalize(converter *c, tfm_text line)
{
    for (;;) {
        if (tfm_tokenizer_normalize(c->text, c->text_capacity, &c->text_size, c->tokenizer, line, &c->error))
            return fail_line(c, c->error.message);
        if (c->text_size <= c->text_capacity) break;
        memory_grow(&c->text, &c->text_capacity, c->text_size, 1);
    }
    text_writer_line(&c->output, (tfm_text){c->text, c->text_size});
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

static int parse_id(converter *c, tfm_text word, int32_t *id)
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

/* The id of a piece; that of unknown ones, and false, when it is not in the vocabulary. */
static bool find_piece(const converter *c, tfm_text word, int32_t *id)
{
    *id = tfm_tokenizer_id(c->tokenizer, word);
    tfm_special_ids special;
    tfm_tokenizer_special(&special, c->tokenizer);
    const tfm_text unknown = tfm_tokenizer_token(c->tokenizer, special.unk);
    return *id != special.unk || (word.size == unknown.size && memcmp(word.data, unknown.data, word.size) == 0);
}

/* A space inside of a piece of tensor2tensor, which tfm_tokenizer_segment() spells "\\32;". */
static bool find_spelt(converter *c, tfm_text word, int32_t *id)
{
    static const char space[] = "\\32;";
    enum { SIZE = sizeof space - 1 };
    memory_grow(&c->text, &c->text_capacity, word.size, 1);
    c->text_size = 0;
    for (size_t i = 0; i < word.size; i++) {
        const bool spelt = i + SIZE <= word.size && memcmp(word.data + i, space, SIZE) == 0;
        c->text[c->text_size++] = spelt ? ' ' : word.data[i];
        if (spelt) i += SIZE - 1;
    }
    return find_piece(c, (tfm_text){c->text, c->text_size}, id);
}

static int parse_piece(converter *c, tfm_text word, int32_t *id)
{
    if (find_piece(c, word, id)) return EXIT_SUCCESS;
    if (tfm_tokenizer_kind(c->tokenizer) == TFM_TOKENIZER_WORDPIECE && find_spelt(c, word, id)) return EXIT_SUCCESS;
    char message[128];
    snprintf(message, sizeof message, "'%.*s' is not in the vocabulary", (int)(word.size < 80 ? word.size : 80),
             word.data);
    return fail_line(c, message);
}

/* Makes text of the first n ids. */
static int decode_ids(converter *c, size_t n)
{
    for (;;) {
        if (tfm_tokenizer_decode(c->text, c->text_capacity, &c->text_size, c->tokenizer, (tfm_ids){c->ids, n},
                                 &c->error))
            return fail_line(c, c->error.message);
        if (c->text_size <= c->text_capacity) return EXIT_SUCCESS;
        memory_grow(&c->text, &c->text_capacity, c->text_size, 1);
    }
}

static int decode_words(converter *c, tfm_text line, int (*parse)(converter *, tfm_text, int32_t *))
{
    tfm_text word;
    c->n_ids = 0;
    for (size_t at = 0; next_word(line, &at, &word);) {
        memory_grow(&c->ids, &c->ids_capacity, c->n_ids + 1, sizeof *c->ids);
        const int code = parse(c, word, &c->ids[c->n_ids++]);
        if (code) return code;
    }
    const int code = decode_ids(c, c->n_ids);
    if (!code) text_writer_line(&c->output, (tfm_text){c->text, c->text_size});
    return code;
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
    text_writer_line(&c->output, (tfm_text){c->text, c->text_size});
    return EXIT_SUCCESS;
}

/* Writes the text of the ids at hand; of the first of them, when it stands for an unknown piece, nothing. */
static int write_run(converter *c, bool unknown)
{
    int code = unknown ? decode_ids(c, 1) : EXIT_SUCCESS;
    const size_t skipped = unknown ? c->text_size : 0;
    if (!code) code = decode_ids(c, c->n_ids);
    if (!code) fwrite(c->text + skipped, 1, c->text_size - skipped, c->output.file);
    return code;
}

/* Of SentencePiece, whose pieces that are not in the vocabulary are text themselves, as for spm_decode. */
static int join_sentencepiece(converter *c, tfm_text line)
{
    tfm_text word;
    bool unknown = false;
    c->n_ids = 0;
    for (size_t at = 0; next_word(line, &at, &word);) {
        int32_t id;
        if (!find_piece(c, word, &id)) {
            const int code = write_run(c, unknown);
            if (code) return code;
            fwrite(word.data, 1, word.size, c->output.file);
            unknown = true;
            c->n_ids = 0;
        }
        memory_grow(&c->ids, &c->ids_capacity, c->n_ids + 1, sizeof *c->ids);
        c->ids[c->n_ids++] = id;
    }
    const int code = write_run(c, unknown);
    putc('\n', c->output.file);
    return code;
}

static int decode_pieces(converter *c, tfm_text line)
{
    if (tfm_tokenizer_kind(c->tokenizer) == TFM_TOKENIZER_SENTENCEPIECE) return join_sentencepiece(c, line);
    if (tfm_tokenizer_kind(c->tokenizer) == TFM_TOKENIZER_SUBWORD_NMT) return join_pieces(c, line);
    return decode_words(c, line, parse_piece);
}

static int convert_all(converter *c, const convert_args *args, int (*convert)(converter *, tfm_text))
{
    tfm_text line;
    int got, code = EXIT_SUCCESS;
    if (tfm_tokenizer_load(&c->loaded, args->file, NULL, &c->error)) return console_fail("%s", c->error.message);
    c->tokenizer = args->target ? tfm_tokenizer_target(c->loaded) : c->loaded;
    if (!text_reader_open(&c->input, "-", args->replace_invalid) || !text_writer_open(&c->output, NULL))
        return EXIT_FAILURE;
    while (!code && (got = text_reader_next(&c->input, &line)) != 0) {
        code = got < 0 ? EXIT_FAILURE : convert(c, line);
        if (!code && !text_reader_ready(&c->input) && !text_writer_flush(&c->output)) code = EXIT_FAILURE;
    }
    return code;
}

static int run_converter(const convert_args *args, int (*convert)(converter *, tfm_text))
{
    converter c = {.input.fd = -1, .n_ways = args->nbest, .numbers = args->ids, .dropout = args->dropout,
                   .seed = args->seed};
    size_t capacity = 0;
    memory_grow(&c.ends, &capacity, c.n_ways, sizeof *c.ends);
    capacity = 0;
    memory_grow(&c.scores, &capacity, c.n_ways, sizeof *c.scores);
    const int code = convert_all(&c, args, convert);
    text_reader_free(&c.input);
    tfm_tokenizer_free(c.loaded);
    free(c.ids);
    free(c.ends);
    free(c.scores);
    free(c.text);
    return code;
}

static int run_encode(void *place, const string_list *operands)
{
    (void)operands;
    const convert_args *args = place;
    if (args->nbest && args->dropout > 0.0f)
        return console_usage("--nbest and --bpe-dropout exclude each other; give one");
    return run_converter(args, args->nbest ? encode_ways : args->ids ? encode_ids : encode_pieces);
}

static int run_decode(void *place, const string_list *operands)
{
    (void)operands;
    convert_args *args = place;
    args->target = 1; /* there is no way back from a source's ids */
    return run_converter(args, args->ids ? decode_numbers : decode_pieces);
}

static int run_normalize(void *place, const string_list *operands)
{
    (void)operands;
    return run_converter(place, normalize);
}

const command command_tokenizer_encode = {
    .name = "tokenizer encode",
    .summary = "cuts lines into subwords or their ids",
    .usage = "--tokenizer-file FILE [--ids] [options] < TEXT",
    .text = "Writes the pieces of each line, with spaces between them. Of a pair of tokenizers, one for each language, "
            "they are the source's, with --target the target's.",
    .examples = "  tfm tokenizer encode --tokenizer-file bpe.tok < test.en\n"
                "  tfm tokenizer encode --tokenizer-file en-de.tfm --ids < test.en\n",
    .options = encode_rows,
    .args_size = sizeof(convert_args),
    .run = run_encode,
};

const command command_tokenizer_decode = {
    .name = "tokenizer decode",
    .summary = "puts subwords or ids together again",
    .usage = "--tokenizer-file FILE [--ids] < PIECES",
    .text = "The inverse of 'tfm tokenizer encode'; of a pair of tokenizers it puts together the target's.",
    .examples = "  tfm tokenizer encode --tokenizer-file bpe.tok --ids < test.en | \\\n"
                "      tfm tokenizer decode --tokenizer-file bpe.tok --ids\n",
    .options = decode_rows,
    .args_size = sizeof(convert_args),
    .run = run_decode,
};

const command command_tokenizer_normalize = {
    .name = "tokenizer normalize",
    .summary = "writes lines as a tokenizer sees them",
    .usage = "--tokenizer-file FILE < TEXT",
    .text = "The rules of normalisation of a SentencePiece model, and its U+2581 for spaces. Other kinds see the text "
            "as it is.",
    .examples = "  tfm tokenizer normalize --tokenizer-file unigram.model < test.en\n",
    .options = normalize_rows,
    .args_size = sizeof(convert_args),
    .run = run_normalize,
};
