/* tfm_attention: eq. (1) on the caller's buffers, queries shared out over threads. */
#include "base/arithmetic.h"
#include "base/threads.h"
#include "kernels/kernels.h"

#include <math.h>

#define OPTIONS_SIZE_MIN (offsetof(tfm_attention_options, allocator) + sizeof(void *))

enum { PIECE = 256 }; /* most queries of a task: it copies the keys that they see, 1 % of its work */

void tfm_attention_options_init(tfm_attention_options *options, size_t struct_size)
{
    const tfm_attention_options defaults = {.key_length = SIZE_MAX, .n_threads = 1};
    tfm_options_fill(options, struct_size, &defaults, sizeof defaults);
}

typedef struct job {
    const tfm_kernels *kernels;
    tfm_head head;
    const tfm_attention_options *o;
    float *scratch;
    size_t scratch_size;
    size_t piece; /* queries of a task */
} job;

/* Queries begin .. end as a head of their own, standing where they stood among all. */
static void run_piece(void *arg, size_t task, size_t thread)
{
    const job *j = arg;
    const size_t begin = task * j->piece, all = j->head.m, rest = all - begin;
    const size_t end = rest < j->piece ? all : begin + j->piece;
    tfm_head h = j->head;

    h.q += begin * h.q_stride;
    h.out += begin * h.out_stride;
    h.m = end - begin;
    h.shift = (int64_t)end - (int64_t)all;
    if (h.mask) h.mask += begin * h.n;
    if (h.weights) h.weights += begin * h.n;
    j->kernels->attention(&h, j->scratch + thread * j->scratch_size);
}

static tfm_status check_sizes(size_t m, size_t n, size_t d_k, size_t d_v, tfm_error *error)
{
    const size_t most = (size_t)1 << 31;

    if (!m || !n || !d_k || !d_v || m > most || n > most || d_k > most || d_v > most)
        return tfm_fail(error, TFM_E_INVALID,
                        "n_queries %zu, n_keys %zu, d_k %zu, d_v %zu: each must be in 1..2147483648", m, n, d_k, d_v);
    return TFM_OK;
}

/* Fewer queries than would keep all threads busy are shared out evenly, in whole blocks of the kernel. */
static size_t piece_of(size_t queries, size_t threads)
{
    const size_t share = (queries + threads - 1) / threads, block = TFM_ATTENTION_QUERIES;

    return share < PIECE ? (share + block - 1) / block * block : PIECE;
}

static tfm_status run(job *j, tfm_error *error)
{
    const tfm_allocator a = tfm_allocator_or_default(j->o->allocator);
    tfm_pool *pool;
    tfm_status status = tfm_pool_create(&pool, j->o->n_threads, &a, error);
    size_t floats = 0;

    if (status != TFM_OK) return status;
    const size_t threads = tfm_pool_threads(pool);
    const bool fits = tfm_attention_scratch(&j->scratch_size, j->head.n, j->head.d_k, j->head.d_v, false) &&
                      tfm_mul(threads, j->scratch_size, &floats);
    j->scratch = fits ? tfm_alloc(&a, floats, sizeof(float)) : NULL;
    j->piece = piece_of(j->head.m, threads);
    if (j->scratch) tfm_pool_run(pool, run_piece, j, (j->head.m + j->piece - 1) / j->piece);
    else status = tfm_fail(error, TFM_E_NOMEM, "attention of %zu keys: no memory for scratch", j->head.n);
    tfm_free(&a, j->scratch, floats, sizeof(float));
    tfm_pool_free(pool);
    return status;
}

tfm_status tfm_attention(float *out, float *weights, const float *q, const float *k, const float *v, size_t n_queries,
                         size_t n_keys, size_t d_k, size_t d_v, const tfm_attention_options *options, tfm_error *error)
{
    TFM_OWN_ARITHMETIC;
    tfm_attention_options o;
    tfm_status status = TFM_OK;

    tfm_attention_options_init(&o, sizeof o);
    if (!out || !q || !k || !v)
        return tfm_fail(error, TFM_E_INVALID, "%s is NULL", !out ? "out" : !q ? "q" : !k ? "k" : "v");
    if (options) status = tfm_options_read(&o, sizeof o, OPTIONS_SIZE_MIN, options, error);
    if (status == TFM_OK) status = check_sizes(n_queries, n_keys, d_k, d_v, error);
    if (status == TFM_OK && (o.reserved || !isfinite(o.scale)))
        status = tfm_fail(error, TFM_E_INVALID, "scale must be finite and reserved 0");
    if (status != TFM_OK) return status;
    job j = {
        .kernels = tfm_kernels_for(tfm_cpu_flags(false)),
        .head = {.q = q, .k = k, .v = v, .q_stride = d_k, .k_stride = d_k, .v_stride = d_v, .m = n_queries, .n = n_keys,
                 .d_k = d_k, .d_v = d_v, .scale = o.scale != 0.0f ? o.scale : 1.0f / sqrtf((float)d_k),
                 .causal = o.causal, .window = o.window,
                 .hidden = o.key_length < n_keys ? n_keys - o.key_length : 0, .mask = o.mask, .out = out,
                 .out_stride = d_v, .weights = weights},
        .o = &o,
    };
    return run(&j, error);
}
