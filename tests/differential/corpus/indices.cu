// Which element a thread has: shapes of blocks and grids, strides, wrap-around.

// @run int n=1024 grid=4 block=256
// @run int n=1000 grid=4 block=256
// @run int n=77 grid=7 block=11
// @run int n=1 block=1
extern "C" __global__ void linear(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 3 + i;
}

// @run int n=105 block=7,5,3
// @run int n=512 block=8,8,8
// @run int n=330 block=33,5,2
// @run int n=64 block=1,1,64
extern "C" __global__ void volume(int *out, const int *in, int n)
{
    int i = threadIdx.x +
            blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[i] = in[i] + 10000 * threadIdx.x + 1000000 * threadIdx.y +
             100000000 * threadIdx.z;
}

// @run int n=2520 grid=3,2,4 block=7,5,3
// @run int n=768 grid=2,3,4 block=32
// @run int n=600 grid=5,2,2 block=2,3,5
extern "C" __global__ void volume_of_blocks(int *out, const int *in, int n)
{
    unsigned block =
        blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x +
                      blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
    out[i] = in[n - 1 - i] ^ (int)(block * 1000 + thread);
}

// @run int n=5000 grid=3 block=96
// @run int n=100 grid=4 block=64
extern "C" __global__ void grid_stride(int *out, const int *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        out[i] = in[i] - i;
}

// @run unsigned n=1000 grid=4 block=256
// @run unsigned n=40 grid=2 block=33
extern "C" __global__ void left_neighbour(unsigned *out, const unsigned *in,
                                          int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (unsigned)n)
        return;
    out[i] = i > 0 ? in[i - 1] : 77u;
}

// @run unsigned n=1000 grid=4 block=256
// @run unsigned n=100 grid=1 block=100
extern "C" __global__ void wrapped_neighbours(unsigned *out,
                                              const unsigned *in, int n)
{
    unsigned size = n, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) {
        unsigned sum = 0;
        for (int d = -3; d <= 3; d++) {
            unsigned j = i + d;
            if (j < size)
                sum += in[j] * (unsigned)(d + 5);
        }
        out[i] = sum;
    }
}

// The index wraps inside a warp.
// @run unsigned n=256 grid=4 block=64
// @run unsigned n=100 grid=1 block=100
extern "C" __global__ void wrap_inside(unsigned *out, const unsigned *in,
                                       int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned j = i + 0xffffffefu;
    out[i] = in[j < (unsigned)n ? j : i] + j;
}

// @run int n=300 grid=3 block=100
extern "C" __global__ void backwards(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[n - 1 - i] = in[i];
}

// @run int n=1024 grid=2 block=128
extern "C" __global__ void strided(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++)
        out[i * 4 + k] = in[k * (n / 4) + i] + k;
}

// @run int n=1024 grid=4 block=256
extern "C" __global__ void masked_index(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k < 20; k++)
        sum += in[(i * 3 + k * 7) & 1023] * (k + 1);
    out[i] = sum + in[(i ^ 21) & 1023];
}

// @run int n=1024 grid=4,4 block=8,8
// @run int n=1023 grid=4,4 block=9,7
extern "C" __global__ void image(int *out, const int *in, int n)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned width = 31, height = n / 31;
    if (x >= width || y >= height)
        return;
    int centre = in[y * width + x];
    int left = x > 0 ? in[y * width + x - 1] : 0;
    int up = y > 0 ? in[(y - 1) * width + x] : 0;
    out[y * width + x] = centre * 4 - left - up;
}

// @run unsigned n=333 grid=3 block=111
extern "C" __global__ void short_indices(unsigned *out, const unsigned *in,
                                         int n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned char low = (unsigned char)(i * 5);
    short half = (short)(i * 300);
    unsigned short other = (unsigned short)(i + 65500);
    out[i] = in[low % n] + in[(half & 0x7fff) % n] * 3 + other;
}

// @run long long n=700 grid=7 block=100
extern "C" __global__ void wide_indices(long long *out, const long long *in,
                                        int n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    size_t j = (size_t)n - 1 - (size_t)i;
    const long long *from = in + j;
    long long *to = &out[i];
    *to = *from + (from - in) + (to - out);
}

// @run int n=260 grid=2 block=130
extern "C" __global__ void permutation(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int to = (i * 77 + 13) % n;  // 77 and 260 have no common factor
    out[to] = in[in[i] >= 0 ? i : n - 1 - i];
}
