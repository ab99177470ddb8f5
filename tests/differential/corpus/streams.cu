// Launches that write so much that it goes past the caches.

// @run long long n=2097152 grid=8192 block=256
// @run long long n=2097152 grid=65536,2 block=16
extern "C" __global__ void whole_lines(long long *out, const long long *in,
                                       int n)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n - 3)
        out[i] = in[i] * 3 + i;
}

// @run long long n=2097152 grid=8192 block=256
extern "C" __global__ void between_lines(long long *out, const long long *in,
                                         int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 1)
        out[i + 1] = in[i] ^ 5;
}

// What was written is read by other threads of the block.
// @run long long n=2097152 grid=8192 block=256
extern "C" __global__ void read_again(long long *out, const long long *in,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] + 1;
    __syncthreads();
    long long other = out[i ^ 37];
    __syncthreads();
    out[i] += other * 2;
}

// Rounds that write lines far apart.
// @run long long n=4194304 grid=8192 block=256
extern "C" __global__ void rounds(long long *out, const long long *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 2; round++)
        out[i + round * (n / 2)] = in[i] - round;
}

// The same lines in each round.
// @run long long n=2097152 grid=8192 block=256
extern "C" __global__ void same_lines(long long *out, const long long *in,
                                      int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < n % 5 + 1; round++)
        out[i] = in[(i + round) % n];
}

// Through tiles: 64 whole lines of each block, far apart.
// @run long long n=4194304 grid=64,64 block=32,8
extern "C" __global__ void tiles(long long *out, const long long *in, int n)
{
    __shared__ long long tile[32][33];
    int left = blockIdx.x * 32, top = blockIdx.y * 32, width = n / 2048;
    for (int y = threadIdx.y; y < 32; y += 8)
        tile[y][threadIdx.x] = in[(top + y) * width + left + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8)
        out[(left + y) * width + top + threadIdx.x] = tile[threadIdx.x][y];
}
