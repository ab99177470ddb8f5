#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/shared_event.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"
#include "backends/cudalike/tuning.h"

#include "base/clock.h"

// --- The thread ------------------------------------------------------------

enum look { LOOK_IDLE, LOOK_BUSY, LOOK_MOVED, LOOK_WAITING, LOOK_DID };

static void look_at_marker(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct marker *marker = atomic_load(&own->marker);
    rnl_status status =
        marker ? marker_query(stream_context(stream), marker) : RNL_NOT_READY;
    if (status == RNL_NOT_READY)
        return;
    uint64_t point = marker->value;
    atomic_store_explicit(&own->marker, NULL, memory_order_release);
    marker_drop(stream_context(stream), marker);
    ASSERT(point <= atomic_load(&stream->enqueued));
    if (status == RNL_OK)  // else recorded into a foreign capture
        timeline_complete(stream_timeline(stream), point);
}

// `asks`: whether the driver may be asked.
static enum look look_at(struct stream *stream, bool asks, bool did)
{
    struct context *context = stream_context(stream);
    struct gpu_stream *own = gpu_stream_of(stream);
    did |= stream_submit_ready(stream);
    uint64_t before = atomic_load(&timeline_of(own)->completed);
    if (asks)
        look_at_marker(stream);
    if (context_is_lost(context) && !context_still_copies(context))
        timeline_complete(stream_timeline(stream),
                          atomic_load(&stream->enqueued));
    // A borrowed stream may be gone, so the driver is asked no more than
    // needed.
    rnl_status status = RNL_OK;
    if (atomic_load(&timeline_of(own)->completed) <
        atomic_load(&stream->enqueued))
        status = asks ? stream_poll(stream) : RNL_NOT_READY;
    else if (atomic_load(&timeline_of(own)->retired))
        timeline_end_retired(timeline_of(own));
    if (did)
        return LOOK_DID;
    bool moved = atomic_load(&timeline_of(own)->completed) != before;
    if (status == RNL_OK)
        return moved ? LOOK_MOVED : LOOK_IDLE;
    // The stream may never become idle, so the next thread that submits records
    // a marker.
    atomic_store_explicit(&own->mark_wanted, true, memory_order_relaxed);
    bool waits = host_queue_has_work(stream) ||
                 (atomic_load(&own->defers) && !atomic_load(&own->awaits));
    return waits ? LOOK_WAITING : moved ? LOOK_MOVED : LOOK_BUSY;
}

// True if the stream has no work left and leaves the list of the progress
// thread.
static bool may_leave(struct stream *stream, enum look look)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    if (look != LOOK_IDLE) {
        own->idle_rounds = 0;
        return false;
    }
    if (++own->idle_rounds < IDLE_ROUNDS || !lock_try(&own->lock))
        return false;
    bool leaves = atomic_load(&timeline_of(own)->completed) >=
                      atomic_load(&stream->enqueued) &&
                  !host_queue_has_work(stream) &&
                  !atomic_load(&timeline_of(own)->retired) &&
                  !atomic_load(&own->defers) &&
                  !atomic_load(&own->marker);
    ASSERT(own->watched && !(leaves && own->deferred));
    if (leaves)
        own->watched = false;
    lock_give(&own->lock);
    own->idle_rounds = 0;
    return leaves;
}

static enum look look_at_all(struct stream **list, bool asks)
{
    enum look most = LOOK_IDLE;
    struct stream **link = list;
    while (*link) {
        struct stream *stream = *link;
        struct gpu_stream *own = gpu_stream_of(stream);
        enum look look = host_queue_run(stream, asks) ? LOOK_DID : LOOK_WAITING;
        struct gate *gate =
            sync_gate_look_begin(gpu_of(stream_context(stream)));
        if (gate)
            look = look_at(stream, asks, look == LOOK_DID);
        else if (stream_submit_writes(stream))
            look = LOOK_DID;  // the device waits for these writes
        if (gate)
            sync_gate_look_end(gate);
        most = look > most ? look : most;
        // A stream that leaves may be listed again at once.
        struct stream *next = own->next_watched;
        if (may_leave(stream, look)) {
            *link = next;
            stream_drop(stream);
        } else {
            link = &own->next_watched;
        }
    }
    return most;
}

// Short while the device may wait for the host, and longer the longer nothing
// happens. In the remaining states no work waits for the progress thread, and
// more looks would only slow down threads that submit.
static uint64_t calm_nap(enum look look, uint64_t quiet_ns)
{
    if (look == LOOK_WAITING)
        return quiet_ns < 1000000    ? 0
               : quiet_ns < 20000000 ? ASK_NS
                                     : 200000;
    return quiet_ns < 10000000 ? 500000 : 2000000;
}

// If the round did not ask the driver, a round that does soon follows.
static uint64_t nap_length(enum look look, bool asked, uint64_t quiet_ns)
{
    uint64_t nap = look == LOOK_DID ? 0 : calm_nap(look, quiet_ns);
    return asked || nap < ASK_NS ? nap : ASK_NS;
}

// Looks at the waits of streams for shared events.
static enum look look_at_waits(void)
{
    bool left;
    return shared_waits_look(&left) ? LOOK_DID
           : left                   ? LOOK_WAITING
                                    : LOOK_IDLE;
}

void *progress_run(void *unused)
{
    struct stream *list = NULL;
    uint64_t last = clock_now(), asked = 0;
    uint32_t news = 0;
    progress_begin();
    library_thread_begin();
    for (;;) {
        uint32_t seen = progress_news();
        bool asks = clock_now() - asked >= ASK_NS;
        list = progress_take_arrivals(list);
        if (!driver_use_begin())
            driver_use_never();
        bool idle = list == NULL;
        enum look waits = look_at_waits();  // lets the streams below continue
        enum look look = look_at_all(&list, asks);
        look = waits > look ? waits : look;
        driver_use_end();
        if (idle) {
            op_trim();  // an idle thread needs no cached ops
            progress_sleep(seen, RNL_FOREVER);
            continue;
        }
        uint64_t now = clock_now();
        asked = asks ? now : asked;
        if (look == LOOK_DID || look == LOOK_MOVED || seen != news)
            last = now;
        news = seen;
        uint64_t nap = nap_length(look, asks, now - last);
        if (nap == 0)
            cpu_relax();
        else
            progress_sleep(seen, now + nap);
    }
    return unused;
}

