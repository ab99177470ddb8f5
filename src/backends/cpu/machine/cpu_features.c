#include "backends/cpu/machine/cpu_features.h"

#include <runnel/cpu_object.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
// The compiler wants a literal.
#define SET(set, name) {RNL_CPU_##set, name, __builtin_cpu_supports(name) != 0}

const char *cpu_features_missing(uint64_t needed)
{
    __builtin_cpu_init();
    const struct {
        uint64_t bit;
        const char *name;
        bool present;
    } sets[] = {
        SET(SSE3, "sse3"),
        SET(SSSE3, "ssse3"),
        SET(SSE4_1, "sse4.1"),
        SET(SSE4_2, "sse4.2"),
        SET(POPCNT, "popcnt"),
        SET(AVX, "avx"),
        SET(AVX2, "avx2"),
        SET(BMI, "bmi"),
        SET(BMI2, "bmi2"),
        SET(FMA, "fma"),
        SET(AVX512F, "avx512f"),
        SET(AVX512CD, "avx512cd"),
        SET(AVX512BW, "avx512bw"),
        SET(AVX512DQ, "avx512dq"),
        SET(AVX512VL, "avx512vl"),
        SET(AVX512IFMA, "avx512ifma"),
        SET(AVX512VBMI, "avx512vbmi"),
        SET(AVX512VBMI2, "avx512vbmi2"),
        SET(AVX512VNNI, "avx512vnni"),
        SET(AVX512BITALG, "avx512bitalg"),
        SET(AVX512VPOPCNTDQ, "avx512vpopcntdq"),
        SET(AVX512BF16, "avx512bf16"),
        SET(GFNI, "gfni"),
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if ((needed & sets[i].bit) && !sets[i].present)
            return sets[i].name;
        else
            needed &= ~sets[i].bit;
    return needed ? "something that this version does not know" : NULL;
}
#else
const char *cpu_features_missing(uint64_t needed)
{
    return needed ? "x86-64" : NULL;
}
#endif
