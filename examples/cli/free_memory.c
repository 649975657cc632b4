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
static uint64_t limit_of(const char *path)
{
    FILE *file = fopen(path, "r");
    unsigned long long bytes;

    if (!file) return UINT64_MAX;
    const int n = fscanf(file, "%llu", &bytes);
    fclose(file);
    return n == 1 ? bytes : UINT64_MAX;
}

/* The lowest limit of a group and of those around it; root is where groups are mounted, group begins with '/'. */
static uint64_t lowest_limit(const char *root, char *group, const char *name)
{
    uint64_t lowest = UINT64_MAX;
    char path[1024];

    for (char *end = group + strcspn(group, "\n"); end; end = strrchr(group, '/')) {
        *end = 0;
        snprintf(path, sizeof path, "%s%s/%s", root, group, name);
        const uint64_t limit = limit_of(path);
        if (limit < lowest) lowest = limit;
    }
    return lowest;
}

/* Lines are "0::GROUP" for control groups of version 2, and "N:...memory...:GROUP" for those of version 1. */
static uint64_t group_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    uint64_t lowest = UINT64_MAX;
    char line[512];

    if (!file) return lowest;
    while (fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        const bool unified = strcmp(controllers, ":") == 0;
        if (!unified && !strstr(controllers, "memory")) continue;
        const uint64_t limit = unified ? lowest_limit("/sys/fs/cgroup", group, "memory.max")
                                       : lowest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        if (limit < lowest) lowest = limit;
    }
    fclose(file);
    return lowest;
}

uint64_t free_memory(void)
{
    const uint64_t machine = available(), group = group_limit();
    return machine < group ? machine : group;
}
