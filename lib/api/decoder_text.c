/* The decoder's side that speaks text: lines in, lines out. */
#include "api/decoder_handle.h"

#include "base/arithmetic.h"

tfm_status tfm_decoder_check_lengths(const tfm_decoder *d, const tfm_encoded *e, const char *side, bool source,
                                tfm_error *error)
{
    const size_t positions = tfm_workspace_longest(tfm_search_workspace(d->search));

    for (size_t i = 0; i < e->n; i++) {
        const size_t size = e->lines[i].size;
        if (source && size > d->options.max_source)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu has %zu tokens with EOS, more than max_source %u: split it",
                            side, i + 1, size, d->options.max_source);
        if (size > positions)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu has %zu tokens with EOS, the model has only %zu positions",
                            side, i + 1, size, positions);
    }
    return TFM_OK;
}

tfm_status tfm_decoder_check_text(const tfm_decoder *d, const void *lines, size_t n, const char *name, tfm_error *error)
{
    if (!d->model->tokenizer)
        return tfm_fail(error, TFM_E_INVALID, "the model has no tokenizer: use the function for ids");
    if (!lines && n) return tfm_fail(error, TFM_E_INVALID, "%s is NULL, their number %zu", name, n);
    return TFM_OK;
}

tfm_status tfm_decoder_logprobs(tfm_decoder *decoder, const tfm_text *sources, const tfm_text *targets, size_t n_pairs,
                                tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_decoder *d = decoder;
    tfm_status status;

    if (!d) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    const tfm_encode_rules source = {"source line", d->options.replace_invalid, false, tfm_config_end(&d->model->weights.options, true)};
    const tfm_encode_rules target = {"target line", d->options.replace_invalid, false, tfm_config_end(&d->model->weights.options, false)};
    const tfm_tokenizer *tokenizer = d->model->tokenizer;
    tfm_score_clear(d->score);
    status = tfm_decoder_check_text(d, sources, n_pairs, "sources", error);
    if (!status) status = tfm_decoder_check_text(d, targets, n_pairs, "targets", error);
    if (!status) status = tfm_encode_lines(&d->sources, tokenizer, sources, n_pairs, &source, error);
    if (!status) status = tfm_encode_lines(&d->targets, tokenizer, targets, n_pairs, &target, error);
    if (!status) status = tfm_decoder_check_lengths(d, &d->sources, source.side, true, error);
    if (!status) status = tfm_decoder_check_lengths(d, &d->targets, target.side, false, error);
    if (!status) status = tfm_score_run(d->score, d->sources.lines, d->targets.lines, n_pairs, error);
    return status;
}

/* A model may have more ids than its tokenizer: they read as unknown. */
static tfm_status known_ids(tfm_decoder *d, tfm_ids *ids, tfm_error *error)
{
    const int32_t vocab = (int32_t)tfm_tokenizer_vocab_size(d->model->tokenizer);
    tfm_special_ids special;

    tfm_tokenizer_special(&special, d->model->tokenizer);
    const int32_t unknown = special.unk < 0 ? special.pad : special.unk;
    if ((uint32_t)vocab >= d->model->weights.options.vocab_size) return TFM_OK;
    if (!tfm_grow(&d->allocator, &d->known, &d->known_capacity, ids->size, sizeof *d->known))
        return tfm_fail(error, TFM_E_NOMEM, "no memory for the text of %zu ids", ids->size);
    for (size_t i = 0; i < ids->size; i++) d->known[i] = ids->data[i] < vocab ? ids->data[i] : unknown;
    ids->data = d->known;
    return TFM_OK;
}

static tfm_status write_text(tfm_decoder *d, const tfm_hypothesis *h, tfm_error *error)
{
    size_t n = 8 * h->ids.size;
    tfm_ids ids = h->ids;
    tfm_status status = known_ids(d, &ids, error);

    for (bool again = true; again && !status;) {
        size_t want;
        if (!tfm_add(d->text_size, n, &want) || !tfm_add(want, 1, &want) ||
            !tfm_grow(&d->allocator, &d->text, &d->text_capacity, want, 1))
            return tfm_fail(error, TFM_E_NOMEM, "no memory for the text of %zu ids", ids.size);
        const size_t room = d->text_capacity - d->text_size - 1;
        status = tfm_tokenizer_decode(d->text + d->text_size, room, &n, d->model->tokenizer, ids, error);
        again = n > room;
    }
    if (status) return status;
    d->spans[h->number] = (tfm_span){d->text_size, n};
    d->text_size += n;
    d->text[d->text_size++] = '\0';
    return TFM_OK;
}

tfm_status tfm_decoder_write_texts(tfm_decoder *decoder, tfm_error *error)
{
    tfm_decoder *d = decoder;
    const size_t n = tfm_search_hypotheses(d->search);
    tfm_status status = TFM_OK;
    tfm_hypothesis h;

    if (!d->model->tokenizer) return TFM_OK;
    d->text_size = 0;
    if (!tfm_grow(&d->allocator, &d->spans, &d->span_capacity, n, sizeof *d->spans))
        status = tfm_fail(error, TFM_E_NOMEM, "no memory for %zu texts", n);
    for (size_t s = 0; !status && tfm_search_count(d->search, s); s++)
        for (size_t rank = 0; !status && tfm_search_get(d->search, s, rank, &h); rank++)
            status = write_text(d, &h, error);
    if (status) tfm_search_clear(d->search);
    return status;
}

void tfm_decoder_free_texts(tfm_decoder *decoder)
{
    const tfm_allocator *a = &decoder->allocator;

    tfm_free(a, decoder->text, decoder->text_capacity, 1);
    tfm_free(a, decoder->spans, decoder->span_capacity, sizeof *decoder->spans);
    tfm_free(a, decoder->known, decoder->known_capacity, sizeof *decoder->known);
}

tfm_text tfm_decoder_text(const tfm_decoder *decoder, size_t sentence, size_t rank)
{
    tfm_hypothesis h;

    if (!decoder || !decoder->model->tokenizer || !tfm_search_get(decoder->search, sentence, rank, &h))
        return (tfm_text){"", 0};
    const tfm_span *span = &decoder->spans[h.number];
    return (tfm_text){decoder->text + span->first, span->size};
}
