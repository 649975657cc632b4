/* Random numbers: known answers, moments, and that each depends on its place alone. */
#include "base/rng.h"
#include "oracle.h"

START_TEST(philox_gives_the_known_answers)
{
    static const struct {
        uint32_t counter[4], key[2], out[4], out7[4]; /* after 10 and 7 rounds */
    } known[] = {
        {{0, 0, 0, 0},
         {0, 0},
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
         {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}},
        {{~0u, ~0u, ~0u, ~0u},
         {~0u, ~0u},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
         {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
         {0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a}},
    };
    uint32_t out[4], oracle[4];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tfm_philox(out, known[i].counter, known[i].key);
        ck_assert_mem_eq(out, known[i].out, sizeof out);
        memcpy(oracle, known[i].counter, sizeof oracle);
        oracle_philox(oracle, known[i].key[0], known[i].key[1], 10);
        ck_assert_mem_eq(oracle, known[i].out, sizeof oracle);
        memcpy(oracle, known[i].counter, sizeof oracle);
        oracle_philox(oracle, known[i].key[0], known[i].key[1], 7);
        ck_assert_mem_eq(oracle, known[i].out7, sizeof oracle);
    }
}
END_TEST

START_TEST(bits_are_words_of_a_counter)
{
    const uint64_t seed = UINT64_C(0x0123456789abcdef), stream = UINT64_C(0xfedcba9876543210);
    static const uint64_t places[] = {0,         1, 2, 3, 4, 7, 1000003, UINT64_C(0x3ffffffff), UINT64_C(0x400000000),
                                      UINT64_MAX};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const uint64_t block = places[i] / 4;
        uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
        oracle_philox(c, (uint32_t)seed, (uint32_t)(seed >> 32), 10);
        ck_assert_uint_eq(tfm_random_bits(seed, stream, places[i]), c[places[i] % 4]);
    }
}
END_TEST

START_TEST(arrays_hold_the_same_numbers)
{
    enum { MOST = 23 };
    float u[MOST + 1], z[MOST + 1];

    for (size_t n = 0; n <= MOST; n++) {
        u[n] = z[n] = 7.0f;
        tfm_random_uniforms(u, n, 3, 5);
        tfm_random_normals(z, n, 3, 5);
        must(u[n] == 7.0f && z[n] == 7.0f);
        for (size_t i = 0; i < n; i++) must(u[i] == tfm_random_uniform(3, 5, i) && z[i] == tfm_random_normal(3, 5, i));
        for (size_t i = 0; i < n; i++) { /* a pair from two words */
            const double radius = sqrt(-2.0 * log(((double)tfm_random_bits(3, 5, i / 2 * 2) + 0.5) * 0x1p-32));
            const double angle = 6.283185307179586 * ((double)tfm_random_bits(3, 5, i / 2 * 2 + 1) * 0x1p-32);
            must(z[i] == (float)(radius * (i % 2 ? sin(angle) : cos(angle))));
        }
    }
}
END_TEST

/* Six standard errors: a right generator fails once in 10^9 seeds, and the seed is fixed. */
START_TEST(uniform_numbers_are_uniform)
{
    enum { N = 100000, BINS = 16 };
    double sum = 0.0, squares = 0.0, lag = 0.0, last = 0.5;
    size_t bins[BINS] = {0};

    for (uint64_t i = 0; i < N; i++) {
        const double u = (double)tfm_random_uniform(3, 5, i);
        must(u >= 0.0 && u < 1.0);
        sum += u - 0.5;
        squares += (u - 0.5) * (u - 0.5);
        lag += (u - 0.5) * (last - 0.5);
        last = u;
        bins[(size_t)(u * BINS)]++;
    }
    must_le(fabs(sum / N), 6.0 * sqrt(1.0 / 12.0 / N));
    must_le(fabs(squares / N - 1.0 / 12.0), 6.0 * sqrt(1.0 / 180.0 / N));
    must_le(fabs(lag / N), 6.0 / 12.0 / sqrt(N));
    for (size_t b = 0; b < BINS; b++) must_le(fabs((double)bins[b] - (double)N / BINS), 6.0 * sqrt((double)N / BINS));
}
END_TEST

START_TEST(normal_numbers_are_normal)
{
    enum { N = 100000 };
    double moment[5] = {0};
    size_t inside = 0;

    for (uint64_t i = 0; i < N; i++) {
        const double x = (double)tfm_random_normal(3, 5, i);
        must(isfinite(x));
        for (int p = 1; p < 5; p++) moment[p] += pow(x, p) / N;
        inside += fabs(x) < 1.0;
    }
    must_le(fabs(moment[1]), 6.0 / sqrt(N));
    must_le(fabs(moment[2] - 1.0), 6.0 * sqrt(2.0 / N));
    must_le(fabs(moment[3]), 6.0 * sqrt(15.0 / N));
    must_le(fabs(moment[4] - 3.0), 6.0 * sqrt(96.0 / N));
    must_le(fabs((double)inside / N - 0.6826894921), 6.0 * 0.4655 / sqrt(N));
}
END_TEST

START_TEST(seeds_and_streams_differ)
{
    size_t equal = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        const uint32_t bits = tfm_random_bits(1, 1, i);
        equal += bits == tfm_random_bits(2, 1, i);
        equal += bits == tfm_random_bits(1, 2, i);
        equal += bits == tfm_random_bits(UINT64_C(1) << 32 | 1, 1, i);
        equal += bits == tfm_random_bits(1, UINT64_C(1) << 32 | 1, i);
    }
    ck_assert_uint_le(equal, 1);
}
END_TEST

static void shuffle(uint32_t *items, size_t n, uint64_t seed, uint64_t stream)
{
    for (uint32_t i = 0; i < n; i++) items[i] = i;
    tfm_random_shuffle(items, n, seed, stream);
}

START_TEST(shuffle_is_a_permutation)
{
    uint32_t items[100], again[100], other[100];
    bool seen[100];

    for (size_t n = 0; n <= 100; n++) {
        memset(seen, 0, sizeof seen);
        shuffle(items, n, 9, n);
        for (size_t i = 0; i < n; i++) {
            must(items[i] < n);
            must(!seen[items[i]]);
            seen[items[i]] = true;
        }
    }
    shuffle(again, 100, 9, 100);
    ck_assert_mem_eq(items, again, sizeof items);
    shuffle(other, 100, 10, 100);
    ck_assert_mem_ne(items, other, sizeof items);
    shuffle(other, 100, 9, 101);
    ck_assert_mem_ne(items, other, sizeof items);
}
END_TEST

/* Each of the 24 orders of four things comes up equally often. */
START_TEST(shuffle_is_fair)
{
    enum { N = 24000 };
    size_t count[256] = {0}, orders = 0;
    uint32_t items[4];

    for (uint64_t seed = 0; seed < N; seed++) {
        shuffle(items, 4, seed, 0);
        count[items[0] << 6 | items[1] << 4 | items[2] << 2 | items[3]]++;
    }
    for (size_t i = 0; i < 256; i++) {
        if (!count[i]) continue;
        orders++;
        must_le(fabs((double)count[i] - 1000.0), 6.0 * sqrt(1000.0));
    }
    ck_assert_uint_eq(orders, 24);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("rng");
    TCase *c = tcase_create("rng");

    tcase_add_test(c, philox_gives_the_known_answers);
    tcase_add_test(c, bits_are_words_of_a_counter);
    tcase_add_test(c, arrays_hold_the_same_numbers);
    tcase_add_test(c, uniform_numbers_are_uniform);
    tcase_add_test(c, normal_numbers_are_normal);
    tcase_add_test(c, seeds_and_streams_differ);
    tcase_add_test(c, shuffle_is_a_permutation);
    tcase_add_test(c, shuffle_is_fair);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
