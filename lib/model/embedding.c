/* Embeddings of a side with their positions (3.4, 3.5). */
#include "model/layers.h"

#include <math.h>

static void embed(tfm_run *run, tfm_value *y, const tfm_transformer *t, const tfm_tokens *tokens, bool decoder,
                  float rate, uint32_t site)
{
    const tfm_weights *w = t->weights;
    const tfm_linear *table = decoder ? &w->target_embedding : &w->source_embedding;
    const tfm_linear *learned = decoder ? &w->target_position : &w->source_position;
    const size_t d = w->options.d_model, skip = w->options.position_offset * d;
    const bool is_learned = w->options.positions == TFM_POSITIONS_LEARNED;

    tfm_op_embed(run, y,
                 &(tfm_embed){
                     .table = table->weight,
                     .panels = table->panels,
                     .d_table = table->d_weight,
                     .position = is_learned ? learned->weight + skip : t->position,
                     .d_position = is_learned && learned->d_weight ? learned->d_weight + skip : NULL,
                     .d = d,
                     .scale = w->options.plain_embedding ? 1.0f : sqrtf((float)d),
                     .ids = tokens->ids,
                     .positions = tokens->positions,
                     .rate = rate,
                     .site = site,
                 });
}

void tfm_embed_tokens(tfm_run *run, tfm_value *y, const tfm_transformer *t, const tfm_tokens *tokens, bool decoder)
{
    const tfm_norm *norm = decoder ? &t->weights->target_norm : &t->weights->source_norm;
    const uint32_t site = decoder ? TFM_SITE_TARGET_EMBEDDING : TFM_SITE_SOURCE_EMBEDDING;
    const tfm_mark mark = tfm_run_mark(run);

    if (!t->weights->options.embedding_norm) {
        embed(run, y, t, tokens, decoder, t->rates.embedding, site);
        return;
    }
    tfm_value *sum = tfm_value_new(run, y->rows, y->cols), *normed = tfm_value_new(run, y->rows, y->cols);
    embed(run, sum, t, tokens, decoder, 0.0f, site);
    tfm_op_add_norm(run, sum, normed, sum, NULL, norm, 0.0f, 0);
    tfm_op_activate(run, y, normed, TFM_NO_ACTIVATION, t->rates.embedding, site);
    tfm_run_release(run, mark);
}
