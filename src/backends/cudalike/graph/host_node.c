#include "backends/cudalike/graph/host_node.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/graph/plan.h"
#include "backends/cudalike/stream/copy.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"
#include "core/graph/node_params.h"

// --- Numbers ---------------------------------------------------------------

#define LISTS 256

// Guards the lists.
static struct lock lists_lock = LOCK_RANKED(RANK_HOST_LISTS);
static struct host_work *lists[LISTS];

static struct host_work **place_locked(uint64_t number)
{
    ASSERT(lock_is_held(&lists_lock));
    struct host_work **link = &lists[number % LISTS];
    while (*link && (*link)->number != number)
        link = &(*link)->next_watched;
    return link;
}

void host_work_list(struct host_work *work)
{
    work->number = object_new_id();
    lock_take(&lists_lock);
    struct host_work **list = &lists[work->number % LISTS];
    work->next_watched = *list;
    *list = work;
    lock_give(&lists_lock);
}

void host_work_unlist(struct host_work *work)
{
    lock_take(&lists_lock);
    *place_locked(work->number) = work->next_watched;
    lock_give(&lists_lock);
}

// --- Copies ----------------------------------------------------------------

struct op_copy host_work_rest(const struct host_work *work,
                              const struct op_copy *copy)
{
    struct op_copy rest = *copy;
    if (work->part == HOST_READS)
        copy_from_packed(&rest, work->staged);
    else
        copy_to_packed(&rest, work->staged);
    return rest;
}

static void copy_part(const struct host_work *work,
                      const struct node_params *node_params)
{
    const struct op *op = node_params->ops;
    for (uint32_t i = 0; i < work->op; i++)
        op = op->next;
    struct op_copy copy = op->copy;
    if (work->part == HOST_READS)
        copy_to_packed(&copy, work->staged);
    else if (work->part == HOST_WRITES)
        copy_from_packed(&copy, work->staged);
    copy_by_host(&copy);
}

// --- Calls -----------------------------------------------------------------

// Operation `sequence` of `stream` is the launch of the graph.
static void call(const struct node_params *node_params, rnl_status status,
                 struct stream *stream, uint64_t sequence)
{
    const struct op *op = node_params->ops;
    status = host_function_call(&op->host, status);
    if (status != RNL_OK)
        timeline_fail(stream,
                      failure_create(stream, sequence, op, status,
                                     rnl_last_error()->message),
                      sequence, false);
}

// Launches of one executable graph never overlap, so the driver reaches a node
// in the order of launches. A node that the driver reaches after the device was
// lost is already over.
static struct node_params *arrive(const struct host_work *work,
                                  rnl_status *out_status,
                                  struct stream **out_stream,
                                  uint64_t *out_sequence)
{
    struct gpu_plan *plan = work->step->plan;
    struct node_params *node_params = NULL;
    lock_take(&plan->lock);
    struct graph_launch *launch = plan->launches;
    while (launch && launch->slots[work->slot].arrived)
        launch = launch->next;
    if (launch) {
        struct slot *slot = &launch->slots[work->slot];
        slot->arrived = true;
        node_params = slot->node_params;
        slot->node_params = NULL;
        *out_stream = launch->stream;
        *out_sequence = launch->sequence;
        object_ref(&launch->stream->object);
        *out_status =
            host_function_status(launch->stream, launch->sequence);
    }
    lock_give(&plan->lock);
    return node_params;
}

void host_node_run(void *number)
{
    struct node_params *node_params = NULL;
    const struct gpu_context *copies = NULL;
    struct stream *stream = NULL;
    uint64_t sequence = 0;
    rnl_status status = RNL_OK;
    lock_take(&lists_lock);
    const struct host_work *work = *place_locked((uintptr_t)number);
    // The copy is counted from here on. If the device is lost meanwhile, waits
    // end only after the copy, which uses the caller's memory.
    if (work && work->part != HOST_CALLS) {
        copies = gpu_of(work->step->plan->context);
        sync_gate_copy_enter(copies);
    }
    if (work)
        node_params = arrive(work, &status, &stream, &sequence);
    lock_give(&lists_lock);
    if (node_params && !copies)
        call(node_params, status, stream, sequence);
    else if (node_params && status == RNL_OK)
        copy_part(work, node_params);
    node_params_unref(node_params);
    if (stream)
        stream_drop(stream);
    if (copies)
        sync_gate_copy_end(copies);
}

// --- Launches ---------------------------------------------------------------

static size_t size_of(uint32_t count)
{
    return sizeof(struct graph_launch) + count * sizeof(struct slot);
}

struct graph_launch *graph_launch_new(struct gpu_plan *plan,
                                      const struct op *op)
{
    struct graph_launch *launch = mem_allocate(size_of(plan->slot_count));
    if (!launch)
        return NULL;
    launch->stream = op->stream;
    launch->sequence = op->sequence;
    launch->count = plan->slot_count;
    for (uint32_t i = 0; i < launch->count; i++) {
        const struct step *step = &plan->steps[plan->slotted[i]];
        if (!step_is_event(step) && step->enabled)
            launch->slots[i].node_params = node_params_ref(step->node_params);
    }
    return launch;
}

// True if the slot's host function must still be called, though the driver
// never reached its node.
static bool must_be_called_locked(const struct gpu_plan *plan,
                                  const struct graph_launch *launch,
                                  uint32_t slot)
{
    ASSERT(lock_is_held(&plan->lock));
    return launch->slots[slot].node_params && !launch->slots[slot].arrived &&
           plan->steps[plan->slotted[slot]].kind == RNL_NODE_HOST_FUNCTION;
}

void graph_launch_begin(struct gpu_plan *plan, struct graph_launch *launch)
{
    lock_take(&plan->lock);
    struct graph_launch **link = &plan->launches;
    while (*link)
        link = &(*link)->next;
    *link = launch;
    lock_give(&plan->lock);
}

void graph_launch_end(struct gpu_plan *plan, struct graph_launch *launch)
{
    lock_take(&plan->lock);
    struct graph_launch **link = &plan->launches;
    while (*link && *link != launch)
        link = &(*link)->next;
    if (*link)
        *link = launch->next;
    lock_give(&plan->lock);
    for (uint32_t i = 0; i < launch->count; i++) {
        struct slot *slot = &launch->slots[i];
        if (slot->event) {
            marker_drop(slot->event->object.context, slot->marker);
            object_unref(&slot->event->object);
        }
        node_params_unref(slot->node_params);
    }
    mem_release(launch, size_of(launch->count));
}

// The slots keep their node_params here, because dropping them may block the
// calling thread.
void graph_launch_call(struct gpu_plan *plan, struct graph_launch *launch)
{
    for (uint32_t i = 0; i < launch->count; i++) {
        lock_take(&plan->lock);
        bool owes = must_be_called_locked(plan, launch, i);
        launch->slots[i].arrived |= owes;
        lock_give(&plan->lock);
        if (owes)
            call(launch->slots[i].node_params,
                 host_function_status(launch->stream, launch->sequence),
                 launch->stream, launch->sequence);
    }
}

bool graph_launch_owes(struct gpu_plan *plan,
                       const struct graph_launch *launch)
{
    bool owes = false;
    lock_take(&plan->lock);
    for (uint32_t i = 0; i < launch->count; i++)
        owes |= must_be_called_locked(plan, launch, i);
    lock_give(&plan->lock);
    return owes;
}
