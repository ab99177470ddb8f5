// What the files of capture share.
#pragma once

#include "core/capture.h"
#include "core/graph.h"

struct capture {
    _Atomic uint32_t references;  // the streams' together, and each event's
    uint64_t id;
    rnl_capture_mode mode;
    uint64_t thread;         // number of the one that began it
    struct stream *origin;   // NULL once it is over
    struct stream **members; // referenced, the origin too
    uint32_t member_count, member_most;
    struct graph *graph;     // referenced
    bool given;              // the graph is the caller's, not new …
    uint32_t old_count;      // … and had so many nodes
    bool invalid;
    char culprit[96];        // the call that made it so
    struct capture *next;    // of those that are not over
};

extern struct lock capture_lock;  // guards all of it, in streams and events too
extern struct capture *captures;  // that are not over

static inline struct capture *capture_of(struct stream *stream)
{
    return atomic_load_explicit(&stream->capture, memory_order_relaxed);
}

void capture_invalidate_locked(struct capture *capture);
rnl_status capture_fail_invalid(const struct capture *capture);
rnl_status capture_no_memory(void);

// Gives up a reference.
void capture_drop(struct capture *capture);

// The stream's work belongs to the capture from now on.
rnl_status capture_add_stream_locked(struct capture *capture,
                                     struct stream *stream);

// --- Sets of nodes ---------------------------------------------------------

// False when memory is short.
bool set_reserve(struct node_set *set, size_t most);
bool set_unite(struct node_set *set, const struct node_set *other);
void set_finish(struct node_set *set);
