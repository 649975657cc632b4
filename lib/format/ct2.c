/* Reads CTranslate2's model.bin, version 2: a name of the kind of model, then variables one after another. */
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

/* Numbers of one type: its size tells which. */
static bool variable(cursor *c, tfm_tensor *t)
{
    size_t elements;

    *t = (tfm_tensor){.name = string(c).data, .rank = number(c, 1)};
    for (uint32_t i = 0; i < t->rank; i++) {
        const uint32_t size = number(c, 4);
        if (i < TFM_MAX_RANK) t->shape[i] = size;
    }
    const uint32_t size = number(c, 1), count = number(c, 4);
    t->dtype = size == 4 ? TFM_F32 : size == 2 ? TFM_I16 : TFM_I8;
    if (c->bad || (size != 4 && size != 2 && size != 1)) return false;
    if (!tfm_tensor_count(t, &elements, &t->bytes) || elements != count) return false;
    t->data = take(c, t->bytes);
    return !c->bad;
}

tfm_status tfm_ct2_parse(tfm_tensor_file *out, tfm_text *spec, uint32_t *revision, tfm_text data, const char *name,
                         const tfm_allocator *allocator, tfm_error *error)
{
    cursor c = {(const unsigned char *)data.data, data.size, false};
    tfm_status status = TFM_OK;
    tfm_tensor tensor;

    *out = (tfm_tensor_file){.allocator = *allocator, .name = name};
    const uint32_t version = number(&c, 4);
    *spec = string(&c);
    *revision = number(&c, 4);
    const uint32_t n = number(&c, 4);
    if (!c.bad && version != 2)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: CTranslate2's format %u is not supported, 2 is", name,
                        version);
    if (c.bad || n > TFM_MOST_TENSORS)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: truncated, or %u variables, more than %d", name, n,
                          TFM_MOST_TENSORS);
    for (uint32_t i = 0; i < n && status == TFM_OK; i++) {
        if (!variable(&c, &tensor))
            status = tfm_fail(error, TFM_E_FORMAT, "%.120s: variable %u is damaged or cut off", name, i);
        else if (!tfm_tensor_file_add(out, &tensor))
            status = tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory for %u variables", name, n);
    }
    if (status == TFM_OK && c.left)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: %zu bytes after the last variable", name, c.left);
    if (status != TFM_OK) tfm_tensor_file_close(out);
    return status;
}
