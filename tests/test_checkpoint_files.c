/* Files of checkpoints that are cut, changed or made up: refused, or a training that goes on. */
#include "fuzz/open_file.h"
#include "trainer_story.h"

#include <fcntl.h>

static char *bytes; /* of the checkpoint at base */
static size_t size;
static uint64_t header;
static int fd; /* of that file */

static void setup_file(void)
{
    tfm_model_options o = small_options();
    const tfm_trainer_options how = trainer_options();

    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 4;
    o.vocab_size = VOCAB;
    ck_assert_ok(tfm_model_create(&model, &o, NULL, &error), error);
    pairs_random(&data, 4, 5, VOCAB, 1);
    path_join(base, temp_make(folder), "run");
    tfm_trainer *t = trainer_of(model, &how, &data);
    steps(t, 1);
    ck_assert_ok(tfm_trainer_save(t, base, &error), error);
    tfm_trainer_free(t);
    bytes = file_read(base, &size);
    memcpy(&header, bytes, sizeof header);
    fd = open(base, O_RDWR);
}

static void teardown_file(void)
{
    close(fd);
    free(bytes);
    teardown();
}

static tfm_status resume(tfm_trainer **t)
{
    const tfm_trainer_options o = trainer_options();
    const tfm_status status = tfm_trainer_resume(t, base, &o, &error);

    if ((status == TFM_OK) != (*t != NULL)) ck_abort_msg("status %d, trainer %p", status, (void *)*t);
    return status;
}

/* Resumes from the file with byte i changed. */
static tfm_status resume_changed(size_t i, char to, tfm_trainer **t)
{
    if (pwrite(fd, &to, 1, (off_t)i) != 1) ck_abort_msg("cannot write");
    const tfm_status status = resume(t);
    if (pwrite(fd, bytes + i, 1, (off_t)i) != 1) ck_abort_msg("cannot write");
    return status;
}

START_TEST(c31_each_truncation_of_a_checkpoint_is_refused)
{
    tfm_trainer *t;

    for (size_t n = size; n-- > 0;)
        if (truncate(base, (off_t)n) || resume(&t) != TFM_E_FORMAT) ck_abort_msg("%zu of %zu bytes", n, size);
}
END_TEST

START_TEST(c31_each_changed_byte_of_a_checkpoint_is_refused)
{
    tfm_trainer *t;

    for (size_t i = 0; i < size; i++)
        if (resume_changed(i, (char)(bytes[i] ^ 1 << i % 8), &t) != TFM_E_FORMAT) ck_abort_msg("byte %zu", i);
    ck_assert_ok(resume(&t), error);
    tfm_trainer_free(t);
}
END_TEST

/* Without checksums: refused, or a trainer that takes the data, or refuses it, and steps. */
START_TEST(c31_a_changed_byte_that_no_checksum_finds_is_survived)
{
    static const char others[] = "\"0}9-";
    size_t resumed = 0, stepped = 0;
    tfm_trainer *t;

    ck_assert(open_file(bytes, size));
    file_write(base, bytes, size);
    for (size_t i = (size_t)_i; i < size; i += i < 8 + header ? 11 : 41) {
        if (resume_changed(i, i < 8 + header ? others[i / 11 % 5] : (char)(bytes[i] ^ 0x40), &t) != TFM_OK) continue;
        resumed++;
        tfm_status status = tfm_trainer_set_data_ids(t, data.sources, data.targets, data.n, NULL, 0, &error);
        if (status == TFM_OK) stepped += tfm_trainer_step(t, NULL, 0, &error) == TFM_OK;
        tfm_trainer_free(t);
    }
    ck_assert_uint_ge(resumed, stepped);
    ck_assert_uint_gt(stepped, 10);
}
END_TEST

START_TEST(c30_what_is_not_a_checkpoint_is_named)
{
    static const tfm_text cases[] = {LINE("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
                                     LINE("<!DOCTYPE html>\n<html>"), LINE(""), LINE("abc"),
                                     LINE("PK\3\4 in a ZIP file")};
    static const char *const says[] = {"Git LFS", "web page", "empty", "too short", "ZIP archive"};
    tfm_trainer *t;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_write(base, cases[i].data, cases[i].size);
        ck_assert_status(resume(&t), TFM_E_FORMAT, error);
        ck_assert_msg(strstr(error.message, says[i]) && strstr(error.message, "not a model file"), "%s", error.message);
    }
}
END_TEST

static Suite *checkpoint_files_suite(void)
{
    Suite *suite = suite_create("checkpoint_files");
    TCase *tc = tcase_create("checkpoint_files");

    tcase_add_checked_fixture(tc, setup_file, teardown_file);
    tcase_add_test(tc, c31_each_truncation_of_a_checkpoint_is_refused);
    tcase_add_test(tc, c31_each_changed_byte_of_a_checkpoint_is_refused);
    tcase_add_loop_test(tc, c31_a_changed_byte_that_no_checksum_finds_is_survived, 0, 2);
    tcase_add_test(tc, c30_what_is_not_a_checkpoint_is_named);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(checkpoint_files_suite)
