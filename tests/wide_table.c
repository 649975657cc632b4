/* Tables with the products of the wide twin, in C for any CPU: the panels of AVX-512 and of its BF16 instructions; and
 * with those of AMX. */
#include "kernels/twins.h"

const tfm_kernels *tfm_kernels_table_wide(void);
const tfm_kernels *tfm_kernels_table_tiles(void);

const tfm_kernels *tfm_kernels_table_wide(void)
{
    static tfm_kernels table;

    table = *tfm_kernels_for(0);
    table.f32 = (tfm_product){MR, NR, 1, 1, true, TWIN(tfm_gemm_block), TWIN(tfm_pack_a), TWIN(tfm_pack_b)};
    table.bf16 =
        (tfm_product){MR, NR, 2, 1, false, TWIN(tfm_gemm_block_bf16), TWIN(tfm_pack_a_bf16), TWIN(tfm_pack_b_bf16)};
    return &table;
}

const tfm_kernels *tfm_kernels_table_tiles(void)
{
    static tfm_kernels table;

    table = *tfm_kernels_table_wide();
    table.bf16 =
        (tfm_product){32, 32, 2, 16, false, TWIN(tfm_gemm_block_amx), TWIN(tfm_pack_a_amx), TWIN(tfm_pack_b_amx)};
    return &table;
}
