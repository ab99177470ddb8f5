// Devices and contexts. A backend's own part of an object follows the core's in
// the same memory: `context_native(context)`.
#pragma once

#include "core/object/check.h"
#include "core/object/pool_state.h"

#include <runnel/runnel.h>

struct backend;
struct function_cache;
struct failure;
struct host_range;
struct stream;

struct device {
    struct object object;
    const struct backend *backend;
    uint32_t index;  // within its api
    rnl_device_info info;
};

// Host memory that a context allocated or registered.
struct host_ranges {
    struct host_range *tree;
    struct host_range *_Atomic kept;  // freed, oldest first: work may use it
    struct host_range *last_kept;
};

// Another context whose memory this one's kernels may use.
struct peer {
    struct peer *next;
    uint64_t id;
};

struct context {
    struct object object;
    struct device *device;
    const struct backend *backend;
    uint32_t features;            // BACKEND_FEATURE bits
    uint32_t launch_attributes;   // BACKEND_ATTRIBUTE bits that have an effect
    struct failure *_Atomic lost; // set once: the context is unusable
    rnl_context_options options;  // `label` is in object.label
    void *adopted;                // the vendor's context, its owner's; or NULL
    uint32_t adopted_index;       // its device's, within the api
    // The newest default stream: its memory goes with the context.
    struct stream *_Atomic default_stream;
    _Atomic bool has_batched;     // a batched stream was created
    struct lock owned_lock;       // guards what goes with the caller's last
                                  // reference: default stream and pool
    struct lock lock;             // guards the lists below
    struct stream *streams;       // every stream that is not finished
    struct peer *peers;           // contexts whose memory it may use
    struct host_ranges host_ranges;
    struct function_cache *function_cache;  // of rnl_function_compile
    _Atomic uint64_t found_buffer;    // a handle: found last by address
    struct memory_pool pool;
    _Alignas(64) max_align_t native[];
};

static inline void *context_native(struct context *object)
{
    return object->native;
}

OBJECT_CHECK(device, OBJECT_DEVICE)
OBJECT_CHECK_HAZARD(context, context, OBJECT_CONTEXT, HAZARD_CONTEXT)
// The second of a kind that a call is given.
OBJECT_CHECK_HAZARD(other_context, context, OBJECT_CONTEXT, HAZARD_OTHER)

// True when kernels of `context` may use memory of `owner`.
bool context_may_use(struct context *context, struct context *owner);

// Fails with "<what> not supported: <why>" if the context lacks the feature.
rnl_status context_need(struct context *context, rnl_feature feature,
                        const char *parameter, const char *what);

// The position of the backend in the table that the library was opened with.
size_t backend_index(const struct backend *backend);
void backend_index_open(const struct backend *const *table);
