/* Chooses the kernels for a CPU. */
#include "kernels/kernels.h"

const tfm_kernels *tfm_kernels_table_ref(void);
const tfm_kernels *tfm_kernels_table_avx2(void);
const tfm_kernels *tfm_kernels_table_avx512(void);
const tfm_kernels *tfm_kernels_table_vnni(void);
const tfm_kernels *tfm_kernels_table_bf16(void);

unsigned tfm_cpu_flags(void)
{
    unsigned flags = 0;

#if defined(TFM_HAVE_X86_TWINS)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    flags |= TFM_CPU_AVX2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return flags;
    flags |= TFM_CPU_AVX512;
    if (!__builtin_cpu_supports("avx512vnni")) return flags;
    flags |= TFM_CPU_VNNI;
    if (__builtin_cpu_supports("avx512bf16")) flags |= TFM_CPU_BF16;
#endif
    return flags;
}

const tfm_kernels *tfm_kernels_for(unsigned cpu_flags)
{
#if defined(TFM_HAVE_X86_TWINS)
    if (cpu_flags & TFM_CPU_BF16) return tfm_kernels_table_bf16();
    if (cpu_flags & TFM_CPU_VNNI) return tfm_kernels_table_vnni();
    if (cpu_flags & TFM_CPU_AVX512) return tfm_kernels_table_avx512();
    if (cpu_flags & TFM_CPU_AVX2) return tfm_kernels_table_avx2();
#endif
    (void)cpu_flags;
    return tfm_kernels_table_ref();
}

/* n rounded up to a multiple of unit, a power of two. */
static bool padded(size_t n, size_t unit, size_t *out)
{
    if (__builtin_add_overflow(n, unit - 1, out)) return false;
    *out &= ~(unit - 1);
    return true;
}

/* What share_out() of attention_block.h takes: operands of all keys, and those of a block of queries. */
bool tfm_attention_scratch(size_t *floats, size_t n, size_t d_k, size_t d_v, bool backward)
{
    size_t keys, wk, wv, all, block;

    if (!padded(n, TFM_ATTENTION_KEYS, &keys) || !padded(d_k, 8, &wk) || !padded(d_v, 8, &wv)) return false;
    if (wk > SIZE_MAX / 8 || wv > SIZE_MAX / 8) return false;
    if (__builtin_mul_overflow(keys, backward ? 3 * wk + 2 * wv : wk + wv, &all)) return false;
    if (__builtin_mul_overflow((size_t)TFM_ATTENTION_QUERIES, 3 * TFM_ATTENTION_KEYS + 2 * wk + wv, &block))
        return false;
    return !__builtin_add_overflow(all, block, floats);
}
