/* A map from two numbers to one. */
#ifndef TFM_PAIRS_H
#define TFM_PAIRS_H

#include "base/base.h"

#define TFM_PAIRS_NONE UINT32_MAX /* no such pair */

typedef struct tfm_pairs_slot {
    uint32_t a, b, value; /* value + 1, 0 when empty */
} tfm_pairs_slot;

typedef struct tfm_pairs {
    tfm_allocator allocator;
    tfm_pairs_slot *slots; /* open addressing, at most half full */
    size_t n_slots;        /* 0 or a power of 2                  */
    size_t n;
} tfm_pairs;

/* An empty map is {.allocator = a}. */
void tfm_pairs_free(tfm_pairs *pairs);
/* The value of (a, b), or TFM_PAIRS_NONE. */
uint32_t tfm_pairs_find(const tfm_pairs *pairs, uint32_t a, uint32_t b);
/* Room for n pairs in all. false: no memory; nothing has changed. */
bool tfm_pairs_reserve(tfm_pairs *pairs, size_t n);
/* Gives (a, b) a value, unless it has one. false: no memory; nothing has changed. */
bool tfm_pairs_put(tfm_pairs *pairs, uint32_t a, uint32_t b, uint32_t value);

#endif
