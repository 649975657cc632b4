/* Marian's .npz: the Transformers that it trains, and OPUS-MT is made of. */
#include "model/foreign.h"

#include "base/utf8.h"
#include "format/yaml.h"

#include <stdio.h>

#define CONFIG "special:model.yml"
#define VECTOR(ours, theirs)                       \
    {                                              \
        ours, theirs, 0, 1, false, TFM_LEAF_EITHER \
    }
#define MATRIX(ours, theirs)                      \
    {                                             \
        ours, theirs, 0, 1, true, TFM_LEAF_EITHER \
    }
/* A norm before its sub-layer has another name than one after it. */
#define NORM(ours, theirs)                             \
    {ours, theirs, 0, 1, false, TFM_LEAF_POST},        \
    {                                                  \
        ours, theirs "_pre", 0, 1, false, TFM_LEAF_PRE \
    }

static const tfm_leaf attention[] = {
    MATRIX("query.weight", "Wq"),
    MATRIX("key.weight", "Wk"),
    MATRIX("value.weight", "Wv"),
    MATRIX("output.weight", "Wo"),
    VECTOR("query.bias", "bq"),
    VECTOR("key.bias", "bk"),
    VECTOR("value.bias", "bv"),
    VECTOR("output.bias", "bo"),
    NORM("norm.weight", "Wo_ln_scale"),
    NORM("norm.bias", "Wo_ln_bias"),
    {0},
};
static const tfm_leaf feedforward[] = {
    MATRIX("inner.weight", "W1"),
    VECTOR("inner.bias", "b1"),
    MATRIX("outer.weight", "W2"),
    VECTOR("outer.bias", "b2"),
    NORM("norm.weight", "ffn_ln_scale"),
    NORM("norm.bias", "ffn_ln_bias"),
    {0},
};
static const tfm_leaf stack[] = {
    VECTOR("embedding.weight", "Wemb"),
    VECTOR("norm.weight", "top_ln_scale"),
    VECTOR("norm.bias", "top_ln_bias"),
    VECTOR("embedding.norm.weight", "emb_ln_scale_pre"),
    VECTOR("embedding.norm.bias", "emb_ln_bias_pre"),
    {0},
};
static const tfm_leaf whole[] = {
    VECTOR("embedding.weight", "Wemb"),
    VECTOR("encoder.embedding.weight", "Wemb"),
    VECTOR("decoder.embedding.weight", "Wemb"),
    MATRIX("output.weight", "decoder_ff_logit_out_W"), /* of older versions */
    VECTOR("output.weight", "decoder_ff_logit_out_Wt"),
    VECTOR("output.bias", "decoder_ff_logit_out_b"),
    {0},
};

static const tfm_branch branches[] = {
    {"encoder.layers.#.attention.", "encoder_l#_self_", attention},
    {"encoder.layers.#.feedforward.", "encoder_l#_ffn_", feedforward},
    {"encoder.", "encoder_", stack},
    {"decoder.layers.#.attention.", "decoder_l#_self_", attention},
    {"decoder.layers.#.cross.", "decoder_l#_context_", attention},
    {"decoder.layers.#.feedforward.", "decoder_l#_ffn_", feedforward},
    {"decoder.", "decoder_", stack},
    {"", "", whole},
    {0},
};
const tfm_naming tfm_marian_naming = {branches, 1};

static const tfm_tensor *find(const void *file, const char *name)
{
    return tfm_tensor_file_find(file, name);
}

static bool is_configuration(const tfm_tensor *tensor)
{
    return !strcmp(tensor->name, CONFIG);
}

static bool text_is(tfm_text text, const char *wanted)
{
    return tfm_text_equal(text, (tfm_text){wanted, strlen(wanted)});
}

/* What must be as it is here; a key that an older Marian does not write has its first value. */
static const struct {
    const char *key, *values[3];
} fixed[] = {
    {"type", {"transformer"}},
    {"transformer-decoder-autoreg", {"self-attention"}},
    {"transformer-attention-mask", {"default"}},
    {"transformer-ffn-depth", {"2"}},
    {"transformer-decoder-ffn-depth", {"0", "2"}},
    {"transformer-decoder-dim-ffn", {"0"}},
    {"transformer-postprocess-emb", {"d", "", "nd"}},
    {"transformer-train-position-embeddings", {"false"}},
    {"transformer-disable-position-embeddings", {"false"}},
    {"transformer-no-projection", {"false"}},
    {"transformer-no-bias", {"false"}},
    {"transformer-no-affine", {"false"}},
    {"transformer-rnn-projection", {"false"}},
    {"transformer-pool", {"false"}},
    {"transformer-tied-layers", {"", "[]"}},
    {"lemma-dim-emb", {"0"}},
    {"factors-dim-emb", {"0"}},
    {"ulr", {"false"}},
    {"right-left", {"false"}},
};

static tfm_status check_fixed(tfm_text yml, const char *path, tfm_error *error)
{
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const tfm_text value = tfm_yaml_value(yml, fixed[i].key);
        bool good = !value.data;
        for (size_t j = 0; j < 3 && fixed[i].values[j]; j++) good |= text_is(value, fixed[i].values[j]);
        const tfm_text item = tfm_yaml_item(yml, fixed[i].key, 0); /* of a list where an empty value is meant */
        if (!good || item.size) return tfm_foreign_refuse(path, fixed[i].key, item.size ? item : value, error);
    }
    return TFM_OK;
}

static tfm_status read_number(uint32_t *out, tfm_text yml, const char *key, const char *path, tfm_error *error)
{
    const tfm_text value = tfm_yaml_value(yml, key);

    *out = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || i > 8) return tfm_foreign_refuse(path, key, value, error);
        *out = 10 * *out + (uint32_t)(value.data[i] - '0');
    }
    return TFM_OK;
}

static tfm_status read_activation(tfm_model_options *o, tfm_text yml, const char *path, tfm_error *error)
{
    const tfm_text name = tfm_yaml_value(yml, "transformer-ffn-activation");

    if (text_is(name, "swish")) o->activation = TFM_ACTIVATION_SWISH;
    else if (!text_is(name, "relu"))
        return tfm_foreign_refuse(path, "activation", name, error); /* its GELU is x s(1.702 x) */
    return TFM_OK;
}

/* Post-norm: "", "dan", "". Pre-norm: "n", "da", "n". */
static tfm_status read_norms(tfm_model_options *o, tfm_text yml, const char *path, tfm_error *error)
{
    const tfm_text before = tfm_yaml_value(yml, "transformer-preprocess"),
                   after = tfm_yaml_value(yml, "transformer-postprocess");
    const tfm_text top = tfm_yaml_value(yml, "transformer-postprocess-top");

    o->embedding_norm = text_is(tfm_yaml_value(yml, "transformer-postprocess-emb"), "nd");
    o->norm_order = text_is(before, "n") ? TFM_PRE_NORM : TFM_POST_NORM;
    if (o->norm_order == TFM_POST_NORM && before.size)
        return tfm_foreign_refuse(path, "transformer-preprocess", before, error);
    if (!text_is(after, o->norm_order == TFM_PRE_NORM ? "da" : "dan"))
        return tfm_foreign_refuse(path, "transformer-postprocess", after, error);
    if (o->norm_order == TFM_PRE_NORM ? text_is(top, "n") : !top.size) return TFM_OK;
    return tfm_foreign_refuse(path, "transformer-postprocess-top", top, error);
}

static uint32_t rows_of(const tfm_tensor_file *file, const char *name)
{
    const tfm_tensor *t = find(file, name);

    return t && t->rank == 2 && t->shape[0] <= UINT32_MAX ? (uint32_t)t->shape[0] : 0;
}

static void read_vocabularies(tfm_model_options *o, const tfm_tensor_file *file)
{
    o->vocab_size = o->source_vocab_size = rows_of(file, "Wemb");
    o->softmax_bias = find(file, "decoder_ff_logit_out_b") != NULL;
    o->own_ids = o->pad_id = o->bos_id = 1; /* </s> is 0, and <unk>, 1, is never produced */
    const bool tied = !find(file, "decoder_ff_logit_out_W") && !find(file, "decoder_ff_logit_out_Wt");
    o->sharing = !tied ? TFM_SHARE_NONE : o->vocab_size ? TFM_SHARE_ALL : TFM_SHARE_TARGET;
    if (o->vocab_size) return;
    o->vocab_size = rows_of(file, "decoder_Wemb");
    o->source_vocab_size = rows_of(file, "encoder_Wemb");
}

/* Of factors, which the matrices then have a row for each of, there are not as many as words. */
static tfm_status check_sizes(const tfm_model_options *o, tfm_text yml, const char *path, tfm_error *error)
{
    const uint32_t rows[] = {o->source_vocab_size, o->vocab_size};
    char wanted[16];

    for (size_t i = 0; i < 2; i++) {
        const tfm_text said = tfm_yaml_item(yml, "dim-vocabs", i);
        snprintf(wanted, sizeof wanted, "%u", rows[i]);
        if (said.size && !text_is(said, "0") && !text_is(said, wanted))
            return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: dim-vocabs says %.*s for the %s, whose embedding has %u "
                            "rows: vocabularies of factors are not supported", path,
                            (int)(said.size < 20 ? said.size : 20), said.data, i ? "target" : "source", rows[i]);
    }
    return TFM_OK;
}

static tfm_status read_options(tfm_model_options *o, const tfm_tensor_file *file, tfm_text yml, tfm_error *error)
{
    const struct {
        const char *key;
        uint32_t *to;
    } numbers[] = {{"enc-depth", &o->n_encoder_layers},
                   {"dec-depth", &o->n_decoder_layers},
                   {"dim-emb", &o->d_model},
                   {"transformer-dim-ffn", &o->d_ff},
                   {"transformer-heads", &o->n_heads}};
    tfm_status status = check_fixed(yml, file->name, error);

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == TFM_OK; i++)
        status = read_number(numbers[i].to, yml, numbers[i].key, file->name, error);
    if (status == TFM_OK) status = read_activation(o, yml, file->name, error);
    if (status == TFM_OK) status = read_norms(o, yml, file->name, error);
    o->positions = TFM_POSITIONS_HALVES;
    o->start = TFM_START_ZERO;
    o->attention_bias = 1;
    o->layer_norm_eps = 1e-6f;
    read_vocabularies(o, file);
    return status == TFM_OK ? check_sizes(o, yml, file->name, error) : status;
}

tfm_status tfm_marian_read(tfm_model_file *f, tfm_text data, const char *path, bool verify, tfm_error *error)
{
    tfm_model_options options;
    tfm_tensor_file file;
    tfm_status status = tfm_npz_parse(&file, data, path, verify, &f->allocator, error);

    if (status != TFM_OK) return status;
    const tfm_tensor *yml = find(&file, CONFIG);
    tfm_config_init(&options, sizeof options);
    if (!yml) status = tfm_fail(error, TFM_E_FORMAT, "%.120s: an .npz without " CONFIG " is no model of Marian", path);
    else status = read_options(&options, &file, (tfm_text){yml->data, yml->bytes}, error);
    if (status == TFM_OK)
        status = tfm_foreign_fill(
            f, &options,
            &(tfm_foreign){&tfm_marian_naming, &file, find, tfm_tensor_file_at, file.n, path, is_configuration}, error);
    if (status == TFM_OK) status = tfm_marian_vocabularies(f, path, (tfm_text){yml->data, yml->bytes}, error);
    tfm_tensor_file_close(&file);
    return status;
}
