// What GPU programs are made of: reductions, scans, transposes, tiles, sorts.

// @run float n=1024 grid=4 block=256
// @run float n=256 grid=4 block=64
extern "C" __global__ void reduce_tree(float *out, const float *in, int n)
{
    __shared__ float sums[256];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = in[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    out[i] = t == 0 ? sums[0] : in[i];
}

// @run float n=512 grid=2 block=256
extern "C" __global__ void reduce_warps(float *out, const float *in, int n)
{
    __shared__ float partial[8];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float sum = in[i];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if ((t & 31) == 0)
        partial[t >> 5] = sum;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < 8; w++)
        total += partial[w];
    out[i] = total + t;
}

// The size of the block, read on a side of a branch and in the loop's head.
// @run float n=1024 grid=3 block=256
// @run float n=1024 grid=2 block=64
// @run float n=100 grid=2 block=128
extern "C" __global__ void reduce_own_stride(float *out, const float *in, int n)
{
    __shared__ float sums[256];
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < n; i += blockDim.x)
        sum += in[i];
    sums[t] = sum;
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        __syncthreads();
        if (t < s)
            sums[t] += sums[t + s];
    }
    if (t == 0)
        out[blockIdx.x] = sums[0];
}

// @run int n=3000 grid=2 block=128
extern "C" __global__ void reduce_grid_stride(int *out, const int *in, int n)
{
    __shared__ int sums[128];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128)
        sum += in[i];
    sums[t] = sum;
    __syncthreads();
    for (int s = 64; s; s /= 2) {
        if (t < s)
            sums[t] += sums[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = sums[0];
}

// @run int n=256 block=256
// @run int n=100 block=100
extern "C" __global__ void scan_hillis(int *out, const int *in, int n)
{
    __shared__ int sums[2][256];
    int t = threadIdx.x, from = 0;
    sums[0][t] = in[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        int sum = sums[from][t];
        if (t >= d)
            sum += sums[from][t - d];
        sums[1 - from][t] = sum;
        from = 1 - from;
        __syncthreads();
    }
    out[t] = sums[from][t];
}

// @run int n=256 grid=2 block=64
extern "C" __global__ void scan_blelloch(int *out, const int *in, int n)
{
    __shared__ int sums[128];
    int t = threadIdx.x, base = blockIdx.x * 128, offset = 1;
    sums[2 * t] = in[base + 2 * t];
    sums[2 * t + 1] = in[base + 2 * t + 1];
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            sums[offset * (2 * t + 2) - 1] += sums[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0)
        sums[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int kept = sums[a];
            sums[a] = sums[b];
            sums[b] += kept;
        }
    }
    __syncthreads();
    out[base + 2 * t] = sums[2 * t];
    out[base + 2 * t + 1] = sums[2 * t + 1];
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void scan_warps(int *out, const int *in, int n)
{
    __shared__ int totals[4];
    int t = threadIdx.x, lane = t & 31, i = blockIdx.x * blockDim.x + t;
    int sum = in[i];
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d)
            sum += other;
    }
    if (lane == 31)
        totals[t / 32] = sum;
    __syncthreads();
    for (int w = 0; w < t / 32; w++)
        sum += totals[w];
    out[i] = sum;
}

// @run float n=1024 grid=2,2 block=16,16
extern "C" __global__ void transpose_tile(float *out, const float *in, int n)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * 32 + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    out[y * 32 + x] = tile[threadIdx.x][threadIdx.y];
}

// @run float n=1024 grid=1 block=32,8
extern "C" __global__ void transpose_rows(float *out, const float *in, int n)
{
    __shared__ float tile[32][33];
    for (int y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = in[y * 32 + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        out[y * 32 + threadIdx.x] = tile[threadIdx.x][y];
}

// @run float n=1024 grid=4,4 block=8,8
extern "C" __global__ void matmul_plain(float *out, const float *in, int n)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < 32; k++)
        sum += in[y * 32 + k] * in[k * 32 + x];
    out[y * 32 + x] = sum;
}

// @run float n=1024 grid=2,2 block=16,16
extern "C" __global__ void matmul_tiled(float *out, const float *in, int n)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int tile = 0; tile < 2; tile++) {
        a[ty][tx] = in[y * 32 + tile * 16 + tx];
        b[ty][tx] = in[(tile * 16 + ty) * 32 + x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    out[y * 32 + x] = sum;
}

// 29 is no multiple of the tile.
// @run double n=841 grid=4,4 block=8,8
extern "C" __global__ void matmul_ragged(double *out, const double *in, int n)
{
    __shared__ double a[8][8], b[8][8];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
    double sum = 0.0;
    for (int tile = 0; tile < 29; tile += 8) {
        a[ty][tx] = y < 29 && tile + tx < 29 ? in[y * 29 + tile + tx] : 0.0;
        b[ty][tx] = x < 29 && tile + ty < 29 ? in[(tile + ty) * 29 + x] : 0.0;
        __syncthreads();
        for (int k = 0; k < 8; k++)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (x < 29 && y < 29)
        out[y * 29 + x] = sum;
}

// @run float n=1000 grid=8 block=128
extern "C" __global__ void stencil_line(float *out, const float *in, int n)
{
    __shared__ float tile[130];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    tile[t + 1] = i < n ? in[i] : 0.0f;
    if (t == 0)
        tile[0] = i > 0 && i <= n ? in[i - 1] : 0.0f;
    if (t == 127)
        tile[129] = i + 1 < n ? in[i + 1] : 0.0f;
    __syncthreads();
    if (i < n)
        out[i] = 0.25f * tile[t] + 0.5f * tile[t + 1] + 0.25f * tile[t + 2];
}

// @run float n=961 grid=4,8 block=8,4
extern "C" __global__ void stencil_plane(float *out, const float *in, int n)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 31 || y >= 31)
        return;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            unsigned at_x = x + dx, at_y = y + dy;
            if (at_x < 31 && at_y < 31)
                sum += in[at_y * 31 + at_x] * (float)(2 - (dx != 0));
        }
    out[y * 31 + x] = sum;
}

// @run unsigned n=1024 grid=4 block=256
extern "C" __global__ void histogram(unsigned *out, const unsigned *in, int n)
{
    __shared__ unsigned bins[64];
    unsigned t = threadIdx.x;
    if (t < 64)
        bins[t] = 0;
    __syncthreads();
    for (unsigned k = 0; k < 5; k++)
        atomicAdd(&bins[in[(blockIdx.x * 256 + t + k * 101) % n] & 63u], k + 1);
    __syncthreads();
    if (t < 64)
        out[blockIdx.x * 64 + t] = bins[t];
}

// @run float n=192 grid=1 block=64 ulp=4
extern "C" __global__ void bodies(float *out, const float *in, int n)
{
    __shared__ float x[64], y[64], z[64];
    int t = threadIdx.x;
    x[t] = in[3 * t];
    y[t] = in[3 * t + 1];
    z[t] = in[3 * t + 2];
    __syncthreads();
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int k = 0; k < 64; k++) {
        float dx = x[k] - x[t], dy = y[k] - y[t], dz = z[k] - z[t];
        float distance = dx * dx + dy * dy + dz * dz + 0.5f;
        float weight = 1.0f / (distance * sqrtf(distance));
        ax += dx * weight;
        ay += dy * weight;
        az += dz * weight;
    }
    out[3 * t] = ax;
    out[3 * t + 1] = ay;
    out[3 * t + 2] = az;
}

// @run int n=1024 grid=4,4 block=8,8
extern "C" __global__ void mandelbrot(int *out, const int *in, int n)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    float cx = x / 10.0f - 2.2f, cy = y / 12.0f - 1.3f;
    float zx = 0.0f, zy = 0.0f;
    int steps = 0;
    while (steps < 200 && zx * zx + zy * zy < 4.0f) {
        float next = zx * zx - zy * zy + cx;
        zy = 2.0f * zx * zy + cy;
        zx = next;
        steps++;
    }
    out[y * 32 + x] = steps;
}

// @run int n=256 block=256
// @run int n=64 block=64
extern "C" __global__ void sort_bitonic(int *out, const int *in, int n)
{
    __shared__ int keys[256];
    int t = threadIdx.x;
    keys[t] = in[t];
    __syncthreads();
    for (int size = 2; size <= n; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            int other = t ^ distance;
            if (other > t) {
                bool up = (t & size) == 0;
                int a = keys[t], b = keys[other];
                if ((a > b) == up) {
                    keys[t] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
    out[t] = keys[t];
}

// @run int n=100 block=100
extern "C" __global__ void sort_odd_even(int *out, const int *in, int n)
{
    __shared__ int keys[100];
    int t = threadIdx.x;
    keys[t] = in[t];
    for (int round = 0; round < n; round++) {
        __syncthreads();
        if ((t & 1) == (round & 1) && t + 1 < n && keys[t] > keys[t + 1]) {
            int kept = keys[t];
            keys[t] = keys[t + 1];
            keys[t + 1] = kept;
        }
    }
    __syncthreads();
    out[t] = keys[t];
}

// @run int n=200 grid=2 block=100
extern "C" __global__ void rank_by_counting(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0;
    for (int k = 0; k < n; k++)
        rank += in[k] < in[i] || (in[k] == in[i] && k < i);
    out[rank] = in[i];
}

// @run int n=256 grid=2 block=128
extern "C" __global__ void compact(int *out, const int *in, int n)
{
    __shared__ int counts[4];
    int t = threadIdx.x, lane = t & 31, warp = t / 32;
    int value = in[blockIdx.x * 128 + t];
    unsigned kept = __ballot_sync(0xffffffffu, value > 0);
    if (lane == 0)
        counts[warp] = __popc(kept);
    __syncthreads();
    int base = blockIdx.x * 128;
    for (int w = 0; w < warp; w++)
        base += counts[w];
    if (value > 0)
        out[base + __popc(kept & ((1u << lane) - 1u))] = value;
}

// @run int n=300 grid=3 block=100
extern "C" __global__ void binary_search(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (middle * 3 - 400 < in[i])
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}

// @run int n=400 grid=4 block=100
extern "C" __global__ void collatz(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
    for (unsigned long long x = i + 1; x != 1; steps++)
        x = x & 1 ? 3 * x + 1 : x / 2;
    out[i] = steps;
}

// @run int n=128 grid=1 block=128
extern "C" __global__ void greatest_common_divisor(int *out, const int *in,
                                                   int n)
{
    unsigned a = abs(in[threadIdx.x]) + 1, b = threadIdx.x * 6 + 6;
    while (b) {
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    out[threadIdx.x] = (int)a;
}
