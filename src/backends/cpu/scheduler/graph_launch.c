// Executable graphs on the cpu: a plan, which is replaced if a launch is under
// way at a change.
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "core/graph/graph.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

static inline struct cpu_exec *exec_cpu(struct graph_exec *exec)
{
    return exec_native(exec);
}

rnl_status cpu_exec_init(struct graph_exec *exec)
{
    lock_set_rank(&exec_cpu(exec)->lock, RANK_CPU_EXEC);
    exec_cpu(exec)->plan = plan_create(exec->snapshot);
    return exec_cpu(exec)->plan ? RNL_OK : fail_status();
}

void cpu_exec_finish(struct graph_exec *exec)
{
    plan_unref(exec_cpu(exec)->plan);
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
    plan_unref(old);
    return RNL_OK;
}

// --- The size of a plan ----------------------------------------------------

// Many steps may be long, or next to nothing: the last launch tells.
bool plan_is_small(const struct plan *plan)
{
    return plan->hosts == 0 &&
           (plan->count <= SMALL_STEPS ||
            atomic_load_explicit(&plan->brief, memory_order_relaxed));
}

static bool step_is_short(const struct step *step)
{
    if (step->kind == STEP_CALL || step->kind == STEP_OUTSIDE ||
        step->kind >= STEP_DECIDE)
        return false;
    if (step->kind != STEP_OPS && step->kind != STEP_RUN)
        return true;
    for (const struct op *op = step->node_params->ops; op; op = op->next)
        if (!op_is_short(op))
            return false;
    return true;
}

bool plan_is_short(const struct plan *plan)
{
    if (plan->hosts > 0 || plan->count > SMALL_STEPS)
        return false;
    for (uint32_t i = 0; i < plan->count; i++)
        if (!step_is_short(&plan->steps[i]))
            return false;
    return true;
}

// --- Launching -------------------------------------------------------------

static _Atomic uint64_t launches;

// The event that the step records, or NULL.
static struct event *event_of(const struct step *step)
{
    return step->kind == STEP_RECORD
               ? (struct event *)step->node_params->subject
               : NULL;
}

// Releases the targets of the steps before `end`.
static void unreserve_events(const struct plan *plan, uint32_t end)
{
    for (uint32_t i = 0; plan->records && i < end; i++)
        if (event_of(&plan->steps[i]))
            event_unreserve(event_of(&plan->steps[i]));
}

static bool reserve_events(const struct plan *plan)
{
    for (uint32_t i = 0; plan->records && i < plan->count; i++) {
        struct event *event = event_of(&plan->steps[i]);
        if (!event || event_reserve(event))
            continue;
        unreserve_events(plan, i);
        return false;
    }
    return true;
}

static void expect_events(const struct plan *plan, uint64_t launch)
{
    for (uint32_t i = 0; plan->records && i < plan->count; i++)
        if (event_of(&plan->steps[i]))
            event_expect(event_of(&plan->steps[i]), launch);
}

// Notes the targets of the events that the steps wait for, before the launch
// records any event.
static bool note_wait_targets(const struct plan *plan, struct op *op)
{
    size_t size = plan->target_count * sizeof(struct wait);
    struct wait *targets = size ? mem_allocate(size) : NULL;
    cpu_op_of(op)->graph.targets = targets;
    for (uint32_t i = 0; targets && i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        if (step->kind == STEP_WAIT)
            targets[step->point] =
                event_target((struct event *)step->node_params->subject);
    }
    if (size && !targets)
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a launch");
    return targets || !size;
}

static void drop_wait_targets(const struct plan *plan, struct op *op)
{
    struct wait *targets = op_wait_targets(op);
    for (uint32_t i = 0; targets && i < plan->target_count; i++)
        event_target_unref(&targets[i]);
    mem_release(targets, plan->target_count * sizeof *targets);
}

void graph_launch_finish(struct op *op)
{
    struct cpu_exec *cpu = exec_cpu(op->graph.exec);
    drop_wait_targets(op_plan(op), op);
    plan_unref(op_plan(op));
    lock_take(&cpu->lock);
    if (cpu->last == op->stream && cpu->last_sequence == op->sequence)
        cpu->last = NULL;
    lock_give(&cpu->lock);
}

// Launches of one plan must not overlap.
static rnl_status wait_for_last_locked(struct cpu_exec *cpu,
                                       struct stream *stream)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct wait wait = {.target = cpu->last, .sequence = cpu->last_sequence,
                        .order_only = true};
    return !cpu->last || cpu->last == stream ? RNL_OK
                                             : queue_add_wait(stream, &wait);
}

// All that can fail comes first: a launch that is refused changes nothing.
static rnl_status prepare_locked(struct cpu_exec *cpu, struct stream *stream,
                                 struct op *op)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct plan *plan = cpu->plan;
    if (!note_wait_targets(plan, op))
        return fail_status();
    rnl_status status = reserve_events(plan) ? RNL_OK : fail_status();
    if (status == RNL_OK && (status = wait_for_last_locked(cpu, stream)))
        unreserve_events(plan, plan->count);
    if (status != RNL_OK)
        drop_wait_targets(plan, op);
    return status;
}

// A launch may wait only for queued launches; otherwise further launches could
// get in between and wait for each other. So the launch is queued first, and
// takes the lock at its beginning and end.
static rnl_status launch_locked(struct cpu_exec *cpu, struct stream *stream,
                                struct op *op)
{
    ASSERT(lock_is_held(&cpu->lock));
    struct plan *plan = cpu->plan;
    rnl_status status = prepare_locked(cpu, stream, op);
    if (status != RNL_OK)
        return status;
    cpu_op_of(op)->graph.plan = plan;
    cpu_op_of(op)->graph.launch = atomic_fetch_add(&launches, 1) + 1;
    atomic_fetch_add(&plan->references, 1);
    uint64_t launch = op_launch(op);
    cpu->last = stream;
    // Cannot fail, because the stream is alive.
    status = queue_submit(stream_queue(stream), op, &cpu->last_sequence);
    expect_events(plan, launch);
    return status;
}

void graph_await_launch(const struct op *op)
{
    struct cpu_exec *cpu = exec_cpu(op->graph.exec);
    lock_take(&cpu->lock);
    lock_give(&cpu->lock);
}

rnl_status graph_submit(struct stream *stream, struct op *op)
{
    struct graph_exec *exec = op->graph.exec;
    struct cpu_exec *cpu = exec_cpu(exec);
    rnl_status status = object_ref_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    object_ref(&exec->object);  // the op may be done before this call is
    lock_take(&cpu->lock);
    status = launch_locked(cpu, stream, op);
    lock_give(&cpu->lock);
    object_unref(&exec->object);
    object_unref(&stream->object);
    return status;
}
