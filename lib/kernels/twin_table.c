/* The table of one twin. */
#include "kernels/twins.h"

const tfm_kernels *TWIN(tfm_kernels_table)(void)
{
    static const tfm_kernels table = {
        .twin = TFM_TEXT(TFM_TWIN),
        .f32 = {MR, NR, 1, true, TWIN(tfm_gemm_tile), TWIN(tfm_pack_a), TWIN(tfm_pack_b)},
#if PAIRS
        .bf16 = {MR, NR, 2, false, TWIN(tfm_gemm_tile_bf16), TWIN(tfm_pack_a_bf16), TWIN(tfm_pack_b_bf16)},
#else
        .bf16 = {MR, NR, 1, false, TWIN(tfm_gemm_tile), TWIN(tfm_pack_a_bf16), TWIN(tfm_pack_b_bf16)},
#endif
        .i8_offset = I8_OFFSET,
        .i8_quantize = TWIN(tfm_i8_quantize),
        .i8_product = TWIN(tfm_i8_product),
        .bias_relu = TWIN(tfm_bias_relu),
        .relu_backward = TWIN(tfm_relu_backward),
        .dropout = TWIN(tfm_dropout),
        .add_dropped = TWIN(tfm_add_dropped),
        .add = TWIN(tfm_add_to),
        .add_rows = TWIN(tfm_add_rows),
        .axpby = TWIN(tfm_axpby),
        .sum_squares = TWIN(tfm_sum_squares),
        .layer_norm = TWIN(tfm_layer_norm),
        .layer_norm_backward = TWIN(tfm_layer_norm_backward),
        .attention = TWIN(tfm_attention_head),
        .attention_backward = TWIN(tfm_attention_head_backward),
        .log_sum_exp = TWIN(tfm_log_sum_exp),
        .exponentials = TWIN(tfm_exponentials),
        .exp_sum = TWIN(tfm_exp_sum),
        .first_above = TWIN(tfm_first_above),
        .scale_less = TWIN(tfm_scale_less),
        .adam = TWIN(tfm_adam),
    };
    return &table;
}
