/* A mutex and, for each type, the weights that were packed under it. */
#include "model/inference_store.h"

#include <pthread.h>

enum { TYPES = TFM_DTYPE_INT8 + 1 };

struct tfm_inference_store {
    tfm_allocator allocator;
    tfm_inference_source source;
    const tfm_inference *ready;
    pthread_mutex_t mutex; /* of what follows */
    bool packed[TYPES];
    tfm_inference types[TYPES];
};

tfm_status tfm_inference_store_create(tfm_inference_store **out, const tfm_inference_source *source,
                                      const tfm_inference *ready, const tfm_allocator *allocator, tfm_error *error)
{
    tfm_inference_store *s = tfm_alloc(allocator, 1, sizeof *s);

    *out = s;
    if (!s) return tfm_fail(error, TFM_E_NOMEM, "packed weights: no memory for %zu bytes", sizeof *s);
    *s = (tfm_inference_store){.allocator = *allocator, .source = *source, .ready = ready,
                                .mutex = PTHREAD_MUTEX_INITIALIZER};
    return TFM_OK;
}

void tfm_inference_store_free(tfm_inference_store *store)
{
    if (!store) return;
    const tfm_allocator a = store->allocator;

    for (uint32_t i = 0; i < TYPES; i++) tfm_inference_destroy(&store->types[i]);
    pthread_mutex_destroy(&store->mutex);
    tfm_free(&a, store, 1, sizeof *store);
}

tfm_status tfm_inference_store_get(tfm_inference_store *store, const tfm_inference **out, uint32_t dtype,
                                   tfm_pool *pool, tfm_error *error)
{
    tfm_status status = TFM_OK;

    *out = store->ready ? store->ready : &store->types[dtype];
    if (store->ready) return TFM_OK;
    pthread_mutex_lock(&store->mutex);
    if (!store->packed[dtype])
        status = tfm_inference_create(&store->types[dtype], &store->source, dtype, pool, &store->allocator, error);
    if (status == TFM_OK) store->packed[dtype] = true;
    pthread_mutex_unlock(&store->mutex);
    return status;
}
