/* How often each of many strings was seen. */
#ifndef TFM_COUNTS_H
#define TFM_COUNTS_H

#include "text/vocab.h"

typedef struct tfm_counts {
    tfm_vocab strings;
    uint64_t *counts; /* [strings.n] */
    size_t capacity;
} tfm_counts;

typedef struct tfm_counted {
    tfm_text text;
    uint64_t count;
} tfm_counted;

void tfm_counts_init(tfm_counts *counts, const tfm_allocator *allocator);
void tfm_counts_free(tfm_counts *counts);
/* Sees the string of two parts so many times more. false: no memory. */
bool tfm_counts_add(tfm_counts *counts, tfm_text head, tfm_text tail, uint64_t times);
/* All strings, most frequent first, ties in byte order: [strings.n], NULL without memory; give it to tfm_free(). */
tfm_counted *tfm_counts_sorted(const tfm_counts *counts);

/* Sees the words of lines. TFM_E_FORMAT names the line that is invalid UTF-8, unless it is to be repaired. */
tfm_status tfm_counts_add_lines(tfm_counts *words, uint32_t kind, const tfm_text *lines, size_t n_lines, bool repair,
                                tfm_error *error);

#endif
