/* The ids of some pairs, side by side without padding. */
#include "train/packed.h"

static size_t most_tokens(const tfm_dataset *data, const tfm_side *side, size_t tokens)
{
    const size_t most = tokens > data->longest ? tokens : data->longest;

    return most < side->most_ids ? most : side->most_ids;
}

tfm_extent tfm_extent_of(const tfm_dataset *data, size_t tokens)
{
    const size_t source = most_tokens(data, &data->source, tokens), target = most_tokens(data, &data->target, tokens);
    const size_t fewer = source < target ? source : target; /* no side is empty */

    return (tfm_extent){source, target, fewer < data->n_pairs ? fewer : data->n_pairs, data->longest};
}

void tfm_packed_destroy(tfm_packed *p, const tfm_allocator *a)
{
    tfm_free(a, p->source, p->source_capacity, sizeof *p->source);
    tfm_free(a, p->source_positions, p->source_capacity, sizeof *p->source_positions);
    tfm_free(a, p->inputs, p->target_capacity, sizeof *p->inputs);
    tfm_free(a, p->labels, p->target_capacity, sizeof *p->labels);
    tfm_free(a, p->target_positions, p->target_capacity, sizeof *p->target_positions);
    tfm_free(a, p->source_offset, p->pair_capacity, sizeof *p->source_offset);
    tfm_free(a, p->target_offset, p->pair_capacity, sizeof *p->target_offset);
    *p = (tfm_packed){0};
}

tfm_status tfm_packed_reserve(tfm_packed *packed, const tfm_extent *e, const tfm_allocator *a, tfm_error *error)
{
    tfm_packed p = {.source_capacity = e->source, .target_capacity = e->target, .pair_capacity = e->pairs + 1};

    if (p.source_capacity < packed->source_capacity) p.source_capacity = packed->source_capacity;
    if (p.target_capacity < packed->target_capacity) p.target_capacity = packed->target_capacity;
    if (p.pair_capacity < packed->pair_capacity) p.pair_capacity = packed->pair_capacity;
    p.source = tfm_alloc(a, p.source_capacity, sizeof *p.source);
    p.source_positions = tfm_alloc(a, p.source_capacity, sizeof *p.source_positions);
    p.inputs = tfm_alloc(a, p.target_capacity, sizeof *p.inputs);
    p.labels = tfm_alloc(a, p.target_capacity, sizeof *p.labels);
    p.target_positions = tfm_alloc(a, p.target_capacity, sizeof *p.target_positions);
    p.source_offset = tfm_alloc(a, p.pair_capacity, sizeof *p.source_offset);
    p.target_offset = tfm_alloc(a, p.pair_capacity, sizeof *p.target_offset);
    if (!p.source || !p.source_positions || !p.inputs || !p.labels || !p.target_positions || !p.source_offset ||
        !p.target_offset) {
        tfm_packed_destroy(&p, a);
        return tfm_fail(error, TFM_E_NOMEM, "batch of %zu + %zu tokens: no memory", e->source, e->target);
    }
    tfm_packed_destroy(packed, a);
    *packed = p;
    return TFM_OK;
}

bool tfm_packed_bytes(const tfm_extent *e, size_t *bytes)
{
    size_t source, target, pairs;

    return tfm_mul(e->source, 2 * sizeof(int32_t), &source) && tfm_mul(e->target, 3 * sizeof(int32_t), &target) &&
           tfm_mul(e->pairs + 1, 2 * sizeof(size_t), &pairs) && tfm_add(source, target, bytes) &&
           tfm_add(*bytes, pairs, bytes);
}

/* Appends ids to one side of the packed batch. */
static void pack_side(int32_t *ids, uint32_t *positions, size_t at, const tfm_side *side, size_t pair)
{
    const size_t begin = side->offset[pair], n = side->offset[pair + 1] - begin;

    memcpy(ids + at, side->ids + begin, n * sizeof *ids);
    for (size_t i = 0; i < n; i++) positions[at + i] = (uint32_t)i;
}

void tfm_packed_fill(tfm_packed *p, const tfm_dataset *data, const uint32_t *pairs, size_t n, int32_t start)
{
    p->n_source = p->n_target = 0;
    p->source_offset[0] = p->target_offset[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t pair = pairs[i], first = p->n_target;
        pack_side(p->source, p->source_positions, p->n_source, &data->source, pair);
        pack_side(p->labels, p->target_positions, first, &data->target, pair);
        p->n_source += data->source.offset[pair + 1] - data->source.offset[pair];
        p->n_target += data->target.offset[pair + 1] - data->target.offset[pair];
        p->inputs[first] = start;
        for (size_t j = first + 1; j < p->n_target; j++) p->inputs[j] = p->labels[j - 1];
        p->source_offset[i + 1] = p->n_source;
        p->target_offset[i + 1] = p->n_target;
    }
    p->n_pairs = n;
}
