// The backend's part of a stream and of an op.
#pragma once

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/timeline/timeline.h"

struct gpu_stream {
    // The members that each launch reads, together.
    void *handle;
    driver_launch_fn *launch;    // the driver's function, two loads nearer
    // Guards submission. Held while the driver is called, which blocks if the
    // driver's queue is full: the progress thread only ever tries the lock.
    struct lock lock;
    bool watched;                // in the list of the progress thread, which
                                 // holds a reference
    _Atomic bool defers;         // false: `deferred` and `host` are empty
    _Atomic bool awaits;         // deferred ops wait for other streams
    _Atomic bool mark_wanted;    // the progress thread asks for `marker`
    _Atomic bool shared;         // foreign code may submit, uncounted
    bool enters;                 // calls for the stream need its context
    uint32_t applied;            // attribute changes that the driver has
    enum last { LAST_WORK, LAST_COPY, LAST_HOST } last;  // kind of the last op
    struct op_history *_Atomic history;  // may be NULL
    struct timeline *_Atomic timeline;  // referenced
    struct waits waits;
    struct batches *batches;     // kept graphs; may be NULL
    uint64_t solid;              // op before the last ops of the host
    uint64_t graph_at;           // last graph launch with no marker behind
                                 // (graph_fence.h); 0: none
    const void *graph_of;        // gpu_exec of all launches since the last
                                 // marker, or NULL if several
    struct op *deferred, *deferred_last;  // not submitted yet (deferred.h)
    struct marker *spares[2];    // for the next records: without, with timing
    struct marker *point;        // the newest one recorded without timing
    // Set under the lock if NULL, cleared by the progress thread once done.
    struct marker *_Atomic marker;
    struct host_queue {          // host_queue.h
        struct lock lock;        // guards the list; a leaf lock
        struct op *first, *last; // not started, in order
        bool calls;              // a thread runs host functions of the queue
        struct host_words *words;  // NULL until the first operation
        // Numbers of operations, guarded by the stream's lock.
        uint32_t submitted;      // the newest one
        uint32_t announced;      // the newest one that the device announces
        uint32_t awaited;        // the newest one that the driver waits for
    } host;
    struct lock fences_lock;       // guards the next three
    struct marker *fences, *fences_last;  // behind graph launches, oldest first
                                          // (graph_fence.h)
    uint64_t graphs_over;               // launches up to this number are over
    struct lock asking;                 // held to query a borrowed stream
    // The next three are for the progress thread.
    struct stream *next_watched;
    uint32_t idle_rounds;
    struct task drop;  // drops the last reference (retire.c)
};

static inline struct gpu_stream *gpu_stream_of(const struct stream *stream)
{
    return (struct gpu_stream *)stream->native;
}

// The backend's part of an op.
struct gpu_op {
    union {
        struct {
            struct gpu_plan *plan;
            struct graph_launch *launch;
        } graph;
        struct host_op {         // in the host queue
            uint32_t number;
            uint32_t announced;  // by this number the stream announces that the
                                 // op is due
            bool due_always;     // a refused announcement: no number
            bool counted;        // by the sync gate already
        } host;
    };
    union {
        struct task task;        // calls a host function
        struct retired retired;
        struct {
            struct marker *marker;
            bool for_host;       // the host waits or records
        } point;
    };
};

_Static_assert(sizeof(struct gpu_op) <= sizeof ((struct op *)0)->backend,
               "an op has room for its backend's part");

static inline struct gpu_op *gpu_op_of(const struct op *op)
{
    return (struct gpu_op *)(uintptr_t)op->backend;
}

static inline const struct gpu_hooks *hooks_of(const struct op *op)
{
    return gpu_of(stream_context(op->stream))->hooks;
}

// The op that has this member at `offset` in its struct gpu_op.
static inline struct op *gpu_op_from(void *member, size_t offset)
{
    return (struct op *)(void *)((char *)member - offset -
                                 offsetof(struct op, backend));
}

static inline struct timeline *timeline_of(const struct gpu_stream *own)
{
    return atomic_load_explicit(&own->timeline, memory_order_relaxed);
}

static inline struct timeline *stream_timeline(const struct stream *stream)
{
    return timeline_of(gpu_stream_of(stream));
}

// current_enter and current_back for the stream's context, if the driver needs
// the context to be current.
static inline void *stream_enter(const struct stream *stream)
{
    return __builtin_expect(gpu_stream_of(stream)->enters, 0)
               ? current_enter(gpu_of(stream_context(stream)))
               : NULL;
}
static inline void stream_leave(const struct stream *stream, void *before)
{
    if (__builtin_expect(gpu_stream_of(stream)->enters, 0))
        current_back(gpu_of(stream_context(stream)), before);
}

// The timeline does not count foreign work on a shared stream, so only the
// driver knows the progress of a shared stream.
static inline bool stream_is_done(const struct gpu_stream *own, uint64_t point)
{
    return atomic_load_explicit(&timeline_of(own)->completed,
                                memory_order_acquire) >= point &&
           !atomic_load_explicit(&own->shared, memory_order_relaxed);
}
