/* While a translation runs: telling the caller which sentences are done and how others will begin; reading terms. */
#include "api/decoder_handle.h"

#include "base/utf8.h"

static size_t line_of(const tfm_decoder *d, size_t source)
{
    return d->parts.n ? d->parts.lines[source] : source;
}

static tfm_status answered(int32_t answer, size_t line, tfm_error *error)
{
    return answer ? tfm_fail(error, TFM_E_CANCELLED, "cancelled at sentence %zu", line) : TFM_OK;
}

static tfm_status tell_partial(const tfm_decoder *d, size_t line, tfm_text text, tfm_ids ids, tfm_error *error)
{
    const tfm_partial partial = {line, text, ids};

    return answered(d->request->partial(d->request->user, &partial), line, error);
}

/* A sentence has all of its results; the last that is told of its text is the whole one. */
static tfm_status end_line(const tfm_decoder *d, size_t line, tfm_error *error)
{
    const tfm_request *r = d->request;
    tfm_status status = TFM_OK;

    if (r->partial) status = tell_partial(d, line, tfm_decoder_text(d, line, 0), tfm_decoder_ids(d, line, 0), error);
    if (status || !r->sentence) return status;
    return answered(r->sentence(r->user, d, line), line, error);
}

static tfm_status end_source(void *user, size_t source, tfm_error *error)
{
    tfm_decoder *d = user;
    tfm_parts *p = &d->parts;
    tfm_status status = tfm_decoder_write_texts(d, source, error);

    if (status || (p->n && --p->left[p->lines[source]])) return status;
    if (p->n) status = tfm_decoder_join_line(d, p->lines[source], error);
    return status ? status : end_line(d, line_of(d, source), error);
}

/* The ids behind those of the parts before, all of which are done. */
static tfm_status put_parts_before(tfm_decoder *d, size_t first, size_t source, tfm_ids *ids, tfm_error *error)
{
    size_t n = 0;
    tfm_hypothesis h;

    for (size_t i = first; i < source; i++) n += tfm_search_get(d->search, i, 0, &h) ? h.ids.size : 0;
    if (!tfm_grow(&d->allocator, &d->begun, &d->begun_capacity, n + ids->size, sizeof *d->begun))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for %zu ids", n + ids->size);
    n = 0;
    for (size_t i = first; i <= source; i++) {
        const tfm_ids part = i == source ? *ids : tfm_search_get(d->search, i, 0, &h) ? h.ids : (tfm_ids){NULL, 0};
        for (size_t j = 0; j < part.size; j++) d->begun[n++] = part.data[j];
    }
    *ids = (tfm_ids){d->begun, n};
    return TFM_OK;
}

/* Those whose text no further token changes: word-pieces are escaped and spaced by whole words. */
static tfm_ids in_whole_words(const tfm_decoder *d, tfm_ids ids)
{
    const tfm_tokenizer *t = tfm_tokenizer_target(d->model->tokenizer);

    while (ids.size && tfm_tokenizer_kind(t) == TFM_TOKENIZER_WORDPIECE) {
        const tfm_text token = tfm_tokenizer_token(t, ids.data[ids.size - 1]);
        if (token.size && token.data[token.size - 1] == '_') break;
        ids.size--;
    }
    return ids;
}

/* Ends a text before bytes that may yet become a character: they read as U+FFFD. */
static void end_at_character(tfm_decoder *d, size_t first)
{
    const size_t size = sizeof TFM_UTF8_REPLACEMENT - 1;

    while (d->text_size >= first + size && !memcmp(d->text + d->text_size - size, TFM_UTF8_REPLACEMENT, size))
        d->text_size -= size;
}

/* Appends what the parts before this one and its first ids say. */
static tfm_status append_begun(tfm_decoder *d, size_t first_part, size_t source, tfm_ids ids, tfm_error *error)
{
    const size_t first = d->text_size;
    tfm_status status = TFM_OK;

    for (size_t i = first_part; !status && i < source; i++) status = tfm_decoder_append_part(d, first, i, 0, error);
    const size_t before = d->text_size;
    if (!status && first_part < source) status = tfm_decoder_append_space(d, first, source, error);
    const size_t begin = d->text_size;
    if (!status) status = tfm_decoder_append_ids(d, in_whole_words(d, ids), error);
    end_at_character(d, begin);
    if (d->text_size == begin) d->text_size = before;
    return status;
}

static bool all_done(const tfm_decoder *d, size_t first, size_t end)
{
    while (first < end && tfm_search_count(d->search, first)) first++;
    return first == end;
}

/* Lines in parts are told of in their order: a part waits for those before it. */
static tfm_status grow_source(void *user, size_t source, tfm_ids certain, tfm_error *error)
{
    tfm_decoder *d = user;
    const size_t line = line_of(d, source), first_part = d->parts.n ? d->parts.first[line] : source;
    const size_t first = d->text_size;
    tfm_ids ids = certain;
    tfm_status status = TFM_OK;

    if (!all_done(d, first_part, source)) return TFM_OK;
    if (first_part < source) status = put_parts_before(d, first_part, source, &ids, error);
    if (!status && d->model->tokenizer) status = append_begun(d, first_part, source, certain, error);
    const tfm_text text = {d->text_size > first ? d->text + first : "", d->text_size - first};
    d->text_size = first; /* it is only lent */
    return status ? status : tell_partial(d, line, text, ids, error);
}

static tfm_status read_terms(void *user, const tfm_terms *terms, tfm_ids past, size_t n_given, tfm_wanted *wanted,
                             tfm_error *error)
{
    tfm_decoder *d = user;
    tfm_ids ids = past;
    const tfm_status status = tfm_decoder_known_ids(d, &ids, error);

    if (status) return status;
    return tfm_line_terms_read(&d->terms, terms, d->model->tokenizer, ids, n_given, wanted, error);
}

void tfm_decoder_watch(tfm_decoder *d, const tfm_request *request, bool read)
{
    d->request = request;
    tfm_search_set_watch(d->search, &(tfm_search_watch){.ended = end_source,
                                                        .grew = request->partial ? grow_source : NULL,
                                                        .read = read ? read_terms : NULL,
                                                        .user = d});
}
