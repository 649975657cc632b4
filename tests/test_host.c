/* What the host has set for itself changes no result, and stays as it was: arithmetic, locale, alignment. */
#include "answers.h"
#include "spm_file.h"

#include <fenv.h>
#include <locale.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* -------------------------------------------------------------------------------------------------- arithmetic ---- */

typedef enum mode { UPWARD, DOWNWARD, TO_ZERO, FLUSHED, TRAPPED, MODES } mode;

static void set_mode(mode m)
{
    static const int rounding[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

    if (m <= TO_ZERO) ck_assert_int_eq(fesetround(rounding[m]), 0);
#if defined(__SSE2__)
    if (m == FLUSHED) _mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, subnormals are zero */
#endif
#if defined(__GLIBC__)
    if (m == TRAPPED) feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
}

/* All that a thread's floating-point state holds. */
static void read_mode(unsigned char state[static sizeof(fenv_t)])
{
    fenv_t now;

    memset(&now, 0, sizeof now);
    fegetenv(&now);
    fesetenv(&now); /* reading masks the traps of some CPUs */
    memcpy(state, &now, sizeof now);
}

START_TEST(rounding_subnormals_and_traps_of_the_host_change_nothing)
{
    unsigned char before[sizeof(fenv_t)], after[sizeof(fenv_t)];
    const digest want = answers(model, 2);
    tfm_model *other;
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, model);
    o.allocator = NULL;
    set_mode((mode)_i);
    feclearexcept(FE_ALL_EXCEPT);
    read_mode(before);
    const digest got = answers(model, 2);
    const tfm_status status = tfm_model_create(&other, &o, tfm_model_tokenizer(model), &error);
    const digest created = answers(other, 1);
    read_mode(after);
    fesetenv(FE_DFL_ENV);
    ck_assert_mem_eq(before, after, sizeof before);
    ck_assert_ok(status, error);
    same_answers(got, want);
    same_answers(created, want); /* the random weights too */
    tfm_model_free(other);
}
END_TEST

/* Ids and scores of the best ways to cut a line of which many are equal but for the rounding. */
static digest near_ties(const tfm_tokenizer *t)
{
    const tfm_text line = LINE("aaaaaaaaaa");
    digest d = {.value = 1};
    int32_t ids[128];
    size_t ends[4], n_ids, n = 4;
    float scores[4];
    char text[128];

    if (!digest_ok(&d, tfm_tokenizer_encode(ids, 128, &n_ids, t, line, &d.error))) return d;
    digest_bytes(&d, ids, n_ids * sizeof *ids);
    if (!digest_ok(&d, tfm_tokenizer_segment(text, sizeof text, &n_ids, t, line, &d.error))) return d;
    digest_bytes(&d, text, n_ids);
    if (!digest_ok(&d, tfm_tokenizer_nbest(ids, 128, &n_ids, ends, scores, &n, t, line, &d.error))) return d;
    digest_bytes(&d, ids, n_ids * sizeof *ids);
    digest_bytes(&d, scores, n * sizeof *scores);
    return d;
}

START_TEST(text_is_cut_the_same_under_any_rounding)
{
    static const char *const pieces[] = {"\xE2\x96\x81", "a", "aa", "aaa"};
    static const float scores[] = {-0.1f, -0.3f, -0.6f, -0.9f};
    static spm_file f, trainer;
    tfm_tokenizer *t;

    spm_piece(&f, "<unk>", 0, 2);
    spm_piece(&f, "<s>", 0, 3);
    spm_piece(&f, "</s>", 0, 3);
    for (size_t i = 0; i < 4; i++) spm_piece(&f, pieces[i], scores[i], 1);
    spm_number(&trainer, 3, 1);
    spm_message(&f, 2, &trainer);
    file_write(path, f.bytes, f.size);
    ck_assert_ok(tfm_tokenizer_load(&t, path, NULL, &error), error);
    const digest want = near_ties(t);
    set_mode((mode)_i);
    const digest got = near_ties(t);
    fesetenv(FE_DFL_ENV);
    same_answers(got, want);
    tfm_tokenizer_free(t);
}
END_TEST

static int32_t note_rounding(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    *(int *)user = fegetround();
    return 0;
}

START_TEST(callbacks_run_in_the_state_of_the_library)
{
    tfm_decoder_options o;
    tfm_decoder *d;
    int rounding = -1;

    tfm_decoder_options_init(&o, sizeof o);
    o.progress = note_rounding;
    o.progress_user = &rounding;
    ck_assert_ok(tfm_decoder_create(&d, model, &o, &error), error);
    fesetround(FE_UPWARD);
    ck_assert_ok(tfm_decoder_translate(d, lines_of_text, 3, &error), error);
    ck_assert_int_eq(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    ck_assert_int_eq(rounding, FE_TONEAREST);
    tfm_decoder_free(d);
}
END_TEST

/* ------------------------------------------------------------------------------------------------------ locale ---- */

/* A locale whose decimal point is a comma: the system's, or one that is made here. */
static bool set_comma_locale(void)
{
    static const char source[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3\nEND LC_NUMERIC\n";
    char file[TESTING_PATH], command[4 * TESTING_PATH];

    if (setlocale(LC_ALL, "de_DE.UTF-8")) return true;
    file_write(path_join(file, folder, "comma.src"), source, sizeof source - 1);
    snprintf(command, sizeof command, "localedef -c -i '%s' '%s/comma' >'%s/log' 2>&1", file, folder, folder);
    if (system(command) == -1) return false;
    setenv("LOCPATH", folder, 1);
    return setlocale(LC_NUMERIC, "comma") != NULL;
}

/* Everything that passes through text: options, model files, checkpoints, signatures. */
static digest written_and_read(void)
{
    digest d = {.value = 1};
    tfm_model_options mo;
    tfm_trainer_options o;
    tfm_bleu_options bo;
    tfm_bleu_result r;
    tfm_trainer *t;
    tfm_model *m;
    const tfm_text *const refs = lines_of_text;

    tfm_model_options_init(&mo, sizeof mo);
    ck_assert_ok(tfm_model_options_set(&mo, "layer_norm_eps", "0.00025", &error), error);
    ck_assert_float_eq(mo.layer_norm_eps, 0.00025f);
    ck_assert_int_eq(tfm_model_options_set(&mo, "layer_norm_eps", "0,00025", &error), TFM_E_INVALID);
    ck_assert_ok(tfm_model_save(model, path, &error), error);
    ck_assert_ok(tfm_model_load(&m, path, NULL, &error), error);
    digest_model(&d, m);
    tfm_model_free(m);
    tfm_trainer_options_init(&o, sizeof o);
    o.max_steps = 2;
    o.checkpoint_path = path;
    o.n_threads = 1;
    ck_assert_ok(tfm_trainer_create(&t, model, &o, &error), error);
    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_set_valid(t, lines_of_text, lines_of_text, 3, &error), error);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_ok(tfm_trainer_save(t, path, &error), error);
    tfm_trainer_free(t);
    size_t size;
    char *bytes = file_read(path, &size);
    digest_bytes(&d, bytes, size); /* the best criterion stands in it as text */
    free(bytes);
    ck_assert_ok(tfm_trainer_resume(&t, path, &o, &error), error);
    tfm_trainer_free(t);
    tfm_bleu_options_init(&bo, sizeof bo);
    bo.smooth = TFM_BLEU_SMOOTH_FLOOR;
    bo.smooth_value = 0.25f;
    ck_assert_ok(tfm_bleu(&r, sizeof r, lines_of_text, 3, &refs, 1, &bo, &error), error);
    digest_bytes(&d, r.signature, strlen(r.signature));
    return d;
}

START_TEST(a_decimal_comma_changes_nothing)
{
    char number[16];
    const digest want = written_and_read(), all = answers(model, 1);

    ck_assert_msg(set_comma_locale(), "no locale with a decimal comma: is localedef of libc-bin there?");
    snprintf(number, sizeof number, "%.1f", 0.5);
    ck_assert_str_eq(number, "0,5");
    same_answers(written_and_read(), want);
    same_answers(answers(model, 1), all);
    setlocale(LC_ALL, "C");
}
END_TEST

/* --------------------------------------------------------------------------------------------------- alignment ---- */

enum { Q = 5, K = 19, D = 12 };

/* Floats need the alignment of a float, no more. */
START_TEST(buffers_need_no_more_alignment_than_their_type)
{
    static _Alignas(64) float q[Q * D + 16], k[K * D + 16], v[K * D + 16], out[Q * D + 16], weights[Q * K + 16];
    float want[Q * D], want_weights[Q * K];

    for (size_t shift = 0; shift < 16; shift++) {
        for (size_t i = 0; i < Q * D; i++) q[shift + i] = (float)(i % 7) - 3.0f;
        for (size_t i = 0; i < K * D; i++) k[shift + i] = (float)(i % 5) - 2.0f, v[shift + i] = (float)(i % 11) * 0.1f;
        ck_assert_ok(
            tfm_attention(out + shift, weights + shift, q + shift, k + shift, v + shift, Q, K, D, D, NULL, &error),
            error);
        if (!shift) memcpy(want, out, sizeof want), memcpy(want_weights, weights, sizeof want_weights);
        ck_assert_mem_eq(out + shift, want, sizeof want);
        ck_assert_mem_eq(weights + shift, want_weights, sizeof want_weights);
    }
}
END_TEST

START_TEST(text_may_begin_anywhere)
{
    const tfm_tokenizer *t = tfm_model_tokenizer(model);
    _Alignas(64) char text[64 + 16];
    int32_t want[32], ids[33];
    size_t n_want, n;

    ck_assert_ok(tfm_tokenizer_encode(want, 32, &n_want, t, (tfm_text)LINE("the cat sat \xE2\x82\xAC"), &error), error);
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(text + shift, "the cat sat \xE2\x82\xAC", 15);
        ck_assert_ok(tfm_tokenizer_encode(ids + shift % 2, 32, &n, t, (tfm_text){text + shift, 15}, &error), error);
        ck_assert_uint_eq(n, n_want);
        ck_assert_mem_eq(ids + shift % 2, want, n * sizeof *want);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("host");
    TCase *c = tcase_create("host");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, rounding_subnormals_and_traps_of_the_host_change_nothing, 0, MODES);
    tcase_add_loop_test(c, text_is_cut_the_same_under_any_rounding, 0, MODES);
    tcase_add_test(c, callbacks_run_in_the_state_of_the_library);
    tcase_add_test(c, a_decimal_comma_changes_nothing);
    tcase_add_test(c, buffers_need_no_more_alignment_than_their_type);
    tcase_add_test(c, text_may_begin_anywhere);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
