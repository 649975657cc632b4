/* Preloaded into a program: one of its calls on files under a folder fails, writes less than asked, or ends the
 * process. FAIL_FOLDER  what the path of the file must contain FAIL_CALL    open (for writing), write, fsync, close or
 * rename FAIL_NUMBER  which of these calls, from 0 FAIL_WITH    an errno, "short" (half of a write is done), "full"
 * (half, and no more), or "kill" (SIGKILL, half written) */
#undef _FILE_OFFSET_BITS /* open and open64 are defined here by their own names */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_full;

static bool under_folder(const char *path)
{
    const char *folder = getenv("FAIL_FOLDER");

    return folder && path && strstr(path, folder);
}

static bool is_ours(int fd)
{
    char link[64], path[4096];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return under_folder(path);
}

/* How the call fails, or NULL. */
static const char *trouble(const char *call)
{
    static long calls;
    const char *wanted = getenv("FAIL_CALL"), *number = getenv("FAIL_NUMBER");

    if (!wanted || !number || strcmp(wanted, call) != 0 || calls++ != strtol(number, NULL, 10)) return NULL;
    return getenv("FAIL_WITH");
}

static int fail(const char *how)
{
    if (!strcmp(how, "kill")) raise(SIGKILL);
    errno = atoi(how);
    return -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t);
    const char *how = is_ours(fd) ? trouble("write") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (is_full && is_ours(fd)) return fail("28"); /* ENOSPC */
    if (!how) return real(fd, bytes, size);
    if (*how >= '0' && *how <= '9') return fail(how);
    is_full = !strcmp(how, "full");
    const ssize_t written = real(fd, bytes, (size + 1) / 2);
    return strcmp(how, "kill") ? written : fail(how);
}

int fsync(int fd)
{
    int (*real)(int);
    const char *how = is_ours(fd) ? trouble("fsync") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    return how ? fail(how) : real(fd);
}

int close(int fd)
{
    int (*real)(int);
    const int flags = fcntl(fd, F_GETFL);
    const bool written = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    const char *how = written && is_ours(fd) ? trouble("close") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "close");
    const int result = real(fd);
    return how ? fail(how) : result;
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    const char *how = under_folder(to) ? trouble("rename") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "rename");
    return how ? fail(how) : real(from, to);
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...);
    const char *how = (flags & O_CREAT) && under_folder(path) ? trouble("open") : NULL;

    *(void **)&real = dlsym(RTLD_NEXT, name);
    return how ? fail(how) : real(path, flags, mode);
}

#define DEFINE_OPEN(name)                                               \
    int name(const char *path, int flags, ...)                          \
    {                                                                   \
        va_list rest;                                                   \
        va_start(rest, flags);                                          \
        const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                   \
        return open_as(#name, path, flags, mode);                       \
    }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
