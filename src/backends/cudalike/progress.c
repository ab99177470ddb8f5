// How far a stream got: looks at it, and waits for it.
//
// The driver says that a stream is done later than it could: its answer takes
// 0.4 us while work is under way and 1.6 us once it is over (H100). A word that
// the device writes behind the work is seen half a microsecond sooner than the
// driver's own wait returns, and whoever looks at it is in nobody's way.
#include "backends/cudalike/doubt.h"
#include "backends/cudalike/held.h"
#include "backends/cudalike/pending.h"
#include "backends/cudalike/reaper.h"
#include "backends/cudalike/service.h"

// Looks at the word, each some pauses of the processor long, for each one that
// asks the driver, which alone knows of faults.
#define LOOKS 32
#define PAUSES 8

// --- Looking ---------------------------------------------------------------

// The owner of a borrowed stream may destroy it when it was told that all is
// done: the service, where it asks, comes to an end first, and asks no more.
static int ask_driver(struct stream *stream, uint64_t point)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool locks = stream->borrowed && service_is_here();
    int code = 0;
    if (locks)
        lock_take(&own->asking);
    if (!locks || atomic_load(&own->completed) < point)
        code = stream_is_captured(stream)
                   ? gpu->driver->not_ready
                   : call_of(gpu)->stream_query(own->handle);
    if (locks)
        lock_give(&own->asking);
    return code;
}

rnl_status gpu_stream_query(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_stream *own = gpu_stream_of(stream);
    uint64_t point = atomic_load_explicit(&stream->submitted,
                                          memory_order_acquire);
    if (stream_is_done(own, point))
        return RNL_OK;
    int code = 0;
    bool holds = false;
    if (!context_is_lost(context)) {
        stream_hold_less(stream);
        holds = atomic_load_explicit(&own->holds, memory_order_acquire);
        void *before = stream_enter(stream);
        code = ask_driver(stream, point);
        stream_leave(stream, before);
    }
    if (code == gpu->driver->not_ready || (code == 0 && holds))
        return RNL_NOT_READY;
    rnl_status status =
        code ? driver_fail(context, code, "to look at a stream") : RNL_OK;
    if (context_still_copies(context))
        return RNL_NOT_READY;
    if (status == RNL_OK)
        stream_settle(stream, point);
    return status;
}

// Another thread may release the stream meanwhile, and the driver's goes with
// it: whoever only looks keeps it, too.
static rnl_status look(struct stream *stream)
{
    rnl_status status = object_keep_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    status = stream_refuse_captured(stream);
    if (status == RNL_OK)
        status = gpu_stream_query(stream);
    object_drop(&stream->object);
    return status;
}

// --- Being told ------------------------------------------------------------

// A wait under way.
struct waiter {
    struct stream *stream;
    bool has_time;    // no time limit
    bool may_tell;    // … the device …
    bool told;        // … to write `number` behind operation `point`; it was
    uint32_t number;
    uint64_t point;
    unsigned looks;
};

// The context is current where the driver wants that for a stream.
static bool tell_locked(struct waiter *waiter)
{
    struct stream *stream = waiter->stream;
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    int code;
    if (stream_holds_locked(stream))
        return false;
    waiter->may_tell = false;
    if (atomic_load_explicit(&own->shared, memory_order_relaxed) ||
        !service_words_locked(stream, &code))
        return false;
    waiter->point = atomic_load_explicit(&stream->submitted,
                                         memory_order_relaxed);
    if (own->passed_at != waiter->point) {
        code = call_of(gpu)->stream_write32(
            own->handle, (uint64_t)(uintptr_t)own->words->passed,
            own->passed + 1, 0);
        if (code != 0)
            return false;
        own->passed++;
        own->passed_at = waiter->point;
    }
    waiter->number = own->passed;
    return true;
}

// Later while another thread gives the stream work, or some is held back.
static void tell(struct waiter *waiter)
{
    struct gpu_stream *own = gpu_stream_of(waiter->stream);
    if (atomic_load_explicit(&own->holds, memory_order_acquire) ||
        !lock_try(&own->lock))
        return;
    waiter->told = tell_locked(waiter);
    lock_give(&own->lock);
}

// The word is the driver's memory, which goes at the end of the process.
static bool has_passed(const struct waiter *waiter)
{
    const struct service_words *words = gpu_stream_of(waiter->stream)->words;
    bool passed = false;
    if (!driver_use_begin())
        return false;
    for (int i = 0; i < PAUSES && !passed; i++) {
        uint32_t word =
            atomic_load_explicit(words->passed, memory_order_acquire);
        passed = (int32_t)(word - waiter->number) >= 0;
        if (!passed)
            cpu_relax();
    }
    driver_use_end();
    return passed;
}

// --- Waiting ---------------------------------------------------------------

static rnl_status look_again(void *subject)
{
    struct waiter *waiter = subject;
    if (waiter->may_tell)
        tell(waiter);
    if (waiter->told && has_passed(waiter)) {
        stream_settle(waiter->stream, waiter->point);
        return RNL_OK;
    }
    if (waiter->told && ++waiter->looks % LOOKS != 0 &&
        !context_is_lost(stream_context(waiter->stream)))
        return RNL_NOT_READY;
    if (waiter->has_time)  // much takes long
        service_help(waiter->stream);
    return gpu_stream_query(waiter->stream);
}

static __attribute__((noinline)) rnl_status poll(struct stream *stream,
                                                 uint64_t deadline)
{
    rnl_sync_policy policy = (rnl_sync_policy)atomic_load_explicit(
        &stream->sync_policy, memory_order_relaxed);
    // The driver may hold up a call for longer than a time limit.
    bool has_time = deadline == RNL_FOREVER;
    struct waiter waiter = {
        .stream = stream, .has_time = has_time,
        .may_tell = has_time && gpu_of(stream_context(stream))->tells};
    rnl_status status = gpu_poll(look_again, &waiter, policy, deadline,
                                 &gpu_stream_of(stream)->waits);
    return status == RNL_ERROR_TIMED_OUT ? stream_timed_out(stream) : status;
}

static rnl_status wait_until(struct stream *stream, uint64_t deadline)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (stream_is_done(own, atomic_load_explicit(&stream->submitted,
                                                 memory_order_acquire)))
        return RNL_OK;
    if (deadline == DEADLINE_LOOK)
        return look(stream);
    rnl_status status = stream_refuse_captured(stream);
    if (status != RNL_OK)
        return status;
    void *before = stream_enter(stream);  // once, not with each look
    status = gpu_stream_query(stream);
    if (status == RNL_NOT_READY)
        status = poll(stream, deadline);
    stream_leave(stream, before);
    return status;
}

rnl_status gpu_stream_wait(struct stream *stream, uint64_t deadline)
{
    rnl_status status = wait_until(stream, deadline);
    if (status == RNL_OK && deadline != DEADLINE_LOOK)
        context_show_prints(stream_context(stream));
    reaper_help(stream);
    if (stream->borrowed) {
        lock_take(&gpu_stream_of(stream)->asking);
        lock_give(&gpu_stream_of(stream)->asking);
    }
    return status;
}
