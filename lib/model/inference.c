/* Packs the matrices of a model. */
#include "model/inference.h"

enum { MOST_PER_LAYER = 7, ENDS = 3 }; /* matrices of a decoder layer; embeddings and output */

/* A walk over the matrices that inference multiplies by, or takes rows of. */
typedef struct walk {
    tfm_inference *to;
    const tfm_inference_source *source;
    const tfm_linear **from; /* the source's matrix of each panels */
} walk;

/* from's matrix; one that is used twice (tied) is packed once. */
static void add(walk *w, tfm_linear *to, const tfm_linear *from)
{
    size_t i = 0;

    while (i < w->to->n_panels && w->from[i]->weight != from->weight) i++;
    if (i == w->to->n_panels) {
        w->from[i] = from;
        w->to->panels[i] = (tfm_panels){.dtype = w->to->dtype, .n = from->out, .k = from->in};
        w->to->n_panels++;
    }
    *to = *from;
    to->panels = &w->to->panels[i];
    to->weight = NULL;
}

static void add_attention(walk *w, tfm_attention_layer *to, const tfm_attention_layer *from, bool cross)
{
    *to = *from;
    if (cross) add(w, &to->q, &from->q);
    if (cross) add(w, &to->kv, &from->kv);
    else add(w, &to->qkv, &from->qkv);
    add(w, &to->out, &from->out);
}

static void add_feedforward(walk *w, tfm_feedforward_layer *to, const tfm_feedforward_layer *from)
{
    *to = *from;
    add(w, &to->inner, &from->inner);
    add(w, &to->outer, &from->outer);
}

static void add_all(walk *w)
{
    tfm_weights *to = &w->to->weights;
    const tfm_weights *from = w->source->weights;

    for (uint32_t i = 0; i < to->options.n_encoder_layers; i++) {
        add_attention(w, &to->encoder[i].attention, &from->encoder[i].attention, false);
        add_feedforward(w, &to->encoder[i].feedforward, &from->encoder[i].feedforward);
    }
    for (uint32_t i = 0; i < to->options.n_decoder_layers; i++) {
        add_attention(w, &to->decoder[i].attention, &from->decoder[i].attention, false);
        add_attention(w, &to->decoder[i].cross, &from->decoder[i].cross, true);
        add_feedforward(w, &to->decoder[i].feedforward, &from->decoder[i].feedforward);
    }
    add(w, &to->source_embedding, &from->source_embedding);
    add(w, &to->target_embedding, &from->target_embedding);
    add(w, &to->output, &from->output);
    to->encoder_norm = from->encoder_norm;
    to->decoder_norm = from->decoder_norm;
    to->source_position = from->source_position;
    to->target_position = from->target_position;
}

/* ------------------------------------------------------------------------------------------------- packing ---- */

enum { ROWS = 8 * TFM_PACK_UNIT }; /* of one task */

typedef struct job {
    const walk *w;
    const tfm_kernels *kernels;
    unsigned char *scratch;
    size_t scratch_size; /* of a thread */
} job;

static size_t pieces_of(const tfm_panels *panels)
{
    return (panels->n + ROWS - 1) / ROWS;
}

static void pack_piece(void *arg, size_t task, size_t thread)
{
    const job *j = arg;
    size_t i = 0;

    for (; task >= pieces_of(&j->w->to->panels[i]); i++) task -= pieces_of(&j->w->to->panels[i]);
    const tfm_panels *panels = &j->w->to->panels[i];
    const size_t begin = task * ROWS, end = begin + ROWS < panels->n ? begin + ROWS : panels->n;
    const float *weight = j->w->from[i]->weight;
    tfm_panels_fill(panels, j->kernels, weight, begin, end, j->scratch + thread * j->scratch_size);
    tfm_file_release(&j->w->source->mapping, weight + begin * panels->k, (end - begin) * panels->k * sizeof *weight);
}

/* Room for the panels: measured, then taken. */
static bool place(tfm_inference *to, const tfm_kernels *kernels, const tfm_allocator *a)
{
    tfm_arena arena = {0};

    for (size_t i = 0; i < to->n_panels; i++) tfm_panels_place(&to->panels[i], kernels, &arena);
    if (arena.bad || !tfm_block_reserve(&to->block, a, arena.peak, &arena)) return false;
    tfm_block_advise(&to->block);
    for (size_t i = 0; i < to->n_panels; i++) tfm_panels_place(&to->panels[i], kernels, &arena);
    return true;
}

static bool pack(const walk *w, tfm_pool *pool, const tfm_allocator *a)
{
    const size_t threads = tfm_pool_threads(pool);
    job j = {.w = w, .kernels = tfm_kernels_for(tfm_cpu_flags())};
    size_t tasks = 0;

    if (!place(w->to, j.kernels, a)) return false;
    for (size_t i = 0; i < w->to->n_panels; i++) {
        tasks += pieces_of(&w->to->panels[i]);
        if (w->to->panels[i].k + TFM_I8_DEPTH > j.scratch_size) j.scratch_size = w->to->panels[i].k + TFM_I8_DEPTH;
    }
    j.scratch = tfm_alloc(a, threads, j.scratch_size);
    if (!j.scratch) return false;
    tfm_pool_run(pool, pack_piece, &j, tasks);
    tfm_file_release(&w->source->mapping, w->source->mapping.data, w->source->mapping.size); /* what reading ahead brought */
    tfm_free(a, j.scratch, threads, j.scratch_size);
    return true;
}

static size_t most_panels(const tfm_inference *to)
{
    const tfm_model_options *o = &to->weights.options;

    return (size_t)MOST_PER_LAYER * ((size_t)o->n_encoder_layers + o->n_decoder_layers) + ENDS;
}

tfm_status tfm_inference_create(tfm_inference *out, const tfm_inference_source *source, uint32_t dtype, tfm_pool *pool,
                                const tfm_allocator *a, tfm_error *error)
{
    tfm_status status;
    bool done = false;

    *out = (tfm_inference){.dtype = dtype};
    status = tfm_weights_create(&out->weights, &source->weights->options, a, error);
    if (status != TFM_OK) return status;
    const size_t most = most_panels(out);
    walk w = {out, source, tfm_alloc(a, most, sizeof *w.from)};
    out->panels = tfm_alloc(a, most, sizeof *out->panels);
    if (w.from && out->panels) {
        add_all(&w);
        done = pack(&w, pool, a);
    }
    tfm_free(a, w.from, most, sizeof *w.from);
    if (done) return TFM_OK;
    tfm_inference_destroy(out);
    return tfm_fail(error, TFM_E_NOMEM, "packed weights: no memory");
}

void tfm_inference_destroy(tfm_inference *inference)
{
    const tfm_allocator a = inference->weights.allocator;

    if (!a.resize) return;
    tfm_block_free(&inference->block, &a);
    tfm_free(&a, inference->panels, most_panels(inference), sizeof *inference->panels);
    tfm_weights_destroy(&inference->weights);
    *inference = (tfm_inference){0};
}
