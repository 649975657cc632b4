/* Batches: a translation does not depend, not in one bit, on its batch, its place in it, or the number of threads. */
#include "decoder_models.h"

enum { MANY = 500, MOST_TOKENS = 12, VOCAB = 1100 };

static int32_t many_words[MANY * MOST_TOKENS];
static tfm_ids many[MANY];

static void make_many(void)
{
    uint64_t h = 3;
    int32_t *at = many_words;

    for (size_t i = 0; i < MANY; i++) {
        h = h * 6364136223846793005u + 1442695040888963407u;
        many[i] = (tfm_ids){at, 1 + (h >> 33) % MOST_TOKENS};
        for (size_t j = 0; j < many[i].size; j++) {
            h = h * 6364136223846793005u + 1442695040888963407u;
            *at++ = j + 1 == many[i].size ? TFM_EOS : 3 + (int32_t)((h >> 33) % (VOCAB - 3));
        }
    }
}

/* More tokens than a strip of logits has; heads as wide as the fast ways of attention want them. */
static tfm_model *many_words_model(void)
{
    tfm_model_options o = small_options();

    o.vocab_size = VOCAB;
    o.d_model = 8;
    o.n_heads = 1;
    o.n_encoder_layers = 1;
    return model_changed(&o, NULL, sharpen);
}

static tfm_decoder_options many_options(uint32_t dtype)
{
    tfm_decoder_options o = decoder_options(3);

    o.dtype = dtype;
    o.n_best = 2;
    o.max_extra = 8;
    return o;
}

typedef struct result {
    int32_t ids[MOST_TOKENS + 8];
    size_t size;
    double score;
} result;

static result alone[MANY][2];

static void keep_alone(const tfm_model *model, uint32_t dtype)
{
    const tfm_decoder_options o = many_options(dtype);
    tfm_decoder *d = decoder_of(model, &o);

    for (size_t i = 0; i < MANY; i++) {
        ck_assert_ok(tfm_decoder_translate_ids(d, &many[i], 1, &error), error);
        for (size_t rank = 0; rank < 2; rank++) {
            const tfm_ids ids = tfm_decoder_ids(d, 0, rank);
            ck_assert_uint_le(ids.size, MOST_TOKENS + 8);
            alone[i][rank] = (result){.size = ids.size, .score = tfm_decoder_score(d, 0, rank)};
            if (ids.size) memcpy(alone[i][rank].ids, ids.data, ids.size * sizeof *ids.data);
        }
    }
    tfm_decoder_free(d);
}

static void check_as_alone(const tfm_decoder *d, size_t i, size_t sentence)
{
    for (size_t rank = 0; rank < 2; rank++) {
        const result *want = &alone[sentence][rank];
        const tfm_ids ids = tfm_decoder_ids(d, i, rank);
        const double score = tfm_decoder_score(d, i, rank);
        ck_assert_uint_eq(ids.size, want->size);
        if (ids.size) ck_assert_mem_eq(ids.data, want->ids, ids.size * sizeof *ids.data);
        ck_assert_mem_eq(&score, &want->score, sizeof score);
    }
}

START_TEST(c21_each_type_in_any_batch_order_and_number_of_threads)
{
    static const struct {
        uint32_t threads, batch_tokens;
        size_t batch, step; /* step: coprime to MANY */
    } ways[] = {{1, 4096, 7, 1}, {2, 4096, 64, 113}, {5, 4096, MANY, 37}, {2, 200, MANY, 1}, {1, 30, MANY, 499}};
    tfm_model *model = many_words_model();

    make_many();
    keep_alone(model, (uint32_t)_i);
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        tfm_decoder_options o = many_options((uint32_t)_i);
        tfm_ids batch[MANY];
        o.n_threads = ways[way].threads;
        o.batch_tokens = ways[way].batch_tokens;
        tfm_decoder *d = decoder_of(model, &o);
        for (size_t first = 0, n; first < MANY; first += n) {
            n = MANY - first < ways[way].batch ? MANY - first : ways[way].batch;
            for (size_t i = 0; i < n; i++) batch[i] = many[(first + i) * ways[way].step % MANY];
            ck_assert_ok(tfm_decoder_translate_ids(d, batch, n, &error), error);
            for (size_t i = 0; i < n; i++) check_as_alone(d, i, (first + i) * ways[way].step % MANY);
        }
        tfm_decoder_free(d);
    }
    tfm_model_free(model);
}
END_TEST

static uint64_t count_steps(const tfm_decoder *d)
{
    tfm_profile_entry e;

    for (size_t i = 0; i < tfm_decoder_profile_count(d); i++) {
        ck_assert_ok(tfm_decoder_profile_at(&e, sizeof e, d, i, &error), error);
        if (!strcmp(e.name, "decoder steps")) return e.calls;
    }
    ck_abort_msg("no steps");
}

/* Sentences of one length whose translations differ in theirs: fewer steps than when each batch waits for its longest.
 */
START_TEST(waiting_sentences_take_the_places_of_those_that_are_done)
{
    enum { N = 80, LENGTH = 6, PLACES = 8 };
    tfm_decoder_options o = decoder_options(3);
    tfm_model *model = model_make();
    int32_t ids[N + LENGTH];
    tfm_ids sentences[N];
    uint64_t steps = 0, waiting = 0, longest = 0;

    for (size_t i = 0; i < N + LENGTH; i++) ids[i] = 3 + (int32_t)(i * i * 7 % 50);
    for (size_t i = 0; i < N; i++) sentences[i] = (tfm_ids){ids + i, LENGTH};
    o.max_extra = 18; /* four times the source, as much as a batch has room for */
    o.batch_tokens = PLACES * LENGTH * o.beam;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sentences, N, &error), error);
    for (size_t i = 0; i < N; i++) {
        steps += tfm_decoder_steps(d, i);
        if (i % PLACES == 0) waiting += longest, longest = 0;
        if (tfm_decoder_steps(d, i) > longest) longest = tfm_decoder_steps(d, i);
    }
    waiting += longest;
    ck_assert_uint_gt(waiting * PLACES, steps * 5 / 4);
    ck_assert_uint_lt(count_steps(d), waiting);
    ck_assert_uint_le(count_steps(d), steps / PLACES * 9 / 8 + LENGTH + o.max_extra);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

static Suite *batches_suite(void)
{
    Suite *suite = suite_create("batches");
    TCase *tc = tcase_create("batches");

    tcase_add_loop_test(tc, c21_each_type_in_any_batch_order_and_number_of_threads, 0, TFM_DTYPE_INT8 + 1);
    tcase_add_test(tc, waiting_sentences_take_the_places_of_those_that_are_done);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(batches_suite)
