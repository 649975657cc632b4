/* tfm tokenizer pretokenize, detokenize: lines of text to words and back by the rules of a language. */
#include "commands.h"
#include "console.h"
#include "text_file.h"

#include <stdlib.h>

typedef struct words_args {
    uint32_t language, lowercase, normalize, split_hyphens, no_escape, replace_invalid;
} words_args;

#define AT(field) .offset = offsetof(words_args, field)

#define LANGUAGE_ROW                                                                   \
    {                                                                                  \
        "language", "en|de|fr", "whose rules; default en", OPTION_CHOICE, AT(language) \
    }
#define REPLACE_ROW                                                                                                   \
    {                                                                                                                 \
        "replace-invalid", NULL, "invalid UTF-8 becomes U+FFFD instead of an error", OPTION_FLAG, AT(replace_invalid) \
    }

static const option_row pretokenize_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    LANGUAGE_ROW,
    {"lowercase", NULL, "lower case first", OPTION_FLAG, AT(lowercase)},
    {"normalize", NULL, "then quotation marks, dashes and spaces of ASCII", OPTION_FLAG, AT(normalize)},
    {"split-hyphens", NULL, "'blue-eyed' becomes 'blue @-@ eyed'", OPTION_FLAG, AT(split_hyphens)},
    {"no-escape", NULL, "leave & | < > ' \" [ ] as they are", OPTION_FLAG, AT(no_escape)},
    REPLACE_ROW,
    {.kind = OPTION_END},
};

static const option_row detokenize_rows[] = {
    {.kind = OPTION_HEADING, .help = "Options"},
    LANGUAGE_ROW,
    REPLACE_ROW,
    {.kind = OPTION_END},
};

typedef tfm_status (*convert_fn)(char *text, size_t capacity, size_t *size, const tfm_pretokenize_options *options,
                                 tfm_text line, tfm_error *error);

/* Lines in, lines out, and the room for one. */
typedef struct word_stream {
    text_reader input;
    text_writer output;
    char *text;
    size_t capacity;
} word_stream;

static int convert_line(word_stream *s, const tfm_pretokenize_options *options, convert_fn convert, tfm_text line)
{
    tfm_error error;
    size_t size;
    for (;;) {
        if (convert(s->text, s->capacity, &size, options, line, &error))
            return console_fail("%s:%llu: %s", s->input.name, (unsigned long long)s->input.line, error.message);
        if (size <= s->capacity) break;
        memory_grow(&s->text, &s->capacity, size, 1);
    }
    text_writer_line(&s->output, (tfm_text){s->text, size});
    return EXIT_SUCCESS;
}

static int convert_all(word_stream *s, const words_args *args, convert_fn convert)
{
    tfm_pretokenize_options options;
    tfm_text line;
    int got, code = EXIT_SUCCESS;
    tfm_pretokenize_options_init(&options, sizeof options);
    options.language = args->language;
    options.lowercase = args->lowercase;
    options.normalize = args->normalize;
    options.split_hyphens = args->split_hyphens;
    options.no_escape = args->no_escape;
    if (!text_reader_open(&s->input, "-", args->replace_invalid) || !text_writer_open(&s->output, NULL))
        return EXIT_FAILURE;
    while (!code && (got = text_reader_next(&s->input, &line)) != 0) {
        code = got < 0 ? EXIT_FAILURE : convert_line(s, &options, convert, line);
        if (!code && !text_reader_ready(&s->input) && !text_writer_flush(&s->output)) code = EXIT_FAILURE;
    }
    return code;
}

static int run_words(const words_args *args, convert_fn convert)
{
    word_stream s = {.input.fd = -1};
    const int code = convert_all(&s, args, convert);
    text_reader_free(&s.input);
    free(s.text);
    return code;
}

static int run_pretokenize(void *place, const string_list *operands)
{
    (void)operands;
    return run_words(place, tfm_pretokenize);
}

static int run_detokenize(void *place, const string_list *operands)
{
    (void)operands;
    return run_words(place, tfm_detokenize);
}

const command command_tokenizer_pretokenize = {
    .name = "tokenizer pretokenize",
    .summary = "puts spaces between words and punctuation",
    .usage = "[--language en|de|fr] [--lowercase] [--normalize] < TEXT",
    .text = "Writes the words of each line as Moses' tokenizer.perl has them, after its lowercase.perl and "
            "normalize-punctuation.perl where that is asked for: what a tokenizer of the kind subword-nmt reads.",
    .examples = "  tfm tokenizer pretokenize --language de --lowercase --normalize < raw.de > words.de\n",
    .options = pretokenize_rows,
    .args_size = sizeof(words_args),
    .run = run_pretokenize,
};

const command command_tokenizer_detokenize = {
    .name = "tokenizer detokenize",
    .summary = "joins words and punctuation to text",
    .usage = "[--language en|de|fr] < WORDS",
    .text =
        "The way back from 'tfm tokenizer pretokenize', as far as there is one: case and typography that it took are "
        "gone, and spaces are those that the language has as a rule.",
    .examples = "  tfm translate --model de-en.tfm < words.de | tfm tokenizer detokenize --language en\n",
    .options = detokenize_rows,
    .args_size = sizeof(words_args),
    .run = run_detokenize,
};
