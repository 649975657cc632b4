/* Applies merges to a word with a heap, so that a word of a million characters is only a long word. */
#include "text/bpe.h"

#define NOWHERE UINT32_MAX

void tfm_bpe_init(tfm_bpe *bpe, const tfm_allocator *allocator)
{
    *bpe = (tfm_bpe){.allocator = *allocator, .ranks = {.allocator = *allocator}};
}

void tfm_bpe_free(tfm_bpe *bpe)
{
    const tfm_allocator allocator = bpe->allocator;

    tfm_free(&allocator, bpe->merges, bpe->capacity, sizeof *bpe->merges);
    tfm_pairs_free(&bpe->ranks);
    tfm_bpe_init(bpe, &allocator);
}

bool tfm_bpe_reserve(tfm_bpe *bpe, size_t n)
{
    return tfm_grow(&bpe->allocator, &bpe->merges, &bpe->capacity, n, sizeof *bpe->merges) &&
           tfm_pairs_reserve(&bpe->ranks, n);
}

bool tfm_bpe_add(tfm_bpe *bpe, tfm_merge merge)
{
    if (bpe->n >= UINT32_MAX - 1 || !tfm_bpe_reserve(bpe, bpe->n + 1) ||
        !tfm_pairs_put(&bpe->ranks, merge.left, merge.right, (uint32_t)bpe->n))
        return false;
    bpe->merges[bpe->n++] = merge;
    return true;
}

/*
 * While it is merged, a word is a linked list of parts, with a heap of the merges that may be due; the least candidate
 * is due first. A merge removes at least the candidate it came from and adds two at most: 2 n candidates suffice.
 */
static void use_small(tfm_bpe_work *work)
{
    work->capacity = TFM_BPE_SMALL;
    work->block = (tfm_block){0};
    work->heap = work->small.heap;
    work->parts = work->small.parts;
    work->previous = work->small.previous;
    work->next = work->small.next;
    work->due = work->small.due;
}

void tfm_bpe_work_init(tfm_bpe_work *work, const tfm_allocator *allocator)
{
    work->allocator = *allocator;
    work->dropout = (tfm_bpe_dropout){0};
    use_small(work);
}

/* Lays the arrays into the block, or measures it when there is none. */
static void plan(tfm_bpe_work *work, tfm_arena *arena, size_t n)
{
    work->heap = tfm_arena_take(arena, n, 2 * sizeof *work->heap);
    work->parts = tfm_arena_take(arena, n, sizeof *work->parts);
    work->previous = tfm_arena_take(arena, n, sizeof *work->previous);
    work->next = tfm_arena_take(arena, n, sizeof *work->next);
    work->due = tfm_arena_take(arena, n, sizeof *work->due);
}

void tfm_bpe_work_free(tfm_bpe_work *work)
{
    tfm_block_free(&work->block, &work->allocator);
    use_small(work);
}

bool tfm_bpe_work_reserve(tfm_bpe_work *work, size_t n)
{
    tfm_arena arena = {0};

    if (n <= work->capacity) return true;
    tfm_bpe_work_free(work);
    plan(work, &arena, n);
    const size_t size = arena.used;
    if (arena.bad || !tfm_block_reserve(&work->block, &work->allocator, size, &arena)) {
        tfm_bpe_work_free(work);
        return false;
    }
    plan(work, &arena, n);
    work->capacity = n;
    return true;
}

static void push(tfm_bpe_work *w, uint64_t candidate)
{
    size_t i = w->heap_size++;

    for (; i && w->heap[(i - 1) / 2] > candidate; i = (i - 1) / 2) w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = candidate;
}

/* Adds the merge of a part and the one after it, if there is one. */
static void consider(const tfm_bpe *bpe, tfm_bpe_work *w, uint32_t at)
{
    const uint32_t after = w->next[at];

    if (after == NOWHERE || w->parts[at].symbol == TFM_BPE_NONE || w->parts[after].symbol == TFM_BPE_NONE) return;
    const uint32_t rank = tfm_pairs_find(&bpe->ranks, w->parts[at].symbol, w->parts[after].symbol);
    if (rank != TFM_PAIRS_NONE) push(w, (uint64_t)rank << 32 | at);
}

static uint64_t pop(tfm_bpe_work *w)
{
    const uint64_t top = w->heap[0], last = w->heap[--w->heap_size];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < w->heap_size; i = child) {
        if (child + 1 < w->heap_size && w->heap[child + 1] < w->heap[child]) child++;
        if (w->heap[child] >= last) break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

/* Whether a part and the one after it are still what a merge joins. */
static bool is_possible(const tfm_bpe_work *w, uint32_t at, tfm_merge merge)
{
    const uint32_t after = w->next[at];

    return after != NOWHERE && w->parts[at].symbol == merge.left && w->parts[after].symbol == merge.right;
}

/* Performs a merge at a part, unless an earlier one has changed the part or the one after it. */
static void merge_at(const tfm_bpe *bpe, tfm_bpe_work *w, uint32_t at, tfm_merge merge)
{
    const uint32_t gone = w->next[at];

    if (!is_possible(w, at, merge)) return;
    w->parts[at].symbol = merge.result;
    w->next[at] = w->next[gone];
    if (w->next[at] != NOWHERE) w->previous[w->next[at]] = at;
    w->parts[gone].symbol = TFM_BPE_NONE;
    w->next[gone] = NOWHERE;
    if (w->previous[at] != NOWHERE) consider(bpe, w, w->previous[at]);
    consider(bpe, w, at);
}

static bool drops_out(tfm_bpe_dropout *d)
{
    return d->rate > 0.0f && tfm_random_uniform(d->seed, d->stream, d->drawn++) < d->rate;
}

/*
 * Takes the next merge and its places off the heap: all places before any other merge, even one that is earlier and
 * becomes due on the way. What drops out waits at the other end of the heap's array, where it takes the room it had.
 */
static size_t begin_round(const tfm_bpe *bpe, tfm_bpe_work *w, uint32_t *rank)
{
    size_t n_due = 0;

    while (w->heap_size && (!n_due || w->heap[0] >> 32 == *rank)) {
        const uint64_t candidate = pop(w);
        const uint32_t at = (uint32_t)candidate, its_rank = (uint32_t)(candidate >> 32);
        if (!is_possible(w, at, bpe->merges[its_rank])) continue; /* no place any more: nothing to draw for */
        if (drops_out(&w->dropout)) {
            w->heap[2 * w->capacity - ++w->n_dropped] = candidate;
        } else {
            *rank = its_rank;
            w->due[n_due++] = at;
        }
    }
    return n_due;
}

size_t tfm_bpe_apply(const tfm_bpe *bpe, tfm_bpe_work *work, size_t n)
{
    size_t left = 0, n_due;
    uint32_t rank = 0;

    if (n < 2) return n;
    for (uint32_t i = 0; i < n; i++) {
        work->previous[i] = i ? i - 1 : NOWHERE;
        work->next[i] = i + 1 < n ? i + 1 : NOWHERE;
    }
    work->heap_size = work->n_dropped = 0;
    for (uint32_t i = 0; i < n; i++) consider(bpe, work, i);
    while ((n_due = begin_round(bpe, work, &rank)) > 0) {
        for (size_t i = 0; i < n_due; i++) merge_at(bpe, work, work->due[i], bpe->merges[rank]);
        for (; work->n_dropped; work->n_dropped--) push(work, work->heap[2 * work->capacity - work->n_dropped]);
    }
    for (uint32_t i = 0; i != NOWHERE; i = work->next[i]) work->parts[left++] = work->parts[i];
    return left;
}
