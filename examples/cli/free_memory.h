/* How much memory this process may still take. */
#ifndef CLI_FREE_MEMORY_H
#define CLI_FREE_MEMORY_H

#include <stdint.h>

/* Bytes: what the machine has available, or what a control group around this process leaves below its limit if that is
 * less. 0: unknown. */
uint64_t free_memory(void);

#endif
