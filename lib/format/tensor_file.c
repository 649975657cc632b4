/* A table of named tensors and what it owns. */
#include "format/tensor_file.h"

#include <stdlib.h>

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

static int compare_tensors(const void *a, const void *b)
{
    return strcmp(((const tfm_tensor *)a)->name, ((const tfm_tensor *)b)->name);
}

static int compare_aliases(const void *a, const void *b)
{
    return strcmp(((const tfm_tensor_alias *)a)->name, ((const tfm_tensor_alias *)b)->name);
}

tfm_status tfm_tensor_file_sort(tfm_tensor_file *file, tfm_error *error)
{
    const char *twice = NULL;

    if (file->n) qsort(file->tensors, file->n, sizeof *file->tensors, compare_tensors);
    if (file->n_aliases) qsort(file->aliases, file->n_aliases, sizeof *file->aliases, compare_aliases);
    for (size_t i = 1; i < file->n; i++)
        if (!compare_tensors(&file->tensors[i - 1], &file->tensors[i])) twice = file->tensors[i].name;
    for (size_t i = 1; i < file->n_aliases; i++)
        if (!compare_aliases(&file->aliases[i - 1], &file->aliases[i])) twice = file->aliases[i].name;
    return twice ? tfm_fail(error, TFM_E_FORMAT, "%.120s: the name %.80s is there twice", file->name, twice) : TFM_OK;
}

static const tfm_tensor *find_own(const tfm_tensor_file *file, const char *name)
{
    const tfm_tensor wanted = {.name = name};

    return file->n ? bsearch(&wanted, file->tensors, file->n, sizeof wanted, compare_tensors) : NULL;
}

const tfm_tensor *tfm_tensor_file_find(const tfm_tensor_file *file, const char *name)
{
    const tfm_tensor_alias wanted = {.name = name}, *alias = NULL;
    const tfm_tensor *tensor = find_own(file, name);

    if (!tensor && file->n_aliases)
        alias = bsearch(&wanted, file->aliases, file->n_aliases, sizeof wanted, compare_aliases);
    return alias ? find_own(file, alias->of) : tensor;
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
