/* tfm_decoder: creation, scoring of ids, attention. */
#include "api/decoder_handle.h"

#include "base/arithmetic.h"

#include <math.h>

static tfm_status begin(tfm_decoder *d, const tfm_model *const *models, const float *weights, size_t n,
                        tfm_error *error)
{
    const tfm_allocator *a = &d->allocator;
    tfm_member members[TFM_MOST_MODELS];
    const tfm_inference *packed;
    tfm_status status = tfm_pool_create(&d->pool, d->options.n_threads, a, error);

    for (size_t i = 0; !status && i < n; i++) {
        members[i] = (tfm_member){models[i]->transformer, .log_weight = tfm_decoder_log_weight(weights, n, i)};
        status = tfm_inference_store_get(models[i]->packed, &packed, d->options.dtype, d->pool, error);
        if (!status) members[i].transformer.weights = &packed->weights;
    }
    if (!status) status = tfm_search_create(&d->search, members, n, d->pool, &d->options, a, error);
    if (!status) status = tfm_score_create(&d->score, tfm_search_workspace(d->search), error);
    if (!status) status = tfm_aligner_create(&d->aligner, tfm_search_workspace(d->search), a, error);
    return status;
}

/* n is in its range. */
static tfm_status create(tfm_decoder **out, const tfm_model *const *models, const float *weights, size_t n,
                         const tfm_decoder_options *options, tfm_error *error)
{
    tfm_decoder_options o;
    tfm_status status = tfm_decoder_options_read(&o, options, &models[0]->weights.options, error);
    tfm_decoder *d;

    if (!status) status = tfm_decoder_check_models(models, weights, n, &o, error);
    if (status) return status;
    const tfm_allocator a = tfm_allocator_or_default(o.allocator);
    d = tfm_alloc(&a, 1, sizeof *d);
    if (!d) return tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu bytes", sizeof *d);
    *d = (tfm_decoder){.allocator = a, .options = o, .model = models[0]};
    d->sources.allocator = d->targets.allocator = a;
    d->terms.encoded.allocator = d->terms.placeholders.allocator = a;
    d->terms.written.allocator = d->terms.text.allocator = a;
    d->parts.allocator = d->parts.trial.allocator = a;
    status = begin(d, models, weights, n, error);
    if (status) tfm_decoder_free(d);
    else *out = d;
    return status;
}

tfm_status tfm_decoder_create(tfm_decoder **out, const tfm_model *model, const tfm_decoder_options *options,
                              tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!model) return tfm_fail(error, TFM_E_INVALID, "model is NULL");
    return create(out, &model, NULL, 1, options, error);
}

tfm_status tfm_decoder_create_ensemble(tfm_decoder **out, const tfm_model *const *models, const float *weights,
                                       size_t n_models, const tfm_decoder_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!out) return tfm_fail(error, TFM_E_INVALID, "out is NULL");
    *out = NULL;
    if (!models) return tfm_fail(error, TFM_E_INVALID, "models is NULL");
    if (!n_models || n_models > TFM_MOST_MODELS)
        return tfm_fail(error, TFM_E_INVALID, "n_models is %zu, not in 1..%d", n_models, TFM_MOST_MODELS);
    for (size_t i = 0; i < n_models; i++)
        if (!models[i]) return tfm_fail(error, TFM_E_INVALID, "model %zu is NULL", i);
    return create(out, models, weights, n_models, options, error);
}

void tfm_decoder_free(tfm_decoder *decoder)
{
    if (!decoder) return;
    const tfm_allocator a = decoder->allocator;

    tfm_decoder_free_texts(decoder);
    tfm_encoded_free(&decoder->sources);
    tfm_encoded_free(&decoder->targets);
    tfm_line_terms_free(&decoder->terms);
    tfm_parts_free(&decoder->parts);
    tfm_aligner_free(&decoder->aligner);
    tfm_score_free(decoder->score);
    tfm_search_free(decoder->search);
    tfm_pool_free(decoder->pool);
    tfm_free(&a, decoder, 1, sizeof *decoder);
}

tfm_status tfm_decoder_logprobs_ids(tfm_decoder *decoder, const tfm_ids *sources, const tfm_ids *targets,
                                    size_t n_pairs, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;

    if (!decoder) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    tfm_score_clear(decoder->score);
    decoder->aligner.given.n = 0;
    if (n_pairs && (!sources || !targets))
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL, n_pairs %zu", sources ? "targets" : "sources", n_pairs);
    return tfm_score_run(decoder->score, sources, targets, n_pairs, error);
}

const float *tfm_decoder_token_logprobs(const tfm_decoder *decoder, size_t pair, size_t *n_tokens)
{
    size_t n = 0;
    const float *logprobs = decoder ? tfm_score_tokens(decoder->score, pair, &n) : NULL;

    if (n_tokens) *n_tokens = n;
    return logprobs;
}

double tfm_decoder_pair_logprob(const tfm_decoder *decoder, size_t pair)
{
    TFM_OWN_ARITHMETIC;
    size_t n;
    const float *logprobs = tfm_decoder_token_logprobs(decoder, pair, &n);
    double sum = 0.0;

    if (!logprobs) return (double)NAN;
    for (size_t i = 0; i < n; i++) sum += (double)logprobs[i];
    return sum;
}

static tfm_status check_pair(size_t n_source, size_t n_target, uint32_t kind, tfm_error *error)
{
    if (kind > TFM_ATTENTION_CROSS)
        return tfm_fail(error, TFM_E_INVALID, "kind is %u, not in 0..%d", kind, TFM_ATTENTION_CROSS);
    if (!n_source) return tfm_fail(error, TFM_E_INVALID, "source is empty: there is nothing to attend to");
    if (!n_target && kind != TFM_ATTENTION_ENCODER)
        return tfm_fail(error, TFM_E_INVALID, "target is empty: there is no query");
    return TFM_OK;
}

static tfm_status check_head(const tfm_model_options *o, uint32_t kind, uint32_t layer, uint32_t head, tfm_error *error)
{
    const uint32_t layers = kind == TFM_ATTENTION_ENCODER ? o->n_encoder_layers : o->n_decoder_layers;

    if (layer >= layers) return tfm_fail(error, TFM_E_INVALID, "layer is %u, not in 0..%u", layer, layers - 1);
    if (head >= o->n_heads) return tfm_fail(error, TFM_E_INVALID, "head is %u, not in 0..%u", head, o->n_heads - 1);
    return TFM_OK;
}

tfm_status tfm_decoder_attention(const float **weights, size_t *rows, size_t *cols, tfm_decoder *decoder,
                                 tfm_ids source, tfm_ids target, uint32_t kind, uint32_t layer, uint32_t head,
                                 tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    size_t shape[4];
    tfm_status status;

    if (!decoder || !weights || !rows || !cols)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", decoder ? "weights, rows or cols" : "decoder");
    *weights = NULL;
    *rows = *cols = 0;
    if (kind == TFM_ATTENTION_ENCODER) target = (tfm_ids){NULL, 0};
    status = check_pair(source.size, target.size, kind, error);
    if (!status) status = check_head(&decoder->model->weights.options, kind, layer, head, error);
    if (!status) status = tfm_score_attention(decoder->score, source, target, kind, layer, weights, shape, error);
    if (status) return status;
    *rows = shape[2];
    *cols = shape[3];
    *weights += head * *rows * *cols;
    return TFM_OK;
}

tfm_status tfm_decoder_attention_all(const float **weights, size_t *shape, tfm_decoder *decoder, tfm_ids source,
                                     tfm_ids target, uint32_t kind, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_status status;

    if (!decoder || !weights || !shape)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", decoder ? "weights or shape" : "decoder");
    *weights = NULL;
    memset(shape, 0, 4 * sizeof *shape);
    if (kind == TFM_ATTENTION_ENCODER) target = (tfm_ids){NULL, 0};
    status = check_pair(source.size, target.size, kind, error);
    if (status) return status;
    return tfm_score_attention(decoder->score, source, target, kind, TFM_EVERY_LAYER, weights, shape, error);
}
