/*
 * The n best ways to cut a text by a unigram model: a lattice of all pieces, the best way to each by Viterbi forward,
 * and from the end backward the best first (A*; the way forward is the exact estimate of what is left).
 */
#include "text/sentencepiece.h"

enum {
    MOST_RESULTS = 1024,
    MOST_OPEN = 10000, /* hypotheses; then the best of them go on alone, as SentencePiece has it */
    LEAST_OPEN = 512,
    MOST_BYTES = 10000000 /* of a text; a lattice is large */
};

static const float unknown_penalty = 10.0f;
static const float user_discount = 0.1f;

#define NO_NODE UINT32_MAX

typedef struct node {
    uint32_t start, stop, id;
    float score, best; /* best: of the way from the beginning through it */
} node;

/* A way from the end of the text to the beginning of a node. */
typedef struct hypothesis {
    uint32_t node, next; /* next: the hypothesis that it goes on */
    float to_end;
} hypothesis;

/* Nodes come by their start. Node 0 is the beginning and the last one the end of the text; both are empty. */
typedef struct lattice {
    const tfm_sentencepiece *model;
    tfm_text text;
    node *nodes;
    size_t n, capacity;
    uint32_t *stops, *by_stop; /* nodes that stop at byte i: by_stop[stops[i]..stops[i + 1]), by their number */
    hypothesis *tried;
    size_t n_tried, tried_capacity;
    tfm_spm_ranked *open;
    size_t n_open, open_capacity;
    uint32_t *path; /* [2][n_path] ids and ends */
    size_t path_capacity;
} lattice;

/* ------------------------------------------------------------------------------------------- the lattice -------- */

static bool add_node(lattice *l, size_t start, size_t stop, uint32_t id, float score)
{
    if (l->n >= UINT32_MAX - 1 || !tfm_grow(&l->model->allocator, &l->nodes, &l->capacity, l->n + 1, sizeof *l->nodes))
        return false;
    l->nodes[l->n++] = (node){(uint32_t)start, (uint32_t)stop, id, score, 0.0f};
    return true;
}

static bool add_pieces(lattice *l, size_t start)
{
    const tfm_sentencepiece *m = l->model;
    const size_t one = tfm_spm_character(tfm_text_from(l->text, start));
    tfm_spm_matches s = tfm_spm_match(m, tfm_text_from(l->text, start));
    bool single = false;
    uint32_t id;

    while (tfm_spm_next(&s, &id)) {
        const tfm_spm_piece *p = &m->about[id];
        if (p->type == TFM_SPM_UNUSED) continue;
        const float characters = (float)tfm_utf8_length((tfm_text){s.text.data, s.size});
        const float bonus = characters * m->max_score - user_discount;
        if (!add_node(l, start, start + s.size, id, p->type == TFM_SPM_USER ? bonus : p->score)) return false;
        single |= s.size == one;
    }
    return single || add_node(l, start, start + one, m->unknown, m->min_score - unknown_penalty);
}

/* The lists of nodes by their stop; the end of the text is in none. */
static bool sort_stops(lattice *l)
{
    const tfm_allocator *a = &l->model->allocator;

    l->stops = tfm_alloc(a, l->text.size + 2, sizeof *l->stops);
    l->by_stop = tfm_alloc(a, l->n, sizeof *l->by_stop);
    if (!l->stops || !l->by_stop) return false;
    for (size_t i = 0; i + 1 < l->n; i++) l->stops[l->nodes[i].stop + 1]++;
    for (size_t i = 0; i < l->text.size; i++) l->stops[i + 1] += l->stops[i];
    for (size_t i = 0; i + 1 < l->n; i++) l->by_stop[l->stops[l->nodes[i].stop]++] = (uint32_t)i;
    for (size_t i = l->text.size + 1; i; i--) l->stops[i] = l->stops[i - 1];
    l->stops[0] = 0;
    return true;
}

static void find_best(lattice *l)
{
    for (size_t i = 1; i < l->n; i++) {
        node *r = &l->nodes[i];
        for (uint32_t k = l->stops[r->start]; k < l->stops[r->start + 1]; k++) {
            const float score = l->nodes[l->by_stop[k]].best + r->score;
            if (k == l->stops[r->start] || score > r->best) r->best = score;
        }
    }
}

static bool build(lattice *l)
{
    if (!add_node(l, 0, 0, TFM_VOCAB_NONE, 0.0f)) return false;
    for (size_t at = 0; at < l->text.size; at += tfm_spm_character(tfm_text_from(l->text, at)))
        if (!add_pieces(l, at)) return false;
    if (!add_node(l, l->text.size, l->text.size, TFM_VOCAB_NONE, 0.0f) || !sort_stops(l)) return false;
    find_best(l);
    return true;
}

/* -------------------------------------------------------------------------------------------- the search -------- */

static bool try_node(lattice *l, uint32_t number, uint32_t next)
{
    const tfm_allocator *a = &l->model->allocator;
    const float to_end = next == NO_NODE ? 0.0f : l->tried[next].to_end;

    if (l->n_tried >= UINT32_MAX - 1 || !tfm_grow(a, &l->tried, &l->tried_capacity, l->n_tried + 1, sizeof *l->tried) ||
        !tfm_grow(a, &l->open, &l->open_capacity, l->n_open + 1, sizeof *l->open))
        return false;
    l->tried[l->n_tried] = (hypothesis){number, next, l->nodes[number].score + to_end};
    tfm_spm_push(l->open, &l->n_open, (tfm_spm_ranked){l->nodes[number].best + to_end, 0, (uint32_t)l->n_tried++});
    return true;
}

/* The best ones alone, in a heap as if each had just come. */
static void shrink(lattice *l, size_t n)
{
    const size_t keep = 10 * n < LEAST_OPEN ? 10 * n : LEAST_OPEN;
    tfm_spm_ranked best[LEAST_OPEN];
    size_t kept = 0;

    for (size_t i = 0; i < keep; i++) tfm_spm_push(best, &kept, tfm_spm_pop(l->open, &l->n_open));
    memcpy(l->open, best, keep * sizeof *best);
    l->n_open = keep;
}

/* Hands over the way that a hypothesis at the beginning has gone. false: no memory. */
static bool take_path(lattice *l, tfm_spm_ranked top, tfm_spm_path_fn take, void *user)
{
    size_t n = 0;

    for (uint32_t h = l->tried[top.item].next; l->tried[h].next != NO_NODE; h = l->tried[h].next) n++;
    if (!tfm_grow(&l->model->allocator, &l->path, &l->path_capacity, 2 * n, sizeof *l->path)) return false;
    uint32_t *ids = l->path, *ends = l->path ? l->path + n : NULL;
    for (uint32_t h = l->tried[top.item].next; l->tried[h].next != NO_NODE; h = l->tried[h].next) {
        *ids++ = l->nodes[l->tried[h].node].id;
        *ends++ = l->nodes[l->tried[h].node].stop;
    }
    take(user, l->model, &(tfm_spm_path){(double)top.score, l->path, l->path ? l->path + n : NULL, n, l->text});
    return true;
}

static bool search(lattice *l, size_t n, tfm_spm_path_fn take, void *user)
{
    if (!try_node(l, (uint32_t)l->n - 1, NO_NODE)) return false;
    for (size_t found = 0; l->n_open && found < n;) {
        const tfm_spm_ranked top = tfm_spm_pop(l->open, &l->n_open);
        const node *at = &l->nodes[l->tried[top.item].node];
        if (!l->tried[top.item].node) {
            if (!take_path(l, top, take, user)) return false;
            found++;
            continue;
        }
        for (uint32_t k = l->stops[at->start]; k < l->stops[at->start + 1]; k++)
            if (!try_node(l, l->by_stop[k], top.item)) return false;
        if (l->n_open >= MOST_OPEN) shrink(l, n);
    }
    return true;
}

static void clear(lattice *l)
{
    const tfm_allocator *a = &l->model->allocator;

    tfm_free(a, l->nodes, l->capacity, sizeof *l->nodes);
    tfm_free(a, l->stops, l->text.size + 2, sizeof *l->stops);
    tfm_free(a, l->by_stop, l->n, sizeof *l->by_stop);
    tfm_free(a, l->tried, l->tried_capacity, sizeof *l->tried);
    tfm_free(a, l->open, l->open_capacity, sizeof *l->open);
    tfm_free(a, l->path, l->path_capacity, sizeof *l->path);
}

tfm_status tfm_sentencepiece_nbest(const tfm_sentencepiece *model, tfm_text line, size_t n, tfm_spm_path_fn take,
                                   void *user, tfm_error *error)
{
    tfm_buffer text = {.allocator = model->allocator};
    tfm_status status = TFM_OK;

    if (model->model != TFM_SPM_UNIGRAM)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "only unigram models have several ways to cut a text");
    tfm_sentencepiece_normalize(&model->rules, model, line, &text);
    lattice l = {.model = model, .text = {text.data, text.size}};
    if (text.size > MOST_BYTES)
        status = tfm_fail(error, TFM_E_INVALID, "a line has %zu bytes, at most %d are possible", text.size, MOST_BYTES);
    else if (text.bad || !build(&l) || !search(&l, n < MOST_RESULTS ? n : MOST_RESULTS, take, user))
        status = tfm_fail(error, TFM_E_NOMEM, "no memory for the %zu best ways to cut %zu bytes", n, line.size);
    clear(&l);
    tfm_buffer_free(&text);
    return status;
}
