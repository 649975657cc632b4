/* Plans and packs the matrices of a model. */
#include "model/inference.h"

#include <stdio.h>

enum {
    MOST_PER_LAYER = 7, ENDS = 3, /* matrices of a decoder layer; embeddings and output */
    MOST_I8_TERMS = INT32_MAX / (128 * 128), /* of a sum of int8 products */
};

/* A walk over the matrices that inference multiplies by, or takes rows of. owner: whose matrices come next,
 * "encoder.layers.0.". */
typedef struct walk {
    tfm_inference *to;
    char owner[TFM_NAME_SIZE - 16];
} walk;

/* Linear layers of the same name share a matrix: it is packed once. */
static void add(walk *w, tfm_linear *to, const tfm_linear *from, const char *name)
{
    tfm_packed_matrix *m = w->to->matrices;
    char full[sizeof m->name];

    snprintf(full, sizeof full, "%s%s", w->owner, name);
    while (m->name[0] && strcmp(m->name, full)) m++;
    if (!m->name[0]) {
        memcpy(m->name, full, sizeof full);
        m->panels = (tfm_panels){.dtype = w->to->dtype, .n = from->out, .k = from->in};
        m->from = from->weight;
        w->to->n_matrices++;
    }
    *to = *from;
    to->panels = &m->panels;
    to->weight = NULL;
}

static void add_attention(walk *w, tfm_attention_layer *to, const tfm_attention_layer *from, bool cross)
{
    *to = *from;
    if (cross) add(w, &to->q, &from->q, "cross.query");
    if (cross) add(w, &to->kv, &from->kv, "cross.key_value");
    else add(w, &to->qkv, &from->qkv, "attention.query_key_value");
    add(w, &to->out, &from->out, cross ? "cross.output" : "attention.output");
}

static void add_feedforward(walk *w, tfm_feedforward_layer *to, const tfm_feedforward_layer *from)
{
    *to = *from;
    add(w, &to->inner, &from->inner, "feedforward.inner");
    add(w, &to->outer, &from->outer, "feedforward.outer");
}

static void add_ends(walk *w, const tfm_weights *from)
{
    const uint32_t sharing = from->options.sharing;
    const char *target = sharing == TFM_SHARE_ALL ? "embedding" : "decoder.embedding";
    tfm_weights *to = &w->to->weights;

    w->owner[0] = '\0';
    add(w, &to->source_embedding, &from->source_embedding, sharing == TFM_SHARE_ALL ? target : "encoder.embedding");
    add(w, &to->target_embedding, &from->target_embedding, target);
    add(w, &to->output, &from->output, sharing == TFM_SHARE_NONE ? "output" : target);
    to->encoder_norm = from->encoder_norm;
    to->decoder_norm = from->decoder_norm;
    to->source_position = from->source_position;
    to->target_position = from->target_position;
    to->source_norm = from->source_norm;
    to->target_norm = from->target_norm;
}

static void add_all(walk *w, const tfm_weights *from)
{
    tfm_weights *to = &w->to->weights;

    add_ends(w, from);
    for (uint32_t i = 0; i < to->options.n_encoder_layers; i++) {
        snprintf(w->owner, sizeof w->owner, "encoder.layers.%u.", i);
        add_attention(w, &to->encoder[i].attention, &from->encoder[i].attention, false);
        add_feedforward(w, &to->encoder[i].feedforward, &from->encoder[i].feedforward);
    }
    for (uint32_t i = 0; i < to->options.n_decoder_layers; i++) {
        snprintf(w->owner, sizeof w->owner, "decoder.layers.%u.", i);
        add_attention(w, &to->decoder[i].attention, &from->decoder[i].attention, false);
        add_attention(w, &to->decoder[i].cross, &from->decoder[i].cross, true);
        add_feedforward(w, &to->decoder[i].feedforward, &from->decoder[i].feedforward);
    }
}

static size_t most_matrices(const tfm_inference *to)
{
    const tfm_model_options *o = &to->weights.options;

    return (size_t)MOST_PER_LAYER * ((size_t)o->n_encoder_layers + o->n_decoder_layers) + ENDS;
}

static tfm_status check_terms(const tfm_inference *plan, tfm_error *error)
{
    for (size_t i = 0; i < plan->n_matrices; i++)
        if (plan->dtype == TFM_DTYPE_INT8 && plan->matrices[i].panels.k > MOST_I8_TERMS)
            return tfm_fail(error, TFM_E_UNSUPPORTED, "%s has %zu columns, int8 sums hold at most %d",
                            plan->matrices[i].name, plan->matrices[i].panels.k, MOST_I8_TERMS);
    return TFM_OK;
}

tfm_status tfm_inference_plan(tfm_inference *out, const tfm_weights *source, uint32_t dtype, const tfm_allocator *a,
                              tfm_error *error)
{
    tfm_status status;

    *out = (tfm_inference){.dtype = dtype};
    status = tfm_weights_create(&out->weights, &source->options, a, error);
    if (status != TFM_OK) return status;
    out->matrices = tfm_alloc(a, most_matrices(out), sizeof *out->matrices);
    if (out->matrices) {
        add_all(&(walk){.to = out}, source);
        status = check_terms(out, error);
    } else {
        status = tfm_fail(error, TFM_E_NOMEM, "packed weights: no memory");
    }
    if (status != TFM_OK) tfm_inference_destroy(out);
    return status;
}

void tfm_inference_destroy(tfm_inference *inference)
{
    const tfm_allocator a = inference->weights.allocator;

    if (!a.resize) return;
    tfm_block_free(&inference->block, &a);
    tfm_free(&a, inference->matrices, most_matrices(inference), sizeof *inference->matrices);
    tfm_weights_destroy(&inference->weights);
    *inference = (tfm_inference){0};
}

/* ------------------------------------------------------------------------------------------------- packing ---- */

enum { ROWS = 8 * TFM_PACK_UNIT }; /* of one task */

typedef struct job {
    const tfm_inference *to;
    const tfm_mapping *mapping;
    const tfm_kernels *kernels;
    unsigned char *scratch;
    size_t scratch_size; /* of a thread */
} job;

static size_t pieces_of(const tfm_packed_matrix *m)
{
    return (m->panels.n + ROWS - 1) / ROWS;
}

static void pack_piece(void *arg, size_t task, size_t thread)
{
    const job *j = arg;
    const tfm_packed_matrix *m = j->to->matrices;

    for (; task >= pieces_of(m); m++) task -= pieces_of(m);
    const tfm_panels *p = &m->panels;
    const size_t begin = task * ROWS, end = begin + ROWS < p->n ? begin + ROWS : p->n;
    tfm_panels_fill(p, j->kernels, m->from, begin, end, j->scratch + thread * j->scratch_size);
    tfm_file_release(j->mapping, m->from + begin * p->k, (end - begin) * p->k * sizeof *m->from);
}

/* Room for the panels: measured, then taken. */
static bool place(tfm_inference *to, const tfm_kernels *kernels, const tfm_allocator *a)
{
    tfm_arena arena = {0};

    for (size_t i = 0; i < to->n_matrices; i++) tfm_panels_place(&to->matrices[i].panels, kernels, &arena);
    if (arena.bad || !tfm_block_reserve_large(&to->block, a, arena.peak, &arena)) return false;
    for (size_t i = 0; i < to->n_matrices; i++) tfm_panels_place(&to->matrices[i].panels, kernels, &arena);
    return true;
}

static bool pack(tfm_inference *to, const tfm_mapping *mapping, tfm_pool *pool, const tfm_allocator *a)
{
    const size_t threads = tfm_pool_threads(pool);
    job j = {.to = to, .mapping = mapping, .kernels = tfm_kernels_for(tfm_cpu_flags(to->dtype != TFM_DTYPE_F32))};
    size_t tasks = 0;

    if (!place(to, j.kernels, a)) return false;
    for (size_t i = 0; i < to->n_matrices; i++) {
        const size_t row = to->matrices[i].panels.k + TFM_I8_DEPTH;
        tasks += pieces_of(&to->matrices[i]);
        if (row > j.scratch_size) j.scratch_size = row;
    }
    j.scratch = tfm_alloc(a, threads, j.scratch_size);
    if (!j.scratch) return false;
    tfm_pool_run(pool, pack_piece, &j, tasks);
    tfm_file_release(mapping, mapping->data, mapping->size); /* what reading ahead brought */
    tfm_free(a, j.scratch, threads, j.scratch_size);
    return true;
}

tfm_status tfm_inference_create(tfm_inference *out, const tfm_inference_source *source, uint32_t dtype, tfm_pool *pool,
                                const tfm_allocator *a, tfm_error *error)
{
    const tfm_status status = tfm_inference_plan(out, source->weights, dtype, a, error);

    if (status != TFM_OK || pack(out, &source->mapping, pool, a)) return status;
    tfm_inference_destroy(out);
    return tfm_fail(error, TFM_E_NOMEM, "packed weights: no memory");
}
