/* Prints the help page of a command. */
#include "help.h"

#include <stdio.h>
#include <string.h>

enum { PAGE_COLUMNS = 92, HELP_COLUMN = 30 };

static void move_to(size_t *column, size_t indent)
{
    if (*column > indent) {
        putchar('\n');
        *column = 0;
    }
    for (; *column < indent; ++*column) putchar(' ');
}

/* Fills text into lines that begin at `indent`; column: where the cursor is. '\n' begins a new line. */
static void print_filled(const char *text, size_t column, size_t indent)
{
    move_to(&column, indent);
    while (*text) {
        const size_t word = strcspn(text, " \n");
        if (column > indent && column + 1 + word > PAGE_COLUMNS) move_to(&column, indent);
        if (column > indent) column += (size_t)printf(" ");
        column += (size_t)printf("%.*s", (int)word, text);
        text += word;
        if (*text == '\n' && text[1]) move_to(&column, indent);
        if (*text) text++;
    }
    putchar('\n');
}

/* The word of that index in "a|b|c". */
static void choice_word(const char *words, uint32_t index, char *out, size_t size)
{
    for (; index > 0; index--) words += strcspn(words, "|") + 1;
    snprintf(out, size, "%.*s", (int)strcspn(words, "|"), words);
}

static void format_default(const option_row *row, const void *args, char *out, size_t size)
{
    const void *place = (const char *)args + row->offset;
    *out = 0;
    switch (row->kind) {
    case OPTION_TEXT:
        if (*(const char *const *)place) snprintf(out, size, "%s", *(const char *const *)place);
        break;
    case OPTION_CHOICE:
        choice_word(row->argument, *(const uint32_t *)place, out, size);
        break;
    case OPTION_U32:
        snprintf(out, size, "%u", *(const uint32_t *)place);
        break;
    case OPTION_U64:
        snprintf(out, size, "%llu", *(const unsigned long long *)place);
        break;
    case OPTION_FLOAT:
        snprintf(out, size, "%g", (double)*(const float *)place);
        break;
    case OPTION_SECONDS:
        snprintf(out, size, "%gs", *(const double *)place);
        break;
    default:
        break;
    }
}

static void print_row(const option_row *row, const void *args)
{
    char text[1024], value[64];
    size_t column = (size_t)printf("  ");
    if (row->letter) column += (size_t)printf("-%c, ", row->letter);
    column += (size_t)printf("--%s", row->name);
    if (row->kind == OPTION_MAYBE) column += (size_t)printf(" [%s]", row->argument);
    else if (row->argument) column += (size_t)printf(" %s", row->argument);
    format_default(row, args, value, sizeof value);
    if (*value && !strstr(row->help, "default")) snprintf(text, sizeof text, "%s; default %s", row->help, value);
    else snprintf(text, sizeof text, "%s", row->help);
    if (column + 2 > HELP_COLUMN) {
        putchar('\n');
        column = 0;
    }
    print_filled(text, column, HELP_COLUMN);
}

void help_print(const command *c, const void *args)
{
    printf("tfm %s - %s\n\nUsage: tfm %s %s\n\n", c->name, c->summary, c->name, c->usage);
    print_filled(c->text, 0, 0);
    for (const option_row *row = c->options; row->kind != OPTION_END; row++) {
        if (row->kind == OPTION_HEADING) printf("\n%s\n", row->help);
        else print_row(row, args);
    }
    printf("\nEverywhere\n");
    print_row(&(option_row){.name = "quiet", .help = "no progress on standard error; errors and warnings stay"}, args);
    print_row(&(option_row){.name = "help", .letter = 'h', .help = "this page"}, args);
    printf("\nExamples\n%s", c->examples);
}
