/* Writes an .npz as Marian does: stored entries, each a NumPy array, then the directory. Equal input gives equal bytes.
 */
#include "format/tensor_file.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

enum { HEADER = 128, DATE = 0x21 }; /* bytes before the numbers of an array; 1980-01-01, the first day there is */

typedef struct writing {
    tfm_writer writer;
    tfm_buffer directory;
    size_t at; /* bytes written */
    tfm_error *error;
    tfm_status status;
} writing;

static void emit(writing *w, const void *data, size_t size)
{
    if (w->status == TFM_OK) w->status = tfm_writer_write(&w->writer, data, size, w->error);
    w->at += size;
}

static size_t put(unsigned char *to, uint32_t x, size_t size)
{
    for (size_t i = 0; i < size; i++) to[i] = (unsigned char)(x >> 8 * i);
    return size;
}

/* What a local header and an entry of the directory have in common. */
static size_t put_common(unsigned char *to, uint32_t crc, uint32_t size, size_t name)
{
    unsigned char *at = to;

    at += put(at, 20, 2); /* version 2.0 */
    at += put(at, 0, 2);
    at += put(at, 0, 2); /* stored */
    at += put(at, 0, 2);
    at += put(at, DATE, 2);
    at += put(at, crc, 4);
    at += put(at, size, 4);
    at += put(at, size, 4);
    at += put(at, (uint32_t)name, 2);
    at += put(at, 0, 2); /* no extra field */
    return (size_t)(at - to);
}

/* The array's header, padded so that its numbers are aligned within it. */
static void array_header(char out[static HEADER], const tfm_tensor *t)
{
    char shape[64];

    if (t->rank == 2) snprintf(shape, sizeof shape, "%" PRIu64 ", %" PRIu64, t->shape[0], t->shape[1]);
    else snprintf(shape, sizeof shape, "%" PRIu64 ",", t->shape[0]);
    memset(out, ' ', HEADER);
    memcpy(out, "\x93NUMPY\1\0", 8);
    put((unsigned char *)out + 8, HEADER - 10, 2);
    const int n = snprintf(out + 10, HEADER - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                           t->dtype == TFM_F32 ? "<f4" : "|i1", shape);
    out[10 + n] = ' ';
    out[HEADER - 1] = '\n';
}

static void write_array(writing *w, const tfm_tensor *t)
{
    unsigned char local[32] = "PK\3\4", central[48] = "PK\1\2\24";
    char header[HEADER], name[256];
    const int length = snprintf(name, sizeof name, "%s.npy", t->name);
    const size_t start = w->at;

    array_header(header, t);
    const uLong crc = crc32_z(crc32_z(0, (const Bytef *)header, HEADER), t->data, t->bytes);
    const size_t n = put_common(local + 4, (uint32_t)crc, (uint32_t)(HEADER + t->bytes), (size_t)length);
    memcpy(central + 6, local + 4, n);
    put(central + 42, (uint32_t)start, 4);
    emit(w, local, 4 + n);
    emit(w, name, (size_t)length);
    emit(w, header, HEADER);
    emit(w, t->data, t->bytes);
    tfm_buffer_append(&w->directory, central, 46);
    tfm_buffer_append(&w->directory, name, (size_t)length);
}

static void write_directory(writing *w, size_t n)
{
    unsigned char end[22] = "PK\5\6";

    put(end + 8, (uint32_t)n, 2);
    put(end + 10, (uint32_t)n, 2);
    put(end + 12, (uint32_t)w->directory.size, 4);
    put(end + 16, (uint32_t)w->at, 4);
    if (w->directory.bad && w->status == TFM_OK)
        w->status = tfm_fail(w->error, TFM_E_NOMEM, "directory of %zu arrays: no memory", n);
    if (w->directory.size) emit(w, w->directory.data, w->directory.size);
    emit(w, end, sizeof end);
}

tfm_status tfm_npz_save(const char *path, const tfm_tensor *tensors, size_t n, const tfm_allocator *allocator,
                        tfm_error *error)
{
    writing w = {.directory.allocator = *allocator, .error = error};
    uint64_t size = 0;

    for (size_t i = 0; i < n; i++) size += tensors[i].bytes + 2 * (HEADER + 256);
    if (size > UINT32_MAX || n > UINT16_MAX - 1)
        return tfm_fail(error, TFM_E_UNSUPPORTED,
                        "%.120s: an archive of %" PRIu64 " bytes, more than 4 GB, is not supported", path, size);
    w.status = tfm_writer_open(&w.writer, path, allocator, error);
    for (size_t i = 0; i < n && w.status == TFM_OK; i++) write_array(&w, &tensors[i]);
    write_directory(&w, n);
    if (w.status == TFM_OK) w.status = tfm_writer_commit(&w.writer, error);
    else tfm_writer_abort(&w.writer);
    tfm_buffer_free(&w.directory);
    return w.status;
}
