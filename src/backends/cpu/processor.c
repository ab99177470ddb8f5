#include "processor.h"

#include <runnel/cpu_object.h>
#include <stddef.h>

#if defined(__x86_64__)
// The name must be a literal.
#define LACKS(set, name)                                                 \
    if ((needed & RNL_CPU_##set) && !__builtin_cpu_supports(name))       \
        return name

const char *processor_lacks(uint64_t needed)
{
    __builtin_cpu_init();
    LACKS(SSE3, "sse3");
    LACKS(SSSE3, "ssse3");
    LACKS(SSE4_1, "sse4.1");
    LACKS(SSE4_2, "sse4.2");
    LACKS(POPCNT, "popcnt");
    LACKS(AVX, "avx");
    LACKS(AVX2, "avx2");
    LACKS(BMI, "bmi");
    LACKS(BMI2, "bmi2");
    LACKS(FMA, "fma");
    LACKS(AVX512F, "avx512f");
    LACKS(AVX512CD, "avx512cd");
    LACKS(AVX512BW, "avx512bw");
    LACKS(AVX512DQ, "avx512dq");
    LACKS(AVX512VL, "avx512vl");
    LACKS(AVX512IFMA, "avx512ifma");
    LACKS(AVX512VBMI, "avx512vbmi");
    LACKS(AVX512VBMI2, "avx512vbmi2");
    LACKS(AVX512VNNI, "avx512vnni");
    LACKS(AVX512BITALG, "avx512bitalg");
    LACKS(AVX512VPOPCNTDQ, "avx512vpopcntdq");
    LACKS(AVX512BF16, "avx512bf16");
    LACKS(GFNI, "gfni");
    return needed >> 23 ? "instructions that this version does not know" : NULL;
}
#else
const char *processor_lacks(uint64_t needed)
{
    return needed ? "x86-64" : NULL;
}
#endif
