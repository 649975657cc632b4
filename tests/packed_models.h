/* Models of both forms, and the comparison of two decoders in all that they do. */
#ifndef PACKED_MODELS_H
#define PACKED_MODELS_H

#include "api/decoder_handle.h"
#include "decoder_models.h"

enum { PAIRS = 40 };

static inline tfm_model_options odd_options(void)
{
    tfm_model_options o = small_options();

    o.d_model = 36;
    o.d_ff = 70;
    o.sharing = TFM_SHARE_NONE;
    o.attention_bias = 1;
    o.source_vocab_size = 57;
    o.norm_order = TFM_PRE_NORM;
    o.positions = TFM_POSITIONS_LEARNED;
    return o;
}

/* Two forms: post-norm with one matrix for all embeddings, pre-norm with three and learned positions. */
static inline tfm_model *form_make(int form)
{
    const tfm_model_options o = form ? odd_options() : small_options();

    return model_changed(&o, NULL, sharpen);
}

static inline void same_scoring(tfm_decoder *a, tfm_decoder *b, const tfm_ids *sources, const tfm_ids *targets)
{
    ck_assert_ok(tfm_decoder_logprobs_ids(a, sources, targets, PAIRS, &error), error);
    ck_assert_ok(tfm_decoder_logprobs_ids(b, sources, targets, PAIRS, &error), error);
    for (size_t i = 0; i < PAIRS; i++) {
        size_t n, n_b;
        const float *x = tfm_decoder_token_logprobs(a, i, &n), *y = tfm_decoder_token_logprobs(b, i, &n_b);
        ck_assert_uint_eq(n, n_b);
        if (n) ck_assert_mem_eq(x, y, n * sizeof *x);
    }
}

static inline void same_attention(tfm_decoder *a, tfm_decoder *b, tfm_ids source, tfm_ids target)
{
    const float *x, *y;
    size_t rows, cols;

    for (uint32_t kind = 0; kind <= TFM_ATTENTION_CROSS; kind++) {
        ck_assert_ok(tfm_decoder_attention(&x, &rows, &cols, a, source, target, kind, 1, 1, &error), error);
        ck_assert_ok(tfm_decoder_attention(&y, &rows, &cols, b, source, target, kind, 1, 1, &error), error);
        ck_assert_mem_eq(x, y, rows * cols * sizeof *x);
    }
}

/* Results of a and b on the same work, to the bit. */
static inline void same_work(tfm_decoder *a, tfm_decoder *b)
{
    tfm_ids sentences[SENTENCES];

    sentences_make(sentences);
    ck_assert_ok(tfm_decoder_translate_ids(a, sentences, PAIRS, &error), error);
    ck_assert_ok(tfm_decoder_translate_ids(b, sentences, PAIRS, &error), error);
    for (size_t i = 0; i < PAIRS; i++) same_results(a, i, b, i);
    same_scoring(a, b, sentences, sentences + PAIRS);
    same_attention(a, b, sentences[0], sentences[1]);
}

#endif
