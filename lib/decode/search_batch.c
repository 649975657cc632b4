/* Beam search of a batch: the encoder once for each sentence, then steps of all live hypotheses together. */
#include "decode/search_batch.h"

#include <math.h>

enum {
    OUTPUTS =
        4,      /* longest outputs take so many times the tokens of the sources: a bound for the memory of short ones */
    ENOUGH = 8, /* sentences wait until so many parts of the sources' room are free and needed */
};

typedef tfm_search_batch batch;
typedef tfm_search_view view;

/* ----------------------------------------------------------------------------------------------------- plan ---- */

size_t tfm_search_longest_output(const tfm_workspace *w, size_t source)
{
    const tfm_decoder_options *o = &w->options;
    size_t length = source + o->max_extra; /* both below 2^32 */

    if (o->max_length && length > o->max_length) length = o->max_length;
    if (length > tfm_workspace_longest(w)) length = tfm_workspace_longest(w);
    return length;
}

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
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
        .sources = tfm_arena_take(arena, b->slots + 1, sizeof(size_t)),
        .source_rows = tfm_arena_take(arena, b->source_rows, sizeof(uint32_t)),
    };
}

static void plan_choice(batch *b, tfm_arena *arena)
{
    size_t picks;

    b->width = tfm_beam_width(&b->w->options);
    if (!tfm_mul(b->most_rows, b->width, &picks)) arena->bad = true;
    b->choices = tfm_arena_take(arena, b->most_rows, sizeof *b->choices);
    b->picks = tfm_arena_take(arena, picks, sizeof *b->picks);
    b->lse = tfm_arena_take(arena, b->most_rows, sizeof *b->lse);
    b->scratch = tfm_arena_take(arena, tfm_pool_threads(b->w->run.pool) * b->width, sizeof *b->scratch);
}

static void plan(batch *b, tfm_arena *arena)
{
    const tfm_workspace *w = b->w;
    const size_t layers = w->transformer.weights->options.n_decoder_layers, self_rows = b->outputs * w->options.beam;

    b->slot = tfm_arena_take(arena, b->slots, sizeof *b->slot);
    for (size_t i = 0; i < b->slots; i++) {
        tfm_beam beam;
        tfm_beam_plan(&beam, arena, &w->options, (int32_t)w->transformer.weights->options.eos_id, b->longest);
        if (arena->base && !arena->bad) b->slot[i].beam = beam;
    }
    b->live = tfm_arena_take(arena, b->slots, sizeof *b->live);
    b->ended = tfm_arena_take(arena, b->slots, sizeof *b->ended);
    b->idle = tfm_arena_take(arena, b->slots, sizeof *b->idle);
    tfm_pack_plan(&b->source, arena, b->slots, b->source_rows);
    b->cache.self = tfm_arena_take(arena, layers, sizeof *b->cache.self);
    b->cache.cross = tfm_arena_take(arena, layers, sizeof *b->cache.cross);
    b->self.rows = tfm_arena_take(arena, self_rows, sizeof *b->self.rows);
    b->cross.rows = tfm_arena_take(arena, b->source_rows, sizeof *b->cross.rows);
    b->seen = tfm_arena_take(arena, self_rows, sizeof *b->seen);
    b->view = plan_view(b, arena);
    b->spare = plan_view(b, arena);
    b->ids = tfm_arena_take(arena, b->most_rows, sizeof *b->ids);
    b->positions = tfm_arena_take(arena, b->most_rows, sizeof *b->positions);
    b->queries = tfm_arena_take(arena, b->most_rows + 1, sizeof *b->queries);
    plan_choice(b, arena);
}

/* ----------------------------------------------------------------------------------------------------- rows ---- */

/* The row with the lowest number on top, so that as little memory as possible is ever touched. */
static void free_all(tfm_free_rows *f, size_t n)
{
    for (f->n = 0; f->n < n; f->n++) f->rows[f->n] = (uint32_t)(n - 1 - f->n);
}

static uint32_t take_row(tfm_free_rows *f)
{
    return f->rows[--f->n];
}

static void give_row(tfm_free_rows *f, uint32_t row)
{
    f->rows[f->n++] = row;
}

/* Row number row of the next step reads id at a position; it sees the rows of its past, and one of its own. */
static void add_hypothesis(batch *b, view *to, size_t row, int32_t id, const uint32_t *past, size_t position)
{
    uint32_t *list = to->self_rows + to->self[row];

    if (position) memcpy(list, past, position * sizeof *list);
    list[position] = take_row(&b->self);
    for (size_t i = 0; i <= position; i++) b->seen[list[i]] = b->now;
    to->self[row + 1] = to->self[row] + position + 1;
    b->ids[row] = id;
    b->positions[row] = (uint32_t)position;
}

/* Rows of the sentence's hypotheses that no hypothesis of the next step sees. */
static void give_unseen(batch *b, size_t sentence)
{
    const view *old = &b->view;

    for (size_t i = old->self[old->groups[sentence]]; i < old->self[old->groups[sentence + 1]]; i++) {
        const uint32_t row = old->self_rows[i];
        if (b->seen[row] == b->now) continue;
        b->seen[row] = b->now;
        give_row(&b->self, row);
    }
}

/* --------------------------------------------------------------------------------------------------- choice ---- */

enum { SENTENCES = 4 }; /* that a thread takes at a time */

static void choose_rows(const void *args, const tfm_strip *strip, size_t begin, size_t end)
{
    const batch *b = args;
    const tfm_decoder_options *o = &b->w->options;
    const size_t eos = b->w->transformer.weights->options.eos_id - strip->first_col; /* huge in a strip before */
    int32_t never[2];

    tfm_workspace_never(b->w, never);
    for (size_t i = begin; i < end; i++) {
        const size_t row = strip->first_row + i;
        float *logits = strip->y + i * strip->cols;

        if (!strip->first_col) tfm_choice_begin(&b->choices[row], b->picks + row * b->width, b->width);
        if (eos < strip->cols && b->positions[row] + 1 < o->min_length) logits[eos] = -INFINITY;
        tfm_choice_add(&b->choices[row], b->w->run.kernels, logits, strip->cols, strip->first_col, never);
    }
}

static void advance_sentences(const void *args, size_t begin, size_t end, size_t thread)
{
    const batch *b = args;

    for (size_t i = begin; i < end; i++) {
        const size_t first = b->view.groups[i];
        for (size_t row = first; row < b->view.groups[i + 1]; row++) b->lse[row] = tfm_choice_lse(&b->choices[row]);
        tfm_beam_advance(&b->slot[b->live[i]].beam, b->choices + first, b->lse + first, b->scratch + thread * b->width);
    }
}

/* ----------------------------------------------------------------------------------------------------- step ---- */

static tfm_step described(const batch *b)
{
    const view *v = &b->view;
    const size_t rows = v->groups[b->n_live];

    return (tfm_step){
        .n = rows,
        .ids = b->ids,
        .positions = b->positions,
        .rows = v->self_rows,
        .queries = {rows, b->queries},
        .self = {rows, v->self},
        .groups = {b->n_live, v->groups},
        .sources = {b->n_live, v->sources},
        .source_rows = v->source_rows,
    };
}

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

/* Sentence i of the present step goes on as sentence n of the next one. */
static void go_on(batch *b, size_t i, size_t n)
{
    const view *old = &b->view;
    view *to = &b->spare;
    const tfm_beam *beam = &b->slot[b->live[i]].beam;
    const size_t tokens = old->sources[i + 1] - old->sources[i];

    memcpy(to->source_rows + to->sources[n], old->source_rows + old->sources[i], tokens * sizeof *to->source_rows);
    to->sources[n + 1] = to->sources[n] + tokens;
    to->groups[n + 1] = to->groups[n] + beam->n_alive;
    for (size_t j = 0; j < beam->n_alive; j++) {
        const tfm_beam_link *link = &tfm_beam_last(beam)[j];
        const uint32_t *past = old->self_rows + old->self[old->groups[i] + link->parent];
        add_hypothesis(b, to, to->groups[n] + j, link->token, past, beam->steps);
    }
    b->live[n] = b->live[i];
}

static void leave(batch *b, size_t i)
{
    const view *old = &b->view;

    for (size_t j = old->sources[i]; j < old->sources[i + 1]; j++) give_row(&b->cross, old->source_rows[j]);
    b->outputs_left += b->slot[b->live[i]].beam.max_length;
    b->ended[b->n_ended++] = b->live[i];
}

void tfm_search_batch_step(batch *b)
{
    size_t n = 0;

    tfm_profile_phase(&b->w->profile, TFM_WORK_STEPS);
    take_step(b);
    for (size_t i = 0; i < b->n_live; i++) {
        b->now++;
        if (b->slot[b->live[i]].beam.done) leave(b, i);
        else go_on(b, i, n++);
        give_unseen(b, i);
    }
    b->n_live = n;
    const view swap = b->view;
    b->view = b->spare;
    b->spare = swap;
}

/* -------------------------------------------------------------------------------------------------- admission ---- */

/* Waiting sentences that fit, in the order; *tokens of their sources. */
static size_t count_fitting(const batch *b, size_t *tokens)
{
    size_t n = 0, outputs = 0;

    for (*tokens = 0; b->next + n < b->n && n < b->n_idle; n++) {
        const size_t length = b->order[b->next + n].length;
        outputs += tfm_search_longest_output(b->w, length);
        if (*tokens + length > b->cross.n || outputs > b->outputs_left) break;
        *tokens += length;
    }
    return n;
}

/* One hypothesis, which reads the start symbol. */
static void begin_sentence(batch *b, const tfm_order *o)
{
    view *v = &b->view;
    const size_t n = b->n_live++, slot = b->idle[--b->n_idle];
    tfm_search_slot *s = &b->slot[slot];

    b->live[n] = slot;
    s->index = o->index;
    s->beam.max_length = tfm_search_longest_output(b->w, o->length);
    b->outputs_left -= s->beam.max_length;
    tfm_beam_start(&s->beam);
    tfm_pack_add(&b->source, b->sources[o->index]);
    v->sources[n + 1] = v->sources[n] + o->length;
    for (size_t i = v->sources[n]; i < v->sources[n + 1]; i++) v->source_rows[i] = take_row(&b->cross);
    v->groups[n + 1] = v->groups[n] + 1;
    add_hypothesis(b, v, v->groups[n], tfm_workspace_start(b->w), NULL, 0);
}

/* The pack's sentences, whose keys and values go to these rows. */
static void encode(batch *b, const uint32_t *rows)
{
    tfm_workspace *w = b->w;
    const tfm_tokens source = tfm_pack_tokens(&b->source);
    const tfm_mark mark = tfm_run_mark(&w->run);
    tfm_value *memory = tfm_value_new(&w->run, b->source.offset[b->source.n], w->transformer.weights->options.d_model);

    tfm_forward_encoder(&w->run, memory, &w->transformer, &source);
    tfm_cache_add(&w->run, &b->cache, &w->transformer, memory, rows);
    tfm_run_release(&w->run, mark);
}

bool tfm_search_batch_admit(batch *b)
{
    const uint32_t *rows = b->view.source_rows + b->view.sources[b->n_live];
    size_t tokens, n;

    while (b->n_ended) b->idle[b->n_idle++] = b->ended[--b->n_ended];
    n = count_fitting(b, &tokens);
    if (!n || (b->n_live && b->next + n < b->n && tokens < b->enough)) return false;
    tfm_profile_phase(&b->w->profile, TFM_WORK_ENCODER);
    tfm_pack_begin(&b->source);
    for (; n; n--) begin_sentence(b, &b->order[b->next++]);
    encode(b, rows);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- begin ---- */

/* No step has more rows, or looks at more, than this one. */
static void describe_largest(batch *b)
{
    for (size_t i = 0; i <= b->slots; i++) {
        b->view.groups[i] = i * b->w->options.beam;
        b->view.sources[i] = i * b->order[0].length;
    }
    for (size_t i = 0; i <= b->most_rows; i++) b->view.self[i] = i * b->longest;
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

static void reserve_cache(batch *b)
{
    tfm_cache_begin(&b->w->run, &b->cache, &b->w->transformer, b->outputs * b->w->options.beam, b->source_rows);
}

/* Nothing is live yet. */
static void clear(batch *b)
{
    b->n_live = b->n_ended = 0;
    b->view.groups[0] = b->view.self[0] = b->view.sources[0] = 0;
    b->spare.groups[0] = b->spare.self[0] = b->spare.sources[0] = 0;
    for (b->n_idle = 0; b->n_idle < b->slots; b->n_idle++) b->idle[b->n_idle] = b->slots - 1 - b->n_idle;
    for (size_t i = 0; i <= b->most_rows; i++) b->queries[i] = i;
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
    reserve_cache(b);
    pack_largest(b);
    encode(b, NULL);
    describe_largest(b);
    take_step(b);
    if (w->run.bad || w->run.arena.bad || !tfm_run_place(&w->run, w->run.arena.peak, false)) return no_memory(b, error);
    reserve_cache(b);
    clear(b);
    return tfm_workspace_reach(w, longer(b->longest, b->order[0].length), error);
}
