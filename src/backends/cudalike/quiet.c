// Loading code, and giving page-locked memory back at once, wait for the whole
// device, and hold up what other threads ask of the driver meanwhile. A copy
// of ordinary memory that a stream waits for must not be among those: so such
// a call begins when no copy is under way, and none begins before it is over.
// What the device waits for already is under way from then on, though nobody
// copies yet. Nor must the service be, which lets streams on: it looks no
// further meanwhile than at what the host has to do.
#include "backends/cudalike/service.h"

#include "base/clock.h"

#define DEVICES 64

struct quiet {
    struct lock lock;  // guards the numbers
    uint32_t copies, calls;
    uint32_t looks;    // of the service
    uint32_t near;     // calls that only wait for these, or have begun
    uint32_t inside;   // calls that have begun
    _Atomic uint32_t news;
};

static struct quiet quiets[DEVICES] = {
    [0 ... DEVICES - 1] = {.lock = LOCK_RANKED(RANK_LEAF)},
};

static struct quiet *quiet_of(const struct gpu_context *gpu)
{
    return &quiets[(unsigned)gpu->device % DEVICES];
}

static void change(struct quiet *quiet, uint32_t *number, int by)
{
    lock_take(&quiet->lock);
    bool awaited = quiet->calls > 0;
    ASSERT(by > 0 || *number >= (uint32_t)-by);
    *number += (uint32_t)by;
    lock_give(&quiet->lock);
    if (!awaited)
        return;
    atomic_fetch_add(&quiet->news, 1);
    futex_wake(&quiet->news, INT32_MAX);
}

// Unless there are calls of the kind that `in_its_way` counts.
static bool begin(struct quiet *quiet, uint32_t *number,
                  const uint32_t *in_its_way)
{
    lock_take(&quiet->lock);
    bool may = *in_its_way == 0;
    *number += may;
    lock_give(&quiet->lock);
    return may;
}

bool quiet_copy_begin(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    return begin(quiet, &quiet->copies, &quiet->calls);
}

bool quiet_copy_urgent(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    return begin(quiet, &quiet->copies, &quiet->inside);
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

struct quiet *quiet_look_begin(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    return begin(quiet, &quiet->looks, &quiet->near) ? quiet : NULL;
}

void quiet_look_end(struct quiet *quiet)
{
    change(quiet, &quiet->looks, -1);
}

bool quiet_copies(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    lock_take(&quiet->lock);
    bool copies = quiet->copies > 0;
    lock_give(&quiet->lock);
    return copies;
}

// `*near`: whether it is counted there.
static bool has_begun(struct quiet *quiet, bool waits_for_copies, bool *near)
{
    lock_take(&quiet->lock);
    bool ended = driver_use_ended();
    bool is_near = !waits_for_copies || quiet->copies == 0 || ended;
    bool begins = is_near && (quiet->looks == 0 || ended);
    quiet->near += is_near - *near;
    quiet->inside += begins;
    *near = is_near;
    lock_give(&quiet->lock);
    return begins;
}

static void enter(struct quiet *quiet, bool waits_for_copies)
{
    bool near = false;
    change(quiet, &quiet->calls, 1);
    for (;;) {
        uint32_t seen = atomic_load(&quiet->news);
        if (has_begun(quiet, waits_for_copies, &near))
            return;
        futex_wait(&quiet->news, seen, RNL_FOREVER);
    }
}

void quiet_enter(const struct gpu_context *gpu)
{
    enter(quiet_of(gpu), true);
}

void quiet_enter_now(const struct gpu_context *gpu)
{
    enter(quiet_of(gpu), false);
}

void quiet_leave(const struct gpu_context *gpu)
{
    struct quiet *quiet = quiet_of(gpu);
    lock_take(&quiet->lock);
    quiet->inside--;
    quiet->near--;
    lock_give(&quiet->lock);
    change(quiet, &quiet->calls, -1);
}
