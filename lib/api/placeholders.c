/* Occurrences of terms and placeholders in a text, and the white space around placeholders. */
#include "api/placeholders.h"

#include "text/words.h"

/* ------------------------------------------------------------------------------------------------ occurrences ---- */

size_t tfm_text_find(tfm_text text, size_t from, tfm_text what)
{
    for (size_t i = from; what.size && i + what.size <= text.size; i++)
        if (!memcmp(text.data + i, what.data, what.size)) return i;
    return SIZE_MAX;
}

/* Thai, Lao, Burmese, Khmer, and from the radicals of Chinese on, with kana and Hangul, whose particles are glued. */
static bool is_unspaced(uint32_t c)
{
    return (c >= 0x0E00 && c < 0x0F00) || (c >= 0x1000 && c < 0x10A0) || (c >= 0x1780 && c < 0x1800) ||
           (c >= 0x2E80 && c < 0xD800) || (c >= 0xF900 && c < 0xFB00) || (c >= 0xFF66 && c < 0xFFE0) ||
           (c >= 0x1B000 && c < 0x1B300) || (c >= 0x20000 && c < 0x40000);
}

bool tfm_text_word_at(tfm_text text, size_t at)
{
    const tfm_text rest = tfm_text_from(text, at);
    uint32_t c;

    return tfm_words_is_alphanumeric(rest) && tfm_utf8_read(rest, &c) > 0 && !is_unspaced(c);
}

bool tfm_text_word_before(tfm_text text, size_t at)
{
    size_t i = at;

    while (i && ((unsigned char)text.data[--i] & 0xC0) == 0x80) {
    }
    return tfm_text_word_at((tfm_text){text.data, at}, i);
}

bool tfm_text_term_inside(const tfm_text_term *term, tfm_text text, size_t at)
{
    const size_t end = at + term->text.size;

    return (!term->left && tfm_text_word_at(term->text, 0) && tfm_text_word_before(text, at)) ||
           (!term->right && tfm_text_word_before(term->text, term->text.size) && tfm_text_word_at(text, end));
}

void tfm_placeholders_begin(tfm_placeholder_walk *walk, const tfm_text_term *placeholders, size_t n, tfm_text text)
{
    walk->placeholders = placeholders;
    walk->n = n;
    walk->text = text;
    for (size_t i = 0; i < n; i++) walk->next[i] = tfm_text_find(text, 0, placeholders[i].text);
}

size_t tfm_placeholders_next(tfm_placeholder_walk *walk, size_t from, size_t *at)
{
    const tfm_text_term *p = walk->placeholders;
    size_t first = walk->n;

    *at = SIZE_MAX;
    for (size_t i = 0; i < walk->n; i++) {
        size_t *next = &walk->next[i];
        if (*next < from) *next = tfm_text_find(walk->text, from, p[i].text);
        if (*next == SIZE_MAX || *next > *at || (*next == *at && p[i].text.size <= p[first].text.size)) continue;
        *at = *next;
        first = i;
    }
    return first;
}

/* ------------------------------------------------------------------------------------------------ white space ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Where in the line occurrence number i of the placeholder stands, or its last one. */
static size_t same_in(tfm_text line, const tfm_text_term *placeholders, size_t n, size_t which, size_t i)
{
    tfm_placeholder_walk walk;
    size_t there = 0, from = 0, at;

    tfm_placeholders_begin(&walk, placeholders, n, line);
    for (size_t k; (k = tfm_placeholders_next(&walk, from, &at)) < n; from = at + placeholders[k].text.size) {
        if (k != which || tfm_text_term_inside(&placeholders[k], line, at)) continue;
        there = at;
        if (!i--) break;
    }
    return there;
}

void tfm_placeholders_space(tfm_buffer *to, tfm_text translation, tfm_text line, const tfm_text_term *placeholders,
                            size_t n)
{
    size_t at = 0, found, number[TFM_MOST_TERMS] = {0}, places[TFM_MOST_TERMS]; /* of each, the next: in the line */
    tfm_placeholder_walk walk;

    to->size = 0;
    to->bad = false;
    for (size_t k = 0; k < n; k++) places[k] = SIZE_MAX; /* not yet looked for */
    tfm_placeholders_begin(&walk, placeholders, n, translation);
    for (size_t k; (k = tfm_placeholders_next(&walk, at, &found)) < n; at = found) {
        const tfm_text what = placeholders[k].text;
        const bool inside = tfm_text_term_inside(&placeholders[k], translation, found);
        if (places[k] == SIZE_MAX) places[k] = same_in(line, placeholders, n, k, number[k]);
        const size_t there = places[k], end = there + what.size;
        if (!inside) places[k] = SIZE_MAX;
        number[k] += !inside;
        const bool left = !inside && tfm_text_word_before(line, there), right = !inside && tfm_text_word_at(line, end);
        tfm_buffer_append(to, translation.data + at, found - at);
        while (left && to->size && is_space(to->data[to->size - 1])) to->size--;
        if ((!there || is_space(line.data[there - 1])) && !tfm_text_word_at(what, 0) &&
            tfm_text_word_before(translation, found))
            tfm_buffer_append(to, " ", 1);
        tfm_buffer_append(to, what.data, what.size);
        found += what.size;
        while (right && found < translation.size && is_space(translation.data[found])) found++;
        if ((end == line.size || is_space(line.data[end])) && !tfm_text_word_before(what, what.size) &&
            tfm_text_word_at(translation, found))
            tfm_buffer_append(to, " ", 1);
    }
    tfm_buffer_append(to, translation.data + at, translation.size - at);
}
