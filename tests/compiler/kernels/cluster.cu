// Kernels whose blocks run in clusters: (int *out, const int *in, int n).
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Sums of what each block adds up in a loop over the grid; every block reads
// those of its cluster.
extern "C" __global__ void cluster_sum(int *out, const int *in, int n)
{
    __shared__ int part[1024];
    __shared__ int total;
    cg::cluster_group cluster = cg::this_cluster();
    cg::thread_block block = cg::this_thread_block();
    const int t = int(block.thread_rank()), size = int(block.size());
    const int first = int(cg::this_grid().thread_rank());
    int own = 0;
    for (int i = first; i < n; i += int(cg::this_grid().size()))
        own += in[i];
    part[t] = own;
    if (t == 0)
        total = 0;
    block.sync();
    for (int i = t; i < size; i += size)
        atomicAdd(&total, part[i]);
    cg::sync(cluster);
    int sum = 0;
    for (int rank = 0; rank < int(cluster.num_blocks()); rank++)
        sum += *cluster.map_shared_rank(&total, rank);
    cluster.sync();
    out[first] = sum;
}

// Each thread keeps an array while the others run.
extern "C" __global__ void cluster_keeps(int *out, const int *in, int n)
{
    __shared__ int cell[1024];
    cg::cluster_group cluster = cg::this_cluster();
    const int t = int(threadIdx.x), size = int(blockDim.x);
    const int i = int(blockIdx.x) * size + t;
    const unsigned int next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int kept[24];
    for (int k = 0; k < 24; k++)
        kept[k] = in[i] * (k + 1);
    for (int round = 0; round < n; round++) {
        cell[t] = kept[(t + round) % 24];
        cluster.sync();
        kept[round % 24] += cluster.map_shared_rank(cell, int(next))[size - 1 - t];
        cluster.sync();
    }
    int sum = 0;
    for (int k = 0; k < 24; k++)
        sum = sum * 3 + kept[(k + t) % 24];
    out[i] = sum;
}

// Threads, warps and blocks end before the others.
extern "C" __global__ void cluster_leave(int *out, const int *, int n)
{
    extern __shared__ int count[];
    cg::cluster_group cluster = cg::this_cluster();
    if (cluster.block_rank() == 1 || int(threadIdx.x) < n)
        return;
    count[0] = 0;
    cluster.sync();
    atomicAdd(cluster.map_shared_rank(count, 0), 1);
    cluster.sync();
    if (int(threadIdx.x) == n && cluster.block_rank() == 0)
        out[blockIdx.x / cluster.num_blocks()] = count[0];
}

// Blocks spin until their predecessor has written into their shared memory.
extern "C" __global__ void cluster_spin(int *out, const int *, int)
{
    __shared__ int turn;
    cg::cluster_group cluster = cg::this_cluster();
    const int rank = int(cluster.block_rank());
    if (threadIdx.x == 0)
        turn = rank == 0 ? 1 : 0;
    cluster.sync();
    while (atomicAdd(&turn, 0) == 0) {
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = turn;
        if (rank + 1 < int(cluster.num_blocks()))
            atomicExch(cluster.map_shared_rank(&turn, rank + 1), turn + 1);
    }
    cluster.sync();
}

extern "C" __global__ void cluster_trap(int *out, const int *, int n)
{
    if (int(cg::this_grid().thread_rank()) == n)
        __trap();
    cg::this_cluster().sync();
    out[0] = 1;
}

extern "C" __global__ void cluster_divergent(int *out, const int *, int n)
{
    if (int(threadIdx.x) < n)
        cg::this_cluster().sync();
    else
        __syncthreads();
    out[0] = 1;
}

extern "C" __global__ void cluster_or_grid(int *out, const int *, int n)
{
    if (int(blockIdx.x) == n)
        cg::this_grid().sync();
    else
        cg::this_cluster().sync();
    out[0] = 1;
}

// What else there is, also without the group.
extern "C" __global__ void cluster_names(int *out, const int *, int)
{
    __shared__ const int *where;
    __shared__ volatile int seen;
    cg::cluster_group cluster = cg::this_cluster();
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    cluster.barrier_wait(static_cast<cg::cluster_group::arrival_token &&>(token));
    cluster.barrier_arrive();
    cluster.barrier_wait();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    __cluster_barrier_arrive_relaxed();
    __cluster_barrier_wait();
    seen = int(cluster.block_rank());
    where = out;
    cluster.sync();
    const int last = int(__clusterSizeInBlocks()) - 1;
    void *theirs = __cluster_map_shared_rank(const_cast<int *>(&seen), last);
    const int *const *there = cluster.map_shared_rank(&where, last);
    bool good = *static_cast<int *>(theirs) == last && *there == out &&
                __cluster_query_shared_rank(theirs) == unsigned(last) &&
                cluster.query_shared_rank(&where) == cluster.block_rank() &&
                __clusterDim().x == cluster.dim_blocks().x &&
                __clusterIdx().x == cg::this_grid().cluster_index().x &&
                cg::thread_rank(cluster) == cluster.thread_rank() &&
                cg::group_size(cluster) == cluster.num_threads();
    cg::invoke_one(cluster, [=] { out[gridDim.x] += 1; });
    cluster.sync();
    if (threadIdx.x == 0)
        out[blockIdx.x] = good;
}

// Blocks with one thread in x, which must not change places.
extern "C" __global__ void cluster_thin(int *out, const int *, int)
{
    __shared__ int own[64];
    cg::cluster_group cluster = cg::this_cluster();
    int block = blockIdx.y * gridDim.x + blockIdx.x;
    own[threadIdx.y] = block * 100 + threadIdx.y;
    cluster.sync();
    int *other = cluster.map_shared_rank(own, cluster.block_rank() ^ 1);
    out[block * blockDim.y + threadIdx.y] = other[threadIdx.y];
    cluster.sync();
}
