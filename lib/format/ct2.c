/* Reads CTranslate2's model.bin: a name of the kind of model, then variables one after another, and their aliases. */
#include "format/tensor_file.h"

typedef struct cursor {
    const unsigned char *at;
    size_t left;
    bool bad; /* the file ended before what was read */
} cursor;

static const void *take(cursor *c, size_t size)
{
    const void *at = c->at;

    if (c->bad || size > c->left) {
        c->bad = true;
        return NULL;
    }
    c->at += size;
    c->left -= size;
    return at;
}

/* A little-endian number of 1 to 4 bytes; 0 past the end. */
static uint32_t number(cursor *c, size_t size)
{
    const unsigned char *bytes = take(c, size);
    uint32_t x = 0;

    for (size_t i = size; bytes && i--;) x = x << 8 | bytes[i];
    return x;
}

/* Its length counts the NUL that it must end with. */
static tfm_text string(cursor *c)
{
    const size_t size = number(c, 2);
    const char *data = take(c, size);

    if (data && (!size || memchr(data, '\0', size) != data + size - 1)) c->bad = true;
    return c->bad ? (tfm_text){"", 0} : (tfm_text){data, size - 1};
}

bool tfm_ct2_is(tfm_text data)
{
    cursor c = {(const unsigned char *)data.data, data.size, false};
    const uint32_t version = number(&c, 4);
    const tfm_text spec = string(&c);

    return version >= 1 && version < 256 && !c.bad && spec.size > 4 && memmem(spec.data, spec.size, "Trans", 5);
}

/* Until format 3 the size of an item tells the type. */
static bool type_of(tfm_dtype *out, uint32_t version, uint32_t id)
{
    static const tfm_dtype types[] = {TFM_F32, TFM_I8, TFM_I16, TFM_I32, TFM_F16, TFM_BF16};

    if (version < 4) *out = id == 4 ? TFM_F32 : id == 2 ? TFM_I16 : TFM_I8;
    else if (id < sizeof types / sizeof *types) *out = types[id];
    return version < 4 ? id == 4 || id == 2 || id == 1 : id < sizeof types / sizeof *types;
}

static bool variable(cursor *c, uint32_t version, tfm_tensor *t)
{
    size_t elements;

    *t = (tfm_tensor){.name = string(c).data};
    t->rank = number(c, 1);
    for (uint32_t i = 0; i < t->rank; i++) {
        const uint32_t size = number(c, 4);
        if (i < TFM_MAX_RANK) t->shape[i] = size;
    }
    const bool known = type_of(&t->dtype, version, number(c, 1));
    const uint32_t size = number(c, 4); /* bytes, before format 4 items */
    if (c->bad || !known || !tfm_tensor_count(t, &elements, &t->bytes)) return false;
    if (size != (version < 4 ? elements : t->bytes)) return false;
    t->data = take(c, t->bytes);
    return !c->bad;
}

static tfm_status read_variables(tfm_tensor_file *out, cursor *c, uint32_t version, tfm_error *error)
{
    const uint32_t n = number(c, 4);
    tfm_tensor tensor;

    if (c->bad || n > TFM_MOST_TENSORS)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: truncated, or %u variables, more than %d", out->name, n,
                        TFM_MOST_TENSORS);
    for (uint32_t i = 0; i < n; i++) {
        if (!variable(c, version, &tensor))
            return tfm_fail(error, TFM_E_FORMAT, "%.120s: variable %u is damaged or cut off", out->name, i);
        if (!tfm_tensor_file_add(out, &tensor))
            return tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory for %u variables", out->name, n);
    }
    return TFM_OK;
}

static tfm_status read_aliases(tfm_tensor_file *out, cursor *c, tfm_error *error)
{
    const uint32_t n = number(c, 4);

    for (uint32_t i = 0; i < n && !c->bad; i++) {
        const char *name = string(c).data, *of = string(c).data;
        if (!c->bad && !tfm_tensor_file_alias(out, name, of))
            return tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory for %u aliases", out->name, n);
    }
    return c->bad ? tfm_fail(error, TFM_E_FORMAT, "%.120s: its aliases are damaged or cut off", out->name) : TFM_OK;
}

tfm_status tfm_ct2_parse(tfm_tensor_file *out, tfm_ct2_header *header, tfm_text data, const char *name,
                         const tfm_allocator *allocator, tfm_error *error)
{
    cursor c = {(const unsigned char *)data.data, data.size, false};
    tfm_status status;

    *out = (tfm_tensor_file){.allocator = *allocator, .name = name};
    header->version = number(&c, 4);
    header->spec = string(&c);
    header->revision = number(&c, 4);
    if (!c.bad && (header->version < 2 || header->version > 6))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: CTranslate2's format %u is not supported, 2 to 6 are", name,
                        header->version);
    status = read_variables(out, &c, header->version, error);
    if (status == TFM_OK && header->version > 2) status = read_aliases(out, &c, error);
    if (status == TFM_OK && c.left)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: %zu bytes after the last variable", name, c.left);
    if (status == TFM_OK) status = tfm_tensor_file_sort(out, error);
    if (status != TFM_OK) tfm_tensor_file_close(out);
    return status;
}
