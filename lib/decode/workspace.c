/* The models, the run and the batches that search and scoring share. */
#include "decode/workspace.h"

tfm_status tfm_workspace_create(tfm_workspace **out, const tfm_member *members, size_t n, tfm_pool *pool,
                                const tfm_decoder_options *options, const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_allocator a = *allocator;
    tfm_workspace *w = tfm_alloc(&a, 1, sizeof *w);
    tfm_status status;

    *out = NULL;
    if (!w) return tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu bytes", sizeof *w);
    w->allocator = a;
    w->options = *options;
    w->members = tfm_alloc(&a, n, sizeof *w->members);
    if (w->members) memcpy(w->members, members, n * sizeof *members);
    w->n_members = w->members ? n : 0;
    status = w->members ? tfm_run_create(&w->run, pool, tfm_kernels_for(tfm_cpu_flags(false)), &a, error)
                        : tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu models", n);
    if (status) tfm_workspace_free(w);
    else *out = w;
    return status;
}

void tfm_workspace_free(tfm_workspace *w)
{
    if (!w) return;
    const tfm_allocator a = w->allocator;

    tfm_run_destroy(&w->run);
    for (size_t i = 0; i < w->n_members; i++)
        tfm_free(&a, w->members[i].position, w->members[i].position_size, sizeof(float));
    tfm_free(&a, w->members, w->n_members, sizeof *w->members);
    tfm_block_free(&w->block, &a);
    tfm_free(&a, w, 1, sizeof *w);
}

size_t tfm_workspace_longest(const tfm_workspace *w)
{
    size_t longest = UINT32_MAX;

    for (size_t i = 0; i < w->n_members; i++) {
        const tfm_model_options *o = &w->members[i].transformer.weights->options;
        const size_t rows = o->max_positions > o->position_offset ? o->max_positions - o->position_offset : 0;
        if (o->positions == TFM_POSITIONS_LEARNED && rows < longest) longest = rows;
    }
    return longest;
}

static tfm_status reach(tfm_member *m, size_t length, const tfm_allocator *allocator, tfm_error *error)
{
    const tfm_model_options *o = &m->transformer.weights->options;
    size_t floats;
    float *table;

    if (o->positions == TFM_POSITIONS_LEARNED || length <= m->transformer.position_rows) return TFM_OK;
    table = tfm_mul(length, o->d_model, &floats) ? tfm_alloc(allocator, floats, sizeof *table) : NULL;
    if (!table)
        return tfm_fail(error, TFM_E_NOMEM,
                        "no memory for %zu positions of width %u: use a lower max_extra or max_length", length,
                        o->d_model);
    tfm_position_fill(table, length, o->d_model, o->positions, o->position_offset);
    tfm_free(allocator, m->position, m->position_size, sizeof *table);
    m->position = table;
    m->position_size = floats;
    m->transformer.position = table;
    m->transformer.position_rows = length;
    return TFM_OK;
}

tfm_status tfm_workspace_reach(tfm_workspace *w, size_t length, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && i < w->n_members; i++) status = reach(&w->members[i], length, &w->allocator, error);
    return status;
}

int32_t tfm_workspace_start(const tfm_workspace *w)
{
    return tfm_config_start(tfm_workspace_model(w));
}

void tfm_workspace_never(const tfm_workspace *w, int32_t never[static 2])
{
    const tfm_model_options *o = tfm_workspace_model(w);
    const bool all = !w->options.allow_special;

    never[0] = all && o->pad_id != o->eos_id ? (int32_t)o->pad_id : -1;
    never[1] = all && o->bos_id != o->eos_id ? (int32_t)o->bos_id : -1;
}

static tfm_status check_ids(tfm_ids ids, uint32_t vocab, const char *name, size_t index, tfm_error *error)
{
    if (ids.size && !ids.data)
        return tfm_fail(error, TFM_E_INVALID, "%s[%zu].data is NULL, size is %zu", name, index, ids.size);
    for (size_t i = 0; i < ids.size; i++)
        if (ids.data[i] < 0 || (uint32_t)ids.data[i] >= vocab)
            return tfm_fail(error, TFM_E_INVALID, "%s[%zu].data[%zu] is %d, not in 0..%u (a vocabulary of %u)", name,
                            index, i, ids.data[i], vocab - 1, vocab);
    return TFM_OK;
}

static tfm_status check_length(const tfm_workspace *w, tfm_ids ids, const char *name, size_t index, tfm_error *error)
{
    const size_t longest = tfm_workspace_longest(w);

    if (ids.size <= longest) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "%s[%zu] has %zu tokens, the model has only %zu positions", name, index,
                    ids.size, longest);
}

tfm_status tfm_workspace_check_sources(const tfm_workspace *w, const tfm_ids *sources, size_t n, tfm_error *error)
{
    const tfm_model_options *o = tfm_workspace_model(w);
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && i < n; i++) {
        if (sources[i].size > w->options.max_source)
            return tfm_fail(error, TFM_E_INVALID, "sources[%zu] has %zu tokens, more than max_source %u", i,
                            sources[i].size, w->options.max_source);
        status = check_ids(sources[i], o->source_vocab_size, "sources", i, error);
        if (!status) status = check_length(w, sources[i], "sources", i, error);
    }
    return status;
}

tfm_status tfm_workspace_check_targets(const tfm_workspace *w, const tfm_ids *targets, size_t n, const char *name,
                                       tfm_error *error)
{
    const tfm_model_options *o = tfm_workspace_model(w);
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && i < n; i++) {
        status = check_ids(targets[i], o->vocab_size, name, i, error);
        if (!status) status = check_length(w, targets[i], name, i, error);
    }
    return status;
}

static void merge(tfm_order *to, const tfm_order *a, const tfm_order *a_end, const tfm_order *b, const tfm_order *b_end)
{
    while (a < a_end || b < b_end) *to++ = b == b_end || (a < a_end && a->length >= b->length) ? *a++ : *b++;
}

/* Merge sort from the bottom up: stable, and with the caller's memory. */
void tfm_order_sort(tfm_order *order, tfm_order *spare, size_t n)
{
    tfm_order *from = order, *to = spare;

    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            const size_t middle = n - i < width ? n : i + width, end = n - middle < width ? n : middle + width;
            merge(to + i, from + i, from + middle, from + middle, from + end);
        }
        tfm_order *const swap = from;
        from = to;
        to = swap;
    }
    if (from != order && n) memcpy(order, from, n * sizeof *order);
}

void tfm_pack_plan(tfm_pack *pack, tfm_arena *arena, size_t n, size_t rows)
{
    size_t ends;

    if (!tfm_add(n, 1, &ends)) arena->bad = true;
    *pack = (tfm_pack){
        .offset = tfm_arena_take(arena, ends, sizeof(size_t)),
        .ids = tfm_arena_take(arena, rows, sizeof(int32_t)),
        .positions = tfm_arena_take(arena, rows, sizeof(uint32_t)),
    };
}

void tfm_pack_begin(tfm_pack *pack)
{
    pack->n = 0;
    pack->offset[0] = 0;
}

void tfm_pack_add(tfm_pack *pack, tfm_ids ids)
{
    const size_t first = pack->offset[pack->n];

    for (size_t i = 0; i < ids.size; i++) {
        pack->ids[first + i] = ids.data[i];
        pack->positions[first + i] = (uint32_t)i;
    }
    pack->offset[++pack->n] = first + ids.size;
}

void tfm_pack_add_shifted(tfm_pack *pack, tfm_ids ids, int32_t start)
{
    int32_t *to = pack->ids + pack->offset[pack->n];

    tfm_pack_add(pack, ids);
    if (!ids.size) return;
    memmove(to + 1, to, (ids.size - 1) * sizeof *to);
    to[0] = start;
}

tfm_tokens tfm_pack_tokens(const tfm_pack *pack)
{
    return (tfm_tokens){{pack->n, pack->offset}, pack->ids, pack->positions};
}
