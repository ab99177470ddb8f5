#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/timeline/reaper.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/tuning.h"

#include <string.h>

// Values of memory.cookie; 0: memory of this process alone. Otherwise,
// processes share the memory, and this process made or opened it.
enum { COOKIE_SHARED = 1, COOKIE_OPENED = 2 };

// --- Allocation --------------------------------------------------------------

// Memory of the driver's pools is not used: streams cannot write values there
// or wait for values there (seen with CUDA 13.0). The core has a pool of its
// own.
static int allocate(struct gpu_context *gpu, rnl_memory_kind kind, size_t size,
                    struct memory *out_memory)
{
    const struct driver_functions *call = call_of(gpu);
    uint64_t address = 0;
    void *pointer = NULL;
    int code;
    switch (kind) {
    case RNL_MEMORY_HOST:
        code = call->host_allocate(&pointer, size,
                                   DRIVER_HOST_PORTABLE | DRIVER_HOST_MAPPED);
        break;
    case RNL_MEMORY_MANAGED:
        code = call->managed_allocate(&address, size, DRIVER_ATTACH_GLOBAL);
        pointer = (void *)(uintptr_t)address;
        break;
    default:
        code = call->memory_allocate(&address, size);
        *out_memory = (struct memory){.device = (void *)(uintptr_t)address};
        return code;
    }
    *out_memory = (struct memory){.device = pointer, .host = pointer};
    return code;
}

rnl_status gpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory)
{
    struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    int code = allocate(gpu, kind, size, out_memory);
    current_back(gpu, before);
    if (code == 0)
        return RNL_OK;
    if (code != gpu->driver->out_of_memory)
        return driver_fail(context, code, "to allocate memory");
    // Retired memory may be on its way to the pool, which the core asks next.
    reaper_await(ALLOCATION_PATIENCE_NS);
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "the device has no room for %zu bytes", size);
}

static void free_host(struct gpu_context *gpu, void *pointer)
{
    call_of(gpu)->host_free(pointer);
}

static void free_managed(struct gpu_context *gpu, void *pointer)
{
    call_of(gpu)->memory_free((uint64_t)(uintptr_t)pointer);
}

static void close_opened(struct gpu_context *gpu, void *pointer)
{
    call_of(gpu)->memory_close((uint64_t)(uintptr_t)pointer);
}

// Frees by the single driver call that does not wait for the device. HIP has no
// such call: its hipFreeAsync waits for memory that is not of a pool. A stream
// with work is not used for this, because that stream may be full or captured
// by other code.
static void free_device(struct gpu_context *gpu, void *pointer)
{
    void *before = current_enter(gpu);
    call_of(gpu)->free_async((uint64_t)(uintptr_t)pointer, gpu->own_stream);
    current_back(gpu, before);
}

void gpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size)
{
    (void)size;
    if (kind == RNL_MEMORY_HOST)
        free_when_idle(context, free_host, memory.host);
    else if (kind == RNL_MEMORY_MANAGED)
        free_when_idle(context, free_managed, memory.device);
    else if (memory.cookie != 0 || !call_of(gpu_of(context))->free_async)
        free_when_idle(context,
                          memory.cookie == COOKIE_OPENED ? close_opened
                                                         : free_managed,
                          memory.device);
    else
        free_device(gpu_of(context), memory.device);
}

// --- Memory that several processes share -------------------------------------

// The driver cuts small allocations out of larger blocks, and another process
// opens the block as a whole. So each shared allocation is a block of its own.
#define SHARE_UNIT ((size_t)2 << 20)

static int share(struct gpu_context *gpu, size_t size, uint64_t *out_address,
                 struct driver_share *out_key)
{
    const struct driver_functions *call = call_of(gpu);
    size_t whole = (size + SHARE_UNIT - 1) & ~(SHARE_UNIT - 1);
    if (whole < size)
        return gpu->driver->out_of_memory;
    int code = call->memory_allocate(out_address, whole);
    if (code == 0 && (code = call->memory_export(out_key, *out_address)))
        free_when_idle(gpu->owner, free_managed,
                          (void *)(uintptr_t)*out_address);
    return code;
}

static rnl_status make_shared(struct context *context, size_t size,
                              struct memory *out_memory, unsigned char *key)
{
    struct gpu_context *gpu = gpu_of(context);
    struct driver_share made;
    uint64_t address = 0;
    void *before = current_enter(gpu);
    int code = share(gpu, size, &address, &made);
    current_back(gpu, before);
    if (code != 0 && code != gpu->driver->out_of_memory)
        return driver_fail(context, code, "memory that processes share");
    if (code != 0) {
        reaper_await(ALLOCATION_PATIENCE_NS);
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "the device has no room for %zu bytes that processes "
                    "share", size);
    }
    *out_memory = (struct memory){.device = (void *)(uintptr_t)address,
                                  .cookie = COOKIE_SHARED};
    memcpy(key, &made, sizeof made);
    return RNL_OK;
}

// False if the driver knows that the memory is smaller. The size came with the
// key, from a process that may be mistaken.
static bool has_room(struct gpu_context *gpu, uint64_t address, size_t size)
{
    uint64_t start = 0;
    size_t room = 0;
    int wanted[] = {DRIVER_POINTER_RANGE_START, DRIVER_POINTER_RANGE_SIZE};
    void *values[] = {&start, &room};
    if (call_of(gpu)->pointer_attributes(2, wanted, values, address) != 0 ||
        room == 0)
        return true;
    return start <= address && address - start < room &&
           size <= room - (size_t)(address - start);
}

static rnl_status cannot_open(struct context *context, int code)
{
    const struct driver *driver = gpu_of(context)->driver;
    const char *name = NULL;
    rnl_status status = driver->status(code);
    if (driver->is_sticky(code) || status == RNL_ERROR_OUT_OF_MEMORY ||
        status == RNL_ERROR_UNSUPPORTED)
        return driver_fail(context, code, "to open memory of another process");
    driver->call.error_name(code, &name);
    status = fail_at(RNL_ERROR_NOT_FOUND, "handle",
                     "the driver finds no memory (%s): the process that "
                     "exported it ended, released the buffer, or is in "
                     "another container", name ? name : "no name");
    fail_set_native(code, name ? name : "");
    return status;
}

static rnl_status open_shared(struct context *context,
                              const unsigned char *key, size_t size,
                              struct memory *out_memory)
{
    struct gpu_context *gpu = gpu_of(context);
    struct driver_share given;
    uint64_t address = 0;
    memcpy(&given, key, sizeof given);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->memory_open(&address, given,
                                         DRIVER_SHARE_LAZY_PEER);
    bool fits = code == 0 && has_room(gpu, address, size);
    current_back(gpu, before);
    if (code != 0)
        return cannot_open(context, code);
    *out_memory = (struct memory){.device = (void *)(uintptr_t)address,
                                  .cookie = COOKIE_OPENED};
    if (fits)
        return RNL_OK;
    gpu_memory_free(context, RNL_MEMORY_DEVICE, *out_memory, size);
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "handle",
                   "the handle says %zu bytes, and the memory has less", size);
}

rnl_status gpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory)
{
    return opens ? open_shared(context, key, size, out_memory)
                 : make_shared(context, size, out_memory, key);
}

// --- Host memory -------------------------------------------------------------

rnl_status gpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked)
{
    struct gpu_context *gpu = gpu_of(context);
    const struct driver_functions *call = call_of(gpu);
    void *before = current_enter(gpu);
    if (!locked)
        sync_gate_enter(gpu);
    int code = locked ? call->host_register(pointer, size,
                                            DRIVER_HOST_PORTABLE |
                                                DRIVER_HOST_MAPPED)
                      : call->host_unregister(pointer);
    if (!locked)
        sync_gate_leave(gpu);
    current_back(gpu, before);
    // A failure of the unlocking call may belong to earlier work, and is
    // reported again later.
    return code == 0 || !locked
               ? RNL_OK
               : driver_fail(context, code, "to page-lock memory");
}

// --- Managed memory ----------------------------------------------------------

int gpu_hint(struct stream *stream, struct op *op)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    const struct driver_functions *call = call_of(gpu);
    void *handle = gpu_stream_of(stream)->handle;
    uint64_t address = (uint64_t)(uintptr_t)op->hint.address;
    static const unsigned modes[] = {
        [RNL_ATTACH_GLOBAL] = DRIVER_ATTACH_GLOBAL,
        [RNL_ATTACH_HOST] = DRIVER_ATTACH_HOST,
        [RNL_ATTACH_SINGLE] = DRIVER_ATTACH_SINGLE,
    };
    if (op->kind == OP_ATTACH)
        return call->stream_attach(handle, address, 0, modes[op->hint.what]);
    bool to_device = op->hint.what == RNL_MEMORY_TO_DEVICE;
    return call->prefetch(address, op->hint.size,
                          to_device ? gpu->device : DRIVER_DEVICE_CPU,
                          handle);
}

rnl_status gpu_memory_advise(struct context *context, void *address,
                             size_t size, rnl_memory_advice advice)
{
    // The vendors' numbers: 1 and 2 turn read-mostly on and off, 3 and 4 the
    // preferred place, 5 and 6 an accessing device.
    static const struct {
        rnl_memory_advice advice;
        int number;
        bool host;
    } numbers[] = {
        {RNL_ADVICE_READ_MOSTLY, 1, false},
        {RNL_ADVICE_PREFER_DEVICE, 3, false},
        {RNL_ADVICE_PREFER_HOST, 3, true},
        {RNL_ADVICE_USED_BY_DEVICE, 5, false},
        {RNL_ADVICE_USED_BY_HOST, 5, true},
    };
    struct gpu_context *gpu = gpu_of(context);
    uint64_t start = (uint64_t)(uintptr_t)address;
    int code = 0;
    void *before = current_enter(gpu);
    if (advice == RNL_ADVICE_NONE)
        for (int undo = 2; undo <= 6 && code == 0; undo += 2)
            code = call_of(gpu)->advise(start, size, undo, gpu->device);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].advice == advice)
            code = call_of(gpu)->advise(
                start, size, numbers[i].number,
                numbers[i].host ? DRIVER_DEVICE_CPU : gpu->device);
    current_back(gpu, before);
    return code == 0 ? RNL_OK : driver_fail(context, code, "advice");
}
