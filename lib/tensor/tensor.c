/* What one table knows about element types, and the only place where a shape becomes a size. */
#include "tensor/tensor.h"

#include <assert.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[TFM_N_DTYPES] = {
    [TFM_F32] = {"F32", 4}, [TFM_BF16] = {"BF16", 2}, [TFM_F16] = {"F16", 2},   [TFM_F64] = {"F64", 8},
    [TFM_I8] = {"I8", 1},   [TFM_U8] = {"U8", 1},     [TFM_BOOL] = {"BOOL", 1}, [TFM_I16] = {"I16", 2},
    [TFM_U16] = {"U16", 2}, [TFM_I32] = {"I32", 4},   [TFM_U32] = {"U32", 4},   [TFM_I64] = {"I64", 8},
    [TFM_U64] = {"U64", 8},
};

size_t tfm_dtype_size(tfm_dtype dtype)
{
    assert(dtype < TFM_N_DTYPES);
    return dtypes[dtype].size;
}

const char *tfm_dtype_name(tfm_dtype dtype)
{
    assert(dtype < TFM_N_DTYPES);
    return dtypes[dtype].name;
}

bool tfm_dtype_parse(tfm_dtype *out, tfm_text name)
{
    for (tfm_dtype d = 0; d < TFM_N_DTYPES; d++) {
        if (strlen(dtypes[d].name) != name.size || memcmp(dtypes[d].name, name.data, name.size) != 0) continue;
        *out = d;
        return true;
    }
    return false;
}

bool tfm_tensor_count(const tfm_tensor *tensor, size_t *elements, size_t *bytes)
{
    size_t n = 1;

    if (tensor->rank > TFM_MAX_RANK) return false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const uint64_t dim = tensor->shape[i];
        if (dim == 0 || dim > SIZE_MAX || !tfm_mul(n, (size_t)dim, &n)) return false;
    }
    *elements = n;
    return tfm_mul(n, tfm_dtype_size(tensor->dtype), bytes);
}
