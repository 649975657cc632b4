/* A table of named tensors and what it owns. */
#include "format/tensor_file.h"

bool tfm_tensor_file_add(tfm_tensor_file *file, const tfm_tensor *tensor)
{
    if (!tfm_grow(&file->allocator, &file->tensors, &file->capacity, file->n + 1, sizeof *file->tensors)) return false;
    file->tensors[file->n++] = *tensor;
    return true;
}

bool tfm_tensor_file_alias(tfm_tensor_file *file, const char *name, const char *of)
{
    if (!tfm_grow(&file->allocator, &file->aliases, &file->aliases_capacity, file->n_aliases + 1,
                  sizeof *file->aliases))
        return false;
    file->aliases[file->n_aliases++] = (tfm_tensor_alias){name, of};
    return true;
}

static const tfm_tensor *find_own(const tfm_tensor_file *file, const char *name)
{
    for (size_t i = 0; i < file->n; i++)
        if (!strcmp(file->tensors[i].name, name)) return &file->tensors[i];
    return NULL;
}

const tfm_tensor *tfm_tensor_file_find(const tfm_tensor_file *file, const char *name)
{
    const tfm_tensor *tensor = find_own(file, name);

    for (size_t i = 0; !tensor && i < file->n_aliases; i++)
        if (!strcmp(file->aliases[i].name, name)) return find_own(file, file->aliases[i].of);
    return tensor;
}

const tfm_tensor *tfm_tensor_file_at(const void *file, size_t index)
{
    return &((const tfm_tensor_file *)file)->tensors[index];
}

void tfm_tensor_file_close(tfm_tensor_file *file)
{
    if (!file->allocator.resize) return;
    for (size_t i = 0; i < file->n_inflated; i++)
        tfm_free(&file->allocator, file->inflated[i].data, file->inflated[i].size, 1);
    tfm_free(&file->allocator, file->inflated, file->inflated_capacity, sizeof *file->inflated);
    tfm_free(&file->allocator, file->tensors, file->capacity, sizeof *file->tensors);
    tfm_free(&file->allocator, file->aliases, file->aliases_capacity, sizeof *file->aliases);
    tfm_buffer_free(&file->names);
    *file = (tfm_tensor_file){0};
}
