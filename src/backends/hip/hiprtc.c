#include "backends/hip/hiprtc.h"

#include "backends/hip/hip.h"
#include "base/dynlib.h"
#include "core/object/config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct hiprtc_place place;
static char reason[1024];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Beside the runtime, by its full path. False if there is no such file.
static void *open_beside(const char *name)
{
    Dl_info runtime;
    char path[sizeof place.path];
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

// The file beside hiprtc, or else a name for the dynamic loader.
static void find_comgr(void)
{
    static const char *const names[] = {"libamd_comgr.so.3",
                                        "libamd_comgr.so.2"};
    bool older = hip_version < 60400000;
    const char *slash = strrchr(place.path, '/');
    for (int i = 0; i < 2 && slash; i++) {
        int length = snprintf(place.comgr, sizeof place.comgr, "%.*s/%s",
                              (int)(slash - place.path), place.path,
                              names[older ? 1 - i : i]);
        if (length > 0 && (size_t)length < sizeof place.comgr &&
            access(place.comgr, F_OK) == 0)
            return;
    }
    snprintf(place.comgr, sizeof place.comgr, "%s", names[older]);
}

static void find(void)
{
    struct text tried = {0};
    Dl_info facts;
    const char *given = config_get()->hiprtc;
    void *library = NULL;
    if (given && strcmp(given, "off") == 0) {
        snprintf(reason, sizeof reason, "RUNNEL_HIPRTC=off hides hiprtc");
        return;
    }
    library = open_library(&tried);
    const void *symbol =
        library ? dynlib_symbol(library, "hiprtcCompileProgram") : NULL;
    if (!library)
        snprintf(reason, sizeof reason, "hiprtc was not found: %s",
                 text_get(&tried));
    else if (!symbol || !dladdr(symbol, &facts) || !facts.dli_fname)
        snprintf(reason, sizeof reason, "hiprtc has no hiprtcCompileProgram");
    else
        snprintf(place.path, sizeof place.path, "%s", facts.dli_fname);
    find_comgr();
    text_finish(&tried);
}

const struct hiprtc_place *hiprtc_find(const char **out_reason)
{
    pthread_once(&once, find);
    *out_reason = reason;
    return reason[0] ? NULL : &place;
}
