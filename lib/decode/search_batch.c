/* Beam search of a batch: the encoder once for each sentence, then steps of all live hypotheses together. */
#include "decode/search_batch.h"

#include "decode/alignment.h"
#include "decode/sampling.h"

#include <math.h>

typedef tfm_search_batch batch;
typedef tfm_search_view view;

/* ----------------------------------------------------------------------------------------------------- rows ---- */

static uint32_t take_row(tfm_free_rows *f)
{
    return f->rows[--f->n];
}

static void give_row(tfm_free_rows *f, uint32_t row)
{
    f->rows[f->n++] = row;
}

/* Row number row of the next step reads id at a position; it sees the rows of its past, which stand at entry `from` of
 * the step before, and one of its own. */
static void add_hypothesis(batch *b, view *to, size_t row, int32_t id, size_t from, size_t position)
{
    const size_t at = to->self[row];
    uint32_t *list = to->self_rows + at;

    if (position) memcpy(list, b->view.self_rows + from, position * sizeof *list);
    if (position && to->past) memcpy(to->past + at, b->view.past + from, position * sizeof *to->past);
    if (to->past) to->past[at + position] = id;
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

/* What row number row continues. */
static tfm_past past_of(const batch *b, size_t row)
{
    const view *v = &b->view;
    const size_t length = b->positions[row];
    const tfm_ids ids = {v->past ? v->past + v->self[row] + 1 : NULL, v->past ? length : 0}; /* behind the start */

    return (tfm_past){ids, length, b->slot[b->owner[row]].min_length};
}

/* Within a prefix: its token that stands there. */
static const int32_t *forced_at(const batch *b, size_t row)
{
    const tfm_ids *prefix = &b->slot[b->owner[row]].prefix;

    return b->positions[row] < prefix->size ? prefix->data + b->positions[row] : NULL;
}

/* Applies what was asked for to a strip of the row; true: its token is given. */
static bool control(const batch *b, size_t row, float *logits, size_t n, size_t first)
{
    const int32_t *forced = forced_at(b, row);
    const tfm_past past = past_of(b, row);

    if (forced) {
        tfm_choice_add_forced(&b->choices[row], b->w->run.kernels, logits, n, first, *forced);
        return true;
    }
    tfm_masks_apply(b->masks, &past, logits, first, n);
    if (b->terms) tfm_terms_see(&b->wanted[row], b->masks->eos, logits, first, n);
    return false;
}

static void choose(const batch *b, size_t row, float *logits, size_t n, size_t first, const int32_t never[static 2])
{
    if (!first) tfm_choice_begin(&b->choices[row], b->picks + row * b->width, b->width);
    if ((b->masks->n || b->prefixes || b->first.size || b->terms) && control(b, row, logits, n, first)) return;
    tfm_choice_add(&b->choices[row], b->w->run.kernels, logits, n, first, never);
}

static void choose_rows(const void *args, const tfm_strip *strip, size_t begin, size_t end)
{
    const batch *b = args;
    int32_t never[2];

    tfm_workspace_never(b->w, never);
    for (size_t i = begin; i < end; i++)
        choose(b, strip->first_row + i, strip->y + i * strip->cols, strip->cols, strip->first_col, never);
}

/* A hypothesis to which the masks leave no token ends. */
static void end_masked(const batch *b, size_t row)
{
    tfm_choice *c = &b->choices[row];

    if (c->n || isnan(b->lse[row])) return;
    c->picks[c->n++] = (tfm_pick){0.0f, b->masks->eos};
    b->lse[row] = 0.0;
}

static void advance(const batch *b, size_t sentence, tfm_candidate *scratch)
{
    const size_t first = b->view.groups[sentence];
    tfm_search_slot *s = &b->slot[b->live[sentence]];
    tfm_choice *rows = b->choices + first;
    const double *lse = b->lse + first;

    if (tfm_sampling_asked(&b->w->options)) tfm_sampling_advance(&s->beam, rows, lse, s->stream, (double *)scratch);
    else if (s->terms.n)
        tfm_terms_advance(&s->beam, &s->terms, rows, lse, b->wanted + first, b->pasts + first, scratch);
    else tfm_beam_advance(&s->beam, rows, lse, scratch);
}

/* ------------------------------------------------------------------------------------------------- coverage ---- */

static size_t tokens_of(const view *v, size_t sentence)
{
    return v->sources[sentence + 1] - v->sources[sentence];
}

static float *covered(const batch *b, const view *v, size_t sentence, size_t hypothesis)
{
    return v->covered + b->w->options.beam * v->sources[sentence] + hypothesis * tokens_of(v, sentence);
}

/* Where the step's attention goes, which is laid out as its sentences are. */
static tfm_shown shown(const batch *b)
{
    const tfm_workspace *w = b->w;
    const tfm_model_options *o = tfm_workspace_model(w);
    size_t at = 0;

    if (!b->heads) return (tfm_shown){.to = NULL};
    for (size_t i = 0; i < b->n_live; i++) {
        b->heads_at[i] = at;
        at += o->n_heads * (b->view.groups[i + 1] - b->view.groups[i]) * tokens_of(&b->view, i);
    }
    return (tfm_shown){.kind = TFM_ATTENTION_CROSS, .layer = tfm_alignment_layer(&w->options, o->n_decoder_layers),
                       .to = b->heads, .at = b->heads_at};
}

/* The step's attention comes to what the sentence's hypotheses had. */
static void cover(const batch *b, size_t sentence)
{
    const view *v = &b->view;
    const tfm_decoder_options *o = &b->w->options;
    const size_t first = v->groups[sentence], rows = v->groups[sentence + 1] - first, tokens = tokens_of(v, sentence);

    for (size_t i = 0; i < rows; i++) {
        float *sum = covered(b, v, sentence, i);
        tfm_alignment_add(sum, o, b->heads + b->heads_at[sentence], tfm_workspace_model(b->w)->n_heads, rows, tokens,
                          i);
        b->coverage[first + i] = tfm_coverage_penalty(o, sum, tokens);
    }
    b->slot[b->live[sentence]].beam.coverage = b->coverage + first;
}

/* ----------------------------------------------------------------------------------------------- candidates ---- */

static void advance_sentences(const void *args, size_t begin, size_t end, size_t thread)
{
    const batch *b = args;

    for (size_t i = begin; i < end; i++) {
        for (size_t row = b->view.groups[i]; row < b->view.groups[i + 1]; row++) {
            b->lse[row] = tfm_choice_lse(&b->choices[row]);
            if (b->masks->n) end_masked(b, row);
        }
        if (b->heads) cover(b, i);
        advance(b, i, b->scratch + thread * b->candidates);
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
        .shown = shown(b),
    };
}

void tfm_search_batch_compute(batch *b)
{
    tfm_workspace *w = b->w;
    tfm_step step = described(b);
    const tfm_mark mark = tfm_run_mark(&w->run);

    for (size_t i = 0; i < w->n_members; i++) {
        const tfm_transformer *t = &w->members[i].transformer;
        b->hidden[i] = tfm_value_new(&w->run, step.n, t->weights->options.d_model);
        tfm_forward_step(&w->run, b->hidden[i], t, &b->caches[i], &step);
        step.shown.to = NULL; /* but for the first */
    }
    tfm_ensemble_logits(&w->run, w->members, w->n_members, b->hidden, choose_rows, b);
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
        b->owner[to->groups[n] + j] = b->live[i];
        if (b->heads) memcpy(covered(b, to, n, j), covered(b, old, i, link->parent), tokens * sizeof *to->covered);
        add_hypothesis(b, to, to->groups[n] + j, link->token, old->self[old->groups[i] + link->parent], beam->steps);
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

/* What ids have of the terms; those of a prefix come first. */
static tfm_status read_terms(const batch *b, tfm_wanted *wanted, const tfm_terms *terms, tfm_ids ids, size_t prefix,
                             tfm_error *error)
{
    const tfm_search_watch *watch = b->watch;

    tfm_terms_count(wanted, terms, ids);
    return terms->n && watch->read ? watch->read(watch->user, terms, ids, prefix, wanted, error) : TFM_OK;
}

tfm_status tfm_search_batch_look(batch *b, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t row = 0; !status && b->terms && row < b->view.groups[b->n_live]; row++) {
        const tfm_search_slot *slot = &b->slot[b->owner[row]];
        const tfm_terms none = {.n = 0}, *terms = forced_at(b, row) ? &none : &slot->terms;
        const tfm_ids past = b->pasts[row] = past_of(b, row).ids;
        status = read_terms(b, &b->wanted[row], terms, past, slot->prefix.size, error);
        tfm_terms_want(&b->wanted[row], terms, past);
    }
    return status;
}

void tfm_search_batch_step(batch *b)
{
    size_t n = 0;

    tfm_profile_phase(&b->w->profile, TFM_WORK_STEPS);
    tfm_search_batch_compute(b);
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
    s->told = 0;
    s->stream = tfm_sampling_stream(b->sources[o->index]);
    s->min_length = tfm_masks_min_length(&b->w->options, o->length);
    s->beam.max_length = tfm_search_longest_output(b->w, o->length);
    b->outputs_left -= s->beam.max_length;
    s->terms = b->terms ? b->terms[o->index] : (tfm_terms){.n = 0};
    s->prefix = b->prefixes ? b->prefixes[o->index] : (tfm_ids){NULL, 0};
    if (!s->prefix.size && s->beam.max_length > b->first.size) s->prefix = b->first;
    tfm_beam_start(&s->beam, s->prefix.size);
    tfm_pack_add(&b->source, b->sources[o->index]);
    v->sources[n + 1] = v->sources[n] + o->length;
    for (size_t i = v->sources[n]; i < v->sources[n + 1]; i++) v->source_rows[i] = take_row(&b->cross);
    v->groups[n + 1] = v->groups[n] + 1;
    b->owner[v->groups[n]] = slot;
    for (size_t i = 0; b->heads && i < o->length; i++) covered(b, v, n, 0)[i] = 0.0f;
    add_hypothesis(b, v, v->groups[n], tfm_workspace_start(b->w), 0, 0);
}

/* The pack's sentences, whose keys and values go to these rows. */
void tfm_search_batch_encode(batch *b, const uint32_t *rows)
{
    tfm_workspace *w = b->w;
    const tfm_tokens source = tfm_pack_tokens(&b->source);
    const tfm_mark mark = tfm_run_mark(&w->run);

    for (size_t i = 0; i < w->n_members; i++) {
        const tfm_transformer *t = &w->members[i].transformer;
        tfm_value *memory = tfm_value_new(&w->run, b->source.offset[b->source.n], t->weights->options.d_model);
        tfm_forward_encoder(&w->run, memory, t, &source);
        tfm_cache_add(&w->run, &b->caches[i], t, memory, rows);
        tfm_run_release(&w->run, mark);
    }
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
    tfm_search_batch_encode(b, rows);
    return true;
}
