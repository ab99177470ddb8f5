// The backend's part of a context, and helpers that need only the context.
#pragma once

#include "backends/cudalike/driver/driver.h"
#include "core/backend.h"

struct marker;
struct host_words;
struct gpu_context;

// Unused markers, whose vendor events can be recorded again.
struct marker_list {
    struct lock lock;  // guards the list
    struct marker *first;
};

// Functions of higher rooms that lower rooms call.
struct gpu_hooks {
    void *(*progress)(void *unused);           // progress_run
    void (*context_end)(struct gpu_context *gpu);
    // The functions of graph.h and batch.h.
    int (*graph_lock)(struct stream *stream, struct op *op);
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
    const struct driver_points *points;  // NULL: driver or device has none
    int device;
    void *handle;             // the primary context, or an adopted one
    bool foreign;             // adopted, not primary: never released
    bool flushes;             // waits can flush remote writes
    _Atomic bool prints;      // its kernels may print
    void *own_stream;         // for frees in no stream's order
    void *copy_stream;        // for copies by the progress thread
    void *_Atomic condition_kernel;    // a kernel of the library's own (plan.h)
    struct context *owner;
    _Atomic uint32_t spares;  // plans that executable graphs keep
    // Not in the cache line that launches read, because the lists are written
    // to.
    _Alignas(64) struct marker_list markers[2];  // without, with timing
    struct gpu_context *next;  // in idle_free.c's list
    struct lock lock;         // guards all below
    struct lane *lanes;       // unused, for copies of ordinary memory
    struct bounce *bounces;   // the same for small copies
    struct idle_free *idle_frees;  // for when the device is idle
    struct host_words_page *pages;
    struct host_words *free_words;
    void *condition_module;
    rnl_deleter_fn deleter;   // called last, for an adopted context
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

// Makes the context current for this thread. Returns the previous context, for
// current_back.
void *current_enter(const struct gpu_context *gpu);
static inline void current_back(const struct gpu_context *gpu, void *before)
{
    if (before != gpu->handle)
        call_of(gpu)->context_set(before);
}

// The same around launches, records, waits for events and queries of streams
// and events. Newer drivers find the context by the handle, whatever context is
// current. Making a context current takes as long as half a record, and threads
// that do so at once wait for each other.
static inline void *handle_enter(const struct gpu_context *gpu)
{
    return gpu->driver->handles_suffice ? gpu->handle : current_enter(gpu);
}

// Creates a stream for the library's own copies, with the highest priority.
// Streams share the device's hardware queues (8, or
// CUDA_DEVICE_MAX_CONNECTIONS), where a waiting stream blocks the streams
// behind. Users' streams wait for these copies: the priority keeps both kinds
// apart.
int gpu_create_aside(const struct gpu_context *gpu, void **out_stream);

// --- Failing ---------------------------------------------------------------

// Records that the driver refused `what` with `code`, if a context is not
// needed or does not exist yet. Returns the status.
rnl_status driver_fail_early(const struct driver *driver, int code,
                             const char *what);

// True unless driver or device lack the words of the host queue.
static inline bool host_queue_is_supported(const struct gpu_context *gpu)
{
    return gpu->points != NULL;
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
