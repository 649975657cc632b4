/* The report of EVALB: a table of sentences, and the summary that is usually quoted. */
#ifndef CLI_PARSE_REPORT_H
#define CLI_PARSE_REPORT_H

#include "text_file.h"

/* The report, or with sentences the F1 of each line; names: of both files. parameters: path of a parameter file, NULL:
 * COLLINS.prm. Returns an exit code. */
int parse_report_print(const text_lines *parses, const text_lines *gold, const char *const names[2],
                       const char *parameters, bool sentences);

#endif
