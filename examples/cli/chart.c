/* Draws charts with logarithmic axes. Names stand in a column of their own, so that they never cover one another. */
#include "chart.h"
#include "console.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1000, HEIGHT = 560, LEFT = 72, RIGHT = 320, TOP = 56, BOTTOM = 60, NAME_HEIGHT = 15 };

static double place(const axis *a, double value, double from, double to)
{
    return from + (to - from) * log(value / a->low) / log(a->high / a->low);
}

static double place_x(const chart *c, double x)
{
    return place(&c->x, x, LEFT, WIDTH - RIGHT);
}

static double place_y(const chart *c, double y)
{
    return place(&c->y, y, HEIGHT - BOTTOM, TOP);
}

static void draw_mark(const chart *c, const axis *a, double value)
{
    if (value < a->low * 0.999 || value > a->high * 1.001) return;
    if (a == &c->x) {
        const double x = place_x(c, value);
        fprintf(c->file, "<path class='grid' d='M%.1f %d V%d'/>\n", x, TOP, HEIGHT - BOTTOM);
        fprintf(c->file, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x, HEIGHT - BOTTOM + 18, value);
    } else {
        const double y = place_y(c, value);
        fprintf(c->file, "<path class='grid' d='M%d %.1f H%d'/>\n", LEFT, y, WIDTH - RIGHT);
        fprintf(c->file, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 8, y + 4, value);
    }
}

/* Powers of the base; with tens, twice and five times them too when there are few. */
static void draw_axis(const chart *c, const axis *a)
{
    const bool fine = a->base == 10 && a->high / a->low < 3e3;
    for (double power = floor(log(a->low) / log(a->base)); pow(a->base, power) <= a->high * 1.001; power++) {
        const double value = pow(a->base, power);
        draw_mark(c, a, value);
        if (!fine) continue;
        draw_mark(c, a, 2 * value);
        draw_mark(c, a, 5 * value);
    }
}

int chart_open(chart *c, const char *path, const char *title, axis x, axis y)
{
    *c = (chart){.file = fopen(path, "w"), .path = path, .x = x, .y = y};
    if (!c->file) return console_fail("cannot write %s: %s", path, strerror(errno));
    fprintf(c->file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
            "font-family='sans-serif' font-size='12' fill='#333'>\n<style>.grid{stroke:#e4e4e4;stroke-width:1}"
            ".line{fill:none;stroke-width:2}.lead{fill:none;stroke:#bbb;stroke-width:.7}</style>\n"
            "<rect width='100%%' height='100%%' fill='#fff'/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    fprintf(c->file, "<text x='%d' y='30' font-size='16'>%s</text>\n", LEFT, title);
    draw_axis(c, &c->x);
    draw_axis(c, &c->y);
    fprintf(c->file, "<text x='%d' y='%d' text-anchor='middle'>%s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16,
            x.title);
    fprintf(c->file, "<text transform='translate(20 %d) rotate(-90)' text-anchor='middle'>%s</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2, y.title);
    return EXIT_SUCCESS;
}

static void add_label(chart *c, double x, double y, const char *color, const char *name)
{
    memory_grow(&c->labels, &c->capacity, c->n_labels + 1, sizeof *c->labels);
    chart_label *label = &c->labels[c->n_labels++];
    *label = (chart_label){.x = x, .y = y, .color = color};
    snprintf(label->text, sizeof label->text, "%s", name);
}

void chart_line(chart *c, const double *x, const double *y, size_t n, const char *color, bool dashed, const char *name)
{
    fprintf(c->file, "<path class='line' stroke='%s'%s d='M", color, dashed ? " stroke-dasharray='5 4'" : "");
    for (size_t i = 0; i < n; i++) fprintf(c->file, " %.1f,%.1f", place_x(c, x[i]), place_y(c, y[i]));
    fprintf(c->file, "'/>\n");
    if (n > 0 && name) add_label(c, place_x(c, x[n - 1]), place_y(c, y[n - 1]), color, name);
}

void chart_point(chart *c, double x, double y, const char *color, const char *name)
{
    fprintf(c->file, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'/>\n", place_x(c, x), place_y(c, y), color);
    add_label(c, place_x(c, x), place_y(c, y), color, name);
}

void chart_note(chart *c, double x, double y, const char *anchor, const char *text)
{
    fprintf(c->file, "<text x='%.1f' y='%.1f' text-anchor='%s' fill='#777'>%s</text>\n", place_x(c, x),
            place_y(c, y) - 7, anchor, text);
}

static int compare_labels(const void *a, const void *b)
{
    const double x = ((const chart_label *)a)->y, y = ((const chart_label *)b)->y;
    return (x > y) - (x < y);
}

/* Names that touch share a block, which stands where its names are nearest to their points on the average. */
typedef struct block {
    size_t n;
    double wanted; /* sum of the places that its names want for its first one */
} block;

static double top_of(const block *b)
{
    return b->wanted / (double)b->n;
}

/* Names i .. n of a block begin where the block before ends; at most two blocks are compared at a time. */
static size_t make_blocks(const chart *c, block *blocks)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_labels; i++) {
        blocks[n++] = (block){1, c->labels[i].y};
        while (n > 1 && top_of(&blocks[n - 2]) + (double)blocks[n - 2].n * NAME_HEIGHT > top_of(&blocks[n - 1])) {
            block *above = &blocks[n - 2], *below = &blocks[n - 1];
            above->wanted += below->wanted - (double)(above->n * below->n) * NAME_HEIGHT;
            above->n += below->n;
            n--;
        }
    }
    return n;
}

static void draw_label(const chart *c, const chart_label *l, double y)
{
    fprintf(c->file, "<path class='lead' d='M%.1f %.1f L%d %.1f H%d'/>\n", l->x, l->y, WIDTH - RIGHT + 14, y,
            WIDTH - RIGHT + 20);
    fprintf(c->file, "<text x='%d' y='%.1f' fill='%s'>%s</text>\n", WIDTH - RIGHT + 24, y + 4, l->color, l->text);
}

static void draw_labels(chart *c)
{
    block *blocks = NULL;
    size_t capacity = 0, next = 0;
    qsort(c->labels, c->n_labels, sizeof *c->labels, compare_labels);
    memory_grow(&blocks, &capacity, c->n_labels, sizeof *blocks);
    const size_t n = make_blocks(c, blocks);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < blocks[i].n; k++)
            draw_label(c, &c->labels[next++], top_of(&blocks[i]) + (double)k * NAME_HEIGHT);
    free(blocks);
}

int chart_close(chart *c)
{
    draw_labels(c);
    free(c->labels);
    fprintf(c->file, "</svg>\n");
    const bool bad = ferror(c->file);
    if (fclose(c->file) != 0 || bad) return console_fail("cannot write %s in full", c->path);
    return EXIT_SUCCESS;
}
