/* What a decoder keeps of alignments: those of its results, and those of given pairs. */
#ifndef TFM_ALIGNER_H
#define TFM_ALIGNER_H

#include "base/matrices.h"
#include "decode/score.h"
#include "decode/search.h"

typedef struct tfm_aligner {
    tfm_score *score; /* of results, in the memory of the search */
    tfm_ids *pairs;   /* [2][results] by number: sources, targets */
    size_t pair_capacity;
    uint32_t *words, *source_words; /* of the tokens of a result, and of a source in parts */
    size_t word_capacity, source_word_capacity;
    tfm_buffer text;
    tfm_matrices joined;         /* tokens of results in parts, by number */
    tfm_matrices results, given; /* their words */
} tfm_aligner;

/* The words of one side of a pair: how many, and which its tokens belong to (line_words.h). */
typedef struct tfm_side_words {
    size_t n, n_tokens;
    const uint32_t *of;
} tfm_side_words;

tfm_status tfm_aligner_create(tfm_aligner *a, tfm_workspace *workspace, const tfm_allocator *allocator,
                              tfm_error *error);
void tfm_aligner_free(tfm_aligner *a);

/* The first of the largest weights; cols when none is above 0. */
size_t tfm_alignment_best(const float *row, size_t cols);

#endif
