/* The kernels that go over rows once, each twin against double precision within its documented bound. */
#include "kernels/kernels.h"
#include "oracle.h"

#if defined(__linux__) && defined(__x86_64__)
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define ULP 0x1p-24 /* half a unit in the last place, relative */

enum { MOST = 1 << 16 };

static float x[MOST], y[MOST], z[MOST], other[MOST];

static const size_t widths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 65, 100, 512, 1000, 1023, 1024, 1025, 3001};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

static const tfm_kernels *twin(int i)
{
    return tfm_kernels_for(i ? tfm_cpu_flags(true) : 0);
}

START_TEST(tables_are_complete)
{
    const tfm_kernels *k = twin(_i);

    must(k->f32.block && k->f32.pack_a && k->f32.pack_b && k->bf16.block && k->bf16.pack_a && k->bf16.pack_b);
    must(k->bias_relu && k->relu_backward && k->activate && k->activate_backward && k->dropout && k->add_dropped &&
         k->add && k->add_rows);
    must(k->axpby && k->sum_squares && k->layer_norm && k->layer_norm_backward && k->attention);
    must(k->attention_backward && k->log_sum_exp && k->exponentials && k->scale_less && k->log_add && k->adam);
    ck_assert_ptr_eq(tfm_kernels_for(0), tfm_kernels_for(1u << 31));
    if (tfm_cpu_flags(true)) ck_assert_ptr_ne(tfm_kernels_for(0), tfm_kernels_for(tfm_cpu_flags(true)));
}
END_TEST

#if defined(__linux__) && defined(__x86_64__)

/* Whether this process may use the tiles of AMX. */
static bool may_use_tiles(void)
{
    enum { ARCH_GET_XCOMP_PERM = 0x1022, TILES = 1u << 18 };
    uint64_t permitted = 0;

    return !syscall(SYS_arch_prctl, ARCH_GET_XCOMP_PERM, &permitted) && permitted & TILES;
}

/* Its signal frames become larger then, which is nobody's business who computes in float32. */
START_TEST(the_system_is_asked_for_amx_when_bfloat16_is_wanted)
{
    if (may_use_tiles()) return; /* an earlier test asked: CK_FORK=no */
    must(!(tfm_cpu_flags(false) & TFM_CPU_AMX));
    must(!may_use_tiles());

    const unsigned flags = tfm_cpu_flags(true);
    must(!(flags & TFM_CPU_AMX) || may_use_tiles());
    ck_assert_uint_eq(tfm_cpu_flags(false), flags);
    ck_assert_uint_eq(tfm_cpu_flags(true), flags);
}
END_TEST

/* Linux refuses where a signal stack has no room for the tiles: then it works without them, for good. */
START_TEST(a_refusal_of_amx_stays)
{
    static char memory[2048]; /* MINSIGSTKSZ */
    const stack_t small = {.ss_sp = memory, .ss_size = sizeof memory}, none = {.ss_flags = SS_DISABLE};

    if (may_use_tiles() || sigaltstack(&small, NULL)) return; /* or this system wants larger ones anyway */
    must(!(tfm_cpu_flags(true) & TFM_CPU_AMX));
    ck_assert_int_eq(sigaltstack(&none, NULL), 0);
    must(!(tfm_cpu_flags(true) & TFM_CPU_AMX));
    must(!may_use_tiles());
}
END_TEST

#endif

/* ---------------------------------------------------------------------------------------------- exponentials ---- */

/* A maximum of 0 leaves exp as it is. */
START_TEST(exp_is_within_two_units)
{
    enum { N = 1 << 15 };
    const tfm_kernels *k = twin(_i);

    double sum, total;

    for (size_t i = 0; i < N; i++) x[i] = -87.3f + 87.3f * (float)i / N;
    for (size_t i = 0; i <= 4096; i++) x[i] = -1.0f + (float)i / 4096; /* where most weights are */
    memcpy(y, x, sizeof y);
    k->exponentials(y, N, &sum, &total);
    for (size_t i = 0; i < N; i++) near_one((double)y[i], exp((double)x[i]), 0.0, 4 * ULP, "exp", i);
}
END_TEST

START_TEST(exp_at_its_edges)
{
    const tfm_kernels *k = twin(_i);
    double sum, total;

    for (size_t n = 8; n < 16; n++) { /* in lanes and alone */
        float e[16] = {0};
        memcpy(e + n - 8, (float[]){-0.0f, -87.5f, -87.7f, -88.01f, -104.0f, -1e30f, -INFINITY, NAN}, 8 * sizeof *e);
        k->exponentials(e, n, &sum, &total);
        for (size_t i = 0; i < n - 7; i++) must(e[i] == 1.0f);
        for (size_t i = n - 7; i < n - 5; i++) must(e[i] >= 0.0f && e[i] < FLT_MIN);
        for (size_t i = n - 5; i < n - 1; i++) must(e[i] == 0.0f);
        must(isnan(e[n - 1]));
    }
}
END_TEST

static double exact_lse(const float *v, size_t n)
{
    double max = -INFINITY, sum = 0.0;

    for (size_t i = 0; i < n; i++) max = fmax(max, (double)v[i]);
    for (size_t i = 0; i < n; i++) sum += exp((double)v[i] - max);
    return max + log(sum);
}

/* Of x: the bits of log_sum_exp, and the exponentials with their sum. */
static void check_exponentials(const tfm_kernels *k, size_t n, float lse, double sum)
{
    double max = -INFINITY, again, total, want = 0.0;

    memcpy(y, x, n * sizeof *y);
    y[n] = 77.0f; /* not to be touched */
    must(k->exponentials(y, n, &again, &total) == lse && again == sum);
    for (size_t i = 0; i < n; i++) max = fmax(max, (double)x[i]);
    for (size_t i = 0; i < n; i++) {
        const double e = exp((double)(x[i] - (float)max));
        must_le(fabs((double)y[i] - e), 4.0 * ULP * e + 0x1p-126);
        want += e;
    }
    near_one(total, want, 0.0, 140.0 * ULP, "total", n);
    must(y[n] == 77.0f);
}

START_TEST(log_sum_exp_agrees)
{
    const tfm_kernels *k = twin(_i);
    static const float spread[] = {0.0f, 1.0f, 30.0f, 1000.0f}, shift[] = {0.0f, -50.0f, 3000.0f};
    uint64_t state = 1;

    for (size_t w = 0; w < N_WIDTHS; w++)
        for (size_t form = 0; form < 12; form++) {
            const size_t n = widths[w];
            double sum, want_sum = 0.0, size = 0.0;
            for (size_t i = 0; i < n; i++) x[i] = spread[form % 4] * draw(&state) + shift[form / 4];
            for (size_t i = 0; i < n; i++) want_sum += (double)x[i];
            for (size_t i = 0; i < n; i++) size += fabs((double)x[i]);
            const double want = exact_lse(x, n), got = (double)k->log_sum_exp(x, n, &sum);
            must_msg(fabs(got - want) <= ULP * (fabs(want) + 140.0), "%zu: %.9g, want %.9g", n, got, want);
            must_msg(fabs(sum - want_sum) <= 140.0 * ULP * size, "sum %zu: %.9g, want %.9g", n, sum, want_sum);
            check_exponentials(k, n, (float)got, sum);
        }
}
END_TEST

START_TEST(c13_a_large_vocabulary_keeps_its_precision)
{
    enum { V = 60000 };
    const tfm_kernels *k = twin(_i);
    uint64_t state = 2;
    double sum, mass = 0.0, want_sum = 0.0;

    for (size_t i = 0; i < V; i++) want_sum += (double)(x[i] = 15.0f * draw(&state));
    const double want = exact_lse(x, V);
    const float lse = k->log_sum_exp(x, V, &sum);
    must_le(fabs((double)lse - want), 2e-6);
    must_le(fabs(sum - want_sum), 0.05); /* of 60,000 terms of size 7.5 */
    double total;
    k->exponentials(x, V, &sum, &total);
    k->scale_less(x, V, (float)(1.0 / total), 0.0f);
    for (size_t i = 0; i < V; i++) mass += (double)x[i];
    must_le(fabs(mass - 1.0), 2e-6);
}
END_TEST

START_TEST(log_sum_exp_of_infinities)
{
    const tfm_kernels *k = twin(_i);
    double sum;

    for (size_t n = 1; n < 40; n++) {
        for (size_t i = 0; i < n; i++) x[i] = -INFINITY;
        must(k->log_sum_exp(x, n, &sum) == -INFINITY);
        x[n / 2] = 3.25f; /* m02: one allowed entry has all the weight */
        must(k->log_sum_exp(x, n, &sum) == 3.25f);
        x[n - 1] = NAN;
        must(isnan(k->log_sum_exp(x, n, &sum)));
        x[n - 1] = INFINITY;
        must(!isfinite(k->log_sum_exp(x, n, &sum)));
    }
}
END_TEST

START_TEST(softmax_gradient_agrees)
{
    const tfm_kernels *k = twin(_i);
    uint64_t state = 3;
    double sum, total;

    for (size_t w = 0; w < N_WIDTHS; w++) {
        const size_t n = widths[w];
        for (size_t i = 0; i < n; i++) x[i] = 10.0f * draw(&state);
        x[n] = 77.0f; /* not to be touched */
        memcpy(y, x, (n + 1) * sizeof *y);
        const double lse = exact_lse(x, n);
        k->exponentials(y, n, &sum, &total);
        k->scale_less(y, n, (float)(1.0 / total), 0.01f);
        for (size_t i = 0; i < n; i++) must_le(fabs((double)y[i] - (exp((double)x[i] - lse) - 0.01)), 40.0 * ULP);
        must(y[n] == 77.0f);
    }
}
END_TEST

START_TEST(log_of_a_sum_of_exponentials)
{
    static const float spreads[] = {0.0f, 1e-3f, 1.0f, 10.0f, 60.0f, 300.0f};
    const tfm_kernels *k = twin(_i);
    uint64_t state = 5;

    for (size_t w = 0; w < N_WIDTHS; w++)
        for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
            const size_t n = widths[w];
            for (size_t i = 0; i < n; i++) {
                x[i] = 20.0f * draw(&state);
                y[i] = z[i] = x[i] + spreads[s] * draw(&state);
            }
            y[n] = 77.0f; /* not to be touched */
            k->log_add(y, 3.5f, x, 2.25f, n);
            for (size_t i = 0; i < n; i++) {
                const double a = (double)z[i] - 3.5, b = (double)x[i] - 2.25, top = a > b ? a : b;
                const double want = top + log1p(exp(-fabs(a - b)));
                must_msg(fabs((double)y[i] - want) <= ULP * (fabs(a) + fabs(b) + fabs(want) + 4.0),
                         "%zu: log(exp %.9g + exp %.9g) is %.9g, want %.9g", i, a, b, (double)y[i], want);
            }
            must(y[n] == 77.0f);
        }
}
END_TEST

START_TEST(log_of_a_sum_at_its_edges)
{
    static const float a[8] = {-INFINITY, -INFINITY, 2.0f, INFINITY, INFINITY, NAN, 2.0f, NAN},
                       b[8] = {-INFINITY, 2.0f, -INFINITY, 1.0f, INFINITY, 2.0f, NAN, -INFINITY};
    static const float want[5] = {-INFINITY, 2.0f, 2.0f, INFINITY, INFINITY};
    const tfm_kernels *k = twin(_i);

    for (size_t n = 1; n <= 8; n += 7) { /* alone, and in lanes */
        memcpy(y, a, sizeof a);
        for (size_t i = 0; i < 8; i += n) k->log_add(y + i, 0.0f, b + i, 0.0f, n);
        for (size_t i = 0; i < 5; i++) must(y[i] == want[i]);
        for (size_t i = 5; i < 8; i++) must(isnan(y[i]));
    }
}
END_TEST

/* ----------------------------------------------------------------------------------------------- layer norm ---- */

static void check_norm(const tfm_kernels *k, size_t d, float scale, float shift, float eps, uint64_t *state)
{
    float stats[2];
    double mean = 0.0, variance = 0.0;

    for (size_t i = 0; i < d; i++) x[i] = shift + scale * draw(state);
    draw_all(y, d, state);
    draw_all(z, d, state);
    oracle_used = 0;
    const double *wide = oracle_wide(x, d), *gamma = oracle_wide(y, d), *beta = oracle_wide(z, d);
    double *want = oracle_new(d);
    oracle_norm(want, wide, gamma, beta, 1, d, (double)eps);
    for (size_t i = 0; i < d; i++) mean += wide[i] / (double)d;
    for (size_t i = 0; i < d; i++) variance += (wide[i] - mean) * (wide[i] - mean) / (double)d;
    const double rstd = 1.0 / sqrt(variance + (double)eps);

    k->layer_norm(other, stats, x, y, z, d, eps);
    for (size_t i = 0; i < d; i++) {
        const double hat = fabs(wide[i] - mean) * rstd;
        const double bound = ULP * (((double)d / 8.0 + 16.0) * fabs(gamma[i]) * hat +
                                    2.0 * fabs(gamma[i] * mean) * rstd + fabs(want[i]) + fabs(beta[i]));
        must_msg(fabs((double)other[i] - want[i]) <= bound, "d %zu shift %g [%zu]: %.9g, want %.9g", d, (double)shift,
                 i, (double)other[i], want[i]);
    }
    near_one((double)stats[0], mean, fabs((double)shift) + (double)scale, 4 * ULP, "mean", d);
    must_le(fabs((double)stats[1] / rstd - 1.0), ULP * ((double)d / 8.0 + 16.0 + 4.0 * fabs(mean) * rstd));
}

START_TEST(layer_norm_agrees)
{
    uint64_t state = 4;

    for (size_t w = 0; w < N_WIDTHS; w++) {
        check_norm(twin(_i), widths[w], 1.0f, 0.0f, 1e-6f, &state);
        check_norm(twin(_i), widths[w], 1e-4f, 0.0f, 1e-6f, &state);
        check_norm(twin(_i), widths[w], 1.0f, 100.0f, 1e-6f, &state);
        check_norm(twin(_i), widths[w], 1e3f, -1e5f, 1e-5f, &state);
    }
}
END_TEST

/* Its mean is exact, so that nothing of the size of 1 / sqrt(eps) multiplies a rounding error. */
START_TEST(m17_a_constant_row_gives_beta)
{
    static const float constants[] = {0.0f, 0.1f, -3.3f, 1000.1f, 123456.7f, 1e-20f, 3e10f};
    const tfm_kernels *k = twin(_i);
    float stats[2];

    for (size_t d = 1; d <= 1100; d += d < 130 ? 1 : 97)
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (size_t i = 0; i < d; i++) x[i] = constants[c], y[i] = 3.0f + (float)i, z[i] = 0.25f * (float)i - 1.0f;
            k->layer_norm(other, stats, x, y, z, d, 1e-6f);
            same_bits(other, z, d, "beta");
            must(stats[0] == constants[c]);
        }
}
END_TEST

START_TEST(m16_normed_rows_have_mean_0_and_variance_1)
{
    const tfm_kernels *k = twin(_i);
    float stats[2];
    uint64_t state = 5;

    for (size_t w = 1; w < N_WIDTHS; w++) {
        const size_t d = widths[w];
        double mean = 0.0, variance = 0.0, in = 0.0, spread = 0.0;
        for (size_t i = 0; i < d; i++) x[i] = 0.01f * draw(&state), y[i] = 1.0f, z[i] = 0.0f;
        k->layer_norm(other, stats, x, y, z, d, 1e-5f);
        for (size_t i = 0; i < d; i++) mean += (double)other[i] / (double)d, in += (double)x[i] / (double)d;
        for (size_t i = 0; i < d; i++) spread += ((double)x[i] - in) * ((double)x[i] - in) / (double)d;
        for (size_t i = 0; i < d; i++) variance += (double)other[i] * (double)other[i] / (double)d;
        must_le(fabs(mean), 1e-6);
        must_le(fabs(variance - (1.0 - 1e-5 / (spread + 1e-5))), 1e-5);
    }
}
END_TEST

/* In place or not: the same, and added: the sum. Values of dx are judged with the operation, by differences. */
START_TEST(layer_norm_backward_adds)
{
    const tfm_kernels *k = twin(_i);
    float stats[2], gamma[101], dx[101], dy[101], sums[2][101] = {{0}};
    uint64_t state = 6;

    for (size_t d = 1; d <= 100; d++) {
        draw_all(x, d, &state);
        draw_all(gamma, d, &state);
        draw_all(dy, d, &state);
        for (size_t i = 0; i <= d; i++) sums[0][i] = 3.0f, sums[1][i] = -2.0f, z[i] = 0.5f;
        dx[d] = dy[d] = 77.0f;
        k->layer_norm(y, stats, x, gamma, gamma, d, 1e-6f);
        k->layer_norm_backward(dx, false, dy, x, stats, gamma, d, sums[0], sums[1]);
        k->layer_norm_backward(z, true, dy, x, stats, gamma, d, sums[0], sums[1]);
        for (size_t i = 0; i < d; i++) {
            const double xhat = ((double)x[i] - (double)stats[0]) * (double)stats[1];
            near_one((double)z[i], 0.5 + (double)dx[i], 1.0 + fabs((double)dx[i]), 4 * ULP, "added", i);
            near_one((double)sums[0][i], 3.0 + 2.0 * (double)dy[i] * xhat, 3.0 + 2.0 * fabs(xhat), 8 * ULP, "d_gamma",
                     i);
            near_one((double)sums[1][i], 2.0 * (double)dy[i] - 2.0, 4.0, 4 * ULP, "d_beta", i);
        }
        must(dx[d] == 77.0f && z[d] == 0.5f && sums[0][d] == 3.0f && sums[1][d] == -2.0f);
        k->layer_norm_backward(dy, false, dy, x, stats, gamma, d, sums[0], sums[1]);
        same_bits(dy, dx, d, "in place");
    }
}
END_TEST

/* --------------------------------------------------------------------------------------- sums and epilogues ---- */

START_TEST(sum_of_squares_agrees)
{
    const tfm_kernels *k = twin(_i);
    uint64_t state = 8;

    ck_assert_double_eq(k->sum_squares(x, 0), 0.0);
    draw_all(x, MOST, &state);
    for (size_t w = 0; w <= N_WIDTHS; w++) {
        const size_t n = w < N_WIDTHS ? widths[w] : MOST;
        double want = 0.0;
        for (size_t i = 0; i < n; i++) want += (double)x[i] * (double)x[i];
        near_one(k->sum_squares(x, n), want, 0.0, 140.0 * ULP, "sum of squares", n);
    }
    x[77] = NAN;
    must(isnan(k->sum_squares(x, 1000)));
    x[77] = INFINITY;
    must(isinf(k->sum_squares(x, 1000)));
}
END_TEST

START_TEST(rows_are_added)
{
    const tfm_kernels *k = twin(_i);
    uint64_t state = 9;

    for (size_t w = 0; w < N_WIDTHS; w++) {
        const size_t n = widths[w];
        draw_all(x, n, &state);
        draw_all(y, n + 1, &state);
        memcpy(z, y, (n + 1) * sizeof *z);
        k->add(y, x, n);
        for (size_t i = 0; i < n; i++) must(y[i] == z[i] + x[i]);
        memcpy(y, z, (n + 1) * sizeof *z);
        k->axpby(y, 2.5f, x, -0.3f, n);
        for (size_t i = 0; i < n; i++) {
            const double a = 2.5 * (double)x[i], b = -(double)0.3f * (double)z[i];
            must_le(fabs((double)y[i] - (a + b)), 2 * ULP * (fabs(a) + fabs(b)));
        }
        must(y[n] == z[n]);
    }
}
END_TEST

/* One row after the other, whether columns are in registers or not. */
START_TEST(rows_are_added_in_order)
{
    enum { ROWS = 7 };
    const tfm_kernels *k = twin(_i);
    uint64_t state = 12;

    for (size_t n = 1; n < 200; n += n < 20 ? 1 : 11) {
        const size_t stride = n + 3;
        draw_all(x, ROWS * stride, &state);
        draw_all(y, n + 1, &state);
        memcpy(z, y, (n + 1) * sizeof *z);
        k->add_rows(y, x, stride, ROWS, n);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < n; i++) z[i] += x[r * stride + i];
        same_bits(y, z, n + 1, "sum");
        k->add_rows(y, x, stride, 0, n);
        same_bits(y, z, n + 1, "no rows");
    }
}
END_TEST

START_TEST(relu_and_its_derivative_at_the_edges)
{
    const tfm_kernels *k = twin(_i);
    const float in[] = {-1.0f, -0.0f, 0.0f, 1e-38f, 2.0f, -INFINITY, INFINITY, NAN, -1e-38f, 0.5f};
    enum { N = sizeof in / sizeof *in };

    memcpy(y, in, sizeof in);
    k->bias_relu(y, NULL, N, true, NULL, 0, 0);
    for (size_t i = 0; i < N; i++) must(isnan(in[i]) ? isnan(y[i]) : y[i] == (in[i] > 0.0f ? in[i] : 0.0f));
    for (size_t i = 0; i < N; i++) z[i] = 4.0f;
    k->relu_backward(z, y, N, 0.5f);
    for (size_t i = 0; i < N; i++) must(isnan(in[i]) || z[i] == (in[i] > 0.0f ? 2.0f : 0.0f)); /* 0 at 0 */
}
END_TEST

/* The bounds of kernels.h, over all sizes of x and of rows; slopes by differences of the definition. */
START_TEST(activations_and_their_slopes_agree)
{
    const tfm_kernels *k = twin(_i);
    enum { N = 1003 };

    for (uint32_t kind = TFM_ACTIVATION_GELU; kind <= TFM_ACTIVATION_SWISH; kind++) {
        for (size_t i = 0; i < N; i++) x[i] = ((float)i - 501.0f) * (i % 2 ? 0.02f : 0.3f);
        k->activate(y, x, N, kind);
        for (size_t i = 0; i < N; i++) z[i] = 2.0f;
        k->activate_backward(z, x, N, kind);
        for (size_t i = 0; i < N; i++) {
            const double at = (double)x[i], h = 1e-5;
            const double slope = (oracle_activation(kind, at + h) - oracle_activation(kind, at - h)) / (2.0 * h);
            ck_assert_double_le(fabs((double)y[i] - oracle_activation(kind, at)), fabs(at) * 2e-7);
            ck_assert_double_le(fabs((double)z[i] / 2.0 - slope), 3e-6);
        }
        for (size_t n = 0; n < 20; n++) { /* in place, and no element more */
            memcpy(z, x + 490, 20 * sizeof *z);
            k->activate(z, z, n, kind);
            same_bits(z, y + 490, n, "part");
            same_bits(z + n, x + 490 + n, 20 - n, "rest");
        }
    }
    x[0] = NAN, x[1] = INFINITY, x[2] = -1e30f, x[3] = 1e30f;
    for (uint32_t kind = TFM_ACTIVATION_GELU; kind <= TFM_ACTIVATION_SWISH; kind++) {
        k->activate(y, x, 4, kind);
        must(isnan(y[0]) && y[1] == INFINITY && fabsf(y[2]) < 1e-6f && y[3] == 1e30f);
        for (size_t i = 0; i < 4; i++) z[i] = 1.0f;
        k->activate_backward(z, (float[]){-1e30f, -1e12f, 1e12f, 1e30f}, 4, kind);
        must(fabsf(z[0]) < 1e-6f && fabsf(z[1]) < 1e-6f && z[2] == 1.0f && z[3] == 1.0f);
    }
}
END_TEST

START_TEST(adam_agrees_and_moves_without_gradient)
{
    const tfm_kernels *k = twin(_i);
    enum { N = 33 };
    float w[N], m[N] = {0}, v[N] = {0};
    double ww[N], mm[N] = {0}, vv[N] = {0};
    uint64_t state = 10;

    draw_all(w, N, &state);
    for (size_t i = 0; i < N; i++) ww[i] = (double)w[i];
    for (int step = 1; step <= 20; step++) {
        const double b1 = (double)0.9f, b2 = (double)0.98f;
        const float rate = (float)(0.01 * sqrt(1.0 - pow(b2, step)) / (1.0 - pow(b1, step)));
        for (size_t i = 0; i < N; i++) x[i] = i % 3 && step > 1 ? 0.0f : draw(&state); /* m25: momentum goes on */
        k->adam(w, m, v, x, N, 0.25f, rate, 0.9f, 0.98f, 1e-9f);
        for (size_t i = 0; i < N; i++) {
            const double g = 0.25 * (double)x[i], before = ww[i];
            mm[i] = b1 * mm[i] + (1.0 - b1) * g;
            vv[i] = b2 * vv[i] + (1.0 - b2) * g * g;
            ww[i] -= (double)rate * mm[i] / (sqrt(vv[i]) + 1e-9);
            must(step > 5 || fabs(ww[i] - before) > 1e-6);
        }
    }
    near_all(w, ww, N, 0.0, 20.0 * 8.0 * ULP, "w");
    near_all(m, mm, N, 0.0, 20.0 * 8.0 * ULP, "m");
    near_all(v, vv, N, 0.0, 20.0 * 8.0 * ULP, "v");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kernels");
    TCase *c = tcase_create("kernels");

    tcase_add_loop_test(c, tables_are_complete, 0, 2);
#if defined(__linux__) && defined(__x86_64__)
    tcase_add_test(c, the_system_is_asked_for_amx_when_bfloat16_is_wanted);
    tcase_add_test(c, a_refusal_of_amx_stays);
#endif
    tcase_add_loop_test(c, exp_is_within_two_units, 0, 2);
    tcase_add_loop_test(c, exp_at_its_edges, 0, 2);
    tcase_add_loop_test(c, log_sum_exp_agrees, 0, 2);
    tcase_add_loop_test(c, c13_a_large_vocabulary_keeps_its_precision, 0, 2);
    tcase_add_loop_test(c, log_sum_exp_of_infinities, 0, 2);
    tcase_add_loop_test(c, log_of_a_sum_of_exponentials, 0, 2);
    tcase_add_loop_test(c, log_of_a_sum_at_its_edges, 0, 2);
    tcase_add_loop_test(c, softmax_gradient_agrees, 0, 2);
    tcase_add_loop_test(c, layer_norm_agrees, 0, 2);
    tcase_add_loop_test(c, m17_a_constant_row_gives_beta, 0, 2);
    tcase_add_loop_test(c, m16_normed_rows_have_mean_0_and_variance_1, 0, 2);
    tcase_add_loop_test(c, layer_norm_backward_adds, 0, 2);
    tcase_add_loop_test(c, sum_of_squares_agrees, 0, 2);
    tcase_add_loop_test(c, rows_are_added, 0, 2);
    tcase_add_loop_test(c, rows_are_added_in_order, 0, 2);
    tcase_add_loop_test(c, relu_and_its_derivative_at_the_edges, 0, 2);
    tcase_add_loop_test(c, activations_and_their_slopes_agree, 0, 2);
    tcase_add_loop_test(c, adam_agrees_and_moves_without_gradient, 0, 2);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
