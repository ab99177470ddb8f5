// Kernels that wait for the whole grid: (int *out, const int *in, int n).
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ int number()
{
    return int(cg::this_grid().thread_rank());
}

// Each round adds what the neighbour had, all around the grid.
extern "C" __global__ void grid_rounds(int *out, const int *in, int n)
{
    cg::grid_group grid = cg::this_grid();
    const int all = int(grid.size()), i = number();
    int *from = out + all, *to = out;
    from[i] = in[i];
    for (int round = 0; round < n; round++) {
        grid.sync();
        to[i] = from[i] + from[(i + 1) % all];
        int *other = from;
        from = to;
        to = other;
    }
    if (n % 2 == 0) {
        int result = from[i];
        cg::sync(grid);
        out[i] = result;
    }
}

// Shared memory, private values and block barriers live on across the barrier.
extern "C" __global__ void grid_sum(int *out, const int *in, int)
{
    __shared__ int part[1024];
    extern __shared__ int kept[];
    cg::thread_block block = cg::this_thread_block();
    const int size = int(block.size()), i = int(block.thread_rank());
    double own = in[number()] * 0.5;
    part[i] = in[number()];
    kept[i] = part[i];
    for (int half = size / 2; half > 0; half /= 2) {
        block.sync();
        if (i < half)
            part[i] += part[i + half];
    }
    if (i == 0)
        out[cg::this_grid().block_rank()] = part[0];
    cg::this_grid().sync();
    if (number() == 0)
        for (int b = 1; b < int(cg::this_grid().num_blocks()); b++)
            out[0] += out[b];
    cg::this_grid().barrier_wait(cg::this_grid().barrier_arrive());
    if (own * 2 != in[number()] || kept[i] != in[number()])
        __trap();
    if (i == 0 && number() > 0)
        out[cg::this_grid().block_rank()] = out[0] + __shfl_sync(1u, 1, 0);
}

// Whole blocks, and some threads of others, end before the barrier.
extern "C" __global__ void grid_leave(int *out, const int *, int n)
{
    if (blockIdx.x % 2 || int(threadIdx.x) >= n)
        return;
    atomicAdd(out, 1);
    cg::this_grid().sync();
    out[1 + number()] = out[0];
}

extern "C" __global__ void grid_divergent(int *out, const int *, int n)
{
    if (blockIdx.x == 1 && int(threadIdx.x) >= n)
        __syncthreads();
    else
        cg::this_grid().sync();
    out[number()] = 1;
}

extern "C" __global__ void grid_divergent_warp(int *out, const int *, int)
{
    if (threadIdx.x == 3)
        __syncwarp();
    else
        cg::this_grid().sync();
    out[number()] = 1;
}

extern "C" __global__ void grid_trap(int *out, const int *, int n)
{
    cg::this_grid().sync();
    if (number() == n)
        __trap();
    cg::this_grid().sync();
    out[number()] = 1;
}

// Each block spins until the next one has been there.
extern "C" __global__ void grid_spin(int *out, const int *, int)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < gridDim.x)
            while (atomicCAS(&out[blockIdx.x + 1], 1, 1) != 1) {
            }
        atomicExch(&out[blockIdx.x], 1);
    }
    __syncthreads();
}

extern "C" __global__ void grid_valid(int *out, const int *, int)
{
    out[number()] = cg::this_grid().is_valid() ? 1 : 2;
}
