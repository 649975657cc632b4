/* The one string table: vocabularies, pieces of merges, and the distinct words of a corpus. */
#include "text/vocab.h"

enum { FIRST_SLOTS = 64 };

void tfm_vocab_init(tfm_vocab *vocab, const tfm_allocator *allocator)
{
    *vocab = (tfm_vocab){.allocator = *allocator, .all = {.allocator = *allocator}};
}

void tfm_vocab_free(tfm_vocab *vocab)
{
    const tfm_allocator allocator = vocab->allocator;

    tfm_free(&allocator, vocab->ends, vocab->ends_capacity, sizeof *vocab->ends);
    tfm_free(&allocator, vocab->slots, vocab->n_slots, sizeof *vocab->slots);
    tfm_buffer_free(&vocab->all);
    tfm_vocab_init(vocab, &allocator);
}

tfm_text tfm_vocab_text(const tfm_vocab *vocab, uint32_t id)
{
    return tfm_buffer_part(&vocab->all, id ? vocab->ends[id - 1] : 0, vocab->ends[id]);
}

/* FNV-1a, continued over the parts; the fold spreads the high bits, as slots are chosen by the low ones. */
static uint64_t hash_on(uint64_t hash, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++) hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001B3u;
    return hash;
}

static uint32_t hash_of(tfm_text head, tfm_text tail)
{
    const uint64_t hash = hash_on(hash_on(0xCBF29CE484222325u, head), tail);

    return (uint32_t)(hash ^ hash >> 32);
}

static bool is_joined(tfm_text whole, tfm_text head, tfm_text tail)
{
    if (whole.size != head.size + tail.size) return false;
    return tfm_text_equal((tfm_text){whole.data, head.size}, head) &&
           tfm_text_equal(tfm_text_from(whole, head.size), tail);
}

/* The slot of the string, or the empty one where it belongs. */
static tfm_vocab_slot *slot_of(const tfm_vocab *vocab, uint32_t hash, tfm_text head, tfm_text tail)
{
    const size_t mask = vocab->n_slots - 1;
    size_t at = hash & mask;

    for (;; at = (at + 1) & mask) {
        tfm_vocab_slot *slot = &vocab->slots[at];
        if (!slot->number) return slot;
        if (slot->hash == hash && is_joined(tfm_vocab_text(vocab, slot->number - 1), head, tail)) return slot;
    }
}

uint32_t tfm_vocab_find(const tfm_vocab *vocab, tfm_text head, tfm_text tail)
{
    if (!vocab->n) return TFM_VOCAB_NONE;
    return slot_of(vocab, hash_of(head, tail), head, tail)->number - 1; /* 0 - 1 is TFM_VOCAB_NONE */
}

/* n_slots: a power of 2. */
static bool widen(tfm_vocab *vocab, size_t n_slots)
{
    const size_t mask = n_slots - 1;
    tfm_vocab_slot *slots = tfm_alloc(&vocab->allocator, n_slots, sizeof *slots);

    if (!slots) return false;
    for (size_t i = 0; i < vocab->n_slots; i++) {
        if (!vocab->slots[i].number) continue;
        size_t at = vocab->slots[i].hash & mask;
        while (slots[at].number) at = (at + 1) & mask;
        slots[at] = vocab->slots[i];
    }
    tfm_free(&vocab->allocator, vocab->slots, vocab->n_slots, sizeof *slots);
    vocab->slots = slots;
    vocab->n_slots = n_slots;
    return true;
}

bool tfm_vocab_reserve(tfm_vocab *vocab, size_t n)
{
    size_t n_slots = vocab->n_slots;

    while (n_slots / 2 < n)
        if (!tfm_mul(n_slots ? n_slots : FIRST_SLOTS / 2, 2, &n_slots)) return false;
    if (n_slots > vocab->n_slots && !widen(vocab, n_slots)) return false;
    return tfm_grow(&vocab->allocator, &vocab->ends, &vocab->ends_capacity, n, sizeof *vocab->ends);
}

/* slot: where the string belongs, or the one with an equal string, which it stays. */
static bool append(tfm_vocab *vocab, tfm_vocab_slot *slot, uint32_t hash, tfm_text head, tfm_text tail)
{
    const size_t size = vocab->all.size;

    tfm_buffer_append(&vocab->all, head.data, head.size);
    tfm_buffer_append(&vocab->all, tail.data, tail.size);
    if (vocab->all.bad) {
        vocab->all.size = size;
        vocab->all.bad = false;
        return false;
    }
    vocab->ends[vocab->n++] = vocab->all.size;
    if (!slot->number) *slot = (tfm_vocab_slot){hash, vocab->n};
    return true;
}

static bool has_room(tfm_vocab *vocab)
{
    return vocab->n < TFM_VOCAB_NONE - 1 && tfm_vocab_reserve(vocab, (size_t)vocab->n + 1);
}

bool tfm_vocab_add(tfm_vocab *vocab, tfm_text head, tfm_text tail, uint32_t *id)
{
    const uint32_t hash = hash_of(head, tail);

    if (!has_room(vocab)) return false;
    tfm_vocab_slot *slot = slot_of(vocab, hash, head, tail);
    if (!slot->number && !append(vocab, slot, hash, head, tail)) return false;
    *id = slot->number - 1;
    return true;
}

bool tfm_vocab_append(tfm_vocab *vocab, tfm_text text)
{
    const tfm_text nothing = {0};
    const uint32_t hash = hash_of(text, nothing);

    return has_room(vocab) && append(vocab, slot_of(vocab, hash, text, nothing), hash, text, nothing);
}

bool tfm_vocab_join(tfm_vocab *vocab, uint32_t left, uint32_t right, uint32_t *id)
{
    const size_t more = tfm_vocab_text(vocab, left).size + tfm_vocab_text(vocab, right).size;
    size_t want;

    /* Room first: the parts must not move while they are appended to the bytes in which they lie. */
    if (!tfm_add(vocab->all.size, more, &want) ||
        !tfm_grow(&vocab->allocator, &vocab->all.data, &vocab->all.capacity, want, 1))
        return false;
    return tfm_vocab_add(vocab, tfm_vocab_text(vocab, left), tfm_vocab_text(vocab, right), id);
}

bool tfm_vocab_copy(tfm_vocab *out, const tfm_vocab *vocab)
{
    if (!tfm_vocab_reserve(out, vocab->n)) return false;
    for (uint32_t i = 0; i < vocab->n; i++)
        if (!tfm_vocab_append(out, tfm_vocab_text(vocab, i))) return false;
    return true;
}
