#include "backends/cpu/kernel/launch_history.h"

#include "base/thread.h"

static uint64_t least(const _Atomic uint64_t *pair)
{
    uint64_t both = atomic_load_explicit(pair, memory_order_relaxed);
    uint32_t last = (uint32_t)both, before = (uint32_t)(both >> 32);
    return last < before ? last : before;
}

// Concurrent launches may overwrite each other's entry.
static void push(_Atomic uint64_t *pair, uint64_t value)
{
    uint64_t both = atomic_load_explicit(pair, memory_order_relaxed);
    uint64_t next = both << 32 | (value < UINT32_MAX ? value : UINT32_MAX);
    if (next != both)
        atomic_store_explicit(pair, next, memory_order_relaxed);
}

struct unit_times launch_history_get(const struct launch_history *history)
{
    return (struct unit_times){least(&history->means),
                               least(&history->longests)};
}

void launch_history_add(struct launch_history *history,
                  const struct unit_times *times)
{
    push(&history->means, times->mean);
    push(&history->longests, times->longest);
}
