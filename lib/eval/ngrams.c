/* Counts the n-grams of a hypothesis in its references, for n-gram metrics. */
#include "eval/ngrams.h"

#include "base/characters.h"

enum { MAX_NODES = 0x7FFFFFFF, BYTES = 256 }; /* symbols below BYTES are bytes, those above are tokens */

void tfm_ngrams_clear(tfm_ngrams *ngrams)
{
    for (size_t i = 0; i < ngrams->n_nodes; i++) ngrams->slots[ngrams->nodes[i].slot] = 0;
    ngrams->n_nodes = 0;
}

void tfm_ngrams_free(tfm_ngrams *ngrams)
{
    tfm_free(&ngrams->allocator, ngrams->nodes, ngrams->node_capacity, sizeof *ngrams->nodes);
    tfm_free(&ngrams->allocator, ngrams->slots, ngrams->n_slots, sizeof *ngrams->slots);
    tfm_free(&ngrams->allocator, ngrams->tokens, ngrams->token_capacity, sizeof *ngrams->tokens);
    *ngrams = (tfm_ngrams){.allocator = ngrams->allocator};
}

/* The slot that holds key, or the free one where it belongs: the address of the table is the seed of its hash, so that
 * no text can have n-grams that all go to one place. */
static uint32_t find_slot(const tfm_ngrams *ngrams, uint64_t key)
{
    const size_t mask = ngrams->n_slots - 1;
    uint64_t h = (key ^ (uintptr_t)ngrams->slots) * 0x9E3779B97F4A7C15u;

    h = (h ^ (h >> 32)) * 0x9E3779B97F4A7C15u;
    for (size_t slot = (size_t)(h >> 32) & mask;; slot = (slot + 1) & mask) {
        const uint32_t id = ngrams->slots[slot];
        if (!id || ngrams->nodes[id - 1].key == key) return (uint32_t)slot;
    }
}

/* Room for one more node in both arrays. */
static bool reserve(tfm_ngrams *ngrams)
{
    const size_t want = ngrams->n_nodes + 1;
    const size_t n_slots = ngrams->n_slots ? ngrams->n_slots * 2 : 1024;

    if (want > MAX_NODES ||
        !tfm_grow(&ngrams->allocator, &ngrams->nodes, &ngrams->node_capacity, want, sizeof *ngrams->nodes))
        return false;
    if (want * 2 <= ngrams->n_slots) return true;
    uint32_t *slots = tfm_alloc(&ngrams->allocator, n_slots, sizeof *slots);
    if (!slots) return false;
    tfm_free(&ngrams->allocator, ngrams->slots, ngrams->n_slots, sizeof *ngrams->slots);
    ngrams->slots = slots;
    ngrams->n_slots = n_slots;
    for (size_t i = 0; i < ngrams->n_nodes; i++) {
        tfm_ngram *node = &ngrams->nodes[i];
        node->slot = find_slot(ngrams, node->key);
        slots[node->slot] = (uint32_t)i + 1;
    }
    return true;
}

/* The child of a node by a symbol, made when new; 0 when that failed. */
static uint32_t child(tfm_ngrams *ngrams, uint32_t parent, uint32_t symbol)
{
    const uint64_t key = (uint64_t)parent << 32 | symbol;

    if (ngrams->bad || !reserve(ngrams)) {
        ngrams->bad = true;
        return 0;
    }
    const uint32_t slot = find_slot(ngrams, key);
    if (!ngrams->slots[slot]) {
        ngrams->nodes[ngrams->n_nodes++] = (tfm_ngram){.key = key, .slot = slot};
        ngrams->slots[slot] = (uint32_t)ngrams->n_nodes;
    }
    return ngrams->slots[slot];
}

size_t tfm_ngrams_tokens(tfm_ngrams *ngrams, tfm_text text, bool characters)
{
    size_t n = 0;
    uint32_t id = 0; /* of the token so far; 0 between tokens */

    for (size_t pos = 0; pos < text.size && !ngrams->bad;) {
        const tfm_char c = tfm_char_at(text, pos);
        const size_t end = pos + c.size;
        if (!characters && tfm_char_is_space(c.code)) {
            pos = end;
            id = 0;
            continue;
        }
        if (characters) id = 0;
        n += !id;
        while (pos < end) id = child(ngrams, id, (unsigned char)text.data[pos++]);
        if (!tfm_grow(&ngrams->allocator, &ngrams->tokens, &ngrams->token_capacity, n, sizeof *ngrams->tokens))
            ngrams->bad = true;
        else ngrams->tokens[n - 1] = id;
    }
    return n;
}

void tfm_ngrams_count(tfm_ngrams *ngrams, size_t n, size_t max_order, double *matches)
{
    ngrams->text++;
    for (size_t start = 0; start < n && !ngrams->bad; start++) {
        uint32_t id = 0;
        for (size_t order = 0; order < max_order && start + order < n; order++) {
            const uint32_t token = ngrams->tokens[start + order];
            id = order ? child(ngrams, id, BYTES + token) : token;
            if (!id) break;
            tfm_ngram *node = &ngrams->nodes[id - 1];
            if (node->text != ngrams->text) node->count = 0;
            node->text = ngrams->text;
            node->count++;
            if (matches) matches[order] += node->count <= node->limit;
            else if (node->count > node->limit) node->limit = node->count;
        }
    }
}
