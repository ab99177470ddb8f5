// The memory that a context keeps for its next buffers, above every backend.
//
// The pool keeps whole dead buffers with their memory: taking a buffer costs a
// lock and no allocation. Small buffers are in parts, each for a few threads,
// so threads do not meet; a buffer returns to its part. Large buffers share a
// part, which is searched for the best fit.
//
// While buffers and events of a part live, the part holds the context's
// reference for all of them, so no count is shared by all threads.
//
// If the release stream of a buffer has not passed the release point, the
// buffer is deferred at that stream: new buffers of the stream may reuse the
// memory at once, other buffers once the stream passed the point. Memory that
// the pool may not keep is deferred, too, and counts as reserved until then.
#pragma once

#include "base/biased_lock.h"
#include "core/object/handle.h"
#include "core/object/quarantine.h"
#include "core/tuning.h"

#include <runnel/memory.h>

#define POOL_SMALL_MOST ((size_t)64 << 10)
#define POOL_SMALL_BINS 28  // as many as sizes up to that have
#define POOL_BINS 160
#define MEMORY_KIND_LAST RNL_MEMORY_MANAGED
#define POOL_KINDS (MEMORY_KIND_LAST + 1)

struct buffer;
struct stream;

// Memory as a backend gave it.
struct memory {
    void *device;  // what kernels see
    void *host;    // NULL where the host cannot reach it
    uint64_t cookie;
    bool zeroed;  // every byte is 0: new memory of a system that promises so
};

struct pool_part {
    _Alignas(64) struct biased_lock lock;  // guards all below
    bool holds;                            // the context's reference
    uint32_t live_count;        // buffers and events in use, or about to be
    struct object_quarantine events;  // event_pool.c's
    size_t live, peak;          // bytes in use now, and at most
    uint64_t hits, misses;
    uint64_t next_id, end_id;  // ids taken in advance
    struct buffer *bins[POOL_SMALL_BINS];
};

// The pool is as reusable as its context, and not freed while any thread may
// read it.
struct memory_pool {
    // Functions of memory_pool.c, for rooms below. `passed`: streams of the
    // context got on, and the caller has time to free memory. `stream_finish`:
    // all work of the stream is done.
    void (*passed)(struct context *context);
    void (*stream_finish)(struct stream *stream);
    struct pool_part parts[POOL_PARTS];
    struct pool_part large;
    struct buffer *large_bins[POOL_KINDS][POOL_BINS];  // under large.lock
    _Alignas(64) _Atomic size_t reserved;  // bytes that the backend gave
    _Atomic size_t reserved_peak;
    _Atomic uint64_t trims, retries;
    size_t threshold;         // bytes to keep at most
    _Atomic bool closed;      // the caller has no reference to the context
    struct memory set_aside;  // taken when the context was opened …
    size_t set_aside_size;
    _Atomic size_t set_aside_used;  // … and given out up to here
    struct lock deferred_lock;       // guards the list, and those at streams
    struct stream *deferred_streams;
    _Atomic uint32_t deferred_count;  // buffers at streams
};

// At the stream that they wait for.
struct pool_deferred {
    // Written under the pool's deferred_lock, as released: nearly by points.
    struct buffer *_Atomic first;
    struct buffer *last;
    struct stream *next, **link;  // in deferred_streams
};
