// Room for the records that launches of graphs will make.
#include "backends/cpu/scheduler/event.h"

#include "core/stream/event.h"

#include <string.h>

// Makes room for another entry at the end, besides the reserved ones.
static bool reserve_locked(struct cpu_event *cpu)
{
    ASSERT(lock_is_held(&cpu->lock));
    uint32_t most = cpu->expected_most, count = cpu->expected_count;
    uint32_t needed = count + cpu->reserved;
    if (cpu->expected_first + needed < most)
        return true;
    struct expected_launch *to = cpu->expected;
    if (needed >= most / 2) {
        most = most ? 2 * most : 4;
        to = mem_allocate(most * sizeof *to);
    }
    if (!to)
        return false;
    if (count > 0)
        memmove(to, cpu->expected + cpu->expected_first, count * sizeof *to);
    if (to != cpu->expected)
        mem_release(cpu->expected, cpu->expected_most * sizeof *to);
    cpu->expected = to;
    cpu->expected_most = most;
    cpu->expected_first = 0;
    return true;
}

bool event_reserve(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    bool fits = reserve_locked(cpu);
    cpu->reserved += fits;
    lock_give(&cpu->lock);
    if (!fits)
        fail(RNL_ERROR_OUT_OF_MEMORY,
             "there is no memory for an event's record by a graph");
    return fits;
}

void event_unreserve(struct event *event)
{
    struct cpu_event *cpu = event_cpu(event);
    lock_take(&cpu->lock);
    cpu->reserved--;
    lock_give(&cpu->lock);
}
