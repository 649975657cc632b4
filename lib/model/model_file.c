/* Parameters and configuration <-> the native file. */
#include "model/model_file.h"
#include "model/quantised_file.h"

#include <stdio.h>

#define FORMAT "libtransformer"
#define FORMAT_VERSION "1"
#define TOKENIZER "tokenizer"

static bool text_is(tfm_text text, const char *wanted)
{
    return text.size == strlen(wanted) && !memcmp(text.data, wanted, text.size);
}

static tfm_status check_kind(const tfm_safetensors *file, const char *path, tfm_error *error)
{
    const tfm_text format = tfm_safetensors_metadata(file, "format"),
                   version = tfm_safetensors_metadata(file, "version");

    if (!text_is(format, FORMAT))
        return tfm_fail(error, TFM_E_FORMAT, "%.120s is a safetensors file, but not a model of libtransformer", path);
    if (!text_is(version, FORMAT_VERSION))
        return tfm_fail(error, TFM_E_UNSUPPORTED,
                        "%.120s has format version '%.*s', this library reads " FORMAT_VERSION, path,
                        (int)(version.size < 20 ? version.size : 20), version.data ? version.data : "");
    return TFM_OK;
}

/* Files of others need not be: their numbers are copied. */
static tfm_status check_alignment(const tfm_safetensors *file, const char *path, tfm_error *error)
{
    for (size_t i = 0; i < tfm_safetensors_count(file); i++) {
        const tfm_tensor *t = tfm_safetensors_at(file, i);
        if ((uintptr_t)t->data % tfm_dtype_size(t->dtype) != 0)
            return tfm_fail(error, TFM_E_FORMAT, "%.120s: tensor %.80s: data is not aligned to %zu bytes", path,
                            t->name, tfm_dtype_size(t->dtype));
    }
    return TFM_OK;
}

tfm_status tfm_model_file_tokenizer(tfm_text *out, const tfm_safetensors *file, tfm_error *error)
{
    const tfm_tensor *t = tfm_safetensors_find(file, TOKENIZER);

    *out = t ? (tfm_text){t->data, t->bytes} : (tfm_text){0};
    if (!t || (t->dtype == TFM_U8 && t->rank == 1)) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "the tensor " TOKENIZER " is %s of rank %u, not U8 of rank 1",
                    tfm_dtype_name(t->dtype), t->rank);
}

size_t tfm_model_file_add_tokenizer(tfm_tensor *to, tfm_text tokenizer)
{
    if (!tokenizer.size) return 0;
    *to = (tfm_tensor){.name = TOKENIZER, .dtype = TFM_U8, .rank = 1, .shape = {tokenizer.size}, .data = tokenizer.data,
                       .bytes = tokenizer.size};
    return 1;
}

tfm_status tfm_model_file_find(const tfm_model_file *file, const tfm_parameter_plan *p, const tfm_tensor **out,
                               const char *path, tfm_error *error)
{
    const tfm_tensor *t = *out = tfm_safetensors_find(file->file, p->name);

    if (!t) return tfm_fail(error, TFM_E_FORMAT, "%.120s lacks the tensor %s", path, p->name);
    if (t->dtype != TFM_F32)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "tensor %s is %s, not F32", p->name, tfm_dtype_name(t->dtype));
    if (t->rank != p->rank || t->shape[0] != p->shape[0] || (p->rank == 2 && t->shape[1] != p->shape[1]))
        return tfm_fail(error, TFM_E_FORMAT,
                        "tensor %s has the shape [%llu, %llu] of rank %u, the configuration wants [%u, %u]", p->name,
                        (unsigned long long)t->shape[0], (unsigned long long)(t->rank > 1 ? t->shape[1] : 1), t->rank,
                        p->shape[0], p->shape[1]);
    return TFM_OK;
}

/* Points data at the mapping when the tensors lie there as the plan has them, else copies. */
static tfm_status find_data(tfm_model_file *f, const char *path, tfm_error *error)
{
    const tfm_weights *w = &f->weights;
    const char *start = NULL;
    bool in_order = true;
    size_t extra = f->tokenizer.size > 0;

    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        const tfm_tensor *t;
        const tfm_status status = tfm_model_file_find(f, p, &t, path, error);
        if (status != TFM_OK) return status;
        if (!i) start = t->data;
        in_order &= t->data == start + p->offset * sizeof(float);
    }
    for (size_t i = 0; i < tfm_safetensors_count(f->file); i++)
        extra += !strncmp(tfm_safetensors_at(f->file, i)->name, "optimizer.", 10);
    if (tfm_safetensors_count(f->file) - extra != w->n_parameters)
        return tfm_fail(error, TFM_E_FORMAT, "%.120s has %zu tensors, its configuration wants %zu", path,
                        tfm_safetensors_count(f->file) - extra, w->n_parameters);
    f->data = (const float *)(const void *)start;
    if (in_order) return TFM_OK;
    f->copy_size = w->size;
    f->copy = tfm_alloc(&f->allocator, w->size, sizeof(float));
    if (!f->copy) return tfm_fail(error, TFM_E_NOMEM, "weights: %zu floats", w->size);
    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        memcpy(f->copy + p->offset, tfm_safetensors_find(f->file, p->name)->data, p->size * sizeof(float));
    }
    f->data = f->copy;
    return TFM_OK;
}

/* A configuration larger than its file is refused before anything of its size is allocated. */
static tfm_status check_size(const tfm_model_file *f, const tfm_model_options *options, const char *path,
                             tfm_error *error)
{
    const size_t least = f->dtype == TFM_DTYPE_INT8 ? sizeof(int8_t) : sizeof(float); /* bytes of a parameter */
    tfm_model_costs costs;
    size_t numbers = 0;

    tfm_config_costs(&costs, options, 1, 1);
    for (size_t i = 0; i < tfm_safetensors_count(f->file); i++)
        numbers += tfm_safetensors_at(f->file, i)->bytes / least;
    if (costs.parameters <= numbers) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "%.120s holds %zu numbers, its configuration wants %llu", path, numbers,
                    (unsigned long long)costs.parameters);
}

static tfm_status read_scheme(tfm_model_file *f, const char *path, tfm_error *error)
{
    const tfm_text scheme = tfm_safetensors_metadata(f->file, "quantization");

    f->dtype = scheme.data ? TFM_DTYPE_INT8 : TFM_DTYPE_F32;
    if (!scheme.data || text_is(scheme, TFM_QUANTISED_SCHEME)) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED,
                    "%.120s has the quantization '%.40s', this library reads " TFM_QUANTISED_SCHEME, path, scheme.data);
}

tfm_status tfm_model_file_open(tfm_model_file *f, const char *path, bool verify, const tfm_allocator *allocator,
                               tfm_error *error)
{
    tfm_model_options options;
    tfm_status status;

    *f = (tfm_model_file){.allocator = *allocator};
    status = tfm_safetensors_open(&f->file, path, allocator, error);
    if (status == TFM_OK) status = check_kind(f->file, path, error);
    if (status == TFM_OK) status = check_alignment(f->file, path, error);
    if (status == TFM_OK) status = read_scheme(f, path, error);
    if (status == TFM_OK) status = tfm_config_from_json(&options, tfm_safetensors_metadata(f->file, "config"), error);
    if (status == TFM_OK) status = check_size(f, &options, path, error);
    if (status == TFM_OK && verify) status = tfm_safetensors_verify(f->file, error);
    if (status == TFM_OK) status = tfm_model_file_tokenizer(&f->tokenizer, f->file, error);
    if (status == TFM_OK) status = tfm_weights_create(&f->weights, &options, allocator, error);
    if (status == TFM_OK)
        status = f->dtype == TFM_DTYPE_INT8 ? tfm_quantised_open(f, path, error) : find_data(f, path, error);
    if (status != TFM_OK) {
        tfm_model_file_close(f);
        return status;
    }
    f->trainer = tfm_safetensors_metadata(f->file, "trainer");
    f->provenance = tfm_safetensors_metadata(f->file, "provenance");
    return TFM_OK;
}

void tfm_model_file_close(tfm_model_file *f)
{
    if (!f->allocator.resize) return;
    tfm_inference_destroy(&f->packed);
    tfm_free(&f->allocator, f->copy, f->copy_size, sizeof(float));
    tfm_weights_destroy(&f->weights);
    tfm_safetensors_close(f->file);
    for (size_t i = 0; i < TFM_BESIDES; i++) tfm_file_unmap(&f->beside[i].file);
    *f = (tfm_model_file){0};
}

static void moment_name(char name[static TFM_NAME_SIZE + 16], const char *moment, const char *parameter)
{
    snprintf(name, TFM_NAME_SIZE + 16, "optimizer.%s.%s", moment, parameter);
}

tfm_status tfm_model_file_moment(const tfm_model_file *f, const char *moment, float *to, tfm_error *error)
{
    char name[TFM_NAME_SIZE + 16];

    for (size_t i = 0; i < f->weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &f->weights.parameters[i];
        moment_name(name, moment, p->name);
        const tfm_tensor *t = tfm_safetensors_find(f->file, name);
        if (!t || t->dtype != TFM_F32 || t->bytes != p->size * sizeof(float))
            return tfm_fail(error, TFM_E_FORMAT, "%s is missing or of a wrong size: this is a model, not a checkpoint",
                            name);
        memcpy(to + p->offset, t->data, t->bytes);
    }
    return TFM_OK;
}

typedef char tensor_name[TFM_NAME_SIZE + 16];

/* Appends one tensor for each parameter. moment NULL: the parameters themselves. */
static size_t append(tfm_tensor *tensors, tensor_name *names, const tfm_weights *w, const float *data,
                     const char *moment)
{
    for (size_t i = 0; i < w->n_parameters; i++) {
        const tfm_parameter_plan *p = &w->parameters[i];
        if (moment) moment_name(names[i], moment, p->name);
        else snprintf(names[i], sizeof names[i], "%s", p->name);
        tensors[i] = (tfm_tensor){.name = names[i],
                                  .dtype = TFM_F32,
                                  .rank = p->rank,
                                  .shape = {p->shape[0], p->shape[1]},
                                  .data = data + p->offset,
                                  .bytes = p->size * sizeof(float)};
    }
    return w->n_parameters;
}

static tfm_text text(const char *s)
{
    return (tfm_text){s, strlen(s)};
}

tfm_status tfm_model_file_write(const char *path, const tfm_model_header *header, const tfm_tensor *tensors, size_t n,
                                const tfm_allocator *allocator, tfm_error *error)
{
    tfm_buffer config = {.allocator = *allocator};
    tfm_status status = tfm_config_to_json(&config, header->options, error);
    tfm_metadata metadata[] = {{"format", text(FORMAT)},
                               {"version", text(FORMAT_VERSION)},
                               {"config", {config.data, config.size}},
                               {"provenance", text("{\"library\":\"libtransformer 0.2.0\"}")},
                               {"trainer", header->trainer},
                               {"quantization", header->quantization}};
    size_t n_metadata = 0;

    for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++)
        if (metadata[i].value.size) metadata[n_metadata++] = metadata[i];
    if (status == TFM_OK) status = tfm_safetensors_save(path, tensors, n, metadata, n_metadata, allocator, error);
    tfm_buffer_free(&config);
    return status;
}

tfm_status tfm_model_file_save(const char *path, const tfm_model_parts *parts, const tfm_allocator *allocator,
                               tfm_error *error)
{
    const tfm_weights *w = parts->weights;
    const size_t most = 3 * w->n_parameters + 1; /* the tokenizer */
    tfm_tensor *tensors = tfm_alloc(allocator, most, sizeof *tensors);
    tensor_name *names = tfm_alloc(allocator, most, sizeof *names);
    tfm_status status =
        tensors && names ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "table of %zu tensors: no memory", most);

    if (status == TFM_OK) {
        const tfm_model_header header = {.options = &w->options, .trainer = parts->trainer};
        size_t n = append(tensors, names, w, parts->data, NULL);
        if (parts->m) n += append(tensors + n, names + n, w, parts->m, "m");
        if (parts->v) n += append(tensors + n, names + n, w, parts->v, "v");
        n += tfm_model_file_add_tokenizer(tensors + n, parts->tokenizer);
        status = tfm_model_file_write(path, &header, tensors, n, allocator, error);
    }
    tfm_free(allocator, names, most, sizeof *names);
    tfm_free(allocator, tensors, most, sizeof *tensors);
    return status;
}
