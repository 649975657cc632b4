/* The texts of a decoder's results, one behind the other in one buffer. */
#include "api/decoder_handle.h"
#include "api/line_words.h"
#include "base/utf8.h"

static int32_t unknown_id(const tfm_decoder *d)
{
    tfm_special_ids special;

    tfm_tokenizer_special(&special, tfm_tokenizer_target(d->model->tokenizer));
    return special.unk < 0 ? special.pad : special.unk;
}

tfm_status tfm_decoder_known_ids(tfm_decoder *d, tfm_ids *ids, tfm_error *error)
{
    const int32_t vocab = (int32_t)tfm_tokenizer_vocab_size(tfm_tokenizer_target(d->model->tokenizer));
    const int32_t unknown = unknown_id(d);

    if ((uint32_t)vocab >= d->model->weights.options.vocab_size) return TFM_OK;
    if (!tfm_grow(&d->allocator, &d->known, &d->known_capacity, ids->size, sizeof *d->known))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the text of %zu ids", ids->size);
    for (size_t i = 0; i < ids->size; i++) d->known[i] = ids->data[i] < vocab ? ids->data[i] : unknown;
    ids->data = d->known;
    return TFM_OK;
}

static tfm_status no_memory(size_t n, tfm_error *error)
{
    return tfm_fail(error, TFM_E_NOMEM, "no memory for a text of %zu bytes", n);
}

/* Room for so many more bytes, and a NUL. */
static tfm_status make_room(tfm_decoder *d, size_t n, tfm_error *error)
{
    size_t want;

    if (tfm_add(d->text_size, n, &want) && tfm_add(want, 1, &want) &&
        tfm_grow(&d->allocator, &d->text, &d->text_capacity, want, 1))
        return TFM_OK;
    return no_memory(n, error);
}

/* What was appended behind `first` is the text of hypothesis number; there is room for a NUL. */
static tfm_status end_text(tfm_decoder *d, size_t first, size_t number, tfm_error *error)
{
    const size_t size = d->text_size - first;

    if (!tfm_grow(&d->allocator, &d->spans, &d->span_capacity, number + 1, sizeof *d->spans))
        return no_memory(size, error);
    d->spans[number] = (tfm_span){first, size};
    d->text[d->text_size++] = '\0';
    return TFM_OK;
}

tfm_status tfm_decoder_append_ids(tfm_decoder *d, tfm_ids ids, tfm_error *error)
{
    size_t n = 8 * ids.size;
    tfm_status status = tfm_decoder_known_ids(d, &ids, error);

    for (bool again = true; again && !status;) {
        status = make_room(d, n, error);
        if (status) return status;
        const size_t room = d->text_capacity - d->text_size - 1;
        status = tfm_tokenizer_decode(d->text + d->text_size, room, &n, d->model->tokenizer, ids, error);
        again = n > room;
    }
    if (!status) d->text_size += n;
    return status;
}

tfm_status tfm_decoder_append_space(tfm_decoder *d, size_t first, size_t part, tfm_error *error)
{
    const tfm_status status = make_room(d, 1, error);

    if (!status && d->text_size > first && tfm_parts_spaced(&d->parts, part)) d->text[d->text_size++] = ' ';
    return status;
}

tfm_status tfm_decoder_append_part(tfm_decoder *d, size_t first, size_t part, size_t rank, tfm_error *error)
{
    tfm_hypothesis h;
    tfm_status status;

    if (!tfm_search_get(d->search, part, rank, &h)) return TFM_OK;
    const tfm_span text = d->spans[h.number];
    status = text.size ? tfm_decoder_append_space(d, first, part, error) : TFM_OK;
    if (!status) status = make_room(d, text.size, error);
    if (status || !text.size) return status;
    memcpy(d->text + d->text_size, d->text + text.first, text.size);
    d->text_size += text.size;
    return TFM_OK;
}

tfm_status tfm_decoder_write_texts(tfm_decoder *d, size_t source, tfm_error *error)
{
    tfm_status status = TFM_OK;
    tfm_hypothesis h;

    if (!d->model->tokenizer) return TFM_OK;
    for (size_t rank = 0; !status && tfm_search_get(d->search, source, rank, &h); rank++) {
        const size_t first = d->text_size;
        status = tfm_decoder_append_ids(d, h.ids, error);
        if (!status) status = end_text(d, first, h.number, error);
    }
    return status;
}

static size_t fewest_results(const tfm_decoder *d, size_t first, size_t n)
{
    size_t fewest = tfm_search_count(d->search, first);

    for (size_t i = first + 1; i < first + n; i++)
        if (tfm_search_count(d->search, i) < fewest) fewest = tfm_search_count(d->search, i);
    return fewest;
}

tfm_status tfm_decoder_join_line(tfm_decoder *d, size_t line, tfm_error *error)
{
    const size_t first = d->parts.first[line], n = d->parts.first[line + 1] - first;
    const size_t number = tfm_search_hypotheses(d->search), count = fewest_results(d, first, n);
    tfm_status status = TFM_OK;

    if (n == 1) return TFM_OK;
    for (size_t rank = 0; !status && rank < count; rank++) {
        const size_t begin = d->text_size;
        for (size_t i = first; !status && i < first + n; i++)
            status = tfm_decoder_append_part(d, begin, i, rank, error);
        if (!status) status = end_text(d, begin, number + rank, error);
    }
    if (!status) d->parts.results[line] = tfm_search_join(d->search, first, n);
    if (status || d->parts.results[line] != SIZE_MAX) return status;
    return tfm_fail(error, TFM_E_NOMEM, "no memory to join the %zu parts of line %zu", n, line + 1);
}

static tfm_text word_at(tfm_text line, size_t index)
{
    tfm_text word = {NULL, 0};

    for (size_t i = 0; i <= index && tfm_next_word(&word, &line);) i++;
    return word;
}

/* Has the word's token number *i, or one behind it, the id? *i becomes the first token of a later word. */
static bool has_token(size_t *i, tfm_ids ids, const uint32_t *words, size_t word, int32_t id)
{
    bool has = false;

    for (; *i < ids.size && (words[*i] == TFM_NO_WORD || words[*i] <= word); ++*i)
        has |= words[*i] == word && ids.data[*i] == id;
    return has;
}

/* Appends bytes of a line, in valid UTF-8 for sure, or of the texts themselves, which may move. */
static tfm_status append(tfm_decoder *d, tfm_text text, const size_t *first, tfm_error *error)
{
    const size_t n = first ? text.size : tfm_utf8_replace_invalid(text, NULL, 0);
    const tfm_status status = make_room(d, n, error);

    if (status) return status;
    if (first) memcpy(d->text + d->text_size, d->text + *first, n);
    else tfm_utf8_replace_invalid(text, d->text + d->text_size, n);
    d->text_size += n;
    return TFM_OK;
}

tfm_status tfm_decoder_copy_unknown(tfm_decoder *d, size_t number, tfm_ids ids, const uint32_t *words, tfm_text line,
                                    tfm_error *error)
{
    const tfm_span old = d->spans[number];
    const size_t first = d->text_size;
    const int32_t unknown = unknown_id(d);
    size_t rows = 0, cols = 0, at = old.first, token = 0;
    const float *weights = tfm_matrices_get(&d->aligner.results, number, &rows, &cols);
    tfm_status status = TFM_OK;
    tfm_text word, rest;

    for (size_t i = 0; weights && !status && i <= rows; i++) {
        rest = (tfm_text){d->text + at, old.first + old.size - at};
        const bool is_word = i < rows && tfm_next_word(&word, &rest);
        const size_t begin = is_word ? (size_t)(word.data - d->text) : old.first + old.size;
        status = append(d, (tfm_text){NULL, begin - at}, &at, error);
        at = begin;
        if (status || !is_word) continue;
        const size_t best = tfm_alignment_best(weights + i * cols, cols), size = word.size;
        const bool copy = has_token(&token, ids, words, i, unknown) && best < cols;
        status = append(d, copy ? word_at(line, best) : (tfm_text){NULL, size}, copy ? NULL : &at, error);
        at += size;
    }
    return weights && !status ? end_text(d, first, number, error) : status;
}

static tfm_status space_text(tfm_decoder *d, const tfm_hypothesis *h, tfm_text line, const tfm_text_term *placeholders,
                             size_t n, tfm_error *error)
{
    const tfm_span span = d->spans[h->number];
    tfm_buffer *text = &d->terms.text;
    const size_t first = d->text_size;

    tfm_placeholders_space(text, (tfm_text){d->text + span.first, span.size}, line, placeholders, n);
    if (text->bad) return tfm_fail(error, TFM_E_NOMEM, "no memory for a text of %zu bytes", span.size);
    const tfm_status status = make_room(d, text->size, error);
    if (status) return status;
    if (text->size) memcpy(d->text + first, text->data, text->size);
    d->text_size += text->size;
    return end_text(d, first, h->number, error);
}

tfm_status tfm_decoder_space_placeholders(tfm_decoder *d, const tfm_request *request, tfm_error *error)
{
    const tfm_text_term *term = d->terms.texts;
    tfm_status status = TFM_OK;
    tfm_hypothesis h;

    for (size_t s = 0; s < request->n; s++) {
        size_t n = d->terms.n_terms[s];
        for (; n && !term->placeholder; n--) term++;
        for (size_t rank = 0; !status && n && tfm_decoder_get(d, s, rank, &h); rank++)
            status = space_text(d, &h, request->lines[s], term, n, error);
        term += n;
    }
    if (status) tfm_search_clear(d->search);
    return status;
}

void tfm_decoder_free_texts(tfm_decoder *d)
{
    const tfm_allocator *a = &d->allocator;

    tfm_free(a, d->text, d->text_capacity, 1);
    tfm_free(a, d->spans, d->span_capacity, sizeof *d->spans);
    tfm_free(a, d->known, d->known_capacity, sizeof *d->known);
    tfm_free(a, d->begun, d->begun_capacity, sizeof *d->begun);
}

tfm_text tfm_decoder_text(const tfm_decoder *decoder, size_t sentence, size_t rank)
{
    tfm_hypothesis h;

    if (!tfm_decoder_get(decoder, sentence, rank, &h) || !decoder->model->tokenizer) return (tfm_text){"", 0};
    const tfm_span *span = &decoder->spans[h.number];
    return (tfm_text){decoder->text + span->first, span->size};
}
