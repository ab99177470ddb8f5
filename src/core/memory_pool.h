// What a context keeps for its next buffers, above every backend.
//
// What is kept is whole dead buffers, with their memory: taking one costs one
// lock and no allocation. Small ones are in parts, one for each of a few
// threads, so that threads do not meet; a buffer goes back to the part it came
// from. Large ones share a part, where the best fit is looked for.
//
// While buffers and events of a part live, the part holds the context's
// reference for all of them, so that no count is shared by all threads.
//
// A buffer whose release stream has not come to the point of the release waits
// at that stream: new buffers of the stream may have it at once, others once
// the stream got there. What the pool may not keep waits there, too, before it
// goes back: it counts as reserved until then.
#pragma once

#include "base/biased.h"
#include "core/object.h"

#include <runnel/memory.h>

#define POOL_PARTS 32
#define POOL_SMALL_MOST ((size_t)64 << 10)
#define POOL_SMALL_BINS 28  // as many as sizes up to that have
#define POOL_BINS 160
#define POOL_KINDS 3

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
    struct object_rest events;  // event_pool.h's
    size_t live, peak;          // bytes in use now, and at most
    uint64_t hits, misses;
    uint64_t next_id, end_id;  // ids taken in advance
    struct buffer *bins[POOL_SMALL_BINS];
};

// The pool is as reusable as its context: never freed while another thread may
// look at it.
struct memory_pool {
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
    struct lock waiting_lock;       // guards the list, and those at streams
    struct stream *waiting_streams;
    _Atomic uint32_t waiting_count;  // buffers at streams
};

// At the stream that they wait for.
struct pool_waiting {
    // Written under the pool's waiting_lock, as released: nearly by points.
    struct buffer *_Atomic first;
    struct buffer *last;
    struct stream *next, **link;  // in waiting_streams
};

// Sets memory aside if the context's options ask for it.
rnl_status memory_pool_init(struct context *context);

// The caller has no reference to the context any more; has one again.
void memory_pool_close(struct context *context);
void memory_pool_open(struct context *context);

// Frees everything; no buffer is left.
void memory_pool_finish(struct context *context);

// A buffer with memory for `size` bytes, at least 1, not yet published and
// without a label. `stream`: it is only used in that stream's order; NULL:
// anywhere. NULL after recording why.
struct buffer *memory_pool_take(struct context *context, struct stream *stream,
                                rnl_memory_kind kind, size_t size);

// Keeps a buffer that memory_pool_take gave and that has no reference any more,
// or frees it. May end the context. `stream`: in whose order; may be NULL.
void memory_pool_give(struct buffer *buffer, struct stream *stream);

// Streams got on, and the caller has time for what goes back now.
void memory_pool_passed(struct context *context);

// The stream is done with all its work: nothing waits for it any more.
void memory_pool_stream_finish(struct stream *stream);

// Gives back what is not used until no more than `keep` bytes are reserved.
void memory_pool_trim(struct context *context, size_t keep);

// Memory that is no buffer's: the pool makes room for it if need be.
rnl_status memory_pool_allocate(struct context *context, rnl_memory_kind kind,
                                size_t size, struct memory *out_memory);
