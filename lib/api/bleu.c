/* The public face of BLEU: reads options, checks arguments. */
#include "eval/bleu.h"

#include "base/arithmetic.h"

enum { OPTIONS_SIZE_MIN = offsetof(tfm_bleu_options, allocator) + sizeof(void *) };

void tfm_bleu_options_init(tfm_bleu_options *options, size_t struct_size)
{
    const tfm_bleu_options defaults = tfm_bleu_defaults();

    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

static tfm_status check_texts(const char *name, size_t number, const tfm_text *texts, size_t n, tfm_error *error)
{
    if (!texts) return tfm_fail(error, TFM_E_INVALID, "%s %zu is NULL", name, number);
    for (size_t i = 0; i < n; i++)
        if (!texts[i].data && texts[i].size)
            return tfm_fail(error, TFM_E_INVALID, "%s %zu: line %zu is NULL but has %zu bytes", name, number, i + 1,
                            texts[i].size);
    return TFM_OK;
}

static tfm_status check_corpus(const tfm_text *hyps, size_t n_hyps, const tfm_text *const *refs, size_t n_refs,
                               tfm_error *error)
{
    if (!n_hyps) return tfm_fail(error, TFM_E_INVALID, "n_hyps is 0: BLEU needs at least one hypothesis");
    if (!n_refs) return tfm_fail(error, TFM_E_INVALID, "n_refs is 0: BLEU needs at least one reference");
    if (!refs) return tfm_fail(error, TFM_E_INVALID, "refs is NULL");
    tfm_status status = check_texts("hypothesis list", 1, hyps, n_hyps, error);
    for (size_t r = 0; r < n_refs && status == TFM_OK; r++)
        status = check_texts("reference list", r + 1, refs[r], n_hyps, error);
    return status;
}

tfm_status tfm_bleu(tfm_bleu_result *result, size_t struct_size, const tfm_text *hyps, size_t n_hyps,
                    const tfm_text *const *refs, size_t n_refs, const tfm_bleu_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_bleu_options used = tfm_bleu_defaults();
    tfm_bleu_result full;
    tfm_status status = TFM_OK;

    if (!result) return tfm_fail(error, TFM_E_INVALID, "result is NULL");
    if (options) status = tfm_options_read(&used, sizeof used, OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK) status = tfm_bleu_check(&used, error);
    if (status == TFM_OK) status = check_corpus(hyps, n_hyps, refs, n_refs, error);
    if (status == TFM_OK) status = tfm_bleu_corpus(&full, hyps, n_hyps, refs, n_refs, &used, error);
    if (status == TFM_OK) tfm_result_write(result, struct_size, &full, sizeof full);
    return status;
}
