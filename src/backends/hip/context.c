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

// HIP always has a current device. So that calls fail where a context cannot be
// made current, as they do with CUDA, the thread keeps what CUDA would: that no
// context is current. `code` tells why, and 0 that there is one.
static _Thread_local struct {
    int code;
    int unknown;  // the code by which hipGetDevice failed, or 0
    int kept;     // the device that is current nevertheless
} none __attribute__((tls_model("initial-exec")));

// The context before, when hipGetDevice failed; then no device is set.
#define UNKNOWN ((void *)UINTPTR_MAX)

static int context_get(void **out_context)
{
    int device = 0;
    if (__builtin_expect(none.code != 0, 0)) {
        *out_context = NULL;
        return 0;
    }
    int code = get_device(&device);
    *out_context = handle_of(device);
    if (__builtin_expect(code != 0, 0)) {
        none.unknown = code;
        *out_context = UNKNOWN;
    }
    return code;
}

static int have_none(int code)
{
    none.code = code;
    if (get_device(&none.kept) != 0)
        none.kept = -1;
    return 0;
}

static void have_one(void)
{
    none.code = none.unknown = 0;
}

static _Thread_local int last;  // code of hipSetDevice

static int context_set(void *context)
{
    if (!context)
        return have_none(none.unknown ? none.unknown
                         : last       ? last
                                      : HIP_INVALID_CONTEXT);
    if (context == UNKNOWN ||
        (none.code != 0 && device_of(context) == none.kept)) {
        have_one();
        return 0;
    }
    last = none.unknown ? none.unknown : hip.context_set(device_of(context));
    if (last == 0)
        have_one();
    return last;
}

// --- Calls about the current device ------------------------------------------

int hip_refusal(void)
{
    return none.code;
}

// The table before, adapters included.
static struct driver_functions inner;

#define CHECKED(name, arguments, ...)                                     \
    static int checked_##name(__VA_ARGS__)                                \
    {                                                                     \
        return __builtin_expect(none.code == 0, 1) ? inner.name arguments \
                                                   : none.code;           \
    }
#include "backends/hip/current_device.def"
#undef CHECKED

void hip_guard_calls(struct driver_functions *call)
{
    inner = *call;
#define CHECKED(name, ...) \
    if (call->name)        \
        call->name = checked_##name;
#include "backends/hip/current_device.def"
#undef CHECKED
}

// --- Contexts and peers ------------------------------------------------------

// The adopted context's handle comes from the program.
static int context_version(void *context, unsigned *out_version)
{
    int found = -1;
    *out_version = 0;
    if ((uintptr_t)context - 1 >= INT16_MAX)
        return HIP_INVALID_CONTEXT;
    int before = 0, device = device_of(context);
    int code = get_device(&before);
    if (code != 0)
        return code;
    if (hip.context_set(device) == 0)
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
