/* The store of many small matrices. */
#include "base/matrices.h"

bool tfm_matrices_begin(tfm_matrices *m, size_t n)
{
    m->n = m->size = 0;
    if (!tfm_grow(&m->allocator, &m->places, &m->place_capacity, n, sizeof *m->places)) return false;
    for (size_t i = 0; i < n; i++) m->places[i] = (tfm_matrix_place){0, 0, 0};
    m->n = n;
    return true;
}

bool tfm_matrices_add(tfm_matrices *m, size_t i, size_t rows, size_t cols)
{
    size_t cells, size;

    if (!tfm_mul(rows, cols, &cells) || !tfm_add(m->size, cells, &size) ||
        !tfm_grow(&m->allocator, &m->data, &m->capacity, size, sizeof *m->data))
        return false;
    m->places[i] = (tfm_matrix_place){m->size, rows, cols};
    m->size = size;
    return true;
}

float *tfm_matrices_get(const tfm_matrices *m, size_t i, size_t *rows, size_t *cols)
{
    if (i >= m->n || !m->places[i].rows || !m->places[i].cols) return NULL;
    *rows = m->places[i].rows;
    *cols = m->places[i].cols;
    return m->data + m->places[i].first;
}

void tfm_matrices_free(tfm_matrices *m)
{
    tfm_free(&m->allocator, m->places, m->place_capacity, sizeof *m->places);
    tfm_free(&m->allocator, m->data, m->capacity, sizeof *m->data);
}
