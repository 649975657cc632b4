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

size_t tfm_placeholders_next(const tfm_text_term *placeholders, size_t n, tfm_text text, size_t from, size_t *at)
{
    size_t first = n;

    *at = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const tfm_text what = placeholders[i].text;
        const size_t found = tfm_text_find(text, from, what);
        if (found == SIZE_MAX || found > *at || (found == *at && what.size <= placeholders[first].text.size)) continue;
        *at = found;
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
    size_t there = 0, from = 0, at;

    for (size_t k; (k = tfm_placeholders_next(placeholders, n, line, from, &at)) < n;
         from = at + placeholders[k].text.size) {
        if (k != which || tfm_text_term_inside(&placeholders[k], line, at)) continue;
        there = at;
        if (!i--) break;
    }
    return there;
}

/* How often it stands before a byte. */
static size_t count_before(tfm_text text, size_t end, const tfm_text_term *placeholders, size_t n, size_t which)
{
    size_t count = 0, from = 0, at;

    for (size_t k; (k = tfm_placeholders_next(placeholders, n, text, from, &at)) < n && at < end;
         from = at + placeholders[k].text.size)
        count += k == which && !tfm_text_term_inside(&placeholders[k], text, at);
    return count;
}

void tfm_placeholders_space(tfm_buffer *to, tfm_text translation, tfm_text line, const tfm_text_term *placeholders,
                            size_t n)
{
    size_t at = 0, found;

    to->size = 0;
    to->bad = false;
    for (size_t k; (k = tfm_placeholders_next(placeholders, n, translation, at, &found)) < n; at = found) {
        const tfm_text what = placeholders[k].text;
        const size_t number = count_before(translation, found, placeholders, n, k);
        const size_t there = same_in(line, placeholders, n, k, number), end = there + what.size;
        const bool inside = tfm_text_term_inside(&placeholders[k], translation, found);
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
