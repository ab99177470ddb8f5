// The barrier of a block: who may go on, and why nobody can.
#include "backends/cpu/kernel/block_threads.h"

#include <stdio.h>

// The name of a waiting thread's block barrier; NULL: the grid's barrier.
static void name_barrier(const struct block_waiter *waiter, char where[48])
{
    if (!waiter)
        snprintf(where, 48, "grid_group::sync()");
    else if (waiter->line == 0)
        snprintf(where, 48, "__syncthreads");
    else
        snprintf(where, 48, "the barrier in line %u", waiter->line);
}

// All wait at barriers, but not at the same: a GPU might mix them up.
static void check_lines(struct runner *runner)
{
    const struct block_waiter *first = runner->barrier.first;
    const struct block_waiter *other = first->next;
    char name[48], where[2][48];
    while (other && (other->line == first->line || other->line == 0))
        other = other->next;
    if (!other || first->line == 0)
        return;
    runner_name_thread(runner, first->thread, name);
    name_barrier(first, where[0]);
    name_barrier(other, where[1]);
    runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, other->thread,
                "waits for ever at %s, while thread %s waits at %s: two "
                "different barriers", where[1], name, where[0]);
}

void barrier_release(struct runner *runner)
{
    int count = 0, threads = (int)runner->barrier.count;
    check_lines(runner);
    for (struct block_waiter *w = runner->barrier.first; w; w = w->next)
        count += w->predicate != 0;
    for (struct block_waiter *w = runner->barrier.first; w; w = w->next) {
        int result = 0;
        if (w->sync == RNL_CPU_SYNC_COUNT)
            result = count;
        else if (w->sync == RNL_CPU_SYNC_AND)
            result = count == threads;
        else if (w->sync == RNL_CPU_SYNC_OR)
            result = count > 0;
        w->result = (uint64_t)result;
    }
    waiter_queue_move(&runner->barrier, &runner->ready);
}

_Noreturn void barrier_fail(struct runner *runner)
{
    const struct block_waiter *lane = warp_any_waiter(runner);
    const struct block_waiter *barrier = runner->barrier.first;
    const struct block_waiter *other =
        barrier ? barrier : runner->at_grid.first;
    char name[48], where[48];
    name_barrier(barrier, where);
    if (!lane) {
        runner_name_thread(runner, runner->at_grid.first->thread, name);
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, other->thread,
                    "waits for ever at %s, while thread %s waits "
                    "at grid_group::sync(): the barrier is divergent", where,
                    name);
    }
    if (!other)
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, lane->thread,
                    "waits for ever in %s with mask 0x%08x: other lanes of "
                    "that mask wait in another warp operation",
                    warp_kind_name(lane->op.kind), lane->op.mask);
    runner_name_thread(runner, other->thread, name);
    runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, lane->thread,
                "waits for ever in %s with mask 0x%08x, while thread %s waits "
                "at %s: the barrier is divergent",
                warp_kind_name(lane->op.kind), lane->op.mask, name, where);
}
