/* Beam search of batches of sentences: the encoder once, then steps of all live hypotheses together. */
#include "decode/search.h"

#include "decode/beam.h"

#include <math.h>

enum {
    LOGITS = 1 << 23, /* floats of logits that exist at a time, unless one sentence needs more  */
    LEAST_ROWS = 64,  /* but so many rows always: a product of few rows wastes its packed weights */
};

typedef struct answer {
    size_t first; /* hypothesis */
    uint32_t count, steps;
} answer;

typedef struct hypothesis {
    size_t first, size; /* in ids */
    double score;
} hypothesis;

struct tfm_search {
    tfm_workspace *w;
    tfm_order *order, *spare;
    size_t order_capacity, spare_capacity;
    size_t n, total; /* sentences answered by the last run; sentences of this one */
    answer *answers;
    size_t answer_capacity;
    hypothesis *hypotheses;
    size_t n_hypotheses, hypothesis_capacity;
    int32_t *ids;
    size_t n_ids, id_capacity;
    size_t done; /* sentences finished in this run */
};

/* Sentences on their way together. All of them are at the same step; those that are done leave. */
typedef struct batch {
    tfm_search *search;
    const tfm_order *order; /* [n] */
    size_t n, source_rows, longest;
    size_t most_rows, cache_rows; /* of any step; of all steps */
    tfm_beam *beams;              /* [n] */
    tfm_pack source;
    tfm_cache cache;
    size_t *live, n_live; /* sentences still searched */
    /* the next step: hypotheses of live sentences, in their order */
    int32_t *ids;
    uint32_t *positions;
    uint32_t *table, *next_table; /* [rows][step + 1] cache rows */
    size_t *queries, *self, *groups, *sources;
    uint32_t *source_rows_of;
    /* choosing */
    size_t chunk_rows; /* rows of logits made at a time */
    float *lse;        /* [rows] */
    tfm_candidate *scratch;
    size_t scratch_size; /* per thread */
} batch;

/* ----------------------------------------------------------------------------------------------------- plan ---- */

static size_t longest_output(const tfm_workspace *w, size_t source)
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
    const tfm_workspace *w = b->search->w;
    const size_t beam = w->options.beam, vocab = w->transformer.weights->options.vocab_size;
    const size_t fit = LOGITS / vocab > LEAST_ROWS ? LOGITS / vocab : LEAST_ROWS;

    for (size_t i = 0; i < b->n; i++) {
        const size_t longest = longest_output(w, b->order[i].length);
        size_t rows; /* one at the first step, at most beam at the others */
        if (longest > b->longest) b->longest = longest;
        if (!tfm_mul(longest - 1, beam, &rows) || !tfm_add(rows, 1 + b->cache_rows, &b->cache_rows)) return false;
        if (b->cache_rows > UINT32_MAX) return false;
        b->source_rows += b->order[i].length;
    }
    b->most_rows = b->longest > 1 ? b->n * beam : b->n;
    b->chunk_rows = fit < beam ? beam : fit / beam * beam; /* of the largest step a chunk is full */
    return true;
}

static void plan(batch *b, tfm_arena *arena)
{
    const tfm_workspace *w = b->search->w;
    const size_t layers = w->transformer.weights->options.n_decoder_layers, rows = b->most_rows;
    size_t cells;

    if (!tfm_mul(rows, b->longest, &cells)) arena->bad = true;
    tfm_pack_plan(&b->source, arena, b->n, b->source_rows);
    b->beams = tfm_arena_take(arena, b->n, sizeof *b->beams);
    for (size_t i = 0; i < b->n; i++) {
        tfm_beam beam;
        tfm_beam_plan(&beam, arena, &w->options, longest_output(w, b->order[i].length));
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
    b->lse = tfm_arena_floats(arena, rows, 1);
    b->scratch_size = tfm_beam_scratch(&w->options);
    b->scratch = tfm_arena_take(arena, tfm_pool_threads(w->run.pool) * b->scratch_size, sizeof *b->scratch);
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
    b->search->done += b->n_live - n;
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

/* The first step: one hypothesis per sentence, which reads the start symbol. */
static void start(batch *b)
{
    const int32_t id = tfm_workspace_start(b->search->w);

    b->n_live = b->n;
    for (size_t i = 0; i < b->n; i++) {
        tfm_beam_start(&b->beams[i]);
        b->live[i] = i;
        b->ids[i] = id;
        b->table[i] = (uint32_t)i;
    }
    list_live(b);
    number_rows(b, b->n, 0);
}

/* After the choice: the hypotheses of the next step, each with its parent's cache rows and one of its own. */
static void follow_parents(batch *b, size_t step)
{
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

/* Logits of live sentences begin .. end, and what follows from them. */
typedef struct chunk {
    batch *b;
    const float *logits;
    size_t begin, row, vocab;
} chunk;

static void lse_rows(const void *args, size_t begin, size_t end, size_t thread)
{
    const chunk *c = args;
    double sum;
    (void)thread;

    for (size_t r = begin; r < end; r++)
        c->b->lse[c->row + r] = c->b->search->w->run.kernels->log_sum_exp(c->logits + r * c->vocab, c->vocab, &sum);
}

static void advance_sentences(const void *args, size_t begin, size_t end, size_t thread)
{
    const chunk *c = args;
    batch *b = c->b;

    for (size_t i = c->begin + begin; i < c->begin + end; i++)
        tfm_beam_advance(&b->beams[b->live[i]], c->logits + (b->groups[i] - c->row) * c->vocab, b->lse + b->groups[i],
                         c->vocab, b->scratch + thread * b->scratch_size);
}

static void choose(batch *b, const tfm_value *hidden, size_t begin, size_t end)
{
    tfm_workspace *w = b->search->w;
    tfm_run *run = &w->run;
    const size_t first = b->groups[begin], rows = b->groups[end] - first;
    const size_t vocab = w->transformer.weights->options.vocab_size;
    const tfm_mark mark = tfm_run_mark(run);
    tfm_value *part = tfm_value_view(run, hidden->data + first * hidden->cols, rows, hidden->cols);
    tfm_value *logits = tfm_value_new(run, rows, vocab);
    const chunk c = {b, logits->data, begin, first, vocab};

    tfm_forward_logits(run, logits, &w->transformer, part);
    tfm_run_rows(run, lse_rows, &c, rows, 1);
    tfm_run_rows(run, advance_sentences, &c, end - begin, 1);
    tfm_run_release(run, mark);
}

/* While measuring, the step that is described stays: nothing is computed. */
static void take_step(batch *b)
{
    tfm_workspace *w = b->search->w;
    const tfm_step step = described(b);
    const tfm_mark mark = tfm_run_mark(&w->run);
    tfm_value *hidden = tfm_value_new(&w->run, step.n, w->transformer.weights->options.d_model);

    tfm_forward_step(&w->run, hidden, &w->transformer, &b->cache, &step);
    for (size_t i = 0, end; i < b->n_live; i = end) {
        for (end = i + 1; end < b->n_live && b->groups[end + 1] - b->groups[i] <= b->chunk_rows;) end++;
        choose(b, hidden, i, end);
    }
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

/* ---------------------------------------------------------------------------------------------------- batch ---- */

static void encode(batch *b)
{
    tfm_workspace *w = b->search->w;
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

/* Everything that the batch needs is allocated here. */
static tfm_status prepare(batch *b, const tfm_ids *sources, tfm_error *error)
{
    tfm_workspace *w = b->search->w;
    tfm_arena arena = {0};

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
    return tfm_workspace_reach(w, b->longest > b->order[0].length ? b->longest : b->order[0].length, error);
}

static tfm_status progress(const tfm_search *s, tfm_error *error)
{
    const tfm_decoder_options *o = &s->w->options;

    if (!o->progress || !o->progress(o->progress_user, s->done, s->total)) return TFM_OK;
    return tfm_fail(error, TFM_E_CANCELLED, "cancelled after %zu of %zu sentences", s->done, s->total);
}

static tfm_status search_batch(batch *b, const tfm_ids *sources, tfm_error *error)
{
    tfm_status status = prepare(b, sources, error);

    if (status) return status;
    encode(b);
    start(b);
    for (size_t step = 0; !status && b->n_live; step++) {
        take_step(b);
        follow_parents(b, step);
        status = progress(b->search, error);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- answers ---- */

/* A hypothesis of size ids, which are to be written. false: no memory. */
static bool add_hypothesis(tfm_search *s, size_t size, double score)
{
    size_t ids;

    if (!tfm_add(s->n_ids, size, &ids) || !tfm_grow(&s->w->allocator, &s->ids, &s->id_capacity, ids, sizeof *s->ids) ||
        !tfm_grow(&s->w->allocator, &s->hypotheses, &s->hypothesis_capacity, s->n_hypotheses + 1,
                  sizeof *s->hypotheses))
        return false;
    s->hypotheses[s->n_hypotheses++] = (hypothesis){s->n_ids, size, score};
    s->n_ids = ids;
    return true;
}

static bool add_answer(tfm_search *s, size_t index, const tfm_beam *beam)
{
    const size_t count = tfm_beam_count(beam);
    double score;

    s->answers[index] = (answer){s->n_hypotheses, (uint32_t)count, (uint32_t)beam->steps};
    for (size_t rank = 0; rank < count; rank++) {
        const size_t first = s->n_ids, size = tfm_beam_result(beam, rank, NULL, &score);
        if (!add_hypothesis(s, size, score)) return false;
        tfm_beam_result(beam, rank, s->ids + first, &score);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ run ---- */

tfm_status tfm_search_create(tfm_search **out, const tfm_transformer *transformer, tfm_pool *pool,
                             const tfm_decoder_options *options, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_workspace *w;
    const tfm_status status = tfm_workspace_create(&w, transformer, pool, options, allocator, error);

    *out = NULL;
    if (status) return status;
    *out = tfm_alloc(&w->allocator, 1, sizeof **out);
    if (!*out) {
        tfm_workspace_free(w);
        return tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu bytes", sizeof **out);
    }
    (*out)->w = w;
    return TFM_OK;
}

void tfm_search_free(tfm_search *search)
{
    if (!search) return;
    tfm_workspace *w = search->w;
    const tfm_allocator *a = &w->allocator;

    tfm_free(a, search->order, search->order_capacity, sizeof *search->order);
    tfm_free(a, search->spare, search->spare_capacity, sizeof *search->spare);
    tfm_free(a, search->answers, search->answer_capacity, sizeof *search->answers);
    tfm_free(a, search->hypotheses, search->hypothesis_capacity, sizeof *search->hypotheses);
    tfm_free(a, search->ids, search->id_capacity, sizeof *search->ids);
    tfm_free(a, search, 1, sizeof *search);
    tfm_workspace_free(w);
}

tfm_workspace *tfm_search_workspace(tfm_search *search)
{
    return search->w;
}

/* Longest first; as many as fit into batch_tokens, at least one. */
static size_t batch_end(const tfm_search *s, size_t begin)
{
    const tfm_decoder_options *o = &s->w->options;
    const size_t budget = o->batch_tokens / o->beam;
    size_t tokens = s->order[begin].length, end = begin + 1;

    while (end < s->total && s->order[end].length && tokens + s->order[end].length <= budget)
        tokens += s->order[end++].length;
    return end;
}

static tfm_status begin_run(tfm_search *s, const tfm_ids *sources, size_t n, tfm_error *error)
{
    const tfm_allocator *a = &s->w->allocator;
    const tfm_status status = tfm_workspace_check_sources(s->w, sources, n, error);

    s->n = s->n_hypotheses = s->n_ids = s->done = 0;
    s->total = n;
    if (status) return status;
    if (!tfm_grow(a, &s->order, &s->order_capacity, n, sizeof *s->order) ||
        !tfm_grow(a, &s->spare, &s->spare_capacity, n, sizeof *s->spare) ||
        !tfm_grow(a, &s->answers, &s->answer_capacity, n, sizeof *s->answers))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the results of %zu sentences", n);
    for (size_t i = 0; i < n; i++) {
        s->order[i] = (tfm_order){sources[i].size, i};
        s->done += !sources[i].size;
    }
    tfm_order_sort(s->order, s->spare, n);
    return TFM_OK;
}

tfm_status tfm_search_run(tfm_search *search, const tfm_ids *sources, size_t n, tfm_error *error)
{
    tfm_search *s = search;
    tfm_status status = begin_run(s, sources, n, error);
    bool room = true;
    size_t i = 0;

    while (!status && room && i < n && s->order[i].length) {
        const size_t end = batch_end(s, i);
        batch b = {.search = s, .order = s->order + i, .n = end - i};
        status = search_batch(&b, sources, error);
        for (size_t j = 0; !status && room && j < b.n; j++) room = add_answer(s, b.order[j].index, &b.beams[j]);
        i = end;
    }
    for (; !status && room && i < n; i++) {
        s->answers[s->order[i].index] = (answer){s->n_hypotheses, 1, 0};
        room = add_hypothesis(s, 0, 0.0);
    }
    if (!room) status = tfm_fail(error, TFM_E_NOMEM, "no memory for the results of %zu sentences", n);
    if (!status) s->n = n;
    return status;
}

size_t tfm_search_count(const tfm_search *search, size_t sentence)
{
    return sentence < search->n ? search->answers[sentence].count : 0;
}

bool tfm_search_get(const tfm_search *search, size_t sentence, size_t rank, tfm_hypothesis *out)
{
    if (rank >= tfm_search_count(search, sentence)) return false;
    const size_t number = search->answers[sentence].first + rank;
    const hypothesis *h = &search->hypotheses[number];

    *out = (tfm_hypothesis){{search->ids + h->first, h->size}, h->score, number};
    return true;
}

uint32_t tfm_search_steps(const tfm_search *search, size_t sentence)
{
    return sentence < search->n ? search->answers[sentence].steps : 0;
}

size_t tfm_search_hypotheses(const tfm_search *search)
{
    return search->n ? search->n_hypotheses : 0;
}
