/* A model with a tokenizer, and a trainer of it, by the public header alone. */
#ifndef API_MODELS_H
#define API_MODELS_H

#include "testing.h"

#define LINE(s)          \
    {                    \
        s, sizeof(s) - 1 \
    }

static tfm_error error;
static tfm_model *model;
static char folder[TESTING_PATH], path[TESTING_PATH];
static const tfm_text lines_of_text[] = {LINE("the cat sat"), LINE("on the mat"), LINE("the dog")};

static inline tfm_tokenizer *tokenizer_make(void)
{
    tfm_tokenizer_options o;
    tfm_tokenizer *t;

    tfm_tokenizer_options_init(&o, sizeof o);
    o.vocab_size = 266;
    ck_assert_ok(tfm_tokenizer_learn(&t, &o, lines_of_text, 3, &error), error);
    return t;
}

static inline void setup(void)
{
    tfm_tokenizer *t = tokenizer_make();
    tfm_model_options o;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 16;
    ck_assert_ok(tfm_model_create(&model, &o, t, &error), error);
    tfm_tokenizer_free(t);
    path_join(path, temp_make(folder), "file");
}

static inline void teardown(void)
{
    tfm_model_free(model);
    temp_remove(folder);
}

static inline tfm_trainer *trainer_make(void)
{
    tfm_trainer_options o;
    tfm_trainer *t;

    tfm_trainer_options_init(&o, sizeof o);
    o.n_threads = 1;
    ck_assert_ok(tfm_trainer_create(&t, model, &o, &error), error);
    return t;
}

#endif
