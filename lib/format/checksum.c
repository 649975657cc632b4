/* Eight lanes of 64 bits that never wait for each other, each taking every eighth word. */
#include "format/checksum.h"

/*
 * One step of a lane. For a given word it maps lanes one to one, and for a given lane words: a difference once there is
 * never lost, so that no change within one lane, a byte or a word for one, can go unseen.
 */
static uint64_t mix(uint64_t lane, uint64_t word)
{
    const uint64_t product = (lane ^ word) * 0x9e3779b97f4a7c15u;

    return product << 29 | product >> 35;
}

static void add_blocks(uint64_t lanes[static TFM_CHECKSUM_LANES], const unsigned char *data, size_t n)
{
    uint64_t own[TFM_CHECKSUM_LANES], words[TFM_CHECKSUM_LANES]; /* own: kept in registers */

    memcpy(own, lanes, sizeof own);
    for (; n; n--, data += sizeof words) {
        memcpy(words, data, sizeof words);
        for (size_t i = 0; i < TFM_CHECKSUM_LANES; i++) own[i] = mix(own[i], words[i]);
    }
    memcpy(lanes, own, sizeof own);
}

void tfm_checksum_begin(tfm_checksum *sum)
{
    *sum = (tfm_checksum){.lanes = {1, 2, 3, 4, 5, 6, 7, 8}};
}

void tfm_checksum_add(tfm_checksum *sum, const void *data, size_t size)
{
    const size_t begun = sum->size % TFM_CHECKSUM_BLOCK, wanted = TFM_CHECKSUM_BLOCK - begun;
    const unsigned char *at = data;

    sum->size += size;
    if (begun && size >= wanted) {
        memcpy(sum->rest + begun, at, wanted);
        add_blocks(sum->lanes, sum->rest, 1);
        at += wanted, size -= wanted;
    } else if (begun) {
        memcpy(sum->rest + begun, at, size);
        return;
    }
    add_blocks(sum->lanes, at, size / TFM_CHECKSUM_BLOCK);
    memcpy(sum->rest, at + size / TFM_CHECKSUM_BLOCK * TFM_CHECKSUM_BLOCK, size % TFM_CHECKSUM_BLOCK);
}

uint64_t tfm_checksum_end(tfm_checksum *sum)
{
    const size_t rest = sum->size % TFM_CHECKSUM_BLOCK;
    uint64_t result = sum->size;

    memset(sum->rest + rest, 0, TFM_CHECKSUM_BLOCK - rest);
    if (rest) add_blocks(sum->lanes, sum->rest, 1);
    for (size_t i = 0; i < TFM_CHECKSUM_LANES; i++) result = mix(result, sum->lanes[i]);
    return mix(result, result >> 32);
}
