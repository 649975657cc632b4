/* Translation: requests in text or ids, as ids to the search. */
#include "api/decoder_handle.h"

#include "base/arithmetic.h"

#define REQUEST_SIZE_MIN (offsetof(tfm_request, prefixes) + sizeof(void *))

void tfm_request_init(tfm_request *request, size_t struct_size)
{
    const tfm_request none = {.n = 0};

    tfm_options_fill(request, struct_size, &none, sizeof none);
}

/* *sources: the request's, encoded when they are text. */
static tfm_status encode_sources(const tfm_ids **sources, tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    const tfm_encode_rules rules = {"line", d->options.replace_invalid, true,
                                    tfm_config_end(&d->model->weights.options, true)};
    tfm_status status;

    *sources = r->sources;
    if (!r->lines) return TFM_OK;
    status = tfm_decoder_check_text(d, r->lines, r->n, "lines", error);
    if (!status) status = tfm_encode_lines(&d->sources, d->model->tokenizer, r->lines, r->n, &rules, error);
    if (!status) status = tfm_decoder_check_lengths(d, &d->sources, rules.side, true, error);
    *sources = d->sources.lines;
    return status;
}

static tfm_status encode_prefixes(const tfm_ids **prefixes, tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    const tfm_encode_rules rules = {"prefix", d->options.replace_invalid, true, -1};
    tfm_status status;

    *prefixes = r->prefixes;
    if (!r->prefix_lines) return TFM_OK;
    status = tfm_decoder_check_text(d, r->prefix_lines, r->n, "prefix_lines", error);
    if (!status) status = tfm_encode_lines(&d->targets, d->model->tokenizer, r->prefix_lines, r->n, &rules, error);
    *prefixes = d->targets.lines;
    return status;
}

static tfm_status run(tfm_decoder *d, const tfm_request *r, tfm_error *error)
{
    const tfm_ids *sources, *prefixes;
    tfm_status status = encode_sources(&sources, d, r, error);

    if (!status) status = encode_prefixes(&prefixes, d, r, error);
    if (!status) status = tfm_search_run(d->search, sources, prefixes, r->n, error);
    return status ? status : tfm_decoder_write_texts(d, error);
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
    if (r.n && !r.lines && !r.sources) return tfm_fail(error, TFM_E_INVALID, "lines and sources are NULL, n is %zu", r.n);
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
