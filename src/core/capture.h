// Capture: what the front door asks before it gives work to a stream.
#pragma once

#include "core/core.h"

// often.capture_traces counts captures under way, and events that stand for
// nodes. Nothing is captured in most programs, and looking at this is all they
// pay.
static inline bool capture_is_used(void)
{
    return __builtin_expect(atomic_load_explicit(&often.capture_traces,
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

// Makes one node of a list of ops for a stream that is captured, and takes the
// list over, also when it fails. False when the stream is captured no more.
bool capture_ops(struct op *first, rnl_status *out_status);

// The same for calls that are no ops. `*out_status` is theirs when they return
// true; otherwise nothing concerned was captured.
bool capture_record(struct stream *stream, struct event *event, bool external,
                    rnl_status *out_status);
bool capture_wait(struct stream *stream, struct event *event, bool external,
                  rnl_status *out_status);
bool capture_join(struct stream *stream, struct stream *other,
                  rnl_status *out_status);

// A buffer made or given up in the order of a captured stream.
bool capture_buffer(struct stream *stream, struct buffer *buffer,
                    rnl_node_kind kind, rnl_status *out_status);

rnl_status capture_judge_stream(struct stream *stream);
rnl_status capture_judge_event(struct event *event);

// For calls that wait for a stream or an event or look at it: refuses captured
// ones, and any while the calling thread may not make such calls.
static inline rnl_status capture_check_stream(struct stream *stream)
{
    return capture_is_used() ? capture_judge_stream(stream) : RNL_OK;
}

static inline rnl_status capture_check_event(struct event *event)
{
    return capture_is_used() ? capture_judge_event(event) : RNL_OK;
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

// The caller's last reference to a stream is gone: what it began is over.
void capture_stream_gone(struct stream *stream);
