// Events, and the dead events that a context keeps for its next ones, in the
// parts of its pool (object/pool_part.h): creating and releasing an event takes
// the lock of the part, and no count that all threads share.
#pragma once

#include "core/stream/stream.h"

struct event {
    struct object object;
    // All that making and releasing one look at is here and in the head.
    const struct backend *backend;
    rnl_event_options options;
    struct pool_part *part;  // keeps the dead event
    _Atomic bool recorded;   // at least once, on a stream that runs
    _Atomic bool captured;   // it stands for nodes of `capture`
    struct capture *capture; // referenced; guarded by capture_lock
    struct node_set after;
    _Alignas(64) max_align_t native[];
};

// Neither a promise nor an interprocess event; a single load checks both.
static inline bool event_is_plain(const struct event *event)
{
    uint16_t both;
    _Static_assert(offsetof(rnl_event_options, promise) ==
                       offsetof(rnl_event_options, interprocess) + 1,
                   "the two are neighbours");
    __builtin_memcpy(&both,
                     (const char *)&event->options +
                         offsetof(rnl_event_options, interprocess),
                     sizeof both);
    return both == 0;
}

static inline void *event_native(struct event *object)
{
    return object->native;
}

OBJECT_CHECK(event, OBJECT_EVENT)

// An event without options, not published. NULL after recording why.
struct event *event_make(struct context *context);

// Records the event on the stream, which may be captured; and notes that a
// launch has recorded it, on a stream that is not.
rnl_status event_record_behind(struct event *event, struct stream *stream);
void event_note_record(struct event *event);

// Records that the time limit passed before the event was `what`.
rnl_status event_timed_out(struct event *event, const char *what);

// The stream waits for the promise that it is to record.
rnl_status event_refuse_cycle(const struct event *event,
                               const struct stream *stream);

// --- Dead events (event_pool.c) ---------------------------------------------

// An unpublished event without options and without the state of event_init.
// NULL after recording the reason.
struct event *event_pool_take(struct context *context, const char *label);

// Keeps an event that has no reference any more and is finished. May end the
// context.
void event_pool_give(struct event *event);

// Gives up all that is kept; no event of the context is left.
void event_pool_finish(struct context *context);
