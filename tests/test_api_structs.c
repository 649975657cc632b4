/* Structs that grow: what older and newer callers give and get. */
#include "api_models.h"

/* -------------------------------------------------------------------------------------- structs of options ---- */

static tfm_status use_tokenizer_options(const void *options)
{
    tfm_tokenizer *t;
    const tfm_status status = tfm_tokenizer_learn(&t, options, lines_of_text, 3, &error);

    tfm_tokenizer_free(t);
    return status;
}

static tfm_status use_model_options(const void *options)
{
    static tfm_model_options with_sizes; /* the base model is large: look at its costs, then make a small one */
    tfm_model_costs costs;
    tfm_model *m;
    const tfm_status status = tfm_model_options_costs(&costs, sizeof costs, options, 1, 1, &error);

    if (status != TFM_OK) return status;
    tfm_model_options_init(&with_sizes, sizeof with_sizes);
    const uint32_t size = *(const uint32_t *)options;
    memcpy(&with_sizes, options, size < sizeof with_sizes ? size : sizeof with_sizes);
    with_sizes.struct_size = sizeof with_sizes;
    with_sizes.d_model = with_sizes.d_ff = with_sizes.n_heads = 4;
    ck_assert_ok(tfm_model_create(&m, &with_sizes, NULL, &error), error);
    tfm_model_free(m);
    return status;
}

static tfm_status use_decoder_options(const void *options)
{
    tfm_decoder *d;
    const tfm_status status = tfm_decoder_create(&d, model, options, &error);

    tfm_decoder_free(d);
    return status;
}

static tfm_status use_request(const void *request)
{
    tfm_decoder_options o;
    tfm_decoder *d;

    tfm_decoder_options_init(&o, sizeof o);
    ck_assert_ok(tfm_decoder_create(&d, model, &o, &error), error);
    const tfm_status status = tfm_decoder_run(d, request, &error);
    tfm_decoder_free(d);
    return status;
}

static tfm_status use_trainer_options(const void *options)
{
    tfm_trainer *t;
    const tfm_status status = tfm_trainer_create(&t, model, options, &error);

    tfm_trainer_free(t);
    return status;
}

static tfm_status use_attention_options(const void *options)
{
    const float x[] = {1.0f};
    float out;

    return tfm_attention(&out, NULL, x, x, x, 1, 1, 1, 1, options, &error);
}

static tfm_status use_bleu_options(const void *options)
{
    const tfm_text *refs = lines_of_text;
    tfm_bleu_result r;

    return tfm_bleu(&r, sizeof r, lines_of_text, 3, &refs, 1, options, &error);
}

static tfm_status use_chrf_options(const void *options)
{
    const tfm_text *refs = lines_of_text;
    tfm_metric_result r;

    return tfm_chrf(&r, sizeof r, lines_of_text, 3, &refs, 1, options, &error);
}

static tfm_status use_ter_options(const void *options)
{
    const tfm_text *refs = lines_of_text;
    tfm_metric_result r;

    return tfm_ter(&r, sizeof r, lines_of_text, 3, &refs, 1, options, &error);
}

static tfm_status use_parseval_options(const void *options)
{
    tfm_parseval_result r;

    return tfm_parseval(&r, sizeof r, NULL, lines_of_text, lines_of_text, 3, options, &error);
}

static tfm_status use_pretokenize_options(const void *options)
{
    size_t size;

    return tfm_pretokenize(NULL, 0, &size, options, (tfm_text){"a", 1}, &error);
}

static tfm_status use_measure_options(const void *options)
{
    tfm_measurement r;

    return tfm_measure_product(&r, sizeof r, 1, 1, 1, options, &error);
}

static tfm_status use_load_options(const void *options)
{
    tfm_model *m;

    ck_assert_ok(tfm_model_save(model, path, &error), error);
    const tfm_status status = tfm_model_load(&m, path, options, &error);
    tfm_model_free(m);
    return status;
}

static void init_tokenizer(void *o, size_t size)
{
    tfm_tokenizer_options_init(o, size);
}
static void init_model(void *o, size_t size)
{
    tfm_model_options_init(o, size);
}
static void init_decoder(void *o, size_t size)
{
    tfm_decoder_options_init(o, size);
}
static void init_trainer(void *o, size_t size)
{
    tfm_trainer_options_init(o, size);
}
static void init_attention(void *o, size_t size)
{
    tfm_attention_options_init(o, size);
}
static void init_bleu(void *o, size_t size)
{
    tfm_bleu_options_init(o, size);
}
static void init_chrf(void *o, size_t size)
{
    tfm_chrf_options_init(o, size);
}
static void init_ter(void *o, size_t size)
{
    tfm_ter_options_init(o, size);
}
static void init_parseval(void *o, size_t size)
{
    tfm_parseval_options_init(o, size);
}
static void init_load(void *o, size_t size)
{
    tfm_load_options_init(o, size);
}
static void init_request(void *o, size_t size)
{
    tfm_request_init(o, size);
}
static void init_pretokenize(void *o, size_t size)
{
    tfm_pretokenize_options_init(o, size);
}
static void init_measure(void *o, size_t size)
{
    tfm_measure_options_init(o, size);
}

static const struct {
    size_t size;  /* now                          */
    size_t first; /* of the version that began it */
    void (*init)(void *, size_t);
    tfm_status (*use)(const void *);
} kinds[] = {
    {sizeof(tfm_tokenizer_options), sizeof(tfm_tokenizer_options), init_tokenizer, use_tokenizer_options},
    {sizeof(tfm_model_options), offsetof(tfm_model_options, activation), init_model, use_model_options},
    {sizeof(tfm_decoder_options), offsetof(tfm_decoder_options, progress_user) + sizeof(void *), init_decoder,
     use_decoder_options},
    {sizeof(tfm_trainer_options), offsetof(tfm_trainer_options, memory), init_trainer, use_trainer_options},
    {sizeof(tfm_attention_options), sizeof(tfm_attention_options), init_attention, use_attention_options},
    {sizeof(tfm_bleu_options), sizeof(tfm_bleu_options), init_bleu, use_bleu_options},
    {sizeof(tfm_chrf_options), sizeof(tfm_chrf_options), init_chrf, use_chrf_options},
    {sizeof(tfm_ter_options), sizeof(tfm_ter_options), init_ter, use_ter_options},
    {sizeof(tfm_parseval_options), sizeof(tfm_parseval_options), init_parseval, use_parseval_options},
    {sizeof(tfm_pretokenize_options), sizeof(tfm_pretokenize_options), init_pretokenize, use_pretokenize_options},
    {sizeof(tfm_measure_options), sizeof(tfm_measure_options), init_measure, use_measure_options},
    {sizeof(tfm_load_options), sizeof(tfm_load_options), init_load, use_load_options},
    {sizeof(tfm_request), offsetof(tfm_request, term_times), init_request, use_request},
};
enum { KINDS = sizeof kinds / sizeof *kinds, ROOM = 1024 };

/* A struct of any kind, with a later version's fields behind it. */
typedef union any_options {
    max_align_t align;
    unsigned char bytes[ROOM];
    uint32_t struct_size;
} any_options;

static void begin(any_options *o, size_t kind, size_t struct_size)
{
    memset(o, 0xAA, sizeof *o);
    kinds[kind].init(o, struct_size);
    if (kind == 1 && struct_size >= offsetof(tfm_model_options, vocab_size) + 4)
        ((tfm_model_options *)o)->vocab_size = 100;
}

START_TEST(init_writes_what_the_caller_knows)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t size = 0; size < kinds[k].size + 40; size += size < 8 ? 1 : 4) {
            any_options o, full;
            memset(&o, 0xAA, sizeof o);
            kinds[k].init(&o, size);
            kinds[k].init(&full, kinds[k].size);
            for (size_t i = size < 4 ? 0 : size; i < ROOM; i++) ck_assert(o.bytes[i] == 0xAA);
            if (size < 4) continue;
            ck_assert_uint_eq(o.struct_size, size);
            full.struct_size = o.struct_size;
            ck_assert_mem_eq(&o, &full, size < kinds[k].size ? size : kinds[k].size);
            for (size_t i = kinds[k].size; i < size; i++) ck_assert_uint_eq(o.bytes[i], 0);
        }
}
END_TEST

START_TEST(a_struct_without_init_is_refused)
{
    for (size_t k = 0; k < KINDS; k++) {
        const size_t sizes[] = {0, 4, kinds[k].first / 2, kinds[k].first - 1};
        for (size_t i = 0; i < 4; i++) {
            any_options o;
            begin(&o, k, kinds[k].size);
            o.struct_size = (uint32_t)sizes[i];
            ck_assert_status(kinds[k].use(&o), TFM_E_INVALID, error);
            ck_assert_msg(strstr(error.message, "call the _init function first") != NULL, "%s", error.message);
        }
    }
}
END_TEST

START_TEST(an_older_struct_works)
{
    for (size_t k = 0; k < KINDS; k++)
        for (size_t size = kinds[k].first; size <= kinds[k].size; size += 4) {
            any_options o;
            begin(&o, k, size); /* what lies behind it is not read */
            ck_assert_ok(kinds[k].use(&o), error);
        }
}
END_TEST

START_TEST(a_newer_struct_works_while_its_tail_is_zero)
{
    for (size_t k = 0; k < KINDS; k++) {
        any_options o;
        begin(&o, k, kinds[k].size);
        ck_assert_ok(kinds[k].use(&o), error);
        for (size_t size = kinds[k].size; size <= kinds[k].size + 24; size += 8) {
            begin(&o, k, size);
            ck_assert_ok(kinds[k].use(&o), error); /* what lies beyond its end is not read */
            for (size_t i = kinds[k].size; i < size; i++) {
                char says[80];
                snprintf(says, sizeof says, "option at byte %zu is newer than this library", i);
                o.bytes[i] = 1;
                ck_assert_status(kinds[k].use(&o), TFM_E_UNSUPPORTED, error);
                ck_assert_str_eq(error.message, says);
                o.bytes[i] = 0;
            }
        }
    }
}
END_TEST

START_TEST(setters_keep_a_newer_struct_whole)
{
    any_options o;
    const size_t size = sizeof(tfm_model_options) + 16;
    tfm_model_options *m = (tfm_model_options *)&o;

    begin(&o, 1, size);
    ck_assert_ok(tfm_model_options_preset(m, "tiny", &error), error);
    ck_assert_ok(tfm_model_options_set(m, "d_ff", "99", &error), error);
    ck_assert_uint_eq(m->struct_size, size);
    ck_assert(m->d_model == 128 && m->d_ff == 99);
    for (size_t i = sizeof *m; i < size; i++) ck_assert_uint_eq(o.bytes[i], 0);
    for (size_t i = size; i < ROOM; i++) ck_assert_uint_eq(o.bytes[i], 0xAA);
    o.bytes[size - 1] = 1;
    ck_assert_int_eq(tfm_model_options_set(m, "d_ff", "98", &error), TFM_E_UNSUPPORTED);
    ck_assert_uint_eq(m->d_ff, 99);
}
END_TEST

/* ---------------------------------------------------------------------------------------- structs of results ---- */

typedef void fill_fn(void *result, size_t struct_size);

static void fill_costs(void *result, size_t size)
{
    tfm_model_options o;

    tfm_model_get_options(&o, sizeof o, model);
    ck_assert_ok(tfm_model_options_costs(result, size, &o, 5, 5, &error), error);
}

static void fill_options(void *result, size_t size)
{
    tfm_model_get_options(result, size, model);
}

static void fill_bleu(void *result, size_t size)
{
    const tfm_text *refs = lines_of_text;

    ck_assert_ok(tfm_bleu(result, size, lines_of_text, 3, &refs, 1, NULL, &error), error);
}

static void fill_metric(void *result, size_t size)
{
    const tfm_text *refs = lines_of_text;

    ck_assert_ok(tfm_chrf(result, size, lines_of_text, 3, &refs, 1, NULL, &error), error);
}

static void fill_comparison(void *result, size_t size)
{
    const tfm_text *refs = lines_of_text;

    ck_assert_ok(
        tfm_compare(result, size, lines_of_text, lines_of_text, 3, &refs, 1, TFM_METRIC_TER, NULL, 2, 1, &error),
        error);
}

static void fill_report(void *result, size_t size)
{
    tfm_trainer *t = trainer_make();

    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, result, size, &error), error);
    tfm_trainer_free(t);
}

static void fill_progress(void *result, size_t size)
{
    tfm_trainer *t = trainer_make();

    ck_assert_ok(tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_step(t, result, size, &error), error);
    tfm_trainer_free(t);
}

static void fill_measurement(void *result, size_t size)
{
    tfm_measure_options o;

    tfm_measure_options_init(&o, sizeof o);
    o.seconds = 0.0;
    ck_assert_ok(tfm_measure_product(result, size, 1, 1, 1, &o, &error), error);
}

static void fill_profile(void *result, size_t size)
{
    tfm_trainer *t = trainer_make();

    ck_assert_ok(tfm_trainer_profile_at(result, size, t, 0, &error), error);
    tfm_trainer_free(t);
}

START_TEST(results_are_cut_to_what_the_caller_knows)
{
    static const struct {
        fill_fn *fill;
        size_t size, steady; /* bytes that are the same each time: no clock in them */
    } results[] = {{fill_costs, sizeof(tfm_model_costs), sizeof(tfm_model_costs)},
                   {fill_options, sizeof(tfm_model_options), sizeof(tfm_model_options)},
                   {fill_bleu, sizeof(tfm_bleu_result), sizeof(tfm_bleu_result)},
                   {fill_report, sizeof(tfm_data_report), sizeof(tfm_data_report)},
                   {fill_progress, sizeof(tfm_progress), offsetof(tfm_progress, steps_total)},
                   {fill_profile, sizeof(tfm_profile_entry), sizeof(tfm_profile_entry)},
                   {fill_metric, sizeof(tfm_metric_result), sizeof(tfm_metric_result)},
                   {fill_comparison, sizeof(tfm_comparison), sizeof(tfm_comparison)},
                   {fill_measurement, sizeof(tfm_measurement), offsetof(tfm_measurement, seconds)}};

    for (size_t r = 0; r < sizeof results / sizeof *results; r++) {
        any_options full, part;
        results[r].fill(&full, results[r].size);
        for (size_t size = 8; size <= results[r].size + 32; size += 8) {
            const size_t same = size < results[r].steady ? size : results[r].steady;
            memset(&part, 0xAA, sizeof part);
            results[r].fill(&part, size);
            if (r == 1) part.struct_size = full.struct_size;
            if (memcmp(&part, &full, same)) ck_abort_msg("result %zu, size %zu: first bytes differ", r, size);
            for (size_t i = results[r].size; i < size; i++)
                if (part.bytes[i]) ck_abort_msg("result %zu, size %zu: byte %zu is not zero", r, size, i);
            for (size_t i = size; i < ROOM; i++)
                if (part.bytes[i] != 0xAA) ck_abort_msg("result %zu, size %zu: byte %zu was written", r, size, i);
        }
    }
}
END_TEST

static Suite *api_structs_suite(void)
{
    Suite *suite = suite_create("api_structs");
    TCase *tc = tcase_create("api_structs");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, init_writes_what_the_caller_knows);
    tcase_add_test(tc, a_struct_without_init_is_refused);
    tcase_add_test(tc, an_older_struct_works);
    tcase_add_test(tc, a_newer_struct_works_while_its_tail_is_zero);
    tcase_add_test(tc, setters_keep_a_newer_struct_whole);
    tcase_add_test(tc, results_are_cut_to_what_the_caller_knows);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(api_structs_suite)
