// Loading code, and giving page-locked memory back at once, wait for the whole
// device, and hold up copies of other threads meanwhile. A copy of ordinary
// memory that a stream waits for must not be among those: so such a call begins
// when no copy is under way, and none begins before it is over. What the device
// waits for already is under way from then on, though nobody copies yet.
#include "backends/cudalike/service.h"

#include "base/clock.h"

#define DEVICES 64

struct quiet {
    struct lock lock;  // guards the numbers
    uint32_t copies, calls;
    uint32_t inside;   // calls that have begun
    _Atomic uint32_t news;
};

static struct quiet quiets[DEVICES];

static struct quiet *quiet_of(const struct gpu_context *gpu)
{
    return &quiets[(unsigned)gpu->device % DEVICES];
}

static void change(struct quiet *quiet, uint32_t *number, int by)
{
    lock_take(&quiet->lock);
    *number += (uint32_t)by;
    lock_give(&quiet->lock);
    atomic_fetch_add(&quiet->news, 1);
    futex_wake(&quiet->news, INT32_MAX);
}

// Unless there are calls of the kind that `in_its_way` counts.
static bool copy_begin(struct quiet *quiet, const uint32_t *in_its_way)
{
    lock_take(&quiet->lock);
    bool may = *in_its_way == 0;
    quiet->copies += may;
    lock_give(&quiet->lock);
    return may;
}

bool quiet_copy_begin(const struct gpu_context *gpu)
{
    return copy_begin(quiet_of(gpu), &quiet_of(gpu)->calls);
}

bool quiet_copy_urgent(const struct gpu_context *gpu)
{
    return copy_begin(quiet_of(gpu), &quiet_of(gpu)->inside);
}

void quiet_copy_enter(const struct gpu_context *gpu)
{
    change(quiet_of(gpu), &quiet_of(gpu)->copies, 1);
}

void quiet_await(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    for (;;) {
        uint32_t seen = atomic_load(&quiet->news);
        lock_take(&quiet->lock);
        bool over = quiet->inside == 0;
        lock_give(&quiet->lock);
        if (over)
            return;
        futex_wait(&quiet->news, seen, RNL_FOREVER);
    }
}

void quiet_copy_end(const struct gpu_context *gpu)
{
    change(quiet_of(gpu), &quiet_of(gpu)->copies, -1);
}

bool quiet_copies(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    lock_take(&quiet->lock);
    bool copies = quiet->copies > 0;
    lock_give(&quiet->lock);
    return copies;
}

void quiet_enter(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    change(quiet, &quiet->calls, 1);
    for (;;) {
        uint32_t seen = atomic_load(&quiet->news);
        lock_take(&quiet->lock);
        bool may = quiet->copies == 0 || driver_use_ended();
        quiet->inside += may;
        lock_give(&quiet->lock);
        if (may)
            return;
        futex_wait(&quiet->news, seen, RNL_FOREVER);
    }
}

void quiet_leave(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    lock_take(&quiet->lock);
    quiet->inside--;
    lock_give(&quiet->lock);
    change(quiet, &quiet->calls, -1);
}
