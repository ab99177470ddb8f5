// Contexts: an opened device, with its memory, modules and default stream.
//
// Lifetime: counted. Streams, events, buffers and modules keep their context
// alive; the device closes when the last of them is gone. Until then the handle
// is valid, also without a reference of the caller: `context` of an info is
// such a borrowed handle, with which all calls work but a release. Only the
// default stream, and the memory kept for later buffers, go with the caller's
// last reference; rnl_context_retain brings both back.
// Threads:  safe. No call changes the vendor's current context of the caller.
#ifndef RUNNEL_CONTEXT_H
#define RUNNEL_CONTEXT_H

#include <runnel/device.h>

// How a context is opened.
typedef struct rnl_context_options {
    size_t struct_size;
    size_t buffer_cache_size;  // bytes taken at once for later device buffers
    uint32_t threads;          // cpu: worker threads; 0: RUNNEL_THREADS, cores
    const char *label;         // shown in errors and logs; copied
    // While the context has more device memory than that, released buffers give
    // theirs back, once their release stream has passed, instead of keeping it
    // for others; 0: never.
    size_t pool_threshold;
    // The most time that a launch of a compiled kernel, or a kernel of a graph,
    // may take from where its first block begins to where its last one ends, in
    // nanoseconds; 0: RUNNEL_KERNEL_LIMIT, which is in milliseconds, or none.
    // A launch that takes longer is stopped within about a millisecond, in the
    // midst of its blocks, and fails its stream with RNL_ERROR_KERNEL_LIMIT.
    // RNL_ERROR_UNSUPPORTED without RNL_FEATURE_KERNEL_LIMIT, where the
    // variable has no effect. C functions as kernels are not stopped, but none
    // of their blocks begins after the limit.
    uint64_t kernel_limit_ns;
    // For rnl_context_adopt only, refused elsewhere: called when Runnel is
    // through with the adopted context.
    rnl_deleter_fn deleter;
    void *user_data;
} rnl_context_options;

#define RNL_CONTEXT_OPTIONS(...) RNL_LITERAL(rnl_context_options, __VA_ARGS__)

// Things that one device can do and another cannot.
typedef enum rnl_feature {
    RNL_FEATURE_COMPILE = 1,       // modules from kernel source
    RNL_FEATURE_NATIVE_FUNCTIONS,  // C functions as kernels
    RNL_FEATURE_MANAGED_MEMORY,
    RNL_FEATURE_ZERO_COPY_MAP,     // mapping a device buffer copies nothing
    RNL_FEATURE_CLUSTERS,
    RNL_FEATURE_COOPERATIVE_LAUNCH,
    RNL_FEATURE_PRIORITIES,
    RNL_FEATURE_EVENT_TIMING,
    RNL_FEATURE_PROMISES,
    RNL_FEATURE_INTERPROCESS,       // events
    RNL_FEATURE_CAPTURE,
    RNL_FEATURE_GRAPHS,
    RNL_FEATURE_GRAPH_SWITCH,       // nodes SWITCH, and IF with ELSE
    RNL_FEATURE_GRAPH_BODIES,       // host functions, values and waits in the
                                    // bodies of nodes
    RNL_FEATURE_MEMORY_OPERATIONS,  // write and wait value on a stream
    RNL_FEATURE_BATCHED_STREAMS,
    RNL_FEATURE_PEER_ACCESS,
    RNL_FEATURE_MEMORY_HINTS,       // prefetch, advice, attachment do something
    RNL_FEATURE_NATIVE_HANDLES,     // <runnel/interop.h>
    RNL_FEATURE_HOST_FUNCTIONS,     // on streams; those of graphs go anyway
    RNL_FEATURE_CANCEL,             // rnl_stream_cancel
    RNL_FEATURE_KERNEL_LIMIT,       // kernel_limit_ns; rnl_stream_cancel stops
                                    // kernels that run
    RNL_FEATURE_INTERPROCESS_MEMORY,  // <runnel/interprocess.h>
} rnl_feature;

RNL_BEGIN_DECLS

// Opens `device`. Opening it again gives another, independent context. Stands
// for cuDevicePrimaryCtxRetain on cuda.
RNL_API rnl_status rnl_context_create(rnl_device device,
                                      const rnl_context_options *options,
                                      rnl_context *out_context);

// The same by name: device `index` of `api`; NULL with 0 is the best present.
RNL_API rnl_status rnl_context_open(const char *api, size_t index,
                                    const rnl_context_options *options,
                                    rnl_context *out_context);

// Adds a reference for the caller, also to a borrowed handle of a context to
// which the caller has none.
RNL_API rnl_status rnl_context_retain(rnl_context context);

// Drops one; RNL_ERROR_INVALID_HANDLE when the caller has none, though the
// context lives. Never blocks: work in flight goes on and is completed.
RNL_API rnl_status rnl_context_release(rnl_context context);

// The device it was opened from.
RNL_API rnl_status rnl_context_device(rnl_context context,
                                      rnl_device *out_device);

// A number that no other context of this process ever has.
RNL_API rnl_status rnl_context_id(rnl_context context, uint64_t *out_id);

// Free and total device memory now, in bytes; either may be NULL. Stands for
// cuMemGetInfo. cpu: the machine's, or the cgroup's where that is smaller.
RNL_API rnl_status rnl_context_memory(rnl_context context, size_t *out_free,
                                      size_t *out_total);

// RNL_OK when the driver and device are new enough for Runnel, otherwise
// RNL_ERROR_UNSUPPORTED; `*out_reason`, if wanted, says why in either case.
RNL_API rnl_status rnl_context_is_compatible(rnl_context context,
                                             const char **out_reason);

// RNL_OK when the context can do `feature`, otherwise RNL_ERROR_UNSUPPORTED.
// `out_reason` may be NULL, and is written in both cases, a static string. For
// RNL_FEATURE_COMPILE the call looks for the files of a compiler: without one,
// modules that a cache has are made all the same.
RNL_API rnl_status rnl_context_supports(rnl_context context,
                                        rnl_feature feature,
                                        const char **out_reason);

// The context's default stream: an ordinary one, with no implicit order against
// others. Borrowed: it lives as long as the caller has a reference to the
// context, and is not released. RNL_ERROR_INVALID_STATE while there is none.
RNL_API rnl_status rnl_context_default_stream(rnl_context context,
                                              rnl_stream *out_stream);

// The priorities that streams of the context can have: from `*out_least`, the
// number of the least urgent, to `*out_greatest`, a smaller number or, where
// there are no priorities, the same. Either may be NULL. Stands for
// cuCtxGetStreamPriorityRange.
RNL_API rnl_status rnl_context_priority_range(rnl_context context,
                                              int *out_least,
                                              int *out_greatest);

// Blocks until all work submitted to any stream of the context before the call
// is done, or `timeout_ns` has passed (RNL_ERROR_TIMED_OUT; RNL_FOREVER waits
// without limit). Reports the first asynchronous failure it meets. Stands for
// cuCtxSynchronize.
RNL_API rnl_status rnl_context_synchronize(rnl_context context,
                                           uint64_t timeout_ns);

// Whether this context's kernels can use memory of `peer`; true for itself.
RNL_API rnl_status rnl_context_can_access_peer(rnl_context context,
                                               rnl_context peer,
                                               bool *out_can);

// Lets kernels of this context use memory of `peer`, pool memory included. One
// direction. Doing it again is no error. Stands for cuCtxEnablePeerAccess.
RNL_API rnl_status rnl_context_enable_peer(rnl_context context,
                                           rnl_context peer);

// Takes that back: kernels that are given a buffer of `peer` are refused again.
// RNL_ERROR_INVALID_STATE while the context has work in flight, which may use
// memory of `peer`: synchronize first; and for the context itself, which always
// reaches its own memory. Doing it again is no error. Executable graphs whose
// kernels use memory of `peer` must not be launched any more, and its addresses
// must not be followed: neither is checked. Other contexts keep the access they
// enabled, and access that others enabled beside Runnel stays. Does not block.
// Stands for cuCtxDisablePeerAccess.
RNL_API rnl_status rnl_context_disable_peer(rnl_context context,
                                            rnl_context peer);

RNL_END_DECLS

#endif
