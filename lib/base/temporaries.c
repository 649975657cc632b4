/* A process that is killed while it writes leaves its temporary file. The next who writes the same file deletes it: a
 * lock, which ends with its process, tells it from a file in the making. */
#include "base/temporaries.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

size_t tfm_temporary_stem(const char *name)
{
    const size_t size = strlen(name), longest = 255 - (sizeof TFM_TEMPORARY + 4 * sizeof(long));
    size_t n = size < longest ? size : longest;

    while (n < size && (name[n] & 0xC0) == 0x80) n--; /* in the midst of a character */
    return n;
}

/* The rest of text after the first size bytes of prefix, which they must be, or NULL. */
static const char *after_part(const char *text, const char *prefix, size_t size)
{
    return text && strncmp(text, prefix, size) == 0 ? text + size : NULL;
}

static const char *after(const char *text, const char *prefix)
{
    return after_part(text, prefix, strlen(prefix));
}

/* The rest of text after one or more of the digits, or NULL. */
static const char *after_digits(const char *text, const char *digits)
{
    const size_t size = text ? strspn(text, digits) : 0;

    return size ? text + size : NULL;
}

static bool is_temporary(const char *name, const char *stem, const char *ending)
{
    static const char hexadecimal[] = "0123456789abcdef";
    const char *rest = after_part(name, stem, ending ? strlen(stem) : tfm_temporary_stem(stem));

    if (ending) rest = after(after_digits(rest, "0123456789"), ending);
    rest = after_digits(after(rest, TFM_TEMPORARY), hexadecimal);
    rest = after_digits(after(rest, "-"), hexadecimal);
    return rest && !*rest;
}

static void remove_abandoned(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(folder, name, 0);
    close(fd);
}

static DIR *open_folder(const char *path, size_t size)
{
    char name[PATH_MAX];

    if (size >= sizeof name) return NULL;
    memcpy(name, path, size);
    name[size] = '\0';
    return opendir(size ? name : ".");
}

void tfm_temporaries_sweep(const char *stem, const char *ending)
{
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    DIR *folder = open_folder(stem, (size_t)(name - stem));

    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (is_temporary(entry->d_name, name, ending)) remove_abandoned(dirfd(folder), entry->d_name);
    closedir(folder);
}
