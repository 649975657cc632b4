/* One number for the bits of all that the library computes with a model: equal numbers, equal answers. */
#ifndef ANSWERS_H
#define ANSWERS_H

#include "api_models.h"

typedef struct digest {
    uint64_t value;
    tfm_status status; /* the first that was not TFM_OK */
    tfm_error error;
} digest;

/* FNV-1a. */
static inline void digest_bytes(digest *d, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;

    for (size_t i = 0; i < size; i++) d->value = (d->value ^ b[i]) * 0x100000001B3u;
}

static inline bool digest_ok(digest *d, tfm_status status)
{
    if (d->status == TFM_OK) d->status = status;
    return d->status == TFM_OK;
}

static inline void digest_tokenizer(digest *d, const tfm_tokenizer *t)
{
    int32_t ids[64];
    char text[256];
    size_t n, size;

    for (size_t i = 0; i < 3; i++) {
        if (!digest_ok(d, tfm_tokenizer_encode(ids, 64, &n, t, lines_of_text[i], &d->error))) return;
        digest_bytes(d, ids, n * sizeof *ids);
        if (!digest_ok(d, tfm_tokenizer_decode(text, sizeof text, &size, t, (tfm_ids){ids, n}, &d->error))) return;
        digest_bytes(d, text, size);
        if (!digest_ok(d, tfm_tokenizer_segment(text, sizeof text, &size, t, lines_of_text[i], &d->error))) return;
        digest_bytes(d, text, size);
    }
}

static inline void digest_translations(digest *d, tfm_decoder *decoder)
{
    if (!digest_ok(d, tfm_decoder_translate(decoder, lines_of_text, 3, &d->error))) return;
    for (size_t i = 0; i < 3; i++) {
        const double score = tfm_decoder_score(decoder, i, 0);
        const tfm_text text = tfm_decoder_text(decoder, i, 0);
        digest_bytes(d, &score, sizeof score);
        digest_bytes(d, text.data, text.size);
    }
}

static inline void digest_scores(digest *d, tfm_decoder *decoder)
{
    static const int32_t ids[] = {5, 6, 7, TFM_EOS};
    const tfm_ids sentence = {ids, 4};
    const float *weights;
    size_t rows, cols;

    if (!digest_ok(d, tfm_decoder_logprobs(decoder, lines_of_text, lines_of_text, 3, &d->error))) return;
    for (size_t i = 0; i < 3; i++) {
        const double sum = tfm_decoder_pair_logprob(decoder, i);
        digest_bytes(d, &sum, sizeof sum);
    }
    if (digest_ok(d, tfm_decoder_attention(&weights, &rows, &cols, decoder, sentence, sentence, TFM_ATTENTION_CROSS, 0,
                                           0, &d->error)))
        digest_bytes(d, weights, rows * cols * sizeof *weights);
}

/* Translations and scores of a decoder of its own. */
static inline void digest_decoder(digest *d, const tfm_model *m, uint32_t dtype, uint32_t n_threads)
{
    tfm_decoder_options o;
    tfm_decoder *decoder;

    tfm_decoder_options_init(&o, sizeof o);
    o.dtype = dtype;
    o.n_threads = n_threads;
    o.max_extra = 4;
    if (!digest_ok(d, tfm_decoder_create(&decoder, m, &o, &d->error))) return;
    digest_translations(d, decoder);
    digest_scores(d, decoder);
    tfm_decoder_free(decoder);
}

static inline void digest_model(digest *d, const tfm_model *m)
{
    tfm_parameter p;

    for (size_t i = 0; i < tfm_model_parameter_count(m); i++)
        if (digest_ok(d, tfm_model_parameter_at(&p, m, i, &d->error)))
            digest_bytes(d, p.data, sizeof *p.data * p.shape[0] * (p.rank > 1 ? p.shape[1] : 1));
}

/* Five steps of a trainer of its own, with dropout. */
static inline void digest_training(digest *d, const tfm_model *m, uint32_t n_threads)
{
    tfm_trainer_options o;
    tfm_trainer *t;
    tfm_model *trained;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = n_threads;
    o.max_steps = 5;
    o.warmup = 3;
    if (!digest_ok(d, tfm_trainer_create(&t, m, &o, &d->error))) return;
    if (digest_ok(d, tfm_trainer_set_data(t, lines_of_text, lines_of_text, 3, NULL, 0, &d->error)) &&
        digest_ok(d, tfm_trainer_run(t, &d->error)) && digest_ok(d, tfm_trainer_model(&trained, t, &d->error))) {
        digest_model(d, trained);
        tfm_model_free(trained);
    }
    tfm_trainer_free(t);
}

static inline void digest_functions(digest *d)
{
    static const float x[] = {0.3f, -1.7f, 0.5f, 2.5f, 0.01f, 3e-20f, 1e-20f, -4.0f};
    static const float subnormal[] = {1e-39f, 2e-39f, 3e-40f, -1e-39f, 5e-39f, 1e-40f, 0.0f, 1e-45f};
    const tfm_text *const refs = lines_of_text;
    tfm_bleu_result bleu;
    float out[8];

    if (digest_ok(d, tfm_attention(out, NULL, x, x, subnormal, 4, 4, 2, 2, NULL, &d->error)))
        digest_bytes(d, out, sizeof out);
    if (digest_ok(d, tfm_bleu(&bleu, sizeof bleu, lines_of_text, 3, &refs, 1, NULL, &d->error)))
        digest_bytes(d, &bleu, sizeof bleu);
}

static inline digest answers(const tfm_model *m, uint32_t n_threads)
{
    digest d = {.value = 0xCBF29CE484222325u};

    digest_tokenizer(&d, tfm_model_tokenizer(m));
    for (uint32_t dtype = TFM_DTYPE_F32; dtype <= TFM_DTYPE_INT8; dtype++) digest_decoder(&d, m, dtype, n_threads);
    digest_training(&d, m, n_threads);
    digest_functions(&d);
    return d;
}

static inline void same_answers(digest got, digest want)
{
    ck_assert_msg(got.status == TFM_OK, "%s", got.error.message);
    ck_assert_msg(got.value == want.value, "the answers are not the same");
}

#endif
