/* How much memory this process may still take, as Linux tells it; elsewhere nothing is known. */
#include "free_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* MemAvailable of /proc/meminfo, which counts in units of 1,024 bytes. */
static uint64_t available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    unsigned long long units = 0;
    char line[256];

    if (!file) return 0;
    while (!units && fgets(line, sizeof line, file)) sscanf(line, "MemAvailable: %llu kB", &units);
    fclose(file);
    return units * 1024;
}

/* The number in a file of one line; "max" and whatever else is none: UINT64_MAX. */
static uint64_t number_of(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned long long bytes;

    if (!file) return UINT64_MAX;
    const int n = fscanf(file, "%llu", &bytes);
    fclose(file);
    return n == 1 ? bytes : UINT64_MAX;
}

/* The number behind a name in a file of such lines, or 0. */
static uint64_t number_behind(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    unsigned long long number;
    uint64_t found = 0;
    char word[64];

    if (!file) return 0;
    while (fscanf(file, "%63s %llu", word, &number) == 2)
        if (strcmp(word, name) == 0) found = number;
    fclose(file);
    return found;
}

/* The files of a control group: its limit, what it uses, and what of that is cached files that leave when asked. */
typedef struct group_files {
    const char *root, *limit, *used, *cached;
} group_files;

/* What a group leaves below its limit. */
static uint64_t left_in(const group_files *f, const char *group)
{
    char path[1024];

    snprintf(path, sizeof path, "%s%s/%s", f->root, group, f->limit);
    const uint64_t limit = number_of(path);
    if (limit == UINT64_MAX) return limit;
    snprintf(path, sizeof path, "%s%s/%s", f->root, group, f->used);
    const uint64_t all = number_of(path), used = all == UINT64_MAX ? 0 : all;
    snprintf(path, sizeof path, "%s%s/memory.stat", f->root, group);
    const uint64_t cached = number_behind(path, f->cached), held = used > cached ? used - cached : 0;
    return limit > held + 2 ? limit - held : 2; /* half of it is still a limit */
}

/* The least of a group and of those around it; root is where groups are mounted, group begins with '/'. */
static uint64_t least_left(const group_files *f, char *group)
{
    uint64_t least = UINT64_MAX;

    for (char *end = group + strcspn(group, "\n"); end; end = strrchr(group, '/')) {
        *end = 0;
        const uint64_t left = left_in(f, group);
        if (left < least) least = left;
    }
    return least;
}

/* Lines are "0::GROUP" for control groups of version 2, and "N:...memory...:GROUP" for those of version 1. */
static uint64_t left_in_groups(void)
{
    static const group_files unified_files = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
                             old_files = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                          "total_inactive_file"};
    FILE *file = fopen("/proc/self/cgroup", "r");
    uint64_t least = UINT64_MAX;
    char line[512];

    if (!file) return least;
    while (fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        const bool unified = strcmp(controllers, ":") == 0;
        if (!unified && !strstr(controllers, "memory")) continue;
        const uint64_t left = least_left(unified ? &unified_files : &old_files, group);
        if (left < least) least = left;
    }
    fclose(file);
    return least;
}

uint64_t free_memory(void)
{
    const uint64_t machine = available(), group = left_in_groups();
    return machine < group ? machine : group;
}
