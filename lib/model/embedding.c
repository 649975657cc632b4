/* Embeddings of a side with their positions (3.4, 3.5). */
#include "model/layers.h"

void tfm_embed_tokens(tfm_run *run, tfm_value *y, const tfm_transformer *t, const tfm_tokens *tokens, bool decoder)
{
    const tfm_weights *w = t->weights;
    const tfm_linear *table = decoder ? &w->target_embedding : &w->source_embedding;
    const tfm_linear *learned = decoder ? &w->target_position : &w->source_position;
    const size_t d = w->options.d_model, skip = w->options.position_offset * d;
    const bool is_learned = w->options.positions == TFM_POSITIONS_LEARNED;

    tfm_op_embed(run, y, &(tfm_embed){
        .table = table->weight, .panels = table->panels, .d_table = table->d_weight,
        .position = is_learned ? learned->weight + skip : t->position,
        .d_position = is_learned && learned->d_weight ? learned->d_weight + skip : NULL,
        .d = d, .ids = tokens->ids, .positions = tokens->positions,
        .rate = t->rates.embedding,
        .site = decoder ? TFM_SITE_TARGET_EMBEDDING : TFM_SITE_SOURCE_EMBEDDING,
    });
}
