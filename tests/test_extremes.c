/* The smallest and the largest that the options allow, and rows without content: finite numbers, or an error. */
#include "training_models.h"

#include <math.h>

enum { VOCAB = 4, LONGEST = 4096 };

static void require_finite(const tfm_training *t)
{
    for (size_t i = 0; i < t->weights.size; i++)
        ck_assert_msg(isfinite(t->w[i]) && isfinite(t->m[i]) && isfinite(t->v[i]), "element %zu: %g %g %g", i,
                      (double)t->w[i], (double)t->m[i], (double)t->v[i]);
}

static void add_pair(pairs *p, size_t n_source, size_t n_target, uint32_t vocab)
{
    uint64_t state = p->n + 1;

    p->sources[p->n] = vocab > 4 ? ids_random(p, n_source, vocab, &state) : (tfm_ids){p->ids + p->used, n_source};
    if (vocab <= 4) {
        for (size_t i = 0; i < n_source; i++) p->ids[p->used++] = i + 1 < n_source ? TFM_UNK : TFM_EOS;
    }
    p->targets[p->n] = (tfm_ids){p->ids + p->used, n_target};
    for (size_t i = 0; i < n_target; i++) p->ids[p->used++] = i + 1 < n_target ? (int32_t)(vocab - 1) : TFM_EOS;
    p->n++;
}

/* Some steps, then a translation and a score, of which every number must be one. */
static void train_and_translate(const tfm_model_options *mo, const pairs *data, size_t n_steps, uint32_t dtype)
{
    tfm_trainer_options o = trainer_options();
    tfm_decoder_options d_options = decoder_options(3);
    tfm_model *first, *trained;
    size_t n_tokens;

    o.max_length = LONGEST;
    o.batch_tokens = LONGEST;
    o.dropout = 0.1f;
    ck_assert_ok(tfm_model_create(&first, mo, NULL, &error), error);
    tfm_trainer *t = trainer_of(first, &o, data);
    for (size_t i = 0; i < n_steps; i++) {
        const tfm_progress p = step_once(t);
        ck_assert_msg(isfinite(p.loss) && isfinite(p.gradient_norm), "loss %g, norm %g", p.loss, p.gradient_norm);
        ck_assert_uint_eq(p.skipped, 0);
    }
    require_finite(&t->training);
    ck_assert_ok(tfm_trainer_model(&trained, t, &error), error);
    d_options.max_length = 5;
    d_options.dtype = dtype;
    tfm_decoder *d = decoder_of(trained, &d_options);
    ck_assert_ok(tfm_decoder_translate_ids(d, data->sources, 1, &error), error);
    ck_assert(isfinite(tfm_decoder_score(d, 0, 0)));
    ck_assert_ok(tfm_decoder_logprobs_ids(d, data->sources, data->targets, 1, &error), error);
    const float *logprobs = tfm_decoder_token_logprobs(d, 0, &n_tokens);
    ck_assert_uint_eq(n_tokens, data->targets[0].size);
    for (size_t i = 0; i < n_tokens; i++) ck_assert(isfinite(logprobs[i]) && logprobs[i] <= 0.0f);
    tfm_decoder_free(d);
    tfm_model_free(trained);
    tfm_trainer_free(t);
    tfm_model_free(first);
}

static tfm_model_options tiny_options(uint32_t width)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = width;
    o.n_heads = 1;
    o.vocab_size = VOCAB;
    return o;
}

/* All form options at widths 1 to 3, sequences of EOS alone, a vocabulary of nothing but the reserved ids. */
START_TEST(the_smallest_model)
{
    pairs data;

    pairs_begin(&data, 64);
    add_pair(&data, 1, 1, VOCAB);
    add_pair(&data, 2, 3, VOCAB);
    for (uint32_t width = 1; width <= 3; width++)
        for (uint32_t positions = 0; positions <= TFM_POSITIONS_LEARNED; positions++)
            for (uint32_t order = 0; order <= TFM_PRE_NORM; order++) {
                tfm_model_options o = tiny_options(width);
                o.positions = positions;
                o.norm_order = order;
                o.sharing = positions;
                o.max_positions = 64;
                train_and_translate(&o, &data, 4, (uint32_t)_i);
            }
    pairs_free(&data);
}
END_TEST

START_TEST(a_vocabulary_without_room_for_the_reserved_ids_is_refused)
{
    tfm_model_options o = tiny_options(4);
    tfm_model *m;

    o.vocab_size = 2;
    ck_assert_status(tfm_model_create(&m, &o, NULL, &error), TFM_E_INVALID, error);
    ck_assert_str_eq(error.message, "vocab_size is 2, not in 4..16777216");
}
END_TEST

/* The longest source that a decoder takes by default, and a target as long: no table ends before. */
START_TEST(the_longest_sequences)
{
    tfm_model_options o = tiny_options(8);
    pairs data;

    o.vocab_size = 11;
    pairs_begin(&data, 4 * LONGEST + 8);
    add_pair(&data, LONGEST, LONGEST, o.vocab_size);
    add_pair(&data, 1, 1, o.vocab_size);
    add_pair(&data, LONGEST, 1, o.vocab_size);
    train_and_translate(&o, &data, 2, TFM_DTYPE_F32);
    pairs_free(&data);
}
END_TEST

START_TEST(a_hundred_layers)
{
    tfm_model_options o = tiny_options(16);
    pairs data;

    o.n_encoder_layers = o.n_decoder_layers = 100;
    o.n_heads = 2;
    o.vocab_size = 20;
    o.norm_order = (uint32_t)_i;
    pairs_begin(&data, 64);
    add_pair(&data, 7, 5, o.vocab_size);
    add_pair(&data, 1, 9, o.vocab_size);
    train_and_translate(&o, &data, 3, TFM_DTYPE_F32);
    pairs_free(&data);
}
END_TEST

/* ------------------------------------------------------------------------------------------ rows of nothing ---- */

/* An empty source beside others: the target is scored without memory to attend to, the others as if alone. */
START_TEST(c20_an_empty_row_of_a_batch_is_defined)
{
    static const int32_t target[] = {5, 6, TFM_EOS};
    const tfm_ids sources[] = {{target, 3}, {NULL, 0}, {target + 1, 2}};
    const tfm_ids targets[] = {{target, 3}, {target, 3}, {target, 3}};
    const tfm_decoder_options o = decoder_options(2);
    tfm_model *m = model_make();
    tfm_decoder *together = decoder_of(m, &o), *alone = decoder_of(m, &o);

    const tfm_status status = tfm_decoder_logprobs_ids(together, sources, targets, 3, &error);
    ck_assert_ok(status, error);
    for (size_t i = 0; i < 3; i++) {
        const double sum = tfm_decoder_pair_logprob(together, i);
        ck_assert_ok(tfm_decoder_logprobs_ids(alone, &sources[i], &targets[i], 1, &error), error);
        ck_assert(isfinite(sum) && sum < 0.0);
        ck_assert_double_eq(sum, tfm_decoder_pair_logprob(alone, 0));
    }
    tfm_decoder_free(together);
    tfm_decoder_free(alone);
    tfm_model_free(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("extremes");
    TCase *c = tcase_create("extremes");

    tcase_add_loop_test(c, the_smallest_model, 0, TFM_DTYPE_INT8 + 1);
    tcase_add_test(c, a_vocabulary_without_room_for_the_reserved_ids_is_refused);
    tcase_add_test(c, the_longest_sequences);
    tcase_add_loop_test(c, a_hundred_layers, 0, 2);
    tcase_add_test(c, c20_an_empty_row_of_a_batch_is_defined);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
