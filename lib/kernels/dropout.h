/*
 * Masks of dropout, drawn by Philox4x32 (Salmon et al. 2011) in the layout of tfm_dropout (kernels.h), which is made so
 * that no lane has to move. Seven rounds, the fewest that pass BigCrush there: a mask needs no more, and each round
 * costs.
 */
#ifndef TFM_DROPOUT_H
#define TFM_DROPOUT_H

#include "kernels/vector.h"

enum { TFM_MASK = 64 }; /* elements of a group */

/* Four blocks side by side: each word is the low half of its lane, the high half holds anything. */
typedef uint64_t w4 __attribute__((vector_size(32), may_alias));

typedef struct philox4 {
    w4 c0, c1, c2, c3;
} philox4;

enum { PHILOX_ROUNDS = 7 };

/* What all groups of a row share. why: the keys are computed once, and loaded where they are used. */
typedef struct mask_source {
    uint64_t k0[PHILOX_ROUNDS], k1[PHILOX_ROUNDS];
    uint32_t row, site, batch;
    int32_t limit; /* numbers above it are kept */
    float scale;
} mask_source;

INLINE void mask_begin(mask_source *m, const tfm_dropout *d, uint32_t row)
{
    *m = (mask_source){.row = d->first_row + row,
                       .site = d->site,
                       .batch = d->batch,
                       .limit = ((int32_t)d->threshold - 32768) * 65536 - 1,
                       .scale = d->scale};
    for (uint32_t i = 0; i < PHILOX_ROUNDS; i++) {
        m->k0[i] = d->key[0] + i * 0x9E3779B9u;
        m->k1[i] = d->key[1] + i * 0xBB67AE85u;
    }
}

/* Products of the low halves. why: gcc does not find the instruction in the plain form. */
INLINE void philox_multiply(w4 *product, const w4 *a, uint32_t b)
{
#if defined __AVX2__
    *product = (w4)_mm256_mul_epu32((__m256i)*a, _mm256_set1_epi64x((long long)b));
#else
    *product = (*a & 0xFFFFFFFFu) * b;
#endif
}

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u

/* Two rounds on {block + lane, row, site, batch}: but for the number of the block all is the same in every lane. */
INLINE void philox_begin(philox4 *s, const mask_source *m, uint32_t block)
{
    const uint64_t p1 = (uint64_t)PHILOX_M1 * m->site;
    const uint64_t p0 = (uint64_t)PHILOX_M0 * (uint32_t)((p1 >> 32) ^ m->row ^ m->k0[0]);
    const w4 blocks = (w4){0, 1, 2, 3} + block;
    w4 c2;

    philox_multiply(&s->c3, &blocks, PHILOX_M0);
    c2 = (s->c3 >> 32) ^ (m->batch ^ m->k1[0]);
    philox_multiply(&s->c1, &c2, PHILOX_M1);
    s->c0 = (s->c1 >> 32) ^ ((uint32_t)p1 ^ m->k0[1]);
    s->c2 = s->c3 ^ ((p0 >> 32) ^ m->k1[1]);
    s->c3 = (w4){0} + (uint32_t)p0;
}

INLINE void philox_round(philox4 *s, uint64_t k0, uint64_t k1)
{
    w4 p0, p1;

    philox_multiply(&p0, &s->c0, PHILOX_M0);
    philox_multiply(&p1, &s->c2, PHILOX_M1);
    s->c0 = (p1 >> 32) ^ s->c1 ^ k0;
    s->c1 = p1;
    s->c2 = (p0 >> 32) ^ s->c3 ^ k1;
    s->c3 = p0;
}

/* The last round leaves its words in both halves of the lanes: words[0] = 1 and 0, words[1] = 3 and 2. */
INLINE void philox_end(i8 words[2], const philox4 *s, uint64_t k0, uint64_t k1)
{
    w4 p0, p1;

    philox_multiply(&p0, &s->c0, PHILOX_M0);
    philox_multiply(&p1, &s->c2, PHILOX_M1);
    words[0] = (i8)(p1 ^ ((s->c1 ^ k0) << 32));
    words[1] = (i8)(p0 ^ ((s->c3 ^ k1) << 32));
}

/* The multipliers of a group, 0 or scale. */
INLINE void mask_group(v8 mask[TFM_MASK / 8], const mask_source *m, uint32_t group)
{
    const i8 scale = (i8)splat(m->scale);
    philox4 s[2]; /* blocks 0 .. 3 and 4 .. 7: each waits for its own products only */
    i8 words[2];

    for (uint32_t i = 0; i < 2; i++) philox_begin(&s[i], m, group * 8 + i * 4);
    for (int round = 2; round < PHILOX_ROUNDS - 1; round++)
        for (int i = 0; i < 2; i++) philox_round(&s[i], m->k0[round], m->k1[round]);
    for (int i = 0; i < 2; i++) {
        philox_end(words, &s[i], m->k0[PHILOX_ROUNDS - 1], m->k1[PHILOX_ROUNDS - 1]);
        for (int p = 0; p < 2; p++) {
            mask[4 * p + i] = (v8)(((words[p] << 16) > m->limit) & scale);
            mask[4 * p + 2 + i] = (v8)((words[p] > m->limit) & scale);
        }
    }
}

#endif
