/* Reads and prints profiles. */
#include "profile.h"
#include "console.h"

#include <stdio.h>
#include <stdlib.h>

void profile_read(profile *p, const tfm_trainer *trainer)
{
    p->size = tfm_trainer_profile_count(trainer);
    memory_grow(&p->entries, &p->capacity, p->size, sizeof *p->entries);
    for (size_t i = 0; i < p->size; i++) tfm_trainer_profile_at(&p->entries[i], sizeof *p->entries, trainer, i, NULL);
}

void profile_read_decoder(profile *p, const tfm_decoder *decoder)
{
    p->size = tfm_decoder_profile_count(decoder);
    memory_grow(&p->entries, &p->capacity, p->size, sizeof *p->entries);
    for (size_t i = 0; i < p->size; i++) tfm_decoder_profile_at(&p->entries[i], sizeof *p->entries, decoder, i, NULL);
}

void profile_subtract(profile *p, const profile *before)
{
    for (size_t i = 0; i < p->size; i++) {
        p->entries[i].calls -= before->entries[i].calls;
        p->entries[i].seconds -= before->entries[i].seconds;
        p->entries[i].flops -= before->entries[i].flops;
    }
}

static double sum_seconds(const profile *p, uint32_t kind)
{
    double sum = 0;
    for (size_t i = 0; i < p->size; i++)
        if (p->entries[i].kind == kind) sum += p->entries[i].seconds;
    return sum;
}

static void print_entry(const tfm_profile_entry *e, double all)
{
    char rate[32] = "";
    if (e->calls == 0) return;
    if (e->flops > 0 && e->seconds > 0) snprintf(rate, sizeof rate, "%9.1f", 1e-9 * e->flops / e->seconds);
    console_print("  %-22s %10llu %10.3f %7.1f %%%s", e->name, (unsigned long long)e->calls, e->seconds,
                  all > 0 ? 100 * e->seconds / all : 0, rate);
}

static void print_kind(const profile *p, uint32_t kind, const char *title)
{
    const double all = sum_seconds(p, kind);
    console_print("%-24s %10s %10s %9s%s", title, "calls", "seconds", "share",
                  kind == TFM_PROFILE_OPERATION ? "  GFLOP/s" : "");
    for (size_t i = 0; i < p->size; i++)
        if (p->entries[i].kind == kind) print_entry(&p->entries[i], all);
    console_print("  %-22s %10s %10.3f", "all", "", all);
}

void profile_print(const profile *p)
{
    print_kind(p, TFM_PROFILE_OPERATION, "Operations");
    print_kind(p, TFM_PROFILE_PHASE, "Phases");
}

void profile_free(profile *p)
{
    free(p->entries);
    *p = (profile){0};
}
