/* Errors, options, memory, arenas. */
#include "base/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A hostile name neither breaks the line nor the terminal: control characters and separators of lines are blank. cut:
 * the message may end within a character, which goes. */
static void make_plain(char *message, bool cut)
{
    tfm_text rest = tfm_text_of(message);

    while (rest.size) {
        uint32_t c = ' ';
        const int n = tfm_utf8_read(rest, &c);
        const size_t size = (size_t)(n < 0 ? -n : n);
        char *at = message + (rest.data - message);
        if (c < ' ' || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029) memset(at, ' ', size);
        if (cut && n < 0 && size == rest.size) *at = '\0';
        rest = tfm_text_from(rest, size);
    }
}

tfm_status tfm_fail(tfm_error *error, tfm_status status, const char *format, ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        error->status = status;
        const int size = vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
        make_plain(error->message, size >= (int)sizeof error->message);
    }
    return status;
}

tfm_status tfm_options_read(void *dst, size_t dst_size, size_t min_size, const void *src, tfm_error *error)
{
    const unsigned char *bytes = src;
    const uint32_t own = (uint32_t)dst_size;
    uint32_t size = 0;

    if (!src) return tfm_fail(error, TFM_E_INVALID, "options is NULL");
    memcpy(&size, src, sizeof size);
    if (size < min_size)
        return tfm_fail(error, TFM_E_INVALID, "options.struct_size is %u, less than %zu: call the _init function first",
                        size, min_size);
    for (size_t i = dst_size; i < size; i++)
        if (bytes[i])
            return tfm_fail(error, TFM_E_UNSUPPORTED, "option at byte %zu is newer than this library", i);
    memcpy(dst, src, size < dst_size ? size : dst_size);
    memcpy(dst, &own, sizeof own);
    return TFM_OK;
}

void tfm_options_fill(void *dst, size_t struct_size, const void *defaults, size_t size)
{
    const uint32_t known = (uint32_t)struct_size;

    if (!dst || struct_size < sizeof known) return;
    memset(dst, 0, struct_size);
    memcpy(dst, defaults, struct_size < size ? struct_size : size);
    memcpy(dst, &known, sizeof known);
}

void tfm_result_write(void *dst, size_t dst_size, const void *src, size_t size)
{
    if (!dst) return;
    memset(dst, 0, dst_size);
    memcpy(dst, src, dst_size < size ? dst_size : size);
}

static void *default_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user, (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

tfm_allocator tfm_allocator_or_default(const tfm_allocator *allocator)
{
    return allocator ? *allocator : (tfm_allocator){default_resize, NULL};
}

void *tfm_alloc_unset(const tfm_allocator *a, size_t n, size_t size)
{
    size_t bytes;

    if (!tfm_mul(n, size, &bytes)) return NULL;
    return a->resize(a->user, NULL, 0, bytes ? bytes : 1);
}

void *tfm_alloc(const tfm_allocator *a, size_t n, size_t size)
{
    void *p = tfm_alloc_unset(a, n, size);

    if (p) memset(p, 0, n * size);
    return p;
}

void tfm_free(const tfm_allocator *a, void *ptr, size_t n, size_t size)
{
    const size_t bytes = n * size;

    if (ptr) a->resize(a->user, ptr, bytes ? bytes : 1, 0);
}

bool tfm_grow(const tfm_allocator *a, void *array, size_t *capacity, size_t want, size_t size)
{
    size_t next = *capacity ? *capacity : 16, bytes;
    void *old, *grown;

    if (want <= *capacity) return true;
    while (next < want)
        if (!tfm_mul(next, 2, &next)) return false;
    if (!tfm_mul(next, size, &bytes)) return false;
    memcpy(&old, array, sizeof old);
    grown = a->resize(a->user, old, *capacity * size, bytes);
    if (!grown) return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = next;
    return true;
}

void tfm_buffer_append(tfm_buffer *buffer, const void *data, size_t size)
{
    size_t want;

    if (buffer->bad || !size) return;
    if (!tfm_add(buffer->size, size, &want) ||
        !tfm_grow(&buffer->allocator, &buffer->data, &buffer->capacity, want, 1)) {
        buffer->bad = true;
        return;
    }
    memcpy(buffer->data + buffer->size, data, size);
    buffer->size = want;
}

int tfm_buffer_take(const char *text, size_t size, void *buffer)
{
    tfm_buffer *b = buffer;

    tfm_buffer_append(b, text, size);
    return b->bad ? -1 : 0;
}

void tfm_buffer_free(tfm_buffer *buffer)
{
    tfm_free(&buffer->allocator, buffer->data, buffer->capacity, 1);
    buffer->data = NULL;
    buffer->size = buffer->capacity = 0;
    buffer->bad = false;
}

void *tfm_arena_take(tfm_arena *arena, size_t n, size_t size)
{
    const size_t mask = TFM_ALIGN - 1;
    size_t bytes, end;

    if (!tfm_mul(n, size, &bytes) || !tfm_add(bytes, mask, &bytes) || !tfm_add(arena->used, bytes & ~mask, &end) ||
        (arena->base && end > arena->size)) {
        arena->bad = true;
        return NULL;
    }
    const uintptr_t start = arena->base ? (uintptr_t)arena->base : (uintptr_t)TFM_ALIGN;
    void *place = (void *)(start + arena->used);
    arena->used = end;
    if (end > arena->peak) arena->peak = end;
    return place;
}

float *tfm_arena_floats(tfm_arena *arena, size_t rows, size_t cols)
{
    size_t n;

    if (!tfm_mul(rows, cols, &n)) {
        arena->bad = true;
        return NULL;
    }
    return tfm_arena_take(arena, n, sizeof(float));
}

bool tfm_block_reserve(tfm_block *block, const tfm_allocator *a, size_t size, tfm_arena *arena)
{
    size_t padded;

    if (!tfm_add(size, TFM_ALIGN, &padded)) return false;
    if (padded > block->size) {
        tfm_block_free(block, a); /* first: old and new together may be more than there is */
        void *memory = a->resize(a->user, NULL, 0, padded);
        if (!memory) return false;
        *block = (tfm_block){memory, padded};
    }
    const size_t skew = (size_t)(-(uintptr_t)block->memory) % TFM_ALIGN;
    *arena = (tfm_arena){.base = (unsigned char *)block->memory + skew, .size = block->size - skew};
    return true;
}

void tfm_block_free(tfm_block *block, const tfm_allocator *a)
{
    tfm_free(a, block->memory, block->size, 1);
    *block = (tfm_block){0};
}

bool tfm_block_reserve_large(tfm_block *block, const tfm_allocator *a, size_t size, tfm_arena *arena)
{
    const size_t large = (size_t)1 << 21;
    size_t padded;

    if (size < 2 * large) return tfm_block_reserve(block, a, size, arena);
    if (!tfm_add(size, large, &padded) || !tfm_block_reserve(block, a, padded, arena)) return false;
    const size_t skew = (size_t)(-(uintptr_t)arena->base) % large;
    arena->base += skew;
    arena->size -= skew;
#ifdef MADV_HUGEPAGE
    madvise(arena->base, arena->size / large * large, MADV_HUGEPAGE);
#endif
    return true;
}
