/* Runs a fuzzer on files that are kept, seeds and inputs that once broke something, and on damaged copies of them.
 * Usage: replay FILE_OR_FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

enum { CUTS = 7, CHANGES = 25 }; /* of each file */

static size_t replayed;

/* From a block of exactly its size: a sanitizer sees each byte read beyond. */
static void run(const uint8_t *data, size_t size, size_t changed, uint8_t change)
{
    uint8_t *copy = malloc(size ? size : 1);

    FUZZ_REQUIRE(copy != NULL);
    memcpy(copy, data, size);
    if (size) copy[changed % size] ^= change;
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void damage(const uint8_t *data, size_t size)
{
    uint64_t state = size;

    for (size_t i = 1; i <= CUTS && size; i++) run(data, size * i / (CUTS + 1), 0, 0);
    for (size_t i = 0; i < CHANGES && size; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        run(data, size, (size_t)(state >> 33), (uint8_t)(1u << (state >> 60) % 8));
    }
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat info;

    FUZZ_REQUIRE(file && fstat(fileno(file), &info) == 0);
    const size_t size = (size_t)info.st_size;
    uint8_t *data = malloc(size ? size : 1);
    FUZZ_REQUIRE(data && fread(data, 1, size, file) == size);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    run(data, size, 0, 0);
    damage(data, size);
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
