// Sorts, searches, tables, graphs and queues as GPU programs have them.

// --- Sorts of a block ------------------------------------------------------

__device__ int below(const int *keys, int count, int key, bool or_equal)
{
    int low = 0;
    while (count > 0) {
        int half = count / 2;
        if (keys[low + half] < key || (or_equal && keys[low + half] == key)) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

// @run int n=256 block=256
// @run int n=66 grid=2 block=33
extern "C" __global__ void sort_by_merging(int *out, const int *in, int n)
{
    __shared__ int keys[2][256];
    int t = threadIdx.x, base = blockIdx.x * blockDim.x, from = 0;
    keys[0][t] = in[base + t];
    __syncthreads();
    for (int width = 1; width < blockDim.x; width *= 2) {
        int first = t / (2 * width) * (2 * width);
        int middle = min(first + width, (int)blockDim.x);
        int end = min(first + 2 * width, (int)blockDim.x);
        int key = keys[from][t], to;
        if (t < middle)
            to = t + below(&keys[from][middle], end - middle, key, false);
        else
            to = first + t - middle +
                 below(&keys[from][first], middle - first, key, true);
        keys[from ^ 1][to] = key;
        from ^= 1;
        __syncthreads();
    }
    out[base + t] = keys[from][t];
}

// A thread's place among those of the block that have the bit clear.
__device__ unsigned place_of_zero(bool zero, unsigned *total)
{
    __shared__ unsigned counts[32];
    unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned zeros = __ballot_sync(__activemask(), zero);
    if (lane == 0)
        counts[warp] = __popc(zeros);
    __syncthreads();
    if (t == 0) {
        unsigned sum = 0;
        for (unsigned w = 0; w < (blockDim.x + 31) / 32; w++) {
            unsigned count = counts[w];
            counts[w] = sum;
            sum += count;
        }
        *total = sum;
    }
    __syncthreads();
    unsigned place = counts[warp] + __popc(zeros & ((1u << lane) - 1));
    __syncthreads();
    return place;
}

// @run unsigned n=256 block=256
// @run unsigned n=99 grid=3 block=33
extern "C" __global__ void sort_by_bits(unsigned *out, const unsigned *in,
                                        int n)
{
    __shared__ unsigned keys[256], zeros;
    unsigned t = threadIdx.x, base = blockIdx.x * blockDim.x;
    keys[t] = in[base + t];
    __syncthreads();
    for (int bit = 0; bit < 32; bit++) {
        unsigned key = keys[t];
        bool zero = !(key >> bit & 1);
        unsigned place = place_of_zero(zero, &zeros);
        keys[zero ? place : zeros + t - place] = key;
        __syncthreads();
    }
    out[base + t] = keys[t];
}

// @run unsigned n=512 grid=2 block=256
// @run unsigned n=64 grid=2 block=32
extern "C" __global__ void sort_by_digits(unsigned *out, const unsigned *in,
                                          int n)
{
    __shared__ unsigned counts[8][16], first[16], keys[256];
    unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned base = blockIdx.x * blockDim.x, key = in[base + t];
    for (int shift = 0; shift < 32; shift += 4) {
        if (lane < 16)
            counts[warp][lane] = 0;
        __syncwarp();
        unsigned digit = key >> shift & 15;
        unsigned same = __match_any_sync(0xffffffffu, digit);
        unsigned rank = __popc(same & ((1u << lane) - 1));
        if (rank == 0)
            counts[warp][digit] = __popc(same);
        __syncthreads();
        if (t < 16) {
            unsigned sum = 0;
            for (unsigned w = 0; w < blockDim.x / 32; w++) {
                unsigned count = counts[w][t];
                counts[w][t] = sum;
                sum += count;
            }
            unsigned up_to = sum;
            for (int d = 1; d < 16; d *= 2) {
                unsigned other = __shfl_up_sync(0xffffu, up_to, d, 16);
                if (t >= d)
                    up_to += other;
            }
            first[t] = up_to - sum;
        }
        __syncthreads();
        keys[first[digit] + counts[warp][digit] + rank] = key;
        __syncthreads();
        key = keys[t];
        __syncthreads();
    }
    out[base + t] = key;
}

// --- Sorts of a thread -----------------------------------------------------

// Batcher's network, in registers.
// @run float n=1056 block=66
extern "C" __global__ void sort_in_registers(float *out, const float *in,
                                             int n)
{
    float keys[16];
    const float4 *fours = reinterpret_cast<const float4 *>(in);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float4 four = fours[threadIdx.x * 4 + k];
        keys[4 * k] = four.x;
        keys[4 * k + 1] = four.y;
        keys[4 * k + 2] = four.z;
        keys[4 * k + 3] = four.w;
    }
#pragma unroll
    for (int p = 1; p < 16; p += p)
#pragma unroll
        for (int k = p; k >= 1; k >>= 1)
#pragma unroll
            for (int j = k % p; j + k < 16; j += k + k)
#pragma unroll
                for (int i = j; i < j + k; i++)
                    if (i + k < 16 && i / (p + p) == (i + k) / (p + p)) {
                        float low = fminf(keys[i], keys[i + k]);
                        keys[i + k] = fmaxf(keys[i], keys[i + k]);
                        keys[i] = low;
                    }
#pragma unroll
    for (int k = 0; k < 16; k++)
        out[threadIdx.x * 16 + k] = keys[k];
}

// @run int n=790 block=33
extern "C" __global__ void sort_by_shells(int *out, const int *in, int n)
{
    int first = threadIdx.x * 24, count = min(24, n - first), keys[24];
    for (int k = 0; k < count; k++)
        keys[k] = in[first + k];
    const int gaps[] = {10, 4, 1};
    for (int gap : gaps)
        for (int k = gap; k < count; k++) {
            int key = keys[k], at = k;
            for (; at >= gap && keys[at - gap] > key; at -= gap)
                keys[at] = keys[at - gap];
            keys[at] = key;
        }
    for (int k = 0; k < count; k++)
        out[first + k] = keys[k];
}

__device__ void swap(int &a, int &b)
{
    int kept = a;
    a = b;
    b = kept;
}

__device__ void sift_down(int *heap, int root, int end)
{
    while (2 * root + 1 < end) {
        int child = 2 * root + 1;
        if (child + 1 < end && heap[child] < heap[child + 1])
            child++;
        if (heap[root] >= heap[child])
            return;
        swap(heap[root], heap[child]);
        root = child;
    }
}

// @run int n=790 block=33
extern "C" __global__ void sort_in_heap(int *out, const int *in, int n)
{
    int first = threadIdx.x * 24, count = min(24, n - first);
    int *heap = out + first;
    for (int k = 0; k < count; k++)
        heap[k] = in[first + k];
    for (int root = count / 2; root-- > 0;)
        sift_down(heap, root, count);
    for (int end = count - 1; end > 0; end--) {
        swap(heap[0], heap[end]);
        sift_down(heap, 0, end);
    }
}

// @run int n=790 block=33
extern "C" __global__ void sort_with_stack(int *out, const int *in, int n)
{
    struct range {
        short low, high;
    } stack[16];
    int first = threadIdx.x * 24, count = min(24, n - first), keys[24];
    for (int k = 0; k < count; k++)
        keys[k] = in[first + k];
    int top = 0;
    stack[top++] = {0, (short)(count - 1)};
    while (top) {
        range all = stack[--top];
        if (all.low >= all.high)
            continue;
        int pivot = keys[(all.low + all.high) / 2];
        short low = all.low, high = all.high;
        while (low <= high) {
            while (keys[low] < pivot)
                low++;
            while (keys[high] > pivot)
                high--;
            if (low <= high)
                swap(keys[low++], keys[high--]);
        }
        bool right_first = high - all.low > all.high - low;
        range left = {all.low, high}, right = {low, all.high};
        stack[top++] = right_first ? left : right;
        stack[top++] = right_first ? right : left;
    }
    for (int k = 0; k < count; k++)
        out[first + k] = keys[k];
}

__device__ void sort_range(int *keys, int low, int high)
{
    if (low >= high)
        return;
    int middle = low;
    for (int k = low; k < high; k++)
        if (keys[k] < keys[high])
            swap(keys[k], keys[middle++]);
    swap(keys[high], keys[middle]);
    sort_range(keys, low, middle - 1);
    sort_range(keys, middle + 1, high);
}

// @run int n=790 block=33
extern "C" __global__ void sort_by_recursion(int *out, const int *in, int n)
{
    int first = threadIdx.x * 24, count = min(24, n - first);
    for (int k = 0; k < count; k++)
        out[first + k] = in[first + k];
    sort_range(out + first, 0, count - 1);
}

// --- Selections and runs ---------------------------------------------------

template <int COUNT> struct best {
    int value[COUNT], index[COUNT];

    __device__ void clear()
    {
        for (int k = 0; k < COUNT; k++) {
            value[k] = -0x7fffffff - 1;
            index[k] = -1;
        }
    }

    __device__ void add(int new_value, int new_index)
    {
        int at = COUNT;
        for (; at > 0 && value[at - 1] < new_value; at--)
            if (at < COUNT) {
                value[at] = value[at - 1];
                index[at] = index[at - 1];
            }
        if (at < COUNT) {
            value[at] = new_value;
            index[at] = new_index;
        }
    }
};

// Ties go to the lower index.
// @run int n=2048 grid=2 block=64
// @run int n=2048 grid=2 block=7,5,3
extern "C" __global__ void best_of_blocks(int *out, const int *in, int n)
{
    __shared__ best<4> all[128];
    int t = threadIdx.x +
            blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int threads = blockDim.x * blockDim.y * blockDim.z;
    int share = n / gridDim.x, base = blockIdx.x * share;
    best<4> own;
    own.clear();
    for (int i = t; i < share; i += threads)
        own.add(in[base + i] / 16, base + i);
    all[t] = own;
    for (int count = threads; count > 1;) {
        int half = (count + 1) / 2;
        __syncthreads();
        bool merges = t + half < count;
        best<4> merged;
        for (int k = 0, a = 0, b = 0; merges && k < 4; k++) {
            const best<4> &left = all[t], &right = all[t + half];
            bool from_left = left.value[a] > right.value[b] ||
                             (left.value[a] == right.value[b] &&
                              left.index[a] < right.index[b]);
            merged.value[k] = from_left ? left.value[a] : right.value[b];
            merged.index[k] = from_left ? left.index[a] : right.index[b];
            from_left ? a++ : b++;
        }
        __syncthreads();
        if (merges)
            all[t] = merged;
        count = half;
    }
    __syncthreads();
    if (t < 4) {
        out[blockIdx.x * 8 + t] = all[0].value[t];
        out[blockIdx.x * 8 + 4 + t] = all[0].index[t];
    }
}

// Sums that begin anew at every flag.
// @run int n=256 block=256
// @run int n=64 grid=2 block=32
// @run int n=33 block=33
extern "C" __global__ void sums_of_segments(int *out, const int *in, int n)
{
    __shared__ int sums[8];
    __shared__ bool flags[8];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int i = blockIdx.x * blockDim.x + t, sum = in[i];
    bool flag = sum % 5 == 0;
    unsigned mask = __activemask();
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(mask, sum, d);
        bool other_flag = __shfl_up_sync(mask, flag, d);
        if (lane >= d) {
            sum += flag ? 0 : other;
            flag |= other_flag;
        }
    }
    if (warp < 8 && (lane == 31 || t == blockDim.x - 1)) {
        sums[warp] = sum;
        flags[warp] = flag;
    }
    __syncthreads();
    int before = 0;
    for (int w = 0; w < warp; w++)
        before = flags[w] ? sums[w] : before + sums[w];
    out[i] = flag ? sum : sum + before;
}

// @run int n=256 block=256
// @run int n=33 block=33
extern "C" __global__ void lengths_of_runs(int *out, const int *in, int n)
{
    __shared__ int heads[256], starts[257];
    int t = threadIdx.x;
    bool head = t == 0 || (in[t] & 1) != (in[t - 1] & 1);
    heads[t] = head;
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        int before = t >= d ? heads[t - d] : 0;
        __syncthreads();
        heads[t] += before;
        __syncthreads();
    }
    int runs = heads[n - 1];
    if (head)
        starts[heads[t] - 1] = t;
    if (t == 0)
        starts[runs] = n;
    __syncthreads();
    out[t] = t < runs ? starts[t + 1] - starts[t] : -1;
}

// Each tile of the array looks back for the sum of those before it. The last
// block leaves all as it was.
__device__ unsigned long long tile_states[64];
__device__ unsigned tiles_begun, tiles_done;

// @run int n=1024 grid=8 block=128
// @run int n=330 grid=10 block=33
extern "C" __global__ void sums_by_looking_back(int *out, const int *in, int n)
{
    __shared__ int values[128], tile, before;
    int t = threadIdx.x;
    if (t == 0)
        tile = atomicAdd(&tiles_begun, 1);
    __syncthreads();
    int i = tile * blockDim.x + t;
    values[t] = in[i];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k <= t; k++)
        sum += values[k];
    if (t == blockDim.x - 1) {
        before = 0;
        atomicExch(&tile_states[tile], (tile ? 1ull : 2ull) << 32 |
                                           (unsigned)sum);
        for (int k = tile - 1; k >= 0;) {
            unsigned long long state = atomicAdd(&tile_states[k], 0);
            if (!(state >> 32))
                continue;
            before += (int)(unsigned)state;
            if (state >> 32 == 2)
                break;
            k--;
        }
        atomicExch(&tile_states[tile],
                   2ull << 32 | (unsigned)(before + sum));
    }
    __syncthreads();
    out[i] = before + sum;
    if (t == 0 && atomicAdd(&tiles_done, 1) == gridDim.x - 1) {
        for (int k = 0; k < gridDim.x; k++)
            tile_states[k] = 0;
        tiles_begun = tiles_done = 0;
    }
}

// The distance of two words, one diagonal after another.
// @run int n=128 block=64
// @run int n=132 grid=2 block=33
extern "C" __global__ void edit_distance(int *out, const int *in, int n)
{
    __shared__ int rows[3][65];
    int t = threadIdx.x, length = blockDim.x;
    const int *a = in + blockIdx.x * 2 * length, *b = a + length;
    int *row = rows[0], *last = rows[1], *before_last = rows[2];
    if (t == 0)
        last[0] = 0;
    __syncthreads();
    for (int diagonal = 1; diagonal <= 2 * length; diagonal++) {
        for (int i = t; i <= length; i += length) {
            int j = diagonal - i;
            if (j < 0 || j > length)
                continue;
            if (i == 0 || j == 0)
                row[i] = i + j;
            else
                row[i] = min(min(last[i - 1], last[i]) + 1,
                             before_last[i - 1] +
                                 ((a[i - 1] & 3) != (b[j - 1] & 3)));
        }
        __syncthreads();
        int *kept = before_last;
        before_last = last;
        last = row;
        row = kept;
    }
    out[blockIdx.x * length + t] = t ? 0 : last[length];
}

// --- Tables ----------------------------------------------------------------

// Key and count in one word.
// @run long long n=500 grid=4 block=128
// @run long long n=100 grid=4 block=33
extern "C" __global__ void counts_by_key(long long *out, const long long *in,
                                         int n)
{
    __shared__ unsigned long long table[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x)
        table[k] = ~0ull;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned key = i < n ? (unsigned long long)in[i] % 100 : 0;
    unsigned first = key * 0x9e3779b1u >> 24;
    unsigned step = key * 0x85ebca6bu >> 24 | 1;
    for (unsigned k = 0; i < n && k < 256; k++) {
        unsigned long long *slot = &table[(first + k * step) % 256];
        unsigned long long wanted = (unsigned long long)key << 32;
        unsigned long long old = atomicCAS(slot, ~0ull, wanted);
        if (old == ~0ull || old >> 32 == key) {
            atomicAdd(slot, 1ull);
            break;
        }
    }
    __syncthreads();
    if (i >= n)
        return;
    unsigned k = 0;
    while (table[(first + k * step) % 256] >> 32 != key)
        k++;
    out[i] = (long long)table[(first + k * step) % 256];
}

// Who is thrown out of a place goes to its other one.
// @run unsigned n=400 block=64
// @run unsigned n=400 block=100
extern "C" __global__ void two_places_for_each(unsigned *out,
                                               const unsigned *in, int n)
{
    __shared__ unsigned table[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x)
        table[k] = 0;
    __syncthreads();
    auto place = [](unsigned key) { return key * 2654435761u >> 22; };
    auto other = [](unsigned key) { return key * 2246822519u >> 22; };
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        unsigned key = i + 1, at = place(key);
        for (int tries = 0; tries < 64; tries++) {
            key = atomicExch(&table[at], key);
            if (!key)
                break;
            at = at == place(key) ? other(key) : place(key);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = table[place(i + 1)] == i + 1 || table[other(i + 1)] == i + 1;
}

// Nobody waits for another here, though all try until they have a bit.
// @run int n=256 block=96
// @run int n=256 block=200
extern "C" __global__ void bits_for_all(int *out, const int *in, int n)
{
    __shared__ unsigned words[8];
    __shared__ int owners;
    if (threadIdx.x < 8)
        words[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        owners = 0;
    __syncthreads();
    int bit = -1;
    for (int w = threadIdx.x % 8; bit < 0; w = (w + 1) % 8) {
        unsigned word = words[w];
        while (word != ~0u) {
            int free = __ffs(~word) - 1;
            unsigned old = atomicOr(&words[w], 1u << free);
            if (!(old >> free & 1)) {
                bit = w * 32 + free;
                break;
            }
            word = old | 1u << free;
        }
    }
    atomicAdd(&owners, 1 << bit % 2 * 16);
    __syncthreads();
    out[threadIdx.x] = owners;
}

// --- Graphs and queues -----------------------------------------------------

// @run int n=500 block=256
// @run int n=500 block=33
extern "C" __global__ void levels_of_graph(int *out, const int *in, int n)
{
    __shared__ bool changed;
    for (int node = threadIdx.x; node < n; node += blockDim.x)
        out[node] = node ? -1 : 0;
    int level = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0)
            changed = false;
        __syncthreads();
        for (int node = threadIdx.x; node < n; node += blockDim.x)
            for (int k = 0; out[node] == level && k < 4; k++) {
                int next = (node * (k + 2) + k * 17 + 1) % n;
                if (out[next] == -1) {
                    out[next] = level + 1;
                    changed = true;
                }
            }
        __syncthreads();
        level++;
    } while (changed);
}

__device__ int root_of(volatile int *parents, int node)
{
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

__device__ void unite(int *parents, int a, int b)
{
    for (;;) {
        a = root_of(parents, a);
        b = root_of(parents, b);
        if (a == b)
            return;
        if (a < b)
            swap(a, b);
        if (atomicCAS(&parents[a], a, b) == a)
            return;
    }
}

// @run int n=500 block=256
// @run int n=500 block=33
extern "C" __global__ void components(int *out, const int *in, int n)
{
    __shared__ int parents[500];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        parents[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (in[i] % 3)
            unite(parents, i, (in[i] + 1000) % n);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = root_of(parents, i);
}

// What is taken from the queue puts more into it.
// @run int n=500 block=64
// @run int n=500 block=33
extern "C" __global__ void queue_of_nodes(int *out, const int *in, int n)
{
    __shared__ int queue[500], head, tail;
    if (threadIdx.x == 0) {
        head = 0;
        tail = 1;
        queue[0] = 0;
    }
    __syncthreads();
    for (;;) {
        int first = head, end = tail;
        __syncthreads();
        if (first == end)
            break;
        for (int k = first + threadIdx.x; k < end; k += blockDim.x) {
            int node = queue[k];
            out[node] = in[node] + first;
            for (int child = 2 * node + 1; child <= 2 * node + 2; child++)
                if (child < n)
                    queue[atomicAdd(&tail, 1)] = child;
        }
        if (threadIdx.x == 0)
            head = end;
        __syncthreads();
    }
}

// Blocks that take what is next until nothing is left.
__device__ int next_share, blocks_done;

// @run int n=500 grid=4 block=64
// @run int n=500 grid=4 block=33
extern "C" __global__ void shares_of_work(int *out, const int *in, int n)
{
    __shared__ int share;
    for (;;) {
        if (threadIdx.x == 0)
            share = atomicAdd(&next_share, 1) * 16;
        __syncthreads();
        int base = share;
        __syncthreads();
        if (base >= n)
            break;
        for (int k = base + threadIdx.x; k < min(base + 16, n);
             k += blockDim.x)
            out[k] = in[k] * 2 + base;
    }
    if (threadIdx.x == 0 && atomicAdd(&blocks_done, 1) == gridDim.x - 1)
        next_share = blocks_done = 0;
}
