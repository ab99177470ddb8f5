// Cooperative launches and clusters: all blocks of a grid, or of a cluster, are
// alive and take turns on one OS thread. A block goes on until its threads all
// wait for other blocks: at the barrier of the grid or of the cluster, or for
// values in memory.
#include "worker.h"

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

static size_t warps_size(const struct worker *worker)
{
    uint32_t count = (worker->block.thread_count + WARP_SIZE - 1) / WARP_SIZE;
    return count * sizeof *worker->warps;
}

static void use_memory(struct worker *worker)
{
    const struct grid *grid = worker->grid;
    size_t number = (size_t)(grid->running - grid->residents);
    worker_use_memory(worker, grid->memory + number * grid->stride);
}

static void keep_scratch(struct worker *worker)
{
    struct resident *resident = worker->grid->running;
    resident->scratch = worker->scratch;
    resident->scratch_size = worker->scratch_size;
}

static void use_scratch(struct worker *worker, const struct resident *resident)
{
    worker->scratch = resident->scratch;
    worker->scratch_size = resident->scratch_size;
}

// No thread of the block is ready: those that spin will look again.
static struct resident *suspend(struct worker *worker)
{
    struct resident *resident = worker->grid->running;
    resident->block = worker->block;
    keep_scratch(worker);
    memcpy(resident->warps, worker->warps, warps_size(worker));
    queue_clear(&resident->ready);
    queue_clear(&resident->barrier);
    queue_clear(&resident->at_grid);
    queue_clear(&resident->at_cluster);
    queue_move(&worker->yielded, &resident->ready);
    queue_move(&worker->barrier, &resident->barrier);
    queue_move(&worker->at_grid, &resident->at_grid);
    queue_move(&worker->at_cluster, &resident->at_cluster);
    return resident;
}

static void resume(struct worker *worker, struct resident *resident)
{
    worker->grid->running = resident;
    worker->block = resident->block;
    use_scratch(worker, resident);
    memcpy(worker->warps, resident->warps, warps_size(worker));
    queue_move(&resident->ready, &worker->ready);
    queue_move(&resident->barrier, &worker->barrier);
    queue_move(&resident->at_grid, &worker->at_grid);
    queue_move(&resident->at_cluster, &worker->at_cluster);
    use_memory(worker);
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

// Resident number `number`. The worker's fields are those of an earlier block.
static void begin(struct worker *worker, uint64_t number)
{
    struct grid *grid = worker->grid;
    rnl_cpu_block *block = &worker->block;
    uint64_t rank = number % grid->cluster_size;
    grid->running = &grid->residents[number];
    place(grid, block, grid->first + number / grid->cluster_size, rank);
    if (grid->cluster_size > 1) {
        block->cluster_memory =
            (uintptr_t)grid->memory + (number - rank) * grid->stride;
        block->cluster_stride = grid->stride;
    }
    block->next_thread = 0;
    memset(worker->warps, 0, warps_size(worker));
    use_scratch(worker, grid->running);
    use_memory(worker);
}

static void begin_cluster(struct worker *worker)
{
    struct grid *grid = worker->grid;
    grid->begun = 1;
    grid->residents->arrived = grid->residents->ended = 0;
    for (uint64_t i = 0; i < grid->count; i++)
        queue_clear(&grid->residents[i].at_cluster);  // a launch may have failed
    begin(worker, 0);
}

// All blocks that have not ended are there.
static void release(struct grid *grid)
{
    struct resident *resident = grid->arrived.first;
    for (; resident; resident = resident->next)
        queue_move(&resident->at_grid, &resident->ready);
    while (grid->arrived.first)
        add(&grid->runnable, take(&grid->arrived));
}

// The first block of the cluster that the running one is of.
static struct resident *leader(const struct grid *grid)
{
    uint64_t number = (uint64_t)(grid->running - grid->residents);
    return &grid->residents[number - number % grid->cluster_size];
}

// Releases a cluster if its blocks have all ended or come to its barrier.
static void release_cluster(struct grid *grid, struct resident *first)
{
    if (first->arrived + first->ended < grid->cluster_size)
        return;
    grid->meeting -= first->arrived;
    first->arrived = 0;
    for (uint64_t i = 0; i < grid->cluster_size; i++) {
        if (!first[i].at_cluster.count)
            continue;
        queue_move(&first[i].at_cluster, &first[i].ready);
        add(&grid->runnable, &first[i]);
    }
}

// Nothing can run, and some wait for blocks of their cluster, which wait at the
// grid's barrier.
static _Noreturn void fail_apart(struct worker *worker)
{
    struct resident *resident = worker->grid->residents;
    while (!resident->at_cluster.count)
        resident++;
    uint32_t thread = resident->at_cluster.first->thread;
    worker->block = resident->block;
    worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, thread,
                "waits for ever at cluster_group::sync(), while other blocks "
                "of its cluster wait at grid_group::sync()");
}

static bool next_block(struct worker *worker)
{
    struct grid *grid = worker->grid;
    if (grid->begun < grid->count) {
        begin(worker, grid->begun++);
        return true;
    }
    if (!grid->runnable.first && grid->meeting > 0)
        fail_apart(worker);
    if (!grid->runnable.first)
        release(grid);
    if (grid->runnable.first) {
        resume(worker, take(&grid->runnable));
    } else if (grid->clusters_left > 0) {
        grid->clusters_left--;
        grid->first++;
        begin_cluster(worker);
    } else {
        return false;
    }
    return true;
}

bool grid_end(struct worker *worker)
{
    struct grid *grid = worker->grid;
    struct resident *first = leader(grid);
    keep_scratch(worker);
    first->ended++;
    release_cluster(grid, first);
    return next_block(worker);
}

void grid_arrive(struct worker *worker)
{
    add(&worker->grid->arrived, suspend(worker));
    next_block(worker);
}

void grid_meet(struct worker *worker)
{
    struct grid *grid = worker->grid;
    struct resident *first = leader(grid);
    suspend(worker);
    first->arrived++;
    grid->meeting++;
    release_cluster(grid, first);
    next_block(worker);
}

void grid_pass(struct worker *worker)
{
    add(&worker->grid->runnable, suspend(worker));
    next_block(worker);
}

void grid_sync(rnl_cpu_block *block, uint32_t thread)
{
    struct worker *worker = worker_check(block, thread);
    struct waiter self = {.thread = thread};
    if (!worker->grid || !worker->run->cooperative)
        worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, thread,
                    "grid_group::sync() in a launch that is not cooperative: "
                    "it needs the attribute RNL_LAUNCH_COOPERATIVE");
    queue_add(&worker->at_grid, &self);
    worker_wait(worker, &self);
}

void grid_sync_cluster(rnl_cpu_block *block, uint32_t thread)
{
    struct worker *worker = worker_check(block, thread);
    struct waiter self = {.thread = thread};
    if (!worker->grid || worker->grid->cluster_size == 1)
        return;
    queue_add(&worker->at_cluster, &self);
    worker_wait(worker, &self);
}

// --- Memory ----------------------------------------------------------------

// Computes the sizes for `count` resident blocks, and sets the cluster of the
// worker's block. False if the sizes overflow.
static bool measure(struct grid *grid, struct worker *worker,
                    uint64_t count)
{
    const struct kernel_run *run = worker->run;
    uint64_t size = block_memory_size(run->object, run->shared_size);
    size_t most = SIZE_MAX / 2;
    uint64_t unit = 4096;  // as well aligned as what mmap gives
    *grid = (struct grid){.count = count, .begun = 1,
                          .cluster_size = block_cluster_size(run),
                          .cluster = {1, 1, 1},
                          .scratch = worker->scratch,
                          .scratch_size = worker->scratch_size};
    if (grid->cluster_size > 1) {
        grid->cluster = run->cluster;
        memcpy(worker->block.cluster, &run->cluster, sizeof run->cluster);
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

bool grid_open(struct grid *grid, struct worker *worker, uint64_t count)
{
    if (!measure(grid, worker, count))
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
    worker->grid = grid;
    begin(worker, 0);
    return true;
}

// The memory is the worker's own: small launches need not ask the system.
bool grid_open_clusters(struct grid *grid, struct worker *worker,
                        uint64_t first, uint64_t count)
{
    uint64_t size = block_cluster_size(worker->run);
    size_t room = CLUSTER_BLOCKS_MOST * sizeof *worker->cluster_blocks;
    if (!worker->cluster_blocks &&
        !(worker->cluster_blocks = guarded_map(room, true)))
        return false;
    if (!measure(grid, worker, size) ||
        !worker_reserve_memory(worker, grid->memory_size))
        return false;
    grid->memory = worker->memory;
    grid->memory_size = worker->memory_size;
    grid->residents = worker->cluster_blocks;
    grid->first = first;
    grid->clusters_left = count - 1;
    worker->grid = grid;
    begin_cluster(worker);
    return true;
}

void grid_free_clusters(struct worker *worker)
{
    struct resident *blocks = worker->cluster_blocks;
    for (int i = 0; blocks && i < CLUSTER_BLOCKS_MOST; i++)
        if (blocks[i].scratch)
            guarded_unmap(blocks[i].scratch, blocks[i].scratch_size);
    if (blocks)
        guarded_unmap(blocks, CLUSTER_BLOCKS_MOST * sizeof *blocks);
    worker->cluster_blocks = NULL;
}

size_t grid_clusters_held(const struct worker *worker)
{
    const struct resident *blocks = worker->cluster_blocks;
    size_t held = blocks ? CLUSTER_BLOCKS_MOST * sizeof *blocks : 0;
    for (int i = 0; blocks && i < CLUSTER_BLOCKS_MOST; i++)
        held += blocks[i].scratch_size;
    return held;
}

// Kernels of tier F, for which all blocks of a grid are alive, have no scratch
// memory; that of a cluster's blocks is kept.
void grid_close(struct grid *grid, struct worker *worker)
{
    keep_scratch(worker);
    worker->scratch = grid->scratch;
    worker->scratch_size = grid->scratch_size;
    if (grid->residents != worker->cluster_blocks) {
        guarded_unmap(grid->memory, grid->memory_size);
        guarded_unmap(grid->residents, grid->count * sizeof *grid->residents);
    }
    worker->grid = NULL;
    worker_use_memory(worker, worker->memory);
}
