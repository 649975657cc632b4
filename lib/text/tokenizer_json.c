/* A tokenizer as JSON: the form in which it is saved, and in which a model file carries it. */
#include "text/tokenizer.h"

#include <jansson.h>

enum { VERSION = 1 };

static const char *const dialects[] = {[TFM_TOKENIZER_BPE] = "reversible", [TFM_TOKENIZER_SUBWORD_NMT] = "subword-nmt"};

enum { DIALECTS = sizeof dialects / sizeof *dialects };

/* -------------------------------------------------------------------------------------------------- writing ---- */

static bool append_string(json_t *list, tfm_text text)
{
    return json_array_append_new(list, json_stringn(text.data, text.size)) == 0;
}

static bool append_tokens(json_t *list, const tfm_tokenizer *t)
{
    for (uint32_t id = 0; id < t->vocab.n; id++)
        if (!append_string(list, tfm_vocab_text(&t->vocab, id))) return false;
    return true;
}

/* No piece has a space, so that one space separates the parts. */
static bool append_merges(json_t *list, const tfm_tokenizer *t)
{
    const tfm_vocab *pieces = tfm_tokenizer_pieces(t);
    tfm_buffer merge = {.allocator = t->allocator};
    bool good = true;

    for (size_t i = 0; good && i < t->bpe.n; i++) {
        const tfm_text left = tfm_vocab_text(pieces, t->bpe.merges[i].left);
        const tfm_text right = tfm_vocab_text(pieces, t->bpe.merges[i].right);
        merge.size = 0;
        tfm_buffer_append(&merge, left.data, left.size);
        tfm_buffer_append(&merge, " ", 1);
        tfm_buffer_append(&merge, right.data, right.size);
        good = !merge.bad && append_string(list, (tfm_text){merge.data, merge.size});
    }
    tfm_buffer_free(&merge);
    return good;
}

static int append_bytes(const char *bytes, size_t size, void *out)
{
    tfm_buffer_append(out, bytes, size);
    return ((tfm_buffer *)out)->bad ? -1 : 0;
}

tfm_status tfm_tokenizer_to_json(const tfm_tokenizer *tokenizer, tfm_buffer *out, tfm_error *error)
{
    json_t *vocabulary = json_array(), *merges = json_array();
    const bool good = vocabulary && merges && append_tokens(vocabulary, tokenizer) && append_merges(merges, tokenizer);
    json_t *root = good ? json_pack("{s:s, s:i, s:s, s:O, s:O}", "type", "bpe", "version", VERSION, "dialect",
                                    dialects[tokenizer->kind], "vocabulary", vocabulary, "merges", merges)
                        : NULL;
    const bool written = root && json_dump_callback(root, append_bytes, out, JSON_COMPACT) == 0;

    json_decref(vocabulary);
    json_decref(merges);
    json_decref(root);
    if (written) return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory to write a tokenizer of %u tokens", tokenizer->vocab.n);
}

/* -------------------------------------------------------------------------------------------------- reading ---- */

/* The text of a string; {NULL, 0} for anything else. */
static tfm_text text_of(const json_t *value)
{
    return json_is_string(value) ? (tfm_text){json_string_value(value), json_string_length(value)} : (tfm_text){0};
}

static tfm_status read_dialect(uint32_t *dialect, const json_t *root, tfm_error *error)
{
    const tfm_text type = text_of(json_object_get(root, "type"));
    const tfm_text name = text_of(json_object_get(root, "dialect"));
    const json_t *version = json_object_get(root, "version");

    if (!type.data || !name.data || !json_is_integer(version))
        return tfm_fail(error, TFM_E_FORMAT, "not a tokenizer: JSON without type, version and dialect");
    if (!tfm_text_equal(type, tfm_text_of("bpe")))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "tokenizer of type \"%.40s\", only \"bpe\" is known", type.data);
    if (json_integer_value(version) != VERSION)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "tokenizer of version %" JSON_INTEGER_FORMAT ", only %d is known",
                        json_integer_value(version), VERSION);
    for (*dialect = 0; *dialect < DIALECTS; ++*dialect)
        if (tfm_text_equal(name, tfm_text_of(dialects[*dialect]))) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED, "tokenizer of dialect \"%.40s\" is not known", name.data);
}

/* The first tokens are given by the dialect. */
static tfm_status read_vocabulary(tfm_tokenizer *t, const json_t *list, tfm_error *error)
{
    const uint32_t fixed = t->vocab.n;

    if (!json_is_array(list) || json_array_size(list) < fixed)
        return tfm_fail(error, TFM_E_FORMAT, "vocabulary has %zu tokens, at least %u are needed", json_array_size(list),
                        fixed);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const tfm_text token = text_of(json_array_get(list, i));
        if (!token.data) return tfm_fail(error, TFM_E_FORMAT, "token %zu of the vocabulary is not a string", i);
        if (i >= fixed) {
            const tfm_status status = tfm_tokenizer_add_token(t, token, error);
            if (status != TFM_OK) return status;
        } else if (!tfm_text_equal(token, tfm_vocab_text(&t->vocab, (uint32_t)i))) {
            const tfm_text wanted = tfm_vocab_text(&t->vocab, (uint32_t)i);
            return tfm_fail(error, TFM_E_FORMAT, "token %zu of the vocabulary is not %.*s", i, (int)wanted.size,
                            wanted.data);
        }
    }
    return TFM_OK;
}

static tfm_status read_merges(tfm_tokenizer *t, const json_t *list, tfm_error *error)
{
    if (!json_is_array(list)) return tfm_fail(error, TFM_E_FORMAT, "tokenizer has no list of merges");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const tfm_text merge = text_of(json_array_get(list, i));
        const char *space = merge.size ? memchr(merge.data, ' ', merge.size) : NULL;
        const size_t size = space ? (size_t)(space - merge.data) : 0;
        if (!size || size + 1 == merge.size || memchr(space + 1, ' ', merge.size - size - 1))
            return tfm_fail(error, TFM_E_FORMAT, "merge %zu is not two pieces with a space between", i + 1);
        const tfm_status status =
            tfm_tokenizer_add_merge(t, (tfm_text){merge.data, size}, tfm_text_from(merge, size + 1), error);
        if (status != TFM_OK) return status;
    }
    return TFM_OK;
}

static tfm_status read_root(tfm_tokenizer **out, const json_t *root, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_tokenizer *t = NULL;
    uint32_t dialect;

    tfm_status status = read_dialect(&dialect, root, error);
    if (status == TFM_OK) status = tfm_tokenizer_new(&t, dialect, allocator, error);
    if (status == TFM_OK) status = read_vocabulary(t, json_object_get(root, "vocabulary"), error);
    if (status == TFM_OK) status = read_merges(t, json_object_get(root, "merges"), error);
    if (status != TFM_OK) {
        tfm_tokenizer_destroy(t);
        t = NULL;
    }
    *out = t;
    return status;
}

tfm_status tfm_tokenizer_from_json(tfm_tokenizer **out, tfm_text json, const tfm_allocator *allocator, tfm_error *error)
{
    json_error_t where;
    json_t *root = json_loadb(json.data ? json.data : "", json.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);

    *out = NULL;
    if (!root && json_error_code(&where) == json_error_out_of_memory)
        return tfm_fail(error, TFM_E_NOMEM, "no memory to read a tokenizer of %zu bytes", json.size);
    if (!root)
        return tfm_fail(error, TFM_E_FORMAT, "not a tokenizer: JSON error in line %d, column %d: %s", where.line,
                        where.column, where.text);
    const tfm_status status = read_root(out, root, allocator, error);
    json_decref(root);
    return status;
}
