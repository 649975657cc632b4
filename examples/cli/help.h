/* Pages of help, made from the tables that parse the command line: for a terminal, or as a manual page. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"
#include "page.h"

#include <stdbool.h>

/* Whether an argument asks for a page: "--help", "-h", or "--help=man". */
bool help_wanted(const char *argument, page_form *form);

/* A command's page on standard output; args: the arguments as init left them, whose values are the defaults shown. */
void help_command(page_form form, const command *c, const void *args);

/* The program's own page. */
void help_overview(page_form form, const command *const *commands, size_t n);

/* The page of "tokenizer" or "bench": the commands that begin with that word. */
void help_group(page_form form, const char *group, const command *const *commands, size_t n);

#endif
