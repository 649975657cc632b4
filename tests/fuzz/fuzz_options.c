/*
 * Any bytes as an options struct, of a caller that knows exactly so many of them: refused, or used. The first byte says
 * which struct. Pointers are the caller's to get right and become NULL; what would only take long is made small.
 */
#include "fuzz_pairs.h"

#include <stddef.h>

/* The input as a struct in a block of exactly its size, so that a sanitizer sees each byte read beyond. */
typedef struct given {
    uint8_t *bytes;
    size_t size;
} given;

static void clear_pointer(given g, size_t offset)
{
    for (size_t i = offset; i < offset + sizeof(void *) && i < g.size; i++) g.bytes[i] = 0;
}

/* Makes a 32-bit field that lies in the struct at most `most`, if it is not above `limit` and refused anyway. */
static void make_small(given g, size_t offset, uint32_t most, uint32_t limit)
{
    uint32_t value;

    if (offset + sizeof value > g.size) return;
    memcpy(&value, g.bytes + offset, sizeof value);
    if (value > most && value <= limit) memcpy(g.bytes + offset, &most, sizeof most);
}

#define CLEAR(type, field) clear_pointer(g, offsetof(type, field))
#define SMALL(type, field, most, limit) make_small(g, offsetof(type, field), most, limit)

static const tfm_model *small_model(void)
{
    static tfm_model *model;
    tfm_model_options o;

    if (model) return model;
    tfm_model_options_init(&o, sizeof o);
    o.n_encoder_layers = o.n_decoder_layers = 1;
    o.d_model = o.d_ff = 4;
    o.n_heads = 2;
    o.vocab_size = FUZZ_VOCAB;
    FUZZ_REQUIRE(tfm_model_create(&model, &o, NULL, NULL) == TFM_OK);
    return model;
}

/* --------------------------------------------------------------------------------------- one for each struct ---- */

static tfm_status use_tokenizer(given g, tfm_error *error)
{
    static const tfm_text lines[] = {FUZZ_TEXT("low lower lowest"), FUZZ_TEXT("new newer newest")};
    tfm_tokenizer *t;

    CLEAR(tfm_tokenizer_options, allocator);
    CLEAR(tfm_tokenizer_options, log);
    const tfm_status status = tfm_tokenizer_learn(&t, (const tfm_tokenizer_options *)(void *)g.bytes, lines, 2, error);
    tfm_tokenizer_free(t);
    return status;
}

static tfm_status use_model(given g, tfm_error *error)
{
    const tfm_model_options *o = (const tfm_model_options *)(void *)g.bytes;
    tfm_model_costs costs;
    tfm_model *model;

    CLEAR(tfm_model_options, allocator);
    const tfm_status status = tfm_model_options_costs(&costs, sizeof costs, o, 3, 3, error);
    if (status == TFM_OK && costs.parameters > 1 << 16) return status;
    const tfm_status created = tfm_model_create(&model, o, NULL, error);
    tfm_model_free(model);
    return created;
}

static tfm_status use_load(given g, tfm_error *error)
{
    tfm_model *model;

    CLEAR(tfm_load_options, allocator);
    return tfm_model_load(&model, fuzz_file(NULL, 0), (const tfm_load_options *)(void *)g.bytes, error);
}

static tfm_status use_decoder(given g, tfm_error *error)
{
    tfm_decoder *decoder;

    CLEAR(tfm_decoder_options, allocator);
    CLEAR(tfm_decoder_options, progress);
    CLEAR(tfm_decoder_options, forbidden);
    CLEAR(tfm_decoder_options, n_forbidden);
    SMALL(tfm_decoder_options, n_threads, 2, 1024);
    SMALL(tfm_decoder_options, beam, 9, 1024);
    SMALL(tfm_decoder_options, max_extra, 5, UINT32_MAX);
    tfm_status status =
        tfm_decoder_create(&decoder, small_model(), (const tfm_decoder_options *)(void *)g.bytes, error);
    if (status == TFM_OK) status = tfm_decoder_translate_ids(decoder, fuzz_sources, FUZZ_PAIRS, error);
    tfm_decoder_free(decoder);
    return status;
}

static tfm_status use_trainer(given g, tfm_error *error)
{
    tfm_trainer *trainer;
    tfm_progress progress;

    CLEAR(tfm_trainer_options, allocator);
    CLEAR(tfm_trainer_options, checkpoint_path);
    CLEAR(tfm_trainer_options, reduce);
    CLEAR(tfm_trainer_options, progress);
    CLEAR(tfm_trainer_options, log);
    SMALL(tfm_trainer_options, n_threads, 2, 1024);
    SMALL(tfm_trainer_options, accumulate, 3, 1 << 20);
    tfm_status status =
        tfm_trainer_create(&trainer, small_model(), (const tfm_trainer_options *)(void *)g.bytes, error);
    if (status == TFM_OK)
        status = tfm_trainer_set_data_ids(trainer, fuzz_sources, fuzz_targets, FUZZ_PAIRS, NULL, 0, error);
    if (status == TFM_OK) status = tfm_trainer_step(trainer, &progress, sizeof progress, error);
    tfm_trainer_free(trainer);
    return status;
}

static tfm_status use_attention(given g, tfm_error *error)
{
    static const float in[5 * 3] = {1, -1, 2, 0.5f};
    float out[5 * 3], weights[5 * 5];

    CLEAR(tfm_attention_options, allocator);
    CLEAR(tfm_attention_options, mask);
    SMALL(tfm_attention_options, n_threads, 2, 1024);
    return tfm_attention(out, weights, in, in, in, 5, 5, 3, 3, (const tfm_attention_options *)(void *)g.bytes, error);
}

static const tfm_text few_hyps[] = {FUZZ_TEXT("the cat sat on-line"), FUZZ_TEXT("a")},
                      few_refs[] = {FUZZ_TEXT("The cat sat on line."), FUZZ_TEXT("")}, *const few[] = {few_refs};

static tfm_status use_bleu(given g, tfm_error *error)
{
    tfm_bleu_result result;

    CLEAR(tfm_bleu_options, allocator);
    return tfm_bleu(&result, sizeof result, few_hyps, 2, few, 1, (const tfm_bleu_options *)(void *)g.bytes, error);
}

static tfm_status use_chrf(given g, tfm_error *error)
{
    tfm_metric_result result;

    CLEAR(tfm_chrf_options, allocator);
    return tfm_chrf(&result, sizeof result, few_hyps, 2, few, 1, (const tfm_chrf_options *)(void *)g.bytes, error);
}

static tfm_status use_ter(given g, tfm_error *error)
{
    tfm_metric_result result;

    CLEAR(tfm_ter_options, allocator);
    return tfm_ter(&result, sizeof result, few_hyps, 2, few, 1, (const tfm_ter_options *)(void *)g.bytes, error);
}

static tfm_status use_measure(given g, tfm_error *error)
{
    const size_t at = offsetof(tfm_measure_options, seconds);
    tfm_measurement result;
    double seconds;

    CLEAR(tfm_measure_options, allocator);
    SMALL(tfm_measure_options, n_threads, 2, UINT32_MAX);
    if (at + sizeof seconds <= g.size) memcpy(&seconds, g.bytes + at, sizeof seconds);
    if (at + sizeof seconds <= g.size && seconds > 0 && seconds <= 3600) memset(g.bytes + at, 0, sizeof seconds);
    return tfm_measure_product(&result, sizeof result, 1, 2, 3, (const tfm_measure_options *)(void *)g.bytes, error);
}

/* A field of a model's options by its name: two words with '=' between. */
static tfm_status use_words(given g, tfm_error *error)
{
    char *name = calloc(g.size + 1, 1), *value = name;
    tfm_model_options o;

    FUZZ_REQUIRE(name != NULL);
    memcpy(name, g.bytes, g.size);
    tfm_model_options_init(&o, sizeof o);
    if (strchr(name, '=')) *(value = strchr(name, '=')) = '\0', value++;
    tfm_status status = tfm_model_options_set(&o, name, value, error);
    if (status != TFM_OK) status = tfm_model_options_preset(&o, name, error);
    free(name);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tfm_status (*const use[])(given, tfm_error *) = {use_tokenizer, use_model,     use_load, use_decoder,
                                                            use_trainer,   use_attention, use_bleu, use_measure,
                                                            use_words,     use_chrf,      use_ter};
    const given g = {malloc(size ? size - 1 : 0), size ? size - 1 : 0};
    tfm_error error = {0};

    if (g.size >= sizeof(uint32_t)) {
        const uint32_t known = (uint32_t)g.size;
        const size_t which = data[0] % (sizeof use / sizeof *use);
        FUZZ_REQUIRE(g.bytes != NULL);
        memcpy(g.bytes, data + 1, g.size);
        if (use[which] != use_words) memcpy(g.bytes, &known, sizeof known);
        fuzz_check_error(use[which](g, &error), &error);
    }
    free(g.bytes);
    return 0;
}
