/* Learning merges from the distinct words of a corpus. */
#ifndef TFM_BPE_LEARN_H
#define TFM_BPE_LEARN_H

#include "text/bpe.h"
#include "text/vocab.h"

/* A symbol of a word. */
typedef struct tfm_bpe_node {
    uint32_t symbol;         /* TFM_BPE_NONE when merged into the one before */
    uint32_t previous, next; /* in the word, or TFM_BPE_NONE                 */
    uint32_t word;
} tfm_bpe_node;

/* Words as symbols of a table of strings. Learning merges them in place. */
typedef struct tfm_bpe_corpus {
    tfm_allocator allocator;
    tfm_bpe_node *nodes;
    size_t n_nodes, nodes_capacity;
    int64_t *counts; /* [n_words] how often each was seen */
    size_t n_words, counts_capacity;
} tfm_bpe_corpus;

/* Appends a word of n symbols, seen count times; less than two symbols are left out. false: no memory. */
bool tfm_bpe_corpus_add(tfm_bpe_corpus *corpus, const uint32_t *symbols, size_t n, uint64_t count);
void tfm_bpe_corpus_free(tfm_bpe_corpus *corpus);

typedef struct tfm_bpe_limits {
    size_t merges;         /* most merges                           */
    uint32_t symbols;      /* most strings in the table             */
    int64_t min_frequency; /* rarer pairs are not merged; at least 1 */
} tfm_bpe_limits;

/*
 * Adds merges to bpe and their results to strings: each time the most frequent pair; of several, the one whose left
 * string, then right string, is last in byte order. Stops at a limit. false: no memory. Time O(n log n) in the symbols.
 */
bool tfm_bpe_learn(tfm_bpe *bpe, tfm_vocab *strings, tfm_bpe_corpus *corpus, const tfm_bpe_limits *limits);

#endif
