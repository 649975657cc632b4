/* Where a line that is too long is cut. */
#include "api/split_lines.h"

#include "base/utf8.h"
#include "text/renumbered.h"

/* How good a place is to cut at; one outside of the middle half is the worst. */
enum { OUTSIDE = 1, ANYWHERE, SPACE, PAUSE, END };

typedef struct mark {
    uint32_t code;
    uint8_t rank; /* 0: closes what stands before, and leaves its rank as it is   */
    bool wide;    /* of scripts without spaces: cut behind it whatever comes next */
} mark;

static const mark marks[] = {
    {'.', END, false},      {'!', END, false},      {'?', END, false},      {0x2026, END, false},
    {0x061F, END, false},   {0x06D4, END, false},   {0x0964, END, false},   {0x3002, END, true},
    {0xFF01, END, true},    {0xFF1F, END, true},    {0xFF61, END, true},    {',', PAUSE, false},
    {';', PAUSE, false},    {':', PAUSE, false},    {0x2013, PAUSE, false}, {0x2014, PAUSE, false},
    {0x060C, PAUSE, false}, {0x061B, PAUSE, false}, {0x3001, PAUSE, true},  {0xFF0C, PAUSE, true},
    {0xFF1A, PAUSE, true},  {0xFF1B, PAUSE, true},  {'"', 0, false},        {'\'', 0, false},
    {')', 0, false},        {']', 0, false},        {0xBB, 0, false},       {0x2019, 0, false},
    {0x201D, 0, false},     {0x300D, 0, true},      {0x300F, 0, true},      {0xFF09, 0, true},
};

/* The mark that the text read so far ends with. */
static void read_mark(mark *last, uint32_t code)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (marks[i].code != code) continue;
        if (marks[i].rank) *last = marks[i];
        return;
    }
    *last = (mark){.rank = 0};
}

static int rank_of(const mark *last, uint32_t next)
{
    if (last->rank && (last->wide || tfm_is_space(next))) return last->rank;
    return tfm_is_space(next) ? SPACE : ANYWHERE;
}

/* Bytes of the first character, or of what is none. */
static size_t take_character(tfm_text text, uint32_t *code)
{
    const int size = tfm_utf8_read(text, code);

    if (size < 0) *code = 0xFFFD;
    return (size_t)(size < 0 ? -size : size);
}

static size_t distance(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* The best place to cut a text in two; 0 when it is one character. */
static size_t find_cut(tfm_text text)
{
    const size_t middle = text.size / 2, margin = text.size / 4;
    mark last = {.rank = 0};
    size_t best = 0;
    int best_rank = 0;
    uint32_t code;

    for (size_t at = 0; at < text.size;) {
        const size_t size = take_character(tfm_text_from(text, at), &code);
        const int rank = at < margin || at > text.size - margin ? OUTSIDE : rank_of(&last, code);
        if (at && (rank > best_rank || (rank == best_rank && distance(at, middle) < distance(best, middle)))) {
            best = at;
            best_rank = rank;
        }
        read_mark(&last, code);
        at += size;
    }
    return best;
}

static tfm_text without_space_around(tfm_text text)
{
    size_t begin = text.size, end = text.size;
    uint32_t code;

    for (size_t at = 0, size; at < text.size; at += size) {
        size = take_character(tfm_text_from(text, at), &code);
        if (tfm_is_space(code)) continue;
        if (begin == text.size) begin = at;
        end = at + size;
    }
    return (tfm_text){text.data + begin, end - begin};
}

static tfm_status no_memory(const tfm_parts *p, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory for the parts of %zu lines", p->n_lines);
}

static tfm_status add_part(tfm_parts *p, tfm_text text, size_t line, int32_t language, tfm_error *error)
{
    const tfm_allocator *a = &p->allocator;

    if (!tfm_grow(a, &p->texts, &p->text_capacity, p->n + 1, sizeof *p->texts) ||
        !tfm_grow(a, &p->lines, &p->line_capacity, p->n + 1, sizeof *p->lines) ||
        !tfm_grow(a, &p->languages, &p->language_capacity, p->n + 1, sizeof *p->languages))
        return no_memory(p, error);
    p->texts[p->n] = text;
    p->languages[p->n] = language;
    p->lines[p->n++] = line;
    return TFM_OK;
}

typedef struct splitter {
    tfm_parts *parts;
    const tfm_tokenizer *tokenizer;
    tfm_encode_rules rules; /* of one text, with the language in front */
    size_t limit, line;
} splitter;

/* Each cut leaves at most three quarters and a character of the text, so that the depth grows with its logarithm. */
static tfm_status split(const splitter *s, tfm_text text, tfm_error *error)
{
    tfm_encoded *trial = &s->parts->trial;
    tfm_status status;

    text = without_space_around(text);
    if (!text.size) return TFM_OK;
    status = tfm_encode_lines(trial, s->tokenizer, &text, 1, &s->rules, error);
    if (status) return status;
    if (trial->lines[0].size <= s->limit) return add_part(s->parts, text, s->line, *s->rules.front, error);
    const size_t cut = find_cut(text);
    if (!cut)
        return tfm_fail(error, TFM_E_INVALID, "%s %zu has a character of %zu tokens with EOS, the limit is %zu",
                        s->rules.side, s->line + 1, trial->lines[0].size, s->limit);
    status = split(s, (tfm_text){text.data, cut}, error);
    return status ? status : split(s, tfm_text_from(text, cut), error);
}

/* Parts would lose the language with which their line begins; what has nothing behind it stays as it is. */
static int32_t take_language(const tfm_tokenizer *tokenizer, tfm_text *line)
{
    tfm_text rest = without_space_around(*line);
    tfm_token language;

    if (!tfm_renumbered_language(tokenizer, &rest, &language) || tfm_line_is_blank(rest)) return -1;
    *line = rest;
    return (int32_t)language.id;
}

static tfm_status split_line(tfm_parts *p, const tfm_tokenizer *tokenizer, tfm_text line, size_t number, size_t limit,
                             const tfm_encode_rules *rules, tfm_error *error)
{
    const int32_t language = take_language(tokenizer, &line);
    splitter s = {p, tokenizer, *rules, limit, number};

    s.rules.front = &language;
    return split(&s, line, error);
}

tfm_status tfm_split_lines(tfm_parts *parts, const tfm_tokenizer *tokenizer, const tfm_text *lines,
                           const tfm_encoded *encoded, size_t limit, const tfm_encode_rules *rules, tfm_error *error)
{
    tfm_parts *p = parts;
    const tfm_allocator *a = &p->allocator;
    const size_t n = encoded->n;
    tfm_status status = TFM_OK;

    p->n = 0;
    p->n_lines = n;
    if (!tfm_grow(a, &p->first, &p->first_capacity, n + 1, sizeof *p->first) ||
        !tfm_grow(a, &p->left, &p->left_capacity, n, sizeof *p->left) ||
        !tfm_grow(a, &p->results, &p->result_capacity, n, sizeof *p->results))
        return no_memory(p, error);
    for (size_t i = 0; !status && i < n; i++) {
        p->first[i] = p->n;
        if (encoded->lines[i].size <= limit) status = add_part(p, lines[i], i, -1, error);
        else status = split_line(p, tokenizer, lines[i], i, limit, rules, error);
        p->left[i] = p->n - p->first[i];
        p->results[i] = p->left[i] == 1 ? p->first[i] : SIZE_MAX;
    }
    p->first[n] = p->n;
    if (status) p->n = 0;
    return status;
}

tfm_status tfm_parts_spread(tfm_parts *parts, tfm_request *request, tfm_error *error)
{
    tfm_parts *p = parts;
    tfm_request *r = request;

    if (!tfm_grow(&p->allocator, &p->prefixes, &p->prefix_capacity, p->n, sizeof *p->prefixes) ||
        !tfm_grow(&p->allocator, &p->n_terms, &p->n_terms_capacity, p->n, sizeof *p->n_terms))
        return no_memory(p, error);
    for (size_t i = 0; i < p->n; i++) {
        const size_t line = p->lines[i];
        const bool first = p->first[line] == i;
        p->prefixes[i] = first && r->prefixes ? r->prefixes[line] : (tfm_ids){NULL, 0};
        p->n_terms[i] = first && r->n_terms ? r->n_terms[line] : 0;
    }
    if (r->prefixes) r->prefixes = p->prefixes;
    if (r->n_terms) r->n_terms = p->n_terms;
    r->n = p->n;
    return TFM_OK;
}

void tfm_parts_free(tfm_parts *parts)
{
    tfm_parts *p = parts;
    const tfm_allocator *a = &p->allocator;

    tfm_free(a, p->texts, p->text_capacity, sizeof *p->texts);
    tfm_free(a, p->lines, p->line_capacity, sizeof *p->lines);
    tfm_free(a, p->languages, p->language_capacity, sizeof *p->languages);
    tfm_free(a, p->first, p->first_capacity, sizeof *p->first);
    tfm_free(a, p->left, p->left_capacity, sizeof *p->left);
    tfm_free(a, p->results, p->result_capacity, sizeof *p->results);
    tfm_free(a, p->prefixes, p->prefix_capacity, sizeof *p->prefixes);
    tfm_free(a, p->n_terms, p->n_terms_capacity, sizeof *p->n_terms);
    tfm_encoded_free(&p->trial);
}
