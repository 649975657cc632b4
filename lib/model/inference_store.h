/* The packed weights of one model: each type is packed once, when it is first asked for, and shared by all who ask. */
#ifndef TFM_INFERENCE_STORE_H
#define TFM_INFERENCE_STORE_H

#include "model/inference.h"

/* Thread safety: any number of threads at once. The allocator is called by one of them at a time. */
typedef struct tfm_inference_store tfm_inference_store;

/* source is copied; what it points at stays where it is. ready: NULL, or the only weights there are, in their type:
 * lent. */
tfm_status tfm_inference_store_create(tfm_inference_store **out, const tfm_inference_source *source,
                                      const tfm_inference *ready, const tfm_allocator *allocator, tfm_error *error);
void tfm_inference_store_free(tfm_inference_store *store); /* takes NULL */

/* *out: matrices as panels of dtype (TFM_DTYPE_*), lent until the store is freed. pool: who packs. */
tfm_status tfm_inference_store_get(tfm_inference_store *store, const tfm_inference **out, uint32_t dtype,
                                   tfm_pool *pool, tfm_error *error);

#endif
