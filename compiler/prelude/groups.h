// <cooperative_groups.h> and its parts for reduction, scans and copies, above
// the dialect's own barrier and warp functions, and a barrier of the grid.

// The barrier of the grid, unless a GPU's prelude has brought one. Blocks can
// take turns where block memory is not the OS thread's own.
#if !defined(RNL_GRID_BARRIER)
#if defined(__x86_64__)
#define RNL_GRID_BARRIER
extern "C" {
static void rnl_sync_grid() RNL_NAMED(rnl_sync_grid);

RNL_WAITS void rnl_sync_grid()
{
    uint3 thread = rnl_state.thread;
    rnl_services->sync_grid(rnl_state.run, rnl_thread_number());
    rnl_state.thread = thread;
}
}
#endif
RNL_INLINE bool rnl_is_cooperative()
{
    return rnl_state.run->flags & RNL_CPU_BLOCK_COOPERATIVE;
}
#endif

namespace cooperative_groups {

RNL_INLINE unsigned int rnl_group_rank()
{
    return threadIdx.x +
           blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
RNL_INLINE unsigned int rnl_group_threads()
{
    return blockDim.x * blockDim.y * blockDim.z;
}
RNL_INLINE unsigned int rnl_group_lane()
{
    return rnl_group_rank() & 31u;
}

// A value of any size through shuffles of words; `move` shuffles one.
template <class T, class F> RNL_INLINE T rnl_by_words(const T &value, F move)
{
    constexpr unsigned int count = (sizeof(T) + 3) / 4;
    unsigned int words[count] = {};
    T result;
    __builtin_memcpy(words, &value, sizeof value);
    for (unsigned int i = 0; i < count; i++)
        words[i] = move(words[i]);
    __builtin_memcpy(&result, words, sizeof result);
    return result;
}
RNL_INLINE unsigned int rnl_lanes_before(unsigned int mask)
{
    return (unsigned int)__popc(mask & ((1u << rnl_group_lane()) - 1u));
}

// --- The block and the grid ------------------------------------------------

// All of a barrier may be in the wait.
struct rnl_arrival {};

class thread_block {
public:
    typedef rnl_arrival arrival_token;
    static arrival_token barrier_arrive() { return arrival_token(); }
    static void barrier_wait(arrival_token &&, int line = __builtin_LINE())
    {
        sync(line);
    }
    static void sync(int line = __builtin_LINE()) { __syncthreads(line); }
    static unsigned int size() { return rnl_group_threads(); }
    static unsigned int num_threads() { return rnl_group_threads(); }
    static unsigned int thread_rank() { return rnl_group_rank(); }
    static dim3 group_index()
    {
        return dim3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    static dim3 thread_index()
    {
        return dim3(threadIdx.x, threadIdx.y, threadIdx.z);
    }
    static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    static dim3 dim_threads() { return group_dim(); }
};
RNL_INLINE thread_block this_thread_block() { return thread_block(); }

// Memory for tiles of more than a warp, which have their own here.
template <unsigned int MaxBlockSize = 1024> struct block_tile_memory {
    char unused;
};
template <unsigned int MaxBlockSize>
RNL_INLINE thread_block this_thread_block(block_tile_memory<MaxBlockSize> &)
{
    return thread_block();
}

class grid_group {
public:
    typedef rnl_arrival arrival_token;
    static bool is_valid() { return rnl_is_cooperative(); }
    static unsigned long long num_blocks()
    {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank()
    {
        return blockIdx.x +
               gridDim.x * (blockIdx.y +
                            (unsigned long long)gridDim.y * blockIdx.z);
    }
    static unsigned long long size()
    {
        return num_blocks() * rnl_group_threads();
    }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank()
    {
        return block_rank() * rnl_group_threads() + rnl_group_rank();
    }
    static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    static dim3 dim_blocks() { return group_dim(); }
    static dim3 dim_threads()
    {
        return dim3(gridDim.x * blockDim.x, gridDim.y * blockDim.y,
                    gridDim.z * blockDim.z);
    }
    static dim3 block_index() { return thread_block::group_index(); }
#if defined(RNL_HAS_CLUSTER)
    static dim3 dim_clusters() { return __clusterGridDimInClusters(); }
    static dim3 cluster_index() { return __clusterIdx(); }
    static unsigned long long num_clusters()
    {
        const dim3 size = dim_clusters();
        return (unsigned long long)size.x * size.y * size.z;
    }
    static unsigned long long cluster_rank()
    {
        const dim3 size = dim_clusters(), index = cluster_index();
        return index.x + size.x * (index.y + (unsigned long long)size.y *
                                                 index.z);
    }
#endif
    static dim3 thread_index()
    {
        return dim3(blockIdx.x * blockDim.x + threadIdx.x,
                    blockIdx.y * blockDim.y + threadIdx.y,
                    blockIdx.z * blockDim.z + threadIdx.z);
    }
#if defined(RNL_GRID_BARRIER)
    static void sync() { rnl_sync_grid(); }
#else
    __attribute__((unavailable(
        "grid_group::sync() is not supported by Runnel on this CPU"))) static
    void sync();
#endif
    static arrival_token barrier_arrive() { return arrival_token(); }
    static void barrier_wait(arrival_token &&) { sync(); }
};
RNL_INLINE grid_group this_grid() { return grid_group(); }

#if defined(RNL_HAS_CLUSTER)
class cluster_group {
public:
    typedef rnl_arrival arrival_token;
    static void sync(int line = __builtin_LINE())
    {
        __cluster_barrier_wait(line);
    }
    static arrival_token barrier_arrive()
    {
        __cluster_barrier_arrive();
        return arrival_token();
    }
    static void barrier_wait(int line = __builtin_LINE())
    {
        __cluster_barrier_wait(line);
    }
    static void barrier_wait(arrival_token &&, int line = __builtin_LINE())
    {
        __cluster_barrier_wait(line);
    }
    static unsigned int query_shared_rank(const void *address)
    {
        return __cluster_query_shared_rank(address);
    }
    template <class T> static T *map_shared_rank(T *address, int rank)
    {
        return static_cast<T *>(
            __cluster_map_shared_rank(address, (unsigned int)rank));
    }
    static dim3 block_index() { return __clusterRelativeBlockIdx(); }
    static unsigned int block_rank() { return __clusterRelativeBlockRank(); }
    static dim3 dim_blocks() { return __clusterDim(); }
    static unsigned int num_blocks() { return __clusterSizeInBlocks(); }
    static dim3 thread_index()
    {
        const dim3 block = block_index();
        return dim3(block.x * blockDim.x + threadIdx.x,
                    block.y * blockDim.y + threadIdx.y,
                    block.z * blockDim.z + threadIdx.z);
    }
    static unsigned int thread_rank()
    {
        return block_rank() * rnl_group_threads() + rnl_group_rank();
    }
    static dim3 dim_threads()
    {
        const dim3 blocks = dim_blocks();
        return dim3(blocks.x * blockDim.x, blocks.y * blockDim.y,
                    blocks.z * blockDim.z);
    }
    static unsigned int num_threads()
    {
        return num_blocks() * rnl_group_threads();
    }
    static unsigned int size() { return num_threads(); }
};
RNL_INLINE cluster_group this_cluster() { return cluster_group(); }
#endif

// --- Lanes of a warp -------------------------------------------------------

// The base of tiles and coalesced groups: `Self` has mask() and lane_of(rank).
template <class Self> class rnl_lanes_group {
    const Self &self() const { return static_cast<const Self &>(*this); }

public:
    void sync() const { __syncwarp(self().mask()); }
    unsigned int num_threads() const { return self().size(); }
    unsigned int ballot(int predicate) const
    {
        return self().packed(__ballot_sync(self().mask(), predicate));
    }
    int any(int predicate) const
    {
        return __any_sync(self().mask(), predicate);
    }
    int all(int predicate) const
    {
        return __all_sync(self().mask(), predicate);
    }
    template <class T> unsigned int match_any(T value) const
    {
        return self().packed(__match_any_sync(self().mask(), value));
    }
    template <class T> unsigned int match_all(T value, int &predicate) const
    {
        return self().packed(
            __match_all_sync(self().mask(), value, &predicate));
    }
    template <class T> T shfl(T value, int rank) const
    {
        const unsigned int mask = self().mask();
        const int lane = self().lane_of((unsigned int)rank);
        return rnl_by_words(value, [=](unsigned int word) {
            return __shfl_sync(mask, word, lane);
        });
    }
    template <class T> T shfl_up(T value, unsigned int delta) const
    {
        const unsigned int rank = self().thread_rank();
        return shfl(value, int(rank >= delta ? rank - delta : rank));
    }
    template <class T> T shfl_down(T value, unsigned int delta) const
    {
        const unsigned int rank = self().thread_rank();
        return shfl(value,
                    int(rank + delta < self().size() ? rank + delta : rank));
    }
};

template <unsigned int Size, bool Wide> class rnl_tile;
template <unsigned int Size>
class rnl_tile<Size, false> : public rnl_lanes_group<rnl_tile<Size, false>> {
public:
    // Warp shuffles know tiles themselves.
    template <class T> T shfl(T value, int rank) const
    {
        const unsigned int among = mask();
        return rnl_by_words(value, [=](unsigned int word) {
            return __shfl_sync(among, word, rank, Size);
        });
    }
    template <class T> T shfl_up(T value, unsigned int delta) const
    {
        const unsigned int among = mask();
        return rnl_by_words(value, [=](unsigned int word) {
            return __shfl_up_sync(among, word, delta, Size);
        });
    }
    template <class T> T shfl_down(T value, unsigned int delta) const
    {
        const unsigned int among = mask();
        return rnl_by_words(value, [=](unsigned int word) {
            return __shfl_down_sync(among, word, delta, Size);
        });
    }
    template <class T> T shfl_xor(T value, unsigned int lanes) const
    {
        const unsigned int among = mask();
        return rnl_by_words(value, [=](unsigned int word) {
            return __shfl_xor_sync(among, word, int(lanes), Size);
        });
    }
    static constexpr unsigned int size() { return Size; }
    static constexpr unsigned int num_threads() { return Size; }
    static unsigned int thread_rank() { return rnl_group_lane() & (Size - 1); }
    static unsigned int meta_group_rank() { return rnl_group_rank() / Size; }
    static unsigned int meta_group_size()
    {
        return (rnl_group_threads() + Size - 1) / Size;
    }
    static unsigned int mask()
    {
        return Size == 32 ? ~0u
                          : ((1u << (Size & 31)) - 1u)
                                << (rnl_group_lane() & ~(Size - 1));
    }
    static int lane_of(unsigned int rank)
    {
        return int((rnl_group_lane() & ~(Size - 1)) + rank % Size);
    }
    static unsigned int packed(unsigned int lanes)
    {
        return (lanes & mask()) >> (rnl_group_lane() & ~(Size - 1));
    }
    template <class T, class F> T rnl_reduce(T value, F operation) const
    {
        for (unsigned int step = Size / 2; step > 0; step /= 2)
            value = operation(value, shfl_xor(value, step));
        return value;
    }
};

// --- Tiles of several warps --------------------------------------------------

// Exchange between the warps of a tile: 32 bytes per warp, and for each tile
// size from 64 on the number of warps that have arrived at the tile's barrier,
// and how often it has opened.
struct rnl_tiles_type {
    unsigned int values[32][8];
    unsigned int arrived[5][16], rounds[5][16];
};
static __shared__ rnl_tiles_type rnl_tiles;

// Called by all threads of a block, which then have left all barriers of tiles.
static inline void rnl_ready_tiles(int line)
{
    __syncthreads(line);
    for (unsigned int i = rnl_group_rank(); i < 5 * 16;
         i += rnl_group_threads())
        rnl_tiles.arrived[i / 16][i % 16] = rnl_tiles.rounds[i / 16][i % 16] =
            0;
    __syncthreads(line);
}

template <unsigned int Size, class Parent = void>
class thread_block_tile : public rnl_tile<Size, (Size > 32)> {
    static_assert(Size >= 1 && Size <= 1024 && (Size & (Size - 1)) == 0,
                  "a tile has 1, 2, 4 ... or 1024 threads");
};

template <unsigned int Size> class rnl_tile<Size, true> {
    static unsigned int first() { return rnl_group_rank() & ~(Size - 1); }
    static unsigned int warps()
    {
        const unsigned int left = rnl_group_threads() - first();
        return ((left < Size ? left : Size) + 31) / 32;
    }
    static unsigned int warp() { return (rnl_group_rank() - first()) / 32; }
    static thread_block_tile<32> lanes() { return thread_block_tile<32>(); }

    // One lane of each warp shows a value to the whole tile.
    template <class T> static void show(const T &value, unsigned int slot)
    {
        static_assert(sizeof(T) <= sizeof rnl_tiles.values[0],
                      "tiles of more than a warp take values of up to 32 "
                      "bytes");
        __builtin_memcpy(rnl_tiles.values[first() / 32 + slot], &value,
                         sizeof value);
    }
    template <class T> static T shown(unsigned int slot)
    {
        T value;
        __builtin_memcpy(&value, rnl_tiles.values[first() / 32 + slot],
                         sizeof value);
        return value;
    }

public:
    // The warps' first lanes count, and wait for the last of them.
    static void sync()
    {
        constexpr int size = __builtin_ctz(Size) - 6;
        __syncwarp();
        if (rnl_group_lane() == 0) {
            unsigned int *arrived =
                &rnl_tiles.arrived[size][rnl_group_rank() / Size];
            unsigned int *rounds =
                &rnl_tiles.rounds[size][rnl_group_rank() / Size];
            const unsigned int round = __atomic_load_n(rounds, 5);
            if (__atomic_add_fetch(arrived, 1, 5) == warps()) {
                __atomic_store_n(arrived, 0, 5);
                __atomic_store_n(rounds, round + 1, 5);
            }
            while (__atomic_load_n(rounds, 5) == round)
                rnl_yield();
        }
        __syncwarp();
    }
    static constexpr unsigned int size() { return Size; }
    static constexpr unsigned int num_threads() { return Size; }
    static unsigned int thread_rank() { return rnl_group_rank() & (Size - 1); }
    static unsigned int meta_group_rank() { return rnl_group_rank() / Size; }
    static unsigned int meta_group_size()
    {
        return (rnl_group_threads() + Size - 1) / Size;
    }
    template <class T> T shfl(T value, int rank) const
    {
        if (thread_rank() == (unsigned int)rank % Size)
            show(value, 0);
        sync();
        value = shown<T>(0);
        sync();
        return value;
    }
    int any(int predicate) const
    {
        return rnl_reduce(int(predicate != 0),
                          [](int a, int b) { return a | b; });
    }
    int all(int predicate) const { return !any(!predicate); }
    template <class T, class F> T rnl_reduce(T value, F operation) const
    {
        value = lanes().rnl_reduce(value, operation);
        if (rnl_group_lane() == 0)
            show(value, warp());
        sync();
        value = shown<T>(0);
        for (unsigned int i = 1; i < warps(); i++)
            value = operation(value, shown<T>(i));
        sync();
        return value;
    }
    // Scans over all threads up to this one, inclusive or exclusive.
    template <class T, class F>
    T rnl_scan(T value, F operation, bool inclusive) const
    {
        for (unsigned int step = 1; step < 32; step *= 2) {
            const T below = lanes().shfl_up(value, step);
            if (rnl_group_lane() >= step)
                value = operation(below, value);
        }
        if (rnl_group_lane() == 31)
            show(value, warp());
        sync();
        T before = T();
        for (unsigned int i = 0; i < warp(); i++)
            before = i == 0 ? shown<T>(0) : operation(before, shown<T>(i));
        sync();
        const T below = lanes().shfl_up(value, 1);
        const bool leads = rnl_group_lane() == 0;
        if (inclusive)
            return warp() == 0 ? value : operation(before, value);
        return warp() == 0 ? (leads ? T() : below)
               : leads     ? before : operation(before, below);
    }
};

// A tile of a block converts to a tile with any parent.
template <unsigned int Size>
class thread_block_tile<Size, thread_block> : public thread_block_tile<Size> {
};
// A tile cut from a larger tile counts within that.
template <unsigned int Size, unsigned int Larger, class Parent>
class thread_block_tile<Size, thread_block_tile<Larger, Parent>>
    : public thread_block_tile<Size> {
public:
    static unsigned int meta_group_rank()
    {
        return (rnl_group_rank() & (Larger - 1)) / Size;
    }
    static constexpr unsigned int meta_group_size() { return Larger / Size; }
};

class coalesced_group : public rnl_lanes_group<coalesced_group> {
    unsigned int lanes;
    unsigned int meta_rank = 0, meta_size = 1;

public:
    explicit coalesced_group(unsigned int mask, unsigned int rank = 0,
                             unsigned int count = 1)
        : lanes(mask), meta_rank(rank), meta_size(count)
    {
    }
    unsigned int mask() const { return lanes; }
    unsigned int size() const { return (unsigned int)__popc(lanes); }
    unsigned int thread_rank() const { return rnl_lanes_before(lanes); }
    unsigned int meta_group_rank() const { return meta_rank; }
    unsigned int meta_group_size() const { return meta_size; }
    int lane_of(unsigned int rank) const
    {
        unsigned int left = lanes;
        for (rank %= size(); rank > 0; rank--)
            left &= left - 1;
        return __ffs(int(left)) - 1;
    }
    unsigned int packed(unsigned int among) const
    {
        unsigned int result = 0, bit = 1;
        for (unsigned int left = lanes; left; left &= left - 1, bit <<= 1)
            result |= among & left & -left ? bit : 0u;
        return result;
    }
};
RNL_INLINE coalesced_group
coalesced_threads(unsigned int place = RNL_PLACE)
{
    return coalesced_group(__activemask(place));
}

// --- Partitions ------------------------------------------------------------

template <unsigned int Size, class Parent>
RNL_INLINE thread_block_tile<Size, Parent>
tiled_partition(const Parent &, int line = __builtin_LINE())
{
    if constexpr (Size > 32 && __is_same(Parent, thread_block))
        rnl_ready_tiles(line);
    return thread_block_tile<Size, Parent>();
}
// With a size known only when running.
RNL_INLINE coalesced_group tiled_partition(const thread_block &,
                                           unsigned int size)
{
    const unsigned int rank = rnl_group_rank();
    const unsigned int first = rnl_group_lane() & ~(size - 1);
    return coalesced_group(
        size >= 32 ? ~0u : ((1u << size) - 1u) << first, rank / size,
        (rnl_group_threads() + size - 1) / size);
}
RNL_INLINE coalesced_group tiled_partition(const coalesced_group &parent,
                                           unsigned int size)
{
    const unsigned int first = parent.thread_rank() / size * size;
    unsigned int lanes = 0;
    for (unsigned int i = first; i < first + size && i < parent.size(); i++)
        lanes |= 1u << parent.lane_of(i);
    return coalesced_group(lanes, first / size,
                           (parent.size() + size - 1) / size);
}
template <class Group>
RNL_INLINE coalesced_group labeled_partition(const Group &group, int label)
{
    unsigned int same = __match_any_sync(group.mask(), label);
    unsigned int rank = 0, count = 0;
    for (unsigned int left = group.mask(); left; left &= left - 1) {
        int lane = __ffs(int(left)) - 1;
        unsigned int theirs = __shfl_sync(group.mask(), same, lane);
        bool leads = __ffs(int(theirs)) - 1 == lane;
        rank += leads && lane < __ffs(int(same)) - 1;
        count += leads;
    }
    return coalesced_group(same, rank, count);
}
template <class Group>
RNL_INLINE coalesced_group binary_partition(const Group &group, bool side)
{
    unsigned int yes = __ballot_sync(group.mask(), side) & group.mask();
    return coalesced_group(side ? yes : group.mask() & ~yes, side ? 1 : 0, 2);
}

// A group of a kind that is known only when running.
class thread_group {
    coalesced_group lanes;
    bool block;

public:
    thread_group(const thread_block &) : lanes(0), block(true) {}
    thread_group(const coalesced_group &group) : lanes(group), block(false) {}
    template <unsigned int Size, class Parent>
    thread_group(const thread_block_tile<Size, Parent> &tile)
        : lanes(tile.mask()), block(false)
    {
    }
    void sync(int line = __builtin_LINE()) const
    {
        block ? __syncthreads(line) : lanes.sync();
    }
    unsigned int size() const
    {
        return block ? rnl_group_threads() : lanes.size();
    }
    unsigned int num_threads() const { return size(); }
    unsigned int thread_rank() const
    {
        return block ? rnl_group_rank() : lanes.thread_rank();
    }
};
RNL_INLINE coalesced_group this_thread()
{
    return coalesced_group(1u << rnl_group_lane());
}

RNL_INLINE void rnl_sync_group(const thread_block &, int line)
{
    __syncthreads(line);
}
RNL_INLINE void rnl_sync_group(const thread_group &group, int line)
{
    group.sync(line);
}
template <class Group>
RNL_INLINE void rnl_sync_group(const Group &group, int)
{
    group.sync();
}
template <class Group>
RNL_INLINE void sync(const Group &group, int line = __builtin_LINE())
{
    rnl_sync_group(group, line);
}
template <class Group> RNL_INLINE auto thread_rank(const Group &group)
{
    return group.thread_rank();
}
template <class Group> RNL_INLINE auto group_size(const Group &group)
{
    return group.size();
}

// --- Reduction and scans ---------------------------------------------------

#define RNL_GROUP_OPERATION(name, formula)                             \
    template <class T = void> struct name {                            \
        T operator()(const T &x, const T &y) const { return formula; } \
    };                                                                 \
    template <> struct name<void> {                                    \
        template <class T> T operator()(const T &x, const T &y) const  \
        {                                                              \
            return formula;                                            \
        }                                                              \
    };
RNL_GROUP_OPERATION(plus, T(x + y))
RNL_GROUP_OPERATION(less, y < x ? y : x)
RNL_GROUP_OPERATION(greater, x < y ? y : x)
RNL_GROUP_OPERATION(bit_and, T(x & y))
RNL_GROUP_OPERATION(bit_or, T(x | y))
RNL_GROUP_OPERATION(bit_xor, T(x ^ y))

template <class Group, class T, class F>
RNL_INLINE T inclusive_scan(const Group &group, T value, F operation)
{
    const unsigned int rank = group.thread_rank(), size = group.size();
    for (unsigned int step = 1; step < size; step *= 2) {
        T below = group.shfl_up(value, step);
        if (rank >= step)
            value = operation(below, value);
    }
    return value;
}
template <unsigned int Size, class Parent, class T, class F>
RNL_INLINE T inclusive_scan(const thread_block_tile<Size, Parent> &tile,
                            T value, F operation)
{
    if constexpr (Size > 32)
        return tile.rnl_scan(value, operation, true);
    else
        return inclusive_scan<rnl_tile<Size, false>>(tile, value, operation);
}
template <class Group, class T>
RNL_INLINE T inclusive_scan(const Group &group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F>
RNL_INLINE T exclusive_scan(const Group &group, T value, F operation)
{
    T below = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : below;
}
template <unsigned int Size, class Parent, class T, class F>
RNL_INLINE T exclusive_scan(const thread_block_tile<Size, Parent> &tile,
                            T value, F operation)
{
    if constexpr (Size > 32)
        return tile.rnl_scan(value, operation, false);
    else
        return exclusive_scan<rnl_tile<Size, false>>(tile, value, operation);
}
template <class Group, class T>
RNL_INLINE T exclusive_scan(const Group &group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class F>
RNL_INLINE T reduce(const Group &group, T value, F operation)
{
    return group.shfl(inclusive_scan(group, value, operation),
                      int(group.size()) - 1);
}
template <unsigned int Size, class Parent, class T, class F>
RNL_INLINE T reduce(const thread_block_tile<Size, Parent> &tile, T value,
                    F operation)
{
    return tile.rnl_reduce(value, operation);
}

// --- Calls by one thread for all -------------------------------------------

template <class Group, class F, class... A>
RNL_INLINE void invoke_one(const Group &group, F &&f, A &&...arguments)
{
    if (group.thread_rank() == 0)
        f(std::forward<A>(arguments)...);
}
template <class Group, class F, class... A>
RNL_INLINE auto invoke_one_broadcast(const Group &group, F &&f,
                                     A &&...arguments)
{
    typename std::rnl_bare<decltype(f(std::forward<A>(arguments)...))>::type
        result;
    if (group.thread_rank() == 0)
        result = f(std::forward<A>(arguments)...);
    return group.shfl(result, 0);
}

// --- Copies ----------------------------------------------------------------

template <class Group>
RNL_INLINE void memcpy_async(const Group &group, void *to, const void *from,
                             size_t size)
{
    const size_t count = group.size();
    char *target = static_cast<char *>(to);
    const char *source = static_cast<const char *>(from);
    for (size_t i = 4 * group.thread_rank(); i < size; i += 4 * count)
        for (size_t k = i; k < i + 4 && k < size; k++)
            target[k] = source[k];
}
template <class Group, class T>
RNL_INLINE void memcpy_async(const Group &group, T *to, const T *from,
                             size_t size)
{
    memcpy_async(group, static_cast<void *>(to),
                 static_cast<const void *>(from), size);
}
// Copies as many elements as both sides have.
template <class Group, class T>
RNL_INLINE void memcpy_async(const Group &group, T *to, size_t room,
                             const T *from, size_t count)
{
    memcpy_async(group, to, from, (count < room ? count : room) * sizeof(T));
}
template <class Group>
RNL_INLINE void wait(const Group &group, int line = __builtin_LINE())
{
    rnl_sync_group(group, line);
}
template <unsigned int Stage, class Group>
RNL_INLINE void wait_prior(const Group &group, int line = __builtin_LINE())
{
    rnl_sync_group(group, line);
}

} // namespace cooperative_groups
