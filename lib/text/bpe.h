/* Merges of byte pair encoding, and their application to one word. */
#ifndef TFM_BPE_H
#define TFM_BPE_H

#include "base/rng.h"
#include "text/pairs.h"

#define TFM_BPE_NONE UINT32_MAX /* a symbol that no merge knows */

/* Symbols are numbers that the owner of the strings has given. */
typedef struct tfm_merge {
    uint32_t left, right, result;
} tfm_merge;

typedef struct tfm_bpe {
    tfm_allocator allocator;
    tfm_merge *merges; /* [n] first learned first */
    size_t n, capacity;
    tfm_pairs ranks; /* (left, right) -> index of the first merge of them; less is earlier */
} tfm_bpe;

void tfm_bpe_init(tfm_bpe *bpe, const tfm_allocator *allocator);
void tfm_bpe_free(tfm_bpe *bpe);
/* Room for n merges in all. false: no memory. */
bool tfm_bpe_reserve(tfm_bpe *bpe, size_t n);
/* Appends a merge. A pair that comes again is kept, for the file's sake, and has no effect. false: no memory. */
bool tfm_bpe_add(tfm_bpe *bpe, tfm_merge merge);

typedef struct tfm_bpe_part {
    uint32_t symbol; /* or TFM_BPE_NONE               */
    uint32_t start;  /* byte of the word at which it begins */
} tfm_bpe_part;

/* Merges that are left out at random (Provilkov et al. 2020): one draw each time that a merge might be next. */
typedef struct tfm_bpe_dropout {
    float rate;            /* 0: none, and nothing is drawn; 1: all */
    uint64_t seed, stream; /* of base/rng.h                         */
    uint64_t drawn;        /* numbers taken so far                  */
} tfm_bpe_dropout;

enum {
    TFM_BPE_SMALL = 256,          /* parts of a word that needs no allocation */
    TFM_BPE_MAX_WORD = 1000000000 /* parts; so that positions fit in 32 bits  */
};

/* Memory for one word after the other; lives on a caller's stack. */
typedef struct tfm_bpe_work {
    tfm_allocator allocator;
    size_t capacity;           /* parts */
    tfm_bpe_part *parts;       /* [capacity] the word: its characters before, its pieces after    */
    uint64_t *heap;            /* [2 capacity] merges that may be due: rank << 32 | part          */
    uint32_t *previous, *next; /* [capacity] the list of parts                                    */
    uint32_t *due;             /* [capacity] where the merge of the present round goes            */
    size_t heap_size;
    size_t n_dropped; /* from the end of heap downwards: what drops out of the present round */
    tfm_bpe_dropout dropout;
    tfm_block block; /* the arrays of a longer word */
    struct {
        uint64_t heap[2 * TFM_BPE_SMALL];
        tfm_bpe_part parts[TFM_BPE_SMALL];
        uint32_t previous[TFM_BPE_SMALL], next[TFM_BPE_SMALL], due[TFM_BPE_SMALL];
    } small;
} tfm_bpe_work;

/* Without dropout, which may be set then. */
void tfm_bpe_work_init(tfm_bpe_work *work, const tfm_allocator *allocator);
void tfm_bpe_work_free(tfm_bpe_work *work);
/* Makes room for n parts; those there are lost. n <= TFM_BPE_MAX_WORD. false: no memory. */
bool tfm_bpe_work_reserve(tfm_bpe_work *work, size_t n);

/*
 * Merges work->parts[0..n) and returns how many are left. The earliest merge that occurs goes first, at all its places
 * from left to right, until none occurs. Time O(n log n).
 * With work->dropout, each place of each merge drops out of each such round with the probability of its rate, and comes
 * back for the next one; the end is a round that all drop out of. Time O(n log n / (1 - rate)), at most O(n^2 log n).
 */
size_t tfm_bpe_apply(const tfm_bpe *bpe, tfm_bpe_work *work, size_t n);

#endif
