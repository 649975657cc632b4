/* A model as Marian's .npz. */
#include "model/foreign.h"

#include <stdio.h>

static tfm_status check(const tfm_model_options *o, tfm_error *error)
{
    const tfm_foreign_need needs[] = {
        {"positions", o->positions, TFM_POSITIONS_HALVES},
        {"position_offset", o->position_offset, 0},
        {"start", o->start, TFM_START_ZERO},
        {"own_ids", o->own_ids, 1},
        {"eos_id", o->eos_id, 0},
        {"pad_id", o->pad_id, 1},
        {"bos_id", o->bos_id == o->eos_id ? 1 : o->bos_id, 1}, /* never produced, unless it ends a sentence */
        {"plain_source", o->plain_source, 0},
        {"force_first", o->force_first, 0},
        {"plain_embedding", o->plain_embedding, 0},
        {"layer_norm_eps", (double)o->layer_norm_eps, (double)1e-6f},
        {"n_heads * d_k", (double)o->n_heads * o->d_k, o->d_model},
        {"n_heads * d_v", (double)o->n_heads * o->d_v, o->d_model},
        {"activation", o->activation == TFM_ACTIVATION_SWISH ? TFM_ACTIVATION_RELU : o->activation,
         TFM_ACTIVATION_RELU},
    };

    return tfm_foreign_check("Marian", needs, sizeof needs / sizeof *needs, error);
}

/* The keys that this library reads, in the order of the alphabet, as Marian writes them. */
static size_t write_yml(char *yml, size_t size, const tfm_model_options *o)
{
    const bool pre = o->norm_order == TFM_PRE_NORM;

    return (size_t)snprintf(
        yml, size,
        "dec-depth: %u\ndim-emb: %u\ndim-vocabs:\n  - %u\n  - %u\nenc-depth: %u\ntied-embeddings: "
        "%s\ntied-embeddings-all: %s\n"
        "tied-embeddings-src: false\ntransformer-decoder-autoreg: self-attention\ntransformer-dim-ffn: %u\n"
        "transformer-ffn-activation: %s\ntransformer-ffn-depth: 2\ntransformer-heads: %u\ntransformer-postprocess: %s\n"
        "transformer-postprocess-emb: %s\ntransformer-postprocess-top: %s\ntransformer-preprocess: %s\n"
        "transformer-train-position-embeddings: false\ntype: transformer\nversion: v1.9.0 written by libtransformer\n",
        o->n_decoder_layers, o->d_model, o->source_vocab_size, o->vocab_size, o->n_encoder_layers,
        o->sharing == TFM_SHARE_TARGET ? "true" : "false", o->sharing == TFM_SHARE_ALL ? "true" : "false", o->d_ff,
        o->activation == TFM_ACTIVATION_SWISH ? "swish" : "relu", o->n_heads, pre ? "da" : "dan",
        o->embedding_norm ? "nd" : "d", pre ? "n" : "\"\"", pre ? "n" : "\"\"");
}

tfm_status tfm_marian_save(const char *path, const tfm_weights *w, const float *data, tfm_error *error)
{
    char yml[1024];
    tfm_foreign_tensors t = {0};
    tfm_status status = check(&w->options, error);

    if (status == TFM_OK) status = tfm_foreign_make(&t, w, data, &tfm_marian_naming, true, true, error);
    if (status == TFM_OK) {
        const size_t size = write_yml(yml, sizeof yml, &w->options) + 1; /* ends with a NUL */
        t.tensors[t.n] = (tfm_tensor){
            .name = "special:model.yml", .dtype = TFM_I8, .rank = 1, .shape = {size}, .data = yml, .bytes = size};
        status = tfm_npz_save(path, t.tensors, t.n + 1, &w->allocator, error);
    }
    tfm_foreign_tensors_free(&t);
    return status;
}
