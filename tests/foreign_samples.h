/* Small models of other systems, made by hand: a Transformer of one layer a stack, in CTranslate2's and in Marian's
 * format. */
#ifndef FOREIGN_SAMPLES_H
#define FOREIGN_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { SAMPLE_D = 8, SAMPLE_FF = 12, SAMPLE_SOURCE = 6, SAMPLE_TARGET = 5, SAMPLE_ROOM = 1 << 17 };

typedef struct sample {
    unsigned char *bytes; /* [SAMPLE_ROOM] */
    size_t size, entries;
    uint32_t version; /* of CTranslate2's format */
    /* of an archive */
    unsigned char directory[1 << 14];
    size_t directory_size;
} sample;

static inline void sample_put(sample *s, const void *data, size_t size)
{
    memcpy(s->bytes + s->size, data, size);
    s->size += size;
}

static inline void sample_number(sample *s, uint32_t x, size_t size)
{
    for (size_t i = 0; i < size; i++) s->bytes[s->size++] = (unsigned char)(x >> 8 * i);
}

/* Element i of the tensor of this name: a multiple of 1/64, so that integers hold it, too. */
static inline float sample_value(const char *name, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u;

    for (; *name; name++) x = (x ^ (unsigned char)*name) * 16777619u;
    return (float)((int)(x >> 16) % 64) / 64.0f;
}

/* ---------------------------------------------------------------------------------------------- CTranslate2 ---- */

static inline void ct2_string(sample *s, const char *text)
{
    sample_number(s, (uint32_t)strlen(text) + 1, 2);
    sample_put(s, text, strlen(text) + 1);
}

/* Types by the numbers that they have since format 4. */
enum { CT2_F32, CT2_I8, CT2_I16, CT2_I32, CT2_F16, CT2_BF16 };

/* The kinds that tests and fuzzers begin with. Since format 3 there are aliases, and attributes. */
typedef struct ct2_form {
    uint32_t version, type; /* of the matrices */
    const char *spec;
} ct2_form;
static const ct2_form ct2_forms[] = {
    {2, CT2_F32, "TransformerBase"}, {2, CT2_I16, "TransformerBase"}, {2, CT2_I8, "TransformerBase"},
    {3, CT2_I8, "TransformerSpec"},  {4, CT2_F16, "TransformerSpec"}, {5, CT2_BF16, "TransformerSpec"},
    {6, CT2_I8, "TransformerSpec"},
};
enum { CT2_FORMS = sizeof ct2_forms / sizeof *ct2_forms };

/* Of a multiple of 1/64 below 1, which has no more than 6 bits. */
static inline uint32_t ct2_bits(float x, uint32_t type)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if (type == CT2_F32) return bits;
    if (type == CT2_BF16) return bits >> 16;
    return bits ? (bits >> 31) << 15 | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023) : 0;
}

/* One number when rows are 0, a vector when cols are. */
static inline void ct2_variable(sample *s, const char *name, uint32_t rows, uint32_t cols, uint32_t type, float scale)
{
    static const uint32_t sizes[] = {4, 1, 2, 4, 2, 2};
    const uint32_t n = (rows ? rows : 1) * (cols ? cols : 1), size = sizes[type];

    ct2_string(s, name);
    sample_number(s, (rows > 0) + (cols > 0), 1);
    if (rows > 0) sample_number(s, rows, 4);
    if (cols > 0) sample_number(s, cols, 4);
    sample_number(s, s->version < 4 ? size : type, 1);
    sample_number(s, s->version < 4 ? n : n * size, 4);
    for (uint32_t i = 0; i < n; i++) {
        const float x = strstr(name, "_scale") || !rows ? scale : sample_value(name, i);
        const bool integer = type == CT2_I8 || type == CT2_I16;
        sample_number(s, integer ? (uint32_t)(int32_t)(rows ? x * scale : x) : ct2_bits(x, type), size);
    }
    s->entries++;
}

/* Integers have scales, one for each row when they are of one byte. */
static inline void ct2_linear(sample *s, const char *owner, const char *name, uint32_t out, uint32_t in, uint32_t type)
{
    char full[96];

    snprintf(full, sizeof full, "%s%s/bias", owner, name);
    if (!strstr(name, "embeddings")) ct2_variable(s, full, out, 0, CT2_F32, 1.0f);
    snprintf(full, sizeof full, "%s%s/weight", owner, name);
    ct2_variable(s, full, out, in, type, 64.0f);
    snprintf(full, sizeof full, "%s%s/weight_scale", owner, name);
    if (type == CT2_I8 || type == CT2_I16) ct2_variable(s, full, type == CT2_I8 ? out : 0, 0, CT2_F32, 64.0f);
}

static inline void ct2_norm(sample *s, const char *owner)
{
    char full[96];

    snprintf(full, sizeof full, "%slayer_norm/gamma", owner);
    ct2_variable(s, full, SAMPLE_D, 0, CT2_F32, 1.0f);
    snprintf(full, sizeof full, "%slayer_norm/beta", owner);
    ct2_variable(s, full, SAMPLE_D, 0, CT2_F32, 1.0f);
}

static inline void ct2_attributes(sample *s, const char *stack)
{
    static const struct {
        const char *name;
        float value;
    } all[] = {{"num_heads", 2}, {"pre_norm", 1}, {"activation", 2}, {"scale_embeddings", 1}, {"alignment_layer", -1}};
    char full[96];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(full, sizeof full, "%s/%s", stack, all[i].name);
        ct2_variable(s, full, 0, 0, CT2_I8, all[i].value);
    }
}

static inline void ct2_stack(sample *s, const char *stack, uint32_t vocab, uint32_t type)
{
    char owner[64];

    snprintf(owner, sizeof owner, "%s/", stack);
    ct2_linear(s, owner, s->version > 4 && vocab == SAMPLE_SOURCE ? "embeddings_0" : "embeddings", vocab, SAMPLE_D,
               type);
    ct2_norm(s, owner);
    if (s->version > 2) ct2_attributes(s, stack);
    snprintf(owner, sizeof owner, "%s/layer_0/self_attention/", stack);
    ct2_linear(s, owner, "linear_0", 3 * SAMPLE_D, SAMPLE_D, type);
    ct2_linear(s, owner, "linear_1", SAMPLE_D, SAMPLE_D, type);
    ct2_norm(s, owner);
    snprintf(owner, sizeof owner, "%s/layer_0/ffn/", stack);
    ct2_linear(s, owner, "linear_0", SAMPLE_FF, SAMPLE_D, type);
    ct2_linear(s, owner, "linear_1", SAMPLE_D, SAMPLE_FF, type);
    ct2_norm(s, owner);
}

static inline void ct2_sample(sample *s, const ct2_form *form)
{
    const char *cross = "decoder/layer_0/attention/";

    s->version = form->version;
    sample_number(s, form->version, 4);
    ct2_string(s, form->spec);
    sample_number(s, form->version > 4 ? 7 : 2, 4);
    const size_t count = s->size;
    sample_number(s, 0, 4);
    ct2_stack(s, "encoder", SAMPLE_SOURCE, form->type);
    ct2_stack(s, "decoder", SAMPLE_TARGET, form->type);
    ct2_linear(s, cross, "linear_0", SAMPLE_D, SAMPLE_D, form->type);
    ct2_linear(s, cross, "linear_1", 2 * SAMPLE_D, SAMPLE_D, form->type);
    ct2_linear(s, cross, "linear_2", SAMPLE_D, SAMPLE_D, form->type);
    ct2_norm(s, cross);
    if (form->version < 3) ct2_linear(s, "decoder/", "projection", SAMPLE_TARGET, SAMPLE_D, form->type);
    else {
        ct2_variable(s, "decoder/projection/bias", SAMPLE_TARGET, 0, CT2_F32, 1.0f);
        sample_number(s, 1, 4);
        ct2_string(s, "decoder/projection/weight");
        ct2_string(s, "decoder/embeddings/weight");
    }
    const size_t end = s->size;
    s->size = count;
    sample_number(s, (uint32_t)s->entries, 4);
    s->size = end;
}

/* --------------------------------------------------------------------------------------------------- Marian ---- */

/* An entry of an archive, stored or deflated. */
static inline void zip_entry(sample *s, const char *name, const unsigned char *data, size_t size, int deflated)
{
    static unsigned char packed[SAMPLE_ROOM];
    const uint32_t crc = (uint32_t)crc32(0, data, (uInt)size), at = (uint32_t)s->size, length = (uint32_t)strlen(name);
    z_stream z = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = packed, .avail_out = sizeof packed};

    if (deflated) {
        deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
        deflate(&z, Z_FINISH);
        deflateEnd(&z);
    }
    const uint32_t fields[][2] = {{20, 2},
                                  {0, 2},
                                  {deflated ? 8 : 0, 2},
                                  {0, 4},
                                  {crc, 4},
                                  {deflated ? (uint32_t)z.total_out : (uint32_t)size, 4},
                                  {(uint32_t)size, 4},
                                  {length, 2},
                                  {0, 2}};
    sample d = {.bytes = s->directory, .size = s->directory_size};
    sample_put(s, "PK\3\4", 4);
    sample_put(&d, "PK\1\2\24\0", 6);
    for (size_t i = 0; i < 9; i++) {
        sample_number(s, fields[i][0], fields[i][1]);
        sample_number(&d, fields[i][0], fields[i][1]);
    }
    sample_put(s, name, length);
    sample_put(s, deflated ? packed : data, fields[5][0]);
    sample_put(&d, "\0\0\0\0\0\0\0\0\0\0", 10);
    sample_number(&d, at, 4);
    sample_put(&d, name, length);
    s->directory_size = d.size;
    s->entries++;
}

static inline void zip_end(sample *s)
{
    const uint32_t at = (uint32_t)s->size;

    sample_put(s, s->directory, s->directory_size);
    sample_put(s, "PK\5\6\0\0\0\0", 8);
    sample_number(s, (uint32_t)s->entries, 2);
    sample_number(s, (uint32_t)s->entries, 2);
    sample_number(s, (uint32_t)s->directory_size, 4);
    sample_number(s, at, 4);
    sample_number(s, 0, 2);
}

/* An array of rank 1 (cols 0) or 2; text NULL: of floats. */
static inline void npz_array(sample *s, const char *name, uint32_t rows, uint32_t cols, const char *text, int deflated)
{
    static unsigned char bytes[SAMPLE_ROOM];
    sample a = {.bytes = bytes};
    char header[128], file[128];
    const int n = snprintf(header, sizeof header,
                           cols ? "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u), }\n"
                                : "{'descr': '%s', 'fortran_order': False, 'shape': (%u,), }\n",
                           text ? "<i1" : "<f4", rows, cols);

    sample_put(&a, "\x93NUMPY\1\0", 8);
    sample_number(&a, (uint32_t)n, 2);
    sample_put(&a, header, (size_t)n);
    if (text) sample_put(&a, text, rows);
    for (uint32_t i = 0; !text && i < rows * (cols ? cols : 1); i++) {
        const float x = sample_value(name, i);
        sample_put(&a, &x, sizeof x);
    }
    snprintf(file, sizeof file, "%s.npy", name);
    zip_entry(s, file, bytes, a.size, deflated);
}

static inline void marian_part(sample *s, const char *owner, const char *const *names, const uint32_t (*shapes)[2],
                               int deflated)
{
    char full[96];

    for (; *names; names++, shapes++) {
        snprintf(full, sizeof full, "%s%s", owner, *names);
        npz_array(s, full, (*shapes)[0], (*shapes)[1], NULL, deflated);
    }
}

/* Arrays to which others may be added before zip_end(). */
static inline void marian_arrays(sample *s, const char *yml, int deflated)
{
    enum { D = SAMPLE_D, F = SAMPLE_FF };
    static const char *const attention[] = {"Wq", "Wk", "Wv",          "Wo",         "bq", "bk",
                                            "bv", "bo", "Wo_ln_scale", "Wo_ln_bias", NULL};
    static const uint32_t attention_shapes[][2] = {{D, D}, {D, D}, {D, D}, {D, D}, {1, D},
                                                   {1, D}, {1, D}, {1, D}, {1, D}, {1, D}};
    static const char *const ffn[] = {"W1", "b1", "W2", "b2", "ffn_ln_scale", "ffn_ln_bias", NULL};
    static const uint32_t ffn_shapes[][2] = {{D, F}, {1, F}, {F, D}, {1, D}, {1, D}, {1, D}};

    npz_array(s, "special:model.yml", (uint32_t)strlen(yml) + 1, 0, yml, deflated);
    npz_array(s, "Wemb", SAMPLE_TARGET, D, NULL, deflated);
    npz_array(s, "decoder_ff_logit_out_b", 1, SAMPLE_TARGET, NULL, deflated);
    marian_part(s, "encoder_l1_self_", attention, attention_shapes, deflated);
    marian_part(s, "encoder_l1_ffn_", ffn, ffn_shapes, deflated);
    marian_part(s, "decoder_l1_self_", attention, attention_shapes, deflated);
    marian_part(s, "decoder_l1_context_", attention, attention_shapes, deflated);
    marian_part(s, "decoder_l1_ffn_", ffn, ffn_shapes, deflated);
}

static inline void marian_sample(sample *s, const char *yml, int deflated)
{
    marian_arrays(s, yml, deflated);
    zip_end(s);
}

#define MARIAN_YML                                                                             \
    "dec-depth: 1\ndim-emb: 8\ndim-vocabs:\n  - 5\n  - 5\nenc-depth: 1\ntransformer-dim-ffn: " \
    "12\ntransformer-ffn-activation: swish\n"                                                  \
    "transformer-heads: 2\ntransformer-postprocess: dan\ntransformer-preprocess: \"\"\ntype: transformer\n"

/* Beside a model of OPUS-MT: ids of its rows for the pieces of source.spm and target.spm, and what names all. */
#define OPUS_VOCABULARY "</s>: 0\n<unk>: 1\nab: 2\na: 4\n\"\xE2\x96\x81\": 3\n"
#define OPUS_DECODER "models:\n  - opus.npz\nvocabs:\n  - opus.vocab.yml\n  - opus.vocab.yml\n"

/* --------------------------------------------------------------------------------------------- Hugging Face ---- */

#define HF_CONFIG                                                                                                      \
    "{\"model_type\":\"bart\",\"activation_function\":\"gelu\",\"d_model\":8,\"encoder_layers\":1,\"decoder_layers\":" \
    "1,"                                                                                                               \
    "\"encoder_attention_heads\":2,\"decoder_attention_heads\":2,\"encoder_ffn_dim\":12,\"decoder_ffn_dim\":12,"       \
    "\"vocab_size\":5,\"pad_token_id\":1,\"eos_token_id\":2,\"decoder_start_token_id\":2,\"scale_embedding\":false}"

/* A tensor of rank 1 (cols 0) or 2, its line in the header and its numbers. */
static inline void hf_tensor(sample *header, sample *data, const char *owner, const char *name, uint32_t rows,
                             uint32_t cols)
{
    char full[512], line[768];
    const size_t n = (size_t)rows * (cols ? cols : 1);

    snprintf(full, sizeof full, "%s%s", owner, name);
    const int size = snprintf(line, sizeof line,
                              cols ? "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%u,%u],\"data_offsets\":[%zu,%zu]}"
                                   : "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%u]%.0u,\"data_offsets\":[%zu,%zu]}",
                              header->size ? "," : "{", full, rows, cols, data->size, data->size + 4 * n);
    sample_put(header, line, (size_t)size);
    for (size_t i = 0; i < n; i++) {
        const float x = sample_value(full, i);
        sample_put(data, &x, sizeof x);
    }
}

static inline void hf_linear(sample *header, sample *data, const char *owner, const char *name, uint32_t out,
                             uint32_t in)
{
    char full[160];

    snprintf(full, sizeof full, "%s.weight", name);
    hf_tensor(header, data, owner, full, out, in);
    snprintf(full, sizeof full, "%s.bias", name);
    hf_tensor(header, data, owner, full, out, 0);
}

static inline void hf_stack(sample *header, sample *data, const char *owner, const char *const *attentions)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj", "out_proj"};
    char layer[64], name[128];

    snprintf(layer, sizeof layer, "%slayers.0.", owner);
    hf_tensor(header, data, owner, "embed_positions.weight", 12, SAMPLE_D);
    hf_linear(header, data, owner, "layernorm_embedding", SAMPLE_D, 0);
    for (; *attentions; attentions++) {
        for (size_t i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "%s.%s", *attentions, parts[i]);
            hf_linear(header, data, layer, name, SAMPLE_D, SAMPLE_D);
        }
        snprintf(name, sizeof name, "%s_layer_norm", *attentions);
        hf_linear(header, data, layer, name, SAMPLE_D, 0);
    }
    hf_linear(header, data, layer, "fc1", SAMPLE_FF, SAMPLE_D);
    hf_linear(header, data, layer, "fc2", SAMPLE_D, SAMPLE_FF);
    hf_linear(header, data, layer, "final_layer_norm", SAMPLE_D, 0);
}

/* model.safetensors of HF_CONFIG. */
static inline void hf_sample(sample *s)
{
    static const char *const encoder[] = {"self_attn", NULL}, *const decoder[] = {"self_attn", "encoder_attn", NULL};
    static unsigned char text[SAMPLE_ROOM], numbers[SAMPLE_ROOM];
    sample header = {.bytes = text}, data = {.bytes = numbers};

    hf_tensor(&header, &data, "", "model.shared.weight", SAMPLE_TARGET, SAMPLE_D);
    hf_tensor(&header, &data, "", "final_logits_bias", 1, SAMPLE_TARGET);
    hf_stack(&header, &data, "model.encoder.", encoder);
    hf_stack(&header, &data, "model.decoder.", decoder);
    sample_put(&header, "}", 1);
    while (header.size % 8) sample_put(&header, " ", 1);
    sample_number(s, (uint32_t)header.size, 4);
    sample_number(s, 0, 4);
    sample_put(s, text, header.size);
    sample_put(s, numbers, data.size);
}

#endif
