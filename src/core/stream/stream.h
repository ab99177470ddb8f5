// Streams.
#pragma once

#include "core/object/context_object.h"

struct buffer;
struct capture;
struct failure;
struct op;

// Attributes that can be set; sync_policy 0 stands for RNL_SYNC_AUTO.
struct stream_attributes {
    rnl_access_policy access_policy;
    rnl_sync_policy sync_policy;
    rnl_domain_map domain_map;
    rnl_memory_domain domain;
};

// Nodes of the graph of a capture, by index.
struct node_set {
    uint32_t *items;
    uint32_t count, most;
};

struct stream {
    struct object object;
    // Fields that launches and running threads read: no operation writes here.
    const struct backend *backend;
    rnl_stream_flags flags;
    // The backend's stream_launch; NULL if each launch is an op: on a batched
    // stream, with RUNNEL_BLOCKING, or without the hook. Callers test first
    // that the stream is not captured.
    enum launch_result (*inline_launch)(struct stream *stream, struct op *op);
    struct failure *_Atomic failure;  // the first one; NULL while all is well
    _Atomic uint32_t attribute_changes; // how often they were set
    int priority;
    void *borrowed;                   // a vendor's stream, not ours to destroy;
                                      // maybe RNL_NATIVE_LEGACY
    _Atomic bool is_default;
    bool over;                        // a default stream: only its memory is
                                      // left. Guarded by context->owned_lock
    struct stream *next, **link;      // in context->streams
    // Batched streams: the ops not submitted yet. The lock guards the list and
    // the order in which batches are submitted.
    struct lock batch_lock;
    bool batch_closed;                // nobody is left to submit what is added
    unsigned batch_growth;            // how often it was full since a flush
    _Atomic uint32_t batch_count;     // 0 only once `enqueued` has them
    struct op *batch, *batch_last;
    struct lock attribute_lock;       // guards the attributes
    struct stream_attributes attributes;
    _Atomic int sync_policy;          // the attribute once more, for waits
    // Operations are numbered from 1 on each stream. `enqueued` is written
    // only by the backend's submit, under its own lock.
    _Atomic uint64_t enqueued;
    // Progress of the stream, if the backend knows; NULL: work is done when its
    // submission returns.
    const _Atomic uint64_t *_Atomic completed;
    struct lock failure_lock;         // guards `failure`
    _Atomic bool inherited;           // it is another stream's
    // Guarded by the lock in capture_rules.c, as all of its kind.
    struct capture *_Atomic capture;  // NULL: not captured
    struct node_set after;            // what the next node comes after
    struct pool_deferred deferred;     // memory to be had when work is done
    _Alignas(64) max_align_t native[];
};

static inline void *stream_native(struct stream *object)
{
    return object->native;
}

OBJECT_CHECK_HAZARD(stream, stream, OBJECT_STREAM, HAZARD_STREAM)
// The second of a kind that a call is given.
OBJECT_CHECK_HAZARD(other_stream, stream, OBJECT_STREAM, HAZARD_OTHER)

static inline struct context *stream_context(const struct stream *stream)
{
    return stream->object.context;
}

// Submits the ops that a batched stream has collected. Called before a query of
// the stream's progress and before work that bypasses op_submit. A refusal by
// the backend becomes the stream's failure, which is returned.
rnl_status batch_flush(struct stream *stream);

static inline rnl_status stream_flush(struct stream *stream)
{
    return __builtin_expect(stream->flags & RNL_STREAM_BATCHED, 0)
               ? batch_flush(stream)
               : RNL_OK;
}

// Takes over an op and adds it to the batch; submits a full batch.
rnl_status batch_add(struct op *op);

// The same as batch_flush, and from now on nothing is collected.
void batch_close(struct stream *stream);

// The attributes as they are now; sync_policy is never 0.
struct stream_attributes stream_get_attributes(struct stream *stream);

// RNL_OK, or records and returns the failure of the stream or its context.
rnl_status stream_report_failure(struct stream *stream);

static inline rnl_status stream_check_failure(struct stream *stream)
{
    const struct failure *lost = atomic_load_explicit(
        &stream_context(stream)->lost, memory_order_acquire);
    const struct failure *own = atomic_load_explicit(&stream->failure,
                                                     memory_order_acquire);
    // In one: a jump is not free.
    const bool failed = (lost != NULL) | (own != NULL);
    return __builtin_expect(failed, 0) ? stream_report_failure(stream) : RNL_OK;
}

// Waits for the stream, by the rules of rnl_stream_synchronize.
rnl_status stream_wait_done(struct stream *stream, uint64_t timeout_ns);

// The same without limit, for a handle: keeps the stream meanwhile.
rnl_status stream_wait_handle(rnl_stream handle);

// Makes a stream and its handle, around the vendor's stream `borrowed` unless
// that is NULL.
rnl_status stream_create(struct context *context, void *borrowed,
                         const rnl_stream_options *options,
                         rnl_stream *out_stream);

// Makes a context's default stream.
rnl_status default_stream_create(struct context *context);
// Gives the default stream up, in two steps: with owned_lock held, and without.
// NULL: already given up.
struct stream *default_stream_take_locked(struct context *context);
void default_stream_release(struct stream *stream);
// Makes another where it was given up, and the caller has a reference again.
rnl_status default_stream_renew(struct context *context);
// False: the context is going away, and the stream's work is over.
bool default_stream_keep(struct context *context);

// Visits every stream of the context, which must be referenced; returns the
// first status that is not RNL_OK.
rnl_status context_each_stream(struct context *context,
                               rnl_status (*visit)(struct stream *, void *),
                               void *argument);

// The stream of that id, referenced; NULL: it is gone, or of another context,
// which must be referenced.
struct stream *context_find_stream(struct context *context, uint64_t id);

// Clamps a priority to the device's range.
int stream_clamp_priority(const rnl_device_info *info, int priority);

// Checks the values of an access policy, and makes an address of its buffer.
rnl_status access_policy_check(struct context *context,
                               rnl_access_policy *policy,
                               const char *parameter);
