/*
 * A program of another time than the library: check_clients.sh compiles it with headers whose structs have fewer or
 * more fields. It translates two sentences, trains two steps, and prints what it got. LATER sets a field that the
 * library does not know.
 */
#include <transformer.h>

#include <stdio.h>
#include <string.h>

static tfm_error error;

static int failed(tfm_status status)
{
    if (status == TFM_OK) return 0;
    printf("%s: %s\n", tfm_status_name(status), error.message);
    return 1;
}

static tfm_model *make_model(void)
{
    tfm_model_options o;
    tfm_model *model = NULL;

    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 16;
    o.n_heads = 2;
    o.vocab_size = 20;
#ifdef LATER
    o.later = LATER;
#endif
    failed(tfm_model_create(&model, &o, NULL, &error));
    return model;
}

static int translate(const tfm_model *model, const tfm_ids sources[2])
{
    tfm_decoder_options o;
    tfm_decoder *decoder;
    int code = 1;

    tfm_decoder_options_init(&o, sizeof o);
    o.max_length = 6;
#ifdef LATER
    o.later = LATER;
#endif
    if (failed(tfm_decoder_create(&decoder, model, &o, &error))) return 1;
    if (!failed(tfm_decoder_translate_ids(decoder, sources, 2, &error))) {
        printf("scores %.9g %.9g\n", tfm_decoder_score(decoder, 0, 0), tfm_decoder_score(decoder, 1, 0));
        code = 0;
    }
    tfm_decoder_free(decoder);
    return code;
}

static int train(const tfm_model *model, const tfm_ids pairs[2])
{
    struct {
        tfm_progress told;
        unsigned char after[64]; /* must stay as it is */
    } p;
    tfm_trainer_options o;
    tfm_trainer *trainer;
    int code;

    memset(&p, 0xAA, sizeof p);
    tfm_trainer_options_init(&o, sizeof o);
#ifdef LATER
    o.later = LATER;
#endif
    if (failed(tfm_trainer_create(&trainer, model, &o, &error))) return 1;
    code = failed(tfm_trainer_set_data_ids(trainer, pairs, pairs, 2, NULL, 0, &error)) ||
           failed(tfm_trainer_step(trainer, &p.told, sizeof p.told, &error));
    if (!code) printf("step %d, loss %.9g\n", (int)p.told.step, p.told.loss);
#ifdef LATER
    if (p.told.later) printf("a result that the library does not know is %d\n", (int)p.told.later);
#endif
    for (size_t i = 0; i < sizeof p.after; i++)
        if (p.after[i] != 0xAA) printf("byte %zu after the result was written\n", i);
    tfm_trainer_free(trainer);
    return code;
}

int main(void)
{
    const int32_t a[] = {4, 5, 6, TFM_EOS}, b[] = {7, 8, TFM_EOS};
    const tfm_ids pairs[] = {{a, 4}, {b, 3}};
    tfm_model *model = make_model();
    const int code = !model || translate(model, pairs) || train(model, pairs);

    tfm_model_free(model);
    return code;
}
