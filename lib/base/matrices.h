/* Many small matrices, by number, in memory that is kept from one set of them to the next. */
#ifndef TFM_MATRICES_H
#define TFM_MATRICES_H

#include "base/base.h"

typedef struct tfm_matrix_place {
    size_t first; /* in data */
    size_t rows, cols;
} tfm_matrix_place;

/* Zero it but for the allocator. */
typedef struct tfm_matrices {
    tfm_allocator allocator;
    tfm_matrix_place *places; /* [n] */
    size_t n, place_capacity;
    float *data;
    size_t size, capacity;
} tfm_matrices;

/* Forgets all, and makes room for n, which are empty. false: no memory, and there are none. */
bool tfm_matrices_begin(tfm_matrices *m, size_t n);
/* Room for number i, which is not set; those before may move. false: no memory. */
bool tfm_matrices_add(tfm_matrices *m, size_t i, size_t rows, size_t cols);
/* Lent until the next is added; NULL, and nothing else is written, out of range and when it is empty. */
float *tfm_matrices_get(const tfm_matrices *m, size_t i, size_t *rows, size_t *cols);
void tfm_matrices_free(tfm_matrices *m);

#endif
