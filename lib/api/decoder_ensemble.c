/* Which models may decode together, and how much each counts. */
#include "api/decoder_handle.h"
#include "text/tokenizer.h"

#include <math.h>

/* What the search reads off a model: PAD, EOS, what the decoder reads first, what ends a source, a first token that is
 * forced; -1: none. */
enum { SEARCH_IDS = 5 };

static void search_ids(int32_t ids[SEARCH_IDS], const tfm_model_options *o)
{
    ids[0] = (int32_t)o->pad_id;
    ids[1] = (int32_t)o->eos_id;
    ids[2] = tfm_config_start(o);
    ids[3] = tfm_config_end(o, true);
    ids[4] = o->force_first ? (int32_t)o->first_id : -1;
}

static tfm_status check_ids(const tfm_model_options *first, const tfm_model_options *o, size_t index, tfm_error *error)
{
    static const char *const names[SEARCH_IDS] = {"pad_id", "eos_id", "first input", "end of sources", "first_id"};
    int32_t ours[SEARCH_IDS], theirs[SEARCH_IDS];

    if (o->vocab_size != first->vocab_size || o->source_vocab_size != first->source_vocab_size)
        return tfm_fail(error, TFM_E_INVALID,
                        "model %zu has %u source and %u target tokens, model 0 %u and %u: models that decode together "
                        "have one vocabulary",
                        index, o->source_vocab_size, o->vocab_size, first->source_vocab_size, first->vocab_size);
    search_ids(ours, first);
    search_ids(theirs, o);
    for (size_t i = 0; i < SEARCH_IDS; i++)
        if (ours[i] != theirs[i])
            return tfm_fail(error, TFM_E_INVALID,
                            "model %zu has %s %d, model 0 %d (-1: none): models that decode together have the same",
                            index, names[i], theirs[i], ours[i]);
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
