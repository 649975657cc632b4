/* A model on disk: the native safetensors file, and its larger brother the checkpoint (doc/format.md). */
#ifndef TFM_MODEL_FILE_H
#define TFM_MODEL_FILE_H

#include "format/safetensors.h"
#include "model/inference.h"

/* Files of tokenizers beside another system's model: pieces of both languages, and their ids when they lie apart. */
enum { TFM_BESIDE_SOURCE, TFM_BESIDE_TARGET, TFM_BESIDE_SOURCE_IDS, TFM_BESIDE_TARGET_IDS, TFM_BESIDES };
typedef struct tfm_beside {
    tfm_mapping file; /* {NULL, 0}: there is none */
    char name[256];
} tfm_beside;

/*
 * An open file. data: all parameters end to end in plan order, in the mapping, or in copy when the file orders them
 * otherwise. Of a quantised file data is NULL: packed has the matrices, which lie in the mapping, and what else there
 * is, which is in copy.
 */
typedef struct tfm_model_file {
    tfm_allocator allocator;
    tfm_safetensors *file;
    tfm_weights weights;
    const float *data;
    float *copy;
    size_t copy_size; /* floats */
    uint32_t dtype;   /* TFM_DTYPE_F32 or _INT8 */
    tfm_inference packed;
    tfm_beside beside[TFM_BESIDES];
    tfm_text tokenizer; /* its file's text, in a mapping; size 0 when absent, or when there are two beside it */
    tfm_text trainer, provenance; /* JSON, lent; size 0 when absent                      */
} tfm_model_file;

/* verify: reads all the data and compares it with its checksum. */
tfm_status tfm_model_file_open(tfm_model_file *out, const char *path, bool verify, const tfm_allocator *allocator,
                               tfm_error *error);
void tfm_model_file_close(tfm_model_file *file);
/* Copies the optimiser's tensors "optimizer.<moment>.<name>" end to end: weights.size floats. TFM_E_FORMAT when one
 * lacks. */
tfm_status tfm_model_file_moment(const tfm_model_file *file, const char *moment, float *to, tfm_error *error);

/* The text of the tensor that holds the tokenizer, lent until close; size 0 when there is none. TFM_E_FORMAT: not
 * [bytes] of U8. */
tfm_status tfm_model_file_tokenizer(tfm_text *out, const tfm_safetensors *file, tfm_error *error);
/* Appends that tensor for a text which is not empty. Bytes go last, so that all before is aligned. Returns how many
 * that is. */
size_t tfm_model_file_add_tokenizer(tfm_tensor *to, tfm_text tokenizer);

/* The tensor of a parameter, when it is there, is F32 and has the parameter's shape. */
tfm_status tfm_model_file_find(const tfm_model_file *file, const tfm_parameter_plan *parameter, const tfm_tensor **out,
                               const char *path, tfm_error *error);

/* What a file says of its tensors. Texts of size 0 are left out. */
typedef struct tfm_model_header {
    const tfm_model_options *options;
    tfm_text trainer, quantization;
} tfm_model_header;

tfm_status tfm_model_file_write(const char *path, const tfm_model_header *header, const tfm_tensor *tensors, size_t n,
                                const tfm_allocator *allocator, tfm_error *error);

/* m and v NULL: a model; else a checkpoint. Texts of size 0 are left out. */
typedef struct tfm_model_parts {
    const tfm_weights *weights;
    const float *data, *m, *v;
    tfm_text tokenizer, trainer;
} tfm_model_parts;

tfm_status tfm_model_file_save(const char *path, const tfm_model_parts *parts, const tfm_allocator *allocator,
                               tfm_error *error);

#endif
