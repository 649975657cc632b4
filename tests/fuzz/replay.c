/* Runs a fuzzer on files that are kept: seeds, and inputs that once broke something. Usage: replay FILE_OR_FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

static size_t replayed;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;

    FUZZ_REQUIRE(file && fstat(fileno(file), &info) == 0);
    const size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size ? size : 1); /* exactly: a sanitizer sees each byte read beyond */
    FUZZ_REQUIRE(data && fread(data, 1, size, file) == size);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    replayed++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    char inner[4096];

    if (!folder) {
        if (access(path, F_OK) == 0) replay_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        FUZZ_REQUIRE(snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < (int)sizeof inner);
        replay(inner);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) replay(argv[i]);
    printf("%zu inputs\n", replayed);
    return replayed ? EXIT_SUCCESS : EXIT_FAILURE;
}
