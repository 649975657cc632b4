/*
 * Loads the library, uses it with threads, and unloads it, again and again: neither threads nor memory may remain.
 * Usage: unload LIBRARY, which must not be linked otherwise.
 */
#include "transformer.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 100, WARM_UP = 20 };

/* KiB that malloc and the loader may keep. AddressSanitizer keeps what was freed, and finds leaks itself. */
#if defined(__SANITIZE_ADDRESS__)
enum { ALLOWED = 1 << 20 };
#else
enum { ALLOWED = 512 };
#endif

static size_t count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    size_t n = 0;

    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static size_t count_mappings(const char *name)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    size_t n = 0;

    while (maps && fgets(line, sizeof line, maps)) {
        const char *at = line;
        for (const char *c = name; *at && *c; at++) c = *at == *c ? c + 1 : name;
        n += *at != '\0';
    }
    if (maps) fclose(maps);
    return n;
}

/* Kilobytes of this process. */
static long resident(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;

    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    if (status) fclose(status);
    return kib;
}

static void *symbol(void *library, const char *name)
{
    void *s = dlsym(library, name);

    if (s) return s;
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
}

/* A function pointer by way of its bytes: ISO C has no cast from an object pointer. */
#define FIND(type, variable, name)                \
    type variable;                                \
    do {                                          \
        void *s_ = symbol(library, name);         \
        *(void **)(void *)&variable = s_;         \
    } while (0)

typedef void init_fn(void *options, size_t size);
typedef tfm_status create_model_fn(tfm_model **, const tfm_model_options *, const tfm_tokenizer *, tfm_error *);
typedef tfm_status create_decoder_fn(tfm_decoder **, const tfm_model *, const tfm_decoder_options *, tfm_error *);
typedef tfm_status translate_fn(tfm_decoder *, const tfm_ids *, size_t, tfm_error *);
typedef void free_fn(void *);

static tfm_status use(void *library, tfm_error *error)
{
    static const int32_t ids[] = {5, 6, 7, TFM_EOS};
    const tfm_ids source = {ids, 4};
    FIND(init_fn *, init_model, "tfm_model_options_init");
    FIND(init_fn *, init_decoder, "tfm_decoder_options_init");
    FIND(create_model_fn *, create_model, "tfm_model_create");
    FIND(create_decoder_fn *, create_decoder, "tfm_decoder_create");
    FIND(translate_fn *, translate, "tfm_decoder_translate_ids");
    FIND(free_fn *, free_decoder, "tfm_decoder_free");
    FIND(free_fn *, free_model, "tfm_model_free");
    tfm_model_options mo;
    tfm_decoder_options o;
    tfm_model *m = NULL;
    tfm_decoder *d = NULL;

    init_model(&mo, sizeof mo);
    mo.n_encoder_layers = mo.n_decoder_layers = 1;
    mo.d_model = mo.d_ff = 32;
    mo.vocab_size = 50;
    tfm_status status = create_model(&m, &mo, NULL, error);
    init_decoder(&o, sizeof o);
    o.n_threads = 4;
    if (status == TFM_OK) status = create_decoder(&d, m, &o, error);
    if (status == TFM_OK) status = translate(d, &source, 1, error);
    free_decoder(d);
    free_model(m);
    return status;
}

static int use_once(const char *path)
{
    tfm_error error = {0};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const tfm_status status = use(library, &error);
    if (status != TFM_OK) fprintf(stderr, "%s\n", error.message);
    return dlclose(library) || status != TFM_OK;
}

int main(int argc, char **argv)
{
    long before = 0;

    for (int i = 0; argc == 2 && i < TIMES; i++) {
        if (i == WARM_UP) before = resident();
        if (use_once(argv[1])) return 1;
        if (count_entries("/proc/self/task") != 3) return fprintf(stderr, "time %d: threads remain\n", i + 1), 1;
        if (count_mappings("libtransformer")) return fprintf(stderr, "time %d: the library remains\n", i + 1), 1;
    }
    const long grown = resident() - before;
    printf("%d times loaded and unloaded, grown by %ld KiB over the last %d\n", TIMES, grown, TIMES - WARM_UP);
    return argc != 2 || grown > ALLOWED;
}
