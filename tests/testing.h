/* What several tests share: a failing allocator, temporary folders, test data, lines of a file, and main(). */
#ifndef TFM_TESTING_H
#define TFM_TESTING_H

#include "transformer.h"

#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { TESTING_PATH = 1024, TESTING_SKIPPED = 77 };

#define ck_assert_status(call, wanted, error)                                                                          \
    do {                                                                                                               \
        const int got_ = (call);                                                                                       \
        ck_assert_msg(got_ == (wanted), "%s is %d (%s), want %d", #call, got_, got_ ? (error).message : "", (wanted)); \
    } while (0)

#define ck_assert_ok(call, error) ck_assert_status(call, TFM_OK, error)

/* -------------------------------------------------------------------------------------------------- memory ---- */

/* An allocator that counts, fails the allocation number fail_at (from 0; SIZE_MAX: none), and insists on true old
 * sizes. */
typedef struct faulty {
    size_t fail_at;
    size_t calls; /* allocations and resizes asked for */
    size_t live;  /* bytes held now                    */
    size_t peak;  /* most bytes held at once           */
} faulty;

enum { FAULTY_HEADER = 16 }; /* bytes before each block: its size, with malloc's alignment kept */

static inline void *faulty_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    faulty *f = user;
    unsigned char *block = ptr ? (unsigned char *)ptr - FAULTY_HEADER : NULL;
    size_t held = 0;

    if (block) memcpy(&held, block, sizeof held);
    ck_assert_msg(held == old_size, "old_size is %zu, the block has %zu bytes", old_size, held);
    if (!new_size) {
        free(block);
        f->live -= held;
        return NULL;
    }
    if (f->calls++ == f->fail_at || new_size > SIZE_MAX - FAULTY_HEADER) return NULL;
    block = realloc(block, FAULTY_HEADER + new_size);
    if (!block) return NULL;
    memcpy(block, &new_size, sizeof new_size);
    f->live += new_size - held;
    if (f->live > f->peak) f->peak = f->live;
    return block + FAULTY_HEADER;
}

static inline tfm_allocator faulty_allocator(faulty *f)
{
    return (tfm_allocator){faulty_resize, f};
}

static inline tfm_load_options load_with(const tfm_allocator *a)
{
    tfm_load_options o;

    tfm_load_options_init(&o, sizeof o);
    o.allocator = a;
    return o;
}

/* --------------------------------------------------------------------------------------------------- files ---- */

/* Makes an empty folder of its own and writes its path. */
static inline const char *temp_make(char path[static TESTING_PATH])
{
    const char *parent = getenv("TMPDIR");

    snprintf(path, TESTING_PATH, "%s/tfm-test-XXXXXX", parent && *parent ? parent : "/tmp");
    ck_assert_msg(mkdtemp(path) != NULL, "no temporary folder %s", path);
    return path;
}

/* Deletes a file or a folder with all that is in it; symbolic links are not followed. */
static inline void temp_remove(const char *path)
{
    struct stat status;
    char inner[4096];

    if (lstat(path, &status)) return;
    if (!S_ISDIR(status.st_mode)) {
        unlink(path);
        return;
    }
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner) temp_remove(inner);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

/* folder/name in out, which is returned. */
static inline const char *path_join(char out[static TESTING_PATH], const char *folder, const char *name)
{
    ck_assert_int_lt(snprintf(out, TESTING_PATH, "%s/%s", folder, name), TESTING_PATH);
    return out;
}

/* The path of a file of the test data. */
static inline const char *data_path(char out[static TESTING_PATH], const char *name)
{
    const char *folder = getenv("TFM_TEST_DATA");

    if (!folder || !*folder) folder = "../shared/data";
    const int n = snprintf(out, TESTING_PATH, "%s%s%s/%s", *folder == '/' ? "" : TFM_SOURCE_ROOT,
                           *folder == '/' ? "" : "/", folder, name);
    if (n < 0 || n >= TESTING_PATH) abort();
    return out;
}

static inline bool data_present(const char *name)
{
    char path[TESTING_PATH];

    return access(data_path(path, name), R_OK) == 0;
}

/* A whole file, gunzipped when it is gzip; bytes ends with a NUL that size does not count. Free bytes. */
static inline char *file_read(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb");
    size_t capacity = 1 << 16, used = 0;
    char *bytes = malloc(capacity + 1);

    ck_assert_msg(file != NULL, "cannot open %s", path);
    for (int n; bytes && (n = gzread(file, bytes + used, (unsigned)(capacity - used))) != 0;) {
        ck_assert_msg(n > 0, "cannot read %s", path);
        used += (size_t)n;
        if (used == capacity) bytes = realloc(bytes, (capacity *= 2) + 1);
    }
    ck_assert_ptr_nonnull(bytes);
    gzclose(file);
    bytes[used] = '\0';
    *size = used;
    return bytes;
}

static inline void file_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* The lines of a file; only '\n' ends one, which is not part of it. */
/* Bytes of mapped files in this process's memory. */
static inline size_t resident_file_bytes(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    size_t kib = 0;

    ck_assert_ptr_nonnull(status);
    while (fgets(line, sizeof line, status)) sscanf(line, "RssFile: %zu", &kib);
    fclose(status);
    return 1024 * kib;
}

typedef struct lines {
    tfm_text *line;
    size_t count;
    char *bytes;
} lines;

static inline lines lines_split(char *bytes, size_t size)
{
    lines l = {.bytes = bytes};
    size_t n = 1;

    for (size_t i = 0; i < size; i++) n += bytes[i] == '\n';
    l.line = calloc(n, sizeof *l.line);
    ck_assert_ptr_nonnull(l.line);
    for (size_t start = 0; start < size; l.count++) {
        const char *end = memchr(bytes + start, '\n', size - start);
        const size_t length = end ? (size_t)(end - bytes) - start : size - start;
        l.line[l.count] = (tfm_text){bytes + start, length};
        start += length + 1;
    }
    return l;
}

static inline lines lines_read(const char *path)
{
    size_t size;
    char *bytes = file_read(path, &size);

    return lines_split(bytes, size);
}

static inline void lines_free(lines *l)
{
    free(l->line);
    free(l->bytes);
    *l = (lines){0};
}

/* ---------------------------------------------------------------------------------------------------- main ---- */

/* Runs a suite; a single test may take ten minutes unless it or CK_DEFAULT_TIMEOUT says otherwise. */
static inline int testing_run(Suite *(*suite)(void))
{
    setenv("CK_DEFAULT_TIMEOUT", "600", 0);
    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define TESTING_MAIN(suite)        \
    int main(void)                 \
    {                              \
        return testing_run(suite); \
    }

/* needed: a file or folder of the test data; the program is skipped without it. */
#define TESTING_DATA_MAIN(suite, needed)                     \
    int main(void)                                           \
    {                                                        \
        if (data_present(needed)) return testing_run(suite); \
        puts("skipped: no test data " needed);               \
        return TESTING_SKIPPED;                              \
    }

/* Ids that a search never produces (tfm_choice_add). */
static const int32_t never_special[2] = {TFM_PAD, TFM_BOS}, never_nothing[2] = {-1, -1};

#endif
