/* Draws the log of "tfm train --log" as a self-contained SVG: the loss of training and of validation over the steps. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 840, HEIGHT = 480, LEFT = 72, RIGHT = 28, TOP = 64, BOTTOM = 60, BINS = 400 };

struct series {
    double *x, *y; /* step; nats a token, > 0 */
    size_t n, capacity;
};

struct log {
    struct series train, valid;
    int step, train_loss, valid_loss; /* column numbers; -1: absent */
};

/* The plot's area in data: steps, and the common logarithm of the loss. */
struct frame {
    double x_max, y_min, y_max;
};

static bool append(struct series *s, double x, double y)
{
    if (s->n == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
        double *xs = realloc(s->x, capacity * sizeof *xs);
        if (xs) s->x = xs;
        double *ys = realloc(s->y, capacity * sizeof *ys);
        if (ys) s->y = ys;
        if (!xs || !ys) return false;
        s->capacity = capacity;
    }
    s->x[s->n] = x;
    s->y[s->n++] = y;
    return true;
}

/* A training that went on takes up its steps again: what is from this one on was lost. */
static void drop_from(struct series *s, double x)
{
    while (s->n && s->x[s->n - 1] >= x) s->n--;
}

/* Cuts a line at its commas, in place; returns the number of fields, of which at most limit are kept. */
static int split(char *line, char **fields, int limit)
{
    int n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *field; (field = strsep(&line, ","));)
        if (n < limit) fields[n++] = field;
    return n;
}

static int column(char **fields, int n, const char *name)
{
    while (n-- && strcmp(fields[n], name)) continue;
    return n;
}

/* The field as a positive number, not too large to be drawn; NaN when it is empty or something else. */
static double value(char **fields, int n, int index)
{
    char *end;

    if (index < 0 || index >= n || !*fields[index]) return NAN;
    const double v = strtod(fields[index], &end);
    return *end || !(v > 0 && v < 1e300) ? NAN : v;
}

static bool read_log(FILE *file, struct log *log)
{
    char *line = NULL, *fields[64];
    size_t size = 0;
    bool good = getline(&line, &size, file) > 0;

    if (good) {
        const int n = split(line, fields, 64);
        log->step = column(fields, n, "step");
        log->train_loss = column(fields, n, "nll"); /* without smoothing, as the validation loss */
        if (log->train_loss < 0) log->train_loss = column(fields, n, "loss");
        log->valid_loss = column(fields, n, "valid_nll");
    }
    while (good && getline(&line, &size, file) > 0) {
        const int n = split(line, fields, 64);
        const double step = value(fields, n, log->step), train = value(fields, n, log->train_loss);
        const double valid = value(fields, n, log->valid_loss);
        if (isnan(step) || (isnan(train) && isnan(valid))) continue;
        if (!isnan(train)) drop_from(&log->train, step);
        drop_from(&log->valid, step);
        if (!isnan(train)) good = append(&log->train, step, train);
        if (good && !isnan(valid)) good = append(&log->valid, step, valid);
    }
    free(line);
    return good;
}

/* ------------------------------------------------------------------------------------------------- drawing ---- */

static double place_x(const struct frame *f, double step)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * step / f->x_max;
}

static double place_y(const struct frame *f, double loss)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (f->y_max - log10(loss)) / (f->y_max - f->y_min);
}

static void widen(struct frame *f, const struct series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        f->x_max = fmax(f->x_max, s->x[i]);
        f->y_min = fmin(f->y_min, log10(s->y[i]));
        f->y_max = fmax(f->y_max, log10(s->y[i]));
    }
}

static struct frame make_frame(const struct log *log)
{
    struct frame f = {1, INFINITY, -INFINITY};

    widen(&f, &log->train);
    widen(&f, &log->valid);
    const double margin = fmax(0.05 * (f.y_max - f.y_min), 0.02);
    f.y_min -= margin;
    f.y_max += margin;
    return f;
}

/* 1, 2 or 5 times a power of ten, so that about eight of them reach the end. */
static double tick_distance(double end)
{
    const double power = pow(10, floor(log10(end / 8)));
    const double times = end / 8 / power;

    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static void draw_x_axis(FILE *out, const struct frame *f)
{
    const double distance = fmax(tick_distance(f->x_max), 1);

    for (double step = 0; step <= f->x_max * 1.0001; step += distance) {
        const double x = place_x(f, step);
        fprintf(out, "<path class='grid' d='M%.1f %d V%d'/>\n", x, TOP, HEIGHT - BOTTOM);
        fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%.0f</text>\n", x, HEIGHT - BOTTOM + 20, step);
    }
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>step</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
}

/* Lines at 1, 2 and 5 of each decade, at every digit when less than a decade is shown. */
static void draw_y_axis(FILE *out, const struct frame *f)
{
    const bool narrow = f->y_max - f->y_min < 0.8;

    for (int decade = (int)floor(f->y_min); decade <= (int)ceil(f->y_max); decade++)
        for (int digit = 1; digit < 10; digit++) {
            const double loss = digit * pow(10, decade), y = place_y(f, loss);
            if ((!narrow && digit != 1 && digit != 2 && digit != 5) || y < TOP || y > HEIGHT - BOTTOM) continue;
            fprintf(out, "<path class='grid' d='M%d %.1f H%d'/>\n", LEFT, y, WIDTH - RIGHT);
            fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%.4g</text>\n", LEFT - 10, y + 4, loss);
        }
    fprintf(out, "<text transform='translate(20 %d) rotate(-90)' text-anchor='middle'>nats per target token</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

/* The smallest and largest loss of each bin of steps, as a pale area. */
static void draw_spread(FILE *out, const struct frame *f, const struct series *s)
{
    const size_t width = (s->n + BINS - 1) / BINS;

    fputs("<path class='spread' d='M", out);
    for (int side = 0; side < 2; side++)
        for (size_t k = 0, bins = (s->n + width - 1) / width; k < bins; k++) {
            const size_t begin = (side ? bins - 1 - k : k) * width, end = begin + width < s->n ? begin + width : s->n;
            double extreme = s->y[begin];
            for (size_t i = begin; i < end; i++) extreme = side ? fmin(extreme, s->y[i]) : fmax(extreme, s->y[i]);
            fprintf(out, " %.1f,%.1f", place_x(f, s->x[(begin + end - 1) / 2]), place_y(f, extreme));
        }
    fputs(" Z'/>\n", out);
}

/* A running geometric mean of about a hundredth of the training, without the pull of its start. */
static double draw_smoothed(FILE *out, const struct frame *f, const struct series *s)
{
    const double keep = 1 - 1 / (1 + (double)s->n / 100);
    const size_t every = (s->n + BINS - 1) / BINS;
    double sum = 0, weight = 0;

    fputs("<path class='train' d='M", out);
    for (size_t i = 0; i < s->n; i++) {
        sum = keep * sum + log(s->y[i]);
        weight = keep * weight + 1;
        if (i % every == 0 || i + 1 == s->n)
            fprintf(out, " %.1f,%.1f", place_x(f, s->x[i]), place_y(f, exp(sum / weight)));
    }
    fputs("'/>\n", out);
    return exp(sum / weight);
}

static void draw_valid(FILE *out, const struct frame *f, const struct series *s)
{
    fputs("<path class='valid' d='M", out);
    for (size_t i = 0; i < s->n; i++) fprintf(out, " %.1f,%.1f", place_x(f, s->x[i]), place_y(f, s->y[i]));
    fputs("'/>\n", out);
    for (size_t i = 0; i < s->n; i++)
        fprintf(out, "<circle class='point' cx='%.1f' cy='%.1f' r='3.5'/>\n", place_x(f, s->x[i]), place_y(f, s->y[i]));
}

static void draw_legend(FILE *out, int row, const char *class, const char *name, double last)
{
    const int y = TOP + 18 + 22 * row, x = WIDTH - RIGHT - 250;

    fprintf(out, "<path class='%s' d='M%d %d h28'/><text x='%d' y='%d'>%s, last %.3g</text>\n", class, x, y, x + 38,
            y + 4, name, last);
}

static void draw(FILE *out, const struct log *log)
{
    const struct frame f = make_frame(log);
    int row = 0;

    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img'>\n"
            "<title>Loss of a training over its steps</title>\n"
            "<style>text{font:13px system-ui,'DejaVu Sans',sans-serif;fill:#444}.title{font-size:18px;fill:#111}"
            "path{fill:none}.grid{stroke:#e4e4e8}.spread{fill:#4269d0;opacity:.18}"
            ".train{stroke:#4269d0;stroke-width:2.2}.valid{stroke:#e4572e;stroke-width:2.2}"
            ".point{fill:#fff;stroke:#e4572e;stroke-width:2}.box{fill:#fff;opacity:.85}</style>\n"
            "<rect width='100%%' height='100%%' fill='#fff'/>\n"
            "<text class='title' x='%d' y='34'>Learning curve</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    draw_x_axis(out, &f);
    draw_y_axis(out, &f);
    double last = 0;
    if (log->train.n) {
        draw_spread(out, &f, &log->train);
        last = draw_smoothed(out, &f, &log->train);
    }
    if (log->valid.n) draw_valid(out, &f, &log->valid);
    fprintf(out, "<rect class='box' x='%d' y='%d' width='260' height='50'/>\n", WIDTH - RIGHT - 260, TOP + 4);
    if (log->train.n) draw_legend(out, row++, "train", "training, smoothed", last);
    if (log->valid.n) draw_legend(out, row++, "valid", "validation", log->valid.y[log->valid.n - 1]);
    fputs("</svg>\n", out);
}

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "plot_log: %s %s: %s\n", what, path, errno ? strerror(errno) : "no rows with a step and a loss");
    return 1;
}

static int plot(const char *log_path, const char *svg_path, struct log *log)
{
    FILE *in = fopen(log_path, "r");
    if (!in) return fail("cannot read", log_path);
    errno = 0;
    const bool read = read_log(in, log);
    fclose(in);
    if (!read || log->train.n + log->valid.n == 0) return fail("cannot plot", log_path);

    FILE *out = fopen(svg_path, "w");
    if (!out) return fail("cannot write", svg_path);
    draw(out, log);
    return fclose(out) ? fail("cannot write", svg_path) : 0;
}

int main(int argc, char **argv)
{
    struct log log = {0};

    if (argc != 3 || argv[1][0] == '-') {
        fputs("usage: plot_log LOG.csv PICTURE.svg\n", stderr);
        return 2;
    }
    const int code = plot(argv[1], argv[2], &log);
    free(log.train.x);
    free(log.train.y);
    free(log.valid.x);
    free(log.valid.y);
    return code;
}
