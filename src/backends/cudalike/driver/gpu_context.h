// What the backend keeps of a context, and calls that need no more.
#pragma once

#include "backends/cudalike/driver/driver.h"
#include "core/backend.h"

struct marker;
struct host_words;
struct gpu_context;

// Markers that are not in use: vendor events to be recorded again.
struct marker_list {
    struct lock lock;  // guards it
    struct marker *first;
};

// What rooms below call of rooms above them.
struct gpu_hooks {
    void *(*progress)(void *unused);           // progress_run
    void (*context_end)(struct gpu_context *gpu);
    // graph.h and batch.h.
    void (*graph_lock)(struct stream *stream, struct op *op);
    bool (*graph_prepares)(const struct op *op);
    int (*graph_launch)(struct stream *stream, struct op *op, bool *out_over);
    bool (*graph_owes)(const struct op *op);
    void (*graph_call)(const struct op *op);
    void (*graph_over)(struct op *op);
    size_t (*batch_give)(struct stream *stream, const struct op *first,
                         size_t *out_alone);
    void (*batches_finish)(struct stream *stream);
};

struct gpu_context {
    const struct driver *driver;
    const struct gpu_hooks *hooks;
    int device;
    void *handle;             // the device's primary context, or an adopted one
    bool foreign;             // that is not ours to release
    bool flushes;             // waits can flush remote writes
    _Atomic bool prints;      // kernels of it may
    void *own_stream;         // for frees that are in no stream's order
    void *copy_stream;        // for copies that the progress thread does
    void *_Atomic decider;    // a kernel of the library's own (plan.h)
    struct context *owner;
    _Atomic uint32_t spares;  // plans that executable graphs keep
    // Not in the cache line of what launches look at: it is written to.
    _Alignas(64) struct marker_list markers[2];  // without and with timing
    struct gpu_context *next;  // idle_free.c's: in the list of all
    struct lock lock;         // guards all below
    struct lane *lanes;       // for copies of ordinary memory, not in use
    struct bounce *bounces;   // the same for little
    struct idle_free *idle_frees;  // for when the device is idle
    struct host_words_page *pages;
    struct host_words *free_words;
    void *decider_module;
    rnl_deleter_fn deleter;   // of an adopted one, called when all is over
    void *user_data;
};

static inline struct gpu_context *gpu_of(const struct context *context)
{
    return (struct gpu_context *)context->native;
}

static inline const struct driver_functions *
call_of(const struct gpu_context *gpu)
{
    return &gpu->driver->call;
}

// --- The current context: left as found ------------------------------------

// Makes the context current for this thread; gives what was before, for
// current_back.
void *current_enter(const struct gpu_context *gpu);
static inline void current_back(const struct gpu_context *gpu, void *before)
{
    if (before != gpu->handle)
        call_of(gpu)->context_set(before);
}

// The same around launches, records, waits for events and looks at streams and
// events, which newer drivers do whatever context is current: they know it by
// the handle. Making one current takes as long as half a record, and threads
// that do it at once wait for each other.
static inline void *handle_enter(const struct gpu_context *gpu)
{
    return gpu->driver->handles_suffice ? gpu->handle : current_enter(gpu);
}

// A stream for the library's own copies. Streams share the device's hardware
// queues (8, or CUDA_DEVICE_MAX_CONNECTIONS), where one that waits holds up
// those behind it, and users' streams wait for these copies: the priority keeps
// them apart.
int gpu_create_aside(const struct gpu_context *gpu, void **out_stream);

// --- Failing ---------------------------------------------------------------

// Records that the driver refused `what` with `code`, where a context is not
// needed or not there yet. Returns the status.
rnl_status driver_fail_early(const struct driver *driver, int code,
                             const char *what);

// Old drivers lack what streams need to ask the progress thread.
static inline bool host_queue_is_supported(const struct gpu_context *gpu)
{
    return gpu->driver->points != NULL;
}

static inline bool context_is_lost(const struct context *context)
{
    return atomic_load_explicit(&context->lost, memory_order_acquire) != NULL;
}

// --- Devices (device.c) ------------------------------------------------------

rnl_status gpu_device_info(const struct driver *driver, uint32_t index,
                           rnl_device_info *info);
rnl_status gpu_device_attribute(const struct driver *driver, uint32_t index,
                                rnl_attribute id, int64_t *out_value);
