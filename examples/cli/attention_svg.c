/* Attention as a figure: keys above, queries below, a line for each weight in the colour of its head. */
#include "attention_picture.h"

#include <math.h>

enum { PITCH = 18, MARGIN = 20, FONT = 13, TITLE = 44, LEGEND = 40, GAP = 8, LEAST_WIDTH = 320 };

static const double LEAST_SHOWN = 0.02; /* lighter lines cannot be seen, and there may be thousands */

const char *head_color(size_t h)
{
    static const char *const colors[] = {"#e4572e", "#2f7ed8", "#1f9d55", "#9b51c9", "#d99a00", "#12a0a6",
                                         "#d6458f", "#8a6d3b", "#5b6ee1", "#83a000", "#b3322c", "#0b6e75",
                                         "#b8860b", "#7a3fb0", "#f07f5a", "#6a7889"};
    return colors[h % (sizeof colors / sizeof *colors)];
}

const float *attention_of(const attention_kind *kind, size_t layer, size_t head)
{
    return kind->weights + (layer * kind->shape[1] + head) * kind->shape[2] * kind->shape[3];
}

/* Where the parts of the figure lie. */
typedef struct figure {
    FILE *file;
    const attention_picture *p;
    const attention_kind *kind;
    double width, keys_y, queries_y; /* keys_y: of the lines' upper ends */
    double height;
} figure;

static double text_length(const pieces *all)
{
    size_t most = 1;
    for (size_t i = 0; i < all->size; i++) {
        const size_t n = text_columns(all->items[i].text);
        if (n > most) most = n;
    }
    return (double)most * FONT * 0.62;
}

static figure plan(FILE *file, const attention_picture *p)
{
    const attention_kind *k = &p->kinds[p->kind];
    const size_t most = k->shape[2] > k->shape[3] ? k->shape[2] : k->shape[3];
    figure f = {.file = file, .p = p, .kind = k, .width = fmax((double)(most * PITCH), LEAST_WIDTH)};
    f.keys_y = TITLE + text_length(&p->sides[k->keys]) + GAP;
    f.queries_y = f.keys_y + fmin(140 + 3 * (double)most, 300);
    f.height = f.queries_y + GAP + text_length(&p->sides[k->queries]) + LEGEND;
    return f;
}

/* The middle of token i of n, which share the width. */
static double place(const figure *f, size_t i, size_t n)
{
    return MARGIN + f->width * ((double)i + 0.5) / (double)n;
}

/* What XML gives a meaning to, or forbids (U+FFFE and U+FFFF). */
static void put_xml(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", file);
        else if (*text == '>') fputs("&gt;", file);
        else if (*text == '&') fputs("&amp;", file);
        else if (*text == '\xEF' && text[1] == '\xBF' && text[2] >= '\xBE') fputs("\xEF\xBF\xBD", file), text += 2;
        else putc(*text, file);
    }
}

/* Upright text, read from below: it ends at y, or begins there. */
static void draw_token(const figure *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f->file, "<text transform='translate(%.1f %.1f) rotate(-90)' text-anchor='%s'>", x + FONT * 0.35, y,
            anchor);
    put_xml(f->file, text);
    fputs("</text>\n", f->file);
}

static void draw_tokens(const figure *f)
{
    const pieces *keys = &f->p->sides[f->kind->keys], *queries = &f->p->sides[f->kind->queries];
    for (size_t i = 0; i < keys->size; i++)
        draw_token(f, place(f, i, keys->size), f->keys_y - GAP, "start", keys->items[i].text);
    for (size_t i = 0; i < queries->size; i++)
        draw_token(f, place(f, i, queries->size), f->queries_y + GAP, "end", queries->items[i].text);
}

static bool shown(const figure *f, size_t head)
{
    return !f->p->heads || f->p->heads[head];
}

/* Lines of several heads between the same tokens lie side by side. */
static void draw_head(const figure *f, size_t head)
{
    const size_t heads = f->kind->shape[1], m = f->kind->shape[2], n = f->kind->shape[3];
    const float *w = attention_of(f->kind, f->p->layer, head);
    const double aside = heads > 1 ? (PITCH - 6) * ((double)head / (double)(heads - 1) - 0.5) : 0;
    const double middle = (f->keys_y + f->queries_y) / 2;
    fprintf(f->file, "<g stroke='%s'>\n", head_color(head));
    for (size_t i = 0; i < m * n; i++) {
        const double weight = (double)w[i], x = place(f, i / n, m) + aside, to = place(f, i % n, n) + aside;
        if (weight < LEAST_SHOWN) continue;
        fprintf(f->file,
                "<path d='M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f' stroke-width='%.2f' stroke-opacity='%.2f'/>\n", x,
                f->queries_y, x, middle, to, middle, to, f->keys_y, 0.5 + 2.5 * weight, fmin(0.06 + weight, 1));
    }
    fputs("</g>\n", f->file);
}

static void draw_legend(const figure *f)
{
    double x = MARGIN;
    for (size_t h = 0; h < f->kind->shape[1]; h++) {
        if (!shown(f, h)) continue;
        fprintf(f->file, "<rect x='%.1f' y='%.1f' width='11' height='11' rx='2' fill='%s'/>", x, f->height - 25,
                head_color(h));
        fprintf(f->file, "<text x='%.1f' y='%.1f' font-size='11'>head %zu</text>\n", x + 15, f->height - 15, h + 1);
        x += 68;
        if (x > MARGIN + f->width - 50) break; /* more heads than any model of the paper */
    }
}

void attention_write_svg(FILE *file, const attention_picture *p)
{
    const figure f = plan(file, p);
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' role='img' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f' "
            "font-family=\"system-ui,'DejaVu Sans','Noto Sans',sans-serif\" font-size='%d' fill='#222'>\n",
            f.width + 2 * MARGIN, f.height, f.width + 2 * MARGIN, f.height, FONT);
    fprintf(file, "<title>%s, layer %zu of %zu</title>\n<rect width='100%%' height='100%%' fill='#fff'/>\n",
            f.kind->title, p->layer + 1, f.kind->shape[0]);
    fprintf(
        file,
        "<text x='%d' y='24' font-weight='600'>%s, layer %zu of %zu</text>\n<g fill='none' stroke-linecap='round'>\n",
        MARGIN, f.kind->title, p->layer + 1, f.kind->shape[0]);
    for (size_t h = 0; h < f.kind->shape[1]; h++)
        if (shown(&f, h)) draw_head(&f, h);
    fputs("</g>\n", file);
    draw_tokens(&f);
    draw_legend(&f);
    fputs("</svg>\n", file);
}
