/* What the fuzzers share: input as a file without a disk, and what every result must obey. */
#ifndef TFM_FUZZ_H
#define TFM_FUZZ_H

#include "transformer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* libFuzzer calls it with what it makes up, replay.c with the files that are kept. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_REQUIRE(condition)                                                     \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#define FUZZ_TEXT(literal)          \
    {                               \
        literal, sizeof literal - 1 \
    }

/* ---------------------------------------------------------------------------------------------------- files ---- */

/* Input as a file in memory: its path, good until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

/* ------------------------------------------------------------------------------------------------- results ---- */

/* A failure tells of itself, a success leaves the error alone. */
static inline void fuzz_check_error(tfm_status status, const tfm_error *error)
{
    FUZZ_REQUIRE(status <= TFM_OK && status >= TFM_E_CANCELLED);
    FUZZ_REQUIRE(status == TFM_OK || (error->status == status && *error->message));
    FUZZ_REQUIRE(memchr(error->message, '\0', sizeof error->message) && !strchr(error->message, '\n'));
}

/* The next piece of the input up to a line break, which is taken too. */
static inline tfm_text fuzz_line(tfm_text *rest)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    const tfm_text line = {rest->data, end ? (size_t)(end - rest->data) : rest->size};

    rest->data += line.size + (end != NULL);
    rest->size -= line.size + (end != NULL);
    return line;
}

#endif
