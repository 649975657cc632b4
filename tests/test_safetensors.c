/* The native format: what goes in comes out, and a save that fails leaves the old file. */
#include "safetensors_samples.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* --------------------------------------------------------------------------------------------- round trip ---- */

static void assert_tensor(const tfm_tensor *got, const tfm_tensor *want)
{
    ck_assert_str_eq(got->name, want->name);
    ck_assert_int_eq(got->dtype, want->dtype);
    ck_assert_uint_eq(got->rank, want->rank);
    ck_assert_mem_eq(got->shape, want->shape, sizeof got->shape);
    ck_assert_uint_eq(got->bytes, want->bytes);
    ck_assert_mem_eq(got->data, want->data, want->bytes);
    ck_assert_uint_eq((uintptr_t)got->data % tfm_dtype_size(got->dtype), 0);
}

START_TEST(round_trip)
{
    tfm_error error = {0};
    tfm_safetensors *file;

    save_samples();
    ck_assert_uint_eq(files_in_folder(), 1);
    ck_assert_ok(tfm_safetensors_open(&file, path, NULL, &error), error);
    ck_assert_ok(tfm_safetensors_verify(file, &error), error);
    ck_assert_uint_eq(tfm_safetensors_count(file), N_SAMPLES);
    for (size_t i = 0; i < N_SAMPLES; i++) {
        assert_tensor(tfm_safetensors_at(file, i), &samples[i]);
        ck_assert_ptr_eq(tfm_safetensors_find(file, samples[i].name), tfm_safetensors_at(file, i));
    }
    ck_assert_uint_eq((uintptr_t)tfm_safetensors_at(file, 0)->data % 64, 0);
    ck_assert_ptr_null(tfm_safetensors_at(file, N_SAMPLES));
    ck_assert_ptr_null(tfm_safetensors_find(file, "encoder.0"));
    ck_assert_ptr_null(tfm_safetensors_find(file, ""));
    for (size_t i = 0; i < N_METADATA; i++) {
        const tfm_text want = sample_metadata[i].value, got = tfm_safetensors_metadata(file, sample_metadata[i].key);
        ck_assert_uint_eq(got.size, want.size);
        ck_assert_ptr_nonnull(got.data);
        ck_assert_int_eq(memcmp(got.data, want.size ? want.data : "", want.size + 1), 0);
    }
    ck_assert_ptr_null(tfm_safetensors_metadata(file, "absent").data);
    ck_assert_uint_eq(tfm_safetensors_metadata(file, "absent").size, 0);
    tfm_safetensors_close(file);
    tfm_safetensors_close(NULL);
}
END_TEST

/* The bytes, as the documentation of the format gives them; the checksums are those of the Python there and of its
 * zlib.crc32. */
START_TEST(bytes_are_as_documented)
{
    static const char header[] =
        "{\"__metadata__\":{\"header_checksum\":\"crc32:ffa692ae\",\"checksum\":\"lanes64:0210fc509c5f713f\","
        "\"k\":\"v\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    static const float two[2] = {1.0f, 2.0f};
    const tfm_tensor tensor = {"w", TFM_F32, 1, {2}, two, sizeof two};
    const tfm_metadata metadata = {"k", {"v", 1}};
    const uint64_t padded = 184; /* 8 + 184 is a multiple of 64 */
    tfm_error error = {0};
    size_t size;

    ck_assert_ok(tfm_safetensors_save(path, &tensor, 1, &metadata, 1, NULL, &error), error);
    unsigned char *file = read_exactly(&size);
    ck_assert_uint_eq(size, 8 + padded + 8);
    ck_assert_mem_eq(file, &padded, 8);
    ck_assert_mem_eq(file + 8, header, sizeof header - 1);
    for (size_t i = sizeof header - 1; i < padded; i++) ck_assert_uint_eq(file[8 + i], ' ');
    ck_assert_mem_eq(file + 8 + padded, "\0\0\x80\x3f\0\0\0\x40", 8);
    free(file);
}
END_TEST

START_TEST(equal_input_gives_equal_bytes)
{
    size_t first, second;

    save_samples();
    unsigned char *a = read_exactly(&first);
    save_samples();
    unsigned char *b = read_exactly(&second);
    ck_assert_uint_eq(first, second);
    ck_assert_mem_eq(a, b, first);
    free(a);
    free(b);
}
END_TEST

START_TEST(files_without_tensors_are_files)
{
    const tfm_metadata metadata = {"tokenizer", {"{}", 2}};
    tfm_error error = {0};
    tfm_safetensors *file;

    ck_assert_ok(tfm_safetensors_save(path, NULL, 0, &metadata, 1, NULL, &error), error);
    ck_assert_ok(tfm_safetensors_open(&file, path, NULL, &error), error);
    ck_assert_uint_eq(tfm_safetensors_count(file), 0);
    ck_assert_ptr_null(tfm_safetensors_find(file, "w"));
    ck_assert_str_eq(tfm_safetensors_metadata(file, "tokenizer").data, "{}");
    ck_assert_ok(tfm_safetensors_verify(file, &error), error);
    tfm_safetensors_close(file);
}
END_TEST

START_TEST(open_file_outlives_its_name)
{
    tfm_error error = {0};
    tfm_safetensors *file;

    save_samples();
    ck_assert_ok(tfm_safetensors_open(&file, path, NULL, &error), error);
    ck_assert_ok(tfm_safetensors_save(path, NULL, 0, NULL, 0, NULL, &error), error);
    ck_assert_int_eq(unlink(path), 0);
    for (size_t i = 0; i < N_SAMPLES; i++) assert_tensor(tfm_safetensors_at(file, i), &samples[i]);
    ck_assert_ok(tfm_safetensors_verify(file, &error), error);
    tfm_safetensors_close(file);
    ck_assert_status(tfm_safetensors_open(&file, path, NULL, &error), TFM_E_IO, error);
    ck_assert_ptr_null(file);
}
END_TEST

/* Whether the file is in this process's memory, where the system tells. */
static bool is_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[2 * TESTING_PATH];
    bool found = false;

    while (maps && fgets(line, sizeof line, maps)) found |= strstr(line, path) != NULL;
    if (maps) fclose(maps);
    return found;
}

START_TEST(mappings_end)
{
    tfm_error error = {0};
    tfm_safetensors *file;

    save_samples();
    ck_assert_ok(tfm_safetensors_open(&file, path, NULL, &error), error);
    ck_assert(is_mapped() || access("/proc/self/maps", R_OK) != 0);
    tfm_safetensors_close(file);
    ck_assert(!is_mapped());
    ck_assert_int_eq(truncate(path, 100), 0);
    ck_assert_status(tfm_safetensors_open(&file, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert(!is_mapped());
}
END_TEST

START_TEST(checksums_have_all_their_digits)
{
    size_t size, zeros[2] = {0};

    for (uint32_t i = 0; i < 100; i++) {
        const tfm_tensor tensor = {"i", TFM_U32, 0, {0}, &i, sizeof i};
        tfm_error error = {0};
        tfm_safetensors *file;
        ck_assert_ok(tfm_safetensors_save(path, &tensor, 1, NULL, 0, NULL, &error), error);
        unsigned char *data = read_exactly(&size);
        zeros[0] += data[50] == '0';
        ck_assert_ok(tfm_safetensors_parse(&file, data, size, "x", NULL, &error), error);
        zeros[1] += tfm_safetensors_metadata(file, "checksum").data[8] == '0';
        ck_assert_uint_eq(tfm_safetensors_metadata(file, "checksum").size, 8 + 16);
        tfm_safetensors_close(file);
        free(data);
    }
    ck_assert_uint_gt(zeros[0], 0); /* one in sixteen begins with a zero */
    ck_assert_uint_gt(zeros[1], 0);
}
END_TEST

START_TEST(files_of_others_are_read_in_file_order)
{
    static const char header[] = " {\"b\":{\"shape\":[1,2],\"data_offsets\":[4,12],\"dtype\":\"F32\"}, \"a\" : "
                                 "{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[12,13]},"
                                 "\"c\":{\"dtype\":\"F16\",\"shape\":[2,1,1],\"data_offsets\":[0,4]}}";
    tfm_error error = {0};
    tfm_safetensors *file;
    size_t size;
    unsigned char *data = make_file(header + 1, 13, &size);

    ck_assert_ok(tfm_safetensors_parse(&file, data, size, "x", NULL, &error), error);
    ck_assert_uint_eq(tfm_safetensors_count(file), 3);
    ck_assert_str_eq(tfm_safetensors_at(file, 0)->name, "c");
    ck_assert_str_eq(tfm_safetensors_at(file, 1)->name, "b");
    ck_assert_str_eq(tfm_safetensors_at(file, 2)->name, "a");
    ck_assert_uint_eq(tfm_safetensors_at(file, 2)->rank, 0);
    ck_assert_ptr_null(tfm_safetensors_metadata(file, "format").data);
    ck_assert_ok(tfm_safetensors_verify(file, &error), error);
    tfm_safetensors_close(file);
    free(data);
    assert_header_refused(header, 13, TFM_E_FORMAT, "not a model file"); /* a header begins with its brace */
}
END_TEST

START_TEST(names_of_types_match_their_sizes)
{
    static const char *const names[] = {"F32", "BF16", "F16", "F64", "I8",  "U8", "BOOL",
                                        "I16", "U16",  "I32", "U32", "I64", "U64"};
    tfm_dtype found;

    ck_assert_uint_eq(sizeof names / sizeof *names, TFM_N_DTYPES);
    for (int d = 0; d < TFM_N_DTYPES; d++) {
        const char *name = names[d];
        const size_t bits = strcmp(name, "BOOL") == 0 ? 8 : (size_t)atoi(name + strcspn(name, "0123456789"));
        ck_assert_str_eq(tfm_dtype_name(d), name);
        ck_assert_uint_eq(tfm_dtype_size(d), bits / 8);
        ck_assert(tfm_dtype_parse(&found, (tfm_text){name, strlen(name)}));
        ck_assert_int_eq(found, d);
    }
    ck_assert(!tfm_dtype_parse(&found, (tfm_text){"F32x", 4}));
    ck_assert(!tfm_dtype_parse(&found, (tfm_text){"F3", 2}));
    ck_assert(!tfm_dtype_parse(&found, (tfm_text){"", 0}));
}
END_TEST

/* ----------------------------------------------------------------------------------------- failing to save ---- */

static void assert_save_refused(const tfm_tensor *tensors, size_t n, const tfm_metadata *metadata, size_t n_metadata,
                                const char *reason)
{
    tfm_error error = {0};

    ck_assert_status(tfm_safetensors_save(path, tensors, n, metadata, n_metadata, NULL, &error), TFM_E_INVALID, error);
    ck_assert_msg(strstr(error.message, reason) != NULL, "\"%s\" does not say \"%s\"", error.message, reason);
    ck_assert_uint_eq(files_in_folder(), 0);
}

START_TEST(save_refuses_what_it_could_not_read)
{
    char name[257] = {0};
    const float x[2] = {1.0f, 2.0f};
    const struct {
        tfm_tensor tensors[2];
        size_t n;
        const char *reason;
    } cases[] = {
        {{{"", TFM_F32, 1, {2}, x, 8}}, 1, "name of 0 bytes"},
        {{{name, TFM_F32, 1, {2}, x, 8}}, 1, "name of 256 bytes"},
        {{{"__metadata__", TFM_F32, 1, {2}, x, 8}}, 1, "taken"},
        {{{"w", TFM_F32, 1, {2}, x, 8}, {"w", TFM_F32, 1, {1}, x, 4}}, 2, "name w is taken"},
        {{{"\xff", TFM_F32, 1, {2}, x, 8}}, 1, "UTF-8"},
        {{{"w", TFM_F32, 1, {2}, x, 4}}, 1, "4 bytes do not fit"},
        {{{"w", TFM_F32, 1, {0}, x, 0}}, 1, "do not fit"},
        {{{"w", TFM_F32, 5, {1}, x, 4}}, 1, "do not fit"},
        {{{"a", TFM_I8, 1, {3}, x, 3}, {"w", TFM_F32, 1, {1}, x, 4}}, 2, "byte 3: put wider"},
    };
    const tfm_metadata twice[2] = {{"k", {"1", 1}}, {"k", {"2", 1}}}, taken = {"checksum", {"", 0}},
                       own = {"header_checksum", {"", 0}}, key = {"\xc0\x80", {"", 0}}, value = {"k", {"a\xff", 2}};

    memset(name, 'n', 256);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_save_refused(cases[i].tensors, cases[i].n, NULL, 0, cases[i].reason);
    assert_save_refused(NULL, 0, twice, 2, "\"k\" is there already");
    assert_save_refused(NULL, 0, &taken, 1, "\"checksum\" is there already");
    assert_save_refused(NULL, 0, &own, 1, "\"header_checksum\" is there already");
    assert_save_refused(NULL, 0, &key, 1, "key is not valid UTF-8");
    assert_save_refused(NULL, 0, &value, 1, "value is not valid UTF-8");
}
END_TEST

/* Saving in a process that may write only so many bytes: the code path of a full disk. */
static int save_with_limit(rlim_t most)
{
    const struct rlimit limit = {most, most};
    tfm_error error = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
    return -tfm_safetensors_save(path, samples, N_SAMPLES, NULL, 0, NULL, &error);
}

START_TEST(full_disk_keeps_the_old_file)
{
    size_t size;

    for (rlim_t most = 0; most < 600; most += 50) { /* within length, header and each tensor */
        file_write(path, "old", 3);
        const pid_t child = fork();
        int status;
        if (child == 0) _exit(save_with_limit(most));
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status));
        unsigned char *data = read_exactly(&size);
        if (WEXITSTATUS(status) == -TFM_E_IO) ck_assert_mem_eq(data, "old", 3);
        else ck_assert_int_eq(WEXITSTATUS(status), 0);
        ck_assert_int_eq(WEXITSTATUS(status) == 0, size > 3 && size <= most);
        ck_assert_uint_eq(files_in_folder(), 1);
        free(data);
    }
    ck_assert_uint_gt(size, 3); /* the last had room */
}
END_TEST

START_TEST(save_needs_a_folder)
{
    char inner[TESTING_PATH];
    tfm_error error = {0};

    file_write(path, "old", 3);
    path_join(inner, path, "model.st");
    ck_assert_status(tfm_safetensors_save(inner, samples, N_SAMPLES, NULL, 0, NULL, &error), TFM_E_IO, error);
    ck_assert_ptr_nonnull(strstr(error.message, "Not a directory"));
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(each_failed_allocation_is_reported)
{
    tfm_status status = TFM_E_NOMEM;
    tfm_error error = {0};

    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator allocator = faulty_allocator(&f);
        status = tfm_safetensors_save(path, samples, N_SAMPLES, sample_metadata, N_METADATA, &allocator, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_uint_eq(files_in_folder(), status == TFM_OK);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_lt(n, 100);
    }
    status = TFM_E_NOMEM;
    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator allocator = faulty_allocator(&f);
        tfm_safetensors *file = (tfm_safetensors *)1;
        status = tfm_safetensors_open(&file, path, &allocator, &error);
        if (status != TFM_OK) ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_int_eq(file != NULL, status == TFM_OK);
        tfm_safetensors_close(file);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("safetensors");
    TCase *c = tcase_create("safetensors");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, round_trip);
    tcase_add_test(c, bytes_are_as_documented);
    tcase_add_test(c, equal_input_gives_equal_bytes);
    tcase_add_test(c, files_without_tensors_are_files);
    tcase_add_test(c, open_file_outlives_its_name);
    tcase_add_test(c, mappings_end);
    tcase_add_test(c, checksums_have_all_their_digits);
    tcase_add_test(c, files_of_others_are_read_in_file_order);
    tcase_add_test(c, names_of_types_match_their_sizes);
    tcase_add_test(c, save_refuses_what_it_could_not_read);
    tcase_add_test(c, full_disk_keeps_the_old_file);
    tcase_add_test(c, save_needs_a_folder);
    tcase_add_test(c, each_failed_allocation_is_reported);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
