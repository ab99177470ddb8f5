// Executable graphs on the cpu: a plan, exchanged for another when a launch of
// it is under way while it is to be changed.
#include "backends/cpu/graph.h"

#include "backends/cpu/plan.h"

static inline struct cpu_exec *exec_cpu(struct graph_exec *exec)
{
    return exec_native(exec);
}

rnl_status cpu_exec_init(struct graph_exec *exec)
{
    exec_cpu(exec)->plan = plan_create(exec->snapshot);
    return exec_cpu(exec)->plan ? RNL_OK : fail_status();
}

void cpu_exec_finish(struct graph_exec *exec)
{
    struct cpu_exec *cpu = exec_cpu(exec);
    plan_drop(cpu->plan);
    if (cpu->last)
        object_drop(&cpu->last->object);
}

rnl_status cpu_exec_change(struct graph_exec *exec, uint32_t index)
{
    struct cpu_exec *cpu = exec_cpu(exec);
    lock_take(&cpu->lock);
    bool free = atomic_load(&cpu->plan->references) == 1;
    bool changed = free && index != UINT32_MAX &&
                   plan_change(cpu->plan, exec->snapshot, index);
    lock_give(&cpu->lock);
    if (changed)
        return RNL_OK;
    struct plan *plan = plan_create(exec->snapshot);
    if (!plan)
        return fail_status();
    lock_take(&cpu->lock);
    struct plan *old = cpu->plan;
    cpu->plan = plan;
    lock_give(&cpu->lock);
    plan_drop(old);
    return RNL_OK;
}

// --- Launching -------------------------------------------------------------

static _Atomic uint64_t launches;

// The event that the step records, or NULL.
static struct event *event_of(const struct step *step)
{
    return step->kind == STEP_RECORD ? (struct event *)step->recipe->subject
                                     : NULL;
}

static bool expect_events(const struct plan *plan, uint64_t launch)
{
    for (uint32_t i = 0; plan->records && i < plan->count; i++) {
        struct event *event = event_of(&plan->steps[i]);
        if (event && !event_expect(event, launch))
            return false;
    }
    return true;
}

static void give_up_events(const struct plan *plan, uint64_t launch)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct event *event = event_of(&plan->steps[i]);
        if (event)
            event_arrive(event, launch, NULL, 0);
    }
}

// Notes what the events stand for that its steps wait for. Before it is to
// record any itself.
static bool note_points(const struct plan *plan, struct op *op)
{
    size_t size = plan->point_count * sizeof(struct wait);
    struct wait *points = size ? mem_allocate(size) : NULL;
    op->backend[2] = (uint64_t)(uintptr_t)points;
    for (uint32_t i = 0; points && i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        if (step->kind == STEP_WAIT)
            points[step->point] =
                event_point((struct event *)step->recipe->subject);
    }
    if (size && !points)
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a launch");
    return points || !size;
}

void graph_launch_finish(struct op *op)
{
    struct plan *plan = op_plan(op);
    struct wait *points = op_points(op);
    for (uint32_t i = 0; points && i < plan->point_count; i++)
        if (points[i].target)
            object_drop(&points[i].target->object);
    mem_release(points, plan->point_count * sizeof *points);
    plan_drop(plan);
}

// Launches of one plan must not overlap.
static rnl_status wait_for_last_locked(struct cpu_exec *cpu,
                                       struct stream *stream)
{
    struct wait wait = {.target = cpu->last, .sequence = cpu->last_sequence,
                        .order_only = true};
    if (!cpu->last || cpu->last == stream ||
        atomic_load(&stream_queue(cpu->last)->completed) >= wait.sequence)
        return RNL_OK;
    return queue_add_wait(stream, &wait);
}

static rnl_status launch_locked(struct cpu_exec *cpu, struct stream *stream,
                                struct op *op, struct stream **out_old)
{
    struct plan *plan = cpu->plan;
    rnl_status status = wait_for_last_locked(cpu, stream);
    if (status != RNL_OK)
        return status;
    uint64_t sequence = 0, launch = atomic_fetch_add(&launches, 1) + 1;
    op->backend[0] = (uint64_t)(uintptr_t)plan;
    op->backend[1] = launch;
    atomic_fetch_add(&plan->references, 1);
    object_keep(&stream->object);
    status = note_points(plan, op) && expect_events(plan, launch)
                 ? queue_submit(stream_queue(stream), op, &sequence)
                 : fail_status();
    if (status != RNL_OK) {
        give_up_events(plan, launch);
        graph_launch_finish(op);
        *out_old = stream;
        return status;
    }
    *out_old = cpu->last;
    cpu->last = stream;
    cpu->last_sequence = sequence;
    return RNL_OK;
}

rnl_status graph_submit(struct stream *stream, struct op *op)
{
    struct graph_exec *exec = op->graph.exec;
    struct cpu_exec *cpu = exec_cpu(exec);
    struct stream *old = NULL;
    rnl_status status = object_keep_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    object_keep(&exec->object);  // the op may be done before this call is
    lock_take(&cpu->lock);
    status = launch_locked(cpu, stream, op, &old);
    lock_give(&cpu->lock);
    if (old)
        object_drop(&old->object);
    object_drop(&exec->object);
    object_drop(&stream->object);
    return status;
}
