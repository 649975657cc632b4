/* Reads NumPy's .npz: a ZIP archive whose entries NAME.npy are arrays. */
#include "format/tensor_file.h"
#include "format/zip.h"

#include <ctype.h>
#include <zlib.h>

enum {
    MAGIC = 6,
    MOST_START = 12, /* bytes before the header */
    MOST_HEADER = 4096,
    MOST_TIMES = 24 /* bytes for each of the file that unpacking it may cost; arrays of weights hardly shrink */
};

bool tfm_npz_is(tfm_text data)
{
    return data.size >= 4 && !memcmp(data.data, "PK\3\4", 4);
}

/* What follows a key of the header's dictionary, without spaces; NULL: the key is missing. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);

    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, " ");
}

static bool read_dtype(tfm_dtype *out, const char *at)
{
    static const struct {
        const char *numpy;
        tfm_dtype dtype;
    } types[] = {{"f4", TFM_F32}, {"f2", TFM_F16}, {"f8", TFM_F64}, {"i1", TFM_I8},
                 {"u1", TFM_U8},  {"i2", TFM_I16}, {"i4", TFM_I32}, {"i8", TFM_I64}};

    if (!at || (at[0] != '\'' && at[0] != '"') || !at[1] || !strchr("<|=", at[1])) return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strncmp(at + 2, types[i].numpy, 2)) return *out = types[i].dtype, true;
    return false;
}

/* "(2, 3)", "(7,)" or "()". */
static bool read_shape(tfm_tensor *t, const char *at)
{
    if (!at || *at++ != '(') return false;
    for (; t->rank <= TFM_MAX_RANK; t->rank++) {
        uint64_t x = 0;
        at += strspn(at, " ,");
        if (*at == ')') return true;
        if (!isdigit((unsigned char)*at) || t->rank == TFM_MAX_RANK) return false;
        for (; isdigit((unsigned char)*at); at++) {
            if (x > UINT32_MAX) return false;
            x = 10 * x + (uint64_t)(*at - '0');
        }
        t->shape[t->rank] = x;
    }
    return false;
}

/* An array: magic, version, length of the header, header, numbers. Nothing may follow them. The numbers are not read:
 * of size bytes data has MOST_START + MOST_HEADER at least. */
static tfm_status read_array(tfm_tensor *t, const char *data, size_t size, const char *name, tfm_error *error)
{
    char header[MOST_HEADER + 1];
    const unsigned char *bytes = (const unsigned char *)data;
    size_t n = 0, elements;

    if (size < MOST_START || memcmp(data, "\x93NUMPY", MAGIC))
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: %.80s is no NumPy array", name, t->name);
    const size_t start = bytes[MAGIC] == 1 ? 10 : 12;
    for (size_t i = start; i-- > 8;) n = n << 8 | bytes[i];
    if (n > MOST_HEADER || n > size - start)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: %.80s has a header of %zu bytes", name, t->name, n);
    memcpy(header, data + start, n);
    header[n] = '\0';
    const char *order = value_of(header, "'fortran_order':");
    if (!read_dtype(&t->dtype, value_of(header, "'descr':")) || !order || strncmp(order, "False", 5))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: the type or order of %.80s is not supported: %.60s", name,
                        t->name, header[0] ? "its header is of another kind" : "it has no header");
    if (!read_shape(t, value_of(header, "'shape':")) || !tfm_tensor_count(t, &elements, &t->bytes) ||
        t->bytes != size - start - n)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: the shape of %.80s does not fit its %zu bytes", name, t->name,
                        size - start - n);
    t->data = data + start + n;
    return TFM_OK;
}

/* What an entry would unpack to, by its beginning, costs no more memory than a file of this size may. */
static tfm_status check_cost(tfm_tensor_file *f, const tfm_zip *zip, const tfm_zip_entry *e, const char *name,
                             tfm_error *error)
{
    char start[MOST_START + MOST_HEADER];
    tfm_tensor t = {.name = name};
    tfm_status status = tfm_zip_inflate(zip, e, start, e->size < sizeof start ? e->size : sizeof start, error);

    if (status == TFM_OK) status = read_array(&t, start, e->size, f->name, error);
    if (status != TFM_OK) return status;
    f->inflated_cost += e->size + t.bytes / tfm_dtype_size(t.dtype) * sizeof(float);
    if (f->inflated_cost / MOST_TIMES <= zip->data.size) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "%.120s: unpacking %.80s would take more than %d times the bytes of the file",
                    f->name, name, MOST_TIMES);
}

/* What a deflated entry unpacks to: a buffer that the file keeps. */
static tfm_status unpack(tfm_tensor_file *f, const tfm_zip *zip, const tfm_zip_entry *e, const char **data,
                         tfm_error *error)
{
    if (!tfm_grow(&f->allocator, &f->inflated, &f->inflated_capacity, f->n_inflated + 1, sizeof *f->inflated))
        return tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory", f->name);
    tfm_inflated *to = &f->inflated[f->n_inflated];
    *to = (tfm_inflated){tfm_alloc_unset(&f->allocator, e->size, 1), e->size};
    if (!to->data) return tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory to unpack %zu bytes", f->name, e->size);
    f->n_inflated++;
    *data = to->data;
    return tfm_zip_inflate(zip, e, to->data, e->size, error);
}

static tfm_status read_entry(tfm_tensor_file *f, const tfm_zip *zip, const tfm_zip_entry *e, const char *name,
                             bool verify, tfm_error *error)
{
    tfm_tensor tensor = {.name = name};
    const char *data = e->data;
    tfm_status status = e->deflated ? check_cost(f, zip, e, name, error) : TFM_OK;

    if (status == TFM_OK && e->deflated) status = unpack(f, zip, e, &data, error);
    if (status == TFM_OK && verify && crc32_z(0, (const Bytef *)data, e->size) != e->crc)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: %.80s is damaged: its CRC-32 is not %08x; copy it again",
                          f->name, name, e->crc);
    if (status == TFM_OK) status = read_array(&tensor, data, e->size, f->name, error);
    if (status == TFM_OK && !tfm_tensor_file_add(f, &tensor))
        status = tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory", f->name);
    return status;
}

static bool is_array(const tfm_zip_entry *e)
{
    return e->name.size > 4 && !memcmp(e->name.data + e->name.size - 4, ".npy", 4) &&
           !memchr(e->name.data, '\0', e->name.size);
}

/* Names of the arrays, one after another, each with a NUL. */
static tfm_status read_names(tfm_tensor_file *f, tfm_zip zip, tfm_error *error)
{
    tfm_status status = TFM_OK;
    tfm_zip_entry e;

    while (zip.left && status == TFM_OK) {
        status = tfm_zip_next(&zip, &e, error);
        if (status != TFM_OK || !is_array(&e)) continue;
        tfm_buffer_append(&f->names, e.name.data, e.name.size - 4);
        tfm_buffer_append(&f->names, "", 1);
    }
    if (f->names.bad) status = tfm_fail(error, TFM_E_NOMEM, "%.120s: no memory for its names", f->name);
    return status;
}

tfm_status tfm_npz_parse(tfm_tensor_file *out, tfm_text data, const char *name, bool verify,
                         const tfm_allocator *allocator, tfm_error *error)
{
    tfm_zip zip;
    tfm_zip_entry e;

    *out = (tfm_tensor_file){.allocator = *allocator, .name = name, .names.allocator = *allocator};
    tfm_status status = tfm_zip_open(&zip, data, name, error);
    if (status == TFM_OK) status = read_names(out, zip, error);
    const char *at = out->names.data;
    while (zip.left && status == TFM_OK) {
        status = tfm_zip_next(&zip, &e, error);
        if (status != TFM_OK || !is_array(&e)) continue;
        status = read_entry(out, &zip, &e, at, verify, error);
        at += strlen(at) + 1;
    }
    if (status == TFM_OK) status = tfm_tensor_file_sort(out, error);
    if (status != TFM_OK) tfm_tensor_file_close(out);
    return status;
}
