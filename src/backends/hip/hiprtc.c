#include "backends/hip/hiprtc.h"

#include "backends/hip/hip.h"
#include "base/dynlib.h"
#include "core/object/config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct hiprtc hiprtc;
static bool usable;
static char reason[1024];
static pthread_once_t once = PTHREAD_ONCE_INIT;

// True if every symbol is there.
static bool find_symbols(void *library)
{
    static const struct {
        const char *name;
        size_t offset;
    } symbols[] = {
#define SYMBOL(name, vendor, type, parameters) \
    {#vendor, offsetof(struct hiprtc, name)},
#include "backends/hip/hiprtc.def"
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dynlib_symbol(library, symbols[i].name);
        if (!symbol) {
            snprintf(reason, sizeof reason, "hiprtc has no %s",
                     symbols[i].name);
            return false;
        }
        memcpy((char *)&hiprtc + symbols[i].offset, &symbol, sizeof symbol);
    }
    return true;
}

// A library of another major version than the runtime's would bring a second
// LLVM into the process.
static void *open_hiprtc(struct text *tried)
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
    return dynlib_open(usual, tried);
}

// hiprtc crashes instead of failing when it does not find this library.
static bool has_comgr(struct text *tried)
{
    static const char *const names[] = {"libamd_comgr.so.3",
                                        "libamd_comgr.so.2", NULL};
    return dynlib_open(names, tried) != NULL;
}

static void load(void)
{
    struct text tried = {0};
    const char *given = config_get()->hiprtc;
    void *library = NULL;
    if (given && strcmp(given, "off") == 0)
        snprintf(reason, sizeof reason, "RUNNEL_HIPRTC=off hides hiprtc");
    else if (!has_comgr(&tried))
        snprintf(reason, sizeof reason,
                 "hiprtc needs libamd_comgr, which was not found: %s",
                 text_get(&tried));
    else if (!(library = open_hiprtc(&tried)))
        snprintf(reason, sizeof reason, "hiprtc was not found: %s",
                 text_get(&tried));
    else
        usable = find_symbols(library);
    text_finish(&tried);
}

const struct hiprtc *hiprtc_load(const char **out_reason)
{
    pthread_once(&once, load);
    *out_reason = reason;
    return usable ? &hiprtc : NULL;
}

const char *hiprtc_reason(void)
{
    const char *why = "";
    if (hiprtc_load(&why))
        return "this version of Runnel does not compile sources for HIP: load "
               "a code object instead";
    return why;
}
