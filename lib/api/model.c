/* tfm_model: creation, files, averaging, parameters. */
#include "api/model_handle.h"
#include "base/arithmetic.h"
#include "model/foreign.h"
#include "model/quantised_file.h"
#include "text/tokenizer.h"

/* Never edit: the fields every caller since 0.2 has. */
#define LOAD_OPTIONS_SIZE_MIN (offsetof(tfm_load_options, allocator) + sizeof(void *))

void tfm_model_options_init(tfm_model_options *options, size_t struct_size)
{
    tfm_config_init(options, struct_size);
}

/* Reads, changes and writes back what the caller knows of the options. */
static tfm_status change(tfm_model_options *options, const char *name, const char *value, tfm_error *error)
{
    tfm_model_options o;
    tfm_status status;

    if (!options || !name) return tfm_fail(error, TFM_E_INVALID, "options or name is NULL");
    tfm_config_init(&o, sizeof o);
    const uint32_t size = options->struct_size;
    status = tfm_options_read(&o, sizeof o, TFM_MODEL_OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK) status = value ? tfm_config_set(&o, name, value, error) : tfm_config_preset(&o, name, error);
    if (status != TFM_OK) return status;
    memcpy(options, &o, size < sizeof o ? size : sizeof o);
    options->struct_size = size;
    return TFM_OK;
}

tfm_status tfm_model_options_preset(tfm_model_options *options, const char *name, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    return change(options, name, NULL, error);
}

tfm_status tfm_model_options_set(tfm_model_options *options, const char *name, const char *value, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!value) return tfm_fail(error, TFM_E_INVALID, "value is NULL");
    return change(options, name, value, error);
}

/* The caller's options over the defaults. */
static tfm_status read_options(tfm_model_options *o, const tfm_model_options *options, tfm_error *error)
{
    tfm_config_init(o, sizeof *o);
    return tfm_options_read(o, sizeof *o, TFM_MODEL_OPTIONS_SIZE_MIN, options, error);
}

tfm_status tfm_model_options_costs(tfm_model_costs *costs, size_t struct_size, const tfm_model_options *options,
                                   uint32_t n, uint32_t m, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_model_options o;
    tfm_model_costs c;
    tfm_status status;

    if (!costs) return tfm_fail(error, TFM_E_INVALID, "costs is NULL");
    status = read_options(&o, options, error);
    if (status == TFM_OK) status = tfm_config_check(&o, error);
    if (status != TFM_OK) return status;
    tfm_config_costs(&c, &o, n, m);
    tfm_result_write(costs, struct_size, &c, sizeof c);
    return TFM_OK;
}

static tfm_model *new_model(const tfm_allocator *a, tfm_error *error)
{
    tfm_model *m = tfm_alloc(a, 1, sizeof *m);

    if (m) m->allocator = *a;
    else tfm_fail(error, TFM_E_NOMEM, "model: %zu bytes", sizeof *m);
    return m;
}

/* With m->data in place: layers, what packs them, positions. */
static tfm_status finish(tfm_model *m, tfm_error *error)
{
    const tfm_model_options *o = &m->weights.options;

    if (m->data) tfm_weights_bind(&m->weights, m->data, NULL);
    else tfm_weights_bind_rest(&m->weights, m->file.copy);
    m->transformer.weights = &m->weights;
    const tfm_inference_source source = {
        &m->weights, m->file.file ? tfm_safetensors_mapping(m->file.file) : (tfm_mapping){NULL, 0}};
    const tfm_status status =
        tfm_inference_store_create(&m->packed, &source, m->data ? NULL : &m->file.packed, &m->allocator, error);
    if (status != TFM_OK) return status;
    if (o->positions == TFM_POSITIONS_LEARNED) {
        m->transformer.position_rows = o->max_positions - o->position_offset;
        return TFM_OK;
    }
    m->position = tfm_alloc_unset(&m->allocator, (size_t)TFM_POSITION_ROWS * o->d_model, sizeof(float));
    if (!m->position) return tfm_fail(error, TFM_E_NOMEM, "positions: %d rows of %u", TFM_POSITION_ROWS, o->d_model);
    tfm_position_fill(m->position, TFM_POSITION_ROWS, o->d_model, o->positions, o->position_offset);
    m->transformer.position = m->position;
    m->transformer.position_rows = TFM_POSITION_ROWS;
    return TFM_OK;
}

/* A model with a block of its own, its contents still to be written. vocab_size 0: the tokenizer's. */
static tfm_status begin(tfm_model **out, const tfm_model_options *options, const tfm_tokenizer *tokenizer,
                        const tfm_allocator *a, tfm_error *error)
{
    tfm_model_options o = *options;
    tfm_model *m = new_model(a, error);
    tfm_status status;

    if (!m) return TFM_E_NOMEM;
    *out = m;
    const tfm_tokenizer *target = tfm_tokenizer_target(tokenizer);
    if (!o.vocab_size && target) o.vocab_size = tfm_tokenizer_vocab_size(target);
    if (!o.source_vocab_size && target != tokenizer) o.source_vocab_size = tfm_tokenizer_vocab_size(tokenizer);
    status = tfm_model_check_pair(&o, tokenizer, error);
    if (status == TFM_OK) status = tfm_model_take_ids(&o, tokenizer, error);
    if (status == TFM_OK) status = tfm_weights_create(&m->weights, &o, a, error);
    if (status == TFM_OK) status = tfm_model_check_tokenizer(&m->weights.options, tokenizer, error);
    if (status == TFM_OK && tokenizer) status = tfm_tokenizer_copy(&m->tokenizer, tokenizer, a, error);
    if (status != TFM_OK) return status;
    m->data = m->block = tfm_alloc_unset(a, m->weights.size, sizeof(float));
    if (!m->block) return tfm_fail(error, TFM_E_NOMEM, "weights: %zu floats", m->weights.size);
    return finish(m, error);
}

/* Hands the model over, or frees what there is of it. */
static tfm_status hand_over(tfm_model **out, tfm_model *m, tfm_status status)
{
    if (status != TFM_OK) {
        tfm_model_free(m);
        m = NULL;
    }
    *out = m;
    return status;
}

tfm_status tfm_model_create(tfm_model **out, const tfm_model_options *options, const tfm_tokenizer *tokenizer,
                            tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_model_options o;
    tfm_model *m = NULL;
    tfm_status status;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    status = read_options(&o, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(o.allocator);
    status = begin(&m, &o, tokenizer, &a, error);
    if (status == TFM_OK) tfm_weights_init(&m->weights, m->block);
    return hand_over(out, m, status);
}

static const tfm_parameter_plan *find_plan(const tfm_weights *w, const char *name)
{
    for (size_t i = 0; i < w->n_parameters; i++)
        if (!strcmp(w->parameters[i].name, name)) return &w->parameters[i];
    return NULL;
}

static tfm_status copy_parameter(tfm_model *m, const tfm_parameter *given, tfm_error *error)
{
    const tfm_parameter_plan *p = given->name ? find_plan(&m->weights, given->name) : NULL;

    if (!p)
        return tfm_fail(error, TFM_E_INVALID, "parameter '%.60s' is not one of this configuration",
                        given->name ? given->name : "(NULL)");
    if (!given->data) return tfm_fail(error, TFM_E_INVALID, "parameter %s: data is NULL", p->name);
    if (given->rank != p->rank || given->shape[0] != p->shape[0] || (p->rank == 2 && given->shape[1] != p->shape[1]))
        return tfm_fail(error, TFM_E_INVALID, "parameter %s has the shape [%u, %u] of rank %u, not [%u, %u] of rank %u",
                        p->name, given->shape[0], given->rank > 1 ? given->shape[1] : 1, given->rank, p->shape[0],
                        p->shape[1], p->rank);
    memcpy(m->block + p->offset, given->data, p->size * sizeof(float));
    return TFM_OK;
}

static tfm_status copy_parameters(tfm_model *m, const tfm_parameter *parameters, size_t n, tfm_error *error)
{
    if (n != m->weights.n_parameters)
        return tfm_fail(error, TFM_E_INVALID, "%zu parameters were given, the configuration has %zu", n,
                        m->weights.n_parameters);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            if (parameters[i].name && !strcmp(parameters[i].name, parameters[j].name))
                return tfm_fail(error, TFM_E_INVALID, "parameter %.60s was given twice", parameters[i].name);
        const tfm_status status = copy_parameter(m, &parameters[i], error);
        if (status != TFM_OK) return status;
    }
    return TFM_OK;
}

tfm_status tfm_model_create_from(tfm_model **out, const tfm_model_options *options, const tfm_tokenizer *tokenizer,
                                 const tfm_parameter *parameters, size_t n_parameters, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_model_options o;
    tfm_model *m = NULL;
    tfm_status status;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!parameters) return tfm_fail(error, TFM_E_INVALID, "parameters is NULL");
    status = read_options(&o, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(o.allocator);
    status = begin(&m, &o, tokenizer, &a, error);
    if (status == TFM_OK) status = copy_parameters(m, parameters, n_parameters, error);
    return hand_over(out, m, status);
}

tfm_status tfm_model_copy_of(tfm_model **out, const tfm_model_options *options, const float *data,
                             const tfm_tokenizer *tokenizer, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_model *m = NULL;
    const tfm_status status = begin(&m, options, tokenizer, allocator, error);

    if (status == TFM_OK) memcpy(m->block, data, m->weights.size * sizeof(float));
    return hand_over(out, m, status);
}

static const tfm_load_options load_defaults = {.struct_size = sizeof(tfm_load_options)};

void tfm_load_options_init(tfm_load_options *options, size_t struct_size)
{
    tfm_options_fill(options, struct_size, &load_defaults, sizeof load_defaults);
}

/* Of whatever kind it is. */
static tfm_status open_file(tfm_model_file *file, const char *path, bool verify, const tfm_allocator *a,
                            tfm_error *error)
{
    bool foreign;

    *file = (tfm_model_file){.allocator = *a};
    const tfm_status status = tfm_foreign_open(file, &foreign, path, verify, error);
    return foreign || status != TFM_OK ? status : tfm_model_file_open(file, path, verify, a, error);
}

tfm_status tfm_model_load(tfm_model **out, const char *path, const tfm_load_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_load_options o = load_defaults;
    tfm_status status = TFM_OK;
    tfm_model *m;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!path) return tfm_fail(error, TFM_E_INVALID, "path is NULL");
    if (options) status = tfm_options_read(&o, sizeof o, LOAD_OPTIONS_SIZE_MIN, options, error);
    if (status != TFM_OK) return status;
    const tfm_allocator a = tfm_allocator_or_default(o.allocator);
    m = new_model(&a, error);
    if (!m) return TFM_E_NOMEM;
    status = open_file(&m->file, path, !o.skip_checksum, &a, error);
    if (status == TFM_OK) status = tfm_weights_create(&m->weights, &m->file.weights.options, &a, error);
    if (status == TFM_OK) status = tfm_model_read_tokenizer(&m->tokenizer, &m->file, path, &a, error);
    if (status == TFM_OK && tfm_model_check_tokenizer(&m->weights.options, m->tokenizer, NULL) != TFM_OK)
        status = tfm_fail(error, TFM_E_FORMAT, "%.120s: its tokenizer is larger than its vocabulary", path);
    m->data = m->file.data;
    m->dtype = m->file.dtype;
    if (status == TFM_OK) status = finish(m, error);
    return hand_over(out, m, status);
}

tfm_status tfm_model_need_floats(const tfm_model *model, const char *purpose, tfm_error *error)
{
    if (model->data) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED,
                    "the model is quantised to int8: %s the float32 model that it was made of", purpose);
}

static tfm_status save_floats(const tfm_model *m, const char *path, tfm_text tokenizer, tfm_error *error)
{
    const tfm_model_parts parts = {.weights = &m->weights, .data = m->data, .tokenizer = tokenizer};
    const tfm_status status = tfm_model_need_floats(m, "save", error);

    return status == TFM_OK ? tfm_model_file_save(path, &parts, &m->allocator, error) : status;
}

/* Quantised with the packed weights of decoders, which stay with the model. */
static tfm_status save_int8(const tfm_model *m, const char *path, tfm_text tokenizer, tfm_error *error)
{
    tfm_quantised_parts parts = {.data = m->data ? m->data : m->file.copy, .rest = !m->data, .tokenizer = tokenizer};
    tfm_pool *pool = NULL;
    tfm_status status = tfm_pool_create(&pool, 1, &m->allocator, error);

    if (status == TFM_OK) status = tfm_inference_store_get(m->packed, &parts.packed, TFM_DTYPE_INT8, pool, error);
    if (status == TFM_OK) status = tfm_quantised_save(path, &parts, &m->allocator, error);
    tfm_pool_free(pool);
    return status;
}

tfm_status tfm_model_save_as(const tfm_model *model, const char *path, uint32_t dtype, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_status status = TFM_OK;

    if (!model || !path) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", model ? "path" : "model");
    if (dtype != TFM_DTYPE_F32 && dtype != TFM_DTYPE_INT8)
        return tfm_fail(error, TFM_E_INVALID, "dtype is %u; files are float32 (%d) or int8 (%d)", dtype, TFM_DTYPE_F32,
                        TFM_DTYPE_INT8);
    tfm_buffer text = {.allocator = model->allocator};
    if (model->tokenizer) status = tfm_tokenizer_to_text(model->tokenizer, &text, error);
    const tfm_text tokenizer = {text.data, text.size};
    if (status == TFM_OK)
        status = dtype == TFM_DTYPE_INT8 ? save_int8(model, path, tokenizer, error)
                                         : save_floats(model, path, tokenizer, error);
    tfm_buffer_free(&text);
    return status;
}

tfm_status tfm_model_save(const tfm_model *model, const char *path, tfm_error *error)
{
    return tfm_model_save_as(model, path, model ? model->dtype : TFM_DTYPE_F32, error);
}

tfm_status tfm_model_export(const tfm_model *model, const char *path, uint32_t format, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!model || !path) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", model ? "path" : "model");
    if (format != TFM_EXPORT_MARIAN && format != TFM_EXPORT_HUGGING_FACE)
        return tfm_fail(error, TFM_E_INVALID, "format is %u, not Marian (%d) or Hugging Face (%d)", format,
                        TFM_EXPORT_MARIAN, TFM_EXPORT_HUGGING_FACE);
    const tfm_status status = tfm_model_need_floats(model, "export", error);
    if (status != TFM_OK) return status;
    return (format == TFM_EXPORT_MARIAN ? tfm_marian_save : tfm_hugging_face_save)(path, &model->weights, model->data,
                                                                                   error);
}

uint32_t tfm_model_dtype(const tfm_model *model)
{
    return model ? model->dtype : TFM_DTYPE_F32;
}

/* What must agree for two sets of weights to have a mean: everything but the seed of their beginnings. */
static bool same_form(const tfm_model *a, const tfm_model *b)
{
    tfm_model_options oa = a->weights.options, ob = b->weights.options;

    oa.seed = ob.seed = 0;
    return !memcmp(&oa, &ob, sizeof oa);
}

tfm_status tfm_model_average(tfm_model **out, const tfm_model *const *models, size_t n_models, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_status status;
    tfm_model *m;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!models || !n_models) return tfm_fail(error, TFM_E_INVALID, "no models were given");
    for (size_t i = 0; i < n_models; i++) {
        if (!models[i]) return tfm_fail(error, TFM_E_INVALID, "model %zu is NULL", i);
        if (!same_form(models[0], models[i]))
            return tfm_fail(error, TFM_E_INVALID, "model %zu has another configuration than model 0", i);
        status = tfm_model_need_floats(models[i], "average", error);
        if (status != TFM_OK) return status;
    }
    const tfm_model *first = models[0];
    status = tfm_model_copy_of(&m, &first->weights.options, first->data, first->tokenizer, &first->allocator, error);
    if (status != TFM_OK) return status;
    for (size_t j = 0; j < m->weights.size; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < n_models; i++) sum += (double)models[i]->data[j];
        m->block[j] = (float)(sum / (double)n_models);
    }
    *out = m;
    return TFM_OK;
}

void tfm_model_free(tfm_model *m)
{
    if (!m) return;
    const tfm_allocator a = m->allocator;

    if (m->position)
        tfm_free(&a, m->position, (size_t)TFM_POSITION_ROWS * m->weights.options.d_model, sizeof(float));
    tfm_tokenizer_free(m->tokenizer);
    tfm_inference_store_free(m->packed);
    tfm_free(&a, m->block, m->weights.size, sizeof(float));
    tfm_weights_destroy(&m->weights);
    tfm_model_file_close(&m->file);
    tfm_free(&a, m, 1, sizeof *m);
}

void tfm_model_get_options(tfm_model_options *options, size_t struct_size, const tfm_model *model)
{
    if (!model) return;
    tfm_options_fill(options, struct_size, &model->weights.options, sizeof model->weights.options);
}

const tfm_tokenizer *tfm_model_tokenizer(const tfm_model *model)
{
    return model ? model->tokenizer : NULL;
}

size_t tfm_model_parameter_count(const tfm_model *model)
{
    return model ? model->weights.n_parameters : 0;
}

/* Where a parameter lies: of a quantised model behind those that are in no matrix either. */
static const float *data_of(const tfm_model *m, const tfm_parameter_plan *p)
{
    const float *at = m->file.copy;

    if (m->data) return m->data + p->offset;
    if (p->multiplied) return NULL;
    for (const tfm_parameter_plan *q = m->weights.parameters; q < p; q++) at += q->multiplied ? 0 : q->size;
    return at;
}

static tfm_status lend(const tfm_model *m, const tfm_parameter_plan *p, tfm_parameter *out, tfm_error *error)
{
    *out = (tfm_parameter){p->name, data_of(m, p), p->rank, {p->shape[0], p->shape[1], 1}};
    return out->data ? TFM_OK : tfm_fail(error, TFM_E_UNSUPPORTED, "parameter %s is quantised to int8", p->name);
}

tfm_status tfm_model_parameter_at(tfm_parameter *out, const tfm_model *model, size_t index, tfm_error *error)
{
    if (!model || !out) return tfm_fail(error, TFM_E_INVALID, "%s is NULL", model ? "out" : "model");
    if (index >= model->weights.n_parameters)
        return tfm_fail(error, TFM_E_INVALID, "parameter %zu does not exist, there are %zu", index,
                        model->weights.n_parameters);
    return lend(model, &model->weights.parameters[index], out, error);
}

tfm_status tfm_model_parameter_named(tfm_parameter *out, const tfm_model *model, const char *name, tfm_error *error)
{
    if (!model || !name || !out)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !model ? "model" : !name ? "name" : "out");
    const tfm_parameter_plan *p = find_plan(&model->weights, name);
    if (!p) return tfm_fail(error, TFM_E_INVALID, "the model has no parameter '%.60s'", name);
    return lend(model, p, out, error);
}
