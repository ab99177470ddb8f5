// Block barriers.
extern "C" __global__ void barrier_reverse(int *out, const int *in, int n)
{
    __shared__ int tile[256];
    int base = blockIdx.x * blockDim.x;
    tile[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    out[base + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// Inclusive sums over the block, a barrier pair in each turn of the loop.
extern "C" __global__ void barrier_scan(int *out, const int *in, int n)
{
    __shared__ int sums[1024];
    int t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int other = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += other;
        __syncthreads();
    }
    out[t] = sums[t];
}

extern "C" __global__ void barrier_early_return(int *out, const int *in, int n)
{
    __shared__ int tile[128];
    int t = threadIdx.x;
    if (t >= n)
        return;
    tile[t] = in[t];
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

extern "C" __global__ void barrier_predicates(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int odd = in[t] & 1;
    int count = __syncthreads_count(odd);
    int all = __syncthreads_and(t < n);
    int none = __syncthreads_and(odd);
    int any = __syncthreads_or(t == 3);
    int never = __syncthreads_or(t > n);
    out[t] = count * 16 + all * 8 + none * 4 + any * 2 + never;
}

__device__ __noinline__ int exchange(int *tile, int value, int partner)
{
    tile[threadIdx.x] = value;
    __syncthreads();
    int got = tile[partner];
    __syncthreads();
    return got;
}

extern "C" __global__ void barrier_in_function(int *out, const int *in, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    int value = in[t];
    for (int i = 1; i < 64; i *= 2)
        value += 3 * exchange(tile, value, t ^ i);
    out[t] = value;
}

// How often the loop turns is known only at run time, by a shared flag.
extern "C" __global__ void barrier_do_while(int *out, const int *in, int n)
{
    __shared__ int left;
    int t = threadIdx.x, turns = 0;
    if (t == 0)
        left = n;
    __syncthreads();
    do {
        turns++;
        __syncthreads();
        if (t == 0)
            left--;
        __syncthreads();
    } while (left > 0);
    out[t] = turns * 100 + t;
}

// A private array lives across barriers.
extern "C" __global__ void barrier_local_array(int *out, const int *in, int n)
{
    __shared__ int tile[96];
    int mine[8];
    int t = threadIdx.x;
    for (int k = 0; k < 8; k++) {
        tile[t] = in[t] * k;
        __syncthreads();
        mine[(k * 5) & 7] = tile[(t + k) % blockDim.x];
        __syncthreads();
    }
    int sum = 0;
    for (int k = 0; k < 8; k++)
        sum = sum * 3 + mine[k];
    out[t] = sum;
}
