/* Beam search of any number of sentences, and the store of the results. */
#include "decode/search.h"

#include "decode/search_batch.h"

typedef struct answer {
    size_t first; /* hypothesis */
    uint32_t count, steps;
} answer;

typedef struct hypothesis {
    size_t first, size; /* in ids */
    double score;
    bool finished;
} hypothesis;

struct tfm_search {
    tfm_workspace *w;
    tfm_masks masks;
    tfm_order *order, *spare;
    size_t order_capacity, spare_capacity;
    tfm_search_watch watch;
    size_t total;    /* sentences of the run */
    answer *answers; /* [n_answers] those of the sentences, count 0: not done yet; then those that were joined */
    size_t n_answers, answer_capacity;
    hypothesis *hypotheses;
    size_t n_hypotheses, hypothesis_capacity;
    int32_t *ids;
    float *logprobs; /* of each id */
    size_t n_ids, id_capacity, logprob_capacity;
    tfm_terms *terms; /* [total] those of each sentence */
    size_t term_capacity;
    size_t done; /* sentences finished in this run */
    int32_t *certain; /* room for the ids of one */
    size_t certain_capacity;
};

tfm_status tfm_search_create(tfm_search **out, const tfm_member *members, size_t n, tfm_pool *pool,
                             const tfm_decoder_options *options, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_workspace *w;
    tfm_status status = tfm_workspace_create(&w, members, n, pool, options, allocator, error);

    *out = NULL;
    if (status) return status;
    *out = tfm_alloc(&w->allocator, 1, sizeof **out);
    if (!*out) {
        tfm_workspace_free(w);
        return tfm_fail(error, TFM_E_NOMEM, "decoder: no memory for %zu bytes", sizeof **out);
    }
    (*out)->w = w;
    const int32_t eos = (int32_t)tfm_workspace_model(w)->eos_id;
    status = tfm_masks_create(&(*out)->masks, &w->options, eos, &w->allocator, error);
    if (!status) return TFM_OK;
    tfm_search_free(*out);
    *out = NULL;
    return status;
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
    tfm_free(a, search->logprobs, search->logprob_capacity, sizeof *search->logprobs);
    tfm_free(a, search->terms, search->term_capacity, sizeof *search->terms);
    tfm_free(a, search->certain, search->certain_capacity, sizeof *search->certain);
    tfm_masks_destroy(&search->masks);
    tfm_free(a, search, 1, sizeof *search);
    tfm_workspace_free(w);
}

const tfm_profile *tfm_search_profile(const tfm_search *search)
{
    return &search->w->profile;
}

tfm_workspace *tfm_search_workspace(tfm_search *search)
{
    return search->w;
}

void tfm_search_clear(tfm_search *search)
{
    search->total = search->n_answers = search->n_hypotheses = search->n_ids = search->done = 0;
}

void tfm_search_set_watch(tfm_search *search, const tfm_search_watch *watch)
{
    search->watch = *watch;
}

/* Room for so many more ids and hypotheses. false: no memory. */
static bool make_room(tfm_search *s, size_t more_ids, size_t more_hypotheses)
{
    const tfm_allocator *a = &s->w->allocator;
    size_t ids;

    return tfm_add(s->n_ids, more_ids, &ids) && tfm_grow(a, &s->ids, &s->id_capacity, ids, sizeof *s->ids) &&
           tfm_grow(a, &s->logprobs, &s->logprob_capacity, ids, sizeof *s->logprobs) &&
           tfm_grow(a, &s->hypotheses, &s->hypothesis_capacity, s->n_hypotheses + more_hypotheses,
                    sizeof *s->hypotheses);
}

/* A hypothesis of size ids, which are to be written. false: no memory. */
static bool add_hypothesis(tfm_search *s, size_t size, double score, bool finished)
{
    if (!make_room(s, size, 1)) return false;
    s->hypotheses[s->n_hypotheses++] = (hypothesis){s->n_ids, size, score, finished};
    s->n_ids += size;
    return true;
}

static bool add_answer(tfm_search *s, size_t index, const tfm_beam *beam)
{
    const size_t count = tfm_beam_count(beam);
    double score;

    s->answers[index] = (answer){s->n_hypotheses, (uint32_t)count, (uint32_t)beam->steps};
    for (size_t rank = 0; rank < count; rank++) {
        const size_t first = s->n_ids, size = tfm_beam_result(beam, rank, NULL, &score);
        if (!add_hypothesis(s, size, score, false)) return false;
        tfm_beam_result(beam, rank, s->ids + first, &score);
        s->hypotheses[s->n_hypotheses - 1].finished = size && s->ids[first + size - 1] == beam->eos;
        tfm_beam_logprobs(beam, rank, s->logprobs + first);
    }
    return true;
}

static tfm_status no_room(const tfm_search *s, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory for the results of %zu sentences", s->total);
}

static tfm_status check_prefix(const tfm_workspace *w, tfm_ids prefix, size_t index, size_t source, tfm_error *error)
{
    const tfm_model_options *o = tfm_workspace_model(w);
    const size_t longest = tfm_search_longest_output(w, source);

    if (source && prefix.size >= longest)
        return tfm_fail(
            error, TFM_E_INVALID,
            "prefixes[%zu] has %zu tokens, a translation at most %zu by max_length, max_extra and max_ratio: "
            "raise what limits it",
            index, prefix.size, longest);
    for (size_t i = 0; i < prefix.size; i++)
        if (prefix.data[i] == (int32_t)o->eos_id)
            return tfm_fail(error, TFM_E_INVALID, "prefixes[%zu].data[%zu] is EOS: nothing can follow", index, i);
    return TFM_OK;
}

/* A term is what a translation can hold, and go on behind. */
static tfm_status check_term(const tfm_workspace *w, tfm_ids term, size_t i, size_t index, tfm_error *error)
{
    const int32_t eos = (int32_t)tfm_workspace_model(w)->eos_id;
    int32_t never[2];

    tfm_workspace_never(w, never);
    for (size_t j = 0; j < term.size; j++)
        if (term.data[j] == eos || term.data[j] == never[0] || term.data[j] == never[1])
            return tfm_fail(error, TFM_E_INVALID, "term %zu of sentence %zu has %s, which no translation has within it",
                            i, index, term.data[j] == eos ? "EOS" : "PAD or BOS");
    if (term.size) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "term %zu of sentence %zu is empty", i, index);
}

static tfm_status check_terms(const tfm_workspace *w, const tfm_terms *terms, size_t index, tfm_error *error)
{
    size_t total = 0;

    if (terms->n > TFM_MOST_TERMS)
        return tfm_fail(error, TFM_E_INVALID, "sentence %zu has %zu terms and placeholders, more than %d", index,
                        terms->n, TFM_MOST_TERMS);
    for (size_t i = 0; i < terms->n; i++) {
        const tfm_status status = check_term(w, terms->phrases[i], i, index, error);
        if (status) return status;
        size_t tokens;
        const size_t times = terms->times && terms->times[i] ? terms->times[i] : 1;
        if (!tfm_mul(times, terms->phrases[i].size, &tokens) || !tfm_add(total, tokens, &total)) total = SIZE_MAX;
    }
    if (total <= TFM_MOST_TERM_TOKENS) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "the terms of sentence %zu have %zu tokens, more than %d", index, total,
                    TFM_MOST_TERM_TOKENS);
}

/* The terms of each sentence, which stand one after the other. */
static tfm_status take_terms(tfm_search *s, const tfm_request *r, tfm_error *error)
{
    const tfm_ids *terms = r->terms;
    size_t total = 0;
    tfm_status status = TFM_OK;

    if (!tfm_grow(&s->w->allocator, &s->terms, &s->term_capacity, r->n, sizeof *s->terms)) return no_room(s, error);
    for (size_t i = 0; !status && i < r->n; i++) {
        if (!tfm_add(total, r->n_terms[i], &total)) total = SIZE_MAX;
        const size_t first = (size_t)(terms - r->terms);
        s->terms[i] = (tfm_terms){terms, r->n_terms[i], r->term_times ? r->term_times + first : NULL, first};
        status = r->n_terms[i] > TFM_MOST_TERMS
                     ? TFM_OK
                     : tfm_workspace_check_targets(s->w, terms, r->n_terms[i], "terms", error);
        if (!status) status = check_terms(s->w, &s->terms[i], i, error);
        terms += r->n_terms[i];
    }
    return status;
}

static tfm_status check_request(tfm_search *s, const tfm_request *r, tfm_error *error)
{
    tfm_status status = tfm_workspace_check_sources(s->w, r->sources, r->n, error);

    if (!status && r->prefixes) status = tfm_workspace_check_targets(s->w, r->prefixes, r->n, "prefixes", error);
    for (size_t i = 0; !status && r->prefixes && i < r->n; i++)
        status = check_prefix(s->w, r->prefixes[i], i, r->sources[i].size, error);
    if (!status && r->n_terms) status = take_terms(s, r, error);
    return status;
}

static tfm_status begin_run(tfm_search *s, const tfm_request *r, tfm_error *error)
{
    const tfm_allocator *a = &s->w->allocator;
    const size_t n = r->n;

    tfm_search_clear(s);
    s->total = n;
    const tfm_status status = check_request(s, r, error);
    if (status) return status;
    if (!tfm_grow(a, &s->order, &s->order_capacity, n, sizeof *s->order) ||
        !tfm_grow(a, &s->spare, &s->spare_capacity, n, sizeof *s->spare) ||
        !tfm_grow(a, &s->answers, &s->answer_capacity, n, sizeof *s->answers))
        return no_room(s, error);
    for (size_t i = 0; i < n; i++) {
        s->order[i] = (tfm_order){r->sources[i].size, i};
        s->answers[i] = (answer){0};
    }
    s->n_answers = n;
    tfm_order_sort(s->order, s->spare, n);
    return TFM_OK;
}

static tfm_status progress(const tfm_search *s, tfm_error *error)
{
    const tfm_decoder_options *o = &s->w->options;

    if (!o->progress || !o->progress(o->progress_user, s->done, s->total)) return TFM_OK;
    return tfm_fail(error, TFM_E_CANCELLED, "cancelled after %zu of %zu sentences", s->done, s->total);
}

/* Room for the results of all live sentences, so that no step asks for memory. */
static bool reserve(tfm_search *s, const tfm_search_batch *b)
{
    const size_t n_best = s->w->options.n_best;
    size_t ids = 0;

    for (size_t i = 0; i < b->n_live; i++) {
        size_t more;
        if (!tfm_mul(b->slot[b->live[i]].beam.max_length, n_best, &more) || !tfm_add(ids, more, &ids)) return false;
    }
    return make_room(s, ids, b->n_live * n_best);
}

static tfm_status tell_ended(tfm_search *s, size_t index, tfm_error *error)
{
    s->done++;
    return s->watch.ended ? s->watch.ended(s->watch.user, index, error) : TFM_OK;
}

static tfm_status end_sentences(tfm_search *s, const tfm_search_batch *b, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && i < b->n_ended; i++) {
        const tfm_search_slot *slot = &b->slot[b->ended[i]];
        if (!add_answer(s, slot->index, &slot->beam)) return no_room(s, error);
        status = tell_ended(s, slot->index, error);
    }
    return status;
}

static tfm_status tell_grown(tfm_search *s, const tfm_search_batch *b, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t i = 0; !status && s->watch.grew && i < b->n_live; i++) {
        tfm_search_slot *slot = &b->slot[b->live[i]];
        const size_t n = tfm_beam_certain(&slot->beam);
        if (n <= slot->told) continue;
        tfm_beam_begins(&slot->beam, s->certain, n);
        slot->told = n;
        status = s->watch.grew(s->watch.user, slot->index, (tfm_ids){s->certain, n}, error);
    }
    return status;
}

/* Those from `filled` on in the order: a result of no tokens. */
static tfm_status end_empty(tfm_search *s, size_t filled, tfm_error *error)
{
    tfm_status status = TFM_OK;

    for (size_t i = filled; !status && i < s->total; i++) {
        s->answers[s->order[i].index] = (answer){s->n_hypotheses, 1, 0};
        if (!add_hypothesis(s, 0, 0.0, true)) return no_room(s, error);
        status = tell_ended(s, s->order[i].index, error);
    }
    return status;
}

/* Searches the first n sentences of the order. */
static tfm_status run_batch(tfm_search *s, const tfm_request *r, size_t n, tfm_error *error)
{
    const tfm_model_options *o = tfm_workspace_model(s->w);
    const int32_t first = (int32_t)o->first_id;
    tfm_search_batch b = {.w = s->w,
                          .sources = r->sources,
                          .prefixes = r->prefixes,
                          .first = {&first, o->force_first},
                          .terms = r->n_terms ? s->terms : NULL,
                          .watch = &s->watch,
                          .order = s->order,
                          .masks = &s->masks,
                          .n = n};
    tfm_status status = tfm_search_batch_begin(&b, error);

    if (!status && s->watch.grew &&
        !tfm_grow(&s->w->allocator, &s->certain, &s->certain_capacity, b.longest, sizeof *s->certain))
        return no_room(s, error);
    while (!status) {
        if (tfm_search_batch_admit(&b) && !reserve(s, &b)) return no_room(s, error);
        if (!b.n_live) break;
        status = tfm_search_batch_look(&b, error);
        if (status) break;
        tfm_search_batch_step(&b);
        status = end_sentences(s, &b, error);
        if (!status) status = tell_grown(s, &b, error);
        if (!status) status = progress(s, error);
    }
    return status;
}

static void stop_clock(tfm_workspace *w)
{
    tfm_profile_operation(&w->profile, TFM_WORK_NONE, 0.0);
    tfm_profile_phase(&w->profile, TFM_WORK_NONE);
    w->run.profile = NULL;
}

tfm_status tfm_search_run(tfm_search *search, const tfm_request *request, tfm_error *error)
{
    tfm_search *s = search;
    const size_t n = request->n;
    tfm_status status = begin_run(s, request, error);
    size_t filled = 0;

    while (!status && filled < n && s->order[filled].length) filled++;
    if (!status) status = end_empty(s, filled, error);
    s->w->run.profile = &s->w->profile;
    if (!status && filled) status = run_batch(s, request, filled, error);
    stop_clock(s->w);
    if (status) tfm_search_clear(s);
    return status;
}

/* One result of so many tokens, of those of each source. false: no memory. */
static bool join_rank(tfm_search *s, const answer *parts, size_t n, size_t rank, size_t size)
{
    const size_t number = s->n_hypotheses;
    size_t at = s->n_ids;

    if (!add_hypothesis(s, size, 0.0, true)) return false;
    hypothesis *joined = &s->hypotheses[number];
    for (size_t i = 0; i < n; i++) {
        const hypothesis *h = &s->hypotheses[parts[i].first + rank];
        for (size_t j = 0; j < h->size; j++, at++) {
            s->ids[at] = s->ids[h->first + j];
            s->logprobs[at] = s->logprobs[h->first + j];
        }
        joined->score += h->score;
        joined->finished &= h->finished;
    }
    return true;
}

size_t tfm_search_join(tfm_search *search, size_t first, size_t n)
{
    tfm_search *s = search;
    if (!tfm_grow(&s->w->allocator, &s->answers, &s->answer_capacity, s->n_answers + 1, sizeof *s->answers))
        return SIZE_MAX;
    const answer *parts = s->answers + first;
    answer joined = {s->n_hypotheses, parts[0].count, 0};

    for (size_t i = 0; i < n; i++) {
        if (parts[i].count < joined.count) joined.count = parts[i].count;
        joined.steps += parts[i].steps;
    }
    for (size_t rank = 0; rank < joined.count; rank++) {
        size_t size = 0;
        for (size_t i = 0; i < n; i++) size += s->hypotheses[parts[i].first + rank].size;
        if (!join_rank(s, parts, n, rank, size)) return SIZE_MAX;
    }
    s->answers[s->n_answers] = joined;
    return s->n_answers++;
}

size_t tfm_search_count(const tfm_search *search, size_t sentence)
{
    return sentence < search->n_answers ? search->answers[sentence].count : 0;
}

bool tfm_search_get(const tfm_search *search, size_t sentence, size_t rank, tfm_hypothesis *out)
{
    if (rank >= tfm_search_count(search, sentence)) return false;
    const size_t number = search->answers[sentence].first + rank;
    const hypothesis *h = &search->hypotheses[number];

    *out = (tfm_hypothesis){{NULL, h->size}, NULL, h->score, number, h->finished};
    if (!search->n_ids) return true; /* there may be no memory for any */
    out->ids.data = search->ids + h->first;
    out->logprobs = search->logprobs + h->first;
    return true;
}

uint32_t tfm_search_steps(const tfm_search *search, size_t sentence)
{
    return sentence < search->n_answers ? search->answers[sentence].steps : 0;
}

size_t tfm_search_hypotheses(const tfm_search *search)
{
    return search->n_hypotheses;
}
