/* Temporary files that a killed process left: they go with the next writing, and nothing else does. */
#include "base/file.h"
#include "base/temporaries.h"
#include "testing.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char folder[TESTING_PATH], path[TESTING_PATH];

/* The library's: when it is about to lock a file, another process may be about to sweep the folder. */
static bool sweep_first;

int flock(int fd, int operation);

int flock(int fd, int operation)
{
    if (sweep_first) {
        sweep_first = false;
        tfm_temporaries_sweep(path, NULL);
    }
    return (int)syscall(SYS_flock, fd, operation);
}

static void setup(void)
{
    temp_make(folder);
}

static void teardown(void)
{
    temp_remove(folder);
}

static void make(const char *name)
{
    file_write(path_join(path, folder, name), "x", 1);
}

static bool is_there(const char *name)
{
    struct stat info;

    return lstat(path_join(path, folder, name), &info) == 0;
}

static size_t count_files(void)
{
    DIR *directory = opendir(folder);
    size_t n = 0;

    while (readdir(directory)) n++;
    closedir(directory);
    return n - 2; /* . and .. */
}

START_TEST(abandoned_files_go_with_the_next_writing)
{
    static const char *const others[] = {"model",
                                         "model.tmp-",
                                         "model.tmp-12",
                                         "model.tmp-12-",
                                         "model.tmp-12-xyz",
                                         "model.tmp-12-3.old",
                                         "model.tmp-1G-12",
                                         "amodel.tmp-12-34",
                                         "model2.tmp-12-34",
                                         "model-7.ckpt.tmp-1-2",
                                         "other.tmp-1-2"};
    const size_t n = sizeof others / sizeof *others;
    tfm_error error = {0};

    for (size_t i = 0; i < n; i++) make(others[i]);
    make("model.tmp-1f-0000abcd");
    make("model.tmp-3-4");
    path_join(path, folder, "model.tmp-5-6");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(symlink("other.tmp-1-2", path_join(path, folder, "model.tmp-7-8")), 0);
    ck_assert_ok(tfm_file_write(path_join(path, folder, "model"), "new", 3, &error), error);
    ck_assert(!is_there("model.tmp-1f-0000abcd") && !is_there("model.tmp-3-4"));
    for (size_t i = 0; i < n; i++) ck_assert_msg(is_there(others[i]), "%s is gone", others[i]);
    ck_assert_uint_eq(count_files(), n + 2); /* the folder and the link */
}
END_TEST

/* Their names have no room for all of it. */
START_TEST(abandoned_files_of_long_names_go_too)
{
    char name[256] = {0}, abandoned[256];
    tfm_error error = {0};

    memset(name, 'n', 240);
    snprintf(abandoned, sizeof abandoned, "%.217s.tmp-1f-0000abcd", name);
    make(abandoned);
    ck_assert_ok(tfm_file_write(path_join(path, folder, name), "new", 3, &error), error);
    ck_assert(!is_there(abandoned) && is_there(name));
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(a_training_sweeps_all_its_steps)
{
    static const char *const others[] = {"run-.ckpt.tmp-1-2", "run-12.ckpt", "run-x.ckpt.tmp-1-2",
                                         "run-1.old.tmp-1-2", "run.tmp-1-2", "run-1-2.ckpt.tmp-1-2"};
    const size_t n = sizeof others / sizeof *others;

    for (size_t i = 0; i < n; i++) make(others[i]);
    make("run-1.ckpt.tmp-a-b");
    make("run-123456789012.ckpt.tmp-a-b");
    tfm_temporaries_sweep(path_join(path, folder, "run-"), ".ckpt");
    for (size_t i = 0; i < n; i++) ck_assert_msg(is_there(others[i]), "%s is gone", others[i]);
    ck_assert_uint_eq(count_files(), n);
    tfm_temporaries_sweep(path_join(path, folder, "missing/run-"), ".ckpt");
}
END_TEST

/* Holds a half-written file until it is killed. */
static void hold_half(int ready)
{
    tfm_writer writer;
    tfm_error error;

    if (tfm_writer_open(&writer, path_join(path, folder, "model"), NULL, &error) ||
        tfm_writer_write(&writer, "half", 4, &error))
        _exit(1);
    if (write(ready, "x", 1) != 1) _exit(1);
    for (;;) pause();
}

START_TEST(files_in_the_making_stay_while_their_process_lives)
{
    int ends[2], status;
    char byte;
    tfm_error error = {0};

    ck_assert_int_eq(pipe(ends), 0);
    const pid_t child = fork();
    if (!child) hold_half(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    ck_assert_ok(tfm_file_write(path_join(path, folder, "model"), "new", 3, &error), error);
    ck_assert_uint_eq(count_files(), 2);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_uint_eq(count_files(), 2);
    ck_assert_ok(tfm_file_write(path_join(path, folder, "model"), "new", 3, &error), error);
    ck_assert_uint_eq(count_files(), 1);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(a_file_swept_before_it_was_locked_is_made_again)
{
    tfm_error error = {0};

    path_join(path, folder, "model");
    sweep_first = true;
    ck_assert_ok(tfm_file_write(path, "new", 3, &error), error);
    ck_assert(!sweep_first && is_there("model"));
    ck_assert_uint_eq(count_files(), 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("temporaries");
    TCase *c = tcase_create("temporaries");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, abandoned_files_go_with_the_next_writing);
    tcase_add_test(c, abandoned_files_of_long_names_go_too);
    tcase_add_test(c, a_training_sweeps_all_its_steps);
    tcase_add_test(c, files_in_the_making_stay_while_their_process_lives);
    tcase_add_test(c, a_file_swept_before_it_was_locked_is_made_again);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
