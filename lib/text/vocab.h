/* Strings numbered from 0 in the order of their coming, each once unless it is asked for twice. */
#ifndef TFM_VOCAB_H
#define TFM_VOCAB_H

#include "base/utf8.h"

#define TFM_VOCAB_NONE UINT32_MAX /* no such string */

typedef struct tfm_vocab_slot {
    uint32_t hash, number; /* number: id + 1, 0 when empty */
} tfm_vocab_slot;

typedef struct tfm_vocab {
    tfm_allocator allocator;
    uint32_t n;     /* strings                                     */
    tfm_buffer all; /* their bytes, one after the other            */
    size_t *ends;   /* [n] where each ends in all                  */
    size_t ends_capacity;
    tfm_vocab_slot *slots; /* open addressing, at most half full */
    size_t n_slots;        /* 0 or a power of 2                  */
    uint64_t seed;         /* of the hash: the first address of the slots, which no file can know */
} tfm_vocab;

void tfm_vocab_init(tfm_vocab *vocab, const tfm_allocator *allocator);
void tfm_vocab_free(tfm_vocab *vocab);

/* Strings are given in two parts, so that callers need not join a piece and its mark. */
uint32_t tfm_vocab_find(const tfm_vocab *vocab, tfm_text head, tfm_text tail);
/* The longest string that is there of the beginnings of text of at most *size bytes, which end with a character: *size
 * is what it has. Takes a time in proportion to *size. */
uint32_t tfm_vocab_longest(const tfm_vocab *vocab, tfm_text text, size_t *size);
/* *id receives the number of the string, old or new. false: no memory, or too many strings; nothing has changed.
 * The parts do not lie in the table. */
bool tfm_vocab_add(tfm_vocab *vocab, tfm_text head, tfm_text tail, uint32_t *id);
/* The same for the string of left followed by that of right. */
bool tfm_vocab_join(tfm_vocab *vocab, uint32_t left, uint32_t right, uint32_t *id);
/* Adds a string even if it is there already; it is found by its first number. */
bool tfm_vocab_append(tfm_vocab *vocab, tfm_text text);
/* Lent until the next addition; id < n. */
tfm_text tfm_vocab_text(const tfm_vocab *vocab, uint32_t id);
/* Room for n strings in all, but for their bytes. false: no memory; nothing has changed. */
bool tfm_vocab_reserve(tfm_vocab *vocab, size_t n);
/* out: initialised and empty. */
bool tfm_vocab_copy(tfm_vocab *out, const tfm_vocab *vocab);

#endif
