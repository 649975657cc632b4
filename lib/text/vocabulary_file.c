/* Reads what YAML and JSON have in common of a map from strings to numbers, a line or a comma after each. */
#include "text/vocabulary_file.h"

#include <utf8proc.h>

typedef struct entry {
    size_t end; /* of the piece among the others: it begins where the one before ends */
    uint32_t id;
} entry;

typedef struct reader {
    tfm_text file, rest;
    tfm_buffer pieces; /* end to end, without quotes and escapes */
    entry *entries;    /* [n] in the order of the file */
    size_t n, capacity;
    tfm_error *error;
} reader;

/* ------------------------------------------------------------------------------------------------- scanning ---- */

static size_t line_of(const reader *r)
{
    size_t line = 1;

    for (const char *at = r->file.data; at < r->rest.data; at++) line += *at == '\n';
    return line;
}

static tfm_status broken(const reader *r, const char *what)
{
    return tfm_fail(r->error, TFM_E_FORMAT, "line %zu: %s", line_of(r), what);
}

static tfm_status no_memory(const reader *r)
{
    return tfm_fail(r->error, TFM_E_NOMEM, "no memory for a vocabulary of %zu bytes", r->file.size);
}

static bool take(reader *r, char c)
{
    if (!r->rest.size || *r->rest.data != c) return false;
    r->rest = tfm_text_from(r->rest, 1);
    return true;
}

static void skip(reader *r, const char *any)
{
    while (r->rest.size && *r->rest.data && strchr(any, *r->rest.data)) r->rest = tfm_text_from(r->rest, 1);
}

static bool take_hex(reader *r, int digits, uint32_t *code)
{
    for (*code = 0; digits; digits--, r->rest = tfm_text_from(r->rest, 1)) {
        const char c = r->rest.size ? *r->rest.data : '\0', lower = (char)(c | 0x20);
        const bool letter = lower >= 'a' && lower <= 'f';
        if (!letter && !(c >= '0' && c <= '9')) return false;
        *code = *code << 4 | (uint32_t)(letter ? lower - 'a' + 10 : c - '0');
    }
    return true;
}

/* The second half of a character that JSON writes as two, as \uD83D\uDE00. */
static bool take_low_surrogate(reader *r, uint32_t *code)
{
    uint32_t low;

    if (!take(r, '\\') || !take(r, 'u') || !take_hex(r, 4, &low) || low < 0xDC00 || low > 0xDFFF) return false;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* What follows a backslash between double quotes. */
static bool take_escape(reader *r)
{
    static const char names[] = "\"\\/ 0abtnvfre_NLP";
    static const uint16_t values[] = {'"',  '\\', '/',  ' ',  '\0', '\a', '\b',   '\t',
                                      '\n', '\v', '\f', '\r', 0x1B, 0xA0, 0x85, 0x2028, 0x2029};
    const char c = r->rest.size ? *r->rest.data : '\0', *name = c ? strchr(names, c) : NULL;
    uint32_t code = name ? values[name - names] : 0;
    utf8proc_uint8_t bytes[4];

    r->rest = tfm_text_from(r->rest, r->rest.size > 0);
    if (!name && c != 'x' && c != 'u' && c != 'U') return false;
    if (!name && !take_hex(r, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code)) return false;
    if (code >= 0xD800 && code <= 0xDBFF && !take_low_surrogate(r, &code)) return false;
    if (!utf8proc_codepoint_valid((utf8proc_int32_t)code)) return false;
    tfm_buffer_append(&r->pieces, bytes, (size_t)utf8proc_encode_char((utf8proc_int32_t)code, bytes));
    return true;
}

/* A key in quotes, of which the first is taken; between single ones two are one. */
static tfm_status take_quoted(reader *r, char quote)
{
    while (r->rest.size && *r->rest.data != '\n') {
        const char c = *r->rest.data;
        r->rest = tfm_text_from(r->rest, 1);
        if (c == quote && (quote == '"' || !take(r, quote))) return TFM_OK;
        if (c != '\\' || quote == '\'') tfm_buffer_append(&r->pieces, &c, 1);
        else if (!take_escape(r)) return broken(r, "an escape is not one of YAML or JSON");
    }
    return broken(r, "a quotation mark is not closed");
}

/* A key without quotes ends before the last colon of its line. */
static tfm_status take_plain(reader *r)
{
    const tfm_text line = {r->rest.data, tfm_text_take_line(&(tfm_text){r->rest.data, r->rest.size}).size};
    size_t size = line.size;

    while (size && line.data[size - 1] != ':') size--;
    if (!size) return broken(r, "is not \"piece: id\"");
    r->rest = tfm_text_from(r->rest, --size);
    while (size && line.data[size - 1] == ' ') size--;
    tfm_buffer_append(&r->pieces, line.data, size);
    return TFM_OK;
}

static tfm_status take_id(reader *r, uint32_t *id)
{
    const char *start = r->rest.data;

    for (*id = 0; r->rest.size && *r->rest.data >= '0' && *r->rest.data <= '9'; r->rest = tfm_text_from(r->rest, 1)) {
        *id = 10 * *id + (uint32_t)(*r->rest.data - '0');
        if (*id >= TFM_TOKENIZER_MAX_VOCAB) return broken(r, "an id is not below 16777216");
    }
    return r->rest.data > start ? TFM_OK : broken(r, "no id from 0 on follows a piece and its colon");
}

static tfm_status take_entry(reader *r, bool json)
{
    const char quote = r->rest.size ? *r->rest.data : '\0';
    tfm_status status;
    entry e;

    if (quote == '"' || (quote == '\'' && !json)) {
        r->rest = tfm_text_from(r->rest, 1);
        status = take_quoted(r, quote);
    } else status = json ? broken(r, "a piece is not between quotation marks") : take_plain(r);
    if (status != TFM_OK) return status;
    skip(r, json ? " \t\r\n" : " ");
    if (!take(r, ':')) return broken(r, "no colon follows a piece");
    skip(r, json ? " \t\r\n" : " ");
    status = take_id(r, &e.id);
    if (status != TFM_OK) return status;
    e.end = r->pieces.size;
    if (r->pieces.bad ||
        !tfm_grow(&r->pieces.allocator, &r->entries, &r->capacity, r->n + 1, sizeof *r->entries))
        return no_memory(r);
    r->entries[r->n++] = e;
    return TFM_OK;
}

static tfm_status read_json(reader *r)
{
    tfm_status status = TFM_OK;
    bool more = true;

    skip(r, " \t\r\n");
    if (take(r, '}')) more = false;
    while (status == TFM_OK && more) {
        skip(r, " \t\r\n");
        status = take_entry(r, true);
        skip(r, " \t\r\n");
        more = take(r, ',');
        if (status == TFM_OK && !more && !take(r, '}')) status = broken(r, "neither a comma nor } follows an id");
    }
    skip(r, " \t\r\n");
    return status == TFM_OK && r->rest.size ? broken(r, "something follows the }") : status;
}

static tfm_status read_lines(reader *r)
{
    const size_t mark = 3; /* "---" begins a document */
    tfm_status status = TFM_OK;

    if (r->rest.size > mark && !memcmp(r->rest.data, "---", mark) && memchr("\r\n", r->rest.data[mark], 2))
        r->rest = tfm_text_from(r->rest, mark);
    while (status == TFM_OK) {
        skip(r, " \r\n");
        if (!r->rest.size) return TFM_OK;
        if (*r->rest.data == '#') {
            tfm_text_take_line(&r->rest);
            continue;
        }
        if (r->rest.size > 1 && !memcmp(r->rest.data, "- ", 2)) r->rest = tfm_text_from(r->rest, 2);
        status = take_entry(r, false);
        skip(r, " \r");
        if (status == TFM_OK && r->rest.size && *r->rest.data != '\n') status = broken(r, "something follows an id");
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- the ids ---- */

static tfm_text piece_of(const reader *r, size_t i)
{
    return tfm_buffer_part(&r->pieces, i ? r->entries[i - 1].end : 0, r->entries[i].end);
}

static int shown(tfm_text piece)
{
    return (int)(piece.size < 40 ? piece.size : 40);
}

/* at [n] receives the entry of each id. */
static tfm_status order(const reader *r, size_t *at)
{
    for (size_t i = 0; i < r->n; i++) at[i] = SIZE_MAX;
    for (size_t i = 0; i < r->n; i++) {
        const uint32_t id = r->entries[i].id;
        const tfm_text piece = piece_of(r, i);
        if (id >= r->n)
            return tfm_fail(r->error, TFM_E_FORMAT, "the id of '%.*s' is %u, but its %zu pieces have the ids 0..%zu",
                            shown(piece), piece.data, id, r->n, r->n - 1);
        if (at[id] != SIZE_MAX) {
            const tfm_text other = piece_of(r, at[id]);
            return tfm_fail(r->error, TFM_E_FORMAT, "both '%.*s' and '%.*s' have the id %u", shown(other), other.data,
                            shown(piece), piece.data, id);
        }
        at[id] = i;
    }
    return TFM_OK;
}

static tfm_status add_pieces(const reader *r, tfm_tokenizer *t)
{
    size_t *at = tfm_alloc(&t->allocator, r->n, sizeof *at);
    tfm_status status = at ? order(r, at) : no_memory(r);

    if (status == TFM_OK) status = tfm_tokenizer_reserve(t, (uint32_t)r->n, 0, r->error);
    for (size_t id = 0; id < r->n && status == TFM_OK; id++)
        status = tfm_tokenizer_add_token(t, piece_of(r, at[id]), r->error);
    tfm_free(&t->allocator, at, r->n, sizeof *at);
    return status;
}

tfm_status tfm_vocabulary_read(tfm_tokenizer *tokenizer, tfm_text file, tfm_error *error)
{
    reader r = {.file = file, .rest = file, .pieces = {.allocator = tokenizer->allocator}, .error = error};
    const size_t invalid = tfm_utf8_find_invalid(file);
    tfm_status status;

    if (invalid != SIZE_MAX) return tfm_fail(error, TFM_E_FORMAT, "not UTF-8 at byte %zu", invalid);
    skip(&r, " \t\r\n");
    status = take(&r, '{') ? read_json(&r) : read_lines(&r);
    if (status == TFM_OK && !r.n) status = tfm_fail(error, TFM_E_FORMAT, "there is no piece in it");
    if (status == TFM_OK) status = add_pieces(&r, tokenizer);
    tfm_free(&tokenizer->allocator, r.entries, r.capacity, sizeof *r.entries);
    tfm_buffer_free(&r.pieces);
    return status;
}
