/* Prints a configuration, its parameters and its costs. */
#include "inspection.h"
#include "console.h"
#include "json_text.h"
#include "model_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A configuration that the paper trained: its own cost is an estimate of capacity, time x machines x rate (3.1). */
typedef struct published {
    const char *preset;
    uint64_t steps;
    double hours; /* on 8 P100 of 9.5e12 FLOP/s each */
} published;

static const double PUBLISHED_RATE = 8 * 9.5e12;  /* FLOP/s */
static const double PUBLISHED_STEP_PAIRS = 25000; /* pairs of a source and a target token in an update (5.1) */

/* The published training of these sizes, or NULL. */
static const published *find_published(const tfm_model_options *o)
{
    static const published runs[] = {{"base", 100000, 12}, {"big", 300000, 84}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        tfm_model_options p;
        tfm_model_options_init(&p, sizeof p);
        if (tfm_model_options_preset(&p, runs[r].preset, NULL)) continue;
        if (o->n_encoder_layers == p.n_encoder_layers && o->n_decoder_layers == p.n_decoder_layers &&
            o->d_model == p.d_model && o->d_ff == p.d_ff && o->n_heads == p.n_heads)
            return &runs[r];
    }
    return NULL;
}

/* The names of the fields that are one of several, in the words of --set. */
static const char *word(uint32_t value, const char *a, const char *b, const char *c)
{
    return value == 0 ? a : value == 1 ? b : c;
}

static const char *norm_word(const tfm_model_options *o)
{
    return word(o->norm_order, "post", "pre", "?");
}

static const char *positions_word(const tfm_model_options *o)
{
    return o->positions == TFM_POSITIONS_SPLIT ? "split" : word(o->positions, "paper", "halves", "learned");
}

static const char *activation_word(const tfm_model_options *o)
{
    return o->activation == TFM_ACTIVATION_SWISH ? "swish" : word(o->activation, "relu", "gelu", "gelu_tanh");
}

static const char *sharing_word(const tfm_model_options *o)
{
    return word(o->sharing, "all", "target", "none");
}

static const char *start_word(const tfm_model_options *o)
{
    return word(o->start, "bos", "zero", "?");
}

static const char *weights_word(const inspection *i)
{
    return tfm_model_dtype(i->model) == TFM_DTYPE_INT8 ? "int8, with a scale for each output; norms and biases float32"
                                                       : "float32";
}

static uint32_t width_of(uint32_t given, const tfm_model_options *o)
{
    return given ? given : o->n_heads ? o->d_model / o->n_heads : 0;
}

static void print_configuration(const inspection *i)
{
    const tfm_model_options *o = &i->options;
    char text[160];
    printf("%s: %s\n", i->path ? i->path : i->args->preset, model_options_describe(o, text));
    printf("  n_encoder_layers %u, n_decoder_layers %u, d_model %u, d_ff %u, n_heads %u, d_k %u, d_v %u\n",
           o->n_encoder_layers, o->n_decoder_layers, o->d_model, o->d_ff, o->n_heads, width_of(o->d_k, o),
           width_of(o->d_v, o));
    printf("  vocab_size %u, source_vocab_size %u, sharing %s, start %s\n", o->vocab_size,
           o->source_vocab_size ? o->source_vocab_size : o->vocab_size, sharing_word(o), start_word(o));
    printf("  norm_order %s, layer_norm_eps %g, positions %s from %u", norm_word(o), (double)o->layer_norm_eps,
           positions_word(o), o->position_offset);
    if (o->positions == TFM_POSITIONS_LEARNED) printf(", at most %u", o->max_positions);
    printf("\n  attention_bias %u, ffn_bias %u, softmax_bias %u, activation %s\n", o->attention_bias, o->ffn_bias,
           o->softmax_bias, activation_word(o));
    if (o->embedding_norm || o->plain_embedding)
        printf("  embedding_norm %u, plain_embedding %u\n", o->embedding_norm, o->plain_embedding);
    if (o->own_ids)
        printf("  pad_id %u, eos_id %u, bos_id %u, plain_source %u\n", o->pad_id, o->eos_id, o->bos_id,
               o->plain_source);
    if (o->force_first) printf("  first_id %u\n", o->first_id);
    const tfm_tokenizer *tokenizer = i->model ? tfm_model_tokenizer(i->model) : NULL;
    const tfm_tokenizer *target = tfm_tokenizer_target(tokenizer);
    if (tokenizer)
        printf("  tokenizer %s, %u entries\n", tokenizer_kind_name(tokenizer), tfm_tokenizer_vocab_size(tokenizer));
    if (target != tokenizer)
        printf("  tokenizer of targets %s, %u entries\n", tokenizer_kind_name(target),
               tfm_tokenizer_vocab_size(target));
    if (!tokenizer && i->model) printf("  no tokenizer\n");
    if (i->model) printf("  weights %s\n", weights_word(i));
}

static void print_count(const char *name, uint64_t value)
{
    char out[32];
    printf("  %-28s %15s\n", name, format_count(out, value));
}

static void print_parameters(const inspection *i)
{
    const tfm_model_costs *c = &i->costs;
    printf("\nParameters (exact)\n");
    print_count("attention sub-layer, each", c->attention);
    print_count("feed-forward sub-layer, each", c->feedforward);
    print_count("encoder", c->encoder);
    print_count("decoder", c->decoder);
    print_count("body (encoder + decoder)", c->encoder + c->decoder);
    print_count("embeddings and output", c->embeddings);
    print_count("total", c->parameters);
}

static void print_macs(const char *name, double all, double linear)
{
    char a[32], b[32];
    printf("  %-28s %15s, of which attention matrices %s\n", name, format_count(a, (uint64_t)(all + 0.5)),
           format_count(b, (uint64_t)(all - linear + 0.5)));
}

static void print_costs(const inspection *i)
{
    const published *run = find_published(&i->options);
    const tfm_model_costs *c = &i->costs;
    printf("\nCost (counted: 1 multiply-add = 2 FLOP, backward = 2 x forward; sentences of %u tokens)\n",
           i->args->length);
    print_macs("multiply-adds, source token", c->source_macs, i->linear.source_macs);
    print_macs("multiply-adds, target token", c->target_macs, i->linear.target_macs);
    printf("  %-28s %15.4g FLOP\n", "training, per token pair", c->training_flops);
    if (!run) return;
    const double step = c->training_flops * PUBLISHED_STEP_PAIRS, all = step * (double)run->steps;
    const double capacity = run->hours * 3600 * PUBLISHED_RATE;
    printf("  %-28s %15.4g FLOP (25000 source + 25000 target tokens)\n", "training, per step", step);
    printf("  %-28s %15.3g FLOP (%llu steps)\n", "training, whole run", all, (unsigned long long)run->steps);
    printf("The paper's figure (an estimate of capacity, not a count: %g h x 8 P100 x 9.5 TFLOP/s)\n", run->hours);
    printf("  %-28s %15.2g FLOP, of which the count is %.0f %%\n", "training, whole run", capacity,
           100 * all / capacity);
}

static void print_shape(const tfm_parameter *p, const char *separator)
{
    for (uint32_t k = 0; k < p->rank; k++) printf("%s%u", k ? separator : "", p->shape[k]);
}

static uint64_t count_values(const tfm_parameter *p)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < p->rank; k++) n *= p->shape[k];
    return n;
}

/* Describes parameter k; the matrices of a quantised model are not lent, but have a name and a shape. */
static const char *parameter_type(const tfm_model *model, size_t k, tfm_parameter *p)
{
    return tfm_model_parameter_at(p, model, k, NULL) ? "int8" : "float32";
}

static void print_tensors(const inspection *i)
{
    char count[32];
    tfm_parameter p;
    printf("\nTensors\n");
    for (size_t k = 0; k < tfm_model_parameter_count(i->model); k++) {
        const char *type = parameter_type(i->model, k, &p);
        printf("  %-52s %12s  %s [", p.name, format_count(count, count_values(&p)), type);
        print_shape(&p, ", ");
        printf("]\n");
    }
}

static void json_configuration(const inspection *i)
{
    const tfm_model_options *o = &i->options;
    printf("\"n_encoder_layers\":%u,\"n_decoder_layers\":%u,\"d_model\":%u,\"d_ff\":%u,\"n_heads\":%u,\"d_k\":%u,\"d_"
           "v\":%u,",
           o->n_encoder_layers, o->n_decoder_layers, o->d_model, o->d_ff, o->n_heads, width_of(o->d_k, o),
           width_of(o->d_v, o));
    printf("\"vocab_size\":%u,\"source_vocab_size\":%u,\"sharing\":\"%s\",\"start\":\"%s\",\"norm_order\":\"%s\",",
           o->vocab_size, o->source_vocab_size ? o->source_vocab_size : o->vocab_size, sharing_word(o), start_word(o),
           norm_word(o));
    printf("\"positions\":\"%s\",\"position_offset\":%u,\"max_positions\":%u,\"attention_bias\":%u,\"ffn_bias\":%u,",
           positions_word(o), o->position_offset, o->max_positions, o->attention_bias, o->ffn_bias);
    printf(
        "\"softmax_bias\":%u,\"layer_norm_eps\":%.9g,\"activation\":\"%s\",\"embedding_norm\":%u,\"plain_embedding\":%u",
        o->softmax_bias, (double)o->layer_norm_eps, activation_word(o), o->embedding_norm, o->plain_embedding);
}

static void json_costs(const inspection *i)
{
    const tfm_model_costs *c = &i->costs;
    const published *run = find_published(&i->options);
    printf("\"parameters\":{\"attention\":%llu,\"feedforward\":%llu,\"encoder\":%llu,\"decoder\":%llu,\"body\":%llu,"
           "\"embeddings\":%llu,\"total\":%llu},",
           (unsigned long long)c->attention, (unsigned long long)c->feedforward, (unsigned long long)c->encoder,
           (unsigned long long)c->decoder, (unsigned long long)(c->encoder + c->decoder),
           (unsigned long long)c->embeddings, (unsigned long long)c->parameters);
    printf("\"counted\":{\"length\":%u,\"source_macs\":%.17g,\"source_attention_macs\":%.17g,\"target_macs\":%.17g,"
           "\"target_attention_macs\":%.17g,\"training_flops_per_pair\":%.17g}",
           i->args->length, c->source_macs, c->source_macs - i->linear.source_macs, c->target_macs,
           c->target_macs - i->linear.target_macs, c->training_flops);
    if (run) printf(",\"paper_capacity_estimate_flops\":%.5g", run->hours * 3600 * PUBLISHED_RATE);
}

static void json_tensors(const inspection *i)
{
    tfm_parameter p;
    printf(",\"tensors\":[");
    for (size_t k = 0; k < tfm_model_parameter_count(i->model); k++) {
        const char *type = parameter_type(i->model, k, &p);
        printf("%s{\"name\":", k ? "," : "");
        put_json(stdout, p.name);
        printf(",\"dtype\":\"%s\",\"shape\":[", type);
        print_shape(&p, ",");
        printf("]}");
    }
    printf("]");
}

static void print_json(const inspection *i)
{
    printf("{\"%s\":", i->path ? "file" : "preset");
    put_json(stdout, i->path ? i->path : i->args->preset);
    printf(",\"configuration\":{");
    json_configuration(i);
    printf("},");
    const tfm_tokenizer *tokenizer = i->model ? tfm_model_tokenizer(i->model) : NULL;
    if (tokenizer)
        printf("\"tokenizer\":{\"kind\":\"%s\",\"size\":%u},", tokenizer_kind_name(tokenizer),
               tfm_tokenizer_vocab_size(tokenizer));
    const tfm_tokenizer *target = tfm_tokenizer_target(tokenizer);
    if (target != tokenizer)
        printf("\"target_tokenizer\":{\"kind\":\"%s\",\"size\":%u},", tokenizer_kind_name(target),
               tfm_tokenizer_vocab_size(target));
    if (i->model) printf("\"weights\":\"%s\",", tfm_model_dtype(i->model) == TFM_DTYPE_INT8 ? "int8" : "float32");
    json_costs(i);
    if (i->args->parameters) json_tensors(i);
    printf("}\n");
}

int inspection_print(inspection *i)
{
    tfm_error error;
    const uint32_t n = i->args->length;
    if (tfm_model_options_costs(&i->costs, sizeof i->costs, &i->options, n, n, &error) ||
        tfm_model_options_costs(&i->linear, sizeof i->linear, &i->options, 0, 0, &error))
        return console_fail("%s", error.message);
    if (i->args->json) {
        print_json(i);
        return EXIT_SUCCESS;
    }
    print_configuration(i);
    print_parameters(i);
    print_costs(i);
    if (i->args->parameters) print_tensors(i);
    return EXIT_SUCCESS;
}
