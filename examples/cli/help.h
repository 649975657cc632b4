/* A command's page, made from the table that parses it. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

/* To standard output; args: the arguments as init left them, whose values are the defaults shown. */
void help_print(const command *c, const void *args);

#endif
