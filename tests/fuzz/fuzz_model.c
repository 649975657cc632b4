/* Any bytes as a model file: refused, or a model that can be described and that translates. */
#include "fuzz_memory.h"

enum { MOST_SOURCE = 3, MOST_TARGET = 4 };

static void read_parameters(const tfm_model *model)
{
    tfm_parameter p;
    tfm_error error;
    double sum = 0;

    for (size_t i = 0; i < tfm_model_parameter_count(model); i++) {
        const tfm_status status = tfm_model_parameter_at(&p, model, i, &error);
        FUZZ_REQUIRE(status == TFM_OK || (status == TFM_E_UNSUPPORTED && !p.data));
        for (size_t k = 0; p.data && k < (size_t)p.shape[0] * p.shape[1]; k++) sum += p.data[k];
    }
    FUZZ_REQUIRE(sum <= 0 || sum >= 0 || sum != sum); /* so that it is computed */
}

static void translate(const tfm_model *model, const tfm_model_options *m)
{
    const int32_t ids[MOST_SOURCE] = {TFM_UNK, TFM_UNK, TFM_EOS};
    const tfm_ids source = {ids, MOST_SOURCE};
    tfm_decoder_options o;
    tfm_decoder *decoder;
    tfm_error error = {0};

    tfm_decoder_options_init(&o, sizeof o);
    o.beam = 2;
    o.max_length = MOST_TARGET;
    tfm_status status = tfm_decoder_create(&decoder, model, &o, &error);
    fuzz_check_error(status, &error);
    if (status != TFM_OK) return;
    status = tfm_decoder_translate_ids(decoder, &source, 1, &error);
    fuzz_check_error(status, &error);
    for (size_t i = 0; status == TFM_OK && i < tfm_decoder_count(decoder, 0); i++) {
        const tfm_ids result = tfm_decoder_ids(decoder, 0, i);
        FUZZ_REQUIRE(result.size <= MOST_TARGET);
        for (size_t k = 0; k < result.size; k++)
            FUZZ_REQUIRE(result.data[k] >= 0 && (uint32_t)result.data[k] < m->vocab_size);
    }
    tfm_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tfm_allocator allocator = fuzz_allocator();
    tfm_load_options o;
    tfm_model_options m;
    tfm_model *model;
    tfm_error error = {0};

    tfm_load_options_init(&o, sizeof o);
    o.allocator = &allocator;
    o.skip_checksum = size && data[0] == 'P'; /* of an archive: else what is changed in it is never read */
    const tfm_status status = tfm_model_load(&model, fuzz_file(data, size), &o, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (model != NULL));
    fuzz_check_peak(size, 0);
    if (model) {
        tfm_model_get_options(&m, sizeof m, model);
        read_parameters(model);
        translate(model, &m);
        tfm_model_free(model);
    }
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    return 0;
}
