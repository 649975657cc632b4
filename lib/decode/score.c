/* Scoring: whole pairs through encoder and decoder at once, as in training but without a tape. */
#include "decode/score.h"

#include "base/matrices.h"
#include "decode/alignment.h"

enum { CELLS = 64 }; /* weights of a head in a batch that is aligned: so many for each token, unless it is one pair */

struct tfm_score {
    tfm_workspace *w;
    tfm_order *order, *spare;
    size_t order_capacity, spare_capacity;
    size_t n;      /* pairs of the last run */
    size_t *first; /* [n + 1] in logprobs   */
    size_t first_capacity;
    float *logprobs;
    size_t logprob_capacity;
    tfm_block attention;
    tfm_matrices aligned;
};

tfm_status tfm_score_create(tfm_score **out, tfm_workspace *workspace, tfm_error *error)
{
    *out = tfm_alloc(&workspace->allocator, 1, sizeof **out);
    if (!*out) return tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu bytes", sizeof **out);
    (*out)->w = workspace;
    (*out)->aligned.allocator = workspace->allocator;
    return TFM_OK;
}

void tfm_score_free(tfm_score *score)
{
    if (!score) return;
    const tfm_allocator *a = &score->w->allocator;

    tfm_free(a, score->order, score->order_capacity, sizeof *score->order);
    tfm_free(a, score->spare, score->spare_capacity, sizeof *score->spare);
    tfm_free(a, score->first, score->first_capacity, sizeof *score->first);
    tfm_free(a, score->logprobs, score->logprob_capacity, sizeof *score->logprobs);
    tfm_block_free(&score->attention, a);
    tfm_matrices_free(&score->aligned);
    tfm_free(a, score, 1, sizeof *score);
}

void tfm_score_clear(tfm_score *score)
{
    score->n = score->aligned.n = 0;
}

typedef struct batch {
    tfm_workspace *w;
    const tfm_ids *sources, *targets;
    const tfm_order *order;
    size_t n, source_rows, target_rows;
    tfm_pack source, target;
    int32_t *labels; /* [target_rows] */
    float *logprobs, *more; /* [target_rows]; more: of the members behind the first, one after the other */
    bool scored;            /* logprobs are wanted */
    size_t cells;    /* of all pairs' target x source */
    size_t *at;      /* [n] where in heads a pair's weights begin */
    float *heads;    /* NULL: no alignments */
} batch;

static size_t heads_of(const tfm_workspace *w)
{
    return tfm_workspace_model(w)->n_heads;
}

static bool aligned(const tfm_workspace *w)
{
    return w->options.alignment != TFM_ALIGNMENT_NONE;
}

static void plan(batch *b, tfm_arena *arena)
{
    size_t weights;

    tfm_pack_plan(&b->source, arena, b->n, b->source_rows);
    tfm_pack_plan(&b->target, arena, b->n, b->target_rows);
    b->labels = tfm_arena_take(arena, b->target_rows, sizeof *b->labels);
    b->logprobs = tfm_arena_floats(arena, b->target_rows, 1);
    if (b->w->n_members > 1) b->more = tfm_arena_floats(arena, b->target_rows, 1);
    if (!aligned(b->w)) return;
    if (!tfm_mul(b->cells, heads_of(b->w), &weights)) arena->bad = true;
    b->at = tfm_arena_take(arena, b->n, sizeof *b->at);
    b->heads = tfm_arena_floats(arena, weights, 1);
}

static void fill(batch *b)
{
    int32_t *label = b->labels;
    size_t at = 0;

    tfm_pack_begin(&b->source);
    tfm_pack_begin(&b->target);
    for (size_t i = 0; i < b->n; i++) {
        const tfm_ids target = b->targets[b->order[i].index];
        if (b->heads) b->at[i] = at;
        at += heads_of(b->w) * target.size * b->sources[b->order[i].index].size;
        tfm_pack_add(&b->source, b->sources[b->order[i].index]);
        tfm_pack_add_shifted(&b->target, target, tfm_workspace_start(b->w));
        if (target.size) memcpy(label, target.data, target.size * sizeof *label);
        label += target.size;
    }
}

/* The pairs through member i. */
static void forward_member(batch *b, size_t i)
{
    const tfm_transformer *t = &b->w->members[i].transformer;
    tfm_run *run = &b->w->run;
    const size_t d = t->weights->options.d_model;
    const tfm_tokens source = tfm_pack_tokens(&b->source), target = tfm_pack_tokens(&b->target);
    tfm_value *memory = tfm_value_new(run, b->source_rows, d), *hidden = tfm_value_new(run, b->target_rows, d);
    const uint32_t layer = tfm_alignment_layer(&b->w->options, t->weights->options.n_decoder_layers);
    const tfm_shown shown = {.kind = TFM_ATTENTION_CROSS, .layer = layer, .to = i ? NULL : b->heads, .at = b->at};
    double loss, nll;

    tfm_forward_encoder(run, memory, t, &source);
    tfm_forward_decoder_shown(run, hidden, t, memory, &source.segments, &target, &shown);
    if (!b->scored) return;
    tfm_op_loss(run, hidden,
                &(tfm_loss){.output = &t->weights->output,
                            .labels = b->labels,
                            .logprobs = i ? b->more : b->logprobs,
                            .loss = &loss,
                            .nll = &nll});
    if (i) tfm_ensemble_add(run, b->w->members, i, b->logprobs, b->more, b->target_rows);
}

static void forward(batch *b)
{
    const tfm_mark mark = tfm_run_mark(&b->w->run);

    for (size_t i = 0; i < (b->scored ? b->w->n_members : 1); i++) {
        forward_member(b, i);
        tfm_run_release(&b->w->run, mark);
    }
}

static tfm_status no_memory(const batch *b, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM,
                    "no memory to score %zu pairs of %zu source and %zu target tokens: use a lower batch_tokens", b->n,
                    b->source_rows, b->target_rows);
}

static tfm_status run_batch(batch *b, tfm_error *error)
{
    tfm_workspace *w = b->w;
    tfm_arena arena = {0};

    plan(b, &arena);
    if (arena.bad || !tfm_block_reserve(&w->block, &w->allocator, arena.peak, &arena)) return no_memory(b, error);
    plan(b, &arena);
    fill(b);
    tfm_run_measure(&w->run, false);
    forward(b);
    if (w->run.bad || w->run.arena.bad || !tfm_run_place(&w->run, w->run.arena.peak, false)) return no_memory(b, error);
    forward(b);
    return TFM_OK;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Room for all alignments. */
static bool begin_aligned(tfm_score *s, const tfm_ids *sources, const tfm_ids *targets, size_t n)
{
    bool room = tfm_matrices_begin(&s->aligned, n);

    for (size_t i = 0; room && i < n; i++) room = tfm_matrices_add(&s->aligned, i, targets[i].size, sources[i].size);
    return room;
}

static tfm_status begin_run(tfm_score *s, const tfm_ids *sources, const tfm_ids *targets, size_t n, tfm_error *error)
{
    const tfm_allocator *a = &s->w->allocator;
    size_t longest = 0, total = 0, ends = 0;
    tfm_status status = tfm_workspace_check_sources(s->w, sources, n, error);

    tfm_score_clear(s);
    if (!status) status = tfm_workspace_check_targets(s->w, targets, n, "targets", error);
    if (status) return status;
    for (size_t i = 0; i < n; i++) {
        longest = longer(longest, longer(sources[i].size, targets[i].size));
        if (!tfm_add(total, targets[i].size, &total)) total = SIZE_MAX;
    }
    if (!tfm_add(n, 1, &ends) || !tfm_grow(a, &s->first, &s->first_capacity, ends, sizeof *s->first) ||
        !tfm_grow(a, &s->order, &s->order_capacity, n, sizeof *s->order) ||
        !tfm_grow(a, &s->spare, &s->spare_capacity, n, sizeof *s->spare) ||
        !tfm_grow(a, &s->logprobs, &s->logprob_capacity, longer(total, 1), sizeof *s->logprobs))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for %zu log-probabilities of %zu pairs", total, n);
    if (aligned(s->w) && !begin_aligned(s, sources, targets, n))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the alignments of %zu pairs", n);
    s->first[0] = 0;
    for (size_t i = 0; i < n; i++) {
        s->first[i + 1] = s->first[i] + targets[i].size;
        s->order[i] = (tfm_order){targets[i].size ? sources[i].size + targets[i].size : 0, i};
    }
    tfm_order_sort(s->order, s->spare, n);
    return tfm_workspace_reach(s->w, longest, error);
}

/* Takes pairs, longest first, while both sides fit into batch_tokens; at least one. */
static void fill_up(batch *b, const tfm_order *end)
{
    const size_t budget = b->w->options.batch_tokens;

    for (const tfm_order *o = b->order; o < end && o->length; o++, b->n++) {
        const size_t source = b->source_rows + b->sources[o->index].size;
        const size_t target = b->target_rows + b->targets[o->index].size;
        const size_t cells = b->cells + b->sources[o->index].size * b->targets[o->index].size; /* each below 2^32 */
        if (b->n && (longer(source, target) > budget || (aligned(b->w) && cells / CELLS > budget))) return;
        b->source_rows = source;
        b->target_rows = target;
        b->cells = cells;
    }
}

static void keep(tfm_score *s, const batch *b)
{
    const float *from = b->logprobs;

    for (size_t i = 0; i < b->n; i++) {
        const size_t index = b->order[i].index, size = s->first[index + 1] - s->first[index];
        size_t rows, cols;
        float *to = b->heads ? tfm_matrices_get(&s->aligned, index, &rows, &cols) : NULL;
        if (to) tfm_alignment_fill(to, &s->w->options, b->heads + b->at[i], heads_of(s->w), rows, cols);
        if (b->scored) memcpy(s->logprobs + s->first[index], from, size * sizeof *from);
        from += size;
    }
}

static tfm_status run_all(tfm_score *score, const tfm_ids *sources, const tfm_ids *targets, size_t n, bool scored,
                          tfm_error *error)
{
    const tfm_decoder_options *o = &score->w->options;
    tfm_status status = begin_run(score, sources, targets, n, error);
    size_t done = 0;

    while (!status && done < n && score->order[done].length) {
        batch b = {
            .w = score->w, .sources = sources, .targets = targets, .order = score->order + done, .scored = scored};
        fill_up(&b, score->order + n);
        status = run_batch(&b, error);
        if (status) break;
        keep(score, &b);
        done += b.n;
        if (scored && o->progress && o->progress(o->progress_user, done, n))
            status = tfm_fail(error, TFM_E_CANCELLED, "cancelled after %zu of %zu pairs", done, n);
    }
    if (status) tfm_score_clear(score);
    else if (scored) score->n = n;
    return status;
}

tfm_status tfm_score_run(tfm_score *score, const tfm_ids *sources, const tfm_ids *targets, size_t n, tfm_error *error)
{
    return run_all(score, sources, targets, n, true, error);
}

tfm_status tfm_score_align(tfm_score *score, const tfm_ids *sources, const tfm_ids *targets, size_t n, tfm_error *error)
{
    return run_all(score, sources, targets, n, false, error);
}

const float *tfm_score_alignment(const tfm_score *score, size_t pair, size_t *rows, size_t *cols)
{
    return tfm_matrices_get(&score->aligned, pair, rows, cols);
}

const float *tfm_score_tokens(const tfm_score *score, size_t pair, size_t *n)
{
    *n = pair < score->n ? score->first[pair + 1] - score->first[pair] : 0;
    return pair < score->n ? score->logprobs + score->first[pair] : NULL;
}

/* ------------------------------------------------------------------------------------------------ attention ---- */

/* Room for the weights of that many heads of all layers together, and the pair packed. */
static tfm_status plan_attention(tfm_score *s, batch *b, float **all, size_t heads, size_t rows, size_t cols,
                                 tfm_error *error)
{
    const tfm_allocator *a = &s->w->allocator;
    tfm_arena arena = {0}, weights = {0};
    size_t cells;

    plan(b, &arena);
    if (!tfm_mul(rows, cols, &cells)) weights.bad = true;
    tfm_arena_floats(&weights, heads, cells);
    if (arena.bad || weights.bad || !tfm_block_reserve(&s->w->block, a, arena.peak, &arena) ||
        !tfm_block_reserve(&s->attention, a, weights.peak, &weights))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for %zu heads of %zu x %zu attention weights", heads, rows,
                        cols);
    plan(b, &arena);
    *all = tfm_arena_floats(&weights, heads, cells);
    fill(b);
    return tfm_workspace_reach(s->w, longer(b->source_rows, b->target_rows), error);
}

tfm_status tfm_score_attention(tfm_score *score, tfm_ids source, tfm_ids target, uint32_t kind, uint32_t layer,
                               const float **weights, size_t shape[4], tfm_error *error)
{
    tfm_workspace *w = score->w;
    const tfm_model_options *o = tfm_workspace_model(w);
    const tfm_order only = {1, 0};
    batch b = {.w = w,
               .sources = &source,
               .targets = &target,
               .order = &only,
               .n = 1,
               .source_rows = source.size,
               .target_rows = target.size};
    const size_t layers = kind == TFM_ATTENTION_ENCODER ? o->n_encoder_layers : o->n_decoder_layers;
    const size_t n_layers = layer == TFM_EVERY_LAYER ? layers : 1;
    const size_t m = kind == TFM_ATTENTION_ENCODER ? source.size : target.size;
    const size_t n = kind == TFM_ATTENTION_DECODER ? target.size : source.size;
    float *all = NULL;
    tfm_status status = tfm_workspace_check_sources(w, &source, 1, error);

    if (!status) status = tfm_workspace_check_targets(w, &target, 1, "targets", error);
    if (!status) status = plan_attention(score, &b, &all, n_layers * o->n_heads, m, n, error);
    if (status) return status;
    const tfm_tokens s = tfm_pack_tokens(&b.source), t = tfm_pack_tokens(&b.target);
    tfm_run_measure(&w->run, false);
    tfm_forward_attention(&w->run, &w->members->transformer, &s, &t, kind, layer, all);
    if (w->run.bad || w->run.arena.bad || !tfm_run_place(&w->run, w->run.arena.peak, false))
        return no_memory(&b, error);
    tfm_forward_attention(&w->run, &w->members->transformer, &s, &t, kind, layer, all);
    *weights = all;
    memcpy(shape, (size_t[]){n_layers, o->n_heads, m, n}, 4 * sizeof *shape);
    return TFM_OK;
}
