/* Masks of dropout: those of the counter, scaled, different wherever they should be, on each twin. */
#include "kernels/kernels.h"
#include "oracle.h"

#define ULP 0x1p-24 /* half a unit in the last place, relative */

enum { MOST = 1 << 16 };

static float x[MOST], y[MOST], z[MOST];

static const tfm_kernels *twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

static tfm_dropout dropout_of(const oracle_mask *m)
{
    const uint32_t threshold = (uint32_t)(m->rate * 65536.0 + 0.5);

    return (tfm_dropout){{(uint32_t)m->seed, (uint32_t)(m->seed >> 32)},
                         m->batch,
                         m->site,
                         m->first_row,
                         threshold,
                         65536.0f / (65536.0f - (float)threshold)};
}

/* y = x + mask s; also with y in the place of either. */
static void check_add_dropped(const tfm_kernels *k, const oracle_mask *m)
{
    const tfm_dropout d = dropout_of(m);

    for (size_t n = 1; n < 300; n += n < 20 ? 1 : 31) {
        for (size_t i = 0; i < n; i++) z[i] = x[i] * 0.75f;
        y[n] = 5.0f;
        k->add_dropped(y, x, z, n, &d, 7);
        for (size_t i = 0; i < n; i++) {
            const double kept = (double)z[i] * oracle_keep(m, 7, i), want = (double)x[i] + kept;
            near_one((double)y[i], want, fabs((double)x[i]) + fabs(kept), 3 * ULP, "added", i);
        }
        must(y[n] == 5.0f);
        k->add_dropped(z, x, z, n, &d, 7);
        same_bits(z, y, n, "in the place of s");
    }
}

START_TEST(m28_masks_are_those_of_the_counter)
{
    static const uint64_t firsts[] = {0, 8, 64, 1000, (UINT64_C(1) << 35) - 64, UINT64_C(1) << 33};
    static const double rates[] = {0.1, 0.5, 0.9, 1.0 / 65536.0, 0.0};
    const tfm_kernels *k = twin(_i);
    uint64_t state = 7;

    draw_all(x, 300, &state);
    for (size_t f = 0; f < 6; f++)
        for (size_t r = 0; r < 5; r++) {
            const oracle_mask m = {UINT64_C(0x123456789abcdef0) + f, 0xfedcba98, (uint32_t)(4096 + f), rates[r],
                                   (uint32_t)(1000 * f)};
            const tfm_dropout d = dropout_of(&m);
            for (size_t n = 1; n < 300; n += n < 20 ? 1 : 31) {
                y[n] = 5.0f;
                k->dropout(y, x, n, &d, 7, firsts[f]);
                for (size_t i = 0; i < n; i++)
                    near_one((double)y[i], (double)x[i] * oracle_keep(&m, 7, firsts[f] + i), 0.0, 2 * ULP, "dropped",
                             i);
                must(y[n] == 5.0f);
                memcpy(z, x, n * sizeof *z);
                k->dropout(z, z, n, &d, 7, firsts[f]);
                same_bits(z, y, n, "in place");
            }
            check_add_dropped(k, &m);
        }
}
END_TEST

START_TEST(m27_what_is_kept_is_scaled)
{
    enum { N = MOST };
    const tfm_kernels *k = twin(_i);

    for (double rate = 0.0; rate < 0.99; rate += 0.1) {
        const oracle_mask m = {11, 12, 13, rate, 0};
        const tfm_dropout d = dropout_of(&m);
        double sum = 0.0, dropped = 0.0;
        for (size_t i = 0; i < N; i++) x[i] = 1.0f;
        k->dropout(y, x, N, &d, 0, 0);
        for (size_t i = 0; i < N; i++) sum += (double)y[i], dropped += y[i] == 0.0f;
        must_le(fabs(dropped / N - rate), 6.0 * sqrt(0.25 / N) + 1e-5);
        must_le(fabs(sum / N - 1.0), 6.0 * sqrt(rate / (1.0 - rate) / N) + 1e-5);
    }
}
END_TEST

START_TEST(masks_differ_by_seed_batch_site_and_row)
{
    enum { N = 4096 };
    const tfm_kernels *k = twin(_i);
    const oracle_mask masks[] = {{1, 1, 1, 0.5, 0},
                                 {2, 1, 1, 0.5, 0},
                                 {1, 2, 1, 0.5, 0},
                                 {1, 1, 2, 0.5, 0},
                                 {UINT64_C(1) << 32 | 1, 1, 1, 0.5, 0},
                                 {1, 1, 1 << 16 | 1, 0.5, 0},
                                 {1, 1, 1, 0.5, 1},
                                 {1, 1, 1, 0.5, 1u << 31}};

    for (size_t i = 0; i < N; i++) x[i] = 1.0f;
    for (size_t a = 0; a < 8; a++)
        for (size_t b = 0; b < a; b++) {
            const tfm_dropout da = dropout_of(&masks[a]), db = dropout_of(&masks[b]);
            size_t equal = 0;
            k->dropout(y, x, N, &da, 0, 0);
            k->dropout(z, x, N, &db, 0, 0);
            for (size_t i = 0; i < N; i++) equal += y[i] == z[i];
            must_le(fabs((double)equal - N / 2.0), 6.0 * sqrt(N / 4.0));
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("dropout");
    TCase *c = tcase_create("dropout");

    tcase_add_loop_test(c, m28_masks_are_those_of_the_counter, 0, 2);
    tcase_add_loop_test(c, m27_what_is_kept_is_scaled, 0, 2);
    tcase_add_loop_test(c, masks_differ_by_seed_batch_site_and_row, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
