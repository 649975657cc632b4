/* Commands described by tables: parsing and help pages come from the same rows. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct string_list {
    const char **items;
    size_t size, capacity;
} string_list;

void string_list_add(string_list *list, const char *item);
void string_list_free(string_list *list);

/* What stands at `offset` in a command's arguments. */
typedef enum option_kind {
    OPTION_END,
    OPTION_HEADING, /* nothing: help is the title of the rows below        */
    OPTION_FLAG,    /* uint32_t, set to 1; takes no value                  */
    OPTION_TEXT,    /* const char *                                        */
    OPTION_MAYBE,   /* const char *; "" when the value is left out         */
    OPTION_LIST,    /* string_list; each use adds one                      */
    OPTION_CHOICE,  /* uint32_t, index into the words "a|b|c" of argument  */
    OPTION_U32,
    OPTION_U64,
    OPTION_FLOAT,
    OPTION_SECONDS, /* double; "90", "90s", "20m", "2h", "1d"             */
    OPTION_BYTES    /* uint64_t; "500M", "6G": thousands; "4GiB": of 1,024 */
} option_kind;

typedef struct option_row {
    const char *name; /* without "--" */
    const char *argument;
    const char *help; /* the default is added from the arguments' initial value unless help speaks of one */
    option_kind kind;
    char letter; /* 'o' allows -o */
    bool required;
    double low, high;  /* of numbers; 0, 0: the type's own range, floats >= 0 */
    const char *needs; /* "NAME", or "NAME a|b" of a choice: without that option, or with another word, it is refused;
                          "!NAME": with that option */
    char file;         /* 'r': names a file that is read; 'w': one that is written, and that no other may name */
    size_t offset;
} option_row;

typedef struct command {
    const char *name;     /* "train", "tokenizer learn"              */
    const char *summary;  /* one line                                */
    const char *usage;    /* what follows the name                   */
    const char *text;     /* paragraphs separated by '\n'            */
    const char *examples; /* printed as it stands                    */
    const option_row *options;
    size_t max_operands;
    size_t args_size;
    void (*init)(void *args); /* zeroed before; may be NULL */
    int (*run)(void *args, const string_list *operands);
} command;

/* The word of that index in "a|b|c". */
void choice_word(const char *words, uint32_t index, char *out, size_t size);

/* Parses argv behind the command's name and runs it, or prints its page; returns the exit code. */
int command_main(const command *c, int argc, char **argv);

/* The nearest of n names to a misspelt word, or NULL when none is near; name(i, user) gives the names. */
const char *nearest_name(const char *word, const char *(*name)(size_t i, const void *user), size_t n, const void *user);

#endif
