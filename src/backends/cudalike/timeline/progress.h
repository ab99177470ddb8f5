// The progress thread: one thread of the library, for all contexts of all
// vendors. The thread looks how far streams are, submits deferred operations
// and starts operations that host queues have reached. The thread starts with
// the first work and sleeps while no stream has work.
#pragma once

#include "backends/cudalike/driver/driver_use.h"
#include "backends/cudalike/timeline/gpu_stream.h"

// Adds the stream to the progress thread's list. The caller keeps the stream
// alive during the call. With the stream's lock held.
rnl_status progress_watch_new_locked(struct stream *stream);
static inline rnl_status progress_watch_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return gpu_stream_of(stream)->watched ? RNL_OK
                                         : progress_watch_new_locked(stream);
}

// Functions for the progress thread only: its main function, the streams that
// arrived, put in front of `list`, and the doorbell.
void *progress_run(void *unused);
void progress_begin(void);
struct stream *progress_take_arrivals(struct stream *list);
uint32_t progress_news(void);
void progress_sleep(uint32_t seen, uint64_t until);

// True on the progress thread, which must not block.
bool progress_is_here(void);

// Wakes the progress thread if asleep.
void progress_wake(void);

// Finishes ops that the driver was given or that the driver refused.
void op_end_list(struct op *over);
