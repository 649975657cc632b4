/* A table with the products of the wide twin: the panels of AVX-512 and of its BF16 instructions, in C for any CPU. */
#include "kernels/twins.h"

const tfm_kernels *tfm_kernels_table_wide(void);

const tfm_kernels *tfm_kernels_table_wide(void)
{
    static tfm_kernels table;

    table = *tfm_kernels_for(0);
    table.f32 = (tfm_product){MR, NR, 1, true, TWIN(tfm_gemm_tile), TWIN(tfm_pack_a), TWIN(tfm_pack_b)};
    table.bf16 =
        (tfm_product){MR, NR, 2, false, TWIN(tfm_gemm_tile_bf16), TWIN(tfm_pack_a_bf16), TWIN(tfm_pack_b_bf16)};
    return &table;
}
