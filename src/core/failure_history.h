// Failures of a stream that resets have ended. Work that waits for a failed
// operation, and events recorded behind one, still fail after the reset.
#pragma once

#include "core/core.h"

// A failure, and the operations that it holds for.
struct failure_span {
    struct failure *failure;  // referenced; NULL: there was none
    uint64_t from, to;
    struct failure_span *older;
};

// The newest 8 spans; without memory for more only the newest one. The owner's
// lock guards it.
struct failure_history {
    struct failure_span newest;
};

// The failure of operation `number`, with a reference, or NULL.
struct failure *failure_history_find(const struct failure_history *history,
                                     uint64_t number);

// Adds a span and takes over its reference. `room` is memory for one span, or
// NULL. Returns spans to be dropped without the lock.
struct failure_span *failure_history_add(struct failure_history *history,
                                         struct failure_span span,
                                         struct failure_span *room);

// Drops a list of spans; NULL is fine.
void failure_spans_drop(struct failure_span *span);

// Empties the history.
void failure_history_finish(struct failure_history *history);
