// The processor that is compiled for.
#include "simt/ir/ir.h"

#include <stdio.h>
#include <string.h>

static unsigned vector_bytes;
static bool is_zen4;  // what was found to differ from others, by measuring

unsigned target_vector_bytes(void)
{
    return vector_bytes;
}

bool target_foresees_rows(void)
{
    return is_zen4;
}

// Two units with a latency of four each. A Zen 4 has one unit for 64 bytes, and
// eight sums over rows a page apart would fill its first-level cache.
unsigned target_sums_in_turn(void)
{
    return is_zen4 ? 6 : 8;
}

static bool has_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

// Bytes of the vectors that the C library's functions may be given.
static unsigned library_bytes(const char *triple, const char *processor,
                              const char *features)
{
    static const char *const avx512[] = {
        "x86-64-v4", "avx512", "cascadelake", "cooperlake", "icelake",
        "tigerlake", "rocketlake", "sapphirerapids", "emeraldrapids",
        "graniterapids", "znver4", "znver5"};
    static const char *const avx2[] = {
        "x86-64-v3", "haswell", "broadwell", "skylake", "alderlake",
        "raptorlake", "znver"};
    if (strncmp(triple, "x86_64", 6) != 0)
        return 0;
    if (*features)
        return strstr(features, "+avx512f") ? 64
               : strstr(features, "+avx2")  ? 32 : 16;
    if (has_any(processor, avx512, sizeof avx512 / sizeof *avx512))
        return 64;
    return has_any(processor, avx2, sizeof avx2 / sizeof *avx2) ? 32 : 16;
}

LLVMTargetMachineRef target_create(const char *triple, const char *name,
                                   char **message)
{
    LLVMTargetRef kind;
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    if (LLVMGetTargetFromTriple(triple, &kind, message))
        return NULL;
    bool native = strcmp(name, "native") == 0;
    char *processor = native ? LLVMGetHostCPUName() : LLVMCreateMessage(name);
    char *features = native ? LLVMGetHostCPUFeatures() : LLVMCreateMessage("");
    vector_bytes = library_bytes(triple, processor, features);
    is_zen4 = strcmp(processor, "znver4") == 0;
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        kind, triple, processor, features, LLVMCodeGenLevelDefault,
        LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(processor);
    LLVMDisposeMessage(features);
    return machine;
}
