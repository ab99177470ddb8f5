// Layers of neural networks as inference engines have them.
#include <cuda_fp16.h>

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

__device__ float sum_of_warp(float value)
{
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, d);
    return value;
}

// --- Products --------------------------------------------------------------

// Tiles in registers, and the next tile on its way while this one is used.
// @run float n=8192 grid=2,2 block=8,8
// @run float n=8192 grid=2,2 block=64
extern "C" __global__ void matmul_in_registers(float *out, const float *in,
                                               int n)
{
    const int size = 64, depth = 8;
    __shared__ float tiles_a[2][depth][36], tiles_b[2][depth][32];
    const float *a = in, *b = in + size * size;
    int t = threadIdx.y * blockDim.x + threadIdx.x, tx = t % 8, ty = t / 8;
    int row = blockIdx.y * 32, column = blockIdx.x * 32, from = 0;
    auto load_a = [&](int k) {
        return *reinterpret_cast<const float4 *>(
            &a[(row + t / 2) * size + k + t % 2 * 4]);
    };
    auto load_b = [&](int k) {
        return *reinterpret_cast<const float4 *>(
            &b[(k + ty) * size + column + tx * 4]);
    };
    auto store = [&](int to, float4 part_a, float4 part_b) {
        float(*tile)[36] = &tiles_a[to][t % 2 * 4];
        tile[0][t / 2] = part_a.x;
        tile[1][t / 2] = part_a.y;
        tile[2][t / 2] = part_a.z;
        tile[3][t / 2] = part_a.w;
        *reinterpret_cast<float4 *>(&tiles_b[to][ty][tx * 4]) = part_b;
    };
    store(0, load_a(0), load_b(0));
    __syncthreads();
    float sums[4][4] = {};
    for (int k = 0; k < size; k += depth) {
        float4 next_a, next_b;
        if (k + depth < size) {
            next_a = load_a(k + depth);
            next_b = load_b(k + depth);
        }
#pragma unroll
        for (int d = 0; d < depth; d++) {
            float part[4];
            *reinterpret_cast<float4 *>(part) =
                *reinterpret_cast<float4 *>(&tiles_b[from][d][tx * 4]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sums[i][j] += tiles_a[from][d][ty * 4 + i] * part[j];
        }
        if (k + depth < size) {
            from ^= 1;
            store(from, next_a, next_b);
            __syncthreads();
        }
    }
    for (int i = 0; i < 4; i++)
        *reinterpret_cast<float4 *>(
            &out[(row + ty * 4 + i) * size + column + tx * 4]) =
            make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
}

// Eight bits at a time.
// @run int n=512 grid=2 block=256
// @run int n=105 block=7,5,3
extern "C" __global__ void products_of_bytes(int *out, const int *in, int n)
{
    int t = threadIdx.x +
            blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int row = blockIdx.x * 256 + t, sum = row;
    unsigned plain = 0;
#pragma unroll 4
    for (int k = 0; k < 16; k++) {
        sum = __dp4a(in[(row / 16 + k) % n], in[(row + k * 5) % n], sum);
        plain = __dp4a((unsigned)in[k], (unsigned)in[(row + k) % n], plain);
    }
    out[row] = sum ^ (int)plain;
}

// @run float n=2048 grid=2 block=32,8
// @run float n=2048 grid=4 block=128
extern "C" __global__ void product_of_halves(float *out, const float *in,
                                             int n)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x, lane = t % 32;
    int row = (blockIdx.x * blockDim.x * blockDim.y + t) / 32;
    __half2 sum = __float2half2_rn(0.0f);
    float exact = 0.0f;
    for (int k = lane; k < 64; k += 32) {
        __half2 weight = __floats2half2_rn(in[row * 128 + 2 * k] * 0.0625f,
                                           in[row * 128 + 2 * k + 1]);
        __half2 value = __floats2half2_rn(in[2 * k], in[2 * k + 1] * 0.0625f);
        sum = __hfma2(weight, value, sum);
        float2 both = __half22float2(__hmul2(weight, value));
        exact += both.x - both.y;
    }
    exact = sum_of_warp(__low2float(sum) + __high2float(sum) + exact);
    if (lane == 0)
        out[row] = exact;
}

// --- Weights of few bits ---------------------------------------------------

struct weights_of_4_bits {
    unsigned short scale;
    unsigned char pairs[16];
};

// @run float n=512 grid=2 block=256
// @run float n=512 grid=16 block=33
extern "C" __global__ void weights_from_4_bits(float *out, const float *in,
                                               int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = i % 32;
    if (i >= n)
        return;
    const weights_of_4_bits *weights =
        reinterpret_cast<const weights_of_4_bits *>(in) + i / 32;
    int bits = k < 16 ? weights->pairs[k] & 15 : weights->pairs[k - 16] >> 4;
    out[i] = (bits - 8) * (float)(short)weights->scale * 0.001953125f;
}

// Scales and least values of 6 bits, eight of each in 12 bytes.
// @run int n=512 grid=2 block=256
// @run int n=512 grid=16 block=33
extern "C" __global__ void weights_with_6_bit_scales(int *out, const int *in,
                                                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, k = i / 32 % 8;
    if (i >= n)
        return;
    const unsigned char *bytes = (const unsigned char *)in + i / 256 * 12;
    unsigned char scale, least;
    if (k < 4) {
        scale = bytes[k] & 63;
        least = bytes[k + 4] & 63;
    } else {
        scale = (bytes[k + 4] & 15) | bytes[k - 4] >> 6 << 4;
        least = bytes[k + 4] >> 4 | bytes[k] >> 6 << 4;
    }
    out[i] = scale * ((const signed char *)in)[i] - least;
}

// @run float n=2048 grid=4 block=128
// @run float n=2048 grid=2 block=32,8
extern "C" __global__ void rows_to_bytes(float *out, const float *in, int n)
{
    int t = threadIdx.y * blockDim.x + threadIdx.x, lane = t % 32;
    int row = (blockIdx.x * blockDim.x * blockDim.y + t) / 32;
    float4 value = reinterpret_cast<const float4 *>(in)[row * 32 + lane];
    float largest = fmaxf(fmaxf(fabsf(value.x), fabsf(value.y)),
                          fmaxf(fabsf(value.z), fabsf(value.w)));
#pragma unroll
    for (int d = 16; d > 0; d /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, d));
    float scale = largest > 0.0f ? 127.0f / largest : 0.0f;
    char4 bytes = make_char4(
        __float2int_rn(value.x * scale), __float2int_rn(value.y * scale),
        (char)rintf(value.z * scale), (char)roundf(value.w * scale));
    reinterpret_cast<char4 *>(out)[row * 32 + lane] = bytes;
    int sum = __dp4a(*reinterpret_cast<int *>(&bytes), 0x01010101, 0);
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0)
        out[n / 2 + row] = largest / 127.0f + sum;
}

// --- Attention and norms ---------------------------------------------------

// A query for each thread, keys and values in tiles, with the largest product
// so far as the scale.
// @run float n=3072 grid=2 block=32 ulp=64
// @run float n=3072 grid=2 block=33 ulp=64
extern "C" __global__ void attention(float *out, const float *in, int n)
{
    const int width = 16, count = 64, tile = 8;
    __shared__ float keys[tile][width + 1], values[tile][width + 1];
    const float *all_keys = in + count * width;
    const float *all_values = all_keys + count * width;
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    bool live = query < count;
    float sums[width], own[width], largest = -INFINITY, total = 0.0f;
#pragma unroll
    for (int d = 0; d < width; d++) {
        sums[d] = 0.0f;
        own[d] = live ? in[query * width + d] * 0.001f : 0.0f;
    }
    for (int first = 0; first < count; first += tile) {
        for (int i = threadIdx.x; i < tile * width; i += blockDim.x) {
            keys[i / width][i % width] = all_keys[first * width + i];
            values[i / width][i % width] = all_values[first * width + i];
        }
        __syncthreads();
        if (live) {
            float scores[tile], next = largest;
#pragma unroll
            for (int k = 0; k < tile; k++) {
                scores[k] = 0.0f;
#pragma unroll
                for (int d = 0; d < width; d++)
                    scores[k] += own[d] * keys[k][d];
                // On a grid where exponentials are exact.
                scores[k] = rintf(scores[k]);
                if (first + k > query)
                    scores[k] = -INFINITY;
                next = fmaxf(next, scores[k]);
            }
            float scale = exp2f(largest - next);
            total *= scale;
#pragma unroll
            for (int d = 0; d < width; d++)
                sums[d] *= scale;
#pragma unroll
            for (int k = 0; k < tile; k++) {
                float weight = exp2f(scores[k] - next);
                total += weight;
#pragma unroll
                for (int d = 0; d < width; d++)
                    sums[d] += weight * values[k][d];
            }
            largest = next;
        }
        __syncthreads();
    }
#pragma unroll
    for (int d = 0; live && d < width; d++)
        out[query * width + d] = sums[d] / total;
}

struct scaled_sum {
    float largest, sum;
};

__device__ scaled_sum combine(scaled_sum a, scaled_sum b)
{
    scaled_sum high = a.largest > b.largest ? a : b;
    scaled_sum low = a.largest > b.largest ? b : a;
    return {high.largest,
            high.sum + low.sum * exp2f(low.largest - high.largest)};
}

// One pass for the largest and the sum.
// @run float n=2048 grid=8 block=32
// @run float n=2048 grid=8 block=256
extern "C" __global__ void softmax(float *out, const float *in, int n)
{
    __shared__ scaled_sum of_warps[32];
    int t = threadIdx.x, columns = n / gridDim.x;
    const float *row = in + blockIdx.x * columns;
    scaled_sum own = {-1e30f, 0.0f};
    for (int i = t; i < columns; i += blockDim.x)
        own = combine(own, {floorf(row[i] * 0.1f), 1.0f});
    for (int d = 16; d > 0; d /= 2)
        own = combine(own, {__shfl_xor_sync(~0u, own.largest, d),
                            __shfl_xor_sync(~0u, own.sum, d)});
    if (t % 32 == 0)
        of_warps[t / 32] = own;
    __syncthreads();
    if (t < 32) {
        own = t < blockDim.x / 32 ? of_warps[t] : scaled_sum{-1e30f, 0.0f};
        for (int d = 16; d > 0; d /= 2)
            own = combine(own, {__shfl_down_sync(~0u, own.largest, d),
                                __shfl_down_sync(~0u, own.sum, d)});
        if (t == 0)
            of_warps[0] = own;
    }
    __syncthreads();
    scaled_sum all = of_warps[0];
    for (int i = t; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] =
            exp2f(floorf(row[i] * 0.1f) - all.largest) / all.sum;
}

// @run float n=1600 grid=4 block=32
// @run float n=1600 grid=4 block=256
extern "C" __global__ void layer_norm(float *out, const float *in, int n)
{
    __shared__ float2 of_warps[8];
    int t = threadIdx.x, columns = n / gridDim.x;
    const float *__restrict__ row = in + blockIdx.x * columns;
    float sum = 0.0f, squares = 0.0f;
    for (int i = t; i < columns; i += blockDim.x) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    sum = sum_of_warp(sum);
    squares = sum_of_warp(squares);
    if (t % 32 == 0)
        of_warps[t / 32] = make_float2(sum, squares);
    __syncthreads();
    sum = squares = 0.0f;
    for (int w = 0; w < blockDim.x / 32; w++) {
        sum += of_warps[w].x;
        squares += of_warps[w].y;
    }
    float mean = sum / columns;
    float scale = 1.0f / sqrtf(squares / columns - mean * mean + 1e-5f);
    for (int i = t; i < columns; i += blockDim.x)
        out[blockIdx.x * columns + i] =
            (row[i] - mean) * scale * (1.0f + 0.01f * (i % 7)) + (i & 3);
}

// --- Images and tokens -----------------------------------------------------

// @run float n=2304 grid=9 block=256
// @run float n=2304 grid=22 block=7,5,3
extern "C" __global__ void patches_of_image(float *out, const float *in, int n)
{
    const int size = 16;
    int threads = blockDim.x * blockDim.y * blockDim.z;
    int i = blockIdx.x * threads + threadIdx.x +
            blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    if (i >= n)
        return;
    int column = i % size, row = i / size % size;
    int dx = i / (size * size) % 3, dy = i / (size * size * 3);
    int x = column - 1 + dx, y = row - 1 + dy;
    bool inside = (unsigned)x < size && (unsigned)y < size;
    out[i] = inside ? in[y * size + x] : 0.0f;
}

// @run float n=1056 block=66
extern "C" __global__ void winograd_tiles(float *out, const float *in, int n)
{
    float d[4][4], t[4][4];
    int first = threadIdx.x * 16;
    for (int i = 0; i < 16; i++)
        d[i / 4][i % 4] = in[first + i];
    for (int x = 0; x < 4; x++) {
        t[0][x] = d[0][x] - d[2][x];
        t[1][x] = d[1][x] + d[2][x];
        t[2][x] = d[2][x] - d[1][x];
        t[3][x] = d[1][x] - d[3][x];
    }
    for (int y = 0; y < 4; y++) {
        out[first + y * 4] = t[y][0] - t[y][2];
        out[first + y * 4 + 1] = t[y][1] + t[y][2];
        out[first + y * 4 + 2] = t[y][2] - t[y][1];
        out[first + y * 4 + 3] = t[y][1] - t[y][3];
    }
}

// The largest of each window, where it is, and the mean.
// @run float n=576 grid=3 block=256
// @run float n=576 grid=18 block=33
extern "C" __global__ void pooling(float *out, const float *in, int n)
{
    const int size = 24;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int top = i / size * 2 - 1, left = i % size * 2 - 1, count = 0, at = -1;
    if (i >= n)
        return;
    float largest = -INFINITY, sum = 0.0f;
    for (int y = max(top, 0); y < min(top + 3, size); y++)
        for (int x = max(left, 0); x < min(left + 3, size); x++) {
            float value = in[y * size + x];
            sum += value;
            count++;
            if (value > largest) {
                largest = value;
                at = y * size + x;
            }
        }
    out[i] = count ? largest * 4096.0f + at + sum / count : -1.0f;
}

// The token at which the sum of probabilities reaches a number.
// @run float n=512 grid=4 block=256
// @run float n=512 grid=4 block=64
extern "C" __global__ void sampling(float *out, const float *in, int n)
{
    __shared__ float sums[32], before;
    __shared__ int chosen;
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    if (t == 0) {
        chosen = n;
        before = 0.0f;
    }
    __syncthreads();
    float target = 5000.0f * (blockIdx.x + 1);
    for (int base = 0; base < n; base += blockDim.x) {
        float own = fabsf(in[base + t]), sum = own;
        for (int d = 1; d < 32; d *= 2) {
            float other = __shfl_up_sync(~0u, sum, d);
            if (lane >= d)
                sum += other;
        }
        if (lane == 31)
            sums[warp] = sum;
        __syncthreads();
        for (int w = 0; w < warp; w++)
            sum += sums[w];
        sum += before;
        if (sum >= target && sum - own < target)
            atomicMin(&chosen, base + t);
        __syncthreads();
        if (t == blockDim.x - 1)
            before = sum;
        if (__syncthreads_or(chosen < n))
            break;
    }
    if (t == 0)
        out[blockIdx.x] = chosen;
}

// Value and place in one word; ties go to the lower place.
// @run int n=600 grid=4 block=64
// @run int n=600 grid=4 block=33
extern "C" __global__ void likeliest(int *out, const int *in, int n)
{
    __shared__ unsigned long long best;
    if (threadIdx.x == 0)
        best = 0;
    __syncthreads();
    unsigned long long own = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        unsigned key = (unsigned)(in[i] / 64) ^ 0x80000000u;
        unsigned long long word = (unsigned long long)key << 32 | ~i;
        own = word > own ? word : own;
    }
    atomicMax(&best, own);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x * 2] = (int)((unsigned)(best >> 32) ^ 0x80000000u);
        out[blockIdx.x * 2 + 1] = (int)~(unsigned)best;
    }
}
