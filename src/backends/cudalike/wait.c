// Waiting for the driver without its own waits, which burn a core however long
// they take, and know no time limit.
#include "backends/cudalike/service.h"

#include "base/clock.h"

#define SPIN_NS UINT64_C(50000)       // what is not waited for any other way
#define SPIN_MOST_NS UINT64_C(500000) // as long as a nap may come late, often
#define NAP_LEAST_NS UINT64_C(20000)
#define NAP_MOST_NS UINT64_C(250000)
#define ENDING_NS UINT64_C(500000000)

// One wait under way. Those of one subject are often alike: around the time
// when it is likely to end it is looked for all the time.
struct wait {
    rnl_sync_policy policy;
    uint64_t past;      // since it began
    uint64_t from, to;  // when its end is expected
};

static void expect_end(struct wait *wait, uint64_t learned)
{
    wait->from = learned < SPIN_MOST_NS ? 0 : learned - learned / 8;
    wait->to = learned + learned / 8 + SPIN_NS;
}

static bool spins(const struct wait *wait)
{
    if (wait->policy == RNL_SYNC_SPIN || wait->policy == RNL_SYNC_BLOCKING)
        return wait->policy == RNL_SYNC_SPIN;
    return wait->past < SPIN_NS ||
           (wait->past >= wait->from && wait->past < wait->to);
}

// Ever longer, a sixteenth of the time that has passed, but not into the time
// when the end is expected.
static uint64_t nap_length(const struct wait *wait)
{
    uint64_t length = wait->past / 16;
    if (length > NAP_MOST_NS)
        length = NAP_MOST_NS;
    if (wait->policy != RNL_SYNC_BLOCKING && wait->past < wait->from &&
        length > wait->from - wait->past)
        length = wait->from - wait->past;
    return length > NAP_LEAST_NS ? length : NAP_LEAST_NS;
}

static void nap(uint64_t duration_ns, uint64_t deadline)
{
    static _Atomic uint32_t never;
    uint64_t end = clock_now() + duration_ns;
    futex_wait(&never, 0, end < deadline ? end : deadline);
}

// Long ones are not forgotten at the first short one.
static void learn(_Atomic uint64_t *learned, uint64_t past)
{
    uint64_t before = atomic_load_explicit(learned, memory_order_relaxed);
    if (past < before)
        past = before - (before - past) / 4;
    if (past != before)
        atomic_store_explicit(learned, past, memory_order_relaxed);
}

rnl_status gpu_poll(rnl_status (*query)(void *), void *subject,
                    rnl_sync_policy policy, uint64_t deadline,
                    _Atomic uint64_t *learned)
{
    struct wait wait = {.policy = policy};
    uint64_t start = clock_now();
    expect_end(&wait, atomic_load_explicit(learned, memory_order_relaxed));
    for (;;) {
        rnl_status status = query(subject);
        if (status != RNL_NOT_READY) {
            learn(learned, wait.past);
            return status;
        }
        uint64_t now = clock_now(), ended = driver_use_ended();
        if (now >= deadline)
            return fail(RNL_ERROR_TIMED_OUT,
                        "the work was not done within the time limit");
        if (ended && now - ended > ENDING_NS)
            return fail(RNL_ERROR_DEVICE_LOST,
                        "the process is ending, and the host does nothing for "
                        "its streams any more");
        wait.past = now - start;
        if (spins(&wait))
            cpu_relax();
        else if (policy == RNL_SYNC_YIELD)
            sched_yield();
        else
            nap(nap_length(&wait), deadline);
    }
}
