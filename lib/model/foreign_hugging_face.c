/* Hugging Face's directories, config.json beside model.safetensors: Marian, M2M100, BART and MBart. */
#include "model/foreign.h"

#include "base/json.h"

#include <limits.h>
#include <stdio.h>

enum { MOST_CONFIG = 1 << 16 };

#define BOTH(ours, theirs)                           \
    {ours ".weight", theirs ".weight", 0, 1, false}, \
    {                                                \
        ours ".bias", theirs ".bias", 0, 1, false    \
    }
#define ONE(ours, theirs)         \
    {                             \
        ours, theirs, 0, 1, false \
    }
#define HEADS(name)                                                                            \
    BOTH("query", name ".q_proj"), BOTH("key", name ".k_proj"), BOTH("value", name ".v_proj"), \
        BOTH("output", name ".out_proj")

static const tfm_leaf self[] = {HEADS("self_attn"), BOTH("norm", "self_attn_layer_norm"), {0}};
static const tfm_leaf cross[] = {HEADS("encoder_attn"), BOTH("norm", "encoder_attn_layer_norm"), {0}};
static const tfm_leaf feedforward[] = {
    BOTH("inner", "fc1"), BOTH("outer", "fc2"), BOTH("norm", "final_layer_norm"), {0}};
static const tfm_leaf stack[] = {ONE("embedding.weight", "embed_tokens.weight"),
                                 ONE("position.weight", "embed_positions.weight"),
                                 BOTH("embedding.norm", "layernorm_embedding"),
                                 BOTH("norm", "layer_norm"),
                                 {0}};
/* Shared matrices stand in a file under one or several of their names. */
static const tfm_leaf whole[] = {
    ONE("embedding.weight", "model.shared.weight"),
    ONE("embedding.weight", "model.encoder.embed_tokens.weight"),
    ONE("embedding.weight", "model.decoder.embed_tokens.weight"),
    ONE("embedding.weight", "lm_head.weight"),
    ONE("output.weight", "lm_head.weight"),
    ONE("output.bias", "final_logits_bias"),
    {0},
};
static const char *const aliases[] = {"model.shared.weight",
                                      "model.encoder.embed_tokens.weight",
                                      "model.decoder.embed_tokens.weight",
                                      "lm_head.weight",
                                      "model.encoder.embed_positions.weight",
                                      "model.decoder.embed_positions.weight",
                                      NULL};

static const tfm_branch branches[] = {
    {"encoder.layers.#.attention.", "model.encoder.layers.#.", self},
    {"encoder.layers.#.feedforward.", "model.encoder.layers.#.", feedforward},
    {"encoder.", "model.encoder.", stack},
    {"decoder.layers.#.attention.", "model.decoder.layers.#.", self},
    {"decoder.layers.#.cross.", "model.decoder.layers.#.", cross},
    {"decoder.layers.#.feedforward.", "model.decoder.layers.#.", feedforward},
    {"decoder.", "model.decoder.", stack},
    {"", "", whole},
    {0},
};
const tfm_naming tfm_hugging_face_naming = {branches, 0};

static const tfm_tensor *find(const void *file, const char *name)
{
    return tfm_safetensors_find(file, name);
}

/* --------------------------------------------------------------------------------------------- configuration ---- */

typedef struct reading {
    const json_t *config;
    const char *path;
    tfm_error *error;
    tfm_status status; /* of the first failure */
} reading;

static void refuse(reading *r, const char *key, const char *value)
{
    if (r->status == TFM_OK) r->status = tfm_foreign_refuse(r->path, key, (tfm_text){value, strlen(value)}, r->error);
}

/* A number of 0 to 2^32 - 1; otherwise where the key is missing or null. */
static uint32_t number(reading *r, const char *key, int64_t otherwise)
{
    const json_t *item = json_object_get(r->config, key);
    const json_int_t x = !item || json_is_null(item) ? otherwise
                         : json_is_integer(item)     ? json_integer_value(item)
                                                     : -1;

    if (x >= 0 && x <= UINT32_MAX) return (uint32_t)x;
    if (r->status == TFM_OK)
        r->status = tfm_fail(r->error, TFM_E_FORMAT, "%.120s: %s is missing, or no number of 0 to %u", r->path, key,
                             UINT32_MAX);
    return 0;
}

static bool flag(const reading *r, const char *key, bool otherwise)
{
    const json_t *item = json_object_get(r->config, key);

    return json_is_boolean(item) ? json_is_true(item) : otherwise;
}

/* Two keys that here are one option. */
static uint32_t same(reading *r, const char *encoder, const char *decoder)
{
    const uint32_t x = number(r, encoder, -1), y = number(r, decoder, x);

    if (x != y && r->status == TFM_OK)
        r->status = tfm_fail(r->error, TFM_E_UNSUPPORTED, "%.120s: %s is %u and %s %u: unlike stacks are not supported",
                             r->path, encoder, x, decoder, y);
    return x;
}

static void read_activation(reading *r, tfm_model_options *o)
{
    static const struct {
        const char *name;
        uint32_t activation;
    } known[] = {{"relu", TFM_ACTIVATION_RELU},          {"gelu", TFM_ACTIVATION_GELU},
                 {"gelu_new", TFM_ACTIVATION_GELU_TANH}, {"gelu_pytorch_tanh", TFM_ACTIVATION_GELU_TANH},
                 {"swish", TFM_ACTIVATION_SWISH},        {"silu", TFM_ACTIVATION_SWISH}};
    const char *name = json_string_value(json_object_get(r->config, "activation_function"));

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) {
            o->activation = known[i].activation;
            return;
        }
    refuse(r, "activation", name ? name : "");
}

/* What the kinds differ in, which their code knows and not their configuration. */
static void read_kind(reading *r, tfm_model_options *o)
{
    static const struct {
        const char *type;
        uint32_t norm_order, positions, position_offset, embedding_norm;
    } kinds[] = {{"marian", TFM_POST_NORM, TFM_POSITIONS_SPLIT, 0, 0},
                 {"m2m_100", TFM_PRE_NORM, TFM_POSITIONS_HALVES, 2, 0},
                 {"bart", TFM_POST_NORM, TFM_POSITIONS_LEARNED, 2, 1},
                 {"mbart", TFM_PRE_NORM, TFM_POSITIONS_LEARNED, 2, 1}};
    const char *type = json_string_value(json_object_get(r->config, "model_type"));

    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(type, kinds[i].type)) {
            o->norm_order = kinds[i].norm_order;
            o->positions = kinds[i].positions;
            o->position_offset = kinds[i].position_offset;
            o->embedding_norm = kinds[i].embedding_norm;
            return;
        }
    refuse(r, "model_type", type ? type : "");
}

static void read_ids(reading *r, tfm_model_options *o)
{
    o->own_ids = 1;
    o->eos_id = number(r, "eos_token_id", -1);
    o->pad_id = number(r, "pad_token_id", -1);
    o->bos_id = number(r, "decoder_start_token_id", o->eos_id);
    if (o->position_offset && o->positions == TFM_POSITIONS_HALVES) o->position_offset = o->pad_id + 1;
}

static void read_options(reading *r, tfm_model_options *o, const tfm_safetensors *file)
{
    const tfm_tensor *positions = tfm_safetensors_find(file, "model.encoder.embed_positions.weight");

    read_kind(r, o);
    read_activation(r, o);
    o->n_encoder_layers = number(r, "encoder_layers", -1);
    o->n_decoder_layers = number(r, "decoder_layers", -1);
    o->d_model = number(r, "d_model", -1);
    o->d_ff = same(r, "encoder_ffn_dim", "decoder_ffn_dim");
    o->n_heads = same(r, "encoder_attention_heads", "decoder_attention_heads");
    o->source_vocab_size = number(r, "vocab_size", -1);
    o->vocab_size = number(r, "decoder_vocab_size", o->source_vocab_size);
    o->sharing = flag(r, "share_encoder_decoder_embeddings", true) ? TFM_SHARE_ALL : TFM_SHARE_TARGET;
    if (!flag(r, "tie_word_embeddings", true)) o->sharing = TFM_SHARE_NONE;
    o->plain_embedding = !flag(r, "scale_embedding", false);
    o->attention_bias = 1;
    o->softmax_bias = tfm_safetensors_find(file, "final_logits_bias") != NULL;
    o->layer_norm_eps = 1e-5f;
    if (o->positions == TFM_POSITIONS_LEARNED && positions && positions->shape[0] <= UINT32_MAX)
        o->max_positions = (uint32_t)positions->shape[0];
    read_ids(r, o);
}

static tfm_status read_weights(tfm_model_file *f, const json_t *config, const tfm_safetensors *file, const char *path,
                               tfm_error *error)
{
    reading r = {.config = config, .path = path, .error = error, .status = TFM_OK};
    tfm_model_options options;

    tfm_config_init(&options, sizeof options);
    read_options(&r, &options, file);
    if (r.status != TFM_OK) return r.status;
    return tfm_foreign_fill(
        f, &options, &(tfm_foreign){&tfm_hugging_face_naming, file, find, tfm_safetensors_count(file), path, aliases},
        error);
}

tfm_status tfm_hugging_face_read(tfm_model_file *f, tfm_text config, const char *path, bool verify, tfm_error *error)
{
    char name[PATH_MAX];
    tfm_safetensors *file = NULL;
    tfm_json_fault fault;
    json_t *object = NULL;
    tfm_status status = config.size > MOST_CONFIG ? TFM_E_FORMAT : tfm_json_read(&object, config, 0, &fault);

    if (status == TFM_E_NOMEM) return tfm_fail(error, status, "%.120s: no memory for its configuration", path);
    if (status != TFM_OK)
        return tfm_fail(error, status, "%.120s: config.json is damaged, or larger than %d bytes", path, MOST_CONFIG);
    if (snprintf(name, sizeof name, "%s/model.safetensors", path) >= (int)sizeof name)
        status = tfm_fail(error, TFM_E_INVALID, "%.120s: the path is too long", path);
    if (status == TFM_OK) status = tfm_safetensors_open(&file, name, &f->allocator, error);
    if (status == TFM_OK && verify) status = tfm_safetensors_verify(file, error);
    if (status == TFM_OK) status = read_weights(f, object, file, path, error);
    tfm_safetensors_close(file);
    json_decref(object);
    return status;
}
