/* Errors, options, memory, arenas: what every other module may use. */
#ifndef TFM_BASE_H
#define TFM_BASE_H

#include "transformer.h"

#include <stdbool.h>
#include <string.h>

/* Records a failure and returns its status, so that callers write one line. */
tfm_status tfm_fail(tfm_error *error, tfm_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Reads a caller's options over the defaults already in dst. Shorter than dst: an older caller, the missing fields keep
 * their default. Longer: a newer caller, fine while the unknown tail is zero. min_size: the oldest struct of this kind.
 */
tfm_status tfm_options_read(void *dst, size_t dst_size, size_t min_size, const void *src, tfm_error *error);

/* The body of every _init function: copies defaults and struct_size, writes no byte past struct_size. */
void tfm_options_fill(void *dst, size_t struct_size, const void *defaults, size_t size);

/* Copies a result struct to a caller that may know fewer bytes of it. */
void tfm_result_write(void *dst, size_t dst_size, const void *src, size_t size);

/* The allocator to use: *allocator, or malloc's when it is NULL. */
tfm_allocator tfm_allocator_or_default(const tfm_allocator *allocator);

/* n * size zeroed bytes, or NULL when it overflows or there is no memory. tfm_free takes the same n * size. */
void *tfm_alloc(const tfm_allocator *a, size_t n, size_t size);
/* The same with any contents: for what is written before it is read, and large. */
void *tfm_alloc_unset(const tfm_allocator *a, size_t n, size_t size);
void  tfm_free(const tfm_allocator *a, void *ptr, size_t n, size_t size);

/* Grows *array (elements of size) to hold at least want; capacity doubles. The array is unchanged on failure. */
bool tfm_grow(const tfm_allocator *a, void *array, size_t *capacity, size_t want, size_t size);

/* A growing byte string; bad is sticky: append first, check once. */
typedef struct tfm_buffer {
    tfm_allocator allocator;
    char *data;
    size_t size, capacity;
    bool bad; /* an allocation failed */
} tfm_buffer;

void tfm_buffer_append(tfm_buffer *buffer, const void *data, size_t size);
/* The same for those that hand over text in pieces; 0, or -1 when an allocation failed. */
int tfm_buffer_take(const char *text, size_t size, void *buffer);
void tfm_buffer_free(tfm_buffer *buffer);

/* Checked product and sum: false when the result does not fit. */
static inline bool tfm_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tfm_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

/*
 * A block carved front to back. With base == NULL it only measures: the same plan runs twice, so that measure and
 * placement cannot disagree. Overflow is sticky: plan first, check once. Places are aligned to TFM_ALIGN bytes.
 */
typedef struct tfm_arena {
    unsigned char *base; /* NULL while measuring              */
    size_t used;         /* bytes, multiple of TFM_ALIGN      */
    size_t peak;         /* largest used so far               */
    size_t size;         /* bytes; ignored while measuring    */
    bool bad;            /* overflowed or out of room         */
} tfm_arena;

enum { TFM_ALIGN = 64 }; /* bytes: one cache line, one AVX-512 register */

/* Room for n elements of size bytes. While measuring the pointer is not NULL, tells its offset, and must not be
 * followed. */
void *tfm_arena_take(tfm_arena *arena, size_t n, size_t size);
float *tfm_arena_floats(tfm_arena *arena, size_t rows, size_t cols);

/* An arena's memory, owned: grows to what a plan measured, and is kept for the next one. */
typedef struct tfm_block {
    void *memory;
    size_t size;
} tfm_block;

/* Makes arena a placing one of at least size bytes; contents are lost when it grows. false: no memory, the block is
 * empty. */
bool tfm_block_reserve(tfm_block *block, const tfm_allocator *a, size_t size, tfm_arena *arena);
void tfm_block_free(tfm_block *block, const tfm_allocator *a);
/* The same in large pages, where the system has them on request, from 4 MB on: for what is all used, and read again and
 * again. The block may be larger by one page. why not below: what is left of the last page would weigh more than the
 * faults saved. */
bool tfm_block_reserve_large(tfm_block *block, const tfm_allocator *a, size_t size, tfm_arena *arena);

#endif
