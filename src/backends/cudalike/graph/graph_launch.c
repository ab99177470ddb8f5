// Launches of executable graphs.
#include "backends/cudalike/graph/graph.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/graph/host_node.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/event.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"

#include <string.h>

static inline struct gpu_plan *op_plan(const struct op *op)
{
    return gpu_op_of(op)->graph.plan;
}

static inline struct graph_launch *op_launch(const struct op *op)
{
    return gpu_op_of(op)->graph.launch;
}

static int aim_wait(struct stream *stream, const struct step *step,
                    struct slot *slot)
{
    struct gpu_plan *plan = step->plan;
    struct event_point point = gpu_event_point(slot->event);
    slot->marker = point.marker;
    stream_inherit(stream, point.failure);
    bool watched = timeline_depend(point.at, stream,
                                  atomic_load(&stream->enqueued) + 1);
    timeline_release(point.at.timeline);
    const struct gpu_context *gpu = gpu_of(plan->context);
    return watched ? call_of(gpu)->exec_set_wait(
                        plan->exec, plan->nodes[step->first],
                        slot->marker ? slot->marker->event : plan->never)
                  : gpu->driver->out_of_memory;
}

static int aim_record(const struct step *step, struct slot *slot)
{
    struct gpu_plan *plan = step->plan;
    struct gpu_context *gpu = gpu_of(plan->context);
    slot->marker = marker_take(plan->context, slot->event->options.timing);
    if (!slot->marker)
        return gpu->driver->out_of_memory;
    return call_of(gpu)->exec_set_record(plan->exec, plan->nodes[step->first],
                                         slot->marker->event);
}

// A wait of the graph is for the point that its event stands for before the
// launch.
static int aim_events(struct gpu_plan *plan, struct graph_launch *launch)
{
    int code = 0;
    for (uint32_t i = 0; i < launch->count && code == 0; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        struct slot *slot = &launch->slots[i];
        if (!step_is_event(step))
            continue;
        slot->event = (struct event *)step->node_params->subject;
        object_ref(&slot->event->object);
        code = step->kind == RNL_NODE_EVENT_WAIT
                   ? aim_wait(launch->stream, step, slot)
                   : aim_record(step, slot);
    }
    return code;
}

static void announce_events(struct gpu_plan *plan,
                            struct graph_launch *launch)
{
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        if (step->kind == RNL_NODE_EVENT_RECORD)
            gpu_event_stand_for(launch->slots[i].event,
                                marker_share(launch->slots[i].marker),
                                launch->stream, launch->sequence);
    }
}

static int wait_for_old_end_locked(struct gpu_exec *own,
                                   const struct driver_functions *call,
                                   void *handle)
{
    ASSERT(lock_is_held(&own->lock));
    return own->old_end ? call->stream_wait_event(handle,
                                                  own->old_end->event, 0)
                        : 0;
}

// Leaves a graph fence if this launch may block. Its plan may block, or the
// driver makes the launch wait for the graph's last launch on another stream.
// If all launches since the last fence are of this graph, the driver runs them
// in order, and no fence is needed.
static inline void leave_end_locked(const struct gpu_exec *own,
                                    struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_stream *on = gpu_stream_of(stream);
    const struct timeline *last = own->last.timeline;
    if (__builtin_expect(on->graph_of != own, 0) &&
        (own->plan->may_block || (last && last != timeline_of(on))))
        stream_leave_fence_locked(stream);
}

static inline int launch_locked(struct gpu_exec *own,
                                struct graph_launch *launch,
                                struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_plan *plan = own->plan;
    const struct driver_functions *call = call_of(gpu_of(plan->context));
    void *handle = gpu_stream_of(stream)->handle;
    leave_end_locked(own, stream);
    int code = wait_for_old_end_locked(own, call, handle);
    if (launch) {
        if (code == 0)
            code = aim_events(plan, launch);
        graph_launch_begin(plan, launch);
    }
    if (code == 0)
        code = call->exec_launch(plan->exec, handle);
    if (code != 0)
        return code;
    if (launch) {
        announce_events(plan, launch);
        atomic_fetch_add(&plan->references, 1);
    }
    if (plan->works) {
        marker_drop(plan->context, own->old_end);
        own->old_end = NULL;
    }
    return 0;
}

// Returns the marker of a wait in the graph whose record is still deferred.
// NULL: all records were submitted. The caller drops the marker.
static struct marker *deferred_point(struct gpu_exec *own)
{
    struct marker *found = NULL;
    lock_take(&own->lock);
    const struct gpu_plan *plan = own->plan;
    for (uint32_t i = 0; i < plan->slot_count && !found; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        if (step->kind != RNL_NODE_EVENT_WAIT)
            continue;
        struct event_point point =
            gpu_event_point((struct event *)step->node_params->subject);
        if (point.marker && atomic_load(&point.marker->pending))
            found = marker_share(point.marker);
        event_point_drop(plan->context, &point);
    }
    lock_give(&own->lock);
    return found;
}

int gpu_graph_lock(struct stream *stream, struct op *op)
{
    struct gpu_exec *own = exec_gpu(op->graph.exec);
    struct marker *marker;
    int code = 0;
    while (code == 0 && atomic_load(&own->prepares) &&
           (marker = deferred_point(own))) {
        code = marker_submit(marker);
        marker_drop(stream_context(stream), marker);
    }
    return code ? code : stream_lock_submitted(stream);
}

bool gpu_graph_prepares(const struct op *op)
{
    return atomic_load_explicit(&exec_gpu(op->graph.exec)->prepares,
                                memory_order_relaxed);
}

static inline void note_last_locked(struct gpu_exec *own,
                                    struct stream *stream, uint64_t launch)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *on = gpu_stream_of(stream);
    if (__builtin_expect(own->last.timeline != timeline_of(on), 0)) {
        timeline_release(own->last.timeline);
        own->last.timeline = timeline_retain(timeline_of(on));
    }
    own->last.value = launch;
    if (__builtin_expect(on->graph_of != own, 0))
        on->graph_of = on->graph_at == 0 ? own : NULL;
    on->graph_at = launch;
}

int gpu_graph_launch(struct stream *stream, struct op *op, bool *out_over)
{
    struct gpu_exec *own = exec_gpu(op->graph.exec);
    struct graph_launch *launch = NULL;
    lock_take(&own->lock);
    struct gpu_plan *plan = own->plan;
    struct gpu_context *gpu = gpu_of(plan->context);
    int code = 0;
    bool prepares = plan->slot_count > 0;
    if (prepares && op->borrows) {
        lock_give(&own->lock);
        return GRAPH_PREPARES;
    }
    void *before = prepares ? current_enter(gpu) : gpu->handle;
    if (prepares) {
        launch = graph_launch_new(plan, op);
        code = launch ? 0 : gpu->driver->out_of_memory;
    }
    if (code == 0)
        code = launch_locked(own, launch, stream);
    current_back(gpu, before);
    if (code == 0 && plan->works)
        note_last_locked(own, stream, op->sequence);
    else if (code != 0 && launch)
        graph_launch_end(plan, launch);
    lock_give(&own->lock);
    gpu_op_of(op)->graph.plan = plan;
    gpu_op_of(op)->graph.launch = launch;
    *out_over = !launch;
    return code;
}

static int upload(struct gpu_exec *own, struct stream *stream)
{
    const struct driver_functions *call =
        call_of(gpu_of(stream_context(stream)));
    lock_take(&own->lock);
    leave_end_locked(own, stream);  // an upload waits for the last launch, too
    int code = call->exec_upload(own->plan->exec,
                                 gpu_stream_of(stream)->handle);
    lock_give(&own->lock);
    return code;
}

// An upload counts as an operation, because the plan must outlive the upload.
rnl_status gpu_exec_upload(struct graph_exec *exec, struct stream *stream)
{
    struct gpu_context *gpu = gpu_of(context_of(exec));
    struct gpu_stream *own = gpu_stream_of(stream);
    int code = stream_lock_submitted(stream);
    if (code != 0)
        return driver_fail(context_of(exec), code, "to upload");
    rnl_status status = progress_watch_locked(stream);
    if (status == RNL_OK) {
        void *before = current_enter(gpu);
        code = upload(exec_gpu(exec), stream);
        current_back(gpu, before);
        own->last = LAST_WORK;
        if (code == 0)
            stream_count_locked(stream);
    }
    lock_give(&own->lock);
    return code == 0 ? status
                     : driver_fail(context_of(exec), code, "to upload");
}

bool gpu_graph_owes(const struct op *op)
{
    return op_launch(op) && graph_launch_owes(op_plan(op), op_launch(op));
}

void gpu_graph_call(const struct op *op)
{
    graph_launch_call(op_plan(op), op_launch(op));
}

void gpu_graph_over(struct op *op)
{
    struct gpu_plan *plan = op_plan(op);
    graph_launch_end(plan, op_launch(op));
    // The exec's lock is not taken here. Its holder may be blocked in a driver
    // call that waits for the progress thread.
    if (COUNT_DOWN(&plan->references) == 1)
        gpu_plan_free(plan,
                      (struct point){stream_timeline(op->stream),
                                     op->sequence});
}
