/* Counts words, characters and tokens; the order in which they come leaves no trace in what is sorted. */
#include "text/counts.h"

#include "text/words.h"

#include <stdlib.h>

void tfm_counts_init(tfm_counts *counts, const tfm_allocator *allocator)
{
    *counts = (tfm_counts){0};
    tfm_vocab_init(&counts->strings, allocator);
}

void tfm_counts_free(tfm_counts *counts)
{
    tfm_free(&counts->strings.allocator, counts->counts, counts->capacity, sizeof *counts->counts);
    tfm_vocab_free(&counts->strings);
    counts->counts = NULL;
    counts->capacity = 0;
}

bool tfm_counts_add(tfm_counts *counts, tfm_text head, tfm_text tail, uint64_t times)
{
    const uint32_t before = counts->strings.n;
    uint32_t id;

    if (!tfm_grow(&counts->strings.allocator, &counts->counts, &counts->capacity, (size_t)before + 1,
                  sizeof *counts->counts) ||
        !tfm_vocab_add(&counts->strings, head, tail, &id))
        return false;
    counts->counts[id] = (id == before ? 0 : counts->counts[id]) + times;
    return true;
}

static int by_count(const void *a, const void *b)
{
    const tfm_counted *x = a, *y = b;

    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return tfm_text_compare(x->text, y->text);
}

tfm_counted *tfm_counts_sorted(const tfm_counts *counts)
{
    const uint32_t n = counts->strings.n;
    tfm_counted *sorted = tfm_alloc(&counts->strings.allocator, n, sizeof *sorted);

    if (!sorted) return NULL;
    for (uint32_t i = 0; i < n; i++) sorted[i] = (tfm_counted){tfm_vocab_text(&counts->strings, i), counts->counts[i]};
    qsort(sorted, n, sizeof *sorted, by_count);
    return sorted;
}

static bool add_words(tfm_counts *counts, uint32_t kind, tfm_text line)
{
    tfm_words words;
    tfm_text word;

    tfm_words_begin(&words, kind, line);
    while (tfm_words_next(&words, &word))
        if (!tfm_counts_add(counts, word, (tfm_text){0}, 1)) return false;
    return true;
}

static bool add_repaired(tfm_counts *counts, uint32_t kind, tfm_text line)
{
    const size_t size = tfm_utf8_replace_invalid(line, NULL, 0);
    char *repaired = tfm_alloc(&counts->strings.allocator, size, 1);
    bool good = repaired != NULL;

    if (good) {
        tfm_utf8_replace_invalid(line, repaired, size);
        good = add_words(counts, kind, (tfm_text){repaired, size});
    }
    tfm_free(&counts->strings.allocator, repaired, size, 1);
    return good;
}

tfm_status tfm_counts_add_lines(tfm_counts *words, uint32_t kind, const tfm_text *lines, size_t n_lines, bool repair,
                                tfm_error *error)
{
    for (size_t i = 0; i < n_lines; i++) {
        if (!lines[i].data && lines[i].size)
            return tfm_fail(error, TFM_E_INVALID, "line %zu has %zu bytes at NULL", i + 1, lines[i].size);
        const size_t invalid = tfm_utf8_find_invalid(lines[i]);
        if (invalid != SIZE_MAX && !repair)
            return tfm_fail(error, TFM_E_FORMAT, "line %zu is not UTF-8 at byte %zu: repair it or have it replaced",
                            i + 1, invalid);
        if (invalid == SIZE_MAX ? !add_words(words, kind, lines[i]) : !add_repaired(words, kind, lines[i]))
            return tfm_fail(error, TFM_E_NOMEM, "no memory for the words of %zu lines", n_lines);
    }
    return TFM_OK;
}
