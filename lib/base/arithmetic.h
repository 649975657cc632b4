/* The arithmetic that results are promised for, whatever the host has set for its own. */
#ifndef TFM_ARITHMETIC_H
#define TFM_ARITHMETIC_H

#include <fenv.h>

/* Rounds to nearest, keeps subnormal numbers, traps nothing. Returns what the thread had before. */
static inline fenv_t tfm_arithmetic_own(void)
{
    fenv_t host;

    fegetenv(&host);
    fesetenv(FE_DFL_ENV);
    return host;
}

static inline void tfm_arithmetic_restore(const fenv_t *host)
{
    fesetenv(host);
}

/* From here to the end of the block, however it is left. Exceptions that were raised meanwhile leave no flags. */
#define TFM_OWN_ARITHMETIC \
    __attribute__((cleanup(tfm_arithmetic_restore), unused)) const fenv_t host_arithmetic = tfm_arithmetic_own()

#endif
