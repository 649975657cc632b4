/* Samples, and figures of this process. */
#include "bench.h"
#include "console.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void samples_add(samples *s, double value)
{
    memory_grow(&s->values, &s->capacity, s->size + 1, sizeof *s->values);
    s->values[s->size++] = value;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double samples_quantile(samples *s, double q)
{
    if (s->size == 0) return 0;
    qsort(s->values, s->size, sizeof *s->values, compare);
    const double rank = ceil(q * (double)s->size);
    return s->values[rank >= 1 ? (size_t)rank - 1 : 0];
}

void samples_free(samples *s)
{
    free(s->values);
    *s = (samples){0};
}

void fill_random(float *x, size_t n)
{
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

int32_t *fill_sentences(tfm_ids *sentences, size_t n, size_t length, uint32_t vocab, int32_t *at)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        sentences[i] = (tfm_ids){at, length};
        for (size_t j = 0; j < length; j++) {
            state = state * 1664525u + 1013904223u;
            *at++ = (int32_t)(TFM_UNK + 1 + (uint64_t)(state >> 8) * (vocab - TFM_UNK - 1) / (1 << 24));
        }
        at[-1] = TFM_EOS;
    }
    return at;
}

double process_peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024e-6;
}

uint64_t process_minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

/* Clock ticks between the start of the system and that of this process: the 22nd field of /proc/self/stat. */
static double start_ticks(void)
{
    char line[1024];
    FILE *f = fopen("/proc/self/stat", "r");
    if (!f) return NAN;
    line[fread(line, 1, sizeof line - 1, f)] = 0;
    fclose(f);
    const char *at = strrchr(line, ')'); /* ends the second field, a name that may hold anything */
    for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
    return at ? strtod(at, NULL) : NAN;
}

double process_age(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - start_ticks() / (double)sysconf(_SC_CLK_TCK);
}
