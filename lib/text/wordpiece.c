/* Cutting and joining by the rules of tensor2tensor, and its vocabulary files. */
#include "text/wordpiece.h"

#include "text/words.h"

#include <stdio.h>

static const tfm_text nothing;

static size_t character(tfm_text text)
{
    uint32_t code;
    const int size = tfm_utf8_read(text, &code);

    return size > 0 ? (size_t)size : 1;
}

/* ------------------------------------------------------------------------------------------- text to tokens ----- */

static uint32_t find(const tfm_wordpiece *w, tfm_text text)
{
    const uint32_t id = tfm_vocab_find(w->vocab, text, nothing);

    return id < w->first ? TFM_VOCAB_NONE : id;
}

enum { SPELT = 16 }; /* bytes: "\1114111;" and more */

static tfm_text spell(char spelt[static SPELT], uint32_t code)
{
    return (tfm_text){spelt, (size_t)snprintf(spelt, SPELT, "\\%u;", code)};
}

static bool is_known(const tfm_wordpiece *w, tfm_text c)
{
    return find(w, c) != TFM_VOCAB_NONE || (w->inside && tfm_vocab_find(w->inside, c, nothing) != TFM_VOCAB_NONE);
}

/* A character that is in no token is spelt by its code. */
static void escape(const tfm_wordpiece *w, tfm_text word, tfm_buffer *out)
{
    const bool has_u = !w->inside || find(w, tfm_text_of("u")) != TFM_VOCAB_NONE;
    char spelt[SPELT];

    while (word.size) {
        uint32_t code = 0;
        tfm_text c = {word.data, character(word)};
        tfm_utf8_read(word, &code);
        word = tfm_text_from(word, c.size);
        if (code == '\\') c = tfm_text_of("\\\\");
        else if (code == '_' && has_u) c = tfm_text_of("\\u");
        else if (code == '_' || code == '\n' || !is_known(w, c)) c = spell(spelt, code);
        tfm_buffer_append(out, c.data, c.size);
    }
    tfm_buffer_append(out, "_", 1);
}

/* The longest token that the text begins with, or TFM_VOCAB_NONE. */
static uint32_t longest_token(const tfm_wordpiece *w, tfm_text text, size_t *size)
{
    for (*size = w->longest; *size; --*size) {
        const uint32_t id = tfm_vocab_longest(w->vocab, text, size);
        if (id == TFM_VOCAB_NONE || id >= w->first) return id;
    }
    return TFM_VOCAB_NONE;
}

/* The first character of a text that no token fits: characters of its code, which are tokens. */
static size_t take_character(const tfm_wordpiece *w, tfm_text text, tfm_token_fn take, void *user)
{
    const size_t size = character(text);
    char spelt[SPELT];
    uint32_t code = 0;

    tfm_utf8_read(text, &code);
    if (!w->inside) take(user, &(tfm_token){.id = TFM_VOCAB_NONE, .text = {text.data, size}});
    for (tfm_text rest = w->inside ? spell(spelt, code) : nothing; rest.size; rest = tfm_text_from(rest, 1))
        take(user, &(tfm_token){.id = find(w, (tfm_text){rest.data, 1}), .text = {rest.data, 1}});
    return size;
}

tfm_status tfm_wordpiece_cut(const tfm_wordpiece *w, tfm_text word, tfm_token_fn take, void *user, tfm_error *error)
{
    tfm_buffer escaped = {.allocator = w->vocab->allocator};

    escape(w, word, &escaped);
    tfm_text rest = {escaped.data, escaped.size};
    const bool bad = escaped.bad;
    while (!bad && rest.size) {
        size_t size;
        const uint32_t id = longest_token(w, rest, &size);
        if (id == TFM_VOCAB_NONE) size = take_character(w, rest, take, user);
        else take(user, &(tfm_token){.id = id, .text = {rest.data, size}});
        rest = tfm_text_from(rest, size);
    }
    tfm_buffer_free(&escaped);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "no memory for a word of %zu bytes", word.size) : TFM_OK;
}

/* ------------------------------------------------------------------------------------------- tokens to text ----- */

static void append_code(tfm_buffer *out, uint32_t code)
{
    const bool valid = code < 0xD800 || (code > 0xDFFF && code < 0x110000);
    const unsigned lead[] = {0x00, 0xC0, 0xE0, 0xF0};
    char bytes[4];

    if (!valid) code = 0x3013; /* as tensor2tensor has it */
    const size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    for (size_t i = more; i; i--, code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
    bytes[0] = (char)(lead[more] | code);
    tfm_buffer_append(out, bytes, more + 1);
}

/* The bytes of an escape that the text begins with, whose character is appended; 0 when there is none. */
static size_t unescape_one(tfm_text text, tfm_buffer *out)
{
    uint32_t code = 0;
    size_t i = 1;

    if (text.size < 2 || *text.data != '\\') return 0;
    if (text.data[1] == 'u' || text.data[1] == '\\') {
        tfm_buffer_append(out, text.data[1] == 'u' ? "_" : "\\", 1);
        return 2;
    }
    for (; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        code = code > 0x110000 ? code : 10 * code + (uint32_t)(text.data[i] - '0');
    if (i == 1 || i == text.size || text.data[i] != ';') return 0;
    append_code(out, code);
    return i + 1;
}

/* Appends a word, with a space before it when it and the one before both begin with letters or digits. */
static void append_word(tfm_buffer *out, tfm_text escaped, bool *after_word)
{
    const size_t start = out->size;

    tfm_buffer_append(out, " ", 1);
    while (escaped.size) {
        const size_t size = unescape_one(escaped, out);
        if (!size) tfm_buffer_append(out, escaped.data, 1);
        escaped = tfm_text_from(escaped, size ? size : 1);
    }
    if (out->bad) return;
    const tfm_text word = {out->data + start + 1, out->size - start - 1};
    const bool is_word = tfm_words_is_alphanumeric(word), spaced = is_word && *after_word;
    *after_word = is_word;
    if (spaced) return;
    memmove(out->data + start, out->data + start + 1, word.size);
    out->size--;
}

void tfm_wordpiece_join(const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_buffer *out)
{
    tfm_buffer all = {.allocator = tokenizer->allocator};
    bool after_word = false;

    for (size_t i = 0; i < ids.size; i++) {
        const tfm_text token = tfm_vocab_text(&tokenizer->vocab, (uint32_t)ids.data[i]);
        if (ids.data[i] != TFM_PAD && ids.data[i] != TFM_EOS) tfm_buffer_append(&all, token.data, token.size);
    }
    for (tfm_text rest = {all.data, all.size}; rest.size;) {
        const char *end = memchr(rest.data, '_', rest.size);
        const tfm_text word = {rest.data, end ? (size_t)(end - rest.data) : rest.size};
        if (word.size) append_word(out, word, &after_word);
        rest = tfm_text_from(rest, word.size + (end != NULL));
    }
    out->bad |= all.bad;
    tfm_buffer_free(&all);
}

/* --------------------------------------------------------------------------------------------- its files -------- */

tfm_wordpiece tfm_wordpiece_of(const tfm_tokenizer *tokenizer)
{
    return (tfm_wordpiece){&tokenizer->vocab, &tokenizer->pieces, tokenizer->longest, TFM_EOS + 1};
}

tfm_status tfm_wordpiece_check(tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_wordpiece w = tfm_wordpiece_of(tokenizer);
    uint32_t added;

    for (const char *c = "\\_;0123456789"; *c; c++)
        if (find(&w, (tfm_text){c, 1}) == TFM_VOCAB_NONE)
            return tfm_fail(error, TFM_E_FORMAT, "the character %c is not a token: some text could not be cut", *c);
    for (uint32_t id = 0; id < w.vocab->n; id++)
        for (tfm_text rest = tfm_vocab_text(w.vocab, id), c; rest.size; rest = tfm_text_from(rest, c.size)) {
            c = (tfm_text){rest.data, character(rest)};
            if (find(&w, c) == TFM_VOCAB_NONE && !tfm_vocab_add(&tokenizer->pieces, c, nothing, &added))
                return tfm_fail(error, TFM_E_NOMEM, "no memory for the characters of token %u", id);
        }
    return TFM_OK;
}

bool tfm_wordpiece_is_file(tfm_text file)
{
    return file.size > 2 && (*file.data == '\'' || *file.data == '"');
}

tfm_status tfm_wordpiece_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error)
{
    const size_t invalid = tfm_utf8_find_invalid(file);
    tfm_status status = TFM_OK;
    tfm_error inner = {0};

    if (invalid != SIZE_MAX) return tfm_fail(error, TFM_E_FORMAT, "vocabulary: not UTF-8 at byte %zu", invalid);
    for (size_t number = 1; status == TFM_OK && file.size; number++) {
        const tfm_text line = tfm_text_take_line(&file);
        if (line.size < 3 || line.data[0] != line.data[line.size - 1] || !tfm_wordpiece_is_file(line))
            return tfm_fail(error, TFM_E_FORMAT, "vocabulary, line %zu: no token in quotes", number);
        status = tfm_tokenizer_add_token(tokenizer, (tfm_text){line.data + 1, line.size - 2}, &inner);
        if (status != TFM_OK) tfm_fail(error, status, "vocabulary, line %zu: %s", number, inner.message);
    }
    return status;
}

tfm_status tfm_wordpiece_write(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error)
{
    const tfm_vocab *vocab = &tokenizer->vocab;

    for (uint32_t id = 0; id < vocab->n; id++) {
        const tfm_text token = tfm_vocab_text(vocab, id);
        if (memchr(token.data, '\n', token.size))
            return tfm_fail(error, TFM_E_UNSUPPORTED, "token %u has a line break, which such a file cannot hold", id);
        tfm_buffer_append(out, "'", 1);
        tfm_buffer_append(out, token.data, token.size);
        tfm_buffer_append(out, "'\n", 2);
    }
    return out->bad ? tfm_fail(error, TFM_E_NOMEM, "no memory to write %u tokens", vocab->n) : TFM_OK;
}
