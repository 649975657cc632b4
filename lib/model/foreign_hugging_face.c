/* Hugging Face's directories, config.json beside model.safetensors: Marian, M2M100, BART and MBart. */
#include "model/foreign.h"

#include <stdio.h>
#include <unistd.h>

#define ONE(ours, theirs)                          \
    {                                              \
        ours, theirs, 0, 1, false, TFM_LEAF_EITHER \
    }
#define BOTH(ours, theirs) ONE(ours ".weight", theirs ".weight"), ONE(ours ".bias", theirs ".bias")
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
    ONE("encoder.embedding.weight", "model.shared.weight"),
    ONE("decoder.embedding.weight", "model.shared.weight"),
    ONE("output.weight", "lm_head.weight"),
    ONE("output.bias", "final_logits_bias"),
    {0},
};
static bool is_spare(const tfm_tensor *tensor)
{
    static const char *const names[] = {"model.shared.weight",
                                        "model.encoder.embed_tokens.weight",
                                        "model.decoder.embed_tokens.weight",
                                        "lm_head.weight",
                                        "model.encoder.embed_positions.weight",
                                        "model.decoder.embed_positions.weight",
                                        "model.encoder.embed_positions.weights",
                                        "model.decoder.embed_positions.weights"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(tensor->name, names[i])) return true;
    return false;
}

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

/* ----------------------------------------------------------------------------------------------------- files ---- */

enum { MOST_SHARDS = 256, MOST_INDEX = 1 << 22 };

/* The tensors of all files. */
typedef struct shards {
    const char *names[MOST_SHARDS];
    tfm_safetensors *files[MOST_SHARDS];
    size_t n;
} shards;

static const tfm_tensor *find(const void *all, const char *name)
{
    const shards *s = all;
    const tfm_tensor *tensor = NULL;

    for (size_t i = 0; i < s->n && !tensor; i++) tensor = tfm_safetensors_find(s->files[i], name);
    return tensor;
}

static const tfm_tensor *at(const void *all, size_t index)
{
    const shards *s = all;
    size_t i = 0;

    for (; index >= tfm_safetensors_count(s->files[i]); i++) index -= tfm_safetensors_count(s->files[i]);
    return tfm_safetensors_at(s->files[i], index);
}

static size_t count(const shards *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) n += tfm_safetensors_count(s->files[i]);
    return n;
}

static void close_shards(shards *s)
{
    for (size_t i = 0; i < s->n; i++) tfm_safetensors_close(s->files[i]);
    s->n = 0;
}

/* In the folder of path; once. */
static tfm_status open_shard(shards *s, const char *path, const char *name, const tfm_allocator *a, tfm_error *error)
{
    const char *slash = strrchr(path, '/');
    char full[PATH_MAX];

    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->names[i], name)) return TFM_OK;
    if (s->n == MOST_SHARDS)
        return tfm_fail(error, TFM_E_UNSUPPORTED, "%.120s: tensors in more than %d files", path, MOST_SHARDS);
    if (snprintf(full, sizeof full, "%.*s/%s", (int)(slash - path), path, name) >= (int)sizeof full)
        return tfm_fail(error, TFM_E_INVALID, "%.120s: the path is too long", path);
    s->names[s->n] = name;
    const tfm_status status = tfm_safetensors_open(&s->files[s->n], full, a, error);
    s->n += status == TFM_OK;
    return status;
}

static bool beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    char full[PATH_MAX];

    return snprintf(full, sizeof full, "%.*s/%s", (int)(slash - path), path, name) < (int)sizeof full &&
           !access(full, F_OK);
}

/* index: of model.safetensors.index.json, which tells the file of each tensor; NULL: there is one file. */
static tfm_status open_shards(shards *s, const json_t *index, const char *path, const tfm_allocator *a,
                              tfm_error *error)
{
    const json_t *map = json_object_get(index, "weight_map");
    tfm_status status = TFM_OK;
    const char *name;
    json_t *file;

    if (!index && !beside(path, "model.safetensors") &&
        (beside(path, "pytorch_model.bin") || beside(path, "pytorch_model.bin.index.json")))
        return tfm_fail(
            error, TFM_E_UNSUPPORTED,
            "%.120s: pytorch_model.bin is a program that PyTorch runs, and is not read: save the model with "
            "safe_serialization=True, which makes model.safetensors of it",
            path);
    if (!index) return open_shard(s, path, "model.safetensors", a, error);
    if (!json_object_size(map))
        return tfm_fail(error, TFM_E_FORMAT, "%.120s: model.safetensors.index.json has no weight_map", path);
    json_object_foreach((json_t *)(uintptr_t)map, name, file)
    {
        const char *text = json_string_value(file);
        if (status == TFM_OK && (!text || strchr(text, '/')))
            status = tfm_fail(error, TFM_E_FORMAT, "%.120s: the file of %.60s is none of its folder", path, name);
        if (status == TFM_OK) status = open_shard(s, path, text, a, error);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------- configuration ---- */

typedef struct reading {
    const json_t *config, *generation; /* generation_config.json, or NULL */
    const char *path;
    tfm_error *error;
    tfm_status status; /* of the first failure */
} reading;

static void refuse(reading *r, const char *key, const char *value)
{
    if (r->status == TFM_OK) r->status = tfm_foreign_refuse(r->path, key, (tfm_text){value, strlen(value)}, r->error);
}

/* A number of 0 to 2^32 - 1; otherwise where the key is missing or null. */
static uint32_t number_of(reading *r, const char *key, const json_t *item, int64_t otherwise)
{
    const json_int_t x = !item || json_is_null(item) ? otherwise
                         : json_is_integer(item)     ? json_integer_value(item)
                                                     : -1;

    if (x >= 0 && x <= UINT32_MAX) return (uint32_t)x;
    if (r->status == TFM_OK)
        r->status = tfm_fail(r->error, TFM_E_FORMAT, "%.120s: %s is missing, or no number of 0 to %u", r->path, key,
                             UINT32_MAX);
    return 0;
}

static uint32_t number(reading *r, const char *key, int64_t otherwise)
{
    return number_of(r, key, json_object_get(r->config, key), otherwise);
}

/* generation_config.json is asked first. */
static uint32_t generation_number(reading *r, const char *key, int64_t otherwise)
{
    const json_t *item = json_object_get(r->generation, key);

    return item && !json_is_null(item) ? number_of(r, key, item, 0) : number(r, key, otherwise);
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
    o->bos_id = generation_number(r, "decoder_start_token_id", number(r, "bos_token_id", o->eos_id));
    o->first_id = generation_number(r, "forced_bos_token_id", o->eos_id);
    o->force_first = o->first_id != o->eos_id;
    if (!o->force_first) o->first_id = 0;
    if (!o->position_offset || o->positions != TFM_POSITIONS_HALVES) return;
    o->position_offset = o->pad_id + 1;
    if (o->bos_id == o->pad_id) refuse(r, "decoder_start_token_id", "pad_token_id"); /* has no position there */
}

static void read_options(reading *r, tfm_model_options *o, const shards *file)
{
    const tfm_tensor *positions = find(file, "model.encoder.embed_positions.weight");

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
    o->plain_embedding = !flag(r, "scale_embedding", o->positions == TFM_POSITIONS_HALVES);
    o->attention_bias = 1;
    o->softmax_bias = find(file, "final_logits_bias") != NULL;
    o->layer_norm_eps = 1e-5f;
    if (o->positions == TFM_POSITIONS_LEARNED && positions && positions->shape[0] <= UINT32_MAX)
        o->max_positions = (uint32_t)positions->shape[0];
    read_ids(r, o);
}

tfm_status tfm_hugging_face_read(tfm_model_file *f, const char *path, bool verify, tfm_error *error)
{
    reading r = {.path = path, .error = error, .status = TFM_OK};
    json_t *config = NULL, *generation = NULL, *index = NULL;
    tfm_model_options options;
    shards file = {.n = 0};
    tfm_status status = tfm_foreign_json(&config, path, "config.json", TFM_MOST_FOREIGN_CONFIG, error);

    if (status == TFM_OK)
        status = tfm_foreign_json(&generation, path, "generation_config.json", TFM_MOST_FOREIGN_CONFIG, error);
    if (status == TFM_OK && !beside(path, "model.safetensors")) /* which counts where both are */
        status = tfm_foreign_json(&index, path, "model.safetensors.index.json", MOST_INDEX, error);
    if (status == TFM_OK) status = open_shards(&file, index, path, &f->allocator, error);
    for (size_t i = 0; i < file.n && verify && status == TFM_OK; i++)
        status = tfm_safetensors_verify(file.files[i], error);
    r.config = config;
    r.generation = generation;
    tfm_config_init(&options, sizeof options);
    if (status == TFM_OK) read_options(&r, &options, &file);
    if (status == TFM_OK) status = r.status;
    if (status == TFM_OK)
        status = tfm_foreign_fill(
            f, &options, &(tfm_foreign){&tfm_hugging_face_naming, &file, find, at, count(&file), path, is_spare},
            error);
    if (status == TFM_OK) status = tfm_hugging_face_vocabularies(f, path, error);
    close_shards(&file);
    json_decref(index);
    json_decref(generation);
    json_decref(config);
    return status;
}
