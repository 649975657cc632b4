/* Memory of a batch of searches: how many sentences and hypotheses it is for, and where everything stands. */
#include "decode/sampling.h"
#include "decode/search_batch.h"

#include <math.h>

enum {
    OUTPUTS =
        4,      /* longest outputs take so many times the tokens of the sources: a bound for the memory of short ones */
    ENOUGH = 8, /* sentences wait until so many parts of the sources' room are free and needed */
    PICKS = 1 << 23, /* of all rows: fewer sentences at a time when each row keeps its whole vocabulary */
};

typedef tfm_search_batch batch;
typedef tfm_search_view view;

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t longest_by_ratio(const tfm_decoder_options *o, size_t source)
{
    const float length = ceilf(o->max_ratio * (float)source); /* in float: 1.2f is above 1.2, 1.2f * 5 is 6 */

    return length < 1.0f ? 1 : length < (float)UINT32_MAX ? (size_t)length : UINT32_MAX;
}

size_t tfm_search_longest_output(const tfm_workspace *w, size_t source)
{
    const tfm_decoder_options *o = &w->options;
    size_t length = source + o->max_extra; /* both below 2^32 */

    if (o->max_length && length > o->max_length) length = o->max_length;
    if (o->max_ratio > 0.0f) length = shorter(length, longest_by_ratio(o, source));
    if (length > tfm_workspace_longest(w)) length = tfm_workspace_longest(w);
    return length;
}

static size_t width_of(const tfm_workspace *w)
{
    if (!tfm_sampling_asked(&w->options)) return tfm_beam_width(&w->options);
    return tfm_sampling_width(&w->options, tfm_workspace_model(w)->vocab_size);
}

/* Limits of the batch: the longest sentence fits always, and no more is had than all sentences need. */
static bool count(batch *b)
{
    const tfm_workspace *w = b->w;
    const size_t beam = w->options.beam, budget = w->options.batch_tokens / beam;
    const size_t first = b->order[0].length, last = b->order[b->n - 1].length;
    size_t tokens = 0, outputs = 0, rows;

    b->longest = tfm_search_longest_output(w, first);
    b->source_rows = longer(budget, first);
    b->outputs = longer(OUTPUTS * budget, b->longest);
    for (size_t i = 0; i < b->n && (tokens < b->source_rows || outputs < b->outputs); i++) {
        tokens += b->order[i].length;
        outputs += tfm_search_longest_output(w, b->order[i].length);
    }
    b->source_rows = shorter(b->source_rows, tokens);
    b->outputs = b->outputs_left = shorter(b->outputs, outputs);
    b->slots = shorter(b->source_rows / last, b->outputs / tfm_search_longest_output(w, last));
    b->slots = shorter(b->slots, b->n);
    b->width = width_of(w);
    b->slots = shorter(b->slots, longer(PICKS / b->width / beam, 1));
    b->enough = b->source_rows / ENOUGH;
    b->most_rows = b->slots * beam;
    return tfm_mul(b->outputs, beam, &rows) && rows <= UINT32_MAX && b->source_rows <= UINT32_MAX;
}

static view plan_view(const batch *b, tfm_arena *arena)
{
    return (view){
        .groups = tfm_arena_take(arena, b->slots + 1, sizeof(size_t)),
        .self = tfm_arena_take(arena, b->most_rows + 1, sizeof(size_t)),
        .self_rows = tfm_arena_take(arena, b->outputs * b->w->options.beam, sizeof(uint32_t)),
        .past = b->masks->look_back || b->terms
                    ? tfm_arena_take(arena, b->outputs * b->w->options.beam, sizeof(int32_t))
                    : NULL,
        .sources = tfm_arena_take(arena, b->slots + 1, sizeof(size_t)),
        .source_rows = tfm_arena_take(arena, b->source_rows, sizeof(uint32_t)),
    };
}

static void plan_coverage(batch *b, tfm_arena *arena)
{
    const tfm_workspace *w = b->w;
    size_t cells;

    if (!tfm_mul(b->source_rows, w->options.beam, &cells)) arena->bad = true;
    b->heads = tfm_arena_floats(arena, tfm_workspace_model(w)->n_heads, cells);
    b->heads_at = tfm_arena_take(arena, b->slots, sizeof *b->heads_at);
    b->coverage = tfm_arena_take(arena, b->most_rows, sizeof *b->coverage);
    b->view.covered = tfm_arena_floats(arena, cells, 1);
    b->spare.covered = tfm_arena_floats(arena, cells, 1);
}

static void plan_choice(batch *b, tfm_arena *arena)
{
    size_t picks;

    if (!tfm_mul(b->most_rows, b->width, &picks)) arena->bad = true;
    b->choices = tfm_arena_take(arena, b->most_rows, sizeof *b->choices);
    b->picks = tfm_arena_take(arena, picks, sizeof *b->picks);
    b->lse = tfm_arena_take(arena, b->most_rows, sizeof *b->lse);
    b->candidates = b->terms ? tfm_terms_candidates(&b->w->options) : b->width;
    b->scratch = tfm_arena_take(arena, tfm_pool_threads(b->w->run.pool) * b->candidates, sizeof *b->scratch);
    b->wanted = b->terms ? tfm_arena_take(arena, b->most_rows, sizeof *b->wanted) : NULL;
    b->pasts = b->terms ? tfm_arena_take(arena, b->most_rows, sizeof *b->pasts) : NULL;
}

static void plan_caches(batch *b, tfm_arena *arena)
{
    b->caches = tfm_arena_take(arena, b->w->n_members, sizeof *b->caches);
    b->hidden = tfm_arena_take(arena, b->w->n_members, sizeof(tfm_value *));
    for (size_t i = 0; i < b->w->n_members; i++) {
        const size_t layers = b->w->members[i].transformer.weights->options.n_decoder_layers;
        const tfm_cache cache = {.self = tfm_arena_take(arena, layers, sizeof *cache.self),
                                 .cross = tfm_arena_take(arena, layers, sizeof *cache.cross)};
        if (arena->base && !arena->bad) b->caches[i] = cache;
    }
}

static void plan(batch *b, tfm_arena *arena)
{
    const tfm_workspace *w = b->w;
    const size_t self_rows = b->outputs * w->options.beam;

    b->slot = tfm_arena_take(arena, b->slots, sizeof *b->slot);
    for (size_t i = 0; i < b->slots; i++) {
        tfm_beam beam;
        tfm_beam_plan(&beam, arena, &w->options, b->masks->eos, b->longest);
        if (arena->base && !arena->bad) b->slot[i].beam = beam;
    }
    b->live = tfm_arena_take(arena, b->slots, sizeof *b->live);
    b->ended = tfm_arena_take(arena, b->slots, sizeof *b->ended);
    b->idle = tfm_arena_take(arena, b->slots, sizeof *b->idle);
    tfm_pack_plan(&b->source, arena, b->slots, b->source_rows);
    plan_caches(b, arena);
    b->self.rows = tfm_arena_take(arena, self_rows, sizeof *b->self.rows);
    b->cross.rows = tfm_arena_take(arena, b->source_rows, sizeof *b->cross.rows);
    b->seen = tfm_arena_take(arena, self_rows, sizeof *b->seen);
    b->view = plan_view(b, arena);
    b->spare = plan_view(b, arena);
    b->ids = tfm_arena_take(arena, b->most_rows, sizeof *b->ids);
    b->owner = tfm_arena_take(arena, b->most_rows, sizeof *b->owner);
    b->positions = tfm_arena_take(arena, b->most_rows, sizeof *b->positions);
    b->queries = tfm_arena_take(arena, b->most_rows + 1, sizeof *b->queries);
    plan_choice(b, arena);
    if (w->options.coverage > 0.0f) plan_coverage(b, arena);
}

/* ---------------------------------------------------------------------------------------------------- begin ---- */

/* No step has more rows, or looks at more, than this one. */
static void describe_largest(batch *b)
{
    for (size_t i = 0; i <= b->slots; i++) {
        b->view.groups[i] = i * b->w->options.beam;
        b->view.sources[i] = i * b->order[0].length;
    }
    for (size_t i = 0; i <= b->most_rows; i++) {
        b->view.self[i] = i * b->longest;
        b->queries[i] = i; /* in every step */
    }
    b->n_live = b->slots;
}

/* No admission has more rows, or longer sentences. */
static void pack_largest(batch *b)
{
    tfm_pack *p = &b->source;

    for (p->n = 0, p->offset[0] = 0; p->n < b->slots && p->offset[p->n] < b->source_rows; p->n++)
        p->offset[p->n + 1] = shorter(p->offset[p->n] + b->order[0].length, b->source_rows);
    p->offset[p->n] = b->source_rows;
}

static void reserve_caches(batch *b)
{
    tfm_workspace *w = b->w;

    for (size_t i = 0; i < w->n_members; i++)
        tfm_cache_begin(&w->run, &b->caches[i], &w->members[i].transformer, b->outputs * w->options.beam,
                        b->source_rows);
}

/* The row with the lowest number on top, so that as little memory as possible is ever touched. */
static void free_all(tfm_free_rows *f, size_t n)
{
    for (f->n = 0; f->n < n; f->n++) f->rows[f->n] = (uint32_t)(n - 1 - f->n);
}

/* Nothing is live yet. */
static void clear(batch *b)
{
    b->n_live = b->n_ended = 0;
    b->view.groups[0] = b->view.self[0] = b->view.sources[0] = 0;
    b->spare.groups[0] = b->spare.self[0] = b->spare.sources[0] = 0;
    for (b->n_idle = 0; b->n_idle < b->slots; b->n_idle++) b->idle[b->n_idle] = b->slots - 1 - b->n_idle;
    free_all(&b->self, b->outputs * b->w->options.beam);
    free_all(&b->cross, b->source_rows);
    memset(b->seen, 0, b->self.n * sizeof *b->seen);
    b->now = 1;
}

static tfm_status no_memory(const batch *b, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM,
                    "no memory to translate %zu sentences of up to %zu tokens to up to %zu: use a lower batch_tokens, "
                    "beam or max_extra",
                    b->slots, b->order[0].length, b->longest);
}

tfm_status tfm_search_batch_begin(batch *b, tfm_error *error)
{
    tfm_workspace *w = b->w;
    tfm_arena arena = {0};

    tfm_profile_phase(&w->profile, TFM_WORK_PLAN);
    if (!count(b)) return no_memory(b, error);
    plan(b, &arena);
    if (arena.bad || !tfm_block_reserve(&w->block, &w->allocator, arena.peak, &arena)) return no_memory(b, error);
    plan(b, &arena);
    tfm_run_measure(&w->run, false);
    reserve_caches(b);
    pack_largest(b);
    tfm_search_batch_encode(b, NULL);
    describe_largest(b);
    tfm_search_batch_compute(b);
    if (w->run.bad || w->run.arena.bad || !tfm_run_place(&w->run, w->run.arena.peak, false)) return no_memory(b, error);
    reserve_caches(b);
    clear(b);
    return tfm_workspace_reach(w, longer(b->longest, b->order[0].length), error);
}
