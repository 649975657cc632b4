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

/* Continued over the parts. The high bits come down with each byte: what they start from then decides, which differs
 * from run to run, so that no file can have strings that all go to one place. */
static uint64_t hash_on(uint64_t hash, tfm_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        hash = (hash ^ (unsigned char)text.data[i]) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t hash_of(const tfm_vocab *vocab, tfm_text head, tfm_text tail)
{
    return (uint32_t)hash_on(hash_on(vocab->seed, head), tail);
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
    return slot_of(vocab, hash_of(vocab, head, tail), head, tail)->number - 1; /* 0 - 1 is TFM_VOCAB_NONE */
}

/* Of each beginning the hash is looked up, and the string of the longest one that is there compared. */
uint32_t tfm_vocab_longest(const tfm_vocab *vocab, tfm_text text, size_t *size)
{
    const size_t most = text.size < *size ? text.size : *size, mask = vocab->n_slots - 1;
    uint64_t hash = vocab->seed;

    *size = 0;
    for (size_t i = 0; vocab->n && i < most;) {
        hash = hash_on(hash, (tfm_text){text.data + i++, 1});
        if (i < text.size && (text.data[i] & 0xC0) == 0x80) continue; /* in the midst of a character */
        size_t at = hash & mask;
        while (vocab->slots[at].number && vocab->slots[at].hash != (uint32_t)hash) at = (at + 1) & mask;
        if (vocab->slots[at].number) *size = i;
    }
    if (!*size) return TFM_VOCAB_NONE;
    const uint32_t id = tfm_vocab_find(vocab, (tfm_text){text.data, *size}, (tfm_text){0});
    if (id != TFM_VOCAB_NONE) return id;
    --*size; /* two strings of one hash */
    return tfm_vocab_longest(vocab, text, size);
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
    if (!vocab->n) vocab->seed = (uintptr_t)slots;
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
    if (!has_room(vocab)) return false;
    const uint32_t hash = hash_of(vocab, head, tail);
    tfm_vocab_slot *slot = slot_of(vocab, hash, head, tail);
    if (!slot->number && !append(vocab, slot, hash, head, tail)) return false;
    *id = slot->number - 1;
    return true;
}

bool tfm_vocab_append(tfm_vocab *vocab, tfm_text text)
{
    const tfm_text nothing = {0};

    if (!has_room(vocab)) return false;
    const uint32_t hash = hash_of(vocab, text, nothing);
    return append(vocab, slot_of(vocab, hash, text, nothing), hash, text, nothing);
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
