/* N-grams that a hypothesis shares with its references. */
#ifndef TFM_EVAL_NGRAMS_H
#define TFM_EVAL_NGRAMS_H

#include "base/base.h"

typedef struct tfm_ngram {
    uint64_t key;  /* the n-gram without its last symbol, and that symbol */
    size_t text;   /* the text that count belongs to                       */
    size_t count;  /* occurrences in it so far                             */
    size_t limit;  /* most occurrences in one reference                    */
    uint32_t slot; /* its place in the hash table                          */
} tfm_ngram;

/*
 * The n-grams of one sentence as a tree: a token is a path of bytes from the root, an n-gram a path of tokens from
 * there, and one hash table finds the child of a node. Two different n-grams are never taken for one. All zero but
 * allocator: empty.
 */
typedef struct tfm_ngrams {
    tfm_allocator allocator;
    tfm_ngram *nodes; /* id - 1; id 0 is the root */
    size_t n_nodes, node_capacity;
    uint32_t *slots;  /* ids, 0: free; at most half are taken */
    size_t n_slots;   /* 0 or a power of two                   */
    uint32_t *tokens; /* ids of the tokens of the present text */
    size_t token_capacity;
    size_t text; /* number of the present text, from 1 */
    bool bad;    /* no memory, or more than 2^31 n-grams */
} tfm_ngrams;

/* Forgets the sentence, keeps the memory. */
void tfm_ngrams_clear(tfm_ngrams *ngrams);
void tfm_ngrams_free(tfm_ngrams *ngrams);

/* Fills tokens with the ids of the text's tokens, which are what stands between white space, or its characters; returns
 * their number. */
size_t tfm_ngrams_tokens(tfm_ngrams *ngrams, tfm_text text, bool characters);
/*
 * Counts the n-grams of the n tokens. matches NULL: they are of a reference. Otherwise of the hypothesis, after all
 * references: matches[n - 1] grows by its n-grams, each counted as often as one reference has it.
 */
void tfm_ngrams_count(tfm_ngrams *ngrams, size_t n, size_t max_order, double *matches);

#endif
