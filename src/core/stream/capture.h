// Capture: the checks of public calls before work reaches a stream.
#pragma once

#include "base/read_mostly.h"
#include "core/stream/event.h"

struct graph;

// read_mostly.capture_traces counts captures under way, and events that stand
// for nodes. Nothing is captured in most programs, and looking at this is all
// they pay.
static inline bool capture_is_used(void)
{
    return __builtin_expect(atomic_load_explicit(&read_mostly.capture_traces,
                                                 memory_order_relaxed) != 0,
                            0);
}

static inline bool stream_is_captured(struct stream *stream)
{
    return capture_is_used() &&
           atomic_load_explicit(&stream->capture, memory_order_relaxed) != NULL;
}

static inline bool event_is_captured(struct event *event)
{
    return capture_is_used() &&
           atomic_load_explicit(&event->captured, memory_order_relaxed);
}

// --- Recording (graph/capture_record.c) -------------------------------------

// The functions that add nodes. The graph room is above the stream room, so the
// library installs the table when it is opened.
struct capture_recorder {
    bool (*ops)(struct op *first, rnl_status *out_status);
    bool (*record)(struct stream *stream, struct event *event, bool external,
                   rnl_status *out_status);
    bool (*wait)(struct stream *stream, struct event *event, bool external,
                 rnl_status *out_status);
    bool (*join)(struct stream *stream, struct stream *other,
                 rnl_status *out_status);
    bool (*buffer)(struct stream *stream, struct buffer *buffer,
                   rnl_node_kind kind, rnl_status *out_status);
    void (*stream_gone)(struct stream *stream);
};

extern const struct capture_recorder *capture_recorder;
extern const struct capture_recorder capture_graph_recorder;

// Makes one node of a list of ops for a captured stream. Takes the list over,
// also on failure. False if the capture has ended meanwhile.
static inline bool capture_ops(struct op *first, rnl_status *out_status)
{
    return capture_recorder->ops(first, out_status);
}

// Calls that are no ops. `*out_status` is the result of the call if the
// function returns true; otherwise neither object is captured.
static inline bool capture_record(struct stream *stream, struct event *event,
                                  bool external, rnl_status *out_status)
{
    return capture_recorder->record(stream, event, external, out_status);
}

static inline bool capture_wait(struct stream *stream, struct event *event,
                                bool external, rnl_status *out_status)
{
    return capture_recorder->wait(stream, event, external, out_status);
}

static inline bool capture_join(struct stream *stream, struct stream *other,
                                rnl_status *out_status)
{
    return capture_recorder->join(stream, other, out_status);
}

// A buffer created or released in the order of a captured stream.
static inline bool capture_buffer(struct stream *stream, struct buffer *buffer,
                                  rnl_node_kind kind, rnl_status *out_status)
{
    return stream_is_captured(stream) &&
           capture_recorder->buffer(stream, buffer, kind, out_status);
}

// The caller's last reference to a stream is gone: ends the capture that the
// stream began.
static inline void capture_stream_gone(struct stream *stream)
{
    capture_recorder->stream_gone(stream);
}

// --- Rules (capture_rules.c) ------------------------------------------------

rnl_status capture_verify_stream(struct stream *stream);
rnl_status capture_verify_event(struct event *event);

// For calls that wait for or query a stream or an event: refuses captured
// objects, and every object while the calling thread may not make such calls.
static inline rnl_status capture_check_stream(struct stream *stream)
{
    return capture_is_used() ? capture_verify_stream(stream) : RNL_OK;
}

static inline rnl_status capture_check_event(struct event *event)
{
    return capture_is_used() ? capture_verify_event(event) : RNL_OK;
}

// For calls that cannot be captured at all.
rnl_status capture_refuse(struct stream *stream);

// For calls that concern all streams of a context; `waits`: the call itself.
rnl_status capture_check_context(struct context *context, bool waits);

void capture_forget_captured(struct event *event);

// The event stands for something else from now on, or is gone.
static inline void capture_forget(struct event *event)
{
    if (event_is_captured(event))
        capture_forget_captured(event);
}

// In the child after fork: captures belong to the parent.
void capture_forked(void);

// --- The state of captures --------------------------------------------------

struct capture {
    _Atomic uint32_t references;  // the streams' together, and each event's
    uint64_t id;
    rnl_capture_mode mode;
    uint64_t thread;         // number of the beginning thread
    struct stream *origin;   // NULL once it is over
    struct stream **members; // referenced, the origin too
    uint32_t member_count, member_most;
    struct graph *graph;     // referenced
    bool into_existing;       // the graph is the caller's, not new …
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
void capture_unref(struct capture *capture);

// Records that `stream` may not be used because of `capture`, which becomes
// invalid.
rnl_status capture_refuse_locked(struct capture *capture);

// Records that the event stands for captured work; `over`: of an ended capture.
rnl_status capture_fail_event(const struct event *event, bool over);

// Detaches the event from its capture.
void capture_forget_locked(struct event *event);

// --- Sets of nodes ---------------------------------------------------------

// False when memory is short.
bool set_reserve(struct node_set *set, size_t most);
bool set_unite(struct node_set *set, const struct node_set *other);
void set_finish(struct node_set *set);
