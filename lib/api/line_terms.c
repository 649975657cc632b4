/* Terms and placeholders of lines: as terms of the search, and counted in the text of a hypothesis. */
#include "api/line_terms.h"

#include "text/tokenizer.h"

enum { SHOWN = 40 }; /* bytes of a term in an error */

static int shown(tfm_text text)
{
    return (int)(text.size < SHOWN ? text.size : SHOWN);
}

static bool equal(tfm_text a, tfm_text b)
{
    return a.size == b.size && (!a.size || !memcmp(a.data, b.data, a.size));
}

/* Memory that lacked before may be there now. */
static void begin(tfm_buffer *buffer)
{
    buffer->size = 0;
    buffer->bad = false;
}

/* ------------------------------------------------------------------------------------------------------ taking ---- */

static tfm_status cannot_be_written(const char *kind, tfm_text what, tfm_text written, tfm_error *error)
{
    return tfm_fail(error, TFM_E_INVALID, "%s '%.*s' cannot be written: its tokens are '%.*s'", kind, shown(what),
                    what.data, shown(written), written.data);
}

/* Appends what the tokens of a term say to the texts. */
static tfm_status write(tfm_line_terms *t, const tfm_tokenizer *tokenizer, tfm_ids ids, tfm_text *written,
                        tfm_error *error)
{
    const size_t first = t->written.size;

    tfm_tokenizer_join(tokenizer, ids, &t->written);
    if (t->written.bad) return tfm_fail(error, TFM_E_NOMEM, "no memory for a term of %zu tokens", ids.size);
    *written = tfm_buffer_part(&t->written, first, t->written.size);
    return TFM_OK;
}

/* The term at `from` of the request becomes number `at`. what: its text, or NULL. */
static tfm_status take_term(tfm_line_terms *t, size_t at, const tfm_request *r, size_t from, const tfm_text *what,
                            const tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_ids ids = r->terms[from];
    const size_t times = r->term_times ? r->term_times[from] : 0;
    tfm_special_ids special;
    tfm_text_term *term = &t->texts[at];

    t->terms[at] = ids;
    t->times[at] = times;
    *term = (tfm_text_term){.most = times ? times : SIZE_MAX};
    if (!what) return TFM_OK;
    tfm_tokenizer_special(&special, tokenizer);
    const tfm_status status = write(t, tokenizer, ids, &term->text, error);
    for (size_t i = 0; !status && i < ids.size; i++)
        if (ids.data[i] == special.unk) return cannot_be_written("term", *what, term->text, error);
    return status;
}

/* Was it named for the line before? */
static bool is_known(const tfm_line_terms *t, size_t first, size_t end, tfm_text what)
{
    while (first < end && !equal(t->texts[first].text, what)) first++;
    return first < end;
}

/* How often a placeholder of the line stands in it, and how often of that not within longer words. */
typedef struct occurrences {
    size_t all, free;
    bool left, right; /* letters or digits touch one there */
} occurrences;

static void find_in_line(occurrences *o, const tfm_text_term *placeholders, size_t n, tfm_text line)
{
    tfm_placeholder_walk walk;
    size_t from = 0, at;

    tfm_placeholders_begin(&walk, placeholders, n, line);
    for (size_t k; (k = tfm_placeholders_next(&walk, from, &at)) < n;) {
        from = at + placeholders[k].text.size;
        o[k].all++;
        o[k].free += !tfm_text_term_inside(&placeholders[k], line, at);
        o[k].left |= tfm_text_word_before(line, at);
        o[k].right |= tfm_text_word_at(line, from);
    }
}

/* As often as it is meant it must come: where that can be whole words, it is these alone. */
static void settle_placeholder(tfm_text_term *p, size_t *times, const occurrences *o)
{
    if (!*times) *times = o->all;
    if (*times <= o->free) {
        p->most = o->free;
        p->within = o->all > o->free;
        return;
    }
    p->most = o->all;
    p->left = o->left;
    p->right = o->right;
}

/* The text of its tokens must be the placeholder, or it would not come unchanged. */
static tfm_status check_placeholder(tfm_line_terms *t, size_t at, const occurrences *o, size_t line,
                                    const tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_text what = t->texts[at].text;
    const size_t size = t->written.size;
    tfm_text written = {NULL, 0};

    if (!o->all)
        return tfm_fail(error, TFM_E_INVALID, "placeholder '%.*s' is not in line %zu, or only in longer ones",
                        shown(what), what.data, line + 1);
    if (t->times[at] > o->all)
        return tfm_fail(error, TFM_E_INVALID,
                        "placeholder '%.*s' is %zu times in line %zu, fewer than its placeholder_times %zu",
                        shown(what), what.data, o->all, line + 1, t->times[at]);
    const tfm_status status = write(t, tokenizer, t->terms[at], &written, error);
    t->written.size = size;
    return status || equal(written, what) ? status : cannot_be_written("placeholder", what, written, error);
}

/* The placeholders of a line, which begin at `from` of the request, become terms behind *at. */
static tfm_status take_placeholders(tfm_line_terms *t, size_t *at, const tfm_request *r, size_t line, size_t from,
                                    const tfm_tokenizer *tokenizer, tfm_error *error)
{
    occurrences found[TFM_MOST_TERMS] = {{0}};
    const size_t first = *at;
    tfm_status status = TFM_OK;

    for (size_t i = from; i < from + r->n_placeholders[line]; i++) {
        const tfm_text what = r->placeholders[i];
        if (is_known(t, first, *at, what)) continue;
        if (*at - first == TFM_MOST_TERMS)
            return tfm_fail(error, TFM_E_INVALID, "line %zu has more than %d placeholders: leave some out", line + 1,
                            TFM_MOST_TERMS);
        t->terms[*at] = t->placeholders.lines[i];
        t->times[*at] = r->placeholder_times ? r->placeholder_times[i] : 0;
        t->texts[(*at)++] = (tfm_text_term){.text = what, .placeholder = true};
    }
    find_in_line(found, t->texts + first, *at - first, r->lines[line]);
    for (size_t i = first; !status && i < *at; i++) {
        status = check_placeholder(t, i, &found[i - first], line, tokenizer, error);
        settle_placeholder(&t->texts[i], &t->times[i], &found[i - first]);
    }
    return status;
}

/* The texts of terms stand one behind the other where they no longer move. */
static void settle(tfm_line_terms *t, size_t n)
{
    const char *data = t->written.data;

    for (size_t i = 0; i < n; i++) {
        if (t->texts[i].placeholder || !t->texts[i].text.size) continue;
        t->texts[i].text.data = data;
        data += t->texts[i].text.size;
    }
}

static bool make_room(tfm_line_terms *t, size_t n, size_t n_terms)
{
    const tfm_allocator *a = &t->text.allocator;
    size_t all;

    return tfm_add(t->n_placeholders, n_terms, &all) &&
           tfm_grow(a, &t->n_terms, &t->n_terms_capacity, n, sizeof *t->n_terms) &&
           tfm_grow(a, &t->terms, &t->term_capacity, all, sizeof *t->terms) &&
           tfm_grow(a, &t->times, &t->times_capacity, all, sizeof *t->times) &&
           tfm_grow(a, &t->texts, &t->texts_capacity, all, sizeof *t->texts);
}

tfm_status tfm_line_terms_take(tfm_line_terms *t, tfm_request *request, size_t n_terms, const tfm_tokenizer *tokenizer,
                               tfm_error *error)
{
    const tfm_encode_rules rules = {"placeholder", false, TFM_BLANK_TEXT, -1, NULL};
    tfm_request *r = request;
    size_t at = 0, old = 0, placeholder = 0;
    tfm_status status =
        tfm_encode_lines(&t->placeholders, tokenizer, r->placeholders, t->n_placeholders, &rules, error);

    begin(&t->written);
    if (!status && !make_room(t, r->n, n_terms))
        status =
            tfm_fail(error, TFM_E_NOMEM, "no memory for %zu terms and %zu placeholders", n_terms, t->n_placeholders);
    for (size_t i = 0; !status && i < r->n; i++) {
        const size_t first = at;
        for (size_t k = 0; !status && n_terms && k < r->n_terms[i]; k++, at++, old++)
            status = take_term(t, at, r, old, r->term_lines ? &r->term_lines[old] : NULL, tokenizer, error);
        if (!status && t->n_placeholders) {
            status = take_placeholders(t, &at, r, i, placeholder, tokenizer, error);
            placeholder += r->n_placeholders[i];
        }
        t->n_terms[i] = at - first;
    }
    if (status) return status;
    settle(t, at);
    r->n_terms = t->n_terms;
    r->terms = t->terms;
    r->term_times = t->times;
    return TFM_OK;
}

/* ---------------------------------------------------------------------------------------------------- counting ---- */

/* Which bytes of a text count whatever follows: behind them one of the placeholders may have begun. */
static size_t sure_of(const tfm_text_term *placeholders, size_t n, tfm_text text)
{
    size_t sure = text.size;

    for (size_t i = 0; i < n; i++) {
        const tfm_text what = placeholders[i].text;
        size_t begun = what.size - 1 < text.size ? what.size - 1 : text.size;
        while (begun && memcmp(text.data + text.size - begun, what.data, begun)) begun--;
        if (text.size - begun < sure) sure = text.size - begun;
    }
    return sure;
}

/* How often a term is there, so often for good, and within what was given. */
typedef struct seen {
    size_t there, for_good, given;
} seen;

static void judge(tfm_wanted *wanted, size_t i, const tfm_text_term *term, const seen *s)
{
    const size_t most = s->given > term->most ? s->given : term->most;

    wanted->there[i] = s->there;
    wanted->read |= UINT64_C(1) << i;
    if (s->there >= most) wanted->full |= UINT64_C(1) << i;
    if (s->there > most) wanted->open = true;
    if (s->for_good > most) wanted->lost = true;
}

/* A term is there where it is no part of a longer word. given: how the text begins, whatever that has. */
static void read_term(tfm_wanted *wanted, size_t i, const tfm_text_term *term, tfm_text text, size_t given)
{
    seen s = {0};
    size_t from = 0;

    for (size_t at; (at = tfm_text_find(text, from, term->text)) != SIZE_MAX;) {
        const bool inside = tfm_text_term_inside(term, text, at);
        from = at + (inside ? 1 : term->text.size);
        s.there += !inside;
        s.for_good += !inside && from < text.size;
        s.given += !inside && from <= given;
    }
    judge(wanted, i, term, &s);
}

/* A placeholder that a longer one begins with must be free to become that. */
static bool begins_another(const tfm_text_term *placeholders, size_t n, tfm_text what)
{
    for (size_t i = 0; i < n; i++)
        if (placeholders[i].text.size > what.size && !memcmp(placeholders[i].text.data, what.data, what.size))
            return true;
    return false;
}

/* Placeholders, those of a sentence from term `first` on, are counted as in the line; a part of a longer word, of which
 * the line has none, is one too many, unless it was given so. */
static void read_placeholders(tfm_wanted *wanted, size_t first, const tfm_text_term *placeholders, size_t n,
                              tfm_text text, size_t given)
{
    seen all[TFM_MOST_TERMS] = {{0}};
    size_t from = 0, at;
    const size_t sure = sure_of(placeholders, n, text);
    tfm_placeholder_walk walk;

    tfm_placeholders_begin(&walk, placeholders, n, text);
    for (size_t k; (k = tfm_placeholders_next(&walk, from, &at)) < n;) {
        const tfm_text_term *p = &placeholders[k];
        const bool inside = tfm_text_term_inside(p, text, at);
        from = at + p->text.size;
        const bool is_sure = from <= sure && from < text.size, is_given = from <= given;
        all[k].there += !inside;
        all[k].for_good += !inside && is_sure;
        all[k].given += !inside && is_given;
        if (!inside || p->within || (is_given && tfm_text_term_inside(p, (tfm_text){text.data, given}, at))) continue;
        wanted->open = true;
        wanted->lost |= is_sure;
    }
    for (size_t k = 0; k < n; k++) {
        judge(wanted, first + k, &placeholders[k], &all[k]);
        if (begins_another(placeholders, n, placeholders[k].text)) wanted->full &= ~(UINT64_C(1) << (first + k));
    }
}

tfm_status tfm_line_terms_read(tfm_line_terms *t, const tfm_terms *terms, const tfm_tokenizer *tokenizer, tfm_ids ids,
                               size_t n_given, tfm_wanted *wanted, tfm_error *error)
{
    const tfm_text_term *texts = t->texts + terms->first;
    size_t i = 0;

    begin(&t->text);
    tfm_tokenizer_join(tokenizer, (tfm_ids){ids.data, n_given}, &t->text);
    const size_t given = t->text.size;
    t->text.size = 0;
    tfm_tokenizer_join(tokenizer, ids, &t->text);
    if (t->text.bad) return tfm_fail(error, TFM_E_NOMEM, "no memory for the text of %zu ids", ids.size);
    const tfm_text text = {t->text.data, t->text.size};
    for (; i < terms->n && !texts[i].placeholder; i++)
        if (texts[i].text.size) read_term(wanted, i, &texts[i], text, given);
    read_placeholders(wanted, i, texts + i, terms->n - i, text, given);
    return TFM_OK;
}

void tfm_line_terms_free(tfm_line_terms *t)
{
    const tfm_allocator *a = &t->text.allocator;

    tfm_encoded_free(&t->encoded);
    tfm_encoded_free(&t->placeholders);
    tfm_free(a, t->n_terms, t->n_terms_capacity, sizeof *t->n_terms);
    tfm_free(a, t->terms, t->term_capacity, sizeof *t->terms);
    tfm_free(a, t->times, t->times_capacity, sizeof *t->times);
    tfm_free(a, t->texts, t->texts_capacity, sizeof *t->texts);
    tfm_buffer_free(&t->written);
    tfm_buffer_free(&t->text);
}
