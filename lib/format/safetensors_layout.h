/* What reading and writing a safetensors file must agree on. */
#ifndef TFM_SAFETENSORS_LAYOUT_H
#define TFM_SAFETENSORS_LAYOUT_H

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are mapped as they lie in the file, which is little-endian"
#endif

enum {
    PREFIX = 8,             /* bytes: the header's length          */
    MAX_HEADER = 100000000, /* bytes: what other readers accept    */
    MAX_NAME = 255,         /* bytes                               */
    DIGITS = 8              /* of a CRC-32                         */
};

#define METADATA "__metadata__"
#define CHECKSUM "checksum"
#define HEADER_CHECKSUM "header_checksum"
#define CRC "crc32:"
#define LANES "lanes64:"
#define ZEROS "00000000"
/* How a header begins that has a checksum of itself; the digits follow. */
#define SEALED "{\"" METADATA "\":{\"" HEADER_CHECKSUM "\":\"" CRC

static inline void format_crc(char out[sizeof ZEROS], uLong crc)
{
    snprintf(out, sizeof ZEROS, "%08lx", crc & 0xffffffffUL);
}

enum { LANES_SIZE = sizeof LANES + 16 }; /* bytes of a checksum of the data, with its terminator */

static inline void format_checksum(char out[LANES_SIZE], uint64_t checksum)
{
    snprintf(out, LANES_SIZE, LANES "%016" PRIx64, checksum);
}

/* Of a sealed header, with its own digits read as zeros. */
static inline uLong header_crc(const char *text, size_t size)
{
    const size_t before = sizeof SEALED - 1, after = before + DIGITS;
    uLong crc = crc32_z(0, (const Bytef *)text, before);

    crc = crc32_z(crc, (const Bytef *)ZEROS, DIGITS);
    return crc32_z(crc, (const Bytef *)text + after, size - after);
}

#endif
