/* The checkpoint files PREFIX-STEP.ckpt of a training. */
#ifndef CLI_CHECKPOINTS_H
#define CLI_CHECKPOINTS_H

#include <transformer.h>

typedef struct checkpoint_list {
    uint64_t *steps; /* rising */
    size_t size, capacity;
} checkpoint_list;

/* Those in the folder; none when it cannot be read. */
void checkpoints_find(checkpoint_list *list, const char *prefix);
void checkpoints_free(checkpoint_list *list);
/* The file's name; freed by the caller. */
char *checkpoint_path(const char *prefix, uint64_t step);

/* Mean of the models that were loaded from the files; reports failures. */
int models_average(tfm_model **out, const char *const *paths, size_t n, uint32_t skip_checksum);

#endif
