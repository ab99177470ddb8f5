// Warp functions. `t` is the lane where there is one warp.
extern "C" __global__ void warp_shuffles(int *out, const int *in, int n)
{
    int t = threadIdx.x, v = in[t];
    int *o = out + t * 8;
    o[0] = __shfl_sync(0xffffffff, v, 5);
    o[1] = __shfl_sync(0xffffffff, v, t + 3);
    o[2] = __shfl_up_sync(0xffffffff, v, 2);
    o[3] = __shfl_down_sync(0xffffffff, v, 3);
    o[4] = __shfl_xor_sync(0xffffffff, v, 1);
    o[5] = __shfl_sync(0xffffffff, v, 1, 8);
    o[6] = __shfl_up_sync(0xffffffff, v, 1, 4);
    o[7] = __shfl_xor_sync(0xffffffff, v, 9, 8);
}

extern "C" __global__ void warp_partial(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    if (t % 2 == 0)
        out[t] = __shfl_xor_sync(0x55555555, in[t], 2);
    else
        out[t] = __shfl_sync(0xaaaaaaaa, in[t], 31) +
                 __shfl_down_sync(0xaaaaaaaa, in[t], 2);
}

extern "C" __global__ void warp_types(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    unsigned u = __shfl_xor_sync(~0u, (unsigned)in[t] + 0x80000000u, 1);
    long l = __shfl_xor_sync(~0u, (long)in[t] << 33, 1);
    unsigned long long ull =
        __shfl_xor_sync(~0u, (unsigned long long)in[t] << 40, 1);
    float f = __shfl_xor_sync(~0u, in[t] * 0.5f, 1);
    double d = __shfl_xor_sync(~0u, in[t] * 0.25, 1);
    out[t] = (int)(u - 0x80000000u) + (int)(l >> 33) + (int)(ull >> 40) +
             (int)(f * 2.0f) + (int)(d * 4.0);
}

extern "C" __global__ void warp_sum(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = in[i];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x % 32 == 0)
        out[i / 32] = sum;
}

extern "C" __global__ void warp_votes(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    unsigned ballot = __ballot_sync(0xffffffff, in[t] > n);
    int any = __any_sync(0xffffffff, t == 7 ? 2 : 0);
    int all = __all_sync(0xffffffff, t < 32);
    int not_all = __all_sync(0xffffffff, t < 31);
    out[t * 2] = (int)ballot;
    out[t * 2 + 1] = any + 2 * all + 4 * not_all;
}

// Half a warp has ended, the last warp is short.
extern "C" __global__ void warp_ended(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    if (t % 32 >= 16)
        return;
    unsigned here = __ballot_sync(0xffffffff, 1);
    out[t] = (int)here;
    __syncwarp();
    out[t] += __shfl_sync(0xffffffff, t, 0);
}

extern "C" __global__ void warp_match(int *out, const int *in, int n)
{
    int t = threadIdx.x, same = -1, other = -1;
    unsigned any = __match_any_sync(0xffffffff, t % 3);
    unsigned all = __match_all_sync(0xffffffff, n, &same);
    unsigned not_all = __match_all_sync(0xffffffff, (long long)t, &other);
    out[t] = (int)(any + (all == 0xffffffff) + same + not_all + other);
}

extern "C" __global__ void warp_reduce(int *out, const int *in, int n)
{
    int t = threadIdx.x, v = in[t] - 100;
    unsigned u = (unsigned)in[t];
    out[t * 8] = __reduce_add_sync(0xffffffff, v);
    out[t * 8 + 1] = __reduce_min_sync(0xffffffff, v);
    out[t * 8 + 2] = __reduce_max_sync(0xffffffff, v);
    out[t * 8 + 3] = (int)__reduce_and_sync(0xffffffff, u | 64u);
    out[t * 8 + 4] = (int)__reduce_or_sync(0xffffffff, u);
    out[t * 8 + 5] = (int)__reduce_xor_sync(0xffffffff, u);
    out[t * 8 + 6] = (int)__reduce_max_sync(0xffffffff, u);
    out[t * 8 + 7] = (int)__reduce_min_sync(0xffffffff, u);
}

// Who takes the branch is known only by being there.
extern "C" __global__ void warp_active(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    out[t] = (int)__activemask();
    if (in[t] % 3 == 0) {
        unsigned mask = __activemask();
        out[t] = (int)mask;
        int leader = __ffs(mask) - 1;
        out[t] += __shfl_sync(mask, t, leader);
    }
}

__device__ int take_tickets(int *counter)
{
    unsigned mask = __activemask();
    int lane = threadIdx.x % 32, leader = __ffs(mask) - 1, first = 0;
    if (lane == leader)
        first = atomicAdd(counter, __popc(mask));
    first = __shfl_sync(mask, first, leader);
    return first + __popc(mask & ((1u << lane) - 1));
}

extern "C" __global__ void warp_aggregated(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    if (in[t] & 1) {
        int ticket = take_tickets(out);
        out[1 + ticket] = 1;
    }
}

// Barriers and warp operations in turn, several warps.
extern "C" __global__ void warp_block_sum(int *out, const int *in, int n)
{
    __shared__ int partial[32];
    int t = threadIdx.x;
    int sum = __reduce_add_sync(0xffffffff, in[t]);
    if (t % 32 == 0)
        partial[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? partial[t] : 0;
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, d);
        if (t == 0)
            partial[0] = sum;
    }
    __syncthreads();
    out[t] = partial[0] + t;
}

// What a warp agreed on is its own on both sides of a barrier.
extern "C" __global__ void warp_then_block(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    int votes = (int)__ballot_sync(0xffffffff, in[t] & 1);
    int first = __shfl_sync(0xffffffff, in[t], 0);
    int all = __all_sync(0xffffffff, t < 40);
    __syncthreads();
    if (all)
        first += 1000;
    __syncthreads();
    out[t] = votes ^ first;
}
