/* Measuring functions: what they report, what they refuse, and that they use the caller's memory. */
#include "base/clock.h"
#include "testing.h"

#include <math.h>

static tfm_error error;

static tfm_measure_options quick(void)
{
    tfm_measure_options o;

    tfm_measure_options_init(&o, sizeof o);
    o.seconds = 0.0; /* one call after one that does not count */
    return o;
}

static void check_result(const tfm_measurement *r)
{
    ck_assert_ptr_nonnull(r->name);
    ck_assert_ptr_nonnull(r->shape);
    ck_assert_ptr_nonnull(r->twin);
    ck_assert_msg(r->seconds > 0.0 && r->seconds < 60.0, "%s: %g seconds", r->name, r->seconds);
    ck_assert_msg(r->flops >= 0.0 && r->bytes > 0.0, "%s: %g operations, %g bytes", r->name, r->flops, r->bytes);
}

START_TEST(every_loop_of_every_twin_is_measured)
{
    const size_t kernels = tfm_measure_kernel_count(), twins = tfm_measure_twin_count();
    const tfm_measure_options o = quick();
    tfm_measurement r, before = {0};

    ck_assert_uint_ge(kernels, 20);
    ck_assert_uint_ge(twins, 1);
    for (size_t twin = 0; twin < twins; twin++)
        for (size_t kernel = 0; kernel < kernels; kernel++) {
            ck_assert_ok(tfm_measure_kernel(&r, sizeof r, kernel, twin, &o, &error), error);
            check_result(&r);
            if (kernel) ck_assert_str_eq(r.twin, before.twin);
            if (kernel) ck_assert(strcmp(r.name, before.name) || strcmp(r.shape, before.shape));
            if (twin == 0) ck_assert_str_eq(r.twin, "ref");
            else ck_assert_str_ne(r.twin, "ref");
            before = r;
        }
}
END_TEST

START_TEST(a_product_is_measured_on_any_number_of_threads)
{
    tfm_measure_options o = quick();
    tfm_measurement r;

    for (o.n_threads = 0; o.n_threads < 4; o.n_threads++) {
        ck_assert_ok(tfm_measure_product(&r, sizeof r, 7, 19, 300, &o, &error), error);
        check_result(&r);
        ck_assert(r.flops == 2.0 * 7 * 19 * 300);
        ck_assert(r.bytes == 4.0 * (7 * 300 + 19 * 300 + 7 * 19));
    }
    o.dtype = TFM_DTYPE_BF16;
    ck_assert_ok(tfm_measure_product(&r, sizeof r, 7, 19, 300, &o, &error), error);
    ck_assert_ok(tfm_measure_product(&r, sizeof r, 1, 1, 1, NULL, &error), error);
}
END_TEST

START_TEST(a_call_is_repeated_for_as_long_as_was_asked)
{
    tfm_measure_options o = quick();
    tfm_measurement r;
    const double began = tfm_now();

    o.seconds = 0.2;
    ck_assert_ok(tfm_measure_product(&r, sizeof r, 1, 1, 1, &o, &error), error);
    ck_assert(tfm_now() - began >= 0.2);
    ck_assert(r.seconds < 0.1);
}
END_TEST

START_TEST(what_cannot_be_measured_is_refused)
{
    const size_t kernels = tfm_measure_kernel_count(), twins = tfm_measure_twin_count(), large = (size_t)1 << 32;
    static const double wrong[] = {-1.0, 3601.0, (double)NAN};
    tfm_measure_options o = quick();
    tfm_measurement r;

    ck_assert_status(tfm_measure_kernel(&r, sizeof r, kernels, 0, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_kernel(&r, sizeof r, 0, twins, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_kernel(&r, sizeof r, 0, SIZE_MAX, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_kernel(NULL, sizeof r, 0, 0, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_product(&r, sizeof r, 0, 1, 1, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_product(&r, sizeof r, 1, 0, 1, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_product(&r, sizeof r, 1, 1, 0, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_product(&r, sizeof r, 1, large, 1, &o, &error), TFM_E_INVALID, error);
    ck_assert_status(tfm_measure_product(&r, sizeof r, large / 2, large / 2, 1, &o, &error), TFM_E_NOMEM, error);
    o.dtype = TFM_DTYPE_BF16 + 1;
    ck_assert_status(tfm_measure_product(&r, sizeof r, 1, 1, 1, &o, &error), TFM_E_INVALID, error);
    o.dtype = TFM_DTYPE_F32;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.seconds = wrong[i];
        ck_assert_status(tfm_measure_product(&r, sizeof r, 1, 1, 1, &o, &error), TFM_E_INVALID, error);
    }
}
END_TEST

START_TEST(memory_that_runs_out_is_a_status)
{
    tfm_measurement r;

    for (int product = 0; product < 2; product++) {
        tfm_status status = TFM_E_NOMEM;
        for (size_t n = 0; status != TFM_OK; n++) {
            faulty f = {.fail_at = n};
            const tfm_allocator allocator = faulty_allocator(&f);
            tfm_measure_options o = quick();
            o.allocator = &allocator;
            o.n_threads = 2;
            status = product ? tfm_measure_product(&r, sizeof r, 3, 4, 5, &o, &error) :
                               tfm_measure_kernel(&r, sizeof r, 0, 0, &o, &error);
            if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
            else ck_assert_uint_gt(n, 0);
            ck_assert_uint_eq(f.live, 0);
        }
    }
}
END_TEST

static Suite *measure_suite(void)
{
    Suite *suite = suite_create("measure");
    TCase *tc = tcase_create("measure");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, every_loop_of_every_twin_is_measured);
    tcase_add_test(tc, a_product_is_measured_on_any_number_of_threads);
    tcase_add_test(tc, a_call_is_repeated_for_as_long_as_was_asked);
    tcase_add_test(tc, what_cannot_be_measured_is_refused);
    tcase_add_test(tc, memory_that_runs_out_is_a_status);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(measure_suite)
