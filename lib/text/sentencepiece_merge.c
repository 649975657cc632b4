/* Cutting by merges (SentencePiece's BPE): the pair of neighbours that makes the best piece is joined first. */
#include "text/sentencepiece.h"

enum { NONE = -1 };

/* ---------------------------------------------------------------------------------------------- the heap -------- */

static bool before(tfm_spm_ranked a, tfm_spm_ranked b)
{
    return a.score > b.score || (!(a.score < b.score) && a.tie < b.tie);
}

/* Moves the hole at i up until item fits in. */
static void rise(tfm_spm_ranked *heap, size_t i, tfm_spm_ranked item)
{
    for (; i && before(item, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = item;
}

void tfm_spm_push(tfm_spm_ranked *heap, size_t *n, tfm_spm_ranked item)
{
    rise(heap, (*n)++, item);
}

/* The hole that the top leaves goes down to a leaf, and the last item from there up. */
tfm_spm_ranked tfm_spm_pop(tfm_spm_ranked *heap, size_t *n)
{
    const tfm_spm_ranked top = heap[0], last = heap[--*n];
    size_t hole = 0, child;

    for (; (child = 2 * hole + 2) <= *n; hole = child) {
        if (child == *n || before(heap[child - 1], heap[child])) child--;
        heap[hole] = heap[child];
    }
    if (*n) rise(heap, hole, last);
    return top;
}

/* ---------------------------------------------------------------------------------------------- the merges ------ */

typedef struct symbol {
    uint32_t start, size; /* bytes; size 0 when it was joined to the one before */
    int32_t previous, next;
    bool frozen; /* a user-defined piece joins nothing */
} symbol;

typedef struct pair {
    uint32_t left, right, size; /* symbols, and their bytes together when they were looked at */
} pair;

/* The memory of one text. Of n symbols each merge looks at two new pairs: less than 3 n in all. */
typedef struct work {
    const tfm_sentencepiece *model;
    tfm_text text;
    symbol *symbols; /* [text.size] */
    pair *pairs;     /* [3 text.size] */
    tfm_spm_ranked *heap;
    uint32_t *cuts; /* [pieces] of an unused piece: the bytes of its left part; NULL when the model has none */
    size_t n, n_pairs, n_heap;
    tfm_block block;
} work;

static bool place(work *w)
{
    const size_t most = w->text.size;
    tfm_arena arena = {0};

    for (int placing = 0; placing < 2; placing++) {
        w->symbols = tfm_arena_take(&arena, most, sizeof *w->symbols);
        w->pairs = tfm_arena_take(&arena, 3 * most, sizeof *w->pairs);
        w->heap = tfm_arena_take(&arena, 3 * most, sizeof *w->heap);
        w->cuts = w->model->has_unused ? tfm_arena_take(&arena, w->model->pieces.n, sizeof *w->cuts) : NULL;
        if (arena.bad || (!placing && !tfm_block_reserve(&w->block, &w->model->allocator, arena.peak, &arena)))
            return false;
    }
    return true;
}

static void look_at(work *w, int32_t left, int32_t right)
{
    if (left == NONE || right == NONE || w->symbols[left].frozen || w->symbols[right].frozen) return;
    const symbol *l = &w->symbols[left], *r = &w->symbols[right];
    const uint32_t size = l->size + r->size;
    const uint32_t id = tfm_spm_find(w->model, (tfm_text){w->text.data + l->start, size}, (tfm_text){0});
    if (id == TFM_VOCAB_NONE) return;
    w->pairs[w->n_pairs] = (pair){(uint32_t)left, (uint32_t)right, size};
    tfm_spm_push(w->heap, &w->n_heap,
                 (tfm_spm_ranked){w->model->about[id].score, (uint32_t)left, (uint32_t)w->n_pairs++});
    if (w->model->about[id].type == TFM_SPM_UNUSED) w->cuts[id] = l->size;
}

static void split(work *w)
{
    for (size_t at = 0; at < w->text.size; w->n++) {
        const tfm_text rest = tfm_text_from(w->text, at);
        const size_t user = tfm_spm_user(w->model, rest), size = user ? user : tfm_spm_character(rest);
        w->symbols[w->n] = (symbol){(uint32_t)at, (uint32_t)size, (int32_t)w->n - 1,
                                    at + size < w->text.size ? (int32_t)w->n + 1 : NONE, user > 0};
        at += size;
    }
}

static void merge(work *w)
{
    while (w->n_heap) {
        const pair *p = &w->pairs[tfm_spm_pop(w->heap, &w->n_heap).item];
        symbol *l = &w->symbols[p->left], *r = &w->symbols[p->right];
        if (!l->size || !r->size || l->size + r->size != p->size) continue; /* one of them has been joined since */
        l->size = p->size;
        l->next = r->next;
        r->size = 0;
        if (l->next != NONE) w->symbols[l->next].previous = (int32_t)p->left;
        const int32_t left = (int32_t)p->left;
        look_at(w, l->previous, left);
        look_at(w, left, l->next);
    }
}

/* Gives a piece; one that is unused only led to others, and is given as the two that it was made of. */
static void give_used(work *w, tfm_text piece, tfm_spm_give_fn give, void *user)
{
    pair *rest = w->pairs; /* a stack: no pair is needed any more */
    size_t depth = 0;

    for (;;) {
        const uint32_t id = tfm_spm_find(w->model, piece, (tfm_text){0});
        const bool unused = id != TFM_VOCAB_NONE && w->model->about[id].type == TFM_SPM_UNUSED;
        const uint32_t cut = unused ? w->cuts[id] : 0;
        if (cut) {
            const tfm_text right = tfm_text_from(piece, cut);
            rest[depth++] = (pair){(uint32_t)(right.data - w->text.data), 0, (uint32_t)right.size};
            piece.size = cut;
            continue;
        }
        give(user, id, piece);
        if (!depth--) return;
        piece = (tfm_text){w->text.data + rest[depth].left, rest[depth].size};
    }
}

tfm_status tfm_spm_merge(const tfm_sentencepiece *model, tfm_text text, tfm_spm_give_fn give, void *user,
                         tfm_error *error)
{
    work w = {.model = model, .text = text};

    if (!place(&w)) return tfm_fail(error, TFM_E_NOMEM, "no memory to cut a text of %zu bytes", text.size);
    if (w.cuts) memset(w.cuts, 0, model->pieces.n * sizeof *w.cuts);
    split(&w);
    for (size_t i = 1; i < w.n; i++) look_at(&w, (int32_t)i - 1, (int32_t)i);
    merge(&w);
    for (int32_t i = 0; i != NONE; i = w.symbols[i].next) {
        const tfm_text piece = {text.data + w.symbols[i].start, w.symbols[i].size};
        give_used(&w, piece, give, user);
    }
    tfm_block_free(&w.block, &model->allocator);
    return TFM_OK;
}
