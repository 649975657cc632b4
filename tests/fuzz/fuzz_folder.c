/*
 * Any bytes as one file of a model that another system keeps in several: refused, or a model. The first byte says which
 * file of which system; those that it must have besides are as they should be.
 */
#include "../foreign_samples.h"
#include "../spm_file.h"
#include "fuzz_memory.h"

enum { HUGGING_FACE, SHARDS, CTRANSLATE2, MARIAN, OPUS };

#define SHARD "model-1.safetensors"

static const struct {
    const char *name;
    int system;
} files[] = {{"config.json", HUGGING_FACE},
             {"model.safetensors", HUGGING_FACE},
             {"generation_config.json", HUGGING_FACE},
             {"model.safetensors.index.json", SHARDS},
             {"model.bin", CTRANSLATE2},
             {"config.json", CTRANSLATE2},
             {"shared_vocabulary.json", CTRANSLATE2},
             {"target_vocabulary.txt", CTRANSLATE2},
             {"vocab.spm", MARIAN},
             {"decoder.yml", OPUS},
             {"opus.vocab.yml", OPUS},
             {"target.spm", OPUS}};
enum { FILES = sizeof files / sizeof *files };

static char folder[64];

static void remove_folder(void)
{
    rmdir(folder);
}

static const char *place(const char *name)
{
    static char path[128];

    if (!*folder) {
        strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/fuzz-XXXXXX" : "/dev/shm/fuzz-XXXXXX");
        FUZZ_REQUIRE(mkdtemp(folder) && atexit(remove_folder) == 0);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static size_t write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(place(name), "wb");

    FUZZ_REQUIRE(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    return size;
}

static size_t write_opus(void)
{
    static spm_file spm;

    spm_small(&spm, (spm_form){.model = 1});
    return write_file("source.spm", spm.bytes, spm.size) + write_file("target.spm", spm.bytes, spm.size) +
           write_file("opus.vocab.yml", OPUS_VOCABULARY, sizeof OPUS_VOCABULARY - 1) +
           write_file("decoder.yml", OPUS_DECODER, sizeof OPUS_DECODER - 1);
}

/* The files that a model of the system cannot be without; their bytes. */
static size_t write_good(int system)
{
    static unsigned char bytes[SAMPLE_ROOM];
    sample s = {.bytes = bytes};

    if (system == CTRANSLATE2) {
        ct2_sample(&s, &(ct2_form){6, CT2_F32, "TransformerSpec"});
        return write_file("model.bin", bytes, s.size) + write_file("config.json", "{}", 2);
    }
    if (system == MARIAN || system == OPUS) marian_sample(&s, MARIAN_YML, 0);
    if (system == MARIAN) return write_file("model.npz", bytes, s.size);
    if (system == OPUS) return write_file("opus.npz", bytes, s.size) + write_opus();
    hf_sample(&s);
    return write_file(system == SHARDS ? SHARD : "model.safetensors", bytes, s.size) +
           write_file("config.json", HF_CONFIG, sizeof HF_CONFIG - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    const size_t which = data[0] % FILES, good = write_good(files[which].system);
    const tfm_allocator allocator = fuzz_allocator();
    tfm_load_options o;
    tfm_model *model;
    tfm_error error = {0};

    write_file(files[which].name, data + 1, size - 1);
    tfm_load_options_init(&o, sizeof o);
    o.allocator = &allocator;
    const tfm_status status =
        tfm_model_load(&model, place(files[which].system == MARIAN ? "model.npz" : ""), &o, &error);
    fuzz_check_error(status, &error);
    FUZZ_REQUIRE((status == TFM_OK) == (model != NULL));
    fuzz_check_peak(good + size, 0);
    tfm_model_free(model);
    FUZZ_REQUIRE(fuzz_memory.live == 0);
    for (size_t i = 0; i < FILES; i++) remove(place(files[i].name));
    for (size_t i = 0; i < 4; i++)
        remove(place((const char *const[]){"model.npz", "opus.npz", "source.spm", SHARD}[i]));
    return 0;
}
