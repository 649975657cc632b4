/* What one long sequence takes: memory that grows with its length, never with the square of it. */
#include "model/layers.h"
#include "model_trial.h"

enum { LONGEST = 8192, MEGABYTE = 1000000 };

typedef enum layer_kind { ENCODER, DECODER } layer_kind;

/* Bytes of one base layer over a sequence of n tokens (a decoder: and a source of n), forward and backward. */
static size_t layer_bytes(layer_kind kind, size_t n, uint32_t threads, bool recompute)
{
    const size_t offset[] = {0, n};
    const tfm_segments sequence = {1, offset};
    tfm_model_options o;
    model_trial t;
    bool fresh;

    tfm_model_options_init(&o, sizeof o);
    o.vocab_size = 16;
    o.n_encoder_layers = o.n_decoder_layers = 1;
    model_begin(&t, &o, threads, tfm_cpu_flags(true));
    t.transformer.rates = (tfm_rates){0.1f, 0.1f, 0.1f, 0.1f, recompute};
    t.run.training = true;
    tfm_run_measure(&t.run, true);
    const tfm_layer layer = {.t = &t.transformer, .source = sequence, .target = sequence};
    tfm_value *x = tfm_value_new(&t.run, n, o.d_model), *y = tfm_value_new(&t.run, n, o.d_model);
    if (kind == ENCODER) tfm_encoder_stack(&t.run, y, x, &layer);
    else tfm_decoder_stack(&t.run, y, x, tfm_value_new(&t.run, n, o.d_model), &layer);
    tfm_grad_take(&t.run, y, &fresh);
    tfm_run_backward(&t.run);
    ck_assert(!t.run.bad && !t.run.arena.bad);
    const size_t peak = t.run.arena.peak;
    model_end(&t);
    return peak;
}

START_TEST(a_layer_over_8192_tokens_fits_in_400_megabytes)
{
    ck_assert_uint_lt(layer_bytes(ENCODER, LONGEST, 1, false), (size_t)400 * MEGABYTE);
    ck_assert_uint_lt(layer_bytes(ENCODER, LONGEST, 2, false), (size_t)400 * MEGABYTE);
    ck_assert_uint_lt(layer_bytes(ENCODER, LONGEST, 1, true), (size_t)400 * MEGABYTE);
}
END_TEST

/* Twice the length, at most twice the bytes: what does not grow makes it less. */
START_TEST(memory_of_a_layer_grows_with_the_length)
{
    for (int kind = ENCODER; kind <= DECODER; kind++)
        for (size_t n = LONGEST / 4; n < 4 * LONGEST; n *= 2)
            ck_assert_uint_le(layer_bytes(kind, 2 * n, 1, false), 2 * layer_bytes(kind, n, 1, false));
}
END_TEST

static Suite *long_sequence_suite(void)
{
    Suite *suite = suite_create("long sequence");
    TCase *tc = tcase_create("long sequence");

    tcase_add_test(tc, a_layer_over_8192_tokens_fits_in_400_megabytes);
    tcase_add_test(tc, memory_of_a_layer_grows_with_the_length);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(long_sequence_suite)
