/* Reads JSON (RFC 8259) with no memory but that of the values, each of which either is whole or is not there. */
#include "base/json.h"

#include "base/utf8.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

enum {
    MAX_DEPTH = 16,
    MAX_NUMBER = 64,
    FREE_LISTS = 64,
    LIST_BYTES = 16, /* of text for each list more: one that is empty takes 200 of memory, 20 times what numbers take */
};

typedef struct reader {
    const char *begin, *at, *end;
    size_t flags, lists;
    int depth;
    tfm_status status;
    tfm_json_fault *fault;
} reader;

static json_t *refuse(reader *r, const char *what)
{
    r->status = TFM_E_FORMAT;
    *r->fault = (tfm_json_fault){(size_t)(r->at - r->begin), what};
    return NULL;
}

/* The value, which is NULL when there was no memory for it. */
static json_t *made(reader *r, json_t *value)
{
    if (!value) r->status = TFM_E_NOMEM;
    return value;
}

static bool starts(const reader *r, const char *text)
{
    const size_t size = strlen(text);

    return (size_t)(r->end - r->at) >= size && memcmp(r->at, text, size) == 0;
}

static bool accept(reader *r, const char *text)
{
    if (!starts(r, text)) return false;
    r->at += strlen(text);
    return true;
}

/* Bytes from here on that are among set. */
static size_t span(const reader *r, const char *set)
{
    const char *at = r->at;

    while (at < r->end && *at && strchr(set, *at)) at++;
    return (size_t)(at - r->at);
}

static void skip_space(reader *r)
{
    r->at += span(r, " \t\n\r");
}

/* -------------------------------------------------------------------------------------------------- strings ---- */

/* Bytes up to the closing quote, or SIZE_MAX. */
static size_t raw_length(const reader *r)
{
    for (const char *at = r->at; at < r->end && (unsigned char)*at >= ' '; at++) {
        if (*at == '"') return (size_t)(at - r->at);
        if (*at == '\\' && ++at == r->end) break;
    }
    return SIZE_MAX;
}

/* The four digits of a unit of UTF-16, or -1. */
static int32_t read_unit(const char *at, const char *end)
{
    int32_t unit = 0;

    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const char c = at[i], lower = (char)(c | 32);
        if (c >= '0' && c <= '9') unit = unit * 16 + c - '0';
        else if (lower >= 'a' && lower <= 'f') unit = unit * 16 + lower - 'a' + 10;
        else return -1;
    }
    return unit;
}

/* The character of \uXXXX, two of them when the first is half of a pair, and their length; -1 for halves alone. */
static int32_t read_character(const char *at, const char *end, size_t *size)
{
    const int32_t first = read_unit(at, end);

    *size = 4;
    if (first < 0 || first >> 11 != 0xd800 >> 11) return first;
    const int32_t second = end - at >= 6 && at[4] == '\\' && at[5] == 'u' ? read_unit(at + 6, end) : -1;
    if (first >= 0xdc00 || second >> 10 != 0xdc00 >> 10) return -1;
    *size = 10;
    return 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff);
}

/* UTF-8 of a character; returns its bytes. */
static size_t put_character(char *out, int32_t c)
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[n] | c);
    return n;
}

/* What an escape after its backslash stands for, written to out; *size: bytes read. Returns the bytes written, 0: no
 * escape. Never more than were read, so that out may be where the escape stood. */
static size_t unescape(char *out, const char *at, const char *end, size_t *size)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = *at ? strchr(names, *at) : NULL;
    int32_t c = -1;

    *size = 1;
    if (name) c = values[name - names];
    else if (*at == 'u') c = read_character(at + 1, end, size), ++*size;
    return c < 0 ? 0 : put_character(out, c);
}

/* Replaces escapes in place; returns the new length, or SIZE_MAX. */
static size_t unescape_all(char *text, size_t length)
{
    const char *end = text + length;
    size_t used = 0, size;

    for (const char *at = text; at < end; at += size) {
        size = 1;
        if (*at != '\\') {
            text[used++] = *at;
            continue;
        }
        const size_t n = unescape(text + used, ++at, end, &size);
        if (!n) return SIZE_MAX;
        used += n;
    }
    return used;
}

static json_t *read_string(reader *r, bool nul)
{
    if (!accept(r, "\"")) return refuse(r, "a string is missing");
    const size_t raw = raw_length(r);
    if (raw == SIZE_MAX) return refuse(r, "a string does not end");
    if (tfm_utf8_find_invalid((tfm_text){r->at, raw}) != SIZE_MAX) return refuse(r, "a string is not valid UTF-8");
    json_t *string = made(r, json_stringn_nocheck(r->at, raw));
    if (!string) return NULL;
    char *text = (char *)(uintptr_t)json_string_value(string); /* nobody else has it yet */
    const size_t length = unescape_all(text, raw);
    if (length == SIZE_MAX) refuse(r, "an escape in a string is not valid");
    else if (!nul && memchr(text, '\0', length)) refuse(r, "a string has a NUL");
    else if (length < raw && json_string_setn_nocheck(string, text, length) != 0) made(r, NULL);
    r->at += raw + 1;
    if (r->status == TFM_OK) return string;
    json_decref(string);
    return NULL;
}

/* -------------------------------------------------------------------------------------------- numbers, words ---- */

static bool is_number(const char *s, bool *whole)
{
    static const char digits[] = "0123456789";

    s += *s == '-';
    size_t n = strspn(s, digits);
    if (!n || (*s == '0' && n > 1)) return false;
    s += n;
    *whole = !*s;
    if (*s == '.') {
        n = strspn(++s, digits);
        if (!n) return false;
        s += n;
    }
    if (*s != 'e' && *s != 'E') return !*s;
    s += 1 + (s[1] == '+' || s[1] == '-');
    n = strspn(s, digits);
    return n && !s[n];
}

/* The C locale, which is there without being made. */
static double to_double(const char *text)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = c ? strtod_l(text, NULL, c) : (double)NAN;

    if (c) freelocale(c);
    return value;
}

static json_t *read_number(reader *r)
{
    char text[MAX_NUMBER];
    const size_t size = span(r, "+-.0123456789eE");
    bool whole;

    if (size >= sizeof text) return refuse(r, "a number has more than 63 characters");
    memcpy(text, r->at, size);
    text[size] = '\0';
    if (!is_number(text, &whole)) return refuse(r, size ? "a number is not valid" : "a value is missing");
    errno = 0;
    const long long integer = whole ? strtoll(text, NULL, 10) : 0;
    const double real = whole ? 0.0 : to_double(text);
    if (errno == ERANGE && (whole || isinf(real))) return refuse(r, "a number is too large");
    r->at += size;
    return made(r, whole ? json_integer(integer) : isnan(real) ? NULL : json_real(real));
}

/* ---------------------------------------------------------------------------------------------------- lists ---- */

static json_t *read_value(reader *r);

static bool read_member(reader *r, json_t *object)
{
    skip_space(r);
    json_t *name = read_string(r, false), *value = NULL;
    skip_space(r);
    if (name && json_object_get(object, json_string_value(name))) refuse(r, "duplicate name");
    else if (name && !accept(r, ":")) refuse(r, "a colon is missing");
    else if (name) value = read_value(r);
    if (value && json_object_set_new_nocheck(object, json_string_value(name), value) != 0) made(r, NULL);
    json_decref(name);
    return r->status == TFM_OK;
}

static bool read_element(reader *r, json_t *array)
{
    json_t *value = read_value(r);

    if (value && json_array_append_new(array, value) != 0) made(r, NULL);
    return r->status == TFM_OK;
}

static json_t *read_list(reader *r, bool is_object)
{
    const char *end = is_object ? "}" : "]";

    if (r->depth == MAX_DEPTH) return refuse(r, "lists are too deep inside each other");
    if (++r->lists > FREE_LISTS + (size_t)(r->end - r->begin) / LIST_BYTES)
        return refuse(r, "there are more lists than a text of this size may have");
    json_t *list = made(r, is_object ? json_object() : json_array());
    bool good = list;
    r->depth++;
    r->at++;
    skip_space(r);
    if (good && !accept(r, end)) {
        do {
            good = is_object ? read_member(r, list) : read_element(r, list);
            skip_space(r);
        } while (good && accept(r, ","));
        if (good && !accept(r, end)) refuse(r, "a list does not end");
    }
    r->depth--;
    if (r->status == TFM_OK) return list;
    json_decref(list);
    return NULL;
}

static json_t *read_value(reader *r)
{
    skip_space(r);
    if (starts(r, "{") || starts(r, "[")) return read_list(r, *r->at == '{');
    if (starts(r, "\"")) return read_string(r, r->flags & JSON_ALLOW_NUL);
    if (accept(r, "true")) return json_true();
    if (accept(r, "false")) return json_false();
    if (accept(r, "null")) return json_null();
    return read_number(r);
}

tfm_status tfm_json_read(json_t **out, tfm_text text, size_t flags, tfm_json_fault *fault)
{
    const char *begin = text.size ? text.data : "";
    reader r = {.begin = begin, .at = begin, .end = begin + text.size, .flags = flags, .fault = fault};

    *fault = (tfm_json_fault){0};
    skip_space(&r);
    if (!(flags & JSON_DECODE_ANY) && !starts(&r, "{") && !starts(&r, "[")) refuse(&r, "it is no list");
    *out = r.status == TFM_OK ? read_value(&r) : NULL;
    skip_space(&r);
    if (!*out || r.at == r.end) return r.status;
    json_decref(*out);
    *out = NULL;
    refuse(&r, "more text follows");
    return r.status;
}
