/* Finds the files of tokenizers beside models of other systems; what they say is not looked at here. */
#include "model/foreign.h"

#include "base/utf8.h"
#include "format/yaml.h"

#include <stdio.h>
#include <unistd.h>

#define SOURCE "source.spm"
#define TARGET "target.spm"

/* Bytes of the folder, its slash included, that a path begins with. */
static int folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (int)(slash + 1 - path) : 0;
}

/* *out is empty when there is no file of this name beside path. TFM_E_FORMAT: as of tfm_foreign_beside(). */
static tfm_status find(tfm_beside *out, const char *path, tfm_text name, tfm_error *error)
{
    tfm_file_unmap(&out->file);
    if (!name.size || name.size >= sizeof out->name) return TFM_OK;
    snprintf(out->name, sizeof out->name, "%.*s", (int)name.size, name.data);
    return tfm_foreign_beside(&out->file, path, out->name, error);
}

/* Are there pieces of both languages? TFM_E_FORMAT: of one alone. */
static tfm_status find_pieces(bool *both, tfm_model_file *f, const char *path, tfm_text source, tfm_text target,
                              tfm_error *error)
{
    tfm_beside *s = &f->beside[TFM_BESIDE_SOURCE], *t = &f->beside[TFM_BESIDE_TARGET];

    tfm_status status = find(s, path, source, error);
    if (status == TFM_OK) status = find(t, path, target, error);
    *both = s->file.data && t->file.data;
    if (status != TFM_OK || !s->file.data == !t->file.data) return status;
    return tfm_fail(error, TFM_E_FORMAT, "%.*s%.60s is there, but %.60s is not: text needs both; bring it, or take the "
                    "other away to use the model by ids", folder_of(path) < 80 ? folder_of(path) : 80, path,
                    s->file.data ? s->name : t->name, s->file.data ? t->name : s->name);
}

static tfm_status find_ids(tfm_beside *out, const char *path, tfm_text name, tfm_error *error)
{
    const tfm_status status = find(out, path, name, error);

    if (status != TFM_OK || out->file.data) return status;
    return tfm_fail(error, TFM_E_FORMAT, "%.*s has no %.60s, which gives the pieces of " SOURCE " and " TARGET
                    " their ids: bring it from where the model came from", folder_of(path) < 80 ? folder_of(path) : 80,
                    path, out->name);
}

tfm_status tfm_hugging_face_vocabularies(tfm_model_file *f, const char *path, tfm_error *error)
{
    const tfm_text ids = tfm_text_of("vocab.json");
    tfm_beside *target = &f->beside[TFM_BESIDE_TARGET_IDS];
    bool both;
    tfm_status status = find_pieces(&both, f, path, tfm_text_of(SOURCE), tfm_text_of(TARGET), error);

    if (status != TFM_OK || !both) return status;
    status = find_ids(&f->beside[TFM_BESIDE_SOURCE_IDS], path, ids, error);
    if (status == TFM_OK) status = find(target, path, tfm_text_of("target_vocab.json"), error);
    return status == TFM_OK && !target->file.data ? find_ids(target, path, ids, error) : status;
}

/* ------------------------------------------------------------------------------------------------- Marian's ---- */

/* Configurations name files by the paths of other machines: what counts is the name in the folder. */
static tfm_text name_of(tfm_text path)
{
    const char *slash = path.size ? memrchr(path.data, '/', path.size) : NULL;

    return slash ? tfm_text_from(path, (size_t)(slash + 1 - path.data)) : path;
}

static bool ends_with(tfm_text name, const char *ending)
{
    const size_t size = strlen(ending);

    return name.size > size && !memcmp(name.data + name.size - size, ending, size);
}

static bool is_spm(tfm_text name)
{
    return ends_with(name, ".spm");
}

/* The vocabularies' names, where they are said first: in decoder.yml, or in the model. */
static void name_vocabularies(tfm_text names[2], tfm_text decoder, tfm_text yml)
{
    const tfm_text document = tfm_yaml_item(decoder, "vocabs", 0).size ? decoder : yml;

    for (size_t i = 0; i < 2; i++) names[i] = name_of(tfm_yaml_item(document, "vocabs", i));
    if (!names[0].size) names[0] = tfm_text_of("vocab.yml");
    if (!names[1].size) names[1] = names[0];
}

/* One of both languages, which Marian itself cuts text with. */
static tfm_status find_shared(tfm_model_file *f, const char *path, tfm_text name, tfm_error *error)
{
    tfm_beside *shared = &f->beside[TFM_BESIDE_SOURCE];
    tfm_status status = is_spm(name) ? find(shared, path, name, error) : TFM_OK;

    if (status == TFM_OK && !shared->file.data) status = find(shared, path, tfm_text_of("vocab.spm"), error);
    f->tokenizer = (tfm_text){(const char *)shared->file.data, shared->file.size};
    return status;
}

static tfm_status find_marian(tfm_model_file *f, const char *path, const tfm_text names[2], tfm_error *error)
{
    const bool shared = tfm_text_equal(names[0], names[1]);
    bool both = false;
    tfm_status status = TFM_OK;

    if (is_spm(names[0]) && is_spm(names[1])) {
        if (!shared) status = find_pieces(&both, f, path, names[0], names[1], error);
    } else {
        status = find_pieces(&both, f, path, tfm_text_of(SOURCE), tfm_text_of(TARGET), error);
        for (size_t i = 0; status == TFM_OK && both && i < 2; i++)
            status = find_ids(&f->beside[TFM_BESIDE_SOURCE_IDS + i], path, names[i], error);
    }
    return status == TFM_OK && !both ? find_shared(f, path, shared ? names[0] : (tfm_text){NULL, 0}, error) : status;
}

tfm_status tfm_marian_vocabularies(tfm_model_file *f, const char *path, tfm_text yml, tfm_error *error)
{
    tfm_beside decoder = {.file = {NULL, 0}};
    tfm_text names[2];
    tfm_status status = find(&decoder, path, tfm_text_of("decoder.yml"), error);

    name_vocabularies(names, (tfm_text){(const char *)decoder.file.data, decoder.file.size}, yml);
    for (size_t i = 0; i < 2 && status == TFM_OK; i++)
        if (ends_with(names[i], ".fsv")) status = tfm_foreign_refuse(path, "vocabulary of factors", names[i], error);
    if (status == TFM_OK) status = find_marian(f, path, names, error);
    tfm_file_unmap(&decoder.file);
    return status;
}

tfm_status tfm_marian_model(char path[static PATH_MAX], const char *directory, tfm_error *error)
{
    const tfm_text usual = tfm_text_of("model.npz");
    tfm_beside decoder = {.file = {NULL, 0}};
    char folder[PATH_MAX];

    *path = '\0';
    if (snprintf(folder, sizeof folder, "%s/", directory) >= (int)sizeof folder) return TFM_OK;
    tfm_status status = find(&decoder, folder, tfm_text_of("decoder.yml"), error);
    const tfm_text yml = {(const char *)decoder.file.data, decoder.file.size};
    const tfm_text first = name_of(tfm_yaml_item(yml, "models", 0)), other = tfm_yaml_item(yml, "models", 1);
    const tfm_text name = first.size ? first : usual;
    if (status == TFM_OK && other.size)
        status = tfm_fail(error, TFM_E_UNSUPPORTED, "%.120sdecoder.yml names several models: give the path of one, as "
                          "%.*s", folder, (int)(name.size < 60 ? name.size : 60), name.data);
    else if (status == TFM_OK && snprintf(path, PATH_MAX, "%s%.*s", folder, (int)name.size, name.data) >= PATH_MAX)
        status = tfm_fail(error, TFM_E_INVALID, "%.120s: the path is too long", directory);
    if (status != TFM_OK || (!yml.data && access(path, F_OK))) *path = '\0';
    tfm_file_unmap(&decoder.file);
    return status;
}
