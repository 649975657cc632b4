/* Named arrays of numbers as they stand in a file: shape, type, storage; no arithmetic. */
#ifndef TFM_TENSOR_H
#define TFM_TENSOR_H

#include "base/base.h"

typedef enum tfm_dtype {
    TFM_F32,
    TFM_BF16,
    TFM_F16,
    TFM_F64,
    TFM_I8,
    TFM_U8,
    TFM_BOOL,
    TFM_I16,
    TFM_U16,
    TFM_I32,
    TFM_U32,
    TFM_I64,
    TFM_U64,
    TFM_N_DTYPES
} tfm_dtype;

size_t tfm_dtype_size(tfm_dtype dtype);      /* bytes of one element; also its alignment */
const char *tfm_dtype_name(tfm_dtype dtype); /* "F32" and so on, as safetensors spells it */
bool tfm_dtype_parse(tfm_dtype *out, tfm_text name);

enum { TFM_MAX_RANK = 4 };

/* Lends name and data. Row-major, the last dimension is contiguous; rank 0 is one element. */
typedef struct tfm_tensor {
    const char *name;
    tfm_dtype dtype;
    uint32_t rank;
    uint64_t shape[TFM_MAX_RANK];
    const void *data;
    size_t bytes;
} tfm_tensor;

/* Elements and bytes of rank, shape and dtype; false: a dimension is 0, the rank too large, or a product overflows. */
bool tfm_tensor_count(const tfm_tensor *tensor, size_t *elements, size_t *bytes);

#endif
