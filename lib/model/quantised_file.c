/* Int8 panels <-> tensors: for each matrix its values, and one scale and one sum for each row. */
#include "model/quantised_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { KINDS = 3, SUFFIX = 16 };

/* The tensors of a matrix, by name and form; data is in the panels. */
typedef struct trio {
    char names[KINDS][TFM_NAME_SIZE + SUFFIX];
    tfm_tensor tensors[KINDS]; /* values, scale, sum */
} trio;

static size_t padded(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static void describe(trio *t, const tfm_packed_matrix *m)
{
    static const char *const suffixes[KINDS] = {"weight", "scale", "sum"};
    const tfm_panels *p = &m->panels;
    const size_t n = padded(p->n, TFM_PACK_UNIT), items = padded(p->k, TFM_I8_DEPTH) / TFM_I8_DEPTH;

    t->tensors[0] = (tfm_tensor){.dtype = TFM_I8, .rank = 4, .data = p->values,
                                 .shape = {n / TFM_I8_COLS, items, TFM_I8_COLS, TFM_I8_DEPTH}};
    t->tensors[1] = (tfm_tensor){.dtype = TFM_F32, .rank = 1, .data = p->scale, .shape = {n}};
    t->tensors[2] = (tfm_tensor){.dtype = TFM_I32, .rank = 1, .data = p->sum, .shape = {n}};
    for (size_t i = 0; i < KINDS; i++) {
        snprintf(t->names[i], sizeof t->names[i], "%s.%s", m->name, suffixes[i]);
        t->tensors[i].name = t->names[i];
    }
    t->tensors[0].bytes = n * items * TFM_I8_DEPTH;
    t->tensors[1].bytes = t->tensors[2].bytes = n * sizeof(float);
}

/* Values may be any: their products and sums fit whatever they are. The numbers beside them must be such as finite
 * weights make. */
static tfm_status check_rows(const tfm_packed_matrix *m, const float *scale, const int32_t *sum, tfm_status bad,
                             tfm_error *error)
{
    const size_t n = padded(m->panels.n, TFM_PACK_UNIT);
    const int32_t most = 128 * (int32_t)padded(m->panels.k, TFM_I8_DEPTH);

    for (size_t i = 0; i < n; i++) {
        if (!(scale[i] >= 0.0f) || isinf(scale[i]))
            return tfm_fail(error, bad, "%s.scale[%zu] is %g, not a number of at least 0", m->name, i,
                            (double)scale[i]);
        if (sum[i] < -most || sum[i] > most)
            return tfm_fail(error, bad, "%s.sum[%zu] is %d, not in -%d..%d", m->name, i, sum[i], most, most);
    }
    return TFM_OK;
}

/* ------------------------------------------------------------------------------------------------- reading ---- */

static tfm_status find(const tfm_model_file *f, const tfm_tensor *wanted, const void **data, const char *path,
                       tfm_error *error)
{
    const tfm_tensor *t = tfm_safetensors_find(f->file, wanted->name);

    if (!t) return tfm_fail(error, TFM_E_FORMAT, "%.120s lacks the tensor %s", path, wanted->name);
    if (t->dtype != wanted->dtype)
        return tfm_fail(error, TFM_E_FORMAT, "tensor %s is %s, not %s", t->name, tfm_dtype_name(t->dtype),
                        tfm_dtype_name(wanted->dtype));
    if (t->rank != wanted->rank || memcmp(t->shape, wanted->shape, t->rank * sizeof *t->shape))
        return tfm_fail(error, TFM_E_FORMAT,
                        "tensor %s has %zu elements in %u dimensions from %" PRIu64
                        ", the configuration wants %zu in %u from %" PRIu64,
                        t->name, t->bytes / tfm_dtype_size(t->dtype), t->rank, t->rank ? t->shape[0] : 1,
                        wanted->bytes / tfm_dtype_size(t->dtype), wanted->rank, wanted->shape[0]);
    *data = t->data;
    return TFM_OK;
}

static tfm_status read_matrix(const tfm_model_file *f, tfm_packed_matrix *m, const char *path, tfm_error *error)
{
    const void *data[KINDS];
    tfm_status status = TFM_OK;
    trio t;

    describe(&t, m);
    for (size_t i = 0; i < KINDS && status == TFM_OK; i++) status = find(f, &t.tensors[i], &data[i], path, error);
    if (status == TFM_OK) status = check_rows(m, data[1], data[2], TFM_E_FORMAT, error);
    if (status != TFM_OK) return status;
    m->panels.values = (int8_t *)(uintptr_t)data[0]; /* panels of a file are only read */
    m->panels.scale = (float *)(uintptr_t)data[1];
    m->panels.sum = (int32_t *)(uintptr_t)data[2];
    return TFM_OK;
}

/* Norms, biases, learned positions. *n: how many tensors they are. */
static tfm_status copy_rest(tfm_model_file *f, size_t *n, const char *path, tfm_error *error)
{
    const tfm_weights *w = &f->weights;
    float *to;

    *n = 0;
    f->copy_size = tfm_weights_rest(w);
    f->copy = to = tfm_alloc(&f->allocator, f->copy_size, sizeof *to);
    if (!to) return tfm_fail(error, TFM_E_NOMEM, "norms and biases: %zu floats", f->copy_size);
    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        const tfm_tensor *t;
        if (p->multiplied) continue;
        const tfm_status status = tfm_model_file_find(f, p, &t, path, error);
        if (status != TFM_OK) return status;
        memcpy(to, t->data, t->bytes);
        to += p->size;
        ++*n;
    }
    return TFM_OK;
}

tfm_status tfm_quantised_open(tfm_model_file *f, const char *path, tfm_error *error)
{
    size_t n;
    tfm_status status = copy_rest(f, &n, path, error);

    if (status != TFM_OK) return status;
    tfm_weights_bind_rest(&f->weights, f->copy);
    status = tfm_inference_plan(&f->packed, &f->weights, TFM_DTYPE_INT8, &f->allocator, error);
    for (size_t i = 0; i < f->packed.n_matrices && status == TFM_OK; i++)
        status = read_matrix(f, &f->packed.matrices[i], path, error);
    n += KINDS * f->packed.n_matrices + (f->tokenizer.size > 0);
    if (status == TFM_OK && tfm_safetensors_count(f->file) != n)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s has %zu tensors, its configuration wants %zu", path,
                          tfm_safetensors_count(f->file), n);
    return status;
}

/* ------------------------------------------------------------------------------------------------- writing ---- */

/* Values of all matrices first: their sizes are multiples of 64 bytes, so that every one of them is aligned. */
static size_t list_matrices(tfm_tensor *to, trio *trios, const tfm_inference *packed)
{
    size_t n = 0;

    for (size_t i = 0; i < packed->n_matrices; i++) describe(&trios[i], &packed->matrices[i]);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < packed->n_matrices; i++) to[n++] = trios[i].tensors[kind];
    return n;
}

/* Norms, biases, learned positions. */
static tfm_status list_rest(tfm_tensor *to, size_t *n, const tfm_quantised_parts *parts, tfm_error *error)
{
    const tfm_weights *w = &parts->packed->weights;
    const float *next = parts->data;

    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        const float *data = parts->rest ? next : parts->data + p->offset;
        if (p->multiplied) continue;
        for (size_t j = 0; j < p->size; j++)
            if (!isfinite(data[j]))
                return tfm_fail(error, TFM_E_INVALID, "%s[%zu] is %g, not a finite number", p->name, j,
                                (double)data[j]);
        to[(*n)++] = (tfm_tensor){.name = p->name, .dtype = TFM_F32, .rank = p->rank,
                                  .shape = {p->shape[0], p->shape[1]}, .data = data, .bytes = p->size * sizeof *data};
        next += p->size;
    }
    return TFM_OK;
}

tfm_status tfm_quantised_save(const char *path, const tfm_quantised_parts *parts, const tfm_allocator *allocator,
                              tfm_error *error)
{
    const tfm_inference *packed = parts->packed;
    const size_t most = KINDS * packed->n_matrices + packed->weights.n_parameters + 1; /* the tokenizer */
    const tfm_model_header header = {.options = &packed->weights.options,
                                     .quantization = {TFM_QUANTISED_SCHEME, sizeof TFM_QUANTISED_SCHEME - 1}};
    tfm_tensor *tensors = tfm_alloc(allocator, most, sizeof *tensors);
    trio *trios = tfm_alloc(allocator, packed->n_matrices, sizeof *trios);
    tfm_status status =
        tensors && trios ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "table of %zu tensors: no memory", most);

    for (size_t i = 0; i < packed->n_matrices && status == TFM_OK; i++) {
        const tfm_packed_matrix *m = &packed->matrices[i];
        status = check_rows(m, m->panels.scale, m->panels.sum, TFM_E_INVALID, error);
    }
    size_t n = status == TFM_OK ? list_matrices(tensors, trios, packed) : 0;
    if (status == TFM_OK) status = list_rest(tensors, &n, parts, error);
    if (status == TFM_OK) {
        n += tfm_model_file_add_tokenizer(tensors + n, parts->tokenizer);
        status = tfm_model_file_write(path, &header, tensors, n, allocator, error);
    }
    tfm_free(allocator, trios, packed->n_matrices, sizeof *trios);
    tfm_free(allocator, tensors, most, sizeof *tensors);
    return status;
}
