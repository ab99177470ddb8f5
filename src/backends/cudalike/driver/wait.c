// Waits for the driver without the driver's own waits, which burn a core for
// the whole time and know no time limit.
#include "backends/cudalike/driver/wait.h"

#include "backends/cudalike/driver/driver_use.h"
#include "backends/cudalike/tuning.h"

#include "base/clock.h"
#include "base/thread.h"

#include <sched.h>

void wait_expect(struct poll_wait *wait, const struct waits *last)
{
    for (int i = 0; i < WAITS_KEPT; i++) {
        uint64_t took = atomic_load_explicit(&last->took_us[i],
                                             memory_order_relaxed);
        took *= 1000;
        wait->from[i] = took < SPIN_MOST_NS ? 0 : took - took / 8;
        wait->to[i] = took + took / 8 + SPIN_NS;
    }
}

bool wait_spins(const struct poll_wait *wait)
{
    if (wait->policy == RNL_SYNC_SPIN || wait->policy == RNL_SYNC_BLOCKING)
        return wait->policy == RNL_SYNC_SPIN;
    for (int i = 0; i < WAITS_KEPT; i++)
        if (wait->past >= wait->from[i] && wait->past < wait->to[i])
            return true;
    return wait->past < SPIN_NS;
}

// A sixteenth of the time that has passed, within limits.
uint64_t wait_nap(const struct poll_wait *wait)
{
    uint64_t length = wait->past / 16;
    if (length > NAP_MOST_NS)
        length = NAP_MOST_NS;
    for (int i = 0; i < WAITS_KEPT; i++)
        if (wait->policy != RNL_SYNC_BLOCKING && wait->past < wait->from[i] &&
            length > wait->from[i] - wait->past)
            length = wait->from[i] - wait->past;
    return length > NAP_LEAST_NS ? length : NAP_LEAST_NS;
}

static void nap(uint64_t duration_ns, uint64_t deadline)
{
    static _Atomic uint32_t never;
    uint64_t end = clock_now() + duration_ns;
    futex_wait(&never, 0, end < deadline ? end : deadline);
}

// A wait that was over at once teaches nothing. If several threads end a wait
// at the same time, each duration is kept.
void waits_learn(struct waits *last, uint64_t took_ns)
{
    if (took_ns == 0)
        return;
    uint32_t next =
        atomic_fetch_add_explicit(&last->next, 1, memory_order_relaxed);
    uint64_t us = took_ns / 1000;
    atomic_store_explicit(&last->took_us[next % WAITS_KEPT],
                          us < UINT32_MAX ? (uint32_t)us : UINT32_MAX,
                          memory_order_relaxed);
}

rnl_status gpu_poll(rnl_status (*query)(void *), void *subject,
                    rnl_sync_policy policy, uint64_t deadline,
                    struct waits *last)
{
    struct poll_wait wait = {.policy = policy};
    uint64_t start = clock_now();
    wait_expect(&wait, last);
    for (;;) {
        rnl_status status = query(subject);
        if (status != RNL_NOT_READY) {
            waits_learn(last, wait.past);
            return status;
        }
        uint64_t now = clock_now(), ended = driver_use_ended();
        if (now >= deadline)
            return fail(RNL_ERROR_TIMED_OUT,
                        "the work was not done within the time limit");
        if (ended && now - ended > ENDING_NS)
            return driver_use_fail();
        wait.past = now - start;
        if (wait_spins(&wait))
            cpu_relax();
        else if (policy == RNL_SYNC_YIELD)
            sched_yield();
        else
            nap(wait_nap(&wait), deadline);
    }
}
