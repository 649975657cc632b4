/* Dropout of merges in training: each epoch cuts the text anew (BPE-dropout, Provilkov et al. 2020). */
#include "api/trainer_handle.h"

#include "text/tokenizer.h"

#include <assert.h>

/* The streams of an epoch, a pair and a side; those of the order of data and of weights are below. */
#define STREAM_MERGES ((uint64_t)7 << 61)

static uint64_t stream_of(uint64_t epoch, size_t pair, bool source)
{
    return STREAM_MERGES | (epoch << 33 & ~STREAM_MERGES) | (uint64_t)pair << 1 | source;
}

static float rate_of(const tfm_trainer *t, bool source)
{
    return source ? t->options.bpe_dropout_source : t->options.bpe_dropout_target;
}

static const tfm_tokenizer *tokenizer_of(const tfm_trainer *t, bool source)
{
    return source ? t->tokenizer : tfm_tokenizer_target(t->tokenizer);
}

/* Tokens that the model adds to a line. */
static size_t added(const tfm_trainer *t, bool source)
{
    return tfm_config_end(&t->training.weights.options, source) >= 0;
}

bool tfm_trainer_drops_merges(const tfm_trainer *t)
{
    return rate_of(t, true) > 0.0f || rate_of(t, false) > 0.0f;
}

/* Writes the ids of one text behind the others of its side. What gets too long is cut without dropout. */
static tfm_status draw_text(const tfm_trainer *t, tfm_side *side, size_t pair, uint64_t epoch, bool source,
                            tfm_text text, tfm_error *error)
{
    const uint64_t seed = t->options.seed, stream = stream_of(epoch, pair, source);
    const size_t most = tfm_trainer_length(t, t->options.max_length) - added(t, source);
    const size_t room = side->id_capacity - side->n_ids - added(t, source), fits = room < most ? room : most;
    const tfm_tokenizer *tokenizer = tokenizer_of(t, source);
    int32_t *ids = side->ids + side->n_ids;
    size_t n;
    tfm_status status =
        tfm_tokenizer_encode_dropout(ids, fits, &n, tokenizer, text, rate_of(t, source), seed, stream, error);

    if (status == TFM_OK && n > most) status = tfm_tokenizer_encode(ids, fits, &n, tokenizer, text, error);
    if (status != TFM_OK) return status;
    assert(n <= fits);
    if (added(t, source)) ids[n++] = tfm_config_end(&t->training.weights.options, source);
    side->n_ids += n;
    side->offset[pair + 1] = side->n_ids;
    return TFM_OK;
}

static tfm_status draw(void *user, tfm_dataset *data, uint64_t epoch, tfm_error *error)
{
    const tfm_trainer *t = user;
    const char *at = t->train.bytes.data;
    tfm_status status = TFM_OK;

    data->source.n_ids = data->target.n_ids = 0;
    for (size_t i = 0; i < 2 * t->train.n && status == TFM_OK; at += t->train.size[i++]) {
        const bool source = i % 2 == 0;
        const tfm_text text = {at, t->train.size[i]};
        status = draw_text(t, source ? &data->source : &data->target, i / 2, epoch, source, text, error);
    }
    return status;
}

/* The most tokens that a text may be in any epoch: without merges it has the most, unless those are too many. */
static tfm_status most_of(const tfm_trainer *t, const tfm_side *side, size_t pair, bool source, tfm_text text,
                          size_t *most, tfm_error *error)
{
    const size_t limit = tfm_trainer_length(t, t->options.max_length);
    tfm_status status = TFM_OK;

    *most = side->offset[pair + 1] - side->offset[pair];
    if (rate_of(t, source) == 0.0f) return TFM_OK;
    status = tfm_tokenizer_encode_dropout(NULL, 0, most, tokenizer_of(t, source), text, 1.0f, 0, 0, error);
    *most += added(t, source);
    if (*most > limit) *most = limit;
    return status;
}

tfm_status tfm_trainer_drop_merges(tfm_trainer *t, tfm_dataset *data, tfm_error *error)
{
    const char *at = t->train.bytes.data;
    size_t sum[2] = {0}, longest = 0, most;
    tfm_status status = TFM_OK;

    for (size_t i = 0; i < 2 * t->train.n && status == TFM_OK; at += t->train.size[i++]) {
        const bool source = i % 2 == 0;
        const tfm_text text = {at, t->train.size[i]};
        status = most_of(t, source ? &data->source : &data->target, i / 2, source, text, &most, error);
        sum[i % 2] += most;
        if (most > longest) longest = most;
    }
    if (status != TFM_OK) return status;
    data->draw_bytes = t->train.bytes.capacity + t->train.capacity * sizeof *t->train.size;
    return tfm_dataset_redraw(data, sum[0], sum[1], longest, draw, t, error);
}
