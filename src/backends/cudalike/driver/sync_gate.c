// The sync gate keeps calls that wait for the whole device apart from copies by
// the host. Loading code, and freeing page-locked memory at once, wait for the
// whole device and meanwhile block further calls of the driver. A copy of
// ordinary memory that a stream waits for must not be blocked, because the
// device then never becomes idle.
//
// So a call begins only while no copy is under way, and no copy begins before
// the call is over. A copy that the device already waits for counts as under
// way, even before a thread starts the copy. The progress thread must not be
// blocked either, because it lets streams continue: during a call it looks only
// at the work of the host.
#include "backends/cudalike/driver/sync_gate.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/driver_use.h"

#include "base/clock.h"

#define DEVICES 64

struct gate {
    struct lock lock;  // guards the counts
    uint32_t copies, calls;
    uint32_t looks;    // by the progress thread
    uint32_t near;     // calls that wait only for looks, or have begun
    uint32_t inside;   // calls that have begun
    _Atomic uint32_t news;
};

static struct gate gates[DEVICES] = {
    [0 ... DEVICES - 1] = {.lock = LOCK_RANKED(RANK_LEAF)},
};

static struct gate *gate_of(const struct gpu_context *gpu)
{
    return &gates[(unsigned)gpu->device % DEVICES];
}

static void change(struct gate *gate, uint32_t *number, int by)
{
    lock_take(&gate->lock);
    bool awaited = gate->calls > 0;
    ASSERT(by > 0 || *number >= (uint32_t)-by);
    *number += (uint32_t)by;
    lock_give(&gate->lock);
    if (!awaited)
        return;
    atomic_fetch_add(&gate->news, 1);
    futex_wake(&gate->news, INT32_MAX);
}

// Counts in `number` unless `in_its_way` counts calls.
static bool begin(struct gate *gate, uint32_t *number,
                  const uint32_t *in_its_way)
{
    lock_take(&gate->lock);
    bool may = *in_its_way == 0;
    *number += may;
    lock_give(&gate->lock);
    return may;
}

bool sync_gate_copy_begin(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    return begin(gate, &gate->copies, &gate->calls);
}

bool sync_gate_copy_urgent(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    return begin(gate, &gate->copies, &gate->inside);
}

void sync_gate_copy_enter(const struct gpu_context *gpu)
{
    change(gate_of(gpu), &gate_of(gpu)->copies, 1);
}

void sync_gate_await(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    for (;;) {
        uint32_t seen = atomic_load(&gate->news);
        lock_take(&gate->lock);
        bool over = gate->inside == 0;
        lock_give(&gate->lock);
        if (over)
            return;
        futex_wait(&gate->news, seen, RNL_FOREVER);
    }
}

void sync_gate_copy_end(const struct gpu_context *gpu)
{
    change(gate_of(gpu), &gate_of(gpu)->copies, -1);
}

struct gate *sync_gate_look_begin(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    return begin(gate, &gate->looks, &gate->near) ? gate : NULL;
}

void sync_gate_look_end(struct gate *gate)
{
    change(gate, &gate->looks, -1);
}

bool sync_gate_has_copies(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    lock_take(&gate->lock);
    bool copies = gate->copies > 0;
    lock_give(&gate->lock);
    return copies;
}

// `*near`: whether the call is counted in gate->near.
static bool has_begun(struct gate *gate, bool waits_for_copies, bool *near)
{
    lock_take(&gate->lock);
    bool ended = driver_use_ended();
    bool is_near = !waits_for_copies || gate->copies == 0 || ended;
    bool begins = is_near && (gate->looks == 0 || ended);
    gate->near += is_near - *near;
    gate->inside += begins;
    *near = is_near;
    lock_give(&gate->lock);
    return begins;
}

static void enter(struct gate *gate, bool waits_for_copies)
{
    bool near = false;
    change(gate, &gate->calls, 1);
    for (;;) {
        uint32_t seen = atomic_load(&gate->news);
        if (has_begun(gate, waits_for_copies, &near))
            return;
        futex_wait(&gate->news, seen, RNL_FOREVER);
    }
}

void sync_gate_enter(const struct gpu_context *gpu)
{
    enter(gate_of(gpu), true);
}

void sync_gate_enter_now(const struct gpu_context *gpu)
{
    enter(gate_of(gpu), false);
}

void sync_gate_leave(const struct gpu_context *gpu)
{
    struct gate *gate = gate_of(gpu);
    lock_take(&gate->lock);
    gate->inside--;
    gate->near--;
    lock_give(&gate->lock);
    change(gate, &gate->calls, -1);
}
