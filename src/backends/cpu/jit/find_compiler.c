#include "backends/cpu/jit/find_compiler.h"

#include "backends/cpu/jit/compile.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/object/config.h"
#include "core/object/context_object.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#if defined(__x86_64__)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define CPU_KNOWN
#else
#include <cpuid.h>
#endif
#endif

#define PROGRAM "runnel-cc"

rnl_status find_compiler(char path[FIND_PATH_SIZE])
{
    return find_program(PROGRAM, "RUNNEL_CC", config_get()->compiler, path);
}

// --- Identity --------------------------------------------------------------
//
// Derived without starting a process, so that a start with a warm cache is
// quick: the program's size and time stand for its contents.

static void add_program(struct text *identity, const char *path)
{
    struct stat facts;
    if (stat(path, &facts) == 0)
        text_add(identity, "%s %llu %lld.%09ld %llu;", path,
                 (unsigned long long)facts.st_size,
                 (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                 (unsigned long long)facts.st_ino);
}

// Objects are made for the processor at hand. In a virtual machine each
// question takes some microseconds, so the C library, which has asked already,
// is asked first. The family alone tells the maker; ebx of leaf 1 has the
// number of the core.
static uint64_t processor_hash(void)
{
    uint32_t words[18] = {0};
#if defined(__x86_64__) && defined(CPU_KNOWN)
    static const unsigned leaves[] = {CPUID_INDEX_1, CPUID_INDEX_7,
                                      CPUID_INDEX_80000001,
                                      CPUID_INDEX_7_ECX_1};
    for (size_t i = 0; i < 4; i++)
        memcpy(&words[4 * i],
               __x86_get_cpuid_feature_leaf(leaves[i])->cpuid_array, 16);
    words[1] = 0;
#elif defined(__x86_64__)
    uint32_t none, more;
    __cpuid(1, words[0], none, words[1], words[2]);
    __cpuid_count(7, 0, more, words[3], words[4], words[5]);
    if (more > 0)
        __cpuid_count(7, 1, words[6], none, none, words[7]);
    __cpuid(0x80000001, none, none, words[8], words[9]);
#endif
    unsigned long capabilities[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    memcpy(&words[16], &capabilities[0], sizeof words[16]);
    memcpy(&words[17], &capabilities[1], sizeof words[17]);
    return hash_64(words, sizeof words);
}

static rnl_status identify(char path[FIND_PATH_SIZE], struct text *identity)
{
    rnl_status status = find_compiler(path);
    if (status != RNL_OK)
        return status;
    const char *target = env_get("RUNNEL_CPU_TARGET");
    add_program(identity, path);
    text_add(identity, "%s;%016llx", target ? target : "",
             (unsigned long long)processor_hash());
    return identity->failed ? RNL_ERROR_OUT_OF_MEMORY : RNL_OK;
}

rnl_status cpu_compiler_identity(struct context *context, char *text,
                                 size_t size)
{
    (void)context;
    struct text identity = {0};
    char *path = mem_allocate(FIND_PATH_SIZE);
    rnl_status status = path ? identify(path, &identity)
                             : RNL_ERROR_OUT_OF_MEMORY;
    mem_release(path, FIND_PATH_SIZE);
    struct hash128 hash = hash_128(text_get(&identity), identity.length);
    text_finish(&identity);
    if (status == RNL_ERROR_OUT_OF_MEMORY)
        fail(status, "there is no memory for the compiler's identity");
    if (status != RNL_OK)
        return status;
    snprintf(text, size, "cpu objects 1, compiler %016llx%016llx",
             (unsigned long long)hash.high, (unsigned long long)hash.low);
    return RNL_OK;
}
