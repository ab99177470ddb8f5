// THE internal contract between the core and a backend.
//
// The core allocates every object (the core's part plus `…_size` bytes for the
// backend), checks arguments, counts references and latches failures. A hook
// never sees a bad argument, a dead object or an empty operation. A failing
// hook records the reason (base/fail.h) and returns the status; failing `init`
// hooks leave nothing behind. Hooks are called from any thread, with no lock of
// the core held. Optional hooks may be NULL; the validator checks that hooks
// and feature bits agree.
#pragma once

#include "core/module/compilation.h"
#include "core/module/function.h"
#include "core/object/buffer_object.h"
#include "core/stream/event.h"
#include "core/stream/op.h"

struct graph_exec;

#define BACKEND_ABI 1u
#define SHARE_KEY_SIZE 64  // bytes with which memory_share finds memory
#define FEATURE_LAST RNL_FEATURE_INTERPROCESS_MEMORY
#define BACKEND_FEATURE(feature) (1u << (feature))
#define BACKEND_ATTRIBUTE(id) (1u << (id))
// The number by which feature_reason is asked about a launch attribute; the
// answer is "" if the attribute has an effect.
#define BACKEND_LAUNCH_FEATURE(id) ((rnl_feature)(256 + (id)))

// The facts of a function, filled in by function_init. The core copies strings.
struct function_facts {
    const char *name, *symbol;
    const rnl_parameter *parameters;
    size_t parameter_count;
    uint32_t max_block_threads, registers;
    size_t shared_size, local_size, constant_size;
    bool uses_barriers;
    rnl_dim3 cluster;  // that every launch has; no zeros, or x is 0: any
    // Not copied: the strings live as long as the module. NULL: no tiers.
    const char *tier, *tier_reason;
    // A launch may have its values in a packed block, at the offsets of
    // parameter_offset.
    bool packs;
};

// How many blocks can be resident at once.
struct occupancy {
    uint32_t blocks;        // on each multiprocessor
    uint64_t cooperative;   // of a cooperative launch, in all
};

// Requests about access to a peer's memory.
enum peer_call {
    PEER_ASK,      // only tells whether there can be any: RNL_OK or UNSUPPORTED
    PEER_ENABLE,
    PEER_DISABLE,  // it was enabled; no work is in flight
};

// Facts about a stream from the driver; zeros where the driver has none.
struct native_facts {
    uint64_t id;
    struct stream_attributes attributes;
};

struct backend {
    uint32_t abi;        // BACKEND_ABI
    const char *api;     // "cpu", "cuda", "hip", "null"
    bool accelerator;    // counts as a gpu
    // Why `untrusted` source is refused: what its compiler is; NULL: it is not.
    const char *unconfined;
    uint32_t features;   // BACKEND_FEATURE bits that every device has
    // BACKEND_ATTRIBUTE bits of the supported stream attributes; the backend
    // reads them by stream_get_attributes
    uint32_t stream_attributes;
    size_t context_size, stream_size, event_size, module_size, function_size;
    size_t exec_size;

    // --- devices: no vendor context, no device memory
    // `*out_reason`, unless NULL: why there is none, paths tried and all.
    // Static string, "" when there are some.
    size_t (*device_count)(const char **out_reason);
    rnl_status (*device_info)(uint32_t index, rnl_device_info *info);
    // optional: attributes that the info does not have
    rnl_status (*device_attribute)(uint32_t index, rnl_attribute id,
                                   int64_t *out_value);

    // --- contexts
    // With `adopted`: around the vendor's context, whose device's index within
    // the api it writes to adopted_index. INVALID_ARGUMENT, at "native", for
    // what the driver does not know as a context.
    rnl_status (*context_init)(struct context *context);
    void (*context_finish)(struct context *context);
    rnl_status (*context_memory)(struct context *context, size_t *out_free,
                                 size_t *out_total);
    // Why a feature that is missing is missing, or a launch attribute
    // (BACKEND_LAUNCH_FEATURE) has no effect; never NULL.
    const char *(*feature_reason)(struct context *context,
                                  rnl_feature feature);
    // optional: of kernels of `context` to memory of `peer`
    rnl_status (*peer_access)(struct context *context, struct context *peer,
                              enum peer_call call);

    // --- streams
    //
    // `deadline` is base/clock.h's time. For a borrowed stream, init writes the
    // driver's priority and RNL_STREAM_NON_BLOCKING, and returns INVALID_HANDLE
    // for a stream of another context.
    rnl_status (*stream_init)(struct stream *stream);
    void (*stream_finish)(struct stream *stream);  // nothing is in flight
    // Takes over a list of ops, linked by `next`, and sets their sequences. An
    // OP_GRAPH comes alone. On failure all ops stay the core's. The lock of a
    // batched stream is held: the hook must not enqueue on the same stream. An
    // awaited copy comes alone and without that lock.
    rnl_status (*stream_submit)(struct stream *stream, struct op *first);
    // optional: a launch that borrows (stream/op.h), of a kernel or a graph,
    // alone. The hook is done with the launch on return, and takes over neither
    // the op nor its references. If launch attributes for events have an
    // effect, the launch may have them, as OP_RECORDING, and records them.
    enum launch_result (*stream_launch)(struct stream *stream, struct op *op);
    // Whether all work so far is done: OK, or NOT_READY, which is not recorded.
    rnl_status (*stream_query)(struct stream *stream);
    rnl_status (*stream_wait)(struct stream *stream, uint64_t deadline);
    // Later work of `stream` waits for all of `other` so far.
    rnl_status (*stream_join)(struct stream *stream, struct stream *other);
    // optional: the stream forgets its failure (stream_clear_failure); nothing
    // is in flight
    void (*stream_reset)(struct stream *stream);
    // optional, with CANCEL: all that was submitted is to end, and the stream
    // to fail with CANCELLED if there was any. Does not wait.
    rnl_status (*stream_cancel)(struct stream *stream);

    // --- events
    //
    // The memory is zeroed, or as event_finish left a former event, changed by
    // late calls that found the former event before its end.
    rnl_status (*event_init)(struct event *event);
    void (*event_finish)(struct event *event);
    rnl_status (*event_record)(struct event *event, struct stream *stream);
    rnl_status (*event_join)(struct stream *stream, struct event *event);
    rnl_status (*event_query)(struct event *event);  // may report a failure
    rnl_status (*event_wait)(struct event *event, uint64_t deadline);
    // With PROMISES: the caller's last reference to a promise is gone. An
    // unrecorded promise will never be recorded, so its waiters fail.
    void (*event_break)(struct event *event);
    // With INTERPROCESS: the key of an event made with .interprocess, as of
    // memory_share; or, if `opens`, turns a new event made without
    // .interprocess into the event of the key.
    rnl_status (*event_share)(struct event *event, bool opens,
                              unsigned char *key);
    // From the completion of `start` to that of `end`. INVALID_STATE or
    // NOT_READY, not recorded, if `*out_wrong` was never recorded or is not
    // complete.
    rnl_status (*event_elapsed)(struct event *start, struct event *end,
                                struct event **out_wrong, int64_t *out_ns);

    // --- memory, ready at return
    rnl_status (*memory_allocate)(struct context *context,
                                  rnl_memory_kind kind, size_t size,
                                  struct memory *out_memory);
    // No work uses it any more.
    void (*memory_free)(struct context *context, rnl_memory_kind kind,
                        struct memory memory, size_t size);
    // With INTERPROCESS_MEMORY: memory that another process can open, and its
    // key; or, if `opens`, the same memory in the opening process. That key is
    // untrusted: any bytes. Both end by memory_free, which recognises them by
    // memory.cookie.
    rnl_status (*memory_share)(struct context *context, bool opens, size_t size,
                               unsigned char *key, struct memory *out_memory);
    // optional, with MEMORY_HINTS: how managed memory will be used
    rnl_status (*memory_advise)(struct context *context, void *address,
                                size_t size, rnl_memory_advice advice);
    // Page-locks ordinary memory, or undoes it, which cannot fail.
    rnl_status (*host_register)(struct context *context, void *pointer,
                                size_t size, bool locked);

    // --- modules. Everything that the binary depends on besides the source
    // goes into the identity: compiler, target, format. With `out_info`, zeros,
    // the hook finds those facts instead; only this may start the compiler.
    rnl_status (*compiler_identity)(struct context *context, char *text,
                                    size_t size, rnl_compiler_info *out_info);
    rnl_status (*module_compile)(struct context *context,
                                 const struct source *source,
                                 struct compiled_binary *out_binary);
    // Loads module->binary after checking it.
    rnl_status (*module_init)(struct module *module);
    void (*module_finish)(struct module *module);
    rnl_status (*module_global)(struct module *module, const char *name,
                                struct memory *out_memory, size_t *out_size);
    // The names of the module's kernels, by index; NULL past the end.
    const char *(*module_kernel)(struct module *module, size_t index);
    // The vendor's code in module->binary, which may not be loaded.
    // UNSUPPORTED where that is of another kind.
    rnl_status (*module_code)(struct module *module, rnl_code_kind kind,
                              const void **out_data, size_t *out_size);
    // Finds the kernel `name` of function->module. NOT_FOUND is recorded by the
    // core, which knows the names.
    rnl_status (*function_init)(struct function *function, const char *name,
                                struct function_facts *out_facts);
    void (*function_finish)(struct function *function);

    // optional, with NATIVE_HANDLES: the vendor's handle of a context, stream,
    // event, module or function. With `out_facts`, only for streams: the facts
    // instead of the handle; cannot fail.
    rnl_status (*native)(struct object *object, void **out_native,
                         struct native_facts *out_facts);

    // optional, with GRAPHS. The snapshot of the exec has the nodes. `index`:
    // the changed node, UINT32_MAX for all; launches under way are not
    // affected. Both are called with the lock held. A launch is an op.
    rnl_status (*exec_init)(struct graph_exec *exec);
    void (*exec_finish)(struct graph_exec *exec);
    rnl_status (*exec_change)(struct graph_exec *exec, uint32_t index);
    // optional: the preparations of a first launch on the stream
    rnl_status (*exec_upload)(struct graph_exec *exec, struct stream *stream);

    // optional: how many blocks of a shape can be resident at once. What the
    // function's attributes say is made so before.
    rnl_status (*function_occupancy)(struct function *function,
                                     uint32_t block_threads,
                                     size_t shared_size,
                                     struct occupancy *out_occupancy);
};

// Why the context does not have the feature; NULL: it has.
static inline const char *context_lacks(struct context *context,
                                        rnl_feature feature)
{
    return context->features & BACKEND_FEATURE(feature)
               ? NULL
               : context->backend->feature_reason(context, feature);
}

// The message for the first rule that the table breaks, or NULL.
const char *backend_check(const struct backend *backend);

// Every backend, best first, NULL at the end. In backends/builtin.c.
extern const struct backend *const backends[];

#define BACKENDS_MAX 8
