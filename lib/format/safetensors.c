/* Reads the native format: every claim of a header is checked before it is believed. */
#include "format/safetensors.h"

#include "base/json.h"
#include "format/checksum.h"
#include "format/safetensors_layout.h"

#include <stdarg.h>
#include <stdlib.h>

enum {
    MAX_DEPTH = 3, /* file, tensor, shape     */
    MAX_ITEMS = 64 /* dimensions of any shape */
};

struct tfm_safetensors {
    tfm_allocator allocator;
    tfm_mapping mapping;       /* {NULL, 0} when the bytes are the caller's */
    char *name;                /* of the file, for messages                 */
    size_t name_size;          /* bytes allocated                           */
    const char *text;          /* the header as it lies in the file         */
    size_t text_size;          /* bytes                                     */
    json_t *header;            /* owns the tensors' names and the metadata  */
    const unsigned char *data; /* what the offsets count from               */
    size_t data_size;
    size_t n;
    tfm_tensor *tensors;        /* [n] by offset */
    const tfm_tensor **by_name; /* [n]           */
};

__attribute__((format(printf, 4, 5))) static tfm_status refuse(const tfm_safetensors *file, tfm_error *error,
                                                               tfm_status status, const char *format, ...)
{
    const size_t shown = 100, size = strlen(file->name); /* the end of a long path says more than its beginning */
    char what[sizeof error->message];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return tfm_fail(error, status, "%s: %s", size > shown ? file->name + size - shown : file->name, what);
}

static bool has_prefix(const unsigned char *data, size_t size)
{
    return size >= PREFIX + 2 && data[PREFIX] == '{';
}

static const char no_header[] = "it has no safetensors header";

static const char *guess(const unsigned char *data, size_t size)
{
    const char *known = tfm_file_guess((tfm_text){(const char *)data, size});

    return known ? known : size < PREFIX + 2 ? "it is too short" : no_header;
}

bool tfm_safetensors_is_other(const unsigned char *data, size_t size)
{
    return !has_prefix(data, size) && guess(data, size) == no_header;
}

/* Finds header and data; size covers both. */
static tfm_status split(tfm_safetensors *file, const unsigned char *data, size_t size, tfm_error *error)
{
    uint64_t n;

    if (!has_prefix(data, size)) return refuse(file, error, TFM_E_FORMAT, "not a model file: %s", guess(data, size));
    memcpy(&n, data, sizeof n);
    if (n > MAX_HEADER)
        return refuse(file, error, TFM_E_FORMAT, "not a model file: header of %" PRIu64 " bytes, more than %d", n,
                      MAX_HEADER);
    if (n > size - PREFIX)
        return refuse(file, error, TFM_E_FORMAT,
                      "truncated: header of %" PRIu64 " bytes in a file of %zu; copy it again", n, size);
    file->text = (const char *)data + PREFIX;
    file->text_size = (size_t)n;
    file->data = data + PREFIX + n;
    file->data_size = size - PREFIX - (size_t)n;
    return TFM_OK;
}

/* Lists are of numbers, which are few, and nothing is nested in them. */
static bool has_sane_lists(const char *text, size_t size)
{
    size_t depth = 0, items = 0; /* items of the innermost list; 0 outside lists */
    bool quoted = false;

    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (quoted) continue;
        else if (c == ',') items += items > 0;
        else if (items && (c == '{' || c == '[')) return false;
        else if (c == '{' || c == '[') depth++, items = c == '[';
        else if (c == '}' || c == ']') depth -= depth > 0, items = 0;
        if (depth > MAX_DEPTH || items > MAX_ITEMS) return false;
    }
    return true;
}

static tfm_status parse_header(tfm_safetensors *file, tfm_error *error)
{
    const tfm_text text = {file->text, file->text_size};
    tfm_json_fault fault;

    if (!has_sane_lists(file->text, file->text_size))
        return refuse(file, error, TFM_E_FORMAT,
                      "header does not describe tensors: too many brackets or numbers, or nested lists");
    const tfm_status status = tfm_json_read(&file->header, text, JSON_ALLOW_NUL, &fault);
    if (status == TFM_OK) return TFM_OK;
    if (status == TFM_E_NOMEM)
        return refuse(file, error, TFM_E_NOMEM, "no memory for a header of %zu bytes", file->text_size);
    return refuse(file, error, TFM_E_FORMAT, "header is damaged at byte %zu: %s", fault.at, fault.what);
}

static tfm_status check_metadata(const tfm_safetensors *file, tfm_error *error)
{
    json_t *metadata = json_object_get(file->header, METADATA), *value;
    const char *key;

    if (metadata && !json_is_object(metadata)) return refuse(file, error, TFM_E_FORMAT, METADATA " is not an object");
    json_object_foreach(metadata, key, value)
    {
        if (json_is_string(value)) continue;
        return refuse(file, error, TFM_E_FORMAT, METADATA " \"%.60s\" is not a string", key);
    }
    return TFM_OK;
}

/* Files of others have no checksum, but a native one that lost its own is damaged. */
static bool may_lack_checksum(const tfm_safetensors *file, tfm_text checksum)
{
    const tfm_text format = tfm_safetensors_metadata(file, "format");

    if (!checksum.data) return !format.data || strcmp(format.data, "libtransformer") != 0;
    return strcmp(checksum.data, "none") == 0;
}

static tfm_status check_header_checksum(const tfm_safetensors *file, tfm_error *error)
{
    const size_t before = sizeof SEALED - 1;
    char digits[sizeof ZEROS];

    if (may_lack_checksum(file, tfm_safetensors_metadata(file, HEADER_CHECKSUM))) return TFM_OK;
    if (file->text_size < before + DIGITS || memcmp(file->text, SEALED, before) != 0)
        return refuse(file, error, TFM_E_FORMAT, "header is damaged: it does not begin with its checksum");
    format_crc(digits, header_crc(file->text, file->text_size));
    if (memcmp(file->text + before, digits, DIGITS) == 0) return TFM_OK;
    return refuse(file, error, TFM_E_FORMAT, "header is damaged: checksum is %.8s, header has %s", file->text + before,
                  digits);
}

/* A JSON array of at most max integers, each at least 0. */
static bool read_integers(const json_t *array, uint64_t *out, size_t max, size_t *n)
{
    *n = json_array_size(array);
    if (!json_is_array(array) || *n > max) return false;
    for (size_t i = 0; i < *n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
        out[i] = (uint64_t)json_integer_value(value);
    }
    return true;
}

static tfm_status read_type(const tfm_safetensors *file, tfm_tensor *tensor, const json_t *entry, tfm_error *error)
{
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const tfm_text name = {json_string_value(dtype), json_string_length(dtype)};
    size_t rank;

    if (!name.data) return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: no dtype", tensor->name);
    if (!tfm_dtype_parse(&tensor->dtype, name))
        return refuse(file, error, TFM_E_UNSUPPORTED, "tensor %.80s: unknown dtype %.20s", tensor->name, name.data);
    if (json_array_size(shape) > TFM_MAX_RANK)
        return refuse(file, error, TFM_E_UNSUPPORTED, "tensor %.80s: %zu dimensions, more than %d", tensor->name,
                      json_array_size(shape), TFM_MAX_RANK);
    if (!read_integers(shape, tensor->shape, TFM_MAX_RANK, &rank))
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: shape is not a list of integers", tensor->name);
    tensor->rank = (uint32_t)rank;
    return TFM_OK;
}

static tfm_status read_place(const tfm_safetensors *file, tfm_tensor *tensor, const json_t *entry, tfm_error *error)
{
    uint64_t offsets[2];
    size_t n, elements;

    if (!read_integers(json_object_get(entry, "data_offsets"), offsets, 2, &n) || n != 2 || offsets[0] > offsets[1])
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: data_offsets is not [begin, end]", tensor->name);
    if (offsets[1] > file->data_size)
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s ends at byte %" PRIu64 " of %zu: the file is truncated",
                      tensor->name, offsets[1], file->data_size);
    if (!tfm_tensor_count(tensor, &elements, &tensor->bytes))
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: a dimension is 0 or the size overflows", tensor->name);
    if (tensor->bytes != offsets[1] - offsets[0])
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: shape needs %zu bytes, offsets give %" PRIu64,
                      tensor->name, tensor->bytes, offsets[1] - offsets[0]);
    tensor->data = file->data + offsets[0];
    return TFM_OK;
}

static tfm_status read_tensor(const tfm_safetensors *file, tfm_tensor *tensor, const json_t *entry, tfm_error *error)
{
    const size_t size = strlen(tensor->name);

    if (size < 1 || size > MAX_NAME)
        return refuse(file, error, TFM_E_FORMAT, "tensor name of %zu bytes, not in 1..%d", size, MAX_NAME);
    if (!json_is_object(entry) || json_object_size(entry) != 3)
        return refuse(file, error, TFM_E_FORMAT, "tensor %.80s: not {dtype, shape, data_offsets}", tensor->name);
    const tfm_status status = read_type(file, tensor, entry, error);
    return status == TFM_OK ? read_place(file, tensor, entry, error) : status;
}

static int compare_places(const void *a, const void *b)
{
    const unsigned char *x = ((const tfm_tensor *)a)->data, *y = ((const tfm_tensor *)b)->data;

    return (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const tfm_tensor *const *)a)->name, (*(const tfm_tensor *const *)b)->name);
}

/* Tensors, in order, must fill the data exactly. */
static tfm_status check_coverage(const tfm_safetensors *file, tfm_error *error)
{
    size_t end = 0;

    for (size_t i = 0; i < file->n; i++) {
        const tfm_tensor *tensor = &file->tensors[i];
        const size_t begin = (size_t)((const unsigned char *)tensor->data - file->data);
        if (begin != end)
            return refuse(file, error, TFM_E_FORMAT, "tensor %.80s begins at byte %zu: %s before it", tensor->name,
                          begin, begin < end ? "overlaps the one" : "there is a hole");
        end = begin + tensor->bytes;
    }
    if (end == file->data_size) return TFM_OK;
    return refuse(file, error, TFM_E_FORMAT, "%zu bytes after the last tensor", file->data_size - end);
}

static tfm_status read_tensors(tfm_safetensors *file, tfm_error *error)
{
    const size_t n = json_object_size(file->header) - (json_object_get(file->header, METADATA) != NULL);
    tfm_status status = TFM_OK;
    const char *name;
    json_t *entry;
    size_t at = 0;

    file->n = n;
    file->tensors = tfm_alloc(&file->allocator, n, sizeof *file->tensors);
    file->by_name = tfm_alloc(&file->allocator, n, sizeof *file->by_name);
    if (!file->tensors || !file->by_name) return refuse(file, error, TFM_E_NOMEM, "no memory for %zu tensors", n);
    json_object_foreach(file->header, name, entry)
    {
        if (strcmp(name, METADATA) == 0) continue;
        file->tensors[at].name = name;
        status = read_tensor(file, &file->tensors[at++], entry, error);
        if (status != TFM_OK) return status;
    }
    qsort(file->tensors, n, sizeof *file->tensors, compare_places);
    for (size_t i = 0; i < n; i++) file->by_name[i] = &file->tensors[i];
    qsort(file->by_name, n, sizeof *file->by_name, compare_names);
    return check_coverage(file, error);
}

tfm_status tfm_safetensors_parse(tfm_safetensors **out, const void *data, size_t size, const char *name,
                                 const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(allocator);
    const size_t name_size = strlen(name) + 1;
    tfm_safetensors *file = tfm_alloc(&a, 1, sizeof *file);
    tfm_status status;

    *out = NULL;
    if (file) *file = (tfm_safetensors){.allocator = a, .name = tfm_alloc(&a, name_size, 1), .name_size = name_size};
    if (!file || !file->name) {
        tfm_safetensors_close(file);
        return tfm_fail(error, TFM_E_NOMEM, "no memory to open a model file");
    }
    memcpy(file->name, name, name_size);
    status = split(file, data, size, error);
    if (status == TFM_OK) status = parse_header(file, error);
    if (status == TFM_OK) status = check_metadata(file, error);
    if (status == TFM_OK) status = check_header_checksum(file, error);
    if (status == TFM_OK) status = read_tensors(file, error);
    if (status == TFM_OK) *out = file;
    else tfm_safetensors_close(file);
    return status;
}

tfm_status tfm_safetensors_open(tfm_safetensors **out, const char *path, const tfm_allocator *allocator,
                                tfm_error *error)
{
    tfm_mapping mapping;
    tfm_status status = tfm_file_map(&mapping, path, error);

    *out = NULL;
    if (status != TFM_OK) return status;
    status = tfm_safetensors_parse(out, mapping.data, mapping.size, path, allocator, error);
    if (status == TFM_OK) (*out)->mapping = mapping;
    else tfm_file_unmap(&mapping);
    return status;
}

void tfm_safetensors_close(tfm_safetensors *file)
{
    if (!file) return;
    const tfm_allocator a = file->allocator;
    tfm_free(&a, file->tensors, file->n, sizeof *file->tensors);
    tfm_free(&a, file->by_name, file->n, sizeof *file->by_name);
    tfm_free(&a, file->name, file->name_size, 1);
    json_decref(file->header);
    tfm_file_unmap(&file->mapping);
    tfm_free(&a, file, 1, sizeof *file);
}

size_t tfm_safetensors_count(const tfm_safetensors *file)
{
    return file->n;
}

const tfm_tensor *tfm_safetensors_at(const tfm_safetensors *file, size_t index)
{
    return index < file->n ? &file->tensors[index] : NULL;
}

const tfm_tensor *tfm_safetensors_find(const tfm_safetensors *file, const char *name)
{
    const tfm_tensor wanted = {.name = name}, *key = &wanted;
    const tfm_tensor **found = bsearch(&key, file->by_name, file->n, sizeof *file->by_name, compare_names);

    return found ? *found : NULL;
}

tfm_text tfm_safetensors_metadata(const tfm_safetensors *file, const char *key)
{
    const json_t *value = json_object_get(json_object_get(file->header, METADATA), key);

    return (tfm_text){json_string_value(value), json_string_length(value)};
}

tfm_mapping tfm_safetensors_mapping(const tfm_safetensors *file)
{
    return file->mapping;
}

enum { CHUNK = 8 << 20 };

/* Of all tensors. Pages of a large file do not stay: who needs its weights in another form would have them in memory
 * twice. */
static uint64_t data_checksum(const tfm_safetensors *file)
{
    tfm_checksum sum;

    tfm_checksum_begin(&sum);
    for (size_t at = 0; at < file->data_size; at += CHUNK) {
        const size_t size = file->data_size - at < CHUNK ? file->data_size - at : CHUNK;
        tfm_checksum_add(&sum, file->data + at, size);
        if (file->data_size > CHUNK) tfm_file_release(&file->mapping, file->data + at, size);
    }
    return tfm_checksum_end(&sum);
}

tfm_status tfm_safetensors_verify(const tfm_safetensors *file, tfm_error *error)
{
    const tfm_text want = tfm_safetensors_metadata(file, CHECKSUM);
    char have[LANES_SIZE];

    if (may_lack_checksum(file, want)) return TFM_OK;
    if (!want.data) return refuse(file, error, TFM_E_FORMAT, "metadata has no " CHECKSUM);
    if (strncmp(want.data, LANES, sizeof LANES - 1) != 0)
        return refuse(file, error, TFM_E_UNSUPPORTED,
                      "checksum %.30s is of a kind not known here; skip_checksum reads the file without", want.data);
    format_checksum(have, data_checksum(file));
    if (strcmp(have, want.data) == 0) return TFM_OK;
    return refuse(
        file, error, TFM_E_FORMAT,
        "data is damaged: checksum is %.30s, data has %s; copy it again, or use it as it is with skip_checksum",
        want.data, have);
}
