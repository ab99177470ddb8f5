// Devices and primary contexts of the fake, and waiting.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/object/object.h"
#include "core/stream/failure.h"
#include "core/stream/stream.h"

enum { WAIT_STEP_NS = 5000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// Primary ones, by device, and behind them those of cuCtxCreate.
enum { CONTEXTS = 2 * FAKE_DEVICES };
static struct fake_context contexts[CONTEXTS] = {
    [0 ... CONTEXTS - 1] = {.submission = PTHREAD_MUTEX_INITIALIZER,
                            .queueing = PTHREAD_MUTEX_INITIALIZER,
                            .full = PTHREAD_MUTEX_INITIALIZER},
};
static _Thread_local struct fake_context *current;
static _Atomic size_t leaks;

size_t fake_leaks(void);
size_t fake_leaks(void)
{
    return leaks;
}

static int retain_locked(struct fake_context *context, int device);

// A thread of HIP has a current device, the first one if it chose none, which
// stays open.
static void choose_first(void)
{
    int code = FAKE_OK;
    pthread_mutex_lock(&lock);
    if (!contexts[0].references)
        code = retain_locked(&contexts[0], 0);
    pthread_mutex_unlock(&lock);
    current = code ? NULL : &contexts[0];
}

struct fake_context *fake_current(void)
{
    if (FAKE_IS_HIP && !current)
        choose_first();
    return current;
}

struct fake_context *fake_context_of(int device)
{
    return &contexts[device];
}

// --- Devices --------------------------------------------------------------

static int enter_device(enum fake_function function, int device)
{
    int code = fake_enter(function, NULL);
    if (code)
        return code;
    return device >= 0 && device < fake_device_count_now()
               ? FAKE_OK : FAKE_INVALID_DEVICE;
}

int fake_device_count(int *out_count)
{
    int code = fake_enter(FAKE_device_count, NULL);
    if (!code)
        *out_count = fake_device_count_now();
    return code;
}

int fake_device_get(int *out_device, int ordinal)
{
    int code = enter_device(FAKE_device_get, ordinal);
    if (!code)
        *out_device = ordinal;
    return code;
}

int fake_device_name(char *name, int size, int device)
{
    int code = enter_device(FAKE_device_name, device);
    if (!code)
        snprintf(name, (size_t)size, "Fake %s number %d",
                 FAKE_IS_HIP ? "MI300X" : "H100", device);
    return code;
}

int fake_device_uuid(void *uuid, int device)
{
    int code = enter_device(FAKE_device_uuid, device);
    if (!code) {
        memset(uuid, 0xfa, 16);
        ((unsigned char *)uuid)[15] = (unsigned char)device;
    }
    return code;
}

int fake_device_memory(size_t *out_bytes, int device)
{
    int code = enter_device(FAKE_device_memory, device);
    if (!code)
        *out_bytes = fake_device_bytes();
    return code;
}

int fake_device_pci(char *text, int size, int device)
{
    int code = enter_device(FAKE_device_pci, device);
    if (!code)
        snprintf(text, (size_t)size, "0000:%02X:00.0", 0x10 + device);
    return code;
}

int fake_device_can_peer(int *out_can, int device, int peer)
{
    int code = enter_device(FAKE_device_can_peer, device);
    if (code)
        return code;
    if (peer < 0 || peer >= fake_device_count_now())
        return FAKE_INVALID_DEVICE;
    *out_can = device != peer;
    return FAKE_OK;
}

// By the numbers of CUdevice_attribute.
static const int attributes[145] = {
    [1] = 1024, [2] = 1024, [3] = 1024, [4] = 64, [5] = 2147483647,
    [6] = 65535, [7] = 65535, [8] = 49152, [9] = 65536, [10] = 32,
    [11] = 2147483647, [12] = 65536, [13] = 1980000, [14] = 512, [15] = 1,
    [16] = 32, [19] = 1, [31] = 1, [36] = 2619000, [37] = 5120,
    [38] = 52428800, [39] = 2048, [40] = 3, [41] = 1, [50] = 0, [75] = 9,
    [76] = 0, [78] = 1, [79] = 1, [80] = 1, [81] = 233472, [82] = 65536,
    [83] = 1, [86] = 0, [87] = 2, [88] = 0, [89] = 1, [90] = 1, [91] = 1,
    [92] = 1, [93] = 1, [94] = 1, [95] = 1, [97] = 232448, [98] = 1, [99] = 1,
    [102] = 1, [103] = 1, [106] = 32, [107] = 1, [108] = 32768000,
    [109] = 134217728, [111] = 1024, [115] = 1, [119] = 1, [120] = 1,
    [121] = 1, [122] = 1, [123] = 1, [125] = 1, [126] = 4, [129] = 1,
};

int fake_device_attribute(int *out_value, int attribute, int device)
{
    int code = enter_device(FAKE_device_attribute, device);
    if (code)
        return code;
    attribute = FAKE_IS_HIP ? fake_attribute_of(attribute) : attribute;
    if (attribute < 1 || attribute > 144)
        return FAKE_INVALID_VALUE;
    *out_value = attribute == 33 ? 0x10 + device : attributes[attribute];
    return FAKE_OK;
}

// --- Contexts -------------------------------------------------------------

// All addresses there are, as one buffer, for what wants buffers.
static rnl_status open_inner(struct fake_context *context)
{
    rnl_status status = rnl_context_open("cpu", (size_t)context->device, NULL,
                                         &context->inner);
    if (status != RNL_OK)
        return status;
    status = rnl_buffer_wrap(context->inner, (void *)4096,
                             (size_t)1 << 62, NULL, &context->memory);
    if (status == RNL_OK)
        status = rnl_context_default_stream(context->inner, &context->stream);
    if (status != RNL_OK)
        rnl_context_release(context->inner);
    return status;
}

static int retain_locked(struct fake_context *context, int device)
{
    rnl_status status = RNL_OK;
    if (context->references == 0) {
        static uint64_t last_id;
        context->device = device;
        context->id = ++last_id;
        fake_values_reset(&context->legacy);
        atomic_store(&context->peers, 0);
        atomic_store(&context->sticky, 0);
        atomic_store(&context->used, 0);
        status = open_inner(context);
    }
    if (status == RNL_OK)
        context->references++;
    return status == RNL_OK                    ? FAKE_OK
           : status == RNL_ERROR_OUT_OF_MEMORY ? FAKE_OUT_OF_MEMORY
                                               : FAKE_UNKNOWN;
}

int fake_primary_retain(void **out_context, int device)
{
    int code = enter_device(FAKE_primary_retain, device);
    if (code)
        return code;
    pthread_mutex_lock(&lock);
    code = retain_locked(&contexts[device], device);
    pthread_mutex_unlock(&lock);
    if (!code)
        *out_context = &contexts[device];
    return code;
}

int fake_primary_state(int device, unsigned *out_flags, int *out_active)
{
    int code = enter_device(FAKE_primary_state, device);
    if (code)
        return code;
    pthread_mutex_lock(&lock);
    *out_flags = 0;
    *out_active = contexts[device].references > 0;
    pthread_mutex_unlock(&lock);
    return FAKE_OK;
}

static void count_left(enum fake_kind kind, struct fake_context *context)
{
    static const char *const names[] = {"", "stream", "event", "module",
                                        "function", "graph", "node",
                                        "executable graph"};
    if (!fake_any(context, kind))
        return;
    leaks++;
    fake_misuse("%s was left to its context", names[kind]);
}

// What is left goes with the context, as with the real driver; of a broken one
// work may be stuck that looks at its memory, which stays.
static void close_inner(struct fake_context *context)
{
    bool broken = atomic_load(&context->sticky) != 0;
    if (!broken) {
        fake_wait_context(context);
        for (int kind = KIND_STREAM; kind < KIND_COUNT; kind++)
            if (kind != KIND_FUNCTION && kind != KIND_NODE)
                count_left((enum fake_kind)kind, context);
    }
    fake_delete_all(context);
    fake_queues_close(context);
    size_t blocks = fake_blocks_drop(context);
    if (blocks && !broken)
        fake_misuse("%zu blocks of memory were left to their context", blocks);
    leaks += broken ? 0 : blocks;
    rnl_buffer_release(context->memory);
    rnl_context_release(context->inner);
    fake_kept_free(context);
}

void fake_reopen(int device)
{
    struct fake_context *context = &contexts[device];
    pthread_mutex_lock(&lock);
    if (context->references > 0) {
        close_inner(context);
        context->references = 0;
        if (retain_locked(context, device))
            fake_misuse("device %d cannot be opened anew", device);
    }
    pthread_mutex_unlock(&lock);
}

int fake_primary_release(int device)
{
    int code = fake_enter(FAKE_primary_release, NULL);
    if (code == FAKE_NOT_INITIALIZED || code == FAKE_DEINITIALIZED)
        return code;
    struct fake_context *context = &contexts[device];
    pthread_mutex_lock(&lock);
    bool held = context->references > 0;
    if (held && context->references == 1)
        close_inner(context);
    context->references -= held;
    pthread_mutex_unlock(&lock);
    return held ? code : FAKE_INVALID_CONTEXT;
}

// --- Contexts of others, which Runnel only adopts ---------------------------

typedef int create_fn(void **out_context, unsigned flags, int device);
typedef int context_fn(void *context);
typedef int pop_fn(void **out_context);
FAKE_EXPORT create_fn fake_create __asm__("cuCtxCreate_v2");
FAKE_EXPORT context_fn fake_destroy __asm__("cuCtxDestroy_v2");
FAKE_EXPORT pop_fn fake_pop __asm__("cuCtxPopCurrent_v2");

int fake_create(void **out_context, unsigned flags, int device)
{
    int code = fake_enter_named("cuCtxCreate");
    if (code)
        return code;
    if (flags || device < 0 || device >= fake_device_count_now())
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct fake_context *context = &contexts[FAKE_DEVICES];
    while (context < contexts + CONTEXTS && context->references)
        context++;
    code = context < contexts + CONTEXTS ? retain_locked(context, device)
                                         : FAKE_OUT_OF_MEMORY;
    pthread_mutex_unlock(&lock);
    if (!code)
        *out_context = current = context;
    return code;
}

static bool is_of_others(const struct fake_context *context)
{
    return context >= contexts + FAKE_DEVICES && context < contexts + CONTEXTS;
}

int fake_destroy(void *handle)
{
    struct fake_context *context = handle;
    int code = fake_enter_named("cuCtxDestroy");
    if (code)
        return code;
    pthread_mutex_lock(&lock);
    if (is_of_others(context) && context->references) {
        close_inner(context);
        context->references = 0;
    } else {
        code = FAKE_INVALID_CONTEXT;
    }
    pthread_mutex_unlock(&lock);
    if (current == context)
        current = NULL;
    return code;
}

int fake_pop(void **out_context)
{
    *out_context = current;
    current = NULL;
    return FAKE_OK;
}

static struct fake_context *find_context(const void *handle)
{
    struct fake_context *found = NULL;
    for (int i = 0; i < CONTEXTS; i++)
        if (handle == &contexts[i] && contexts[i].references)
            found = &contexts[i];
    return found;
}

int fake_context_id(void *handle, uint64_t *out_id)
{
    int code = fake_enter(FAKE_context_id, NULL);
    struct fake_context *context = find_context(handle);
    if (!code && context)
        *out_id = context->id;
    return code ? code : context ? FAKE_OK : FAKE_DESTROYED;
}

int fake_context_version(void *handle, unsigned *out_version)
{
    int code = fake_enter(FAKE_context_version, NULL);
    *out_version = 3020;
    return code ? code : find_context(handle) ? FAKE_OK : FAKE_INVALID_CONTEXT;
}

int fake_context_device(int *out_device)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_context_device, &context);
    if (!code)
        *out_device = context->device;
    return code;
}

int fake_context_get(void **out_context)
{
    int code = fake_enter(FAKE_context_get, NULL);
    if (!code)
        *out_context = current;
    return code;
}

int fake_context_set(void *context)
{
    int code = fake_enter(FAKE_context_set, NULL);
    if (code)
        return code;
    if (context && !find_context(context))
        return FAKE_INVALID_CONTEXT;
    current = context;
    return FAKE_OK;
}

int fake_context_memory(size_t *out_free, size_t *out_total)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_context_memory, &context);
    if (code)
        return code;
    uint64_t total = fake_device_bytes(), used = atomic_load(&context->used);
    *out_total = total;
    *out_free = total > used ? total - used : 0;
    return FAKE_OK;
}

int fake_context_priorities(int *out_least, int *out_greatest)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_context_priorities, &context);
    if (code)
        return code;
    if (out_least)
        *out_least = FAKE_IS_HIP ? 1 : 0;
    if (out_greatest)
        *out_greatest = FAKE_IS_HIP ? -1 : -5;
    return FAKE_OK;
}

static bool can_be_peer(const struct fake_context *context,
                        const struct fake_context *other)
{
    return other >= contexts && other < contexts + CONTEXTS &&
           other->references && other != context;
}

int fake_context_enable_peer(void *peer, unsigned flags)
{
    struct fake_context *context, *other = peer;
    int code = fake_enter(FAKE_context_enable_peer, &context);
    if (code)
        return code;
    if (flags)
        return FAKE_INVALID_VALUE;
    if (!can_be_peer(context, other))
        return FAKE_INVALID_CONTEXT;
    uint32_t bit = 1u << (other - contexts);
    return atomic_fetch_or(&context->peers, bit) & bit ? FAKE_PEER_ALREADY
                                                       : FAKE_OK;
}

int fake_context_disable_peer(void *peer)
{
    struct fake_context *context, *other = peer;
    int code = fake_enter(FAKE_context_disable_peer, &context);
    if (code)
        return code;
    if (!can_be_peer(context, other))
        return FAKE_INVALID_CONTEXT;
    uint32_t bit = 1u << (other - contexts);
    return atomic_fetch_and(&context->peers, ~bit) & bit ? FAKE_OK
                                                         : FAKE_PEER_NOT;
}

// --- Failing --------------------------------------------------------------

void __real_stream_set_failure(struct stream *stream, struct failure *failure,
                               bool inherited);
void __wrap_stream_set_failure(struct stream *stream, struct failure *failure,
                               bool inherited);

static int code_of_failure(const struct failure *failure)
{
    if (failure->status != RNL_ERROR_LAUNCH_FAILED)
        return FAKE_LAUNCH_FAILED;
    if (strstr(failure->message, "assert"))
        return FAKE_ASSERT;
    return strstr(failure->message, "address") ? FAKE_ILLEGAL_ADDRESS
                                               : FAKE_LAUNCH_FAILED;
}

// Where the library inside latches a stream, its context breaks.
void __wrap_stream_set_failure(struct stream *stream, struct failure *failure,
                               bool inherited)
{
    const void *inner = object_handle(&stream_context(stream)->object);
    for (int i = 0; i < CONTEXTS; i++) {
        int none = 0;
        if (contexts[i].inner == inner)
            atomic_compare_exchange_strong(&contexts[i].sticky, &none,
                                           code_of_failure(failure));
    }
    if (getenv("RUNNEL_FAKE_LOG"))
        fprintf(stderr, "fake driver: device %u broke: %s\n",
                stream_context(stream)->device->index, failure->message);
    __real_stream_set_failure(stream, failure, inherited);
}

int fake_code(struct fake_context *context, rnl_status status)
{
    int sticky = context ? atomic_load(&context->sticky) : 0;
    if (sticky && status != RNL_OK)
        return sticky;
    switch (status) {
    case RNL_OK:
        return FAKE_OK;
    case RNL_NOT_READY:
        return FAKE_NOT_READY;
    case RNL_ERROR_OUT_OF_MEMORY:
        return FAKE_OUT_OF_MEMORY;
    case RNL_ERROR_INVALID_HANDLE:
        return FAKE_INVALID_HANDLE;
    case RNL_ERROR_INVALID_ARGUMENT:
    case RNL_ERROR_OUT_OF_RANGE:
    case RNL_ERROR_ARGUMENT_MISMATCH:
        return FAKE_INVALID_VALUE;
    case RNL_ERROR_UNSUPPORTED:
        return FAKE_NOT_SUPPORTED;
    case RNL_ERROR_NOT_FOUND:
        return FAKE_NOT_FOUND;
    default:
        if (getenv("RUNNEL_FAKE_LOG"))
            fprintf(stderr, "fake driver: unexpected: %s\n",
                    rnl_last_error()->message);
        return FAKE_UNKNOWN;
    }
}

// --- Waiting --------------------------------------------------------------

int fake_wait_stream(struct fake_context *context, rnl_stream stream)
{
    rnl_status status;
    int sticky;
    do {
        status = rnl_stream_synchronize(stream, WAIT_STEP_NS);
        sticky = atomic_load(&context->sticky);
    } while (status == RNL_ERROR_TIMED_OUT && !sticky);
    return sticky ? sticky : fake_code(context, status);
}

int fake_wait_context(struct fake_context *context)
{
    rnl_status status;
    int sticky;
    do {
        status = rnl_context_synchronize(context->inner, WAIT_STEP_NS);
        sticky = atomic_load(&context->sticky);
    } while (status == RNL_ERROR_TIMED_OUT && !sticky);
    return sticky ? sticky : fake_code(context, status);
}
