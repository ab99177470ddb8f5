#include "backends/hip/hiprtc.h"

#include "backends/hip/hip.h"
#include "base/dynlib.h"
#include "core/object/config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE 1024

static char hiprtc[PATH_SIZE], comgr[PATH_SIZE];
static char reason[1024];

// Beside the runtime, by its full path. False if there is no such file.
static void *open_beside(const char *name)
{
    Dl_info runtime;
    char path[PATH_SIZE];
    if (!dladdr((const void *)(uintptr_t)hip.error_name, &runtime) ||
        !runtime.dli_fname || !strchr(runtime.dli_fname, '/'))
        return NULL;
    const char *slash = strrchr(runtime.dli_fname, '/');
    int length = snprintf(path, sizeof path, "%.*s/%s",
                          (int)(slash - runtime.dli_fname), runtime.dli_fname,
                          name);
    return length > 0 && (size_t)length < sizeof path ? dynlib_load(path)
                                                      : NULL;
}

// A library of another major version would compile for another runtime.
static void *open_library(struct text *tried)
{
    const char *given = config_get()->hiprtc;
    const char *one[] = {given, NULL};
    char soname[32], runtime[32];
    int major = hip_version / 10000000;
    if (given)
        return dynlib_open(one, tried);
    snprintf(soname, sizeof soname, "libhiprtc.so.%d", major);
    snprintf(runtime, sizeof runtime, "libamdhip64.so.%d", major);
    const char *usual[] = {soname, major < 7 ? runtime : "libhiprtc.so",
                           NULL};
    for (size_t i = 0; usual[i]; i++) {
        const char *name[] = {usual[i], NULL};
        void *library = open_beside(usual[i]);
        if (!library)
            library = hip_open(name, tried);
        if (library && dynlib_symbol(library, "hiprtcCompileProgram"))
            return library;
    }
    return NULL;
}

// The file that has the library's symbol. False if there is none.
static bool find_file(void *library, const char *name, char path[PATH_SIZE])
{
    Dl_info facts;
    const void *symbol = library ? dynlib_symbol(library, name) : NULL;
    if (!symbol || !dladdr(symbol, &facts) || !facts.dli_fname)
        return false;
    snprintf(path, PATH_SIZE, "%s", facts.dli_fname);
    return true;
}

static void find(void)
{
    struct text tried = {0};
    const char *given = config_get()->hiprtc;
    void *library = NULL;
    if (given && strcmp(given, "off") == 0) {
        snprintf(reason, sizeof reason, "RUNNEL_HIPRTC=off hides hiprtc");
        return;
    }
    library = open_library(&tried);
    if (!library)
        snprintf(reason, sizeof reason, "hiprtc was not found: %s",
                 text_get(&tried));
    else if (!find_file(library, "hiprtcCompileProgram", hiprtc))
        snprintf(reason, sizeof reason, "hiprtc has no hiprtcCompileProgram");
    text_finish(&tried);
}

const char *hiprtc_find(const char **out_reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    *out_reason = reason;
    return reason[0] ? NULL : hiprtc;
}

// --- The compiler of hiprtc --------------------------------------------------

static bool find_beside(const char *const *names)
{
    const char *slash = strrchr(hiprtc, '/');
    for (; *names && slash; names++) {
        int length = snprintf(comgr, sizeof comgr, "%.*s/%s",
                              (int)(slash - hiprtc), hiprtc, *names);
        if (length > 0 && (size_t)length < sizeof comgr &&
            access(comgr, F_OK) == 0)
            return true;
    }
    return false;
}

// In hiprtc's own file, or one that hiprtc is linked with; beside hiprtc; or
// where else libraries are looked for. The runtime loads the library, too.
static void find_comgr(void)
{
    static const char symbol[] = "amd_comgr_get_isa_count";
    static const char *const newer[] = {"libamd_comgr.so.3",
                                        "libamd_comgr.so.2", NULL};
    static const char *const older[] = {"libamd_comgr.so.2",
                                        "libamd_comgr.so.3", NULL};
    const char *const *names = hip_version < 60400000 ? older : newer;
    struct text tried = {0};
    if (!find_file(dynlib_load(hiprtc), symbol, comgr) && !find_beside(names) &&
        !find_file(hip_open(names, &tried), symbol, comgr))
        snprintf(comgr, sizeof comgr, "%s", names[0]);
    text_finish(&tried);
}

const char *hiprtc_comgr(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_comgr);
    return comgr;
}
