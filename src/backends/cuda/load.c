// Finds libcuda and fills the driver's table from symbols.def.
#include "backends/cuda/cuda.h"

#include "base/dynlib.h"
#include "core/object/config.h"

#include <stdio.h>
#include <string.h>

#define LEGACY_STREAM 1u  // for cuGetProcAddress: the ordinary variants
#define VERSION_LEAST 11040
#define VERSION_HANDLES 13000  // the oldest version checked

typedef int get_address_fn(const char *symbol, void **out, int version,
                           uint64_t flags);

enum driver_need { REQUIRED, OPTIONAL };

struct symbol {
    size_t offset;  // in struct driver_functions
    const char *vendor, *full;
    int version;
    enum driver_need need;
    const char *without;
};

static const struct symbol symbols[] = {
#define SYMBOL(name, vendor, suffix, version, need, without)            \
    {offsetof(struct driver_functions, name), #vendor, #vendor suffix,  \
     version, need, without},
#include "backends/cuda/symbols.def"
#undef SYMBOL
};

static void *find(void *library, get_address_fn *get_address,
                  const struct symbol *symbol)
{
    void *address = NULL;
    if (get_address && get_address(symbol->vendor, &address, symbol->version,
                                   LEGACY_STREAM) == 0 &&
        address)
        return address;
    return dynlib_symbol(library, symbol->full);
}

// False if a required symbol is missing.
static bool fill(void *library, struct driver *driver)
{
    get_address_fn *get_address =
        (get_address_fn *)dynlib_symbol(library, "cuGetProcAddress");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address = find(library, get_address, &symbols[i]);
        if (!address && symbols[i].need == REQUIRED) {
            snprintf(driver->reason, sizeof driver->reason,
                     "the driver's library has no %s: it is older than "
                     "CUDA 11.4",
                     symbols[i].full);
            return false;
        }
        memcpy((char *)&driver->call + symbols[i].offset, &address,
               sizeof address);
    }
    return true;
}

const char *cuda_missing(const struct driver *driver, const char *vendor)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *address;
        memcpy(&address, (const char *)&driver->call + symbols[i].offset,
               sizeof address);
        if (strcmp(symbols[i].vendor, vendor) == 0)
            return address ? "" : symbols[i].without;
    }
    return "";
}

// Opens libcuda from the usual names. RUNNEL_CUDA names one file instead, or
// switches the driver off.
static void *open_library(struct driver *driver)
{
    static const char *const usual[] = {"libcuda.so.1", "libcuda.so", NULL};
    const char *given = config_get()->cuda;
    const char *one[] = {given, NULL};
    struct text tried = {0};
    if (given && strcmp(given, "off") == 0) {
        snprintf(driver->reason, sizeof driver->reason,
                 "RUNNEL_CUDA=off hides it");
        return NULL;
    }
    void *library = dynlib_open(given ? one : usual, &tried);
    if (!library)
        snprintf(driver->reason, sizeof driver->reason,
                 "no NVIDIA driver was found: %s", text_get(&tried));
    text_finish(&tried);
    return library;
}

static void refuse(struct driver *driver, const char *what, int code)
{
    const char *name = NULL, *text = NULL;
    driver->call.error_name(code, &name);
    driver->call.error_text(code, &text);
    snprintf(driver->reason, sizeof driver->reason,
             "the NVIDIA driver refused %s: %s (%s)", what,
             text ? text : "it does not say why", name ? name : "no name");
}

void cuda_load(struct driver *driver)
{
    void *library = open_library(driver);
    if (!library || !fill(library, driver))
        return;
    int code = driver->call.init(0), count = 0;
    if (code == 0)
        code = driver->call.driver_version(&driver->version);
    driver->points = cuda_points(&driver->call);
    driver->handles_suffice = driver->version >= VERSION_HANDLES;
    if (code == 0 && driver->version < VERSION_LEAST) {
        snprintf(driver->reason, sizeof driver->reason,
                 "the NVIDIA driver is for CUDA %d.%d; 11.4 is the oldest "
                 "that will do",
                 driver->version / 1000, driver->version % 1000 / 10);
        return;
    }
    if (code == 0)
        code = driver->call.device_count(&count);
    if (code != 0)
        refuse(driver, "to start", code);
    else if (count <= 0)
        snprintf(driver->reason, sizeof driver->reason,
                 "the NVIDIA driver has no device");
    else
        driver->device_count = (size_t)count;
}
