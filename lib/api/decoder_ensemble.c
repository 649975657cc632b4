/* Which models may decode together, and how much each counts. */
#include "api/decoder_handle.h"
#include "text/tokenizer.h"

#include <math.h>

static tfm_status check_ids(const tfm_model_options *first, const tfm_model_options *o, size_t index, tfm_error *error)
{
    const int32_t starts[] = {tfm_config_start(first), tfm_config_start(o)};

    if (o->vocab_size != first->vocab_size || o->source_vocab_size != first->source_vocab_size)
        return tfm_fail(error, TFM_E_INVALID,
                        "model %zu has %u source and %u target tokens, model 0 %u and %u: models that decode together "
                        "have one vocabulary",
                        index, o->source_vocab_size, o->vocab_size, first->source_vocab_size, first->vocab_size);
    if (o->pad_id != first->pad_id || o->eos_id != first->eos_id || starts[0] != starts[1] ||
        tfm_config_end(o, true) != tfm_config_end(first, true))
        return tfm_fail(
            error, TFM_E_INVALID,
            "model %zu has pad_id %u, eos_id %u, start %d and source end %d, model 0 %u, %u, %d and %d: models "
            "that decode together have the same",
            index, o->pad_id, o->eos_id, starts[1], tfm_config_end(o, true), first->pad_id, first->eos_id, starts[0],
            tfm_config_end(first, true));
    return TFM_OK;
}

static tfm_status check_tokenizer(const tfm_model *first, const tfm_model *m, size_t index,
                                  const tfm_allocator *allocator, tfm_error *error)
{
    tfm_buffer texts[2] = {{.allocator = *allocator}, {.allocator = *allocator}};
    const tfm_tokenizer *a = first->tokenizer, *b = m->tokenizer;

    if (!a || !b || a == b) return TFM_OK;
    tfm_status status = tfm_tokenizer_to_text(a, &texts[0], error);
    if (!status) status = tfm_tokenizer_to_text(b, &texts[1], error);
    if (!status && (texts[0].size != texts[1].size || memcmp(texts[0].data, texts[1].data, texts[0].size)))
        status =
            tfm_fail(error, TFM_E_INVALID,
                     "model %zu has another tokenizer (kind %u, %u tokens) than model 0 (kind %u, %u tokens): models "
                     "that decode together have the same",
                     index, tfm_tokenizer_kind(b), tfm_tokenizer_vocab_size(b), tfm_tokenizer_kind(a),
                     tfm_tokenizer_vocab_size(a));
    tfm_buffer_free(&texts[0]);
    tfm_buffer_free(&texts[1]);
    return status;
}

static tfm_status check_weights(const float *weights, size_t n, tfm_error *error)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0.0f && !isinf(weights[i])))
            return tfm_fail(error, TFM_E_INVALID, "weights[%zu] is %g, must be a number of at least 0", i,
                            (double)weights[i]);
        sum += (double)weights[i];
    }
    return sum > 0.0 ? TFM_OK : tfm_fail(error, TFM_E_INVALID, "all %zu weights are 0: one must be above", n);
}

tfm_status tfm_decoder_check_models(const tfm_model *const *models, const float *weights, size_t n,
                                    const tfm_decoder_options *options, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(options->allocator);
    tfm_status status = weights ? check_weights(weights, n, error) : TFM_OK;

    for (size_t i = 0; !status && i < n; i++) {
        status = check_ids(&models[0]->weights.options, &models[i]->weights.options, i, error);
        if (!status) status = check_tokenizer(models[0], models[i], i, &a, error);
        if (!status && options->dtype == TFM_DTYPE_BF16)
            status = tfm_model_need_floats(models[i], "translate in bfloat16 with", error);
    }
    return status;
}

float tfm_decoder_log_weight(const float *weights, size_t n, size_t i)
{
    double sum = 0.0;

    if (!weights) return (float)-log((double)n);
    for (size_t j = 0; j < n; j++) sum += (double)weights[j];
    return (float)log((double)weights[i] / sum);
}
