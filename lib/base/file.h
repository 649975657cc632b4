/* Files as the library needs them: whole ones mapped for reading, whole ones replaced atomically. */
#ifndef TFM_FILE_H
#define TFM_FILE_H

#include "base/base.h"

/* The bytes of a file, read-only. They stay valid when the file is renamed over or removed, but not when it is
 * truncated. */
typedef struct tfm_mapping {
    const unsigned char *data; /* page aligned; never NULL after success */
    size_t size;               /* 0 for an empty file                    */
} tfm_mapping;

/* Regular files only. returns TFM_OK or TFM_E_IO; *out is {NULL, 0} on failure. */
tfm_status tfm_file_map(tfm_mapping *out, const char *path, tfm_error *error);
void tfm_file_unmap(tfm_mapping *mapping); /* takes {NULL, 0} */
/* What a file that is not of the kind it should be most likely is: the end of a message; NULL: who knows. */
const char *tfm_file_guess(tfm_text bytes);
/* Bytes that are not needed at present leave memory, and are read again when they are touched. Bytes outside of the
 * mapping, of {NULL, 0} all, are left alone; so are files below 16 MiB, whose pages cost more to map twice than to
 * hold. */
void tfm_file_release(const tfm_mapping *mapping, const void *from, size_t size);

/*
 * A file in the making: its bytes go to a temporary name beside path, and commit puts them in place of the old file at
 * once. When any call fails the temporary file is gone, the old one untouched, and the writer closed.
 */
typedef struct tfm_writer {
    tfm_allocator allocator;
    char *path, *temporary;           /* NULL when closed */
    size_t path_size, temporary_size; /* bytes allocated  */
    int fd;
} tfm_writer;

/* Refuses to replace anything but a regular file; a symbolic link stays and its target is replaced. allocator NULL:
 * malloc. */
tfm_status tfm_writer_open(tfm_writer *writer, const char *path, const tfm_allocator *allocator, tfm_error *error);
tfm_status tfm_writer_write(tfm_writer *writer, const void *data, size_t size, tfm_error *error);
/* Syncs, renames, syncs the directory; closes the writer. */
tfm_status tfm_writer_commit(tfm_writer *writer, tfm_error *error);
void tfm_writer_abort(tfm_writer *writer); /* nothing when closed */

/* All of the above at once. */
tfm_status tfm_file_write(const char *path, const void *data, size_t size, tfm_error *error);

#endif
