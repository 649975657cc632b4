/* Beam search: the choice of candidates, and what becomes of them. */
#include "decode/beam.h"

#include <math.h>

void tfm_beam_plan(tfm_beam *beam, tfm_arena *arena, const tfm_decoder_options *options, int32_t eos,
                   size_t max_length)
{
    size_t links;

    if (!tfm_mul(max_length, options->beam, &links)) {
        arena->bad = true;
        return;
    }
    *beam = (tfm_beam){
        .options = options,
        .eos = eos,
        .max_length = max_length,
        .alive = tfm_arena_take(arena, options->beam, sizeof(double)),
        .numbers = tfm_arena_take(arena, options->beam, sizeof(uint32_t)),
        .links = tfm_arena_take(arena, links, sizeof(tfm_beam_link)),
        .finished = tfm_arena_take(arena, options->beam, sizeof(tfm_beam_end)),
    };
}

void tfm_beam_start(tfm_beam *beam, size_t forced)
{
    beam->forced = forced;
    beam->steps = beam->n_finished = 0;
    beam->n_alive = 1;
    beam->alive[0] = 0.0;
    beam->done = false;
}

/* Greedy search looks at the best continuation alone; with two it could pass over an EOS that is the argmax. */
size_t tfm_beam_width(const tfm_decoder_options *options)
{
    return options->beam == 1 ? 1 : 2 * (size_t)options->beam;
}

double tfm_beam_penalty(const tfm_decoder_options *options, size_t length)
{
    const double n = (double)length, alpha = options->alpha;

    switch (options->length_norm) {
    case TFM_LENGTH_PAPER: return pow((5.0 + n) / 6.0, alpha);
    case TFM_LENGTH_NONE: return 1.0;
    default: return pow(n, alpha); /* Marian and fairseq */
    }
}

/* The best candidates so far, the worst of them on top. */
typedef struct heap {
    tfm_candidate *at;
    size_t n, capacity;
} heap;

static bool worse(const tfm_candidate *a, const tfm_candidate *b)
{
    if (a->logprob != b->logprob) return a->logprob < b->logprob;
    return a->row != b->row ? a->row > b->row : a->token > b->token;
}

static void swap(tfm_candidate *a, tfm_candidate *b)
{
    const tfm_candidate c = *a;
    *a = *b;
    *b = c;
}

static void sift_down(tfm_candidate *at, size_t n)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && worse(&at[child + 1], &at[child])) child++;
        if (!worse(&at[child], &at[i])) return;
        swap(&at[i], &at[child]);
    }
}

static void heap_put(heap *h, tfm_candidate candidate)
{
    if (h->n == h->capacity) {
        if (!worse(&h->at[0], &candidate)) return;
        h->at[0] = candidate;
        sift_down(h->at, h->n);
        return;
    }
    size_t i = h->n++;
    h->at[i] = candidate;
    for (; i && worse(&h->at[i], &h->at[(i - 1) / 2]); i = (i - 1) / 2) swap(&h->at[i], &h->at[(i - 1) / 2]);
}

static void sort_heap(tfm_candidate *at, size_t n)
{
    for (; n > 1; n--) {
        swap(&at[0], &at[n - 1]);
        sift_down(at, n - 1);
    }
}

void tfm_candidates_sort(tfm_candidate *candidates, size_t n)
{
    heap h = {.at = candidates, .capacity = n};

    while (h.n < n) heap_put(&h, candidates[h.n]);
    sort_heap(candidates, n);
}

static void offer_row(heap *h, const tfm_beam *beam, uint32_t row, const tfm_choice *choice, double lse)
{
    for (size_t i = 0; i < choice->n; i++) {
        const double logprob = beam->alive[row] + ((double)choice->picks[i].logit - lse);
        if (logprob > -INFINITY) heap_put(h, (tfm_candidate){logprob, row, choice->picks[i].token});
    }
}

void tfm_beam_finish(tfm_beam *beam, tfm_beam_end end)
{
    tfm_beam_end *finished = beam->finished;
    size_t i = beam->n_finished;

    if (i == beam->options->beam && !(end.score > finished[--i].score)) return;
    for (; i && end.score > finished[i - 1].score; i--) finished[i] = finished[i - 1];
    finished[i] = end;
    if (beam->n_finished < beam->options->beam) beam->n_finished++;
}

/* Can the best live hypothesis still beat the finished one that the rule looks at? It loses probability with every
 * token, the length penalty helps it most at the longest length, and the coverage penalty never. */
static bool decided(const tfm_beam *beam)
{
    const tfm_decoder_options *o = beam->options;
    const size_t rank = o->stop_rule == TFM_STOP_WORST ? beam->n_finished : o->n_best;

    if (!rank || beam->n_finished < rank) return false;
    return beam->finished[rank - 1].score > beam->alive[0] / tfm_beam_penalty(o, beam->max_length);
}

/* No continuation is a number: the search ends where it stands. */
static void give_up(tfm_beam *beam)
{
    for (size_t i = 0; i < beam->n_alive; i++) beam->alive[i] = NAN;
    beam->done = true;
}

void tfm_beam_extend(tfm_beam *beam, const tfm_candidate *candidates, size_t n)
{
    const tfm_decoder_options *o = beam->options;
    const double penalty = tfm_beam_penalty(o, beam->steps + 1);
    tfm_beam_link *links = beam->links + beam->steps * o->beam;
    size_t alive = 0;

    if (!n) {
        give_up(beam);
        return;
    }
    beam->steps++;
    for (size_t i = 0; i < n; i++) {
        const tfm_candidate *c = &candidates[i];
        if (c->token == beam->eos) {
            const double score = c->logprob / penalty + (beam->coverage ? beam->coverage[c->row] : 0.0);
            tfm_beam_finish(beam, (tfm_beam_end){score, c->logprob, (uint32_t)beam->steps, c->row, false});
        } else if (alive < o->beam) {
            links[alive] = (tfm_beam_link){c->logprob, c->row, c->token};
            beam->alive[alive++] = c->logprob;
        }
    }
    beam->n_alive = alive;
    beam->done = !alive || beam->steps == beam->max_length || decided(beam);
}

void tfm_beam_advance(tfm_beam *beam, const tfm_choice *rows, const double *lse, tfm_candidate *scratch)
{
    heap h = {.at = scratch, .capacity = tfm_beam_width(beam->options)};

    for (size_t i = 0; i < beam->n_alive; i++) offer_row(&h, beam, (uint32_t)i, &rows[i], lse[i]);
    sort_heap(h.at, h.n);
    tfm_beam_extend(beam, h.at, h.n);
}

size_t tfm_beam_count(const tfm_beam *beam)
{
    const size_t n = beam->n_finished ? beam->n_finished : beam->n_alive;

    return n < beam->options->n_best ? n : beam->options->n_best;
}

/* Where the tokens of a result end: its last link, after *links of them, and what EOS adds when it came. */
typedef struct result {
    size_t length, links, slot;
    double score, logprob;
} result;

static result result_of(const tfm_beam *beam, size_t rank)
{
    if (!beam->n_finished) return (result){beam->steps, beam->steps, rank, beam->alive[rank], beam->alive[rank]};
    const tfm_beam_end *end = &beam->finished[rank];

    return (result){end->steps, end->steps - !end->open, end->parent, end->score, end->logprob};
}

static const tfm_beam_link *link_at(const tfm_beam *beam, size_t i, size_t slot)
{
    return &beam->links[i * beam->options->beam + slot];
}

/* Which hypothesis of n tokens the live one number 0 was. */
static size_t first_slot(const tfm_beam *beam, size_t n)
{
    size_t slot = 0;

    for (size_t i = beam->steps; i > n; i--) slot = link_at(beam, i - 1, slot)->parent;
    return slot;
}

/* Tokens that two hypotheses of n share: different ones of as many tokens differ where their ways part, not later. */
static size_t count_shared(const tfm_beam *beam, size_t n, size_t a, size_t b)
{
    for (; n && a != b; n--) {
        a = link_at(beam, n - 1, a)->parent;
        b = link_at(beam, n - 1, b)->parent;
    }
    return n;
}

size_t tfm_beam_certain(const tfm_beam *beam)
{
    size_t certain = beam->steps;

    for (size_t i = 1; i < beam->n_alive; i++) {
        const size_t shared = count_shared(beam, beam->steps, 0, i);
        if (shared < certain) certain = shared;
    }
    if (!beam->n_finished) return certain;
    const result best = result_of(beam, 0);
    const size_t shared = count_shared(beam, best.links, first_slot(beam, best.links), best.slot);
    return shared < certain ? shared : certain;
}

void tfm_beam_begins(const tfm_beam *beam, int32_t *ids, size_t n)
{
    for (size_t i = n, slot = first_slot(beam, n); i--; slot = link_at(beam, i, slot)->parent)
        ids[i] = link_at(beam, i, slot)->token;
}

size_t tfm_beam_result(const tfm_beam *beam, size_t rank, int32_t *ids, double *score)
{
    const result r = result_of(beam, rank);

    *score = r.score;
    if (!ids) return r.length;
    if (r.links < r.length) ids[r.links] = beam->eos;
    for (size_t i = r.links, slot = r.slot; i--;) {
        ids[i] = link_at(beam, i, slot)->token;
        slot = link_at(beam, i, slot)->parent;
    }
    return r.length;
}

void tfm_beam_logprobs(const tfm_beam *beam, size_t rank, float *to)
{
    const result r = result_of(beam, rank);
    double after = r.logprob;

    for (size_t i = r.length, slot = r.slot; i--;) {
        if (i < r.links) slot = link_at(beam, i, slot)->parent;
        const double before = i ? link_at(beam, i - 1, slot)->logprob : 0.0;
        to[i] = (float)(after - before);
        after = before;
    }
}
