/*
 * Learns merges with counts of pairs that are kept up to date, a list of places for each pair, and a heap.
 *
 * The choices are those of subword-nmt. That it counts only the more frequent pairs most of the time changes nothing: a
 * pair comes into being together with one of its symbols, so it never gains places afterwards. One difference is meant:
 * within words that have other white space than U+0020, such as U+00A0, subword-nmt also merges across part of a
 * symbol.
 */
#include "text/bpe_learn.h"

#define NONE TFM_BPE_NONE

typedef struct pair {
    uint32_t left, right;
    int64_t count;        /* places, each counted as often as its word was seen */
    uint32_t first, last; /* of the list of places                              */
    bool grown;           /* by the present merge                               */
} pair;

/* Where a pair is or was: its left node. */
typedef struct place {
    uint32_t node, next;
} place;

/* A pair as it once stood in the ranking; the present count decides. */
typedef struct rival {
    int64_t count;
    uint32_t pair;
} rival;

typedef struct learner {
    tfm_allocator allocator;
    tfm_bpe *bpe;
    tfm_vocab *strings;
    tfm_bpe_corpus *corpus;
    pair *pairs;
    size_t n_pairs, pairs_capacity;
    tfm_pairs ids; /* (left, right) -> pair */
    place *places;
    size_t n_places, places_capacity;
    rival *heap; /* best first */
    size_t heap_size, heap_capacity;
    uint32_t *grown; /* pairs that the present merge raised */
    size_t n_grown, grown_capacity;
    bool bad; /* no memory; sticky */
} learner;

/* Room for one more element of an array. */
static bool more(learner *l, void *array, size_t *capacity, size_t n, size_t size)
{
    if (n >= NONE - 1 || !tfm_grow(&l->allocator, array, capacity, n + 1, size)) l->bad = true;
    return !l->bad;
}

/* ----------------------------------------------------------------------------------------------- the ranking ---- */

static bool is_better(const learner *l, rival a, rival b)
{
    if (a.count != b.count) return a.count > b.count;
    const pair *p = &l->pairs[a.pair], *q = &l->pairs[b.pair];
    const bool same = p->left == q->left;
    const tfm_text s = tfm_vocab_text(l->strings, same ? p->right : p->left);
    return tfm_text_compare(s, tfm_vocab_text(l->strings, same ? q->right : q->left)) > 0;
}

static void rank_in(learner *l, uint32_t id)
{
    const rival entry = {l->pairs[id].count, id};
    size_t i = l->heap_size;

    if (entry.count < 1 || !more(l, &l->heap, &l->heap_capacity, i, sizeof *l->heap)) return;
    l->heap_size++;
    for (; i && is_better(l, entry, l->heap[(i - 1) / 2]); i = (i - 1) / 2) l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = entry;
}

/* Puts an entry at the top and lets it sink to its place. */
static void sink(learner *l, rival entry)
{
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < l->heap_size; i = child) {
        if (child + 1 < l->heap_size && is_better(l, l->heap[child + 1], l->heap[child])) child++;
        if (!is_better(l, l->heap[child], entry)) break;
        l->heap[i] = l->heap[child];
    }
    l->heap[i] = entry;
}

/* The pair with the highest present count, or NONE. Entries out of date are mended or dropped on the way. */
static uint32_t best_pair(learner *l)
{
    while (l->heap_size) {
        const rival top = l->heap[0];
        const int64_t count = l->pairs[top.pair].count;
        if (count == top.count) return top.pair;
        if (count > 0 && count < top.count) sink(l, (rival){count, top.pair});
        else if (--l->heap_size) /* a risen count has an entry of its own */ sink(l, l->heap[l->heap_size]);
    }
    return NONE;
}

/* ------------------------------------------------------------------------------------------------ the counts ---- */

static pair *pair_of(learner *l, uint32_t left, uint32_t right)
{
    const uint32_t id = tfm_pairs_find(&l->ids, left, right);

    if (id != TFM_PAIRS_NONE) return &l->pairs[id];
    if (!more(l, &l->pairs, &l->pairs_capacity, l->n_pairs, sizeof *l->pairs)) return NULL;
    if (!tfm_pairs_put(&l->ids, left, right, (uint32_t)l->n_pairs)) {
        l->bad = true;
        return NULL;
    }
    l->pairs[l->n_pairs] = (pair){.left = left, .right = right, .first = NONE, .last = NONE};
    return &l->pairs[l->n_pairs++];
}

/* The pair at a node is about to go. */
static void uncount(learner *l, uint32_t at)
{
    const tfm_bpe_node *node = &l->corpus->nodes[at];
    pair *p = pair_of(l, node->symbol, l->corpus->nodes[node->next].symbol);

    if (p) p->count -= l->corpus->counts[node->word];
}

/* The pair at a node is new. Places come in the order of the text. */
static void count(learner *l, uint32_t at)
{
    const tfm_bpe_node *node = &l->corpus->nodes[at];
    pair *p = pair_of(l, node->symbol, l->corpus->nodes[node->next].symbol);

    if (!p || !more(l, &l->places, &l->places_capacity, l->n_places, sizeof *l->places)) return;
    p->count += l->corpus->counts[node->word];
    l->places[l->n_places] = (place){at, NONE};
    *(p->first == NONE ? &p->first : &l->places[p->last].next) = (uint32_t)l->n_places;
    p->last = (uint32_t)l->n_places++;
    if (p->grown || !more(l, &l->grown, &l->grown_capacity, l->n_grown, sizeof *l->grown)) return;
    p->grown = true;
    l->grown[l->n_grown++] = (uint32_t)(p - l->pairs);
}

static void rank_grown(learner *l)
{
    for (size_t i = 0; i < l->n_grown; i++) {
        l->pairs[l->grown[i]].grown = false;
        rank_in(l, l->grown[i]);
    }
    l->n_grown = 0;
}

/* -------------------------------------------------------------------------------------------------- the loop ---- */

/* Merges at a node, unless the pair has gone from there: of "a a a" the first two are one now. */
static void merge_at(learner *l, uint32_t at, tfm_merge m)
{
    tfm_bpe_node *nodes = l->corpus->nodes, *node = &nodes[at];
    const uint32_t gone = node->next;

    if (node->symbol != m.left || gone == NONE || nodes[gone].symbol != m.right) return;
    if (node->previous != NONE) uncount(l, node->previous);
    if (nodes[gone].next != NONE) uncount(l, gone);
    node->symbol = m.result;
    node->next = nodes[gone].next;
    if (node->next != NONE) nodes[node->next].previous = at;
    nodes[gone].symbol = NONE;
    if (node->previous != NONE) count(l, node->previous);
    if (node->next != NONE) count(l, at);
}

static void merge_pair(learner *l, uint32_t id, uint32_t result)
{
    const tfm_merge merge = {l->pairs[id].left, l->pairs[id].right, result};

    for (uint32_t i = l->pairs[id].first; i != NONE && !l->bad; i = l->places[i].next)
        merge_at(l, l->places[i].node, merge);
    l->pairs[id].count = 0;
    rank_grown(l);
    if (!l->bad && !tfm_bpe_add(l->bpe, merge)) l->bad = true;
}

static void learn(learner *l, const tfm_bpe_limits *limits)
{
    for (size_t i = 0; i < l->corpus->n_nodes && !l->bad; i++)
        if (l->corpus->nodes[i].next != NONE) count(l, (uint32_t)i);
    rank_grown(l);
    while (!l->bad && l->bpe->n < limits->merges && l->strings->n < limits->symbols) {
        const uint32_t id = best_pair(l);
        uint32_t result;
        if (id == NONE || l->pairs[id].count < limits->min_frequency) break;
        if (tfm_vocab_join(l->strings, l->pairs[id].left, l->pairs[id].right, &result)) merge_pair(l, id, result);
        else l->bad = true;
    }
}

bool tfm_bpe_learn(tfm_bpe *bpe, tfm_vocab *strings, tfm_bpe_corpus *corpus, const tfm_bpe_limits *limits)
{
    const tfm_allocator a = corpus->allocator;
    learner l = {.allocator = a, .bpe = bpe, .strings = strings, .corpus = corpus, .ids = {.allocator = a}};

    learn(&l, limits);
    tfm_pairs_free(&l.ids);
    tfm_free(&a, l.pairs, l.pairs_capacity, sizeof *l.pairs);
    tfm_free(&a, l.places, l.places_capacity, sizeof *l.places);
    tfm_free(&a, l.heap, l.heap_capacity, sizeof *l.heap);
    tfm_free(&a, l.grown, l.grown_capacity, sizeof *l.grown);
    return !l.bad;
}

bool tfm_bpe_corpus_add(tfm_bpe_corpus *corpus, const uint32_t *symbols, size_t n, uint64_t count)
{
    const tfm_allocator *a = &corpus->allocator;
    const size_t start = corpus->n_nodes, end = start + n;

    if (n < 2) return true;
    if (n >= NONE || end >= NONE || !tfm_grow(a, &corpus->nodes, &corpus->nodes_capacity, end, sizeof *corpus->nodes) ||
        !tfm_grow(a, &corpus->counts, &corpus->counts_capacity, corpus->n_words + 1, sizeof *corpus->counts))
        return false;
    for (size_t i = start; i < end; i++)
        corpus->nodes[i] = (tfm_bpe_node){.symbol = symbols[i - start],
                                          .previous = i > start ? (uint32_t)i - 1 : NONE,
                                          .next = i + 1 < end ? (uint32_t)i + 1 : NONE,
                                          .word = (uint32_t)corpus->n_words};
    corpus->counts[corpus->n_words++] = (int64_t)count;
    corpus->n_nodes = end;
    return true;
}

void tfm_bpe_corpus_free(tfm_bpe_corpus *corpus)
{
    tfm_free(&corpus->allocator, corpus->nodes, corpus->nodes_capacity, sizeof *corpus->nodes);
    tfm_free(&corpus->allocator, corpus->counts, corpus->counts_capacity, sizeof *corpus->counts);
    *corpus = (tfm_bpe_corpus){.allocator = corpus->allocator};
}
