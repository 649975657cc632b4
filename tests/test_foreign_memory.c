/* Memory that others ask for on the library's behalf, jansson and the C library: it may run out at any time too. */
#include "base/json.h"
#include "training_models.h"

static const tfm_text sources[] = {LINE("the cat sat"), LINE("a dog"), LINE("on the mat")};
static const tfm_text targets[] = {LINE("a cat"), LINE("the dog sat"), LINE("on a mat")};
static const tfm_text *const references[] = {targets};
enum { LINES = 3 };

static char folder[TESTING_PATH], path[TESTING_PATH], checkpoint[TESTING_PATH], tokens[TESTING_PATH], out[TESTING_PATH];
static tfm_model *model;

/* ------------------------------------------------------------------------------------------ failing in turn ---- */

/* Allocations while counting; number fail_at gives NULL, and all after it when lasting. */
static bool counting, lasting;
static size_t calls, fail_at = SIZE_MAX;

static bool refused(void)
{
    if (!counting) return false;
    const size_t number = calls++;
    return lasting ? number >= fail_at : number == fail_at;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif

#ifdef SANITIZED /* it has a malloc of its own: jansson's alone; and it is slow: some of the allocations */
enum { STRIDE = 23 };

static void *jansson_malloc(size_t size)
{
    return refused() ? NULL : malloc(size);
}

static void intercept(void)
{
    json_set_alloc_funcs(jansson_malloc, free);
}
#else
enum { STRIDE = 1 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size)
{
    return refused() ? NULL : __libc_realloc(block, size);
}

static void intercept(void)
{
}
#endif

/* The library's own memory never runs out here. */
static void *plain_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    const bool before = counting;
    void *now = NULL;

    (void)user;
    (void)old_size;
    counting = false;
    if (new_size) now = realloc(block, new_size);
    else free(block);
    counting = before;
    return now;
}

static const tfm_allocator plain = {plain_resize, NULL};

/* ---------------------------------------------------------------------------------------------------- calls ---- */

static void setup(void)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options o = small_options();
    tfm_trainer_options to = trainer_options();

    intercept();
    temp_make(folder);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.vocab_size = 0;
    o.allocator = to.allocator = &plain;
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    ck_assert_ok(tfm_model_save(model, path_join(path, folder, "model"), &error), error);
    ck_assert_ok(tfm_tokenizer_save(t, path_join(tokens, folder, "tokens"), &error), error);
    tfm_tokenizer_free(t);
    path_join(out, folder, "out");
    to.checkpoint_path = out;
    to.checkpoint_steps = 1;
    to.max_steps = 3;
    tfm_trainer *trainer = trainer_of(model, &to, NULL);
    ck_assert_ok(tfm_trainer_set_data(trainer, sources, targets, LINES, NULL, 0, &error), error);
    ck_assert_ok(tfm_trainer_run(trainer, &error), error);
    ck_assert_ok(tfm_trainer_save(trainer, path_join(checkpoint, folder, "checkpoint"), &error), error);
    tfm_trainer_free(trainer);
}

static void teardown(void)
{
    tfm_model_free(model);
    temp_remove(folder);
}

typedef tfm_status call_fn(void);

static tfm_status load_model(void)
{
    const tfm_load_options o = load_with(&plain);
    tfm_model *m;
    const tfm_status status = tfm_model_load(&m, path, &o, &error);

    tfm_model_free(m);
    return status;
}

static tfm_status load_tokenizer(void)
{
    tfm_tokenizer *t;
    const tfm_status status = tfm_tokenizer_load(&t, tokens, &plain, &error);

    tfm_tokenizer_free(t);
    return status;
}

static tfm_status load_tokenizer_of_model(void)
{
    tfm_tokenizer *t;
    const tfm_status status = tfm_tokenizer_load(&t, path, &plain, &error);

    tfm_tokenizer_free(t);
    return status;
}

static tfm_status save_model(void)
{
    return tfm_model_save(model, out, &error);
}

static tfm_status set_option(void)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    return tfm_model_options_set(&o, "layer_norm_eps", "1e-5", &error);
}

static tfm_status train(void)
{
    tfm_trainer_options o = trainer_options();
    tfm_trainer *t;
    tfm_status status;

    o.allocator = &plain;
    o.n_threads = 2;
    o.valid_bleu = 1;
    o.valid_every = 4;
    o.max_steps = 5;
    status = tfm_trainer_resume(&t, checkpoint, &o, &error);
    if (!status) status = tfm_trainer_set_data(t, sources, targets, LINES, NULL, 0, &error);
    if (!status) status = tfm_trainer_set_valid(t, sources, targets, 1, &error);
    if (!status) status = tfm_trainer_run(t, &error);
    if (!status) status = tfm_trainer_save(t, out, &error);
    tfm_trainer_free(t);
    return status;
}

static tfm_status translate(void)
{
    tfm_decoder_options o;
    tfm_decoder *d;
    tfm_bleu_options bleu;
    tfm_bleu_result result;

    tfm_decoder_options_init(&o, sizeof o);
    tfm_bleu_options_init(&bleu, sizeof bleu);
    o.allocator = bleu.allocator = &plain;
    o.n_threads = 2;
    o.max_length = 5;
    tfm_status status = tfm_decoder_create(&d, model, &o, &error);
    if (!status) status = tfm_decoder_translate(d, sources, LINES, &error);
    if (!status) status = tfm_decoder_logprobs(d, sources, targets, LINES, &error);
    if (!status) status = tfm_bleu(&result, sizeof result, sources, LINES, references, 1, &bleu, &error);
    tfm_decoder_free(d);
    return status;
}

/* Every allocation fails in turn, alone or with all after it; then the call works again and writes the same bytes.
 * A thread that the system has no memory for is told as such. */
static void fail_every_allocation(call_fn *call, const char *written)
{
    size_t size = 0, size_now, n = 0;

    ck_assert_ok(call(), error);
    char *want = written ? file_read(written, &size) : NULL;
    for (int both = 0; both < 2; both++) {
        tfm_status status = TFM_E_NOMEM;
        for (n = 0, lasting = both; calls > fail_at || !n; n += STRIDE) {
            calls = 0;
            fail_at = n;
            counting = true;
            status = call();
            counting = false;
            if (status == TFM_E_IO) ck_assert_msg(strstr(error.message, "start thread"), "%s", error.message);
            else if (status != TFM_OK) ck_assert_status(status, TFM_E_NOMEM, error);
        }
        ck_assert_ok(status, error);
        fail_at = SIZE_MAX;
        calls = 0;
    }
    if (!want) return;
    char *now = file_read(written, &size_now);
    ck_assert_uint_eq(size_now, size);
    ck_assert_mem_eq(now, want, size);
    free(now);
    free(want);
}

START_TEST(c34_loaders_without_the_memory_of_others)
{
    fail_every_allocation(load_model, NULL);
    fail_every_allocation(load_tokenizer, NULL);
    fail_every_allocation(load_tokenizer_of_model, NULL);
    fail_every_allocation(set_option, NULL);
}
END_TEST

START_TEST(c34_writers_without_the_memory_of_others)
{
    fail_every_allocation(save_model, out);
}
END_TEST

START_TEST(c34_trainings_without_the_memory_of_others)
{
    fail_every_allocation(train, out);
}
END_TEST

START_TEST(c34_translations_without_the_memory_of_others)
{
    fail_every_allocation(translate, NULL);
}
END_TEST

/* ----------------------------------------------------------------------------------------------------- JSON ---- */

static tfm_status read_json(const char *text, size_t size, size_t flags)
{
    tfm_json_fault fault;
    json_t *json;
    const tfm_status status = tfm_json_read(&json, (tfm_text){text, size}, flags, &fault);

    ck_assert((json != NULL) == (status == TFM_OK));
    ck_assert((fault.what != NULL) == (status == TFM_E_FORMAT) && fault.at <= size);
    json_decref(json);
    return status;
}

static const char good[] =
    " {\"a\": [1, -2.5e+3, 0.1, true, null, \"x\\n\\u00e9\\ud83d\\ude00\\\\\"], \"b\": {}, \"c\": [[], false, 0, -7E2]}\n";

/* jansson has memory enough here. */
static void compare_with_jansson(const char *text, size_t size, size_t flags)
{
    tfm_json_fault fault;
    json_t *json, *want = json_loadb(text, size, JSON_REJECT_DUPLICATES | flags, NULL);
    const tfm_status status = tfm_json_read(&json, (tfm_text){text, size}, flags, &fault);

    ck_assert_msg(status == (want ? TFM_OK : TFM_E_FORMAT), "%.*s: %d, %s", (int)size, text, status,
                  fault.what ? fault.what : "");
    ck_assert((json != NULL) == (status == TFM_OK));
    ck_assert((fault.what != NULL) == (status == TFM_E_FORMAT) && fault.at <= size);
    ck_assert_msg(!want || json_equal(json, want), "%.*s", (int)size, text);
    json_decref(json);
    json_decref(want);
}

START_TEST(json_is_read_as_jansson_reads_it)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "5",
                                        "-0",
                                        "\"x\"",
                                        "tru",
                                        "nullx",
                                        "[1,]",
                                        "[,1]",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{a:1}",
                                        "{,}",
                                        "[1 2]",
                                        "[01]",
                                        "[.5]",
                                        "[1.]",
                                        "[1e]",
                                        "[1e+]",
                                        "[+1]",
                                        "[--1]",
                                        "[1e5]",
                                        "[1E-5]",
                                        "[-0.0]",
                                        "[1e999]",
                                        "[1e-999]",
                                        "[9223372036854775807]",
                                        "[9223372036854775808]",
                                        "[-9223372036854775808]",
                                        "[0.30000000000000004]",
                                        "[\"\\x\"]",
                                        "[\"\\u12\"]",
                                        "[\"\\u12g4\"]",
                                        "[\"\\uABcd\"]",
                                        "[\"\\ud800\"]",
                                        "[\"\\udc00\"]",
                                        "[\"\\ud800\\u0041\"]",
                                        "[\"\\ud800\\udc00\"]",
                                        "[\"\\udbff\\udfff\"]",
                                        "[\"\\/\\b\\f\\r\\t\\\"\"]",
                                        "[\"\t\"]",
                                        "[\"\x7f\"]",
                                        "[\"\xff\"]",
                                        "[\"\xc3\xa9\"]",
                                        "[\"\xed\xa0\x80\"]",
                                        "[\"\\",
                                        "[\"\\\"",
                                        "[1]]",
                                        "[1}",
                                        "{\"a\":1]",
                                        "[] x",
                                        "[]\n\t\r ",
                                        "\f[]",
                                        "{\"a\":1,\"a\":2}",
                                        "{\"\":1}",
                                        "[\"\\u0000\"]",
                                        "[\"a\\u0000b\"]",
                                        "{\"\\u0000\":1}",
                                        "[[[",
                                        "[\"",
                                        "-",
                                        "//",
                                        "[NaN]"};
    char text[sizeof good];
    const size_t size = sizeof good - 1;

    for (size_t flags = 0; flags < 4; flags++) {
        const size_t f = (flags & 1 ? JSON_DECODE_ANY : 0) | (flags & 2 ? JSON_ALLOW_NUL : 0);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) compare_with_jansson(texts[i], strlen(texts[i]), f);
        for (size_t n = 0; n <= size; n++) compare_with_jansson(good, n, f);
    }
    ck_assert_int_eq(read_json(NULL, 0, 0), TFM_E_FORMAT);
    for (size_t i = 0; i < size; i++)
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, good, sizeof good);
            text[i] = (char)byte;
            compare_with_jansson(text, size, 0);
        }
}
END_TEST

START_TEST(json_has_limits)
{
    char text[200];

    for (int depth = 1; depth < 100; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        ck_assert_int_eq(read_json(text, 2 * (size_t)depth, 0), depth <= 16 ? TFM_OK : TFM_E_FORMAT);
    }
    for (int digits = 1; digits < 150; digits++) {
        const int n = snprintf(text, sizeof text, "[0.%0*d]", digits, 1);
        ck_assert_int_eq(read_json(text, (size_t)n, 0), digits + 2 <= 63 ? TFM_OK : TFM_E_FORMAT);
    }
}
END_TEST

START_TEST(no_lack_of_memory_passes_for_damage)
{
    tfm_status status = TFM_E_NOMEM;
    size_t n = 0;

    intercept();
    for (; status != TFM_OK; n++) {
        calls = 0;
        fail_at = n;
        counting = true;
        status = read_json(good, sizeof good - 1, 0);
        counting = false;
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
    }
    ck_assert_uint_gt(n, 20);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("foreign memory");
    TCase *calls_case = tcase_create("calls"), *json_case = tcase_create("json");

    tcase_add_checked_fixture(calls_case, setup, teardown);
    tcase_add_test(calls_case, c34_loaders_without_the_memory_of_others);
    tcase_add_test(calls_case, c34_writers_without_the_memory_of_others);
    tcase_add_test(calls_case, c34_trainings_without_the_memory_of_others);
    tcase_add_test(calls_case, c34_translations_without_the_memory_of_others);
    suite_add_tcase(s, calls_case);
    tcase_add_test(json_case, json_is_read_as_jansson_reads_it);
    tcase_add_test(json_case, json_has_limits);
    tcase_add_test(json_case, no_lack_of_memory_passes_for_damage);
    suite_add_tcase(s, json_case);
    return s;
}

TESTING_MAIN(suite)
