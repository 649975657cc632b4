/* Beam search of a batch: the encoder once, then steps of all live hypotheses together. */
#include "decode/search_batch.h"

#include <math.h>

typedef tfm_search_batch batch;

/* ----------------------------------------------------------------------------------------------------- plan ---- */

size_t tfm_search_longest_output(const tfm_workspace *w, size_t source)
{
    const tfm_decoder_options *o = &w->options;
    size_t length = source + o->max_extra; /* both below 2^32 */

    if (o->max_length && length > o->max_length) length = o->max_length;
    if (length > tfm_workspace_longest(w)) length = tfm_workspace_longest(w);
    return length;
}

/* Sizes of the batch. false: too large to be numbered. */
static bool count(batch *b)
{
    const tfm_workspace *w = b->w;
    const size_t beam = w->options.beam;

    for (size_t i = 0; i < b->n; i++) {
        const size_t longest = tfm_search_longest_output(w, b->order[i].length);
        size_t rows; /* one at the first step, at most beam at the others */
        if (longest > b->longest) b->longest = longest;
        if (!tfm_mul(longest - 1, beam, &rows) || !tfm_add(rows, 1 + b->cache_rows, &b->cache_rows)) return false;
        if (b->cache_rows > UINT32_MAX) return false;
        b->source_rows += b->order[i].length;
    }
    b->most_rows = b->longest > 1 ? b->n * beam : b->n;
    return true;
}

static void plan(batch *b, tfm_arena *arena)
{
    const tfm_workspace *w = b->w;
    const size_t layers = w->transformer.weights->options.n_decoder_layers, rows = b->most_rows;
    size_t cells, picks;

    if (!tfm_mul(rows, b->longest, &cells)) arena->bad = true;
    tfm_pack_plan(&b->source, arena, b->n, b->source_rows);
    b->beams = tfm_arena_take(arena, b->n, sizeof *b->beams);
    for (size_t i = 0; i < b->n; i++) {
        tfm_beam beam;
        tfm_beam_plan(&beam, arena, &w->options, tfm_search_longest_output(w, b->order[i].length));
        if (arena->base && !arena->bad) b->beams[i] = beam;
    }
    b->cache.self = tfm_arena_take(arena, layers, sizeof *b->cache.self);
    b->cache.cross = tfm_arena_take(arena, layers, sizeof *b->cache.cross);
    b->live = tfm_arena_take(arena, b->n, sizeof *b->live);
    b->ids = tfm_arena_take(arena, rows, sizeof *b->ids);
    b->positions = tfm_arena_take(arena, rows, sizeof *b->positions);
    b->table = tfm_arena_take(arena, cells, sizeof *b->table);
    b->next_table = tfm_arena_take(arena, cells, sizeof *b->table);
    b->queries = tfm_arena_take(arena, rows + 1, sizeof *b->queries);
    b->self = tfm_arena_take(arena, rows + 1, sizeof *b->self);
    b->groups = tfm_arena_take(arena, b->n + 1, sizeof *b->groups);
    b->sources = tfm_arena_take(arena, b->n + 1, sizeof *b->sources);
    b->source_rows_of = tfm_arena_take(arena, b->source_rows, sizeof *b->source_rows_of);
    b->width = tfm_beam_width(&w->options);
    if (!tfm_mul(rows, b->width, &picks)) arena->bad = true;
    b->choices = tfm_arena_take(arena, rows, sizeof *b->choices);
    b->picks = tfm_arena_take(arena, picks, sizeof *b->picks);
    b->lse = tfm_arena_take(arena, rows, sizeof *b->lse);
    b->scratch = tfm_arena_take(arena, tfm_pool_threads(w->run.pool) * b->width, sizeof *b->scratch);
}

/* ----------------------------------------------------------------------------------------------------- step ---- */

/* The live sentences of the next step and the rows of their sources. */
static void list_live(batch *b)
{
    size_t n = 0;

    b->groups[0] = b->sources[0] = 0;
    for (size_t i = 0; i < b->n_live; i++) {
        const size_t s = b->live[i], first = b->source.offset[s], last = b->source.offset[s + 1];
        uint32_t *to = b->source_rows_of + b->sources[n];

        if (b->beams[s].done) continue;
        for (size_t row = first; row < last; row++) *to++ = (uint32_t)row;
        b->live[n] = s;
        b->groups[n + 1] = b->groups[n] + b->beams[s].n_alive;
        b->sources[n + 1] = b->sources[n] + (last - first);
        n++;
    }
    b->n_live = n;
}

static void number_rows(batch *b, size_t rows, size_t step)
{
    for (size_t i = 0; i <= rows; i++) {
        b->queries[i] = i;
        b->self[i] = i * (step + 1);
        if (i < rows) b->positions[i] = (uint32_t)step;
    }
}

/* One hypothesis per sentence, which reads the start symbol. */
static void describe_first(batch *b)
{
    const int32_t id = tfm_workspace_start(b->w);

    b->n_live = b->n;
    for (size_t i = 0; i < b->n; i++) {
        tfm_beam_start(&b->beams[i]);
        b->live[i] = i;
        b->ids[i] = id;
        b->table[i] = (uint32_t)i;
    }
    list_live(b);
    number_rows(b, b->n, 0);
    b->step = 0;
}

/* After the choice: the hypotheses of the next step, each with its parent's cache rows and one of its own. */
static void follow_parents(batch *b)
{
    const size_t step = b->step++;
    size_t row = 0;

    for (size_t i = 0; i < b->n_live; i++) {
        const tfm_beam *beam = &b->beams[b->live[i]];

        for (size_t j = 0; !beam->done && j < beam->n_alive; j++, row++) {
            const tfm_beam_link *link = &tfm_beam_last(beam)[j];
            uint32_t *to = b->next_table + row * (step + 2);
            memcpy(to, b->table + (b->groups[i] + link->parent) * (step + 1), (step + 1) * sizeof *to);
            to[step + 1] = (uint32_t)(b->cache.used + row);
            b->ids[row] = link->token;
        }
    }
    uint32_t *const old = b->table;
    b->table = b->next_table;
    b->next_table = old;
    list_live(b);
    number_rows(b, row, step + 1);
}

static tfm_step described(const batch *b)
{
    const size_t rows = b->groups[b->n_live];

    return (tfm_step){
        .n = rows,
        .ids = b->ids,
        .positions = b->positions,
        .rows = b->table,
        .queries = {rows, b->queries},
        .self = {rows, b->self},
        .groups = {b->n_live, b->groups},
        .sources = {b->n_live, b->sources},
        .source_rows = b->source_rows_of,
    };
}

enum { SENTENCES = 4 }; /* that a thread takes at a time */

static void choose_rows(const void *args, const tfm_strip *strip, size_t begin, size_t end)
{
    const batch *b = args;
    const tfm_decoder_options *o = &b->w->options;

    for (size_t i = begin; i < end; i++) {
        const size_t row = strip->first_row + i;
        float *logits = strip->y + i * strip->cols;

        if (!strip->first_col) {
            tfm_choice_begin(&b->choices[row], b->picks + row * b->width, b->width);
            if (b->step + 1 < o->min_length) logits[TFM_EOS] = -INFINITY;
        }
        tfm_choice_add(&b->choices[row], b->w->run.kernels, logits, strip->cols, strip->first_col, o->allow_special);
    }
}

static void advance_sentences(const void *args, size_t begin, size_t end, size_t thread)
{
    const batch *b = args;

    for (size_t i = begin; i < end; i++) {
        const size_t first = b->groups[i];
        for (size_t row = first; row < b->groups[i + 1]; row++) b->lse[row] = tfm_choice_lse(&b->choices[row]);
        tfm_beam_advance(&b->beams[b->live[i]], b->choices + first, b->lse + first, b->scratch + thread * b->width);
    }
}

/* While measuring, the step that is described stays: nothing is computed. */
static void take_step(batch *b)
{
    tfm_workspace *w = b->w;
    const tfm_step step = described(b);
    const tfm_mark mark = tfm_run_mark(&w->run);
    tfm_value *hidden = tfm_value_new(&w->run, step.n, w->transformer.weights->options.d_model);

    tfm_forward_step(&w->run, hidden, &w->transformer, &b->cache, &step);
    tfm_forward_logits(&w->run, &w->transformer, hidden, choose_rows, b);
    tfm_run_rows(&w->run, advance_sentences, b, b->n_live, SENTENCES);
    tfm_run_release(&w->run, mark);
}

/* No step has more rows, or looks at more, than this one. */
static void describe_largest(batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        b->groups[i + 1] = (i + 1) * (b->most_rows / b->n);
        b->sources[i + 1] = b->source.offset[i + 1];
    }
    b->groups[0] = b->sources[0] = 0;
    b->n_live = b->n;
    number_rows(b, b->most_rows, b->longest - 1);
}

/* ---------------------------------------------------------------------------------------------------- begin ---- */

static void encode(batch *b)
{
    tfm_workspace *w = b->w;
    const tfm_tokens source = tfm_pack_tokens(&b->source);
    tfm_value *memory = tfm_value_new(&w->run, b->source_rows, w->transformer.weights->options.d_model);

    tfm_forward_encoder(&w->run, memory, &w->transformer, &source);
    tfm_cache_begin(&w->run, &b->cache, &w->transformer, memory, b->cache_rows);
}

static tfm_status no_memory(const batch *b, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM,
                    "no memory to translate %zu sentences of up to %zu tokens to up to %zu: use a lower batch_tokens, "
                    "beam or max_extra",
                    b->n, b->order[0].length, b->longest);
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

tfm_status tfm_search_batch_begin(tfm_search_batch *b, const tfm_ids *sources, tfm_error *error)
{
    tfm_workspace *w = b->w;
    tfm_arena arena = {0};

    tfm_profile_phase(&w->profile, TFM_WORK_PLAN);
    if (!count(b)) return no_memory(b, error);
    plan(b, &arena);
    if (arena.bad || !tfm_block_reserve(&w->block, &w->allocator, arena.peak, &arena)) return no_memory(b, error);
    plan(b, &arena);
    tfm_pack_begin(&b->source);
    for (size_t i = 0; i < b->n; i++) tfm_pack_add(&b->source, sources[b->order[i].index]);

    tfm_run_measure(&w->run, false);
    encode(b);
    describe_largest(b);
    take_step(b);
    if (w->run.bad || w->run.arena.bad || !tfm_run_place(&w->run, w->run.arena.peak, false)) return no_memory(b, error);
    const tfm_status status = tfm_workspace_reach(w, longer(b->longest, b->order[0].length), error);
    if (status) return status;
    tfm_profile_phase(&w->profile, TFM_WORK_ENCODER);
    encode(b);
    describe_first(b);
    return TFM_OK;
}

size_t tfm_search_batch_step(tfm_search_batch *b)
{
    const size_t n = b->n_live;

    tfm_profile_phase(&b->w->profile, TFM_WORK_STEPS);
    take_step(b);
    follow_parents(b);
    return n - b->n_live;
}
