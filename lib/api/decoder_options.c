/* tfm_decoder_options: defaults, and what is refused. */
#include "api/decoder_handle.h"

#include <math.h>

#define OPTIONS_SIZE_MIN (offsetof(tfm_decoder_options, progress_user) + sizeof(void *))

enum { MAX_BEAM = 1024 };

static const tfm_decoder_options defaults = {
    .beam = 4,
    .alpha = 0.6f,
    .n_best = 1,
    .max_extra = 50,
    .max_source = 4096,
    .stop_rule = TFM_STOP_BEST,
    .batch_tokens = 4096,
    .n_threads = 1,
};

void tfm_decoder_options_init(tfm_decoder_options *options, size_t struct_size)
{
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

/* Rows of a sentence: hypotheses, or the samples. */
static tfm_status take_rows(tfm_decoder_options *o, tfm_error *error)
{
    const bool samples = o->temperature > 0.0f;
    const uint32_t most = samples ? MAX_BEAM : o->beam;

    if (!most || most > MAX_BEAM)
        return tfm_fail(error, TFM_E_INVALID, "beam is %u, not in 1..%d", o->beam, MAX_BEAM);
    if (!o->n_best || o->n_best > most)
        return tfm_fail(error, TFM_E_INVALID, "n_best is %u, not in 1..%u%s", o->n_best, most,
                        samples ? "" : " (beam)");
    if (samples) o->beam = o->n_best;
    return TFM_OK;
}

static tfm_status check_search(const tfm_decoder_options *o, tfm_error *error)
{
    if (o->stop_rule > TFM_STOP_WORST)
        return tfm_fail(error, TFM_E_INVALID, "stop_rule is %u, not in 0..%d", o->stop_rule, TFM_STOP_WORST);
    if (o->max_length && o->min_length > o->max_length)
        return tfm_fail(error, TFM_E_INVALID, "min_length is %u, more than max_length %u", o->min_length,
                        o->max_length);
    if (o->long_source > TFM_LONG_SPLIT)
        return tfm_fail(error, TFM_E_INVALID, "long_source is %u, not in 0..%d", o->long_source, TFM_LONG_SPLIT);
    if (o->dtype > TFM_DTYPE_INT8)
        return tfm_fail(error, TFM_E_INVALID, "dtype is %u, not in 0..%d", o->dtype, TFM_DTYPE_INT8);
    if (!o->max_source || !o->batch_tokens)
        return tfm_fail(error, TFM_E_INVALID, "%s is 0, must be at least 1",
                        o->max_source ? "batch_tokens" : "max_source");
    return TFM_OK;
}

static tfm_status check_number(float value, const char *name, tfm_error *error)
{
    if (value >= 0.0f && !isinf(value)) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "%s is %g, must be a number of at least 0", name, (double)value);
}

static tfm_status check_controls(const tfm_decoder_options *o, tfm_error *error)
{
    tfm_status status = check_number(o->alpha, "alpha", error);

    if (!status) status = check_number(o->repetition_penalty, "repetition_penalty", error);
    if (!status) status = check_number(o->min_ratio, "min_ratio", error);
    if (!status) status = check_number(o->max_ratio, "max_ratio", error);
    if (!status) status = check_number(o->coverage, "coverage", error);
    if (status) return status;
    if (o->length_norm > TFM_LENGTH_NONE)
        return tfm_fail(error, TFM_E_INVALID, "length_norm is %u, not in 0..%d", o->length_norm, TFM_LENGTH_NONE);
    if (o->max_ratio > 0.0f && o->min_ratio > o->max_ratio)
        return tfm_fail(error, TFM_E_INVALID, "min_ratio is %g, more than max_ratio %g", (double)o->min_ratio,
                        (double)o->max_ratio);
    if (o->reserved) return tfm_fail(error, TFM_E_INVALID, "reserved is %u, must be 0", o->reserved);
    if (o->n_forbidden && !o->forbidden)
        return tfm_fail(error, TFM_E_INVALID, "forbidden is NULL, n_forbidden %zu", o->n_forbidden);
    return TFM_OK;
}

static tfm_status check_sampling(const tfm_decoder_options *o, tfm_error *error)
{
    const tfm_status status = check_number(o->temperature, "temperature", error);

    if (status) return status;
    if (!(o->top_p >= 0.0f && o->top_p <= 1.0f))
        return tfm_fail(error, TFM_E_INVALID, "top_p is %g, not in 0..1", (double)o->top_p);
    if ((o->top_k || o->top_p > 0.0f) && o->temperature <= 0.0f)
        return tfm_fail(error, TFM_E_INVALID, "%s is for samples, but temperature is 0: set it to 1, or search without",
                        o->top_k ? "top_k" : "top_p");
    if (o->reserved2) return tfm_fail(error, TFM_E_INVALID, "reserved2 is %u, must be 0", o->reserved2);
    return TFM_OK;
}

static tfm_status check_alignment(const tfm_decoder_options *o, const tfm_model_options *model, tfm_error *error)
{
    if (o->alignment > TFM_ALIGNMENT_INPUT)
        return tfm_fail(error, TFM_E_INVALID, "alignment is %u, not in 0..%d", o->alignment, TFM_ALIGNMENT_INPUT);
    if (o->alignment_layer > model->n_decoder_layers)
        return tfm_fail(error, TFM_E_INVALID, "alignment_layer is %u, not in 0..%u", o->alignment_layer,
                        model->n_decoder_layers);
    if (o->alignment_head > model->n_heads)
        return tfm_fail(error, TFM_E_INVALID, "alignment_head is %u, not in 0..%u", o->alignment_head, model->n_heads);
    if (o->coverage > 0.0f && o->temperature > 0.0f)
        return tfm_fail(error, TFM_E_INVALID, "coverage is for searches, but temperature is %g: set one of them to 0",
                        (double)o->temperature);
    if (o->replace_unknown && o->alignment == TFM_ALIGNMENT_NONE)
        return tfm_fail(error, TFM_E_INVALID, "replace_unknown is %u, but alignment is 0: it says which word to copy",
                        o->replace_unknown);
    return TFM_OK;
}

static tfm_status check_forbidden(const tfm_ids *ids, size_t index, uint32_t vocab, tfm_error *error)
{
    if (!ids->size || !ids->data) return tfm_fail(error, TFM_E_INVALID, "forbidden[%zu] is empty", index);
    for (size_t i = 0; i < ids->size; i++)
        if (ids->data[i] < 0 || (uint32_t)ids->data[i] >= vocab)
            return tfm_fail(error, TFM_E_INVALID, "forbidden[%zu].data[%zu] is %d, not in 0..%u (a vocabulary of %u)",
                            index, i, ids->data[i], vocab - 1, vocab);
    return TFM_OK;
}

tfm_status tfm_decoder_options_read(tfm_decoder_options *to, const tfm_decoder_options *from,
                                    const tfm_model_options *model, tfm_error *error)
{
    *to = defaults;
    tfm_status status = tfm_options_read(to, sizeof *to, OPTIONS_SIZE_MIN, from, error);

    if (!status) status = check_sampling(to, error);
    if (!status) status = take_rows(to, error);
    if (!status) status = check_search(to, error);
    if (!status) status = check_controls(to, error);
    if (!status) status = check_alignment(to, model, error);
    for (size_t i = 0; !status && i < to->n_forbidden; i++)
        status = check_forbidden(&to->forbidden[i], i, model->vocab_size, error);
    return status;
}
