/* Translation: requests in text or ids, as ids to the search. */
#include "api/decoder_handle.h"

#include "base/arithmetic.h"

#define REQUEST_SIZE_MIN (offsetof(tfm_request, terms) + sizeof(void *)) /* what callers of 0.2 know at least */

void tfm_request_init(tfm_request *request, size_t struct_size)
{
    const tfm_request none = {.n = 0};

    tfm_options_fill(request, struct_size, &none, sizeof none);
}

/* *ids: those of the lines, unless there are none. tokenizer: the model's for their side. */
static tfm_status encode(const tfm_ids **ids, tfm_encoded *to, const tfm_decoder *d, const tfm_tokenizer *tokenizer,
                         const tfm_text *lines, size_t n, const tfm_encode_rules *rules, tfm_error *error)
{
    tfm_status status;

    if (!lines) return TFM_OK;
    status = tfm_decoder_check_text(d, lines, n, rules->side, error);
    if (!status) status = tfm_encode_lines(to, tokenizer, lines, n, rules, error);
    *ids = to->lines;
    return status;
}

static tfm_status count_terms(size_t *total, const tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    *total = 0;
    if (!r->n_terms) return TFM_OK;
    for (size_t i = 0; i < r->n; i++)
        if (!tfm_add(*total, r->n_terms[i], total)) *total = SIZE_MAX;
    if (*total && !r->terms && !r->term_lines)
        return tfm_fail(error, TFM_E_INVALID, "terms and term_lines are NULL, their number %zu", *total);
    if (*total && d->options.temperature > 0.0f)
        return tfm_fail(error, TFM_E_INVALID, "terms are for searches, but temperature is %g: set it to 0",
                        (double)d->options.temperature);
    return TFM_OK;
}

static tfm_status count_placeholders(tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    size_t total = 0;

    d->terms.n_placeholders = 0;
    for (size_t i = 0; r->n_placeholders && i < r->n; i++)
        if (!tfm_add(total, r->n_placeholders[i], &total)) total = SIZE_MAX;
    if (!total) return TFM_OK;
    if (!r->placeholders || !r->lines)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL, the number of placeholders %zu",
                        r->lines ? "placeholders" : "lines", total);
    if (d->options.temperature > 0.0f)
        return tfm_fail(error, TFM_E_INVALID, "placeholders are for searches, but temperature is %g: set it to 0",
                        (double)d->options.temperature);
    d->terms.n_placeholders = total;
    return TFM_OK;
}

/* What changes texts after the search would take back what callbacks were told. */
static tfm_status check_callbacks(const tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    if ((!r->partial && !r->sentence) || (!d->terms.n_placeholders && !d->options.replace_unknown)) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED,
                    "callbacks with %s, which changes texts when all are done: leave out one of them",
                    d->terms.n_placeholders ? "placeholders" : "replace_unknown");
}

static bool has_terms(const tfm_request *r, size_t line)
{
    return (r->n_terms && r->n_terms[line]) || (r->n_placeholders && r->n_placeholders[line]);
}

/* Is there a line above the limit? Those with terms must be whole. */
static tfm_status find_long(bool *any, const tfm_decoder *d, const tfm_request *r, size_t limit, const char *side,
                            tfm_error *error)
{
    *any = false;
    for (size_t i = 0; i < r->n; i++) {
        const size_t size = d->sources.lines[i].size;
        if (size <= limit) continue;
        if (has_terms(r, i))
            return tfm_fail(error, TFM_E_INVALID,
                            "%s %zu has %zu tokens with EOS, more than %zu, and is not split, as it has terms or "
                            "placeholders: leave them out, or split it",
                            side, i + 1, size, limit);
        *any = true;
    }
    return TFM_OK;
}

/* The sources are no longer than they may be, or become parts that are not, and the rules those of parts. */
static tfm_status fit_lines(tfm_decoder *d, tfm_request *r, tfm_encode_rules *rules, tfm_error *error)
{
    const size_t limit = tfm_decoder_longest_source(d);
    tfm_status status;
    bool any;

    if (d->options.long_source == TFM_LONG_REFUSE)
        return tfm_decoder_check_lengths(d, &d->sources, rules->side, true, error);
    status = find_long(&any, d, r, limit, rules->side, error);
    if (status || !any) return status;
    status = tfm_split_lines(&d->parts, d->model->tokenizer, r->lines, &d->sources, limit, rules, error);
    rules->front = d->parts.languages;
    if (!status) status = tfm_encode_lines(&d->sources, d->model->tokenizer, d->parts.texts, d->parts.n, rules, error);
    r->sources = d->sources.lines;
    return status;
}

/* What is text in the request becomes ids, which the decoder keeps. */
static tfm_status run(tfm_decoder *d, const tfm_request *request, tfm_error *error)
{
    const int32_t end = tfm_config_end(&d->model->weights.options, true);
    const bool replace = d->options.replace_invalid, align = d->options.alignment != TFM_ALIGNMENT_NONE;
    tfm_encode_rules source = {"line", replace, TFM_BLANK_NO_IDS, end, NULL};
    const tfm_encode_rules prefix = {"prefix", replace, TFM_BLANK_NO_IDS, -1, NULL},
                           term = {"term", replace, TFM_BLANK_NO_IDS, -1, NULL};
    tfm_request r = *request;
    const tfm_tokenizer *tokenizer = d->model->tokenizer, *target_side = tfm_tokenizer_target(tokenizer);
    size_t n_terms;
    d->parts.n = d->text_size = 0;
    tfm_status status = count_terms(&n_terms, d, &r, error);

    if (!n_terms) r.n_terms = NULL;
    if (!status) status = count_placeholders(d, &r, error);
    if (!status) status = check_callbacks(d, &r, error);
    if (!status) status = encode(&r.sources, &d->sources, d, tokenizer, r.lines, r.n, &source, error);
    if (!status && r.lines) status = fit_lines(d, &r, &source, error);
    if (!status && n_terms)
        status = encode(&r.terms, &d->terms.encoded, d, target_side, r.term_lines, n_terms, &term, error);
    const bool read = d->terms.n_placeholders || (n_terms && r.term_lines);
    if (!status && read) status = tfm_line_terms_take(&d->terms, &r, n_terms, target_side, error);
    if (!status && r.lines && align)
        status = tfm_encoded_find_words(&d->sources, tokenizer, d->parts.n ? d->parts.texts : r.lines, &source, error);
    if (!status) status = encode(&r.prefixes, &d->targets, d, target_side, r.prefix_lines, r.n, &prefix, error);
    if (!status && d->parts.n) status = tfm_parts_spread(&d->parts, &r, error);
    if (align) tfm_decoder_clear_alignments(d);
    if (!status) tfm_decoder_watch(d, request, read);
    if (!status) status = tfm_search_run(d->search, &r, error);
    if (!status && d->terms.n_placeholders) status = tfm_decoder_space_placeholders(d, request, error);
    return status || !align ? status : tfm_decoder_align(d, request, r.sources, r.n, error);
}

tfm_status tfm_decoder_run(tfm_decoder *decoder, const tfm_request *request, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_request r = {.n = 0};
    tfm_status status;

    if (!decoder) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    tfm_search_clear(decoder->search);
    if (!request) return tfm_fail(error, TFM_E_INVALID, "request is NULL");
    status = tfm_options_read(&r, sizeof r, REQUEST_SIZE_MIN, request, error);
    if (status) return status;
    if (r.reserved) return tfm_fail(error, TFM_E_INVALID, "reserved is %u, must be 0", r.reserved);
    if (r.n && !r.lines && !r.sources)
        return tfm_fail(error, TFM_E_INVALID, "lines and sources are NULL, n is %zu", r.n);
    return run(decoder, &r, error);
}

tfm_status tfm_decoder_translate(tfm_decoder *decoder, const tfm_text *lines, size_t n_lines, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_request r = {.n = n_lines, .lines = lines};
    tfm_status status;

    if (!decoder) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    tfm_search_clear(decoder->search);
    status = tfm_decoder_check_text(decoder, lines, n_lines, "lines", error);
    return status ? status : run(decoder, &r, error);
}

tfm_status tfm_decoder_translate_ids(tfm_decoder *decoder, const tfm_ids *sources, size_t n_sources, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    const tfm_request r = {.n = n_sources, .sources = sources};

    if (!decoder) return tfm_fail(error, TFM_E_INVALID, "decoder is NULL");
    tfm_search_clear(decoder->search);
    if (!sources && n_sources) return tfm_fail(error, TFM_E_INVALID, "sources is NULL, n_sources %zu", n_sources);
    return run(decoder, &r, error);
}
