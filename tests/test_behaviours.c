/* What users of other systems had to report as bugs, as far as no test of a part is nearer; doc/reliability.md has the
 * list. */
#include "training_models.h"

static char folder[TESTING_PATH], path[TESTING_PATH];

static void setup(void)
{
    path_join(path, temp_make(folder), "file");
}

static void teardown(void)
{
    temp_remove(folder);
}

/* ----------------------------------------------------------------------------------------------- vocabularies ---- */

static void require_same_vocabulary(const tfm_tokenizer *a, const tfm_tokenizer *b)
{
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(a), tfm_tokenizer_vocab_size(b));
    for (int32_t id = 0; id < (int32_t)tfm_tokenizer_vocab_size(a); id++) {
        const tfm_text x = tfm_tokenizer_token(a, id), y = tfm_tokenizer_token(b, id);
        ck_assert_uint_eq(x.size, y.size);
        ck_assert_mem_eq(x.data, y.data, x.size);
    }
}

/* A word with two line ends of Unicode. */
#define BREAKS "a\xe2\x80\xa8z\xc2\x85z"

/* A model file holds its vocabulary whatever its tokens are: line ends of all kinds, blanks, NUL. */
START_TEST(c05_c11_a_model_keeps_any_token)
{
    static const tfm_text texts[] = {LINE(BREAKS " " BREAKS), LINE("x\ny\rz x\ny\rz \n \r \n \r"),
                                     LINE("\u00a0 \u00a0 \0q\0 \0q\0 \"\\\" \"\\\"")};
    tfm_tokenizer_options o;
    tfm_tokenizer *t;
    tfm_model *model, *again;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.kind = _i ? TFM_TOKENIZER_SUBWORD_NMT : TFM_TOKENIZER_BPE;
    o.vocab_size = 290;
    o.merges = 12;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, texts, 3, &error), error);
    if (_i) ck_assert_int_ne(tfm_tokenizer_id(t, (tfm_text)LINE(BREAKS)), TFM_UNK);
    tfm_model_options mo = small_options();
    mo.vocab_size = tfm_tokenizer_vocab_size(t);
    ck_assert_ok(tfm_model_create(&model, &mo, t, &error), error);
    ck_assert_ok(tfm_model_save(model, path, &error), error);
    ck_assert_ok(tfm_model_load(&again, path, NULL, &error), error);
    require_same_vocabulary(t, tfm_model_tokenizer(again));
    tfm_model_free(again);
    tfm_model_free(model);
    tfm_tokenizer_free(t);
}
END_TEST

/* No such file loads as a vocabulary of the few lines that a reader happened to understand. */
START_TEST(c11_vocabularies_of_other_forms_are_refused_with_their_line)
{
    static const struct {
        tfm_text bytes;
        const char *says;
    } cases[] = {
        {LINE("tfm-tokenizer 1 subword-nmt 6 tokens 0 merges\n<pad>\n<eos>\n<bos>\n<unk>\na 7\nb 5\n"), "line 6: "},
        {LINE("tfm-tokenizer 1 subword-nmt 6 tokens 0 merges\n<pad>\t0\n<eos>\t0\n<bos>\t0\n<unk>\t0\na\t7\nb\t5\n"),
         "line 2: "},
        {LINE("tfm-tokenizer 1 subword-nmt 5 tokens 0 merges\n<pad>\n<eos>\n<bos>\n<unk>\n \n"), "line 6: "},
    };
    tfm_tokenizer *t;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_write(path, cases[i].bytes.data, cases[i].bytes.size);
        ck_assert_status(tfm_tokenizer_load(&t, path, NULL, &error), TFM_E_FORMAT, error);
        ck_assert_msg(strstr(error.message, cases[i].says) != NULL, "%s", error.message);
    }
}
END_TEST

START_TEST(c11_ends_of_lines_of_another_system_change_nothing)
{
    static const tfm_text file = LINE(
        "tfm-tokenizer 1 subword-nmt 7 tokens 1 merges\r\n<pad>\r\n<eos>\r\n<bos>\r\n<unk>\r\na\r\n\\r\r\nb\r\na b\r\n");
    tfm_tokenizer *t;

    file_write(path, file.data, file.size);
    ck_assert_ok(tfm_tokenizer_load(&t, path, NULL, &error), error);
    ck_assert_int_eq(tfm_tokenizer_id(t, (tfm_text)LINE("a")), 4);
    ck_assert_int_eq(tfm_tokenizer_id(t, (tfm_text)LINE("\r")), 5);
    ck_assert_int_eq(tfm_tokenizer_id(t, (tfm_text)LINE("b")), 6);
    ck_assert_uint_eq(tfm_tokenizer_token(t, 6).size, 1);
    tfm_tokenizer_free(t);
}
END_TEST

/* ------------------------------------------------------------------------------------- logits that are known ---- */

enum { MANY_WORDS = 60000 };

/* A model whose logits are those given, whatever it reads: its last norm gives 1, the output matrix has the rest. */
static tfm_model *model_of_logits(const float *logits, uint32_t vocab)
{
    static const float zeros[MANY_WORDS], one[] = {1.0f};
    static tfm_parameter parameters[64];
    tfm_model_options o = small_options();
    tfm_model *random, *model;

    o.n_encoder_layers = o.n_decoder_layers = o.n_heads = o.d_model = o.d_ff = 1;
    o.vocab_size = vocab;
    o.norm_order = TFM_PRE_NORM;
    o.sharing = TFM_SHARE_NONE;
    o.softmax_bias = 0;
    ck_assert_ok(tfm_model_create(&random, &o, NULL, &error), error);
    const size_t n = tfm_model_parameter_count(random);
    ck_assert_uint_le(n, 64);
    for (size_t i = 0; i < n; i++) {
        tfm_parameter *p = &parameters[i];
        ck_assert_ok(tfm_model_parameter_at(p, random, i, &error), error);
        p->data = !strcmp(p->name, "output.weight") ? logits : !strcmp(p->name, "decoder.norm.bias") ? one : zeros;
    }
    ck_assert_ok(tfm_model_create_from(&model, &o, NULL, parameters, n, &error), error);
    tfm_model_free(random);
    return model;
}

/* log of the sum of exponentials, and sum, in double precision. */
static double exact_lse(const float *x, size_t n, double *sum)
{
    double all = 0.0;

    *sum = 0.0;
    for (size_t i = 0; i < n; i++) all += exp((double)x[i] - 15.0), *sum += (double)x[i];
    return log(all) + 15.0;
}

/* Logits in +-15 that bfloat16 holds exactly; id 0 and id 100 are words of a target like any other. */
START_TEST(c13_c14_loss_of_a_large_vocabulary)
{
    static const int32_t source[] = {5, TFM_EOS}, target[] = {100, TFM_PAD, MANY_WORDS - 1, 7, TFM_EOS};
    static float logits[MANY_WORDS];
    const tfm_ids from = {source, 2}, to = {target, 5};
    tfm_trainer_options o = trainer_options();
    double sum, nll = 0.0, loss = 0.0;
    uint64_t state = 3;

    for (size_t i = 0; i < MANY_WORDS; i++) logits[i] = (float)((int)(draw_bits(&state) % 481) - 240) / 16.0f;
    const double lse = exact_lse(logits, MANY_WORDS, &sum), eps = 0.1, all = MANY_WORDS * lse - sum;
    for (size_t i = 0; i < 5; i++) {
        const double one = lse - (double)logits[target[i]];
        nll += one / 5.0;
        loss += ((1.0 - eps) * one + eps / (MANY_WORDS - 1) * (all - one)) / 5.0;
    }
    tfm_model *model = model_of_logits(logits, MANY_WORDS);
    o.dtype = (uint32_t)_i;
    o.label_smoothing = (float)eps;
    tfm_trainer *t = trainer_of(model, &o, NULL);
    ck_assert_ok(tfm_trainer_set_data_ids(t, &from, &to, 1, NULL, 0, &error), error);
    const tfm_progress p = step_once(t);
    ck_assert_uint_eq(p.target_tokens, 5);
    ck_assert_double_eq_tol(p.nll, nll, 1e-5 * nll);
    ck_assert_double_eq_tol(p.loss, loss, 1e-5 * loss);
    tfm_trainer_free(t);
    tfm_model_free(model);
}
END_TEST

/* EOS has 99 % of the mass and may not come first: the others share all of it, and each is followed by EOS as it was.
 */
START_TEST(c27_what_min_length_forbids_leaves_its_mass_to_the_others)
{
    enum { VOCAB_OF_FEW = 40 };
    static const int32_t source[] = {5, TFM_EOS};
    const tfm_ids sources[] = {{source, 2}};
    tfm_decoder_options o = decoder_options(VOCAB_OF_FEW);
    float logits[VOCAB_OF_FEW];
    double sum, mass = 0.0;

    for (size_t i = 0; i < VOCAB_OF_FEW; i++) logits[i] = (float)(i * 7 % 11) / 8.0f;
    logits[TFM_EOS] = 9.0f;
    const double eos = 9.0 - exact_lse(logits, VOCAB_OF_FEW, &sum);
    ck_assert_double_ge(eos, log(0.99));
    tfm_model *model = model_of_logits(logits, VOCAB_OF_FEW);
    o.alpha = 0.0f;
    o.n_best = VOCAB_OF_FEW - 1;
    o.allow_special = 1; /* PAD and BOS keep their mass as the paper's code has it, whether or not they may come */
    o.min_length = o.max_length = 2;
    tfm_decoder *d = decoder_of(model, &o);
    ck_assert_ok(tfm_decoder_translate_ids(d, sources, 1, &error), error);
    ck_assert_uint_eq(tfm_decoder_count(d, 0), VOCAB_OF_FEW - 1);
    for (size_t rank = 0; rank < VOCAB_OF_FEW - 1; rank++) {
        const tfm_ids ids = tfm_decoder_ids(d, 0, rank);
        ck_assert_uint_eq(ids.size, 2);
        ck_assert(ids.data[0] != TFM_EOS && ids.data[1] == TFM_EOS);
        mass += exp(tfm_decoder_score(d, 0, rank) - eos);
    }
    ck_assert_double_eq_tol(log(mass), 0.0, 1e-5);
    tfm_decoder_free(d);
    tfm_model_free(model);
}
END_TEST

/* ------------------------------------------------------------------------------------------------- padding ---- */

static void spoil_padding(const tfm_parameter *p, float *to)
{
    sharpen(p, to);
    if (!strstr(p->name, "embedding")) return;
    for (size_t i = 0; i < p->shape[1]; i++) to[TFM_PAD * p->shape[1] + i] = 1e10f;
}

/* What PAD is embedded as reaches nothing: sentences of all lengths side by side have the results of the clean model.
 */
START_TEST(c21_the_embedding_of_padding_reaches_nothing)
{
    static tfm_ids sentences[SENTENCES];
    tfm_model_options mo = small_options();
    tfm_decoder_options o = decoder_options(3);

    mo.sharing = TFM_SHARE_NONE;
    o.dtype = (uint32_t)_i;
    sentences_make(sentences);
    tfm_model *clean = model_changed(&mo, NULL, sharpen), *spoilt = model_changed(&mo, NULL, spoil_padding);
    tfm_decoder *a = decoder_of(clean, &o), *b = decoder_of(spoilt, &o);
    ck_assert_ok(tfm_decoder_translate_ids(a, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(b, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) same_results(a, i, b, i);
    ck_assert_ok(tfm_decoder_logprobs_ids(a, sentences, sentences, SENTENCES, &error), error);
    ck_assert_ok(tfm_decoder_logprobs_ids(b, sentences, sentences, SENTENCES, &error), error);
    for (size_t i = 0; i < SENTENCES; i++) {
        const double x = tfm_decoder_pair_logprob(a, i), y = tfm_decoder_pair_logprob(b, i);
        ck_assert_mem_eq(&x, &y, sizeof x);
    }
    tfm_decoder_free(a);
    tfm_decoder_free(b);
    tfm_model_free(clean);
    tfm_model_free(spoilt);
}
END_TEST

static Suite *behaviours_suite(void)
{
    Suite *suite = suite_create("behaviours");
    TCase *tc = tcase_create("behaviours");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, c05_c11_a_model_keeps_any_token, 0, 2); /* each kind */
    tcase_add_test(tc, c11_vocabularies_of_other_forms_are_refused_with_their_line);
    tcase_add_test(tc, c11_ends_of_lines_of_another_system_change_nothing);
    tcase_add_loop_test(tc, c13_c14_loss_of_a_large_vocabulary, TFM_DTYPE_F32, TFM_DTYPE_BF16 + 1);
    tcase_add_test(tc, c27_what_min_length_forbids_leaves_its_mass_to_the_others);
    tcase_add_loop_test(tc, c21_the_embedding_of_padding_reaches_nothing, TFM_DTYPE_F32, TFM_DTYPE_INT8 + 1);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(behaviours_suite)
