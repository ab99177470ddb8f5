// Events of the cpu backend, and the launches of graphs that record them.
#pragma once

#include "backends/cpu/scheduler/queue.h"
#include "core/stream/event.h"

// A launch that is to record an event, or was and is still waited for.
struct expected_launch {
    uint64_t launch;
    uint32_t records;          // to come
    uint32_t waits;            // that mean this launch and are not over
    struct failure *failure;   // why its last record never came, or NULL
};

struct cpu_event {
    struct lock lock;          // guards all but the atomic
    bool recorded;
    bool broken;               // a promise released without being recorded
    bool gone;                 // its last reference went during a call
    struct stream *stream;     // referenced; the event's target …
    uint64_t sequence;         // … up to here
    uint64_t time;             // of completion; 0: not yet
    uint64_t record;           // which record `time` is for
    uint64_t launch;           // that records it, or 0; …
    bool to_come;              // … and has yet to
    struct expected_launch *expected; // by launch, oldest first
    uint32_t expected_first, expected_count, expected_most;
    uint32_t reserved;         // how many more have been promised a place
    struct op *waiters;        // WAIT ops on a record that is to come
    struct joined *joined;     // streams that were told to wait for a promise
    struct shared_event *shared;  // of an interprocess event
    _Atomic bool done;         // complete, without failure
    _Atomic uint32_t recorded_word;  // futex: a promise's record
};

static inline struct cpu_event *event_cpu(struct event *event)
{
    return event_native(event);
}

// Functions of interprocess_event.c, which replace the functions of the same
// names for interprocess events.
rnl_status cpu_interprocess_record(struct event *event, struct stream *stream);
rnl_status cpu_interprocess_join(struct stream *stream, struct event *event);
void cpu_interprocess_timestamp(struct op *op);
rnl_status cpu_interprocess_query(struct event *event);
rnl_status cpu_interprocess_wait(struct event *event, uint64_t deadline);

// The event's present target, referenced; all zero: none. Ended by
// event_target_unref.
struct wait event_target(struct event *event);
void event_target_unref(const struct wait *point);

// Nobody waits for the event's record by this launch any more.
void event_unwait(struct event *event, uint64_t launch);

// Takes a WAIT op out of the event's list; false if the op is not listed.
bool event_withdraw(struct op *op);

// For a WAIT on a future record: true with the event's target (no target:
// nothing), or with `*out_broken` if no record will come; false if the op is in
// the event's list. `*out_lost`: the failure of the launch that should have
// recorded the event, referenced, or NULL.
bool event_resolve(struct op *op, bool *out_broken, struct failure **out_lost);

// Makes sure that event_expect cannot fail, or undoes it. False after recording
// that memory is short.
bool event_reserve(struct event *event);
void event_unreserve(struct event *event);

// A launch under way will record the event, or has arrived at the record.
// `failed`: the launch's stream if the launch failed as operation `sequence`;
// otherwise NULL.
void event_expect(struct event *event, uint64_t launch);
void event_arrive(struct event *event, uint64_t launch, struct stream *failed,
                  uint64_t sequence);

// Performs a STAMP op.
void event_write_timestamp(struct op *op);

// --- Hooks of events --------------------------------------------------------

rnl_status cpu_event_init(struct event *event);
void cpu_event_finish(struct event *event);
rnl_status cpu_event_record(struct event *event, struct stream *stream);
rnl_status cpu_event_join(struct stream *stream, struct event *event);
rnl_status cpu_event_query(struct event *event);
rnl_status cpu_event_wait(struct event *event, uint64_t deadline);
rnl_status cpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns);
void cpu_event_break(struct event *event);
rnl_status cpu_event_share(struct event *event, bool opens,
                           unsigned char *key);
