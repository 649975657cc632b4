/* tfm: the library on the command line, built on the public header alone. */
#include "commands.h"
#include "console.h"
#include "help.h"

#include <transformer.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const command *const commands[] = {
    &command_train,
    &command_translate,
    &command_score,
    &command_evaluate,
    &command_attention,
    &command_report,
    &command_tokenizer_learn,
    &command_tokenizer_encode,
    &command_tokenizer_decode,
    &command_tokenizer_normalize,
    &command_tokenizer_pair,
    &command_tokenizer_restrict,
    &command_tokenizer_keep_case,
    &command_tokenizer_pretokenize,
    &command_tokenizer_detokenize,
    &command_average,
    &command_quantize,
    &command_convert,
    &command_inspect,
    &command_bench_train,
    &command_bench_decode,
    &command_bench_gemm,
    &command_bench_attention,
    &command_bench_kernels,
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const char *command_name(size_t i, const void *user)
{
    (void)user;
    return commands[i]->name;
}

/* *used: how many arguments the name takes. */
static const command *find_command(int argc, char **argv, int *used)
{
    char name[64];
    for (*used = 1; *used <= 2 && *used <= argc; ++*used) {
        snprintf(name, sizeof name, *used == 1 ? "%s" : "%s %s", argv[0], argv[*used - 1]);
        for (size_t i = 0; i < N_COMMANDS; i++)
            if (strcmp(commands[i]->name, name) == 0) return commands[i];
    }
    return NULL;
}

/* "tfm tokenizer" and "tfm bench" alone are no commands, but share a page. */
static bool is_group(const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strncmp(commands[i]->name, name, length) == 0 && commands[i]->name[length] == ' ') return true;
    return false;
}

/* "learn, encode, decode": the second words of a group's commands. */
static void list_words(const char *group, char *out, size_t size)
{
    const size_t length = strlen(group);
    size_t used = 0;
    for (size_t i = 0; i < N_COMMANDS && used < size; i++)
        if (strncmp(commands[i]->name, group, length) == 0 && commands[i]->name[length] == ' ')
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", commands[i]->name + length + 1);
}

static int group_overview(const char *group, int argc, char **argv)
{
    char words[128];
    page_form form;
    if (argc >= 2 && help_wanted(argv[1], &form)) {
        help_group(form, group, commands, N_COMMANDS);
        return EXIT_SUCCESS;
    }
    list_words(group, words, sizeof words);
    return console_usage("%s needs one of %s; 'tfm %s --help' explains", group, words, group);
}

static int unknown_command(int argc, char **argv)
{
    char name[64];
    snprintf(name, sizeof name, "%s", argv[0]);
    if (is_group(name)) {
        if (argc < 2 || argv[1][0] == '-') return group_overview(name, argc, argv);
        snprintf(name, sizeof name, "%s %s", argv[0], argv[1]);
    }
    const char *near = nearest_name(name, command_name, N_COMMANDS, NULL);
    if (near) return console_usage("unknown command '%s'; did you mean '%s'? 'tfm --help' lists all", name, near);
    return console_usage("unknown command '%s'; 'tfm --help' lists all", name);
}

static int dispatch(int argc, char **argv)
{
    page_form form;
    if (argc < 1) return console_usage("no command given; 'tfm --help' lists all");
    if (strcmp(argv[0], "--version") == 0) {
        printf("tfm %s\n", tfm_version());
        return EXIT_SUCCESS;
    }
    if (help_wanted(argv[0], &form)) {
        help_overview(form, commands, N_COMMANDS);
        return EXIT_SUCCESS;
    }
    int used;
    const command *c = find_command(argc, argv, &used);
    return c ? command_main(c, argc - used, argv + used) : unknown_command(argc, argv);
}

/*
 * A descriptor that the caller closed would be given to the next file opened. Closed input reads as empty; closed
 * output is opened for reading, so that writing to it fails as it should.
 */
static void hold_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd) exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    hold_standard_files();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a file size limit are write errors, reported as such */
    signal(SIGXFSZ, SIG_IGN);
    const int code = dispatch(argc - 1, argv + 1);
    errno = EIO;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (code == EXIT_SUCCESS) return console_fail("cannot write standard output: %s", strerror(errno));
    }
    return code;
}
