/* What stands on each page of help, and in which order. */
#include "help.h"

#include <stdio.h>
#include <string.h>

bool help_wanted(const char *argument, page_form *form)
{
    *form = strcmp(argument, "--help=man") == 0 ? PAGE_MAN : PAGE_PLAIN;
    return *form == PAGE_MAN || strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
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

/* "-o, --output FILE" */
static void format_term(const option_row *row, char *out, size_t size)
{
    const char letter[] = {'-', row->letter, ',', ' ', 0};
    const char *form = !row->argument ? "%s--%s" : row->kind == OPTION_MAYBE ? "%s--%s [%s]" : "%s--%s %s";
    snprintf(out, size, form, row->letter ? letter : "", row->name, row->argument);
}

static void print_row(page_form form, const option_row *row, const void *args)
{
    char term[96], text[1024], value[64];
    format_term(row, term, sizeof term);
    format_default(row, args, value, sizeof value);
    const bool add = *value && !strstr(row->help, "default");
    snprintf(text, sizeof text, "%s%s%s", row->help, add ? "; default " : "", add ? value : "");
    page_entry(form, term, text);
}

static void print_options(page_form form, const command *c, const void *args)
{
    page_section(form, "OPTIONS", NULL);
    for (const option_row *row = c->options; row->kind != OPTION_END; row++) {
        if (row->kind == OPTION_HEADING) page_heading(form, row->help);
        else print_row(form, row, args);
    }
    page_heading(form, "Everywhere");
    page_entry(form, "--quiet", "no progress on standard error; errors and warnings stay");
    page_entry(form, "-h, --help[=man]", "this page; as a manual page with =man");
}

/* What every page ends with; a terminal's page is short enough without. */
static void print_end(page_form form, const char *see_also)
{
    if (form == PAGE_PLAIN) return;
    page_section(form, "EXIT STATUS", NULL);
    page_text(form, "0: done. 1 or 2: failed; one line on standard error says what, and what to do. "
                    "2: the program refused the command line. 1: anything else, such as options that the library "
                    "refuses.");
    page_section(form, "SEE ALSO", NULL);
    page_text(form, see_also);
}

void help_command(page_form form, const command *c, const void *args)
{
    char name[64];
    snprintf(name, sizeof name, "tfm %s", c->name);
    page_title(form, name, c->summary, c->usage);
    page_text(form, c->text);
    print_options(form, c, args);
    page_section(form, "EXAMPLES", "Examples");
    page_lines(form, c->examples);
    print_end(form, "tfm(1), which lists all commands");
}

static void print_commands(page_form form, const char *prefix, const command *const *commands, size_t n)
{
    page_section(form, "COMMANDS", "Commands");
    for (size_t i = 0; i < n; i++)
        if (strncmp(commands[i]->name, prefix, strlen(prefix)) == 0)
            page_entry(form, commands[i]->name, commands[i]->summary);
}

static const char pages_text[] = "'tfm COMMAND --help' explains a command and gives examples; so does its manual page, "
                                 "such as tfm-bench-train(1) of 'tfm bench train'.";

void help_overview(page_form form, const command *const *commands, size_t n)
{
    page_title(form, "tfm", "trains and runs Transformers (Vaswani et al. 2017) on the CPU", "COMMAND [options]");
    page_text(form, "Learns to translate from pairs of lines, translates, and measures how well and how fast.");
    print_commands(form, "", commands, n);
    page_section(form, "EXAMPLES", "From two text files, line by line translations of each other");
    page_lines(form, "  tfm train --src train.en --tgt train.de --model en-de.tfm --epochs 10\n"
                     "  echo 'a man rides a bicycle' | tfm translate --model en-de.tfm\n");
    page_section(form, "NOTES", "Good to know");
    page_text(form, "Files may be plain or gzip text; '-' is standard input. Progress goes to standard error.\n"
                    "'tfm --version' prints the version.");
    page_text(form, pages_text);
    print_end(form, "the library's documentation: README.md and the pages that it links");
    if (form == PAGE_PLAIN) page_text(form, "Exit code: 0 done, 1 failed, 2 the program refused the command line.");
}

void help_group(page_form form, const char *group, const command *const *commands, size_t n)
{
    char name[64];
    snprintf(name, sizeof name, "tfm %s", group);
    page_title(form, name, "an overview of its commands", "COMMAND [options]");
    page_text(form, pages_text);
    print_commands(form, group, commands, n);
    print_end(form, "tfm(1), which lists all commands");
}
