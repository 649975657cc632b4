/* Files: mapping refuses what is not a file, writing replaces a file at once or leaves the old one. */
#include "base/file.h"
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static char folder[TESTING_PATH];

/* These take the place of the system's, to fail when told and to stop the clock. */
static int n_syncs, failing_sync = -1;
static bool clock_stands;

int fsync(int fd)
{
    if (n_syncs++ != failing_sync) return fdatasync(fd);
    errno = EIO;
    return -1;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    *now = (struct timespec){.tv_nsec = 1};
    return clock_stands ? 0 : (int)syscall(SYS_clock_gettime, id, now);
}

static void setup(void)
{
    temp_make(folder);
}

static void teardown(void)
{
    temp_remove(folder);
}

static size_t count_entries(const char *path)
{
    DIR *directory = opendir(path);
    size_t n = 0;

    if (!directory) return 0;
    while (readdir(directory)) n++;
    closedir(directory);
    return n;
}

static size_t files_in_folder(void)
{
    return count_entries(folder) - 2; /* . and .. */
}

static size_t open_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

static void assert_holds(const char *path, const char *text)
{
    tfm_error error = {0};
    tfm_mapping mapping;

    ck_assert_ok(tfm_file_map(&mapping, path, &error), error);
    ck_assert_mem_eq(mapping.data, text, strlen(text));
    ck_assert_uint_eq(mapping.size, strlen(text));
    tfm_file_unmap(&mapping);
    ck_assert_ptr_null(mapping.data);
    tfm_file_unmap(&mapping);
}

static void assert_map_fails(const char *path, const char *reason)
{
    const size_t before = open_descriptors();
    tfm_error error = {0};
    tfm_mapping mapping = {(const unsigned char *)"x", 1};

    ck_assert_status(tfm_file_map(&mapping, path, &error), TFM_E_IO, error);
    ck_assert_msg(strstr(error.message, reason) && strstr(error.message, path), "%s", error.message);
    ck_assert_ptr_null(mapping.data);
    ck_assert_uint_eq(mapping.size, 0);
    ck_assert_uint_eq(open_descriptors(), before);
    ck_assert_int_eq(tfm_file_map(&mapping, path, NULL), TFM_E_IO);
}

static void assert_write_fails(const char *path, const char *reason)
{
    const size_t files = files_in_folder(), descriptors = open_descriptors();
    tfm_error error = {0};

    ck_assert_status(tfm_file_write(path, "new", 3, &error), TFM_E_IO, error);
    ck_assert_msg(strstr(error.message, reason) != NULL, "%s", error.message);
    ck_assert_uint_eq(files_in_folder(), files);
    ck_assert_uint_eq(open_descriptors(), descriptors);
}

START_TEST(map_gives_the_bytes)
{
    char path[TESTING_PATH];

    file_write(path_join(path, folder, "a"), "one\0two", 7);
    tfm_error error = {0};
    tfm_mapping mapping;
    const size_t before = open_descriptors();
    ck_assert_ok(tfm_file_map(&mapping, path, &error), error);
    ck_assert_uint_eq(open_descriptors(), before);
    ck_assert_uint_eq(mapping.size, 7);
    ck_assert_mem_eq(mapping.data, "one\0two", 7);
    tfm_file_unmap(&mapping);
    file_write(path, "", 0);
    assert_holds(path, "");
}
END_TEST

START_TEST(map_outlives_the_name)
{
    char path[TESTING_PATH];
    tfm_error error = {0};
    tfm_mapping removed, replaced;

    file_write(path_join(path, folder, "a"), "old", 3);
    ck_assert_ok(tfm_file_map(&replaced, path, &error), error);
    ck_assert_ok(tfm_file_write(path, "new!", 4, &error), error);
    ck_assert_ok(tfm_file_map(&removed, path, &error), error);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_mem_eq(replaced.data, "old", 3);
    ck_assert_mem_eq(removed.data, "new!", 4);
    tfm_file_unmap(&replaced);
    tfm_file_unmap(&removed);
}
END_TEST

START_TEST(map_refuses_what_is_not_a_file)
{
    char path[TESTING_PATH];

    assert_map_fails(path_join(path, folder, "missing"), "No such file");
    assert_map_fails(folder, "directory");
    assert_map_fails("/dev/null", "not a regular file");
    path_join(path, folder, "pipe");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    alarm(10); /* opening a pipe must not wait for its writer */
    assert_map_fails(path, "not a regular file");
    alarm(0);
}
END_TEST

START_TEST(write_creates_and_replaces)
{
    char path[TESTING_PATH];
    tfm_error error = {0};

    ck_assert_ok(tfm_file_write(path_join(path, folder, "a"), "first", 5, &error), error);
    assert_holds(path, "first");
    ck_assert_ok(tfm_file_write(path, "2nd", 3, &error), error);
    assert_holds(path, "2nd");
    ck_assert_ok(tfm_file_write(path, NULL, 0, &error), error);
    assert_holds(path, "");
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(write_works_in_the_current_folder)
{
    tfm_error error = {0};

    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_ok(tfm_file_write("bare", "x", 1, &error), error);
    assert_holds("bare", "x");
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(old_file_stays_until_commit)
{
    char path[TESTING_PATH];
    tfm_error error = {0};
    tfm_writer writer;

    file_write(path_join(path, folder, "a"), "old", 3);
    ck_assert_ok(tfm_writer_open(&writer, path, NULL, &error), error);
    ck_assert_ok(tfm_writer_write(&writer, "ne", 2, &error), error);
    ck_assert_ok(tfm_writer_write(&writer, "w", 1, &error), error);
    assert_holds(path, "old");
    ck_assert_uint_eq(files_in_folder(), 2);
    ck_assert_ok(tfm_writer_commit(&writer, &error), error);
    assert_holds(path, "new");
    tfm_writer_abort(&writer);
    assert_holds(path, "new");
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(abort_leaves_nothing)
{
    const size_t before = open_descriptors();
    char path[TESTING_PATH];
    tfm_error error = {0};
    tfm_writer writer;

    file_write(path_join(path, folder, "a"), "old", 3);
    ck_assert_ok(tfm_writer_open(&writer, path, NULL, &error), error);
    ck_assert_ok(tfm_writer_write(&writer, "new", 3, &error), error);
    tfm_writer_abort(&writer);
    tfm_writer_abort(&writer);
    assert_holds(path, "old");
    ck_assert_uint_eq(files_in_folder(), 1);
    ck_assert_uint_eq(open_descriptors(), before);
}
END_TEST

START_TEST(two_writers_of_one_file_do_not_mix)
{
    char path[TESTING_PATH];
    tfm_error error = {0};
    tfm_writer a, b;

    path_join(path, folder, "a");
    ck_assert_ok(tfm_writer_open(&a, path, NULL, &error), error);
    ck_assert_ok(tfm_writer_open(&b, path, NULL, &error), error);
    ck_assert_ok(tfm_writer_write(&a, "aaa", 3, &error), error);
    ck_assert_ok(tfm_writer_write(&b, "bb", 2, &error), error);
    ck_assert_ok(tfm_writer_commit(&a, &error), error);
    assert_holds(path, "aaa");
    ck_assert_ok(tfm_writer_commit(&b, &error), error);
    assert_holds(path, "bb");
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(taken_temporary_names_are_left_alone)
{
    char path[TESTING_PATH];
    tfm_error error = {0};
    tfm_writer writer, first;

    clock_stands = true; /* so that the second name is the first's */
    ck_assert_ok(tfm_writer_open(&writer, path_join(path, folder, "a"), NULL, &error), error);
    ck_assert_ok(tfm_writer_write(&writer, "one", 3, &error), error);
    first = writer;
    ck_assert_ok(tfm_writer_open(&writer, path, NULL, &error), error);
    clock_stands = false;
    ck_assert_uint_eq(files_in_folder(), 2);
    ck_assert_ok(tfm_writer_commit(&first, &error), error);
    assert_holds(path, "one");
    tfm_writer_abort(&writer);
}
END_TEST

START_TEST(commit_syncs_file_and_folder)
{
    char path[TESTING_PATH];
    tfm_error error = {0};

    path_join(path, folder, "a");
    ck_assert_ok(tfm_file_write(path, "old", 3, &error), error);
    ck_assert_int_eq(n_syncs, 2);
    failing_sync = 2;
    assert_write_fails(path, "Input/output error");
    assert_holds(path, "old");
    n_syncs = 0;
    failing_sync = 1; /* the folder: the new file is there, but may not last */
    assert_write_fails(path, "cannot sync the directory of");
    assert_holds(path, "new");
}
END_TEST

START_TEST(write_refuses_bad_places)
{
    char path[TESTING_PATH], long_name[TESTING_PATH] = {0};

    assert_write_fails("", "empty name");
    assert_write_fails(folder, "directory");
    path_join(path, folder, "pipe"); /* never a true device: root could replace it */
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    assert_write_fails(path, "not a regular file");
    assert_write_fails(path_join(path, folder, "missing/a"), "No such file");
    file_write(path_join(path, folder, "file"), "old", 3);
    assert_write_fails(path_join(path, folder, "file/a"), "Not a directory");
    memset(long_name, 'n', 300);
    assert_write_fails(path_join(path, folder, long_name), "too long");
    assert_holds(path_join(path, folder, "file"), "old");
}
END_TEST

START_TEST(write_follows_a_link)
{
    char link[TESTING_PATH], target[TESTING_PATH];
    struct stat info;
    tfm_error error = {0};

    file_write(path_join(target, folder, "target"), "old", 3);
    ck_assert_int_eq(symlink("target", path_join(link, folder, "link")), 0);
    ck_assert_ok(tfm_file_write(link, "new", 3, &error), error);
    assert_holds(target, "new");
    ck_assert_int_eq(lstat(link, &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
}
END_TEST

/* Of links that lead to nothing yet, by way of another folder; a circle of them is refused. */
START_TEST(write_follows_a_link_to_a_file_not_there_yet)
{
    char link[TESTING_PATH], other[TESTING_PATH], target[TESTING_PATH];
    struct stat info;
    tfm_error error = {0};

    ck_assert_int_eq(mkdir(path_join(other, folder, "inner"), 0700), 0);
    ck_assert_int_eq(symlink("inner/second", path_join(link, folder, "first")), 0);
    ck_assert_int_eq(symlink("../target", path_join(other, folder, "inner/second")), 0);
    assert_write_fails(path_join(other, folder, "inner/"), "directory");
    ck_assert_ok(tfm_file_write(link, "new", 3, &error), error);
    assert_holds(path_join(target, folder, "target"), "new");
    ck_assert_int_eq(lstat(link, &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink(path_join(target, folder, "missing/target"), link), 0);
    assert_write_fails(link, "No such file");
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink("first", link), 0);
    assert_write_fails(link, "cannot follow the link");
}
END_TEST

/* The longest name that a file may have, which ends within a character of its temporary one. */
START_TEST(write_takes_a_long_name)
{
    char path[TESTING_PATH], name[256] = {0};
    tfm_error error = {0};

    for (size_t i = 0; i < 254; i += 2) memcpy(name + i, "\xC3\xA4", 2);
    memcpy(name + 254, "a", 1);
    ck_assert_ok(tfm_file_write(path_join(path, folder, name), "x", 1, &error), error);
    assert_holds(path, "x");
    ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(mode_respects_umask)
{
    char path[TESTING_PATH];
    struct stat info;
    tfm_error error = {0};
    const mode_t old = umask(027);

    ck_assert_ok(tfm_file_write(path_join(path, folder, "a"), "x", 1, &error), error);
    umask(old);
    ck_assert_int_eq(stat(path, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0640);
}
END_TEST

/* What was private stays so, also while it is written, and what was shared stays that. */
START_TEST(a_replaced_file_keeps_its_mode)
{
    static const mode_t modes[] = {0600, 0664, 0444};
    char path[TESTING_PATH];
    struct stat info;
    tfm_error error = {0};
    tfm_writer writer;

    file_write(path_join(path, folder, "a"), "old", 3);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        ck_assert_int_eq(chmod(path, modes[i]), 0);
        ck_assert_ok(tfm_writer_open(&writer, path, NULL, &error), error);
        ck_assert_int_eq(fstat(writer.fd, &info), 0);
        ck_assert_uint_eq(info.st_mode & 0777, modes[i]);
        ck_assert_ok(tfm_writer_commit(&writer, &error), error);
        ck_assert_int_eq(stat(path, &info), 0);
        ck_assert_uint_eq(info.st_mode & 0777, modes[i]);
    }
}
END_TEST

/* A process that may write files of 1000 bytes stands for a full disk: the same path with another number. */
static int write_when_full(const char *path, size_t size)
{
    char *bytes = calloc(size, 1);
    const struct rlimit limit = {1000, 1000};
    tfm_error error = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (!bytes || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
    const tfm_status status = tfm_file_write(path, bytes, size, &error);
    free(bytes);
    if (status == TFM_E_IO && !strstr(error.message, strerror(EFBIG))) return 101;
    return -status;
}

static int in_child(int (*action)(const char *, size_t), const char *path, size_t size)
{
    const pid_t child = fork();
    int status;

    if (child == 0) _exit(action(path, size));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(full_disk_keeps_the_old_file)
{
    char path[TESTING_PATH];

    file_write(path_join(path, folder, "a"), "old", 3);
    ck_assert_int_eq(in_child(write_when_full, path, 5000), -TFM_E_IO); /* a short write first */
    assert_holds(path, "old");
    ck_assert_uint_eq(files_in_folder(), 1);
    ck_assert_int_eq(in_child(write_when_full, path, 1000), 0);
}
END_TEST

START_TEST(replaced_folder_fails_at_commit)
{
    char inner[TESTING_PATH], path[TESTING_PATH];
    tfm_error error = {0};
    tfm_writer writer;

    ck_assert_int_eq(mkdir(path_join(inner, folder, "inner"), 0700), 0);
    ck_assert_ok(tfm_writer_open(&writer, path_join(path, inner, "a"), NULL, &error), error);
    temp_remove(inner);
    ck_assert_status(tfm_writer_commit(&writer, &error), TFM_E_IO, error);
    ck_assert_msg(strstr(error.message, "No such file") != NULL, "%s", error.message);
    ck_assert_uint_eq(files_in_folder(), 0);
}
END_TEST

START_TEST(each_failed_allocation_is_reported)
{
    char path[TESTING_PATH];
    tfm_status status = TFM_E_NOMEM;

    path_join(path, folder, "a");
    for (size_t n = 0; status != TFM_OK; n++) {
        faulty f = {.fail_at = n};
        const tfm_allocator allocator = faulty_allocator(&f);
        tfm_error error = {0};
        tfm_writer writer;

        status = tfm_writer_open(&writer, path, &allocator, &error);
        if (status == TFM_OK) tfm_writer_abort(&writer);
        else ck_assert_int_eq(status, TFM_E_NOMEM);
        ck_assert_uint_eq(f.live, 0);
        ck_assert_uint_eq(files_in_folder(), 0);
        ck_assert_uint_lt(n, 10);
    }
}
END_TEST

static size_t sum_of(const tfm_mapping *m)
{
    size_t sum = 0;

    for (size_t i = 0; i < m->size; i++) sum += m->data[i];
    return sum;
}

/* What is released leaves memory, is read again when it is touched, and nothing else changes. */
START_TEST(released_bytes_leave_memory_and_come_back)
{
    enum { SIZE = 16 << 20 };
    char path[TESTING_PATH], *bytes = malloc(SIZE);
    tfm_error error = {0};
    tfm_mapping mapping;

    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i * 31 + i / 4096);
    file_write(path_join(path, folder, "large"), bytes, SIZE);
    ck_assert_ok(tfm_file_map(&mapping, path, &error), error);
    const size_t sum = sum_of(&mapping), all = resident_file_bytes();
    tfm_file_release(&mapping, bytes, SIZE); /* not of this mapping */
    tfm_file_release(&(tfm_mapping){0}, mapping.data, SIZE);
    tfm_file_release(&mapping, mapping.data + SIZE, 1);
    ck_assert_mem_eq(bytes, mapping.data, SIZE);
    ck_assert_uint_ge(resident_file_bytes() + (1 << 20), all);
    tfm_file_release(&mapping, mapping.data + 5, SIZE / 2);
    ck_assert_uint_le(resident_file_bytes() + SIZE / 2 - (1 << 20), all);
    tfm_file_release(&mapping, mapping.data + SIZE / 2, SIZE_MAX);
    ck_assert_uint_le(resident_file_bytes() + SIZE - (1 << 20), all);
    ck_assert_uint_eq(sum_of(&mapping), sum);
    tfm_file_unmap(&mapping);
    free(bytes);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("file");
    TCase *c = tcase_create("file");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, map_gives_the_bytes);
    tcase_add_test(c, map_outlives_the_name);
    tcase_add_test(c, map_refuses_what_is_not_a_file);
    tcase_add_test(c, released_bytes_leave_memory_and_come_back);
    tcase_add_test(c, write_creates_and_replaces);
    tcase_add_test(c, write_works_in_the_current_folder);
    tcase_add_test(c, old_file_stays_until_commit);
    tcase_add_test(c, abort_leaves_nothing);
    tcase_add_test(c, two_writers_of_one_file_do_not_mix);
    tcase_add_test(c, taken_temporary_names_are_left_alone);
    tcase_add_test(c, commit_syncs_file_and_folder);
    tcase_add_test(c, write_refuses_bad_places);
    tcase_add_test(c, write_follows_a_link);
    tcase_add_test(c, write_follows_a_link_to_a_file_not_there_yet);
    tcase_add_test(c, write_takes_a_long_name);
    tcase_add_test(c, mode_respects_umask);
    tcase_add_test(c, a_replaced_file_keeps_its_mode);
    tcase_add_test(c, full_disk_keeps_the_old_file);
    tcase_add_test(c, replaced_folder_fails_at_commit);
    tcase_add_test(c, each_failed_allocation_is_reported);
    suite_add_tcase(s, c);
    return s;
}

TESTING_MAIN(suite)
