/* The checksum of a file's data: as fast as memory is read. Finds accidents, not forgeries. doc/format.md has the
 * formula. */
#ifndef TFM_CHECKSUM_H
#define TFM_CHECKSUM_H

#include "base/base.h"

enum { TFM_CHECKSUM_LANES = 8, TFM_CHECKSUM_BLOCK = 8 * TFM_CHECKSUM_LANES /* bytes */ };

typedef struct tfm_checksum {
    uint64_t lanes[TFM_CHECKSUM_LANES];
    uint64_t size;                          /* bytes so far                         */
    unsigned char rest[TFM_CHECKSUM_BLOCK]; /* size % TFM_CHECKSUM_BLOCK bytes of it */
} tfm_checksum;

void tfm_checksum_begin(tfm_checksum *sum);
/* However data is cut into pieces, the result is the same. */
void tfm_checksum_add(tfm_checksum *sum, const void *data, size_t size);
uint64_t tfm_checksum_end(tfm_checksum *sum);

#endif
