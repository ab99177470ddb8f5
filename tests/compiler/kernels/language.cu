// Groups of threads, words as vectors, memory, hints.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <float.h>
#include <limits.h>
#include <math_constants.h>

namespace cg = cooperative_groups;

extern "C" __global__ void group_ranks(int *out, const int *, int)
{
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    auto tile = cg::tiled_partition<8>(block);
    auto inner = cg::tiled_partition<4>(tile);
    int *o = out + 12 * grid.thread_rank();
    o[0] = block.size();
    o[1] = block.thread_rank();
    o[2] = block.group_index().x * 100 + block.thread_index().y;
    o[3] = (int)grid.size();
    o[4] = tile.thread_rank();
    o[5] = tile.meta_group_rank();
    o[6] = tile.meta_group_size();
    o[7] = inner.thread_rank() + 10 * inner.meta_group_rank() +
           100 * inner.meta_group_size();
    o[8] = (int)cg::thread_rank(block) + (int)cg::group_size(tile);
    cg::thread_group any = tile;
    o[9] = any.size() + 100 * any.thread_rank();
    auto pair = cg::tiled_partition(block, 2);
    o[10] = pair.size() + 100 * pair.thread_rank() +
            1000 * pair.meta_group_rank();
    cg::sync(block);
    any.sync();
    o[11] = cg::this_thread().size();
}

struct Triple {
    int a, b, c;
};

extern "C" __global__ void group_tiles(int *out, const int *in, int)
{
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, v = in[t], *o = out + 12 * t, same;
    o[0] = tile.shfl(v, 3);
    o[1] = tile.shfl_up(v, 2);
    o[2] = tile.shfl_down(v, 2);
    o[3] = tile.shfl_xor(v, 5);
    o[4] = tile.ballot(v & 1);
    o[5] = tile.any(v > 900) + 2 * tile.all(v < 900);
    o[6] = tile.match_any(v & 3);
    o[7] = tile.match_all(t / 8, same) + 1000 * same;
    Triple triple = tile.shfl(Triple{v, v + 1, t}, 7);
    o[8] = triple.a + triple.b + triple.c;
    o[9] = (int)tile.shfl((double)v * 0.5, 1);
    o[10] = cg::reduce(tile, v, cg::plus<int>()) * 2 +
            cg::reduce(tile, v, cg::greater<int>());
    o[11] = cg::inclusive_scan(tile, v) * 2 + cg::exclusive_scan(tile, v) +
            cg::reduce(tile, v, cg::bit_xor<int>());
    tile.sync();
}

extern "C" __global__ void group_coalesced(int *out, const int *in, int)
{
    int t = threadIdx.x, v = in[t], *o = out + 8 * t;
    for (int i = 0; i < 8; i++)
        o[i] = -1;
    if (v % 3 != 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        o[0] = active.size();
        o[1] = active.thread_rank();
        o[2] = active.shfl(v, 1);
        o[3] = cg::reduce(active, v, cg::plus<int>());
        o[4] = active.ballot(v & 1);
        o[5] = active.shfl_up(v, 1);
        auto alike = cg::labeled_partition(active, v & 1);
        o[6] = alike.size() + 100 * alike.thread_rank() +
               10000 * alike.meta_group_size();
        auto side = cg::binary_partition(active, v > 500);
        o[7] = cg::reduce(side, v, cg::less<int>()) + 1000 * side.size();
    }
}

extern "C" __global__ void group_copies(int *out, const int *in, int n)
{
    extern __shared__ int copy[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, copy, in, sizeof(int) * n);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = copy[n - 1 - i];
}

// --- Words as vectors ------------------------------------------------------

#define CASE(number, value) case number: out[i] = value; break;
#define BOTH(number, name) \
    CASE(2 * number, name##2(x, y)) CASE(2 * number + 1, name##4(x, y))
#define ONE(number, name) \
    CASE(2 * number, name##2(x)) CASE(2 * number + 1, name##4(x))

extern "C" __global__ void word_vectors(unsigned *out, const unsigned *a,
                                        const unsigned *b, int which)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    switch (which) {
        BOTH(0, __vadd)
        BOTH(1, __vsub)
        BOTH(2, __vaddss)
        BOTH(3, __vaddus)
        BOTH(4, __vsubss)
        BOTH(5, __vsubus)
        BOTH(6, __vavgs)
        BOTH(7, __vavgu)
        BOTH(8, __vhaddu)
        BOTH(9, __vmaxs)
        BOTH(10, __vmaxu)
        BOTH(11, __vmins)
        BOTH(12, __vminu)
        BOTH(13, __vabsdiffs)
        BOTH(14, __vabsdiffu)
        BOTH(15, __vcmpeq)
        BOTH(16, __vcmpgts)
        BOTH(17, __vcmpleu)
        BOTH(18, __vsetne)
        BOTH(19, __vsetltu)
        BOTH(20, __vsads)
        BOTH(21, __vsadu)
        ONE(22, __vabs)
        ONE(23, __vabsss)
        ONE(24, __vneg)
        ONE(25, __vnegss)
        CASE(52, (unsigned)__dp4a((int)x, (int)y, -5))
        CASE(53, __dp4a(x, y, 7u))
        CASE(54, (unsigned)__dp2a_lo((int)x, (int)y, 1))
        CASE(55, __dp2a_hi(x, y, 1u))
    }
}

// --- Memory ----------------------------------------------------------------

// Each thread allocates, fills, checks and frees; nothing overlaps.
extern "C" __global__ void memory_many(int *out, const int *, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, bad = 0;
    for (int round = 0; round < 20; round++) {
        int size = (t * 7 + round * 13) % 300 + 1;
        int *mine = (int *)malloc(size * sizeof(int));
        char *other = new char[round + 1];
        if (!mine || !other) {
            bad += 1000;
            continue;
        }
        bad += ((unsigned long long)mine & 15) != 0;
        memset(other, t, round + 1);
        for (int i = 0; i < size; i++)
            mine[i] = t * 1000 + i;
        __syncthreads();
        for (int i = 0; i < size; i++)
            bad += mine[i] != t * 1000 + i;
        bad += other[round] != (char)t;
        free(mine);
        delete[] other;
    }
    out[t] = bad;
}

__device__ void *kept;

extern "C" __global__ void memory_limit(int *out, const int *, int)
{
    struct Large {
        int values[1 << 20];
        __device__ Large() { values[0] = 1; }
    };
    out[0] = malloc(9 << 20) == nullptr;
    void *first = malloc(5 << 20), *second = malloc(5 << 20);
    out[1] = first != nullptr;
    out[2] = second == nullptr;
    Large *large = new Large;
    kept = large;
    out[3] = large == nullptr;
    free(first);
    first = malloc(5 << 20);
    out[4] = first != nullptr;
    free(first);
    free(nullptr);
    int a[4] = {1, 2, 3, 4}, b[4];
    memcpy(b, a, sizeof b);
    out[5] = memcmp(a, b, sizeof a) == 0;
    b[3] = 9;
    out[6] = memcmp(a, b, sizeof a) < 0;
}

// --- Hints and the rest ----------------------------------------------------

template <int N> __device__ int unrolled(const int *in)
{
    int sum = 0;
#pragma unroll
    for (int i = 0; i < N; i++)
        sum += in[i];
#pragma unroll N
    for (int i = 0; i < N; i++)
        sum += in[i] * 2;
#pragma unroll (N / 2)
    for (int i = 0; i < N; i++)
        sum += in[i] * 3;
#pragma unroll 1
    for (int i = 0; i < N; i++)
        sum += in[i] * 4;
    return sum;
}

__managed__ int managed = 40;

extern "C" __global__ void hints(int *out, const int *in, int n)
{
    int t = threadIdx.x, *o = out + 16 * t;
    __builtin_assume(n > 0);
    __assume(t < 1024);
    o[0] = unrolled<6>(in + t);
    o[1] = __builtin_expect(in[t] > 500, 0) ? 1 : 2;
    o[2] = __ldcs(in + t) + __ldlu(in + t) + __ldcv(in + t);
    __stwt(o + 3, in[t]);
    o[4] = managed + 2;
    o[5] = umin(3u, ~0u) + (int)llmax(-4ll, 5ll) + min(-1, 7u);
    o[6] = INT_MAX - n + (CHAR_BIT == 8);
    o[7] = FLT_MAX > 1e38f && DBL_MIN < 1e-300;
    o[8] = (int)(CUDART_PI_F * 1000.0f) + (int)(CUDART_PI * 1000.0);
    o[9] = (int)__sad(-3, in[t], 4u) + __hadd(-3, 4) + __rhadd(3, 4);
    o[10] = isnan(CUDART_NAN) && isinf(CUDART_INF_F) && signbit(-0.0f);
    o[11] = __double2hiint(1.0) + __double2loint(__hiloint2double(5, 6));
    o[12] = (int)__funnelshift_lc(1u, 2u, 40u) +
            (int)__funnelshift_rc(1u, 2u, 40u);
    o[13] = (int)(__mul64hi(-1ll, 5ll) + (long long)__umul64hi(~0ull, 2ull));
    __nanosleep(10);
    o[14] = (int)(uint3{1, 2, 3}.z + make_short4(1, 2, 3, 4).w);
    o[15] = (int)__umul24(0x1000003u, 5u) + __mul24(-3, 5);
}

extern "C" __global__ void wide_tiles(int *out, const int *in, int)
{
    __shared__ cg::block_tile_memory<512> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    auto half = cg::tiled_partition<64>(tile);
    const int t = threadIdx.x;
    int *o = out + 8 * t;
    if (tile.meta_group_rank() == 1 && half.meta_group_rank() == 0)
        half.sync();  // alone
    o[0] = cg::reduce(tile, in[t], cg::plus<int>());
    o[1] = cg::inclusive_scan(half, in[t]);
    o[2] = cg::exclusive_scan(tile, in[t], cg::plus<int>());
    o[3] = tile.shfl(t, 70);
    o[4] = tile.any(t == 130) + 10 * half.all(t < 64);
    o[5] = half.thread_rank() + 100 * half.meta_group_rank() +
           1000 * tile.meta_group_rank() + 10000 * half.meta_group_size();
    o[6] = (int)cg::reduce(tile, in[t] + 0.5, cg::greater<double>());
    o[7] = cg::invoke_one_broadcast(tile, [&] { return in[t]; });
}
