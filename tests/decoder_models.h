/* Small models, tokenizers and sentences that the tests of the decoder share. */
#ifndef DECODER_MODELS_H
#define DECODER_MODELS_H

#include "golden_model.h"

#define LINE(s)          \
    {                    \
        s, sizeof(s) - 1 \
    }

static tfm_error error;

static inline tfm_tokenizer *tokenizer_make(void)
{
    static const tfm_text texts[] = {
        {"the cat sat on the mat", 22}, {"the dog sat on the log", 22}, {"a cat and a dog sat", 19}};
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.vocab_size = 280;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, texts, 3, &error), error);
    return t;
}

static inline tfm_model_options small_options(void)
{
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 2;
    o.d_model = 16;
    o.d_ff = 32;
    o.n_heads = 2;
    o.vocab_size = 53;
    o.softmax_bias = 1;
    return o;
}

/* A model whose weights went through change(), if that is not NULL. */
static inline tfm_model *model_changed(const tfm_model_options *o, const tfm_tokenizer *tokenizer,
                                       void (*change)(const tfm_parameter *p, float *to))
{
    static tfm_parameter parameters[256];
    static float data[256][1 << 14];
    tfm_model *first, *model;

    ck_assert_ok(tfm_model_create(&first, o, tokenizer, &error), error);
    const size_t n = tfm_model_parameter_count(first);
    ck_assert_uint_le(n, 256);
    for (size_t i = 0; i < n; i++) {
        ck_assert_ok(tfm_model_parameter_at(&parameters[i], first, i, &error), error);
        const size_t size = (size_t)parameters[i].shape[0] * parameters[i].shape[1];
        ck_assert_uint_le(size, 1 << 14);
        memcpy(data[i], parameters[i].data, size * sizeof(float));
        if (change) change(&parameters[i], data[i]);
        parameters[i].data = data[i];
    }
    ck_assert_ok(tfm_model_create_from(&model, o, tokenizer, parameters, n, &error), error);
    tfm_model_free(first);
    return model;
}

/* Random weights give flat distributions; these do not, and EOS comes now and then. */
static inline void sharpen(const tfm_parameter *p, float *to)
{
    for (size_t i = 0; i < (size_t)p->shape[0] * p->shape[1]; i++)
        if (p->rank == 2) to[i] *= 2.0f;
    if (!strcmp(p->name, "output.bias")) to[TFM_EOS] = 2.5f;
}

static inline tfm_model *model_make(void)
{
    const tfm_model_options o = small_options();

    return model_changed(&o, NULL, sharpen);
}

static inline tfm_model *text_model_make(void)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options o = small_options();

    o.vocab_size = tfm_tokenizer_vocab_size(t) + 3; /* ids that have no text */
    tfm_model *model = model_changed(&o, t, sharpen);
    tfm_tokenizer_free(t);
    return model;
}

static inline tfm_decoder_options decoder_options(uint32_t beam)
{
    tfm_decoder_options o;

    tfm_decoder_options_init(&o, sizeof o);
    o.beam = beam;
    return o;
}

static inline tfm_decoder *decoder_of(const tfm_model *model, const tfm_decoder_options *o)
{
    tfm_decoder *d;

    ck_assert_ok(tfm_decoder_create(&d, model, o, &error), error);
    return d;
}

enum { SENTENCES = 201, LONG = 200 };

static int32_t words[SENTENCES * 64 + LONG];

/* Sentences of 1 to 40 tokens, some empty, one of LONG. */
static inline void sentences_make(tfm_ids sentences[SENTENCES])
{
    uint64_t h = 1;
    size_t used = 0;

    for (size_t i = 0; i < SENTENCES; i++) {
        h = h * 6364136223846793005u + 1442695040888963407u;
        const size_t n = i == 77 ? LONG : i % 50 == 13 ? 0 : 1 + (h >> 33) % 40;
        sentences[i] = (tfm_ids){words + used, n};
        for (size_t j = 0; j < n; j++) {
            h = h * 6364136223846793005u + 1442695040888963407u;
            words[used++] = j + 1 == n ? TFM_EOS : 3 + (int32_t)((h >> 33) % 50);
        }
    }
}

static inline void same_results(const tfm_decoder *a, size_t i, const tfm_decoder *b, size_t j)
{
    ck_assert_uint_ge(tfm_decoder_count(a, i), 1);
    ck_assert_uint_eq(tfm_decoder_count(a, i), tfm_decoder_count(b, j));
    ck_assert_uint_eq(tfm_decoder_steps(a, i), tfm_decoder_steps(b, j));
    for (size_t rank = 0; rank < tfm_decoder_count(a, i); rank++) {
        const tfm_ids x = tfm_decoder_ids(a, i, rank), y = tfm_decoder_ids(b, j, rank);
        const double scores[] = {tfm_decoder_score(a, i, rank), tfm_decoder_score(b, j, rank)};
        ck_assert_uint_eq(x.size, y.size);
        if (x.size) ck_assert_mem_eq(x.data, y.data, x.size * sizeof *x.data);
        ck_assert_mem_eq(&scores[0], &scores[1], sizeof *scores); /* bits */
    }
}

static inline tfm_model *golden_make(void)
{
    const tfm_model_options o = golden_options();
    static tfm_parameter parameters[64];
    static golden g;
    tfm_model *model;

    golden_begin(&g);
    for (size_t i = 0; i < g.weights.n_parameters; i++) {
        const tfm_parameter_plan *p = &g.weights.parameters[i];
        parameters[i] = (tfm_parameter){p->name, g.data + p->offset, p->rank, {p->shape[0], p->shape[1], 1}};
    }
    ck_assert_ok(tfm_model_create_from(&model, &o, NULL, parameters, g.weights.n_parameters, &error), error);
    golden_end(&g);
    return model;
}

static const tfm_ids golden_sources[] = {{golden_source, 5}, {golden_source + 5, 3}};

#endif
