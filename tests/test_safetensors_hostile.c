/* The native format: any byte sequence is read, or refused with a reason. */
#include "safetensors_samples.h"

START_TEST(c32_sizes_of_shapes_are_checked)
{
    static const struct {
        tfm_tensor tensor;
        size_t elements; /* 0: refused */
    } cases[] = {
        {{.dtype = TFM_F32}, 1},
        {{.dtype = TFM_F32, .rank = 4, .shape = {2, 3, 5, 7}}, 210},
        {{.dtype = TFM_I8, .rank = 5, .shape = {1, 1, 1, 1}, .data = "x"}, 0},
        {{.dtype = TFM_F32, .rank = 2, .shape = {3, 0}}, 0},
        {{.dtype = TFM_F32, .rank = 1, .shape = {UINT64_MAX}}, 0},
        {{.dtype = TFM_F32, .rank = 1, .shape = {SIZE_MAX / 4}}, SIZE_MAX / 4},
        {{.dtype = TFM_F32, .rank = 1, .shape = {SIZE_MAX / 4 + 1}}, 0},
        {{.dtype = TFM_I8, .rank = 2, .shape = {UINT64_C(1) << 32, UINT64_C(1) << 32}}, 0},
        {{.dtype = TFM_I8, .rank = 2, .shape = {(UINT64_C(1) << 61) + 1, 8}}, 0}, /* wraps to 8 */
    };
    size_t elements, size;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(tfm_tensor_count(&cases[i].tensor, &elements, &size), cases[i].elements != 0);
        if (!cases[i].elements) continue;
        ck_assert_uint_eq(elements, cases[i].elements);
        ck_assert_uint_eq(size, elements * tfm_dtype_size(cases[i].tensor.dtype));
    }
}
END_TEST

START_TEST(c30_what_is_not_a_model_file_is_named)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "it is empty"},
        {"abc", "too short"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "Git LFS pointer"},
        {"<!DOCTYPE html>\n<html lang=\"en\">", "web page"},
        {"\r\n  <!doctype HTML PUBLIC", "web page"},
        {"<html><head>", "web page"},
        {"PK\3\4\24 archive/data.pkl", "ZIP archive"},
        {"\x1f\x8b\b words of a gzip file", "gzip"},
        {"just a text of some length", "no safetensors header"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t size = strlen(cases[i].text);
        unsigned char *exact = malloc(size ? size : 1);
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, cases[i].text, size);
        assert_refused(exact, size, TFM_E_FORMAT, cases[i].reason);
        assert_refused(exact, size, TFM_E_FORMAT, "not a model file");
        free(exact);
    }
    tfm_safetensors *file;
    tfm_error error = {0};
    file_write(path, "", 0);
    ck_assert_status(tfm_safetensors_open(&file, path, NULL, &error), TFM_E_FORMAT, error);
    ck_assert_status(tfm_safetensors_open(&file, folder, NULL, &error), TFM_E_IO, error);
}
END_TEST

START_TEST(c31_each_truncation_is_refused)
{
    tfm_error error = {0};
    tfm_safetensors *file;
    size_t size;

    save_samples();
    unsigned char *whole = read_exactly(&size);
    ck_assert_ok(try_parse(whole, size, &error), error);
    for (size_t n = 0; n < size; n++) {
        unsigned char *part = malloc(n ? n : 1);
        ck_assert_ptr_nonnull(part);
        memcpy(part, whole, n);
        ck_assert_status(try_parse(part, n, &error), TFM_E_FORMAT, error);
        if (n >= 10) ck_assert_msg(strstr(error.message, "truncated") != NULL, "%zu bytes: %s", n, error.message);
        free(part);
        ck_assert_int_eq(truncate(path, (off_t)(size - 1 - n)), 0);
        ck_assert_status(tfm_safetensors_open(&file, path, NULL, &error), TFM_E_FORMAT, error);
        ck_assert_ptr_null(file);
    }
    whole = realloc(whole, size + 1);
    ck_assert_ptr_nonnull(whole);
    whole[size] = 0;
    assert_refused(whole, size + 1, TFM_E_FORMAT, "after the last tensor");
    free(whole);
}
END_TEST

START_TEST(c31_each_changed_byte_is_found)
{
    tfm_error error = {0};
    tfm_safetensors *file;
    size_t size;

    save_samples();
    unsigned char *data = read_exactly(&size);
    uint64_t header;
    memcpy(&header, data, sizeof header);
    for (size_t i = 0; i < size; i++) {
        for (unsigned change = 1; change < 256; change += i < 8 + header ? 1 : 50) {
            data[i] ^= (unsigned char)change;
            const tfm_status status = tfm_safetensors_parse(&file, data, size, "x", NULL, &error);
            if (i < 8 + header) ck_assert_msg(status != TFM_OK, "byte %zu, change %u: accepted", i, change);
            else ck_assert_ok(status, error);
            if (file) ck_assert_status(tfm_safetensors_verify(file, &error), TFM_E_FORMAT, error);
            tfm_safetensors_close(file);
            data[i] ^= (unsigned char)change;
        }
    }
    ck_assert_ok(try_parse(data, size, &error), error);
    free(data);
}
END_TEST

START_TEST(c32_lying_headers_are_refused)
{
    static const struct {
        const char *header, *reason;
        tfm_status status;
    } cases[] = {
        /* shapes */
        {ONE("F32", "[0]", "[0,0]"), "dimension is 0", TFM_E_FORMAT},
        {ONE("F32", "[2,0]", "[0,8]"), "dimension is 0", TFM_E_FORMAT},
        {ONE("F32", "[4611686018427387904]", "[0,8]"), "overflows", TFM_E_FORMAT},
        {ONE("F32", "[4611686018427387906]", "[0,8]"), "overflows", TFM_E_FORMAT},
        {ONE("F32", "[4294967296,4294967296]", "[0,8]"), "overflows", TFM_E_FORMAT},
        {ONE("U8", "[4294967296,4294967296,1,8]", "[0,8]"), "overflows", TFM_E_FORMAT},
        {ONE("U8", "[2305843009213693953,8]", "[0,8]"), "overflows", TFM_E_FORMAT}, /* wraps to 8 */
        {ONE("F32", "[4294967296]", "[0,8]"), "needs 17179869184 bytes", TFM_E_FORMAT},
        {ONE("F32", "[9223372036854775807]", "[0,8]"), "overflows", TFM_E_FORMAT},
        {ONE("F32", "[18446744073709551618]", "[0,8]"), "damaged", TFM_E_FORMAT},
        {ONE("F32", "[-2]", "[0,8]"), "list of integers", TFM_E_FORMAT},
        {ONE("F32", "[2.0]", "[0,8]"), "list of integers", TFM_E_FORMAT},
        {ONE("F32", "[\"2\"]", "[0,8]"), "list of integers", TFM_E_FORMAT},
        {ONE("F32", "2", "[0,8]"), "list of integers", TFM_E_FORMAT},
        {ONE("F32", "{}", "[0,8]"), "list of integers", TFM_E_FORMAT},
        {ONE("F32", "[1,1,1,1,2]", "[0,8]"), "5 dimensions", TFM_E_UNSUPPORTED},
        /* types */
        {ONE("F31", "[2]", "[0,8]"), "dtype F31", TFM_E_UNSUPPORTED},
        {ONE("f32", "[2]", "[0,8]"), "dtype f32", TFM_E_UNSUPPORTED},
        {ONE("", "[2]", "[0,8]"), "dtype", TFM_E_UNSUPPORTED},
        {ONE("F32\\u0000", "[2]", "[0,8]"), "dtype", TFM_E_UNSUPPORTED},
        {ONE("F16", "[2]", "[0,8]"), "needs 4 bytes, offsets give 8", TFM_E_FORMAT},
        {ONE("F64", "[2]", "[0,8]"), "needs 16 bytes", TFM_E_FORMAT},
        /* offsets */
        {ONE("F32", "[2]", "[0,9]"), "truncated", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[8,0]"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[-8,0]"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[0]"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[0,8,8]"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[0,8.0]"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "8"), "[begin, end]", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[9223372036854775800,9223372036854775807]"), "truncated", TFM_E_FORMAT},
        {ONE("F32", "[2]", "[18446744073709551608,18446744073709551615]"), "damaged", TFM_E_FORMAT},
        {ONE("U8", "[4]", "[4,8]"), "hole", TFM_E_FORMAT},
        {ONE("U8", "[4]", "[0,4]"), "4 bytes after the last", TFM_E_FORMAT},
        {TWO("[0,4]", "[0,4]"), "overlaps", TFM_E_FORMAT},
        {TWO("[0,4]", "[3,7]"), "overlaps", TFM_E_FORMAT},
        {"{\"a\":" TENSOR("U8", "[3]", "[0,3]") ",\"b\":" TENSOR("U8", "[4]", "[4,8]") "}", "hole", TFM_E_FORMAT},
        {"{}", "8 bytes after", TFM_E_FORMAT},
        /* entries */
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2]}}", "not {dtype", TFM_E_FORMAT},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[0,8]}}", "[begin, end]", TFM_E_FORMAT},
        {"{\"w\":{\"dtype\":\"F32\",\"size\":[2],\"data_offsets\":[0,8]}}", "list of integers", TFM_E_FORMAT},
        {"{\"w\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", "no dtype", TFM_E_FORMAT},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", "not {dtype", TFM_E_FORMAT},
        {"{\"w\":[0,8]}", "not {dtype", TFM_E_FORMAT},
        {"{\"w\":null}", "not {dtype", TFM_E_FORMAT},
        {"{\"\":" TENSOR("F32", "[2]", "[0,8]") "}", "name of 0 bytes", TFM_E_FORMAT},
        {"{\"a\\u0000b\":" TENSOR("F32", "[2]", "[0,8]") "}", "damaged", TFM_E_FORMAT},
        {"{\"a\xff\":" TENSOR("F32", "[2]", "[0,8]") "}", "damaged", TFM_E_FORMAT},
        {TWO("[0,4]", "[4,8]") "x", "damaged", TFM_E_FORMAT},
        {"{\"a\":" TENSOR("U8", "[4]", "[0,4]") ",\"a\":" TENSOR("U8", "[4]", "[4,8]") "}", "duplicate", TFM_E_FORMAT},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[[2]],\"data_offsets\":[0,8]}}", "brackets", TFM_E_FORMAT},
        /* metadata */
        {"{\"__metadata__\":1,\"w\":" TENSOR("F32", "[2]", "[0,8]") "}", "not an object", TFM_E_FORMAT},
        {"{\"__metadata__\":{\"k\":1},\"w\":" TENSOR("F32", "[2]", "[0,8]") "}", "\"k\" is not a string", TFM_E_FORMAT},
        {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", "duplicate", TFM_E_FORMAT},
        {"{\"__metadata__\":{\"k\":\"\xc3\"}}", "damaged", TFM_E_FORMAT},
        {"{", "damaged", TFM_E_FORMAT},
        {"{\"", "damaged", TFM_E_FORMAT},
        {"{\"\\", "damaged", TFM_E_FORMAT},
    };

    assert_header_accepted(ONE("F32", "[2]", "[0,8]"), 8); /* the one that the others differ from */
    assert_header_accepted(TWO("[4,8]", "[0,4]"), 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_header_refused(cases[i].header, 8, cases[i].status, cases[i].reason);
}
END_TEST

START_TEST(c32_lengths_of_header_and_name_are_limited)
{
    static const uint64_t lengths[] = {1, 1u << 20, 100000001, 1ull << 31, 1ull << 62, UINT64_MAX - 7, UINT64_MAX};
    char header[600] = "{\"";
    size_t size;
    unsigned char *file = make_file(ONE("F32", "[2]", "[0,8]"), 8, &size);

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(file, &lengths[i], 8);
        assert_refused(file, size, TFM_E_FORMAT, lengths[i] < 100000000 ? "" : "more than 100000000");
    }
    free(file);
    memset(header + 2, 'n', 255);
    strcpy(header + 257, "\":" TENSOR("F32", "[2]", "[0,8]") "}");
    assert_header_accepted(header, 8);
    memset(header + 2, 'n', 256);
    strcpy(header + 258, "\":" TENSOR("F32", "[2]", "[0,8]") "}");
    assert_header_refused(header, 8, TFM_E_FORMAT, "name of 256 bytes, not in 1..255");
}
END_TEST

/* Brackets and numbers cost the parser far more memory than they take in the file. */
START_TEST(c32_heaps_of_brackets_and_numbers_are_refused)
{
    char header[4096] = "{\"a\":[";

    memset(header + 6, '[', 2000);
    assert_header_refused(header, 8, TFM_E_FORMAT, "too many brackets");
    for (size_t i = 6; i + 3 < sizeof header; i += 3) memcpy(header + i, "{},", 4);
    assert_header_refused(header, 8, TFM_E_FORMAT, "too many brackets");
    memset(header, 0, sizeof header);
    strcpy(header, "{\"a\":[0");
    for (size_t i = 7; i < 7 + 64 * 2; i += 2) strcpy(header + i, ",1");
    assert_header_refused(header, 8, TFM_E_FORMAT, "or numbers");
    header[7 + 63 * 2] = '\0';
    assert_header_refused(header, 8, TFM_E_FORMAT, "damaged"); /* the list is short enough, and not closed */
    assert_header_refused("{\"a\":[[],0", 8, TFM_E_FORMAT, "too many brackets"); /* would hide what follows */
    assert_header_refused("{\"a\":[0,{}", 8, TFM_E_FORMAT, "too many brackets");
    assert_header_accepted("{\"__metadata__\":{\"k\":\"[[[[[[[[[[[[[[[[{{{{\\\"[[[[[[[[\"}}", 0);
}
END_TEST

/* Any 4 random edits of a valid file, with and without checksums: refused, or everything lent can be read. */
START_TEST(c31_random_damage_never_crashes)
{
    static const char alphabet[] = "\"\"{}[]:,0123456789-.eE\\u\0 azF";
    uint64_t random = 1;
    size_t size, accepted = 0;
    unsigned char *whole = _i ? make_file(TWO("[0,4]", "[4,8]"), 8, &size) : (save_samples(), read_exactly(&size));
    unsigned char *damaged = malloc(size);

    ck_assert_ptr_nonnull(damaged);
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(damaged, whole, size);
        for (unsigned edit = 0; edit < 1 + round % 4; edit++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint64_t bits = random >> 24;
            damaged[bits % size] =
                bits & 1 << 20 ? (unsigned char)alphabet[(bits >> 21) % sizeof alphabet] : (unsigned char)(bits >> 32);
        }
        accepted += try_parse(damaged, size, NULL) == TFM_OK;
    }
    ck_assert_uint_gt(accepted, 0);
    free(damaged);
    free(whole);
}
END_TEST

/* ---------------------------------------------------------------------------------------------- checksums ---- */

START_TEST(checksums_are_required_where_they_belong)
{
#define META(pairs) "{\"__metadata__\":{" pairs "},\"w\":" TENSOR("F32", "[2]", "[0,8]") "}"
    assert_header_accepted(META("\"format\":\"pt\""), 8);
    assert_header_accepted(META("\"format\":\"libtransformer\",\"header_checksum\":\"none\""), 8);
    assert_header_refused(META("\"format\":\"libtransformer\""), 8, TFM_E_FORMAT, "begin with its checksum");
    assert_header_refused(META("\"format\":\"pt\",\"header_checksum\":\"crc32:00000000\""), 8, TFM_E_FORMAT,
                          "begin with its checksum");
    assert_header_refused(META("\"header_checksum\":\"crc32:00000000\""), 8, TFM_E_FORMAT, "checksum is 00000000");
    assert_header_refused("{\"__metadata__\":{\"header_checksum\":\"crc32:", 0, TFM_E_FORMAT, "damaged");
}
END_TEST

START_TEST(verify_judges_the_data)
{
    static const struct {
        const char *header, *reason; /* of eight zero bytes; NULL: fine */
        tfm_status status;
    } cases[] = {
        {META("\"checksum\":\"lanes64:1d421c3c731ba606\""), NULL, TFM_OK},
        {META("\"checksum\":\"none\""), NULL, TFM_OK},
        {META("\"a\":\"b\""), NULL, TFM_OK},
        {META("\"checksum\":\"lanes64:1d421c3c731ba605\""), "data has lanes64:1d421c3c731ba606", TFM_E_FORMAT},
        {META("\"checksum\":\"lanes64:1d421c3c731ba605\""), "with skip_checksum", TFM_E_FORMAT},
        {META("\"checksum\":\"lanes64:1D421C3C731BA606\""), "damaged", TFM_E_FORMAT},
        {META("\"checksum\":\"lanes64:1d421c3c731ba606 \""), "damaged", TFM_E_FORMAT},
        {META("\"checksum\":\"lanes64:\""), "damaged", TFM_E_FORMAT},
        {META("\"checksum\":\"\""), "kind not known", TFM_E_UNSUPPORTED},
        {META("\"checksum\":\"crc32:6522df69\""), "crc32:6522df69 is of a kind not known", TFM_E_UNSUPPORTED},
        {META("\"format\":\"libtransformer\",\"header_checksum\":\"none\""), "has no checksum", TFM_E_FORMAT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tfm_error error = {0};
        tfm_safetensors *file;
        size_t size;
        unsigned char *data = make_file(cases[i].header, 8, &size);
        ck_assert_ok(tfm_safetensors_parse(&file, data, size, "x", NULL, &error), error);
        ck_assert_status(tfm_safetensors_verify(file, &error), cases[i].status, error);
        if (cases[i].reason) ck_assert_msg(strstr(error.message, cases[i].reason) != NULL, "%s", error.message);
        tfm_safetensors_close(file);
        free(data);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("safetensors_hostile");
    TCase *c = tcase_create("safetensors_hostile");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, c32_sizes_of_shapes_are_checked);
    tcase_add_test(c, c30_what_is_not_a_model_file_is_named);
    tcase_add_test(c, c31_each_truncation_is_refused);
    tcase_add_test(c, c31_each_changed_byte_is_found);
    tcase_add_test(c, c32_lying_headers_are_refused);
    tcase_add_test(c, c32_lengths_of_header_and_name_are_limited);
    tcase_add_test(c, c32_heaps_of_brackets_and_numbers_are_refused);
    tcase_add_loop_test(c, c31_random_damage_never_crashes, 0, 2);
    tcase_add_test(c, checksums_are_required_where_they_belong);
    tcase_add_test(c, verify_judges_the_data);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
