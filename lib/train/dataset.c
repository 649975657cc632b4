/* Pairs and batches: sorted by length, filled by tokens, order from seed and epoch. */
#include "train/dataset.h"

#include "base/rng.h"

#include <zlib.h>

/* Streams of the generator; weights use the numbers of parameters. */
#define STREAM_PAIRS ((uint64_t)1 << 62)
#define STREAM_BATCHES ((uint64_t)1 << 63)

static void destroy_side(tfm_side *side, const tfm_allocator *a)
{
    tfm_free(a, side->ids, side->id_capacity, sizeof *side->ids);
    tfm_free(a, side->offset, side->offset_capacity, sizeof *side->offset);
    *side = (tfm_side){0};
}

void tfm_dataset_destroy(tfm_dataset *data)
{
    if (!data->allocator.resize) return;
    destroy_side(&data->source, &data->allocator);
    destroy_side(&data->target, &data->allocator);
    *data = (tfm_dataset){0};
}

static bool begin_side(tfm_side *side, const tfm_allocator *a)
{
    if (!tfm_grow(a, &side->offset, &side->offset_capacity, 1, sizeof *side->offset)) return false;
    side->offset[0] = 0;
    return true;
}

tfm_status tfm_dataset_create(tfm_dataset *data, const tfm_allocator *allocator, tfm_error *error)
{
    *data = (tfm_dataset){.allocator = *allocator};
    if (begin_side(&data->source, allocator) && begin_side(&data->target, allocator)) return TFM_OK;
    tfm_dataset_destroy(data);
    return tfm_fail(error, TFM_E_NOMEM, "data: no memory");
}

static bool append(tfm_side *side, size_t pair, tfm_ids ids, const tfm_allocator *a)
{
    if (!tfm_grow(a, &side->ids, &side->id_capacity, side->n_ids + ids.size, sizeof *side->ids)) return false;
    if (!tfm_grow(a, &side->offset, &side->offset_capacity, pair + 2, sizeof *side->offset)) return false;
    memcpy(side->ids + side->n_ids, ids.data, ids.size * sizeof *ids.data);
    side->offset[pair + 1] = side->n_ids + ids.size;
    return true;
}

tfm_status tfm_dataset_add(tfm_dataset *data, tfm_ids source, tfm_ids target, tfm_error *error)
{
    const size_t longer = source.size > target.size ? source.size : target.size;

    if (data->n_pairs == UINT32_MAX) return tfm_fail(error, TFM_E_INVALID, "more than %u pairs", UINT32_MAX);
    if (!append(&data->source, data->n_pairs, source, &data->allocator) ||
        !append(&data->target, data->n_pairs, target, &data->allocator))
        return tfm_fail(error, TFM_E_NOMEM, "data: no memory for pair %zu", data->n_pairs + 1);
    data->source.most_ids = data->source.n_ids += source.size;
    data->target.most_ids = data->target.n_ids += target.size;
    data->n_pairs++;
    if (longer > data->longest) data->longest = longer;
    return TFM_OK;
}

static bool reserve_ids(tfm_side *side, size_t most, const tfm_allocator *a)
{
    side->most_ids = most;
    return tfm_grow(a, &side->ids, &side->id_capacity, most, sizeof *side->ids);
}

tfm_status tfm_dataset_redraw(tfm_dataset *data, size_t most_source, size_t most_target, size_t longest,
                              tfm_draw_fn draw, void *user, tfm_error *error)
{
    data->longest = longest;
    data->draw = draw;
    data->draw_user = user;
    if (reserve_ids(&data->source, most_source, &data->allocator) &&
        reserve_ids(&data->target, most_target, &data->allocator))
        return TFM_OK;
    return tfm_fail(error, TFM_E_NOMEM, "data: no memory for %zu + %zu tokens", most_source, most_target);
}

tfm_status tfm_dataset_draw(tfm_dataset *data, uint64_t epoch, tfm_error *error)
{
    return data->draw ? data->draw(data->draw_user, data, epoch, error) : TFM_OK;
}

/* crc32() takes unsigned sizes: longer data goes in pieces. */
static uLong crc_bytes(uLong crc, const void *data, size_t size)
{
    const unsigned char *at = data;

    for (; size > 1 << 30; at += 1 << 30, size -= 1 << 30) crc = crc32(crc, at, 1 << 30);
    return crc32(crc, at, (uInt)size);
}

uint32_t tfm_dataset_fingerprint(const tfm_dataset *data)
{
    uLong crc = 0;

    for (int i = 0; i < 2; i++) {
        const tfm_side *side = i ? &data->target : &data->source;
        crc = crc_bytes(crc, side->offset, (data->n_pairs + 1) * sizeof *side->offset);
        crc = crc_bytes(crc, side->ids, side->n_ids * sizeof *side->ids);
    }
    return (uint32_t)crc;
}

static size_t length_of(const tfm_side *side, size_t pair)
{
    return side->offset[pair + 1] - side->offset[pair];
}

static size_t longer_side(const tfm_dataset *data, size_t pair)
{
    const size_t s = length_of(&data->source, pair), t = length_of(&data->target, pair);
    return s > t ? s : t;
}

tfm_status tfm_batches_create(tfm_batches *b, const tfm_dataset *data, tfm_error *error)
{
    const tfm_allocator *a = &data->allocator;
    const size_t n = data->n_pairs;

    *b = (tfm_batches){.n_pairs = n, .longest = data->longest};
    b->order = tfm_alloc(a, n, sizeof *b->order);
    b->length = tfm_alloc(a, n, sizeof *b->length);
    b->order_room = tfm_alloc(a, n, sizeof *b->order);
    b->permutation = tfm_alloc(a, n, sizeof *b->order);
    b->start = tfm_alloc(a, n + 1, sizeof *b->start);
    b->start_room = tfm_alloc(a, n + 1, sizeof *b->start);
    b->place = tfm_alloc(a, b->longest + 2, sizeof *b->place);
    if (!b->order || !b->length || !b->order_room || !b->permutation || !b->start || !b->start_room || !b->place) {
        tfm_batches_destroy(b, a);
        return tfm_fail(error, TFM_E_NOMEM, "batches of %zu pairs: no memory", n);
    }
    return TFM_OK;
}

void tfm_batches_destroy(tfm_batches *b, const tfm_allocator *a)
{
    tfm_free(a, b->order, b->n_pairs, sizeof *b->order);
    tfm_free(a, b->length, b->n_pairs, sizeof *b->length);
    tfm_free(a, b->order_room, b->n_pairs, sizeof *b->order);
    tfm_free(a, b->permutation, b->n_pairs, sizeof *b->order);
    tfm_free(a, b->start, b->n_pairs + 1, sizeof *b->start);
    tfm_free(a, b->start_room, b->n_pairs + 1, sizeof *b->start);
    tfm_free(a, b->place, b->longest + 2, sizeof *b->place);
    *b = (tfm_batches){0};
}

/* Stable: pairs of one length keep their order. Lengths are small numbers, so that they are counted instead of
 * compared. */
static void sort_by_length(tfm_batches *b)
{
    size_t *place = b->place;

    memset(place, 0, (b->longest + 2) * sizeof *place);
    for (size_t i = 0; i < b->n_pairs; i++) place[b->length[i] + 1]++;
    for (size_t l = 0; l < b->longest; l++) place[l + 1] += place[l];
    memcpy(b->order_room, b->order, b->n_pairs * sizeof *b->order);
    for (size_t i = 0; i < b->n_pairs; i++) b->order[place[b->length[b->order_room[i]]]++] = b->order_room[i];
}

size_t tfm_dataset_run(const tfm_dataset *data, const uint32_t *order, size_t first, size_t last, size_t tokens)
{
    size_t source = 0, target = 0, i = first;

    for (; i < last; i++) {
        source += length_of(&data->source, order[i]);
        target += length_of(&data->target, order[i]);
        if (i > first && (source > tokens || target > tokens)) break;
    }
    return i;
}

static void cut(tfm_batches *b, const tfm_dataset *data, size_t batch_tokens)
{
    b->n = 0;
    for (size_t i = 0; i < data->n_pairs; i = tfm_dataset_run(data, b->order, i, data->n_pairs, batch_tokens))
        b->start[b->n++] = i;
    b->start[b->n] = data->n_pairs;
}

static void shuffle_batches(tfm_batches *b, uint64_t seed, uint64_t epoch)
{
    size_t to = 0;

    for (size_t i = 0; i < b->n; i++) b->permutation[i] = (uint32_t)i;
    tfm_random_shuffle(b->permutation, b->n, seed, STREAM_BATCHES + epoch);
    memcpy(b->start_room, b->start, (b->n + 1) * sizeof *b->start);
    memcpy(b->order_room, b->order, b->n_pairs * sizeof *b->order);
    for (size_t i = 0; i < b->n; i++) {
        const size_t from = b->start_room[b->permutation[i]], n = b->start_room[b->permutation[i] + 1] - from;
        b->start[i] = to;
        memcpy(b->order + to, b->order_room + from, n * sizeof *b->order);
        to += n;
    }
}

void tfm_batches_fill(tfm_batches *b, const tfm_dataset *data, size_t batch_tokens, uint64_t seed, uint64_t epoch,
                      bool shuffled)
{
    for (size_t i = 0; i < data->n_pairs; i++) {
        b->order[i] = (uint32_t)i;
        b->length[i] = (uint32_t)longer_side(data, i);
    }
    if (shuffled) tfm_random_shuffle(b->order, data->n_pairs, seed, STREAM_PAIRS + epoch);
    sort_by_length(b);
    cut(b, data, batch_tokens);
    if (shuffled) shuffle_batches(b, seed, epoch);
}
