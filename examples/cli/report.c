/* Logs of trainings as JSON, inside of the page that draws them. */
#include "report.h"
#include "json_text.h"
#include "pages.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 1000 }; /* of a curve; no screen shows more */

static void put_number(FILE *file, double value, bool first)
{
    if (!first) putc(',', file);
    if (!isfinite(value)) fputs("null", file);
    else fprintf(file, "%.9g", value);
}

/* Of rows begin .. end: the mean, the least or the most of a column. */
typedef double summary_fn(const log_row *rows, size_t n, int column);

static double mean_of(const log_row *rows, size_t n, int column)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].values[column])) continue;
        sum += rows[i].values[column];
        count++;
    }
    return count > 0 ? sum / count : (double)NAN;
}

static double least_of(const log_row *rows, size_t n, int column)
{
    double least = (double)NAN;
    for (size_t i = 0; i < n; i++) least = fmin(least, rows[i].values[column]);
    return least;
}

static double most_of(const log_row *rows, size_t n, int column)
{
    double most = (double)NAN;
    for (size_t i = 0; i < n; i++) most = fmax(most, rows[i].values[column]);
    return most;
}

static double last_of(const log_row *rows, size_t n, int column)
{
    return rows[n - 1].values[column];
}

static void put_column(FILE *file, const char *name, const log_rows *rows, size_t every, int column,
                       summary_fn *summary)
{
    fprintf(file, "\"%s\":[", name);
    for (size_t i = 0; i < rows->size; i += every) {
        const size_t n = rows->size - i < every ? rows->size - i : every;
        put_number(file, summary(rows->rows + i, n, column), i == 0);
    }
    putc(']', file);
}

/* Each point stands for `every` steps, at the last of them. */
static void put_steps(FILE *file, const log_rows *rows)
{
    static const struct {
        const char *name;
        int column;
        summary_fn *summary;
    } columns[] = {{"step", LOG_STEP, last_of}, {"epoch", LOG_EPOCH, last_of}, {"seconds", LOG_SECONDS, last_of},
                   {"loss", LOG_LOSS, mean_of}, {"nll", LOG_NLL, mean_of}, {"nll_least", LOG_NLL, least_of},
                   {"nll_most", LOG_NLL, most_of}, {"rate", LOG_RATE, mean_of}, {"norm", LOG_NORM, mean_of},
                   {"speed", LOG_SPEED, mean_of}};
    const size_t every = (rows->size + MOST_POINTS - 1) / MOST_POINTS;
    fprintf(file, "\"every\":%zu,\"steps\":{", every);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i) fputs(",\n", file);
        put_column(file, columns[i].name, rows, every ? every : 1, columns[i].column, columns[i].summary);
    }
    putc('}', file);
}

static void put_valid(FILE *file, const log_rows *rows)
{
    static const struct {
        const char *name;
        int column;
    } columns[] = {{"step", LOG_STEP}, {"epoch", LOG_EPOCH}, {"seconds", LOG_SECONDS}, {"nll", LOG_VALID_NLL},
                   {"bleu", LOG_VALID_BLEU}};
    fputs(",\n\"valid\":{", file);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (i) putc(',', file);
        put_column(file, columns[i].name, rows, 1, columns[i].column, last_of);
    }
    putc('}', file);
}

static void put_samples(FILE *file, const training_log *log)
{
    fputs(",\n\"samples\":[", file);
    for (size_t i = 0; i < log->n_samples; i++) {
        const log_sample *s = &log->samples[i];
        const char *const texts[] = {s->source, s->reference, s->translation};
        fprintf(file, "%s[%llu,%llu", i ? ",\n" : "", (unsigned long long)s->step, (unsigned long long)s->sample);
        for (int k = 0; k < 3; k++) {
            putc(',', file);
            put_json(file, texts[k]);
        }
        putc(']', file);
    }
    putc(']', file);
}

static void put_log(FILE *file, const training_log *log)
{
    fputs("{\"name\":", file);
    put_json(file, log->path);
    fputs(",\"notes\":[", file);
    for (size_t i = 0; i < log->notes.size; i++) {
        if (i) putc(',', file);
        put_json(file, log->notes.items[i]);
    }
    fputs("],\n", file);
    put_steps(file, &log->steps);
    put_valid(file, &log->valid);
    put_samples(file, log);
    putc('}', file);
}

void report_write(FILE *file, const training_log *logs, size_t n)
{
    fputs(report_before, file);
    fputs("{\"runs\":[", file);
    for (size_t i = 0; i < n; i++) {
        if (i) fputs(",\n", file);
        put_log(file, &logs[i]);
    }
    fputs("]}", file);
    fputs(report_after, file);
}
