// Contexts as current devices, and the texts of errors.
#include "backends/hip/hip.h"

static void *handle_of(int device)
{
    return (void *)(uintptr_t)(device + 1);
}

static int device_of(const void *context)
{
    return (int)(uintptr_t)context - 1;
}

static int error_name(int code, const char **out_text)
{
    *out_text = hip.error_name(code);
    return 0;
}

static int error_text(int code, const char **out_text)
{
    *out_text = hip.error_text(code);
    return 0;
}

// HIP keeps a device open until the process ends.
static int primary_retain(void **out_context, int device)
{
    *out_context = handle_of(device);
    return 0;
}

static int primary_release(int device)
{
    (void)device;
    return 0;
}

static int primary_state(int device, unsigned *out_flags, int *out_active)
{
    (void)device;
    *out_flags = 0;
    *out_active = 1;
    return 0;
}

static driver_context_device_fn *get_device;  // hipGetDevice

static int context_get(void **out_context)
{
    int device = 0, code = get_device(&device);
    *out_context = code == 0 ? handle_of(device) : NULL;
    return code;
}

// A thread always has a current device, so NULL changes nothing.
static int context_set(void *context)
{
    return context ? hip.context_set(device_of(context)) : 0;
}

// The adopted context's handle comes from the program.
static int context_version(void *context, unsigned *out_version)
{
    int found = -1;
    *out_version = 0;
    if ((uintptr_t)context - 1 >= INT16_MAX)
        return HIP_INVALID_CONTEXT;
    int before = 0, device = device_of(context);
    int code = get_device(&before);
    if (code == 0 && hip.context_set(device) == 0)
        found = device;
    hip.context_set(before);
    return found == device ? code : HIP_INVALID_CONTEXT;
}

static int context_enable_peer(void *peer, unsigned flags)
{
    return hip.context_enable_peer(device_of(peer), flags);
}

static int context_disable_peer(void *peer)
{
    return hip.context_disable_peer(device_of(peer));
}

void hip_adapt_contexts(struct driver_functions *call)
{
    get_device = call->context_device;
    call->error_name = error_name;
    call->error_text = error_text;
    call->primary_retain = primary_retain;
    call->primary_release = primary_release;
    call->primary_state = primary_state;
    call->context_get = context_get;
    call->context_set = context_set;
    call->context_version = context_version;
    call->context_enable_peer = context_enable_peer;
    call->context_disable_peer = context_disable_peer;
}
