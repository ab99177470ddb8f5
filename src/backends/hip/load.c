// Finds libamdhip64 and fills the driver's table from symbols.def.
#include "backends/hip/hip.h"

#include "base/dynlib.h"
#include "base/env.h"
#include "core/object/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct hip_functions hip;
int hip_version;

// --- Symbols -----------------------------------------------------------------

enum need { REQUIRED, OPTIONAL };

struct hip_symbol {
    void *to;       // where a function that needs an adapter goes, or NULL
    size_t offset;  // else in struct driver_functions
    const char *vendor;
    enum need need;
    const char *without;
};

static const struct hip_symbol symbols[] = {
#define SYMBOL(name, vendor, suffix, since, need, why) \
    {NULL, offsetof(struct driver_functions, name), #vendor, need, why},
#define ADAPTED(name, vendor, suffix, since, need, why, result, parameters) \
    {&hip.name, 0, #vendor, need, why},
#define OTHER ADAPTED
#include "backends/hip/symbols.def"
};

enum { SYMBOL_COUNT = sizeof symbols / sizeof symbols[0] };

static bool found[SYMBOL_COUNT];

// False if a required symbol is missing.
static bool fill(void *library, struct driver *driver)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        const struct hip_symbol *symbol = &symbols[i];
        void *address = dynlib_symbol(library, symbol->vendor);
        found[i] = address != NULL;
        if (!address && symbol->need == REQUIRED) {
            snprintf(driver->reason, sizeof driver->reason,
                     "libamdhip64 has no %s: it is older than HIP 5.2",
                     symbol->vendor);
            return false;
        }
        memcpy(symbol->to ? symbol->to
                          : (char *)&driver->call + symbol->offset,
               &address, sizeof address);
    }
    hip_adapt_contexts(&driver->call);
    hip_adapt_streams(&driver->call);
    hip_adapt_memory(&driver->call);
    hip_adapt_modules(&driver->call);
    hip_adapt_graphs(&driver->call);
    hip_guard_calls(&driver->call);
    return true;
}

const char *hip_missing(const char *vendor)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++)
        if (strcmp(symbols[i].vendor, vendor) == 0)
            return found[i] ? "" : symbols[i].without;
    return "";
}

// --- The library -------------------------------------------------------------

#define PATH_SIZE 512

// Tries one name in a folder. A folder that lacks the file is not worth a word
// of the reason.
static void *open_in(const char *folder, const char *name, struct text *tried)
{
    char path[PATH_SIZE];
    const char *one[] = {path, NULL};
    int length = snprintf(path, sizeof path, "%s/lib/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, F_OK) != 0)
        return NULL;
    return dynlib_open(one, tried);
}

void *hip_open(const char *const *names, struct text *tried)
{
    const char *rocm = env_get("ROCM_PATH");
    void *library = NULL;
    for (size_t i = 0; names[i] && !library; i++) {
        const char *one[] = {names[i], NULL};
        library = dynlib_open(one, tried);
        if (!library && rocm && *rocm)
            library = open_in(rocm, names[i], tried);
        if (!library)
            library = open_in("/opt/rocm", names[i], tried);
    }
    return library;
}

// The name without a version is last, because only packages for developers have
// it.
static const char *const usual[] = {
    "libamdhip64.so.8", "libamdhip64.so.7", "libamdhip64.so.6",
    "libamdhip64.so.5", "libamdhip64.so", NULL,
};

// RUNNEL_HIP names one file, or switches the driver off. The library is never
// closed: it would stay loaded in any case.
static void *open_library(struct driver *driver)
{
    const char *given = config_get()->hip;
    const char *one[] = {given, NULL};
    struct text tried = {0};
    if (given && strcmp(given, "off") == 0) {
        snprintf(driver->reason, sizeof driver->reason,
                 "RUNNEL_HIP=off hides it");
        return NULL;
    }
    void *library = given ? dynlib_open(one, &tried) : hip_open(usual, &tried);
    if (!library)
        snprintf(driver->reason, sizeof driver->reason,
                 "no libamdhip64 was found: %s", text_get(&tried));
    text_finish(&tried);
    return library;
}

// --- Devices -----------------------------------------------------------------

// Codes that mean no device: which of them a library gives depends on its
// version and on the call before.
static bool means_none(int code)
{
    enum { INSUFFICIENT_DRIVER = 35, UNKNOWN = 999 };
    return code == HIP_NO_DEVICE || code == HIP_INVALID_DEVICE ||
           code == INSUFFICIENT_DRIVER || code == UNKNOWN;
}

static void explain(struct driver *driver, int code)
{
    const char *name = hip.error_name(code), *text = hip.error_text(code);
    snprintf(driver->reason, sizeof driver->reason,
             "HIP %d.%d.%d %s: %s (%s)", hip_version / 10000000,
             hip_version / 100000 % 100, hip_version % 100000,
             means_none(code) ? "has no device" : "refused to start",
             text ? text : "it does not say why", name ? name : "no name");
}

void hip_load(struct driver *driver)
{
    void *library = open_library(driver);
    if (!library || !fill(library, driver))
        return;
    int count = 0, code = driver->call.driver_version(&hip_version);
    driver->version = hip_version;
    driver->points = &hip_points;
    if (code == 0)
        code = driver->call.device_count(&count);
    if (code != 0)
        explain(driver, code);
    else if (count <= 0)
        explain(driver, HIP_NO_DEVICE);
    else
        driver->device_count = (size_t)count;
}
