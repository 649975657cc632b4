/* How much memory this process may still take. */
#ifndef CLI_FREE_MEMORY_H
#define CLI_FREE_MEMORY_H

#include <stdint.h>

/* Bytes: what the machine has available, or the limit of a control group around this process if that is lower. 0:
 * unknown. */
uint64_t free_memory(void);

#endif
