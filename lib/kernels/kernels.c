/* Chooses the kernels for a CPU. */
#include "kernels/kernels.h"

#if defined(TFM_HAVE_X86_TWINS)
#include <cpuid.h>
#include <stdatomic.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

const tfm_kernels *tfm_kernels_table_ref(void);
const tfm_kernels *tfm_kernels_table_avx2(void);
const tfm_kernels *tfm_kernels_table_avx512(void);
const tfm_kernels *tfm_kernels_table_vnni(void);
const tfm_kernels *tfm_kernels_table_bf16(void);
const tfm_kernels *tfm_kernels_table_amx(void);

#if defined(TFM_HAVE_X86_TWINS)

/* AMX for bfloat16 and int8, by the CPU (leaf 7) and by what the system saves of a thread (XCR0). */
static bool cpu_has_amx(void)
{
    enum { AMX = 1u << 22 | 1u << 24 | 1u << 25, TILES = 3u << 17 };
    unsigned a, b, c, d, low, high;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & AMX) != AMX) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & TILES) == TILES;
}

static bool system_allows_amx(void)
{
#if defined(__linux__)
    const long ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;
    return !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
#else
    return false;
#endif
}

enum amx { UNKNOWN, ABSENT, NOT_ASKED, REFUSED, ALLOWED };

/* Whoever is first decides for all threads. */
static enum amx decide(_Atomic int *state, int before, int after)
{
    return atomic_compare_exchange_strong(state, &before, after) ? (enum amx)after : (enum amx)before;
}

/* Linux lets a process use the tiles when it asks, as signal frames become 8 KiB larger where they are used; it refuses
 * where a thread has too small a stack for them. */
static enum amx amx_state(bool ask)
{
    static _Atomic int state = UNKNOWN;
    enum amx now = (enum amx)atomic_load(&state);

    if (now == UNKNOWN) now = decide(&state, UNKNOWN, cpu_has_amx() ? NOT_ASKED : ABSENT);
    if (now == NOT_ASKED && ask) now = decide(&state, NOT_ASKED, system_allows_amx() ? ALLOWED : REFUSED);
    return now;
}

#endif

unsigned tfm_cpu_flags(bool narrow)
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
    if (!__builtin_cpu_supports("avx512bf16")) return flags;
    const enum amx amx = amx_state(narrow);
    if (amx == ABSENT || amx == ALLOWED) flags |= TFM_CPU_BF16; /* beside AMX vdpbf16ps is slower than float32 */
    if (amx == ALLOWED) flags |= TFM_CPU_AMX;
#endif
    (void)narrow;
    return flags;
}

const tfm_kernels *tfm_kernels_for(unsigned cpu_flags)
{
#if defined(TFM_HAVE_X86_TWINS)
    if (cpu_flags & TFM_CPU_AMX) return tfm_kernels_table_amx();
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
