/* Translations of a few held-out sentences while a training goes on, beside its log: FILE.csv has FILE.samples.csv. */
#ifndef CLI_SAMPLE_LOG_H
#define CLI_SAMPLE_LOG_H

#include "text_file.h"

#include <transformer.h>

typedef struct sample_log {
    FILE *file; /* NULL: none is written */
    char *path;
    text_lines sources, references;
} sample_log;

/* Of a log; freed by the caller. */
char *sample_log_path(const char *log_path);

/* Removes the file beside a log that begins anew: samples of an earlier training are none of the next one's. */
void sample_log_forget(const char *log_path);
/* Opens the file beside a log and chooses n of the pairs, spread over all; append: rows are added. An exit code. */
int sample_log_open(sample_log *s, const char *log_path, bool append, const text_lines *sources,
                    const text_lines *references, size_t n);
/* Translates the samples with the weights of this step. What fails is a warning: a training goes on without. */
void sample_log_write(sample_log *s, const tfm_trainer *trainer, uint64_t step);
/* Whether all was written; reports it. Frees the rest. */
bool sample_log_close(sample_log *s);

#endif
