/* The files of other systems, read into named tensors: NumPy's .npz archives and CTranslate2's model.bin. */
#ifndef TFM_TENSOR_FILE_H
#define TFM_TENSOR_FILE_H

#include "tensor/tensor.h"

enum { TFM_MOST_TENSORS = 65536 };

typedef struct tfm_inflated {
    void *data;
    size_t size;
} tfm_inflated;

/* A further name of a tensor; lent. */
typedef struct tfm_tensor_alias {
    const char *name, *of;
} tfm_tensor_alias;

/* Tensors lie in the bytes that were parsed, at any address: copy, do not dereference. */
typedef struct tfm_tensor_file {
    tfm_allocator allocator;
    const char *name;    /* of the file, for messages; lent */
    tfm_tensor *tensors; /* [n], by name once all are there */
    size_t n, capacity;
    tfm_tensor_alias *aliases; /* [n_aliases], the same */
    size_t n_aliases, aliases_capacity;
    tfm_buffer names;       /* of those whose file has none that end with a NUL */
    tfm_inflated *inflated; /* [n_inflated] what was compressed */
    size_t n_inflated, inflated_capacity, inflated_cost; /* cost: bytes of them, and of floats of their numbers */
} tfm_tensor_file;

/*
 * data must outlive *out, which is closed on failure. verify: compares the checksums of the entries.
 * returns TFM_OK, TFM_E_FORMAT, TFM_E_UNSUPPORTED, TFM_E_NOMEM.
 */
tfm_status tfm_npz_parse(tfm_tensor_file *out, tfm_text data, const char *name, bool verify,
                         const tfm_allocator *allocator, tfm_error *error);
/* What stands before the variables. */
typedef struct tfm_ct2_header {
    uint32_t version, revision; /* of the format, and of the kind of model */
    tfm_text spec;              /* name of the kind of model               */
} tfm_ct2_header;
tfm_status tfm_ct2_parse(tfm_tensor_file *out, tfm_ct2_header *header, tfm_text data, const char *name,
                         const tfm_allocator *allocator, tfm_error *error);
/*
 * Writes tensors, floats or bytes of rank 1 or 2, as an .npz, atomically; equal input gives equal bytes.
 * returns TFM_OK, TFM_E_UNSUPPORTED (more than 4 GB), TFM_E_IO, TFM_E_NOMEM.
 */
tfm_status tfm_npz_save(const char *path, const tfm_tensor *tensors, size_t n, const tfm_allocator *allocator,
                        tfm_error *error);
void tfm_tensor_file_close(tfm_tensor_file *file);

/* Of this name or alias, with the name that is its own; NULL: absent. */
const tfm_tensor *tfm_tensor_file_find(const tfm_tensor_file *file, const char *name);
const tfm_tensor *tfm_tensor_file_at(const void *file, size_t index); /* index < n */

/* Does data begin as such a file? */
bool tfm_npz_is(tfm_text data);
bool tfm_ct2_is(tfm_text data);

/* For the parsers. Appends a tensor, or a further name of one; false: no memory. */
bool tfm_tensor_file_add(tfm_tensor_file *file, const tfm_tensor *tensor);
bool tfm_tensor_file_alias(tfm_tensor_file *file, const char *name, const char *of);
/* After the last of them: what is found is looked up here. TFM_E_FORMAT: two have one name. */
tfm_status tfm_tensor_file_sort(tfm_tensor_file *file, tfm_error *error);

#endif
