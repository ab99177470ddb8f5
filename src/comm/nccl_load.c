// Finds NCCL or RCCL, and the driver's calls for the current device.
#include "nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Communicators that do not block came with 2.14. Before 2.19 the engine
// changes them on threads of its own without care.
#define VERSION_LEAST 21900

static const char *const nccl_names[] = {"libnccl.so.2", "libnccl.so", NULL};
static const char *const rccl_names[] = {"librccl.so.1", "librccl.so",
                                         "/opt/rocm/lib/librccl.so.1", NULL};

struct nccl nccl = {
    .name = "NCCL",
    .variable = "RUNNEL_NCCL",
    .libraries = nccl_names,
    .driver_variable = "RUNNEL_CUDA",
    .driver = "libcuda.so.1",
    .get_name = "cuCtxGetCurrent",
    .set_name = "cuCtxSetCurrent",
};
struct nccl rccl = {
    .name = "RCCL",
    .variable = "RUNNEL_RCCL",
    .libraries = rccl_names,
    .driver_variable = "RUNNEL_HIP",
    .driver = "libamdhip64.so",
    .get_name = "hipGetDevice",
    .set_name = "hipSetDevice",
    .by_device = true,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct nccl *nccl_of(const struct comm *comm)
{
    return comm->engine->family;
}

static rnl_status fill(struct nccl *family, void *library)
{
    static const struct {
        size_t offset;
        const char *vendor;
    } symbols[] = {
#define SYMBOL(name, vendor, result, parameters) \
    {offsetof(struct nccl_functions, name), #vendor},
#include "nccl.def"
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].vendor);
        if (!address)
            return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                          "the library of %s has no %s: it is older than 2.19",
                          family->name, symbols[i].vendor);
        memcpy((char *)&family->call + symbols[i].offset, &address,
               sizeof address);
    }
    return RNL_OK;
}

// The driver's own functions, from the library that Runnel uses.
static rnl_status fill_driver(struct nccl *family)
{
    const char *path = secure_getenv(family->driver_variable);
    void *driver = dlopen(path && path[0] ? path : family->driver,
                          RTLD_NOW | RTLD_NODELETE);
    void *get = dlsym(driver ? driver : RTLD_DEFAULT, family->get_name);
    void *set = dlsym(driver ? driver : RTLD_DEFAULT, family->set_name);
    if (!get || !set)
        return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                      "the driver has no %s", family->set_name);
    if (family->by_device) {
        memcpy(&family->get_device, &get, sizeof get);
        memcpy(&family->set_device, &set, sizeof set);
    } else {
        memcpy(&family->get_context, &get, sizeof get);
        memcpy(&family->set_context, &set, sizeof set);
    }
    return RNL_OK;
}

static rnl_status check_version(struct nccl *family)
{
    int number = 0;
    if (family->call.version(&number) != 0)
        number = 0;
    family->number = number;
    snprintf(family->version, sizeof family->version, "%d.%d.%d",
             number / 10000, number / 100 % 100, number % 100);
    return number >= VERSION_LEAST
               ? RNL_OK
               : report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                        "%s %s is too old: 2.19 or later is needed",
                        family->name, family->version);
}

rnl_status nccl_load(const struct engine *engine)
{
    struct nccl *family = engine->family;
    rnl_status status = RNL_OK;
    pthread_mutex_lock(&lock);
    if (!family->loaded) {
        void *library =
            engine_open(family->name, family->variable, family->libraries);
        status = library ? fill(family, library) : rnl_last_error()->status;
        if (status == RNL_OK)
            status = fill_driver(family);
        if (status == RNL_OK)
            status = check_version(family);
        family->loaded = status == RNL_OK;
        if (family->loaded)
            nccl_watch_exit();
    }
    pthread_mutex_unlock(&lock);
    return status;
}

struct nccl_current nccl_enter(const struct comm *comm)
{
    struct nccl *family = nccl_of(comm);
    struct nccl_current before = {NULL, 0};
    if (family->by_device) {
        family->get_device(&before.device);
        family->set_device(comm->nccl.device);
    } else {
        family->get_context(&before.context);
        family->set_context(comm->nccl.native);
    }
    return before;
}

void nccl_leave(const struct comm *comm, struct nccl_current before)
{
    struct nccl *family = nccl_of(comm);
    if (family->by_device)
        family->set_device(before.device);
    else
        family->set_context(before.context);
}

void nccl_error(const struct comm *comm, int result, char *text, size_t size)
{
    struct nccl *family = nccl_of(comm);
    const char *words = family->call.error_text(result);
    const char *more = family->call.last_error(NULL);
    snprintf(text, size, "%s (%d)%s%s", words ? words : "error", result,
             more && more[0] ? ": " : "", more ? more : "");
}
