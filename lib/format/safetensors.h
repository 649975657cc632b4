/* The native file format: named tensors and text metadata in one file that every safetensors reader opens. */
#ifndef TFM_SAFETENSORS_H
#define TFM_SAFETENSORS_H

#include "base/file.h"
#include "tensor/tensor.h"

/* An open file: immutable, share it between threads freely. */
typedef struct tfm_safetensors tfm_safetensors;

/*
 * Maps path, and refuses it unless every name, type, shape, offset and the header's checksum are right; the data is not
 * read. returns TFM_OK, TFM_E_IO, TFM_E_FORMAT, TFM_E_UNSUPPORTED (an element type or rank we do not know),
 * TFM_E_NOMEM.
 */
tfm_status tfm_safetensors_open(tfm_safetensors **out, const char *path, const tfm_allocator *allocator,
                                tfm_error *error);
/* The same over bytes in memory, which must outlive *out; name stands in the messages. */
tfm_status tfm_safetensors_parse(tfm_safetensors **out, const void *data, size_t size, const char *name,
                                 const tfm_allocator *allocator, tfm_error *error);
/* Whether a file begins neither as such a one nor as one that the messages of the two above name. */
bool tfm_safetensors_is_other(const unsigned char *data, size_t size);
void tfm_safetensors_close(tfm_safetensors *file); /* takes NULL */

/* Tensors in the order of their data. All that is lent here lives until close. */
size_t tfm_safetensors_count(const tfm_safetensors *file);
const tfm_tensor *tfm_safetensors_at(const tfm_safetensors *file, size_t index);       /* NULL: out of range */
const tfm_tensor *tfm_safetensors_find(const tfm_safetensors *file, const char *name); /* NULL: absent       */
tfm_text tfm_safetensors_metadata(const tfm_safetensors *file, const char *key); /* {NULL, 0}: absent; terminated */

/* Where the file is mapped; {NULL, 0} when it was parsed in memory. */
tfm_mapping tfm_safetensors_mapping(const tfm_safetensors *file);

/* Reads all data and compares it with metadata "checksum"; TFM_OK when a file of others has none. */
tfm_status tfm_safetensors_verify(const tfm_safetensors *file, tfm_error *error);

typedef struct tfm_metadata {
    const char *key;
    tfm_text value; /* UTF-8 */
} tfm_metadata;

/*
 * Writes tensors in the given order, atomically; equal input gives equal bytes. Adds the metadata "header_checksum" and
 * "checksum". There are no gaps between tensors, so wider element types must come first where they mix.
 * returns TFM_OK, TFM_E_INVALID (a name, shape, size or text that may not be), TFM_E_IO, TFM_E_NOMEM.
 */
tfm_status tfm_safetensors_save(const char *path, const tfm_tensor *tensors, size_t n, const tfm_metadata *metadata,
                                size_t n_metadata, const tfm_allocator *allocator, tfm_error *error);

#endif
