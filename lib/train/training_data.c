/* Data given to a training: its batches, the pieces that they are worked off in, and the room for them. */
#include "train/batch.h"
#include "train/memory.h"

/* Sinusoids for sequences of this length. */
static tfm_status reserve_positions(tfm_training *t, size_t rows, tfm_error *error)
{
    const tfm_model_options *o = &t->weights.options;
    float *table;

    if (o->positions == TFM_POSITIONS_LEARNED || rows <= t->position_rows) return TFM_OK;
    table = tfm_alloc(&t->allocator, rows * o->d_model, sizeof *table);
    if (!table) return tfm_fail(error, TFM_E_NOMEM, "positions: %zu rows of %u", rows, o->d_model);
    tfm_free(&t->allocator, t->position, t->position_rows * o->d_model, sizeof *table);
    tfm_position_fill(table, rows, o->d_model, o->positions, o->position_offset);
    t->transformer.position = t->position = table;
    t->transformer.position_rows = t->position_rows = rows;
    return TFM_OK;
}

/* Room for any piece of these, so that a step needs no more. */
static tfm_status reserve(tfm_training *t, const tfm_dataset *data, size_t tokens, bool training, tfm_error *error)
{
    const tfm_extent e = tfm_extent_of(data, tokens);
    size_t bytes;
    tfm_status status = tfm_batch_measure(t, &e, training, t->run.threads, &bytes, error);

    if (status == TFM_OK && (bytes == SIZE_MAX || !tfm_run_place(&t->run, bytes, training)))
        status = tfm_fail(error, TFM_E_NOMEM,
                          "batches of up to %zu + %zu tokens need %zu bytes: set memory, or lower batch_tokens",
                          e.source, e.target, bytes);
    if (status == TFM_OK) status = tfm_packed_reserve(&t->packed, &e, &t->allocator, error);
    return status == TFM_OK ? reserve_positions(t, data->longest, error) : status;
}

/* Validation takes no more than training or what is allowed, and finds its room made. */
static tfm_status admit_valid(tfm_training *t, const tfm_dataset *data, const tfm_dataset *valid, uint32_t piece_tokens,
                              size_t need, tfm_error *error)
{
    const uint64_t limit = t->options->memory;
    size_t bytes = 0;
    const tfm_status status = tfm_memory_need(t, valid, data, piece_tokens, false, &bytes, error);

    if (status != TFM_OK) return status;
    if (limit && bytes > limit && bytes > need)
        return tfm_fail(
            error, TFM_E_INVALID,
            "validation needs %llu MB for a pair of up to %zu tokens, memory allows %llu MB: give more, or leave "
            "such pairs out",
            (unsigned long long)bytes / 1000000 + 1, valid->longest, (unsigned long long)limit / 1000000);
    return reserve(t, valid, piece_tokens, false, error);
}

/* Takes *data over and leaves it empty. */
static void take(tfm_training *t, tfm_dataset *held, tfm_batches *batches, tfm_dataset *data,
                 const tfm_batches *planned)
{
    tfm_batches_destroy(batches, &t->allocator);
    tfm_dataset_destroy(held);
    *batches = *planned;
    *held = *data;
    *data = (tfm_dataset){0};
}

/* A checkpoint's position must be one of these batches. */
static tfm_status check_position(const tfm_training *t, const tfm_batches *planned, tfm_error *error)
{
    if (t->at.update < tfm_training_updates_of(t, planned)) return TFM_OK;
    return tfm_fail(error, TFM_E_FORMAT, "the checkpoint stands at update %llu of an epoch of %llu",
                    (unsigned long long)t->at.update, (unsigned long long)tfm_training_updates_of(t, planned));
}

tfm_status tfm_training_set_data(tfm_training *t, tfm_dataset *data, uint32_t piece_tokens, tfm_error *error)
{
    const tfm_trainer_options *o = t->options;
    tfm_batches planned;
    size_t need = 0;
    tfm_status status = tfm_dataset_draw(data, t->at.epoch, error);

    if (status == TFM_OK) status = tfm_batches_create(&planned, data, error);
    if (status != TFM_OK) return status;
    tfm_batches_fill(&planned, data, o->batch_tokens, o->seed, t->at.epoch, true);
    status = check_position(t, &planned, error);
    if (status == TFM_OK && !piece_tokens) status = tfm_memory_choose(t, data, &piece_tokens, error);
    if (status == TFM_OK) status = tfm_memory_need(t, data, &t->valid, piece_tokens, true, &need, error);
    if (status == TFM_OK) status = reserve(t, data, piece_tokens, true, error);
    if (status == TFM_OK && t->valid.n_pairs) status = admit_valid(t, data, &t->valid, piece_tokens, need, error);
    if (status != TFM_OK) {
        tfm_batches_destroy(&planned, &t->allocator);
        return status;
    }
    take(t, &t->data, &t->batches, data, &planned);
    t->piece_tokens = piece_tokens;
    t->need = need;
    t->filled_epoch = t->at.epoch;
    return TFM_OK;
}

tfm_status tfm_training_set_valid(tfm_training *t, tfm_dataset *valid, tfm_error *error)
{
    tfm_batches planned;
    tfm_status status = tfm_batches_create(&planned, valid, error);

    if (status != TFM_OK) return status;
    tfm_batches_fill(&planned, valid, t->options->batch_tokens, 0, 0, false);
    if (t->data.n_pairs) status = admit_valid(t, &t->data, valid, t->piece_tokens, t->need, error);
    if (status == TFM_OK) take(t, &t->valid, &t->valid_batches, valid, &planned);
    else tfm_batches_destroy(&planned, &t->allocator);
    return status;
}
