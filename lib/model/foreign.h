/* Models of other systems: which tensors of theirs hold a parameter of ours, and how. */
#ifndef TFM_FOREIGN_H
#define TFM_FOREIGN_H

#include "base/json.h"
#include "format/tensor_file.h"
#include "model/model_file.h"

#include <limits.h>

/* For which order of the norms a name is. */
typedef enum tfm_leaf_order { TFM_LEAF_EITHER, TFM_LEAF_POST, TFM_LEAF_PRE } tfm_leaf_order;

/* The end of a name in both systems. Theirs holds ours as one of several parts on top of each other, or transposed. */
typedef struct tfm_leaf {
    const char *ours, *theirs; /* NULL ends a list */
    uint8_t part, parts;
    bool transposed;
    tfm_leaf_order order;
} tfm_leaf;

/* The beginning, '#' for the number of a layer: what stands in it together has the same leaves. */
typedef struct tfm_branch {
    const char *ours, *theirs; /* NULL ends a list */
    const tfm_leaf *leaves;
} tfm_branch;

typedef struct tfm_naming {
    const tfm_branch *branches;
    uint32_t first_layer; /* of theirs; ours count from 0 */
} tfm_naming;

enum { TFM_FOREIGN_NAME = 160 };

/*
 * The way-th name, from 0, that the parameter may have there, and how it lies in that tensor; NULL: there are no more.
 * bound: a name that does not fit its buffer is none.
 */
const tfm_leaf *tfm_naming_find(const tfm_naming *naming, uint32_t norm_order, const char *ours, unsigned way,
                                char theirs[static TFM_FOREIGN_NAME]);

/* A file's tensors, whatever reader they come from. */
typedef struct tfm_foreign {
    const tfm_naming *naming;
    const void *file;
    const tfm_tensor *(*find)(const void *file, const char *name);
    const tfm_tensor *(*at)(const void *file, size_t index);
    size_t n_tensors;
    const char *path;
    /* Every other tensor must be some parameter's, so that nothing is left out in silence. */
    bool (*is_spare)(const tfm_tensor *tensor);
} tfm_foreign;

/*
 * Fills f, but for the allocator an empty one, with the parameters of a configuration: f->copy, which must be closed
 * also after a failure. returns TFM_OK, TFM_E_FORMAT (a tensor is missing or of another shape), TFM_E_UNSUPPORTED (one
 * of another type, or too many), TFM_E_NOMEM.
 */
tfm_status tfm_foreign_fill(tfm_model_file *f, const tfm_model_options *options, const tfm_foreign *from,
                            tfm_error *error);

/* TFM_E_UNSUPPORTED: what, as "activation", is not one of those known. */
tfm_status tfm_foreign_refuse(const char *path, const char *what, tfm_text value, tfm_error *error);

/* Element i as it stands there: quantised ones are not scaled. Of the types up to 32 bits that models have. */
float tfm_foreign_element(const tfm_tensor *tensor, size_t i);

/*
 * Opens a file, or a directory, of another system; *is tells whether it is one at all: else nothing is done. *f is
 * empty but for the allocator, and is closed after a failure.
 */
tfm_status tfm_foreign_open(tfm_model_file *f, bool *is, const char *path, bool verify, tfm_error *error);

/*
 * Maps the file of this name in the folder of path; *out is {NULL, 0} when there is none. TFM_E_FORMAT: it is empty, or
 * something else than its name says, as a Git LFS pointer.
 */
tfm_status tfm_foreign_beside(tfm_mapping *out, const char *path, const char *name, tfm_error *error);
/* The JSON of that file, of at most so many bytes; NULL when there is none. returns TFM_OK, TFM_E_FORMAT, TFM_E_NOMEM.
 */
tfm_status tfm_foreign_json(json_t **out, const char *path, const char *name, size_t most, tfm_error *error);
enum { TFM_MOST_FOREIGN_CONFIG = 1 << 16 };

/*
 * Finds the tokenizers in the folder of path, Marian's model.npz with the configuration yml, or a file of Hugging Face;
 * f->beside receives those of two languages, f->tokenizer that of both. TFM_E_FORMAT: there are files, but one is
 * missing.
 */
tfm_status tfm_marian_vocabularies(tfm_model_file *f, const char *path, tfm_text yml, tfm_error *error);
tfm_status tfm_hugging_face_vocabularies(tfm_model_file *f, const char *path, tfm_error *error);
/* The model of a directory of Marian: the one that its decoder.yml names, or model.npz; "" when it is no such one. */
tfm_status tfm_marian_model(char path[static PATH_MAX], const char *directory, tfm_error *error);

/* The formats, for tfm_foreign_open(). data: the file. */
tfm_status tfm_marian_read(tfm_model_file *f, tfm_text data, const char *path, bool verify, tfm_error *error);
/* path: of config.json. */
tfm_status tfm_hugging_face_read(tfm_model_file *f, const char *path, bool verify, tfm_error *error);
tfm_status tfm_ct2_read(tfm_model_file *f, tfm_text data, const char *path, tfm_error *error);

/* ------------------------------------------------------------------------------------------------ and back ---- */

extern const tfm_naming tfm_marian_naming, tfm_hugging_face_naming;

/* A model's parameters in another system's tensors. */
typedef struct tfm_foreign_tensors {
    tfm_allocator allocator;
    tfm_weights plan;    /* of what they have: all biases */
    tfm_tensor *tensors; /* [n], and room for one more    */
    char (*names)[TFM_FOREIGN_NAME];
    float *data;
    size_t n;
} tfm_foreign_tensors;

/* row_vectors: vectors are matrices of one row. Biases that ours lacks are zeros. returns TFM_OK, TFM_E_NOMEM. */
tfm_status tfm_foreign_make(tfm_foreign_tensors *out, const tfm_weights *w, const float *data, const tfm_naming *naming,
                            bool row_vectors, bool softmax_bias, tfm_error *error);
void tfm_foreign_tensors_free(tfm_foreign_tensors *tensors);

/* What an option must be, because the other system has no choice. */
typedef struct tfm_foreign_need {
    const char *option;
    double have, want;
} tfm_foreign_need;
tfm_status tfm_foreign_check(const char *system, const tfm_foreign_need *needs, size_t n, tfm_error *error);

/* returns TFM_OK, TFM_E_UNSUPPORTED (the other system cannot express an option, by its name), TFM_E_IO, TFM_E_NOMEM. */
tfm_status tfm_marian_save(const char *path, const tfm_weights *w, const float *data, tfm_error *error);
tfm_status tfm_hugging_face_save(const char *path, const tfm_weights *w, const float *data, tfm_error *error);

#endif
