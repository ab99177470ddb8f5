// Cooperative launches: all blocks of a grid are alive and take turns on one OS
// thread. A block goes on until its threads all wait for other blocks: at the
// barrier of the grid, or for values in memory.
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

// No thread of the block is ready: those that spin will look again.
static struct resident *suspend(struct worker *worker)
{
    struct resident *resident = worker->grid->running;
    resident->block = worker->block;
    memcpy(resident->warps, worker->warps, warps_size(worker));
    queue_clear(&resident->ready);
    queue_clear(&resident->barrier);
    queue_clear(&resident->at_grid);
    queue_move(&worker->yielded, &resident->ready);
    queue_move(&worker->barrier, &resident->barrier);
    queue_move(&worker->at_grid, &resident->at_grid);
    return resident;
}

static void resume(struct worker *worker, struct resident *resident)
{
    worker->grid->running = resident;
    worker->block = resident->block;
    memcpy(worker->warps, resident->warps, warps_size(worker));
    queue_move(&resident->ready, &worker->ready);
    queue_move(&resident->barrier, &worker->barrier);
    queue_move(&resident->at_grid, &worker->at_grid);
    use_memory(worker);
}

// What the worker has is of a block that began before.
static void begin(struct worker *worker, uint64_t number)
{
    struct grid *grid = worker->grid;
    rnl_cpu_block *block = &worker->block;
    uint64_t row = number / block->grid[0];
    grid->running = &grid->residents[number];
    block->index[0] = (uint32_t)(number % block->grid[0]);
    block->index[1] = (uint32_t)(row % block->grid[1]);
    block->index[2] = (uint32_t)(row / block->grid[1]);
    block->next_thread = 0;
    memset(worker->warps, 0, warps_size(worker));
    use_memory(worker);
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

bool grid_next(struct worker *worker)
{
    struct grid *grid = worker->grid;
    if (grid->begun < grid->count) {
        begin(worker, grid->begun++);
        return true;
    }
    if (!grid->runnable.first)
        release(grid);
    if (!grid->runnable.first)
        return false;
    resume(worker, take(&grid->runnable));
    return true;
}

void grid_arrive(struct worker *worker)
{
    add(&worker->grid->arrived, suspend(worker));
    grid_next(worker);
}

void grid_pass(struct worker *worker)
{
    add(&worker->grid->runnable, suspend(worker));
    grid_next(worker);
}

void grid_sync(rnl_cpu_block *block, uint32_t thread)
{
    struct worker *worker = worker_check(block, thread);
    struct waiter self = {.thread = thread};
    if (!worker->grid)
        worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, thread,
                    "grid_group::sync() in a launch that is not cooperative: "
                    "it needs the attribute RNL_LAUNCH_COOPERATIVE");
    queue_add(&worker->at_grid, &self);
    worker_wait(worker, &self);
}

// --- Memory ----------------------------------------------------------------

bool grid_open(struct grid *grid, struct worker *worker, uint64_t count)
{
    const struct kernel_run *run = worker->run;
    uint64_t size = block_memory_size(run->object, run->shared_size);
    size_t most = SIZE_MAX / 2;
    uint64_t unit = 4096;  // as well aligned as what mmap gives
    *grid = (struct grid){.count = count, .begun = 1};
    if (size > most || (size = (size / unit + 1) * unit) > most / count ||
        sizeof *grid->residents > most / count)
        return false;
    grid->stride = (size_t)size;
    grid->memory_size = grid->stride * (size_t)count;
    // Most of it may never be touched.
    grid->memory = guarded_map(grid->memory_size, true);
    if (!grid->memory)
        return false;
    grid->residents = guarded_map(count * sizeof *grid->residents, true);
    if (!grid->residents) {
        guarded_unmap(grid->memory, grid->memory_size);
        return false;
    }
    clear(&grid->runnable);
    clear(&grid->arrived);
    worker->grid = grid;
    begin(worker, 0);
    return true;
}

void grid_close(struct grid *grid, struct worker *worker)
{
    guarded_unmap(grid->memory, grid->memory_size);
    guarded_unmap(grid->residents, grid->count * sizeof *grid->residents);
    worker->grid = NULL;
    worker_use_memory(worker, worker->memory);
}
