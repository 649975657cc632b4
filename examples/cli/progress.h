/* How a training shows itself: a bar or lines on standard error, and a CSV file. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <transformer.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct progress {
    FILE *log; /* NULL: none */
    const char *log_path;
    double shown_at;          /* clock_seconds() of the last line or bar; < 0: none yet */
    uint64_t shown_step;      /* and its step */
    double tokens, loss, nll; /* decaying sums over the latest steps: tokens, and loss and nll times tokens */
    tfm_progress last;        /* the last step */
    uint64_t step;            /* of the last event */
    char reason[128];         /* why the training ended */
    char checkpoint[4096];    /* path of the last one written by this run */
} progress;

/* log_path NULL: no CSV. append: go on with an existing one. */
bool progress_open(progress *p, const char *log_path, bool append);
void progress_event(progress *p, const tfm_progress *event);
/* false when the CSV could not be written in full. */
bool progress_close(progress *p);

#endif
