/* Philox4x32-10 and what is drawn from it outside the kernels. */
#include "base/rng.h"

#include <math.h>

void tfm_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];

    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Words 4 * block .. 4 * block + 3 of stream (seed, stream). */
static void random_block(uint32_t out[4], uint64_t seed, uint64_t stream, uint64_t block)
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    tfm_philox(out, counter, key);
}

static float uniform(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

/* Two normal numbers from two words (Box and Muller 1958). */
static void normals(float out[2], const uint32_t bits[2])
{
    const double u = ((double)bits[0] + 0.5) * 0x1p-32; /* never 0 */
    const double radius = sqrt(-2.0 * log(u)), angle = 6.283185307179586 * 0x1p-32 * (double)bits[1];

    out[0] = (float)(radius * cos(angle));
    out[1] = (float)(radius * sin(angle));
}

uint32_t tfm_random_bits(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint32_t out[4];

    random_block(out, seed, stream, i >> 2);
    return out[i & 3];
}

float tfm_random_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return uniform(tfm_random_bits(seed, stream, i));
}

float tfm_random_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint32_t out[4];
    float pair[2];

    random_block(out, seed, stream, i >> 2);
    normals(pair, out + (i & 2));
    return pair[i & 1];
}

void tfm_random_uniforms(float *to, size_t n, uint64_t seed, uint64_t stream)
{
    uint32_t out[4];

    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0) random_block(out, seed, stream, i / 4);
        to[i] = uniform(out[i % 4]);
    }
}

void tfm_random_normals(float *to, size_t n, uint64_t seed, uint64_t stream)
{
    uint32_t out[4];
    float pair[2];

    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0) random_block(out, seed, stream, i / 4);
        if (i % 2 == 0) normals(pair, out + i % 4);
        to[i] = pair[i % 2];
    }
}

void tfm_random_shuffle(uint32_t *items, size_t n, uint64_t seed, uint64_t stream)
{
    for (size_t i = n; i > 1; i--) {
        uint32_t out[4];
        random_block(out, seed, stream, i / 2);
        const uint64_t bits = (uint64_t)out[i % 2 * 2] << 32 | out[i % 2 * 2 + 1]; /* words 2 i and 2 i + 1 */
        const size_t j = (size_t)(bits % i); /* bias below i / 2^64 */
        const uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
