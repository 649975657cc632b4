/* Any words as the program's arguments, one a line: understood or refused; no command is run. */
#include "fuzz.h"

/* main.c itself, with another name for its main and with commands that do nothing. */
int tfm_main(int argc, char **argv);
#define main tfm_main
#define command_main parse_only
#include "../../examples/cli/main.c"
#undef main
#undef command_main

enum { MOST_WORDS = 16 };

int command_main(const command *c, int argc, char **argv);

static int run_nothing(void *args, const string_list *operands)
{
    (void)args, (void)operands;
    return EXIT_SUCCESS;
}

int parse_only(const command *c, int argc, char **argv)
{
    command idle = *c;

    idle.run = run_nothing;
    return command_main(&idle, argc, argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char program[] = "tfm", *words = malloc(size + 1), *argv[MOST_WORDS + 2] = {program};
    int argc = 1;

    FUZZ_REQUIRE(words != NULL);
    memcpy(words, data, size);
    words[size] = '\0';
    for (char *at = words; at && argc <= MOST_WORDS;) {
        argv[argc++] = at;
        at = strchr(at, '\n');
        if (at) *at++ = '\0';
    }
    const int code = tfm_main(argc, argv);
    FUZZ_REQUIRE(code == EXIT_SUCCESS || code == EXIT_FAILURE || code == EXIT_USAGE);
    free(words);
    return 0;
}
