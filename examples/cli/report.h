/* Trainings as a page. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "training_log.h"

#include <stdio.h>

/* One page that compares n logs. */
void report_write(FILE *file, const training_log *logs, size_t n);

#endif
