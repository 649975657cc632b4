/* A model as a directory of Hugging Face: config.json and model.safetensors. */
#include "model/foreign.h"

#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kinds differ in their positions, or else in the order of their norms. NULL: there is none. */
static const char *kind_of(const tfm_model_options *o)
{
    static const char *const kinds[][2] = {
        {NULL, NULL}, {"m2m_100", "m2m_100"}, {"bart", "mbart"}, {"marian", "marian"}};

    return kinds[o->positions][o->norm_order];
}

static tfm_status check(const tfm_model_options *o, tfm_error *error)
{
    const bool marian = o->positions == TFM_POSITIONS_SPLIT, m2m = o->positions == TFM_POSITIONS_HALVES,
               learned = o->positions == TFM_POSITIONS_LEARNED;
    const tfm_foreign_need needs[] = {
        {"norm_order", o->norm_order, learned ? o->norm_order : m2m},
        {"position_offset", o->position_offset,
         learned ? 2
         : m2m   ? o->pad_id + 1
                 : 0},
        {"embedding_norm", o->embedding_norm, learned},
        {"sharing", o->sharing, marian ? o->sharing : TFM_SHARE_ALL},
        {"softmax_bias", o->softmax_bias, m2m ? 0 : o->softmax_bias},
        {"start", o->start, TFM_START_BOS},
        {"bos_id == pad_id", m2m && o->bos_id == o->pad_id, 0},
        {"plain_source", o->plain_source, 0},
        {"layer_norm_eps", (double)o->layer_norm_eps, (double)1e-5f},
        {"n_heads * d_k", (double)o->n_heads * o->d_k, o->d_model},
        {"n_heads * d_v", (double)o->n_heads * o->d_v, o->d_model},
    };
    char name[32];

    if (!kind_of(o))
        return tfm_fail(error, TFM_E_UNSUPPORTED, "Hugging Face has no model with positions=%s",
                        tfm_config_choice("positions", o->positions));
    snprintf(name, sizeof name, "Hugging Face's %s", kind_of(o));
    return tfm_foreign_check(name, needs, sizeof needs / sizeof *needs, error);
}

/* Positions that are computed have no end here, but there a table of this size. */
static uint32_t positions(const tfm_model_options *o)
{
    const uint32_t least = 1024;

    if (o->positions == TFM_POSITIONS_LEARNED) return o->max_positions - o->position_offset;
    return o->max_positions > least ? o->max_positions : least;
}

static json_t *configuration(const tfm_model_options *o)
{
    static const char *const activations[] = {"relu", "gelu", "gelu_new", "swish"};
    const char *kind = kind_of(o);
    json_t *object = json_pack(
        "{ss, ss, sI, sI, sI, sI, sI, sI, sI, sI, sI, sI, sI, sI, sn, sI, sb, sb, sb}", "model_type", kind,
        "activation_function", activations[o->activation], "d_model", (json_int_t)o->d_model, "encoder_layers",
        (json_int_t)o->n_encoder_layers, "decoder_layers", (json_int_t)o->n_decoder_layers, "encoder_attention_heads",
        (json_int_t)o->n_heads, "decoder_attention_heads", (json_int_t)o->n_heads, "encoder_ffn_dim",
        (json_int_t)o->d_ff, "decoder_ffn_dim", (json_int_t)o->d_ff, "vocab_size", (json_int_t)o->source_vocab_size,
        "decoder_vocab_size", (json_int_t)o->vocab_size, "max_position_embeddings",
        (json_int_t)positions(o), "pad_token_id", (json_int_t)o->pad_id, "eos_token_id", (json_int_t)o->eos_id,
        "forced_eos_token_id", "decoder_start_token_id", (json_int_t)o->bos_id, "scale_embedding", !o->plain_embedding,
        "share_encoder_decoder_embeddings", o->sharing == TFM_SHARE_ALL, "tie_word_embeddings",
        o->sharing != TFM_SHARE_NONE);
    if (!o->force_first || !json_object_set_new(object, "forced_bos_token_id", json_integer(o->first_id)))
        return object;
    json_decref(object);
    return NULL;
}

static tfm_status write_configuration(const char *path, const tfm_weights *w, tfm_error *error)
{
    tfm_buffer text = {.allocator = w->allocator};
    json_t *object = configuration(&w->options);
    tfm_status status = TFM_OK;

    if (!object || json_dump_callback(object, tfm_buffer_take, &text, JSON_INDENT(2)))
        status = tfm_fail(error, TFM_E_NOMEM, "config.json: no memory");
    if (status == TFM_OK) status = tfm_file_write(path, text.data, text.size, error);
    tfm_buffer_free(&text);
    json_decref(object);
    return status;
}

static tfm_status write_weights(const char *path, const tfm_weights *w, const float *data, tfm_error *error)
{
    const tfm_metadata metadata = {"format", {"pt", 2}};
    const bool bias = strcmp(kind_of(&w->options), "m2m_100") != 0;
    tfm_foreign_tensors t;
    tfm_status status = tfm_foreign_make(&t, w, data, &tfm_hugging_face_naming, false, bias, error);

    for (size_t i = 0; i < t.n && status == TFM_OK; i++)
        if (!strcmp(t.tensors[i].name, "final_logits_bias")) /* a matrix of one row */
            t.tensors[i].rank = 2, t.tensors[i].shape[1] = t.tensors[i].shape[0], t.tensors[i].shape[0] = 1;
    if (status == TFM_OK) status = tfm_safetensors_save(path, t.tensors, t.n, &metadata, 1, &w->allocator, error);
    tfm_foreign_tensors_free(&t);
    return status;
}

/* What another model left there must not be read with this one, or for it. */
static tfm_status check_folder(const char *path, tfm_error *error)
{
    static const char *const others[] = {"model.bin", "generation_config.json"};
    char file[PATH_MAX];

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (snprintf(file, sizeof file, "%s/%s", path, others[i]) < (int)sizeof file && !access(file, F_OK))
            return tfm_fail(error, TFM_E_INVALID, "%.120s has a %s, which is read before what is exported: take it "
                            "away, or export to another folder", path, others[i]);
    return TFM_OK;
}

/* The configuration gets its name last: without it a directory is no model, and room for it is there by then. */
tfm_status tfm_hugging_face_save(const char *path, const tfm_weights *w, const float *data, tfm_error *error)
{
    char file[PATH_MAX], written[PATH_MAX];
    tfm_status status = check(&w->options, error);

    if (status != TFM_OK) return status;
    if (snprintf(file, sizeof file, "%s/model.safetensors", path) >= (int)sizeof file ||
        snprintf(written, sizeof written, "%s/config.json.part", path) >= (int)sizeof written)
        return tfm_fail(error, TFM_E_INVALID, "%.120s: the path is too long", path);
    if (mkdir(path, 0777) && errno != EEXIST)
        return tfm_fail(error, TFM_E_IO, "%.120s: %s", path, strerrordesc_np(errno));
    status = check_folder(path, error);
    if (status == TFM_OK) status = write_configuration(written, w, error);
    if (status != TFM_OK) return status;
    status = write_weights(file, w, data, error);
    snprintf(file, sizeof file, "%s/config.json", path);
    if (status == TFM_OK && rename(written, file))
        status = tfm_fail(error, TFM_E_IO, "%.120s: %s", file, strerrordesc_np(errno));
    if (status != TFM_OK) unlink(written);
    return status;
}
