/* Weights as translation reads them: every matrix packed once, in a type of the caller's choice. */
#ifndef TFM_INFERENCE_H
#define TFM_INFERENCE_H

#include "base/file.h"
#include "model/weights.h"

/* A matrix, or several on top of each other, that one product reads. */
typedef struct tfm_packed_matrix {
    char name[TFM_NAME_SIZE]; /* "decoder.layers.0.cross.kv" */
    tfm_panels panels;
    const float *from;        /* what is packed; NULL when the panels lie in a file */
} tfm_packed_matrix;

typedef struct tfm_inference {
    tfm_weights
        weights; /* a plan of its own; matrices have panels, and weight NULL; the rest points into the source's data */
    uint32_t dtype;
    tfm_packed_matrix *matrices;
    size_t n_matrices;
    tfm_block block; /* of the panels */
} tfm_inference;

/* A model's weights, bound to data that stays where it is. mapping: {NULL, 0}, or of the file that the data lies in. */
typedef struct tfm_inference_source {
    const tfm_weights *weights;
    tfm_mapping mapping;
} tfm_inference_source;

/*
 * Everything but the panels' memory: names, types and sizes. dtype: TFM_DTYPE_*. returns TFM_OK, TFM_E_NOMEM, or
 * TFM_E_UNSUPPORTED when sums of the type might overflow.
 */
tfm_status tfm_inference_plan(tfm_inference *out, const tfm_weights *source, uint32_t dtype,
                              const tfm_allocator *allocator, tfm_error *error);
/* Plans and packs. What was packed is released from the mapping at once: no more than a few pieces are in memory twice.
 */
tfm_status tfm_inference_create(tfm_inference *out, const tfm_inference_source *source, uint32_t dtype, tfm_pool *pool,
                                const tfm_allocator *allocator, tfm_error *error);
void tfm_inference_destroy(tfm_inference *inference);

#endif
