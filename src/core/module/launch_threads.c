// Grid and block of a launch that counts threads.
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/tuning.h"

static rnl_status refuse_shape(const char *what)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "threads",
                   "the launch has 'threads' and %s: a launch that counts "
                   "threads runs along x, and its grid is computed",
                   what);
}

// Whole warps, where the function can have a warp.
static uint32_t choose_block(const struct function *function)
{
    uint32_t most = function->most_threads;
    uint32_t warp = function->object.context->device->info.warp_size;
    if (most >= BLOCK_THREADS)
        return BLOCK_THREADS;
    if (warp > 0 && most >= warp)
        return most - most % warp;
    return most > 0 ? most : 1;
}

// Blocks along x come in clusters of so many.
static uint64_t cluster_of(const struct function *function,
                           const rnl_launch *launch)
{
    uint32_t asked = launch->cluster.x;
    uint32_t x = asked ? asked : function->info.cluster.x;
    return x ? x : 1;
}

rnl_status launch_take_threads(const rnl_launch *launch,
                               struct op_kernel *kernel)
{
    const struct function *function = kernel->function;
    const rnl_dim3 *grid = &launch->grid, *block = &launch->block;
    if (grid->x | grid->y | grid->z)
        return refuse_shape("a grid");
    if (block->y > 1 || block->z > 1)
        return refuse_shape("a block of several axes");
    kernel->block.x = block->x ? block->x : choose_block(function);
    uint64_t size = kernel->block.x;
    uint64_t cluster = cluster_of(function, launch);
    uint64_t blocks = launch->threads / size + (launch->threads % size != 0);
    if (blocks <= function->most_grid.x)
        blocks = (blocks + cluster - 1) / cluster * cluster;
    if (blocks > function->most_grid.x)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "threads",
                       "%llu threads are %llu blocks of %u, beyond the "
                       "device's limit of %u blocks along x: launch fewer, "
                       "and have each do several elements",
                       (unsigned long long)launch->threads,
                       (unsigned long long)blocks, kernel->block.x,
                       function->most_grid.x);
    kernel->grid = (rnl_dim3){(uint32_t)blocks, 1, 1};
    return RNL_OK;
}
