#include "backends/cpu/jit/find_compiler.h"

#include "backends/cpu/jit/compile.h"
#include "base/env.h"
#include "base/hash.h"
#include "base/text.h"
#include "core/object/config.h"
#include "core/object/context_object.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define CPU_KNOWN
#else
#include <cpuid.h>
#endif
#endif

#define PROGRAM "runnel-cc"

// --- Places ----------------------------------------------------------------

static bool is_program(const char *path, struct stat *facts)
{
    return stat(path, facts) == 0 && S_ISREG(facts->st_mode) &&
           access(path, X_OK) == 0;
}

static bool try_path(const char *path, struct text *tried)
{
    struct stat facts;
    if (is_program(path, &facts))
        return true;
    text_add(tried, "%s%s", tried->length ? ", " : "", path);
    return false;
}

// As a shell would find it.
static bool search_path(const char *name, char path[FIND_PATH_SIZE],
                        struct stat *facts)
{
    const char *folders = env_get("PATH");
    folders = folders ? folders : "/usr/local/bin:/usr/bin:/bin";
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        int size = snprintf(path, FIND_PATH_SIZE, "%.*s/%s", (int)length,
                            folders, name);
        if (length > 0 && size < FIND_PATH_SIZE && is_program(path, facts))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

// The path of the library, or of the program with the library linked in; the
// caller frees the path. On the heap, since callers may have little stack.
static char *own_path(void)
{
    Dl_info own, program;
    bool is_library =
        dladdr((const void *)(uintptr_t)&find_compiler, &own) &&
        dladdr((const void *)getauxval(AT_PHDR), &program) &&
        own.dli_fbase != program.dli_fbase && own.dli_fname;
    // For a program the loader knows only the name that started the program.
    return realpath(is_library ? own.dli_fname : "/proc/self/exe", NULL);
}

static bool find_beside(char path[FIND_PATH_SIZE], struct text *tried)
{
    static const char *const places[] = {"", "/../bin", "/../libexec/runnel"};
    char *own = own_path(), *slash = own ? strrchr(own, '/') : NULL;
    bool found = false;
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof places[0];
         i++) {
        int size = snprintf(path, FIND_PATH_SIZE, "%.*s%s/" PROGRAM,
                            (int)(slash - own), own, places[i]);
        found = size < FIND_PATH_SIZE && try_path(path, tried);
    }
    free(own);
    return found;
}

static bool find_installed(char path[FIND_PATH_SIZE], struct text *tried)
{
#if defined(RUNNEL_LIBEXEC_DIR)
    snprintf(path, FIND_PATH_SIZE, "%s/" PROGRAM, RUNNEL_LIBEXEC_DIR);
    return try_path(path, tried);
#else
    (void)path;
    (void)tried;
    return false;
#endif
}

static bool find_configured(const char *configured, char path[FIND_PATH_SIZE],
                            struct text *tried)
{
    struct stat facts;
    if (!strchr(configured, '/') && search_path(configured, path, &facts))
        return true;
    snprintf(path, FIND_PATH_SIZE, "%s", configured);
    return try_path(path, tried);
}

rnl_status find_compiler(char path[FIND_PATH_SIZE])
{
    const char *configured = config_get()->compiler;
    struct text tried = {0};
    struct stat facts;
    // The user's choice wins over a compiler that happens to be present.
    bool found = configured ? find_configured(configured, path, &tried)
                            : find_beside(path, &tried) ||
                                  find_installed(path, &tried) ||
                                  search_path(PROGRAM, path, &facts);
    rnl_status status = RNL_OK;
    if (!found)
        status = fail(RNL_ERROR_COMPILER_UNAVAILABLE,
                      "the kernel compiler " PROGRAM " was not found%s; "
                      "looked for %s%s",
                      configured ? " where RUNNEL_CC says" : "",
                      text_get(&tried),
                      configured ? "" : " and in every folder of PATH");
    text_finish(&tried);
    return status;
}

// --- Identity --------------------------------------------------------------
//
// Derived without starting a process, so that a start with a warm cache is
// quick: the program's size and time stand for its contents.

static void add_program(struct text *identity, const char *path)
{
    struct stat facts;
    if (is_program(path, &facts))
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
