/* Writes the native format: the header from what the tensors say of themselves, then their bytes as they lie in memory.
 */
#include "format/safetensors.h"

#include "base/file.h"
#include "base/utf8.h"
#include "format/checksum.h"
#include "format/safetensors_layout.h"

#include <jansson.h>

static tfm_status check_text(tfm_text text, const char *what, tfm_error *error)
{
    const char *data = text.size ? text.data : "";

    if (tfm_utf8_find_invalid(text) == SIZE_MAX) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "%s is not valid UTF-8: \"%.100s\"", what, data);
}

static tfm_status add_metadata(json_t *metadata, const tfm_metadata *item, tfm_error *error)
{
    const tfm_text key = {item->key, strlen(item->key)}, value = item->value;
    tfm_status status = check_text(key, "metadata key", error);

    if (status == TFM_OK) status = check_text(value, "metadata value", error);
    if (status != TFM_OK) return status;
    if (json_object_get(metadata, item->key))
        return tfm_fail(error, TFM_E_INVALID, "metadata \"%.100s\" is there already", item->key);
    if (json_object_set_new(metadata, item->key, json_stringn(value.size ? value.data : "", value.size)) == 0)
        return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "no memory for metadata \"%.100s\"", item->key);
}

static tfm_status check_tensor(const json_t *header, const tfm_tensor *tensor, size_t begin, tfm_error *error)
{
    const size_t size = strlen(tensor->name);
    size_t elements, bytes;

    if (size < 1 || size > MAX_NAME)
        return tfm_fail(error, TFM_E_INVALID, "tensor name of %zu bytes, not in 1..%d", size, MAX_NAME);
    if (json_object_get(header, tensor->name)) /* the metadata's name included */
        return tfm_fail(error, TFM_E_INVALID, "tensor name %s is taken", tensor->name);
    if (!tfm_tensor_count(tensor, &elements, &bytes) || bytes != tensor->bytes)
        return tfm_fail(error, TFM_E_INVALID, "tensor %.80s: %zu bytes do not fit its shape", tensor->name,
                        tensor->bytes);
    if (begin % tfm_dtype_size(tensor->dtype) != 0)
        return tfm_fail(error, TFM_E_INVALID, "tensor %.80s would begin at byte %zu: put wider element types first",
                        tensor->name, begin);
    return check_text((tfm_text){tensor->name, size}, "tensor name", error);
}

/* Appends the tensor whose data begins at *offset, and moves that to its end. */
static tfm_status add_tensor(json_t *header, const tfm_tensor *tensor, size_t *offset, tfm_error *error)
{
    const size_t begin = *offset;
    tfm_status status = check_tensor(header, tensor, begin, error);
    json_t *entry, *shape;
    int failed = 0;

    if (status != TFM_OK) return status;
    if (!tfm_add(begin, tensor->bytes, offset)) return tfm_fail(error, TFM_E_INVALID, "tensors are too large together");
    entry = json_pack("{s:s, s:[], s:[II]}", "dtype", tfm_dtype_name(tensor->dtype), "shape", "data_offsets",
                      (json_int_t)begin, (json_int_t)*offset);
    shape = json_object_get(entry, "shape");
    for (uint32_t i = 0; i < tensor->rank; i++)
        failed |= json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    failed |= json_object_set_new(header, tensor->name, entry);
    return failed ? tfm_fail(error, TFM_E_NOMEM, "no memory for the header") : TFM_OK;
}

/* The checksums come first, so that the header's stands at a fixed place. */
static json_t *begin_header(const tfm_tensor *tensors, size_t n)
{
    char checksum[LANES_SIZE];
    tfm_checksum sum;

    tfm_checksum_begin(&sum);
    for (size_t i = 0; i < n; i++) tfm_checksum_add(&sum, tensors[i].data, tensors[i].bytes);
    format_checksum(checksum, tfm_checksum_end(&sum));
    return json_pack("{s:{s:s, s:s}}", METADATA, HEADER_CHECKSUM, CRC ZEROS, CHECKSUM, checksum);
}

/* Length, JSON, and spaces until the data begins at a multiple of TFM_ALIGN. */
static tfm_status print_header(tfm_buffer *out, const json_t *header, tfm_error *error)
{
    uint64_t size = 0;

    tfm_buffer_append(out, &size, PREFIX);
    if (json_dump_callback(header, tfm_buffer_take, out, JSON_COMPACT) != 0) out->bad = true;
    while (out->size % TFM_ALIGN && !out->bad) tfm_buffer_append(out, " ", 1);
    if (out->bad) return tfm_fail(error, TFM_E_NOMEM, "no memory for the header");
    size = out->size - PREFIX;
    if (size > MAX_HEADER)
        return tfm_fail(error, TFM_E_INVALID, "header of %" PRIu64 " bytes, more than %d", size, MAX_HEADER);
    memcpy(out->data, &size, PREFIX);
    char digits[sizeof ZEROS], *text = out->data + PREFIX;
    format_crc(digits, header_crc(text, size));
    memcpy(text + sizeof SEALED - 1, digits, DIGITS);
    return TFM_OK;
}

static tfm_status make_header(tfm_buffer *out, const tfm_tensor *tensors, size_t n, const tfm_metadata *metadata,
                              size_t n_metadata, tfm_error *error)
{
    json_t *header = begin_header(tensors, n);
    tfm_status status = header ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "no memory for the header");
    size_t offset = 0;

    for (size_t i = 0; i < n_metadata && status == TFM_OK; i++)
        status = add_metadata(json_object_get(header, METADATA), &metadata[i], error);
    for (size_t i = 0; i < n && status == TFM_OK; i++) status = add_tensor(header, &tensors[i], &offset, error);
    if (status == TFM_OK) status = print_header(out, header, error);
    json_decref(header);
    return status;
}

tfm_status tfm_safetensors_save(const char *path, const tfm_tensor *tensors, size_t n, const tfm_metadata *metadata,
                                size_t n_metadata, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_buffer head = {.allocator = tfm_allocator_or_default(allocator)};
    tfm_writer writer;
    tfm_status status = make_header(&head, tensors, n, metadata, n_metadata, error);

    if (status == TFM_OK) status = tfm_writer_open(&writer, path, allocator, error);
    if (status == TFM_OK) {
        status = tfm_writer_write(&writer, head.data, head.size, error);
        for (size_t i = 0; i < n && status == TFM_OK; i++)
            status = tfm_writer_write(&writer, tensors[i].data, tensors[i].bytes, error);
        if (status == TFM_OK) status = tfm_writer_commit(&writer, error);
    }
    tfm_buffer_free(&head);
    return status;
}
