/* What is behind tfm_model; for the other handles. */
#ifndef TFM_MODEL_HANDLE_H
#define TFM_MODEL_HANDLE_H

#include "model/forward.h"
#include "model/inference_store.h"
#include "model/model_file.h"

enum {
    TFM_POSITION_ROWS = 256
}; /* sinusoids made with the model, for most sentences; a decoder makes more when it needs them */

struct tfm_model {
    tfm_allocator allocator;
    tfm_model_file file;      /* file.file NULL when the weights are in block */
    tfm_weights weights;
    float *block;             /* owned weights, or NULL */
    const float *data;        /* weights.size floats, end to end in plan order; NULL when the model is quantised */
    uint32_t dtype;           /* TFM_DTYPE_F32, or _INT8: quantised */
    tfm_tokenizer *tokenizer; /* or NULL */
    float *position;          /* [TFM_POSITION_ROWS][d], or NULL when learned */
    tfm_transformer transformer; /* rates 0; float32 weights, not packed */
    tfm_inference_store *packed; /* what decoders multiply by */
};

/* A model of weights w->options holding a copy of data. tokenizer may be NULL; it is copied. */
tfm_status tfm_model_copy_of(tfm_model **out, const tfm_model_options *options, const float *data,
                             const tfm_tokenizer *tokenizer, const tfm_allocator *allocator, tfm_error *error);

/* TFM_E_INVALID when it has more tokens than the configuration, on either side. tokenizer may be NULL. */
tfm_status tfm_model_check_tokenizer(const tfm_model_options *o, const tfm_tokenizer *tokenizer, tfm_error *error);

/* What one model asks of both tokenizers of a pair; any other is fine. */
tfm_status tfm_model_check_pair(const tfm_model_options *o, const tfm_tokenizer *tokenizer, tfm_error *error);
/* The reserved ids where the tokenizer has them. Without one for BOS the decoder starts from the zero vector. */
tfm_status tfm_model_take_ids(tfm_model_options *o, const tfm_tokenizer *tokenizer, tfm_error *error);
/* That of a file, of those beside it when it is another system's; *out stays NULL when there is none. */
tfm_status tfm_model_read_tokenizer(tfm_tokenizer **out, const tfm_model_file *file, const char *path,
                                    const tfm_allocator *allocator, tfm_error *error);

/* TFM_E_UNSUPPORTED, and says so, when the model is quantised. purpose: "train". */
tfm_status tfm_model_need_floats(const tfm_model *model, const char *purpose, tfm_error *error);

#endif
