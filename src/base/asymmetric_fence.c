#include "base/asymmetric_fence.h"

#include "base/clock.h"
#include "base/fail.h"

#include <sys/syscall.h>
#include <unistd.h>

// <linux/membarrier.h> may be older than these commands.
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

static bool barrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

void asymmetric_fence_open(void)
{
    if (!barrier(REGISTER_PRIVATE_EXPEDITED))
        return;
    atomic_store(&read_mostly.fence_mode, FENCE_REMOTE);
    threads_note_fences();
}

// However often signals interrupt it.
static void settle(void)
{
    const struct timespec rest = {.tv_nsec = FENCE_SETTLE_NS};
    uint64_t end = clock_now() + FENCE_SETTLE_NS;
    while (clock_now() < end)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
}

void asymmetric_fence_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    int mode = atomic_load(&read_mostly.fence_mode);
    if (mode == FENCE_LOCAL ||
        (mode == FENCE_REMOTE && barrier(PRIVATE_EXPEDITED)))
        return;
    // If a sandbox that came later forbids the call, threads that already
    // passed asymmetric_fence_light get the time that a fence would have taken;
    // each heavy side waits that long.
    if (mode == FENCE_REMOTE)
        atomic_compare_exchange_strong(&read_mostly.fence_mode, &mode,
                                       FENCE_SETTLING);
    threads_note_fences();
    settle();
    atomic_store(&read_mostly.fence_mode, FENCE_LOCAL);
}
