/* Memory that a loader takes, with that of the JSON parser, and the limit of it. */
#ifndef TFM_FUZZ_MEMORY_H
#define TFM_FUZZ_MEMORY_H

#include "fuzz.h"

#include <jansson.h>

enum { FUZZ_HEADER = 16 }; /* bytes before each block: its size, with malloc's alignment kept */

static struct {
    size_t live, peak; /* bytes */
} fuzz_memory;

static inline void *fuzz_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    unsigned char *block = ptr ? (unsigned char *)ptr - FUZZ_HEADER : NULL;
    size_t held = 0;

    (void)user;
    if (block) memcpy(&held, block, sizeof held);
    FUZZ_REQUIRE(held == old_size);
    if (!new_size) {
        free(block);
        fuzz_memory.live -= held;
        return NULL;
    }
    block = new_size > SIZE_MAX - FUZZ_HEADER ? NULL : realloc(block, FUZZ_HEADER + new_size);
    if (!block) return NULL;
    memcpy(block, &new_size, sizeof new_size);
    fuzz_memory.live += new_size - held;
    if (fuzz_memory.live > fuzz_memory.peak) fuzz_memory.peak = fuzz_memory.live;
    return block + FUZZ_HEADER;
}

static inline void *fuzz_json_malloc(size_t size)
{
    return fuzz_resize(NULL, NULL, 0, size ? size : 1);
}

static inline void fuzz_json_free(void *ptr)
{
    size_t held;

    if (!ptr) return;
    memcpy(&held, (unsigned char *)ptr - FUZZ_HEADER, sizeof held);
    fuzz_resize(NULL, ptr, held, 0);
}

/* From here on all that is allocated counts. */
static inline tfm_allocator fuzz_allocator(void)
{
    json_set_alloc_funcs(fuzz_json_malloc, fuzz_json_free);
    fuzz_memory.peak = fuzz_memory.live = 0;
    return (tfm_allocator){fuzz_resize, NULL};
}

/* What a loader may take for a file of this size; a trainer has scratch of its own. See doc/reliability.md. */
static inline void fuzz_check_peak(size_t file_size, size_t own)
{
    FUZZ_REQUIRE(fuzz_memory.peak <= 32 * file_size + (1 << 20) + own);
}

#endif
