/* The configuration of a model: one table of fields serves defaults, limits, names and JSON. */
#include "model/config.h"

#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    MOST_HEAD = 4096,  /* d_k, d_v                                                                              */
    MOST_CONFIG = 4096 /* bytes of JSON, of which a good one has some 500: its values may take 80 times as many */
};

typedef enum kind { U32, U64, F32 } kind;

typedef struct field {
    const char *name;
    size_t offset;
    kind kind;
    double least, most;
    const char *values[4]; /* names of 0, 1, ... when the field is a choice */
} field;

#define FIELD(name, kind, least, most, ...)                                                                            \
    {                                                                                                                  \
        #name, offsetof(tfm_model_options, name), kind, least, most, { __VA_ARGS__ }                                   \
    }

static const field fields[] = {
    FIELD(n_encoder_layers, U32, 1, 256, NULL),
    FIELD(n_decoder_layers, U32, 1, 256, NULL),
    FIELD(d_model, U32, 1, 65536, NULL),
    FIELD(d_ff, U32, 1, 1048576, NULL),
    FIELD(n_heads, U32, 1, 1024, NULL),
    FIELD(d_k, U32, 0, MOST_HEAD, NULL),
    FIELD(d_v, U32, 0, MOST_HEAD, NULL),
    FIELD(vocab_size, U32, 4, 16777216, NULL),
    FIELD(source_vocab_size, U32, 0, 16777216, NULL),
    FIELD(norm_order, U32, 0, 1, "post", "pre"),
    FIELD(positions, U32, 0, 3, "paper", "halves", "learned", "split"),
    FIELD(position_offset, U32, 0, 1048576, NULL),
    FIELD(max_positions, U32, 1, 1048576, NULL),
    FIELD(sharing, U32, 0, 2, "all", "target", "none"),
    FIELD(start, U32, 0, 1, "bos", "zero"),
    FIELD(attention_bias, U32, 0, 1, NULL),
    FIELD(ffn_bias, U32, 0, 1, NULL),
    FIELD(softmax_bias, U32, 0, 1, NULL),
    FIELD(init, U32, 0, 1, "fused", "separate"),
    FIELD(layer_norm_eps, F32, 1e-30, 1.0, NULL),
    FIELD(seed, U64, 0, 18446744073709551615.0, NULL),
    FIELD(activation, U32, 0, 3, "relu", "gelu", "gelu_tanh", "swish"),
    FIELD(embedding_norm, U32, 0, 1, NULL),
    FIELD(plain_embedding, U32, 0, 1, NULL),
    FIELD(own_ids, U32, 0, 1, NULL),
    FIELD(pad_id, U32, 0, 16777215, NULL),
    FIELD(eos_id, U32, 0, 16777215, NULL),
    FIELD(bos_id, U32, 0, 16777215, NULL),
    FIELD(plain_source, U32, 0, 1, NULL),
    FIELD(force_first, U32, 0, 1, NULL),
    FIELD(first_id, U32, 0, 16777215, NULL),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

void tfm_config_init(tfm_model_options *options, size_t struct_size)
{
    const tfm_model_options base = {
        .n_encoder_layers = 6, .n_decoder_layers = 6, .d_model = 512, .d_ff = 2048, .n_heads = 8,
        .max_positions = 256, .ffn_bias = 1, .layer_norm_eps = 1e-6f, .seed = 1,
    };
    tfm_options_fill(options, struct_size, &base, sizeof base);
}

tfm_status tfm_config_preset(tfm_model_options *options, const char *name, tfm_error *error)
{
    static const struct {
        const char *name;
        uint32_t n, d_model, d_ff, heads;
    } presets[] = {
        {"tiny", 4, 128, 256, 4}, {"small", 4, 256, 1024, 4}, {"base", 6, 512, 2048, 8}, {"big", 6, 1024, 4096, 16}};

    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(name, presets[i].name)) {
            options->n_encoder_layers = options->n_decoder_layers = presets[i].n;
            options->d_model = presets[i].d_model;
            options->d_ff = presets[i].d_ff;
            options->n_heads = presets[i].heads;
            options->d_k = options->d_v = 0;
            return TFM_OK;
        }
    return tfm_fail(error, TFM_E_INVALID, "preset '%.40s' is not known: use tiny, small, base or big", name);
}

static double get(const tfm_model_options *options, const field *f)
{
    const char *at = (const char *)options + f->offset;
    uint32_t u;
    float x;

    if (f->kind == F32) {
        memcpy(&x, at, sizeof x);
        return (double)x;
    }
    memcpy(&u, at, sizeof u);
    return u;
}

static uint64_t get_u64(const tfm_model_options *options, const field *f)
{
    uint64_t u;

    memcpy(&u, (const char *)options + f->offset, sizeof u);
    return u;
}

/* value is within the field's limits; u64 holds the exact one of a U64 field. */
static void put(tfm_model_options *options, const field *f, double value, uint64_t u64)
{
    char *at = (char *)options + f->offset;
    const uint32_t u = f->kind == U32 ? (uint32_t)value : 0;
    const float x = (float)value;

    if (f->kind == F32) memcpy(at, &x, sizeof x);
    else if (f->kind == U64) memcpy(at, &u64, sizeof u64);
    else memcpy(at, &u, sizeof u);
}

static bool within(const field *f, double value)
{
    return value >= f->least && value <= f->most && (f->kind == F32 || value == floor(value));
}

static tfm_status out_of_range(const field *f, double value, tfm_error *error)
{
    return tfm_fail(error, TFM_E_INVALID, "%s is %.9g, not in %.9g..%.9g", f->name, value, f->least, f->most);
}

static const field *find(const char *name)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (!strcmp(fields[i].name, name)) return &fields[i];
    return NULL;
}

const char *tfm_config_choice(const char *name, double value)
{
    const field *f = find(name);
    return f && value >= 0 && value <= f->most && f->values[0] ? f->values[(size_t)value] : NULL;
}

static tfm_status parse_integer(const char *text, double *x, uint64_t *u64)
{
    errno = 0;
    *u64 = strtoull(text, NULL, 10);
    *x = (double)*u64;
    return *text && !text[strspn(text, "0123456789")] && !errno ? TFM_OK : TFM_E_INVALID;
}

/* Numbers as JSON has them: the host's locale must not decide what a point means. */
static tfm_status parse_number(const char *text, double *x)
{
    tfm_json_fault fault;
    json_t *item;
    const tfm_status status = tfm_json_read(&item, (tfm_text){text, strlen(text)}, JSON_DECODE_ANY, &fault);
    const bool ok = json_is_number(item);

    *x = ok ? json_number_value(item) : 0.0;
    json_decref(item);
    return ok ? TFM_OK : status == TFM_E_NOMEM ? status : TFM_E_INVALID;
}

tfm_status tfm_config_set(tfm_model_options *options, const char *name, const char *value, tfm_error *error)
{
    const field *f = find(name);
    uint64_t u64 = 0;
    double x;

    if (!f) return tfm_fail(error, TFM_E_INVALID, "model option '%.60s' is not known", name);
    for (size_t i = 0; i < 4 && f->values[i]; i++)
        if (!strcmp(value, f->values[i])) {
            put(options, f, (double)i, i);
            return TFM_OK;
        }
    const tfm_status status = f->kind == U64 ? parse_integer(value, &x, &u64) : parse_number(value, &x);
    if (status == TFM_E_NOMEM) return tfm_fail(error, status, "%s: no memory", name);
    if (status != TFM_OK)
        return tfm_fail(error, TFM_E_INVALID, "%s is '%.60s', which is not a number it can take", name, value);
    if (!within(f, x)) return out_of_range(f, x, error);
    put(options, f, x, u64);
    return TFM_OK;
}

static tfm_status check_ids(tfm_model_options *o, tfm_error *error)
{
    const struct {
        const char *name;
        uint32_t id;
    } ids[] = {{"pad_id", o->pad_id}, {"eos_id", o->eos_id}, {"bos_id", o->bos_id}};

    if (!o->own_ids) {
        o->pad_id = TFM_PAD;
        o->eos_id = TFM_EOS;
        o->bos_id = TFM_BOS;
        return TFM_OK;
    }
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].id >= o->vocab_size)
            return tfm_fail(error, TFM_E_INVALID, "%s is %u, not below vocab_size %u", ids[i].name, ids[i].id,
                            o->vocab_size);
    return TFM_OK;
}

tfm_status tfm_config_check(tfm_model_options *o, tfm_error *error)
{
    for (size_t i = 0; i < N_FIELDS; i++)
        if (fields[i].kind != U64 && !within(&fields[i], get(o, &fields[i])))
            return out_of_range(&fields[i], get(o, &fields[i]), error);
    if (o->reserved) return tfm_fail(error, TFM_E_UNSUPPORTED, "reserved is %u, not 0", o->reserved);
    if ((!o->d_k || !o->d_v) && o->d_model % o->n_heads)
        return tfm_fail(error, TFM_E_INVALID, "d_model %u is not a multiple of n_heads %u: set d_k and d_v", o->d_model,
                        o->n_heads);
    if (!o->d_k) o->d_k = o->d_model / o->n_heads;
    if (!o->d_v) o->d_v = o->d_model / o->n_heads;
    if (o->d_k > MOST_HEAD || o->d_v > MOST_HEAD)
        return tfm_fail(error, TFM_E_INVALID, "d_model %u / n_heads %u is more than %d: set d_k and d_v", o->d_model,
                        o->n_heads, MOST_HEAD);
    if (!o->source_vocab_size) o->source_vocab_size = o->vocab_size;
    if (o->source_vocab_size < 4)
        return tfm_fail(error, TFM_E_INVALID, "source_vocab_size is %u, not in 4..16777216", o->source_vocab_size);
    if (o->sharing == TFM_SHARE_ALL && o->source_vocab_size != o->vocab_size)
        return tfm_fail(error, TFM_E_INVALID,
                        "source_vocab_size is %u but vocab_size %u: one shared matrix needs equal sizes",
                        o->source_vocab_size, o->vocab_size);
    if (o->positions == TFM_POSITIONS_LEARNED && o->position_offset >= o->max_positions)
        return tfm_fail(error, TFM_E_INVALID, "position_offset is %u, not below max_positions %u", o->position_offset,
                        o->max_positions);
    const tfm_status status = check_ids(o, error);
    if (status != TFM_OK || !o->force_first) return status;
    if (o->first_id >= o->vocab_size)
        return tfm_fail(error, TFM_E_INVALID, "first_id is %u, not below vocab_size %u", o->first_id, o->vocab_size);
    if (o->first_id != o->eos_id) return TFM_OK;
    return tfm_fail(error, TFM_E_INVALID, "first_id is %u, which is eos_id: nothing can follow", o->first_id);
}

int32_t tfm_config_start(const tfm_model_options *o)
{
    return o->start == TFM_START_ZERO ? -1 : (int32_t)o->bos_id;
}

int32_t tfm_config_end(const tfm_model_options *o, bool source)
{
    return source && o->plain_source ? -1 : (int32_t)o->eos_id;
}

void tfm_config_costs(tfm_model_costs *c, const tfm_model_options *o, uint32_t n, uint32_t m)
{
    const uint64_t d = o->d_model, ff = o->d_ff, hk = (uint64_t)o->n_heads * o->d_k, hv = (uint64_t)o->n_heads * o->d_v;
    const uint64_t V = o->vocab_size, norm = 2 * d, final = o->norm_order == TFM_PRE_NORM ? norm : 0;
    const double ne = o->n_encoder_layers, nd = o->n_decoder_layers;
    const double attention = (double)d * (double)(2 * hk + 2 * hv), ffn = 2.0 * (double)d * (double)ff;

    *c = (tfm_model_costs){0};
    c->attention = d * (2 * hk + 2 * hv) + (o->attention_bias ? 2 * hk + hv + d : 0);
    c->feedforward = 2 * d * ff + (o->ffn_bias ? ff + d : 0);
    c->encoder = o->n_encoder_layers * (c->attention + c->feedforward + 2 * norm) + final;
    c->decoder = o->n_decoder_layers * (2 * c->attention + c->feedforward + 3 * norm) + final;
    c->embeddings = V * d + (o->softmax_bias ? V : 0);
    if (o->sharing != TFM_SHARE_ALL) c->embeddings += o->source_vocab_size * d;
    if (o->sharing == TFM_SHARE_NONE) c->embeddings += V * d;
    if (o->positions == TFM_POSITIONS_LEARNED) c->embeddings += 2 * (uint64_t)o->max_positions * d;
    if (o->embedding_norm) c->embeddings += 2 * norm;
    c->parameters = c->encoder + c->decoder + c->embeddings;
    c->source_macs = ne * (attention + ffn) + nd * (double)d * (double)(hk + hv) + ne * n * (double)(hk + hv);
    c->target_macs = nd * (attention + (double)d * (double)(hk + hv) + ffn) + (double)V * (double)d +
                     nd * ((double)m + n) * (double)(hk + hv);
    c->training_flops = 6.0 * (c->source_macs + c->target_macs);
}

tfm_status tfm_config_to_json(tfm_buffer *out, const tfm_model_options *options, tfm_error *error)
{
    json_t *object = json_object();
    bool bad = !object;

    for (size_t i = 0; i < N_FIELDS; i++) {
        const field *f = &fields[i];
        const double value = f->kind == U64 ? 0.0 : get(options, f);
        json_t *item;

        if (f->values[0]) item = json_string(f->values[(size_t)value]);
        else if (f->kind == U64) item = json_integer((json_int_t)get_u64(options, f));
        else item = f->kind == F32 ? json_real(value) : json_integer((json_int_t)value);
        bad |= json_object_set_new(object, f->name, item) != 0;
    }
    bad = bad || json_dump_callback(object, tfm_buffer_take, out, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0;
    json_decref(object);
    return bad ? tfm_fail(error, TFM_E_NOMEM, "configuration: no memory") : TFM_OK;
}

static tfm_status read_field(tfm_model_options *options, const char *name, const json_t *item, tfm_error *error)
{
    const field *f = find(name);

    if (!f) return tfm_fail(error, TFM_E_UNSUPPORTED, "config field '%.60s' is not known to this version", name);
    if (f->values[0] && json_is_string(item)) {
        const char *value = json_string_value(item);
        for (size_t i = 0; i < 4 && f->values[i]; i++)
            if (!strcmp(value, f->values[i])) return put(options, f, (double)i, i), TFM_OK;
        return tfm_fail(error, TFM_E_UNSUPPORTED, "config field %s is '%.60s', which is not known", name, value);
    }
    if (!json_is_number(item)) return tfm_fail(error, TFM_E_FORMAT, "config field %s is not a number", name);
    const uint64_t u64 = json_is_integer(item) ? (uint64_t)json_integer_value(item) : 0;
    const double value = f->kind == U64 ? (double)u64 : json_number_value(item);
    if (!within(f, value)) return out_of_range(f, value, error);
    put(options, f, value, u64);
    return TFM_OK;
}

/* What a damaged file says is a matter of format, whatever rule it breaks. */
static tfm_status as_format(tfm_status status, tfm_error *error)
{
    if (status != TFM_E_INVALID) return status;
    if (error) error->status = TFM_E_FORMAT;
    return TFM_E_FORMAT;
}

tfm_status tfm_config_from_json(tfm_model_options *options, tfm_text json, tfm_error *error)
{
    json_t *object, *item;
    tfm_json_fault fault;
    const char *name;

    tfm_config_init(options, sizeof *options);
    if (json.size > MOST_CONFIG)
        return tfm_fail(error, TFM_E_FORMAT, "config has %zu bytes, more than %d", json.size, MOST_CONFIG);
    tfm_status status = tfm_json_read(&object, json, 0, &fault);
    if (status == TFM_E_NOMEM) return tfm_fail(error, status, "configuration: no memory");
    if (!json_is_object(object)) status = tfm_fail(error, TFM_E_FORMAT, "config is not a JSON object");
    else
        json_object_foreach(object, name, item)
        {
            status = read_field(options, name, item, error);
            if (status != TFM_OK) break;
        }
    json_decref(object);
    if (status == TFM_OK) status = tfm_config_check(options, error);
    return as_format(status, error);
}
