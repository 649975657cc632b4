/* The only code that touches the file system: reading by mapping, writing by temporary name and rename. */
#undef _GNU_SOURCE /* strerror_r of POSIX */
#include "base/file.h"

#include "base/temporaries.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SHOWN = 120, MAX_ATTEMPTS = 100 };

/* The end of a path too long for a message, which says more than its beginning. */
static const char *shown(const char *path)
{
    const size_t size = strlen(path);

    return size > PATH_SHOWN ? path + size - PATH_SHOWN : path;
}

static tfm_status fail_errno(tfm_error *error, const char *verb, const char *path, int code)
{
    char reason[100];

    if (strerror_r(code, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", code);
    return tfm_fail(error, TFM_E_IO, "cannot %s %s: %s", verb, shown(path), reason);
}

static tfm_status map_open_file(tfm_mapping *out, int fd, const char *path, tfm_error *error)
{
    struct stat info;

    if (fstat(fd, &info) != 0) return fail_errno(error, "read", path, errno);
    if (S_ISDIR(info.st_mode)) return fail_errno(error, "read", path, EISDIR);
    if (!S_ISREG(info.st_mode)) return tfm_fail(error, TFM_E_IO, "cannot read %s: not a regular file", shown(path));
    if ((uintmax_t)info.st_size > SIZE_MAX) return fail_errno(error, "map", path, EFBIG);
    if (info.st_size == 0) { /* mmap refuses to map nothing */
        *out = (tfm_mapping){(const unsigned char *)"", 0};
        return TFM_OK;
    }
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) return fail_errno(error, "map", path, errno);
    *out = (tfm_mapping){data, (size_t)info.st_size};
    return TFM_OK;
}

tfm_status tfm_file_map(tfm_mapping *out, const char *path, tfm_error *error)
{
    int fd;

    *out = (tfm_mapping){0};
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not block */
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return fail_errno(error, "open", path, errno);
    const tfm_status status = map_open_file(out, fd, path, error);
    close(fd);
    return status;
}

void tfm_file_unmap(tfm_mapping *mapping)
{
    if (mapping->size) munmap((void *)(uintptr_t)mapping->data, mapping->size);
    *mapping = (tfm_mapping){0};
}

/* ASCII without case, after any white space. */
static bool begins_with(tfm_text bytes, const char *prefix)
{
    size_t at = 0;

    while (at < bytes.size && strchr(" \t\r\n", bytes.data[at]) && bytes.data[at]) at++;
    for (; *prefix; prefix++, at++)
        if (at >= bytes.size || (bytes.data[at] | 0x20) != (*prefix | 0x20)) return false;
    return true;
}

const char *tfm_file_guess(tfm_text bytes)
{
    static const struct {
        const char *prefix, *hint;
    } kinds[] = {
        {"version https://git-lfs", "it is a Git LFS pointer: fetch the file itself with git lfs pull"},
        {"<!DOCTYPE html", "it is a web page: check the address it was downloaded from"},
        {"<html", "it is a web page: check the address it was downloaded from"},
        {"PK\3\4", "it is a ZIP archive, perhaps of NumPy or PyTorch"},
        {"\x1f\x8b", "it is a gzip file: unpack it first"},
    };

    if (!bytes.size) return "it is empty";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins_with(bytes, kinds[i].prefix)) return kinds[i].hint;
    return NULL;
}

enum { WORTH_RELEASING = 16 << 20 }; /* bytes */

void tfm_file_release(const tfm_mapping *mapping, const void *from, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)mapping->data, at = (uintptr_t)from;

    if (mapping->size < WORTH_RELEASING || at < base || at - base >= mapping->size) return;
    if (size > mapping->size - (at - base)) size = mapping->size - (at - base);
    const uintptr_t begin = at / page * page; /* whole pages: what they share with others is read again too */
    madvise((void *)begin, at + size - begin, MADV_DONTNEED);
}

/* Puts what a symbolic link names in the place of its path, until that is none. Returns 0 or the errno. */
static int follow(char path[PATH_MAX])
{
    enum { MOST_LINKS = 40 };
    char to[PATH_MAX];
    struct stat info;

    for (int links = 0; lstat(path, &info) == 0 && S_ISLNK(info.st_mode); links++) {
        if (links == MOST_LINKS) return ELOOP;
        const ssize_t n = readlink(path, to, sizeof to);
        if (n < 0) return errno;
        char *slash = strrchr(path, '/'), *at = *to == '/' || !slash ? path : slash + 1; /* within the link's folder */
        if ((size_t)n >= (size_t)(path + PATH_MAX - at)) return ENAMETOOLONG;
        memcpy(at, to, (size_t)n);
        at[n] = '\0';
    }
    return 0;
}

/* The regular file, present or not, that path names once symbolic links are followed; *mode: its permissions, -1 when
 * it is not there. */
static tfm_status resolve(char target[PATH_MAX], int *mode, const char *path, tfm_error *error)
{
    struct stat info;

    *mode = -1;
    if (!*path) return tfm_fail(error, TFM_E_IO, "cannot write a file with an empty name");
    const bool present = stat(path, &info) == 0;
    if (strlen(path) >= PATH_MAX || (!present && errno == ENAMETOOLONG))
        return fail_errno(error, "write", path, ENAMETOOLONG);
    if (present && !S_ISREG(info.st_mode))
        return tfm_fail(error, TFM_E_IO, "cannot write %s: %s", shown(path),
                        S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file");
    strcpy(target, path);
    const int code = follow(target);
    if (code) return fail_errno(error, "follow the link", path, code);
    if (present && stat(target, &info) != 0) return fail_errno(error, "follow the link", path, errno);
    if (present) *mode = info.st_mode & 0777;
    return TFM_OK;
}

static void close_writer(tfm_writer *writer)
{
    if (writer->fd >= 0) close(writer->fd);
    tfm_free(&writer->allocator, writer->path, writer->path_size, 1);
    tfm_free(&writer->allocator, writer->temporary, writer->temporary_size, 1);
    writer->path = writer->temporary = NULL;
    writer->fd = -1;
}

void tfm_writer_abort(tfm_writer *writer)
{
    if (!writer->path) return;
    unlink(writer->temporary);
    close_writer(writer);
}

static tfm_status give_up(tfm_writer *writer, tfm_error *error, int code)
{
    const tfm_status status = fail_errno(error, "write", writer->path, code);

    tfm_writer_abort(writer);
    return status;
}

/* false: a sweep took the file for an abandoned one before it was locked. Where there are no locks there is no sweep.
 */
static bool hold(int fd)
{
    struct stat info;

    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

/* The clock and the process make a name that is hardly ever taken; O_EXCL makes sure. mode: the permissions, -1: those
 * of a new file. */
static int create_temporary(tfm_writer *writer, int mode)
{
    const char *slash = strrchr(writer->path, '/'), *name = slash ? slash + 1 : writer->path;
    const int stem = (int)((size_t)(name - writer->path) + tfm_temporary_stem(name));
    struct timespec now = {0};

    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(writer->temporary, writer->temporary_size, "%.*s" TFM_TEMPORARY "%lx-%08lx", stem, writer->path,
                 (unsigned long)getpid(), ((unsigned long)now.tv_nsec ^ (unsigned long)(uintptr_t)writer) + attempt);
        const int fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode < 0 ? 0666 : mode);
        if (fd >= 0 && mode >= 0) fchmod(fd, (mode_t)mode); /* what the umask took; never more than the old file had */
        if (fd >= 0 && hold(fd)) return fd;
        if (fd >= 0) close(fd);
        else if (errno != EEXIST && errno != EINTR) break;
    }
    return -1;
}

tfm_status tfm_writer_open(tfm_writer *writer, const char *path, const tfm_allocator *allocator, tfm_error *error)
{
    enum { SUFFIX = sizeof TFM_TEMPORARY + 2 * (2 * sizeof(long) + 1) };
    char target[PATH_MAX];
    int mode;

    *writer = (tfm_writer){.allocator = tfm_allocator_or_default(allocator), .fd = -1};
    const tfm_status status = resolve(target, &mode, path, error);
    if (status != TFM_OK) return status;
    writer->path_size = strlen(target) + 1;
    writer->temporary_size = writer->path_size + SUFFIX;
    writer->path = tfm_alloc(&writer->allocator, writer->path_size, 1);
    writer->temporary = tfm_alloc(&writer->allocator, writer->temporary_size, 1);
    if (!writer->path || !writer->temporary) {
        close_writer(writer);
        return tfm_fail(error, TFM_E_NOMEM, "no memory to write %s", shown(path));
    }
    memcpy(writer->path, target, writer->path_size);
    tfm_temporaries_sweep(writer->path, NULL);
    writer->fd = create_temporary(writer, mode);
    if (writer->fd >= 0) return TFM_OK;
    fail_errno(error, "create", path, errno);
    close_writer(writer);
    return TFM_E_IO;
}

tfm_status tfm_writer_write(tfm_writer *writer, const void *data, size_t size, tfm_error *error)
{
    const size_t most = (size_t)1 << 30; /* some systems refuse more in one call */

    for (const char *from = data; size;) {
        const ssize_t n = write(writer->fd, from, size < most ? size : most);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return give_up(writer, error, errno);
        from += n;
        size -= (size_t)n;
    }
    return TFM_OK;
}

static int sync_file(int fd)
{
    int failed;

    do failed = fsync(fd);
    while (failed && errno == EINTR);
    return failed && errno != EINVAL && errno != ENOTSUP ? errno : 0; /* some file systems cannot */
}

/* Makes the rename last. A directory that may be written but not read cannot be synced. */
static int sync_directory(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash) slash[slash == path] = '\0';
    const int fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return 0;
    const int code = sync_file(fd);
    close(fd);
    return code;
}

tfm_status tfm_writer_commit(tfm_writer *writer, tfm_error *error)
{
    tfm_status status = TFM_OK;
    int code = sync_file(writer->fd);

    if (close(writer->fd) != 0 && errno != EINTR && !code) code = errno; /* network file systems report here */
    writer->fd = -1;
    if (!code && rename(writer->temporary, writer->path) != 0) code = errno;
    if (code) return give_up(writer, error, code);
    code = sync_directory(writer->temporary);
    if (code) status = fail_errno(error, "sync the directory of", writer->path, code);
    close_writer(writer);
    return status;
}

tfm_status tfm_file_write(const char *path, const void *data, size_t size, tfm_error *error)
{
    tfm_writer writer;
    tfm_status status = tfm_writer_open(&writer, path, NULL, error);

    if (status == TFM_OK) status = tfm_writer_write(&writer, data, size, error);
    if (status == TFM_OK) status = tfm_writer_commit(&writer, error);
    return status;
}
