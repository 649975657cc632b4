/* CTranslate2's model.bin: the Transformers that its converters make of other systems' models. */
#include "model/foreign.h"

#include <math.h>
#include <stdio.h>

#define ONE(ours, theirs)                          \
    {                                              \
        ours, theirs, 0, 1, false, TFM_LEAF_EITHER \
    }
#define NORM(ours, theirs) ONE(ours ".weight", theirs "/gamma"), ONE(ours ".bias", theirs "/beta")
#define BOTH(ours, theirs, part, parts)                                      \
    {ours ".weight", theirs "/weight", part, parts, false, TFM_LEAF_EITHER}, \
    {                                                                        \
        ours ".bias", theirs "/bias", part, parts, false, TFM_LEAF_EITHER    \
    }

static const tfm_leaf self[] = {BOTH("query", "linear_0", 0, 3), BOTH("key", "linear_0", 1, 3),
                                BOTH("value", "linear_0", 2, 3), BOTH("output", "linear_1", 0, 1),
                                NORM("norm", "layer_norm"),      {0}};
static const tfm_leaf cross[] = {BOTH("query", "linear_0", 0, 1), BOTH("key", "linear_1", 0, 2),
                                 BOTH("value", "linear_1", 1, 2), BOTH("output", "linear_2", 0, 1),
                                 NORM("norm", "layer_norm"),      {0}};
static const tfm_leaf feedforward[] = {
    BOTH("inner", "linear_0", 0, 1), BOTH("outer", "linear_1", 0, 1), NORM("norm", "layer_norm"), {0}};
static const tfm_leaf ends[] = {ONE("embedding.weight", "embeddings/weight"),
                                ONE("embedding.weight", "embeddings_0/weight"),
                                ONE("position.weight", "position_encodings/encodings"),
                                NORM("embedding.norm", "layernorm_embedding"),
                                NORM("norm", "layer_norm"),
                                {0}};
static const tfm_leaf whole[] = {ONE("embedding.weight", "embeddings/weight"), BOTH("output", "projection", 0, 1), {0}};

static const tfm_branch branches[] = {
    {"encoder.layers.#.attention.", "encoder/layer_#/self_attention/", self},
    {"encoder.layers.#.feedforward.", "encoder/layer_#/ffn/", feedforward},
    {"encoder.", "encoder/", ends},
    {"decoder.layers.#.attention.", "decoder/layer_#/self_attention/", self},
    {"decoder.layers.#.cross.", "decoder/layer_#/attention/", cross},
    {"decoder.layers.#.feedforward.", "decoder/layer_#/ffn/", feedforward},
    {"decoder.", "decoder/", ends},
    {"", "decoder/", whole},
    {0},
};
static const tfm_naming naming = {branches, 0};

enum { TOKEN = 64, KEY = 96, MOST_LAYERS = 1000, MOST_VOCABULARY = 1 << 24 };

typedef struct reading {
    const tfm_tensor_file *file;
    tfm_ct2_header header;
    const json_t *config; /* config.json, since format 6; else NULL */
    tfm_error *error;
    tfm_status status; /* of the first failure */
} reading;

static const tfm_tensor *find(const void *file, const char *name)
{
    return tfm_tensor_file_find(file, name);
}

static void refuse(reading *r, const char *what, const char *value)
{
    if (r->status == TFM_OK)
        r->status = tfm_foreign_refuse(r->file->name, what, (tfm_text){value, strlen(value)}, r->error);
}

static void refuse_number(reading *r, const char *what, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.9g", value);
    refuse(r, what, text);
}

/* ------------------------------------------------------------------------------------------------ attributes ---- */

/* Numbers that say how the variables are used; otherwise they must be 0, because nothing here does what they ask for.
 */
static const struct {
    const char *key;
    bool any;
} attributes[] = {
    {"num_heads", true},
    {"pre_norm", true},
    {"activation", true},
    {"scale_embeddings", true},
    {"multiply_by_sqrt_depth", true},
    {"start_from_zero_embedding", true},
    {"with_source_bos", true},
    {"with_source_eos", true},
    {"with_target_bos", true},
    {"user_decoder_start_tokens", true},
    {"alignment_layer", true},
    {"alignment_heads", true},
    {"embeddings_merge", true}, /* there is one embedding only */
    {"keep_in_float32", true},
    {"alibi_use_positive_positions", true},
    {"scale_alibi", true},
    {"alibi", false},
    {"multi_query_attention", false},
    {"sliding_window", false},
    {"layer_norm_use_residual", false},
};

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

static bool is_attribute(const tfm_tensor *t)
{
    const char *key = last_part(t->name);

    return t->rank == 0 ? strcmp(key, "weight_scale") != 0 : t->rank == 1 && key == t->name && t->dtype == TFM_I8;
}

static void check_attributes(reading *r)
{
    enum { N = sizeof attributes / sizeof *attributes };

    for (size_t i = 0; i < r->file->n; i++) {
        const tfm_tensor *t = &r->file->tensors[i];
        size_t k = 0;
        if (t->rank || !is_attribute(t)) continue;
        const float value = tfm_foreign_element(t, 0);
        while (k < N && strcmp(attributes[k].key, last_part(t->name)) != 0) k++;
        if (k == N || (!attributes[k].any && value != 0.0f)) refuse_number(r, t->name, (double)value);
    }
}

static const tfm_tensor *attribute(const reading *r, const char *stack, const char *key)
{
    char name[KEY];

    snprintf(name, sizeof name, "%s/%s", stack, key);
    const tfm_tensor *t = find(r->file, name);
    if (!t) t = find(r->file, key); /* until revision 5 of both stacks */
    return t && t->rank == 0 ? t : NULL;
}

static double number(const reading *r, const char *stack, const char *key, double otherwise)
{
    const tfm_tensor *t = attribute(r, stack, key);

    return t ? (double)tfm_foreign_element(t, 0) : otherwise;
}

/* 0 to most, the same in both stacks. */
static uint32_t same(reading *r, const char *key, uint32_t otherwise, uint32_t most)
{
    const double x = number(r, "encoder", key, otherwise), y = number(r, "decoder", key, otherwise);

    if (!(x >= 0.0 && x <= most && floor(x) == x)) refuse_number(r, key, x);
    else if (x != y) refuse(r, key, "unlike in encoder and decoder");
    else return (uint32_t)x;
    return 0;
}

/* A dimension of a tensor; 0 when it is missing, which the configuration then cannot be. */
static uint32_t dimension(const reading *r, const char *name, uint32_t index)
{
    const tfm_tensor *t = find(r->file, name);

    return t && index < t->rank && t->shape[index] <= UINT32_MAX ? (uint32_t)t->shape[index] : 0;
}

static uint32_t layers(const reading *r, const char *stack)
{
    char name[KEY];
    uint32_t n = 0;

    do snprintf(name, sizeof name, "%s/layer_%u/ffn/linear_0/weight", stack, n);
    while (find(r->file, name) && n++ < MOST_LAYERS);
    return n;
}

/* Are embeddings multiplied? By a flag, or by the number itself. */
static bool scales(reading *r, const char *stack, uint32_t d_model)
{
    const tfm_tensor *t = attribute(r, stack, "scale_embeddings");
    const double root = sqrt(d_model);

    if (!t) t = attribute(r, stack, "embeddings/multiply_by_sqrt_depth");
    const double x = t ? (double)tfm_foreign_element(t, 0) : root;
    if (t && t->dtype == TFM_I8) return x != 0.0;
    if (x != 1.0 && fabs(x - root) > 1e-6 * root) refuse_number(r, "scale_embeddings", x);
    return x != 1.0;
}

static void read_form(reading *r, tfm_model_options *o)
{
    static const uint32_t activations[] = {TFM_ACTIVATION_RELU, TFM_ACTIVATION_GELU_TANH, TFM_ACTIVATION_SWISH,
                                           TFM_ACTIVATION_GELU};
    const uint32_t activation = same(r, "activation", 0, 5);

    if (activation > 3) refuse(r, "activation", activation == 4 ? "GELUSigmoid" : "Tanh");
    else o->activation = activations[activation];
    o->norm_order = same(r, "pre_norm", 1, 1) ? TFM_PRE_NORM : TFM_POST_NORM;
    o->plain_embedding = !scales(r, "encoder", o->d_model);
    if (o->plain_embedding == scales(r, "decoder", o->d_model))
        refuse(r, "scale_embeddings", "unlike in encoder and decoder");
    o->start = number(r, "decoder", "start_from_zero_embedding", 0.0) != 0.0 ? TFM_START_ZERO : TFM_START_BOS;
}

static void read_positions(reading *r, tfm_model_options *o)
{
    const uint32_t encoder = dimension(r, "encoder/position_encodings/encodings", 0),
                   decoder = dimension(r, "decoder/position_encodings/encodings", 0);

    o->positions = encoder ? TFM_POSITIONS_LEARNED : TFM_POSITIONS_HALVES;
    o->position_offset = encoder ? 0 : 1;
    if (encoder) o->max_positions = encoder;
    if (encoder != decoder) refuse(r, "position_encodings", "unlike in encoder and decoder");
}

static void read_sharing(const reading *r, tfm_model_options *o, const char *source_embedding)
{
    const tfm_tensor *source = find(r->file, source_embedding), *target = find(r->file, "decoder/embeddings/weight");

    o->sharing = target != find(r->file, "decoder/projection/weight") ? TFM_SHARE_NONE
                 : source != target                                   ? TFM_SHARE_TARGET
                                                                      : TFM_SHARE_ALL;
}

/* ----------------------------------------------------------------------------------------------- vocabulary ---- */

/* One token a line, or a list of them. */
typedef struct vocabulary {
    tfm_mapping lines;
    json_t *list;
} vocabulary;

static tfm_status open_vocabulary(vocabulary *v, const char *side, const char *path, tfm_error *error)
{
    const char *const sides[] = {side, "shared"};
    tfm_status status = TFM_OK;
    char name[64];

    *v = (vocabulary){0};
    for (size_t i = 0; i < 2 && status == TFM_OK && !v->list && !v->lines.data; i++) {
        snprintf(name, sizeof name, "%s_vocabulary.json", sides[i]);
        status = tfm_foreign_json(&v->list, path, name, MOST_VOCABULARY, error);
        snprintf(name, sizeof name, "%s_vocabulary.txt", sides[i]);
        if (status == TFM_OK && !v->list) status = tfm_foreign_beside(&v->lines, path, name, error);
    }
    return status;
}

static void close_vocabulary(vocabulary *v)
{
    tfm_file_unmap(&v->lines);
    json_decref(v->list);
}

/* UINT32_MAX: it has no such token; *size, unless NULL, receives how many it has. */
static uint32_t id_of(const vocabulary *v, const char *token, uint32_t *size)
{
    const size_t length = strlen(token);
    uint32_t found = UINT32_MAX, n = 0;

    for (; n < json_array_size(v->list); n++) {
        const char *item = json_string_value(json_array_get(v->list, n));
        if (found == UINT32_MAX && item && !strcmp(item, token)) found = n;
    }
    for (size_t at = 0; at < v->lines.size; n++) {
        const unsigned char *line = v->lines.data + at, *end = memchr(line, '\n', v->lines.size - at);
        const size_t bytes = end ? (size_t)(end - line) : v->lines.size - at;
        if (found == UINT32_MAX && bytes == length && !memcmp(line, token, length)) found = n;
        at += bytes + 1;
    }
    if (size) *size = n;
    return found;
}

/* ----------------------------------------------------------------------------------------------- reserved ids ---- */

typedef struct tokens {
    char unk[TOKEN], bos[TOKEN], eos[TOKEN], start[TOKEN]; /* start: of the decoder */
} tokens;

static void read_token(reading *r, char out[static TOKEN], const char *key, const char *otherwise)
{
    const tfm_tensor *t = find(r->file, key);
    const char *text = json_string_value(json_object_get(r->config, key));
    const size_t size = text ? strlen(text) : t ? t->bytes : strlen(otherwise);

    if (size >= TOKEN) refuse(r, key, "longer than 63 bytes");
    else snprintf(out, TOKEN, "%.*s", (int)size, text ? text : t ? (const char *)t->data : otherwise);
}

/* Since format 6 in config.json, before that among the variables. */
static bool flag(const reading *r, const char *key, const char *old, bool otherwise)
{
    const json_t *item = json_object_get(r->config, key);

    return json_is_boolean(item) ? json_is_true(item) : number(r, "", old, otherwise) != 0.0;
}

static void read_tokens(reading *r, tokens *t, tfm_model_options *o)
{
    const json_t *start = json_object_get(r->config, "decoder_start_token");

    read_token(r, t->unk, "unk_token", "<unk>");
    read_token(r, t->bos, "bos_token", "<s>");
    read_token(r, t->eos, "eos_token", "</s>");
    read_token(r, t->start, "decoder_start_token", flag(r, "", "with_target_bos", true) ? t->bos : t->eos);
    if (flag(r, "add_source_bos", "with_source_bos", false)) refuse(r, "add_source_bos", "true");
    if (flag(r, "multi_query_attention", "multi_query_attention", false)) refuse(r, "multi_query_attention", "true");
    if ((json_is_null(start) || number(r, "", "user_decoder_start_tokens", 0.0) != 0.0) && o->start == TFM_START_BOS)
        refuse(r, "decoder_start_token", "null");
    o->plain_source = !flag(r, "add_source_eos", "with_source_eos", false);
}

static void take_ids(reading *r, const tokens *t, const vocabulary *source, const vocabulary *target,
                     tfm_model_options *o)
{
    uint32_t size;
    const uint32_t unk = id_of(target, t->unk, &size), blank = id_of(target, "<blank>", NULL),
                   pad = id_of(target, "<pad>", NULL), start = id_of(target, t->start, NULL);

    o->eos_id = id_of(target, t->eos, NULL);
    o->bos_id = start < UINT32_MAX || o->start == TFM_START_BOS ? start : o->eos_id;
    if (o->bos_id == UINT32_MAX) refuse(r, "a vocabulary without decoder_start_token", t->start);
    if (o->eos_id == UINT32_MAX) refuse(r, "a vocabulary without eos_token", t->eos);
    else if (!o->plain_source && id_of(source, t->eos, NULL) != o->eos_id)
        refuse(r, "eos_token of another id in the source vocabulary", t->eos);
    if (blank < UINT32_MAX || pad < UINT32_MAX) o->pad_id = blank < pad ? blank : pad;
    else if (o->bos_id != o->eos_id) o->pad_id = o->bos_id;
    else o->pad_id = unk < UINT32_MAX ? unk : size; /* it follows the others when the file lacks it */
}

/* The vocabularies beside the model have the reserved ids; without them they are those of OpenNMT: 0, 1, 2. */
static void read_ids(reading *r, tfm_model_options *o)
{
    vocabulary source = {0}, target = {0};
    tokens t = {0};

    read_tokens(r, &t, o);
    o->own_ids = 1;
    o->eos_id = 2;
    o->bos_id = strcmp(t.start, t.eos) != 0 ? 1 : 2;
    if (r->status == TFM_OK) r->status = open_vocabulary(&target, "target", r->file->name, r->error);
    if (r->status == TFM_OK) r->status = open_vocabulary(&source, "source", r->file->name, r->error);
    if (r->status == TFM_OK && (target.list || target.lines.data)) take_ids(r, &t, &source, &target, o);
    close_vocabulary(&source);
    close_vocabulary(&target);
}

/* --------------------------------------------------------------------------------------------------- a model ---- */

static void read_epsilon(reading *r, tfm_model_options *o)
{
    const json_t *epsilon = json_object_get(r->config, "layer_norm_epsilon");

    o->layer_norm_eps = json_is_number(epsilon) ? (float)json_number_value(epsilon) : 1e-5f;
}

static void read_kind(reading *r, tfm_model_options *o)
{
    const char *spec = r->header.spec.data;
    const bool base = !strcmp(spec, "TransformerBase"), big = !strcmp(spec, "TransformerBig");

    if (!base && !big && strcmp(spec, "TransformerSpec") != 0) refuse(r, "CTranslate2's kind of model", spec);
    else if (r->header.revision < 2 || r->header.revision > 7)
        r->status = tfm_fail(r->error, TFM_E_UNSUPPORTED, "%.120s: revision %u of %s is not supported, 2 to 7 are",
                             r->file->name, r->header.revision, spec);
    o->n_heads = same(r, "num_heads", big ? 16 : 8, 1024);
}

static tfm_status read_options(reading *r, tfm_model_options *o)
{
    const bool numbered = find(r->file, "encoder/embeddings_0/weight") != NULL;
    const char *embedding = numbered ? "encoder/embeddings_0/weight" : "encoder/embeddings/weight";

    read_kind(r, o);
    check_attributes(r);
    o->n_encoder_layers = layers(r, "encoder");
    o->n_decoder_layers = layers(r, "decoder");
    o->source_vocab_size = dimension(r, embedding, 0);
    o->d_model = dimension(r, embedding, 1);
    o->d_ff = dimension(r, "encoder/layer_0/ffn/linear_0/weight", 0);
    o->vocab_size = dimension(r, "decoder/embeddings/weight", 0);
    o->embedding_norm = find(r->file, "encoder/layernorm_embedding/gamma") != NULL;
    o->attention_bias = find(r->file, "encoder/layer_0/self_attention/linear_0/bias") != NULL;
    o->ffn_bias = find(r->file, "encoder/layer_0/ffn/linear_0/bias") != NULL;
    o->softmax_bias = find(r->file, "decoder/projection/bias") != NULL;
    read_form(r, o);
    read_positions(r, o);
    read_sharing(r, o, embedding);
    read_epsilon(r, o);
    read_ids(r, o);
    return r->status;
}

tfm_status tfm_ct2_read(tfm_model_file *f, tfm_text data, const char *path, tfm_error *error)
{
    reading r = {.error = error, .status = TFM_OK};
    tfm_model_options options;
    tfm_tensor_file file;
    json_t *config = NULL;
    tfm_status status = tfm_ct2_parse(&file, &r.header, data, path, &f->allocator, error);

    if (status != TFM_OK) return status;
    if (r.header.version >= 6) status = tfm_foreign_json(&config, path, "config.json", TFM_MOST_FOREIGN_CONFIG, error);
    r.file = &file;
    r.config = config;
    tfm_config_init(&options, sizeof options);
    if (status == TFM_OK) status = read_options(&r, &options);
    if (status == TFM_OK)
        status = tfm_foreign_fill(
            f, &options, &(tfm_foreign){&naming, &file, find, tfm_tensor_file_at, file.n, path, is_attribute}, error);
    tfm_tensor_file_close(&file);
    json_decref(config);
    return status;
}
