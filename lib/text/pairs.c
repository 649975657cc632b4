/* The hash table under merges, and under the pairs and occurrences that learning counts. */
#include "text/pairs.h"

enum { FIRST_SLOTS = 64 };

void tfm_pairs_free(tfm_pairs *pairs)
{
    tfm_free(&pairs->allocator, pairs->slots, pairs->n_slots, sizeof *pairs->slots);
    *pairs = (tfm_pairs){.allocator = pairs->allocator};
}

/* seed: differs from run to run, so that no file can have pairs that all go to one place. */
static size_t place(uintptr_t seed, uint32_t a, uint32_t b)
{
    uint64_t x = (((uint64_t)a << 32 | b) ^ seed) * 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio */

    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93u;
    return (size_t)(x ^ x >> 32);
}

/* The slot of (a, b), or the empty one where it belongs. */
static tfm_pairs_slot *slot_of(tfm_pairs_slot *slots, size_t n_slots, uint32_t a, uint32_t b)
{
    const size_t mask = n_slots - 1;
    size_t at = place((uintptr_t)slots, a, b) & mask;

    while (slots[at].value && (slots[at].a != a || slots[at].b != b)) at = (at + 1) & mask;
    return &slots[at];
}

uint32_t tfm_pairs_find(const tfm_pairs *pairs, uint32_t a, uint32_t b)
{
    if (!pairs->n) return TFM_PAIRS_NONE;
    return slot_of(pairs->slots, pairs->n_slots, a, b)->value - 1; /* 0 - 1 is TFM_PAIRS_NONE */
}

/* n_slots: a power of 2. */
static bool widen(tfm_pairs *pairs, size_t n_slots)
{
    tfm_pairs_slot *slots = tfm_alloc(&pairs->allocator, n_slots, sizeof *slots);

    if (!slots) return false;
    for (size_t i = 0; i < pairs->n_slots; i++)
        if (pairs->slots[i].value) *slot_of(slots, n_slots, pairs->slots[i].a, pairs->slots[i].b) = pairs->slots[i];
    tfm_free(&pairs->allocator, pairs->slots, pairs->n_slots, sizeof *slots);
    pairs->slots = slots;
    pairs->n_slots = n_slots;
    return true;
}

bool tfm_pairs_reserve(tfm_pairs *pairs, size_t n)
{
    size_t n_slots = pairs->n_slots;

    while (n_slots / 2 < n)
        if (!tfm_mul(n_slots ? n_slots : FIRST_SLOTS / 2, 2, &n_slots)) return false;
    return n_slots == pairs->n_slots || widen(pairs, n_slots);
}

bool tfm_pairs_put(tfm_pairs *pairs, uint32_t a, uint32_t b, uint32_t value)
{
    if (!tfm_pairs_reserve(pairs, pairs->n + 1)) return false;
    tfm_pairs_slot *slot = slot_of(pairs->slots, pairs->n_slots, a, b);
    if (!slot->value) {
        *slot = (tfm_pairs_slot){a, b, value + 1};
        pairs->n++;
    }
    return true;
}
