// The reaper: one thread of the library, for all contexts of all vendors, that
// ends what is over. That calls the callers' deleters, takes locks that others
// have while they ask the driver, and frees by the driver, which may wait for
// the device: nobody that the device waits for can be held up by that.
#pragma once

#include "backends/cudalike/cudalike.h"

// Starts it, if need be; false when there is no thread to be had.
bool reaper_start(void);

// Has it look at what may be freed by now (trash.c).
void reaper_wake(void);

// For a thread that lets streams on: from now on the reaper does for it what
// the next three would, where that ends something.
void reaper_spare_thread(void);

// Finishes an op.
void op_end(struct op *op);
// The same, by the reaper where that ends something, for any thread.
void op_end_aside(struct op *op);
// Finishes a list of ops that the driver is past.
void op_end_past(struct op *oldest);
// Drops a reference.
void stream_drop(struct stream *stream);

// Who waited for the stream ends what the reaper has not come to yet: memory is
// there again, even while somebody's deleter blocks.
void reaper_help(struct stream *stream);
// Waits until the reaper has ended all it was given, or so long.
void reaper_await(uint64_t patience_ns);
