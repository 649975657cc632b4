/* CTranslate2's model.bin: pre-norm Transformers of OpenNMT, as its converters of version 2 write them. */
#include "model/foreign.h"

#include <stdio.h>

#define NORM                                          \
    {"norm.weight", "layer_norm/gamma", 0, 1, false}, \
    {                                                 \
        "norm.bias", "layer_norm/beta", 0, 1, false   \
    }
#define BOTH(ours, theirs, part, parts)                     \
    {ours ".weight", theirs "/weight", part, parts, false}, \
    {                                                       \
        ours ".bias", theirs "/bias", part, parts, false    \
    }

static const tfm_leaf self[] = {BOTH("query", "linear_0", 0, 3),
                                BOTH("key", "linear_0", 1, 3),
                                BOTH("value", "linear_0", 2, 3),
                                BOTH("output", "linear_1", 0, 1),
                                NORM,
                                {0}};
static const tfm_leaf cross[] = {BOTH("query", "linear_0", 0, 1),
                                 BOTH("key", "linear_1", 0, 2),
                                 BOTH("value", "linear_1", 1, 2),
                                 BOTH("output", "linear_2", 0, 1),
                                 NORM,
                                 {0}};
static const tfm_leaf feedforward[] = {BOTH("inner", "linear_0", 0, 1), BOTH("outer", "linear_1", 0, 1), NORM, {0}};
static const tfm_leaf ends[] = {{"embedding.weight", "embeddings/weight", 0, 1, false}, NORM, {0}};
static const tfm_leaf output[] = {BOTH("output", "projection", 0, 1), {0}};

static const tfm_branch branches[] = {
    {"encoder.layers.#.attention.", "encoder/layer_#/self_attention/", self},
    {"encoder.layers.#.feedforward.", "encoder/layer_#/ffn/", feedforward},
    {"encoder.", "encoder/", ends},
    {"decoder.layers.#.attention.", "decoder/layer_#/self_attention/", self},
    {"decoder.layers.#.cross.", "decoder/layer_#/attention/", cross},
    {"decoder.layers.#.feedforward.", "decoder/layer_#/ffn/", feedforward},
    {"decoder.", "decoder/", ends},
    {"", "decoder/", output},
    {0},
};
static const tfm_naming naming = {branches, 0};

static const tfm_tensor *find(const void *file, const char *name)
{
    return tfm_tensor_file_find(file, name);
}

/* A dimension of a tensor; 0 when it is missing, which the configuration then cannot be. */
static uint32_t dimension(const tfm_tensor_file *file, const char *name, uint32_t index)
{
    const tfm_tensor *t = find(file, name);

    return t && index < t->rank && t->shape[index] <= UINT32_MAX ? (uint32_t)t->shape[index] : 0;
}

static uint32_t layers(const tfm_tensor_file *file, const char *stack)
{
    char name[64];
    uint32_t n = 0;

    do snprintf(name, sizeof name, "%s/layer_%u/ffn/layer_norm/gamma", stack, n);
    while (find(file, name) && n++ < 1000);
    return n;
}

/* The line, from 0, that is the token; UINT32_MAX: none is. */
static uint32_t line_of(tfm_mapping text, const char *token)
{
    const size_t size = strlen(token);
    uint32_t line = 0;

    for (size_t at = 0; at < text.size; line++) {
        const unsigned char *end = memchr(text.data + at, '\n', text.size - at);
        const size_t length = end ? (size_t)(end - text.data) - at : text.size - at;
        if (length == size && !memcmp(text.data + at, token, size)) return line;
        at += length + 1;
    }
    return UINT32_MAX;
}

/* The vocabulary beside the model has the reserved ids; without it they are those of OpenNMT: 0, 1, 2. */
static tfm_status read_ids(tfm_model_options *o, const char *path, tfm_error *error)
{
    tfm_mapping text;

    o->own_ids = o->bos_id = 1;
    o->eos_id = 2;
    tfm_foreign_beside(&text, path, "target_vocabulary.txt");
    if (!text.data) tfm_foreign_beside(&text, path, "shared_vocabulary.txt");
    if (!text.data) return TFM_OK;
    o->bos_id = line_of(text, "<s>");
    o->eos_id = line_of(text, "</s>");
    const uint32_t blank = line_of(text, "<blank>"), pad = line_of(text, "<pad>");
    o->pad_id = blank < pad ? blank : pad < UINT32_MAX ? pad : o->bos_id;
    tfm_file_unmap(&text);
    if (o->bos_id < UINT32_MAX && o->eos_id < UINT32_MAX) return TFM_OK;
    return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: a vocabulary without <s> and </s> is not supported", path);
}

static tfm_status read_options(tfm_model_options *o, const tfm_tensor_file *file, tfm_text spec, uint32_t revision,
                               tfm_error *error)
{
    const bool base = spec.size == 15 && !memcmp(spec.data, "TransformerBase", 15);
    const bool big = spec.size == 14 && !memcmp(spec.data, "TransformerBig", 14);

    if (!base && !big) return tfm_foreign_refuse(file->name, "CTranslate2's kind of model", spec, error);
    if (revision > 2)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: revision %u of %s is not supported, up to 2 is", file->name,
                        revision, spec.data);
    o->n_encoder_layers = layers(file, "encoder");
    o->n_decoder_layers = layers(file, "decoder");
    o->d_model = dimension(file, "encoder/embeddings/weight", 1);
    o->d_ff = dimension(file, "encoder/layer_0/ffn/linear_0/weight", 0);
    o->n_heads = base ? 8 : 16;
    o->source_vocab_size = dimension(file, "encoder/embeddings/weight", 0);
    o->vocab_size = dimension(file, "decoder/embeddings/weight", 0);
    o->norm_order = TFM_PRE_NORM;
    o->positions = TFM_POSITIONS_HALVES;
    o->position_offset = 1;
    o->sharing = TFM_SHARE_NONE;
    o->attention_bias = o->softmax_bias = o->plain_source = 1;
    o->layer_norm_eps = 1e-5f;
    return read_ids(o, file->name, error);
}

tfm_status tfm_ct2_read(tfm_model_file *f, tfm_text data, const char *path, tfm_error *error)
{
    tfm_model_options options;
    tfm_tensor_file file;
    tfm_text spec;
    uint32_t revision;
    tfm_status status = tfm_ct2_parse(&file, &spec, &revision, data, path, &f->allocator, error);

    if (status != TFM_OK) return status;
    tfm_config_init(&options, sizeof options);
    status = read_options(&options, &file, spec, revision, error);
    if (status == TFM_OK)
        status = tfm_foreign_fill(f, &options, &(tfm_foreign){&naming, &file, find, file.n, path, NULL}, error);
    tfm_tensor_file_close(&file);
    return status;
}
