/*
 * The table of one twin. Instructions that only some kernels can use make no second copy of the others: the build names
 * the twin that each group of functions is taken from, which is this one unless a lesser one has the same code.
 */
#include "kernels/twins.h"

#pragma push_macro("TFM_TWIN")
#undef TFM_TWIN
#define TFM_TWIN TFM_TILE_TWIN
#include "kernels/twins.h"
#undef TFM_TWIN
#define TFM_TWIN TFM_ROWS_TWIN
#include "kernels/twins.h"
#undef TFM_TWIN
#define TFM_TWIN TFM_INT8_TWIN
#include "kernels/twins.h"
#pragma pop_macro("TFM_TWIN")

#define TILE(name) TFM_JOIN(name, TFM_TILE_TWIN)
#define ROWS(name) TFM_JOIN(name, TFM_ROWS_TWIN)
#define INT8(name) TFM_JOIN(name, TFM_INT8_TWIN)

const tfm_kernels *TWIN(tfm_kernels_table)(void)
{
    static const tfm_kernels table = {
        .twin = TFM_TEXT(TFM_TWIN),
        .f32 = {MR, NR, 1, 1, true, TILE(tfm_gemm_block), TILE(tfm_pack_a), TILE(tfm_pack_b)},
#if defined(TFM_AMX_TWIN)
        .bf16 = {32, 32, 2, 16, false, TWIN(tfm_gemm_block_amx), TWIN(tfm_pack_a_amx), TWIN(tfm_pack_b_amx)},
#elif PAIRS
        .bf16 = {MR, NR, 2, 1, false, TWIN(tfm_gemm_block_bf16), TWIN(tfm_pack_a_bf16), TWIN(tfm_pack_b_bf16)},
#else
        .bf16 = {MR, NR, 1, 1, false, TILE(tfm_gemm_block), TILE(tfm_pack_a_bf16), TILE(tfm_pack_b_bf16)},
#endif
        .i8_offset = I8_OFFSET,
        .i8_quantize = INT8(tfm_i8_quantize),
        .i8_product = INT8(tfm_i8_product),
        .bias_relu = ROWS(tfm_bias_relu),
        .relu_backward = ROWS(tfm_relu_backward),
        .activate = ROWS(tfm_activate),
        .activate_backward = ROWS(tfm_activate_backward),
        .dropout = ROWS(tfm_dropout),
        .add_dropped = ROWS(tfm_add_dropped),
        .add = ROWS(tfm_add_to),
        .add_rows = ROWS(tfm_add_rows),
        .axpby = ROWS(tfm_axpby),
        .sum_squares = ROWS(tfm_sum_squares),
        .layer_norm = ROWS(tfm_layer_norm),
        .layer_norm_backward = ROWS(tfm_layer_norm_backward),
        .attention = ROWS(tfm_attention_head),
        .attention_backward = ROWS(tfm_attention_head_backward),
        .log_sum_exp = ROWS(tfm_log_sum_exp),
        .exponentials = ROWS(tfm_exponentials),
        .exp_sum = ROWS(tfm_exp_sum),
        .first_above = ROWS(tfm_first_above),
        .scale_less = ROWS(tfm_scale_less),
        .log_add = ROWS(tfm_log_add),
        .adam = ROWS(tfm_adam),
    };
    return &table;
}
