/* Finds a training's checkpoints in their folder, and averages models. */
#include "checkpoints.h"
#include "console.h"
#include "model_args.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether name is base-STEP.ckpt with STEP as a checkpoint writes it. */
static bool parse_name(const char *name, const char *base, uint64_t *step)
{
    char end[8];
    int used = 0;
    const size_t length = strlen(base);
    unsigned long long number;
    if (strncmp(name, base, length) != 0 || name[length] != '-') return false;
    name += length + 1;
    if (*name < '0' || *name > '9' || sscanf(name, "%19llu%n.%7s", &number, &used, end) < 1) return false;
    *step = number;
    return strcmp(name + used, ".ckpt") == 0;
}

static int compare_steps(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void checkpoints_find(checkpoint_list *list, const char *prefix)
{
    *list = (checkpoint_list){0};
    const char *slash = strrchr(prefix, '/');
    char *folder = slash ? memory_copy(prefix, (size_t)(slash - prefix) + 1) : memory_copy(".", 1);
    DIR *directory = opendir(folder);
    free(folder);
    if (!directory) return;
    uint64_t step;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!parse_name(entry->d_name, slash ? slash + 1 : prefix, &step)) continue;
        memory_grow(&list->steps, &list->capacity, list->size + 1, sizeof *list->steps);
        list->steps[list->size++] = step;
    }
    closedir(directory);
    if (list->size > 1) qsort(list->steps, list->size, sizeof *list->steps, compare_steps);
}

void checkpoints_free(checkpoint_list *list)
{
    free(list->steps);
    *list = (checkpoint_list){0};
}

char *checkpoint_path(const char *prefix, uint64_t step)
{
    char *path = NULL;
    size_t capacity = 0;
    memory_grow(&path, &capacity, strlen(prefix) + 40, 1);
    snprintf(path, capacity, "%s-%llu.ckpt", prefix, (unsigned long long)step);
    return path;
}

int models_average(tfm_model **out, const char *const *paths, size_t n, uint32_t skip_checksum)
{
    tfm_error error;
    tfm_model **models = NULL;
    size_t capacity = 0, loaded = 0;
    int code = EXIT_SUCCESS;
    *out = NULL;
    memory_grow(&models, &capacity, n, sizeof *models);
    while (loaded < n && model_load(&models[loaded], paths[loaded], skip_checksum, &error) == TFM_OK) loaded++;
    if (loaded < n || tfm_model_average(out, (const tfm_model *const *)models, n, &error) != TFM_OK)
        code = console_fail("%s", error.message);
    for (size_t i = 0; i < loaded; i++) tfm_model_free(models[i]);
    free(models);
    return code;
}
