/*
 * A tokenizer as plain text: the form in which it is saved, and in which a model file carries it (doc/format.md). Those
 * of SentencePiece keep the form that they have; with other ids it follows their vocabulary, and pairs are two such
 * files behind each other.
 */
#include "text/bert.h"
#include "text/renumbered.h"
#include "text/sentencepiece.h"
#include "text/subword.h"
#include "text/wordpiece.h"

#include <stdio.h>

#define MAGIC "tfm-tokenizer"
#define VERSION "1"
#define LINE "tokenizer, line %zu: "
#define RENUMBERED MAGIC " " VERSION " sentencepiece "
#define PAIR MAGIC " " VERSION " pair "

enum { LEAST_TOKEN = 2, LEAST_MERGE = 4 }; /* bytes of a line: "a\n", "a b\n" */

static const char *const kinds[] = {
    [TFM_TOKENIZER_BPE] = "bpe",
    [TFM_TOKENIZER_SUBWORD_NMT] = "subword-nmt",
    [TFM_TOKENIZER_SENTENCEPIECE] = "sentencepiece", /* never text of this form */
    [TFM_TOKENIZER_WORDPIECE] = "wordpiece",
    [TFM_TOKENIZER_BERT] = "bert",
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const char *tfm_tokenizer_kind_name(uint32_t kind)
{
    return kinds[kind];
}

bool tfm_tokenizer_is_text(tfm_text file)
{
    if (tfm_sentencepiece_is_file(file) || tfm_wordpiece_is_file(file) || tfm_bert_is_file(file)) return true;
    return file.size >= sizeof MAGIC && memcmp(file.data, MAGIC " ", sizeof MAGIC) == 0;
}

/* -------------------------------------------------------------------------------------------------- writing ---- */

/* A token may have any character but a space: those that end lines, here or where others read them, are escaped. */
static void append_escaped(tfm_buffer *out, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '\n') tfm_buffer_append(out, "\\n", 2);
        else if (c == '\r') tfm_buffer_append(out, "\\r", 2);
        else if (c == '\\') tfm_buffer_append(out, "\\\\", 2);
        else tfm_buffer_append(out, &c, 1);
    }
}

/* What restricts pieces, keeps words whole and keeps case is in the heading when there is something. */
static void append_heading(tfm_buffer *out, const tfm_tokenizer *t)
{
    char text[140];
    int size = snprintf(text, sizeof text, MAGIC " " VERSION " %s %u tokens %zu merges", kinds[t->kind], t->vocab.n,
                        t->bpe.n);

    tfm_buffer_append(out, text, (size_t)size);
    if (t->origins) tfm_buffer_append(out, " restricted", sizeof " restricted" - 1);
    if (t->glossaries.n) {
        size = snprintf(text, sizeof text, " %u glossaries", t->glossaries.n);
        tfm_buffer_append(out, text, (size_t)size);
    }
    if (t->cased) tfm_buffer_append(out, " cased", sizeof " cased" - 1);
    tfm_buffer_append(out, "\n", 1);
}

static void append_lines(tfm_buffer *out, const tfm_vocab *texts)
{
    for (uint32_t i = 0; i < texts->n; i++) {
        append_escaped(out, tfm_vocab_text(texts, i));
        tfm_buffer_append(out, "\n", 1);
    }
}

static void append_sentencepiece(tfm_buffer *out, const tfm_tokenizer *t)
{
    const tfm_sentencepiece *m = t->sentencepiece;
    char heading[140];

    if (tfm_is_renumbered(t)) {
        const int size =
            snprintf(heading, sizeof heading, RENUMBERED "%u tokens %zu bytes\n", t->vocab.n, m->file_size);
        tfm_buffer_append(out, heading, (size_t)size);
        append_lines(out, &t->vocab);
    }
    tfm_buffer_append(out, m->file, m->file_size);
}

static void append_plain(tfm_buffer *out, const tfm_tokenizer *t)
{
    const tfm_vocab *pieces = tfm_tokenizer_pieces(t);

    append_heading(out, t);
    append_lines(out, &t->vocab);
    for (size_t i = 0; i < t->bpe.n; i++) {
        append_escaped(out, tfm_vocab_text(pieces, t->bpe.merges[i].left));
        tfm_buffer_append(out, " ", 1);
        append_escaped(out, tfm_vocab_text(pieces, t->bpe.merges[i].right));
        tfm_buffer_append(out, "\n", 1);
    }
    append_lines(out, &t->glossaries);
}

static void append_side(tfm_buffer *out, const tfm_tokenizer *t)
{
    if (t->sentencepiece) append_sentencepiece(out, t);
    else append_plain(out, t);
}

static void append_pair(tfm_buffer *out, const tfm_tokenizer *t)
{
    tfm_buffer sides = {.allocator = out->allocator};
    char heading[140];

    append_side(&sides, t);
    const size_t first = sides.size;
    append_side(&sides, t->target);
    const int size = snprintf(heading, sizeof heading, PAIR "%zu bytes %zu bytes\n", first, sides.size - first);
    tfm_buffer_append(out, heading, (size_t)size);
    tfm_buffer_append(out, sides.data, sides.size);
    out->bad |= sides.bad;
    tfm_buffer_free(&sides);
}

tfm_status tfm_tokenizer_to_text(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error)
{
    if (tokenizer->target) append_pair(out, tokenizer);
    else append_side(out, tokenizer);
    if (!out->bad) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory to write a tokenizer of %u tokens",
                    tfm_tokenizer_vocab(tokenizer)->n);
}

/* -------------------------------------------------------------------------------------------------- reading ---- */

typedef struct reader {
    tfm_text rest;    /* what follows the lines that were taken        */
    size_t line;      /* number of the last of them, from 1            */
    tfm_buffer plain; /* that line without its escapes, if it had some */
} reader;

static tfm_status take_line(reader *r, tfm_text *line, tfm_error *error)
{
    const char *end = r->rest.size ? memchr(r->rest.data, '\n', r->rest.size) : NULL;

    r->line++;
    if (!end) return tfm_fail(error, TFM_E_FORMAT, LINE "the end is missing: copy the file again", r->line);
    *line = (tfm_text){r->rest.data, (size_t)(end - r->rest.data)};
    r->rest = tfm_text_from(r->rest, line->size + 1);
    if (line->size && line->data[line->size - 1] == '\r') line->size--;
    return TFM_OK;
}

static tfm_status unescape(reader *r, tfm_text *line, tfm_error *error)
{
    if (!line->size || !memchr(line->data, '\\', line->size)) return TFM_OK;
    r->plain.size = 0;
    for (size_t i = 0; i < line->size; i++) {
        char c = line->data[i];
        if (c == '\\') {
            const char next = ++i < line->size ? line->data[i] : '\0';
            c = next == 'n' ? '\n' : next == 'r' ? '\r' : next;
            if (next != 'n' && next != 'r' && next != '\\')
                return tfm_fail(error, TFM_E_FORMAT, LINE "a backslash at column %zu without n, r or \\ after it",
                                r->line, i);
        }
        tfm_buffer_append(&r->plain, &c, 1);
    }
    *line = (tfm_text){r->plain.data, r->plain.size};
    if (!r->plain.bad) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, LINE "no memory for %zu bytes", r->line, line->size);
}

/* Adds the number of the line to a message. */
static tfm_status at_line(const reader *r, tfm_status status, const tfm_error *inner, tfm_error *error)
{
    return status == TFM_OK ? TFM_OK : tfm_fail(error, status, LINE "%s", r->line, inner->message);
}

/* A carriage return that is not part of the end of a line, or NULL. */
static const char *lone_return(tfm_text file)
{
    for (size_t i = 0; i < file.size; i++) {
        const char *cr = memchr(file.data + i, '\r', file.size - i);
        if (!cr || cr + 1 == file.data + file.size || cr[1] != '\n') return cr;
        i = (size_t)(cr - file.data);
    }
    return NULL;
}

/* Lines are cut without looking at their characters, so these are checked before. */
static tfm_status check_characters(tfm_text file, tfm_error *error)
{
    const char *cr = lone_return(file);
    const size_t invalid = tfm_utf8_find_invalid(file), at = cr ? (size_t)(cr - file.data) : invalid;
    size_t line = 1;

    if (at == SIZE_MAX) return TFM_OK;
    for (size_t i = 0; i < at; i++) line += file.data[i] == '\n';
    if (cr)
        return tfm_fail(error, TFM_E_FORMAT,
                        LINE "a carriage return at byte %zu, not at the end of a line", line, at);
    return tfm_fail(error, TFM_E_FORMAT, LINE "not UTF-8 at byte %zu", line, at);
}

/* Cuts the first word, and the space after it, off the line. */
static tfm_text take_word(tfm_text *line)
{
    const char *space = line->size ? memchr(line->data, ' ', line->size) : NULL;
    const tfm_text word = {line->data, space ? (size_t)(space - line->data) : line->size};

    *line = tfm_text_from(*line, word.size + (space != NULL));
    return word;
}

static bool take_exactly(tfm_text *line, const char *wanted)
{
    return tfm_text_equal(take_word(line), tfm_text_of(wanted));
}

static bool take_count(tfm_text *line, uint32_t *count)
{
    const tfm_text word = take_word(line);
    uint64_t value = 0;

    if (!word.size || (word.size > 1 && *word.data == '0')) return false; /* one tokenizer, one text */
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] < '0' || word.data[i] > '9') return false;
        value = value * 10 + (uint64_t)(word.data[i] - '0');
        if (value > UINT32_MAX) return false;
    }
    *count = (uint32_t)value;
    return true;
}

typedef struct heading {
    uint32_t kind, n_tokens, n_merges, n_glossaries;
    bool restricted, cased;
} heading;

/* What only the kind subword-nmt has, after its counts. */
static bool take_subword(tfm_text *line, heading *h)
{
    tfm_text rest = *line;

    h->restricted = take_exactly(&rest, "restricted");
    if (h->restricted) *line = rest;
    if (!line->size) return true;
    return take_count(line, &h->n_glossaries) && h->n_glossaries && take_exactly(line, "glossaries") && !line->size;
}

/* What a kind has after its counts. */
static bool take_extras(tfm_text *line, heading *h)
{
    if (h->kind == TFM_TOKENIZER_SUBWORD_NMT) return take_subword(line, h);
    h->cased = h->kind == TFM_TOKENIZER_BERT && tfm_text_equal(*line, tfm_text_of("cased"));
    return h->cased || !line->size;
}

static tfm_status read_heading(reader *r, heading *h, tfm_error *error)
{
    tfm_text line = {0};
    const tfm_status status = take_line(r, &line, error);
    tfm_text all = line;

    if (status != TFM_OK) return status;
    if (!take_exactly(&line, MAGIC))
        return tfm_fail(error, TFM_E_FORMAT, LINE "does not begin with " MAGIC ": not a tokenizer", r->line);
    const tfm_text version = take_word(&line), kind = take_word(&line);
    if (!tfm_text_equal(version, tfm_text_of(VERSION)))
        return tfm_fail(error, TFM_E_UNSUPPORTED, LINE "version \"%.*s\", only " VERSION " is known", r->line,
                        (int)(version.size < 20 ? version.size : 20), version.data);
    for (h->kind = 0; h->kind < KINDS; h->kind++)
        if (tfm_text_equal(kind, tfm_text_of(kinds[h->kind]))) break;
    if (h->kind == KINDS)
        return tfm_fail(error, TFM_E_UNSUPPORTED, LINE "kind \"%.*s\", only %s, %s, %s and %s are known", r->line,
                        (int)(kind.size < 40 ? kind.size : 40), kind.data, kinds[0], kinds[1], kinds[3], kinds[4]);
    if (take_count(&line, &h->n_tokens) && take_exactly(&line, "tokens") && take_count(&line, &h->n_merges) &&
        take_exactly(&line, "merges") && take_extras(&line, h))
        return TFM_OK;
    all.size = all.size < 80 ? all.size : 80;
    return tfm_fail(error, TFM_E_FORMAT,
                    LINE "\"%.*s\" is not \"" MAGIC " " VERSION " KIND NUMBER tokens NUMBER merges\"", r->line,
                    (int)all.size, all.data);
}

/* Memory is taken for as many lines as there can be, never for what a number claims. */
static tfm_status check_counts(const reader *r, const heading *h, uint32_t fixed, tfm_error *error)
{
    const uint64_t least =
        ((uint64_t)h->n_tokens + h->n_glossaries) * LEAST_TOKEN + (uint64_t)h->n_merges * LEAST_MERGE;

    if (h->n_tokens < fixed || h->n_tokens > TFM_TOKENIZER_MAX_VOCAB)
        return tfm_fail(error, TFM_E_FORMAT, LINE "%u tokens, not in %u..%d", r->line, h->n_tokens, fixed,
                        TFM_TOKENIZER_MAX_VOCAB);
    if (least <= r->rest.size) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, LINE "%u tokens and %u merges take at least %llu bytes, %zu follow", r->line,
                    h->n_tokens, h->n_merges, (unsigned long long)least, r->rest.size);
}

/* The first tokens are given by the kind. */
static tfm_status read_token(reader *r, tfm_tokenizer *t, uint32_t id, uint32_t fixed, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_text token = {0};
    tfm_status status = take_line(r, &token, error);

    if (status == TFM_OK) status = unescape(r, &token, error);
    if (status != TFM_OK) return status;
    if (id >= fixed) return at_line(r, tfm_tokenizer_add_token(t, token, &inner), &inner, error);
    const tfm_text wanted = tfm_vocab_text(&t->vocab, id);
    if (tfm_text_equal(token, wanted)) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, LINE "token %u of the vocabulary is not %.*s", r->line, id, (int)wanted.size,
                    wanted.data);
}

static tfm_status read_merge(reader *r, tfm_tokenizer *t, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_text right = {0};
    tfm_status status = take_line(r, &right, error);

    if (status == TFM_OK) status = unescape(r, &right, error);
    if (status != TFM_OK) return status;
    const tfm_text left = take_word(&right);
    if (!left.size || !right.size || memchr(right.data, ' ', right.size))
        return tfm_fail(error, TFM_E_FORMAT, LINE "merge %zu is not two pieces with a space between", r->line,
                        t->bpe.n + 1);
    return at_line(r, tfm_tokenizer_add_merge(t, left, right, &inner), &inner, error);
}

static tfm_status read_glossary(reader *r, tfm_tokenizer *t, tfm_error *error)
{
    tfm_error inner = {0};
    tfm_text glossary = {0};
    tfm_status status = take_line(r, &glossary, error);

    if (status == TFM_OK) status = unescape(r, &glossary, error);
    if (status != TFM_OK) return status;
    return at_line(r, tfm_subword_add_glossary(t, glossary, &inner), &inner, error);
}

/* What the kinds without merges ask of all their tokens. */
static tfm_status check_kind(tfm_tokenizer *t, tfm_error *error)
{
    const bool wordpiece = t->kind == TFM_TOKENIZER_WORDPIECE;

    if (!wordpiece && t->kind != TFM_TOKENIZER_BERT) return TFM_OK;
    if (t->bpe.n) return tfm_fail(error, TFM_E_FORMAT, LINE "the kind %s has no merges", (size_t)1, kinds[t->kind]);
    return wordpiece ? tfm_wordpiece_check(t, error) : tfm_bert_check(t, error);
}

static tfm_status read_all(reader *r, tfm_tokenizer **out, const tfm_allocator *allocator, tfm_error *error)
{
    heading h = {0};
    tfm_status status = read_heading(r, &h, error);

    if (status == TFM_OK) status = tfm_tokenizer_new(out, h.kind, allocator, error);
    if (status != TFM_OK) return status;
    tfm_tokenizer *t = *out;
    const uint32_t fixed = t->vocab.n;
    t->cased = h.cased;
    status = check_counts(r, &h, fixed, error);
    if (status == TFM_OK) status = tfm_tokenizer_reserve(t, h.n_tokens, h.n_merges, error);
    for (uint32_t id = 0; id < h.n_tokens && status == TFM_OK; id++) status = read_token(r, t, id, fixed, error);
    for (uint32_t i = 0; i < h.n_merges && status == TFM_OK; i++) status = read_merge(r, t, error);
    for (uint32_t i = 0; i < h.n_glossaries && status == TFM_OK; i++) status = read_glossary(r, t, error);
    if (status == TFM_OK && h.restricted) status = tfm_subword_restrict(t, error);
    if (status == TFM_OK) status = check_kind(t, error);
    if (status == TFM_OK && r->rest.size)
        status = tfm_fail(error, TFM_E_FORMAT, LINE "%zu bytes follow the last line", r->line, r->rest.size);
    return status;
}

static tfm_status read_text(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    reader r = {.rest = file, .plain = {.allocator = *allocator}};
    tfm_status status = check_characters(file, error);

    if (status == TFM_OK) status = read_all(&r, out, allocator, error);
    tfm_buffer_free(&r.plain);
    return status;
}

static tfm_status read_sentencepiece(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator,
                                     tfm_error *error)
{
    const tfm_status status = tfm_tokenizer_new(out, TFM_TOKENIZER_SENTENCEPIECE, allocator, error);

    if (status != TFM_OK) return status;
    return tfm_sentencepiece_parse(&(*out)->sentencepiece, &(*out)->special, file, allocator, error);
}

static tfm_status read_wordpiece(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_status status = tfm_tokenizer_new(out, TFM_TOKENIZER_WORDPIECE, allocator, error);

    if (status == TFM_OK) status = tfm_wordpiece_read(*out, file, error);
    return status == TFM_OK ? tfm_wordpiece_check(*out, error) : status;
}

static tfm_status read_bert(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_status status = tfm_tokenizer_new(out, TFM_TOKENIZER_BERT, allocator, error);

    if (status == TFM_OK) status = tfm_bert_read(*out, file, error);
    return status == TFM_OK ? tfm_bert_check(*out, error) : status;
}

/* Takes the first line of a file that begins with start: two numbers, each with its word behind it. */
static bool take_sizes(reader *r, const char *start, const char *const units[2], uint32_t sizes[2], tfm_error *error)
{
    tfm_text line = {0};

    if (take_line(r, &line, error) != TFM_OK) return false;
    line = tfm_text_from(line, strlen(start));
    if (take_count(&line, &sizes[0]) && take_exactly(&line, units[0]) && take_count(&line, &sizes[1]) &&
        take_exactly(&line, units[1]) && !line.size)
        return true;
    tfm_fail(error, TFM_E_FORMAT, LINE "is not \"%sNUMBER %s NUMBER %s\"", r->line, start, units[0], units[1]);
    return false;
}

/* Of n tokens, which are all that is left to the reader. */
static tfm_status read_vocabulary(reader *r, tfm_tokenizer *t, uint32_t n, tfm_error *error)
{
    const heading h = {.n_tokens = n};
    tfm_status status = check_counts(r, &h, 1, error);

    if (status == TFM_OK) status = tfm_tokenizer_reserve(t, n, 0, error);
    for (uint32_t id = 0; id < n && status == TFM_OK; id++) status = read_token(r, t, id, 0, error);
    if (status == TFM_OK && r->rest.size)
        status = tfm_fail(error, TFM_E_FORMAT, LINE "%zu bytes follow the last token", r->line, r->rest.size);
    return status == TFM_OK ? tfm_renumbered_check(t, error) : status;
}

static tfm_status read_renumbered(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    static const char *const units[] = {"tokens", "bytes"};
    reader r = {.rest = file, .plain = {.allocator = *allocator}};
    uint32_t sizes[2];

    if (!take_sizes(&r, RENUMBERED, units, sizes, error)) return TFM_E_FORMAT;
    if (sizes[1] > r.rest.size)
        return tfm_fail(error, TFM_E_FORMAT, LINE "%u bytes of SentencePiece, but only %zu follow: copy the file again",
                        r.line, sizes[1], r.rest.size);
    r.rest.size -= sizes[1];
    tfm_status status = check_characters((tfm_text){file.data, file.size - sizes[1]}, error);
    if (status == TFM_OK)
        status = read_sentencepiece(out, tfm_text_from(file, file.size - sizes[1]), allocator, error);
    if (status == TFM_OK) status = read_vocabulary(&r, *out, sizes[0], error);
    tfm_buffer_free(&r.plain);
    return status;
}

static bool begins_with(tfm_text file, const char *start)
{
    return file.size >= strlen(start) && !memcmp(file.data, start, strlen(start));
}

static tfm_status read_pair(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    static const char *const units[] = {"bytes", "bytes"};
    reader r = {.rest = file};
    uint32_t sizes[2];

    if (!take_sizes(&r, PAIR, units, sizes, error)) return TFM_E_FORMAT;
    if ((uint64_t)sizes[0] + sizes[1] != r.rest.size)
        return tfm_fail(error, TFM_E_FORMAT, LINE "%u and %u bytes, but %zu follow: copy the file again", r.line,
                        sizes[0], sizes[1], r.rest.size);
    const tfm_text source = {r.rest.data, sizes[0]}, target = tfm_text_from(r.rest, sizes[0]);
    if (begins_with(source, PAIR) || begins_with(target, PAIR))
        return tfm_fail(error, TFM_E_FORMAT, LINE "a pair has a pair in it", r.line);
    const tfm_status status = tfm_tokenizer_from_text(out, source, allocator, error);
    return status == TFM_OK ? tfm_tokenizer_from_text(&(*out)->target, target, allocator, error) : status;
}

tfm_status tfm_tokenizer_from_text(tfm_tokenizer **out, tfm_text file, const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(allocator);
    tfm_status status;

    *out = NULL;
    if (begins_with(file, PAIR)) status = read_pair(out, file, &a, error);
    else if (begins_with(file, RENUMBERED)) status = read_renumbered(out, file, &a, error);
    else if (tfm_sentencepiece_is_file(file)) status = read_sentencepiece(out, file, &a, error);
    else if (tfm_wordpiece_is_file(file)) status = read_wordpiece(out, file, &a, error);
    else if (tfm_bert_is_file(file)) status = read_bert(out, file, &a, error);
    else status = read_text(out, file, &a, error);
    if (status == TFM_OK) return TFM_OK;
    tfm_tokenizer_destroy(*out);
    *out = NULL;
    return status;
}
