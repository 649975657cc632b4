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

uint32_t tfm_random_bits(uint64_t seed, uint64_t stream, uint64_t i)
{
    const uint32_t counter[4] = {(uint32_t)(i >> 2), (uint32_t)(i >> 34), (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];

    tfm_philox(out, counter, key);
    return out[i & 3];
}

float tfm_random_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return (float)(tfm_random_bits(seed, stream, i) >> 8) * 0x1p-24f;
}

float tfm_random_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    const double u = ((double)tfm_random_bits(seed, stream, 2 * i) + 0.5) * 0x1p-32; /* never 0 */
    const double v = (double)tfm_random_bits(seed, stream, 2 * i + 1) * 0x1p-32;

    return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

void tfm_random_shuffle(uint32_t *items, size_t n, uint64_t seed, uint64_t stream)
{
    for (size_t i = n; i > 1; i--) {
        const uint64_t bits = (uint64_t)tfm_random_bits(seed, stream, 2 * i) << 32 | tfm_random_bits(seed, stream, 2 * i + 1);
        const size_t j = (size_t)(bits % i); /* bias below i / 2^64 */
        const uint32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}
