/* Memory that loading takes, with that of the JSON parser: a stated multiple of the file's size, whatever the file
 * says. */
#include "foreign_samples.h"
#include "fuzz/open_file.h"
#include "trainer_story.h"

#include <jansson.h>

/* What doc/reliability.md promises: 32 bytes for each of the file, and 1 MiB; a trainer has 2 MiB of its own. */
enum { TIMES = 32, FIXED = 1 << 20, TRAINER = 2 << 20 };

static faulty memory; /* counts what is allocated here and by the parser */
static tfm_allocator counting;

static void *json_malloc_counted(size_t size)
{
    return faulty_resize(&memory, NULL, 0, size ? size : 1);
}

static void json_free_counted(void *ptr)
{
    size_t held;

    if (!ptr) return;
    memcpy(&held, (unsigned char *)ptr - FAULTY_HEADER, sizeof held);
    faulty_resize(&memory, ptr, held, 0);
}

static void setup_counting(void)
{
    setup();
    memory = (faulty){.fail_at = SIZE_MAX};
    counting = faulty_allocator(&memory);
    json_set_alloc_funcs(json_malloc_counted, json_free_counted);
}

/* Loads base as a model, a checkpoint and a tokenizer, and compares the peak of each with the limit. */
static void require_modest(const char *what, size_t size)
{
    const tfm_load_options load = load_with(&counting);
    tfm_trainer_options o = trainer_options();
    size_t peak[3];
    tfm_tokenizer *tokenizer;
    tfm_trainer *trainer;
    tfm_model *loaded;

    o.allocator = &counting;
    memory.peak = 0;
    if (tfm_model_load(&loaded, base, &load, &error) == TFM_OK) tfm_model_free(loaded);
    peak[0] = memory.peak, memory.peak = 0;
    if (tfm_tokenizer_load(&tokenizer, base, &counting, &error) == TFM_OK) tfm_tokenizer_free(tokenizer);
    peak[1] = memory.peak, memory.peak = 0;
    if (tfm_trainer_resume(&trainer, base, &o, &error) == TFM_OK) tfm_trainer_free(trainer);
    peak[2] = memory.peak;
    ck_assert_uint_eq(memory.live, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(peak[i] <= TIMES * size + FIXED + (i == 2 ? TRAINER : 0), "%s of %zu bytes: %zu as kind %d", what,
                      size, peak[i], i);
}

/* A native file of n bytes of header, which begins with start, goes on with item(i) and ends with end, and no data. */
static void require_modest_header(const char *what, const char *start, const char *item, const char *end)
{
    enum { SIZE = 1 << 20 };
    static char file[8 + SIZE + 100];
    size_t used = 8 + (size_t)snprintf(file + 8, 200, "%s", start);
    char *const tail = file + 8 + SIZE - strlen(end);

    for (unsigned i = 0; file + used + 100 < tail; i++) used += (size_t)snprintf(file + used, 100, item, i);
    memset(file + used, ' ', SIZE + 8 - used);
    memcpy(tail, end, strlen(end));
    const uint64_t header = SIZE;
    memcpy(file, &header, sizeof header);
    file_write(base, file, 8 + SIZE);
    require_modest(what, 8 + SIZE);
}

START_TEST(c32_headers_take_memory_of_their_size)
{
#define NATIVE                                                                                                         \
    "{\"__metadata__\":{\"header_checksum\":\"none\",\"checksum\":\"none\",\"format\":\"libtransformer\",\"version\":" \
    "\"1\""
    require_modest_header("short texts", NATIVE, ",\"%x\":\"\"", "}}");
    require_modest_header("texts, damaged at the end", NATIVE, ",\"%x\":\"\"", "}");
    require_modest_header("escapes", NATIVE ",\"a\":\"", "\\u00e9", "\"}}");
    require_modest_header("empty tensors", "{\"a\":{}", ",\"%x\":{}", "}");
    require_modest_header("tensors", "{\"a\":{}", ",\"%x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,0]}",
                          "}");
    require_modest_header("one shape", "{\"a\":{\"shape\":[1", ",1", "]}}");
    require_modest_header("brackets", "{\"a\":[[]", ",[]", "]}");
}
END_TEST

/* What stands in the metadata is JSON again, for which no limit of brackets is. */
START_TEST(c32_texts_of_a_header_take_memory_of_their_size)
{
    require_modest_header("config of lists", NATIVE ",\"config\":\"[[]", ",[]", "]\"}}");
    require_modest_header("config of objects", NATIVE ",\"config\":\"[{}", ",{}", "]\"}}");
    require_modest_header("config of brackets", NATIVE ",\"config\":\"", "[", "\"}}");
    require_modest_header("config of fields", NATIVE ",\"config\":\"{\\\"a\\\":1", ",\\\"%x\\\":1", "}\"}}");
}
END_TEST

/* The state of a training inside an otherwise good checkpoint. */
static void require_modest_state(const char *what, const char *start, const char *item, const char *end)
{
    enum { SIZE = 1 << 20 };
    char *state = calloc(1, SIZE);
    tfm_safetensors *file;
    tfm_metadata metadata[4];
    static const char *const keys[] = {"format", "version", "config"};
    size_t used = (size_t)snprintf(state, 100, "%s", start), written;

    ck_assert_ok(tfm_safetensors_open(&file, path_join((char[TESTING_PATH]){0}, folder, "good"), NULL, &error), error);
    while (used + 100 < SIZE) used += (size_t)snprintf(state + used, 100, "%s", item);
    used += (size_t)snprintf(state + used, 100, "%s", end);
    for (size_t i = 0; i < 3; i++) metadata[i] = (tfm_metadata){keys[i], tfm_safetensors_metadata(file, keys[i])};
    metadata[3] = (tfm_metadata){"trainer", {state, used}};
    ck_assert_ok(
        tfm_safetensors_save(base, tfm_safetensors_at(file, 0), tfm_safetensors_count(file), metadata, 4, NULL, &error),
        error);
    tfm_safetensors_close(file);
    free(file_read(base, &written));
    require_modest(what, written);
    free(state);
}

START_TEST(c32_the_state_of_a_training_takes_memory_of_its_size)
{
    const tfm_trainer_options o = trainer_options();
    char good[TESTING_PATH];

    tfm_trainer *t = trainer_of(model, &o, &data);
    ck_assert_ok(tfm_trainer_save(t, path_join(good, folder, "good"), &error), error);
    tfm_trainer_free(t);
    require_modest_state("kept", "{\"kept\":[1", ",1", "]}");
    require_modest_state("lists", "{\"kept\":[[]", ",[]", "]}");
    require_modest_state("objects", "{\"kept\":[{}", ",{}", "]}");
}
END_TEST

/* Good files take their share too. */
START_TEST(c32_good_files_take_memory_of_their_size)
{
    const tfm_trainer_options o = trainer_options();
    tfm_model *text = text_model_make();
    tfm_trainer *t = trainer_of(model, &o, &data);
    struct stat info;

    for (int kind = 0; kind < 3; kind++) {
        if (kind == 2) ck_assert_ok(tfm_trainer_save(t, base, &error), error);
        else ck_assert_ok(tfm_model_save_as(text, base, kind ? TFM_DTYPE_INT8 : TFM_DTYPE_F32, &error), error);
        ck_assert_int_eq(stat(base, &info), 0);
        require_modest("good", (size_t)info.st_size);
    }
    tfm_trainer_free(t);
    tfm_model_free(text);
}
END_TEST

/* What lies beside another system's model counts as the file does. */
START_TEST(c32_lists_beside_a_model_take_memory_of_their_size)
{
    enum { SIZE = 1 << 20 };
    static const char *const items[] = {"{},", "[],", "1,", "\"\",", "{\"a\":1},"};
    static unsigned char bytes[SAMPLE_ROOM];
    static char list[SIZE];
    const tfm_load_options load = load_with(&counting);
    const char *item = items[_i];
    char name[TESTING_PATH];
    sample s = {.bytes = bytes};
    tfm_model *loaded;

    ct2_sample(&s, &ct2_forms[0]);
    file_write(path_join(name, folder, "model.bin"), bytes, s.size);
    list[0] = '[';
    for (size_t i = 1; i < SIZE; i++) list[i] = item[(i - 1) % strlen(item)];
    list[(SIZE - 2) / strlen(item) * strlen(item)] = ']'; /* in place of a comma */
    file_write(path_join(name, folder, "target_vocabulary.json"), list, (SIZE - 2) / strlen(item) * strlen(item) + 1);
    memory.peak = 0;
    if (tfm_model_load(&loaded, folder, &load, &error) == TFM_OK) tfm_model_free(loaded);
    ck_assert_uint_eq(memory.live, 0);
    ck_assert_msg(memory.peak <= TIMES * (SIZE + s.size) + FIXED, "%s: %zu", item, memory.peak);
}
END_TEST

static Suite *load_memory_suite(void)
{
    Suite *suite = suite_create("load_memory");
    TCase *tc = tcase_create("load_memory");

    tcase_add_checked_fixture(tc, setup_counting, teardown);
    tcase_add_test(tc, c32_headers_take_memory_of_their_size);
    tcase_add_test(tc, c32_texts_of_a_header_take_memory_of_their_size);
    tcase_add_test(tc, c32_the_state_of_a_training_takes_memory_of_its_size);
    tcase_add_test(tc, c32_good_files_take_memory_of_their_size);
    tcase_add_loop_test(tc, c32_lists_beside_a_model_take_memory_of_their_size, 0, 5);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(load_memory_suite)
