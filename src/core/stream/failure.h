// Asynchronous failures of streams.
//
// Failures of a stream that resets have ended. Work that waits for a failed
// operation, and events recorded behind one, still fail after the reset.
#pragma once

#include "core/stream/stream.h"

// The first asynchronous failure of a stream, and the operation at fault.
// Counted: dependent streams share a failure.
struct failure {
    _Atomic uint32_t references;
    rnl_status status;
    uint64_t operation;  // 0 when nothing more is known
    const char *file;
    int line;
    char stream[160];
    char name[128];
    char label[128];
    char message[512];
};

// Keeps `failure`, whose reference the function takes, unless the stream has an
// earlier failure. `inherited`: the failure of a stream that this stream waits
// for.
void stream_set_failure(struct stream *stream, struct failure *failure,
                        bool inherited);

// Forgets the failure: for backends' stream_reset.
void stream_clear_failure(struct stream *stream);

// Takes a reference to the stream's failure; NULL while there is none.
struct failure *stream_ref_failure(struct stream *stream);
static inline struct failure *stream_get_failure(struct stream *stream)
{
    return atomic_load_explicit(&stream->failure, memory_order_acquire)
               ? stream_ref_failure(stream)
               : NULL;
}

// Makes a failure of `op`, which is or belongs to operation `sequence` of the
// stream; never NULL (when memory is short, a static one).
struct failure *failure_create(struct stream *stream, uint64_t sequence,
                               const struct op *op, rnl_status status,
                               const char *message);
void failure_unref(struct failure *failure);
void failure_forked(void);

// The work that a failure is blamed on, where there is no op any more.
struct blame {
    uint64_t sequence;
    const char *file;
    int line;
    const char *name, *label;  // `label` may be NULL
};

struct blame op_blame(const struct op *op);

// The same as failure_create.
struct failure *failure_blame(struct stream *stream, const struct blame *blame,
                              rnl_status status, const char *message);

// The status of the failure for `stream`: its own status, or
// RNL_ERROR_DEPENDENCY_FAILED if another stream failed.
rnl_status failure_status(const struct failure *failure,
                          const struct stream *stream);

// Records `failure` as this call's and returns failure_status.
rnl_status failure_report(const struct failure *failure,
                          const struct stream *stream);

// --- History (failure_history.c) --------------------------------------------

// A failure, and the operations that it holds for.
struct failure_span {
    struct failure *failure;  // referenced; NULL: there was none
    uint64_t from, to;
    struct failure_span *older;
};

// The newest 8 spans; only the newest span if memory is short. Guarded by the
// owner's lock.
struct failure_history {
    struct failure_span newest;
};

// The failure of operation `number`, with a reference, or NULL.
struct failure *failure_history_find(const struct failure_history *history,
                                     uint64_t number);

// Adds a span and takes over its reference. `room` is memory for a span, or
// NULL. Returns spans for failure_spans_unref without the lock.
struct failure_span *failure_history_add(struct failure_history *history,
                                         struct failure_span span,
                                         struct failure_span *room);

// Drops a list of spans; NULL is fine.
void failure_spans_unref(struct failure_span *span);

// Empties the history.
void failure_history_finish(struct failure_history *history);
