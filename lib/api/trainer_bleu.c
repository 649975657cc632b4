/* The validation BLEU of a training, which needs trainer and decoder. */
#include "api/trainer_handle.h"

static tfm_status translate(tfm_trainer *t, const tfm_text *sources, const tfm_text *targets, tfm_text *hyps,
                            double *bleu, tfm_decoder *decoder, tfm_error *error)
{
    tfm_bleu_options options;
    tfm_bleu_result result;
    tfm_status status = tfm_decoder_translate(decoder, sources, t->valid.n, error);

    if (status != TFM_OK) return status;
    for (size_t i = 0; i < t->valid.n; i++) hyps[i] = tfm_decoder_text(decoder, i, 0);
    tfm_bleu_options_init(&options, sizeof options);
    options.tokenize = TFM_BLEU_TOKENIZE_NONE;
    options.allocator = &t->allocator;
    status = tfm_bleu(&result, sizeof result, hyps, t->valid.n, &targets, 1, &options, error);
    *bleu = result.score;
    return status;
}

/* The decoder works on a copy of the weights: nothing of the training changes. */
tfm_status tfm_trainer_bleu(void *user, double *bleu, tfm_error *error)
{
    tfm_trainer *t = user;
    const char *at = t->valid.bytes.data;
    const size_t n = t->valid.n;
    tfm_text *texts = tfm_alloc(&t->allocator, 3 * n, sizeof *texts);
    tfm_decoder_options options;
    tfm_decoder *decoder = NULL;
    tfm_model *model = NULL;
    tfm_status status = texts ? TFM_OK : tfm_fail(error, TFM_E_NOMEM, "validation texts: no memory");

    for (size_t i = 0; texts && i < 2 * n; at += t->valid.size[i++])
        texts[i / 2 + (i % 2) * n] = (tfm_text){at, t->valid.size[i]};
    tfm_decoder_options_init(&options, sizeof options);
    options.n_threads = t->options.n_threads;
    options.replace_invalid = t->options.replace_invalid;
    options.allocator = &t->allocator;
    if (status == TFM_OK) status = tfm_trainer_model(&model, t, error);
    if (status == TFM_OK) status = tfm_decoder_create(&decoder, model, &options, error);
    if (status == TFM_OK)
        status = translate(t, texts, texts + n, texts + 2 * n, bleu, decoder, error);
    tfm_decoder_free(decoder);
    tfm_model_free(model);
    tfm_free(&t->allocator, texts, 3 * n, sizeof *texts);
    return status;
}
