/* What a training wrote with --log and --samples, read again. */
#ifndef CLI_TRAINING_LOG_H
#define CLI_TRAINING_LOG_H

#include "options.h"

#include <transformer.h>

/* The numbers of a log, by name in log_columns; NaN: the row has none. */
enum {
    LOG_STEP,
    LOG_EPOCH,
    LOG_SECONDS,
    LOG_LOSS,
    LOG_NLL,
    LOG_RATE,
    LOG_NORM,
    LOG_SPEED,
    LOG_VALID_NLL,
    LOG_VALID_BLEU,
    LOG_COLUMNS
};
extern const char *const log_columns[LOG_COLUMNS];

/* LOG_SECONDS counts those of all runs that were resumed. */
typedef struct log_row {
    double values[LOG_COLUMNS];
} log_row;

typedef struct log_rows {
    log_row *rows;
    size_t size, capacity;
} log_rows;

typedef struct log_sample {
    uint64_t step, sample; /* sample: from 1 */
    char *source, *reference, *translation;
} log_sample;

typedef struct training_log {
    const char *path;
    log_rows steps, valid;
    log_sample *samples; /* in the order of their file */
    size_t n_samples, samples_capacity;
    string_list notes; /* what was wrong and what was done about it: "run.csv, line 17: ..."; owned */
    double seconds_before, last_seconds;
} training_log;

/* Reads a log, and the samples beside it when they exist. Damaged rows become notes, and what they still say is kept; a
 * file that is no log is an error. Returns an exit code; free it even after a failure. */
int training_log_read(training_log *log, const char *path);
void training_log_free(training_log *log);

#endif
