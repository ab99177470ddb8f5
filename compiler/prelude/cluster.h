// Clusters: blocks that run together and reach each other's shared memory.
// Without clusters, as on processors other than x86-64, each block is alone.

// Dimensions of the cluster; zeros for a launch without one.
RNL_GETTER(rnl_cluster_size_x, rnl_state.run->cluster[0])
RNL_GETTER(rnl_cluster_size_y, rnl_state.run->cluster[1])
RNL_GETTER(rnl_cluster_size_z, rnl_state.run->cluster[2])

extern "C" {
static unsigned long rnl_cluster_memory() RNL_NAMED(rnl_cluster_memory);
static unsigned long rnl_cluster_stride() RNL_NAMED(rnl_cluster_stride);
static void rnl_cluster_meet() RNL_NAMED(rnl_cluster_meet);

RNL_INLINE RNL_CONSTANT unsigned long rnl_cluster_memory()
{
    return rnl_state.run->cluster_memory;
}
RNL_INLINE RNL_CONSTANT unsigned long rnl_cluster_stride()
{
    return rnl_state.run->cluster_stride;
}

RNL_WAITS void rnl_cluster_meet()
{
    uint3 thread = rnl_state.thread;
    rnl_services->sync_cluster(rnl_state.run, rnl_thread_number());
    rnl_state.thread = thread;
}
}

RNL_INLINE dim3 __clusterDim()
{
    const unsigned int x = rnl_cluster_size_x(), y = rnl_cluster_size_y(),
                       z = rnl_cluster_size_z();
    return dim3(x + (x == 0), y + (y == 0), z + (z == 0));
}
RNL_INLINE unsigned int __clusterSizeInBlocks()
{
    const dim3 size = __clusterDim();
    return size.x * size.y * size.z;
}
RNL_INLINE dim3 __clusterGridDimInClusters()
{
    const dim3 size = __clusterDim();
    return dim3(rnl_grid_size_x() / size.x, rnl_grid_size_y() / size.y,
                rnl_grid_size_z() / size.z);
}
RNL_INLINE dim3 __clusterIdx()
{
    const dim3 size = __clusterDim();
    return dim3(rnl_block_x() / size.x, rnl_block_y() / size.y,
                rnl_block_z() / size.z);
}
RNL_INLINE dim3 __clusterRelativeBlockIdx()
{
    const dim3 size = __clusterDim();
    return dim3(rnl_block_x() % size.x, rnl_block_y() % size.y,
                rnl_block_z() % size.z);
}
RNL_INLINE unsigned int __clusterRelativeBlockRank()
{
    const dim3 size = __clusterDim(), index = __clusterRelativeBlockIdx();
    return index.x + size.x * (index.y + size.y * index.z);
}

// The memories of a cluster's blocks follow each other. Addresses are numbers
// here, since the compiler may take the address of a variable for that very
// variable.
RNL_INLINE void *__cluster_map_shared_rank(const void *address,
                                           unsigned int rank)
{
    const long blocks = (long)rank - (long)__clusterRelativeBlockRank();
    return reinterpret_cast<void *>(
        reinterpret_cast<unsigned long>(address) +
        (unsigned long)blocks * rnl_cluster_stride());
}
RNL_INLINE unsigned int __cluster_query_shared_rank(const void *address)
{
    const unsigned long stride = rnl_cluster_stride();
    return stride == 0
               ? 0u
               : (unsigned int)((reinterpret_cast<unsigned long>(address) -
                                 rnl_cluster_memory()) / stride);
}

// The wait does all of a barrier's work. One thread waits for the other blocks;
// any thread may have ended.
RNL_INLINE void __cluster_barrier_arrive() {}
RNL_INLINE void __cluster_barrier_arrive_relaxed() {}
RNL_INLINE void __cluster_barrier_wait(int rnl_line = __builtin_LINE())
{
    rnl_state.arrived = 0;
    rnl_sync(RNL_CPU_SYNC_PLAIN, 0, rnl_line);
    if (__atomic_fetch_add(&rnl_state.arrived, 1u, __ATOMIC_RELAXED) == 0)
        rnl_cluster_meet();
    rnl_sync(RNL_CPU_SYNC_PLAIN, 0, rnl_line);
}
