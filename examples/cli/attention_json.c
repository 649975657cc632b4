/* Attention as JSON for scripts, and as the page that reads it. */
#include "attention_picture.h"
#include "json_text.h"
#include "pages.h"

static const char *const side_names[SIDES] = {"source", "target", "inputs"};

static void write_pieces(FILE *file, const attention_picture *p, attention_side side)
{
    const pieces *all = &p->sides[side];
    fprintf(file, "\"%s\":[", side_names[side]);
    for (size_t i = 0; i < all->size; i++) {
        fprintf(file, "%s{\"id\":%d,\"word\":%u,\"text\":", i ? "," : "", all->items[i].id, all->items[i].word);
        put_json(file, all->items[i].text);
        putc('}', file);
    }
    putc(']', file);
}

/* Which layers or heads follow, counted from 1: begin .. end, and of these the chosen ones. */
static void write_numbers(FILE *file, const char *name, size_t begin, size_t end, const bool *chosen)
{
    const char *comma = "";
    fprintf(file, ",\"%s\":[", name);
    for (size_t i = begin; i < end; i++) {
        if (chosen && !chosen[i]) continue;
        fprintf(file, "%s%zu", comma, i + 1);
        comma = ",";
    }
    putc(']', file);
}

enum { ONE = 10000 }; /* a weight of 1 in a page, whose numbers are short so that it stays small */

static void put_weight(FILE *file, float w, bool exact)
{
    if (exact) fprintf(file, "%.9g", (double)w); /* digits that give back the very float */
    else fprintf(file, "%.0f", (double)w * ONE);
}

static void write_matrix(FILE *file, const float *w, size_t rows, size_t cols, bool exact)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++) {
            fputs(c ? "," : r ? ",[" : "[[", file);
            put_weight(file, w[r * cols + c], exact);
            fputs(c + 1 < cols ? "" : r + 1 < rows ? "]" : "]]", file);
        }
}

static void write_layer(FILE *file, const attention_kind *k, size_t layer, const bool *heads, bool exact)
{
    const char *before = "[";
    for (size_t h = 0; h < k->shape[1]; h++) {
        if (heads && !heads[h]) continue;
        fputs(before, file);
        write_matrix(file, attention_of(k, layer, h), k->shape[2], k->shape[3], exact);
        before = ",\n";
    }
    putc(']', file);
}

static void write_kind(FILE *file, const attention_kind *k, size_t begin, size_t end, const bool *heads, bool exact)
{
    fprintf(file, "{\"kind\":\"%s\",\"title\":\"%s\",\"queries\":\"%s\",\"keys\":\"%s\"", k->name, k->title,
            side_names[k->queries], side_names[k->keys]);
    write_numbers(file, "layers", begin, end, NULL);
    write_numbers(file, "heads", 0, k->shape[1], heads);
    fputs(",\n\"weights\":", file);
    for (size_t l = begin; l < end; l++) {
        fputs(l == begin ? "[" : ",\n", file);
        write_layer(file, k, l, heads, exact);
    }
    fputs("]}", file);
}

static void write_sentences(FILE *file, const attention_picture *p)
{
    fputs("{\"model\":", file);
    put_json(file, p->model);
    fputs(",\"source\":", file);
    put_json_text(file, p->source);
    fputs(",\"target\":", file);
    put_json_text(file, p->target);
    fprintf(file, ",\"translated\":%s,\n\"tokens\":{", p->translated ? "true" : "false");
    for (attention_side side = 0; side < SIDES; side++) {
        if (side) fputs(",\n", file);
        write_pieces(file, p, side);
    }
    putc('}', file);
}

static void write_kinds(FILE *file, const attention_picture *p, bool one_layer, const bool *heads, bool exact)
{
    const char *before = "";
    fputs(",\n\"attention\":[", file);
    for (uint32_t i = 0; i < ATTENTION_KINDS; i++) {
        const attention_kind *k = &p->kinds[i];
        if (!k->weights) continue;
        fputs(before, file);
        write_kind(file, k, one_layer ? p->layer : 0, one_layer ? p->layer + 1 : k->shape[0], heads, exact);
        before = ",\n";
    }
    putc(']', file);
}

void attention_write_json(FILE *file, const attention_picture *p)
{
    write_sentences(file, p);
    write_kinds(file, p, p->one_layer, p->heads, true);
    fputs("}\n", file);
}

void attention_write_html(FILE *file, const attention_picture *p)
{
    const size_t n_heads = p->kinds[p->kind].shape[1];
    fputs(attention_before, file);
    write_sentences(file, p);
    fprintf(file, ",\n\"show\":{\"kind\":\"%s\",\"layer\":%zu", p->kinds[p->kind].name, p->layer + 1);
    write_numbers(file, "heads", 0, n_heads, p->heads);
    fprintf(file, ",\"view\":\"%s\",\"words\":%s,\"token\":", p->matrix ? "matrix" : "lines",
            p->words ? "true" : "false");
    if (p->token.chosen) fprintf(file, "[%d,%zu]", p->token.key, p->token.index);
    else fputs("null", file);
    fputs(",\"colors\":", file);
    for (size_t h = 0; h < n_heads; h++) fprintf(file, "%s\"%s\"", h ? "," : "[", head_color(h));
    fprintf(file, "]},\"one\":%d", ONE);
    write_kinds(file, p, false, NULL, false);
    putc('}', file);
    fputs(attention_after, file);
}
