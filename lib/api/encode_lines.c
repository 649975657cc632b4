/* Lines to ids: checks, repairs and tokenises them one after another into one array. */
#include "api/encode_lines.h"

#include "api/line_words.h"
#include "base/utf8.h"

bool tfm_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool tfm_line_is_blank(tfm_text line)
{
    uint32_t c;

    while (line.size) {
        const int size = tfm_utf8_read(line, &c);
        if (size < 0 || !tfm_is_space(c)) return false;
        line = tfm_text_from(line, (size_t)size);
    }
    return true;
}

static tfm_status repair(tfm_encoded *e, tfm_text *line, tfm_error *error)
{
    const size_t size = tfm_utf8_replace_invalid(*line, NULL, 0);

    if (!tfm_grow(&e->allocator, &e->repaired, &e->repaired_capacity, size, 1))
        return tfm_fail(error, TFM_E_NOMEM, "no memory to repair a line of %zu bytes", line->size);
    tfm_utf8_replace_invalid(*line, e->repaired, size);
    *line = (tfm_text){e->repaired, size};
    return TFM_OK;
}

static int32_t front_of(const tfm_encode_rules *rules, size_t line)
{
    return rules->front ? rules->front[line] : -1;
}

/* Appends the ids of a line, and what stands around them. */
static tfm_status append(tfm_encoded *e, const tfm_tokenizer *tokenizer, tfm_text line, int32_t front, int32_t eos,
                         tfm_error *error)
{
    const size_t around = (front >= 0) + (eos >= 0);
    size_t n = line.size / 2 + 8; /* a guess: more than one token in two bytes is rare */

    for (bool again = true; again;) {
        size_t want;
        if (!tfm_add(e->n_ids, n, &want) || !tfm_add(want, around, &want) ||
            !tfm_grow(&e->allocator, &e->ids, &e->id_capacity, want, sizeof *e->ids))
            return tfm_fail(error, TFM_E_NOMEM, "no memory for the ids of a line of %zu bytes", line.size);
        const size_t room = e->id_capacity - e->n_ids - around;
        int32_t *to = e->ids + e->n_ids + (front >= 0);
        const tfm_status status = tfm_tokenizer_encode(to, room, &n, tokenizer, line, error);
        if (status) return status;
        again = n > room;
    }
    if (front >= 0) e->ids[e->n_ids++] = front;
    e->n_ids += n;
    if (eos >= 0) e->ids[e->n_ids++] = eos;
    return TFM_OK;
}

/* A line as the rules have it: valid UTF-8. */
static tfm_status take_text(tfm_encoded *e, tfm_text *line, size_t number, const tfm_encode_rules *rules,
                            tfm_error *error)
{
    if (line->size && !line->data)
        return tfm_fail(error, TFM_E_INVALID, "%s %zu has %zu bytes at NULL", rules->side, number, line->size);
    const size_t invalid = line->size ? tfm_utf8_find_invalid(*line) : SIZE_MAX;
    if (invalid == SIZE_MAX) return TFM_OK;
    if (rules->replace_invalid) return repair(e, line, error);
    return tfm_fail(error, TFM_E_FORMAT, "%s %zu is not UTF-8 at byte %zu: repair it, or set replace_invalid",
                    rules->side, number, invalid);
}

static tfm_status encode_line(tfm_encoded *e, const tfm_tokenizer *tokenizer, tfm_text line, size_t number,
                              const tfm_encode_rules *rules, tfm_error *error)
{
    const tfm_status status = take_text(e, &line, number, rules, error);
    const bool blank = !status && rules->blank != TFM_BLANK_TEXT && tfm_line_is_blank(line);

    if (status || (blank && rules->blank == TFM_BLANK_NO_IDS)) return status;
    if (blank) line.size = 0;
    return append(e, tokenizer, line, front_of(rules, number - 1), rules->eos, error);
}

tfm_status tfm_encode_lines(tfm_encoded *encoded, const tfm_tokenizer *tokenizer, const tfm_text *lines, size_t n,
                            const tfm_encode_rules *rules, tfm_error *error)
{
    tfm_encoded *e = encoded;
    const int32_t *ids;

    e->n = e->n_ids = 0;
    if (!tfm_grow(&e->allocator, &e->lines, &e->line_capacity, n, sizeof *e->lines))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the ids of %zu lines", n);
    for (size_t i = 0; i < n; i++) {
        const size_t first = e->n_ids;
        const tfm_status status = encode_line(e, tokenizer, lines[i], i + 1, rules, error);
        if (status) return status;
        e->lines[i].size = e->n_ids - first;
    }
    ids = e->ids;
    for (size_t i = 0; i < n; i++) {
        e->lines[i].data = e->lines[i].size ? ids : NULL;
        if (ids) ids += e->lines[i].size;
    }
    e->n = n;
    return TFM_OK;
}

tfm_status tfm_encoded_find_words(tfm_encoded *encoded, const tfm_tokenizer *tokenizer, const tfm_text *lines,
                                  const tfm_encode_rules *rules, tfm_error *error)
{
    tfm_encoded *e = encoded;
    const size_t end = rules->eos >= 0;
    tfm_status status = TFM_OK;

    if (!tfm_grow(&e->allocator, &e->words, &e->word_capacity, e->n_ids, sizeof *e->words) ||
        !tfm_grow(&e->allocator, &e->n_words, &e->n_words_capacity, e->n, sizeof *e->n_words))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the words of %zu lines", e->n);
    for (size_t i = 0, first = 0; !status && i < e->n; first += e->lines[i++].size) {
        const size_t n = e->lines[i].size, begin = front_of(rules, i) >= 0;
        tfm_text line = lines[i];
        e->n_words[i] = 0;
        if (!n) continue;
        status = take_text(e, &line, i + 1, rules, error);
        if (status) return status;
        e->n_words[i] = tfm_count_words(line);
        if (begin) e->words[first] = TFM_NO_WORD;
        if (end) e->words[first + n - 1] = TFM_NO_WORD;
        status = tfm_words_of_line(e->words + first + begin, n - begin - end, tokenizer, line, error);
    }
    return status;
}

void tfm_encoded_free(tfm_encoded *encoded)
{
    const tfm_allocator *a = &encoded->allocator;

    tfm_free(a, encoded->lines, encoded->line_capacity, sizeof *encoded->lines);
    tfm_free(a, encoded->ids, encoded->id_capacity, sizeof *encoded->ids);
    tfm_free(a, encoded->repaired, encoded->repaired_capacity, 1);
    tfm_free(a, encoded->words, encoded->word_capacity, sizeof *encoded->words);
    tfm_free(a, encoded->n_words, encoded->n_words_capacity, sizeof *encoded->n_words);
    *encoded = (tfm_encoded){.allocator = *a};
}
