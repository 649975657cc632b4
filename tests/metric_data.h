/* Reading the tables of sacreBLEU's scores. */
#ifndef METRIC_DATA_H
#define METRIC_DATA_H

#include "testing.h"

#include "base/characters.h"

#include <jansson.h>

enum { MAX_FIELDS = 32, MAX_TEXTS = 8 };

static lines read_data(const char *name)
{
    char path[TESTING_PATH];

    return lines_read(data_path(path, name));
}

/* Cuts a line of a lines at its tabs, in place; returns the number of fields. */
static size_t cut(tfm_text line, const char *fields[static MAX_FIELDS])
{
    char *at = (char *)line.data, *end = at + line.size;
    size_t n = 0;

    *end = '\0';
    for (char *tab; n < MAX_FIELDS; at = tab + 1) {
        fields[n++] = at;
        tab = memchr(at, '\t', (size_t)(end - at));
        if (!tab) return n;
        *tab = '\0';
    }
    ck_abort_msg("more than %d fields", MAX_FIELDS);
    return 0;
}

/* The strings of a JSON list, which stay its. */
static size_t texts_of(const json_t *list, tfm_text texts[static MAX_TEXTS])
{
    const size_t n = json_array_size(list);

    ck_assert_uint_le(n, MAX_TEXTS);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get(list, i);
        texts[i] = (tfm_text){json_string_value(s), json_string_length(s)};
    }
    return n;
}

/* text with one space between what white space separates. Free it. */
static char *tokens_of(tfm_text text)
{
    char *out = malloc(text.size + 1);
    size_t n = 0;

    for (size_t pos = 0; pos < text.size;) {
        const tfm_char c = tfm_char_at(text, pos);
        if (!tfm_char_is_space(c.code)) {
            memcpy(out + n, text.data + pos, c.size);
            n += c.size;
        } else if (n && out[n - 1] != ' ') {
            out[n++] = ' ';
        }
        pos += c.size;
    }
    out[n - (n && out[n - 1] == ' ')] = '\0';
    return out;
}

/* The hypotheses and streams of references of two JSON lists. */
typedef struct texts_row {
    json_t *hyps, *refs;
    tfm_text hyp[MAX_TEXTS], ref[MAX_TEXTS][MAX_TEXTS];
    const tfm_text *streams[MAX_TEXTS];
    size_t n, n_refs;
} texts_row;

static void texts_read(texts_row *row, const char *hyps, const char *refs)
{
    row->hyps = json_loads(hyps, 0, NULL);
    row->refs = json_loads(refs, 0, NULL);
    row->n = texts_of(row->hyps, row->hyp);
    row->n_refs = json_array_size(row->refs);
    for (size_t i = 0; i < row->n_refs; i++) {
        ck_assert_uint_eq(texts_of(json_array_get(row->refs, i), row->ref[i]), row->n);
        row->streams[i] = row->ref[i];
    }
}

static void texts_free(texts_row *row)
{
    json_decref(row->hyps);
    json_decref(row->refs);
}

/* A system of WMT17: its row of expectations and its lines. */
typedef void system_fn(const lines *hyps, const lines *refs, const char *const *row);

static void each_system(system_fn *check)
{
    lines refs = read_data("bleu/wmt17_en_de/ref.de.gz"), l = read_data("bleu/wmt17_en_de_expected.tsv");
    const char *row[MAX_FIELDS];
    size_t checked = 0;

    ck_assert_uint_eq(refs.count, 3004);
    for (size_t i = 2; i < l.count; i++) {
        char name[256];
        ck_assert_uint_eq(cut(l.line[i], row), 24);
        snprintf(name, sizeof name, "bleu/wmt17_en_de/%s.gz", row[0]);
        if (!data_present(name)) continue; /* half of the systems are there */
        lines hyps = read_data(name);
        ck_assert_uint_eq(hyps.count, refs.count);
        check(&hyps, &refs, row);
        lines_free(&hyps);
        checked++;
    }
    ck_assert_uint_ge(checked, 8);
    lines_free(&refs);
    lines_free(&l);
}

/* A system and three references: the right one, and two other systems. */
typedef struct translations {
    lines hyps, refs[3];
    const tfm_text *streams[3];
} translations;

static translations translations_read(void)
{
    static const char *const names[] = {"ref.de", "newstest2017.SYSTRAN.4847.en-de", "newstest2017.KIT.4950.en-de"};
    translations t = {.hyps = read_data("bleu/wmt17_en_de/newstest2017.uedin-nmt.4722.en-de.gz")};

    for (size_t r = 0; r < 3; r++) {
        char name[128];
        snprintf(name, sizeof name, "bleu/wmt17_en_de/%s.gz", names[r]);
        t.refs[r] = read_data(name);
        t.streams[r] = t.refs[r].line;
    }
    return t;
}

static void translations_free(translations *t)
{
    lines_free(&t->hyps);
    for (size_t r = 0; r < 3; r++) lines_free(&t->refs[r]);
}

#endif
