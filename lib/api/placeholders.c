/* Placeholders as terms, and the white space around them. */
#include "api/placeholders.h"

#include "text/tokenizer.h"
#include "text/words.h"

enum { SHOWN = 40 }; /* bytes of a placeholder in an error */

/* Where it stands in the text from a byte on; SIZE_MAX: nowhere. */
static size_t find(tfm_text text, size_t from, tfm_text what)
{
    for (size_t i = from; what.size && i + what.size <= text.size; i++)
        if (!memcmp(text.data + i, what.data, what.size)) return i;
    return SIZE_MAX;
}

static size_t count(tfm_text text, tfm_text what)
{
    size_t n = 0;

    for (size_t i = find(text, 0, what); i != SIZE_MAX; i = find(text, i + what.size, what)) n++;
    return n;
}

/* ---------------------------------------------------------------------------------------------------- terms ---- */

/* The text of the tokens must be the placeholder, or it would not come unchanged. */
static tfm_status check_written(tfm_placeholders *p, const tfm_tokenizer *tokenizer, tfm_text what, tfm_ids ids,
                                tfm_error *error)
{
    tfm_buffer *b = &p->text;
    const int size = (int)(what.size < SHOWN ? what.size : SHOWN);

    b->size = 0;
    b->bad = false;
    tfm_tokenizer_join(tokenizer, ids, b);
    if (b->bad) return tfm_fail(error, TFM_E_NOMEM, "no memory for a placeholder of %zu bytes", what.size);
    if (b->size == what.size && !memcmp(b->data, what.data, what.size)) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "placeholder '%.*s' cannot be written: its tokens are '%.*s'", size,
                    what.data, (int)(b->size < SHOWN ? b->size : SHOWN), b->data);
}

static tfm_status add_term(tfm_placeholders *p, size_t at, size_t index, const tfm_request *r, size_t sentence,
                           const tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_text what = r->placeholders[index];

    p->terms[at] = p->encoded.lines[index];
    p->times[at] = count(r->lines[sentence], what);
    if (p->times[at]) return check_written(p, tokenizer, what, p->terms[at], error);
    return tfm_fail(error, TFM_E_INVALID, "placeholder '%.*s' is not in line %zu",
                    (int)(what.size < SHOWN ? what.size : SHOWN), what.data, sentence + 1);
}

static bool make_room(tfm_placeholders *p, size_t n, size_t n_terms)
{
    const tfm_allocator *a = &p->text.allocator;
    size_t all;

    return tfm_add(p->n, n_terms, &all) && tfm_grow(a, &p->n_terms, &p->n_terms_capacity, n, sizeof *p->n_terms) &&
           tfm_grow(a, &p->terms, &p->term_capacity, all, sizeof *p->terms) &&
           tfm_grow(a, &p->times, &p->times_capacity, all, sizeof *p->times);
}

tfm_status tfm_placeholders_take(tfm_placeholders *p, tfm_request *request, size_t n_terms,
                                 const tfm_tokenizer *tokenizer, tfm_error *error)
{
    const tfm_encode_rules rules = {"placeholder", false, false, -1, false};
    tfm_request *r = request;
    size_t at = 0, old = 0, index = 0;
    tfm_status status = tfm_encode_lines(&p->encoded, tokenizer, r->placeholders, p->n, &rules, error);

    if (!status && !make_room(p, r->n, n_terms))
        status = tfm_fail(error, TFM_E_NOMEM, "no memory for %zu placeholders", p->n);
    for (size_t i = 0; !status && i < r->n; i++) {
        const size_t n = n_terms ? r->n_terms[i] : 0;
        for (size_t k = 0; k < n; k++, at++, old++) {
            p->terms[at] = r->terms[old];
            p->times[at] = r->term_times ? r->term_times[old] : 0;
        }
        for (size_t k = 0; !status && k < r->n_placeholders[i]; k++)
            status = add_term(p, at++, index++, r, i, tokenizer, error);
        p->n_terms[i] = n + r->n_placeholders[i];
    }
    r->n_terms = p->n_terms;
    r->terms = p->terms;
    r->term_times = p->times;
    return status;
}

/* ------------------------------------------------------------------------------------------------ white space ---- */

typedef enum neighbour { NEIGHBOUR_NONE, NEIGHBOUR_SPACE, NEIGHBOUR_WORD, NEIGHBOUR_OTHER } neighbour;

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static neighbour kind_of(tfm_text text)
{
    if (!text.size) return NEIGHBOUR_NONE;
    if (is_space(text.data[0])) return NEIGHBOUR_SPACE;
    return tfm_words_is_alphanumeric(text) ? NEIGHBOUR_WORD : NEIGHBOUR_OTHER;
}

static neighbour before(tfm_text text, size_t at)
{
    size_t i = at;

    while (i && ((unsigned char)text.data[--i] & 0xC0) == 0x80) {
    }
    return kind_of((tfm_text){text.data + i, at - i});
}

static neighbour behind(tfm_text text, size_t at)
{
    return kind_of((tfm_text){text.data + at, text.size - at});
}

/* The placeholder that stands first from a byte on, of several the longest; *at: where. */
static const tfm_text *next(tfm_text text, size_t from, const tfm_text *placeholders, size_t n, size_t *at)
{
    const tfm_text *first = NULL;

    *at = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const size_t found = find(text, from, placeholders[i]);
        if (found == SIZE_MAX || found > *at || (found == *at && first && placeholders[i].size <= first->size))
            continue;
        *at = found;
        first = &placeholders[i];
    }
    return first;
}

/* Where in the line occurrence number i of it stands, or its last one. */
static size_t same_in(tfm_text line, tfm_text what, size_t i)
{
    size_t at = find(line, 0, what);

    for (size_t more; i && (more = find(line, at + what.size, what)) != SIZE_MAX; i--) at = more;
    return at;
}

static void put_space(tfm_buffer *to, neighbour there, neighbour here)
{
    if (there <= NEIGHBOUR_SPACE && here == NEIGHBOUR_WORD) tfm_buffer_append(to, " ", 1);
}

void tfm_placeholders_space(tfm_placeholders *p, tfm_text translation, tfm_text line, const tfm_text *placeholders,
                            size_t n)
{
    tfm_buffer *to = &p->text;
    size_t at = 0, found;

    to->size = 0;
    to->bad = false;
    for (const tfm_text *what; (what = next(translation, at, placeholders, n, &found)); at = found) {
        const size_t there = same_in(line, *what, count((tfm_text){translation.data, found}, *what));
        const neighbour left = before(line, there), right = behind(line, there + what->size);
        tfm_buffer_append(to, translation.data + at, found - at);
        while (left == NEIGHBOUR_WORD && to->size && is_space(to->data[to->size - 1])) to->size--;
        put_space(to, left, before(translation, found));
        tfm_buffer_append(to, what->data, what->size);
        found += what->size;
        while (right == NEIGHBOUR_WORD && found < translation.size && is_space(translation.data[found])) found++;
        put_space(to, right, behind(translation, found));
    }
    tfm_buffer_append(to, translation.data + at, translation.size - at);
}

void tfm_placeholders_free(tfm_placeholders *p)
{
    const tfm_allocator *a = &p->text.allocator;

    tfm_encoded_free(&p->encoded);
    tfm_free(a, p->n_terms, p->n_terms_capacity, sizeof *p->n_terms);
    tfm_free(a, p->terms, p->term_capacity, sizeof *p->terms);
    tfm_free(a, p->times, p->times_capacity, sizeof *p->times);
    tfm_buffer_free(&p->text);
}
