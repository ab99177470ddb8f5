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

static void each_record(struct plan *plan, const struct op *op,
                        void (*visit)(struct event *, struct to_come *))
{
    for (uint32_t i = 0; i < plan->count && plan->record_count > 0; i++)
        if (plan->steps[i].kind == STEP_RECORD)
            visit((struct event *)plan->steps[i].recipe->subject,
                  &op_records(op)[plan->steps[i].record]);
}

// Room in the op for what the launch records, each with its ticket.
static rnl_status number_launch(struct plan *plan, struct op *op)
{
    size_t size = plan->record_count * sizeof(struct to_come);
    if (size > OP_INLINE_PAYLOAD) {
        void *payload = mem_allocate_aligned(size, 64);
        if (!payload)
            return fail(RNL_ERROR_OUT_OF_MEMORY,
                        "there is no memory for another launch");
        op->payload = payload;
        op->payload_size = size;
    }
    op->backend[1] = event_new_ticket();
    for (uint32_t i = 0; i < plan->record_count; i++)
        op_records(op)[i] = (struct to_come){.ticket = op_ticket(op)};
    return RNL_OK;
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
    rnl_status status = number_launch(plan, op);
    if (status != RNL_OK || (status = wait_for_last_locked(cpu, stream)))
        return status;
    op->backend[0] = (uint64_t)(uintptr_t)plan;
    atomic_fetch_add(&plan->references, 1);
    each_record(plan, op, event_expect);
    object_keep(&stream->object);
    uint64_t sequence;
    status = queue_submit(stream_queue(stream), op, &sequence);
    if (status != RNL_OK) {
        each_record(plan, op, event_give_up);
        plan_drop(plan);
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
