/* Attention as a figure: keys above, queries below, a line for each weight in the colour of its head. */
#include "attention_picture.h"

#include <math.h>

enum {
    PITCH = 18,
    MARGIN = 20,
    FONT = 13,
    TITLE = 44,
    LEGEND = 16,
    LEGEND_WIDTH = 68,
    GAP = 8,
    LEAST_WIDTH = 320,
    MARK = 8
};

static const double LEAST_SHOWN = 0.02; /* lighter lines cannot be seen, and there may be thousands */
static const char *const MEAN_COLOR = "#2458b8";

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
    const units *queries, *keys;
    size_t n_heads;                  /* that are shown */
    double width, keys_y, queries_y; /* keys_y, queries_y: of the lines' ends, of the matrix' upper edge */
    double left;                     /* of the tokens in a row */
    double legend_y, height;
} figure;

static bool shown(const figure *f, size_t head)
{
    return !f->p->heads || f->p->heads[head];
}

static size_t count_shown(const figure *f)
{
    size_t n = 0;
    for (size_t h = 0; h < f->kind->shape[1]; h++) n += shown(f, h);
    return n;
}

/* A figure has swatches of heads below, or a sentence. */
static bool has_swatches(const figure *f)
{
    return !f->p->matrix || f->n_heads == 1;
}

static size_t swatches_of_row(const figure *f)
{
    return (size_t)f->width / LEGEND_WIDTH;
}

static double longest_text(const units *all)
{
    size_t most = 1;
    for (size_t i = 0; i < all->size; i++) {
        const size_t n = text_columns(all->items[i].text) + all->items[i].goes_on;
        if (n > most) most = n;
    }
    return (double)most * FONT * 0.62;
}

static figure plan(FILE *file, const attention_picture *p)
{
    const attention_kind *k = &p->kinds[p->kind];
    figure f = {.file = file, .p = p, .kind = k, .queries = &p->units[k->queries], .keys = &p->units[k->keys]};
    const size_t m = f.queries->size, n = f.keys->size, most = m > n ? m : n;
    f.n_heads = count_shown(&f);
    f.left = MARGIN + (p->matrix ? longest_text(f.queries) + GAP : 0);
    f.width = fmax(f.left - MARGIN + (double)((p->matrix ? n : most) * PITCH), LEAST_WIDTH);
    const double marks = p->token.chosen && !p->matrix ? (double)(f.n_heads * MARK) + GAP : 0;
    f.keys_y = TITLE + longest_text(f.keys) + GAP + (p->token.key ? 0 : marks);
    f.queries_y = f.keys_y + (p->matrix ? (double)(m * PITCH) : fmin(140 + 3 * (double)most, 300));
    const size_t rows = has_swatches(&f) ? (f.n_heads + swatches_of_row(&f) - 1) / swatches_of_row(&f) : 1;
    f.legend_y = f.queries_y + 2 * GAP + (p->matrix ? 0 : longest_text(f.queries) + GAP) + (p->token.key ? marks : 0);
    f.height = f.legend_y + (double)(rows * LEGEND) + GAP;
    return f;
}

/* The middle of token i of n in a row. */
static double place(const figure *f, size_t i, size_t n)
{
    const double width = f->p->matrix ? (double)(n * PITCH) : f->width;
    return f->left + width * ((double)i + 0.5) / (double)n;
}

/* Of a head: to a word goes the sum over its tokens, from one their mean. */
static double weight_of(const figure *f, size_t head, size_t query, size_t key)
{
    const unit *q = &f->queries->items[query], *k = &f->keys->items[key];
    const float *w = attention_of(f->kind, f->p->layer, head);
    double sum = 0;
    for (size_t i = q->from; i < q->to; i++)
        for (size_t j = k->from; j < k->to; j++) sum += (double)w[i * f->kind->shape[3] + j];
    return sum / (double)(q->to - q->from);
}

static double mean_of_heads(const figure *f, size_t query, size_t key)
{
    double sum = 0;
    for (size_t h = 0; h < f->kind->shape[1]; h++)
        if (shown(f, h)) sum += weight_of(f, h, query, key);
    return sum / (double)f->n_heads;
}

/* The tokens of the other side than the chosen one's. */
static const units *others_of(const figure *f)
{
    return f->p->token.key ? f->queries : f->keys;
}

/* What the chosen token gives to another one, or gets from it. */
static double chosen_weight(const figure *f, size_t head, size_t other)
{
    const size_t index = f->p->token.index;
    return f->p->token.key ? weight_of(f, head, other, index) : weight_of(f, head, index, other);
}

static double largest_chosen_weight(const figure *f)
{
    double most = 0;
    for (size_t h = 0; h < f->kind->shape[1]; h++)
        for (size_t o = 0; shown(f, h) && o < others_of(f)->size; o++) most = fmax(most, chosen_weight(f, h, o));
    return most;
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

/* upright: read from below. The text ends at the place, or begins there. */
static void draw_token(const figure *f, bool key, size_t i, double x, double y, bool upright, const char *anchor)
{
    const unit *u = &(key ? f->keys : f->queries)->items[i];
    const bool chosen = f->p->token.chosen && f->p->token.key == key && f->p->token.index == i;
    if (upright) fprintf(f->file, "<text transform='translate(%.1f %.1f) rotate(-90)'", x + FONT * 0.35, y);
    else fprintf(f->file, "<text x='%.1f' y='%.1f'", x, y + FONT * 0.35);
    fprintf(f->file, " text-anchor='%s'%s>%s", anchor, chosen ? " font-weight='700'" : "",
            u->goes_on ? "<tspan fill='#777'>\xC2\xB7</tspan>" : "");
    put_xml(f->file, u->text);
    fputs("</text>\n", f->file);
}

static void draw_tokens(const figure *f)
{
    const size_t m = f->queries->size, n = f->keys->size;
    for (size_t i = 0; i < n; i++) draw_token(f, true, i, place(f, i, n), f->keys_y - GAP, true, "start");
    for (size_t i = 0; i < m; i++) {
        if (f->p->matrix) draw_token(f, false, i, f->left - GAP, f->keys_y + PITCH * ((double)i + 0.5), false, "end");
        else draw_token(f, false, i, place(f, i, m), f->queries_y + GAP, true, "end");
    }
}

/* strength: 0 .. 1. Lines of several heads between the same tokens lie side by side. */
static void draw_line(const figure *f, size_t nth, size_t query, size_t key, double strength, double least)
{
    const double aside = f->n_heads > 1 ? (PITCH - 6) * ((double)nth / (double)(f->n_heads - 1) - 0.5) : 0;
    const double x = place(f, query, f->queries->size) + aside, to = place(f, key, f->keys->size) + aside;
    const double middle = (f->keys_y + f->queries_y) / 2, thick = fmin(2.5, 20 / (double)f->n_heads);
    fprintf(
        f->file,
        "<path fill='none' d='M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f' stroke-width='%.2f' stroke-opacity='%.2f'/>\n",
        x, f->queries_y, x, middle, to, middle, to, f->keys_y, 0.5 + thick * strength, fmin(least + strength, 1));
}

static void draw_head(const figure *f, size_t head, size_t nth)
{
    for (size_t i = 0; i < f->queries->size; i++)
        for (size_t j = 0; j < f->keys->size; j++) {
            const double w = weight_of(f, head, i, j);
            if (w >= LEAST_SHOWN) draw_line(f, nth, i, j, w, 0.06);
        }
}

/* Beyond the words of the other side: a row for each head. */
static void draw_mark(const figure *f, size_t nth, size_t other, double strength)
{
    const units *others = others_of(f);
    const double top = f->p->token.key ? f->queries_y + 2 * GAP + longest_text(f->queries) : TITLE;
    fprintf(f->file, "<rect x='%.1f' y='%.1f' width='%d' height='%d' rx='1' stroke='none' fill-opacity='%.3f'/>\n",
            place(f, other, others->size) - (PITCH - 2) / 2.0, top + (double)(nth * MARK), PITCH - 2, MARK - 1,
            strength);
}

/* Of the chosen token alone; the strongest weight is drawn in full, so that small ones can be seen too. */
static void draw_chosen(const figure *f, size_t head, size_t nth, double most)
{
    const size_t index = f->p->token.index;
    for (size_t o = 0; o < others_of(f)->size; o++) {
        const double w = chosen_weight(f, head, o);
        if (w < most / 50 || most == 0) continue;
        draw_mark(f, nth, o, w / most);
        if (f->p->token.key) draw_line(f, nth, o, index, w / most, 0.15);
        else draw_line(f, nth, index, o, w / most, 0.15);
    }
}

static void draw_lines(const figure *f)
{
    const double most = f->p->token.chosen ? largest_chosen_weight(f) : 1;
    size_t nth = 0;
    fputs("<g stroke-linecap='round'>\n", f->file);
    for (size_t h = 0; h < f->kind->shape[1]; h++) {
        if (!shown(f, h)) continue;
        fprintf(f->file, "<g stroke='%s' fill='%s'>\n", head_color(h), head_color(h));
        if (f->p->token.chosen) draw_chosen(f, h, nth, most);
        else draw_head(f, h, nth);
        fputs("</g>\n", f->file);
        nth++;
    }
    fputs("</g>\n", f->file);
}

static const char *cell_color(const figure *f)
{
    size_t h = 0;
    while (!shown(f, h)) h++;
    return f->n_heads == 1 ? head_color(h) : MEAN_COLOR;
}

static void draw_frame(const figure *f, double x, double y, double width, double height, const char *color)
{
    fprintf(f->file, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='none' stroke='%s'/>\n", x, y, width,
            height, color);
}

/* The mean of the heads; areas grow with a power of the weight, so that small ones can be told apart. */
static void draw_matrix(const figure *f)
{
    const size_t m = f->queries->size, n = f->keys->size, index = f->p->token.index;
    const double width = (double)(n * PITCH), height = (double)(m * PITCH);
    fprintf(f->file, "<g fill='%s'>\n", cell_color(f));
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double w = mean_of_heads(f, i, j);
            if (w < 0.002) continue;
            fprintf(f->file, "<rect x='%.1f' y='%.1f' width='%d' height='%d' rx='1.5' fill-opacity='%.3f'/>\n",
                    f->left + (double)(PITCH * j) + 0.5, f->keys_y + (double)(PITCH * i) + 0.5, PITCH - 1, PITCH - 1,
                    pow(fmin(w, 1), 0.7));
        }
    fputs("</g>\n", f->file);
    draw_frame(f, f->left, f->keys_y, width, height, "#ccc");
    if (!f->p->token.chosen) return;
    if (f->p->token.key) draw_frame(f, f->left + (double)(PITCH * index), f->keys_y, PITCH, height, "#222");
    else draw_frame(f, f->left, f->keys_y + (double)(PITCH * index), width, PITCH, "#222");
}

static void draw_swatches(const figure *f)
{
    size_t nth = 0;
    for (size_t h = 0; h < f->kind->shape[1]; h++) {
        if (!shown(f, h)) continue;
        const double x = MARGIN + (double)(nth % swatches_of_row(f) * LEGEND_WIDTH);
        const double y = f->legend_y + (double)(nth / swatches_of_row(f) * LEGEND);
        fprintf(f->file, "<rect x='%.1f' y='%.1f' width='11' height='11' rx='2' fill='%s'/>", x, y, head_color(h));
        fprintf(f->file, "<text x='%.1f' y='%.1f' font-size='11'>head %zu</text>\n", x + 15, y + 10, h + 1);
        nth++;
    }
}

static void draw_legend(const figure *f)
{
    const char *comma = " ";
    if (has_swatches(f)) {
        draw_swatches(f);
        return;
    }
    const bool all = f->n_heads == f->kind->shape[1];
    fprintf(f->file, "<text x='%d' y='%.1f' font-size='11'>mean of %s heads", MARGIN, f->legend_y + 10,
            all ? "all" : "the");
    for (size_t h = 0; h < f->kind->shape[1] && !all; h++) {
        if (!shown(f, h)) continue;
        fprintf(f->file, "%s%zu", comma, h + 1);
        comma = ", ";
    }
    fputs("</text>\n", f->file);
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
    fprintf(file, "<text x='%d' y='24' font-weight='600'>%s, layer %zu of %zu</text>\n", MARGIN, f.kind->title,
            p->layer + 1, f.kind->shape[0]);
    if (p->matrix) draw_matrix(&f);
    else draw_lines(&f);
    draw_tokens(&f);
    draw_legend(&f);
    fputs("</svg>\n", file);
}
