// Cooperative launches and clusters: all blocks of a grid, or of a cluster, are
// alive and take turns on an OS thread. A block runs until all its threads wait
// for further blocks: at the barrier of the grid or of the cluster, or for
// values in memory.
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/block_threads.h"
#include "backends/cpu/kernel/guarded.h"

#include <string.h>

// --- Queues of blocks ------------------------------------------------------

static void clear(struct resident_queue *queue)
{
    *queue = (struct resident_queue){.end = &queue->first};
}

static void add(struct resident_queue *queue, struct resident *resident)
{
    resident->next = NULL;
    *queue->end = resident;
    queue->end = &resident->next;
}

static struct resident *take(struct resident_queue *queue)
{
    struct resident *resident = queue->first;
    queue->first = resident->next;
    if (!queue->first)
        queue->end = &queue->first;
    return resident;
}

// --- Taking turns ----------------------------------------------------------

static size_t warps_size(const struct runner *runner)
{
    uint32_t count = (runner->block.thread_count + WARP_SIZE - 1) / WARP_SIZE;
    return count * sizeof *runner->warps;
}

static void use_memory(struct runner *runner)
{
    const struct grid *grid = runner->grid;
    size_t number = (size_t)(grid->running - grid->residents);
    runner_use_memory(runner, grid->memory + number * grid->stride);
}

static void keep_scratch(struct runner *runner)
{
    struct resident *resident = runner->grid->running;
    resident->scratch = runner->scratch;
    resident->scratch_size = runner->scratch_size;
}

static void use_scratch(struct runner *runner, const struct resident *resident)
{
    runner->scratch = resident->scratch;
    runner->scratch_size = resident->scratch_size;
}

// No thread of the block is ready: those that spin will look again.
static struct resident *suspend(struct runner *runner)
{
    struct resident *resident = runner->grid->running;
    resident->block = runner->block;
    keep_scratch(runner);
    memcpy(resident->warps, runner->warps, warps_size(runner));
    waiter_queue_clear(&resident->ready);
    waiter_queue_clear(&resident->barrier);
    waiter_queue_clear(&resident->at_grid);
    waiter_queue_clear(&resident->at_cluster);
    waiter_queue_move(&runner->yielded, &resident->ready);
    waiter_queue_move(&runner->barrier, &resident->barrier);
    waiter_queue_move(&runner->at_grid, &resident->at_grid);
    waiter_queue_move(&runner->at_cluster, &resident->at_cluster);
    return resident;
}

static void resume(struct runner *runner, struct resident *resident)
{
    runner->grid->running = resident;
    runner->block = resident->block;
    use_scratch(runner, resident);
    memcpy(runner->warps, resident->warps, warps_size(runner));
    waiter_queue_move(&resident->ready, &runner->ready);
    waiter_queue_move(&resident->barrier, &runner->barrier);
    waiter_queue_move(&resident->at_grid, &runner->at_grid);
    waiter_queue_move(&resident->at_cluster, &runner->at_cluster);
    use_memory(runner);
}

// Gives the block that begins its place in the grid: `rank` in a cluster.
static void place(const struct grid *grid, rnl_cpu_block *block,
                  uint64_t cluster, uint64_t rank)
{
    const uint32_t size[] = {grid->cluster.x, grid->cluster.y, grid->cluster.z};
    for (int axis = 0; axis < 3; axis++) {
        uint64_t clusters = block->grid[axis] / size[axis];
        block->index[axis] = (uint32_t)(cluster % clusters * size[axis] +
                                        rank % size[axis]);
        cluster /= clusters;
        rank /= size[axis];
    }
}

// Resident number `number`. The runner's fields are those of an earlier block.
static void begin(struct runner *runner, uint64_t number)
{
    struct grid *grid = runner->grid;
    rnl_cpu_block *block = &runner->block;
    uint64_t rank = number % grid->cluster_size;
    grid->running = &grid->residents[number];
    place(grid, block, grid->first + number / grid->cluster_size, rank);
    if (grid->cluster_size > 1) {
        block->cluster_memory =
            (uintptr_t)grid->memory + (number - rank) * grid->stride;
        block->cluster_stride = grid->stride;
    }
    block->next_thread = 0;
    memset(runner->warps, 0, warps_size(runner));
    use_scratch(runner, grid->running);
    use_memory(runner);
}

static void begin_cluster(struct runner *runner)
{
    struct grid *grid = runner->grid;
    grid->begun = 1;
    grid->residents->arrived = grid->residents->ended = 0;
    for (uint64_t i = 0; i < grid->count; i++)
        waiter_queue_clear(
            &grid->residents[i].at_cluster);  // a launch may have failed
    begin(runner, 0);
}

// All blocks that have not ended are there.
static void release(struct grid *grid)
{
    struct resident *resident = grid->arrived.first;
    for (; resident; resident = resident->next)
        waiter_queue_move(&resident->at_grid, &resident->ready);
    while (grid->arrived.first)
        add(&grid->runnable, take(&grid->arrived));
}

// The first block of the cluster that the running one is of.
static struct resident *leader(const struct grid *grid)
{
    uint64_t number = (uint64_t)(grid->running - grid->residents);
    return &grid->residents[number - number % grid->cluster_size];
}

// Releases a cluster once each block has ended or reached the barrier.
static void release_cluster(struct grid *grid, struct resident *first)
{
    if (first->arrived + first->ended < grid->cluster_size)
        return;
    grid->meeting -= first->arrived;
    first->arrived = 0;
    for (uint64_t i = 0; i < grid->cluster_size; i++) {
        if (!first[i].at_cluster.count)
            continue;
        waiter_queue_move(&first[i].at_cluster, &first[i].ready);
        add(&grid->runnable, &first[i]);
    }
}

// Nothing can run, and some wait for blocks of their cluster, which wait at the
// grid's barrier.
static _Noreturn void fail_apart(struct runner *runner)
{
    struct resident *resident = runner->grid->residents;
    while (!resident->at_cluster.count)
        resident++;
    uint32_t thread = resident->at_cluster.first->thread;
    runner->block = resident->block;
    runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, thread,
                "waits for ever at cluster_group::sync(), while other blocks "
                "of its cluster wait at grid_group::sync()");
}

static bool next_block(struct runner *runner)
{
    struct grid *grid = runner->grid;
    if (grid->begun < grid->count) {
        begin(runner, grid->begun++);
        return true;
    }
    if (!grid->runnable.first && grid->meeting > 0)
        fail_apart(runner);
    if (!grid->runnable.first)
        release(grid);
    if (grid->runnable.first) {
        resume(runner, take(&grid->runnable));
    } else if (grid->clusters_left > 0) {
        grid->clusters_left--;
        grid->first++;
        begin_cluster(runner);
    } else {
        return false;
    }
    return true;
}

bool grid_end(struct runner *runner)
{
    struct grid *grid = runner->grid;
    struct resident *first = leader(grid);
    keep_scratch(runner);
    first->ended++;
    release_cluster(grid, first);
    return next_block(runner);
}

void grid_arrive(struct runner *runner)
{
    add(&runner->grid->arrived, suspend(runner));
    next_block(runner);
}

void grid_meet(struct runner *runner)
{
    struct grid *grid = runner->grid;
    struct resident *first = leader(grid);
    suspend(runner);
    first->arrived++;
    grid->meeting++;
    release_cluster(grid, first);
    next_block(runner);
}

void grid_pass(struct runner *runner)
{
    add(&runner->grid->runnable, suspend(runner));
    next_block(runner);
}

void grid_sync(rnl_cpu_block *block, uint32_t thread)
{
    struct runner *runner = runner_check(block, thread);
    struct block_waiter self = {.thread = thread};
    if (!runner->grid || !runner->run->cooperative)
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, thread,
                    "grid_group::sync() in a launch that is not cooperative: "
                    "it needs the attribute RNL_LAUNCH_COOPERATIVE");
    waiter_queue_add(&runner->at_grid, &self);
    runner_wait(runner, &self);
}

void grid_sync_cluster(rnl_cpu_block *block, uint32_t thread)
{
    struct runner *runner = runner_check(block, thread);
    struct block_waiter self = {.thread = thread};
    if (!runner->grid || runner->grid->cluster_size == 1)
        return;
    waiter_queue_add(&runner->at_cluster, &self);
    runner_wait(runner, &self);
}

// --- Memory ----------------------------------------------------------------

// Computes the sizes for `count` resident blocks, and sets the cluster of the
// runner's block. False if the sizes overflow.
static bool measure(struct grid *grid, struct runner *runner,
                    uint64_t count)
{
    const struct kernel_run *run = runner->run;
    uint64_t size = block_memory_size(run->object, run->shared_size);
    size_t most = SIZE_MAX / 2;
    uint64_t unit = 4096;  // as well aligned as what mmap gives
    *grid = (struct grid){.count = count, .begun = 1,
                          .cluster_size = block_cluster_size(run),
                          .cluster = {1, 1, 1},
                          .scratch = runner->scratch,
                          .scratch_size = runner->scratch_size};
    if (grid->cluster_size > 1) {
        grid->cluster = run->cluster;
        memcpy(runner->block.cluster, &run->cluster, sizeof run->cluster);
    }
    clear(&grid->runnable);
    clear(&grid->arrived);
    if (size > most || (size = (size / unit + 1) * unit) > most / count ||
        sizeof *grid->residents > most / count)
        return false;
    grid->stride = (size_t)size;
    grid->memory_size = grid->stride * (size_t)count;
    return true;
}

bool grid_open(struct grid *grid, struct runner *runner, uint64_t count)
{
    if (!measure(grid, runner, count))
        return false;
    // Most of it may never be touched.
    grid->memory = guarded_map(grid->memory_size, true);
    if (!grid->memory)
        return false;
    grid->residents = guarded_map(count * sizeof *grid->residents, true);
    if (!grid->residents) {
        guarded_unmap(grid->memory, grid->memory_size);
        return false;
    }
    runner->grid = grid;
    begin(runner, 0);
    return true;
}

// The memory is the runner's own: small launches need not ask the system.
bool grid_open_clusters(struct grid *grid, struct runner *runner,
                        uint64_t first, uint64_t count)
{
    uint64_t size = block_cluster_size(runner->run);
    size_t room = CLUSTER_BLOCKS_MOST * sizeof *runner->cluster_blocks;
    if (!runner->cluster_blocks &&
        !(runner->cluster_blocks = guarded_map(room, true)))
        return false;
    if (!measure(grid, runner, size) ||
        !runner_reserve_memory(runner, grid->memory_size))
        return false;
    grid->memory = runner->memory;
    grid->memory_size = runner->memory_size;
    grid->residents = runner->cluster_blocks;
    grid->first = first;
    grid->clusters_left = count - 1;
    runner->grid = grid;
    begin_cluster(runner);
    return true;
}

void grid_free_clusters(struct runner *runner)
{
    struct resident *blocks = runner->cluster_blocks;
    for (int i = 0; blocks && i < CLUSTER_BLOCKS_MOST; i++)
        if (blocks[i].scratch)
            guarded_unmap(blocks[i].scratch, blocks[i].scratch_size);
    if (blocks)
        guarded_unmap(blocks, CLUSTER_BLOCKS_MOST * sizeof *blocks);
    runner->cluster_blocks = NULL;
}

size_t grid_clusters_held(const struct runner *runner)
{
    const struct resident *blocks = runner->cluster_blocks;
    size_t held = blocks ? CLUSTER_BLOCKS_MOST * sizeof *blocks : 0;
    for (int i = 0; blocks && i < CLUSTER_BLOCKS_MOST; i++)
        held += blocks[i].scratch_size;
    return held;
}

// Kernels of tier F, for which all blocks of a grid are alive, have no scratch
// memory; that of a cluster's blocks is kept.
void grid_close(struct grid *grid, struct runner *runner)
{
    keep_scratch(runner);
    runner->scratch = grid->scratch;
    runner->scratch_size = grid->scratch_size;
    if (grid->residents != runner->cluster_blocks) {
        guarded_unmap(grid->memory, grid->memory_size);
        guarded_unmap(grid->residents, grid->count * sizeof *grid->residents);
    }
    runner->grid = NULL;
    runner_use_memory(runner, runner->memory);
}
