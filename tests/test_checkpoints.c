/* Checkpoints of a training: when they are written, which stay, what they continue; cancelling; trouble on disk. */
#include "trainer_story.h"

#include <signal.h>
#include <sys/resource.h>

START_TEST(checkpoints_every_few_steps_of_which_some_stay)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.checkpoint_path = base;
    o.checkpoint_steps = 2;
    o.keep = 2;
    o.max_steps = 7;
    ck_assert_ok(run_once(&o), error);
    size_t saved = 0, files = 0;
    for (size_t i = 0; i < s.n; i++) saved += s.events[i] == 'c';
    ck_assert_uint_eq(saved, 4); /* 2 4 6, and the last state */
    for (uint64_t step = 0; step < 10; step++) files += exists(step);
    ck_assert_uint_eq(files, 3);
    ck_assert(exists(4) && exists(6) && exists(7));
    o.keep = 0;
    ck_assert_ok(run_once(&o), error);
    ck_assert(exists(2) && exists(4) && exists(6) && exists(7));
}
END_TEST

START_TEST(checkpoints_by_epoch_and_by_time)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.checkpoint_path = base;
    o.max_epochs = 2;
    ck_assert_ok(run_once(&o), error);
    ck_assert_str_eq(s.events + s.n - 4, "secd");
    size_t saved = 0;
    for (size_t i = 0; i < s.n; i++) saved += s.events[i] == 'c';
    ck_assert_uint_eq(saved, 2);
    s = (story){0};
    o.checkpoint_seconds = 1e-9;
    o.max_epochs = 0;
    o.max_steps = 3;
    ck_assert_ok(run_once(&o), error);
    ck_assert_str_eq(s.events, "scscscd");
    s = (story){0};
    o.checkpoint_seconds = 1e9;
    ck_assert_ok(run_once(&o), error);
    ck_assert_str_eq(s.events, "ssscd");
}
END_TEST

START_TEST(a_resumed_run_looks_after_older_files)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.checkpoint_path = base;
    o.checkpoint_steps = 2;
    o.keep = 3;
    o.max_steps = 6;
    ck_assert_ok(run_once(&o), error);
    ck_assert(exists(2) && exists(4) && exists(6));
    o.max_steps = 10;
    tfm_trainer *t = trainer_resumed(s.path, &o, &data);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert(!exists(2) && !exists(4) && exists(6) && exists(8) && exists(10));
    tfm_trainer_free(t);
    s = (story){0};
    t = trainer_of(model, &o, NULL);
    tfm_trainer_free(t);
    char path[TESTING_PATH + 32];
    snprintf(path, sizeof path, "%s-10.ckpt", base);
    t = trainer_resumed(path, &o, &data); /* at its end: nothing is lost */
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert_str_eq(s.events, "cd");
    ck_assert(exists(6) && exists(8) && exists(10));
    tfm_trainer_free(t);
}
END_TEST

/* Its list of files is of those beside it, not of those that the new path names. */
START_TEST(a_run_resumed_under_another_path_deletes_nothing_of_its_owner)
{
    char other[TESTING_PATH], from[TESTING_PATH + 32], link_path[TESTING_PATH];
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    o.checkpoint_path = base;
    o.checkpoint_steps = 2;
    o.keep = 2;
    o.max_steps = 5;
    ck_assert_ok(run_once(&o), error); /* an extra one at its end */
    snprintf(from, sizeof from, "%s", s.path);
    path_join(other, folder, "other");
    o.checkpoint_path = other;
    ck_assert_ok(run_once(&o), error);
    o.checkpoint_path = base;
    o.max_steps = 10;
    tfm_trainer *t = trainer_resumed(s.path, &o, &data);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert(exists(2) && exists(4) && exists(5) && !exists(6) && exists(8) && exists(10));
    tfm_trainer_free(t);
    path_join(link_path, folder, "link"); /* the same file by another name */
    ck_assert_int_eq(symlink(from, link_path), 0);
    t = trainer_resumed(link_path, &o, &data);
    ck_assert_ok(tfm_trainer_run(t, &error), error);
    ck_assert(!exists(2) && !exists(4) && !exists(5) && exists(8) && exists(10));
    tfm_trainer_free(t);
}
END_TEST

START_TEST(a_stop_and_a_longer_run_leave_the_files_of_an_uninterrupted_one)
{
    static const struct {
        uint64_t step;
        size_t stop_at;
    } ends[] = {{3, 0}, {4, 1}, {5, 1}, {6, 0}, {9, 0}, {12, 0}}; /* by a limit, or by the caller */
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_trainer *t = trainer_of(model, &o, &data);

    o.checkpoint_path = base;
    o.checkpoint_steps = 4;
    o.keep = 2;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const uint64_t end = ends[i].step;
        tfm_trainer_free(t);
        o.max_steps = ends[i].stop_at ? 100 : end;
        s.n = 0;
        s.stop_at = ends[i].stop_at;
        t = i ? trainer_resumed(s.path, &o, &data) : trainer_of(model, &o, &data);
        ck_assert_status(tfm_trainer_run(t, &error), s.stop_at ? TFM_E_CANCELLED : TFM_OK, error);
        for (uint64_t step = 0; step <= end; step++)
            ck_assert_int_eq(exists(step), step == end || (step && step % 4 == 0 && step + 8 > end / 4 * 4));
    }
    tfm_trainer_free(t);
}
END_TEST

START_TEST(other_data_or_seed_cannot_resume)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    pairs other;
    tfm_trainer *t;

    o.checkpoint_path = base;
    o.max_steps = 3;
    ck_assert_ok(run_once(&o), error);
    ck_assert_ok(tfm_trainer_resume(&t, s.path, &o, &error), error);
    pairs_random(&other, 40, 9, VOCAB, 2);
    ck_assert_status(tfm_trainer_set_data_ids(t, other.sources, other.targets, 40, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message, "fingerprint"));
    ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, 39, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message, "number of pairs is 40, now it is 39"));
    ck_assert_ok(tfm_trainer_set_data_ids(t, data.sources, data.targets, 40, NULL, 0, &error), error);
    steps(t, 1);
    tfm_trainer_free(t);
    o.seed = 2;
    ck_assert_ok(tfm_trainer_resume(&t, s.path, &o, &error), error);
    ck_assert_status(tfm_trainer_set_data_ids(t, data.sources, data.targets, 40, NULL, 0, &error), TFM_E_INVALID,
                     error);
    ck_assert_ptr_nonnull(strstr(error.message, "seed is 1, now it is 2"));
    tfm_trainer_free(t);
    pairs_free(&other);
}
END_TEST

START_TEST(a_model_is_not_a_checkpoint)
{
    tfm_trainer_options o = trainer_options();
    tfm_trainer *t = (tfm_trainer *)&o;

    ck_assert_ok(tfm_model_save(model, base, &error), error);
    ck_assert_status(tfm_trainer_resume(&t, base, &o, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "is a model, not a checkpoint"));
    ck_assert_ptr_null(t);
    ck_assert_status(tfm_trainer_resume(&t, folder, &o, &error), TFM_E_IO, error);
    file_write(base, "version https://git-lfs.github.com/spec/v1\n", 43);
    ck_assert_status(tfm_trainer_resume(&t, base, &o, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "Git LFS"));
}
END_TEST

START_TEST(a_damaged_checkpoint_is_refused)
{
    story s = {0};
    tfm_trainer_options o = loop_options(&s);
    tfm_trainer *t;
    size_t size;

    o.checkpoint_path = base;
    o.max_steps = 1;
    ck_assert_ok(run_once(&o), error);
    char *bytes = file_read(s.path, &size);
    bytes[size - 1] ^= 1; /* in the optimiser's tensors, which a model does not use */
    file_write(s.path, bytes, size);
    ck_assert_status(tfm_trainer_resume(&t, s.path, &o, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "data is damaged"));
    bytes[size - 1] ^= 1;
    file_write(s.path, bytes, size);
    ck_assert_ok(tfm_trainer_resume(&t, s.path, &o, &error), error);
    tfm_trainer_free(t);
    free(bytes);
}
END_TEST

/* What only a hostile file says: its checksums are good. */
START_TEST(a_checkpoint_that_stands_beyond_its_epoch_is_refused)
{
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(model, &o, &data), *resumed;
    const uint64_t updates = tfm_training_updates(&t->training);

    for (int beyond = 0; beyond < 2; beyond++) {
        t->training.at.update = beyond ? updates : updates - 1;
        ck_assert_ok(tfm_trainer_save(t, base, &error), error);
        ck_assert_ok(tfm_trainer_resume(&resumed, base, &o, &error), error);
        ck_assert_status(tfm_trainer_set_data_ids(resumed, data.sources, data.targets, data.n, NULL, 0, &error),
                         beyond ? TFM_E_FORMAT : TFM_OK, error);
        if (beyond) ck_assert_ptr_nonnull(strstr(error.message, "the checkpoint stands at update"));
        tfm_trainer_free(resumed);
    }
    tfm_trainer_free(t);
}
END_TEST

START_TEST(a_checkpoint_that_lists_a_step_below_zero_is_refused)
{
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(model, &o, &data), *resumed;

    t->kept.n = 1;
    t->kept.steps[0] = UINT64_MAX; /* -1 in the file */
    ck_assert_ok(tfm_trainer_save(t, base, &error), error);
    ck_assert_status(tfm_trainer_resume(&resumed, base, &o, &error), TFM_E_FORMAT, error);
    ck_assert_str_eq(error.message, "the checkpoint's list of files is damaged");
    ck_assert_ptr_null(resumed);
    tfm_trainer_free(t);
}
END_TEST

/* 32 KiB: with spaces, which change nothing else. */
START_TEST(a_state_of_the_training_has_a_greatest_size)
{
    const tfm_checkpoint state = {.batch_tokens = 1, .accumulate = 1, .n_ranks = 1};
    tfm_buffer json = {.allocator = tfm_allocator_or_default(NULL)};
    tfm_checkpoint read;

    ck_assert_ok(tfm_checkpoint_to_json(&json, &state, &error), error);
    while (json.size < 32768) tfm_buffer_append(&json, " ", 1);
    ck_assert_ok(tfm_checkpoint_from_json(&read, (tfm_text){json.data, json.size}, &error), error);
    tfm_buffer_append(&json, " ", 1);
    ck_assert_status(tfm_checkpoint_from_json(&read, (tfm_text){json.data, json.size}, &error), TFM_E_FORMAT, error);
    tfm_buffer_free(&json);
}
END_TEST

START_TEST(a_checkpoint_whose_tokenizer_is_too_large_is_refused)
{
    const tfm_trainer_options o = trainer_options();
    tfm_trainer *t = trainer_of(model, &o, &data), *resumed;

    t->tokenizer = tokenizer_make(); /* of more than VOCAB tokens; freed with t */
    ck_assert_ok(tfm_trainer_save(t, base, &error), error);
    ck_assert_status(tfm_trainer_resume(&resumed, base, &o, &error), TFM_E_FORMAT, error);
    ck_assert_ptr_nonnull(strstr(error.message, "its tokenizer is larger than its vocabulary"));
    ck_assert_ptr_null(resumed);
    tfm_trainer_free(t);
}
END_TEST

START_TEST(a_path_without_room_for_the_step_is_refused_before_training)
{
    static char path[PATH_MAX + 1];
    tfm_trainer_options o = trainer_options();
    const size_t most = 255 - 26; /* -STEP.ckpt with 20 digits */
    tfm_trainer *t;

    o.checkpoint_path = path;
    for (size_t i = 0; i <= 2; i++) {
        path_join(path, folder, "");
        const size_t n = strlen(path);
        memset(path + n, 'x', most + i % 2);
        path[n + most + i % 2] = '\0';
        if (i == 2) memmove(path, path + n, most + 1); /* of no folder */
        ck_assert_status(tfm_trainer_create(&t, model, &o, &error), i == 1 ? TFM_E_INVALID : TFM_OK, error);
        ck_assert(i != 1 || strstr(error.message, "its name 230, more than the 4069 and 229 that"));
        tfm_trainer_free(t);
    }
    for (size_t n = PATH_MAX - 27; n < PATH_MAX; n++) {
        for (size_t i = 0; i < n; i++) path[i] = i % 100 ? 'x' : '/';
        path[n] = '\0';
        ck_assert_status(tfm_trainer_create(&t, model, &o, &error), n == PATH_MAX - 27 ? TFM_OK : TFM_E_INVALID, error);
        tfm_trainer_free(t);
        ck_assert_status(tfm_trainer_resume(&t, "absent", &o, &error), n == PATH_MAX - 27 ? TFM_E_IO : TFM_E_INVALID,
                         error);
    }
}
END_TEST

/* ----------------------------------------------------------------------------------------------- cancelling ---- */

START_TEST(a_callback_stops_it_with_a_checkpoint)
{
    tfm_trainer_options o;

    for (size_t at = 1; at < 14; at++) {
        story s = {.stop_at = at};
        o = loop_options(&s);
        o.checkpoint_path = base;
        o.checkpoint_steps = 3;
        o.max_steps = 100;
        tfm_trainer *t = trainer_of(model, &o, &data), *again;
        ck_assert_status(tfm_trainer_run(t, &error), TFM_E_CANCELLED, error);
        ck_assert_str_eq(s.message, "stopped by the caller");
        ck_assert(!strcmp(s.events + s.n - 2, "cd"));
        ck_assert(exists(t->training.at.step));
        again = trainer_resumed(s.path, &o, &data);
        same_training(again, t);
        steps(t, 2);
        steps(again, 2);
        same_training(again, t);
        tfm_trainer_free(t);
        tfm_trainer_free(again);
    }
    story s = {.stop_at = 2};
    o = loop_options(&s); /* without a path there is nothing to write */
    ck_assert_status(run_once(&o), TFM_E_CANCELLED, error);
    ck_assert_str_eq(s.events, "ssd");
}
END_TEST

/* ------------------------------------------------------------------------------------------- trouble on disk ---- */

START_TEST(a_full_disk_leaves_the_old_file)
{
    tfm_trainer_options o = trainer_options();
    struct rlimit old, small_files;
    size_t size, size_now;

    tfm_trainer *t = trainer_of(model, &o, &data), *undisturbed = trainer_of(model, &o, &data);
    steps(t, 2);
    ck_assert_ok(tfm_trainer_save(t, base, &error), error);
    char *before = file_read(base, &size);
    steps(t, 1);
    signal(SIGXFSZ, SIG_IGN); /* in a process of its own: writing beyond the limit fails like a full disk */
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
    small_files = old;
    for (rlim_t limit = 1; limit < size; limit += size / 5) {
        small_files.rlim_cur = limit;
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small_files), 0);
        const tfm_status status = tfm_trainer_save(t, base, &error);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
        ck_assert_status(status, TFM_E_IO, error);
        char *now = file_read(base, &size_now);
        ck_assert_uint_eq(size_now, size);
        ck_assert_mem_eq(now, before, size);
        free(now);
    }
    steps(undisturbed, 3);
    same_training(t, undisturbed);
    ck_assert_ok(tfm_trainer_save(t, base, &error), error);
    free(before);
    size_t files = 0; /* no temporary file is left */
    DIR *directory = opendir(folder);
    while (readdir(directory)) files++;
    closedir(directory);
    ck_assert_uint_eq(files, 3);
    tfm_trainer_free(t);
    tfm_trainer_free(undisturbed);
}
END_TEST

START_TEST(a_missing_folder_is_an_error_and_no_more)
{
    char path[TESTING_PATH];
    story s = {0};
    tfm_trainer_options o = loop_options(&s);

    path_join(path, folder, "absent/run");
    o.checkpoint_path = path;
    o.checkpoint_steps = 2;
    o.max_steps = 5;
    tfm_trainer *t = trainer_of(model, &o, &data), *undisturbed = trainer_of(model, &o, &data);
    ck_assert_status(tfm_trainer_save(t, path, &error), TFM_E_IO, error);
    ck_assert_ptr_nonnull(strstr(error.message, "absent/run"));
    ck_assert_status(tfm_trainer_run(t, &error), TFM_E_IO, error);
    ck_assert_str_eq(s.events, "ss");
    ck_assert_uint_eq(t->kept.n, 0);
    ck_assert(!t->kept.has_extra);
    path_join(path, folder, "absent");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_ok(tfm_trainer_run(t, &error), error); /* goes on once the folder is there */
    steps(undisturbed, 5);
    same_training(t, undisturbed);
    tfm_trainer_free(t);
    tfm_trainer_free(undisturbed);
}
END_TEST

static Suite *checkpoints_suite(void)
{
    Suite *suite = suite_create("checkpoints");
    TCase *tc = tcase_create("checkpoints");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, checkpoints_every_few_steps_of_which_some_stay);
    tcase_add_test(tc, checkpoints_by_epoch_and_by_time);
    tcase_add_test(tc, a_resumed_run_looks_after_older_files);
    tcase_add_test(tc, a_run_resumed_under_another_path_deletes_nothing_of_its_owner);
    tcase_add_test(tc, a_stop_and_a_longer_run_leave_the_files_of_an_uninterrupted_one);
    tcase_add_test(tc, other_data_or_seed_cannot_resume);
    tcase_add_test(tc, a_model_is_not_a_checkpoint);
    tcase_add_test(tc, a_damaged_checkpoint_is_refused);
    tcase_add_test(tc, a_checkpoint_that_stands_beyond_its_epoch_is_refused);
    tcase_add_test(tc, a_checkpoint_that_lists_a_step_below_zero_is_refused);
    tcase_add_test(tc, a_state_of_the_training_has_a_greatest_size);
    tcase_add_test(tc, a_checkpoint_whose_tokenizer_is_too_large_is_refused);
    tcase_add_test(tc, a_path_without_room_for_the_step_is_refused_before_training);
    tcase_add_test(tc, a_callback_stops_it_with_a_checkpoint);
    tcase_add_test(tc, a_full_disk_leaves_the_old_file);
    tcase_add_test(tc, a_missing_folder_is_an_error_and_no_more);
    suite_add_tcase(suite, tc);
    return suite;
}

TESTING_MAIN(checkpoints_suite)
