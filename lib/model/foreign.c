/* Takes the parameters of a configuration from another system's tensors, as float32. */
#include "model/foreign.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------------------------------------------------- names ---- */

/* Is pattern the beginning of name? *layer receives the number at '#'. Returns where it ends, or NULL. */
static const char *begins_with(const char *name, const char *pattern, uint32_t *layer)
{
    char *end;

    for (; *pattern; pattern++) {
        if (*pattern == '#') {
            *layer = (uint32_t)strtoul(name, &end, 10);
            name = end;
        } else if (*name++ != *pattern) return NULL;
    }
    return name;
}

static bool join(char to[static TFM_FOREIGN_NAME], const char *branch, const char *leaf, uint32_t layer)
{
    const char *at = strchr(branch, '#');
    const int size = at ? snprintf(to, TFM_FOREIGN_NAME, "%.*s%u%s%s", (int)(at - branch), branch, layer, at + 1, leaf)
                        : snprintf(to, TFM_FOREIGN_NAME, "%s%s", branch, leaf);

    return size < TFM_FOREIGN_NAME;
}

const tfm_leaf *tfm_naming_find(const tfm_naming *naming, const char *ours, unsigned way,
                                char theirs[static TFM_FOREIGN_NAME])
{
    for (const tfm_branch *b = naming->branches; b->ours; b++) {
        uint32_t layer = 0;
        const char *rest = begins_with(ours, b->ours, &layer);
        for (const tfm_leaf *l = b->leaves; rest && l->ours; l++)
            if (!strcmp(rest, l->ours) && !way-- && join(theirs, b->theirs, l->theirs, layer + naming->first_layer))
                return l;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- numbers ---- */

static float half(uint16_t h)
{
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const float size = exponent == 31 ? (mantissa ? NAN : INFINITY)
                       : exponent     ? ldexpf((float)(1024 + mantissa), exponent - 25)
                                      : ldexpf((float)mantissa, -24);

    return h >> 15 ? -size : size;
}

/* Element i as it stands there: quantised ones are not scaled. */
static float element(const tfm_tensor *t, size_t i)
{
    const char *at = (const char *)t->data + i * tfm_dtype_size(t->dtype);
    uint32_t bits;
    uint16_t word;
    float x;

    if (t->dtype == TFM_I8) return (float)*(const signed char *)at;
    if (t->dtype == TFM_F32) return memcpy(&x, at, sizeof x), x;
    memcpy(&word, at, sizeof word);
    if (t->dtype == TFM_I16) return (float)(int16_t)word;
    if (t->dtype == TFM_F16) return half(word);
    bits = (uint32_t)word << 16; /* bfloat16 */
    return memcpy(&x, &bits, sizeof x), x;
}

typedef struct place {
    const tfm_leaf *leaf;
    const tfm_tensor *tensor, *scale; /* scale: NULL, or one number, or one for each row, to divide by */
} place;

static bool readable(const place *p)
{
    const tfm_dtype d = p->tensor->dtype;
    const bool quantised = d == TFM_I8 || d == TFM_I16;

    return quantised ? p->scale && p->scale->dtype == TFM_F32 : d == TFM_F32 || d == TFM_F16 || d == TFM_BF16;
}

static void copy(float *to, const tfm_parameter_plan *p, const place *from)
{
    const size_t rows = p->shape[0], cols = p->shape[1], first = from->leaf->part * rows;

    for (size_t r = 0; r < rows; r++) {
        const bool each = from->scale && from->scale->bytes > sizeof(float);
        const float scale = from->scale ? element(from->scale, each ? first + r : 0) : 1.0f;
        for (size_t c = 0; c < cols; c++) {
            const size_t i = from->leaf->transposed ? c * rows + r : (first + r) * cols + c;
            to[r * cols + c] = element(from->tensor, i) / scale;
        }
    }
}

/* ------------------------------------------------------------------------------------------------- tensors ---- */

static bool shape_fits(const tfm_parameter_plan *p, const place *from)
{
    const tfm_tensor *t = from->tensor, *s = from->scale;
    const uint64_t rows = (uint64_t)from->leaf->parts * p->shape[0], cols = p->shape[1];
    const uint64_t first = from->leaf->transposed ? cols : rows, second = from->leaf->transposed ? rows : cols;

    if (s && s->bytes != sizeof(float) && s->bytes != rows * sizeof(float)) return false;
    if (p->rank == 2) return t->rank == 2 && t->shape[0] == first && t->shape[1] == second;
    return t->bytes == rows * tfm_dtype_size(t->dtype); /* a vector, or a matrix of one row */
}

static tfm_status find(place *out, const tfm_foreign *from, const tfm_parameter_plan *p, tfm_error *error)
{
    char name[TFM_FOREIGN_NAME], first[TFM_FOREIGN_NAME] = "any for it";

    *out = (place){0};
    for (unsigned way = 0; !out->tensor; way++) {
        out->leaf = tfm_naming_find(from->naming, p->name, way, name);
        if (!out->leaf)
            return tfm_fail(error, TFM_E_FORMAT, "%.100s lacks the tensor %.60s (%s)", from->path, first, p->name);
        if (!way) memcpy(first, name, sizeof first);
        out->tensor = from->find(from->file, name);
    }
    strncat(name, "_scale", sizeof name - strlen(name) - 1);
    out->scale = from->find(from->file, name);
    if (!readable(out))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.100s: numbers of type %s in %.60s are not supported", from->path,
                        tfm_dtype_name(out->tensor->dtype), out->tensor->name);
    if (!shape_fits(p, out))
        return tfm_fail(error, TFM_E_FORMAT, "%.100s: %.60s does not have the shape of %u%s [%u, %u]", from->path,
                        out->tensor->name, out->leaf->parts, out->leaf->transposed ? ", transposed," : "", p->shape[0],
                        p->shape[1]);
    return TFM_OK;
}

static bool is_spare(const tfm_foreign *from, const char *name)
{
    for (const char *const *spare = from->spare; spare && *spare; spare++)
        if (!strcmp(*spare, name)) return true;
    return false;
}

/* All tensors are looked at before memory for the parameters is taken, which is then no more than the file holds. */
static tfm_status check(const tfm_weights *w, const tfm_foreign *from, tfm_error *error)
{
    size_t used = 0, wanted = from->n_tensors;
    place at;

    for (const char *const *spare = from->spare; spare && *spare; spare++)
        wanted -= from->find(from->file, *spare) != NULL;
    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_status status = find(&at, from, &w->parameters[i], error);
        if (status != TFM_OK) return status;
        if (!at.leaf->part && !is_spare(from, at.tensor->name)) used += 1 + (at.scale != NULL);
    }
    if (used >= wanted) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s has %zu tensors, %zu of which are not understood", from->path,
                    from->n_tensors, wanted - used);
}

tfm_status tfm_foreign_fill(tfm_model_file *f, const tfm_model_options *options, const tfm_foreign *from,
                            tfm_error *error)
{
    const size_t layers = (size_t)options->n_encoder_layers + options->n_decoder_layers,
                 least = 10; /* tensors of a layer */
    const tfm_weights *w = &f->weights;
    place at;

    if (layers * least > from->n_tensors)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s has %zu tensors, too few for %zu layers", from->path,
                        from->n_tensors, layers);
    tfm_status status = tfm_weights_create(&f->weights, options, &f->allocator, error);
    if (status == TFM_OK && from->n_tensors > 2 * w->n_parameters)
        status = tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s has %zu tensors, too many for %zu parameters", from->path,
                          from->n_tensors, w->n_parameters);
    if (status == TFM_OK) status = check(w, from, error);
    if (status != TFM_OK) return status;
    f->copy = tfm_alloc_unset(&f->allocator, w->size, sizeof(float));
    if (!f->copy) return tfm_fail(error, TFM_E_NOMEM, "weights: %zu floats", w->size);
    f->copy_size = w->size;
    f->data = f->copy;
    for (size_t i = 0; i < w->n_parameters && status == TFM_OK; i++) {
        status = find(&at, from, &w->parameters[i], error);
        if (status == TFM_OK) copy(f->copy + w->parameters[i].offset, &w->parameters[i], &at);
    }
    return status;
}

tfm_status tfm_foreign_refuse(const char *path, const char *what, tfm_text value, tfm_error *error)
{
    return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: %s '%.*s' is not supported", path, what,
                    (int)(value.size < 60 ? value.size : 60), value.data ? value.data : "");
}

void tfm_foreign_beside(tfm_mapping *out, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char full[PATH_MAX];

    *out = (tfm_mapping){NULL, 0};
    if (snprintf(full, sizeof full, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) < (int)sizeof full)
        tfm_file_map(out, full, NULL);
}

tfm_status tfm_foreign_open(tfm_model_file *f, bool *is, const char *path, bool verify, tfm_error *error)
{
    char config[PATH_MAX];
    tfm_mapping mapping = {NULL, 0};
    const bool folder = snprintf(config, sizeof config, "%s/config.json", path) < (int)sizeof config &&
                        tfm_file_map(&mapping, config, NULL) == TFM_OK;
    tfm_status status = folder ? TFM_OK : tfm_file_map(&mapping, path, error);

    *is = false;
    if (status != TFM_OK) return status;
    const tfm_text data = {(const char *)mapping.data, mapping.size};
    const bool npz = !folder && tfm_npz_is(data), ct2 = !folder && !npz && tfm_ct2_is(data);
    *is = folder || npz || ct2;
    if (folder) status = tfm_hugging_face_read(f, data, path, verify, error);
    if (npz) status = tfm_marian_read(f, data, path, verify, error);
    if (ct2) status = tfm_ct2_read(f, data, path, error);
    tfm_file_unmap(&mapping);
    if (status != TFM_OK) tfm_model_file_close(f);
    return status;
}
