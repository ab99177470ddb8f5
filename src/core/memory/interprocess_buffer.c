// Buffers and events that several processes share. Each buffer is separate
// memory, outside the pool, because no pooled memory may be open in another
// process.

#include "base/clock.h"
#include "base/hash.h"
#include "core/backend.h"
#include "core/memory/buffer.h"
#include "core/memory/memory_pool.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/stream/event.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MAGIC "RNLIPC\0\1"  // the last byte is the version of the layout

enum { KIND_BUFFER = 1, KIND_EVENT = 2 };

struct wire {
    char magic[8];
    char api[16];
    uint64_t process;  // random, so that equal numbers do not confuse
    uint64_t size;
    uint32_t pid;
    uint32_t kind;
    uint64_t device;   // of an accelerator's memory, else 0
    unsigned char key[SHARE_KEY_SIZE];
    uint64_t check;    // of all bytes before
};

_Static_assert(sizeof(struct wire) == sizeof(rnl_ipc_handle),
               "a handle is one wire");

// Belongs to the buffer, as the user data of its deleter.
struct shared {
    struct context *context;  // the buffer's, which outlives this
    struct memory memory;
    bool imported;
    unsigned char key[SHARE_KEY_SIZE];
};

static uint64_t process_number(void)
{
    static _Atomic uint64_t number;
    uint64_t known = atomic_load(&number), made = 0;
    if (known != 0)
        return known;
    if (getrandom(&made, sizeof made, GRND_NONBLOCK) != sizeof made)
        made = clock_now();
    made |= 1;
    return atomic_compare_exchange_strong(&number, &known, made) ? made : known;
}

// The number of a device, which is equal in all processes. 0 for objects that
// all devices can use: memory of a cpu, and events, which lie in host memory.
static uint64_t device_number(const struct context *context, uint32_t kind)
{
    const rnl_device_info *info = &context->device->info;
    return context->backend->accelerator && kind == KIND_BUFFER
               ? hash_64(info->uuid, sizeof info->uuid) : 0;
}

static uint64_t check_of(const struct wire *wire)
{
    return hash_64(wire, offsetof(struct wire, check));
}

void ipc_handle_seal(rnl_ipc_handle *handle)
{
    struct wire wire;
    memcpy(&wire, handle, sizeof wire);
    wire.check = check_of(&wire);
    memcpy(handle, &wire, sizeof wire);
}

// --- Memory ----------------------------------------------------------------

static void free_shared(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    struct shared *shared = user_data;
    shared->context->backend->memory_free(shared->context, RNL_MEMORY_DEVICE,
                                          shared->memory, size);
    mem_release(shared, sizeof *shared);
}

// Takes over `shared`, also when it fails.
static struct buffer *shared_buffer(struct shared *shared, size_t size,
                                    const char *label)
{
    struct buffer *buffer =
        buffer_new(shared->context, RNL_MEMORY_DEVICE, size, label);
    if (!buffer) {
        free_shared(NULL, size, shared);
        return NULL;
    }
    buffer->memory = shared->memory;
    buffer->deleter = free_shared;
    buffer->user_data = shared;
    return buffer;
}

static struct shared *shared_new(struct context *context, bool imported)
{
    struct shared *shared = mem_allocate(sizeof *shared);
    if (!shared) {
        fail(RNL_ERROR_OUT_OF_MEMORY, "no memory to note a shared buffer");
        return NULL;
    }
    *shared = (struct shared){.context = context, .imported = imported};
    return shared;
}

static rnl_status check_share(struct context *context, size_t size,
                              const rnl_buffer_options *options)
{
    rnl_status status =
        context_need(context, RNL_FEATURE_INTERPROCESS_MEMORY, "options",
                     "interprocess buffers are");
    if (status != RNL_OK)
        return status;
    if (options->kind != RNL_MEMORY_DEVICE)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       ".interprocess is for RNL_MEMORY_DEVICE, and .kind is "
                       "%d", (int)options->kind);
    if (size == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "size",
                       "a buffer of 0 bytes has no memory to share");
    return RNL_OK;
}

rnl_status share_buffer_make(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct buffer **out_buffer)
{
    const struct backend *backend = context->backend;
    rnl_status status = check_share(context, size, options);
    if (status != RNL_OK)
        return status;
    struct shared *shared = shared_new(context, false);
    if (!shared)
        return fail_status();
    status = backend->memory_share(context, false, size, shared->key,
                                   &shared->memory);
    if (status == RNL_ERROR_OUT_OF_MEMORY) {
        memory_pool_trim(context, 0);
        status = backend->memory_share(context, false, size, shared->key,
                                       &shared->memory);
    }
    if (status != RNL_OK) {
        mem_release(shared, sizeof *shared);
        return status;
    }
    *out_buffer = shared_buffer(shared, size, options->label);
    return *out_buffer ? RNL_OK : fail_status();
}

// --- Export ----------------------------------------------------------------

static void write_wire(const struct context *context, uint32_t kind,
                       uint64_t size, const unsigned char *key,
                       rnl_ipc_handle *out_handle)
{
    struct wire wire = {.magic = MAGIC,
                        .process = process_number(),
                        .size = size,
                        .device = device_number(context, kind),
                        .kind = kind,
                        .pid = (uint32_t)getpid()};
    strncpy(wire.api, context->backend->api, sizeof wire.api - 1);
    memcpy(wire.key, key, sizeof wire.key);
    wire.check = check_of(&wire);
    memcpy(out_handle, &wire, sizeof wire);
}

static rnl_status export(const struct buffer *buffer,
                         rnl_ipc_handle *out_handle)
{
    const struct shared *shared = buffer->user_data;
    if (buffer->parent)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                       "'buffer' is a slice: export the whole and send the "
                       "offset with it");
    if (buffer->deleter != free_shared)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                       "'buffer' was created without .interprocess");
    if (shared->imported)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                       "'buffer' was imported: send the handle that it came "
                       "from");
    write_wire(shared->context, KIND_BUFFER, buffer->size, shared->key,
               out_handle);
    return RNL_OK;
}

rnl_status rnl_buffer_export(rnl_buffer handle, rnl_ipc_handle *out_handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_pointer(out_handle, "out_handle")))
        return status;
    struct object *object = object_find_ref(handle, OBJECT_BUFFER);
    if (!object)
        return object_refuse(handle, OBJECT_BUFFER, "buffer");
    status = export((struct buffer *)object, out_handle);
    object_unref(object);
    return status;
}

// --- Import ----------------------------------------------------------------

static rnl_status refuse_handle(const char *why)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "handle", "%s", why);
}

static rnl_status check_wire(const struct context *context, uint32_t kind,
                             const struct wire *wire)
{
    if (memcmp(wire->magic, MAGIC, sizeof wire->magic - 1) != 0)
        return refuse_handle("the bytes are no handle of rnl_buffer_export");
    if (wire->magic[7] != MAGIC[7])
        return refuse_handle("the handle is of another version of Runnel; use "
                             "the same one in both processes");
    if (wire->check != check_of(wire))
        return refuse_handle("the handle is damaged: its check sum does not "
                             "fit; send all 128 bytes as they are");
    if (wire->kind != kind)
        return refuse_handle(kind == KIND_BUFFER
                                 ? "the handle is of an event; use "
                                   "rnl_event_import"
                                 : "the handle is of a buffer; use "
                                   "rnl_buffer_import");
    if (strncmp(wire->api, context->backend->api, sizeof wire->api) != 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "handle",
                       "the handle is of '%.15s', and the context of '%s'",
                       wire->api, context->backend->api);
    if (wire->device != device_number(context, kind))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "handle",
                       "the memory is of another device than %s:%u; import it "
                       "in a context of the device that has it",
                       context->backend->api, context->device->index);
    if (wire->pid == (uint32_t)getpid() && wire->process == process_number())
        return refuse_handle("the handle is of this process: use what was "
                             "exported itself, or retain it");
    if ((wire->size == 0) != (kind == KIND_EVENT) ||
        wire->size > PTRDIFF_MAX)
        return refuse_handle("the handle names a size that no buffer has");
    return RNL_OK;
}

static rnl_status import(struct context *context, const struct wire *wire,
                         rnl_buffer *out_buffer)
{
    unsigned char key[SHARE_KEY_SIZE];
    struct shared *shared = shared_new(context, true);
    if (!shared)
        return fail_status();
    memcpy(key, wire->key, sizeof key);
    rnl_status status = context->backend->memory_share(
        context, true, (size_t)wire->size, key, &shared->memory);
    if (status != RNL_OK) {
        mem_release(shared, sizeof *shared);
        return status;
    }
    struct buffer *buffer = shared_buffer(shared, (size_t)wire->size, NULL);
    if (!buffer)
        return fail_status();
    *out_buffer = object_publish(&buffer->object);
    return RNL_OK;
}

rnl_status rnl_buffer_import(rnl_context handle, const rnl_ipc_handle *given,
                             rnl_buffer *out_buffer)
{
    struct context *context;
    struct wire wire;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(given, "handle")) ||
        (status = check_pointer(out_buffer, "out_buffer")) ||
        (status = context_need(context, RNL_FEATURE_INTERPROCESS_MEMORY,
                               "context", "interprocess buffers are")))
        return status;
    memcpy(&wire, given, sizeof wire);  // may change meanwhile
    status = check_wire(context, KIND_BUFFER, &wire);
    return status ? status : import(context, &wire, out_buffer);
}

// --- Events ----------------------------------------------------------------

static rnl_status export_event(struct event *event, rnl_ipc_handle *out_handle)
{
    unsigned char key[SHARE_KEY_SIZE] = {0};
    if (!event->options.interprocess)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "event",
                       "'event' was created without .interprocess");
    rnl_status status = event->backend->event_share(event, false, key);
    if (status == RNL_OK)
        write_wire(event->object.context, KIND_EVENT, 0, key, out_handle);
    return status;
}

rnl_status rnl_event_export(rnl_event handle, rnl_ipc_handle *out_handle)
{
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_pointer(out_handle, "out_handle")))
        return status;
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    if (!object)
        return object_refuse(handle, OBJECT_EVENT, "event");
    status = export_event((struct event *)object, out_handle);
    object_unref(object);
    return status;
}

static rnl_status import_event(struct context *context, struct wire *wire,
                               rnl_event *out_event)
{
    struct event *event = event_make(context);
    if (!event)
        return fail_status();
    rnl_status status = event->backend->event_share(event, true, wire->key);
    if (status != RNL_OK) {
        object_unref(&event->object);
        return status;
    }
    event->options.interprocess = true;
    *out_event = object_publish(&event->object);
    return RNL_OK;
}

rnl_status rnl_event_import(rnl_context handle, const rnl_ipc_handle *given,
                            rnl_event *out_event)
{
    struct context *context;
    struct wire wire;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(given, "handle")) ||
        (status = check_pointer(out_event, "out_event")) ||
        (status = context_need(context, RNL_FEATURE_INTERPROCESS, "context",
                               "interprocess events are")))
        return status;
    memcpy(&wire, given, sizeof wire);
    status = check_wire(context, KIND_EVENT, &wire);
    return status ? status : import_event(context, &wire, out_event);
}
