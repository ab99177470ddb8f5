// What the backend keeps of a stream and of an operation.
#pragma once

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/timeline/timeline.h"

struct gpu_stream {
    // What a launch looks at, together.
    void *handle;
    driver_launch_fn *launch;    // the driver's, two steps nearer
    // Guards submission. Held while the driver is called, which blocks when
    // its queue is full: the progress thread only ever tries it.
    struct lock lock;
    bool watched;                // by the progress thread, which keeps it
    _Atomic bool defers;         // false: `deferred` and `host` are empty
    _Atomic bool awaits;         // what it holds waits for others' records
    _Atomic bool mark_wanted;    // the progress thread asks for `marker`
    _Atomic bool shared;         // others may give it work that nobody counts
    bool enters;                 // calls for it need the current context
    uint32_t applied;            // changes of attributes that the driver has
    enum last { LAST_WORK, LAST_COPY, LAST_HOST } last;  // what it was given
    struct op_history *_Atomic history;  // of the last ones; may be NULL
    struct timeline *_Atomic timeline;  // referenced
    struct waits waits;
    struct batches *batches;     // kept graphs (batch.c); may be NULL
    uint64_t solid;              // op before those of the host that come last
    uint64_t graph_at;           // last launch of a graph that has no mark
                                 // behind it (graph_fence.h); 0: none
    const void *graph_of;        // whose all those launches are; or NULL
    struct op *deferred, *deferred_last;  // not submitted yet (deferred.h)
    struct marker *spares[2];    // for the next records: without, with timing
    struct marker *point;        // the newest one recorded without timing
    // Set under the lock if NULL, cleared by the progress thread once done.
    struct marker *_Atomic marker;
    struct host_queue {          // host_queue.h
        struct lock lock;        // guards the list; nothing is called under it
        struct op *first, *last; // not started, in order
        bool calls;              // a thread calls its functions
        struct host_words *words;  // NULL until the first operation
        // Numbers of operations. With the stream's lock.
        uint32_t submitted;      // the newest one
        uint32_t announced;      // the newest one that the device announces
        uint32_t awaited;        // the newest one that the driver waits for
    } host;
    struct lock fences_lock;       // guards the next three
    struct marker *fences, *fences_last;  // of launches, oldest first
                                          // (graph_fence.h)
    uint64_t graphs_over;               // launches so far are over at least
    struct lock asking;                 // … the driver (borrowed ones)
    // The progress thread's own.
    struct stream *next_watched;
    uint32_t idle_rounds;
    struct task drop;  // of the reference that is the last one (retire.c)
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
        struct host_op {         // in the host's queue
            uint32_t number;
            uint32_t announced;  // the number by which the stream tells that it
                                 // got here
            bool due_always;     // it has no number
            bool counted;        // sync_gate.c counts it already
        } host;
    };
    union {
        struct task task;        // of a host function that is called
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

// The same for a stream, and back.
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

// What others gave to the vendor's stream is not counted: the driver knows.
static inline bool stream_is_done(const struct gpu_stream *own, uint64_t point)
{
    return atomic_load_explicit(&timeline_of(own)->completed,
                                memory_order_acquire) >= point &&
           !atomic_load_explicit(&own->shared, memory_order_relaxed);
}
