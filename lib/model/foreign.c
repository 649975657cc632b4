/* Takes the parameters of a configuration from another system's tensors, as float32. */
#include "model/foreign.h"

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

const tfm_leaf *tfm_naming_find(const tfm_naming *naming, uint32_t norm_order, const char *ours, unsigned way,
                                char theirs[static TFM_FOREIGN_NAME])
{
    const tfm_leaf_order other = norm_order == TFM_PRE_NORM ? TFM_LEAF_POST : TFM_LEAF_PRE;

    for (const tfm_branch *b = naming->branches; b->ours; b++) {
        uint32_t layer = 0;
        const char *rest = begins_with(ours, b->ours, &layer);
        for (const tfm_leaf *l = b->leaves; rest && l->ours; l++)
            if (l->order != other && !strcmp(rest, l->ours) && !way-- &&
                join(theirs, b->theirs, l->theirs, layer + naming->first_layer))
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

float tfm_foreign_element(const tfm_tensor *t, size_t i)
{
    const char *at = (const char *)t->data + i * tfm_dtype_size(t->dtype);
    uint32_t bits;
    uint16_t word;
    float x;

    if (t->dtype == TFM_I8) return (float)*(const signed char *)at;
    if (t->dtype == TFM_F32) return memcpy(&x, at, sizeof x), x;
    if (t->dtype == TFM_I32) return memcpy(&bits, at, sizeof bits), (float)(int32_t)bits;
    memcpy(&word, at, sizeof word);
    if (t->dtype == TFM_I16) return (float)(int16_t)word;
    if (t->dtype == TFM_F16) return half(word);
    bits = (uint32_t)word << 16; /* bfloat16 */
    return memcpy(&x, &bits, sizeof x), x;
}

typedef struct place {
    const tfm_leaf *leaf;
    const tfm_tensor *tensor, *scale; /* scale: of integers, one number, or one for each row, to divide by */
} place;

static bool is_quantised(const tfm_tensor *t)
{
    return t->dtype == TFM_I8 || t->dtype == TFM_I16;
}

static bool readable(const place *p)
{
    const tfm_dtype d = p->tensor->dtype;

    return p->scale ? p->scale->dtype == TFM_F32 : d == TFM_F32 || d == TFM_F16 || d == TFM_BF16;
}

static void copy(float *to, const tfm_parameter_plan *p, const place *from)
{
    const size_t rows = p->shape[0], cols = p->shape[1], first = from->leaf->part * rows;

    for (size_t r = 0; r < rows; r++) {
        const bool each = from->scale && from->scale->bytes > sizeof(float);
        const float scale = from->scale ? tfm_foreign_element(from->scale, each ? first + r : 0) : 1.0f;
        for (size_t c = 0; c < cols; c++) {
            const size_t i = from->leaf->transposed ? c * rows + r : (first + r) * cols + c;
            to[r * cols + c] = tfm_foreign_element(from->tensor, i) / scale;
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

static tfm_status find(place *out, const tfm_foreign *from, const tfm_weights *w, size_t index, tfm_error *error)
{
    const tfm_parameter_plan *p = &w->parameters[index];
    char name[TFM_FOREIGN_NAME], first[TFM_FOREIGN_NAME] = "any for it";

    *out = (place){0};
    for (unsigned way = 0; !out->tensor; way++) {
        out->leaf = tfm_naming_find(from->naming, w->options.norm_order, p->name, way, name);
        if (!out->leaf)
            return tfm_fail(error, TFM_E_FORMAT, "%.100s lacks the tensor %.60s (%s)", from->path, first, p->name);
        if (!way) memcpy(first, name, sizeof first);
        out->tensor = from->find(from->file, name);
    }
    snprintf(name, sizeof name, "%.*s_scale", (int)sizeof name - 8, out->tensor->name);
    if (is_quantised(out->tensor)) out->scale = from->find(from->file, name);
    if (!out->scale && is_quantised(out->tensor))
        return tfm_fail(error, TFM_E_FORMAT, "%.100s lacks the tensor %.100s: integers have no scale", from->path,
                        name);
    if (!readable(out))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.100s: numbers of type %s in %.60s are not supported", from->path,
                        tfm_dtype_name(out->tensor->dtype), out->tensor->name);
    if (!shape_fits(p, out))
        return tfm_fail(error, TFM_E_FORMAT, "%.100s: %.60s does not have the shape of %u%s [%u, %u]", from->path,
                        out->tensor->name, out->leaf->parts, out->leaf->transposed ? ", transposed," : "", p->shape[0],
                        p->shape[1]);
    return TFM_OK;
}

static bool is_used(const tfm_tensor *const *used, size_t n, const tfm_tensor *tensor)
{
    for (size_t i = 0; i < n; i++)
        if (used[i] == tensor) return true;
    return false;
}

/* used: room for two of each parameter. */
static tfm_status check_places(const tfm_weights *w, const tfm_foreign *from, const tfm_tensor **used, tfm_error *error)
{
    size_t n = 0;
    place at;

    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_status status = find(&at, from, w, i, error);
        if (status != TFM_OK) return status;
        used[n++] = at.tensor;
        if (at.scale) used[n++] = at.scale;
    }
    for (size_t i = 0; i < from->n_tensors; i++) {
        const tfm_tensor *t = from->at(from->file, i);
        if (!from->is_spare(t) && !is_used(used, n, t))
            return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: the tensor %.100s is not understood", from->path,
                            t->name);
    }
    return TFM_OK;
}

/* All tensors are looked at before memory for the parameters is taken, which is then no more than the file holds. */
static tfm_status check(const tfm_weights *w, const tfm_foreign *from, tfm_error *error)
{
    const tfm_tensor **used = tfm_alloc(&w->allocator, 2 * w->n_parameters, sizeof *used);
    const tfm_status status = used ? check_places(w, from, used, error)
                                   : tfm_fail(error, TFM_E_NOMEM, "%zu tensors: no memory", 2 * w->n_parameters);

    tfm_free(&w->allocator, used, 2 * w->n_parameters, sizeof *used);
    return status;
}

tfm_status tfm_foreign_fill(tfm_model_file *f, const tfm_model_options *options, const tfm_foreign *from,
                            tfm_error *error)
{
    const tfm_weights *w = &f->weights;
    tfm_error inner = {0};
    place at;

    tfm_status status = tfm_weights_create(&f->weights, options, &f->allocator, &inner);
    if (status != TFM_OK)
        return tfm_fail(error, status == TFM_E_INVALID ? TFM_E_FORMAT : status, "%.120s: %s", from->path,
                        inner.message);
    if (from->n_tensors > 2 * w->n_parameters)
        status = tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s has %zu tensors, too many for %zu parameters", from->path,
                          from->n_tensors, w->n_parameters);
    if (status == TFM_OK) status = check(w, from, error);
    if (status != TFM_OK) return status;
    f->copy = tfm_alloc_unset(&f->allocator, w->size, sizeof(float));
    if (!f->copy) return tfm_fail(error, TFM_E_NOMEM, "weights: %zu floats", w->size);
    f->copy_size = w->size;
    f->data = f->copy;
    for (size_t i = 0; i < w->n_parameters && status == TFM_OK; i++) {
        status = find(&at, from, w, i, error);
        if (status == TFM_OK) copy(f->copy + w->parameters[i].offset, &w->parameters[i], &at);
    }
    return status;
}

tfm_status tfm_foreign_refuse(const char *path, const char *what, tfm_text value, tfm_error *error)
{
    return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: %s '%.*s' is not supported", path, what,
                    (int)(value.size < 60 ? value.size : 60), value.data ? value.data : "");
}

tfm_status tfm_foreign_beside(tfm_mapping *out, const char *path, const char *name, tfm_error *error)
{
    const char *slash = strrchr(path, '/');
    char full[PATH_MAX];

    *out = (tfm_mapping){NULL, 0};
    if (snprintf(full, sizeof full, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, name) >= (int)sizeof full ||
        tfm_file_map(out, full, NULL) != TFM_OK)
        return TFM_OK;
    const char *guess = tfm_file_guess((tfm_text){(const char *)out->data, out->size});
    if (!guess) return TFM_OK;
    tfm_file_unmap(out);
    return tfm_fail(error, TFM_E_FORMAT, "%.100s: %.60s cannot be used: %s", path, name, guess);
}

tfm_status tfm_foreign_json(json_t **out, const char *path, const char *name, size_t most, tfm_error *error)
{
    tfm_json_fault fault;
    tfm_mapping text;
    tfm_status status = tfm_foreign_beside(&text, path, name, error);

    *out = NULL;
    if (status != TFM_OK) return status;
    const size_t size = text.size;
    if (text.data && size <= most) status = tfm_json_read(out, (tfm_text){(const char *)text.data, size}, 0, &fault);
    tfm_file_unmap(&text);
    if (size > most)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: %s has %zu bytes, more than %zu", path, name, size, most);
    if (status == TFM_E_NOMEM) return tfm_fail(error, status, "%.120s: no memory for %s", path, name);
    if (status == TFM_OK) return TFM_OK;
    return tfm_fail(error, status, "%.120s: %s is damaged at byte %zu: %s", path, name, fault.at, fault.what);
}

typedef enum folder { FOLDER_NONE, FOLDER_CT2, FOLDER_HUGGING_FACE, FOLDER_MARIAN } folder;

/* Maps a file, or the one that tells what a directory is, whose path full receives. */
static tfm_status map(tfm_mapping *out, folder *kind, char full[static PATH_MAX], const char *path, tfm_error *error)
{
    static const char *const inside[] = {[FOLDER_CT2] = "model.bin", [FOLDER_HUGGING_FACE] = "config.json"};

    for (*kind = FOLDER_CT2; *kind <= FOLDER_HUGGING_FACE; ++*kind)
        if (snprintf(full, PATH_MAX, "%s/%s", path, inside[*kind]) < PATH_MAX && !tfm_file_map(out, full, NULL))
            return TFM_OK;
    const tfm_status status = tfm_marian_model(full, path, error);
    if (!*full) *kind = FOLDER_NONE;
    return status == TFM_OK ? tfm_file_map(out, *full ? full : path, error) : status;
}

tfm_status tfm_foreign_open(tfm_model_file *f, bool *is, const char *path, bool verify, tfm_error *error)
{
    char full[PATH_MAX];
    tfm_mapping mapping = {NULL, 0};
    folder kind;
    tfm_status status = map(&mapping, &kind, full, path, error);

    *is = false;
    if (status != TFM_OK) return status;
    const char *file = kind == FOLDER_NONE ? path : full;
    const tfm_text data = {(const char *)mapping.data, mapping.size};
    const bool npz = tfm_npz_is(data), ct2 = !npz && kind != FOLDER_MARIAN && tfm_ct2_is(data);
    const char *guess = tfm_file_guess(data);
    *is = kind != FOLDER_NONE || npz || ct2;
    if (kind == FOLDER_HUGGING_FACE) status = tfm_hugging_face_read(f, file, verify, error);
    else if (npz && kind != FOLDER_CT2) status = tfm_marian_read(f, data, file, verify, error);
    else if (ct2) status = tfm_ct2_read(f, data, file, error);
    else if (*is)
        status = tfm_fail(error, TFM_E_FORMAT, "%.140s is no model of %s: %s", file,
                          kind == FOLDER_CT2 ? "CTranslate2" : "Marian",
                          guess                ? guess
                          : kind == FOLDER_CT2 ? "it begins otherwise"
                                               : "model.npz is");
    tfm_file_unmap(&mapping);
    if (status != TFM_OK) tfm_model_file_close(f);
    return status;
}
