// Cooperative groups: tiles, groups of threads that are together, parts of
// them, and what they do together.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// @run int n=512 grid=2 block=256
// @run int n=512 grid=2 block=16,4,4
extern "C" __global__ void tiles(int *out, const int *in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int i = blockIdx.x * (int)block.size() + (int)block.thread_rank();
    int value = in[i], sum = value;
    for (unsigned step = tile.size() / 2; step > 0; step /= 2)
        sum += tile.shfl_xor(sum, step);
    int up = tile.shfl_up(value, 2), down = tile.shfl_down(value, 3);
    out[i] = sum + 3 * tile.shfl(value, 5) +
             (tile.thread_rank() >= 2 ? 5 * up : 1) +
             (tile.thread_rank() + 3 < tile.size() ? 7 * down : 2) +
             (int)(tile.meta_group_rank() * 11 + tile.meta_group_size()) +
             (int)(tile.ballot(value > 0) ^ tile.match_any(value & 3)) +
             tile.any(value > 900) * 2 + tile.all(value < 500);
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void tiles_of_tiles(int *out, const int *in, int n)
{
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<4>(warp);
    int i = blockIdx.x * 256 + threadIdx.x;
    int sum = cg::reduce(tile, in[i], cg::plus<int>());
    int least = cg::reduce(warp, in[i], cg::less<int>());
    int most = cg::reduce(warp, in[i], cg::greater<int>());
    unsigned bits = cg::reduce(tile, (unsigned)in[i], cg::bit_xor<unsigned>());
    out[i] = sum + 3 * least + 5 * most + (int)(bits & 0xffu) +
             (int)(tile.meta_group_rank() * 100 + tile.thread_rank());
}

// Tiles by the names of their types.
__device__ int first_of(cg::thread_block_tile<32, cg::thread_block> warp,
                        int value)
{
    return warp.shfl(value, 0) + (int)warp.meta_group_rank();
}

__device__ int second_of(const cg::thread_block_tile<32> &warp, int value)
{
    return warp.shfl(value, 1) + (int)warp.thread_rank();
}

template <unsigned Size, class Parent>
__device__ int sum_of(const cg::thread_block_tile<Size, Parent> &tile,
                      int value)
{
    return cg::reduce(tile, value, cg::plus<int>());
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void tiles_of_blocks(int *out, const int *in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32, cg::thread_block> warp =
        cg::tiled_partition<32>(block);
    cg::thread_block_tile<8, cg::thread_block_tile<32, cg::thread_block>> tile =
        cg::tiled_partition<8>(warp);
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = first_of(warp, in[i]) + 3 * second_of(warp, in[i]) +
             5 * sum_of(warp, in[i]) + 7 * sum_of(tile, in[i]) +
             (int)tile.meta_group_rank();
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void scans(int *out, const int *in, int n)
{
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int i = blockIdx.x * 256 + threadIdx.x;
    int below = cg::exclusive_scan(tile, in[i]);
    int upto = cg::inclusive_scan(tile, in[i], cg::plus<int>());
    int most = cg::inclusive_scan(tile, in[i], cg::greater<int>());
    out[i] = below * 3 + upto + most * 5;
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void threads_together(int *out, const int *in, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x, value = in[i];
    out[i] = -1;
    if (value > 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        int first = group.shfl(value, 0);
        int sum = cg::reduce(group, value, cg::plus<int>());
        out[i] = first + (int)group.thread_rank() * 7 +
                 (int)group.size() * 1000 + sum +
                 (int)(group.ballot(value & 1) & 0xffffu);
    }
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void parts_by_label(int *out, const int *in, int n)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * 256 + threadIdx.x, value = in[i];
    auto same = cg::labeled_partition(warp, value & 3);
    auto half = cg::binary_partition(warp, value > 0);
    int sum = cg::reduce(same, value, cg::plus<int>());
    int below = cg::exclusive_scan(half, 1);
    out[i] = sum + (int)same.thread_rank() * 3 + (int)same.size() * 100 +
             below * 7 + (int)half.size();
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void copies(int *out, const int *in, int n)
{
    __shared__ int kept[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, kept, in + blockIdx.x * 256, sizeof kept);
    cg::wait(block);
    int i = blockIdx.x * 256 + threadIdx.x;
    out[i] = kept[255 - threadIdx.x] + (int)block.group_index().x +
             (int)block.thread_index().x + (int)block.dim_threads().x;
}

// @run int n=512 grid=2 block=256
extern "C" __global__ void one_for_all(int *out, const int *in, int n)
{
    __shared__ int most, kept[256];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int i = blockIdx.x * 256 + threadIdx.x, value = in[i];
    cg::memcpy_async(block, kept, 256, in + blockIdx.x * 256, 200);
    cg::invoke_one(block, [] { most = -1000; });
    auto arrived = block.barrier_arrive();
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int first = tile.shfl(i, 0);
    block.barrier_wait(static_cast<cg::thread_block::arrival_token &&>(arrived));
    cg::wait(block);
    int before = cg::invoke_one_broadcast(
        tile, [&](int by) { return atomicMax(&most, sum * by) < 1 << 20; }, 2);
    block.sync();
    out[i] = most + before + first + kept[threadIdx.x % 200];
    if (value > 0) {
        auto together = cg::coalesced_threads();
        out[i] += cg::invoke_one_broadcast(together, [&] {
            return together.size() * 1.5f;
        }) > 3;
    }
}
