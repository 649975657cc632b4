/* Models with packed weights: what decoders share, in every type, and that packing float32 changes no bit. */
#include "packed_models.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CREATORS = 4, DTYPES = TFM_DTYPE_INT8 + 1 };

/* A decoder that multiplies by the model's float32 matrices as they are. */
static tfm_decoder *unpacked_decoder_of(const tfm_model *m, const tfm_decoder_options *o)
{
    tfm_decoder *d = decoder_of(m, o);

    tfm_search_workspace(d->search)->members->transformer.weights = &m->weights;
    return d;
}

START_TEST(float32_packed_or_not_gives_the_same_bits)
{
    for (int form = 0; form < 2; form++) {
        const tfm_decoder_options o = decoder_options(4);
        tfm_model *m = form_make(form);
        tfm_decoder *a = decoder_of(m, &o), *b = unpacked_decoder_of(m, &o);
        ck_assert_ptr_null(tfm_search_workspace(a->search)->members->transformer.weights->output.weight);
        ck_assert_ptr_nonnull(tfm_search_workspace(b->search)->members->transformer.weights->output.weight);
        same_work(a, b);
        tfm_decoder_free(a);
        tfm_decoder_free(b);
        tfm_model_free(m);
    }
}
END_TEST

/* Each sentence by itself, on one thread, against all of them at once on others. */
START_TEST(each_type_gives_the_same_bits_in_any_batch_and_on_any_threads)
{
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    for (uint32_t dtype = 0; dtype < DTYPES; dtype++)
        for (uint32_t threads = 1; threads <= 5; threads += 2) {
            tfm_decoder_options o = decoder_options(3);
            tfm_model *m = form_make((int)(threads & 2) / 2);
            o.dtype = dtype;
            tfm_decoder *alone = decoder_of(m, &o);
            o.n_threads = threads;
            o.batch_tokens = threads == 3 ? 97 : 4096;
            tfm_decoder *together = decoder_of(m, &o);
            same_scoring(alone, together, sentences, sentences + PAIRS);
            ck_assert_ok(tfm_decoder_translate_ids(together, sentences, PAIRS, &error), error);
            for (size_t i = 0; i < PAIRS; i++) {
                ck_assert_ok(tfm_decoder_translate_ids(alone, &sentences[i], 1, &error), error);
                same_results(alone, 0, together, i);
            }
            tfm_decoder_free(alone);
            tfm_decoder_free(together);
            tfm_model_free(m);
        }
}
END_TEST

static double pair_logprob(const tfm_model *m, uint32_t dtype, tfm_ids source, tfm_ids target)
{
    tfm_decoder_options o = decoder_options(1);

    o.dtype = dtype;
    tfm_decoder *d = decoder_of(m, &o);
    ck_assert_ok(tfm_decoder_logprobs_ids(d, &source, &target, 1, &error), error);
    const double logprob = tfm_decoder_pair_logprob(d, 0);
    tfm_decoder_free(d);
    return logprob;
}

/* Rounding moves the scores of a sharp random model by hundredths of a nat a token; 0 would mean that nothing was
 * rounded. */
START_TEST(rounded_types_are_near_and_not_equal)
{
    tfm_ids s[SENTENCES];
    tfm_model *m = form_make(1);

    sentences_make(s);
    for (size_t i = 0; i < 10; i++) {
        const double f32 = pair_logprob(m, TFM_DTYPE_F32, s[i], s[i + 20]);
        const double bf16 = pair_logprob(m, TFM_DTYPE_BF16, s[i], s[i + 20]);
        const double int8 = pair_logprob(m, TFM_DTYPE_INT8, s[i], s[i + 20]);
        ck_assert(bf16 != f32 && int8 != f32 && bf16 != int8);
        ck_assert_double_le(fabs(bf16 - f32), 0.05 * (double)s[i + 20].size);
        ck_assert_double_le(fabs(int8 - f32), 0.1 * (double)s[i + 20].size);
    }
    tfm_model_free(m);
}
END_TEST

START_TEST(decoders_of_a_type_share_its_weights)
{
    tfm_model *m = form_make(0);
    tfm_decoder_options o = decoder_options(1);
    const tfm_weights *shared[DTYPES];

    for (uint32_t i = 0; i < 2 * DTYPES; i++) {
        o.dtype = i % DTYPES;
        tfm_decoder *d = decoder_of(m, &o);
        const tfm_weights *w = tfm_search_workspace(d->search)->members->transformer.weights;
        ck_assert_uint_eq(w->output.panels->dtype, o.dtype);
        ck_assert(i < DTYPES || w == shared[o.dtype]);
        shared[o.dtype] = w;
        ck_assert_ptr_eq(w->output.panels, w->source_embedding.panels); /* tied: packed once */
        tfm_decoder_free(d);
    }
    ck_assert(shared[0] != shared[1] && shared[1] != shared[2]);
    tfm_model_free(m);
}
END_TEST

/* So many products of -127..127 no longer fit 32 bits. */
START_TEST(int8_rows_have_a_greatest_length)
{
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(1);
    tfm_decoder *d;
    tfm_model *m;

    o.dtype = TFM_DTYPE_INT8;
    mo.n_encoder_layers = mo.n_decoder_layers = mo.d_model = mo.n_heads = mo.d_k = mo.d_v = 1;
    for (uint32_t more = 0; more < 2; more++) {
        mo.d_ff = INT32_MAX / (128 * 128) + more;
        ck_assert_ok(tfm_model_create(&m, &mo, NULL, &error), error);
        ck_assert_status(tfm_decoder_create(&d, m, &o, &error), more ? TFM_E_UNSUPPORTED : TFM_OK, error);
        if (more)
            ck_assert_str_eq(error.message,
                             "encoder.layers.0.feedforward.outer has 131072 columns, int8 sums hold at most 131071");
        tfm_decoder_free(d);
        tfm_model_free(m);
    }
}
END_TEST

START_TEST(an_unknown_type_is_refused)
{
    tfm_model *m = form_make(0);
    tfm_decoder_options o = decoder_options(1);
    tfm_decoder *d = NULL;

    o.dtype = DTYPES;
    ck_assert_status(tfm_decoder_create(&d, m, &o, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "dtype is 3, not in 0..2");
    ck_assert_ptr_null(d);
    tfm_model_free(m);
}
END_TEST

typedef struct creator {
    pthread_t thread;
    const tfm_model *model;
    uint32_t dtype;
    tfm_ids sentence;
    double score;
} creator;

static void *create_and_translate(void *arg)
{
    creator *c = arg;
    tfm_decoder_options o = decoder_options(2);
    tfm_decoder *d;

    o.dtype = c->dtype;
    o.n_threads = 2;
    if (tfm_decoder_create(&d, c->model, &o, NULL) != TFM_OK) return NULL;
    if (tfm_decoder_translate_ids(d, &c->sentence, 1, NULL) == TFM_OK) c->score = tfm_decoder_score(d, 0, 0);
    tfm_decoder_free(d);
    return NULL;
}

START_TEST(decoders_are_created_by_many_threads_at_once)
{
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    for (int round = 0; round < 10; round++) {
        tfm_model *m = form_make(round % 2);
        creator c[CREATORS];
        for (uint32_t i = 0; i < CREATORS; i++) {
            c[i] = (creator){.model = m, .dtype = i % 2 ? TFM_DTYPE_INT8 : TFM_DTYPE_F32, .sentence = sentences[0]};
            ck_assert_int_eq(pthread_create(&c[i].thread, NULL, create_and_translate, &c[i]), 0);
        }
        for (int i = 0; i < CREATORS; i++) ck_assert_int_eq(pthread_join(c[i].thread, NULL), 0);
        ck_assert(c[0].score < 0.0 && c[0].score == c[2].score && c[1].score < 0.0 && c[1].score == c[3].score);
        tfm_model_free(m);
    }
}
END_TEST

typedef struct visitors {
    atomic_int inside, met, calls;
} visitors;

/* Slow enough that two threads meet in it, unless something keeps them apart. */
static void *slow_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    visitors *v = user;
    const tfm_allocator plain = tfm_allocator_or_default(NULL);

    atomic_fetch_add(&v->calls, 1);
    if (atomic_fetch_add(&v->inside, 1)) atomic_fetch_add(&v->met, 1);
    usleep(2000);
    void *now = plain.resize(plain.user, block, old_size, new_size);
    atomic_fetch_sub(&v->inside, 1);
    return now;
}

START_TEST(weights_are_packed_once_by_one_thread)
{
    visitors v = {0};
    const tfm_allocator slow = {slow_resize, &v};
    tfm_model_options o = small_options();
    const int32_t ids[] = {5, 6, 7};
    creator creators[CREATORS];
    tfm_model *m;

    o.allocator = &slow;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    for (size_t i = 0; i < CREATORS; i++) {
        creators[i] = (creator){.model = m, .dtype = (uint32_t)i % 2, .sentence = {ids, 3}, .score = NAN};
        ck_assert_int_eq(pthread_create(&creators[i].thread, NULL, create_and_translate, &creators[i]), 0);
    }
    for (size_t i = 0; i < CREATORS; i++) pthread_join(creators[i].thread, NULL);
    for (size_t i = 0; i < CREATORS; i++) ck_assert(creators[i].score == creators[i % 2].score);
    ck_assert_int_eq(atomic_load(&v.met), 0);
    const int calls = atomic_load(&v.calls);
    create_and_translate(&creators[0]);
    ck_assert_int_eq(atomic_load(&v.calls), calls);
    tfm_model_free(m);
}
END_TEST

/* 25 MB of weights: those of the file leave memory when they are packed. */
START_TEST(a_mapped_model_is_in_memory_once)
{
    char folder[TESTING_PATH], path[TESTING_PATH];
    tfm_model_options o = small_options();
    tfm_decoder_options d_options = decoder_options(1);
    tfm_model *m;

    o.vocab_size = 20000;
    o.d_model = 304;
    ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
    ck_assert_ok(tfm_model_save(m, path_join(path, temp_make(folder), "model"), &error), error);
    tfm_model_free(m);
    const size_t before = resident_file_bytes();
    ck_assert_ok(tfm_model_load(&m, path, NULL, &error), error);
    ck_assert_uint_le(resident_file_bytes(), before + (3 << 20)); /* its checksum has read it all */
    for (d_options.dtype = 0; d_options.dtype < DTYPES; d_options.dtype++) {
        tfm_decoder_free(decoder_of(m, &d_options));
        ck_assert_uint_le(resident_file_bytes(), before + (3 << 20));
    }
    tfm_model_free(m);
    temp_remove(folder);
}
END_TEST

/* The model's allocator fails while a decoder packs: nothing is kept, and the next attempt packs. */
START_TEST(packing_without_memory)
{
    for (uint32_t dtype = 0; dtype < DTYPES; dtype++) {
        faulty f = {.fail_at = SIZE_MAX};
        const tfm_allocator a = faulty_allocator(&f);
        tfm_model_options o = small_options();
        tfm_decoder_options d_options = decoder_options(1);
        tfm_status status = TFM_E_NOMEM;
        tfm_decoder *d;
        tfm_model *m;
        size_t n = 0;
        o.allocator = &a;
        d_options.dtype = dtype;
        ck_assert_ok(tfm_model_create(&m, &o, NULL, &error), error);
        const size_t live = f.live;
        for (; status != TFM_OK; n++) {
            f.fail_at = f.calls + n;
            status = tfm_decoder_create(&d, m, &d_options, &error);
            if (status == TFM_OK) break;
            ck_assert_status(status, TFM_E_NOMEM, error);
            ck_assert_uint_eq(f.live, live);
        }
        ck_assert_uint_ge(n, 6);
        tfm_decoder_free(d);
        ck_assert_uint_gt(f.live, live); /* the model keeps its panels */
        tfm_model_free(m);
        ck_assert_uint_eq(f.live, 0);
    }
}
END_TEST

static Suite *packed_suite(void)
{
    Suite *suite = suite_create("packed");
    TCase *tc = tcase_create("packed");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, float32_packed_or_not_gives_the_same_bits);
    tcase_add_test(tc, each_type_gives_the_same_bits_in_any_batch_and_on_any_threads);
    tcase_add_test(tc, rounded_types_are_near_and_not_equal);
    tcase_add_test(tc, decoders_of_a_type_share_its_weights);
    tcase_add_test(tc, int8_rows_have_a_greatest_length);
    tcase_add_test(tc, an_unknown_type_is_refused);
    tcase_add_test(tc, decoders_are_created_by_many_threads_at_once);
    tcase_add_test(tc, weights_are_packed_once_by_one_thread);
    tcase_add_test(tc, a_mapped_model_is_in_memory_once);
    tcase_add_test(tc, packing_without_memory);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(packed_suite)
