/* Reads the log of a training: columns by their names, so that logs of every version are read; rows as far as they are
 * whole. */
#include "training_log.h"
#include "console.h"
#include "sample_log.h"
#include "text_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FIELDS = 64, MOST_NOTES = 200 };

const char *const log_columns[LOG_COLUMNS] = {"step", "epoch", "seconds", "loss", "nll", "learning_rate",
                                              "gradient_norm", "tokens_per_s", "valid_nll", "valid_bleu"};

/* A line of a file, cut into fields. */
typedef struct table {
    training_log *log;
    text_reader reader;
    char *line; /* the fields, each terminated */
    size_t capacity;
    char *fields[MOST_FIELDS];
    size_t n, n_header; /* fields of this line, and of the first */
    int column[LOG_COLUMNS], event; /* -1: there is none */
} table;

static void note(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(table *t, const char *format, ...)
{
    char text[512];
    va_list args;
    string_list *notes = &t->log->notes;
    if (notes->size > MOST_NOTES) return;
    int n = snprintf(text, sizeof text, "%.200s, line %llu: ", t->reader.name, (unsigned long long)t->reader.line);
    va_start(args, format);
    if (notes->size == MOST_NOTES) snprintf(text + n, sizeof text - (size_t)n, "and more, which are not listed");
    else vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    string_list_add(notes, memory_copy(text, strlen(text)));
}

/* Takes the field at *at, quoted or not, off a line; returns it, terminated. */
static char *take_field(char **at)
{
    char *field = *at, *from = field, *to = field;
    if (*from == '"') {
        for (from++; *from && (*from != '"' || from[1] == '"'); from++) {
            if (*from == '"') from++;
            *to++ = *from;
        }
        if (*from) from++;
    }
    while (*from && *from != ',') *to++ = *from++;
    *at = *from ? from + 1 : NULL;
    *to = '\0';
    return field;
}

/* 1: a line is there; 0: the end; -1: a reported failure. */
static int next_line(table *t)
{
    tfm_text line;
    const int got = text_reader_next(&t->reader, &line);
    if (got <= 0) return got;
    memory_grow(&t->line, &t->capacity, line.size + 1, 1);
    memcpy(t->line, line.data, line.size);
    t->line[line.size] = '\0';
    if (strlen(t->line) != line.size) note(t, "has bytes 0; what follows the first one is not read");
    t->n = 0;
    for (char *at = t->line; at && t->n < MOST_FIELDS;) t->fields[t->n++] = take_field(&at);
    return got;
}

static int column_of(const table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->fields[i], name) == 0) return (int)i;
    return -1;
}

static bool open_table(table *t, training_log *log, const char *path)
{
    *t = (table){.log = log};
    if (!text_reader_open(&t->reader, path, true) || next_line(t) < 0) return false;
    t->n_header = t->n;
    return true;
}

static void close_table(table *t)
{
    text_reader_free(&t->reader);
    free(t->line);
}

/* The number in a field; NaN when it is empty, or absent, or no number, which is a note. */
static double number(table *t, int index, const char *name)
{
    char *end;
    if (index < 0 || (size_t)index >= t->n || !*t->fields[index]) return (double)NAN;
    const double value = strtod(t->fields[index], &end);
    if (!*end) return isfinite(value) ? value : (double)NAN;
    note(t, "%s is '%.40s', not a number", name, t->fields[index]);
    return (double)NAN;
}

/* Whether a line is whole; what another one still says is kept. */
static bool check_whole(table *t)
{
    if (t->n < t->n_header) note(t, "is cut off: it has %zu fields of %zu", t->n, t->n_header);
    else if (t->reader.cut) note(t, "has no end: its last field may be cut off");
    else if (t->n > t->n_header) note(t, "has %zu fields, more than the %zu of the first line", t->n, t->n_header);
    return t->n == t->n_header && !t->reader.cut;
}

static void add_row(log_rows *rows, const log_row *row)
{
    memory_grow(&rows->rows, &rows->capacity, rows->size + 1, sizeof *rows->rows);
    rows->rows[rows->size++] = *row;
}

/* A run that was resumed takes up its steps again: rows from this one on belong to the run before, which was lost. */
static size_t drop_from(log_rows *rows, double step)
{
    const size_t before = rows->size;
    while (rows->size && rows->rows[rows->size - 1].values[LOG_STEP] >= step) rows->size--;
    return before - rows->size;
}

static double last_step(const training_log *log)
{
    return log->steps.size ? log->steps.rows[log->steps.size - 1].values[LOG_STEP] : 0;
}

static void go_on_from(table *t, double step)
{
    const size_t n = drop_from(&t->log->steps, step);
    drop_from(&t->log->valid, step);
    if (n)
        note(t, "the training went on from before step %.0f; %zu rows of steps that it took again are left out", step,
             n);
}

/* Seconds begin anew in each run. */
static double total_seconds(training_log *log, double seconds)
{
    if (seconds < log->last_seconds) log->seconds_before += log->last_seconds;
    if (!isnan(seconds)) log->last_seconds = seconds;
    return log->seconds_before + seconds;
}

static void read_row(table *t)
{
    const char *event = t->event >= 0 && (size_t)t->event < t->n ? t->fields[t->event] : "";
    log_row row;
    if (t->n == 1 && !*t->fields[0]) return;
    const bool whole = check_whole(t);
    for (int c = 0; c < LOG_COLUMNS; c++) row.values[c] = number(t, t->column[c], log_columns[c]);
    double *v = row.values;
    if (!whole && t->column[LOG_SECONDS] >= 0 && t->n <= (size_t)t->column[LOG_SECONDS] + 1) v[LOG_SECONDS] = (double)NAN;
    if (isnan(v[LOG_STEP]) ||
        (!whole && v[LOG_STEP] < last_step(t->log))) { /* half a number is no reason to drop rows */
        note(t, "has no step that can be trusted, so that it has no place");
        return;
    }
    v[LOG_SECONDS] = total_seconds(t->log, v[LOG_SECONDS]);
    if (strcmp(event, "step") == 0) {
        go_on_from(t, v[LOG_STEP]);
        add_row(&t->log->steps, &row);
    } else if (strcmp(event, "valid") == 0) {
        drop_from(&t->log->valid, v[LOG_STEP]);
        add_row(&t->log->valid, &row);
    }
}

static int read_table(training_log *log, const char *path)
{
    table t;
    int got = open_table(&t, log, path) ? 1 : -1, code = EXIT_SUCCESS;
    for (int c = 0; c < LOG_COLUMNS; c++) t.column[c] = column_of(&t, log_columns[c]);
    t.event = column_of(&t, "event");
    if (got > 0 && (t.event < 0 || t.column[LOG_STEP] < 0))
        code = console_fail("%s is no log of 'tfm train --log': line 1 names no column event and step", path);
    while (!code && got > 0 && (got = next_line(&t)) > 0) read_row(&t);
    if (!code && got >= 0 && log->steps.size + log->valid.size == 0)
        code = console_fail("%s has no row of a step or a validation", path);
    close_table(&t);
    return got < 0 ? EXIT_FAILURE : code;
}

static void read_sample(table *t)
{
    const double step = number(t, 0, "step"), sample = number(t, 1, "sample");
    if (t->n == 1 && !*t->fields[0]) return;
    check_whole(t);
    if (t->n < 5 || !(step >= 0 && step < 0x1p63) || !(sample >= 1 && sample < 0x1p63)) {
        note(t, "is no sample: step, sample, source, reference, translation");
        return;
    }
    training_log *log = t->log;
    memory_grow(&log->samples, &log->samples_capacity, log->n_samples + 1, sizeof *log->samples);
    log->samples[log->n_samples++] = (log_sample){
        .step = (uint64_t)step, .sample = (uint64_t)sample,
        .source = memory_copy(t->fields[2], strlen(t->fields[2])),
        .reference = memory_copy(t->fields[3], strlen(t->fields[3])),
        .translation = memory_copy(t->fields[4], strlen(t->fields[4])),
    };
}

static int read_samples(training_log *log, const char *path)
{
    table t;
    int got = open_table(&t, log, path) ? 1 : -1;
    while (got > 0 && (got = next_line(&t)) > 0) read_sample(&t);
    close_table(&t);
    return got < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int training_log_read(training_log *log, const char *path)
{
    *log = (training_log){.path = path};
    int code = read_table(log, path);
    if (code) return code;
    char *samples = sample_log_path(path);
    if (access(samples, F_OK) == 0) code = read_samples(log, samples);
    free(samples);
    return code;
}

void training_log_free(training_log *log)
{
    for (size_t i = 0; i < log->n_samples; i++) {
        free(log->samples[i].source);
        free(log->samples[i].reference);
        free(log->samples[i].translation);
    }
    for (size_t i = 0; i < log->notes.size; i++) free((void *)(uintptr_t)log->notes.items[i]);
    string_list_free(&log->notes);
    free(log->samples);
    free(log->steps.rows);
    free(log->valid.rows);
    *log = (training_log){0};
}
