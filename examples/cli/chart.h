/* A chart with two logarithmic axes, as a self-contained SVG file. */
#ifndef CLI_CHART_H
#define CLI_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct axis {
    const char *title;
    double low, high; /* both > 0                   */
    double base;      /* of the marked powers: 2, 10 */
} axis;

/* A point with its name in the column on the right. */
typedef struct chart_label {
    double x, y; /* on the page */
    const char *color;
    char text[96];
} chart_label;

typedef struct chart {
    FILE *file;
    const char *path;
    axis x, y;
    chart_label *labels;
    size_t n_labels, capacity;
} chart;

/* An exit code; says what is wrong with path. */
int chart_open(chart *c, const char *path, const char *title, axis x, axis y);
/* A line through n points inside the axes, named at its last one; name NULL: not named. */
void chart_line(chart *c, const double *x, const double *y, size_t n, const char *color, bool dashed, const char *name);
/* A dot, named in the column on the right. */
void chart_point(chart *c, double x, double y, const char *color, const char *name);
/* Grey text above a point; anchor: "start", "middle" or "end" of the text stands there. */
void chart_note(chart *c, double x, double y, const char *anchor, const char *text);
/* Writes the names and the end; an exit code. */
int chart_close(chart *c);

#endif
