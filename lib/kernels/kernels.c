/* Chooses the kernels for a CPU. */
#include "kernels/kernels.h"

const tfm_kernels *tfm_kernels_table_ref(void);
const tfm_kernels *tfm_kernels_table_avx2(void);
const tfm_kernels *tfm_kernels_table_avx512(void);
const tfm_kernels *tfm_kernels_table_avx512bf16(void);

unsigned tfm_cpu_flags(void)
{
    unsigned flags = 0;

#if defined(TFM_HAVE_X86_TWINS)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    flags |= TFM_CPU_AVX2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return flags;
    flags |= TFM_CPU_AVX512;
    if (__builtin_cpu_supports("avx512bf16")) flags |= TFM_CPU_AVX512_BF16;
#endif
    return flags;
}

const tfm_kernels *tfm_kernels_for(unsigned cpu_flags)
{
#if defined(TFM_HAVE_X86_TWINS)
    if (cpu_flags & TFM_CPU_AVX512_BF16) return tfm_kernels_table_avx512bf16();
    if (cpu_flags & TFM_CPU_AVX512) return tfm_kernels_table_avx512();
    if (cpu_flags & TFM_CPU_AVX2) return tfm_kernels_table_avx2();
#endif
    (void)cpu_flags;
    return tfm_kernels_table_ref();
}

static bool padded(size_t n, size_t *out)
{
    if (__builtin_add_overflow(n, (size_t)15, out)) return false;
    *out &= ~(size_t)15;
    return true;
}

/* Room for every operand of attention_head.c, rows and columns padded to 16. */
bool tfm_attention_scratch(size_t *floats, size_t m, size_t n, size_t d_k, size_t d_v, bool backward)
{
    size_t rows, widths, total;

    if (!padded(m, &m) || !padded(n, &n) || !padded(d_k, &d_k) || !padded(d_v, &d_v)) return false;
    if (__builtin_add_overflow(m, n, &rows) || __builtin_add_overflow(d_k, d_v, &widths)) return false;
    if (__builtin_mul_overflow(rows, widths, &total)) return false; /* q, k, v and the like: at most once each */
    if (backward && __builtin_mul_overflow(total, (size_t)3, &total)) return false;
    return !__builtin_add_overflow(total, 2 * TFM_ATTENTION_QUERIES * (TFM_ATTENTION_KEYS + d_v) + 256, floats);
}
