/* The decoder's side that speaks text: lines in, lines out. */
#include "api/decoder_handle.h"

#include "base/arithmetic.h"

size_t tfm_decoder_longest_source(const tfm_decoder *d)
{
    const size_t positions = tfm_workspace_longest(tfm_search_workspace(d->search));

    return positions < d->options.max_source ? positions : d->options.max_source;
}

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
    const tfm_model_options *o = &d->model->weights.options;
    const bool replace = d->options.replace_invalid, words = d->options.alignment != TFM_ALIGNMENT_NONE;
    const tfm_encode_rules source = {"source line", replace, TFM_BLANK_EMPTY, tfm_config_end(o, true), NULL};
    const tfm_encode_rules target = {"target line", replace, TFM_BLANK_TEXT, tfm_config_end(o, false), NULL};
    const tfm_tokenizer *tokenizer = d->model->tokenizer, *target_side = tfm_tokenizer_target(tokenizer);
    tfm_score_clear(d->score);
    d->aligner.given.n = 0;
    status = tfm_decoder_check_text(d, sources, n_pairs, "sources", error);
    if (!status) status = tfm_decoder_check_text(d, targets, n_pairs, "targets", error);
    if (!status) status = tfm_encode_lines(&d->sources, tokenizer, sources, n_pairs, &source, error);
    if (!status) status = tfm_encode_lines(&d->targets, target_side, targets, n_pairs, &target, error);
    if (!status) status = tfm_decoder_check_lengths(d, &d->sources, source.side, true, error);
    if (!status) status = tfm_decoder_check_lengths(d, &d->targets, target.side, false, error);
    if (!status && words) status = tfm_encoded_find_words(&d->sources, tokenizer, sources, &source, error);
    if (!status && words) status = tfm_encoded_find_words(&d->targets, target_side, targets, &target, error);
    if (!status) status = tfm_score_run(d->score, d->sources.lines, d->targets.lines, n_pairs, error);
    return status || !words ? status : tfm_decoder_align_pairs(d, error);
}
