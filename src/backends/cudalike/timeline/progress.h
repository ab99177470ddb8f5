// The progress thread: one thread of the library, for all contexts of all
// vendors. It looks how far streams are, submits deferred operations and starts
// what the queues of the host have reached. It starts with the first work and
// sleeps while there is none.
#pragma once

#include "backends/cudalike/driver/driver_use.h"
#include "backends/cudalike/timeline/gpu_stream.h"

// Has the progress thread look at the stream, which may not have died
// meanwhile. With the stream's lock held.
rnl_status progress_watch_new_locked(struct stream *stream);
static inline rnl_status progress_watch_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return gpu_stream_of(stream)->watched ? RNL_OK
                                         : progress_watch_new_locked(stream);
}

// The progress thread's own: its function, the streams that came since, at the
// head of a list of its own, and the doorbell.
void *progress_run(void *unused);
void progress_begin(void);
struct stream *progress_take_arrivals(struct stream *list);
uint32_t progress_news(void);
void progress_sleep(uint32_t seen, uint64_t until);

// True on the progress thread, which must not be held up.
bool progress_is_here(void);

// Wakes the progress thread if it sleeps.
void progress_wake(void);

// Finishes ops that the driver was given or that it refused.
void op_end_list(struct op *over);
