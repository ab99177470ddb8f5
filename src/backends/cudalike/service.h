// The service: one thread of the library, for all contexts of all vendors, that
// does what streams ask of the host, and looks how far they got, so that what
// they keep can go. It starts with the first work, and sleeps when there is
// none.
#pragma once

#include "backends/cudalike/cudalike.h"

// Two words of page-locked memory: the device writes how far it got, the
// service what it has done, for a device that waits. Both count up, around,
// from owner to owner: a write of the last owner's may be under way.
struct service_words {
    _Atomic uint32_t *reached, *done;  // the same address for the device
    _Atomic uint32_t finished;         // what `done` is: no driver's memory
    uint32_t last;                     // what `reached` is once all is written
    struct service_words *next;        // in the list of those not in use
};

// Makes sure that the service looks at the stream, which may not have died
// meanwhile. With its lock held.
rnl_status service_list_new_locked(struct stream *stream);
static inline rnl_status service_list_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return gpu_stream_of(stream)->listed ? RNL_OK
                                         : service_list_new_locked(stream);
}

// Puts an op behind what the stream was given, to be done by the service; work
// that is submitted later waits for it. 0 or the driver's code; the op is the
// service's on 0 only. With the stream's lock held and its context current.
int service_ask_locked(struct stream *stream, struct op *op);

// The same for a host function that the driver refused to ask for: its turn
// comes behind what was asked before.
void service_ask_anyway_locked(struct stream *stream, struct op *op);

// The device is about to wait for what the service was asked: a call that waits
// for the device has to wait for the copies among it. With the stream's lock.
void service_await_copies_locked(struct stream *stream);

// What a host function of the stream's operation is called with now.
rnl_status service_host_status(struct stream *stream, uint64_t sequence);

// Who waits for the stream does a copy for it that comes next: to wake it would
// take longer than little takes.
void service_help(struct stream *stream);

// True on its own thread, which must not be held up.
bool service_is_here(void);

// Wakes it if it sleeps.
void service_wake(void);

// An item that was done elsewhere is over: lets the stream on. A failure, which
// is recorded for this thread, becomes the stream's.
void service_item_done(struct stream *stream, struct op *op,
                       rnl_status status);

// Has a host function called, by a thread for them where there is one; ends in
// service_item_done.
void host_start(struct op *op);
// The stream's next host function, if its turn has come, for the thread that
// has called the one before. NULL: that thread calls no more.
struct op *service_next_host(struct stream *stream);
// Has a task run that calls those which a graph of a lost device owes, by
// another thread. False: there is none.
struct task;
bool host_add(struct task *task);
// Finishes ops that the driver was given or that it refused.
void op_end_list(struct op *over);

// Around what the library's threads do with the driver and its page-locked
// memory, and callers with that which is the library's. False when the process
// is ending: then it must not be done.
bool driver_use_begin(void);
void driver_use_end(void);
// When that was, or 0.
uint64_t driver_use_ended(void);
// What a thread does that has nothing left to do: it waits for its end.
_Noreturn void driver_use_never(void);
// What callers are told then.
rnl_status driver_use_fail(void);
// With the driver started, before the first use.
void driver_use_until_exit(void);

// Given back with the last number that the device was told to write.
void service_words_drop(struct gpu_context *gpu, struct service_words *words,
                        uint32_t last);
void service_pages_finish(struct gpu_context *gpu);
