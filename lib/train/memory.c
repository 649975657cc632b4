/* How much memory a training takes, and how small the pieces must be that a batch is worked off in. */
#include "train/memory.h"

#include "train/batch.h"

enum {
    THREADS = 8,            /* whose scratch is counted, however many there are */
    PROGRAM = 32 << 20,     /* bytes: code, libraries, tokenizer, lists         */
    PIECE_MOST = 10000,     /* tokens a side: larger pieces are no faster       */
    COPIES = 5,             /* weights, gradients, both moments; and the model that is copied              */
};

/* A sum that stays at SIZE_MAX once it does not fit. */
static void count(size_t *sum, size_t n, size_t size)
{
    size_t bytes;

    if (!tfm_mul(n, size, &bytes) || !tfm_add(*sum, bytes, sum)) *sum = SIZE_MAX;
}

static void count_data(size_t *sum, const tfm_dataset *data)
{
    const tfm_side *sides[] = {&data->source, &data->target};

    for (int i = 0; i < 2; i++) {
        count(sum, sides[i]->id_capacity, sizeof *sides[i]->ids);
        count(sum, sides[i]->offset_capacity, sizeof *sides[i]->offset);
    }
    count(sum, data->n_pairs, TFM_BATCHES_PAIR);
    count(sum, data->draw_bytes, 1);
}

tfm_status tfm_memory_need(tfm_training *t, const tfm_dataset *data, const tfm_dataset *other, size_t tokens,
                           bool training, size_t *bytes, tfm_error *error)
{
    const tfm_extent e = tfm_extent_of(data, tokens);
    size_t sum = PROGRAM, packed, arena;
    const tfm_status status = tfm_batch_measure(t, &e, training, THREADS, &arena, error);

    if (status != TFM_OK) return status;
    count(&sum, t->weights.size, (COPIES + !!t->options->valid_bleu) * sizeof(float)); /* BLEU: packed, too */
    count(&sum, THREADS * t->run.scratch_size, sizeof(float));
    count(&sum, data->longest * t->weights.options.d_model, sizeof(float)); /* positions */
    count_data(&sum, data);
    count_data(&sum, other);
    count(&sum, arena, 1);
    count(&sum, tfm_packed_bytes(&e, &packed) ? packed : SIZE_MAX, 1);
    *bytes = sum;
    return TFM_OK;
}

static tfm_status too_little(const tfm_training *t, const tfm_dataset *data, size_t need, tfm_error *error)
{
    return tfm_fail(
        error, TFM_E_INVALID,
        "training needs %llu MB even with one pair of up to %zu tokens at a time, memory allows %llu MB: give more, "
        "%slower max_length, or take a smaller model",
        (unsigned long long)need / 1000000 + 1, data->longest, (unsigned long long)t->options->memory / 1000000,
        t->options->recompute ? "" : "set recompute, ");
}

tfm_status tfm_memory_choose(tfm_training *t, const tfm_dataset *data, uint32_t *piece_tokens, tfm_error *error)
{
    const uint32_t batch = t->options->batch_tokens;
    uint32_t low = (batch + PIECE_MOST - 1) / PIECE_MOST, high = batch; /* pieces of a batch */
    size_t need;
    tfm_status status;

    *piece_tokens = batch;
    if (!t->options->memory) return TFM_OK;
    status = tfm_memory_need(t, data, &t->valid, 1, true, &need, error);
    if (status == TFM_OK && need > t->options->memory) status = too_little(t, data, need, error);
    while (status == TFM_OK && low < high) {
        const uint32_t pieces = low + (high - low) / 2;
        status = tfm_memory_need(t, data, &t->valid, (batch + pieces - 1) / pieces, true, &need, error);
        if (need > t->options->memory) low = pieces + 1;
        else high = pieces;
    }
    *piece_tokens = (batch + low - 1) / low;
    return status;
}
