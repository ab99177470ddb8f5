// Memory: private arrays, pointers to all sorts of it, structs, constants,
// variables of the module, vector types, volatile.

__constant__ int primes[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
__device__ int offsets[4] = {100, -200, 300, -400};
__device__ const float weights[3] = {0.25f, 0.5f, 0.25f};

struct point {
    int x, y;
    __device__ int dot(const point &other) const
    {
        return x * other.x + y * other.y;
    }
    __device__ point &move(int dx, int dy)
    {
        x += dx;
        y += dy;
        return *this;
    }
};

struct large {
    int values[20];
    double scale;
};

// @run int n=128 grid=2 block=64
extern "C" __global__ void private_array(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, own[10];
    for (int k = 0; k < 10; k++)
        own[k] = in[(i + k) % n];
    for (int k = 0; k < 10; k++)
        own[(in[i] + 1000 + k) % 10] += k * own[(k + i) % 10] & 1023;
    int sum = 0;
    for (int k = 0; k < 10; k++)
        sum = sum * 3 + own[k] & 0xffff;
    out[i] = sum;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void private_sort(int *out, const int *in, int n)
{
    int t = threadIdx.x, keys[8];
    for (int k = 0; k < 8; k++)
        keys[k] = in[(t * 8 + k * 5) % n];
    for (int a = 1; a < 8; a++) {
        int key = keys[a], b = a;
        while (b > 0 && keys[b - 1] > key) {
            keys[b] = keys[b - 1];
            b--;
        }
        keys[b] = key;
    }
    out[t] = keys[t & 7] * 8 + keys[3];
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void private_across_barriers(int *out, const int *in,
                                                   int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x, own[4] = {in[t], t, 3, 4};
    for (int k = 0; k < 4; k++) {
        tile[t] = own[(t + k) & 3];
        __syncthreads();
        own[k] += tile[63 - t];
        __syncthreads();
    }
    out[t] = own[0] + 2 * own[1] + 3 * own[2] + 5 * own[t & 3];
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void private_matrix(int *out, const int *in, int n)
{
    int t = threadIdx.x, own[3][4];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            own[r][c] = in[(t + r * 4 + c) % n];
    int r = t % 3, c = (t / 3) % 4;
    own[r][c] = 1000;
    int sum = 0;
    for (int k = 0; k < 4; k++)
        sum += own[r][k] - own[(r + 1) % 3][k];
    out[t] = sum + own[2][c];
}

__device__ int largest(const int *array, int count)
{
    int best = array[0];
    for (int k = 1; k < count; k++)
        best = max(best, array[k]);
    return best;
}

__device__ __noinline__ void rotate(int *array, int count, int by)
{
    for (; by > 0; by--) {
        int first = array[0];
        for (int k = 1; k < count; k++)
            array[k - 1] = array[k];
        array[count - 1] = first;
    }
}

// @run int n=64 grid=2 block=32
extern "C" __global__ void array_to_function(int *out, const int *in, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x, own[6];
    for (int k = 0; k < 6; k++)
        own[k] = in[(i + 7 * k) % n];
    rotate(own, 6, i % 5);
    out[i] = largest(own, 1 + i % 6) * 3 + own[2];
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void pointer_to_either(int *out, const int *in, int n)
{
    __shared__ int tile[64];
    int t = threadIdx.x, own[4] = {1, 2, 3, t};
    tile[t] = in[t];
    __syncthreads();
    const int *from = t % 3 == 0 ? own : t % 3 == 1 ? &tile[t & ~3] : in;
    int sum = 0;
    for (int k = 0; k < 4; k++)
        sum += from[k] * (k + 1);
    int *to = in[t] > 0 ? &own[1] : &own[2];
    *to += sum;
    out[t] = own[1] * 3 - own[2] + sum;
}

// @run int n=100 grid=1 block=100
extern "C" __global__ void pointer_walks(int *out, const int *in, int n)
{
    const int *end = in + n, *at = in + threadIdx.x;
    int sum = 0;
    while (at < end) {
        sum += *at++;
        at += sum & 3;
    }
    out[threadIdx.x] = sum;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void local_by_address(int *out, const int *in, int n)
{
    int a = in[threadIdx.x], b = threadIdx.x;
    int *first = &a, *second = &b;
    if (a & 1) {
        int *kept = first;
        first = second;
        second = kept;
    }
    *first += 10;
    *second *= 2;
    out[threadIdx.x] = a * 1000 + b;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void structs(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    point a = {in[t], t}, b = {in[63 - t], 5};
    a.move(1, 2).move(t, -t);
    if (in[t] > 0)
        b = a;
    point &chosen = in[t] & 1 ? a : b;
    chosen.x += 50;
    out[t] = a.dot(b) + chosen.y;
}

__device__ point turned(point p)
{
    return point{-p.y, p.x};
}

__device__ __noinline__ large widened(large a, int by)
{
    for (int k = 0; k < 20; k++)
        a.values[k] += by * k;
    a.scale *= 0.5;
    return a;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void structs_by_value(int *out, const int *in, int n)
{
    int t = threadIdx.x;
    point p = {in[t], t};
    for (int k = 0; k < (t & 3); k++)
        p = turned(p);
    large wide;
    for (int k = 0; k < 20; k++)
        wide.values[k] = in[(t + k) % n];
    wide.scale = 3.0;
    if (t & 1)
        wide = widened(wide, t);
    out[t] = p.x * 100 + p.y + wide.values[t % 20] + (int)(wide.scale * 2);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void array_of_structs(int *out, const int *in, int n)
{
    __shared__ point points[64];
    int t = threadIdx.x;
    points[t].x = in[t];
    points[t].y = -t;
    __syncthreads();
    point own[3] = {points[t], points[63 - t], points[t ^ 1]};
    const point &p = own[(unsigned)in[t] % 3];
    out[t] = p.x * 3 + p.y + own[t % 3].dot(own[0]);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void unions(int *out, const int *in, int n)
{
    union {
        int whole;
        unsigned char bytes[4];
        short halves[2];
    } u;
    int t = threadIdx.x;
    u.whole = in[t] * 70001;
    u.bytes[t & 3] ^= 0x5a;
    u.halves[1] += t;
    out[t] = u.whole + u.bytes[(t >> 2) & 3];
}

// @run int n=64 grid=2 block=32
extern "C" __global__ void constants(int *out, const int *in, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    out[i] = primes[i % 12] + primes[blockIdx.x] + offsets[i & 3] +
             (int)(weights[i % 3] * 8);
}

// @run float n=256 grid=2 block=32
extern "C" __global__ void vectors_of_four(float *out, const float *in, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    float4 v = reinterpret_cast<const float4 *>(in)[i];
    float4 w = reinterpret_cast<const float4 *>(in)[63 - i];
    float4 sum = make_float4(v.x + w.w, v.y * 2, w.z, v.w - w.x);
    if (v.x > 0)
        sum.y = v.z;
    reinterpret_cast<float4 *>(out)[i] = sum;
}

// @run int n=128 grid=1 block=64
extern "C" __global__ void vectors_of_two(int *out, const int *in, int n)
{
    __shared__ int2 tile[64];
    int t = threadIdx.x;
    tile[t] = ((const int2 *)in)[t];
    __syncthreads();
    int2 other = tile[(t * 3) & 63];
    uchar4 bytes = make_uchar4(t, t + 1, 250 + t, 3);
    other.x += bytes.x + bytes.z;
    ((int2 *)out)[t] = make_int2(other.y, other.x);
}

// @run float n=192 grid=1 block=64
extern "C" __global__ void vectors_of_three(float *out, const float *in, int n)
{
    int t = threadIdx.x;
    float3 v = ((const float3 *)in)[t];
    float3 w[2] = {v, make_float3(v.z, v.x, v.y)};
    ((float3 *)out)[t] = w[v.x > v.y];
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void volatile_values(int *out, const int *in, int n)
{
    volatile int own = in[threadIdx.x];
    volatile int *to = out + threadIdx.x;
    *to = 3;
    own = own + 1;
    *to = *to + own;
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void narrow_types(int *out, const int *in, int n)
{
    __shared__ signed char bytes[64];
    __shared__ unsigned short words[64];
    __shared__ bool flags[64];
    int t = threadIdx.x;
    bytes[t] = (signed char)in[t];
    words[t] = (unsigned short)(in[t] * 100);
    flags[t] = in[t] > 0;
    __syncthreads();
    int o = 63 - t;
    signed char sum = bytes[o] + 100;
    out[t] = sum + words[o] + flags[o] * 7 + (flags[t] != flags[o]);
}

// @run int n=64 grid=1 block=64
extern "C" __global__ void copies_of_bytes(int *out, const int *in, int n)
{
    int t = threadIdx.x, own[4], other[4];
    for (int k = 0; k < 4; k++)
        own[k] = in[(t + k) & 63];
    memcpy(other, own, sizeof own);
    memset(own, t & 1 ? 0 : 0xff, 2 * sizeof(int));
    out[t] = other[t & 3] + own[1] * 5 + own[3];
}

// Big enough to hurt on a stack.
// @run int n=64 grid=1 block=64
extern "C" __global__ void large_private_array(int *out, const int *in, int n)
{
    int own[300], t = threadIdx.x;
    for (int k = 0; k < 300; k++)
        own[k] = in[(t + k) & 63] + k;
    for (int k = 0; k < 300; k += 7)
        own[(k * (t + 1)) % 300] -= own[299 - k] / 2;
    int sum = 0;
    for (int k = 0; k < 300; k++)
        sum += own[k];
    out[t] = sum;
}

// Arrays are aligned to more than divides their size, and are set as a whole.
// @run int n=600 grid=2 block=64
// @run int n=600 grid=1 block=7,5,3
extern "C" __global__ void five_of_a_thread(int *out, const int *in, int n)
{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int gid = blockIdx.x * blockDim.x + t, own[5] = {1, 2, 3, 4, 5};
    for (int i = gid; i < n; i += 64)
        own[i % 5] += in[i];
    out[gid] = own[t % 5];
}

// @run int n=600 grid=2 block=64
extern "C" __global__ void nine_across_a_barrier(int *out, const int *in,
                                                 int n)
{
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    alignas(32) int own[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    own[in[gid] & 7] = gid;
    __syncthreads();
    int other[9];
    memcpy(other, own, sizeof own);
    other[(in[gid] + 1) & 7] += own[8];
    __syncthreads();
    out[gid] = other[gid % 9] + own[gid % 7];
}
