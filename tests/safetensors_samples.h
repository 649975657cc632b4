/* Small files in the native format, good ones and ones made by hand, for the tests that read it. */
#ifndef TFM_SAFETENSORS_SAMPLES_H
#define TFM_SAFETENSORS_SAMPLES_H

#include "format/safetensors.h"
#include "testing.h"

static char folder[TESTING_PATH], path[TESTING_PATH];

static inline void setup(void)
{
    temp_make(folder);
    path_join(path, folder, "model.st");
}

static inline void teardown(void)
{
    temp_remove(folder);
}

static inline size_t files_in_folder(void)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory)) n++;
    closedir(directory);
    return n - 2; /* . and .. */
}

/* ------------------------------------------------------------------------------------------- small files ---- */

static const float weights[6] = {1.0f, -2.5f, 3e-38f, 3e38f, 0.0f, -0.0f};
static const int64_t counter[1] = {-1};
static const uint16_t halves[4] = {0x3f80, 0xbf80, 0x7f80, 1};
static const int8_t bytes[3] = {-128, 0, 127};

static const tfm_tensor samples[] = {
    {"encoder.0.w", TFM_F32, 2, {2, 3}, weights, sizeof weights},
    {"step", TFM_I64, 0, {0}, counter, sizeof counter},
    {"z\xc3\xa9\"\\/", TFM_BF16, 4, {1, 2, 1, 2}, halves, sizeof halves},
    {"a", TFM_I8, 1, {3}, bytes, sizeof bytes},
};
enum { N_SAMPLES = sizeof samples / sizeof *samples };

static const tfm_metadata sample_metadata[] = {
    {"format", {"libtransformer", 14}},
    {"config", {"{\"d_model\":512}", 15}},
    {"text", {"nul \0 quote \" \xe2\x82\xac \n\x01", 20}},
    {"empty", {NULL, 0}},
};
enum { N_METADATA = sizeof sample_metadata / sizeof *sample_metadata };

static inline void save_samples(void)
{
    tfm_error error = {0};

    ck_assert_ok(tfm_safetensors_save(path, samples, N_SAMPLES, sample_metadata, N_METADATA, NULL, &error), error);
}

/* The file in a block of exactly its size, so that a sanitizer sees each byte read beyond. */
static inline unsigned char *read_exactly(size_t *size)
{
    char *data = file_read(path, size);
    unsigned char *exact = malloc(*size ? *size : 1);

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, data, *size);
    free(data);
    return exact;
}

/* A file with this header, padded so that the data is aligned, and n bytes of data. */
static inline unsigned char *make_file(const char *header, size_t n, size_t *size)
{
    const uint64_t text = strlen(header), padded = (text + 7) / 8 * 8;
    unsigned char *file = calloc(8 + padded + n, 1);

    ck_assert_ptr_nonnull(file);
    memcpy(file, &padded, sizeof padded);
    memset(file + 8, ' ', padded);
    memcpy(file + 8, header, text);
    *size = 8 + padded + n;
    return file;
}

/* Reads every byte that an open file lends. */
static inline unsigned touch(const tfm_safetensors *file)
{
    unsigned sum = 0;

    for (size_t i = 0; i < tfm_safetensors_count(file); i++) {
        const tfm_tensor *tensor = tfm_safetensors_at(file, i);
        ck_assert_ptr_eq(tfm_safetensors_find(file, tensor->name), tensor);
        for (size_t k = 0; k < tensor->bytes; k++) sum += ((const unsigned char *)tensor->data)[k];
    }
    (void)tfm_safetensors_verify(file, NULL);
    return sum + (unsigned)tfm_safetensors_metadata(file, "config").size;
}

static inline tfm_status try_parse(const unsigned char *data, size_t size, tfm_error *error)
{
    tfm_safetensors *file = (tfm_safetensors *)1;
    const tfm_status status = tfm_safetensors_parse(&file, data, size, "model.st", NULL, error);

    if (status == TFM_OK) touch(file);
    else ck_assert_ptr_null(file);
    if (status == TFM_OK) tfm_safetensors_close(file);
    return status;
}

static inline void assert_refused(const unsigned char *data, size_t size, tfm_status wanted, const char *reason)
{
    tfm_error error = {0};

    ck_assert_status(try_parse(data, size, &error), wanted, error);
    ck_assert_msg(strstr(error.message, reason) != NULL, "\"%s\" does not say \"%s\"", error.message, reason);
    ck_assert_ptr_nonnull(strstr(error.message, "model.st"));
}

static inline void assert_header_refused(const char *header, size_t n, tfm_status wanted, const char *reason)
{
    size_t size;
    unsigned char *file = make_file(header, n, &size);

    assert_refused(file, size, wanted, reason);
    free(file);
}

static inline void assert_header_accepted(const char *header, size_t n)
{
    size_t size;
    unsigned char *file = make_file(header, n, &size);
    tfm_error error = {0};

    ck_assert_ok(try_parse(file, size, &error), error);
    free(file);
}

#define TENSOR(dtype, shape, offsets) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define ONE(dtype, shape, offsets) "{\"w\":" TENSOR(dtype, shape, offsets) "}"
#define TWO(first, second) "{\"a\":" TENSOR("U8", "[4]", first) ",\"b\":" TENSOR("U8", "[4]", second) "}"

#endif
