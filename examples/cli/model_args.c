/* Options that are the same for every command that makes a configuration or reads models. */
#include "model_args.h"
#include "console.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_one(tfm_model_options *o, const char *pair)
{
    char key[64];
    tfm_error error;
    const size_t length = strcspn(pair, "=");
    if (!pair[length] || length >= sizeof key) return console_usage("--set %s: KEY=VALUE is needed", pair);
    memcpy(key, pair, length);
    key[length] = 0;
    if (tfm_model_options_set(o, key, pair + length + 1, &error))
        return console_usage("--set %s: %s", pair, error.message);
    return EXIT_SUCCESS;
}

int model_options_set(tfm_model_options *o, const char *preset, const string_list *sets)
{
    tfm_error error;
    if (preset && tfm_model_options_preset(o, preset, &error))
        return console_usage("--preset %s: %s", preset, error.message);
    for (size_t i = 0; i < sets->size; i++) {
        const int code = set_one(o, sets->items[i]);
        if (code) return code;
    }
    return EXIT_SUCCESS;
}

const char *model_options_describe(const tfm_model_options *o, char out[160])
{
    const uint32_t heads = o->n_heads ? o->n_heads : 1;
    snprintf(out, 160, "%u+%u layers, width %u, feed-forward %u, %u head%s of %u", o->n_encoder_layers,
             o->n_decoder_layers, o->d_model, o->d_ff, heads, heads == 1 ? "" : "s",
             o->d_k ? o->d_k : o->d_model / heads);
    return out;
}

tfm_status model_load(tfm_model **out, const char *path, uint32_t skip_checksum, tfm_error *error)
{
    tfm_load_options o;
    tfm_load_options_init(&o, sizeof o);
    o.skip_checksum = skip_checksum;
    return tfm_model_load(out, path, &o, error);
}

/* Numbers of at least 0 between commas, one for each model. */
static int read_weights(ensemble *e, const ensemble_args *args)
{
    const char *at = args->weights;
    memory_grow(&e->weights, &e->weight_capacity, args->paths.size, sizeof *e->weights);
    for (size_t i = 0; i < args->paths.size; i++) {
        char *end;
        const double weight = strtod(at, &end);
        if (end == at || !(weight >= 0 && weight <= FLT_MAX) || (weight > 0 && (float)weight == 0) ||
            *end != (i + 1 < args->paths.size ? ',' : '\0'))
            return console_usage(
                "--weights is '%s', not %zu numbers of at least 0 between commas, one for each --model", args->weights,
                args->paths.size);
        e->weights[i] = (float)weight;
        at = end + 1;
    }
    return EXIT_SUCCESS;
}

int ensemble_load(ensemble *e, const ensemble_args *args)
{
    tfm_error error;
    const int code = args->weights ? read_weights(e, args) : EXIT_SUCCESS;
    if (code) return code;
    memory_grow(&e->models, &e->capacity, args->paths.size, sizeof *e->models);
    for (; e->n < args->paths.size; e->n++)
        if (model_load(&e->models[e->n], args->paths.items[e->n], args->skip_checksum, &error))
            return console_fail("%s", error.message);
    if (!tfm_model_tokenizer(e->models[0]))
        return console_fail("%s has no tokenizer, so it cannot read text", args->paths.items[0]);
    return EXIT_SUCCESS;
}

tfm_status ensemble_decoder(tfm_decoder **out, const ensemble *e, const tfm_decoder_options *options, tfm_error *error)
{
    return tfm_decoder_create_ensemble(out, (const tfm_model *const *)e->models, e->weights, e->n, options, error);
}

void ensemble_free(ensemble *e)
{
    while (e->n > 0) tfm_model_free(e->models[--e->n]);
    free(e->models);
    free(e->weights);
}

uint32_t tokenizer_kind(uint32_t choice)
{
    static const uint32_t kinds[] = {TFM_TOKENIZER_BPE, TFM_TOKENIZER_SUBWORD_NMT, TFM_TOKENIZER_WORDPIECE};

    return kinds[choice];
}

const char *tokenizer_kind_name(const tfm_tokenizer *tokenizer)
{
    static const char *const names[] = {
        [TFM_TOKENIZER_BPE] = "bpe",
        [TFM_TOKENIZER_SUBWORD_NMT] = "subword-nmt",
        [TFM_TOKENIZER_SENTENCEPIECE] = "sentencepiece",
        [TFM_TOKENIZER_WORDPIECE] = "wordpiece",
        [TFM_TOKENIZER_BERT] = "bert",
    };

    return names[tfm_tokenizer_kind(tokenizer)];
}
