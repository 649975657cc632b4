/* The matrices of a model file as int8 panels, which lie in the file as the products read them (doc/format.md). */
#ifndef TFM_QUANTISED_FILE_H
#define TFM_QUANTISED_FILE_H

#include "model/model_file.h"

/* Metadata "quantization". */
#define TFM_QUANTISED_SCHEME "int8-rows-16x4"

/* The part of opening that differs: with file->file and file->weights in place, checks every tensor and fills
 * file->packed. */
tfm_status tfm_quantised_open(tfm_model_file *file, const char *path, tfm_error *error);

/* packed: int8. data: of all parameters, or, with rest, of those that are in no matrix, end to end: norms and biases.
 */
typedef struct tfm_quantised_parts {
    const tfm_inference *packed;
    const float *data;
    bool rest;
    tfm_text tokenizer;
} tfm_quantised_parts;

tfm_status tfm_quantised_save(const char *path, const tfm_quantised_parts *parts, const tfm_allocator *allocator,
                              tfm_error *error);

#endif
