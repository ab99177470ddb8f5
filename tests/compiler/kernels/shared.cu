// Shared memory: static, dynamic, large.
extern "C" __global__ void shared_dynamic(int *out, const int *in, int n)
{
    extern __shared__ int pool[];
    int *front = pool, *back = pool + n;
    int t = threadIdx.x;
    front[t] = in[t];
    back[t] = 2 * in[t];
    __syncthreads();
    out[t] = front[n - 1 - t] + back[(t + 1) % n];
}

// Static arrays must not overlap the dynamic one; two names for it do.
extern "C" __global__ void shared_both(int *out, const int *in, int n)
{
    extern __shared__ int pool[];
    extern __shared__ unsigned char bytes[];
    __shared__ int fixed[64];
    __shared__ double wide[64];
    int t = threadIdx.x;
    pool[t] = in[t];
    fixed[t] = 5;
    wide[t] = 0.5;
    __syncthreads();
    int other = (t + 1) % n;
    out[t] = pool[other] * 10 + fixed[other] + (wide[other] == 0.5) +
             (bytes == (unsigned char *)pool ? 100000 : 0);
}

extern "C" __global__ void shared_large(int *out, const int *, int n)
{
    extern __shared__ int pool[];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        pool[i] = i * 3;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = pool[n - 1 - i];
}

struct Pair {
    int first;
    double second;
};

__shared__ Pair outside[32];

__device__ void store(int t, int value)
{
    outside[t].first = value;
    outside[t].second = value + 0.25;
}

extern "C" __global__ void shared_struct(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    store(t, in[t]);
    __syncthreads();
    Pair p = outside[31 - t];
    out[t] = p.first + (int)(p.second * 4);
}

template <class T, int N> __device__ T rotate(T value)
{
    __shared__ T tile[N];
    tile[threadIdx.x] = value;
    __syncthreads();
    T result = tile[(threadIdx.x + 1) % N];
    __syncthreads();
    return result;
}

extern "C" __global__ void shared_template(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = rotate<int, 64>(in[t]) + (int)rotate<double, 64>(in[t] * 0.5) +
             rotate<int, 64>(t);
}

extern "C" __global__ void shared_aligned(int *out, const int *in, int n)
{
    extern __shared__ __align__(16) float4 quads[];
    __shared__ __align__(64) char line[64];
    int t = threadIdx.x;
    line[t] = (char)t;
    quads[t] = make_float4(in[t], t, 0.0f, 1.0f);
    __syncthreads();
    float4 q = quads[n - 1 - t];
    out[t] = (int)(q.x + q.y + q.w) + line[n - 1 - t] +
             (int)((unsigned long long)quads % 16 +
                   (unsigned long long)line % 64);
}

// Blocks must not see each other's.
extern "C" __global__ void shared_private(int *out, const int *, int n)
{
    __shared__ int mine;
    if (threadIdx.x == 0)
        mine = blockIdx.x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}

struct shared_lines {
    int *a, *b;
    const int *c[4];
};

// Addresses that clang would keep in constants.
extern "C" __global__ void shared_rows(int *out, const int *in, int n)
{
    __shared__ int even[32], odd[32];
    int *const rows[4] = {even, odd, even + 1, odd + 1};
    const shared_lines lines = {even, odd, {even, odd, odd + 2, even + 2}};
    const int t = threadIdx.x;
    rows[t % 2][t] = in[t];
    __syncthreads();
    const int next = (t + 1) % 32;
    out[t] = lines.c[next % 2][next] + (lines.c[2] - lines.b) +
             (rows[3] - lines.b);
}

// Many threads store at one place: the value of the last one remains.
extern "C" __global__ void shared_one_place(int *out, const int *in, int n)
{
    __shared__ int place;
    if (threadIdx.x == 0)
        place = -1;
    __syncthreads();
    if (in[threadIdx.x] % 3 == n)
        place = in[threadIdx.x] + 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = place;
}

// The threads of a warp talk without a barrier, whatever the block's shape.
extern "C" __global__ void shared_talk(int *out, const int *in, int)
{
    __shared__ volatile int sums[64];
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    sums[t] = in[t];
    sums[t + 32] = 0;
    sums[t] += sums[t + 16];
    sums[t] += sums[t + 8];
    sums[t] += sums[t + 4];
    sums[t] += sums[t + 2];
    sums[t] += sums[t + 1];
    out[t] = sums[0];
}

// Counts the ways through a table, a diagonal after the other: each number is
// the sum of its upper and its left neighbour and of one more of `in`.
extern "C" __global__ void shared_diagonals(int *out, const int *in, int n)
{
    __shared__ unsigned table[17][17];
    __shared__ unsigned char more[16];
    int t = threadIdx.x;
    more[t] = in[t + n];
    table[0][t + 1] = t;
    table[t + 1][0] = -t;
    __syncthreads();
    for (int diagonal = 0; diagonal < 31; diagonal++) {
        int row = diagonal - t;
        if (row >= 0 && row < 16)
            table[row + 1][t + 1] =
                table[row][t + 1] + table[row + 1][t] + more[row];
        __syncthreads();
    }
    out[t] = table[16][t + 1];
}

// The sums of the numbers up to each thread's.
extern "C" __global__ void shared_scan(int *out, const int *in, int n)
{
    __shared__ int line[2][64];
    int t = threadIdx.x, now = 0;
    line[0][t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < 64; offset *= 2) {
        int before = now;
        now = 1 - now;
        if (t >= offset)
            line[now][t] = line[before][t] + line[before][t - offset];
        else
            line[now][t] = line[before][t];
        __syncthreads();
    }
    out[t] = line[now][t];
}
