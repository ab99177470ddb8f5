// Warp operations: the lanes named in a mask meet, and the last to come
// computes the results of all.
#include "backends/cpu/kernel/block_threads.h"

#include <string.h>

// The lanes that the launch gave the warp; the last of a block may be partial.
static uint32_t lanes_of(const struct runner *runner, uint32_t warp)
{
    uint32_t count = runner->block.thread_count - warp * WARP_SIZE;
    return count >= WARP_SIZE ? UINT32_MAX : (UINT32_C(1) << count) - 1;
}

// --- Results ---------------------------------------------------------------

// The lane that a shuffle reads from, or the lane itself.
static uint32_t source_lane(const rnl_cpu_warp_op *op, uint32_t lane)
{
    uint32_t width = op->width - 1 < WARP_SIZE ? op->width : WARP_SIZE;
    uint32_t base = lane & ~(width - 1);
    uint32_t source = lane;
    switch (op->kind) {
    case RNL_CPU_WARP_SHUFFLE:
        return base | (op->argument & (width - 1));
    case RNL_CPU_WARP_SHUFFLE_UP:
        return op->argument <= lane - base ? lane - op->argument : lane;
    case RNL_CPU_WARP_SHUFFLE_DOWN:
        return op->argument < base + width - lane ? lane + op->argument : lane;
    case RNL_CPU_WARP_SHUFFLE_XOR:
        source = lane ^ op->argument;
        return source < base + width ? source : lane;
    default:
        return lane;
    }
}

static uint32_t lanes_with(const struct warp_group *group, uint64_t value)
{
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (group->arrived >> lane & 1 && group->lanes[lane]->op.value == value)
            mask |= UINT32_C(1) << lane;
    return mask;
}

static uint32_t combine(uint32_t kind, uint32_t a, uint32_t b)
{
    switch (kind) {
    case RNL_CPU_WARP_ADD:
        return a + b;
    case RNL_CPU_WARP_MIN:
        return a < b ? a : b;
    case RNL_CPU_WARP_MAX:
        return a > b ? a : b;
    case RNL_CPU_WARP_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    case RNL_CPU_WARP_MAX_SIGNED:
        return (int32_t)a > (int32_t)b ? a : b;
    case RNL_CPU_WARP_AND:
        return a & b;
    case RNL_CPU_WARP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint32_t reduce(const struct warp_group *group)
{
    uint32_t result = 0;
    bool first = true;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++) {
        if (!(group->arrived >> lane & 1))
            continue;
        uint32_t value = (uint32_t)group->lanes[lane]->op.value;
        result = first ? value : combine(group->kind, result, value);
        first = false;
    }
    return result;
}

// The result of operations that give every lane the same.
static uint64_t common_result(const struct warp_group *group)
{
    uint32_t arrived = group->arrived;
    switch (group->kind) {
    case RNL_CPU_WARP_SYNC:
        return 0;
    case RNL_CPU_WARP_ACTIVE:
        return arrived;
    case RNL_CPU_WARP_BALLOT:
        return lanes_with(group, 1);
    case RNL_CPU_WARP_ANY:
        return lanes_with(group, 1) != 0;
    case RNL_CPU_WARP_ALL:
        return lanes_with(group, 1) == arrived;
    case RNL_CPU_WARP_MATCH_ALL: {
        uint64_t value = group->lanes[__builtin_ctz(arrived)]->op.value;
        return lanes_with(group, value) == arrived ? arrived : 0;
    }
    default:
        return reduce(group);
    }
}

static uint64_t lane_result(const struct warp_group *group, uint32_t lane)
{
    const rnl_cpu_warp_op *op = &group->lanes[lane]->op;
    if (group->kind == RNL_CPU_WARP_MATCH_ANY)
        return lanes_with(group, op->value);
    // Reading from a lane that is not there is undefined; this gives the own.
    uint32_t source = source_lane(op, lane);
    return group->arrived >> source & 1 ? group->lanes[source]->op.value
                                        : op->value;
}

static bool is_per_lane(uint32_t kind)
{
    return (kind >= RNL_CPU_WARP_SHUFFLE && kind <= RNL_CPU_WARP_SHUFFLE_XOR) ||
           kind == RNL_CPU_WARP_MATCH_ANY;
}

// --- Groups ----------------------------------------------------------------

// Gives every lane its result and resumes the lanes. The group ends.
static void complete(struct runner *runner, struct warp *warp,
                     struct warp_group *group)
{
    struct warp_group **link = &warp->groups;
    while (*link != group)
        link = &(*link)->next;
    *link = group->next;
    bool per_lane = is_per_lane(group->kind);
    uint64_t common = per_lane ? 0 : common_result(group);
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (group->arrived >> lane & 1)
            group->lanes[lane]->result =
                per_lane ? lane_result(group, lane) : common;
    for (uint32_t lane = 0; lane < WARP_SIZE; lane++)
        if (group->arrived >> lane & 1)
            waiter_queue_add(&runner->ready, group->lanes[lane]);
}

static bool is_same(const struct warp_group *group, const rnl_cpu_warp_op *op)
{
    const struct block_waiter *first =
        group->lanes[__builtin_ctz(group->arrived)];
    return group->kind == op->kind && group->mask == op->mask &&
           (op->kind != RNL_CPU_WARP_ACTIVE || first->op.value == op->value);
}

static struct warp_group *find_group(const struct warp *warp,
                                     const rnl_cpu_warp_op *op, uint32_t lane)
{
    struct warp_group *group = warp->groups;
    while (group && (!is_same(group, op) || group->arrived >> lane & 1))
        group = group->next;
    return group;
}

uint64_t warp_operate(rnl_cpu_block *block, uint32_t thread,
                      const rnl_cpu_warp_op *op)
{
    struct runner *runner = runner_check(block, thread);
    struct warp *warp = &runner->warps[thread / WARP_SIZE];
    uint32_t lane = thread % WARP_SIZE;
    struct block_waiter self = {.thread = thread, .op = *op};
    if (op->kind == RNL_CPU_WARP_ACTIVE)
        self.op.mask = UINT32_MAX;
    else if (!(op->mask >> lane & 1))
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, thread,
                    "%s was called with mask 0x%08x, which lacks the calling "
                    "lane %u", warp_kind_name(op->kind), op->mask, lane);
    uint32_t wanted = self.op.mask & lanes_of(runner, thread / WARP_SIZE);
    struct warp_group own, *group = find_group(warp, &self.op, lane);
    if (!group) {
        own.kind = op->kind;
        own.mask = self.op.mask;
        own.arrived = 0;
        own.next = warp->groups;
        warp->groups = group = &own;
    }
    group->lanes[lane] = &self;
    group->arrived |= UINT32_C(1) << lane;
    if (group->arrived == wanted)
        complete(runner, warp, group);
    runner_wait(runner, &self);
    return self.result;
}

static bool is_ended(const struct runner *runner, uint32_t warp,
                     uint32_t lanes)
{
    return (lanes & runner->warps[warp].suspended) == 0;
}

static uint32_t warp_count(const struct runner *runner)
{
    return (runner->block.thread_count + WARP_SIZE - 1) / WARP_SIZE;
}

bool warp_release_ended(struct runner *runner)
{
    bool released = false;
    for (uint32_t w = 0; w < warp_count(runner); w++) {
        struct warp_group *next, *group = runner->warps[w].groups;
        for (; group; group = next) {
            next = group->next;
            if (group->kind != RNL_CPU_WARP_ACTIVE &&
                is_ended(runner, w, group->mask & ~group->arrived)) {
                complete(runner, &runner->warps[w], group);
                released = true;
            }
        }
    }
    return released;
}

bool warp_release_active(struct runner *runner)
{
    bool released = false;
    for (uint32_t w = 0; w < warp_count(runner); w++) {
        struct warp_group *next, *group = runner->warps[w].groups;
        for (; group; group = next) {
            next = group->next;
            if (group->kind == RNL_CPU_WARP_ACTIVE) {
                complete(runner, &runner->warps[w], group);
                released = true;
            }
        }
    }
    return released;
}

struct block_waiter *warp_any_waiter(const struct runner *runner)
{
    for (uint32_t w = 0; w < warp_count(runner); w++) {
        const struct warp_group *group = runner->warps[w].groups;
        if (group)
            return group->lanes[__builtin_ctz(group->arrived)];
    }
    return NULL;
}

const char *warp_kind_name(uint32_t kind)
{
    static const char *const names[] = {
        "__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
        "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
        "__match_any_sync", "__match_all_sync", "__reduce_add_sync",
        "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync",
        "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",
        "__reduce_xor_sync", "__activemask"};
    return kind < sizeof names / sizeof *names ? names[kind]
                                               : "a warp operation";
}
