/* tfm_decoder through the public header: memory that runs out, and that nothing is ever printed. */
#include "decoder_models.h"

#include <fcntl.h>

/* Nothing has made room for it before. */
START_TEST(c34_attention_without_memory)
{
    static const int32_t ids[] = {5, 6, 7};
    const tfm_ids three = {ids, 3};
    tfm_model *model = model_make();
    tfm_decoder_options o = decoder_options(1);
    tfm_status status = TFM_E_NOMEM;
    const float *weights;
    size_t rows, cols, n = 0;

    for (; status != TFM_OK; n++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        o.allocator = &a;
        tfm_decoder *d = decoder_of(model, &o);
        f.fail_at = f.calls + n;
        status = tfm_decoder_attention(&weights, &rows, &cols, d, three, three, TFM_ATTENTION_CROSS, 1, 1, &error);
        if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    ck_assert_uint_gt(n, 3);
    tfm_model_free(model);
}
END_TEST

/* All that a decoder does, in one status. */
static tfm_status use(tfm_decoder *d)
{
    static const tfm_text texts[] = {LINE("the cat sat"), LINE(""), LINE("a \xff dog")};
    static int32_t ids[1100];
    const tfm_ids few = {ids, 3}, many = {ids, 1100}; /* more than the model's positions */
    const float *weights;
    size_t rows, cols, shape[4];
    static const tfm_text prefixes[] = {LINE("a"), LINE(""), LINE("the \xff")}, terms[] = {LINE("dog"), LINE("a cat")};
    static const size_t n_terms[] = {1, 0, 1};
    const tfm_request request = {.struct_size = sizeof request,
                                 .n = 3,
                                 .lines = texts,
                                 .prefix_lines = prefixes,
                                 .n_terms = n_terms,
                                 .term_lines = terms};
    tfm_status status = tfm_decoder_run(d, &request, &error);

    if (!status) status = tfm_decoder_translate(d, texts, 3, &error);
    for (size_t i = 0; i < 1100; i++) ids[i] = 5;
    if (!status) status = tfm_decoder_logprobs(d, texts, texts, 3, &error);
    if (!status) status = tfm_decoder_attention(&weights, &rows, &cols, d, few, few, TFM_ATTENTION_CROSS, 1, 1, &error);
    if (!status) status = tfm_decoder_attention_all(&weights, shape, d, few, few, TFM_ATTENTION_DECODER, &error);
    if (!status) status = tfm_decoder_logprobs_ids(d, &many, &few, 1, &error);
    if (!status) status = tfm_decoder_translate_ids(d, &few, 1, &error);
    return status;
}

START_TEST(c34_every_allocation_may_fail)
{
    static const int32_t ids[] = {TFM_UNK, 9, 10};
    static const tfm_ids forbidden[] = {{ids, 1}, {ids + 1, 2}};
    tfm_model *model = text_model_make();
    tfm_decoder_options o = decoder_options(3);
    tfm_status status = TFM_E_NOMEM;
    size_t failures = 0, live = 0;

    o.replace_invalid = 1;
    o.forbidden = forbidden;
    o.n_forbidden = 2;
    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_decoder *d = NULL;
        o.allocator = &a;
        status = tfm_decoder_create(&d, model, &o, &error);
        if (status == TFM_OK) {
            status = use(d);
            ck_assert_ok(use(d), error); /* it can be used after the failure */
            ck_assert_uint_eq(tfm_decoder_count(d, 0), 1);
            if (status == TFM_OK) {
                live = f.live;
                for (int i = 0; i < 5; i++) use(d);
                ck_assert_uint_eq(f.live, live); /* and its memory does not grow */
            }
            tfm_decoder_free(d);
        } else {
            ck_assert_ptr_null(d);
        }
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_uint_eq(f.live, 0);
        failures++;
    }
    ck_assert_uint_gt(failures, 30);
    tfm_model_free(model);
}
END_TEST

START_TEST(c34_every_allocation_of_a_threaded_decoder_may_fail)
{
    const tfm_ids forbidden = {(int32_t[]){6, 7}, 2};
    tfm_model *model = model_make();
    tfm_decoder_options o = decoder_options(3);
    tfm_status status = TFM_E_NOMEM;

    o.n_threads = 3;
    o.forbidden = &forbidden;
    o.n_forbidden = 1;
    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_decoder *d;
        o.allocator = &a;
        status = tfm_decoder_create(&d, model, &o, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        tfm_decoder_free(d);
        ck_assert_uint_eq(f.live, 0);
    }
    tfm_model_free(model);
}
END_TEST

START_TEST(c34_nothing_is_printed)
{
    char path[TESTING_PATH], name[TESTING_PATH];
    struct stat status;
    tfm_model *model = text_model_make();
    const tfm_decoder_options o = decoder_options(2);
    const tfm_ids bad = {(int32_t[]){-3}, 1};

    fflush(NULL);
    const int file = open(path_join(name, temp_make(path), "out"), O_CREAT | O_RDWR, 0600);
    const int out = dup(1), err = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    tfm_decoder *d = decoder_of(model, &o);
    tfm_decoder_translate_ids(d, &bad, 1, &error);
    use(d);
    tfm_decoder_free(d);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    ck_assert_int_eq(fstat(file, &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    close(file);
    temp_remove(path);
    tfm_model_free(model);
}
END_TEST

static Suite *decoder_memory_suite(void)
{
    Suite *suite = suite_create("decoder_memory");
    TCase *tc = tcase_create("decoder_memory");

    tcase_add_test(tc, c34_every_allocation_may_fail);
    tcase_add_test(tc, c34_attention_without_memory);
    tcase_add_test(tc, c34_every_allocation_of_a_threaded_decoder_may_fail);
    tcase_add_test(tc, c34_nothing_is_printed);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(decoder_memory_suite)
