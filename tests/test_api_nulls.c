/* NULL arguments to every public function, silence, signal handlers left alone, messages of one line. */
#include "api_models.h"

#include <fcntl.h>
#include <signal.h>

/* ---------------------------------------------------------------------------------------- nothing but NULLs ---- */

#define REFUSED(call) ck_assert_msg((call) == TFM_E_INVALID, "%s is not refused", #call)

static void null_tokenizers(void)
{
    tfm_tokenizer *t = tokenizer_make(), *none;
    tfm_tokenizer_options o;
    const tfm_text line = LINE("a"), missing = {NULL, 5};
    float score;
    size_t n;

    tfm_tokenizer_options_init(&o, sizeof o);
    tfm_tokenizer_free(NULL);
    REFUSED(tfm_tokenizer_learn(NULL, &o, &line, 1, NULL));
    REFUSED(tfm_tokenizer_learn(&none, NULL, &line, 1, NULL));
    REFUSED(tfm_tokenizer_learn(&none, &o, NULL, 1, NULL));
    REFUSED(tfm_tokenizer_learn(&none, &o, &missing, 1, NULL));
    REFUSED(tfm_tokenizer_load(NULL, path, NULL, NULL));
    REFUSED(tfm_tokenizer_load(&none, NULL, NULL, NULL));
    REFUSED(tfm_tokenizer_import(NULL, path, &line, 1, NULL, NULL));
    REFUSED(tfm_tokenizer_import(&none, NULL, &line, 1, NULL, NULL));
    REFUSED(tfm_tokenizer_import(&none, path, NULL, 1, NULL, NULL));
    REFUSED(tfm_tokenizer_restrict(NULL, t, NULL, 0, NULL, 0, NULL, NULL));
    REFUSED(tfm_tokenizer_restrict(&none, NULL, NULL, 0, NULL, 0, NULL, NULL));
    REFUSED(tfm_tokenizer_restrict(&none, t, NULL, 0, NULL, 1, NULL, NULL));
    REFUSED(tfm_tokenizer_pair(NULL, t, t, NULL, NULL));
    REFUSED(tfm_tokenizer_pair(&none, NULL, t, NULL, NULL));
    REFUSED(tfm_tokenizer_pair(&none, t, NULL, NULL, NULL));
    REFUSED(tfm_tokenizer_renumber(NULL, t, path, NULL, NULL));
    REFUSED(tfm_tokenizer_renumber(&none, NULL, path, NULL, NULL));
    REFUSED(tfm_tokenizer_renumber(&none, t, NULL, NULL, NULL));
    ck_assert_ptr_null(tfm_tokenizer_target(NULL));
    REFUSED(tfm_tokenizer_keep_case(NULL, t, NULL, NULL));
    REFUSED(tfm_tokenizer_keep_case(&none, NULL, NULL, NULL));
    REFUSED(tfm_tokenizer_keep_case(&none, t, NULL, NULL)); /* of another kind */
    REFUSED(tfm_tokenizer_save(NULL, path, NULL));
    REFUSED(tfm_tokenizer_save(t, NULL, NULL));
    REFUSED(tfm_tokenizer_export(NULL, path, NULL));
    REFUSED(tfm_tokenizer_export(t, NULL, NULL));
    REFUSED(tfm_tokenizer_encode(NULL, 0, &n, NULL, line, NULL));
    REFUSED(tfm_tokenizer_encode(NULL, 0, NULL, t, line, NULL));
    REFUSED(tfm_tokenizer_encode_dropout(NULL, 0, &n, NULL, line, 0.1f, 0, 0, NULL));
    REFUSED(tfm_tokenizer_encode_dropout(NULL, 0, NULL, t, line, 0.1f, 0, 0, NULL));
    REFUSED(tfm_tokenizer_segment_dropout(NULL, 4, &n, t, line, 0.1f, 0, 0, NULL));
    REFUSED(tfm_tokenizer_encode(NULL, 4, &n, t, line, NULL));
    REFUSED(tfm_tokenizer_encode(NULL, 0, &n, t, missing, NULL));
    REFUSED(tfm_tokenizer_decode(NULL, 0, &n, NULL, (tfm_ids){NULL, 0}, NULL));
    REFUSED(tfm_tokenizer_decode(NULL, 0, &n, t, (tfm_ids){NULL, 3}, NULL));
    REFUSED(tfm_tokenizer_decode(NULL, 0, NULL, t, (tfm_ids){NULL, 0}, NULL));
    REFUSED(tfm_tokenizer_segment(NULL, 0, &n, NULL, line, NULL));
    REFUSED(tfm_tokenizer_segment(NULL, 0, NULL, t, line, NULL));
    REFUSED(tfm_tokenizer_segment(NULL, 0, &n, t, missing, NULL));
    REFUSED(tfm_tokenizer_normalize(NULL, 0, &n, NULL, line, NULL));
    REFUSED(tfm_tokenizer_normalize(NULL, 0, NULL, t, line, NULL));
    REFUSED(tfm_tokenizer_normalize(NULL, 0, &n, t, missing, NULL));
    REFUSED(tfm_tokenizer_nbest(NULL, 0, &n, &n, &score, &n, NULL, line, NULL));
    REFUSED(tfm_tokenizer_nbest(NULL, 0, NULL, &n, &score, &n, t, line, NULL));
    REFUSED(tfm_tokenizer_nbest(NULL, 0, &n, NULL, &score, &n, t, line, NULL));
    REFUSED(tfm_tokenizer_nbest(NULL, 0, &n, &n, NULL, &n, t, line, NULL));
    REFUSED(tfm_tokenizer_nbest(NULL, 0, &n, &n, &score, NULL, t, line, NULL));
    REFUSED(tfm_pretokenize(NULL, 0, NULL, NULL, line, NULL));
    REFUSED(tfm_pretokenize(NULL, 1, &n, NULL, line, NULL));
    REFUSED(tfm_pretokenize(NULL, 0, &n, NULL, missing, NULL));
    REFUSED(tfm_detokenize(NULL, 0, NULL, NULL, line, NULL));
    REFUSED(tfm_detokenize(NULL, 1, &n, NULL, line, NULL));
    REFUSED(tfm_detokenize(NULL, 0, &n, NULL, missing, NULL));
    tfm_tokenizer_special(NULL, t);
    ck_assert_uint_eq(tfm_tokenizer_vocab_size(NULL), 0);
    tfm_tokenizer_kind(NULL);
    ck_assert_uint_eq(tfm_tokenizer_token(NULL, 0).size, 0);
    ck_assert_int_eq(tfm_tokenizer_id(NULL, line), TFM_UNK);
    ck_assert_int_eq(tfm_tokenizer_id(t, (tfm_text){NULL, 0}), TFM_UNK);
    ck_assert_uint_eq(tfm_utf8_check((tfm_text){NULL, 0}), SIZE_MAX);
    tfm_utf8_repair(NULL, 0, &n, (tfm_text){NULL, 0});
    tfm_utf8_repair(NULL, 0, NULL, line);
    tfm_tokenizer_free(t);
}

static void null_models(void)
{
    tfm_model_options o;
    tfm_model_costs costs;
    tfm_parameter p;
    tfm_model *none;

    tfm_model_get_options(&o, sizeof o, model);
    tfm_model_get_options(NULL, sizeof o, model);
    tfm_model_get_options(&o, sizeof o, NULL);
    tfm_model_free(NULL);
    REFUSED(tfm_model_options_preset(NULL, "tiny", NULL));
    REFUSED(tfm_model_options_preset(&o, NULL, NULL));
    REFUSED(tfm_model_options_set(NULL, "d_k", "1", NULL));
    REFUSED(tfm_model_options_set(&o, NULL, "1", NULL));
    REFUSED(tfm_model_options_set(&o, "d_k", NULL, NULL));
    REFUSED(tfm_model_options_costs(NULL, sizeof costs, &o, 1, 1, NULL));
    REFUSED(tfm_model_options_costs(&costs, sizeof costs, NULL, 1, 1, NULL));
    REFUSED(tfm_model_create(NULL, &o, NULL, NULL));
    REFUSED(tfm_model_create(&none, NULL, NULL, NULL));
    REFUSED(tfm_model_create_from(NULL, &o, NULL, &p, 1, NULL));
    REFUSED(tfm_model_create_from(&none, NULL, NULL, &p, 1, NULL));
    REFUSED(tfm_model_create_from(&none, &o, NULL, NULL, 1, NULL));
    REFUSED(tfm_model_load(NULL, path, NULL, NULL));
    REFUSED(tfm_model_load(&none, NULL, NULL, NULL));
    REFUSED(tfm_model_save(NULL, path, NULL));
    REFUSED(tfm_model_save(model, NULL, NULL));
    REFUSED(tfm_model_save_as(NULL, path, TFM_DTYPE_INT8, NULL));
    REFUSED(tfm_model_save_as(model, NULL, TFM_DTYPE_INT8, NULL));
    REFUSED(tfm_model_export(NULL, path, TFM_EXPORT_MARIAN, NULL));
    REFUSED(tfm_model_export(model, NULL, TFM_EXPORT_MARIAN, NULL));
    REFUSED(tfm_model_export(model, path, 0, NULL));
    ck_assert_uint_eq(tfm_model_dtype(NULL), TFM_DTYPE_F32);
    REFUSED(tfm_model_average(NULL, (const tfm_model *const *)&model, 1, NULL));
    REFUSED(tfm_model_average(&none, NULL, 1, NULL));
    REFUSED(tfm_model_parameter_at(&p, NULL, 0, NULL));
    REFUSED(tfm_model_parameter_at(NULL, model, 0, NULL));
    REFUSED(tfm_model_parameter_named(&p, NULL, "x", NULL));
    REFUSED(tfm_model_parameter_named(&p, model, NULL, NULL));
    REFUSED(tfm_model_parameter_named(NULL, model, "embedding.weight", NULL));
    ck_assert_uint_eq(tfm_model_parameter_count(NULL), 0);
    ck_assert_ptr_null(tfm_model_tokenizer(NULL));
}

static void null_trainers(void)
{
    const tfm_text line = LINE("a"), missing = {NULL, 5};
    const tfm_ids ids = {(int32_t[]){4, 1}, 2};
    tfm_trainer *t = trainer_make(), *none;
    tfm_trainer_options o;
    tfm_model *copy;

    tfm_trainer_options_init(&o, sizeof o);
    tfm_trainer_free(NULL);
    REFUSED(tfm_trainer_create(NULL, model, &o, NULL));
    REFUSED(tfm_trainer_create(&none, NULL, &o, NULL));
    REFUSED(tfm_trainer_create(&none, model, NULL, NULL));
    REFUSED(tfm_trainer_resume(NULL, path, &o, NULL));
    REFUSED(tfm_trainer_resume(&none, NULL, &o, NULL));
    REFUSED(tfm_trainer_resume(&none, path, NULL, NULL));
    REFUSED(tfm_trainer_set_data(NULL, &line, &line, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data(t, NULL, &line, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data(t, &line, NULL, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data(t, &line, &missing, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data_ids(NULL, &ids, &ids, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data_ids(t, NULL, &ids, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_data_ids(t, &ids, NULL, 1, NULL, 0, NULL));
    REFUSED(tfm_trainer_set_valid(NULL, &line, &line, 1, NULL));
    REFUSED(tfm_trainer_set_valid(t, NULL, &line, 1, NULL));
    REFUSED(tfm_trainer_set_valid(t, &line, NULL, 1, NULL));
    REFUSED(tfm_trainer_step(NULL, NULL, 0, NULL));
    REFUSED(tfm_trainer_run(NULL, NULL));
    REFUSED(tfm_trainer_save(NULL, path, NULL));
    REFUSED(tfm_trainer_save(t, NULL, NULL));
    REFUSED(tfm_trainer_model(&copy, NULL, NULL));
    REFUSED(tfm_trainer_model(NULL, t, NULL));
    tfm_trainer_free(t);
}

static void null_mathematics(void)
{
    const tfm_text *refs = lines_of_text, missing = {NULL, 4};
    tfm_bleu_result r;
    tfm_parseval_result p;
    tfm_comparison c;

    REFUSED(tfm_parseval(NULL, sizeof p, NULL, lines_of_text, lines_of_text, 3, NULL, NULL));
    REFUSED(tfm_parseval(&p, sizeof p, NULL, NULL, lines_of_text, 3, NULL, NULL));
    REFUSED(tfm_parseval(&p, sizeof p, NULL, lines_of_text, NULL, 3, NULL, NULL));
    REFUSED(tfm_parseval(&p, sizeof p, NULL, lines_of_text, &missing, 1, NULL, NULL));
    REFUSED(tfm_chrf(NULL, sizeof r, lines_of_text, 3, &refs, 1, NULL, NULL));
    REFUSED(tfm_ter(NULL, sizeof r, lines_of_text, 3, &refs, 1, NULL, NULL));
    REFUSED(tfm_compare(NULL, sizeof r, lines_of_text, lines_of_text, 3, &refs, 1, TFM_METRIC_BLEU, NULL, 2, 1, NULL));
    REFUSED(tfm_compare(&c, sizeof c, NULL, lines_of_text, 3, &refs, 1, TFM_METRIC_BLEU, NULL, 2, 1, NULL));
    REFUSED(tfm_compare(&c, sizeof c, lines_of_text, NULL, 3, &refs, 1, TFM_METRIC_BLEU, NULL, 2, 1, NULL));
    REFUSED(tfm_compare(&c, sizeof c, lines_of_text, lines_of_text, 3, NULL, 1, TFM_METRIC_BLEU, NULL, 2, 1, NULL));
    REFUSED(tfm_bleu(NULL, sizeof r, lines_of_text, 3, &refs, 1, NULL, NULL));
    REFUSED(tfm_bleu(&r, sizeof r, NULL, 3, &refs, 1, NULL, NULL));
    REFUSED(tfm_bleu(&r, sizeof r, lines_of_text, 3, NULL, 1, NULL, NULL));
    REFUSED(tfm_bleu(&r, sizeof r, &missing, 1, &refs, 1, NULL, NULL));
    refs = NULL;
    REFUSED(tfm_bleu(&r, sizeof r, lines_of_text, 3, &refs, 1, NULL, NULL));
    tfm_tokenizer_options_init(NULL, sizeof(tfm_tokenizer_options));
    tfm_pretokenize_options_init(NULL, sizeof(tfm_pretokenize_options));
    tfm_model_options_init(NULL, sizeof(tfm_model_options));
    tfm_decoder_options_init(NULL, sizeof(tfm_decoder_options));
    tfm_trainer_options_init(NULL, sizeof(tfm_trainer_options));
    tfm_attention_options_init(NULL, sizeof(tfm_attention_options));
    tfm_bleu_options_init(NULL, sizeof(tfm_bleu_options));
    tfm_chrf_options_init(NULL, sizeof(tfm_chrf_options));
    tfm_ter_options_init(NULL, sizeof(tfm_ter_options));
    tfm_parseval_options_init(NULL, sizeof(tfm_parseval_options));
    tfm_measure_options_init(NULL, sizeof(tfm_measure_options));
    REFUSED(tfm_measure_product(NULL, 0, 1, 1, 1, NULL, NULL));
}

/* A handle of each kind does its work, on two threads. */
static void use_everything(void)
{
    const tfm_text *refs = lines_of_text;
    tfm_trainer *t = trainer_make();
    tfm_decoder_options o;
    tfm_bleu_result r;
    tfm_model *trained;
    tfm_decoder *d;
    tfm_text hyps[3];

    tfm_decoder_options_init(&o, sizeof o);
    o.n_threads = 2;
    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_step(t, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    ck_assert_ok(tfm_model_load(&trained, path, NULL, &error), error);
    ck_assert_ok(tfm_decoder_create(&d, trained, &o, &error), error);
    ck_assert_ok(tfm_decoder_translate(d, lines_of_text, 3, &error), error);
    for (size_t i = 0; i < 3; i++) hyps[i] = tfm_decoder_text(d, i, 0);
    ck_assert_ok(tfm_bleu(&r, sizeof r, hyps, 3, &refs, 1, NULL, &error), error);
    tfm_decoder_free(d);
    tfm_model_free(trained);
    tfm_trainer_free(t);
}

START_TEST(c34_null_arguments_and_work_in_silence)
{
    char name[TESTING_PATH];
    struct stat status;

    fflush(NULL);
    const int file = open(path_join(name, folder, "out"), O_CREAT | O_RDWR, 0600), out = dup(1), err = dup(2);
    dup2(file, 1);
    dup2(file, 2);
    null_tokenizers();
    null_models();
    null_trainers();
    null_mathematics();
    use_everything();
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    ck_assert_int_eq(fstat(file, &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    close(file);
}
END_TEST

START_TEST(c35_signal_handlers_stay)
{
    struct sigaction before[65], after;
    sigset_t mask, mask_after;

    signal(SIGINT, SIG_IGN);
    for (int s = 1; s <= 64; s++) sigaction(s, NULL, &before[s]);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    use_everything();
    for (int s = 1; s <= 64; s++)
        if (!sigaction(s, NULL, &after)) ck_assert(after.sa_handler == before[s].sa_handler);
    sigprocmask(SIG_SETMASK, NULL, &mask_after);
    for (int s = 1; s <= 64; s++) ck_assert_int_eq(sigismember(&mask, s), sigismember(&mask_after, s));
}
END_TEST

START_TEST(errors_are_one_terminated_line)
{
    tfm_error e;
    tfm_model *none;
    char name[3000];

    memset(&e, 0x7f, sizeof e);
    memset(name, 'x', sizeof name - 1);
    name[7] = '\n';
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(tfm_model_load(&none, name, NULL, &e), TFM_E_IO);
    ck_assert_int_eq(e.status, TFM_E_IO);
    ck_assert_ptr_nonnull(memchr(e.message, '\0', sizeof e.message));
    ck_assert_ptr_null(strchr(e.message, '\n'));
    ck_assert_uint_eq(sizeof e, 256);
    ck_assert_ok(tfm_model_save(model, path, &e), e);
    ck_assert_int_eq(e.status, TFM_E_IO); /* written on failure only */
}
END_TEST

static Suite *api_nulls_suite(void)
{
    Suite *suite = suite_create("api_nulls");
    TCase *tc = tcase_create("api_nulls");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, c34_null_arguments_and_work_in_silence);
    tcase_add_test(tc, c35_signal_handlers_stay);
    tcase_add_test(tc, errors_are_one_terminated_line);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(api_nulls_suite)
